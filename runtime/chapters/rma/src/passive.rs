//! Epochs of locks, and what completes accesses within them (MPI 5.0 sections 12.5.3 and 12.5.4).

use crate::CHAPTER;
use crate::access::{Back, NIL, TargetAction, Turn};
use crate::came::{Act, Came};
use crate::check;
use crate::check::unsynchronized;
use crate::origin::{Hold, WindowPair};
use crate::serve::comm_index;
use crate::state::Rma;
use crate::wait::{Purpose, WaitToken};
use engine::Span;
use objects::Objects;
use objects::abi::{MPI_LOCK_EXCLUSIVE, MPI_LOCK_SHARED, MPI_MODE_NOCHECK};
use objects::error::{ErrorClass, Failure, Result};
use p2p::Messages;
use p2p::handle;
use p2p::request::{Body, PROC_NULL};
use smallvec::SmallVec;

/// The accesses that a flush completes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Flush {
    /// To this rank of the window's group.
    Target(i32),
    /// To all.
    All,
}

impl Rma {
    /// Returns the mounted rank and a target.
    fn pair(&self, messages: &Messages, objects: &Objects, win: u32, rank: i32) -> Result<WindowPair> {
        let (_, _, to) = objects.comms.partner(objects.wins.at(win).comm, rank, "rank")?;
        Ok(WindowPair { win, me: messages.me(), to })
    }

    /// `MPI_Win_lock`: the handle of a request to wait for until it is granted; none if nobody is asked.
    ///
    /// # Errors
    /// `MPI_ERR_WIN`, `MPI_ERR_LOCKTYPE`, `MPI_ERR_RANK`, `MPI_ERR_ASSERT`; `MPI_ERR_RMA_SYNC` where the
    /// target is locked or another epoch is open.
    // Asked for and waited for at once. MPI would allow to wait with the first access; then an exclusive lock
    // would not be one for what the program does between the two.
    pub fn lock(
        &mut self,
        messages: &mut Messages,
        objects: &Objects,
        win: usize,
        (kind, rank, assert): (i32, i32, i32),
    ) -> Result<Option<usize>> {
        let index = objects.wins.index(&objects.comms, win)?;
        if kind != MPI_LOCK_EXCLUSIVE && kind != MPI_LOCK_SHARED {
            let text = format!("lock_type {kind} is none: use MPI_LOCK_EXCLUSIVE or MPI_LOCK_SHARED");
            return Err(Failure::new(ErrorClass::LOCKTYPE, text));
        }
        check::assertion(assert, check::ACCESS.0, check::ACCESS.1)?;
        if rank == PROC_NULL {
            return Ok(None);
        }
        let pair = self.pair(messages, objects, index, rank)?;
        if let Some(origin) = self.origins.get((index, pair.me)) {
            if origin.channels.get(&pair.to).is_some_and(|&channel| self.channels[channel].hold != Hold::None)
            {
                return Err(unsynchronized(format!(
                    "rank {rank} is locked already: call MPI_Win_unlock before it is locked again"
                )));
            }
            if origin.locked_all.is_some() || origin.started.is_some() {
                self.is_in_no_epoch(index, pair.me, "MPI_Win_lock")?;
            }
        }
        self.end_fence(objects, index, pair.me, "MPI_Win_lock")?;
        let hold = match (assert & MPI_MODE_NOCHECK != 0, kind == MPI_LOCK_EXCLUSIVE) {
            (true, _) => Hold::Unchecked,
            (false, true) => Hold::Exclusive,
            (false, false) => Hold::Shared,
        };
        let channel = self.channel(pair, hold);
        self.channels[channel].hold = hold;
        self.origins.get_or_make((index, pair.me)).locked += 1;
        if hold == Hold::Unchecked {
            return Ok(None);
        }
        let wait = self.make_wait(messages, index, Purpose::Lock(pair.to));
        let state = &mut self.channels[channel];
        (state.outstanding, state.wait) = (1, wait);
        self.origins.at_mut(state.origin).outstanding += 1;
        self.waits[wait].count = 1;
        let action = TargetAction::Lock { exclusive: hold == Hold::Exclusive };
        messages.ranks_mut().profile_mut().internal_message(0);
        let back = Back { channel, ..Back::NONE };
        let access = self.begin(pair, action, Turn::Ordered, back);
        self.send(messages, objects, channel, access);
        Ok(self.wait_for(messages, wait))
    }

