//! What computation between MPI calls costs: not at all, a fixed span, or what the host took for it.

mod effort;

pub use effort::{Compute, Course, Effort};

use crate::messages::{FAILED_POLL, Messages};
use engine::{Span, Time};

impl Messages {
    /// Adds computation to a rank's clock.
    // A span of zero is no computation: it does not end a row of polls, or runs without charged computation
    // would never park any.
    #[inline]
    pub fn compute(&mut self, rank: u32, span: Span) {
        if span != Span::ZERO {
            let state = &mut self.ranks[rank as usize];
            state.clock += span;
            state.failed_polls = 0;
            self.profile.compute(rank, span);
        }
    }
    /// A call that may be a poll comes before the call is entered.
    // Before the function's number is written over: whether the last call was a poll in vain stands in that
    // word.
    #[inline]
    pub fn enter_poll(&mut self) {
        self.polls_again = self.ranks[self.current as usize].function & FAILED_POLL != 0;
    }
    /// Whether nothing depends on when a receive is posted: who waits for that are synchronous senders, and those of messages above
    /// an eager limit.
    #[inline(always)]
    pub fn may_post_within(&self, function: u16) -> bool {
        self.wire.plain && !self.handshakes && self.clock_host.knows(function)
    }
    /// The call does more than to note something down: computation ends here.
    // A call that only posts a receive leaves the host's clock running; once it turns out to do more, what was
    // computed up to its entry is charged to it after all.
    #[inline(always)]
    pub fn ends_interval(&mut self) {
        if self.effort == Effort::Within {
            self.charge_before(self.ranks[self.current as usize].function);
            self.effort = Effort::Unknown;
        }
    }
    /// Charges the mounted rank the host time since the clock was started, as it enters a function.
    #[inline]
    pub fn charge_before(&mut self, function: u16) {
        let span = self.clock_host.enter(function);
        self.compute(self.current, span);
    }
    /// Charges the mounted rank the host time since the clock was started.
    #[inline]
    fn charge_measured(&mut self) {
        let span = self.clock_host.stop();
        self.compute(self.current, span);
    }
    /// The call of the mounted rank takes some ten nanoseconds, unless it does more than this.
    #[inline(always)]
    pub fn mark_brief(&mut self) {
        if self.effort == Effort::Unknown {
            self.effort = Effort::Brief;
        }
    }
    /// What the call of the mounted rank does takes a while that nobody knows.
    // The clock is then read when the call ends; after a brief one its usual time is taken off instead, which
    // saves one of two readings.
    #[inline(always)]
    pub fn takes_a_while(&mut self) {
        self.effort = Effort::Varies;
    }
    /// The call ends: its virtual time goes to the profile, and computation is measured again. Answers the clock.
    // The profile first: it is told the call's virtual time, which no longer changes.
    #[inline(always)]
    pub fn leave_call(&mut self, function: u16, entered: Time) -> Time {
        let clock = self.clock(self.current);
        self.profile.call(function, clock.since(entered));
        if let Compute::Measured { .. } = self.compute {
            match self.effort {
                Effort::Brief => self.clock_host.start_after_brief(function),
                Effort::Within => self.clock_host.leave_out(function),
                Effort::Unknown | Effort::Varies => self.clock_host.start_after(function),
            }
        }
        clock
    }
    /// The mounted rank reads a clock: computation up to now is charged, and readings in a row cost time after a while.
    pub fn read_clock(&mut self) -> Time {
        let me = self.current;
        if let Compute::Measured { .. } = self.compute {
            self.charge_measured();
            self.clock_host.start();
        } else {
            // Who looks at the time between polls may have more to do than to wait.
            self.ranks[me as usize].function &= !FAILED_POLL;
            // Each by itself, so that who waits for a time meets it.
            self.count_failed_poll(me, 1);
        }
        self.clock(me)
    }
    /// What the mounted rank has computed so far; computation that is measured is charged up to now.
    pub fn computed(&mut self) -> Span {
        if let Compute::Measured { .. } = self.compute {
            self.charge_measured();
            self.clock_host.start();
        }
        self.profile.rank(self.current).compute
    }
    /// The clock at which the mounted rank will enter the call that it is about to make. Computation that is measured is charged up to
    /// now, and what follows is not the rank's until [`Messages::go_on_measuring`].
    #[inline]
    pub fn upcoming_entry(&mut self) -> Time {
        match self.compute {
            Compute::None => {}
            Compute::Fixed(span) => return self.clock(self.current) + span,
            Compute::Measured { .. } => self.charge_measured(),
        }
        self.clock(self.current)
    }
    /// The call that [`Messages::upcoming_entry`] was for is entered at that clock: nothing up to then is the rank's.
    pub fn enter_as_told(&mut self) {
        if let Compute::Measured { .. } = self.compute {
            self.clock_host.pause();
        }
    }
    /// From now on computation is the mounted rank's.
    #[inline]
    pub fn go_on_measuring(&mut self) {
        if let Compute::Measured { .. } = self.compute {
            self.clock_host.start();
        }
    }
    /// The mounted rank's own code is about to run for the first time. What it took to get there, such as putting another
    /// rank's stack away, is not the rank's computation.
    #[inline]
    pub fn begun(&mut self) {
        if let Compute::Measured { .. } = self.compute {
            self.clock_host.start();
        }
    }
}
