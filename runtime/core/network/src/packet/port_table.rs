//! All ports of a shard, each with its virtual channels beside it.

use super::pages::Pages;
use super::port::{Port, VcCredits};
use bytemuck::{cast_mut, cast_ref};
use std::ops::{Index, IndexMut};

/// Ports by number. A port is a line of 64 bytes with its first virtual channel, and as many more lines as
/// its other virtual channels fill. Most networks have one. Where there are more a packet finds its port and
/// its virtual channel on one page: to find a page in memory costs as much as to load the line.
pub(crate) struct PortTable {
    /// Every `lines`-th is a port, those between hold two virtual channels each.
    table: Pages<Port>,
    /// Lines of each port.
    lines: usize,
    /// Number of ports.
    count: u32,
}

/// A line of virtual channels.
type Lanes = [VcCredits; LANES];
const LANES: usize = size_of::<Port>() / size_of::<VcCredits>();

/// Returns the lines of a port with so many virtual channels.
const fn lines(lanes: u32) -> usize {
    1 + (lanes as usize - 1).div_ceil(LANES)
}

impl PortTable {
    /// Makes a table of the `count` ports of an iterator, of `lanes` virtual channels with `buffer` bytes
    /// each.
    pub(crate) fn new(count: usize, lanes: u32, buffer: u32, ports: impl Iterator<Item = Port>) -> PortTable {
        let lines = lines(lanes);
        let more: Port = bytemuck::cast::<Lanes, Port>([VcCredits::new(buffer); LANES]);
        let table = ports.flat_map(|port| std::iter::once(port).chain(std::iter::repeat_n(more, lines - 1)));
        PortTable { table: Pages::new(count * lines, table), lines, count: count as u32 }
    }

    /// Returns the bytes of a port with so many virtual channels.
    pub(crate) const fn bytes(lanes: u32) -> u64 {
        (lines(lanes) * size_of::<Port>()) as u64
    }

    /// Returns how many ports.
    pub(crate) fn len(&self) -> u32 {
        self.count
    }

    /// Returns a port, if there is one of this number.
    #[inline]
    pub(crate) fn get(&self, port: u32) -> Option<&Port> {
        self.table.as_slice().get(port as usize * self.lines)
    }

    #[inline]
    pub(crate) fn lane(&self, port: u32, lane: u32) -> &VcCredits {
        match lane.checked_sub(1) {
            None => &self[port].first_lane,
            Some(more) => &cast_ref::<Port, Lanes>(&self.table[self.line(port, more)])[more as usize % LANES],
        }
    }

    #[inline]
    pub(crate) fn lane_mut(&mut self, port: u32, lane: u32) -> &mut VcCredits {
        match lane.checked_sub(1) {
            None => &mut self[port].first_lane,
            Some(more) => {
                let line = self.line(port, more);
                &mut cast_mut::<Port, Lanes>(&mut self.table[line])[more as usize % LANES]
            }
        }
    }

    /// Returns the line of the virtual channel after the first `more`.
    #[inline]
    fn line(&self, port: u32, more: u32) -> usize {
        port as usize * self.lines + 1 + more as usize / LANES
    }

    /// Starts loading a port; any number will do.
    #[inline]
    pub(crate) fn prefetch(&self, port: u32) {
        self.table.prefetch(port as usize * self.lines);
    }

    /// Starts loading a virtual channel, not the first; any numbers will do.
    #[inline]
    pub(crate) fn prefetch_lane(&self, port: u32, lane: u32) {
        self.table.prefetch(self.line(port, lane.wrapping_sub(1)));
    }
}

impl Index<u32> for PortTable {
    type Output = Port;
    #[inline]
    fn index(&self, port: u32) -> &Port {
        &self.table[port as usize * self.lines]
    }
}

impl IndexMut<u32> for PortTable {
    #[inline]
    fn index_mut(&mut self, port: u32) -> &mut Port {
        &mut self.table[port as usize * self.lines]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packet::port::TO_ROUTER;

    #[test]
    fn virtual_channels_lie_beside_their_port() {
        for lanes in 1..6 {
            let mut table =
                PortTable::new(4, lanes, 1000, (0..4).map(|port| Port::new(TO_ROUTER, port, 0, 1000)));
            for port in 0..4 {
                (0..lanes).for_each(|lane| table.lane_mut(port, lane).take(10 * port + lane, 0));
            }
            for port in 0..4 {
                assert_eq!(table[port].peer(), port);
                assert!(
                    (0..lanes).all(|lane| table.lane(port, lane).free(0) == 1000 - 10 * port - lane),
                    "{lanes} of port {port}"
                );
            }
            assert!(table.len() == 4 && table.get(4).is_none());
        }
    }
}
