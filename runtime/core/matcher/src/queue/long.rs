//! A queue with an index: what fits is found in constant time however long the queue is.

mod search;

use super::heads::{Head, Heads};
use crate::node::{NIL, Node, Nodes, flag};
use crate::precedence::Precedence;
use rustc_hash::FxHashMap;
use std::cell::{Cell, RefCell};

/// "Any" in a key: no rank and no tag has these numbers.
const ANY: u32 = u32::MAX;

/// Context, source, tag; [`ANY`] where a receive takes any, or where the chain is of all tags.
type Key = (u32, u32, u32);

/// The chains that an entry stands in: that of its key, and, of messages only, that of its source, which a
/// receive for any tag asks for.
#[derive(Clone, Copy)]
enum Order {
    Exact,
    Source,
}

impl Order {
    /// Returns the order of a chain of messages whose key has this tag: `Source` for any tag, else `Exact`.
    fn of(tag: u32) -> Order {
        if tag == ANY { Order::Source } else { Order::Exact }
    }
}

/// Entry for a node, in the order in which nodes came: a quarter of a cache line.
// Entries stay where they are, so that order needs no links, and taking one out touches none of its
// neighbours. Chains are linked forward only: whoever follows one passes over what was taken out.
#[derive(Clone, Copy)]
struct Entry {
    /// [`NIL`] once it was taken out.
    node: u32,
    /// The chain of its key.
    // Kept, so that taking an entry out needs neither its node nor a search for its chain.
    chain: u32,
    /// The next entry of the same key, and the next entry of the same source.
    next: [u32; 2],
}

/// Entries of one key, or of one source: half a cache line.
#[repr(align(32))]
struct Chain {
    key: Key,
    /// For the chain of a key, the chain of its source.
    source: u32,
    /// The first entry, or one before it that was taken out.
    // Found when it is asked for: to look at the next entry as one is taken out would be a cache miss for a
    // message that may come much later.
    first: Cell<u32>,
    last: u32,
    length: u32,
    /// Index of the [`Heads`] that have the chain's first entry.
    heads: Cell<u32>,
}

/// Entries for which there is room at first.
const ROOM: usize = 512;

/// The entries of a long queue in their order, chained by key and by source.
// What each search and removal needs comes first: two cache lines.
#[repr(C)]
pub struct Long {
    entries: Vec<Entry>,
    chains: Vec<Chain>,
    /// Chains by their keys: a hash table with open addresses, at most half full. [`NIL`] where there is
    /// none.
    table: Vec<u32>,
    /// Entries by what their keys leave open: nothing, the tag, the source, both.
    // What nobody left open is not searched for.
    open: [u32; 4],
    /// Entries that were not taken out.
    live: u32,
    /// All before this one were taken out.
    begin: u32,
    /// Entries, those that were taken out included, up to which none are moved together.
    room: u32,
    /// Chains without an entry, which are kept for the next.
    // A queue whose last message of a kind is taken is likely to get one more of that kind.
    empty: u32,
    by_source: bool,
    /// Index of the entry that was found last, which is often the next to be taken out.
    found: Cell<u32>,
    free_chains: Vec<u32>,
    /// Index of each chain's first entry among its heads.
    places: Vec<Cell<u32>>,
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

/// Returns which of the four kinds of keys one is.
#[inline]
fn open(key: Key) -> usize {
    usize::from(key.2 == ANY) | usize::from(key.1 == ANY) << 1
}

/// Returns where the search for a key begins in a table of so many places, a power of two.
#[inline]
fn slot(key: &Key, places: usize) -> usize {
    // Sources, tags and contexts are small numbers one behind the other: an odd factor (of the golden ratio)
    // spreads them over the upper bits.
    let all = (u64::from(key.1) << 32 | u64::from(key.2)) ^ u64::from(key.0) << 17;
    let spread = (all ^ all >> 29).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    (spread >> 32) as usize & (places - 1)
}

/// Appends an entry to a chain; whether it is its first.
#[inline]
fn link(entries: &mut [Entry], chain: &mut Chain, order: Order, at: u32) -> bool {
    let is_first = chain.last == NIL;
    match chain.last {
        NIL => chain.first.set(at),
        last => entries[last as usize].next[order as usize] = at,
    }
    chain.last = at;
    is_first
}

impl Long {
    /// Nothing is in it. `by_source`: entries of one source and any tag will be looked for, and the best of
    /// all sources.
    // Messages are looked for so, receives never are.
    pub fn new(by_source: bool) -> Long {
        Long {
            entries: Vec::new(),
            chains: Vec::new(),
            table: vec![NIL; 64],
            open: [0; 4],
            live: 0,
            begin: 0,
            room: ROOM as u32,
            empty: 0,
            by_source,
            found: Cell::new(NIL),
            free_chains: Vec::new(),
            places: Vec::new(),
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
        self.chains.clear();
        self.table.fill(NIL);
        (self.begin, self.empty) = (0, 0);
        self.found.set(NIL);
        self.free_chains.clear();
        self.places.clear();
        self.heads.get_mut().clear();
        self.heads_of.get_mut().clear();
        self.asked.set(None);
    }

    /// Returns `true` if nothing is in it.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.live == 0
    }

