//! Epochs of `MPI_Win_post`, `start`, `complete`, `wait` and `test` (MPI 5.0 section 12.5.2).
//!
//! Who posts sends an empty message to each rank of the group, for which `MPI_Win_start` waits;
//! `MPI_Win_complete` sends one to each target behind all that its rank has accessed there, and
//! `MPI_Win_wait` waits for those.

use crate::CHAPTER;
use crate::access::{Back, TargetAction, Turn};
use crate::came::{Act, Came};
use crate::check;
use crate::check::unsynchronized;
use crate::exposure::Exposure;
use crate::origin::{Hold, WindowPair};
use crate::serve::{FlightKind, comm_index};
use crate::state::Rma;
use crate::wait::{Purpose, WaitToken};
use objects::Objects;
use objects::abi::MPI_MODE_NOCHECK;
use objects::error::{ErrorClass, Failure, Result};
use objects::group::Group;
use p2p::Messages;
use p2p::fabric::Departure;
use p2p::flight::Flight;
use p2p::handle;
use p2p::remote::shared::Way;
use p2p::request::Body;
use std::rc::Rc;

/// A group's world ranks in ascending order, all of which have the window.
// Sorted: whether a target is in the group is asked at each access.
fn members(objects: &Objects, win: u32, group: &Group, me: u32) -> Result<Rc<[u32]>> {
    let comm = objects.comms.at(comm_index(objects.wins.at(win)));
    let has = |rank: u32| if comm.is_self { rank == me } else { comm.group.rank_of(rank).is_some() };
    if let Some(outside) = group.iter().find(|&rank| !has(rank)) {
        let text =
            format!("the group has rank {outside} of MPI_COMM_WORLD, which is not in the window's group");
        return Err(Failure::new(ErrorClass::GROUP, text));
    }
    let mut ranks: Vec<u32> = group.iter().collect();
    ranks.sort_unstable();
    Ok(ranks.into())
}

impl Rma {
    /// Implements `MPI_Win_post`.
    ///
    /// # Errors
    /// `MPI_ERR_WIN`, `MPI_ERR_GROUP`, `MPI_ERR_ASSERT`; `MPI_ERR_RMA_SYNC` where the window is exposed or
    /// locked already.
    pub fn post(
        &mut self,
        messages: &mut Messages,
        objects: &Objects,
        win: usize,
        group: &Group,
        assert: i32,
    ) -> Result {
        let index = objects.wins.index(&objects.comms, win)?;
        let me = messages.me();
        let ranks = members(objects, index, group, me)?;
        check::assertion(assert, check::POST.0, check::POST.1)?;
        if self.exposures.contains_key(&(index, me)) {
            return Err(unsynchronized(
                "the window is exposed already: call MPI_Win_wait before the next MPI_Win_post",
            ));
        }
        let request = messages
            .requests_mut()
            .make(me, Body::Chapter { chapter: CHAPTER, token: [index, WaitToken::Exposure as u32] });
        let size = ranks.len() as u32;
        self.exposures.insert((index, me), Exposure { left: size, size, latest: Came::default(), request });
        if size == 0 {
            let now = messages.clock(me);
            messages.finish_request(request, now);
        }
        if assert & MPI_MODE_NOCHECK == 0 {
            for &to in &*ranks {
                self.send_post(messages, objects, index, to);
            }
        }
        Ok(())
    }

    /// Sends an empty message by which a rank of a group learns that the mounted one has exposed its memory.
    fn send_post(&mut self, messages: &mut Messages, objects: &Objects, win: u32, to: u32) {
        let me = messages.me();
        let leaves = messages.departures().inject(me);
        let after = Act { at: leaves, by: me };
        messages.ranks_mut().profile_mut().internal_message(0);
        let way = messages.fabric().way(me, to, 0, leaves);
        if !messages.ranks().is_local(to) {
            return Rma::tell_post(messages, objects, win, to, after, way);
        }
        match way {
            Way::Arrives(at) => self.post_arrived(messages, win, to, Came { at, after }),
            Way::Leaves(at, bytes) => {
                let index = self.posting.insert((win, to, after));
                messages.departures().launch(
                    Departure::Own,
                    me,
                    to,
                    (bytes, at),
                    Flight::Chapter { chapter: CHAPTER, words: [FlightKind::Post as u32, index, 0, 0] },
                );
            }
        }
    }

