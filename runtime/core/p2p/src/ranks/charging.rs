//! The cost of computation between MPI calls: nothing, a fixed span, or what the host took for it.

use super::effort::{Compute, Effort};
use super::{FREE_POLLS, Ranks, failed_poll_cost};
use engine::{Span, Time};
use rank::host::{HostClock, MIN_GAP_NS, MeasuredInterval};
use recorder::intervals::{BEGINNING, CLOCK, EndedInterval, Interruptions};

/// Measures how often and for how long a clock's host interrupts this thread, of which one second is `factor`
/// virtual ones.
pub(super) fn interruptions(clock: &HostClock, factor: f64) -> Interruptions {
    let host = clock.interruptions();
    Interruptions::new(host.per_second, Span::from_ns(host.median_ns), Span::from_ns(MIN_GAP_NS), factor)
}

impl Ranks {
    /// Returns how computation is charged.
    #[inline(always)]
    pub fn compute(&self) -> Compute {
        self.compute
    }
    /// Returns the floating-point operations that a rank's processor does in a second, if that is known.
    pub fn flop_rate(&self) -> Option<f64> {
        self.flop_rate
    }
    /// Measures what the whole process computes, and not one thread.
    pub fn measure_process(&mut self) {
        self.clock_host = HostClock::of_process().scaled(self.compute.factor());
    }

    /// Adds computation to a rank's clock.
    // A span of zero is no computation: it does not end a row of polls, or runs without charged computation
    // would never park any.
    #[inline]
    pub fn charge(&mut self, rank: u32, span: Span) {
        if span != Span::ZERO {
            let state = &mut self[rank];
            state.clock += span;
            state.strand.set_failed_polls(0);
            self.profile.compute(rank, span);
        }
    }

    /// Charges the computation before a call of the mounted rank. With `within`, a call that the measured
    /// interval goes on through charges nothing yet.
    #[inline(always)]
    pub fn charge_entry(&mut self, function: u16, within: impl FnOnce(&HostClock) -> bool) {
        match self.compute {
            Compute::None => {}
            Compute::Fixed(span) => self.charge(self.current, span),
            Compute::Measured { .. } => {
                if within(&self.clock_host) {
                    self.effort = Effort::Within;
                } else {
                    self.charge_before(function);
                    self.effort = Effort::Unknown;
                }
            }
        }
    }

    /// Notes that the mounted rank is in this function. Returns its state.
    #[inline(always)]
    pub fn enter(&mut self, function: u16) -> &super::Process {
        let state = &mut self.states[self.current as usize];
        self.again = state.strand.function() == function;
        state.strand.set_function(function);
        state
    }

    /// Returns `true` if the mounted rank's call before this one was of the same function.
    #[inline(always)]
    pub fn is_same_call_again(&self) -> bool {
        self.again
    }

    /// Notes, before a call that may be a poll is entered, whether the call before was a failed poll.
    // Before the function's number is written over: that call's result stands in the same word.
    #[inline]
    pub fn enter_poll(&mut self) {
        self.polls_again = self.strand().has_failed_poll();
    }
    /// Returns `true` if the mounted rank polls, and its call before was a failed poll.
    #[inline]
    pub fn polls_again(&self) -> bool {
        self.polls_again
    }

