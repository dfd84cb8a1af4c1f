//! `MPI_Alltoallv` and `MPI_Alltoallw` while its members gather: blocks of any size from each member to each.
//!
//! Members' data lie packed in the order in which they came in; two squares of numbers have the sizes.
//! When all are in, what a row of receivers gets is taken apart at once ([`Alltoallv::take`]), because one
//! receiver's blocks lie far from each other.

use crate::blocks::BlockList;
use schedule::{Blocks, Direct, Member, Members, begins, member_of};

/// Receivers whose blocks are taken apart together.
// A receiver's blocks are as far from each other as senders' data is long: one receiver at a time would fetch
// a line for each block, and use few of its bytes. So many at a time use all of it.
const ROW: usize = 64;
/// Beyond so many members the squares of sizes would be too large.
// A square of 16-bit numbers has 512 MiB then, two of them a GiB; agents need more, and go through all the
// same.
const MAX_MEMBERS: u32 = 16_384;

/// A square of sizes in bytes, by the member that says so and the other one.
struct SizeMatrix {
    members: usize,
    // Half the memory or less for what programs mostly send: one size beyond makes the whole square wide,
    // since single wide entries would cost a lookup for each.
    short: Vec<u16>,
    /// In place of `short`, once a size does not fit there.
    long: Vec<u64>,
}

impl SizeMatrix {
    fn new(members: usize) -> SizeMatrix {
        SizeMatrix { members, short: vec![0; members * members], long: Vec::new() }
    }
    #[inline]
    fn get(&self, member: usize, other: usize) -> u64 {
        let index = member * self.members + other;
        match self.long.is_empty() {
            true => u64::from(self.short[index]),
            false => self.long[index],
        }
    }
    fn set_row(&mut self, member: usize, bytes: impl Fn(usize) -> u64) {
        let row = member * self.members..(member + 1) * self.members;
        if self.long.is_empty() {
            let mut most = 0;
            for (other, place) in self.short[row.clone()].iter_mut().enumerate() {
                let bytes = bytes(other);
                most = most.max(bytes);
                // Pages of zeros that nobody writes to are never there.
                if bytes != 0 {
                    *place = bytes as u16;
                }
            }
            if most <= u64::from(u16::MAX) {
                return;
            }
            self.long = self.short.iter().map(|&bytes| u64::from(bytes)).collect();
            self.short = Vec::new();
        }
        for (other, place) in self.long[row].iter_mut().enumerate() {
            *place = bytes(other);
        }
    }
    fn offsets(&self, member: usize) -> Blocks {
        Blocks::Each(begins((0..self.members).map(|other| self.get(member, other))).collect())
    }
    fn sum(&self, member: usize) -> u64 {
        (0..self.members).map(|other| self.get(member, other)).sum()
    }
    /// Returns `true` if the other square says the same, seen from the other side.
    // In tiles: one square is read by rows and the other by columns, and a tile of both stays in the nearest
    // cache.
    fn mirrors(&self, other: &SizeMatrix) -> bool {
        const TILE: usize = 64;
        let size = self.members;
        (0..size).step_by(TILE).all(|top| {
            (0..size).step_by(TILE).all(|left| {
                (top..(top + TILE).min(size)).all(|row| {
                    (left..(left + TILE).min(size))
                        .all(|column| self.get(row, column) == other.get(column, row))
                })
            })
        })
    }
}

/// Blocks from each member to each.
pub(crate) struct Alltoallv {
    members: usize,
    data: Vec<u8>,
    /// Beginning and end of each member's blocks in `data`.
    parts: Vec<(u64, u64)>,
    sends: SizeMatrix,
    receives: SizeMatrix,
    /// Once all are in: where the first block for each row of receivers lies, by sender.
    // Without them, finding a receiver's blocks takes the sum of all blocks before it in each sender's row:
    // O(members) for each block.
    marks: Vec<u64>,
    /// Packed blocks of receivers whose row was taken apart and that have not left, by receiver.
    taken: Vec<Vec<u8>>,
    is_taken: Vec<bool>,
}

impl Alltoallv {
    /// Returns `true` if so many may be held.
    pub(super) fn holds(members: u32) -> bool {
        members <= MAX_MEMBERS
    }
    pub(super) fn new(members: u32) -> Alltoallv {
        let members = members as usize;
        Alltoallv {
            members,
            data: Vec::new(),
            parts: vec![(0, 0); members],
            sends: SizeMatrix::new(members),
            receives: SizeMatrix::new(members),
            marks: Vec::new(),
            taken: Vec::new(),
            is_taken: Vec::new(),
        }
    }
    /// Records that a member is in, whose rank is mounted.
    pub(super) fn enter(&mut self, member: u32, send: &BlockList, receive: &BlockList) {
        let member = member as usize;
        let begin = self.data.len() as u64;
        send.append_to(&mut self.data);
        self.parts[member] = (begin, self.data.len() as u64);
        self.sends.set_row(member, |other| send.bytes(other));
        self.receives.set_row(member, |other| receive.bytes(other));
    }
    /// Returns `true` if all members agree on the sizes.
    pub(super) fn fits(&self) -> bool {
        self.sends.mirrors(&self.receives)
    }
    pub(super) fn blocks(&self, member: u32) -> (Blocks, Blocks) {
        (self.sends.offsets(member as usize), self.receives.offsets(member as usize))
    }
    pub(super) fn contribution(&self, member: u32) -> &[u8] {
        let (begin, end) = self.parts[member as usize];
        &self.data[begin as usize..end as usize]
    }

