//! The ranks of a process: their clocks, and what they spend.

mod charging;
pub mod effort;
pub mod strand;

use crate::ready::Ready;
use crate::remote::block::Block;
use crate::wire::Wire;
use effort::{Compute, Effort};
use engine::{EndOfTime, Span, Time};
use matcher::node::NIL;
use matcher::{Matcher, Pending};
use recorder::Profile;
use std::ops::{Index, IndexMut, Range};
use strand::{Strand, StrandId};

/// In [`Strand::function`] once that call was a failed poll.
// In a word that each call writes anyway, so that a call which is no poll clears it at no cost.
pub const FAILED_POLL: u16 = 1 << 15;

/// Failed polls in a row that are free. Afterwards a rank that only polls is parked; another rank is charged
/// once per this many failed polls.
pub const FREE_POLLS: u32 = 64;

/// Returns the cost of `together` polls of a rank that has made `failed_polls` in a row.
#[inline]
pub fn failed_poll_cost(failed_polls: u32, together: u32) -> Span {
    Span::from_ps(u64::from(together) * 1_000.max(u64::from(failed_polls) * 1_000 / 128))
}

/// Ranks up to which what a switch touches is in the cache anyway, and the nodes of what a rank waited for.
pub const MAX_CACHED_RANKS: u32 = 4096;

/// A phase of a rank's life with MPI.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[repr(u8)]
pub enum Phase {
    /// Before `MPI_Init`.
    #[default]
    Before,
    /// Before `MPI_Init`, but it has opened a session: no stranger to MPI.
    Opened,
    /// Between `MPI_Init` and `MPI_Finalize`.
    Active,
    /// After `MPI_Finalize`.
    Finalized,
    /// The rank's `main` has ended.
    Ended,
}

/// Messages that a rank may send in a row before long queues at its receivers make it step back.
// A sender that never blocks could otherwise fill memory with messages whose receivers have not run yet. Most
// that send this many at once have receivers that keep up.
pub const MAX_BURST: u16 = 512;

/// The state that every rank needs always: one cache line.
// All that a sender has to see of its receiver is in this line: both queues, whether anything is decided
// there, what it is blocked for. What only the rank itself needs, or what few ranks have, is kept elsewhere.
#[derive(Clone, Default)]
#[repr(C, align(64))]
pub struct Process {
    /// The rank's virtual time.
    pub clock: Time,
    /// The time at which the NIC is free again (gap).
    pub nic_free: Time,
    /// The rank's receives without a message, and messages without a receive.
    pub pending: Pending,
    /// The phase of its life.
    pub phase: Phase,
    /// The function it is in, and what it waits for.
    pub strand: Strand,
}

const _: () = assert!(
    size_of::<Process>() == 64,
    "a rank's state is one cache line, or a million ranks take twice the memory"
);

impl Process {
    /// Moves the clock to `time` if that is later; returns the difference, which is waiting.
    #[inline(always)]
    pub fn advance(&mut self, time: Time) -> Option<Span> {
        (time > self.clock).then(|| {
            self.strand.set_failed_polls(0);
            time.since(std::mem::replace(&mut self.clock, time))
        })
    }
    /// Returns `true` if it is blocked by nothing: it runs, can run, lags or has ended.
    #[inline]
    pub fn is_runnable(&self) -> bool {
        !self.strand.is_blocked() && !self.pending.is_polling()
    }
}

/// Unread messages at a receiver up to which its senders need not step back.
const MAX_UNREAD: usize = 2048;

/// The cost of computation in a run.
pub struct Processor {
    /// The rule by which computation is charged.
    pub compute: Compute,
    /// Floating-point operations that a rank's processor does in a second, if that is known.
    pub flop_rate: Option<f64>,
}

/// The ranks of a process.
pub struct Ranks {
    /// Ranks that there are numbers for.
    size: u32,
    /// Ranks that have started, as far as this process knows: those below this number.
    // Ranks are spawned in the order of their numbers, so that one number is enough.
    started: u32,
    /// The mounted rank (world number).
    current: u32,
    states: Block<Process>,
    /// The first rank of this process.
    first: u32,
    /// Ranks of this process.
    local: u32,
    /// `true` if there are so many ranks that what a switch or a message touches has left the cache since it
    /// was touched last.
    exceeds_cache: bool,
    /// `true` if a rank has sent so many messages in a row that its next send asks whether it steps back.
    // Asked of every send, where the rank's own count would have to be looked up again.
    far_ahead: bool,
    /// `true` if the mounted rank's call before this one was of the same function.
    again: bool,
    /// `true` if the mounted rank polls, and its call before was a failed poll.
    polls_again: bool,
    compute: Compute,
    flop_rate: Option<f64>,
    /// The time that the host has computed for the mounted rank.
    clock_host: rank::host::HostClock,
    /// The host's work for the call that is being served.
    effort: Effort,
    /// Names of the MPI functions.
    names: &'static [&'static str],
    /// Counts for the report.
    profile: Profile,
}

