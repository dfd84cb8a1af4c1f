//! A queue with an index: what fits is found in constant time however long the queue is.

use super::heads::{Head, Heads, Places};
use crate::envelope::{Envelope, Pattern};
use crate::node::{NIL, Node, Nodes, flag};
use rustc_hash::FxHashMap;
use std::cell::{Cell, RefCell};

/// "Any" in a key: no rank and no tag has these numbers.
const ANY: u32 = u32::MAX;

/// Context, source, tag; [`ANY`] where a receive takes any, or where the chain is of all tags.
type Key = (u32, u32, u32);

/// The three orders that an entry stands in.
// An entry stands in several chains at once, because each question has its own: a message with its envelope
// (`Exact`), a receive for any tag of a source (`Source`, of messages only), and who looks at all (`All`).
// Doubly linked, so that taking one out of all is O(1).
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
    /// The chains of one key and of one source.
    // Kept, so that taking an entry out needs neither its node nor a search for its chains.
    exact: u32,
    source: u32,
    before: [u32; 3],
    after: [u32; 3],
}

#[derive(Clone, Copy)]
struct Ends {
    first: u32,
    last: u32,
}

const NONE: Ends = Ends { first: NIL, last: NIL };

/// Entries of one key, or of one source.
struct Chain {
    key: Key,
    ends: Ends,
    /// Of the chain of a key: the chain of its source.
    source: u32,
    /// Which [`Heads`] its first entry is one of, and where there.
    heads: Cell<u32>,
    place: Cell<u32>,
}

impl Places for Vec<Chain> {
    #[inline]
    fn place(&self, chain: u32) -> &Cell<u32> {
        &self[chain as usize].place
    }
}

/// The entries of a long queue, chained by key, by source and altogether.
pub struct Long {
    entries: Vec<Entry>,
    free: Vec<u32>,
    pushed: u64,
    all: Ends,
    by_source: bool,
    chains: Vec<Chain>,
    chain_of: FxHashMap<Key, u32>,
    /// The chain that was appended to last.
    // Receives for any source are alike, and messages come in streams: the next one is often of that chain.
    last: u32,
    /// Where the entry is that was found last, which is often taken out next.
    found: Cell<u32>,
    free_chains: Vec<u32>,
    /// Chains without an entry, which are kept for the next.
    // A queue whose last message of a kind is taken is likely to get one more of that kind.
    empty: usize,
    /// Entries by what their keys leave open: nothing, the tag, the source, both.
    // What nobody left open is not searched for.
    open: [u32; 4],
    /// The first messages of all sources, for each pattern without a source that was asked for.
    // Made when it is first asked for: only receives and probes for any source want it.
    heads: RefCell<Vec<Heads>>,
    heads_of: RefCell<FxHashMap<(u32, u32), u32>>,
    /// The pattern that was asked for last, and its heads.
    asked: Cell<Option<(u32, u32, u32)>>,
}

fn key(node: &Node) -> Key {
    let source = if node.has(flag::WILD) { ANY } else { node.source };
    let tag = if node.has(flag::ANY_TAG) { ANY } else { node.tag as u32 };
    (node.context, source, tag)
}

/// Which of the four kinds of keys one is.
#[inline]
fn open(key: Key) -> usize {
    usize::from(key.2 == ANY) | usize::from(key.1 == ANY) << 1
}

#[inline]
fn link(entries: &mut [Entry], ends: &mut Ends, order: Order, at: u32) {
    let order = order as usize;
    entries[at as usize].before[order] = ends.last;
    match ends.last {
        NIL => ends.first = at,
        last => entries[last as usize].after[order] = at,
    }
    ends.last = at;
}

/// Takes an entry out of an order; whether it was the first there.
#[inline]
fn unlink(entries: &mut [Entry], ends: &mut Ends, order: Order, at: u32) -> bool {
    let order = order as usize;
    let (before, after) = (entries[at as usize].before[order], entries[at as usize].after[order]);
    match before {
        NIL => ends.first = after,
        other => entries[other as usize].after[order] = after,
    }
    match after {
        NIL => ends.last = before,
        other => entries[other as usize].before[order] = before,
    }
    before == NIL
}

