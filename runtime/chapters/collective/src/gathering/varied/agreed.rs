//! Offsets of blocks, as the members of a collective give them: mostly all alike.

use rustc_hash::FxHashMap;
use std::rc::Rc;

/// Offsets of blocks that the members give, each list as in [`Blocks::Each`](schedule::Blocks::Each).
// Of a million members each names a million numbers: one copy of what all say alike, and others only of those
// who contradict it.
#[derive(Default)]
pub(super) struct Agreed {
    /// The offsets of the first member, and of most.
    known: Option<Rc<[u64]>>,
    /// Offsets that differ from `known`, by member.
    others: FxHashMap<u32, Rc<[u64]>>,
}

impl Agreed {
    /// Records that a member is in.
    pub(super) fn enter(&mut self, member: u32, begins: impl Iterator<Item = u64> + Clone) {
        match &self.known {
            None => self.known = Some(begins.collect()),
            Some(known) if !known.iter().copied().eq(begins.clone()) => {
                self.others.insert(member, begins.collect());
            }
            Some(_) => {}
        }
    }
    /// Returns what all say, if they do.
    pub(super) fn all(&self) -> Option<&Rc<[u64]>> {
        self.known.as_ref().filter(|_| self.others.is_empty())
    }
    /// Returns what a member that is in says.
    pub(super) fn of(&self, member: u32) -> &Rc<[u64]> {
        self.others.get(&member).or(self.known.as_ref()).expect("a member that is in has said so")
    }
}
