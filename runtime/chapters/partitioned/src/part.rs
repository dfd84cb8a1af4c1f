//! A message: one partition of a sender.

use crate::channel::MatchedPair;
use engine::Time;
use engine::record::{Put, Take};

/// A partition on its way.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct PartitionTransfer {
    pub(crate) channel: MatchedPair,
    /// Sequence number of the operation on the channel.
    pub(crate) round: u32,
    /// Index of the partition, and the number of partitions.
    pub(crate) index: u32,
    pub(crate) parts: u32,
    /// Bytes of each.
    pub(crate) bytes: u64,
    /// [`Time::MAX`] while a shared network carries it.
    pub(crate) arrival: Time,
    pub(crate) data: Vec<u8>,
}

impl PartitionTransfer {
    /// Encodes a record for the receiver's process.
    pub(crate) fn record(&self) -> Vec<u8> {
        let mut out = Vec::with_capacity(56 + self.data.len());
        out.u64(self.arrival.as_ps());
        self.channel.put(&mut out);
        [self.round, self.index, self.parts].into_iter().for_each(|word| out.u32(word));
        out.u64(self.bytes);
        out.extend_from_slice(&self.data);
        out
    }

    pub(crate) fn of(mut record: Take) -> PartitionTransfer {
        let arrival = Time::from_ps(record.u64());
        let channel = MatchedPair::take(&mut record);
        let (round, index, parts, bytes) = (record.u32(), record.u32(), record.u32(), record.u64());
        let data = record.0.to_vec();
        PartitionTransfer { channel, round, index, parts, bytes, arrival, data }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_part_survives_its_way() {
        let channel = MatchedPair { context: 3, source: 7, to: 9, tag: -1, number: 2 };
        let part = PartitionTransfer {
            channel,
            round: 4,
            index: 1,
            parts: 6,
            bytes: 3,
            arrival: Time::from_ps(77),
            data: vec![1, 2, 3],
        };
        assert_eq!(PartitionTransfer::of(Take(&part.record())), part);
    }
}
