//! Epochs between fences (MPI 5.0 section 12.5.1). What is accessed in one is applied when it closes: when
//! all members of the process have entered the fence and nothing is under way, in the order of arrivals.
//! Until then no member goes on.

use crate::access::{Held, PendingAccess};
use crate::came::Came;
use crate::check;
use crate::check::unsynchronized;
use crate::fence::Fence;
use crate::serve::comm_index;
use crate::state::Rma;
use crate::wait::Purpose;
use engine::Time;
use objects::Objects;
use objects::abi::MPI_MODE_NOSUCCEED;
use objects::error::Result;
use p2p::Messages;
use std::rc::Rc;

impl Rma {
    /// The first half of `MPI_Win_fence`, before its barrier: the mounted rank's epoch ends.
    ///
    /// # Errors
    /// `MPI_ERR_WIN`, `MPI_ERR_ASSERT`; `MPI_ERR_RMA_SYNC` in an epoch of another kind.
    // Checked in full before the barrier: a member that is refused must not leave the others with a fence
    // half entered.
    pub fn enter_fence(
        &mut self,
        messages: &mut Messages,
        objects: &Objects,
        win: usize,
        assert: i32,
    ) -> Result {
        let index = objects.wins.index(&objects.comms, win)?;
        check::assertion(assert, check::FENCE.0, check::FENCE.1)?;
        let me = messages.me();
        self.is_in_no_epoch(index, me, "MPI_Win_fence")?;
        if self.exposures.contains_key(&(index, me)) {
            return Err(unsynchronized(
                "the window is exposed by MPI_Win_post: call MPI_Win_wait before MPI_Win_fence",
            ));
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
        let others = fence.others.clone().unwrap_or_default();
        for &process in &*others {
            self.tell_closed(messages, objects, win, process, closed);
        }
        self.apply(messages, objects, win, closed);
    }

    /// Records that another process has closed an epoch.
    pub(crate) fn closed_elsewhere(
        &mut self,
        messages: &mut Messages,
        objects: &Objects,
        win: u32,
        epoch: u32,
    ) {
        *self.fences.entry(win).or_default().marks.entry(epoch).or_default() += 1;
        self.apply(messages, objects, win, epoch);
    }

    /// Keeps an access until its epoch ends, when all are put in order: by a formula it is known when it
    /// left.
    pub(crate) fn keep_in_fence(&mut self, access: Held, epoch: u32) {
        self.fences.entry(access.win).or_default().keep(epoch, access);
    }

    /// Touches memory with what came over a shared network, in its turn: before the end of the epoch, as an
    /// answer leaves at that time.
    // Before a rank's epoch has begun, what others have sent to it in that waits: something of the epoch
    // before may be under way.
    pub(crate) fn arrive_in_fence(
        &mut self,
        messages: &mut Messages,
        objects: &Objects,
        access: Held,
        epoch: u32,
    ) {
        // What has waited longer is first.
        self.open_epochs(messages, objects);
        let fence = self.fences.entry(access.win).or_default();
        fence.landed(epoch, access.target);
        match fence.is_open_for(epoch, access.target) {
            true => self.touch_in_fence(messages, objects, access, epoch),
            false => fence.keep(epoch, access),
        }
    }

    /// Applies an access of an epoch that has begun for its target to its memory, when it came or when the
    /// epoch began.
    fn touch_in_fence(&mut self, messages: &mut Messages, objects: &Objects, access: Held, epoch: u32) {
        let fence = self.fences.entry(access.win).or_default();
        fence.touches(epoch, access.target);
        let begun =
            epoch.checked_sub(1).and_then(|before| fence.exit(before, access.target)).unwrap_or_default();
        let at = access.arrival.max(begun);
        self.touch(messages, objects, access, at);
    }

    /// Epochs have begun for ranks: what waited for that has its turn.
    pub(crate) fn open_epochs(&mut self, messages: &mut Messages, objects: &Objects) {
        while let Some((win, epoch)) = self.opened.pop() {
            let Some(kept) = self.fences.get_mut(&win).and_then(|fence| fence.kept.remove(&epoch)) else {
                continue;
            };
            let fence = &self.fences[&win];
            let (open, shut): (Vec<Held>, Vec<Held>) =
                kept.into_iter().partition(|access| fence.is_open_for(epoch, access.target));
            if !shut.is_empty() {
                self.fences.entry(win).or_default().kept.insert(epoch, shut);
            }
            for access in open {
                self.touch_in_fence(messages, objects, access, epoch);
            }
        }
    }

    /// All members have ended an epoch: by a formula, all that it has goes into the targets' memory now.
    // Asked after a close and a mark, whichever is the last.
    fn apply(&mut self, messages: &mut Messages, objects: &Objects, win: u32, epoch: u32) {
        let fence = self.fences.entry(win).or_default();
        if !fence.is_closed(epoch) {
            return;
        }
        fence.exits.retain(|&other, _| other >= epoch);
        if !messages.fabric().is_shared() {
            let mut accesses = fence.kept.remove(&epoch).unwrap_or_default();
            // Arrival decides between accumulates to one place, and so does between puts that a wrong program
            // makes: alike on any number of processes.
            accesses.sort_by_key(|access| (access.arrival, access.origin, access.sequence));
            for access in &accesses {
                fence.touches(epoch, access.target);
            }
            for access in accesses {
                let at = access.arrival;
                self.touch(messages, objects, access, at);
            }
        }
        self.wake_after_fence(messages, win);
    }

    /// Records that an access of an epoch has touched its target's memory.
    pub(crate) fn touched_in_fence(
        &mut self,
        messages: &mut Messages,
        access: &mut PendingAccess,
        epoch: u32,
        at: Time,
    ) {
        self.fences.entry(access.win).or_default().touched(epoch, access.target, at);
        if access.back.is_asked() {
            self.answer(messages, access, at);
        }
        self.wake_after_fence(messages, access.win);
    }

    /// Wakes ranks that wait behind a fence's barrier and for whom its epoch is over, and begins the next
    /// epoch for them.
    fn wake_after_fence(&mut self, messages: &mut Messages, win: u32) {
        let fence = self.fences.entry(win).or_default();
        let epoch = fence.applied;
        if !fence.is_closed(epoch) {
            return;
        }
        if messages.fabric().is_shared() && fence.kept.contains_key(&(epoch + 1)) {
            self.opened.push((win, epoch + 1));
        }
        if fence.is_over(epoch) {
            fence.applied += 1;
            fence.marks.remove(&epoch);
        } else if fence.waiting.is_empty() || !messages.fabric().is_shared() {
            // By a formula all of an epoch has its turn together: nobody is looked through for each access.
            return;
        }
        let over = |fence: &Fence, rank| fence.is_over_for(epoch, rank);
        let (over, waiting): (Vec<_>, Vec<_>) =
            std::mem::take(&mut fence.waiting).into_iter().partition(|&(rank, _)| over(fence, rank));
        fence.waiting = waiting;
        for (rank, wait) in over {
            let exit = self.fences[&win].exit(epoch, rank).unwrap_or_default();
            self.settle(messages, wait, Came::at(exit));
        }
    }

    /// The second half of `MPI_Win_fence`, after its barrier: the handle of a request to wait for, unless all
    /// is there.
    // Two things may be missing though the barrier is over: what arrives here later than the barrier's
    // messages did, and data that the rank itself has asked for.
    pub fn leave_fence(
        &mut self,
        messages: &mut Messages,
        objects: &Objects,
        win: usize,
    ) -> Result<Option<usize>> {
        let index = objects.wins.index(&objects.comms, win)?;
        let me = messages.me();
        let fence = self.fences.entry(index).or_default();
        let over = fence.is_over_for(fence.epoch - 1, me);
        let origin = self.origins.get_mut((index, me));
        if over && origin.is_none() {
            // Most ranks of a fence that is a barrier alone.
            if let Some(exit) = fence.exit(fence.epoch - 1, me) {
                messages.ranks_mut().advance(me, exit);
            }
            return Ok(None);
        }
        let wait = self.make_wait(messages, index, Purpose::Fence);
        let state = &mut self.waits[wait];
        let fence = self.fences.entry(index).or_default();
        if over {
            state.latest = Came::at(fence.exit(fence.epoch - 1, me).unwrap_or_default());
        } else {
            state.count = 1;
            fence.waiting.push((me, wait));
        }
        self.await_replies(index, me, wait);
        Ok(self.wait_for(messages, wait))
    }

    /// Makes a rank's wait last until its replies outside of channels have come.
    pub(crate) fn await_replies(&mut self, win: u32, rank: u32, wait: u32) {
        let Some(origin) = self.origins.get_mut((win, rank)) else { return };
        let state = &mut self.waits[wait];
        state.latest = state.latest.or_later(std::mem::take(&mut origin.latest));
        if origin.unanswered != 0 {
            state.count += origin.unanswered;
            origin.wait = Some(wait);
        }
    }

    /// Checks that the rank has no epoch of locks or of `MPI_Win_start` open.
    pub(crate) fn is_in_no_epoch(&self, win: u32, rank: u32, call: &str) -> Result {
        let Some(origin) = self.origins.get((win, rank)) else { return Ok(()) };
        if origin.locked != 0 || origin.locked_all.is_some() {
            let way_out = if origin.locked != 0 { "MPI_Win_unlock" } else { "MPI_Win_unlock_all" };
            return Err(unsynchronized(format!("an epoch of locks is open: call {way_out} before {call}")));
        }
        if origin.started.is_some() {
            return Err(unsynchronized(format!(
                "an epoch of MPI_Win_start is open: call MPI_Win_complete before {call}"
            )));
        }
        Ok(())
    }
}

/// Returns the other processes with members of a window.
fn other_processes(messages: &Messages, objects: &Objects, win: u32) -> Rc<[u32]> {
    let Some(remote) = messages.peers().remote() else { return Rc::new([]) };
    let comm = objects.comms.at(comm_index(objects.wins.at(win)));
    if comm.is_self {
        return Rc::new([]);
    }
    remote.blocks.with_members(&comm.group).filter(|&process| process != remote.me).collect()
}
