//! Handshakes between sender and receiver: synchronous sends, and messages above the eager limit.

use crate::deferred::DeferredMatch;
use crate::fabric::Departure;
use crate::flight::Flight;
use crate::messages::Messages;
use crate::node::flag;
use crate::remote::record::Take;
use crate::request::Body;
use crate::transit::Transit;
use crate::waits::Met;
use engine::{EventKey, Time};

impl Messages {
    /// Queues a message of a rank of this process before the shared network. Returns its number; `flight` is
    /// what happens here when it has been delivered.
    pub fn launch(
        &mut self,
        departure: Departure,
        from: u32,
        to: u32,
        (bytes, at): (u64, Time),
        flight: Flight,
    ) -> u32 {
        let key = self.fabric.next_key(from, at, departure);
        self.launch_as(key, to, bytes, flight)
    }

    /// [`Messages::launch`] of a message whose place among the others is known.
    pub(crate) fn launch_as(&mut self, key: EventKey, to: u32, bytes: u64, flight: Flight) -> u32 {
        let message = self.fabric.number(key, to, bytes, flight);
        match self.fabric.wire().is_elsewhere() {
            true => self.peers.launch_elsewhere(key, message),
            false => self.fabric.queue(key, message),
        }
        message.id as u32
    }

    /// Completes the handshake of a synchronous or rendezvous message at its match. Returns the payload's
    /// arrival.
    ///
    /// A synchronous send completes at the match plus the latency of an empty message back. Above the eager
    /// limit the payload leaves when that empty message (clear to send) is back.
    pub fn handshake(&mut self, to: u32, posted_at: Time, bytes: u64, transit: Transit) -> Time {
        let met = transit.arrival.max(posted_at);
        let sender = self.requests[transit.request].owner;
        if self.fabric.is_shared() {
            self.launch(
                Departure::Acknowledgement,
                to,
                sender,
                (0, met),
                Flight::Acknowledgement { request: transit.request },
            );
            return transit.arrival;
        }
        let arrival = self.payload_arrival(to, met, bytes, transit);
        self.finish_request(transit.request, met + self.fabric.latency(to, sender, 0));
        arrival
    }

    /// Returns when the payload of a message that was met at `met` arrives at `to`. Above the eager limit:
    /// request to send, clear to send, payload, each of which is one latency.
    fn payload_arrival(&self, to: u32, met: Time, bytes: u64, transit: Transit) -> Time {
        if transit.flags & flag::RENDEZVOUS == 0 {
            return transit.arrival;
        }
        let sender = self.requests[transit.request].owner;
        met + self.fabric.latency(to, sender, 0) + self.fabric.latency(sender, to, bytes)
    }

    /// Completes a table request at `at`, and wakes its owner if it waits for it.
    // A request that no one will ask for goes at once. A subsystem's stays, since its operation may still be
    // at work.
    pub fn finish_request(&mut self, index: u32, at: Time) {
        let Some(request) = self.requests.get_mut(index) else { return };
        if let Body::Away { process, request } = request.body {
            self.requests.remove(index);
            let receive = self.watch.receive_of(index);
            if self.can_fail() && process == self.peers.own_number() {
                return self.is_matched(request, at, receive);
            }
            self.peers.send_matched(process, request, at, receive);
            return;
        }
        request.done = Some(at);
        let owner = request.owner;
        if request.orphan && !matches!(request.body, Body::Chapter { .. }) {
            self.requests.remove(index);
            self.watch.receive_of(index);
            if let Some(faults) = &mut self.faults {
                faults.forget_send(index);
            }
        } else if std::mem::take(&mut request.waited) {
            self.count_down(owner);
        }
        if self.ranks[owner].pending.is_polling() {
            self.mark_dirty(owner);
        }
    }

    /// Returns `true` if the sender of a message that the receive `index` of rank `to` meets at `met` must
    /// not be notified yet.
    // On a shared network matches come in the order of time by themselves. Where ranks fail all are deferred:
    // the receiver may fail before.
    #[inline]
    pub(crate) fn is_deferred(&self, to: u32, index: u32, met: Time) -> bool {
        self.faults.is_some()
            || self.deferred.cancels()
                && !self.fabric.is_shared()
                && met > self.clock(to)
                && self.matcher[index].flags & (flag::WAITED | flag::ORPHAN | flag::TRUNCATED) == 0
    }

    /// Defers a match. Returns when the payload arrives.
    // All times are known: what is deferred is only the notification.
    #[cold]
    pub(crate) fn defer_match(
        &mut self,
        to: u32,
        index: u32,
        posted_at: Time,
        bytes: u64,
        transit: Transit,
    ) -> Time {
        let met = transit.arrival.max(posted_at);
        let source = self.matcher[index].source;
        self.deferred.insert((to, met, source, index), DeferredMatch { posted_at, bytes, transit });
        self.mark_dirty(to);
        self.payload_arrival(to, met, bytes, transit)
    }

    /// Notifies the sender of a deferred match.
    pub fn notify_deferred(&mut self, rank: u32, met: Time, source: u32, receive: u32) {
        if let Some(DeferredMatch { posted_at, bytes, transit }) =
            self.deferred.remove((rank, met, source, receive))
        {
            self.handshake(rank, posted_at, bytes, transit);
            self.mark_dirty(rank);
        }
    }

    /// Notifies the senders of all deferred matches that their receivers' clocks have passed. Returns `true`
    /// if there were any.
    pub fn notify_passed(&mut self) -> bool {
        if self.deferred.is_empty() || self.faults.is_some() {
            return false;
        }
        let passed = self.deferred.passed(|rank| self.ranks.clock(rank));
        passed
            .iter()
            .for_each(|&(rank, met, source, receive)| self.notify_deferred(rank, met, source, receive));
        !passed.is_empty()
    }

    /// Takes the notification of another process that a send of this one has met its receive.
    pub fn matched_arrived(&mut self, mut record: Take) {
        let (request, at) = (record.u32(), Time::from_ps(record.u64()));
        self.is_matched(request, at, Met::take(&mut record));
    }

    /// Completes a send at `at`, by its request or, where ranks can fail, its ticket.
    fn is_matched(&mut self, request: u32, at: Time, met: Met) {
        let request = self.faults.as_mut().map_or(Some(request), |faults| faults.redeem(request));
        let Some(request) = request else { return };
        self.watch.note_met(request, met);
        self.finish_request(request, at);
    }
}
