//! Duration of a collective whose members enter it at one time, without a run.

use super::costs::{Burden, Costs, MessageOverheads, RoundResult};
use super::{Clocks, TimePlane};
use crate::segments::ProcessSegment;
use crate::{Direct, Members, Schedule};
use std::rc::Rc;

/// The result of [`duration`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Duration {
    /// From the members' entry until the last is through, in picoseconds; `None` if there were too many
    /// messages to look at.
    pub ps: Option<u64>,
    /// Messages and members that were looked at.
    pub looks: u64,
}

/// Returns how long `size` members take that enter at one time, with interfaces that are free. O(messages),
/// and given up before the round that would make it look at more than `most` messages and members; a pattern
/// among members that are in step costs one look.
// By looks and not by the host's time, so that what a report leaves out is the same on every host.
pub fn duration(
    schedule: &Rc<dyn Schedule>,
    size: u32,
    members: &impl Members,
    costs: &impl Costs,
    overheads: Option<MessageOverheads>,
    most: u64,
) -> Duration {
    let count = size as usize;
    let burden = overheads.map(|overheads| Burden::new(overheads, count, std::iter::repeat_n(0, count)));
    let mut plane =
        TimePlane::new(ProcessSegment::whole(size), schedule.clone(), Clocks::same(0, count), true)
            .with_burden(burden);
    let (mut looks, mut said) = (0, RoundResult::default());
    while plane.round < schedule.rounds() {
        let next = looks + plane.looks(costs);
        if next > most {
            return Duration { ps: None, looks };
        }
        looks = next;
        let over = plane.advance_round(members, costs, &mut said);
        debug_assert!(over, "a process alone waits for nobody");
    }
    plane.clocks.end_exchanges();
    Duration { ps: Some(plane.clocks.latest()), looks }
}

