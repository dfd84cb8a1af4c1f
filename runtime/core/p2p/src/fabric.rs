//! The simulated network: when a message arrives, and what a shared network carries.

use crate::flight::Flight;
use crate::node::{Node, flag};
use crate::remote::shared::Way;
use crate::transit::Transit;
use crate::wire::Wire;
use engine::record::Take;
use engine::{EventKey, EventQueue, Span, Time};
use network::{Endpoint, Message};
use objects::slab::Slab;

/// The kinds of messages that leave for a shared network, in their order within an instant of a rank.
// What a rank sends itself keeps the order of its program, in which a replay sends it, too.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Departure {
    /// The answer to an access of another rank, served by a decision.
    Answer,
    /// The acknowledgement of a match, or a clear to send: whether the rank has gone on when that is known
    /// depends on the host.
    Acknowledgement,
    /// The payload of a message above the eager limit, which the rank has been cleared to send.
    Payload,
    /// A message of the rank's own call, or a step of its collective.
    Own,
}

/// Returns the position, among all that leave from a rank at one time, of the message that its process
/// launches as the `launched`-th.
fn sequence(departure: Departure, to: u32, launched: u64) -> u64 {
    let number = match departure {
        Departure::Answer | Departure::Acknowledgement => u64::from(to) << 31 | launched & (u64::MAX >> 33),
        Departure::Payload | Departure::Own => launched,
    };
    (departure as u64) << 62 | number
}

/// The simulated network, and what waits for it or is under way in it.
pub struct Fabric {
    wire: Wire,
    /// `true` if message times depend on other messages.
    by_time: bool,
    /// Messages that a shared network carries, by the number that each was given.
    flights: Slab<Flight>,
    /// Messages that leave for a shared network, by time of sending. Of several processes the first has them
    /// all.
    outbox: EventQueue<Message>,
    /// Number of those that stay at their endpoint, which may take less than any latency.
    staying: u64,
    /// Messages that were given to a shared network so far: those that leave at one time go in this order.
    launched: u64,
    /// Messages that a shared network was given here; it wraps round.
    injected: u32,
    /// `true` if a sender has waited for its match.
    handshakes: bool,
    /// From a failure until all know.
    detection: Span,
}

impl Fabric {
    /// Returns the network behind `wire`, with nothing under way.
    pub fn new(wire: Wire) -> Fabric {
        Fabric {
            by_time: wire.is_shared(),
            wire,
            flights: Slab::default(),
            outbox: EventQueue::new(),
            staying: 0,
            launched: 0,
            injected: 0,
            handshakes: false,
            detection: Span::ZERO,
        }
    }

    /// Returns the network as ranks see it.
    #[inline(always)]
    pub fn wire(&self) -> &Wire {
        &self.wire
    }
    /// Returns the network as ranks see it, to change.
    #[inline(always)]
    pub fn wire_mut(&mut self) -> &mut Wire {
        &mut self.wire
    }
    /// Returns `true` if message times depend on other messages.
    #[inline(always)]
    pub fn is_shared(&self) -> bool {
        self.by_time
    }
    /// Returns how long `bytes` take by the formula; on a shared network a lower bound.
    #[inline(always)]
    pub fn latency(&self, from: u32, to: u32, bytes: u64) -> Span {
        self.wire.latency(from, to, bytes)
    }

    /// Returns `true` if messages leave on the plain path: each costs nothing but the time that it is under
    /// way, and no recorder subscribed to it.
    #[inline(always)]
    pub fn sends_plainly(&self) -> bool {
        self.wire.plain
    }
    /// Sends no message on the plain path from now on.
    pub(crate) fn leave_plain_sends(&mut self) {
        self.wire.plain = false;
    }
    /// Returns `true` if nothing depends on when a receive is posted: what waits for that are synchronous
    /// senders, and those of messages above an eager limit.
    #[inline(always)]
    pub fn posting_is_unseen(&self) -> bool {
        self.wire.plain && !self.handshakes
    }
    /// Returns how a message of `bytes` that leaves at `leaves` travels.
    pub fn way(&self, from: u32, to: u32, bytes: u64, leaves: Time) -> Way {
        match self.by_time {
            true => Way::Leaves(leaves, bytes),
            false => Way::Arrives(leaves + self.wire.latency(from, to, bytes)),
        }
    }

