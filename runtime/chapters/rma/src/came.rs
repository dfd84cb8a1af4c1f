//! Time at which something came that a rank waits for, and the rank because of which it did not come earlier.
//! By these, profiles tell late posts, early waits and lock contention apart (`-xsim-profile`,
//! docs/reference/report.md). No virtual time depends on the second.

use engine::Time;
use engine::record::{Put, Take};
use recorder::waiting::{LateSide, WaitCause};
use std::cmp::Reverse;

/// The time and rank of an act from which something else followed.
// An access, a post or a completion follows from its rank's call; what waited for a lock from its giving
// back, which messages may have to be under way for.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub(crate) struct Act {
    pub(crate) at: Time,
    /// World rank.
    pub(crate) by: u32,
}

/// The time at which something came, and what it followed from.
// Kept whether or not somebody profiles: 16 bytes beside what is under way, and no branch.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub(crate) struct Came {
    pub(crate) at: Time,
    pub(crate) after: Act,
}

impl Act {
    pub(crate) fn put(self, out: &mut impl Put) {
        out.u64(self.at.as_ps());
        out.u32(self.by);
    }
    pub(crate) fn take(from: &mut Take) -> Act {
        Act { at: Time::from_ps(from.u64()), by: from.u32() }
    }
}

impl Came {
    /// Returns what came at `at`, and it is not known because of whom.
    pub(crate) fn at(at: Time) -> Came {
        Came { at, after: Act::default() }
    }
    /// Returns the later of two, as [`WaitCause::order`] has it.
    #[inline]
    pub(crate) fn or_later(self, other: Came) -> Came {
        let order = |came: &Came| (came.at, came.after.at, Reverse(came.after.by));
        if order(&other) > order(&self) { other } else { self }
    }
    /// Returns why a rank waited for it that this side kept waiting.
    pub(crate) fn cause(self, side: LateSide) -> WaitCause {
        let Act { at: acted, by } = self.after;
        WaitCause { side, at: self.at, acted, by, follows: (acted, by) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_later_of_two_is_the_greater_cause() {
        let all = (0..8u32).map(|bits| {
            let after = Act { at: Time::from_ps(u64::from(bits >> 1 & 1)), by: bits >> 2 };
            Came { at: Time::from_ps(u64::from(bits & 1)), after }
        });
        let order = |came: Came| came.cause(LateSide::Nobody).order();
        for (one, other) in all.clone().flat_map(|one| all.clone().map(move |other| (one, other))) {
            assert_eq!(order(one.or_later(other)), order(one).max(order(other)));
        }
    }
}