impl TimePlane {
    /// Returns the number of messages and members that the next round looks at, at most.
    fn looks(&self, costs: &impl Costs) -> u64 {
        let size = u64::from(self.segment.size());
        if self.burden.is_none()
            && let Some(pattern) = self.schedule.pattern(self.round)
        {
            let in_step = self.clocks.equal().is_some() && costs.uniform(pattern.bytes()).is_some();
            return if in_step { 1 } else { size };
        }
        match self.schedule.direct(self.round) {
            Some(Direct::Ahead { count, .. }) => size * u64::from(count.min(self.segment.size())),
            Some(Direct::Across { .. } | Direct::Neighbors) => size,
            // A round of steps has few messages a member, but for a root's, which has one for each.
            None => size + self.schedule.active(self.round).map_or(size, |active| active.count.into()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::algorithm::{Parameters, find};
    use crate::{Kind, Shape};

    /// 1 us and 1 ns a byte between any two members; with a million members nothing else would be quick to
    /// say.
    struct Even;

    impl Costs for Even {
        fn uniform(&self, bytes: u64) -> Option<u64> {
            Some(1_000_000 + 1000 * bytes)
        }
        fn latency(&self, _: u32, _: u32, bytes: u64) -> u64 {
            1_000_000 + 1000 * bytes
        }
    }

    fn of(
        kind: Kind,
        name: &str,
        size: u32,
        bytes: u64,
        overheads: Option<MessageOverheads>,
        most: u64,
    ) -> Duration {
        let shape = Shape::regular(kind, size, bytes, 1);
        let schedule = find(kind, name).unwrap().schedule(&shape, &Parameters::default());
        duration(&schedule, size, &shape, &Even, overheads, most)
    }

    #[test]
    fn durations_are_those_of_the_textbook() {
        let ps = |kind, name, size, bytes| of(kind, name, size, bytes, None, u64::MAX).ps;
        // log n (l + m/b); 2 (n - 1) (l + m/nb); 2 log n rounds, of which those of each half move m - m/n
        // bytes together.
        assert_eq!(ps(Kind::Allreduce, "recursive-doubling", 8, 800), Some(3 * 1_800_000));
        assert_eq!(ps(Kind::Allreduce, "ring", 8, 800), Some(14 * 1_100_000));
        assert_eq!(ps(Kind::Allreduce, "rabenseifner", 8, 800), Some(6_000_000 + 2 * 700_000));
        assert_eq!(ps(Kind::Alltoall, "linear", 8, 100), Some(1_100_000));
        assert_eq!(ps(Kind::Alltoall, "pairwise", 8, 100), Some(7 * 1_100_000));
        assert_eq!(ps(Kind::Barrier, "dissemination", 1 << 20, 0), Some(20_000_000));
    }

    #[test]
    fn overheads_are_paid_by_both_sides() {
        let overheads = Some(MessageOverheads { send: 10, receive: 100, gap: 0 });
        // The root sends seven messages one after the other; the last is received by who does nothing else.
        assert_eq!(
            of(Kind::Bcast, "linear", 8, 0, overheads, u64::MAX).ps,
            Some(0),
            "an empty message is not sent"
        );
        assert_eq!(of(Kind::Bcast, "linear", 8, 1, overheads, u64::MAX).ps, Some(7 * 10 + 1_001_000 + 100));
    }

    #[test]
    fn what_has_too_many_messages_is_given_up_before_they_are_looked_at() {
        let linear = of(Kind::Alltoall, "linear", 1 << 20, 8, None, 1 << 24);
        assert_eq!(linear, Duration { ps: None, looks: 0 }, "a million million messages");
        let ring = of(Kind::Allreduce, "ring", 1 << 20, 1 << 20, None, 1 << 24);
        assert_eq!((ring.ps.is_some(), ring.looks), (true, (2 << 20) - 2), "members are in step");
    }

    /// 1 us and 1 ns a byte between nodes of 32, ten times less within them; reducing takes 0.1 ns a byte.
    struct TwoLevelCosts {
        reduce: u64,
    }

    impl Costs for TwoLevelCosts {
        fn uniform(&self, _: u64) -> Option<u64> {
            None
        }
        fn latency(&self, from: u32, to: u32, bytes: u64) -> u64 {
            let between = 1_000_000 + 1000 * bytes;
            if from / 32 == to / 32 { between / 10 } else { between }
        }
        fn reduction(&self, bytes: u64) -> u64 {
            self.reduce * bytes
        }
    }

    fn allreduce(name: &str, bytes: u64, reduce: u64) -> u64 {
        let shape = Shape { node: 32, ..Shape::regular(Kind::Allreduce, 64, bytes, 8) };
        let schedule = find(Kind::Allreduce, name).unwrap().schedule(&shape, &Parameters::default());
        let burden = (reduce != 0).then(MessageOverheads::default);
        duration(&schedule, 64, &shape, &TwoLevelCosts { reduce }, burden, u64::MAX).ps.unwrap()
    }

    // The node's reduction and broadcast are five messages each, and the leaders exchange halves twice.
    #[test]
    fn a_composition_on_two_nodes_saves_no_bytes_between_them() {
        assert_eq!(allreduce("smp", 1024, 0), 10 * 202_400 + 2 * 1_512_000);
        // Among all members the first exchanges are within nodes, and only a 32nd of the message leaves them.
        assert_eq!(
            allreduce("rabenseifner", 1024, 0),
            2 * (5 * 100_000 + 100 * (512 + 256 + 128 + 64 + 32) + 1_016_000)
        );
        // A leader sends halves of a long message where each member of the node sends a 32nd.
        let (flat, composed) = (allreduce("rabenseifner", 1 << 20, 0), allreduce("smp", 1 << 20, 0));
        assert!(composed > 5 * flat, "{flat} {composed}");
    }

    #[test]
    fn reductions_take_their_time_after_the_message() {
        for name in ["recursive-doubling", "smp", "reduce-bcast"] {
            let rounds = allreduce(name, 8, 1000) - allreduce(name, 8, 0);
            assert_eq!(rounds, 6 * 8 * 1000, "{name} combines six times one after the other");
        }
        assert_eq!(allreduce("ring", 512, 1000) - allreduce("ring", 512, 0), 63 * 8 * 1000);
    }
}