    /// Sets the time from a failure until all know.
    pub fn set_detection(&mut self, detection: Span) {
        self.detection = detection;
    }
    /// Returns the time from a failure until all know.
    // No rank hears of a failure before a message of that time could have come.
    pub(crate) fn detection(&self) -> Span {
        self.detection.max(self.lookahead(false))
    }

    /// Returns `true` if a sender has waited for its match.
    #[inline]
    pub fn has_handshakes(&self) -> bool {
        self.handshakes
    }
    /// Notes that senders may wait for their matches: the lookahead is shorter for the rest of the run.
    #[inline]
    pub fn expect_handshakes(&mut self) {
        self.handshakes = true;
    }
    /// Returns how long after a rank acts another can be reached at the earliest: by a message, with
    /// `handshakes` by what follows from the rank's posting a receive, or through the file system's servers.
    // Nothing can be promised on a shared network: its next event may be now. An acknowledgement is shorter
    // than any message by the sender's overhead, so that where matches are waited for only that much is safe.
    pub fn lookahead(&self, handshakes: bool) -> Span {
        let messages = match (self.by_time, handshakes) {
            (true, _) => Span::ZERO,
            (false, true) => self.wire.way_back(),
            (false, false) => self.wire.lookahead(),
        };
        self.wire.storage.as_ref().map_or(messages, |storage| messages.min(storage.latency))
    }

    /// Returns the key of the next message that leaves from a rank of this process to another at `at` over a
    /// shared network.
    // At one time and from one rank they keep the order in which they were sent, which its process knows.
    // Between kinds that order is the host's: a rank may run before or after it is asked for an answer. So it
    // is between answers to different ranks: which of two that arrive at one time is known here first depends
    // on the processes that they come from.
    pub fn next_key(&mut self, from: u32, to: u32, at: Time, departure: Departure) -> EventKey {
        self.launched += 1;
        EventKey { time: at, source: from, sequence: sequence(departure, to, self.launched) }
    }
    /// Returns the key of the payload whose request to send had the number `sequence` of its rank `from`. It
    /// leaves at `at`.
    // The receiver's process sends it, and its own count says nothing of the order of another process's rank.
    pub(crate) fn payload_key(&self, from: u32, at: Time, sequence: u64) -> EventKey {
        let number = sequence & (u64::MAX >> 2);
        EventKey { time: at, source: from, sequence: (Departure::Payload as u64) << 62 | number }
    }
    /// Numbers a message that leaves for a shared network, and returns the number. `flight` is what happens
    /// here when it has been delivered.
    pub fn number(&mut self, key: EventKey, to: u32, bytes: u64, flight: Flight) -> Message {
        let id = self.flights.insert(flight);
        Message {
            source: self.endpoint(key.source),
            destination: self.endpoint(to),
            bytes,
            id: u64::from(id),
            class: 0,
        }
    }
    /// Queues a message before the network, ordered by time of sending.
    // Not into the network at once: that takes messages in the order of time, and a rank whose clock is
    // behind may send yet.
    pub fn queue(&mut self, key: EventKey, message: Message) {
        self.staying += u64::from(message.source == message.destination);
        self.outbox.push(key, message);
    }
    /// Queues a message of another process, which has its flight.
    fn queue_of_process(
        &mut self,
        key: EventKey,
        (source, destination): (Endpoint, Endpoint),
        bytes: u64,
        flight: Flight,
    ) {
        let id = self.flights.insert(flight);
        self.queue(key, Message { source, destination, bytes, id: u64::from(id), class: 0 });
    }
    /// Takes a message that leaves for the shared network from another process.
    pub fn launched_arrived(&mut self, process: u32, mut record: Take) {
        let key =
            EventKey { time: Time::from_ps(record.u64()), source: record.u32(), sequence: record.u64() };
        let ends = (Endpoint(record.u32()), Endpoint(record.u32()));
        let bytes = record.u64();
        self.queue_of_process(key, ends, bytes, Flight::Elsewhere { process, flight: record.u32() });
    }
    /// Changes what happens when the network has delivered a message.
    #[inline]
    pub fn redirect(&mut self, number: u32, flight: Flight) {
        self.flights[number] = flight;
    }
    /// Notes where a shared network's delivery finds a message that no receive has taken.
    #[inline(always)]
    pub fn note_unexpected(&mut self, node: &Node, to: u32, message: u32) {
        if node.has(flag::UNDER_WAY) {
            self.redirect(node.layout, Flight::Unexpected { to, message });
        }
    }
    /// Takes the flight of a message that the network has delivered.
    pub fn land(&mut self, number: u32) -> Option<Flight> {
        self.flights.remove(number)
    }
    /// Returns the flight of a message that the network carries.
    pub fn flight(&self, number: u32) -> Option<&Flight> {
        self.flights.get(number)
    }
    /// Prefetches the flight of a message.
    pub fn prefetch_flight(&self, number: u32) {
        self.flights.prefetch(number);
    }
    /// Returns how the message travels that a receive has and a shared network carries. O(messages under
    /// way).
    pub fn transit_of(&self, receive: u32) -> Option<Transit> {
        self.flights.iter().find_map(|(_, flight)| match flight {
            Flight::Received { receive: other, transit, .. } if *other == receive => Some(*transit),
            _ => None,
        })
    }
    /// Returns where a rank is attached.
    #[inline]
    pub fn endpoint(&self, rank: u32) -> Endpoint {
        self.wire.endpoint(rank)
    }

