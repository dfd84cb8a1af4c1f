//! State of an epoch of `MPI_Win_post`, and what origin and target learn of each other in it.

use crate::access::PendingAccess;
use crate::came::Came;
use crate::state::Rma;
use engine::Time;
use p2p::Messages;

/// A rank's memory is open to a group.
pub(crate) struct Exposure {
    /// Ranks of the group that have not completed, and how many there were.
    pub(crate) left: u32,
    pub(crate) size: u32,
    /// The latest arrival of the others.
    // A number and a maximum tell the end of the epoch, whoever completes last: no list of the group is kept.
    pub(crate) latest: Came,
    /// The request that `MPI_Win_wait` waits for and `MPI_Win_test` tests.
    pub(crate) request: u32,
}

impl Rma {
    /// Records that a rank of the group of an access epoch, begun or to come, has exposed its memory.
    pub(crate) fn post_arrived(&mut self, messages: &mut Messages, win: u32, origin: u32, came: Came) {
        // Who calls `MPI_Win_post` is whom it follows from.
        let target = came.after.by;
        match self.starts.remove(&(win, origin, target)) {
            Some(wait) => self.settle(messages, wait, came),
            // A target may post several epochs before the origin starts its first: each start takes one.
            None => self.posts.entry((win, origin, target)).or_default().push_back(came),
        }
    }

    /// Records that an origin has completed its accesses to a target.
    pub(crate) fn completed(&mut self, messages: &mut Messages, access: &PendingAccess, at: Time) {
        let Some(exposure) = self.exposures.get_mut(&(access.win, access.target)) else { return };
        exposure.left = exposure.left.saturating_sub(1);
        exposure.latest = exposure.latest.or_later(Came { at, after: access.after });
        if exposure.left == 0 {
            let (request, latest) = (exposure.request, exposure.latest.at);
            // One that has ended with an error is over.
            if messages.requests().get(request).is_some_and(|state| state.done.is_none()) {
                messages.finish_request(request, latest);
            }
        }
    }
}
