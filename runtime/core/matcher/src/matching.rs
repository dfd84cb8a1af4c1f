//! The rule of matching (MPI 5.0 section 3.5).
//!
//! > If a receive is posted that matches two messages of one sender, it takes the one that was sent first.
//! > If a message matches two posted receives, the first posted has it.
//!
//! Three functions hold the rule: [`Matcher::take_posted`] for a message that arrives, [`Matcher::post`] for
//! a receive, [`Matcher::first_choice`] for receives for any source. A receive with a named source takes its
//! message as soon as both are known, whatever their times, unless an undecided receive for any source was
//! posted before it and could take that message. A receive for any source waits until no better message can
//! arrive: until [`Matcher::safe`] has passed its best one.

use crate::envelope::{Envelope, Pattern};
use crate::node::{Node, Nodes, State, flag};
use crate::pending::Pending;
use crate::queue::{Entry, Place, Queues, Timed, Way};
use crate::wildcards::Wildcards;
use engine::Time;

/// Messages and receives of a process until they meet.
pub struct Matcher {
    pub(crate) nodes: Nodes,
    /// Receives that wait for their message, a queue for each rank.
    pub(crate) posted: Queues<Entry>,
    /// Messages that wait for their receive, a queue for each rank.
    pub(crate) unexpected: Queues<Timed>,
    /// Kinds of the open receives for any source.
    pub(crate) wildcards: Wildcards,
    /// Ranks whose decisions are out of date.
    dirty: Vec<u32>,
    /// No message earlier than this will arrive any more.
    // Written by who decides and read here: that is all that matching knows of decisions.
    safe: Time,
    /// `true` if a message's arrival is known when it is sent.
    arrivals_known: bool,
}

impl Matcher {
    /// Returns a matcher without messages. On a shared network arrivals are not known when messages are sent.
    pub fn new(arrivals_known: bool) -> Matcher {
        Matcher {
            nodes: Nodes::new(),
            posted: Queues::default(),
            unexpected: Queues::default(),
            wildcards: Wildcards::default(),
            dirty: Vec::new(),
            safe: Time::ZERO,
            arrivals_known,
        }
    }

    /// Takes the posted receive out that a message with this envelope meets now.
    // The first posted receive that accepts a message has it. If that one is for any source, whether it takes
    // this message is decided in virtual time. Until then the message is unexpected, and so are all behind it
    // that a named receive might have.
    #[inline(always)]
    pub fn take_posted(&mut self, at: &mut Pending, envelope: &Envelope) -> Option<u32> {
        if !at.has_posted() {
            return None;
        }
        match self.posted.first_for(at.posted, envelope, &self.nodes) {
            Some((receive, place)) if !self.is_undecided(at, receive) => {
                self.posted.remove(&mut at.posted, place, &self.nodes);
                Some(receive)
            }
            // Of thousands of receives for any source the first lets each message wait: no index is needed.
            Some((_, place)) if !place.is_far() => None,
            _ => {
                self.posted.searched(&mut at.posted, &self.nodes);
                None
            }
        }
    }

    /// Appends a message to the unexpected queue of `rank`.
    // Inlined always, or a message that arrives before its receive, as most do, pays 13 instructions for the
    // call.
    #[inline(always)]
    pub fn append_message(&mut self, rank: u32, at: &mut Pending, message: u32) {
        self.unexpected.push(&mut at.unexpected, message, &self.nodes);
        if at.is_watched() {
            self.mark_for_decision(rank, at);
        }
    }

    /// Matches a message that arrives. Returns the receive that takes it, out of its queue; else the message
    /// is unexpected and the result `None`.
    #[inline(always)]
    pub fn arrive(&mut self, rank: u32, at: &mut Pending, message: u32) -> Option<u32> {
        let envelope = Envelope::of(&self.nodes[message]);
        let receive = self.take_posted(at, &envelope);
        if receive.is_none() {
            self.append_message(rank, at, message);
        }
        receive
    }

