//! Searches of a queue: for the first that fits, the best of all sources, and all in their order.

use super::long::Long;
use super::{AT_ONCE, EMPTY, Element, Entry, INDEXED, NEAR, Place, Queue, Queues, SINGLE, Timed, key, told};
use crate::envelope::{Envelope, Pattern, fingerprint};
use crate::node::{Node, Nodes, flag};
use engine::Time;
use smallvec::SmallVec;

impl<E: Element> Queues<E> {
    /// Returns the first entry of a block that is for this envelope and no other.
    #[inline(always)]
    fn first_in_block(&self, queue: Queue, wanted: &Envelope, nodes: &Nodes) -> Option<(u32, Place)> {
        let block = self.slice(queue);
        for (place, element) in block.iter().take(NEAR).enumerate() {
            let Entry { key, node } = element.entry();
            if key == wanted.key && Envelope::of(&nodes[node]) == *wanted {
                return Some((node, Place(place as u32)));
            }
        }
        if block.len() > NEAR { Self::first_far(block, wanted, nodes) } else { None }
    }

    /// [`Queues::first_in_block`] behind the first few.
    // Several fingerprints at a time, without a branch for each.
    #[inline(never)]
    fn first_far(block: &[E], wanted: &Envelope, nodes: &Nodes) -> Option<(u32, Place)> {
        let search = |from: usize, elements: &[E]| {
            (from..).zip(elements).find_map(|(place, element)| {
                let Entry { key, node } = element.entry();
                (key == wanted.key && Envelope::of(&nodes[node]) == *wanted)
                    .then_some((node, Place(place as u32)))
            })
        };
        let (several, rest) = block[NEAR..].as_chunks::<AT_ONCE>();
        for (number, elements) in several.iter().enumerate() {
            let any = elements.iter().fold(false, |any, element| any | (element.entry().key == wanted.key));
            if any && let Some(found) = search(NEAR + number * AT_ONCE, elements) {
                return Some(found);
            }
        }
        search(block.len() - rest.len(), rest)
    }

    /// Returns the entry that came first.
    #[inline]
    pub fn front(&self, queue: Queue) -> Option<(u32, Place)> {
        match queue.class {
            EMPTY => None,
            SINGLE => Some((queue.at, Place(0))),
            INDEXED => self.long[queue.at].front().map(|(node, place)| (node, Place(place))),
            _ => self.slice(queue).first().map(|element| (element.entry().node, Place(0))),
        }
    }

    /// Returns how many entries there are.
    pub fn length(&self, queue: Queue) -> usize {
        if queue.class == INDEXED { self.long[queue.at].length() } else { usize::from(queue.length) }
    }

    /// Returns the nodes in the order they came.
    pub fn iter(&self, queue: Queue) -> impl Iterator<Item = u32> + '_ {
        let (single, short, long) = match queue.class {
            EMPTY => (None, &[][..], None),
            SINGLE => (Some(queue.at), &[][..], None),
            INDEXED => (None, &[][..], Some(&self.long[queue.at])),
            _ => (None, self.slice(queue), None),
        };
        single
            .into_iter()
            .chain(short.iter().map(|element| element.entry().node))
            .chain(long.into_iter().flat_map(Long::iter))
    }
}

impl Queues<Entry> {
    /// The first posted receive that a message fits.
    // Order of posting decides (MPI 5.0 section 3.5), so the first that fits is the one. `any` is asked once
    // a search: without wildcards a fingerprint is compared whole, in a loop that the compiler vectorizes.
    #[inline(always)]
    pub fn first_for(&self, queue: Queue, message: &Envelope, nodes: &Nodes) -> Option<(u32, Place)> {
        let fits = |node: &Node| {
            node.context == message.context
                && (node.tag == message.tag || node.has(flag::ANY_TAG))
                && (node.source == message.source || node.has(flag::WILD))
        };
        match queue.class {
            EMPTY => return None,
            SINGLE => return fits(&nodes[queue.at]).then_some((queue.at, Place(0))),
            INDEXED => {
                return self.long[queue.at].first_for(message).map(|(node, place)| (node, Place(place)));
            }
            _ => {}
        }
        if !queue.any {
            return self.first_in_block(queue, message, nodes);
        }
        for (place, entry) in self.slice(queue).iter().enumerate() {
            if (entry.key ^ message.key) & told(entry.key) == 0 && fits(&nodes[entry.node]) {
                return Some((entry.node, Place(place as u32)));
            }
        }
        None
    }
}

