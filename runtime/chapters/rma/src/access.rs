//! An access under way: what an origin asks of a target.

use crate::atomic::{Bytes, Combine, compare_and_swap, fetch};
use crate::came::Act;
use crate::place::TargetMemory;
use crate::short::Short;
use engine::Time;
use objects::op::Predefined;
use p2p::chapter::arrivals::Arrival;

/// No channel, no reply.
pub(crate) const NIL: u32 = u32::MAX;

/// Effect of an access at its target.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum TargetAction {
    /// Writes the payload.
    Put,
    /// Answers the bytes.
    Get,
    /// Combines the payload.
    Accumulate(Combine),
    /// Combines the payload and answers what was there.
    Fetch(Combine),
    /// The payload is what to compare with and what to write.
    CompareAndSwap,
    /// Asks for the target's lock; answered when it is granted.
    Lock {
        /// For its origin alone.
        exclusive: bool,
    },
    /// Gives the lock back.
    Unlock {
        /// `true` if it was for its origin alone.
        exclusive: bool,
    },
    /// The end of an access epoch of `MPI_Win_start`.
    Complete,
}

impl TargetAction {
    /// Returns `true` if it is about its target's memory.
    pub(crate) fn touches(self) -> bool {
        !matches!(self, TargetAction::Lock { .. } | TargetAction::Unlock { .. } | TargetAction::Complete)
    }
    /// Returns `true` if its answer has data.
    pub(crate) fn fetches(self) -> bool {
        matches!(self, TargetAction::Get | TargetAction::Fetch(_) | TargetAction::CompareAndSwap)
    }
    /// Returns `true` if what it finds or leaves depends on other accesses that MPI allows beside it.
    // MPI lets accumulates of one epoch meet at one place, and each of them finds what those before left (MPI
    // 5.0 section 12.7.1): their order is seen.
    pub(crate) fn is_atomic(self) -> bool {
        matches!(self, TargetAction::Accumulate(_) | TargetAction::Fetch(_) | TargetAction::CompareAndSwap)
    }
}

/// Order in which an access is served.
//              origin           its accesses are seen by                        so they are
//   fence      any number       nobody before the epoch's end                   Fence: kept until then
//   start      any number       the others of the epoch, if they are atomic     Ordered if so, else AtOnce
//   lock       it alone         nobody before the unlock                        AtOnce
//   lock       sharing          others that share it                            Ordered
//   lock_all   sharing          likewise, the lock taken by the first access    Acquires
// What is AtOnce needs no decision, and costs what a message costs; docs/reference/rma.md says why no correct
// program can tell.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Turn {
    /// Served as it arrives: no access that MPI allows beside it can tell.
    AtOnce,
    /// In the order of arrivals at the target, which is known once that is safe.
    Ordered,
    /// Ordered; it takes the target's shared lock first, which its origin does not have yet.
    Acquires,
    /// Served when the fence closes that ends this epoch, in the order of arrivals.
    Fence(u32),
}

/// An access as whoever has it hands it on: in place, because it has two cache lines and several owners on
/// its way.
pub(crate) type Held = Box<PendingAccess>;

/// An access under way, or one that waits at its target.
#[derive(Clone, Debug)]
pub(crate) struct PendingAccess {
    /// The window's index.
    pub(crate) win: u32,
    /// World ranks.
    pub(crate) origin: u32,
    pub(crate) target: u32,
    /// Cause of the access: its origin sent it, or a rank released the lock that it waited for.
    pub(crate) after: Act,
    /// The time at which it is at its target; then, if that is later, at which it is served.
    pub(crate) arrival: Time,
    /// Sequence number among its origin's accesses.
    // Breaks ties of accesses that one origin makes at one clock: in the order of its calls.
    pub(crate) sequence: u32,
    pub(crate) action: TargetAction,
    pub(crate) turn: Turn,
    pub(crate) place: TargetMemory,
    /// Data that the access brings; once it was served, data that it has found.
    pub(crate) data: Bytes,
    pub(crate) back: Back,
    /// The window has been given back: nothing is left to be done.
    // An unlock that nobody waits for may be decided after that, when another window has the number.
    pub(crate) void: bool,
}