    /// Posts a receive of `rank`: returns the message that it takes, out of its queue; else the receive is
    /// posted. `blocking` is whether the rank does nothing else before it has a message, `clock` the rank's.
    // The message is searched before posting: an index is made when a queue proves to be long, not when it
    // could be.
    #[inline(always)]
    pub fn post(
        &mut self,
        rank: u32,
        at: &mut Pending,
        receive: u32,
        blocking: bool,
        clock: Time,
    ) -> Option<u32> {
        let node = &self.nodes[receive];
        if at.wildcards != 0 || node.flags & (flag::WILD | flag::ANY_TAG) != 0 {
            return self.post_wildcard(rank, at, receive, blocking, clock);
        }
        if at.has_unexpected()
            && let Some((message, place)) =
                self.unexpected.first_like(at.unexpected, &Envelope::of(node), &self.nodes)
        {
            self.unexpected.remove(&mut at.unexpected, place, &self.nodes);
            return Some(message);
        }
        self.append_receive(at, receive);
        None
    }

    /// Posts a receive for any source or tag, or behind a receive for any source. Returns the message that it
    /// takes, as [`Matcher::post`] does.
    #[inline(never)]
    fn post_wildcard(
        &mut self,
        rank: u32,
        at: &mut Pending,
        receive: u32,
        blocking: bool,
        clock: Time,
    ) -> Option<u32> {
        let pattern = Pattern::of(&self.nodes[receive]);
        let found = if pattern.source.is_none() {
            self.choose_at_once(at, &pattern, blocking, clock)
        } else {
            // A receive posted before may accept that message too, and then has the first claim on it.
            self.find(at, &pattern).filter(|(message, _)| self.first_posted(at, *message).is_none())
        };
        if let Some((message, place)) = found {
            self.unexpected.remove(&mut at.unexpected, place, &self.nodes);
            return Some(message);
        }
        self.append_receive(at, receive);
        if pattern.source.is_none() {
            self.open_wildcard(rank, at, &pattern);
            self.mark_dirty(rank, at);
        }
        None
    }

    /// Returns the message that a receive for any source, posted now, takes at once: the best that is there,
    /// if no better one can arrive.
    ///
    /// Unless the rank blocks for it, that message must have arrived: receives that the rank posts before
    /// then are behind this one. And it must have arrived before now: the rank may yet send itself a message
    /// that arrives at once and comes first by its source.
    // Receives for any source are decided in the order of posting. On a shared network no arrival is known
    // ahead.
    #[inline]
    fn choose_at_once(
        &self,
        at: &Pending,
        pattern: &Pattern,
        blocking: bool,
        clock: Time,
    ) -> Option<(u32, Place)> {
        if !at.has_unexpected() || at.wildcards != 0 || !self.arrivals_known {
            return None;
        }
        let best = self.unexpected.best(at.unexpected, pattern, &[], &self.nodes)?;
        let arrival = self.nodes[best.0].arrival;
        (arrival < self.safe && (blocking || arrival < clock)).then_some(best)
    }

    /// Appends a receive for which no message was found to the posted queue.
    // The search without success is what proves the other queue to be long.
    #[inline(always)]
    pub fn append_receive(&mut self, at: &mut Pending, receive: u32) {
        self.unexpected.searched(&mut at.unexpected, &self.nodes);
        self.posted.push(&mut at.posted, receive, &self.nodes);
    }

    /// Returns `true` if it is decided in virtual time what this posted receive takes.
    #[inline(always)]
    fn is_undecided(&self, at: &Pending, receive: u32) -> bool {
        at.wildcards != 0 && (self.nodes[receive].has(flag::WILD) || self.is_behind(at, receive))
    }

    /// Returns `true` if an unexpected message is there that this named receive accepts: an undecided receive
    /// before it may take that one.
    // Then that message was sent before this one, and to take this one now would let it overtake.
    fn is_behind(&self, at: &Pending, receive: u32) -> bool {
        self.find(at, &Pattern::of(&self.nodes[receive])).is_some()
    }

    /// Returns the first posted receive that accepts an unexpected message.
    pub(crate) fn first_posted(&self, at: &Pending, message: u32) -> Option<u32> {
        let envelope = Envelope::of(&self.nodes[message]);
        self.posted.first_for(at.posted, &envelope, &self.nodes).map(|(receive, _)| receive)
    }

    /// Takes the only posted receive out if its rank is blocked for it, it needs nothing but a message with
    /// this envelope, and has room for `bytes`.
    #[inline(always)]
    pub fn take_blocked(&mut self, at: &mut Pending, envelope: &Envelope, bytes: u64) -> Option<u32> {
        if at.is_watched() {
            return None;
        }
        let receive = { at.posted }.only()?;
        let node = &self.nodes[receive];
        if Envelope::of(node) != *envelope
            || node.flags & !(flag::MOUNTED_ONLY | flag::STATUS_IGNORED) != flag::WAITED
            || bytes > node.bytes
        {
            return None;
        }
        at.posted = crate::queue::Queue::default();
        Some(receive)
    }