impl Queues<Timed> {
    /// Returns the first message that fits a pattern and is not in `taken`, in the order the sources sent.
    #[inline]
    pub fn first(
        &self,
        queue: Queue,
        pattern: &Pattern,
        taken: &[u32],
        nodes: &Nodes,
    ) -> Option<(u32, Place)> {
        match queue.class {
            EMPTY => return None,
            SINGLE => {
                let fits = pattern.accepts(&nodes[queue.at]) && !taken.contains(&{ queue.at });
                return fits.then_some((queue.at, Place(0)));
            }
            INDEXED => {
                return self.long[queue.at]
                    .first(pattern, taken, nodes)
                    .map(|(node, place)| (node, Place(place)));
            }
            _ => {}
        }
        let key = key(pattern);
        let told = told(key);
        for (place, element) in self.slice(queue).iter().enumerate() {
            let Entry { key: one, node } = element.entry;
            if (one ^ key) & told == 0 && pattern.accepts(&nodes[node]) && !taken.contains(&node) {
                return Some((node, Place(place as u32)));
            }
        }
        None
    }

    /// Returns the first message with this envelope.
    #[inline(always)]
    pub fn first_like(&self, queue: Queue, wanted: &Envelope, nodes: &Nodes) -> Option<(u32, Place)> {
        debug_assert_eq!(wanted.key, fingerprint(wanted.context, wanted.source, wanted.tag));
        match queue.class {
            EMPTY => None,
            SINGLE => (Envelope::of(&nodes[queue.at]) == *wanted).then_some((queue.at, Place(0))),
            INDEXED => self.long[queue.at].first_like(wanted).map(|(node, place)| (node, Place(place))),
            _ => self.first_in_block(queue, wanted, nodes),
        }
    }

    /// Returns the least of the first fitting messages of all sources by their precedence, those in `taken`
    /// left out.
    // Of each source only the first message that fits counts: a later one may arrive earlier, and
    // must not overtake (MPI 5.0 section 3.5).
    pub fn best(
        &self,
        queue: Queue,
        pattern: &Pattern,
        taken: &[u32],
        nodes: &Nodes,
    ) -> Option<(u32, Place)> {
        match queue.class {
            EMPTY => return None,
            SINGLE => {
                let node = &nodes[queue.at];
                // Those still under way have no arrival.
                let fits =
                    node.arrival != Time::MAX && pattern.accepts(node) && !taken.contains(&{ queue.at });
                return fits.then_some((queue.at, Place(0)));
            }
            INDEXED => {
                return self.long[queue.at]
                    .best(pattern, taken, nodes)
                    .map(|(node, place)| (node, Place(place)));
            }
            _ => {}
        }
        let key = key(pattern);
        let told = told(key);
        let block = self.slice(queue);
        let fits = |entry: Entry| {
            (entry.key ^ key) & told == 0
                && pattern.accepts(&nodes[entry.node])
                && !taken.contains(&entry.node)
        };
        // The least by fingerprint alone is nearly always the one: only its node is looked at.
        let mut not: SmallVec<[usize; 8]> = SmallVec::new();
        loop {
            let (mut least, mut source, mut place) = (Time::MAX, u32::MAX, usize::MAX);
            for (at, element) in block.iter().enumerate() {
                // As `Precedence`, by its fields: a function is compiled to a twentieth more instructions.
                let earlier = element.arrival < least || element.arrival == least && element.source < source;
                if earlier && (element.entry.key ^ key) & told == 0 && (not.is_empty() || !not.contains(&at))
                {
                    (least, source, place) = (element.arrival, element.source, at);
                }
            }
            if least == Time::MAX {
                return None;
            }
            let overtaken = block[..place].iter().any(|before| before.source == source && fits(before.entry));
            if overtaken || !fits(block[place].entry) {
                not.push(place);
                continue;
            }
            return Some((block[place].entry.node, Place(place as u32)));
        }
    }
}
