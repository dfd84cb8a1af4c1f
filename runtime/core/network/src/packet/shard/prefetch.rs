//! Loading what events need ahead of their turn: a large network lies in memory that no cache holds, and its
//! events go all over it.

use super::packet_switch::{PacketSwitch, Queueing};
use super::{AHEAD, Router, Shard};
use crate::packet::event::{EventKind, PacketEvent};
use crate::packet::port::{Requester, TO_ENDPOINT, UPSTREAM_REMOTE};

/// Prefetching for an event may read state of another time than the event's own. That state only selects the
/// address to load, and a wrong address costs one load. So every index that comes from memory is looked up
/// with `get` and not with brackets.
impl<R: Router> Shard<R> {
    /// Takes each upcoming event one step further on the way to the ports, packets and messages that it
    /// needs. A step reads what the step before it has loaded.
    #[inline]
    pub(super) fn prefetch_places(&mut self) {
        self.wheel.look_ahead(AHEAD[0] + 1);
        if let Some(event) = self.wheel.upcoming(AHEAD[0]) {
            if event.is_arrival() { self.packets.prefetch(event.load()) } else { self.prefetch_place(event) }
        }
        if let Some(event) = self.wheel.upcoming(AHEAD[1]) {
            if event.is_arrival() { self.prefetch_way(event) } else { self.prefetch_waits(event) }
        }
        if let Some(event) = self.wheel.upcoming(AHEAD[2]) {
            if event.is_arrival() { self.prefetch_output(event) } else { self.prefetch_first_message(event) }
        }
    }

    /// Starts loading a port; any number will do.
    #[inline]
    pub(super) fn prefetch_port(&self, port: u32) {
        self.at.ports.prefetch(port);
    }

    /// Starts loading a virtual channel that does not lie in its port; any number will do.
    #[inline]
    fn prefetch_lane(&self, port: u32, lane: u32) {
        if lane != 0 {
            self.at.ports.prefetch_lane(port, lane);
        }
    }

    /// Starts loading an interface with the virtual channels that a packet chooses from.
    #[inline]
    pub(super) fn prefetch_interface(&self, port: u32) {
        self.prefetch_port(port);
        self.prefetch_lane(port, self.fabric.switching.lanes - 1);
    }

    /// Starts loading what an interface needs that is given a message.
    #[inline]
    pub(crate) fn prefetch_sender(&self, interface: u32) {
        self.early.prefetch(interface as usize);
        self.prefetch_port(self.first_interface + interface);
    }

    /// Starts loading the port that an event names, or the message that it delivers. The event is no arrival.
    #[inline]
    fn prefetch_place(&self, event: PacketEvent) {
        if event.kind() == EventKind::Deliver {
            self.messages.prefetch(event.load())
        } else {
            self.prefetch_port(event.place())
        }
    }

    /// The ports that an arriving packet leaves by and came by.
    #[inline]
    fn prefetch_way(&self, event: PacketEvent) {
        let Some(packet) = self.packets.get(event.load()) else { return };
        let output = if self.rules.routes_early { packet.next } else { event.place() };
        self.prefetch_port(output);
        self.prefetch_lane(output, packet.lanes[0].into());
        self.prefetch_upstream(packet.upstream, packet.lane);
    }

    /// The port that sent a packet here, which gets its credit.
    #[inline]
    fn prefetch_upstream(&self, upstream: u32, lane: u8) {
        if upstream & UPSTREAM_REMOTE == 0 {
            self.prefetch_port(upstream);
            self.prefetch_lane(upstream, lane.into());
        }
    }

    /// Asks for the packet that waits at the output of an arriving packet, which will be behind them, and who
    /// waits for its credit; at its destination, what is known of its message.
    #[inline]
    fn prefetch_output(&self, event: PacketEvent) {
        let Some(packet) = self.packets.get(event.load()) else { return };
        if let Some(port) = self.at.ports.get(packet.upstream) {
            self.at.waits.prefetch(port.waits());
        }
        if self.rules.routes_early
            && let Some(port) = self.at.ports.get(packet.next)
        {
            self.at.waits.prefetch(port.waits());
            if port.end() == TO_ENDPOINT {
                self.prefetch_message(packet.created, packet.hash, packet.origin);
            }
        }
    }

    /// Starts loading the records of a packet's message, for a packet that reaches its destination.
    #[inline]
    fn prefetch_message(&self, created: u64, hash: u32, origin: u32) {
        if self.statistics.counts_packets_of(created) {
            self.arriving.prefetch(hash);
        }
        self.messages.prefetch(origin);
    }

    /// Starts loading the waits of a port that sends, and for an interface its message queues.
    #[inline]
    fn prefetch_waits(&self, event: PacketEvent) {
        if event.kind() == EventKind::Credit {
            self.prefetch_lane(event.place(), event.load() >> 24);
        }
        let Some(port) = self.at.ports.get(event.place()) else { return };
        self.at.waits.prefetch(port.waits());
        if let Some(interface) = self.interface(event) {
            self.queues.prefetch(interface * self.fabric.switching.classes.count() as usize);
            if event.kind() == EventKind::Inject {
                self.early.prefetch(interface);
            }
        }
    }