    /// Takes both halves of a decision out of their queues. The message arrives at `meets`.
    // The floor of the rank is kept in the message: whoever asks later, a probe or a status, sees one and the
    // same time.
    pub fn decide(&mut self, rank: u32, at: &mut Pending, (receive, message): (u32, u32), meets: Time) {
        self.close_wildcard(rank, at, receive);
        self.remove_receive(at, receive);
        self.remove_message(at, message);
        self.nodes[message].arrival = meets;
    }

    /// Cancels a receive at `clock`. Returns `true` if it was posted: others may have their message now.
    pub fn cancel(&mut self, rank: u32, at: &mut Pending, receive: u32, clock: Time) -> bool {
        let posted = self.nodes[receive].state == State::Posted;
        if posted {
            self.remove_receive(at, receive);
        }
        if self.nodes[receive].has(flag::WILD) {
            self.close_wildcard(rank, at, receive);
        }
        let node = &mut self.nodes[receive];
        node.state = State::Cancelled;
        node.arrival = clock;
        posted
    }

    /// Returns the posted receives that may have a message after a receive for any source was decided or
    /// cancelled, in the order of posting. O(posted), but O(1) where none can.
    // Programs that receive from any source seldom have named receives behind those.
    pub fn to_rematch(&self, at: &Pending) -> Vec<u32> {
        if !at.has_unexpected() || !self.has_named_receives(at) {
            return Vec::new();
        }
        self.posted.iter(at.posted).filter(|&receive| !self.nodes[receive].has(flag::WILD)).collect()
    }

    /// Matches a named receive again: returns its message, both out of their queues. The message meets it no
    /// earlier than `time`.
    // The receive had to wait for the decision. What follows from the match, an acknowledgement for one, must
    // not be earlier.
    pub fn rematch(&mut self, at: &mut Pending, receive: u32, time: Time) -> Option<u32> {
        let (message, place) = self.find(at, &Pattern::of(&self.nodes[receive]))?;
        if self.first_posted(at, message) != Some(receive) {
            return None;
        }
        self.remove_receive(at, receive);
        self.unexpected.remove(&mut at.unexpected, place, &self.nodes);
        let node = &mut self.nodes[message];
        if !node.has(flag::UNDER_WAY) {
            node.arrival = node.arrival.max(time);
        }
        Some(message)
    }

    /// Puts a message back that a receive had, before those that its sender sent later. O(unexpected
    /// messages).
    // Of one envelope the receive took the first. Of others only the arrival says which was sent first.
    pub fn put_back(&mut self, at: &mut Pending, message: u32) {
        let Node { source, context, tag, arrival, .. } = self.nodes[message];
        let sent_later = |&other: &u32| {
            let other = &self.nodes[other];
            let later = other.tag == tag || other.arrival > arrival || other.has(flag::UNDER_WAY);
            other.source == source && other.context == context && later
        };
        let unexpected: Vec<u32> = self.unexpected.iter(at.unexpected).collect();
        let behind = unexpected.iter().position(sent_later).unwrap_or(unexpected.len());
        unexpected[behind..].iter().for_each(|&other| self.remove_message(at, other));
        for &index in [message].iter().chain(&unexpected[behind..]) {
            self.unexpected.push(&mut at.unexpected, index, &self.nodes);
        }
    }
}

impl Matcher {
    /// Returns the message that a probe sees, with its arrival: of a named source the first sent, of any
    /// source the least of the first ones by (arrival, source).
    // A message that is still on a shared network has no time at which it can be seen.
    pub fn probe(&self, at: &Pending, pattern: &Pattern) -> Option<(u32, Time)> {
        if pattern.source.is_some() {
            let (message, _) = self.find(at, pattern)?;
            let node = &self.nodes[message];
            return (!node.has(flag::UNDER_WAY)).then_some((message, node.arrival));
        }
        let (message, _) = self.unexpected.best(at.unexpected, pattern, &[], &self.nodes)?;
        Some((message, self.nodes[message].arrival))
    }

