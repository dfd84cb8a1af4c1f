//! `MPI_Allgatherv` while its members gather: every member gives a block and knows the sizes of all.

use super::agreed::Agreed;
use crate::arguments::CallMemory;
use crate::blocks::BlockList;
use schedule::{Blocks, begins};
use std::ops::Range;

/// Blocks by member.
pub(crate) struct Allgatherv {
    /// Packed blocks in the order in which members came in; once all are in, in that of members.
    data: Vec<u8>,
    /// Beginning and end of each member's block in `data`.
    // Both ends, because a block's length is what the sender gave and not what the others expect: that is
    // compared later.
    parts: Vec<(u64, u64)>,
    begins: Agreed,
}

impl Allgatherv {
    pub(super) fn new(members: u32) -> Allgatherv {
        Allgatherv { data: Vec::new(), parts: vec![(0, 0); members as usize], begins: Agreed::default() }
    }
    /// Records that a member is in, whose rank is mounted.
    pub(super) fn enter(&mut self, member: u32, send: &CallMemory, receive: &BlockList) {
        let begin = self.data.len() as u64;
        send.append_to(&mut self.data);
        self.parts[member as usize] = (begin, self.data.len() as u64);
        self.begins.enter(member, begins(receive.sizes()));
    }
    /// Returns `true` if all members agree on the sizes; then the blocks come in order.
    // O(members + bytes). Ordered once for all receivers, each of whom then gets the whole by one copy;
    // nothing moves where members came in by number, as they mostly do.
    pub(super) fn fits(&mut self) -> bool {
        let Some(begins) = self.begins.all().cloned() else { return false };
        let agrees = self
            .parts
            .iter()
            .zip(begins.windows(2))
            .all(|(part, block)| part.1 - part.0 == block[1] - block[0]);
        if !agrees {
            return false;
        }
        if self.parts.iter().zip(&begins[..]).any(|(part, &begin)| part.0 != begin) {
            let mut ordered = Vec::with_capacity(self.data.len());
            for member in 0..self.parts.len() {
                let range = self.range(member);
                ordered.extend_from_slice(&self.data[range]);
            }
            self.data = ordered;
            self.parts = begins.windows(2).map(|block| (block[0], block[1])).collect();
        }
        true
    }
    fn range(&self, member: usize) -> Range<usize> {
        let (begin, end) = self.parts[member];
        begin as usize..end as usize
    }
    pub(super) fn blocks(&self, member: u32) -> (Blocks, Blocks) {
        let own = self.range(member as usize);
        (Blocks::Uniform(own.len() as u64), Blocks::Each(self.begins.of(member).clone()))
    }
    /// Returns the packed bytes that a member gets.
    pub(super) fn output(&self, member: u32) -> u64 {
        self.begins.of(member).last().copied().unwrap_or(0)
    }
    pub(super) fn contribution(&self, member: u32) -> &[u8] {
        &self.data[self.range(member as usize)]
    }
    /// Returns what all get.
    pub(super) fn all(&self) -> &[u8] {
        &self.data
    }
}