    /// All that a member gets, packed in the order of senders; once.
    // O(its bytes) amortized. The first receiver of a row of them pays for all 64, which run soon after it:
    // woken in the order of ranks.
    pub(super) fn take(&mut self, member: u32) -> Vec<u8> {
        let member = member as usize;
        if self.marks.is_empty() {
            self.mark();
        }
        if !self.is_taken[member / ROW] {
            self.take_apart(member / ROW);
        }
        std::mem::take(&mut self.taken[member])
    }
    fn mark(&mut self) {
        let rows = self.members.div_ceil(ROW);
        self.marks = Vec::with_capacity(self.members * rows);
        for sender in 0..self.members {
            let mut at = self.parts[sender].0;
            for receiver in 0..self.members {
                if receiver.is_multiple_of(ROW) {
                    self.marks.push(at);
                }
                at += self.sends.get(sender, receiver);
            }
        }
        self.taken = vec![Vec::new(); self.members];
        self.is_taken = vec![false; rows];
    }
    fn take_apart(&mut self, row: usize) {
        let rows = self.members.div_ceil(ROW);
        let receivers = row * ROW..(row * ROW + ROW).min(self.members);
        for receiver in receivers.clone() {
            self.taken[receiver] = Vec::with_capacity(self.receives.sum(receiver) as usize);
        }
        for sender in 0..self.members {
            let mut at = self.marks[sender * rows + row] as usize;
            for receiver in receivers.clone() {
                let end = at + self.sends.get(sender, receiver) as usize;
                self.taken[receiver].extend_from_slice(&self.data[at..end]);
                at = end;
            }
        }
        self.is_taken[row] = true;
        if self.is_taken.iter().all(|&taken| taken) {
            // Twice the data is there only while it is being taken apart.
            self.data = Vec::new();
        }
    }
}

impl Members for Alltoallv {
    fn prototype(&self) -> Member {
        member_of(0, Blocks::Uniform(0), Blocks::Uniform(0))
    }
    fn describe(&self, member: &mut Member) {
        (member.send, member.receive) = self.blocks(member.rank);
    }
    fn output(&self, rank: u32) -> u64 {
        self.receives.sum(rank as usize)
    }
    fn knows(&self, direct: Direct) -> bool {
        !matches!(direct, Direct::Neighbors)
    }
    #[inline]
    fn received(&self, to: u32, from: u32) -> u64 {
        self.receives.get(to as usize, from as usize)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_that_do_not_fit_sixteen_bits_are_kept() {
        let mut square = SizeMatrix::new(3);
        square.set_row(1, |other| other as u64);
        square.set_row(2, |other| 65_535 + other as u64);
        assert_eq!((0..3).map(|other| square.get(1, other)).collect::<Vec<_>>(), [0, 1, 2]);
        assert_eq!((0..3).map(|other| square.get(2, other)).collect::<Vec<_>>(), [65_535, 65_536, 65_537]);
        assert_eq!(square.sum(2), 3 * 65_536);
    }

    #[test]
    fn receivers_get_their_blocks_in_any_order_of_leaving() {
        let members = 150;
        let size = |from: usize, to: usize| ((from * 7 + to * 3) % 5) as u64;
        let byte = |from: usize, to: usize| (from * 31 + to) as u8;
        let mut alltoallv = Alltoallv::new(members as u32);
        for place in 0..members {
            // Members come in some other order.
            let from = (place * 77) % members;
            let begin = alltoallv.data.len() as u64;
            for to in 0..members {
                alltoallv.data.extend(vec![byte(from, to); size(from, to) as usize]);
            }
            alltoallv.parts[from] = (begin, alltoallv.data.len() as u64);
            alltoallv.sends.set_row(from, |to| size(from, to));
            alltoallv.receives.set_row(from, |sender| size(sender, from));
        }
        assert!(alltoallv.fits());
        for place in 0..members {
            let to = (place * 7) % members;
            let expected: Vec<u8> =
                (0..members).flat_map(|from| vec![byte(from, to); size(from, to) as usize]).collect();
            assert_eq!(alltoallv.output(to as u32), expected.len() as u64);
            assert_eq!(alltoallv.take(to as u32), expected);
        }
        alltoallv.receives.set_row(3, |_| 9);
        assert!(!alltoallv.fits());
    }
}