    /// Returns the first unexpected message that fits, in the order in which the sources sent.
    #[inline]
    pub fn find(&self, at: &Pending, pattern: &Pattern) -> Option<(u32, Place)> {
        self.unexpected.first(at.unexpected, pattern, &[], &self.nodes)
    }

    /// Returns the first unexpected message with this envelope.
    #[inline(always)]
    pub fn find_exact(&self, at: &Pending, envelope: &Envelope) -> Option<(u32, Place)> {
        self.unexpected.first_like(at.unexpected, envelope, &self.nodes)
    }

    /// Takes an unexpected message out that was found at `place`.
    #[inline(always)]
    pub fn remove_at(&mut self, at: &mut Pending, place: Place) {
        self.unexpected.remove(&mut at.unexpected, place, &self.nodes);
    }

    /// Takes an unexpected message out of its queue. O(1) in an indexed queue, else O(its length, at most
    /// 256).
    pub fn remove_message(&mut self, at: &mut Pending, message: u32) {
        let found = self.unexpected.remove_node(&mut at.unexpected, message, &self.nodes);
        debug_assert!(found, "message {message} is in the unexpected queue");
    }

    /// Takes a posted receive out of its queue, as [`Matcher::remove_message`].
    pub fn remove_receive(&mut self, at: &mut Pending, receive: u32) {
        let found = self.posted.remove_node(&mut at.posted, receive, &self.nodes);
        debug_assert!(found, "receive {receive} is in the posted queue");
    }

    /// Returns the unexpected messages in the order in which they came.
    pub fn messages(&self, at: &Pending) -> impl Iterator<Item = u32> + '_ {
        self.unexpected.iter(at.unexpected)
    }

    /// Returns the envelopes of the unexpected messages with their bytes, in the order in which they came.
    pub fn unreceived(&self, at: &Pending) -> impl Iterator<Item = (Envelope, u64)> + '_ {
        self.messages(at).map(|message| (Envelope::of(&self.nodes[message]), self.nodes[message].bytes))
    }

    /// Returns the posted receives in the order of posting.
    pub fn receives(&self, at: &Pending) -> impl Iterator<Item = u32> + '_ {
        self.posted.iter(at.posted)
    }

    /// Returns the number of unexpected messages.
    pub fn message_count(&self, at: &Pending) -> usize {
        self.unexpected.length(at.unexpected)
    }

    /// Returns `true` if a receive with a named source is posted.
    pub fn has_named_receives(&self, at: &Pending) -> bool {
        self.posted.length(at.posted) > at.wildcards as usize
    }

    /// Notes that an unexpected message has arrived: its node says when.
    pub fn landed(&mut self, at: &Pending, message: u32) {
        self.unexpected.landed(at.unexpected, message, &self.nodes);
    }

    /// Notes that the unexpected messages will be looked at one by one: a long queue gets its index first.
    pub fn will_search(&mut self, at: &mut Pending) {
        self.unexpected.searched(&mut at.unexpected, &self.nodes);
    }

    /// Notes that something happened to a rank with open decisions.
    // A rank that gets a thousand messages is once in the list. Its order has no meaning: it goes into a
    // queue by time and rank.
    #[inline]
    pub fn mark_dirty(&mut self, rank: u32, at: &mut Pending) {
        if !at.dirty {
            at.dirty = true;
            self.dirty.push(rank);
        }
    }

    /// Marks a rank that may have something to decide about a new message.
    // Who decides looks for the best of all messages each time: a long queue gets its index before the first
    // search.
    #[inline(never)]
    fn mark_for_decision(&mut self, rank: u32, at: &mut Pending) {
        self.will_search(at);
        self.mark_dirty(rank, at);
    }

    /// Returns `true` if a rank's decisions are out of date.
    #[inline]
    pub fn has_dirty(&self) -> bool {
        !self.dirty.is_empty()
    }

    /// Takes a rank out of the list of those whose decisions are out of date.
    pub fn next_dirty(&mut self) -> Option<u32> {
        self.dirty.pop()
    }

    /// Returns the time before which no message will arrive any more.
    #[inline]
    pub fn safe(&self) -> Time {
        self.safe
    }

    /// Sets the time before which no message will arrive any more.
    #[inline]
    pub fn set_safe(&mut self, safe: Time) {
        self.safe = safe;
    }
}

