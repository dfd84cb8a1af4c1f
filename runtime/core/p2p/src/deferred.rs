//! Matches of which their senders are not notified yet, because the receive may still be cancelled before its
//! message arrives.
//!
//! A receive with a named source has its message as soon as both are known, whatever their times. Its owner
//! may be behind, and cancel the receive before the message arrives. A sender that waits for the match would
//! have gone on by then, or not, as the host pleases.
//!
//! So in a program that can cancel such a match is deferred until the owner's clock or safe time has passed
//! the arrival. It is decided like all else in the order of time. Receives for which their rank is blocked
//! are not deferred: it cannot cancel them any more.

use crate::transit::Transit;
use engine::Time;
use std::collections::BTreeMap;

/// A match of which the sender is not notified.
#[derive(Clone, Copy, Debug)]
pub struct DeferredMatch {
    /// The time at which the receive was posted.
    pub posted_at: Time,
    /// Payload bytes.
    pub bytes: u64,
    /// As the message came.
    pub transit: Transit,
}

/// Owner, time of the match, source and receive.
pub type Key = (u32, Time, u32, u32);

/// The deferred matches of a process.
// By owner and time: who decides asks for the first of a rank. Programs that cancel are few, and few of their
// matches are deferred, so that a tree is fast enough.
#[derive(Default)]
pub struct DeferredMatches {
    /// `true` if the program can cancel.
    cancels: bool,
    all: BTreeMap<Key, DeferredMatch>,
}

impl DeferredMatches {
    /// Notes whether the program can cancel.
    pub fn set_cancels(&mut self, cancels: bool) {
        self.cancels = cancels;
    }
    /// Returns `true` if the program can cancel.
    #[inline(always)]
    pub fn cancels(&self) -> bool {
        self.cancels
    }
    /// Returns `true` if no match is deferred.
    pub fn is_empty(&self) -> bool {
        self.all.is_empty()
    }
    /// Defers a match.
    pub(crate) fn insert(&mut self, key: Key, deferred: DeferredMatch) {
        self.all.insert(key, deferred);
    }
    /// Takes a match out.
    pub fn remove(&mut self, key: Key) -> Option<DeferredMatch> {
        self.all.remove(&key)
    }
    /// Returns the first match of `rank`: its time, source and receive.
    #[inline]
    pub fn first(&self, rank: u32) -> Option<(Time, u32, u32)> {
        if self.all.is_empty() {
            return None;
        }
        self.of(rank).next().map(|&(_, met, source, receive)| (met, source, receive))
    }
    fn of(&self, rank: u32) -> impl Iterator<Item = &Key> {
        self.all.range((rank, Time::ZERO, 0, 0)..=(rank, Time::MAX, u32::MAX, u32::MAX)).map(|(key, _)| key)
    }
    /// Returns the matches that their owners' clocks have passed.
    pub fn passed(&self, clock: impl Fn(u32) -> Time) -> Vec<Key> {
        self.all.keys().filter(|(rank, met, ..)| *met <= clock(*rank)).copied().collect()
    }
    /// Takes the match of a receive out, which its rank gives back before the message arrives. Returns none
    /// if it is not deferred, or the message has arrived by `clock`.
    pub fn take_back(&mut self, rank: u32, receive: u32, clock: Time) -> Option<DeferredMatch> {
        let key = *self.of(rank).find(|(_, met, _, index)| *index == receive && *met > clock)?;
        self.all.remove(&key)
    }
    /// Takes the match of a receive out, if it is deferred: its sender is not notified.
    pub(crate) fn drop_of(&mut self, rank: u32, receive: u32) -> Option<DeferredMatch> {
        let key = *self.of(rank).find(|(.., index)| *index == receive)?;
        self.all.remove(&key)
    }
    /// Takes the first match of a rank out: its sender is not notified.
    pub(crate) fn drop_first(&mut self, rank: u32) -> Option<DeferredMatch> {
        let (met, source, receive) = self.first(rank)?;
        self.all.remove(&(rank, met, source, receive))
    }
}
