//! The two queues of a rank: posted receives and unexpected messages.
//!
//! A short queue is one block of entries side by side, each with a 32-bit digest of its envelope, so that a search
//! reads a line or two and touches only the node that it finds (a linked list touches every node before it, and those
//! are seldom in cache). A stream, however long, is received from the front of the block. Once a queue of more than 256
//! entries is searched further back it is indexed ([`long`]), so that finding does not depend on its length.

pub mod long;

use crate::matching::{Envelope, Pattern};
use crate::node::{Node, Nodes, flag};
use crate::slab::Slab;
use engine::Time;
use long::Long;
use smallvec::SmallVec;

/// Entries up to which a queue is searched one by one.
const SHORT: usize = 256;
/// Block sizes: 4, 8, 16 ... 32,768 entries.
const CLASSES: u8 = 14;
const LONG: u8 = u8::MAX;

const WILD: u32 = 0xffff_0000;
const ANY_TAG: u32 = 0x0000_ffff;

/// A rank's queue: where its entries are.
#[derive(Clone, Copy, Default, Debug)]
pub struct Queue {
    at: u32,
    length: u16,
    /// Entries at the start of the block that were taken out.
    head: u16,
    class: u8,
}

impl Queue {
    /// Whether nothing is in it.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.class == 0
    }
    #[inline]
    fn first(&self) -> usize {
        self.at as usize + usize::from(self.head)
    }
}

/// A place in a queue, as a search answers it; good until the queue changes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Place(u32);

/// What stands in a short queue for a node.
#[derive(Clone, Copy, Default, Debug)]
pub struct Entry {
    /// Digest of the envelope or pattern: source in the upper half, tag and context in the lower.
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

/// What a queue's blocks are made of.
pub trait Element: Copy + Default {
    /// Made from a node.
    fn of(index: u32, node: &Node) -> Self;
    /// The part that every element has.
    fn entry(&self) -> Entry;
}

impl Element for Entry {
    #[inline]
    fn of(index: u32, node: &Node) -> Entry {
        let pattern = Pattern::of(node);
        Entry { key: wanted(&pattern).0 | !wanted(&pattern).1, node: index }
    }
    #[inline]
    fn entry(&self) -> Entry {
        *self
    }
}

impl Element for Timed {
    #[inline]
    fn of(index: u32, node: &Node) -> Timed {
        let key = digest(node.context, node.source, node.tag);
        Timed { entry: Entry { key, node: index }, source: node.source, arrival: node.arrival }
    }
    #[inline]
    fn entry(&self) -> Entry {
        self.entry
    }
}

/// Halves of all ones are kept for "any".
#[inline]
fn half(value: u32) -> u32 {
    let half = value & 0xffff;
    if half == 0xffff { 0 } else { half }
}

#[inline]
fn low(context: u32, tag: i32) -> u32 {
    half(((tag as u32).wrapping_mul(0x9e37_79b1) ^ context.wrapping_mul(0x85eb_ca6b)) >> 16)
}

#[inline]
fn digest(context: u32, source: u32, tag: i32) -> u32 {
    half(source) << 16 | low(context, tag)
}

/// What a message's digest must be for a pattern, and in which bits.
#[inline]
fn wanted(pattern: &Pattern) -> (u32, u32) {
    let (mut value, mut mask) = (0, 0);
    if let Some(source) = pattern.source {
        value |= half(source) << 16;
        mask |= WILD;
    }
    if let Some(tag) = pattern.tag {
        value |= low(pattern.context, tag);
        mask |= ANY_TAG;
    }
    (value, mask)
}

/// All queues of one kind in a process.
#[derive(Default)]
pub struct Queues<E> {
    entries: Vec<E>,
    free: [Vec<u32>; CLASSES as usize + 1],
    long: Slab<Long>,
}

/// Entries of a block; 0 of a long queue.
#[inline]
const fn capacity(class: u8) -> usize {
    if class == LONG { 0 } else { 2 << class }
}

impl<E: Element> Queues<E> {
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
        self.entries.resize(at + capacity(class), E::default());
        at as u32
    }

