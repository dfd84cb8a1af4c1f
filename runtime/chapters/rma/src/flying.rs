//! Accesses of one origin to one target that a shared network carries, in the order in which they left.

use crate::access::Turn;
use engine::Time;
use std::collections::VecDeque;

/// Accesses under way over a shared network, of one window, origin and target.
#[derive(Default)]
pub(crate) struct Flying {
    /// Each in the order in which it left, by its index, and whether it has landed.
    pub(crate) queue: VecDeque<(u32, bool)>,
    latest: LastArrival,
}

/// The time at which the last access arrived of those that later ones may not overtake.
#[derive(Clone, Copy, Default)]
pub(crate) struct LastArrival {
    /// The epoch between fences that it was of, if it was of one.
    epoch: Option<u32>,
    at: Time,
}

impl LastArrival {
    /// Returns when an access arrives that the network delivers at `at`: not before the last one of its
    /// epoch, nor, under a lock, before those between fences that came first.
    // What is put between fences arrives by the end of its epoch at the target, which an origin may have left
    // before. The next epoch between fences waits for that end itself; a lock knows nothing of it.
    pub(crate) fn after(&mut self, turn: Turn, at: Time) -> Time {
        let epoch = if let Turn::Fence(epoch) = turn { Some(epoch) } else { None };
        self.at = if epoch.is_none() || self.epoch == epoch { self.at.max(at) } else { at };
        self.epoch = epoch;
        self.at
    }
}

impl Flying {
    /// Notes that the network has delivered an access, and hands on all that have landed and have none before
    /// them.
    pub(crate) fn land(&mut self, index: u32, mut goes_on: impl FnMut(u32, &mut LastArrival)) {
        if let Some(entry) = self.queue.iter_mut().find(|(flying, _)| *flying == index) {
            entry.1 = true;
        }
        while let Some(&(index, true)) = self.queue.front() {
            self.queue.pop_front();
            goes_on(index, &mut self.latest);
        }
        if self.queue.is_empty() {
            self.queue = VecDeque::new();
        }
    }

    /// Returns `true` if nothing is under way that later accesses may not overtake.
    // What was put between fences is known before it is so, and its origin has no channel any more.
    pub(crate) fn is_to_forget(&self) -> bool {
        self.queue.is_empty() && self.latest.epoch.is_none()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn flying(count: u32) -> Flying {
        Flying { queue: (0..count).map(|index| (index, false)).collect(), latest: LastArrival::default() }
    }

    fn landed(flying: &mut Flying, index: u32, at: u64, turn: Turn) -> Vec<(u32, u64)> {
        let mut out = Vec::new();
        flying.land(index, |index, latest| out.push((index, latest.after(turn, Time::from_ps(at)).as_ps())));
        out
    }

    #[test]
    fn an_access_arrives_no_earlier_than_one_that_left_before_it() {
        let mut flying = flying(4);
        assert_eq!(landed(&mut flying, 1, 5, Turn::Ordered), []);
        assert_eq!(landed(&mut flying, 0, 9, Turn::Ordered), [(0, 9), (1, 9)]);
        // Known early, for a time after the next one's.
        assert_eq!(landed(&mut flying, 2, 20, Turn::AtOnce), [(2, 20)]);
        assert_eq!(landed(&mut flying, 3, 12, Turn::Ordered), [(3, 20)]);
    }

    #[test]
    fn an_access_under_a_lock_arrives_no_earlier_than_one_between_fences_before_it() {
        let mut flying = flying(3);
        assert_eq!(landed(&mut flying, 0, 20, Turn::Fence(3)), [(0, 20)]);
        assert_eq!(landed(&mut flying, 1, 12, Turn::Acquires), [(1, 20)]);
        assert_eq!(landed(&mut flying, 2, 15, Turn::Fence(4)), [(2, 15)]);
    }

    #[test]
    fn epochs_between_fences_hold_each_other_up_by_their_ends_alone() {
        let mut flying = flying(3);
        assert_eq!(landed(&mut flying, 0, 20, Turn::Fence(3)), [(0, 20)]);
        assert_eq!(landed(&mut flying, 1, 12, Turn::Fence(4)), [(1, 12)]);
        assert_eq!(landed(&mut flying, 2, 11, Turn::Fence(4)), [(2, 12)]);
    }
}
