//! The two queues of a rank: posted receives and unexpected messages.
//!
//! A single entry is the queue itself. A short queue is one block of entries side by side, each with a 32-bit
//! fingerprint of its envelope. So a search reads a line or two and touches only the node that it finds. A
//! linked list touches every node before it, and those are seldom in cache.
//!
//! A stream, however long, is received from the front of the block. Once a queue of more than 256 entries is
//! searched further back it is indexed (`long.rs`), so that finding does not depend on its length.

mod approach;
mod heads;
mod long;
mod pool;
mod search;

use crate::envelope::{Pattern, lower, upper};
use crate::node::{Node, Nodes};
pub use approach::Way;
use engine::Time;
use pool::Pool;
use rank::growing::StableVec;

/// Entries up to which a queue is searched one by one.
// So many fingerprints are 2 to 6 KiB, which a processor reads in order faster than it follows a hash table's
// one cache miss.
const MAX_SEARCHED: usize = 256;
/// Entries of a block that are looked at one by one, and so many at a time behind these.
const NEAR: usize = 8;
const AT_ONCE: usize = 8;
/// Queue classes: nothing, one node (`at` is its index), then blocks of 4, 8, 16 ... 32,768 entries.
const EMPTY: u8 = 0;
const SINGLE: u8 = 1;
const LARGEST: u8 = 15;
const INDEXED: u8 = u8::MAX;

/// In the fingerprint of a receive.
const ANY_SOURCE: u32 = 1 << 31;
const ANY_TAG: u32 = 1 << 15;

/// A rank's queue: where its entries are.
// Packed, since every rank has two.
#[derive(Clone, Copy, Default, Debug)]
#[repr(C, packed(2))]
pub struct Queue {
    at: u32,
    length: u16,
    /// Entries at the start of the block that were taken out.
    head: u16,
    class: u8,
    /// `true` if an entry of the block may fit several envelopes.
    any: bool,
}

impl Queue {
    /// Returns `true` if nothing is in it.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.class == EMPTY
    }
    /// Returns `true` if it is indexed.
    #[inline]
    pub fn is_indexed(&self) -> bool {
        self.class == INDEXED
    }
    /// Returns the node of a queue that has one.
    #[inline]
    pub fn only(&self) -> Option<u32> {
        (self.class == SINGLE).then_some(self.at)
    }
    #[inline]
    fn first(&self) -> usize {
        self.at as usize + usize::from(self.head)
    }
}

/// A place in a queue, as a search answers it; good until the queue changes.
// Found once and removed by place: a second search for what was just found would double the cost of a match.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Place(u32);

impl Place {
    /// Returns `true` if a search of a block that ended here looked at many entries.
    #[inline]
    pub fn is_far(self) -> bool {
        self.0 as usize > MAX_SEARCHED / 2
    }
}

/// Element of a short queue: a node and its fingerprint.
#[derive(Clone, Copy, Default, Debug)]
pub struct Entry {
    /// Fingerprint of the envelope or pattern.
    key: u32,
    node: u32,
}

/// An unexpected message: its sender and arrival too, for receives from any source.
#[derive(Clone, Copy, Default, Debug)]
pub struct Timed {
    entry: Entry,
    source: u32,
    arrival: Time,
}

/// Element of a queue's blocks.
pub trait Element: Copy + Default {
    /// The class of the least blocks.
    const MIN_CLASS: u8;
    /// `true` if the queue is searched for entries of one source with any tag.
    const BY_SOURCE: bool;
    /// Makes an element from a node.
    fn of(index: u32, node: &Node) -> Self;
    /// Returns the part that every element has.
    fn entry(&self) -> Entry;
}

impl Element for Entry {
    // A line of the cache.
    const MIN_CLASS: u8 = 3;
    const BY_SOURCE: bool = false;
    #[inline]
    fn of(index: u32, node: &Node) -> Entry {
        Entry { key: node.key, node: index }
    }
    #[inline]
    fn entry(&self) -> Entry {
        *self
    }
}