    /// Appends a node.
    #[inline(always)]
    pub fn push(&mut self, queue: &mut Queue, index: u32, nodes: &Nodes) {
        if queue.class == 0 || usize::from(queue.head) + usize::from(queue.length) >= capacity(queue.class) {
            self.make_room(queue, nodes);
            if queue.class == LONG {
                return self.long[queue.at].push(index, nodes);
            }
        }
        let at = queue.first() + usize::from(queue.length);
        self.entries[at] = E::of(index, &nodes[index]);
        queue.length += 1;
    }

    /// Makes room for one more.
    fn make_room(&mut self, queue: &mut Queue, nodes: &Nodes) {
        let (first, length) = (queue.first(), usize::from(queue.length));
        if queue.class == LONG {
            return;
        }
        // Moving half a block once in half a block's appends is cheap; moving all but one is not.
        if queue.class != 0 && length <= capacity(queue.class) / 2 {
            self.entries.copy_within(first..first + length, queue.at as usize);
            queue.head = 0;
            return;
        }
        if queue.class == CLASSES {
            return self.index(queue, nodes);
        }
        let at = self.allocate(queue.class + 1);
        self.entries.copy_within(first..first + length, at as usize);
        if queue.class != 0 {
            self.free[usize::from(queue.class)].push(queue.at);
        }
        *queue = Queue { at, length: queue.length, head: 0, class: queue.class + 1 };
    }

    /// Indexes the queue if searching it one by one takes long: to be called when a search was in vain, and before
    /// one that looks at all.
    #[inline]
    pub fn searched(&mut self, queue: &mut Queue, nodes: &Nodes) {
        if usize::from(queue.length) > SHORT {
            self.index(queue, nodes);
        }
    }

    #[cold]
    fn index(&mut self, queue: &mut Queue, nodes: &Nodes) {
        let mut long = Long::default();
        for element in self.slice(*queue) {
            long.push(element.entry().node, nodes);
        }
        self.free[usize::from(queue.class)].push(queue.at);
        *queue = Queue { at: self.long.insert(long), length: 0, head: 0, class: LONG };
    }

    /// Takes out what is at `place`.
    #[inline(always)]
    pub fn remove(&mut self, queue: &mut Queue, place: Place, nodes: &Nodes) {
        if queue.class == LONG {
            self.long[queue.at].remove(place.0, nodes);
            if self.long[queue.at].is_empty() {
                self.long.remove(queue.at);
                *queue = Queue::default();
            }
            return;
        }
        if place.0 == 0 {
            queue.head += 1;
        } else {
            let (at, end) = (queue.first() + place.0 as usize, queue.first() + usize::from(queue.length));
            self.entries.copy_within(at + 1..end, at);
        }
        let far = place.0 as usize > SHORT / 2;
        queue.length -= 1;
        if queue.length == 0 {
            // An idle rank has no block, and the next to need one finds it in cache.
            self.free[usize::from(queue.class)].push(queue.at);
            *queue = Queue::default();
        } else if far {
            self.searched(queue, nodes);
        }
    }

    /// Takes a node out, wherever it is; false if it is not in the queue.
    pub fn remove_node(&mut self, queue: &mut Queue, index: u32, nodes: &Nodes) -> bool {
        let place = if queue.class == LONG {
            self.long[queue.at].place_of(index, nodes)
        } else {
            self.slice(*queue).iter().position(|element| element.entry().node == index).map(|place| place as u32)
        };
        if let Some(place) = place {
            self.remove(queue, Place(place), nodes);
        }
        place.is_some()
    }

    /// The queue will be searched soon.
    #[inline]
    pub fn prefetch(&self, queue: Queue) {
        if queue.class != LONG
            && let Some(entry) = self.entries.get(queue.first())
        {
            rank::memory::prefetch(entry);
        }
    }

    /// How many entries there are.
    pub fn length(&self, queue: Queue) -> usize {
        if queue.class == LONG { self.long[queue.at].length() } else { usize::from(queue.length) }
    }

