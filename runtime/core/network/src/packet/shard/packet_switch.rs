//! Routers that send whole packets: what all of them have, beside the kind of their queues.

use super::link_times::LinkTimes;
use super::router::{Router, ShardSize};
use super::{Offer, Shard};
use crate::packet::fabric::{Classes, PacketFabric, Switching};
use crate::packet::port::{Packet, Requester};
use crate::packet::slab::{LargePageSlab, NONE};

/// A kind of queues in routers of whole packets, with the state that other kinds do not have.
pub(crate) trait Queueing: Send + Sized + 'static {
    /// Returns `true` if routers with this switching have such queues.
    fn fits(switching: &Switching) -> bool;
    /// Returns empty queues.
    fn new(fabric: &PacketFabric, size: ShardSize) -> Self;
    /// Returns `true` if a packet's output may be chosen when the packet leaves the router before.
    fn routes_early(_: &Switching) -> bool {
        true
    }

    /// Returns `true` if a packet that arrives can request an output at once. If not, it has been queued.
    #[inline(always)]
    fn admits(_: &mut Shard<PacketSwitch<Self>>, _input: u32, _packet: u32, _now: u64) -> bool {
        true
    }
    /// Lets the next packet of a virtual channel of an input request an output.
    fn head(_: &mut Shard<PacketSwitch<Self>>, _input: u32, _lane: u8, _now: u64) {}
    /// Returns the virtual channel by which a packet that has just been routed can leave at once.
    fn lane_at_once(shard: &Shard<PacketSwitch<Self>>, output: u32, packet: u32, now: u64) -> Option<u8>;
    /// Returns the number of the queue among its input's in which a packet waits for an output.
    #[inline(always)]
    fn queue_of(&self, packet: &Packet) -> u64 {
        // Packets that go on in a ring must not wait behind some that would enter it.
        u64::from(packet.bubble.is_set()) << 8 | u64::from(packet.lanes[0])
    }
    /// Returns when the input that packets from `upstream` come in by can send.
    #[inline(always)]
    fn input_free_at(_: &Shard<PacketSwitch<Self>>, _upstream: u32) -> u64 {
        0
    }
    /// Notes that a packet leaves its input until `end`.
    #[inline(always)]
    fn leave_input(_: &mut Shard<PacketSwitch<Self>>, _upstream: u32, _lane: u8, _end: u64, _now: u64) {}

    /// Returns `true` if routers serve all outputs in cycles, and not each when its link is free.
    #[inline(always)]
    fn has_cycles(&self) -> bool {
        false
    }
    /// Makes sure that the router of `output` works in the first cycle from `at` on.
    fn schedule_cycle(_: &mut Shard<PacketSwitch<Self>>, _output: u32, _at: u64) {}
    /// Handles a cycle of the router whose first port is `base`.
    fn cycle(_: &mut Shard<PacketSwitch<Self>>, _base: u32, _now: u64) {}
}

/// State of routers that send whole packets.
pub(crate) struct PacketSwitch<Q> {
    pub(super) queueing: Q,
    pub(super) store_and_forward: bool,
    /// Times of each kind of link.
    pub(super) times: Vec<LinkTimes>,
    pub(super) requesters: LargePageSlab<Requester>,
    /// Rings of classes 1 and up of each port.
    pub(super) more_rings: Vec<u32>,
    /// Bytes over weight that each class of each port has sent, with weighted classes.
    pub(super) served: Vec<u64>,
}

impl<Q: Queueing> Router for PacketSwitch<Q> {
    fn fits(switching: &Switching) -> bool {
        switching.wormhole.is_none() && Q::fits(switching)
    }

    fn new(fabric: &PacketFabric, size: ShardSize) -> PacketSwitch<Q> {
        let (ports, classes) = (size.ports + size.interfaces, &fabric.switching.classes);
        let count = usize::from(classes.count());
        let weighted = if matches!(classes, Classes::Weighted(_)) { ports * count } else { 0 };
        PacketSwitch {
            queueing: Q::new(fabric, size),
            store_and_forward: fabric.switching.store_and_forward,
            times: vec![LinkTimes::UNKNOWN; fabric.links.len()],
            requesters: LargePageSlab::new(),
            more_rings: vec![NONE; ports * (count - 1)],
            served: vec![0; weighted],
        }
    }

