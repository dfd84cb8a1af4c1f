//! Entering a call: what was computed before it is charged. Leaving it.

use crate::world::{Phase, World};
use engine::Time;
use p2p::ranks::effort::{Compute, Course};

impl World {
    /// An MPI call of the mounted rank begins: charges the computation before it. Answers the clock, and
    /// whether the call is one like any other: between `MPI_Init` and `MPI_Finalize`, while nobody has
    /// aborted.
    // Once for every MPI call: what it must ask is in one line of the rank and one of the world.
    #[inline(always)]
    pub fn enter_call(&mut self, function: u16, course: Course) -> (Time, bool) {
        let posts = course == Course::Posts && self.messages.fabric().posting_is_unseen();
        self.messages.ranks_mut().charge_entry(function, |host| posts && host.knows(function));
        if course == Course::Ends {
            self.messages.flush_batch();
        }
        let state = self.messages.ranks_mut().enter(function);
        (state.clock, state.phase == Phase::Active && state.clock < self.run.limit)
    }

    /// Returns `true` if computation costs nothing, so that the entry of a call can be taken back.
    #[inline(always)]
    pub fn is_uncharged(&self) -> bool {
        matches!(self.messages.ranks().compute(), Compute::None)
    }

    /// Returns the mounted rank's last call, as [`World::not_entered`] takes it.
    #[inline(always)]
    pub fn last_call(&self) -> u16 {
        self.messages.ranks().strand().function()
    }

    /// Restores `last` as the latest call: the one that was entered has done nothing, and is entered anew, so
    /// that it is not taken for the second of two.
    #[inline(always)]
    pub fn not_entered(&mut self, last: u16) {
        self.messages.ranks_mut().strand_mut().set_function(last);
    }

    /// The mounted rank begins calls of this function, one behind the other, that take no time and before
    /// which it computes what it tells: before which time each is like any other. `None`, and nothing is
    /// begun, if each has to be entered by itself ([`World::enter_call`]).
    #[inline(always)]
    pub fn enter_calls(&mut self, function: u16) -> Option<Time> {
        let ranks = self.messages.ranks_mut();
        let uncharged = ranks.compute() == Compute::None;
        let state = ranks.mounted();
        if !uncharged || state.phase != Phase::Active || state.clock >= self.run.limit {
            return None;
        }
        state.strand.set_function(function);
        Some(self.run.limit)
    }

    /// The call ends that the mounted rank has entered then: whether its clock has got to where somebody has
    /// failed or aborted.
    // With the clock that the profile is told: it need not be looked up again.
    #[inline(always)]
    pub fn leave_call(&mut self, function: u16, entered: Time) -> bool {
        self.messages.ranks_mut().leave_call(function, entered) >= self.run.limit
    }
}