    /// Ends computation here: the call does more than to note something down.
    // A call that only posts a receive leaves the host's clock running. Once it turns out to do more, what
    // was computed up to its entry is charged after all.
    #[inline(always)]
    pub fn end_interval(&mut self) {
        if self.effort == Effort::Within {
            self.charge_before(self.strand().function());
            self.effort = Effort::Unknown;
        }
    }
    /// Charges the mounted rank the host time since the clock was started, as it enters a function.
    #[inline]
    fn charge_before(&mut self, function: u16) {
        let interval = self.clock_host.enter(function);
        self.charge_interval(function, interval);
    }
    /// Charges the mounted rank the host time since the clock was started.
    #[inline]
    fn charge_measured(&mut self) {
        let interval = self.clock_host.stop();
        self.charge_interval(CLOCK, interval);
        self.profile.intervals.begin(CLOCK);
    }
    /// Charges the mounted rank a measured interval that has ended at a call of this function, without what
    /// the host's interruptions added to it.
    #[inline]
    fn charge_interval(&mut self, function: u16, interval: MeasuredInterval) {
        let rank = self.current;
        let ended = EndedInterval {
            span: interval.span,
            beside: interval.beside,
            preempted: interval.preempted,
            rank,
            computed: self.profile.rank(rank).compute,
        };
        let (charged, took_long) = self.profile.intervals.end(function, &ended);
        self.charge(rank, charged);
        if took_long {
            self.clock_host.entered_later();
        }
    }
    /// Notes that the call of the mounted rank takes some ten nanoseconds, unless it does more than this.
    #[inline(always)]
    pub fn mark_brief(&mut self) {
        if self.effort == Effort::Unknown {
            self.effort = Effort::Brief;
        }
    }
    /// Notes that the call of the mounted rank takes an unknown while.
    // The clock is then read when the call ends. After a brief one its usual time is taken off instead, which
    // saves one of two readings.
    #[inline(always)]
    pub fn mark_varying(&mut self) {
        self.effort = Effort::Varies;
    }
    /// Ends a call: its virtual time goes to the profile, and computation is measured again. Returns the
    /// clock.
    // The profile first: the call's virtual time no longer changes.
    #[inline(always)]
    pub fn leave_call(&mut self, function: u16, entered: Time) -> Time {
        let clock = self.clock(self.current);
        self.profile.call(function, clock.since(entered));
        if let Compute::Measured { .. } = self.compute {
            match self.effort {
                Effort::Brief => self.clock_host.start_after_brief(function),
                // The interval goes on.
                Effort::Within => return self.leave_out(function, clock),
                Effort::Unknown | Effort::Varies => self.clock_host.start_after(function),
            }
            self.profile.intervals.begin(function);
        }
        clock
    }
    #[inline(always)]
    fn leave_out(&mut self, function: u16, clock: Time) -> Time {
        self.clock_host.leave_out(function);
        clock
    }
    /// Reads a clock for the mounted rank: charges computation up to now. Readings in a row cost time after a
    /// while.
    pub fn read_clock(&mut self) -> Time {
        let me = self.current;
        if let Compute::Measured { .. } = self.compute {
            self.charge_measured();
            self.clock_host.start();
        } else {
            // Who looks at the time between polls may have more to do than to wait.
            self.strand_mut().forget_failed_poll();
            // Each by itself, so that who waits for a time meets it.
            self.count_failed_poll(me, 1);
        }
        self.clock(me)
    }
    /// Returns the computation of the mounted rank so far. Computation that is measured is charged up to now.
    pub fn computed(&mut self) -> Span {
        if let Compute::Measured { .. } = self.compute {
            self.charge_measured();
            self.clock_host.start();
        }
        self.profile.rank(self.current).compute
    }
    /// Returns the clock at which the mounted rank will enter its next call. Computation that is measured is
    /// charged up to now, and what follows is not the rank's until [`Ranks::go_on_measuring`].
    #[inline]
    pub fn upcoming_entry(&mut self) -> Time {
        match self.compute {
            Compute::None => {}
            Compute::Fixed(span) => return self.clock(self.current) + span,
            Compute::Measured { .. } => self.charge_measured(),
        }
        self.clock(self.current)
    }
    /// Enters the call that [`Ranks::upcoming_entry`] was for: nothing up to then is the rank's.
    pub fn enter_as_foretold(&mut self) {
        if let Compute::Measured { .. } = self.compute {
            self.clock_host.pause();
        }
    }
    /// Measures computation of the mounted rank from now on.
    #[inline]
    pub fn go_on_measuring(&mut self) {
        if let Compute::Measured { .. } = self.compute {
            self.clock_host.start();
        }
    }
    /// Measures from now on for a rank whose own code is about to run for the first time. What it took to get
    /// there, such as putting another rank's stack away, is not the rank's computation.
    #[inline]
    pub fn begin(&mut self) {
        if let Compute::Measured { .. } = self.compute {
            self.profile.intervals.begin(BEGINNING);
            self.clock_host.start();
        }
    }

    /// Notes that the mounted rank's poll found nothing.
    // The flag first: charging for the row of polls is rare, and who parks polls asks for the flag alone.
    #[inline]
    pub fn fail_poll(&mut self) {
        let me = self.current;
        self.strand_mut().fail_poll();
        self.count_failed_poll(me, FREE_POLLS);
    }
    /// Counts a poll that found nothing, or a reading of a clock. After many in a row each costs time, which
    /// is charged once for `together`.
    #[inline]
    pub fn count_failed_poll(&mut self, rank: u32, together: u32) {
        let failed_polls = self[rank].strand.failed_polls() + 1;
        if failed_polls > FREE_POLLS && failed_polls.is_multiple_of(together) {
            // A poll costs the more the longer the row is, so that virtual time goes with the square of it. A
            // program that polls until a second has passed is there after half a million polls, and one that
            // polls a few hundred times has lost nanoseconds.
            self[rank].clock += failed_poll_cost(failed_polls, together);
        }
        self[rank].strand.set_failed_polls(failed_polls);
    }
}