    /// The nodes in the order they came.
    pub fn iter(&self, queue: Queue) -> impl Iterator<Item = u32> + '_ {
        let (short, long) = match queue.class {
            LONG => (&[][..], Some(&self.long[queue.at])),
            _ => (self.slice(queue), None),
        };
        short.iter().map(|element| element.entry().node).chain(long.into_iter().flat_map(Long::iter))
    }
}

impl Queues<Entry> {
    /// The first posted receive that a message fits.
    #[inline(always)]
    pub fn first_for(&self, queue: Queue, message: &Envelope, nodes: &Nodes) -> Option<(u32, Place)> {
        if queue.class == LONG {
            return self.long[queue.at].first_for(message, nodes).map(|(node, place)| (node, Place(place)));
        }
        let key = digest(message.context, message.source, message.tag);
        for (place, entry) in self.slice(queue).iter().enumerate() {
            let mut differs = entry.key ^ key;
            if entry.key & WILD == WILD {
                differs &= !WILD;
            }
            if entry.key & ANY_TAG == ANY_TAG {
                differs &= !ANY_TAG;
            }
            if differs == 0 {
                let node = &nodes[entry.node];
                if node.context == message.context
                    && (node.tag == message.tag || node.has(flag::ANY_TAG))
                    && (node.source == message.source || node.has(flag::WILD))
                {
                    return Some((entry.node, Place(place as u32)));
                }
            }
        }
        None
    }
}

impl Queues<Timed> {
    /// The first message that fits a pattern and is not in `taken`, in the order the sources sent.
    #[inline(always)]
    pub fn first(&self, queue: Queue, pattern: &Pattern, taken: &[u32], nodes: &Nodes) -> Option<(u32, Place)> {
        if queue.class == LONG {
            return self.long[queue.at].first(pattern, taken, nodes).map(|(node, place)| (node, Place(place)));
        }
        let (value, mask) = wanted(pattern);
        for (place, element) in self.slice(queue).iter().enumerate() {
            let Entry { key, node } = element.entry;
            if (key ^ value) & mask == 0 && pattern.accepts(&nodes[node]) && !taken.contains(&node) {
                return Some((node, Place(place as u32)));
            }
        }
        None
    }

    /// Among the first fitting messages of all sources the least by (arrival, source), those in `taken` left out.
    pub fn best(&self, queue: Queue, pattern: &Pattern, taken: &[u32], nodes: &Nodes) -> Option<u32> {
        if queue.class == LONG {
            return self.long[queue.at].best(pattern, taken, nodes);
        }
        let (value, mask) = wanted(pattern);
        let block = self.slice(queue);
        let fits = |entry: Entry| (entry.key ^ value) & mask == 0 && pattern.accepts(&nodes[entry.node]) && !taken.contains(&entry.node);
        // The least by digest alone is nearly always the one: only its node is looked at.
        let mut not: SmallVec<[usize; 8]> = SmallVec::new();
        loop {
            let (mut least, mut source, mut place) = (Time::MAX, u32::MAX, usize::MAX);
            for (at, element) in block.iter().enumerate() {
                let earlier = element.arrival < least || element.arrival == least && element.source < source;
                if earlier && (element.entry.key ^ value) & mask == 0 && (not.is_empty() || !not.contains(&at)) {
                    (least, source, place) = (element.arrival, element.source, at);
                }
            }
            // Those still under way have no arrival.
            if least == Time::MAX {
                return None;
            }
            let overtaken = block[..place].iter().any(|before| before.source == source && fits(before.entry));
            if overtaken || !fits(block[place].entry) {
                not.push(place);
                continue;
            }
            return Some(block[place].entry.node);
        }
    }

    /// A message that was under way has arrived: its node says when.
    pub fn landed(&mut self, queue: Queue, index: u32, nodes: &Nodes) {
        if queue.class == LONG {
            return self.long[queue.at].forget_arrivals();
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
