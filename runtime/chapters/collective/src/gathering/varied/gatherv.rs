//! Gathers and scatters whose blocks differ from member to member, while its members gather.
//!
//! A member knows the size of its own block, the root all of them. They are compared when all are in; where
//! they differ, the schedule's steps find out who is wrong.

use crate::arguments::CallMemory;
use p2p::view::BufferView;
use schedule::{Blocks, Kind};
use std::rc::Rc;

/// Blocks by member.
pub(crate) struct Gatherv {
    scatters: bool,
    root: u32,
    /// Bytes that a member sends (gather) or expects (scatter).
    // Both views are kept, the members' and the root's, because their disagreement is an error of one of them
    // that has to be told.
    lengths: Vec<u64>,
    /// The beginning of each member's block in `data`: in the order in which members came in, or in that of
    /// the root.
    begins: Vec<u64>,
    data: Vec<u8>,
    /// Offsets of blocks as the root counts them, once it has entered.
    blocks: Option<Rc<[u64]>>,
    /// Memory that receives the root's blocks.
    targets: Vec<BufferView>,
}

impl Gatherv {
    pub(super) fn new(kind: Kind, root: u32, members: u32) -> Gatherv {
        let members = members as usize;
        let scatters = kind == Kind::Scatter;
        let begins = if scatters { Vec::new() } else { vec![0; members] };
        Gatherv {
            scatters,
            root,
            lengths: vec![0; members],
            begins,
            data: Vec::new(),
            blocks: None,
            targets: Vec::new(),
        }
    }
    /// Records that a member is in, whose rank is mounted: its block, and at the root all blocks.
    pub(super) fn enter(&mut self, member: u32, send: &CallMemory, receive: &CallMemory) {
        let (near, far) = if self.scatters { (receive, send) } else { (send, receive) };
        self.lengths[member as usize] = near.bytes();
        if !self.scatters {
            self.begins[member as usize] = self.data.len() as u64;
            near.append_to(&mut self.data);
        }
        let Some(list) = far.as_list() else { return };
        let Blocks::Each(begins) = list.blocks() else { return };
        self.blocks = Some(begins);
        if self.scatters {
            list.append_to(&mut self.data);
        } else {
            self.targets = list.views();
        }
    }
    /// Returns `true` if all say the same.
    // O(members), once: cheaper than to compare when each comes in, since the root may be the last.
    pub(super) fn fits(&self) -> bool {
        let Some(blocks) = &self.blocks else { return false };
        self.lengths.iter().zip(blocks.windows(2)).all(|(&length, block)| length == block[1] - block[0])
    }
    /// Returns what a member that is in sends and receives.
    pub(super) fn blocks(&self, member: u32) -> (Blocks, Blocks) {
        let own = Blocks::Uniform(self.lengths[member as usize]);
        match &self.blocks {
            Some(all) if member == self.root && self.scatters => (Blocks::Each(all.clone()), own),
            Some(all) if member == self.root => (own, Blocks::Each(all.clone())),
            _ => (own.clone(), own),
        }
    }
    /// Returns the packed bytes that a member gets.
    pub(super) fn output(&self, member: u32) -> u64 {
        match &self.blocks {
            _ if self.scatters => self.lengths[member as usize],
            Some(all) if member == self.root => all.last().copied().unwrap_or(0),
            _ => 0,
        }
    }
    /// Returns the packed bytes that a member gives.
    pub(super) fn contribution(&self, member: u32) -> &[u8] {
        match (self.scatters, member == self.root) {
            (true, true) => &self.data,
            (true, false) => &[],
            // Packed in order of entry: a gather's root is the one reader, and reads each block once.
            (false, _) => {
                &self.data[self.begins[member as usize] as usize..][..self.lengths[member as usize] as usize]
            }
        }
    }
    /// Returns where the root of a gather gets its blocks.
    pub(super) fn targets(&self, member: u32) -> &[BufferView] {
        if member == self.root { &self.targets } else { &[] }
    }
    /// Copies a member's result, whose rank is mounted, into its memory: of a scatter to `target`.
    pub(super) fn deliver(&self, member: u32, target: &BufferView) {
        if self.scatters {
            let begin = self.blocks.as_ref().map_or(0, |blocks| blocks[member as usize]);
            target.fill(&self.data[begin as usize..]);
            return;
        }
        for (sender, target) in self.targets(member).iter().enumerate() {
            target.fill(self.contribution(sender as u32));
        }
    }
    /// Forgets the memory of the root, after the gathered result is in it. Does nothing for another member.
    pub(super) fn delivered(&mut self, member: u32) {
        if member == self.root {
            self.targets = Vec::new();
        }
    }
}
