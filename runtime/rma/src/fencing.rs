//! Epochs between fences (MPI 5.0 section 12.5.1). What is accessed in one is applied when it closes: when all members of the process have entered the
//! fence and nothing is under way, in the order of arrivals. Until then no member goes on.

use crate::access::Access;
use crate::came::Came;
use crate::check;
use crate::check::unsynchronized;
use crate::fence::Ahead;
use crate::serve::comm_index;
use crate::state::Rma;
use crate::wait::Purpose;
use engine::Time;
use message::Messages;
use message::remote::shared::Way;
use objects::Objects;
use objects::abi::MPI_MODE_NOSUCCEED;
use objects::error::Result;
use std::rc::Rc;

impl Rma {
    /// The first half of `MPI_Win_fence`, before its barrier: the mounted rank's epoch ends.
    ///
    /// # Errors
    /// `MPI_ERR_WIN`, `MPI_ERR_ASSERT`; `MPI_ERR_RMA_SYNC` in an epoch of another kind.
    // Checked in full before the barrier: a member that is refused must not leave the others with a fence half
    // entered.
    pub fn enter_fence(&mut self, messages: &mut Messages, objects: &Objects, win: usize, assert: i32) -> Result {
        let index = objects.wins.index(&objects.comms, win)?;
        check::assertion(assert, check::FENCE.0, check::FENCE.1)?;
        let me = messages.current;
        self.is_in_no_epoch(index, me, "MPI_Win_fence")?;
        if self.exposures.contains_key(&(index, me)) {
            return Err(unsynchronized("the window is exposed by MPI_Win_post: call MPI_Win_wait before MPI_Win_fence"));
        }
        self.drop_channels(index, me);
        let comm = objects.comms.at(comm_index(objects.wins.at(index)));
        let fence = self.fences.entry(index).or_default();
        fence.open.set(comm.rank(me), assert & MPI_MODE_NOSUCCEED == 0, comm.size());
        fence.entered += 1;
        if fence.entered == comm.local.min(comm.size()) {
            self.close(messages, objects, index);
        }
        Ok(())
    }

    /// All members of the process have entered.
    // Of members here a count is enough, because each enters its fences in order.
    fn close(&mut self, messages: &mut Messages, objects: &Objects, win: u32) {
        let fence = self.fences.entry(win).or_default();
        let closed = fence.epoch;
        fence.epoch += 1;
        fence.entered = 0;
        fence.others.get_or_insert_with(|| other_processes(messages, objects, win));
        self.mark_closed(messages, objects, win, closed);
        self.apply_if_closed(messages, objects, win, closed);
    }

    /// Tells the other processes that an epoch is over for all members of this one, once all that these have sent in it has been told.
    // What a shared network carries is told when it has landed.
    fn mark_closed(&mut self, messages: &mut Messages, objects: &Objects, win: u32, epoch: u32) {
        let fence = self.fences.entry(win).or_default();
        let expected = fence.expected.get(&epoch).copied().unwrap_or_default();
        if fence.epoch <= epoch || fence.marked > epoch || expected != 0 {
            return;
        }
        fence.marked += 1;
        for &process in &*fence.others.clone().unwrap_or_default() {
            self.tell_closed(messages, objects, win, process, epoch);
        }
    }

    /// Another process has closed an epoch.
    pub(crate) fn closed_elsewhere(&mut self, messages: &mut Messages, objects: &Objects, win: u32, epoch: u32) {
        *self.fences.entry(win).or_default().marks.entry(epoch).or_default() += 1;
        self.apply_if_closed(messages, objects, win, epoch);
    }

    /// Something of an epoch came over a shared network.
    pub(crate) fn landed_for_fence(&mut self, messages: &mut Messages, objects: &Objects, win: u32, epoch: u32) {
        let Some(expected) = self.fences.entry(win).or_default().expected.get_mut(&epoch) else { return };
        *expected -= 1;
        self.mark_closed(messages, objects, win, epoch);
        self.apply_if_closed(messages, objects, win, epoch);
    }

    /// The answer to a reply came ahead of its data.
    pub(crate) fn landed_ahead(&mut self, messages: &mut Messages, objects: &Objects, ahead: u32, at: Time) {
        let Ahead { win, origin, reply, epoch } = self.ahead.remove(ahead).expect("it was launched");
        self.fences.entry(win).or_default().ahead.insert((origin, reply), at);
        self.landed_for_fence(messages, objects, win, epoch);
    }

