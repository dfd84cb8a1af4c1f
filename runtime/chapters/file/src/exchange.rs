//! The knowledge of a member of a buffered collective access: how bytes are divided among aggregators and
//! rounds, and its own part in them.

use crate::direction::Direction;
use engine::Time;
use engine::record::{Put, Take};
use std::collections::BTreeMap;

/// Division of the bytes from `first` to `end` of a file among aggregators and rounds.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Division {
    first: u64,
    end: u64,
    /// Bytes of each aggregator but the last.
    each: u64,
    buffer: u64,
}

impl Division {
    pub(crate) fn new(first: u64, end: u64, aggregators: u32, buffer: u64) -> Division {
        Division { first, end, each: (end - first).div_ceil(aggregators.into()).max(1), buffer }
    }

    /// Returns the aggregator of a byte.
    pub(crate) fn aggregator(&self, at: u64) -> u32 {
        ((at - self.first) / self.each) as u32
    }

    pub(crate) fn rounds(&self, aggregator: u32) -> u32 {
        let from = self.first + u64::from(aggregator) * self.each;
        (self.each.min(self.end - from)).div_ceil(self.buffer) as u32
    }

    /// Returns the aggregator and the round of a byte, and the first byte behind it that is of another.
    pub(crate) fn place(&self, at: u64) -> (u32, u32, u64) {
        let aggregator = self.aggregator(at);
        let from = self.first + u64::from(aggregator) * self.each;
        let round = (at - from) / self.buffer;
        let until = from.saturating_add((round + 1).saturating_mul(self.buffer)).min(from + self.each);
        (aggregator, round as u32, until)
    }
}

/// Plan of the exchange, as a member receives it at the meeting.
#[derive(PartialEq, Eq, Debug)]
pub(crate) struct ExchangePlan {
    pub(crate) division: Division,
    /// The aggregators from `first` on that it has to do with: their world ranks, and how many members have
    /// to do with each.
    pub(crate) first: u32,
    pub(crate) aggregators: Vec<(u32, u32)>,
}

impl ExchangePlan {
    pub(crate) fn put(&self) -> Vec<u8> {
        let mut out = Vec::new();
        let Division { first, end, each, buffer } = self.division;
        [first, end, each, buffer].into_iter().for_each(|word| out.u64(word));
        out.u32(self.first);
        out.u32(self.aggregators.len() as u32);
        for &(rank, members) in &self.aggregators {
            out.u32(rank);
            out.u32(members);
        }
        out
    }

    pub(crate) fn take(bytes: &[u8]) -> ExchangePlan {
        let mut from = Take(bytes);
        let division = Division { first: from.u64(), end: from.u64(), each: from.u64(), buffer: from.u64() };
        let (first, count) = (from.u32(), from.u32());
        ExchangePlan { division, first, aggregators: (0..count).map(|_| (from.u32(), from.u32())).collect() }
    }
}

/// A member's transfer in a round of an aggregator.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct RoundTransfer {
    /// The meeting's number among the file's.
    pub(crate) meeting: u32,
    pub(crate) aggregator: u32,
    /// The world rank.
    pub(crate) rank: u32,
    pub(crate) round: u32,
    /// Members that take part.
    pub(crate) members: u32,
    pub(crate) direction: Direction,
    /// The member's own.
    pub(crate) bytes: u64,
    /// On which servers these are.
    pub(crate) loads: Box<[(u32, u64)]>,
}

impl RoundTransfer {
    pub(crate) fn key(&self, file: u32) -> (u32, u32, u32, u32) {
        (file, self.meeting, self.aggregator, self.round)
    }
}

/// A member's bytes in a round.
#[derive(Default)]
pub(crate) struct MemberBytes {
    pub(crate) bytes: u64,
    pub(crate) loads: Vec<u64>,
}

/// A member's collective access while it is under way.
pub(crate) struct MemberExchange {
    pub(crate) meeting: u32,
    /// None before the meeting is over.
    pub(crate) plan: Option<ExchangePlan>,
    /// By aggregator and round.
    pub(crate) shares: BTreeMap<(u32, u32), MemberBytes>,
    /// Aggregators that have something left to do.
    pub(crate) open: u32,
    /// The latest answer.
    pub(crate) done: Time,
}

impl MemberExchange {
    pub(crate) fn new(meeting: u32) -> MemberExchange {
        MemberExchange { meeting, plan: None, shares: BTreeMap::new(), open: 0, done: Time::ZERO }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn every_byte_has_one_aggregator_and_one_round(
            first in 0u64..50, bytes in 1u64..200, aggregators in 1u32..9, buffer in 1u64..70,
        ) {
            let division = Division::new(first, first + bytes, aggregators, buffer);
            let mut last = (0, 0);
            for at in first..first + bytes {
                let (aggregator, round, until) = division.place(at);
                prop_assert!(aggregator < aggregators && round < division.rounds(aggregator));
                prop_assert!((aggregator, round) >= last && until > at);
                prop_assert!(until - at <= buffer);
                if until < first + bytes {
                    let next = division.place(until);
                    prop_assert!((next.0, next.1) > (aggregator, round));
                }
                last = (aggregator, round);
            }
        }

        #[test]
        fn plans_survive_their_way(
            buffer: u64,
            first: u32,
            aggregators in proptest::collection::vec(any::<(u32, u32)>(), 0..5),
        ) {
            let division = Division { first: 3, end: buffer, each: 5, buffer };
            let plan = ExchangePlan { division, first, aggregators };
            prop_assert_eq!(ExchangePlan::take(&plan.put()), plan);
        }
    }
}