    fn routes_early(switching: &Switching) -> bool {
        Q::routes_early(switching)
    }

    #[inline]
    fn arrive(shard: &mut Shard<Self>, input: u32, packet: u32, now: u64) {
        if Q::admits(shard, input, packet, now) {
            shard.forward(input, packet, now);
        }
    }

    fn head(shard: &mut Shard<Self>, input: u32, lane: u32, now: u64) {
        Q::head(shard, input, lane as u8, now);
    }

    fn cycle(shard: &mut Shard<Self>, port: u32, now: u64) {
        Q::cycle(shard, port, now);
    }

    fn grant(shard: &mut Shard<Self>, output: u32, now: u64) {
        shard.wake(output, now);
    }

    #[inline]
    fn schedule(shard: &mut Shard<Self>, output: u32, at: u64) {
        shard.schedule(output, at);
    }

    #[inline]
    fn sends_ahead(shard: &mut Shard<Self>, port: u32, offer: &Offer) -> bool {
        shard.send_ahead(port, offer)
    }

    #[inline]
    fn inject(shard: &mut Shard<Self>, port: u32, class: u8, now: u64) {
        if shard.ring(port, class) == NONE
            && let Some(packet) = shard.cut(port, class, now)
        {
            shard.send_or_wait(port, packet, now);
        }
    }

    #[inline]
    fn prefetch(shard: &mut Shard<Self>) {
        shard.prefetch_places();
        shard.prefetch_waiting();
    }

    fn waiting(shard: &Shard<Self>) -> Vec<(u32, u32)> {
        let queued = |port| (port, shard.queued(port));
        (0..shard.at.ports.len()).map(queued).filter(|&(_, bytes)| bytes > 0).collect()
    }
}

impl<Q: Queueing> Shard<PacketSwitch<Q>> {
    /// Puts the only packet of a message on the link of the interface `port` ahead of its time, if credit is
    /// certain: nobody else uses an interface.
    #[inline]
    fn send_ahead(&mut self, port: u32, offer: &Offer) -> bool {
        let switching = &self.fabric.switching;
        let single = offer.bytes <= u64::from(switching.payload) && switching.classes.count() == 1;
        // Where flows take turns, which packet is next is decided when the link is free.
        let single = single && (!self.rules.round_robin || self.at.ports[port].busy <= offer.time);
        if !single || !self.nobody_waits(port) || self.at.ports[port].holds() {
            return false;
        }
        let size = switching.wire(offer.bytes as u32);
        let lanes = self.fabric.routing.injection(switching.lanes);
        let Ok(lane) = self.roomiest(port, size, false, lanes, offer.time) else { return false };
        let source = self.endpoint_at(offer.interface);
        let packet = Packet::new(source, offer.destination, size, offer.time, offer.class);
        let index = self.packets.insert(packet);
        self.transmit(port, index, lane, offer.time);
        true
    }

    /// Sends the first packet that waits in an interface if it can leave; else queues it.
    fn send_or_wait(&mut self, port: u32, packet: u32, now: u64) {
        let state = &self.at.ports[port];
        let (busy, waits) = (state.busy, state.waits());
        let class = self.packets[packet].class;
        if busy <= now
            && waits == NONE
            && self.fabric.switching.classes.count() == 1
            && let Ok(lane) = self.eligible(port, packet, now)
        {
            self.transmit(port, packet, lane, now);
            self.refill(port, class, now);
            if !self.nobody_waits(port) {
                self.schedule(port, self.at.ports[port].busy);
            }
            return;
        }
        self.enqueue(port, packet);
        if busy > now { self.schedule(port, busy) } else { self.wake(port, now) }
    }

    /// Cuts the next packet of a class, if a message waits, and queues it.
    pub(super) fn refill(&mut self, port: u32, class: u8, now: u64) {
        if let Some(index) = self.cut(port, class, now) {
            self.enqueue(port, index);
        }
    }
}
