//! A strand: what a rank does and waits for. Of several threads of one rank each would have its own.

use super::{FAILED_POLL, MAX_BURST};
use engine::Time;

/// The strand that wakes or runs, by its number.
// Every rank has one, so that the two have one number. Whoever wakes or mounts goes through this type, which
// is where a second strand of a rank gets a number of its own.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct StrandId(u32);

impl StrandId {
    /// Returns the strand of a rank (world number).
    #[inline(always)]
    pub fn of(rank: u32) -> StrandId {
        StrandId(rank)
    }
    /// Returns the strand of this number.
    #[inline(always)]
    pub(crate) fn numbered(number: u32) -> StrandId {
        StrandId(number)
    }
    /// Returns its number.
    #[inline(always)]
    pub(crate) fn number(self) -> u32 {
        self.0
    }
    /// Returns the rank that a strand belongs to (world number).
    #[inline(always)]
    pub fn rank(self) -> u32 {
        self.0
    }
}

/// The function that a strand is in, and what it is blocked for.
// Packed, since a rank's state is one cache line together with it.
#[derive(Clone, Copy, Default)]
#[repr(C, packed(4))]
pub struct Strand {
    /// The latest arrival of what it was blocked for and what was completed without its status being asked
    /// for (`flag::STATUS_IGNORED`).
    arrived: Time,
    /// Completions it is blocked for.
    // A number and not a list: no one asks which completions are missing, and each counts one down wherever
    // it comes from.
    waiting: u32,
    /// Polls and clock readings in a row without its rank's clock moving.
    failed_polls: u32,
    /// The MPI function it is in, or was last in; with `FAILED_POLL` after a poll that found nothing.
    function: u16,
    /// Messages since it last stepped back, or as many as can be counted.
    burst: u16,
}

impl Strand {
    /// Returns the MPI function it is in, or was last in; with [`FAILED_POLL`] after a poll that found
    /// nothing.
    #[inline(always)]
    pub fn function(&self) -> u16 {
        self.function
    }
    /// Notes the MPI function it is in.
    #[inline(always)]
    pub fn set_function(&mut self, function: u16) {
        self.function = function;
    }
    /// Returns `true` if its last call was a poll that found nothing.
    #[inline(always)]
    pub fn has_failed_poll(&self) -> bool {
        self.function & FAILED_POLL != 0
    }
    /// Notes that its last call was a poll that found nothing.
    #[inline(always)]
    pub fn fail_poll(&mut self) {
        self.function |= FAILED_POLL;
    }
    /// Notes that its last call was no poll in vain.
    #[inline(always)]
    pub fn forget_failed_poll(&mut self) {
        self.function &= !FAILED_POLL;
    }

    /// Returns the polls and clock readings in a row without its rank's clock moving.
    #[inline(always)]
    pub fn failed_polls(&self) -> u32 {
        self.failed_polls
    }
    /// Sets the number of polls and clock readings in a row.
    #[inline(always)]
    pub fn set_failed_polls(&mut self, count: u32) {
        self.failed_polls = count;
    }

    /// Returns `true` if it is blocked for a completion.
    #[inline(always)]
    pub fn is_blocked(&self) -> bool {
        self.waiting != 0
    }
    /// Blocks it for this many completions and no others.
    #[inline(always)]
    pub fn block(&mut self, completions: u32) {
        self.waiting = completions;
    }
    /// Blocks it for this many completions more.
    #[inline(always)]
    pub fn block_further(&mut self, completions: u32) {
        self.waiting += completions;
    }
    /// Unblocks it, whatever it was blocked for. Returns `true` if it was.
    #[inline(always)]
    pub fn unblock(&mut self) -> bool {
        std::mem::take(&mut self.waiting) != 0
    }
    /// Counts one completion less that it is blocked for. Returns `true` if it still is blocked.
    #[inline(always)]
    pub fn count_down(&mut self) -> bool {
        self.waiting -= 1;
        self.waiting != 0
    }

    /// Notes the arrival of what was completed without its status being asked for.
    #[inline(always)]
    pub fn note_arrival(&mut self, at: Time) {
        self.arrived = at.max(self.arrived);
    }
    /// Takes the latest of these arrivals.
    #[inline(always)]
    pub fn take_arrived(&mut self) -> Time {
        let arrived = self.arrived;
        self.arrived = Time::default();
        arrived
    }

    /// Counts messages that it sends; returns `true` if it has sent many in a row.
    #[inline(always)]
    pub fn counts_burst(&mut self, messages: u16) -> bool {
        self.burst = self.burst.saturating_add(messages);
        self.is_far_ahead()
    }
    /// Returns `true` if it has sent many messages in a row.
    #[inline(always)]
    pub fn is_far_ahead(&self) -> bool {
        self.burst > MAX_BURST
    }
    /// Begins a new row of messages.
    #[inline(always)]
    pub fn end_burst(&mut self) {
        self.burst = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn a_strand_is_blocked_until_the_last_completion(completions in 1..50u32, further in 0..50u32) {
            let mut strand = Strand::default();
            strand.block(completions);
            strand.block_further(further);
            for left in (0..completions + further).rev() {
                prop_assert!(strand.is_blocked());
                prop_assert_eq!(strand.count_down(), left != 0);
            }
            prop_assert!(!strand.unblock());
        }

        #[test]
        fn the_latest_arrival_is_taken_once(arrivals in proptest::collection::vec(0..1000u64, 1..20)) {
            let mut strand = Strand::default();
            for &at in &arrivals {
                strand.note_arrival(Time::from_ps(at));
            }
            prop_assert_eq!(strand.take_arrived().as_ps(), *arrivals.iter().max().unwrap());
            prop_assert_eq!(strand.take_arrived(), Time::default());
        }
    }

    #[test]
    fn a_failed_poll_is_noted_beside_the_function() {
        let mut strand = Strand::default();
        strand.set_function(7);
        strand.fail_poll();
        assert!(strand.has_failed_poll());
        assert_eq!(strand.function() & !FAILED_POLL, 7);
        strand.forget_failed_poll();
        assert_eq!((strand.has_failed_poll(), strand.function()), (false, 7));
    }
}
