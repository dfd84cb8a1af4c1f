//! `MPI_Reduce_scatter` of blocks that differ, while it is held together: what a member keeps. The data is as in other reductions.

use crate::collective::schedule::Blocks;
use rustc_hash::FxHashMap;
use std::rc::Rc;

/// Where blocks begin, as in [`Blocks::Each`].
#[derive(Default)]
pub(crate) struct Scattered {
    /// As the first member said, and most do.
    begins: Option<Rc<[u64]>>,
    /// What others said.
    others: FxHashMap<u32, Rc<[u64]>>,
}

impl Scattered {
    /// A member is in.
    pub(super) fn enter(&mut self, member: u32, begins: &[u64]) {
        match &self.begins {
            None => self.begins = Some(begins.into()),
            Some(known) if **known != *begins => {
                self.others.insert(member, begins.into());
            }
            Some(_) => {}
        }
    }
    /// What all say, if they do.
    pub(super) fn agreed(&self) -> Option<&Rc<[u64]>> {
        self.begins.as_ref().filter(|_| self.others.is_empty())
    }
    /// What a member that is in sends and keeps.
    pub(super) fn blocks(&self, member: u32) -> (Blocks, Blocks) {
        let begins = self.others.get(&member).or(self.begins.as_ref()).expect("a member that is in has said so");
        let (send, receive, _) = blocks(begins, member);
        (send, receive)
    }
}

/// What a member of a reduction sends and keeps, and the bytes of that.
pub(super) fn blocks(begins: &Rc<[u64]>, member: u32) -> (Blocks, Blocks, u64) {
    let send = Blocks::Each(begins.clone());
    let own = send.bytes(member);
    (send, Blocks::Uniform(own), own)
}