    /// Returns how many entries there are.
    pub fn length(&self) -> usize {
        self.live as usize
    }

    /// Returns how many chains there are, those in reserve too.
    #[cfg(test)]
    pub fn chains(&self) -> usize {
        self.chains.len()
    }

    /// Returns how many entries there is memory for.
    #[cfg(test)]
    pub fn capacity(&self) -> usize {
        self.entries.capacity()
    }

    /// Appends a node.
    // O(1) on average; O(log heads) where heads are kept and the entry is a new one.
    #[inline]
    pub fn push(&mut self, node: u32, nodes: &Nodes) {
        if self.entries.len() >= self.room as usize {
            self.make_room();
        }
        let key = key(&nodes[node]);
        self.open[open(key)] += 1;
        let chain = match self.find(&key) {
            NIL => self.make_chain(key),
            chain => chain,
        };
        let at = self.entries.len() as u32;
        self.entries.push(Entry { node, chain, next: [NIL; 2] });
        self.live += 1;
        self.link_to(chain, Order::Exact, at, nodes);
        let source = self.chains[chain as usize].source;
        if source != NIL {
            self.link_to(source, Order::Source, at, nodes);
        }
    }

    #[inline]
    fn link_to(&mut self, chain: u32, order: Order, at: u32, nodes: &Nodes) {
        let into = &mut self.chains[chain as usize];
        into.length += 1;
        if link(&mut self.entries, into, order, at) {
            self.empty -= 1;
            self.note_head(chain, order, nodes);
        }
    }

    /// Moves what is left together if at most half is, or lets more come before that is done.
    // So that an entry is moved once on average, and a queue that is filled and emptied moves none.
    #[cold]
    #[inline(never)]
    fn make_room(&mut self) {
        if self.live > self.room / 2 {
            self.room *= 2;
            return;
        }
        for chain in &mut self.chains {
            *chain.first.get_mut() = NIL;
            chain.last = NIL;
        }
        let mut to = 0;
        for from in self.begin as usize..self.entries.len() {
            let Entry { node, chain, .. } = self.entries[from];
            if node == NIL {
                continue;
            }
            self.entries[to] = Entry { node, chain, next: [NIL; 2] };
            let source = self.chains[chain as usize].source;
            for (chain, order) in [(chain, Order::Exact), (source, Order::Source)] {
                if chain != NIL {
                    link(&mut self.entries, &mut self.chains[chain as usize], order, to as u32);
                }
            }
            to += 1;
        }
        self.entries.truncate(to);
        self.begin = 0;
        self.found.set(NIL);
        self.room = (2 * self.live).max(ROOM as u32);
    }

    /// Takes an entry out. Its node may have changed since it was appended, or be gone.
    // What stood behind the first message of a source is its first now, and takes its place among the heads.
    #[inline]
    pub fn remove(&mut self, at: u32, nodes: &Nodes) {
        let Entry { chain, next, .. } = self.entries[at as usize];
        // Nobody finds it where it was.
        self.entries[at as usize].node = NIL;
        self.live -= 1;
        let source = self.leave(chain, Order::Exact, at, next, nodes);
        if source != NIL {
            self.leave(source, Order::Source, at, next, nodes);
        }
        self.open[open(self.chains[chain as usize].key)] -= 1;
        if at == self.begin {
            let behind = self.entries[at as usize..].iter().take_while(|entry| entry.node == NIL).count();
            self.begin += behind as u32;
        }
        if self.empty > 64 + self.room {
            self.drop_empty_chains();
        }
    }

    /// Takes an entry, which was taken out, off a chain; returns the chain of its source.
    #[inline]
    fn leave(&mut self, chain: u32, order: Order, at: u32, next: [u32; 2], nodes: &Nodes) -> u32 {
        let from = &mut self.chains[chain as usize];
        from.length -= 1;
        if from.length == 0 {
            from.first.set(NIL);
            from.last = NIL;
            self.empty += 1;
        } else if from.first.get() == at {
            from.first.set(next[order as usize]);
        }
        let source = from.source;
        self.note_head(chain, order, nodes);
        source
    }

    /// Returns the chain of a key; [`NIL`] if there is none.
    #[inline]
    fn find(&self, key: &Key) -> u32 {
        let mut at = slot(key, self.table.len());
        loop {
            let chain = self.table[at];
            if chain == NIL || self.chains[chain as usize].key == *key {
                return chain;
            }
            at = (at + 1) & (self.table.len() - 1);
        }
    }

