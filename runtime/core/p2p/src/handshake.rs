//! Handshakes between sender and receiver: synchronous sends, and messages above the eager limit.

use crate::deferred::DeferredMatch;
use crate::departures::Departures;
use crate::fabric::{Departure, Fabric};
use crate::flight::{Flight, MatchedSend};
use crate::node::{Node, flag};
use crate::request::{Body, Request, Requests};
use crate::transit::Transit;
use engine::Time;

impl Fabric {
    /// Returns when the payload of a message that was met at `met` arrives. Above the eager limit: request to
    /// send, clear to send, payload, each of which is one latency.
    pub(crate) fn payload_arrival(
        &self,
        requests: &Requests,
        to: u32,
        met: Time,
        bytes: u64,
        transit: Transit,
    ) -> Time {
        if transit.flags & flag::RENDEZVOUS == 0 {
            return transit.arrival;
        }
        let sender = requests[transit.request].owner;
        met + self.latency(to, sender, 0) + self.latency(sender, to, bytes)
    }
}

impl Requests {
    /// Returns `true` if the sender of a message that this receive meets at `met` must not be notified yet:
    /// its rank, whose clock is `clock`, may cancel it.
    // On a shared network matches come in the order of time by themselves.
    #[inline]
    pub(crate) fn may_take_back(&self, fabric: &Fabric, receive: &Node, met: Time, clock: Time) -> bool {
        self.deferred().cancels()
            && !fabric.is_shared()
            && met > clock
            && receive.flags & (flag::WAITED | flag::ORPHAN | flag::TRUNCATED) == 0
    }

    /// Returns what the payload of a send above the eager limit leaves by, once it is matched.
    pub(crate) fn matched_send(&self, request: u32) -> MatchedSend {
        let Request { owner: sender, body, .. } = &self[request];
        let sequence = match *body {
            Body::Synchronous { sequence } | Body::Away { sequence, .. } => sequence,
            _ => 0,
        };
        MatchedSend { sender: *sender, request, sequence }
    }

    /// Defers a match of the receive `(index, node)` of `to`. Returns when the payload arrives.
    // All times are known: what is deferred is only the notification.
    #[cold]
    pub(crate) fn defer_match(
        &mut self,
        fabric: &Fabric,
        to: u32,
        (index, node): (u32, &Node),
        DeferredMatch { posted_at, bytes, transit }: DeferredMatch,
    ) -> Time {
        let met = transit.arrival.max(posted_at);
        let deferred = DeferredMatch { posted_at, bytes, transit };
        self.deferred_mut().insert((to, met, node.source, index), deferred);
        fabric.payload_arrival(self, to, met, bytes, transit)
    }
}

/// Handshakes of messages above the eager limit on a shared network.
impl Departures<'_> {
    /// Sends the clear to send of a message that the receive `receive` of `to` meets at `met`.
    pub(crate) fn clear_to_send(
        &mut self,
        (to, receive): (u32, u32),
        met: Time,
        bytes: u64,
        send: MatchedSend,
    ) {
        let flight = Flight::ClearToSend { to, receive, bytes, send };
        self.launch(Departure::Acknowledgement, to, send.sender, (0, met), flight);
    }

    /// Sends the payload of a message whose clear to send arrives at `at`, for the receive `receive` of `to`.
    // The receiver's process does, which has its flight.
    pub fn send_payload(&mut self, (to, receive): (u32, u32), bytes: u64, send: MatchedSend, at: Time) {
        let key = self.fabric.payload_key(send.sender, at, send.sequence);
        self.launch_as(key, to, bytes, Flight::Payload { to, receive });
    }
}