// Twice the size, so that the least block, too, is a line or two.
impl Element for Timed {
    const MIN_CLASS: u8 = 2;
    const BY_SOURCE: bool = true;
    #[inline]
    fn of(index: u32, node: &Node) -> Timed {
        Timed { entry: Entry { key: node.key, node: index }, source: node.source, arrival: node.arrival }
    }
    #[inline]
    fn entry(&self) -> Entry {
        self.entry
    }
}

/// Returns the fingerprint of a pattern. A wildcard sets `ANY_SOURCE` or `ANY_TAG` and no bits of its half.
#[inline]
pub fn key(pattern: &Pattern) -> u32 {
    pattern.source.map_or(ANY_SOURCE, upper) | pattern.tag.map_or(ANY_TAG, |tag| lower(pattern.context, tag))
}

/// Returns the bits in which a message's fingerprint must be that of what a receive accepts.
#[inline]
fn told(key: u32) -> u32 {
    let source = if key & ANY_SOURCE == 0 { 0xffff_0000 } else { 0 };
    let tag = if key & ANY_TAG == 0 { 0xffff } else { 0 };
    source | tag
}

/// All queues of one kind in a process.
#[derive(Default)]
pub struct Queues<E: Copy> {
    entries: StableVec<E>,
    free: [Vec<u32>; LARGEST as usize + 1],
    long: Pool,
}

/// Entries that a queue of a class has room for; 0 of one without a block.
#[inline]
const fn capacity(class: u8) -> usize {
    match class {
        EMPTY | SINGLE | INDEXED => 0,
        class => 1 << class,
    }
}

impl<E: Element> Queues<E> {
    /// Returns the entries of a queue that has a block.
    #[inline]
    fn slice(&self, queue: Queue) -> &[E] {
        let at = queue.first();
        &self.entries[at..at + usize::from(queue.length)]
    }

    fn allocate(&mut self, class: u8) -> u32 {
        if let Some(at) = self.free[usize::from(class)].pop() {
            return at;
        }
        let at = self.entries.len();
        self.entries.extend(capacity(class), E::default());
        at as u32
    }

    /// Appends a node.
    // The single entry is most queues most of the time: it takes no block, and no other memory than the
    // rank's own line.
    #[inline(always)]
    pub fn push(&mut self, queue: &mut Queue, index: u32, nodes: &Nodes) {
        if queue.class == EMPTY {
            *queue = Queue { at: index, length: 1, head: 0, class: SINGLE, any: false };
            return;
        }
        let end = usize::from(queue.head) + usize::from(queue.length);
        if end >= capacity(queue.class) {
            return self.push_beyond(queue, index, nodes);
        }
        self.append(queue, end, index, nodes);
    }

    #[inline(always)]
    fn append(&mut self, queue: &mut Queue, end: usize, index: u32, nodes: &Nodes) {
        let element = E::of(index, &nodes[index]);
        queue.any |= element.entry().key & (ANY_SOURCE | ANY_TAG) != 0;
        self.entries[queue.at as usize + end] = element;
        queue.length += 1;
    }

    /// Appends a node where the block has no room, or there is none.
    #[inline(never)]
    fn push_beyond(&mut self, queue: &mut Queue, index: u32, nodes: &Nodes) {
        self.make_room(queue, nodes);
        if queue.class == INDEXED {
            return self.long[queue.at].push(index, nodes);
        }
        self.append(queue, usize::from(queue.head) + usize::from(queue.length), index, nodes);
    }

