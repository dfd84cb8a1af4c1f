//! Handshakes between sender and receiver: synchronous sends, and messages above the eager limit.

use crate::deferred::DeferredMatch;
use crate::fabric::{Departure, Fabric};
use crate::flight::Flight;
use crate::messages::Messages;
use crate::node::{Node, State, flag};
use crate::request::{Body, Requests};
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

/// Handshakes of messages above the eager limit on a shared network, which has the payload once its sender is
/// cleared to send.
impl Messages {
    /// Sends the clear to send of a message that the receive `receive` of `to` meets at `met`.
    pub(crate) fn clear_to_send(&mut self, to: u32, receive: u32, met: Time, bytes: u64, request: u32) {
        self.matcher[receive].state = State::InFlight;
        let sender = self.requests[request].owner;
        let flight = Flight::ClearToSend { to, receive, bytes, request };
        self.departures().launch(Departure::Acknowledgement, to, sender, (0, met), flight);
    }

    /// Sends the payload of a message whose clear to send arrives at `at`: its send is complete then.
    // Before the sender goes on: what that sends then is later.
    pub fn send_payload(&mut self, to: u32, receive: u32, bytes: u64, (request, at): (u32, Time)) {
        let sender = &self.requests[request];
        let (Body::Synchronous { sequence } | Body::Away { sequence, .. }) = sender.body else { return };
        let key = self.fabric.payload_key(sender.owner, at, sequence);
        self.departures().launch_as(key, to, bytes, Flight::Payload { to, receive });
        self.finish_request(request, at);
    }
}