    /// Ends the epoch of a fence before another kind of epoch, which is allowed if nothing was accessed
    /// since.
    pub(crate) fn end_fence(&mut self, objects: &Objects, win: u32, rank: u32, call: &str) -> Result {
        let member = objects.comms.at(comm_index(objects.wins.at(win))).rank(rank);
        let Some(fence) = self.fences.get_mut(&win) else { return Ok(()) };
        if fence.epoch_of(member).is_none() {
            return Ok(());
        }
        if self.origins.get((win, rank)).is_some_and(|origin| !origin.channels.is_empty()) {
            return Err(unsynchronized(format!(
                "there were accesses since the last MPI_Win_fence: end their epoch with another one before \
                 {call}"
            )));
        }
        fence.end(member);
        Ok(())
    }

    /// Implements `MPI_Win_lock_all`: each target's lock is taken with the first access to it.
    ///
    /// # Errors
    /// `MPI_ERR_WIN`, `MPI_ERR_ASSERT`; `MPI_ERR_RMA_SYNC` in an access epoch.
    pub fn lock_all(
        &mut self,
        messages: &mut Messages,
        objects: &Objects,
        win: usize,
        assert: i32,
    ) -> Result {
        let index = objects.wins.index(&objects.comms, win)?;
        check::assertion(assert, check::ACCESS.0, check::ACCESS.1)?;
        let me = messages.me();
        self.is_in_no_epoch(index, me, "MPI_Win_lock_all")?;
        self.end_fence(objects, index, me, "MPI_Win_lock_all")?;
        let hold = if assert & MPI_MODE_NOCHECK != 0 { Hold::Unchecked } else { Hold::Lazy };
        let origin = self.origins.get_or_make((index, me));
        (origin.locked_all, origin.done) = (Some(hold), Came::default());
        Ok(())
    }

    /// Gives the lock of a target back behind all that was accessed; who waits does so for the answer to
    /// that, if there was anything.
    fn unlock_channel(
        &mut self,
        messages: &mut Messages,
        objects: &Objects,
        pair: WindowPair,
        channel: u32,
        wait: u32,
    ) {
        let state = &mut self.channels[channel];
        let origin = self.origins.at_mut(state.origin);
        let (hold, used) = (state.hold, state.used == origin.flushes + 1);
        if hold != Hold::Unchecked {
            let mut back = Back::NONE;
            // Nobody else can hold the target's lock: what was accessed there is in its memory, and when the
            // lock is free again is known. Then the way back of an answer is a formula, and no answer has to
            // be made for it. Without lookahead others see whether the rank goes on before that is decided,
            // and it may not depend on where the target is.
            let foreseen = hold == Hold::Exclusive
                && !messages.fabric().is_shared()
                && messages.fabric().lookahead(true) != Span::ZERO;
            let known = foreseen && state.outstanding == 0 && messages.ranks().is_local(pair.to);
            if used && !known {
                back.channel = channel;
                state.outstanding += 1;
                origin.outstanding += 1;
            }
            let action = TargetAction::Unlock { exclusive: hold == Hold::Exclusive };
            let access = self.begin(pair, action, Turn::Ordered, back);
            let arrival = self.send(messages, objects, channel, access);
            if let (true, true, Some(arrival)) = (used, known, arrival) {
                let after = Act { at: messages.clock(pair.me), by: pair.me };
                let done = Came { at: arrival + messages.fabric().latency(pair.to, pair.me, 0), after };
                let state = &mut self.channels[channel];
                state.done = state.done.or_later(done);
            }
        }
        self.await_channel(channel, wait);
    }

