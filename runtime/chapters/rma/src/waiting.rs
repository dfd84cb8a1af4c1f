//! Waiting of ranks, and what happens when that is over.

use crate::CHAPTER;
use crate::access::NIL;
use crate::came::Came;
use crate::short::Fetched;
use crate::state::Rma;
use crate::wait::{Purpose, Wait, WaitToken};
use p2p::Messages;
use p2p::handle;
use p2p::request::Body;
use recorder::waiting::LateSide;

/// Returns who kept a rank waiting that waited for this; not of fences, whose members wait for each other.
fn side(purpose: Purpose, latest: Came, rank: u32) -> Option<LateSide> {
    match purpose {
        Purpose::Fence => None,
        Purpose::Start => Some(LateSide::Target),
        // What its own access led to needed messages alone; another rank has a part in it only by a lock that
        // it gave back.
        _ if latest.after.by == rank => Some(LateSide::Nobody),
        _ => Some(LateSide::Holder),
    }
}

impl Rma {
    /// Makes a wait of the mounted rank, for no event yet. [`Rma::wait_for`] then waits with it.
    pub(crate) fn make_wait(&mut self, messages: &Messages, win: u32, purpose: Purpose) -> u32 {
        let rank = messages.me();
        self.waits.insert(Wait { win, rank, purpose, count: 0, latest: Came::default(), request: NIL })
    }

    /// The handle of a request that is complete once the wait is over; none, and the wait is over, if nothing
    /// is to come.
    // A request only if there is something to wait for: most flushes and fences of one process find all done.
    // Where ranks fail that is over at its time and not before: the rank may be told of a failure by then.
    pub(crate) fn wait_for(&mut self, messages: &mut Messages, wait: u32) -> Option<usize> {
        let Wait { count, latest, .. } = self.waits[wait];
        if count == 0 && messages.faults().is_none() {
            self.finish_wait(messages, wait);
            return None;
        }
        let me = messages.me();
        let request = messages
            .requests_mut()
            .make(me, Body::Chapter { chapter: CHAPTER, token: [wait, WaitToken::Wait as u32] });
        self.waits[wait].request = request;
        if count == 0 {
            messages.finish_request(request, latest.at);
        }
        Some(handle::of_cold(request))
    }

    /// Counts an event that a rank waits for.
    pub(crate) fn settle(&mut self, messages: &mut Messages, wait: u32, came: Came) {
        let state = &mut self.waits[wait];
        state.count -= 1;
        state.latest = state.latest.or_later(came);
        if state.count == 0 && state.request != NIL {
            let (request, latest) = (state.request, state.latest.at);
            messages.finish_request(request, latest);
        }
    }

    /// The mounted rank's wait is over: its clock moves, data goes to where it is wanted, the epoch ends if
    /// this was its end.
    // The clock, then the data, then the end of the epoch: an epoch that is over has nothing left to deliver.
    pub(crate) fn finish_wait(&mut self, messages: &mut Messages, wait: u32) {
        let Some(Wait { win, rank, purpose, latest, .. }) = self.waits.remove(wait) else { return };
        messages.ranks_mut().advance(rank, latest.at);
        if let Some(side) = side(purpose, latest, rank) {
            let me = messages.me();
            messages.watch_mut().note_cause(me, latest.cause(side));
        }
        self.deliver_replies(win, rank);
        match purpose {
            Purpose::Unlock(target) => self.end_lock(win, rank, target),
            Purpose::UnlockAll => self.end_lock_all(win, rank),
            Purpose::Complete => self.end_start(win, rank),
            Purpose::Flush | Purpose::Lock(_) | Purpose::Fence | Purpose::Start => {}
        }
    }

    /// Copies data that has come for the mounted rank into its memory.
    pub(crate) fn deliver_replies(&mut self, win: u32, rank: u32) {
        let Some(origin) = self.origins.get_mut((win, rank)) else { return };
        origin.fetched.drain(..).for_each(Fetched::deliver);
        let replies = &mut self.replies;
        origin.replies.retain(|&index| {
            let reply = &mut replies[index];
            let Some(data) = reply.data.take() else { return true };
            reply.view.fill(&data);
            // What the program has a request for is known by that until it is completed.
            if reply.request == NIL {
                replies.remove(index);
            }
            false
        });
    }
}
