//! A packet's way through a router: routing, the link, the credit back.

use super::link_times::LinkTimes;
use super::packet_switch::{PacketSwitch, Queueing};
use super::{Router, Shard};
use crate::packet::event::{EventKind, PacketEvent};
use crate::packet::load::{PortLoads, QueuedPacket};
use crate::packet::port::{Flag, Packet, TO_ENDPOINT, TO_SHARD, UPSTREAM_REMOTE};
use crate::packet::routing::Here;
use crate::packet::slab::NONE;
use std::collections::VecDeque;

/// Notes what was put on a link, and forgets what is back.
pub(super) fn note_flight(flights: &mut VecDeque<QueuedPacket>, flight: QueuedPacket, now: u64) {
    while flights.front().is_some_and(|flight| flight.back <= now) {
        flights.pop_front();
    }
    flights.push_back(flight);
}

impl<R: Router> Shard<R> {
    /// Decides where packet `index`, in by port `input`, goes on: `next`, `lanes` and what else depends on
    /// the routing.
    #[inline]
    pub(super) fn route(&mut self, input: u32, index: u32, now: u64) {
        let fabric = &*self.fabric;
        let (position, local) = fabric.stride.split(input);
        let base = input - local;
        let here = Here {
            router: self.router_at(position),
            input: local,
            lanes: fabric.switching.lanes,
            load: PortLoads { at: &self.at, fabric, base, now },
        };
        let packet = &mut self.packets[index];
        packet.hops += 1;
        let hop = fabric.routing.route(&here, packet);
        packet.lanes = hop.lanes.into();
        packet.bubble = hop.bubble.into();
        packet.reserved = hop.reserve.into();
        packet.next = base + hop.port;
    }

    /// `bytes` of a virtual channel of `output`, `held` for so long, become free at `at`.
    #[inline(always)]
    pub(super) fn credit(&mut self, output: u32, lane: u8, bytes: u32, at: u64, held: u64, now: u64) {
        let port = &mut self.at.ports[output];
        self.carried.held(output, &mut port.usage, u64::from(bytes) * (held / 1000));
        let (waits, when) = (port.waits() != NONE, at.max(port.busy));
        let noted = if lane == 0 {
            port.first_lane.note(bytes, at, now)
        } else {
            self.lane_mut(output, u32::from(lane)).note(bytes, at, now)
        };
        if !noted {
            self.push(at, EventKind::Credit, output, u32::from(lane) << 24 | bytes);
        }
        // A credit is an event only where somebody waits for it or no note has room: else it costs a write.
        if waits && !self.nobody_waits(output) {
            R::schedule(self, output, when);
        }
    }
}

impl<Q: Queueing> Shard<PacketSwitch<Q>> {
    /// Packet `index` asks for an output.
    #[inline(always)]
    pub(super) fn forward(&mut self, input: u32, index: u32, now: u64) {
        if !self.rules.routes_early {
            self.route(input, index, now);
        }
        let packet = &self.packets[index];
        let output = packet.next;
        // The routing promised this credit: another packet that comes in between must not get it.
        if packet.reserved.is_set() {
            self.arrive_reserved(output, index, now);
            return;
        }
        if let Some(lane) = Q::lane_at_once(self, output, index, now) {
            self.transmit(output, index, lane, now);
            return;
        }
        self.wait(output, index, now);
    }

    /// Goes on with a packet whose credit is taken at once.
    fn arrive_reserved(&mut self, output: u32, index: u32, now: u64) {
        self.reserve(output, index, now);
        if self.at.ports[output].busy <= now
            && self.nobody_waits(output)
            && !self.router.queueing.has_cycles()
            && let Ok(lane) = self.eligible(output, index, now)
        {
            self.transmit(output, index, lane, now);
            return;
        }
        self.wait(output, index, now);
    }

    /// Takes the credit of a virtual channel that the routing found to have room.
    fn reserve(&mut self, output: u32, index: u32, now: u64) {
        let packet = &self.packets[index];
        let (size, bubble, lanes) = (packet.size, packet.bubble.is_set(), packet.lanes.into());
        match self.roomiest(output, size, bubble, lanes, now) {
            Ok(lane) => {
                let charge = self.fabric.switching.charge(size);
                self.lane_mut(output, u32::from(lane)).take(charge, now);
                self.packets[index].lanes = [lane, lane + 1];
            }
            Err(_) => self.packets[index].reserved = Flag::CLEAR,
        }
    }