    /// Makes a wait last until all answers of a channel have come.
    fn await_channel(&mut self, channel: u32, wait: u32) {
        let state = &mut self.channels[channel];
        state.used = 0;
        if state.outstanding != 0 {
            if state.wait == NIL {
                state.wait = wait;
            } else {
                self.beside.entry(channel).or_default().push(wait);
            }
            self.waits[wait].count += 1;
        } else {
            let latest = &mut self.waits[wait].latest;
            *latest = latest.or_later(state.done);
        }
    }

    /// Makes a wait end no earlier than when all data of a channel has come.
    // What was given away is out of the origin's memory already.
    fn await_data(&mut self, channel: u32, wait: u32) {
        let state = &mut self.channels[channel];
        if !state.fetched {
            return;
        }
        let data = &mut self.data[channel as usize];
        // Answers with data say that the accesses are done at the target, too.
        if data.given != state.used {
            state.used = 0;
        }
        if state.fetching == 0 {
            let latest = &mut self.waits[wait].latest;
            *latest = latest.or_later(data.latest);
        } else if data.wait == NIL {
            data.wait = wait;
            self.waits[wait].count += 1;
        } else {
            self.beside_data.entry(channel).or_default().push(wait);
            self.waits[wait].count += 1;
        }
    }

    /// Implements `MPI_Win_unlock`. Returns the handle of a request to wait for, or `None` if all is known to
    /// be over.
    ///
    /// # Errors
    /// `MPI_ERR_WIN`, `MPI_ERR_RANK`; `MPI_ERR_RMA_SYNC` where the target is not locked.
    pub fn unlock(
        &mut self,
        messages: &mut Messages,
        objects: &Objects,
        win: usize,
        rank: i32,
    ) -> Result<Option<usize>> {
        let index = objects.wins.index(&objects.comms, win)?;
        if rank == PROC_NULL {
            return Ok(None);
        }
        let pair = self.pair(messages, objects, index, rank)?;
        let origin = self.origins.get((index, pair.me)).filter(|origin| origin.locked != 0);
        let channel = origin.and_then(|origin| origin.channels.get(&pair.to)).copied();
        let Some(channel) = channel.filter(|&channel| self.channels[channel].hold != Hold::None) else {
            return Err(unsynchronized(format!("rank {rank} is not locked: call MPI_Win_lock first")));
        };
        let wait = self.make_wait(messages, index, Purpose::Unlock(pair.to));
        self.unlock_channel(messages, objects, pair, channel, wait);
        Ok(self.wait_for(messages, wait))
    }

    /// Implements `MPI_Win_unlock_all`, as [`Rma::unlock`] of all targets.
    ///
    /// # Errors
    /// `MPI_ERR_WIN`; `MPI_ERR_RMA_SYNC` without `MPI_Win_lock_all`.
    pub fn unlock_all(
        &mut self,
        messages: &mut Messages,
        objects: &Objects,
        win: usize,
    ) -> Result<Option<usize>> {
        let index = objects.wins.index(&objects.comms, win)?;
        let me = messages.me();
        if self.origins.get((index, me)).is_none_or(|origin| origin.locked_all.is_none()) {
            return Err(unsynchronized("no epoch of all targets is open: call MPI_Win_lock_all first"));
        }
        let wait = self.make_wait(messages, index, Purpose::UnlockAll);
        for (to, channel) in self.channels_of(index, me) {
            self.unlock_channel(messages, objects, WindowPair { win: index, me, to }, channel, wait);
        }
        Ok(self.wait_for(messages, wait))
    }

    /// A rank's channels, in the order of targets.
    // In the order of targets, since the map's is the host's, and messages leave in the order of this list.
    fn channels_of(&self, win: u32, rank: u32) -> Vec<(u32, u32)> {
        let mut list: Vec<(u32, u32)> = self
            .origins
            .get((win, rank))
            .map(|origin| origin.channels.iter().map(|(&to, &channel)| (to, channel)).collect())
            .unwrap_or_default();
        list.sort_unstable();
        list
    }

