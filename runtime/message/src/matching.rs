//! Which message meets which receive.
//!
//! For a receive pattern each source offers only its first unmatched matching message in send
//! order. A receive with a named source takes that message as soon as both are known, whatever
//! their times, unless an earlier-posted, undecided receive for any source could take it. A receive
//! for any source waits until safe time has passed its best candidate (`undecided`).

use crate::envelope::{Envelope, Pattern, Transit};
use crate::flight::Flight;
use crate::messages::{Messages, RankState};
use crate::moving::Payload;
use crate::node::{NIL, Node, State, flag};
use crate::queue::Place;
use engine::Time;

impl Messages {
    /// Whether it is decided in virtual time what the posted receive of `rank` takes.
    #[inline(always)]
    fn is_undecided(&self, rank: u32, receive: u32) -> bool {
        self.ranks[rank as usize].wilds != 0 && (self.nodes[receive].has(flag::WILD) || self.is_behind(rank, receive))
    }

    /// Whether a message lies there that this named receive accepts: an undecided receive before it may take that one.
    // Then that message was sent before this one, and to take this one now would let it overtake.
    fn is_behind(&self, rank: u32, receive: u32) -> bool {
        self.find_unexpected(rank, &Pattern::of(&self.nodes[receive])).is_some()
    }

    /// Whether any undecided receive of `rank` for any source could take a message of `pattern`.
    // With one such receive, the queue is looked through: O(posted). Several of one kind may be thousands, so
    // their kinds are counted as they come and go: O(kinds).
    pub fn wild_overlaps(&self, rank: u32, pattern: &Pattern) -> bool {
        let state = &self.ranks[rank as usize];
        match state.wilds {
            0 => false,
            1 => self
                .posted
                .iter(state.posted)
                .map(|at| &self.nodes[at])
                .any(|node| node.has(flag::WILD) && Pattern::of(node).overlaps(pattern)),
            _ => self.wilds.any(rank, |kind| kind.overlaps(pattern)),
        }
    }

    /// The first unexpected message of `rank` that fits, in the order the sources sent.
    #[inline]
    pub fn find_unexpected(&self, rank: u32, pattern: &Pattern) -> Option<(u32, Place)> {
        self.unexpected.first(self.ranks[rank as usize].unexpected, pattern, &[], &self.nodes)
    }

    /// Takes an unexpected message out of its queue.
    #[inline]
    pub fn unlink_unexpected(&mut self, rank: u32, place: Place) {
        let state = &mut self.ranks[rank as usize];
        self.unexpected.remove(&mut state.unexpected, place, &self.nodes);
    }

    /// Takes an unexpected message out of its queue, wherever it is.
    // O(1) in an indexed queue, else O(its length, at most 256).
    pub fn unlink_message(&mut self, rank: u32, message: u32) {
        let state = &mut self.ranks[rank as usize];
        let found = self.unexpected.remove_node(&mut state.unexpected, message, &self.nodes);
        debug_assert!(found, "message {message} is in the queue of rank {rank}");
    }

    /// Takes a posted receive out of its queue, wherever it is.
    pub fn unlink_posted(&mut self, rank: u32, receive: u32) {
        let found = self.posted.remove_node(&mut self.ranks[rank as usize].posted, receive, &self.nodes);
        debug_assert!(found, "receive {receive} is in the queue of rank {rank}");
    }

    /// A message reaches rank `to`: its posted receive, or the unexpected queue. Its payload is still where its sender has it.
    // A message is a node even where its receive is posted already: to make and free one costs a few stores, and two ways of meeting a
    // receive cost two places in which times, flags and truncation have to agree.
    #[inline(always)]
    pub fn deliver(&mut self, to: u32, envelope: &Envelope, payload: Payload, bytes: u64, transit: &Transit) {
        let awaited = !self.ranks[to as usize].posted.is_empty();
        self.deliver_to(to, envelope, payload, bytes, transit, awaited);
    }

    /// [`Messages::deliver`], where one of the posted receives may have been `awaited` for it.
    #[inline(always)]
    pub(crate) fn deliver_to(&mut self, to: u32, envelope: &Envelope, payload: Payload, bytes: u64, transit: &Transit, awaited: bool) {
        let message = self.message_node(envelope, payload, bytes, transit);
        self.note_departure(message);
        if awaited && self.meets_posted(to, message) {
            return;
        }
        if !matches!(payload, Payload::Inline(_) | Payload::None) || transit.flags != 0 {
            self.leave_unexpected(to, message);
        }
        self.enqueue(to, message);
    }