    /// Puts a packet on the link behind `output`, at `now` or when the link is free.
    #[inline]
    pub(super) fn transmit(&mut self, output: u32, index: u32, lane: u8, now: u64) {
        let link = self.kind_of(output);
        let port = &mut self.at.ports[output];
        let packet = &mut self.packets[index];
        let size = packet.size;
        let times = &mut self.router.times[link as usize];
        if times.size != size {
            *times = LinkTimes::of(&self.fabric, link, size);
        }
        let (whole, chunk, flight, to_router, charge) =
            (times.whole, times.chunk, times.flight, times.to_router, times.charge);
        let start = port.busy.max(now);
        let mut end = start + whole;
        let mut head = start + chunk;
        if !self.router.store_and_forward && packet.upstream != NONE {
            end = end.max(packet.tail + chunk);
        }
        port.busy = end;
        self.carried.sent(output, &mut port.usage, size, (start, end - start), start - packet.ready);
        // A packet occupies its input buffer from its arrival, a router's delay before it is ready, until its
        // last byte leaves.
        let (upstream, origin, old_lane, since) = (packet.upstream, packet.origin, packet.lane, packet.ready);
        let (kind, peer) = (port.end(), port.peer());
        if let Some(flights) = self.at.flights.get_mut(output as usize) {
            let passing = if self.router.store_and_forward { whole } else { chunk };
            let back = end + to_router + passing + self.fabric.credit[link as usize];
            note_flight(flights, QueuedPacket { start, back, charge }, now);
        }
        if kind == TO_ENDPOINT {
            self.arrived(index, end + flight);
        } else {
            head += to_router;
            let (tail, reserved) = (end + to_router, packet.reserved.is_set());
            let go_on = |packet: &mut Packet| {
                (packet.ready, packet.tail, packet.lane, packet.upstream) = (head, tail, lane, output);
                packet.reserved = Flag::CLEAR;
            };
            if !reserved && lane == 0 {
                port.first_lane.take(charge, now);
            } else if !reserved {
                self.lane_mut(output, u32::from(lane)).take(charge, now);
            }
            // What is the same for all packets first: the kind of link cannot be foreseen.
            if self.border.shared.is_any() || kind != TO_SHARD {
                let packet = &mut self.packets[index];
                go_on(packet);
                let leaves = (kind == TO_SHARD) & !self.border.shared.is_behind(packet.destination);
                if self.rules.routes_early {
                    self.route(peer, index, now);
                }
                let event = PacketEvent::new(head, EventKind::Arrive, peer, index);
                if self.rules.alone {
                    self.wheel.push(event);
                } else {
                    self.border.leaving += usize::from(leaves);
                    self.wheel.push_unless(event, leaves);
                }
            } else {
                // Copied first: what was just written in parts cannot be read as a whole at once.
                let mut packet = self.packets[index];
                go_on(&mut packet);
                self.packets.remove(index);
                self.tell(self.other_shard(output), peer, packet);
            }
        }
        if upstream != NONE {
            self.release((upstream, origin), old_lane, size, since, end, now);
        }
    }

    /// Frees the buffer that a packet leaves at `end`: its credit goes back over the cable.
    #[inline(always)]
    fn release(
        &mut self,
        (upstream, origin): (u32, u32),
        lane: u8,
        size: u32,
        since: u64,
        end: u64,
        now: u64,
    ) {
        Q::leave_input(self, upstream, lane, end, now);
        let held = end + self.rules.router_delay - since;
        if upstream & UPSTREAM_REMOTE != 0 {
            self.release_remote(upstream & !UPSTREAM_REMOTE, origin, lane, size, held, end);
            return;
        }
        let link = self.kind_of(upstream);
        let times = &mut self.router.times[link as usize];
        if times.size != size {
            *times = LinkTimes::of(&self.fabric, link, size);
        }
        let (at, charge) = (end + times.credit, times.charge);
        self.credit(upstream, lane, charge, at, held, now);
    }
}
