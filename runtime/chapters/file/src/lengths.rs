//! Accesses to files in runs without payloads: a call says how long its data is, and no file of the host is
//! opened, read or written.
//!
//! They take the path of those with memory (`issue.rs`), so that their times are the same.

use crate::access::HomeAction;
use crate::asked::{AccessArguments, Transfer};
use crate::direction::Direction;
use crate::issue::AccessPlan;
use crate::operation::Then;
use crate::state::OpenFiles;
use crate::transfer::{UserBuffer, pieces};
use crate::view::View;
use objects::Objects;
use objects::error::{ErrorClass, Failure, Result};
use p2p::Messages;
use p2p::view::BufferView;
use rank::Addr;

/// Bytes that one access moves through a view with gaps, at most.
// Each piece is looked at: a damaged trace is not to take for ever.
const MAX_SCATTERED_BYTES: u64 = 1 << 36;

/// An access without its data.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct FileLength {
    /// The file's handle.
    pub file: usize,
    /// Direction of the data.
    pub direction: Direction,
    /// Elements.
    pub count: i64,
    /// The handle of their datatype.
    pub datatype: usize,
    /// `true` if the file's own pointers say where.
    pub by_shared: bool,
    /// Bytes of memory that a read found data for; all of them if that is not known.
    pub found: Option<u64>,
}

impl OpenFiles {
    /// Looks at all that an access is asked for with but its place.
    ///
    /// # Errors
    /// As [`OpenFiles::prepare`]; `MPI_ERR_IO` for more bytes through a view with gaps than are followed.
    pub fn prepare_length(
        &self,
        messages: &Messages,
        objects: &Objects,
        asked: &FileLength,
    ) -> Result<Transfer> {
        let &FileLength { file: handle, direction, count, datatype, by_shared, found } = asked;
        let Ok(elements) = u64::try_from(count) else {
            return Err(Failure::new(ErrorClass::COUNT, format!("count {count} is negative")));
        };
        let buffer = (Addr::NULL, count, datatype);
        let arguments = AccessArguments { file: handle, direction, buffer, by_shared };
        let file = self.allows(objects, arguments)?;
        let view = &self.part(file, messages.me()).view;
        let datatype = objects.types.usable(messages.me(), datatype)?.clone();
        let extent = BufferView::length(datatype.bytes(elements)?);
        let memory = UserBuffer { extent, datatype, count: elements };
        let named = (buffer.0.0, buffer.2);
        let mut transfer = self.transfer(file, view, objects, arguments, (memory, named))?;
        if !view.is_dense() && transfer.bytes > MAX_SCATTERED_BYTES {
            let text = format!(
                "the access is of {} bytes through a view with gaps, and {MAX_SCATTERED_BYTES} are followed: \
                 make it several accesses",
                transfer.bytes
            );
            return Err(Failure::new(ErrorClass::IO, text));
        }
        let memory = transfer.memory.extent.bytes;
        let in_file = |found: u64| match found.checked_div(memory) {
            Some(0) => (u128::from(found) * u128::from(transfer.bytes) / u128::from(memory)) as u64,
            _ => transfer.bytes,
        };
        transfer.found = found.map(in_file);
        Ok(transfer)
    }
}

impl AccessPlan {
    /// Returns what is to be done for an access whose data is nowhere.
    pub(crate) fn of_length(view: &View, transfer: &Transfer, (from, atomic): (u64, bool)) -> AccessPlan {
        let all = transfer.bytes;
        let steps = match (transfer.direction, atomic) {
            (Direction::Write, true) => vec![HomeAction::Write(pieces(view, from, all), Vec::new())],
            (Direction::Read, true) => {
                vec![HomeAction::Read(pieces(view, from, transfer.found.unwrap_or(all)))]
            }
            _ => Vec::new(),
        };
        AccessPlan { steps, then: Then::Nothing, bytes: transfer.memory.extent.bytes, failure: None }
    }
}
