//! In which order what is open is decided: receives for any source, and polls.
//!
//! When no rank of the process can run, everything still open is an item with a time; the items
//! before safe time are decided in the order (time, rank, source). With no lookahead the single
//! least item is decided (docs/architecture.md, "Order").
//!
//! Items are kept from one decision to the next: only those of ranks to which something happened are made anew, so
//! that a decision costs what changed and not what waits. And what was safe stays so: a receive that is posted later and has
//! a message from before then need not wait to be decided.

use crate::matching::Pattern;
use crate::node::{NIL, flag};
use crate::undecided::Open;
use crate::world::World;
use engine::{Span, Time};
use smallvec::SmallVec;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// One thing to decide.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) struct Item {
    pub(crate) time: Time,
    pub(crate) rank: u32,
    pub(crate) source: u32,
    /// The receive node, or [`NIL`] for the rank's poll.
    receive: u32,
    message: u32,
}

/// An item, and the state of its rank for which it was made.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
struct Entry {
    item: Item,
    version: u32,
}

/// How often the items of each rank were made.
#[derive(Default)]
struct Versions {
    /// The first rank of the process.
    first: u32,
    /// By rank from there. Empty until there is an item.
    counts: Vec<u32>,
}

impl Versions {
    /// The entries of `rank` are void: the version of those to come.
    fn void(&mut self, rank: u32) -> u32 {
        let count = &mut self.counts[(rank - self.first) as usize];
        *count = count.wrapping_add(1);
        *count
    }

    #[inline]
    fn is_valid(&self, entry: &Entry) -> bool {
        self.counts[(entry.item.rank - self.first) as usize] == entry.version
    }
}

/// All that is open in a process.
#[derive(Default)]
pub(crate) struct Agenda {
    heap: BinaryHeap<Reverse<Entry>>,
    versions: Versions,
    /// For making items.
    fresh: Vec<Item>,
    /// A rank whose poll at this instant was decided alone: as long as it only polls, nothing else comes first.
    turn: Option<(u32, Time)>,
    /// A rank whose receives for any source have no message before that time, as long as nothing happens to it.
    quiet: Option<(u32, Time)>,
}

impl World {
    /// What the receives of `rank` for any source would take now.
    fn wild_items_of(&self, rank: u32, items: &mut Vec<Item>) {
        let state = &self.messages.ranks[rank as usize];
        // Seldom more than a few, and made anew at each poll of a rank that polls.
        let mut taken: SmallVec<[u32; 8]> = SmallVec::new();
        let mut asked: SmallVec<[Pattern; 4]> = SmallVec::new();
        // Receives that have to wait until one like them before them is decided.
        let mut later: SmallVec<[Pattern; 4]> = SmallVec::new();
        let mut wilds = state.wilds;
        for receive in self.messages.posted.iter(state.posted) {
            let node = &self.messages.nodes[receive];
            let pattern = Pattern::of(node);
            let wild = node.has(flag::WILD);
            wilds -= u32::from(wild);
            let mut found = None;
            if (wild && asked.contains(&pattern)) || later.iter().any(|other| other.overlaps(&pattern)) {
                if !later.contains(&pattern) {
                    later.push(pattern);
                }
            } else if wild {
                found = self.messages.unexpected.best(state.unexpected, &pattern, &taken, &self.messages.nodes).map(|(message, _)| message);
                if let Some(message) = found {
                    let node = &self.messages.nodes[message];
                    items.push(Item { time: node.arrival, rank, source: node.source, receive, message });
                }
            } else {
                found =
                    self.messages.unexpected.first(state.unexpected, &pattern, &taken, &self.messages.nodes).map(|(message, _)| message);
            }
            if wilds == 0 {
                break;
            }
            if wild {
                asked.push(pattern);
            }
            taken.extend(found);
        }
    }

    /// All open items of `rank`.
    fn items_of(&self, rank: u32, items: &mut Vec<Item>) {
        if self.messages.ranks[rank as usize].wilds != 0 {
            self.wild_items_of(rank, items);
        }
        if !self.messages.ranks[rank as usize].polling {
            return;
        }
        if let Some(poll) = self.order.polls.get(&rank) {
            match self.open(rank, poll) {
                Open::Final => items.push(Item { time: Time::ZERO, rank, source: 0, receive: NIL, message: NIL }),
                Open::At(time) => items.push(Item { time, rank, source: u32::MAX, receive: NIL, message: NIL }),
                Open::Never => {}
            }
        }
    }