    /// All of an epoch is there, if nothing is under way.
    // Asked after each of four things (a close, a mark, a landing, an answer ahead), whichever is the last:
    // whoever comes last applies.
    fn apply_if_closed(&mut self, messages: &mut Messages, objects: &Objects, win: u32, epoch: u32) {
        let fence = self.fences.entry(win).or_default();
        let others = fence.others.as_ref().map_or(0, |others| others.len() as u32);
        let marks = fence.marks.get(&epoch).copied().unwrap_or_default();
        let expected = fence.expected.get(&epoch).copied().unwrap_or_default();
        if fence.epoch <= epoch || fence.applied > epoch || marks < others || expected != 0 {
            return;
        }
        fence.marks.remove(&epoch);
        fence.expected.remove(&epoch);
        fence.exits.clear();
        let mut accesses = fence.kept.remove(&epoch).unwrap_or_default();
        // Arrival decides between accumulates to one place, and so does between puts that a wrong program
        // makes: alike on any number of processes.
        accesses.sort_by_key(|access| (access.arrival, access.origin, access.sequence));
        // One more, so that it is not over before all have had their turn.
        fence.left = accesses.len() + 1;
        for access in accesses {
            let at = access.arrival;
            self.touch(messages, objects, access, at);
        }
        self.applied_one(messages, win);
    }

    /// An access of the epoch that is closing has touched its target's memory.
    pub(crate) fn touched_in_fence(&mut self, messages: &mut Messages, access: &mut Access, at: Time) {
        let fence = self.fences.entry(access.win).or_default();
        let exit = fence.exits.entry(access.target).or_default();
        *exit = at.max(*exit);
        if access.back.is_asked() {
            match fence.ahead.remove(&(access.origin, access.back.reply)) {
                // Its time on the network has passed already, when it should have; only the bytes were missing.
                Some(at) => self.give(messages, access, Way::Arrives(at)),
                None => self.answer(messages, access, at),
            }
        }
        self.applied_one(messages, access.win);
    }

    fn applied_one(&mut self, messages: &mut Messages, win: u32) {
        let fence = self.fences.entry(win).or_default();
        fence.left -= 1;
        if fence.left != 0 {
            return;
        }
        fence.applied += 1;
        for (rank, wait) in std::mem::take(&mut fence.waiting) {
            let exit = self.fences[&win].exits.get(&rank).copied().unwrap_or_default();
            self.settle(messages, wait, Came::at(exit));
        }
    }

    /// The second half of `MPI_Win_fence`, after its barrier: the handle of a request to wait for, unless all is there.
    // Two things may be missing though the barrier is over: what arrives here later than the barrier's messages
    // did, and data that the rank itself has asked for.
    pub fn leave_fence(&mut self, messages: &mut Messages, objects: &Objects, win: usize) -> Result<Option<usize>> {
        let index = objects.wins.index(&objects.comms, win)?;
        let me = messages.current;
        let fence = self.fences.entry(index).or_default();
        let over = fence.applied == fence.epoch;
        let origin = self.origins.get_mut((index, me));
        if over && origin.is_none() {
            // Most ranks of a fence that is a barrier alone.
            if let Some(exit) = fence.exits.get(&me) {
                messages.advance(me, *exit);
            }
            return Ok(None);
        }
        let wait = self.make_wait(messages, index, Purpose::Fence);
        let state = &mut self.waits[wait];
        let fence = self.fences.entry(index).or_default();
        if over {
            state.latest = Came::at(fence.exits.get(&me).copied().unwrap_or_default());
        } else {
            state.count = 1;
            fence.waiting.push((me, wait));
        }
        self.await_replies(index, me, wait);
        Ok(self.wait_for(messages, wait))
    }

    /// A rank's replies outside of channels are to come before its wait is over.
    pub(crate) fn await_replies(&mut self, win: u32, rank: u32, wait: u32) {
        let Some(origin) = self.origins.get_mut((win, rank)) else { return };
        let state = &mut self.waits[wait];
        state.latest = state.latest.or_later(std::mem::take(&mut origin.latest));
        if origin.unanswered != 0 {
            state.count += origin.unanswered;
            origin.wait = Some(wait);
        }
    }

    /// The rank has no epoch of locks or of `MPI_Win_start` open.
    pub(crate) fn is_in_no_epoch(&self, win: u32, rank: u32, call: &str) -> Result {
        let Some(origin) = self.origins.get((win, rank)) else { return Ok(()) };
        if origin.locked != 0 || origin.locked_all.is_some() {
            let way_out = if origin.locked != 0 { "MPI_Win_unlock" } else { "MPI_Win_unlock_all" };
            return Err(unsynchronized(format!("an epoch of locks is open: call {way_out} before {call}")));
        }
        if origin.started.is_some() {
            return Err(unsynchronized(format!("an epoch of MPI_Win_start is open: call MPI_Win_complete before {call}")));
        }
        Ok(())
    }
}

/// The other processes with members of a window.
fn other_processes(messages: &Messages, objects: &Objects, win: u32) -> Rc<[u32]> {
    let Some(remote) = &messages.remote else { return Rc::new([]) };
    let comm = objects.comms.at(comm_index(objects.wins.at(win)));
    if comm.is_self {
        return Rc::new([]);
    }
    remote.blocks.with_members(&comm.group).filter(|&process| process != remote.me).collect()
}
