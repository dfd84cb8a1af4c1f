//! Accesses to memory that only its mounted rank reaches, its globals and its stack: the main loop mounts the
//! rank before anybody runs.

use crate::access::Waiting;
use engine::Time;
use p2p::chapter::Errand;

/// Accesses to be done while their target is mounted, in their order.
// Holds the accesses whole, and finds what it finds in them: nothing of the world is borrowed while the
// target is mounted.
pub(crate) struct DeferredAccesses {
    pub(crate) target: u32,
    /// Address of the first byte of the target's memory.
    pub(crate) base: usize,
    /// Each with the time of its turn.
    pub(crate) accesses: Vec<(Time, Waiting)>,
}

impl DeferredAccesses {
    /// Returns `true` if accesses to this memory of this rank belong to it.
    pub(crate) fn is_of(&self, target: u32, base: usize) -> bool {
        self.target == target && self.base == base
    }
}

/// All that there is to be done, in the order in which it was decided.
pub(crate) struct Mounted(pub(crate) Vec<DeferredAccesses>);

impl Errand for Mounted {
    fn run(&mut self, mounted: &mut dyn FnMut(u32, &mut dyn FnMut())) {
        // Targets do not see each other's memory: each is mounted once. A stable sort: of one target the
        // order in which it was decided stays. O(pieces log pieces) against a switch of images for each.
        self.0.sort_by_key(|pieces| pieces.target);
        for pieces in self.0.chunk_by_mut(|one, other| one.target == other.target) {
            mounted(pieces[0].target, &mut || {
                for DeferredAccesses { base, accesses, .. } in pieces.iter_mut() {
                    accesses.iter_mut().for_each(|(_, access)| access.run(*base));
                }
            });
        }
    }
}
