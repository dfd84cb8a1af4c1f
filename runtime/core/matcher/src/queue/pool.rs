//! The indexed queues of a process, and what the next one will take over from those that are empty.

use super::long::Long;
use crate::node::Nodes;
use engine::slab::Slab;
use std::ops::{Index, IndexMut};

/// Indexed queues by number.
// To grow a queue of a thousand entries once more costs more than all searches in it, and a program that has
// one has the next soon. As with blocks, what the longest queues took is kept.
#[derive(Default)]
pub(super) struct Pool {
    queues: Slab<Long>,
    spare: Vec<Long>,
}

impl Pool {
    /// Makes one of these nodes. O(nodes).
    pub(super) fn make(&mut self, by_source: bool, entries: impl Iterator<Item = u32>, nodes: &Nodes) -> u32 {
        let mut long = self.spare.pop().unwrap_or_else(|| Long::new(by_source));
        entries.for_each(|node| long.push(node, nodes));
        self.queues.insert(long)
    }

    /// Prefetches a queue that will be searched soon.
    #[inline]
    pub(super) fn prefetch(&self, queue: u32) {
        self.queues.prefetch(queue);
    }

    /// Takes an entry out, and with the last one the queue; whether that was so.
    #[inline]
    pub(super) fn remove(&mut self, queue: u32, place: u32, nodes: &Nodes) -> bool {
        let long = &mut self.queues[queue];
        long.remove(place, nodes);
        let is_empty = long.is_empty();
        if is_empty {
            self.give_back(queue);
        }
        is_empty
    }

    #[inline(never)]
    fn give_back(&mut self, queue: u32) {
        if let Some(mut long) = self.queues.remove(queue) {
            long.reset();
            self.spare.push(long);
        }
    }
}

impl Index<u32> for Pool {
    type Output = Long;
    #[inline]
    fn index(&self, queue: u32) -> &Long {
        &self.queues[queue]
    }
}

impl IndexMut<u32> for Pool {
    #[inline]
    fn index_mut(&mut self, queue: u32) -> &mut Long {
        &mut self.queues[queue]
    }
}