impl Long {
    /// Nothing is in it. `by_source`: entries of one source and any tag will be looked for, and the best of all sources.
    // Messages are looked for so, receives never are.
    pub fn new(by_source: bool) -> Long {
        Long {
            entries: Vec::new(),
            free: Vec::new(),
            pushed: 0,
            all: NONE,
            by_source,
            chains: Vec::new(),
            chain_of: FxHashMap::default(),
            last: NIL,
            found: Cell::new(NIL),
            free_chains: Vec::new(),
            empty: 0,
            open: [0; 4],
            heads: RefCell::default(),
            heads_of: RefCell::default(),
            asked: Cell::default(),
        }
    }

    /// An empty one is as new, but for the room that it has.
    // To grow once more costs a queue of a thousand entries more than all that it is searched.
    pub fn reset(&mut self) {
        debug_assert!(self.is_empty());
        self.entries.clear();
        self.free.clear();
        (self.pushed, self.empty) = (0, 0);
        self.chains.clear();
        self.chain_of.clear();
        self.last = NIL;
        self.free_chains.clear();
        self.heads.get_mut().clear();
        self.heads_of.get_mut().clear();
        self.asked.set(None);
    }

    /// Whether nothing is in it.
    pub fn is_empty(&self) -> bool {
        self.all.first == NIL
    }

    /// How many entries there are.
    pub fn length(&self) -> usize {
        self.entries.len() - self.free.len()
    }

    /// How many chains there are, those in reserve too.
    #[cfg(test)]
    pub fn chains(&self) -> usize {
        self.chains.len()
    }

    /// Appends a node.
    // O(1); O(log heads) where heads are kept and the entry is a new one.
    pub fn push(&mut self, node: u32, nodes: &Nodes) {
        let key = key(&nodes[node]);
        self.open[open(key)] += 1;
        let exact = self.chain(key);
        let source = self.chains[exact as usize].source;
        let entry = Entry { node, sequence: self.pushed, exact, source, before: [NIL; 3], after: [NIL; 3] };
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
        link(&mut self.entries, &mut self.all, Order::All, at);
        self.link_to(exact, Order::Exact, at, nodes);
        if source != NIL {
            self.link_to(source, Order::Source, at, nodes);
        }
    }

    fn link_to(&mut self, chain: u32, order: Order, at: u32, nodes: &Nodes) {
        let ends = &mut self.chains[chain as usize].ends;
        let is_first = ends.first == NIL;
        link(&mut self.entries, ends, order, at);
        if is_first {
            self.empty -= 1;
            self.note_head(chain, nodes);
        }
    }

    /// Takes an entry out. Its node may have changed since it was appended, or be gone.
    // What stood behind the first message of a source is its first now, and takes its place among the heads.
    pub fn remove(&mut self, at: u32, nodes: &Nodes) {
        let Entry { exact, source, .. } = self.entries[at as usize];
        self.open[open(self.chains[exact as usize].key)] -= 1;
        unlink(&mut self.entries, &mut self.all, Order::All, at);
        for (chain, order) in [(exact, Order::Exact), (source, Order::Source)] {
            if chain != NIL && unlink(&mut self.entries, &mut self.chains[chain as usize].ends, order, at) {
                self.empty += usize::from(self.chains[chain as usize].ends.first == NIL);
                self.note_head(chain, nodes);
            }
        }
        // Nobody finds it where it was.
        self.entries[at as usize].node = NIL;
        self.free.push(at);
        if self.empty > 64 + self.entries.len() {
            self.drop_empty_chains();
        }
    }

    /// The chain of a key.
    #[inline]
    fn chain(&mut self, key: Key) -> u32 {
        if self.chains.get(self.last as usize).is_none_or(|last| last.key != key) {
            self.last = match self.chain_of.get(&key) {
                Some(&chain) => chain,
                None => self.make_chain(key),
            };
        }
        self.last
    }

