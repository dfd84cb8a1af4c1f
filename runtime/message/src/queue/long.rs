//! A queue with an index: what fits is found in constant time however long the queue is.

use crate::envelope::{Envelope, Pattern};
use crate::node::{NIL, Node, Nodes, flag};
use engine::Time;
use rustc_hash::FxHashMap;
use std::cell::RefCell;
use std::collections::BTreeSet;

/// "Any" in a key: no rank and no tag has these numbers.
const ANY: u32 = u32::MAX;

/// Context, source, tag; [`ANY`] where a receive takes any, or where the chain is of all tags.
type Key = (u32, u32, u32);

/// Entries by (arrival, source).
type Heads = BTreeSet<(Time, u32, u32)>;

/// The three orders that an entry stands in.
// An entry stands in three chains at once, because each question has its own: a message with its envelope
// (`Exact`), a receive for any tag of a source (`Source`), and who looks at all (`All`). Doubly linked, so that
// taking one out of all three is O(1).
#[derive(Clone, Copy)]
enum Order {
    /// All entries.
    All,
    /// Entries of one key.
    Exact,
    /// Entries of one source, whatever the tag.
    Source,
}

#[derive(Clone, Copy)]
struct Entry {
    node: u32,
    sequence: u64,
    before: [u32; 3],
    after: [u32; 3],
}

#[derive(Clone, Copy)]
struct Chain {
    first: u32,
    last: u32,
}

impl Default for Chain {
    fn default() -> Chain {
        Chain { first: NIL, last: NIL }
    }
}

/// The entries of a long queue, chained by key, by source and altogether.
#[derive(Default)]
pub struct Long {
    entries: Vec<Entry>,
    free: Vec<u32>,
    pushed: u64,
    all: Chain,
    exact: FxHashMap<Key, Chain>,
    source: FxHashMap<Key, Chain>,
    /// The first messages of all sources, by arrival, for each pattern without a source that was asked for.
    // Made when it is first asked for: only receives and probes for any source want it. Behind a cell, since
    // asking changes nothing that anybody sees.
    heads: RefCell<FxHashMap<(u32, u32), Heads>>,
}

fn keys(node: &Node) -> (Key, Key) {
    let source = if node.has(flag::WILD) { ANY } else { node.source };
    let tag = if node.has(flag::ANY_TAG) { ANY } else { node.tag as u32 };
    ((node.context, source, tag), (node.context, source, ANY))
}

impl Long {
    /// Whether nothing is in it.
    pub fn is_empty(&self) -> bool {
        self.all.first == NIL
    }

    /// How many entries there are.
    pub fn length(&self) -> usize {
        self.entries.len() - self.free.len()
    }

    fn link(entries: &mut [Entry], chain: &mut Chain, order: Order, at: u32) {
        let order = order as usize;
        entries[at as usize].before[order] = chain.last;
        entries[at as usize].after[order] = NIL;
        match chain.last {
            NIL => chain.first = at,
            last => entries[last as usize].after[order] = at,
        }
        chain.last = at;
    }

    fn unlink(entries: &mut [Entry], chain: &mut Chain, order: Order, at: u32) {
        let order = order as usize;
        let Entry { before, after, .. } = entries[at as usize];
        match before[order] {
            NIL => chain.first = after[order],
            other => entries[other as usize].after[order] = after[order],
        }
        match after[order] {
            NIL => chain.last = before[order],
            other => entries[other as usize].before[order] = before[order],
        }
    }

    /// Appends a node.
    // O(1); O(log heads) where arrivals are kept in order and the entry is a new head.
    pub fn push(&mut self, node: u32, nodes: &Nodes) {
        let entry = Entry { node, sequence: self.pushed, before: [NIL; 3], after: [NIL; 3] };
        self.pushed += 1;
        let at = match self.free.pop() {
            Some(at) => {
                self.entries[at as usize] = entry;
                at
            }
            None => {
                self.entries.push(entry);
                self.entries.len() as u32 - 1
            }
        };
        let (exact, source) = keys(&nodes[node]);
        Self::link(&mut self.entries, &mut self.all, Order::All, at);
        Self::link(&mut self.entries, self.exact.entry(exact).or_default(), Order::Exact, at);
        Self::link(&mut self.entries, self.source.entry(source).or_default(), Order::Source, at);
        let before = self.entries[at as usize].before;
        self.note_head(exact, before[Order::Exact as usize] == NIL, at, nodes);
        self.note_head(source, before[Order::Source as usize] == NIL, at, nodes);
    }

    /// Enters `at` among the heads of its pattern if it is one and they are kept.
    fn note_head(&mut self, key: Key, is_head: bool, at: u32, nodes: &Nodes) {
        if is_head
            && at != NIL
            && let Some(heads) = self.heads.get_mut().get_mut(&(key.0, key.2))
        {
            let node = &nodes[self.entries[at as usize].node];
            heads.insert((node.arrival, node.source, at));
        }
    }