    /// Makes a message's node, which is in no queue yet.
    #[inline(always)]
    pub fn message_node(&mut self, envelope: &Envelope, payload: Payload, bytes: u64, transit: &Transit) -> u32 {
        let (flags, buffer, mut data) = payload.parts();
        if transit.request != NIL {
            data[1] = u64::from(transit.request);
        }
        self.nodes.alloc(Node {
            buffer,
            flags: transit.flags | flags,
            layout: transit.flight,
            data,
            ..Node::of(envelope, transit.arrival, bytes, State::Unexpected)
        })
    }

    /// Whether a posted receive of `to` takes the message, which is in no queue.
    #[inline(never)]
    fn meets_posted(&mut self, to: u32, message: u32) -> bool {
        let envelope = Envelope::of(&self.nodes[message]);
        let receive = self.match_posted(to, &envelope);
        if let Some(receive) = receive {
            self.take(to, receive, message);
        }
        receive.is_some()
    }

    /// The posted receive of `to` that a message with this envelope meets now, out of its queue.
    // The first posted receive that accepts a message has it (MPI 5.0 section 3.5). If that one is for any
    // source, whether it takes this message is decided in virtual time; until then the message lies in the
    // unexpected queue, and so do all behind it that a named receive might have.
    #[inline(always)]
    pub fn match_posted(&mut self, to: u32, envelope: &Envelope) -> Option<u32> {
        let state = &self.ranks[to as usize];
        if state.posted.is_empty() {
            return None;
        }
        match self.posted.first_for(state.posted, envelope, &self.nodes) {
            Some((index, place)) if !self.is_undecided(to, index) => {
                self.posted.remove(&mut self.ranks[to as usize].posted, place, &self.nodes);
                Some(index)
            }
            // Thousands of receives for any source, of which the first tells each message to wait, need no index.
            Some((_, place)) if !place.is_far() => None,
            _ => {
                self.posted.searched(&mut self.ranks[to as usize].posted, &self.nodes);
                None
            }
        }
    }

    /// What a message that goes into the unexpected queue needs where it is long, or not through when it is sent.
    #[inline(never)]
    fn leave_unexpected(&mut self, to: u32, message: u32) {
        self.settle_reference(message);
        self.note_under_way(to, message);
    }

    /// Where a shared network's delivery finds a message that no receive has taken.
    #[inline(always)]
    pub fn note_under_way(&mut self, to: u32, message: u32) {
        let node = &self.nodes[message];
        if node.has(flag::UNDER_WAY) {
            let flight = node.layout;
            self.flights[flight] = Flight::Unexpected { to, message };
        }
    }

    /// Puts a message into the unexpected queue of `to`.
    // A rank that decides nothing is not told: a named receive finds its message when it is posted.
    // Inlined always, or a message that comes before its receive, as most do, pays 13 instructions for the call.
    #[inline(always)]
    pub fn enqueue(&mut self, to: u32, index: u32) {
        let state = &mut self.ranks[to as usize];
        self.unexpected.push(&mut state.unexpected, index, &self.nodes);
        if state.watches() {
            self.mark_for_decision(to);
        }
    }

    /// A message is in the unexpected queue of a rank that may have something to decide.
    // Who decides looks for the best of all messages, each time: a long queue gets its index before and not
    // after the first of those searches.
    #[inline(never)]
    fn mark_for_decision(&mut self, to: u32) {
        self.unexpected.searched(&mut self.ranks[to as usize].unexpected, &self.nodes);
        self.mark_dirty(to);
    }

    /// A receive and its message are together: settles times, wakes whoever waits.
    // On a shared network the payload is moved at the match, long before the arrival: nobody may look at a
    // receive's buffer before it is complete (MPI 5.0 section 3.7.2), and so nothing has to be kept for its
    // delivery.
    #[inline]
    pub fn meet(&mut self, to: u32, index: u32, posted_at: Time, bytes: u64, transit: Transit) {
        if transit.flags == 0 {
            self.complete(to, index, transit.arrival);
        } else if transit.flags & flag::UNDER_WAY != 0 {
            self.nodes[index].state = State::InFlight;
            self.flights[transit.flight] = Flight::Received { to, receive: index, posted_at, bytes, transit };
        } else {
            self.note_meeting(transit.request, index, (posted_at, to), posted_at > transit.arrival, transit.flags & flag::RENDEZVOUS != 0);
            let is_held = self.is_held(to, index, transit.arrival.max(posted_at));
            // The sender's clock depends on this match once it is told: the receive cannot give its message back when it is cancelled, unless the match is
            // still held.
            self.nodes[index].flags |= flag::TOLD;
            let arrival =
                if is_held { self.hold_match(to, index, posted_at, bytes, transit) } else { self.handshake(to, posted_at, bytes, transit) };
            self.complete(to, index, arrival);
        }
    }