    /// A chain for a key that has none, and for its source.
    // A chain with an entry has one in that of its source, so that it is never without it.
    #[inline(never)]
    fn make_chain(&mut self, key: Key) -> u32 {
        let whole = (key.0, key.1, ANY);
        let source = match self.by_source && key != whole {
            false => NIL,
            true => self.chain_of.get(&whole).copied().unwrap_or_else(|| self.make_chain(whole)),
        };
        let heads = self.heads_of.get_mut().get(&(key.0, key.2)).copied().unwrap_or(NIL);
        let chain = Chain { key, ends: NONE, source, heads: Cell::new(heads), place: Cell::new(NIL) };
        self.empty += 1;
        let at = match self.free_chains.pop() {
            Some(at) => {
                self.chains[at as usize] = chain;
                at
            }
            None => {
                self.chains.push(chain);
                self.chains.len() as u32 - 1
            }
        };
        self.chain_of.insert(key, at);
        at
    }

    /// Gives chains back that nobody used for long: what is kept stays in proportion to what is in the queue.
    #[cold]
    fn drop_empty_chains(&mut self) {
        let Long { chains, free_chains, .. } = self;
        self.chain_of.retain(|_, &mut chain| {
            let stays = chains[chain as usize].ends.first != NIL;
            if !stays {
                free_chains.push(chain);
            }
            stays
        });
        self.empty = 0;
        self.last = NIL;
    }

    /// The first entry of a chain has changed, or when its message arrives.
    fn note_head(&mut self, chain: u32, nodes: &Nodes) {
        let Chain { key, ends, ref heads, .. } = self.chains[chain as usize];
        let heads = heads.get();
        if heads == NIL {
            return;
        }
        let heads = &mut self.heads.get_mut()[heads as usize];
        match ends.first {
            NIL => heads.remove(chain, &self.chains),
            first => {
                let arrival = nodes[self.entries[first as usize].node].arrival;
                heads.set(Head { arrival, source: key.1, chain }, &self.chains);
            }
        }
    }

    /// Where a node is.
    // Who takes one out has mostly asked for it just before, or for the first of all.
    pub fn place_of(&self, node: u32, nodes: &Nodes) -> Option<u32> {
        let is_there = |&at: &u32| self.entries.get(at as usize).is_some_and(|entry| entry.node == node);
        if let Some(at) = [self.found.get(), self.all.first].into_iter().find(is_there) {
            return Some(at);
        }
        self.follow(self.first_of(&key(&nodes[node])), Order::Exact).find(|&at| self.entries[at as usize].node == node)
    }

    #[inline]
    fn first_of(&self, key: &Key) -> u32 {
        if let Some(last) = self.chains.get(self.last as usize).filter(|last| last.key == *key) {
            return last.ends.first;
        }
        self.chain_of.get(key).map_or(NIL, |&chain| self.chains[chain as usize].ends.first)
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

    /// The entry that came first: `(node, place)`.
    pub fn front(&self) -> Option<(u32, u32)> {
        let at = self.all.first;
        self.entries.get(at as usize).map(|entry| (entry.node, at))
    }

    /// The nodes in the order they came.
    pub fn iter(&self) -> impl Iterator<Item = u32> + '_ {
        self.follow(self.all.first, Order::All).map(|at| self.entries[at as usize].node)
    }

    /// The first posted receive that a message fits: `(node, place)`.
    // Four kinds of receives accept a message; of their first ones that which was posted first has it. O(1).
    pub fn first_for(&self, message: &Envelope) -> Option<(u32, u32)> {
        let (context, source, tag) = (message.context, message.source, message.tag as u32);
        let keys = [(context, source, tag), (context, source, ANY), (context, ANY, tag), (context, ANY, ANY)];
        let asked = keys.iter().zip(self.open).filter(|(_, entries)| *entries != 0);
        let firsts = asked.map(|(key, _)| self.first_of(key)).filter(|&at| at != NIL);
        let at = firsts.min_by_key(|&at| self.entries[at as usize].sequence)?;
        Some((self.entries[at as usize].node, at))
    }