    /// Takes an entry out. Its node must still say what it said when it was appended.
    // What stood behind the first message of a source is its first now, and takes its place among the heads.
    pub fn remove(&mut self, at: u32, nodes: &Nodes) {
        let Entry { node, before, after, .. } = self.entries[at as usize];
        let (exact, source) = keys(&nodes[node]);
        Self::unlink(&mut self.entries, &mut self.all, Order::All, at);
        for (key, order) in [(exact, Order::Exact), (source, Order::Source)] {
            let chains = if matches!(order, Order::Exact) { &mut self.exact } else { &mut self.source };
            if let Some(chain) = chains.get_mut(&key) {
                Self::unlink(&mut self.entries, chain, order, at);
                if chain.first == NIL {
                    chains.remove(&key);
                }
            }
            if before[order as usize] == NIL {
                if let Some(heads) = self.heads.get_mut().get_mut(&(key.0, key.2)) {
                    heads.remove(&(nodes[node].arrival, nodes[node].source, at));
                }
                self.note_head(key, true, after[order as usize], nodes);
            }
        }
        self.free.push(at);
    }

    /// Where a node is.
    pub fn place_of(&self, node: u32, nodes: &Nodes) -> Option<u32> {
        let chain = self.exact.get(&keys(&nodes[node]).0)?;
        self.follow(chain.first, Order::Exact).find(|&at| self.entries[at as usize].node == node)
    }

    fn follow(&self, first: u32, order: Order) -> impl Iterator<Item = u32> + '_ {
        let mut at = first;
        std::iter::from_fn(move || {
            (at != NIL).then(|| {
                let here = at;
                at = self.entries[at as usize].after[order as usize];
                here
            })
        })
    }

    /// The nodes in the order they came.
    pub fn iter(&self) -> impl Iterator<Item = u32> + '_ {
        self.follow(self.all.first, Order::All).map(|at| self.entries[at as usize].node)
    }

    /// The first posted receive that a message fits: `(node, place)`.
    // Four kinds of receives accept a message; of their first ones that which was posted first has it. O(1).
    pub fn first_for(&self, message: &Envelope, _: &Nodes) -> Option<(u32, u32)> {
        let (context, source, tag) = (message.context, message.source, message.tag as u32);
        let keys = [(context, source, tag), (context, source, ANY), (context, ANY, tag), (context, ANY, ANY)];
        let firsts = keys.iter().filter_map(|key| self.exact.get(key)).map(|chain| chain.first);
        let at = firsts.min_by_key(|&at| self.entries[at as usize].sequence)?;
        Some((self.entries[at as usize].node, at))
    }

    /// The first message that fits a pattern and is not in `taken`: `(node, place)`.
    pub fn first(&self, pattern: &Pattern, taken: &[u32], nodes: &Nodes) -> Option<(u32, u32)> {
        let (chain, order) = match (pattern.source, pattern.tag) {
            (Some(source), Some(tag)) => (self.exact.get(&(pattern.context, source, tag as u32)), Order::Exact),
            (Some(source), None) => (self.source.get(&(pattern.context, source, ANY)), Order::Source),
            (None, _) => (Some(&self.all), Order::All),
        };
        let mut places = self.follow(chain?.first, order);
        let at = places.find(|&at| {
            let node = self.entries[at as usize].node;
            pattern.accepts(&nodes[node]) && !taken.contains(&node)
        })?;
        Some((self.entries[at as usize].node, at))
    }

    /// Among the first fitting messages of all sources the least by (arrival, source), those in `taken` left out: `(node, place)`.
    // O(log heads + taken): the least head is at hand, and each message already taken is replaced by what its
    // source sent next.
    pub fn best(&self, pattern: &Pattern, taken: &[u32], nodes: &Nodes) -> Option<(u32, u32)> {
        let tag = pattern.tag.map_or(ANY, |tag| tag as u32);
        let (chains, order) = if pattern.tag.is_some() { (&self.exact, Order::Exact) } else { (&self.source, Order::Source) };
        let mut all = self.heads.borrow_mut();
        let heads = all.entry((pattern.context, tag)).or_insert_with(|| {
            let fitting = chains.iter().filter(|(key, _)| key.0 == pattern.context && key.2 == tag);
            fitting
                .map(|(_, chain)| {
                    let node = &nodes[self.entries[chain.first as usize].node];
                    (node.arrival, node.source, chain.first)
                })
                .collect()
        });
        let least = heads.iter().find(|(_, _, at)| !taken.contains(&self.entries[*at as usize].node)).copied();
        // Behind a head that is taken the source's next message is its head, which may be better than the least.
        let behind = taken.iter().filter_map(|&node| {
            let (arrival, source) = (nodes[node].arrival, nodes[node].source);
            let mut equal = heads.range((arrival, source, 0)..=(arrival, source, u32::MAX));
            let head = equal.find(|(_, _, at)| self.entries[*at as usize].node == node)?;
            let next = self.follow(head.2, order).find(|&at| !taken.contains(&self.entries[at as usize].node))?;
            let node = &nodes[self.entries[next as usize].node];
            Some((node.arrival, node.source, next))
        });
        let (_, _, at) = behind.chain(least).min()?;
        let node = self.entries[at as usize].node;
        (!nodes[node].has(flag::UNDER_WAY)).then_some((node, at))
    }

    /// Arrivals of messages in the queue have changed.
    // A shared network delivers one message at a time, each of which is looked for soon: to mend the order is
    // not worth its code.
    pub fn forget_arrivals(&mut self) {
        self.heads.get_mut().clear();
    }
}
