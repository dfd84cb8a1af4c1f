//! Files of which a member has failed: what all members do together comes to no end any more.
//!
//! What one of them does by itself goes on, also what it asks of the file's home, which is no rank's own
//! doing. What waits for the others when its rank gets to know ends then, with an error, and what would wait
//! later is refused (`mpi/call/file.rs`). What such a wait was for may still come: its operation stays.

use crate::operation::Then;
use crate::state::OpenFiles;
use engine::Time;
use objects::Objects;
use objects::error::Result;
use objects::handle::decode;
use p2p::Messages;
use p2p::faults::Fault;
use p2p::faults::ending::break_request;
use p2p::node::NIL;

/// Returns the index of a file's communicator.
fn comm_index(objects: &Objects, file: u32) -> Option<u32> {
    decode(objects.files.alive(file)?.comm)
}

impl OpenFiles {
    /// Ends with an error what waits of `rank` for all members of a file, one of which is known at `now` to
    /// have failed.
    // O(operations of all ranks), once a failure and rank.
    pub fn break_off(&mut self, messages: &mut Messages, objects: &Objects, rank: u32, now: Time) {
        let of_rank =
            self.operations.iter().filter(|(_, operation)| operation.rank == rank && operation.together);
        let waiting: Vec<(u32, u32, u32)> =
            of_rank.map(|(index, operation)| (index, operation.file, operation.request)).collect();
        for (index, file, request) in waiting.into_iter().filter(|(.., request)| *request != NIL) {
            let Some(comm) = comm_index(objects, file) else { continue };
            let fault = messages.faults().and_then(|faults| faults.fault_of_members(objects, comm, now));
            let Some(fault) = fault else { continue };
            if !break_request(messages, request, now) {
                continue;
            }
            let operation = &mut self.operations[index];
            (operation.request, operation.then, operation.transfer) = (NIL, Then::Nothing, None);
            self.broken.insert(index, Fault { known: now, ..fault });
        }
    }

    /// Returns `true` if an operation has ended with an error before it was over: what comes for it is
    /// nothing to it.
    #[inline]
    pub(crate) fn is_broken(&self, index: u32) -> bool {
        self.operations.get(index).is_some_and(|operation| operation.request == NIL)
    }

    /// Completes an operation of the mounted rank that has ended so, if it has.
    ///
    /// # Errors
    /// `MPIX_ERR_PROC_FAILED`.
    pub(crate) fn take_broken(&mut self, messages: &mut Messages, index: u32) -> Result {
        if self.broken.is_empty() {
            return Ok(());
        }
        self.broken.remove(&index).map_or(Ok(()), |fault| Err(messages.failures().tell_failure(fault)))
    }

    /// The mounted rank gives a file back without the others: what they still do there has its home.
    // So the home's state, the object and its communicator stay for good.
    pub fn abandon(&mut self, messages: &Messages, objects: &Objects, file: u32) {
        self.parts.remove(&(file, messages.me()));
        self.abandoned.extend(comm_index(objects, file));
    }
}