    /// A chain for a key that has none, and for its source.
    // A chain with an entry has one in that of its source, so that it is never without it.
    #[inline(never)]
    fn make_chain(&mut self, key: Key) -> u32 {
        let whole = (key.0, key.1, ANY);
        let source = match self.by_source && key != whole {
            false => NIL,
            true => match self.find(&whole) {
                NIL => self.make_chain(whole),
                source => source,
            },
        };
        let heads = self.heads_of.get_mut().get(&(key.0, key.2)).copied().unwrap_or(NIL);
        let chain =
            Chain { key, source, first: Cell::new(NIL), last: NIL, length: 0, heads: Cell::new(heads) };
        self.empty += 1;
        let at = match self.free_chains.pop() {
            Some(at) => {
                self.chains[at as usize] = chain;
                at
            }
            None => {
                self.chains.push(chain);
                self.places.push(Cell::new(NIL));
                self.chains.len() as u32 - 1
            }
        };
        if 2 * (self.chains.len() - self.free_chains.len()) > self.table.len() {
            let old = std::mem::take(&mut self.table);
            self.table = vec![NIL; 2 * old.len()];
            old.into_iter().filter(|&chain| chain != NIL).for_each(|chain| self.enter(chain));
        }
        self.enter(at);
        at
    }

    /// Puts a chain into the table.
    fn enter(&mut self, chain: u32) {
        let mut at = slot(&self.chains[chain as usize].key, self.table.len());
        while self.table[at] != NIL {
            at = (at + 1) & (self.table.len() - 1);
        }
        self.table[at] = chain;
    }

    /// Gives chains back that nobody used for long: what is kept stays in proportion to what is in the queue.
    #[cold]
    fn drop_empty_chains(&mut self) {
        let places = self.table.len();
        let old = std::mem::replace(&mut self.table, vec![NIL; places]);
        for chain in old.into_iter().filter(|&chain| chain != NIL) {
            if self.chains[chain as usize].length == 0 {
                self.free_chains.push(chain);
            } else {
                self.enter(chain);
            }
        }
        self.empty = 0;
    }

    /// Notes that the first entry of a chain may have changed, or when its message arrives.
    #[inline]
    fn note_head(&mut self, chain: u32, order: Order, nodes: &Nodes) {
        let heads = self.chains[chain as usize].heads.get();
        if heads != NIL {
            self.keep_head(heads, chain, order, nodes);
        }
    }

    #[inline(never)]
    fn keep_head(&mut self, heads: u32, chain: u32, order: Order, nodes: &Nodes) {
        let first = self.first_in(chain, order);
        let source = self.chains[chain as usize].key.1;
        let heads = &mut self.heads.get_mut()[heads as usize];
        match first {
            NIL => heads.remove(chain, &self.places),
            first => {
                let arrival = nodes[self.entries[first as usize].node].arrival;
                heads.set(Head { precedence: Precedence { arrival, source }, chain }, &self.places);
            }
        }
    }

    /// Returns where a node is.
    // Who takes one out has mostly asked for it just before, or for the first of all.
    pub fn place_of(&self, node: u32, nodes: &Nodes) -> Option<u32> {
        let is_there = |&at: &u32| self.entries.get(at as usize).is_some_and(|entry| entry.node == node);
        if let Some(at) = [self.found.get(), self.begin].into_iter().find(is_there) {
            return Some(at);
        }
        self.follow(self.first_of(&key(&nodes[node]), Order::Exact), Order::Exact)
            .find(|&at| self.entries[at as usize].node == node)
    }

    /// Returns the first entry of a key.
    #[inline]
    fn first_of(&self, key: &Key, order: Order) -> u32 {
        match self.find(key) {
            NIL => NIL,
            chain => self.first_in(chain, order),
        }
    }

    /// Returns the first entry of a chain.
    #[inline]
    fn first_in(&self, chain: u32, order: Order) -> u32 {
        let first = &self.chains[chain as usize].first;
        let mut at = first.get();
        while at != NIL && self.entries[at as usize].node == NIL {
            at = self.entries[at as usize].next[order as usize];
            first.set(at);
        }
        at
    }

    fn follow(&self, first: u32, order: Order) -> impl Iterator<Item = u32> + '_ {
        let mut at = first;
        std::iter::from_fn(move || {
            while let Some(entry) = self.entries.get(at as usize) {
                let here = std::mem::replace(&mut at, entry.next[order as usize]);
                if entry.node != NIL {
                    return Some(here);
                }
            }
            None
        })
    }

    /// Returns the indices of all entries in the order they came.
    fn all(&self) -> impl Iterator<Item = u32> + '_ {
        (self.begin..self.entries.len() as u32).filter(|&at| self.entries[at as usize].node != NIL)
    }

    /// Returns the entry that came first: `(node, place)`.
    #[inline]
    pub fn front(&self) -> Option<(u32, u32)> {
        let at = self.begin;
        self.entries.get(at as usize).map(|entry| (entry.node, at))
    }

    /// Returns the nodes in the order they came.
    pub fn iter(&self) -> impl Iterator<Item = u32> + '_ {
        self.all().map(|at| self.entries[at as usize].node)
    }

    /// Notes that the arrival of a message in the queue has changed.
    pub fn landed(&mut self, node: u32, nodes: &Nodes) {
        let Some(at) = self.place_of(node, nodes) else { return };
        let chain = self.entries[at as usize].chain;
        let source = self.chains[chain as usize].source;
        self.note_head(chain, Order::Exact, nodes);
        if source != NIL {
            self.note_head(source, Order::Source, nodes);
        }
    }
}
