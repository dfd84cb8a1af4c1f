//! Windows as a chapter of MPI: what the main loop, requests, other processes and a deadlock's report ask of
//! them.

use crate::access::Waiting;
use crate::deferred::{DeferredAccesses, Mounted};
use crate::lock::Lock;
use crate::remote::context;
use crate::state::Rma;
use crate::wait::{Purpose, WaitToken};
use engine::Time;
use engine::record::{Put, Take};
use objects::Objects;
use objects::error::Result;
use p2p::Messages;
use p2p::chapter::id::Token as Words;
use p2p::chapter::{Chapter, Errand, Explanation, Wait, ranks_text};
use p2p::request::Status;
use recorder::waiting::LateSide;
use std::any::Any;

impl Chapter for Rma {
    #[inline]
    fn has_work(&self) -> bool {
        !self.pieces.is_empty() || !self.landed.is_empty() || !self.opened.is_empty()
    }
    fn work(&mut self, messages: &mut Messages, objects: &Objects) -> Option<Box<dyn Errand>> {
        self.land_all(messages, objects);
        self.open_epochs(messages, objects);
        let pieces = std::mem::take(&mut self.pieces);
        self.unreached.clear();
        self.held_back.clear();
        (!pieces.is_empty()).then(|| Box::new(Mounted(pieces)) as Box<dyn Errand>)
    }
    fn done(&mut self, messages: &mut Messages, _: &Objects, errand: Box<dyn Errand>) {
        let Ok(mounted) = (errand as Box<dyn Any>).downcast::<Mounted>() else {
            unreachable!("an errand comes back to the chapter that gave it")
        };
        for DeferredAccesses { target, accesses, .. } in mounted.0 {
            for (at, what) in accesses {
                match what {
                    Waiting::Any(access) => self.touched(messages, access, at),
                    Waiting::Short(short) => self.touched_short(messages, target, &short, at),
                }
            }
        }
    }
    // An access is sent when it is made: nothing waits for anybody to join it.
    fn deliver(&mut self, _: &Objects, [index, kind]: Words) {
        if WaitToken::of(kind) == WaitToken::Reply
            && let Some(reply) = self.replies.get_mut(index)
            && let Some(data) = reply.data.take()
        {
            reply.view.fill(&data);
        }
    }
    fn finish(&mut self, messages: &mut Messages, objects: &Objects, token: Words) -> Result<Status> {
        let [index, kind] = token;
        let me = messages.me();
        if let Err(failure) = self.take_broken(messages, token) {
            if WaitToken::of(kind) == WaitToken::Exposure {
                self.exposures.remove(&(index, me));
            }
            return Err(failure);
        }
        match WaitToken::of(kind) {
            WaitToken::Wait => self.finish_wait(messages, index),
            WaitToken::Reply => {
                self.deliver(objects, token);
                let Some(reply) = self.replies.remove(index) else { return Ok(Status::EMPTY) };
                if let Some(origin) = self.origins.get_mut((reply.win, reply.origin)) {
                    origin.replies.retain(|&other| other != index);
                }
                self.forget_idle(reply.win, reply.origin);
            }
            WaitToken::Exposure => {
                if let Some(exposure) = self.exposures.remove(&(index, me)) {
                    messages.watch_mut().note_cause(me, exposure.latest.cause(LateSide::Origin));
                }
            }
            WaitToken::Sync => drop(self.syncs.remove(&(index, me))),
        }
        Ok(Status::EMPTY)
    }
    fn needs_comm(&self, comm: u32) -> bool {
        self.abandoned.contains(&comm)
    }
    // Noted alone: what follows may need the objects, and is done before anybody runs (`work`).
    fn landed(&mut self, words: [u32; 4], at: Time) {
        self.landed.push((words, at));
    }
    fn record(&mut self, messages: &mut Messages, objects: &mut Objects, _: u32, kind: u8, record: Take) {
        self.receive_record(messages, objects, kind, record);
    }
    // One decision a target, however many accesses wait at it; the rest follows when that is decided.
    #[inline]
    fn first_open(&self, rank: u32) -> Option<(Time, u32)> {
        self.arrivals.first(rank)
    }
    fn decide(&mut self, messages: &mut Messages, objects: &mut Objects, rank: u32, until: Time) {
        self.serve(messages, objects, rank, until);
    }
    fn wait_of(&self, _: &Messages, objects: &Objects, rank: u32, token: Option<Words>) -> Option<Wait> {
        // A rank blocked in a one-sided call is always blocked for a request.
        let [index, kind] = token?;
        let mut shared = None;
        let text = match WaitToken::of(kind) {
            WaitToken::Wait => {
                shared = self.name(objects, index);
                self.text(rank, index)?
            }
            WaitToken::Reply => "an access that was asked for".to_owned(),
            WaitToken::Exposure => {
                let exposure = self.exposures.get(&(index, rank))?;
                format!(
                    "{} of {} ranks of the group have not called MPI_Win_complete",
                    exposure.left, exposure.size
                )
            }
            WaitToken::Sync => "a change of its memory".to_owned(),
        };
        Some(Wait { text, name: shared })
    }
    fn open(&self, _: &Messages, objects: &Objects) -> Vec<u8> {
        let mut out = Vec::new();
        for (&(win, target), lock) in self.locks.iter().filter(|(_, lock)| !lock.queue.is_empty()) {
            out.bytes(&name(objects, win, target));
            out.bytes(lock_text(target, &lock.holders()).as_bytes());
        }
        out
    }
    fn explain(&self, told: &[Vec<u8>]) -> Explanation {
        Explanation::of_pairs(told)
    }
}