    /// A receive of `to` has its message, which arrives at `arrival`.
    #[inline(always)]
    pub fn complete(&mut self, to: u32, index: u32, arrival: Time) {
        let node = &mut self.nodes[index];
        // Its owner is blocked, and there is nothing to tell it but when.
        // The node is free before its rank runs again. Nobody comes across it: the handles that the program has
        // name it in a way that only the wait knows which the rank is blocked in (`handle::of_ignored`).
        if node.flags & (flag::WAITED | flag::STATUS_IGNORED | flag::INLINE | flag::POOLED | flag::TRUNCATED)
            == flag::WAITED | flag::STATUS_IGNORED
        {
            self.nodes.free(index);
            let state = &mut self.ranks[to as usize];
            state.arrived = state.arrived.max(arrival);
            return self.one_less(to);
        }
        node.arrival = arrival;
        node.state = State::Matched;
        if node.flags & (flag::WAITED | flag::ORPHAN) != 0 {
            if node.has(flag::ORPHAN) {
                // The main loop completes it, with its rank mounted: its payload may be for memory that nobody
                // else reaches.
                self.orphans.push((to, index));
            } else {
                if node.has(flag::STATUS_IGNORED) {
                    self.unsettled.insert(index, to);
                }
                self.one_less(to);
            }
        }
        if self.ranks[to as usize].polling {
            self.mark_dirty(to);
        }
    }

    /// A blocked rank has one completion less to wait for.
    // Each completion that was marked as waited for comes here once, so that the number ends at exactly 0 and a
    // rank is never woken twice.
    #[inline(always)]
    pub(crate) fn one_less(&mut self, to: u32) {
        let state = &mut self.ranks[to as usize];
        state.waiting -= 1;
        if state.waiting == 0 {
            self.ready.wake(to);
        }
    }

    /// Moves an unexpected (or extracted) message into a receive. The message's node is freed.
    // One mask asks whether the message is complete and its payload can be put from here, one whether the
    // receive can take it so: most can. Source and tag are the message's in any case, since the status is read
    // from the receive.
    #[inline(always)]
    pub fn take(&mut self, to: u32, receive: u32, message: u32) {
        if self.noted {
            self.compare_met(receive, message);
            self.note_taken(receive, message);
        }
        let Node { source, tag, arrival, bytes, buffer, flags, data, .. } = self.nodes[message];
        let node = &mut self.nodes[receive];
        node.source = source;
        node.tag = tag;
        node.flags &= !(flag::WILD | flag::ANY_TAG);
        if flags & !(flag::INLINE | flag::REFERS | flag::OWNED) == 0 && !node.has(flag::LAYOUT | flag::MOUNTED_ONLY) && bytes <= node.bytes
        {
            node.bytes = bytes;
            let target = node.buffer;
            if flags & flag::INLINE != 0 {
                self.put(Payload::Inline(data), target, bytes);
            } else if flags & flag::REFERS != 0 {
                self.put(Payload::At(buffer), target, bytes);
                self.takes_a_while();
            }
            self.drop_message(message);
            return self.complete(to, receive, arrival);
        }
        self.take_slow(to, receive, message);
    }

    /// [`Messages::take`] of anything, into a receive that knows its message's envelope.
    // The payload leaves before the message's node is free, and all of it before `meet`, which may wake the
    // receiver or the sender.
    #[inline(never)]
    fn take_slow(&mut self, to: u32, receive: u32, message: u32) {
        self.take_payload(receive, message);
        let Node { arrival, bytes, layout, flags, data, .. } = self.nodes[message];
        let posted_at = self.nodes[receive].arrival;
        let waits = flags & (flag::SYNCHRONOUS | flag::RENDEZVOUS) != 0;
        let transit = Transit {
            arrival,
            flags: flags & (flag::SYNCHRONOUS | flag::RENDEZVOUS | flag::UNDER_WAY),
            request: if waits { data[1] as u32 } else { NIL },
            flight: if flags & flag::UNDER_WAY != 0 { layout } else { NIL },
        };
        self.drop_message(message);
        self.meet(to, receive, posted_at, bytes, transit);
    }

