//! Memory of a target that an access goes to: bytes side by side, or blocks.

use objects::datatype::Datatype;
use p2p::packing::Packing;
use rank::{Addr, memory};

/// Memory of a target, from where its displacement leads on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct TargetMemory {
    /// From the window's first byte (of a dynamic window: from address 0), bytes.
    pub(crate) at: i64,
    /// Bytes of data.
    pub(crate) bytes: u64,
    /// Offsets and lengths of data that is not contiguous, in the order of the type map.
    pub(crate) blocks: Option<Box<[(i64, u64)]>>,
}

impl TargetMemory {
    /// Nowhere: of what touches no memory.
    pub(crate) const NONE: TargetMemory = TargetMemory { at: 0, bytes: 0, blocks: None };

    /// `count` instances of a datatype. O(blocks) for one whose elements do not lie side by side.
    // The type map is laid out at the origin: a target's process does not know the origin's datatypes.
    pub(crate) fn of(at: i64, count: u64, datatype: &Datatype, bytes: u64) -> TargetMemory {
        if datatype.contiguous {
            return TargetMemory { at, bytes, blocks: None };
        }
        let mut blocks: Vec<(i64, u64)> = Vec::new();
        datatype.for_each_block(Addr(0), count, |from, length| blocks.push((from.0 as i64, length)));
        match blocks[..] {
            [(from, length)] => TargetMemory { at: at + from, bytes: length, blocks: None },
            _ => TargetMemory { at, bytes, blocks: Some(blocks.into()) },
        }
    }

    /// From the first to behind the last byte, as offsets from the window's first; nothing where there is no
    /// data.
    // For checking bounds; saturating, so that a displacement near the end of numbers is out of the window
    // and not at its begin.
    pub(crate) fn span(&self) -> Option<(i64, i64)> {
        if self.bytes == 0 {
            return None;
        }
        let Some(blocks) = &self.blocks else {
            return Some((self.at, self.at.saturating_add_unsigned(self.bytes)));
        };
        let first = blocks.iter().map(|block| block.0).min()?;
        let last = blocks.iter().map(|block| block.0.saturating_add_unsigned(block.1)).max()?;
        Some((self.at.saturating_add(first), self.at.saturating_add(last)))
    }

    /// Returns `true` if all of it lies in these regions, taken together: addresses and lengths, of a place
    /// at an address. O(blocks * regions^2).
    pub(crate) fn is_within(&self, regions: &[(usize, u64)]) -> bool {
        let covered = |from: i64, length: u64| {
            let (mut at, end) = (
                self.at.wrapping_add(from) as u64,
                (self.at.wrapping_add(from) as u64).saturating_add(length),
            );
            while at < end {
                let around = |&&(base, size): &&(usize, u64)| base as u64 <= at && at < base as u64 + size;
                let Some((base, size)) = regions.iter().find(around) else { return false };
                at = *base as u64 + size;
            }
            true
        };
        match &self.blocks {
            None => covered(0, self.bytes),
            Some(blocks) => blocks.iter().all(|&(from, length)| covered(from, length)),
        }
    }

    /// Returns `true` if it can be touched while its rank is not mounted; the window begins at `base`.
    pub(crate) fn is_reachable(&self, base: usize) -> bool {
        self.span().is_none_or(|(first, last)| {
            rank::is_addressable_unmounted(Addr(base).offset(first), (last - first) as usize)
        })
    }

    /// Copies out of it; it must be reachable.
    pub(crate) fn read(&self, base: usize, out: &mut [u8]) {
        let from = Addr(base).offset(self.at);
        match &self.blocks {
            None => memory::read(from, &mut out[..self.bytes as usize]),
            Some(blocks) => {
                let mut rest = out;
                for &(offset, length) in blocks {
                    let (head, tail) = std::mem::take(&mut rest).split_at_mut(length as usize);
                    memory::read(from.offset(offset), head);
                    rest = tail;
                }
            }
        }
    }

    /// Copies into it, as many bytes as there are; it must be reachable.
    pub(crate) fn write(&self, base: usize, bytes: &[u8]) {
        let to = Addr(base).offset(self.at);
        match &self.blocks {
            None => memory::write(to, bytes),
            Some(blocks) => {
                let mut rest = bytes;
                for &(offset, length) in blocks {
                    let (head, tail) = rest.split_at((length as usize).min(rest.len()));
                    memory::write(to.offset(offset), head);
                    rest = tail;
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn regions_that_touch_hold_what_goes_over_their_border() {
        let place = |at: i64, bytes: u64| TargetMemory { at, bytes, blocks: None };
        let regions = [(200, 50), (100, 100), (300, 8)];
        assert!(
            place(150, 100).is_within(&regions)
                && place(300, 8).is_within(&regions)
                && place(0, 0).is_within(&[])
        );
        assert!(
            !place(240, 11).is_within(&regions)
                && !place(99, 2).is_within(&regions)
                && !place(304, 8).is_within(&regions)
        );
    }

    #[test]
    fn blocks_are_written_and_read_in_their_order() {
        let mut memory = [0u8; 12];
        let base = memory.as_mut_ptr() as usize;
        let place = TargetMemory { at: 2, bytes: 5, blocks: Some(Box::new([(6, 2), (0, 3)])) };
        assert_eq!(place.span(), Some((2, 10)));
        place.write(base, &[1, 2, 3, 4, 5]);
        assert_eq!(memory, [0, 0, 3, 4, 5, 0, 0, 0, 1, 2, 0, 0]);
        let mut out = [0; 5];
        place.read(base, &mut out);
        assert_eq!(out, [1, 2, 3, 4, 5]);
        place.write(base, &[9]);
        assert_eq!(memory[8..10], [9, 2]);
    }
}