    /// Gives the network the next message that leaves at or before `until`. Returns its number, and its
    /// arrival if that is known at once. Prefetches what the message `ahead` of it needs.
    // What is delivered at one instant comes in the order of these numbers. Flights have theirs by chance:
    // whatever was free, in the order in which ranks ran.
    #[inline]
    pub fn inject_next(&mut self, until: Time, ahead: Option<usize>) -> Option<(u32, Option<Time>)> {
        self.outbox.peek().filter(|key| key.time <= until)?;
        let (key, message) = self.outbox.pop()?;
        self.staying -= u64::from(message.source == message.destination);
        self.injected = self.injected.wrapping_add(1);
        let network = self.wire.shared()?;
        if let Some(later) = ahead.and_then(|ahead| self.outbox.upcoming(ahead)) {
            network.prefetch(later);
        }
        let arrival =
            network.send(key.time, &Message { id: u64::from(self.injected) << 32 | message.id, ..message });
        Some((message.id as u32, arrival))
    }
    /// Returns when the next message leaves and when the network has its next event.
    pub fn next_times(&mut self) -> (Time, Time) {
        let leaving = self.outbox.peek().map_or(Time::MAX, |key| key.time);
        (leaving, self.wire.next_event().unwrap_or(Time::MAX))
    }
    /// Returns the earliest time at which a shared network with these [`Fabric::next_times`] reaches a rank.
    // What leaves reaches nobody before the least latency has passed: all that is decided until then is
    // decided before it enters the network, which so sees what ranks send then, too.
    pub fn reach(&self, (leaving, event): (Time, Time)) -> Time {
        let way = if self.staying == 0 { self.wire.way_back() } else { Span::ZERO };
        leaving.saturating_add(way).min(event)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_of_one_time_leave_in_the_order_of_their_ranks_whichever_is_known_first() {
        for departure in [Departure::Answer, Departure::Acknowledgement] {
            assert!(sequence(departure, 2, 9) < sequence(departure, 3, 8), "{departure:?}");
            assert!(sequence(departure, 3, 8) < sequence(departure, 3, 9), "{departure:?}");
            assert!(sequence(departure, i32::MAX as u32, 1) >> 62 == departure as u64, "{departure:?}");
        }
        assert!(sequence(Departure::Own, 3, 8) < sequence(Departure::Own, 2, 9));
        assert!(sequence(Departure::Answer, u32::MAX >> 1, 1) < sequence(Departure::Own, 0, 0));
    }
}