    /// Posts a receive of `rank`: matches it, or appends it to the posted list. Whether the rank `waits` for it before it does anything else.
    #[inline]
    pub fn post(&mut self, rank: u32, index: u32, waits: bool) {
        if let Some(message) = self.match_receive(rank, index, waits) {
            self.take(rank, index, message);
        }
    }

    /// Posts a receive of `rank`: the message that it meets, out of its queue; else it is in the posted list now.
    // A message that is there comes before posting, and a search in vain before appending: so an index is made
    // when a queue proves to be long, not when it merely could be.
    #[inline(always)]
    pub fn match_receive(&mut self, rank: u32, index: u32, waits: bool) -> Option<u32> {
        let (node, state) = (&self.nodes[index], &mut self.ranks[rank as usize]);
        if state.wilds != 0 || node.flags & (flag::WILD | flag::ANY_TAG) != 0 {
            return self.match_receive_slow(rank, index, waits);
        }
        if !state.unexpected.is_empty()
            && let Some((message, place)) = self.unexpected.first_like(state.unexpected, &Envelope::of(node), &self.nodes)
        {
            self.unexpected.remove(&mut state.unexpected, place, &self.nodes);
            return Some(message);
        }
        self.await_message(rank, index, |_| {});
        None
    }

    /// Appends a receive of `rank`, whose message was searched for in vain, to the posted list; `notes` what else there is to note of the rank.
    // Such a search is what proves the other queue to be long.
    #[inline(always)]
    pub(crate) fn await_message(&mut self, rank: u32, index: u32, notes: impl FnOnce(&mut RankState)) {
        let state = &mut self.ranks[rank as usize];
        notes(state);
        self.unexpected.searched(&mut state.unexpected, &self.nodes);
        self.posted.push(&mut state.posted, index, &self.nodes);
    }

    /// [`Messages::match_receive`] of one that takes any source or tag, or that such a one may be before.
    #[inline(never)]
    fn match_receive_slow(&mut self, rank: u32, index: u32, waits: bool) -> Option<u32> {
        let pattern = Pattern::of(&self.nodes[index]);
        let found = if pattern.source.is_none() {
            self.choose_at_once(rank, &pattern, waits)
        } else {
            // A receive posted before may accept that message too, and then has the first claim on it.
            self.find_unexpected(rank, &pattern).filter(|(message, _)| self.first_posted(rank, *message).is_none())
        };
        if let Some((message, place)) = found {
            self.unlink_unexpected(rank, place);
            return Some(message);
        }
        self.await_message(rank, index, |_| {});
        if pattern.source.is_none() {
            self.open_wild(rank, &pattern);
            self.mark_dirty(rank);
        }
        None
    }

    /// The message that a receive for any source, posted by `rank` now, takes at once: the best of those that are there, if none
    /// that is still to come can be better.
    ///
    /// Unless the rank waits for it before it does anything else, that message must have arrived: receives that the rank posts before
    /// then are behind this one. And not just now: the rank may yet send itself one that arrives at once and comes first by its source.
    #[inline]
    pub fn choose_at_once(&self, rank: u32, pattern: &Pattern, waits: bool) -> Option<(u32, Place)> {
        let state = &self.ranks[rank as usize];
        // Receives for any source are decided in the order in which they were posted; on a shared network no
        // arrival is known ahead.
        if state.unexpected.is_empty() || state.wilds != 0 || self.by_time() {
            return None;
        }
        let best = self.unexpected.best(state.unexpected, pattern, &[], &self.nodes)?;
        let arrival = self.nodes[best.0].arrival;
        (arrival < self.safe && (waits || arrival < state.clock)).then_some(best)
    }

    /// A receive of `rank` for any source, which is the last posted, is open.
    fn open_wild(&mut self, rank: u32, pattern: &Pattern) {
        let state = &mut self.ranks[rank as usize];
        state.wilds += 1;
        // One alone is told by the queue: most programs that have any have no more.
        if state.wilds == 2
            && let Some(first) = self.posted.iter(state.posted).find(|&at| self.nodes[at].has(flag::WILD))
        {
            self.wilds.open(rank, &Pattern::of(&self.nodes[first]));
        }
        if state.wilds > 1 {
            self.wilds.open(rank, pattern);
        }
    }