    /// The first message that fits a pattern and is not in `taken`: `(node, place)`.
    pub fn first(&self, pattern: &Pattern, taken: &[u32], nodes: &Nodes) -> Option<(u32, u32)> {
        let (first, order) = match (pattern.source, pattern.tag) {
            (Some(source), Some(tag)) => (self.first_of(&(pattern.context, source, tag as u32)), Order::Exact),
            (Some(source), None) => (self.first_of(&(pattern.context, source, ANY)), Order::Source),
            (None, _) => (self.all.first, Order::All),
        };
        let at = self.follow(first, order).find(|&at| {
            let node = self.entries[at as usize].node;
            pattern.accepts(&nodes[node]) && !taken.contains(&node)
        })?;
        Some((self.entries[at as usize].node, at))
    }

    /// Among the first fitting messages of all sources the least by (arrival, source), those in `taken` left out: `(node, place)`.
    // O(1), and a search for each message that is taken: behind a head that is, the source's next message may be
    // better than the least head, however late the head itself.
    pub fn best(&self, pattern: &Pattern, taken: &[u32], nodes: &Nodes) -> Option<(u32, u32)> {
        let tag = pattern.tag.map_or(ANY, |tag| tag as u32);
        let heads = self.heads_of(pattern.context, tag, nodes);
        let at = match taken {
            [] => self.chains[self.heads.borrow()[heads as usize].top()?.chain as usize].ends.first,
            _ => self.best_but(pattern.context, tag, heads, taken, nodes)?,
        };
        let node = self.entries[at as usize].node;
        self.found.set(at);
        (!nodes[node].has(flag::UNDER_WAY)).then_some((node, at))
    }

    /// Where the best is without those in `taken`.
    fn best_but(&self, context: u32, tag: u32, heads: u32, taken: &[u32], nodes: &Nodes) -> Option<u32> {
        let first_of = |chain: u32| self.chains[chain as usize].ends.first;
        let is_taken = |at: u32| taken.contains(&self.entries[at as usize].node);
        let least = self.heads.borrow()[heads as usize].least(|head| !is_taken(first_of(head.chain)));
        let least = least.map(|head| (head.arrival, head.source, first_of(head.chain)));
        let order = if tag == ANY { Order::Source } else { Order::Exact };
        let behind = taken.iter().filter_map(|&taken| {
            let (of, source, _) = key(&nodes[taken]);
            let first = self.first_of(&(of, source, tag));
            // Of each source only what stands behind its head, if that is taken.
            self.entries.get(first as usize).filter(|head| head.node == taken && of == context)?;
            let next = self.follow(first, order).find(|&at| !is_taken(at))?;
            Some((nodes[self.entries[next as usize].node].arrival, source, next))
        });
        behind.chain(least).min().map(|(_, _, at)| at)
    }

    /// Which heads are those of a pattern for any source.
    fn heads_of(&self, context: u32, tag: u32, nodes: &Nodes) -> u32 {
        if let Some((_, _, heads)) = self.asked.get().filter(|asked| (asked.0, asked.1) == (context, tag)) {
            return heads;
        }
        let heads = *self.heads_of.borrow_mut().entry((context, tag)).or_insert_with(|| {
            let mut all = self.heads.borrow_mut();
            let (index, mut heads) = (all.len() as u32, Heads::default());
            for &at in self.chain_of.values() {
                let Chain { key, ends, heads: in_heads, .. } = &self.chains[at as usize];
                if (key.0, key.2) == (context, tag) {
                    in_heads.set(index);
                    if ends.first != NIL {
                        let arrival = nodes[self.entries[ends.first as usize].node].arrival;
                        heads.set(Head { arrival, source: key.1, chain: at }, &self.chains);
                    }
                }
            }
            all.push(heads);
            index
        });
        self.asked.set(Some((context, tag, heads)));
        heads
    }

    /// The arrival of a message in the queue has changed.
    pub fn landed(&mut self, node: u32, nodes: &Nodes) {
        let Some(at) = self.place_of(node, nodes) else { return };
        let Entry { exact, source, .. } = self.entries[at as usize];
        for chain in [exact, source] {
            if chain != NIL && self.chains[chain as usize].ends.first == at {
                self.note_head(chain, nodes);
            }
        }
    }
}