const _: () = assert!(size_of::<PendingAccess>() <= 128, "two cache lines, or thousands that wait take more");

// What touches no memory.
impl Default for PendingAccess {
    fn default() -> PendingAccess {
        PendingAccess {
            win: 0,
            origin: 0,
            target: 0,
            after: Act::default(),
            arrival: Time::MAX,
            sequence: 0,
            action: TargetAction::Complete,
            turn: Turn::AtOnce,
            place: TargetMemory::NONE,
            data: Bytes::new(),
            back: Back::NONE,
            void: false,
        }
    }
}

impl PendingAccess {
    /// Returns the arrival by which it is ordered among those that wait at its target.
    pub(crate) fn waits(self: Held) -> Arrival<Waiting> {
        Arrival { time: self.arrival, origin: self.origin, sequence: self.sequence, what: Waiting::Any(self) }
    }
    /// Returns `true` if all that it is about is its target's memory, which others may have to have touched
    /// before: no lock, no end of an epoch.
    #[inline]
    pub(crate) fn is_plain(&self) -> bool {
        self.turn == Turn::Ordered && !self.void && self.action.touches()
    }
    /// Returns the bytes of data that it brings to its target.
    // By what it does and not by its data, which a run without payloads does not have.
    #[inline]
    pub(crate) fn brings(&self) -> u64 {
        match self.action {
            TargetAction::Fetch(Combine { op: Predefined::NoOp, .. }) => 0,
            TargetAction::Put | TargetAction::Accumulate(_) | TargetAction::Fetch(_) => self.place.bytes,
            TargetAction::CompareAndSwap => self.place.bytes.saturating_mul(2),
            _ => 0,
        }
    }
    /// Returns the bytes of data in its answer.
    #[inline]
    pub(crate) fn answers(&self) -> u64 {
        if self.action.fetches() { self.place.bytes } else { 0 }
    }
    /// Applies the access to the memory of its target, whose window begins at `base`. If it fetches, its data
    /// is what it found there, else nothing.
    pub(crate) fn run(&mut self, base: usize) {
        match self.action {
            TargetAction::Put => {
                self.place.write(base, &self.data);
                self.data.clear();
            }
            TargetAction::Accumulate(combine) => {
                combine.apply(&self.place, base, &self.data);
                self.data.clear();
            }
            TargetAction::Get => self.data = fetch(&self.place, base),
            TargetAction::Fetch(combine) => self.data = combine.fetch(&self.place, base, &self.data),
            TargetAction::CompareAndSwap => self.data = compare_and_swap(&self.place, base, &self.data),
            TargetAction::Lock { .. } | TargetAction::Unlock { .. } | TargetAction::Complete => {}
        }
    }
}

/// An access that waits at its target.
pub(crate) enum Waiting {
    /// In a place of its own.
    Any(Held),
    /// In the row of those that wait.
    Short(Short),
}

const _: () = assert!(size_of::<Arrival<Waiting>>() == 64, "a cache line");

impl Waiting {
    /// Returns the window, if all that it is about is its target's memory.
    #[inline]
    pub(crate) fn plain(&self) -> Option<u32> {
        match self {
            Waiting::Any(access) => access.is_plain().then_some(access.win),
            Waiting::Short(short) => Some(short.win),
        }
    }
    /// Runs the access ([`PendingAccess::run`]).
    pub(crate) fn run(&mut self, base: usize) {
        match self {
            Waiting::Any(access) => access.run(base),
            Waiting::Short(short) => short.run(base),
        }
    }
}

/// Indices that an answer needs at the origin: [`NIL`] for none.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Back {
    /// The channel that counts it, which makes an answer of it even where there is no data.
    pub(crate) channel: u32,
    /// Index of the [`ReplyBuffer`](crate::origin::ReplyBuffer) that receives the data.
    pub(crate) reply: u32,
}

impl Back {
    /// Nobody asks.
    pub(crate) const NONE: Back = Back { channel: NIL, reply: NIL };
    /// Returns `true` if there is an answer.
    pub(crate) fn is_asked(self) -> bool {
        self != Back::NONE
    }
}
