//! Messages that a shared network carries, and handshakes between sender and receiver.

mod kind;
mod record;

pub use kind::Flight;
pub use record::Record;

use crate::envelope::Transit;
use crate::messages::Messages;
use crate::node::flag;
use crate::request::Body;
use engine::{EventKey, Span, Time};
use network::{Endpoint, Message};

impl Messages {
    /// Whether message times depend on other messages.
    #[inline]
    pub fn by_time(&self) -> bool {
        self.by_time
    }

    /// How long after a rank acts another can be reached at the earliest: by a message, or where there are `handshakes` by what follows
    /// from the rank's posting a receive, or through the file system's servers.
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

    /// Puts a message of a rank of this process into the queue before the network, ordered by time of sending; `flight` is what happens here when it has been delivered.
    // Not into the network at once: that takes messages in the order of time, and a rank whose clock is behind
    // may send yet.
    pub fn launch(&mut self, from: u32, to: u32, bytes: u64, at: Time, flight: Flight) -> u32 {
        let key = self.launch_key(from, at);
        self.launch_as(key, to, bytes, flight)
    }

    /// When a message of a rank of this process leaves, among all others.
    // At one time and from one rank they keep the order in which they were sent, which its process knows.
    pub(crate) fn launch_key(&mut self, from: u32, at: Time) -> EventKey {
        self.launched += 1;
        EventKey { time: at, source: from, sequence: self.launched }
    }

    /// [`Messages::launch`] of a message whose place among the others is known.
    pub(crate) fn launch_as(&mut self, key: EventKey, to: u32, bytes: u64, flight: Flight) -> u32 {
        let id = self.flights.insert(flight);
        let message = Message { source: self.endpoint(key.source), destination: self.endpoint(to), bytes, id: u64::from(id), class: 0 };
        match self.wire.is_elsewhere() {
            true => self.launch_elsewhere(key, message),
            false => self.outbox.push(key, message),
        }
        id
    }

    /// How the message travels that a receive has and a shared network carries. O(what it carries).
    pub fn transit_of(&self, receive: u32) -> Option<Transit> {
        self.flights.iter().find_map(|(_, flight)| match flight {
            Flight::Received { receive: other, transit, .. } if *other == receive => Some(*transit),
            _ => None,
        })
    }

    /// Where a rank is attached.
    #[inline]
    pub fn endpoint(&self, rank: u32) -> Endpoint {
        self.wire.endpoint(rank)
    }

    /// Settles a synchronous or rendezvous message at its match; answers the payload's arrival.
    ///
    /// A synchronous send completes at the match plus the way back of an empty message. Above the
    /// eager limit the payload leaves when that empty message (clear to send) is back.
    // For an eager limit: request to send, clear to send, payload; each leg is one latency, and only the last
    // has the bytes.
    pub fn handshake(&mut self, to: u32, posted_at: Time, bytes: u64, transit: Transit) -> Time {
        let met = transit.arrival.max(posted_at);
        let sender = self.requests[transit.request].owner;
        if self.by_time() {
            self.launch(to, sender, 0, met, Flight::Acknowledgement { request: transit.request });
            return transit.arrival;
        }
        let arrival = self.payload_arrival(to, met, bytes, transit);
        self.finish_request(transit.request, met + self.wire.latency(to, sender, 0));
        arrival
    }

    /// When the payload of a message that was met at `met` arrives at `to`: above the eager limit after the clear to send, whose way is that of the match.
    pub(crate) fn payload_arrival(&self, to: u32, met: Time, bytes: u64, transit: Transit) -> Time {
        if transit.flags & flag::RENDEZVOUS == 0 {
            return transit.arrival;
        }
        let sender = self.requests[transit.request].owner;
        met + self.wire.latency(to, sender, 0) + self.wire.latency(sender, to, bytes)
    }

    /// A table request is complete at `at`: wakes its owner if it waits for it.
    // A request that nobody will ask for goes at once; a chapter's stays, since its operation may still be at
    // work.
    pub fn finish_request(&mut self, index: u32, at: Time) {
        let Some(request) = self.requests.get_mut(index) else { return };
        if let Body::Away { process, request } = request.body {
            self.requests.remove(index);
            let receive = self.receive_of(index);
            if self.is_own(process) {
                return self.is_matched(request, at, receive);
            }
            self.tell_matched(process, request, at, receive);
            return;
        }
        request.done = Some(at);
        let owner = request.owner;
        if request.orphan && !matches!(request.body, Body::Chapter { .. }) {
            self.requests.remove(index);
            self.receive_of(index);
            self.forget_send(index);
        } else if std::mem::take(&mut request.waited) {
            self.one_less(owner);
        }
        if self.ranks[owner as usize].polling {
            self.mark_dirty(owner);
        }
    }
}
