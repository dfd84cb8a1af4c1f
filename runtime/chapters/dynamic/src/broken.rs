//! Meetings that do not come about because somebody has failed: a member of the side that asks, or the rank
//! that has opened the port.
//!
//! A root that waits is told when its rank gets to know, and nothing is told to its port: there, who does not
//! meet anybody any more is passed over from the same time on. Whether anybody will ever call, nobody knows.

use crate::state::Dynamic;
use engine::Time;
use objects::error::{ErrorClass, Result};
use objects::group::Group;
use p2p::Messages;
use p2p::faults::Fault;
use p2p::faults::ending::break_request;
use p2p::node::NIL;
use std::rc::Rc;

/// The members of the communicator for which a root asks.
pub struct Members {
    /// The group of the members.
    pub group: Rc<Group>,
    /// The communicator's context.
    pub context: u32,
}

/// The ranks on which the meeting of a root with another depends.
pub(crate) struct Parties {
    pub(crate) members: Members,
    /// The rank that opened the port; `None` for a socket.
    pub(crate) owner: Option<u32>,
}

/// Returns why a side does not meet anybody any more, as is known at a time.
pub(crate) fn fault_of(messages: &Messages, group: &Group, owner: Option<u32>, at: Time) -> Option<Fault> {
    let faults = messages.faults()?;
    let of = |group: &Group| faults.fault_of_group(group, at);
    of(group).or_else(|| of(&Group::of_one(owner?)))
}

impl Dynamic {
    /// Ends with an error what `rank` waits for at ports, where it is known at `now` that it does not come
    /// about.
    // O(operations of all ranks), once a failure and rank.
    pub fn break_off(&mut self, messages: &mut Messages, rank: u32, now: Time) {
        let waiting: Vec<u32> = self
            .operations
            .iter()
            .filter(|(_, operation)| operation.rank == rank)
            .map(|(index, _)| index)
            .collect();
        for index in waiting {
            let operation = &self.operations[index];
            let Some(Parties { members, owner }) = &operation.parties else { continue };
            let request = operation.request;
            if request == NIL {
                continue;
            }
            let is_revoked = messages.faults().is_some_and(|faults| faults.is_revoked(rank, members.context));
            let revoked = is_revoked.then_some(Fault { class: ErrorClass::REVOKED, known: now, rank });
            let Some(fault) = revoked.or_else(|| fault_of(messages, &members.group, *owner, now)) else {
                continue;
            };
            if break_request(messages, request, now) {
                self.operations[index].request = NIL;
                self.broken.insert(index, Fault { known: now, ..fault });
            }
        }
    }

    /// Completes an operation of the mounted rank that has ended with an error, if it has. Its answer may
    /// still come.
    ///
    /// # Errors
    /// `MPIX_ERR_PROC_FAILED`, `MPIX_ERR_REVOKED`.
    pub(crate) fn take_broken(&mut self, messages: &mut Messages, index: u32) -> Result {
        if self.broken.is_empty() {
            return Ok(());
        }
        self.broken.remove(&index).map_or(Ok(()), |fault| Err(messages.failures().tell_failure(fault)))
    }
}
