//! Prefetching of what a queue will be searched for, so that its wait for memory overlaps those of others.

use super::long::Long;
use super::{EMPTY, Element, INDEXED, Queue, Queues, SINGLE};
use crate::envelope::Envelope;
use crate::node::Nodes;

/// The way to what will be found in an indexed queue. Each step asks for what the one before leads to, by
/// then in the cache.
// It keeps what the steps have found, so that no key is hashed twice, and no queue looked up.
#[derive(Clone, Copy)]
pub struct Way<'q> {
    long: &'q Long,
    at: u32,
}

impl Way<'_> {
    /// Steps to where the entry is.
    #[inline(always)]
    pub fn to_chain(&mut self) {
        self.at = self.long.approach_chain(self.at);
    }
    /// Steps to where the node is.
    #[inline(always)]
    pub fn to_entry(&mut self) {
        self.at = self.long.approach_entry(self.at);
    }
    /// Steps to the node.
    #[inline(always)]
    pub fn to_node(&self, nodes: &Nodes) {
        self.long.approach_node(self.at, nodes);
    }
}

impl<E: Element> Queues<E> {
    /// Prefetches a queue that will be searched soon.
    #[inline]
    pub fn prefetch(&self, queue: Queue, nodes: &Nodes) {
        match queue.class {
            EMPTY => {}
            INDEXED => self.long.prefetch(queue.at),
            SINGLE => nodes.prefetch(queue.at),
            _ => {
                if let Some(entry) = self.entries.get(queue.first()) {
                    rank::memory::prefetch(entry);
                }
            }
        }
    }

    /// Makes the first step to an indexed queue that will be searched for this envelope soon, or get one more
    /// of it. Returns the way there; `None` if it is not indexed.
    #[inline(always)]
    pub fn way(&self, queue: Queue, wanted: &Envelope) -> Option<Way<'_>> {
        (queue.class == INDEXED).then(|| {
            let long = &self.long[queue.at];
            Way { long, at: long.approach_table(wanted) }
        })
    }

    /// Prefetches a queue that will be searched for this fingerprint soon. Returns `true` if there is an
    /// entry for it, as far as is seen at a glance.
    #[inline(always)]
    pub fn approach(&self, queue: Queue, wanted: u32, nodes: &Nodes) -> bool {
        match queue.class {
            EMPTY | INDEXED => false,
            SINGLE => true,
            _ => match self.slice(queue).iter().find(|element| element.entry().key == wanted) {
                Some(element) => {
                    nodes.prefetch(element.entry().node);
                    true
                }
                None => false,
            },
        }
    }

    /// Prefetches the end of a queue, to which a node will be appended.
    #[inline]
    pub fn approach_end(&self, queue: Queue, nodes: &Nodes) {
        match queue.class {
            EMPTY | INDEXED => {}
            SINGLE => nodes.prefetch(queue.at),
            _ => {
                if let Some(entry) = self.entries.get(queue.first() + usize::from(queue.length)) {
                    rank::memory::prefetch(entry);
                }
            }
        }
    }
}
