//! `MPI_Allgatherv` while it is held together: every member gives a block and knows the sizes of all.

use crate::collective::blocks::BlockList;
use crate::collective::schedule::Blocks;
use rustc_hash::FxHashMap;
use std::ops::Range;
use std::rc::Rc;

/// Blocks by member.
pub(crate) struct Gathered {
    /// Packed blocks in the order in which members came in; once all are in, in that of members.
    data: Vec<u8>,
    /// Where in `data` a member's block is.
    parts: Vec<(u64, u64)>,
    /// As in [`Blocks::Each`], as most see them.
    begins: Option<Rc<[u64]>>,
    /// How members see them that say something else.
    others: FxHashMap<u32, Rc<[u64]>>,
}

impl Gathered {
    pub(super) fn new(members: u32) -> Gathered {
        Gathered { data: Vec::new(), parts: vec![(0, 0); members as usize], begins: None, others: FxHashMap::default() }
    }
    /// A member is in, whose rank is mounted.
    pub(super) fn enter(&mut self, member: u32, send: &BlockList, receive: &BlockList) {
        let begin = self.data.len() as u64;
        send.append_to(&mut self.data);
        self.parts[member as usize] = (begin, self.data.len() as u64);
        let begins = || -> Rc<[u64]> {
            let sizes = (0..receive.len).map(|index| receive.bytes(index));
            let sums = sizes.scan(0, |end, bytes| {
                *end += bytes;
                Some(*end)
            });
            std::iter::once(0).chain(sums).collect()
        };
        match &self.begins {
            None => self.begins = Some(begins()),
            Some(known) => {
                if !known.windows(2).enumerate().all(|(index, block)| block[1] - block[0] == receive.bytes(index)) {
                    self.others.insert(member, begins());
                }
            }
        }
    }
    /// Whether all members agree on the sizes; then the blocks come in order.
    pub(super) fn fits(&mut self) -> bool {
        let Some(begins) = self.begins.clone() else { return false };
        let agrees = self.parts.iter().zip(begins.windows(2)).all(|(part, block)| part.1 - part.0 == block[1] - block[0]);
        if !agrees || !self.others.is_empty() {
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
        let begins = self.others.get(&member).or(self.begins.as_ref()).expect("a member that is in has said so");
        (Blocks::Uniform(own.len() as u64), Blocks::Each(begins.clone()))
    }
    /// Packed bytes that a member gets.
    pub(super) fn output(&self, member: u32) -> u64 {
        self.others.get(&member).or(self.begins.as_ref()).and_then(|begins| begins.last().copied()).unwrap_or(0)
    }
    pub(super) fn contribution(&self, member: u32) -> &[u8] {
        &self.data[self.range(member as usize)]
    }
    /// What all get.
    pub(super) fn all(&self) -> &[u8] {
        &self.data
    }
}
