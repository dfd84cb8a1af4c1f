//! `MPI_Reduce_scatter` of blocks that differ, while its members gather: what a member keeps. The data is as
//! in other reductions.

use super::agreed::Agreed;
use schedule::Blocks;
use std::rc::Rc;

/// Offsets at which the blocks of the reduction begin.
#[derive(Default)]
pub(crate) struct ReduceScatter {
    begins: Agreed,
}

impl ReduceScatter {
    /// Records that a member is in.
    pub(super) fn enter(&mut self, member: u32, begins: &[u64]) {
        self.begins.enter(member, begins.iter().copied());
    }
    /// Returns what all say, if they do.
    pub(super) fn agreed(&self) -> Option<&Rc<[u64]>> {
        self.begins.all()
    }
    /// Returns what a member that is in sends and keeps.
    pub(super) fn blocks(&self, member: u32) -> (Blocks, Blocks) {
        blocks(self.begins.of(member), member)
    }
}

/// Returns what a member of a reduction sends and keeps.
pub(crate) fn blocks(begins: &Rc<[u64]>, member: u32) -> (Blocks, Blocks) {
    let send = Blocks::Each(begins.clone());
    let own = send.bytes(member);
    (send, Blocks::Uniform(own))
}