    /// Makes room for one more.
    fn make_room(&mut self, queue: &mut Queue, nodes: &Nodes) {
        let (first, length) = (queue.first(), usize::from(queue.length));
        match queue.class {
            INDEXED => {}
            SINGLE => {
                let at = self.allocate(E::MIN_CLASS);
                let single = queue.at;
                *queue = Queue { at, length: 0, head: 0, class: E::MIN_CLASS, any: false };
                self.append(queue, 0, single, nodes);
            }
            // Moving half a block once in half a block's appends is cheap; moving all but one is not.
            class if length <= capacity(class) / 2 => {
                self.entries.copy_within(first..first + length, queue.at as usize);
                queue.head = 0;
            }
            LARGEST => self.index(queue, nodes),
            class => {
                let at = self.allocate(class + 1);
                self.entries.copy_within(first..first + length, at as usize);
                self.free[usize::from(class)].push(queue.at);
                *queue = Queue { at, head: 0, class: class + 1, ..*queue };
            }
        }
    }

    /// Indexes the queue if searching it one by one takes long: to be called when a search failed, and
    /// before one that looks at all.
    #[inline]
    pub fn searched(&mut self, queue: &mut Queue, nodes: &Nodes) {
        if usize::from(queue.length) > MAX_SEARCHED {
            self.index(queue, nodes);
        }
    }

    #[cold]
    fn index(&mut self, queue: &mut Queue, nodes: &Nodes) {
        let at = queue.first();
        let entries = &self.entries[at..at + usize::from(queue.length)];
        let long = self.long.make(E::BY_SOURCE, entries.iter().map(|element| element.entry().node), nodes);
        self.free[usize::from(queue.class)].push(queue.at);
        *queue = Queue { at: long, length: 0, head: 0, class: INDEXED, any: false };
    }

    /// Takes out what is at `place`.
    // Entries behind move up, so that order stays; from the front, which is where programs receive, nothing
    // moves.
    #[inline(always)]
    pub fn remove(&mut self, queue: &mut Queue, place: Place, nodes: &Nodes) {
        if queue.class == SINGLE {
            *queue = Queue::default();
            return;
        }
        if queue.class == INDEXED {
            return self.remove_long(queue, place, nodes);
        }
        if place.0 == 0 {
            queue.head += 1;
        } else {
            let (at, end) = (queue.first() + place.0 as usize, queue.first() + usize::from(queue.length));
            self.entries.copy_within(at + 1..end, at);
        }
        queue.length -= 1;
        if queue.length == 0 {
            // An idle rank has no block, and the next to need one finds it in cache.
            self.free[usize::from(queue.class)].push(queue.at);
            *queue = Queue::default();
        } else if place.is_far() {
            self.searched(queue, nodes);
        }
    }

    #[inline(never)]
    fn remove_long(&mut self, queue: &mut Queue, place: Place, nodes: &Nodes) {
        if self.long.remove(queue.at, place.0, nodes) {
            *queue = Queue::default();
        }
    }

    /// Takes a node out, wherever it is; false if it is not in the queue.
    pub fn remove_node(&mut self, queue: &mut Queue, index: u32, nodes: &Nodes) -> bool {
        let place = match queue.class {
            EMPTY => None,
            SINGLE => (queue.at == index).then_some(0),
            INDEXED => self.long[queue.at].place_of(index, nodes),
            _ => self
                .slice(*queue)
                .iter()
                .position(|element| element.entry().node == index)
                .map(|place| place as u32),
        };
        if let Some(place) = place {
            self.remove(queue, Place(place), nodes);
        }
        place.is_some()
    }
}

impl Queues<Timed> {
    /// Records that a message that was under way has arrived: its node says when.
    pub fn landed(&mut self, queue: Queue, index: u32, nodes: &Nodes) {
        match queue.class {
            EMPTY | SINGLE => return,
            INDEXED => return self.long[queue.at].landed(index, nodes),
            _ => {}
        }
        let at = queue.first();
        let block = &mut self.entries[at..at + usize::from(queue.length)];
        if let Some(element) = block.iter_mut().find(|element| element.entry.node == index) {
            element.arrival = nodes[index].arrival;
        }
    }
}

#[cfg(test)]
mod tests;
