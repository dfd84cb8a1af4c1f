//! Handshakes between sender and receiver: synchronous sends, and messages above the eager limit.

use crate::deferred::DeferredMatch;
use crate::fabric::Fabric;
use crate::node::{Node, flag};
use crate::request::Requests;
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
