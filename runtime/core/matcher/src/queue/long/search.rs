//! Searches of a queue with an index: for the first that fits, and the best of all sources.

use super::{ANY, Chain, Long, Order, key, slot};
use crate::envelope::{Envelope, Pattern};
use crate::node::{NIL, Nodes, flag};
use crate::precedence::Precedence;
use crate::queue::heads::{Head, Heads};
use rank::memory::prefetch;

impl Long {
    /// The first posted receive that a message fits: `(node, place)`.
    // Four kinds of receives accept a message; of their first ones that which was posted first has it. O(1).
    #[inline]
    pub fn first_for(&self, message: &Envelope) -> Option<(u32, u32)> {
        let (context, source, tag) = (message.context, message.source, message.tag as u32);
        let mut at =
            if self.open[0] == 0 { NIL } else { self.first_of(&(context, source, tag), Order::Exact) };
        for (key, entries) in
            [(context, source, ANY), (context, ANY, tag), (context, ANY, ANY)].iter().zip(&self.open[1..])
        {
            if *entries != 0 {
                at = at.min(self.first_of(key, Order::Exact));
            }
        }
        self.entries.get(at as usize).map(|entry| (entry.node, at))
    }

    /// Returns the first message with this envelope: `(node, place)`.
    #[inline]
    pub fn first_like(&self, message: &Envelope) -> Option<(u32, u32)> {
        let at = self.first_of(&(message.context, message.source, message.tag as u32), Order::Exact);
        self.entries.get(at as usize).map(|entry| (entry.node, at))
    }

    /// Prefetches the slot with the chain of a queue that will be searched for this envelope, or appended
    /// behind. Returns the slot.
    #[inline(always)]
    pub fn approach_table(&self, message: &Envelope) -> u32 {
        let at = slot(&(message.context, message.source, message.tag as u32), self.table.len());
        prefetch(&self.table[at]);
        at as u32
    }

    /// Asks for the chain at a place that [`Long::approach_table`] has answered, and answers it.
    // Not where another chain has taken its place: a search would look further.
    #[inline(always)]
    pub fn approach_chain(&self, place: u32) -> u32 {
        let chain = self.table[place as usize];
        if let Some(chain) = self.chains.get(chain as usize) {
            prefetch(chain);
        }
        chain
    }

    /// Asks for the first entry of a chain, and answers it.
    #[inline(always)]
    pub fn approach_entry(&self, chain: u32) -> u32 {
        let first = self.chains.get(chain as usize).map_or(NIL, |chain| chain.first.get());
        if let Some(entry) = self.entries.get(first as usize) {
            prefetch(entry);
        }
        first
    }

    /// Asks for the node of an entry.
    #[inline(always)]
    pub fn approach_node(&self, entry: u32, nodes: &Nodes) {
        if let Some(entry) = self.entries.get(entry as usize) {
            nodes.prefetch(entry.node);
        }
    }

    /// Returns the first message that fits a pattern and is not in `taken`: `(node, place)`.
    pub fn first(&self, pattern: &Pattern, taken: &[u32], nodes: &Nodes) -> Option<(u32, u32)> {
        let accepts = |&at: &u32| {
            let node = self.entries[at as usize].node;
            pattern.accepts(&nodes[node]) && !taken.contains(&node)
        };
        let at = match pattern.source {
            Some(source) => {
                let tag = pattern.tag.map_or(ANY, |tag| tag as u32);
                self.follow(self.first_of(&(pattern.context, source, tag), Order::of(tag)), Order::of(tag))
                    .find(accepts)?
            }
            None => self.all().find(accepts)?,
        };
        Some((self.entries[at as usize].node, at))
    }

    /// Returns the least of the first fitting messages of all sources by their precedence, those in `taken`
    /// left out: `(node, place)`.
    // O(1), and a search for each message that is taken: behind a head that is, the source's next message may
    // be better than the least head, however late the head itself.
    pub fn best(&self, pattern: &Pattern, taken: &[u32], nodes: &Nodes) -> Option<(u32, u32)> {
        let tag = pattern.tag.map_or(ANY, |tag| tag as u32);
        let heads = self.heads_of(pattern.context, tag, nodes);
        let at = match taken {
            [] => self.first_in(self.heads.borrow()[heads as usize].top()?.chain, Order::of(tag)),
            _ => self.best_but(pattern.context, tag, heads, taken, nodes)?,
        };
        let node = self.entries[at as usize].node;
        self.found.set(at);
        (!nodes[node].has(flag::UNDER_WAY)).then_some((node, at))
    }

    /// Returns where the best is without those in `taken`.
    fn best_but(&self, context: u32, tag: u32, heads: u32, taken: &[u32], nodes: &Nodes) -> Option<u32> {
        let order = Order::of(tag);
        let first_of = |chain: u32| self.first_in(chain, order);
        let is_taken = |at: u32| taken.contains(&self.entries[at as usize].node);
        let least = self.heads.borrow()[heads as usize].least(|head| !is_taken(first_of(head.chain)));
        let least = least.map(|head| (head.precedence, first_of(head.chain)));
        let behind = taken.iter().filter_map(|&taken| {
            let (of, source, _) = key(&nodes[taken]);
            let first = self.first_of(&(of, source, tag), order);
            // Of each source only what stands behind its head, if that is taken.
            self.entries.get(first as usize).filter(|head| head.node == taken && of == context)?;
            let next = self.follow(first, order).find(|&at| !is_taken(at))?;
            let arrival = nodes[self.entries[next as usize].node].arrival;
            Some((Precedence { arrival, source }, next))
        });
        behind.chain(least).min().map(|(_, at)| at)
    }

    /// Returns which heads are those of a pattern for any source.
    fn heads_of(&self, context: u32, tag: u32, nodes: &Nodes) -> u32 {
        if let Some((_, _, heads)) = self.asked.get().filter(|asked| (asked.0, asked.1) == (context, tag)) {
            return heads;
        }
        let heads = *self.heads_of.borrow_mut().entry((context, tag)).or_insert_with(|| {
            let mut all = self.heads.borrow_mut();
            let (index, mut heads) = (all.len() as u32, Heads::default());
            for &at in self.table.iter().filter(|&&chain| chain != NIL) {
                let Chain { key, heads: in_heads, .. } = &self.chains[at as usize];
                if (key.0, key.2) == (context, tag) {
                    in_heads.set(index);
                    let first = self.first_in(at, Order::of(tag));
                    if first != NIL {
                        let arrival = nodes[self.entries[first as usize].node].arrival;
                        let precedence = Precedence { arrival, source: key.1 };
                        heads.set(Head { precedence, chain: at }, &self.places);
                    }
                }
            }
            all.push(heads);
            index
        });
        self.asked.set(Some((context, tag, heads)));
        heads
    }
}
