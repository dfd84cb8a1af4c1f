//! Loading what events need ahead of their turn: a large network lies in memory that no cache holds, and its events go all over it.

use super::{FIRST_AHEAD, LAST_AHEAD, SECOND_AHEAD, Shard, THIRD_AHEAD};
use crate::packet::event::{Event, Kind};
use crate::packet::port::{TO_ENDPOINT, UPSTREAM_REMOTE};
use prefetch_index::prefetch_index;

/// What is read here may be of another time than the event's own: it says where to load from, and a wrong place costs a load. So every
/// number that comes from memory is looked up with `get` and not by index.
impl Shard {
    /// Takes each upcoming event one step further on the way to what it needs. A step reads what the step before it has loaded.
    #[inline]
    pub(super) fn prefetch(&mut self) {
        self.wheel.look_ahead(FIRST_AHEAD + 1);
        if let Some(event) = self.wheel.upcoming(FIRST_AHEAD) {
            if event.is_arrival() { self.packets.prefetch(event.load()) } else { self.prefetch_port(event.place()) }
        }
        if let Some(event) = self.wheel.upcoming(SECOND_AHEAD) {
            if event.is_arrival() { self.prefetch_way(event) } else { self.prefetch_waits(event) }
        }
        if let Some(event) = self.wheel.upcoming(THIRD_AHEAD) {
            if event.is_arrival() { self.prefetch_output(event) } else { self.prefetch_ring(event) }
        }
        if let Some(event) = self.wheel.upcoming(LAST_AHEAD)
            && !event.is_arrival()
        {
            self.prefetch_head(event);
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

    /// The ports that an arriving packet leaves by and came by.
    #[inline]
    fn prefetch_way(&self, event: Event) {
        let Some(packet) = self.packets.get(event.load()) else { return };
        let output = if self.routes_early { packet.next } else { event.place() };
        self.prefetch_port(output);
        self.prefetch_lane(output, packet.lanes[0].into());
        if packet.upstream & UPSTREAM_REMOTE == 0 {
            self.prefetch_port(packet.upstream);
            self.prefetch_lane(packet.upstream, packet.lane.into());
        }
    }

    /// Who waits at the output of an arriving packet, which will be behind them; at its destination, what is known of its message.
    #[inline]
    fn prefetch_output(&self, event: Event) {
        if self.routes_early
            && let Some(packet) = self.packets.get(event.load())
            && let Some(port) = self.at.ports.get(packet.next)
        {
            self.at.waits.prefetch(port.waits());
            if port.end() == TO_ENDPOINT && self.statistics.counts_packets_of(packet.created) {
                self.arriving.prefetch(packet.hash);
            }
        }
    }

    /// Who waits at a port that sends, and the messages of an interface.
    #[inline]
    fn prefetch_waits(&self, event: Event) {
        if event.kind() == Kind::Credit {
            self.prefetch_lane(event.place(), event.load() >> 24);
        }
        let Some(port) = self.at.ports.get(event.place()) else { return };
        self.at.waits.prefetch(port.waits());
        if let Some(interface) = self.interface(event) {
            prefetch_index(&self.queues, interface * self.fabric.switching.classes.count() as usize);
            if event.kind() == Kind::Inject {
                prefetch_index(&self.early, interface);
            }
        }
    }

    /// The requesters that wait there, and the message that an interface cuts.
    #[inline]
    fn prefetch_ring(&self, event: Event) {
        let Some(port) = self.at.ports.get(event.place()) else { return };
        if let Some(waits) = self.at.waits.get(port.waits()) {
            self.requesters.prefetch(waits.ring);
        }
        if let Some(interface) = self.interface(event) {
            let queues = if event.kind() == Kind::Inject { &self.early } else { &self.queues };
            let first = if event.kind() == Kind::Inject { interface } else { interface * self.fabric.switching.classes.count() as usize };
            if let Some(queue) = queues.get(first) {
                self.messages.prefetch(queue.head);
            }
        }
    }

    /// The packet that is sent next, where one requester waits, as in an interface; where several do, the one whose turn it is.
    #[inline]
    fn prefetch_head(&self, event: Event) {
        if let Some(port) = self.at.ports.get(event.place())
            && let Some(waits) = self.at.waits.get(port.waits())
            && let Some(last) = self.requesters.get(waits.ring)
        {
            if last.next == waits.ring { self.packets.prefetch(last.head) } else { self.requesters.prefetch(last.next) }
        }
    }

    /// The interface at which an event happens, if it is one.
    #[inline]
    fn interface(&self, event: Event) -> Option<usize> {
        event.place().checked_sub(self.first_interface).map(|interface| interface as usize)
    }
}