impl Ranks {
    /// Returns those of `size` ranks that are in `own`, of which the first `initial` of all have started.
    pub fn new(
        (size, initial): (u32, u32),
        own: Range<u32>,
        processor: Processor,
        names: &'static [&'static str],
    ) -> Ranks {
        let Processor { compute, flop_rate } = processor;
        let (first, local) = (own.start, own.end - own.start);
        let clock_host = rank::host::HostClock::new().scaled(compute.factor());
        let mut profile = Profile::new(names.len(), first, local as usize);
        if let Compute::Measured { factor } = compute {
            profile.intervals.interruptions = charging::interruptions(&clock_host, factor);
        }
        Ranks {
            size,
            started: initial,
            current: 0,
            states: Block::new(first, local),
            first,
            local,
            exceeds_cache: local > MAX_CACHED_RANKS,
            far_ahead: false,
            again: false,
            polls_again: false,
            clock_host,
            compute,
            flop_rate,
            effort: Effort::Unknown,
            names,
            profile,
        }
    }

    /// Returns the number of ranks that there are numbers for.
    pub fn size(&self) -> u32 {
        self.size
    }
    /// Returns the number of ranks that have started.
    pub fn started(&self) -> u32 {
        self.started
    }
    /// Notes that all ranks below `end` have started.
    pub fn start_until(&mut self, end: u32) {
        self.started = self.started.max(end);
    }
    /// Returns the first rank of this process.
    #[inline]
    pub fn first(&self) -> u32 {
        self.first
    }
    /// Returns the number of this process's ranks.
    #[inline]
    pub fn local(&self) -> u32 {
        self.local
    }
    /// Returns the ranks of this process.
    pub fn own(&self) -> Range<u32> {
        self.first..self.first + self.local
    }
    /// Returns the number of this process's ranks that have started.
    pub fn local_started(&self) -> u32 {
        self.started.saturating_sub(self.first).min(self.local)
    }
    /// Returns the ranks of this process that have started.
    pub fn own_started(&self) -> Range<u32> {
        self.first..self.first + self.local_started()
    }
    /// Returns `true` if a world rank is one of this process's.
    #[inline]
    pub fn is_local(&self, rank: u32) -> bool {
        rank.wrapping_sub(self.first) < self.local
    }
    /// Returns `true` if there are more ranks than the cache holds.
    #[inline]
    pub fn exceed_cache(&self) -> bool {
        self.exceeds_cache
    }

    /// Returns the mounted rank (world number).
    #[inline(always)]
    pub fn me(&self) -> u32 {
        self.current
    }
    /// Notes that a rank is mounted.
    #[inline]
    pub fn mount(&mut self, rank: u32) {
        self.current = rank;
    }
    /// Returns the mounted rank's state.
    #[inline(always)]
    pub fn mounted(&mut self) -> &mut Process {
        &mut self.states[self.current as usize]
    }

    /// Returns the strand that runs, which is of the mounted rank.
    #[inline(always)]
    pub fn strand(&self) -> &Strand {
        &self.states[self.current as usize].strand
    }
    /// Returns the strand that runs, to change.
    #[inline(always)]
    pub fn strand_mut(&mut self) -> &mut Strand {
        &mut self.states[self.current as usize].strand
    }
    /// Returns which strand runs.
    #[inline(always)]
    pub fn running(&self) -> StrandId {
        StrandId::of(self.current)
    }
    /// Unblocks a rank, whatever it was blocked for. Returns the strand to wake, if it was blocked.
    #[inline(always)]
    pub fn unblock(&mut self, rank: u32) -> Option<StrandId> {
        self.states[rank as usize].strand.unblock().then(|| StrandId::of(rank))
    }

    /// Returns a rank's clock.
    #[inline]
    pub fn clock(&self, rank: u32) -> Time {
        self[rank].clock
    }
    /// Returns the greatest clock.
    pub fn latest(&self) -> Time {
        self.states.iter().map(|rank| rank.clock).max().unwrap_or_default()
    }
    /// Moves a rank's clock to `time` if that is later; the difference counts as waiting.
    // Only forward: what completed before the rank asked costs it nothing, and just the rest counts as
    // waiting. A clock that moves ends a row of polls, which are all of one instant.
    #[inline(always)]
    pub fn advance(&mut self, rank: u32, time: Time) {
        if let Some(waited) = self[rank].advance(time) {
            self.profile.wait(rank, waited);
        }
    }
    /// Moves the mounted rank's clock to the arrival of a message and charges `overhead`.
    // The receive overhead comes after the arrival and the waiting: the receiver's processor works then
    // (LogGP's o).
    #[inline(always)]
    pub fn receive(&mut self, arrival: Time, overhead: Option<Span>) {
        let me = self.current;
        let state = &mut self.states[me as usize];
        let waited = state.advance(arrival);
        if let Some(overhead) = overhead {
            state.clock += overhead;
        }
        if let Some(waited) = waited {
            self.profile.wait(me, waited);
        }
    }

    /// Ends a rank's wait in a collective at `clock`. Of that `waited` is waiting, all if not given; then its
    /// NIC is free at the second time. Returns the strand that was blocked for it.
    // Another thread of the rank may have moved its clock on meanwhile.
    #[inline]
    pub fn release(
        &mut self,
        rank: u32,
        clock: Time,
        burden: Option<(Span, Option<Time>)>,
    ) -> Option<StrandId> {
        let state = &mut self.states[rank as usize];
        let mut waited = state.advance(clock).unwrap_or(Span::ZERO);
        if let Some((alone, free)) = burden {
            waited = alone;
            state.nic_free = free.unwrap_or(state.nic_free);
        }
        let blocked = state.strand.unblock().then(|| StrandId::of(rank));
        if waited != Span::ZERO {
            self.profile.wait(rank, waited);
        }
        blocked
    }

    /// Counts one completion less that a blocked rank waits for, and wakes it after the last.
    // Each completion that was marked as waited for comes here once, so that the number ends at exactly 0 and
    // a rank is never woken twice.
    #[inline(always)]
    pub(crate) fn count_down(&mut self, ready: &mut Ready, rank: u32) {
        if !self.states[rank as usize].strand.count_down() {
            ready.wake(StrandId::of(rank));
        }
    }

    /// Charges the sender's overhead and gap for a message of a rank. Returns when it leaves.
    pub fn inject(&mut self, wire: &Wire, rank: u32) -> Time {
        let state = &mut self[rank];
        if wire.has_overheads {
            state.clock = wire.overheads.leave(&mut state.nic_free, state.clock);
        }
        state.clock
    }

    /// Returns the name of an MPI function.
    pub fn function_name(&self, function: u16) -> &'static str {
        self.names.get(usize::from(function)).copied().unwrap_or("no MPI function yet")
    }
    /// Returns the MPI function that a rank is in, or was last in.
    pub fn function_of(&self, rank: u32) -> &'static str {
        self.function_name(self[rank].strand.function() & !FAILED_POLL)
    }
    /// Returns the names of the MPI functions.
    pub fn names(&self) -> &'static [&'static str] {
        self.names
    }
    /// Says why the run cannot go on beyond the end of virtual time. Names the rank whose clock is the
    /// greatest, of several the first.
    pub fn explain(&self, EndOfTime(why): &EndOfTime) -> String {
        let clocks = (self.first..).zip(self.states.iter().map(|rank| rank.clock));
        let (rank, at) = clocks.reduce(|a, b| if b.1 > a.1 { b } else { a }).unwrap_or_default();
        format!("rank {rank} at {at}: {}: {why}", self.function_of(rank))
    }

    /// Returns what is counted for the report.
    #[inline]
    pub fn profile(&self) -> &Profile {
        &self.profile
    }
    /// Returns what is counted for the report, to change.
    #[inline(always)]
    pub fn profile_mut(&mut self) -> &mut Profile {
        &mut self.profile
    }

    /// Returns `true` if a rank has sent so many messages in a row that it may have to let its receivers run.
    #[inline(always)]
    pub fn is_far_ahead(&self) -> bool {
        self.far_ahead
    }
    /// Notes whether a rank has sent so many messages in a row that it may have to let its receivers run.
    pub fn set_far_ahead(&mut self, far_ahead: bool) {
        self.far_ahead = far_ahead;
    }

    /// Ends a long burst of the mounted rank, the last messages of which went to these. A receiver that reads
    /// what it gets lets no rank step back.
    // Looked at only once the burst is long: the receiver's queue may have left the cache.
    #[inline(never)]
    pub fn end_burst(&mut self, matcher: &Matcher, last: &[u32]) {
        let reads = |to: u32| to != NIL && matcher.message_count(&self[to].pending) < MAX_UNREAD;
        if last.iter().any(|&to| reads(to)) {
            self.strand_mut().end_burst();
        } else {
            self.far_ahead = true;
        }
    }

    /// Returns the number of messages sent and their bytes.
    pub fn traffic(&self) -> (u64, u128) {
        (self.profile.messages(), self.profile.bytes())
    }

    /// Prefetches what a message to `rank` touches first.
    #[inline(always)]
    pub fn prefetch(&self, rank: u32) {
        rank::memory::prefetch(&self[rank]);
    }
}

impl Index<u32> for Ranks {
    type Output = Process;
    #[inline(always)]
    fn index(&self, rank: u32) -> &Process {
        &self.states[rank as usize]
    }
}

impl IndexMut<u32> for Ranks {
    #[inline(always)]
    fn index_mut(&mut self, rank: u32) -> &mut Process {
        &mut self.states[rank as usize]
    }
}
