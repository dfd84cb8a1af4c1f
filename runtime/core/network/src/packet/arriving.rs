//! Messages of which some packets have arrived and others have not.

use super::pages::Pages;
use super::port::Packet;
use bytemuck::{Pod, Zeroable};

/// Packets that have arrived, by their message's time, source and destination. Messages of which all three
/// are the same count as if they arrived one after the other.
///
/// A table of our own, open and half empty at least, because the line that a packet needs can be loaded
/// before its event. A run may have as many messages under way as there are pairs of neighbours. Waiting for
/// memory at each packet took a fifth of such a run.
pub(crate) struct Arriving {
    /// A power of two. A message lies at its hash or behind it, with no empty place between.
    places: Pages<Reassembly>,
    count: usize,
}

/// A message whose packets are arriving; empty without packets.
#[derive(Clone, Copy, Default, Pod, Zeroable)]
#[repr(C, align(32))]
struct Reassembly {
    created: u64,
    source: u32,
    destination: u32,
    hash: u32,
    packets: u32,
    unused: [u32; 2],
}

impl Arriving {
    pub(crate) fn new() -> Arriving {
        Arriving::with_places(64)
    }

    fn with_places(places: usize) -> Arriving {
        Arriving { places: Pages::new(places, std::iter::repeat_n(Reassembly::default(), places)), count: 0 }
    }

    /// Counts a packet; whether it is the last of its message, which has `packets`, at least two.
    pub(crate) fn is_last(&mut self, packet: &Packet, packets: u32) -> bool {
        let mut place = self.home(packet.hash);
        loop {
            let arrival = &mut self.places[place];
            if arrival.packets == 0 {
                let &Packet { created, source, destination, hash, .. } = packet;
                *arrival = Reassembly { created, source, destination, hash, packets: 1, unused: [0; 2] };
                self.count += 1;
                if 2 * self.count > self.places.as_slice().len() {
                    self.grow();
                }
                return false;
            }
            if arrival.created == packet.created
                && arrival.source == packet.source
                && arrival.destination == packet.destination
            {
                arrival.packets += 1;
                if arrival.packets == packets {
                    self.remove(place);
                    return true;
                }
                return false;
            }
            place = self.next(place);
        }
    }

    /// Starts loading what a packet of this hash needs.
    #[inline]
    pub(crate) fn prefetch(&self, hash: u32) {
        self.places.prefetch(self.home(hash));
    }

    /// A flow's hash is a function of what a message is known by.
    #[inline]
    fn home(&self, hash: u32) -> usize {
        hash as usize & (self.places.as_slice().len() - 1)
    }

    #[inline]
    fn next(&self, place: usize) -> usize {
        (place + 1) & (self.places.as_slice().len() - 1)
    }

    /// Moves up what lies behind an emptied place, unless it lies nearer to its own: else it would not be
    /// found again (Knuth, "The Art of Computer Programming" 3, algorithm 6.4R).
    fn remove(&mut self, place: usize) {
        let mask = self.places.as_slice().len() - 1;
        let (mut hole, mut at) = (place, place);
        loop {
            at = self.next(at);
            let arrival = self.places[at];
            if arrival.packets == 0 {
                break;
            }
            if at.wrapping_sub(self.home(arrival.hash)) & mask >= at.wrapping_sub(hole) & mask {
                self.places[hole] = arrival;
                hole = at;
            }
        }
        self.places[hole].packets = 0;
        self.count -= 1;
    }

    #[cold]
    fn grow(&mut self) {
        let mut larger = Arriving::with_places(2 * self.places.as_slice().len());
        for arrival in self.places.as_slice().iter().filter(|arrival| arrival.packets > 0) {
            let mut place = larger.home(arrival.hash);
            while larger.places[place].packets > 0 {
                place = larger.next(place);
            }
            larger.places[place] = *arrival;
        }
        larger.count = self.count;
        *self = larger;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    proptest! {
        /// Packets of messages whose hashes meet are counted as by a map; few hashes make long runs of
        /// places, some around the table's end.
        #[test]
        fn packets_are_counted_as_by_a_map(
            packets in prop::collection::vec((0u32..90, 0u32..3), 1..2000),
            of in 2u32..6,
            hashes in 1u32..80,
        ) {
            let (mut arriving, mut map) = (Arriving::new(), BTreeMap::new());
            for (source, destination) in packets {
                let hash = (source * 7 + destination) % hashes + 40;
                let packet =
                    Packet { created: u64::from(source / 2), source, destination, hash, ..Packet::default() };
                let count = map.entry((source, destination)).or_insert(0);
                *count += 1;
                let is_last = *count == of;
                if is_last {
                    map.remove(&(source, destination));
                }
                prop_assert_eq!(arriving.is_last(&packet, of), is_last);
                prop_assert_eq!(arriving.count, map.len());
            }
        }
    }
}
