//! Effects of calls, added up, so that iterations of a loop which do the same are counted and not made.

use super::{CallIdentity, Channel, Comm};
use rustc_hash::FxHashMap;
use std::collections::hash_map::Entry;

/// The prime of the fingerprints of sequences: the largest one below 2^61, with room for sums in 64 bits and
/// products in 128.
const PRIME: u64 = (1 << 61) - 1;
/// Base of the polynomial: the factor of an element for each element after it.
const BASE: u64 = 0x0123_4567_89ab_cdef;

fn times(one: u64, other: u64) -> u64 {
    ((u128::from(one) * u128::from(other)) % u128::from(PRIME)) as u64
}

/// Calls in a row, by a fingerprint: a polynomial in [`BASE`] whose coefficients they are (R. Karp and M.
/// Rabin, 1987).
// That of two sequences one behind the other follows from both, and so that of a sequence 2^60 times, which
// no other hash here can.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Sequence {
    /// Number of calls.
    pub(super) calls: u64,
    hash: u64,
    /// [`BASE`] to the power of their number.
    power: u64,
}

impl Default for Sequence {
    fn default() -> Sequence {
        Sequence { calls: 0, hash: 0, power: 1 }
    }
}

impl Sequence {
    /// Returns the sequence of one call.
    pub(super) fn of(call: u64) -> Sequence {
        Sequence { calls: 1, hash: call % PRIME, power: BASE }
    }

    fn then(self, behind: Sequence) -> Sequence {
        Sequence {
            calls: self.calls.saturating_add(behind.calls),
            hash: (times(self.hash, behind.power) + behind.hash) % PRIME,
            power: times(self.power, behind.power),
        }
    }

    /// Returns this sequence so many times, one behind the other. O(log times).
    fn repeated(self, times: u64) -> Sequence {
        let (mut all, mut part) = (Sequence::default(), self);
        for bit in 0..u64::BITS - times.leading_zeros() {
            if times >> bit & 1 != 0 {
                all = all.then(part);
            }
            part = part.then(part);
        }
        all
    }
}

/// Messages of a channel.
#[derive(Clone, Copy, Default)]
pub(super) struct ChannelTraffic {
    pub(super) sent: u64,
    pub(super) received: u64,
    pub(super) last_sent: Option<CallIdentity>,
    pub(super) last_received: Option<CallIdentity>,
}

impl ChannelTraffic {
    pub(super) fn add(&mut self, later: &ChannelTraffic) {
        self.sent = self.sent.saturating_add(later.sent);
        self.received = self.received.saturating_add(later.received);
        self.last_sent = later.last_sent.or(self.last_sent);
        self.last_received = later.last_received.or(self.last_received);
    }
}

/// Effects of consecutive calls of one rank: on channels and collectives, and repeated waits to report.
#[derive(Clone, Default)]
pub(super) struct Effects {
    pub(super) channels: FxHashMap<Channel, ChannelTraffic>,
    pub(super) collectives: FxHashMap<Comm, Sequence>,
    /// Requests that were waited for and were none, by call site and function.
    pub(super) twice: FxHashMap<(u32, u32), u64>,
}

impl Effects {
    pub(super) fn sent(&mut self, channel: Channel, at: CallIdentity) {
        self.channels.entry(channel).or_default().add(&ChannelTraffic {
            sent: 1,
            last_sent: Some(at),
            ..ChannelTraffic::default()
        });
    }

    pub(super) fn received(&mut self, channel: Channel, at: CallIdentity) {
        self.channels.entry(channel).or_default().add(&ChannelTraffic {
            received: 1,
            last_received: Some(at),
            ..ChannelTraffic::default()
        });
    }

    pub(super) fn collective(&mut self, comm: Comm, call: u64) {
        let calls = self.collectives.entry(comm).or_default();
        *calls = calls.then(Sequence::of(call));
    }

    /// Appends the effects of later calls of the rank.
    pub(super) fn add(&mut self, later: Effects) {
        for (channel, messages) in later.channels {
            self.channels.entry(channel).or_default().add(&messages);
        }
        for (comm, calls) in later.collectives {
            match self.collectives.entry(comm) {
                Entry::Occupied(mut before) => *before.get_mut() = before.get().then(calls),
                Entry::Vacant(place) => drop(place.insert(calls)),
            }
        }
        for (place, count) in later.twice {
            let all = self.twice.entry(place).or_default();
            *all = all.saturating_add(count);
        }
    }

    /// Returns the effects of so many iterations like this one, the last of which is so many calls behind it.
    pub(super) fn repeated(mut self, turns: u64, later: u64) -> Effects {
        for messages in self.channels.values_mut() {
            (messages.sent, messages.received) =
                (messages.sent.saturating_mul(turns), messages.received.saturating_mul(turns));
            for last in [&mut messages.last_sent, &mut messages.last_received].into_iter().flatten() {
                last.number = last.number.saturating_add(later);
            }
        }
        self.collectives.values_mut().for_each(|calls| *calls = calls.repeated(turns));
        self.twice.values_mut().for_each(|count| *count = count.saturating_mul(turns));
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sequence(calls: &[u64]) -> Sequence {
        calls.iter().fold(Sequence::default(), |all, &call| all.then(Sequence::of(call)))
    }

    #[test]
    fn a_sequence_is_known_however_it_was_put_together() {
        let calls: Vec<u64> =
            (0..35).map(|number| (number % 7u64).wrapping_mul(0x9e37_79b9_7f4a_7c15) % 1_000_003).collect();
        let whole = sequence(&calls);
        assert_eq!(sequence(&calls[..7]).repeated(5), whole);
        assert_eq!(sequence(&calls[..13]).then(sequence(&calls[13..])), whole);
        assert_eq!(sequence(&calls[..7]).repeated(0), Sequence::default());
        // Another order, another call, one more.
        let mut other = calls.clone();
        other.swap(3, 4);
        assert_ne!(sequence(&other), whole);
        other[3] += 1;
        assert_ne!(sequence(&other), whole);
        assert_ne!(sequence(&[0]).then(whole), whole);
    }
}
