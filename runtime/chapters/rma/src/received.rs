//! Records of other processes about accesses, as they arrive.

use crate::access::{Back, NIL, TargetAction};
use crate::atomic::Bytes;
use crate::came::{Act, Came};
use crate::remote::{AccessRecordKind, take_access};
use crate::state::Rma;
use engine::Time;
use engine::record::Take;
use objects::Objects;
use p2p::Messages;

impl Rma {
    /// Returns `true` if a record is of a window that has been given back, and not of one that this process
    /// has not made yet.
    // Of what is sent only an unlock may be awaited by nobody. It is behind what took the lock, in the same
    // stream: if that does not wait here for its window, the window was there, and is gone.
    fn is_late(&self, context: u32, kind: u8, record: &[u8]) -> bool {
        kind == AccessRecordKind::Access as u8
            && matches!(take_access(NIL, &mut Take(record)).action, TargetAction::Unlock { .. })
            && self.early.iter().all(|(early, ..)| *early != context)
    }

    /// Handles a record of another process.
    pub(crate) fn receive_record(
        &mut self,
        messages: &mut Messages,
        objects: &Objects,
        kind: u8,
        mut record: Take,
    ) {
        if kind == AccessRecordKind::Answer as u8 {
            let at = Time::from_ps(record.u64());
            let back = Back { channel: record.u32(), reply: record.u32() };
            let came = Came { at, after: Act::take(&mut record) };
            return self.answered(messages, back, &mut Bytes::from_slice(record.0), came);
        }
        let whole = record.0;
        let at = if kind == AccessRecordKind::Post as u8 { Time::from_ps(record.u64()) } else { Time::MAX };
        let context = record.u32();
        let Some(win) = objects.wins.by_context(context) else {
            if !self.is_late(context, kind, record.0) {
                self.early.push((context, kind, whole.to_vec()));
            }
            return;
        };
        match kind {
            _ if kind == AccessRecordKind::Access as u8 => {
                let access = Box::new(take_access(win, &mut record));
                self.arrive(messages, objects, access);
            }
            _ if kind == AccessRecordKind::Coming as u8 => {
                let (target, epoch) = (record.u32(), record.u32());
                self.fences.entry(win).or_default().expect(epoch, target);
            }
            _ if kind == AccessRecordKind::Closed as u8 => {
                let epoch = record.u32();
                self.closed_elsewhere(messages, objects, win, epoch);
            }
            _ => {
                let origin = record.u32();
                let came = Came { at, after: Act::take(&mut record) };
                self.post_arrived(messages, win, origin, came);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::access::PendingAccess;
    use crate::remote::put_access;

    #[test]
    fn an_unlock_that_nothing_came_before_is_of_a_window_that_is_gone() {
        let record = |action| {
            let mut bytes = Vec::new();
            put_access(&PendingAccess { action, ..PendingAccess::default() }, &mut bytes);
            bytes
        };
        let (lock, unlock) = (
            record(TargetAction::Lock { exclusive: false }),
            record(TargetAction::Unlock { exclusive: false }),
        );
        let (mut rma, access) = (Rma::default(), AccessRecordKind::Access as u8);
        assert!(
            rma.is_late(7, access, &unlock)
                && !rma.is_late(7, access, &lock)
                && !rma.is_late(7, AccessRecordKind::Closed as u8, &[])
        );
        rma.early.push((7, access, lock));
        assert!(!rma.is_late(7, access, &unlock) && rma.is_late(8, access, &unlock));
    }
}
