//! Records of other processes about files, as they arrive.

use crate::remote::{FileRecordKind, take_access, take_answer};
use crate::state::OpenFiles;
use crate::storage::PLACE;
use engine::Time;
use engine::record::Take;
use objects::Objects;
use p2p::Messages;

impl OpenFiles {
    /// Handles a record of another process.
    pub(crate) fn receive_record(
        &mut self,
        messages: &mut Messages,
        objects: &Objects,
        kind: u8,
        mut record: Take,
    ) {
        let at = Time::from_ps(record.u64());
        if kind == FileRecordKind::Answer as u8 {
            let operation = record.u32();
            return self.answered(messages, objects, operation, take_answer(&mut record), at);
        }
        let context = record.u32();
        if kind == FileRecordKind::Load as u8 {
            return self.wait_at(messages, PLACE, take_access(u32::MAX, at, &mut record));
        }
        // A file that is no more: of a member whose call was refused, for which nobody waits.
        let Some(file) = objects.files.by_context(context) else { return };
        self.arrive(messages, objects, take_access(file, at, &mut record));
    }
}
