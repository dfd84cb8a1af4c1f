//! A rank as an origin: its access epochs, what it has under way to each target, and where answers go.

use crate::access::NIL;
use crate::atomic::Bytes;
use crate::came::{Act, Came};
use crate::short::Fetched;
use engine::Time;
use p2p::view::BufferView;
use rustc_hash::FxHashMap;
use std::rc::Rc;

/// A rank's part in a window as an origin.
// Made by the first access and forgotten when nothing is open: a million ranks that only ever fence in turn
// keep nothing.
#[derive(Default)]
pub(crate) struct Origin {
    /// Targets that it has locked one by one.
    pub(crate) locked: u32,
    /// Hold on the targets' locks in an epoch of `MPI_Win_lock_all`; `None` outside of one.
    pub(crate) locked_all: Option<Hold>,
    /// The ranks of `MPI_Win_start`, until `MPI_Win_complete`: world ranks in ascending order, and whether
    /// they were waited for.
    pub(crate) started: Option<Rc<[u32]>>,
    /// The accesses of all its channels whose answer is awaited, and when the latest of the others' came.
    pub(crate) outstanding: u32,
    pub(crate) done: Came,
    /// The wait for all of them: that of the first flush of an epoch of all targets.
    pub(crate) flush: Option<u32>,
    /// Number of flushes of all targets together.
    pub(crate) flushes: u32,
    /// Channels of accesses under way, by target (world rank).
    pub(crate) channels: FxHashMap<u32, u32>,
    /// The channel of the last short access, or none.
    pub(crate) last: u32,
    /// Replies whose data has not been delivered yet.
    pub(crate) replies: Vec<u32>,
    /// Results of short accesses that have not been delivered yet.
    pub(crate) fetched: Vec<Fetched>,
    /// Replies outside of channels that have no answer yet, the latest that have, and who waits for them.
    pub(crate) unanswered: u32,
    pub(crate) latest: Came,
    pub(crate) wait: Option<u32>,
}

impl Origin {
    /// Returns `true` if nothing is to be remembered of it.
    pub(crate) fn is_idle(&self) -> bool {
        self.locked == 0
            && self.locked_all.is_none()
            && self.started.is_none()
            && self.channels.is_empty()
            && self.replies.is_empty()
            && self.fetched.is_empty()
            && self.unanswered == 0
    }
}

/// A window with an origin and a target.
#[derive(Clone, Copy)]
pub(crate) struct WindowPair {
    pub(crate) win: u32,
    /// World ranks.
    pub(crate) me: u32,
    pub(crate) to: u32,
}

/// State of a target's lock as seen by an origin.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Hold {
    /// Not: its epoch is of another kind.
    None,
    /// For itself.
    Exclusive,
    /// With others.
    Shared,
    /// It takes a shared one with the first access (`MPI_Win_lock_all`).
    Lazy,
    /// `MPI_MODE_NOCHECK`: nobody else asks for it.
    Unchecked,
}

/// The accesses that an origin has under way to a target. Accesses of one origin to one target arrive in the
/// order in which they were made.
// For each target apart, because MPI's order and completion are between two ranks. A cache line.
#[repr(align(64))]
pub(crate) struct Channel {
    pub(crate) hold: Hold,
    /// World rank.
    pub(crate) target: u32,
    /// The index of its origin.
    pub(crate) origin: u32,
    /// The time at which the last access arrives, as far as that is known.
    pub(crate) latest: Time,
    /// Accesses whose answer is awaited, and when the latest of the others' came.
    pub(crate) outstanding: u32,
    pub(crate) done: Came,
    /// Number of awaited answers that bring data.
    pub(crate) fetching: u32,
    /// The wait for the last answer, or [`NIL`].
    pub(crate) wait: u32,
    /// The channel that its origin's short accesses went on with after one of this channel, or none.
    pub(crate) next: u32,
    /// If anything was accessed since the last flush, how often its origin had flushed all by then, and one
    /// more; else 0.
    pub(crate) used: u32,
    /// `true` if accesses go in the order of arrivals because of an atomic one among them.
    pub(crate) ordered: bool,
    /// `true` if any access brought data, so that there is a [`FetchedData`] of this channel.
    pub(crate) fetched: bool,
}

/// Data that comes over a channel: what a local flush waits for, as what was given away left with the call.
// Beside the channel, which has a cache line: most accesses bring nothing back.
#[derive(Clone, Copy)]
pub(crate) struct FetchedData {
    /// The time at which the latest came, or will as far as that is known.
    pub(crate) latest: Came,
    /// The request that waits for the last that is to come, or [`NIL`].
    pub(crate) wait: u32,
    /// The like of [`Channel::used`] for accesses that bring no data: a local flush is no flush of these.
    pub(crate) given: u32,
}

impl FetchedData {
    /// None has come.
    pub(crate) const NONE: FetchedData = FetchedData {
        latest: Came { at: Time::ZERO, after: Act { at: Time::ZERO, by: 0 } },
        wait: NIL,
        given: 0,
    };
}

impl Channel {
    pub(crate) fn new(target: u32, origin: u32, hold: Hold) -> Channel {
        Channel {
            hold,
            target,
            origin,
            latest: Time::ZERO,
            outstanding: 0,
            done: Came::default(),
            fetching: 0,
            wait: NIL,
            next: NIL,
            used: 0,
            ordered: false,
            fetched: false,
        }
    }

    /// Notes one more access over the channel, which has this index, after `flushes` of its origin. Returns
    /// what `used` was before.
    #[inline]
    pub(crate) fn uses(&mut self, index: u32, flushes: u32, fetches: bool, data: &mut [FetchedData]) -> u32 {
        if self.fetched && !fetches {
            data[index as usize].given = flushes + 1;
        }
        std::mem::replace(&mut self.used, flushes + 1)
    }
}

/// Destination of an answer's data.
pub(crate) struct ReplyBuffer {
    pub(crate) win: u32,
    /// World rank.
    pub(crate) origin: u32,
    pub(crate) view: BufferView,
    pub(crate) data: Option<Bytes>,
    /// The program's request for it, or [`NIL`].
    pub(crate) request: u32,
}