    /// Starts loading the message that an interface cuts next.
    #[inline]
    fn prefetch_first_message(&self, event: PacketEvent) {
        if let Some(interface) = self.interface(event) {
            let head = if event.kind() == EventKind::Inject {
                self.early.as_slice().get(interface).map(|queue| queue.head)
            } else {
                let first = interface * self.fabric.switching.classes.count() as usize;
                self.queues.as_slice().get(first).map(|queue| queue.head)
            };
            if let Some(head) = head {
                self.messages.prefetch(head);
            }
        }
    }

    /// Returns the interface at which an event happens, if it is one.
    #[inline]
    fn interface(&self, event: PacketEvent) -> Option<usize> {
        event.place().checked_sub(self.first_interface).map(|interface| interface as usize)
    }
}

impl<Q: Queueing> Shard<PacketSwitch<Q>> {
    /// Takes each upcoming event further on the way to the packets that wait, if any do.
    #[inline]
    pub(super) fn prefetch_waiting(&mut self) {
        if self.at.waits.len() == 0 {
            return;
        }
        if let Some(event) = self.wheel.upcoming(AHEAD[2])
            && !event.is_arrival()
        {
            self.prefetch_requesters(event.place());
        }
        if let Some(event) = self.wheel.upcoming(AHEAD[3]) {
            if event.is_arrival() { self.prefetch_requester(event) } else { self.prefetch_turn(event) }
        }
        if let Some(event) = self.wheel.upcoming(AHEAD[4]) {
            if event.is_arrival() { self.prefetch_last(event) } else { self.prefetch_head(event) }
        }
        if let Some(event) = self.wheel.upcoming(AHEAD[5])
            && event.kind() == EventKind::Grant
        {
            self.prefetch_sent(event);
        }
    }

    /// Returns the last of the requesters that wait at a port.
    #[inline]
    fn last_requester(&self, port: u32) -> Option<(u32, &Requester)> {
        let port = self.at.ports.get(port)?;
        let waits = self.at.waits.get(port.waits())?;
        self.router.requesters.get(waits.ring).map(|last| (waits.ring, last))
    }

    /// The requesters that wait at a port.
    #[inline]
    fn prefetch_requesters(&self, port: u32) {
        if let Some(port) = self.at.ports.get(port)
            && let Some(waits) = self.at.waits.get(port.waits())
        {
            self.router.requesters.prefetch(waits.ring);
        }
    }

    /// The requesters at the output of an arriving packet.
    #[inline]
    fn prefetch_requester(&self, event: PacketEvent) {
        if self.rules.routes_early
            && let Some(packet) = self.packets.get(event.load())
        {
            self.prefetch_requesters(packet.next);
        }
    }

    /// The packet that an arriving one will be behind, where one requester waits; where several do, the next
    /// of them.
    #[inline]
    fn prefetch_last(&self, event: PacketEvent) {
        if self.rules.routes_early
            && let Some(packet) = self.packets.get(event.load())
            && let Some((ring, last)) = self.last_requester(packet.next)
        {
            self.packets.prefetch(last.tail);
            if last.next != ring {
                self.router.requesters.prefetch(last.next);
            }
        }
    }

    /// The packet that is sent next, where one requester waits, as in an interface; where several do, the one
    /// whose turn it is.
    #[inline]
    fn prefetch_turn(&self, event: PacketEvent) {
        if let Some((ring, last)) = self.last_requester(event.place()) {
            if last.next == ring {
                self.packets.prefetch(last.head)
            } else {
                self.router.requesters.prefetch(last.next)
            }
        }
    }

    /// Returns the requester whose turn it is at a port, most likely.
    #[inline]
    fn first_requester(&self, port: u32) -> Option<&Requester> {
        let (ring, last) = self.last_requester(port)?;
        if last.next == ring { Some(last) } else { self.router.requesters.get(last.next) }
    }

    /// The packet whose turn it is, where several requesters wait.
    #[inline]
    fn prefetch_head(&self, event: PacketEvent) {
        if let Some(first) = self.first_requester(event.place()) {
            self.packets.prefetch(first.head);
        }
    }

    /// Asks for what the packet needs that is sent next: the port that gets its credit; at its destination,
    /// what is known of its message.
    #[inline]
    fn prefetch_sent(&self, event: PacketEvent) {
        if let Some(first) = self.first_requester(event.place())
            && let Some(packet) = self.packets.get(first.head)
        {
            self.prefetch_upstream(packet.upstream, packet.lane);
            if self.at.ports.get(event.place()).is_some_and(|port| port.end() == TO_ENDPOINT) {
                self.prefetch_message(packet.created, packet.hash, packet.origin);
            }
        }
    }
}