impl Rma {
    /// Returns what a blocked rank waits for.
    fn text(&self, rank: u32, wait: u32) -> Option<String> {
        let state = self.waits.get(wait)?;
        let win = state.win;
        Some(match state.purpose {
            Purpose::Lock(target) => lock_text(target, &self.holders(win, target)),
            Purpose::Start => {
                let mut missing: Vec<u32> =
                    self.starts.iter().filter(|(_, other)| **other == wait).map(|(key, _)| key.2).collect();
                missing.sort_unstable();
                format!("MPI_Win_post of {}", ranks_text(&missing))
            }
            Purpose::Flush | Purpose::Unlock(_) | Purpose::UnlockAll => {
                let origin = self.origins.get((win, rank))?;
                let all = origin.flush == Some(wait);
                let waits = |channel: &&u32| {
                    let (data, channel) = (self.data.get(**channel as usize), &self.channels[**channel]);
                    let for_data = channel.fetched && data.is_some_and(|data| data.wait == wait);
                    channel.wait == wait || for_data || all && channel.outstanding != 0
                };
                let channels = origin.channels.values();
                let mut targets: Vec<u32> =
                    channels.filter(waits).map(|&channel| self.channels[channel].target).collect();
                targets.sort_unstable();
                let held = targets.first().map_or_else(String::new, |&target| self.holders(win, target));
                format!("accesses to {}{held}", ranks_text(&targets))
            }
            Purpose::Fence => "accesses of the epoch".to_owned(),
            Purpose::Complete => "data that was asked for".to_owned(),
        })
    }

    /// Returns who has a target's lock, if this process knows.
    fn holders(&self, win: u32, target: u32) -> String {
        self.locks.get(&(win, target)).map_or_else(String::new, Lock::holders)
    }

    /// Returns what a wait for a target's lock is called on all processes.
    fn name(&self, objects: &Objects, wait: u32) -> Option<Vec<u8>> {
        let state = self.waits.get(wait)?;
        let Purpose::Lock(target) = state.purpose else { return None };
        Some(name(objects, state.win, target))
    }
}

fn name(objects: &Objects, win: u32, target: u32) -> Vec<u8> {
    let mut name = Vec::new();
    name.u32(context(objects, win));
    name.u32(target);
    name
}

fn lock_text(target: u32, holders: &str) -> String {
    format!("the lock of rank {target}'s memory{holders}")
}
