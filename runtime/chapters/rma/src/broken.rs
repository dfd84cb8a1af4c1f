//! Windows of which a member has failed: nothing that waits on one comes to an end any more.
//!
//! Who has what lock, whose accesses have been served, what their memory holds: with a member gone nobody
//! knows for certain. So whatever waits on the window when its rank gets to know ends then, with an error,
//! and what would wait later is refused (`mpi/call/rma.rs`). What such a wait was for may still come: its
//! entry stays.

use crate::access::NIL;
use crate::serve::comm_index;
use crate::state::Rma;
use crate::wait::WaitToken;
use engine::Time;
use objects::Objects;
use objects::error::{FailureScope, Result};
use p2p::Messages;
use p2p::faults::Fault;
use p2p::faults::ending::break_request;

impl Rma {
    /// Ends with an error what waits of `rank` on windows with a member that is known at `now` to have
    /// failed.
    // O(waits of all ranks), once a failure and rank.
    pub fn break_off(&mut self, messages: &mut Messages, objects: &Objects, rank: u32, now: Time) {
        let waits = self
            .waits
            .iter()
            .filter(|(_, wait)| wait.rank == rank)
            .map(|(index, wait)| (wait.win, [index, WaitToken::Wait as u32], wait.request));
        let replies = self.replies.iter().filter(|(_, reply)| reply.origin == rank);
        let replies =
            replies.map(|(index, reply)| (reply.win, [index, WaitToken::Reply as u32], reply.request));
        let exposures = self.exposures.iter().filter(|((_, of), _)| *of == rank);
        let exposures =
            exposures.map(|(&(win, _), exposure)| (win, [win, WaitToken::Exposure as u32], exposure.request));
        let mut all: Vec<(u32, [u32; 2], u32)> =
            waits.chain(replies).chain(exposures).filter(|(.., request)| *request != NIL).collect();
        all.sort_unstable();
        for (win, [index, kind], request) in all {
            let comm = comm_index(objects.wins.at(win));
            let fault = messages.faults().and_then(|faults| faults.fault_of_members(objects, comm, now));
            let Some(fault) = fault else {
                continue;
            };
            if !break_request(messages, request, now) {
                continue;
            }
            match WaitToken::of(kind) {
                WaitToken::Wait => self.waits[index].request = NIL,
                WaitToken::Reply => self.replies[index].request = NIL,
                WaitToken::Exposure | WaitToken::Sync => {}
            }
            self.broken.insert((rank, index, kind), (win, Fault { known: now, ..fault }));
        }
    }

    /// Completes what has ended with an error for the mounted rank, if it has.
    pub(crate) fn take_broken(&mut self, messages: &mut Messages, [index, kind]: [u32; 2]) -> Result {
        if self.broken.is_empty() {
            return Ok(());
        }
        match self.broken.remove(&(messages.me(), index, kind)) {
            Some((win, fault)) => {
                Err(messages.failures().tell_failure(fault).after_entry().within(FailureScope::Win(win)))
            }
            None => Ok(()),
        }
    }

    /// The mounted rank gives a window back without the others: what they still do there finds no memory.
    // What is under way has its place in the window's state, which so stays for good.
    pub fn abandon(&mut self, messages: &Messages, objects: &Objects, win: u32) {
        self.gone.insert((win, messages.me()));
        self.abandoned.insert(comm_index(objects.wins.at(win)));
    }

    /// Returns `true` if a rank's memory in a window is there, whoever reaches it: the rank has neither given
    /// it back nor, where only it reaches the memory, failed.
    #[inline]
    pub(crate) fn has_memory(&self, messages: &Messages, win: u32, target: u32, is_reachable: bool) -> bool {
        let Some(faults) = messages.faults() else { return true };
        !self.gone.contains(&(win, target)) && (is_reachable || !faults.has_failed(target))
    }
}
