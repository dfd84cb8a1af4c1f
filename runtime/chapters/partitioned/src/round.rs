//! Partitions that have come of one operation of a channel.

use crate::part::PartitionTransfer;
use engine::{Span, Time};

/// The messages of one operation, each a partition of the sender's.
#[derive(Default)]
pub(crate) struct PartitionedMessages {
    /// The time at which each came; [`Time::MAX`] if it has not. Empty before the first came, which has the
    /// number of all.
    times: Vec<Time>,
    /// Whose overhead the receiver has paid.
    paid: Vec<bool>,
    /// Number of partitions that have not come.
    left: usize,
    /// Bytes of each.
    bytes: u64,
    /// Data that could not be put in their place yet: the receive is not started, or its memory is reached
    /// only while its rank is mounted.
    pub(crate) staged: Vec<(u64, Vec<u8>)>,
}

impl PartitionedMessages {
    /// Records that a message has come.
    pub(crate) fn arrived(&mut self, part: &PartitionTransfer) {
        if self.times.is_empty() {
            self.times = vec![Time::MAX; part.parts as usize];
            self.paid = vec![false; part.parts as usize];
            self.left = part.parts as usize;
            self.bytes = part.bytes;
        }
        self.times[part.index as usize] = part.arrival;
        self.left -= 1;
    }

    /// Returns the bytes that the sender sends in all, once known.
    pub(crate) fn total(&self) -> u64 {
        self.bytes * self.times.len() as u64
    }

    /// Returns how many messages have not come, of how many; nothing before the first.
    pub(crate) fn missing(&self) -> Option<(usize, usize)> {
        (!self.times.is_empty()).then_some((self.left, self.times.len()))
    }

    /// Returns when the last message came, if all have.
    pub(crate) fn complete(&self) -> Option<Time> {
        if self.times.is_empty() || self.left != 0 { None } else { self.times.iter().copied().max() }
    }

    /// Returns the messages that bring `length` bytes from `first` on. Where there are no bytes to tell by,
    /// all of them.
    fn overlapping(&self, first: u64, length: u64) -> std::ops::Range<usize> {
        if self.bytes == 0 || length == 0 {
            return 0..self.times.len();
        }
        let bound = |at: u64| usize::try_from(at).unwrap_or(usize::MAX).min(self.times.len());
        bound(first / self.bytes)..bound((first + length).div_ceil(self.bytes))
    }

    /// Returns when these bytes of the receiver's buffer were there; of those behind the end of what is sent
    /// when everything was.
    pub(crate) fn there(&self, first: u64, length: u64) -> Option<Time> {
        if self.times.is_empty() {
            return None;
        }
        let parts = self.overlapping(first, length);
        if parts.is_empty() {
            return self.complete();
        }
        self.times[parts].iter().copied().max().filter(|&latest| latest != Time::MAX)
    }

    /// Lets a receiver look at these bytes and returns its clock then. They are there: which are there: each
    /// message that it has not paid for yet costs it `overhead`, in the order in which they came.
    pub(crate) fn look(&mut self, first: u64, length: u64, overhead: Span, clock: Time) -> Time {
        let mut parts: Vec<usize> =
            self.overlapping(first, length).filter(|&part| !self.paid[part]).collect();
        parts.sort_by_key(|&part| (self.times[part], part));
        parts.into_iter().fold(clock, |clock, part| {
            self.paid[part] = true;
            clock.max(self.times[part]) + overhead
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::channel::MatchedPair;

    fn round(bytes: u64, times: &[u64]) -> PartitionedMessages {
        let channel = MatchedPair { context: 0, source: 0, to: 0, tag: 0, number: 0 };
        let mut round = PartitionedMessages::default();
        for (index, &time) in times.iter().enumerate().filter(|(_, time)| **time != u64::MAX) {
            let (index, parts) = (index as u32, times.len() as u32);
            round.arrived(&PartitionTransfer {
                channel,
                round: 0,
                index,
                parts,
                bytes,
                arrival: Time::from_ps(time),
                data: Vec::new(),
            });
        }
        round
    }

    #[test]
    fn a_part_of_the_buffer_is_there_when_the_last_message_that_touches_it_is() {
        let round = round(6, &[5, 9, u64::MAX, 7]);
        assert_eq!(round.there(0, 4), Some(Time::from_ps(5)));
        assert_eq!(round.there(4, 4), Some(Time::from_ps(9)));
        assert_eq!(round.there(8, 4), Some(Time::from_ps(9)));
        assert_eq!(round.there(12, 4), None);
        assert_eq!(round.there(18, 6), Some(Time::from_ps(7)));
        assert_eq!(round.there(24, 4), None);
        assert_eq!(round.complete(), None);
        assert_eq!(round.missing(), Some((1, 4)));
    }

    #[test]
    fn what_is_longer_than_what_is_sent_ends_with_the_last_message() {
        let round = round(6, &[5, 9]);
        assert_eq!(round.there(12, 6), Some(Time::from_ps(9)));
        assert_eq!(round.complete(), Some(Time::from_ps(9)));
    }

    #[test]
    fn each_message_costs_its_overhead_once() {
        let mut round = round(6, &[50, 10, 20]);
        let overhead = Span::from_ps(8);
        assert_eq!(round.look(6, 6, overhead, Time::ZERO), Time::from_ps(18));
        // That of 20 is done with at 28, that of 50 at 58.
        assert_eq!(round.look(0, 18, overhead, Time::from_ps(18)), Time::from_ps(58));
        assert_eq!(round.look(0, 18, overhead, Time::from_ps(58)), Time::from_ps(58));
    }
}