    /// Implements `MPI_Win_flush` and `MPI_Win_flush_all`, or with `local` their forms that complete at the
    /// origin alone. Returns the handle of a request to wait for, or `None` if all is known to be complete.
    ///
    /// # Errors
    /// `MPI_ERR_WIN`, `MPI_ERR_RANK`; `MPI_ERR_RMA_SYNC` outside an epoch of locks.
    pub fn flush(
        &mut self,
        messages: &mut Messages,
        objects: &Objects,
        win: usize,
        which: Flush,
        local: bool,
    ) -> Result<Option<usize>> {
        let index = objects.wins.index(&objects.comms, win)?;
        let me = messages.me();
        let origin = self.origins.get((index, me));
        let locked_all = origin.is_some_and(|origin| origin.locked_all.is_some());
        if locked_all && which == Flush::All && !local && origin.is_some_and(|origin| origin.flush.is_none())
        {
            return Ok(self.flush_all(messages, index));
        }
        let channels: SmallVec<[u32; 8]> = match which {
            Flush::Target(PROC_NULL) => return Ok(None),
            Flush::Target(rank) => {
                let pair = self.pair(messages, objects, index, rank)?;
                let channel = origin.and_then(|origin| origin.channels.get(&pair.to)).copied();
                if !locked_all && channel.is_none_or(|channel| self.channels[channel].hold == Hold::None) {
                    return Err(unsynchronized(format!(
                        "rank {rank} is not locked: a flush is for epochs of MPI_Win_lock and \
                         MPI_Win_lock_all"
                    )));
                }
                channel.into_iter().collect()
            }
            // In whatever order: a flush only counts what is still to come.
            Flush::All if locked_all || origin.is_some_and(|origin| origin.locked != 0) => {
                origin.map(|origin| origin.channels.values().copied().collect()).unwrap_or_default()
            }
            Flush::All => {
                return Err(unsynchronized(
                    "nothing is locked: a flush is for epochs of MPI_Win_lock and MPI_Win_lock_all",
                ));
            }
        };
        let wait = self.make_wait(messages, index, Purpose::Flush);
        for channel in channels {
            match local {
                false => self.await_channel(channel, wait),
                true => self.await_data(channel, wait),
            }
        }
        Ok(self.wait_for(messages, wait))
    }

    /// Makes a wait for all that the mounted rank has under way to any target, in an epoch of all targets.
    /// Returns the handle of a request to wait for, or `None` if all is known to be complete. O(1): no
    /// channel is looked at.
    fn flush_all(&mut self, messages: &mut Messages, win: u32) -> Option<usize> {
        let wait = self.make_wait(messages, win, Purpose::Flush);
        let origin = self.origins.get_or_make((win, messages.me()));
        origin.flushes += 1;
        let state = &mut self.waits[wait];
        if origin.outstanding == 0 {
            state.latest = origin.done;
        } else {
            state.count = 1;
            origin.flush = Some(wait);
        }
        self.wait_for(messages, wait)
    }

    /// `MPI_Win_sync`: the handle of a request that is complete once an access to the mounted rank's memory
    /// arrives; to be asked for once.
    ///
    /// # Errors
    /// `MPI_ERR_WIN`.
    // A program that waits for another's put polls its own memory between these: as long as nothing arrives
    // it is parked like any other poll.
    pub fn sync(&mut self, messages: &mut Messages, objects: &Objects, win: usize) -> Result<usize> {
        let index = objects.wins.index(&objects.comms, win)?;
        let me = messages.me();
        let place = (index, me);
        let request = *self.syncs.entry(place).or_insert_with(|| {
            messages
                .requests_mut()
                .make(me, Body::Chapter { chapter: CHAPTER, token: [index, WaitToken::Sync as u32] })
        });
        Ok(handle::of_cold(request))
    }
}