    /// A receive of `rank` for any source is decided or withdrawn.
    // The mirror of `open_wild`: one that is left is told by the queue again.
    pub fn close_wild(&mut self, rank: u32, receive: u32) {
        let pattern = Pattern::of(&self.nodes[receive]);
        self.close_wilds(rank, &pattern, 1);
    }

    /// So many receives of `rank` for any source that accept this are decided or withdrawn.
    fn close_wilds(&mut self, rank: u32, pattern: &Pattern, count: u32) {
        let state = &mut self.ranks[rank as usize];
        let were = state.wilds;
        state.wilds -= count;
        if state.wilds > 1 {
            self.wilds.close(rank, pattern, count);
        } else if were > 1 {
            self.wilds.forget(rank);
        }
    }

    /// The receives of `rank` for any source, which are all that it has posted and alike, take the messages that arrive before `until` one after the
    /// other, none before `floor`: when the last one met its message, or `floor`. Ends when the rank is woken.
    ///
    /// O(log messages) each.
    pub fn take_alike(&mut self, rank: u32, until: Time, mut floor: Time) -> Time {
        let (runnable, mut taken) = (self.ready.len(), 0);
        let mut next = self.posted.front(self.ranks[rank as usize].posted);
        let Some(pattern) = next.map(|(first, _)| Pattern::of(&self.nodes[first])) else { return floor };
        while let Some((receive, place)) = next.filter(|_| self.ready.len() == runnable) {
            let state = &mut self.ranks[rank as usize];
            let best = self.unexpected.best(state.unexpected, &pattern, &[], &self.nodes);
            let Some((message, found)) = best.filter(|(message, _)| self.nodes[*message].arrival < until) else { break };
            self.posted.remove(&mut state.posted, place, &self.nodes);
            self.unexpected.remove(&mut state.unexpected, found, &self.nodes);
            taken += 1;
            // The next receive is a cache miss, for which there is time while this one takes its message.
            next = self.posted.front(state.posted);
            if let Some((next, _)) = next {
                self.nodes.prefetch(next);
            }
            let node = &mut self.nodes[message];
            floor = floor.max(node.arrival);
            node.arrival = floor;
            self.take(rank, receive, message);
        }
        self.close_wilds(rank, &pattern, taken);
        self.nodes.settle();
        floor
    }

    /// Whether all that `rank` has posted are alike, for any source.
    pub fn posts_alike(&self, rank: u32) -> bool {
        let state = &self.ranks[rank as usize];
        state.wilds != 0 && self.posted.length(state.posted) == state.wilds as usize && self.wild_kinds(rank) == 1
    }

    /// How many different patterns the open receives of `rank` for any source have.
    pub fn wild_kinds(&self, rank: u32) -> usize {
        match self.ranks[rank as usize].wilds {
            count @ 0..=1 => count as usize,
            _ => self.wilds.kinds(rank),
        }
    }

    /// The first posted receive that accepts an unexpected message of its rank.
    fn first_posted(&self, rank: u32, message: u32) -> Option<u32> {
        let envelope = Envelope::of(&self.nodes[message]);
        self.posted.first_for(self.ranks[rank as usize].posted, &envelope, &self.nodes).map(|(receive, _)| receive)
    }

    /// After a receive for any source was decided or withdrawn at `time`: named receives behind it may have their message, no earlier.
    // O(posted), each with a search; nothing to do is told in O(1), which is so after nearly every decision:
    // programs that receive from any source seldom have named receives behind those.
    pub fn rematch(&mut self, rank: u32, time: Time) {
        let state = &self.ranks[rank as usize];
        if state.unexpected.is_empty() || self.posted.length(state.posted) == state.wilds as usize {
            return;
        }
        // A list of its own, because taking changes the queue. In the order of posting, so that the first of
        // two alike has the message.
        let posted: Vec<u32> = self.posted.iter(state.posted).collect();
        for index in posted {
            let node = &self.nodes[index];
            if !node.has(flag::WILD)
                && let Some((message, place)) = self.find_unexpected(rank, &Pattern::of(node))
                && self.first_posted(rank, message) == Some(index)
            {
                self.unlink_posted(rank, index);
                self.unlink_unexpected(rank, place);
                let node = &mut self.nodes[message];
                // The receive had to wait for the decision. What follows from the match, an acknowledgement for
                // one, must not lie before it.
                if !node.has(flag::UNDER_WAY) {
                    node.arrival = node.arrival.max(time);
                }
                self.take(rank, index, message);
            }
        }
    }
}
