//! The interface of an endpoint: messages in, cut into packets as they leave, put together as they arrive.

use super::flows::FlowQueue;
use super::{Offer, Pending, Queue, Router, Shard};
use crate::packet::event::EventKind;
use crate::packet::port::{Flag, Packet};
use crate::packet::slab::NONE;

impl<R: Router> Shard<R> {
    /// Takes a message that enters the network at `offer.time`, which may lie ahead.
    pub(super) fn offer(&mut self, offer: Offer) {
        if R::sends_ahead(self, self.first_interface + offer.interface, &offer) {
            return;
        }
        let message = Pending {
            created: offer.time,
            left: offer.bytes,
            id: 0,
            last_arrival: 0,
            source: self.endpoint_at(offer.interface),
            destination: offer.destination,
            outstanding: 1,
            next: NONE,
            flow: u64::from(offer.destination),
            class: offer.class,
            tracked: Flag::CLEAR,
            unused: [0; 6],
        };
        self.send(offer.interface, message);
    }

    /// Takes a message that enters the network at `message.created`.
    pub(crate) fn send(&mut self, interface: u32, message: Pending) {
        let time = message.created;
        let index = self.messages.insert(message);
        let early = &mut self.early[interface as usize];
        let mut is_first = true;
        if early.head == NONE {
            *early = Queue { head: index, tail: index };
        } else if self.messages[early.tail].created <= time {
            is_first = self.messages[early.tail].created < time;
            self.messages[early.tail].next = index;
            early.tail = index;
        } else {
            self.insert_early(interface, index, time);
        }
        self.at.ports[self.first_interface + interface].set_holds(true);
        // Messages of one instant, as of a halo exchange, share the event.
        if is_first {
            self.push(time, EventKind::Inject, self.first_interface + interface, 0);
        }
    }

    /// Puts a message before those of later times.
    #[cold]
    fn insert_early(&mut self, interface: u32, index: u32, time: u64) {
        let (mut before, mut after) = (NONE, self.early[interface as usize].head);
        while self.messages[after].created <= time {
            (before, after) = (after, self.messages[after].next);
        }
        self.messages[index].next = after;
        if before == NONE {
            self.early[interface as usize].head = index;
        } else {
            self.messages[before].next = index;
        }
    }

    /// The messages that waited for this time enter the queues of their interface.
    pub(super) fn inject(&mut self, port: u32, now: u64) {
        let interface = (port - self.first_interface) as usize;
        loop {
            let index = self.early[interface].head;
            // Another event of this instant took it.
            if index == NONE || self.messages[index].created > now {
                return;
            }
            let next = std::mem::replace(&mut self.messages[index].next, NONE);
            self.early[interface] =
                if next == NONE { Queue::EMPTY } else { Queue { head: next, ..self.early[interface] } };
            self.inject_message(port, index, now);
        }
    }

    /// A message enters the queue of its class.
    fn inject_message(&mut self, port: u32, index: u32, now: u64) {
        let class = self.messages[index].class;
        let queue = (port - self.first_interface) as usize * self.fabric.switching.classes.count() as usize
            + class as usize;
        if self.queues[queue].head != NONE {
            return self.append_message(queue, index);
        }
        self.queues[queue] = FlowQueue::of(index);
        R::inject(self, port, class, now);
    }

    /// Cuts the next packet of a class, if a message waits.
    #[inline]
    pub(super) fn cut(&mut self, port: u32, class: u8, now: u64) -> Option<u32> {
        let interface = port - self.first_interface;
        let switching = &self.fabric.switching;
        let queue = interface as usize * switching.classes.count() as usize + class as usize;
        let FlowQueue { head, ring, .. } = self.queues[queue];
        if head == NONE {
            return None;
        }
        let lanes = self.fabric.routing.injection(switching.lanes);
        let message = &mut self.messages[head];
        let payload = message.left.min(u64::from(switching.payload)) as u32;
        message.left -= u64::from(payload);
        let mut packet =
            Packet::new(message.source, message.destination, switching.wire(payload), message.created, class);
        packet.ready = now;
        packet.tail = now;
        packet.lanes = lanes.into();
        let (last, tracked, next) = (message.left == 0, message.tracked.is_set(), message.next);
        if tracked {
            packet.origin = head;
            // The place that the last packet's cutting would free is taken by that packet.
            message.outstanding += u32::from(!last);
        }
        if ring != NONE {
            self.pass_turn(queue, last.then_some(next));
        } else if last {
            self.queues[queue].head = next;
            if next == NONE {
                self.queues[queue] = FlowQueue::EMPTY;
                let queues =
                    &self.queues.as_slice()[queue - class as usize..][..switching.classes.count() as usize];
                let holds = self.early[interface as usize].head != NONE
                    || queues.iter().any(|queue| queue.head != NONE);
                self.at.ports[port].set_holds(holds);
            }
        }
        if last && !tracked {
            self.messages.remove(head);
        }
        Some(self.packets.insert(packet))
    }

    /// A packet's last byte reaches its destination at `at`.
    #[inline(never)]
    pub(super) fn arrived(&mut self, index: u32, at: u64) {
        let packet = &self.packets[index];
        self.statistics.record(packet, at);
        if self.statistics.counts_packets_of(packet.created)
            && self.arriving.is_last(packet, self.statistics.message_packets())
        {
            self.statistics.record_message(packet, at);
        }
        if self.rules.alone && packet.origin != NONE {
            let (message, destination) = (packet.origin, packet.destination);
            let pending = &mut self.messages[message];
            pending.outstanding -= 1;
            pending.last_arrival = pending.last_arrival.max(at);
            if pending.outstanding == 0 {
                let time = pending.last_arrival;
                self.push(time, EventKind::Deliver, self.first_interface + destination, message);
            }
        }
        self.packets.remove(index);
    }
}