    /// Makes the items of a rank anew; those that it had are void.
    fn renew(&mut self, rank: u32) {
        let mut fresh = std::mem::take(&mut self.order.agenda.fresh);
        self.items_of(rank, &mut fresh);
        let version = self.order.agenda.versions.void(rank);
        // One by one: there are few, and `extend` may rebuild the heap.
        for item in fresh.drain(..) {
            self.order.agenda.heap.push(Reverse(Entry { item, version }));
        }
        self.order.agenda.fresh = fresh;
    }

    /// Looks at all ranks to which something happened: answers polls that can be answered now, and makes their items anew.
    pub(crate) fn refresh(&mut self) {
        if self.messages.dirty.is_empty() {
            return;
        }
        self.order.agenda.quiet = None;
        if self.order.agenda.versions.counts.is_empty() {
            self.order.agenda.versions = Versions { first: self.messages.first, counts: vec![0; self.messages.local as usize] };
        }
        while let Some(rank) = self.messages.dirty.pop() {
            self.messages.ranks[rank as usize].dirty = false;
            if self.messages.ranks[rank as usize].polling {
                self.settle_poll(rank);
            }
            self.renew(rank);
        }
        // Void items leave when they come to the top; should they be most of the heap, all of them.
        if self.order.agenda.heap.len() > 64 + 4 * self.messages.local as usize {
            let Agenda { heap, versions, .. } = &mut self.order.agenda;
            heap.retain(|Reverse(entry)| versions.is_valid(entry));
        }
    }

    /// The first open item, once [`World::refresh`] has looked.
    fn first_item(&mut self) -> Option<Item> {
        while let Some(Reverse(entry)) = self.order.agenda.heap.peek() {
            if self.order.agenda.versions.is_valid(entry) {
                return Some(entry.item);
            }
            self.order.agenda.heap.pop();
        }
        None
    }

    /// What the other processes must know of this one's open items: the first, and the least time at which a rank can act
    /// because one of them was decided.
    pub(crate) fn outlook(&mut self) -> (Option<Item>, Option<Time>) {
        self.refresh();
        let valid = self.order.agenda.heap.iter().filter(|Reverse(entry)| self.order.agenda.versions.is_valid(entry));
        let effect = valid.map(|Reverse(entry)| self.acts(&entry.item)).min();
        (self.first_item(), effect)
    }

    /// Whether no message that arrives at `time` or before will come any more.
    #[inline]
    pub(crate) fn is_safe(&self, time: Time) -> bool {
        time < self.messages.safe && !self.messages.by_time() && !self.collectives.has_work()
    }

    /// Whether the mounted rank's poll at `time` is the first of all open items, because its poll before was and nothing happened since.
    #[inline]
    pub(crate) fn has_turn(&self, time: Time) -> bool {
        self.order.agenda.turn == Some((self.messages.current, time)) && self.messages.polls_again && !self.collectives.has_work()
    }

    /// The mounted rank steps back: others may come first.
    pub(crate) fn end_turn(&mut self) {
        self.order.agenda.turn = None;
    }

    /// Decides the first of the mounted rank's receives for any source whose message arrives at `time` or before, which is safe;
    /// false if there is none.
    #[inline]
    pub(crate) fn decide_own(&mut self, time: Time) -> bool {
        let state = &self.messages.ranks[self.messages.current as usize];
        state.wilds != 0 && !state.unexpected.is_empty() && !self.is_quiet(time) && self.decide_own_receive(time)
    }

    #[inline]
    fn is_quiet(&self, time: Time) -> bool {
        self.order.agenda.quiet.is_some_and(|(rank, until)| rank == self.messages.current && time < until)
            && !self.messages.ranks[self.messages.current as usize].dirty
    }