/// The arena of nodes.
impl Matcher {
    /// Takes a node and fills it.
    #[inline(always)]
    pub fn alloc(&mut self, node: Node) -> u32 {
        self.nodes.alloc(node)
    }

    /// Gives a node back.
    #[inline(always)]
    pub fn free(&mut self, index: u32) {
        self.nodes.free(index);
    }

    /// Drops a message that was received: its node is free, or all that is left is the sender's request.
    // With a request of its sender left, the node is that, until the sender asks.
    #[inline(always)]
    pub fn drop_message(&mut self, message: u32) {
        let node = &mut self.nodes[message];
        if node.has(flag::OWNED) {
            node.state = State::Sent;
        } else {
            self.nodes.free(message);
        }
    }

    /// Returns the node, if the index was ever given out.
    #[inline]
    pub fn get(&self, index: u32) -> Option<&Node> {
        self.nodes.get(index)
    }

    /// Returns the node, to change, if the index was ever given out.
    #[inline]
    pub fn get_mut(&mut self, index: u32) -> Option<&mut Node> {
        self.nodes.get_mut(index)
    }

    /// Returns the node, if a request handle may name it.
    #[inline]
    pub fn get_request(&self, index: u32) -> Option<&Node> {
        self.nodes.get(index).filter(|node| match node.state {
            State::Free => false,
            State::Unexpected | State::Extracted => node.has(flag::OWNED),
            _ => true,
        })
    }

    /// Returns the number of indices that were ever given out.
    pub fn node_count(&self) -> u32 {
        self.nodes.len()
    }

    /// Puts freed nodes in order if many were freed ([`Nodes::settle`]).
    #[inline]
    pub fn reorder_free(&mut self) {
        self.nodes.settle();
    }
}

impl std::ops::Index<u32> for Matcher {
    type Output = Node;
    #[inline]
    fn index(&self, index: u32) -> &Node {
        &self.nodes[index]
    }
}

impl std::ops::IndexMut<u32> for Matcher {
    #[inline]
    fn index_mut(&mut self, index: u32) -> &mut Node {
        &mut self.nodes[index]
    }
}

/// Prefetching: addresses are computed ahead of time, never an outcome.
impl Matcher {
    /// Prefetches a node.
    #[inline]
    pub fn prefetch(&self, index: u32) {
        self.nodes.prefetch(index);
    }

    /// Prefetches what a search of the posted receives reads first.
    #[inline]
    pub fn prefetch_receives(&self, at: &Pending) {
        self.posted.prefetch(at.posted, &self.nodes);
    }

    /// Prefetches what a search of the unexpected messages reads first.
    #[inline]
    pub fn prefetch_messages(&self, at: &Pending) {
        self.unexpected.prefetch(at.unexpected, &self.nodes);
    }

    /// Prefetches the message that a receive with this fingerprint will take.
    #[inline(always)]
    pub fn prefetch_for_receive(&self, at: &Pending, key: u32) {
        self.unexpected.approach(at.unexpected, key, &self.nodes);
    }

    /// Prefetches the receive that a message with this fingerprint will meet, or the place behind which it
    /// will be queued.
    #[inline(always)]
    pub fn prefetch_for_message(&self, at: &Pending, key: u32) {
        if !self.posted.approach(at.posted, key, &self.nodes) {
            self.unexpected.approach_end(at.unexpected, &self.nodes);
        }
    }

    /// Returns `true` if the posted receives are indexed.
    #[inline]
    pub fn has_indexed_receives(&self, at: &Pending) -> bool {
        { at.posted }.is_indexed()
    }

    /// Returns `true` if the unexpected messages are indexed.
    #[inline]
    pub fn has_indexed_messages(&self, at: &Pending) -> bool {
        { at.unexpected }.is_indexed()
    }

    /// Returns the path to the message that a receive will take, if the queue is indexed.
    pub fn path_to_message(&self, at: &Pending, wanted: &Envelope) -> Option<Way<'_>> {
        self.unexpected.way(at.unexpected, wanted)
    }

    /// Returns the path to the receive that a message will meet, if the queue is indexed.
    pub fn path_to_receive(&self, at: &Pending, wanted: &Envelope) -> Option<Way<'_>> {
        self.posted.way(at.posted, wanted)
    }

    /// Follows one step of a path to its node.
    pub fn prefetch_path(&self, path: &Way<'_>) {
        path.to_node(&self.nodes);
    }
}