    /// Implements `MPI_Win_start`. Returns the handle of a request to wait for, or `None` if the whole group
    /// has posted.
    ///
    /// # Errors
    /// As [`Rma::post`]; `MPI_ERR_RMA_SYNC` in an access epoch.
    pub fn start(
        &mut self,
        messages: &mut Messages,
        objects: &Objects,
        win: usize,
        group: &Group,
        assert: i32,
    ) -> Result<Option<usize>> {
        let index = objects.wins.index(&objects.comms, win)?;
        let me = messages.me();
        let ranks = members(objects, index, group, me)?;
        check::assertion(assert, check::ACCESS.0, check::ACCESS.1)?;
        self.is_in_no_epoch(index, me, "MPI_Win_start")?;
        self.end_fence(objects, index, me, "MPI_Win_start")?;
        self.origins.get_or_make((index, me)).started = Some(ranks.clone());
        if assert & MPI_MODE_NOCHECK != 0 {
            return Ok(None);
        }
        let wait = self.make_wait(messages, index, Purpose::Start);
        for &target in &*ranks {
            let key = (index, me, target);
            let posted = self.posts.get_mut(&key).and_then(|queue| queue.pop_front());
            if self.posts.get(&key).is_some_and(|queue| queue.is_empty()) {
                self.posts.remove(&key);
            }
            let state = &mut self.waits[wait];
            match posted {
                Some(came) => state.latest = state.latest.or_later(came),
                None => {
                    state.count += 1;
                    self.starts.insert(key, wait);
                }
            }
        }
        Ok(self.wait_for(messages, wait))
    }

    /// Implements `MPI_Win_complete`. Returns the handle of a request to wait for, or `None` if all data that
    /// was asked for is there.
    ///
    /// # Errors
    /// `MPI_ERR_WIN`; `MPI_ERR_RMA_SYNC` without `MPI_Win_start`.
    pub fn complete(
        &mut self,
        messages: &mut Messages,
        objects: &Objects,
        win: usize,
    ) -> Result<Option<usize>> {
        let index = objects.wins.index(&objects.comms, win)?;
        let me = messages.me();
        let Some(started) = self.origins.get((index, me)).and_then(|origin| origin.started.clone()) else {
            return Err(unsynchronized("there is no epoch to complete: call MPI_Win_start first"));
        };
        for &to in &*started {
            let pair = WindowPair { win: index, me, to };
            let channel = self.channel(pair, Hold::None);
            let turn = if self.channels[channel].ordered { Turn::Ordered } else { Turn::AtOnce };
            // Down the same channel as the accesses, so that it cannot be there before them.
            let access = self.begin(pair, TargetAction::Complete, turn, Back::NONE);
            self.send(messages, objects, channel, access);
        }
        let wait = self.make_wait(messages, index, Purpose::Complete);
        self.await_replies(index, me, wait);
        Ok(self.wait_for(messages, wait))
    }

    /// Returns the handle of the request that is complete when the mounted rank's exposure epoch is over, for
    /// `MPI_Win_wait` and `MPI_Win_test`.
    ///
    /// # Errors
    /// `MPI_ERR_WIN`; `MPI_ERR_RMA_SYNC` without `MPI_Win_post`.
    pub fn exposure(&self, messages: &Messages, objects: &Objects, win: usize) -> Result<usize> {
        let index = objects.wins.index(&objects.comms, win)?;
        match self.exposures.get(&(index, messages.me())) {
            Some(exposure) => Ok(handle::of_cold(exposure.request)),
            None => Err(unsynchronized("the window is not exposed: call MPI_Win_post first")),
        }
    }
}