    #[inline(never)]
    fn decide_own_receive(&mut self, time: Time) -> bool {
        let mut items = std::mem::take(&mut self.order.agenda.fresh);
        self.wild_items_of(self.messages.current, &mut items);
        let first = items.drain(..).min();
        self.order.agenda.fresh = items;
        let Some(item) = first.filter(|item| item.time <= time) else {
            self.order.agenda.quiet = Some((self.messages.current, first.map_or(Time::MAX, |item| item.time)));
            return false;
        };
        self.decide_receive(&item);
        self.messages.mark_dirty(item.rank);
        true
    }

    /// A receive for any source takes its message.
    fn decide_receive(&mut self, item: &Item) {
        self.messages.ranks[item.rank as usize].wilds -= 1;
        self.messages.unlink_posted(item.rank, item.receive);
        self.messages.unlink_message(item.rank, item.message);
        self.messages.take(item.rank, item.receive, item.message);
        self.messages.rematch(item.rank);
    }

    /// A rank goes on that nobody reckoned with: what was safe may be no more.
    pub(crate) fn forget_safe(&mut self) {
        self.messages.safe = Time::ZERO;
    }

    /// Decides open items that were safe to decide before; false if there are none.
    pub(crate) fn decide_safe(&mut self) -> bool {
        self.decide_before(self.messages.safe)
    }

    /// Decides open items before `bound`, where no message earlier than that will come any more; false if there are none.
    pub(crate) fn decide_before(&mut self, bound: Time) -> bool {
        self.messages.safe = self.messages.safe.max(bound);
        self.refresh();
        let mut decided = false;
        while let Some(item) = self.first_item().filter(|item| item.time < bound) {
            self.apply(&item);
            decided = true;
        }
        decided
    }

    /// Decides the first open item.
    pub(crate) fn decide_first(&mut self) {
        self.refresh();
        if let Some(item) = self.first_item() {
            self.apply(&item);
            self.give_turn(&item);
        }
    }

    fn give_turn(&mut self, item: &Item) {
        self.order.agenda.turn = (item.receive == NIL).then_some((item.rank, item.time));
    }

    /// Decides open items before safe time; false if there is nothing to decide.
    ///
    /// `other` is the least time at which anything else of the process can act (lagging senders,
    /// the network): items at or after it stay open unless nothing else exists.
    pub(crate) fn decide(&mut self, other: Time) -> bool {
        self.refresh();
        let lookahead = if self.messages.by_time() { Span::ZERO } else { self.messages.wire.lookahead() };
        let mut bound = if other == Time::MAX { other } else { other.saturating_add(lookahead) };
        let (mut decided, mut first) = (0, None);
        while let Some(item) = self.first_item() {
            if item.time >= bound && (decided != 0 || other != Time::MAX) {
                break;
            }
            let acts = self.apply(&item);
            decided += 1;
            first.get_or_insert(item);
            bound = bound.min(acts.saturating_add(lookahead));
        }
        if let Some(item) = first {
            self.messages.safe = self.messages.safe.max(bound);
            if decided == 1 {
                self.give_turn(&item);
            }
        }
        decided != 0
    }

    /// A time before which the rank of an item does nothing because that is decided.
    fn acts(&self, item: &Item) -> Time {
        let state = &self.messages.ranks[item.rank as usize];
        let mut acts = item.time.max(state.clock);
        if item.receive != NIL && self.messages.posted.length(state.posted) != state.wilds as usize {
            // It may wait for a named receive behind this one, whose message came earlier.
            acts = state.clock;
        }
        if item.receive != NIL && self.messages.handshakes {
            // Its match, or one that follows from it, may be told to a sender, whatever the rank does meanwhile.
            acts = acts.min(item.time);
        }
        acts
    }

    /// Decides the first item: answers what [`World::acts`] says of it.
    ///
    /// A rank that it wakes may have other plans: what else is open there is looked at again when all wait once more.
    fn apply(&mut self, item: &Item) -> Time {
        self.order.agenda.heap.pop();
        let acts = self.acts(item);
        let runnable = self.messages.ready.len();
        if item.receive == NIL {
            self.answer(item.rank);
        } else {
            self.decide_receive(item);
        }
        if self.messages.ready.len() == runnable {
            self.renew(item.rank);
        } else {
            self.order.agenda.versions.void(item.rank);
            self.messages.mark_dirty(item.rank);
        }
        acts
    }
}
