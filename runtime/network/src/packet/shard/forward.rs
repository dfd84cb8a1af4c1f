//! A packet's way through a router: routing, the link, the credit back.

use super::{Crossing, Shard};
use crate::packet::event::Kind;
use crate::packet::load::Load;
use crate::packet::port::{TO_ENDPOINT, TO_ROUTER, TO_SHARD};
use crate::packet::routing::Here;
use crate::packet::slab::NONE;

impl Shard {
    /// The head of packet `index`, in by port `input`, can be routed now.
    pub(super) fn arrive(&mut self, input: u32, index: u32, now: u64) {
        let fabric = &*self.fabric;
        let (position, local) = fabric.stride.split(input);
        let base = input - local;
        let here = Here {
            router: if self.routers.is_empty() { position } else { self.routers[position as usize] },
            input: local,
            lanes: fabric.switching.lanes,
            load: Load { ports: &self.ports, more_lanes: &self.more_lanes, fabric, base, now },
        };
        let packet = &mut self.packets[index];
        packet.hops += 1;
        packet.input = input;
        let hop = fabric.routing.route(&here, packet);
        packet.lanes = hop.lanes;
        packet.bubble = hop.bubble;
        packet.reserved = hop.reserve;
        let output = base + hop.port;
        if hop.reserve {
            self.reserve(output, index, now);
        }
        let port = &self.ports[output as usize];
        if port.busy <= now && port.queued == 0 {
            if let Ok(lane) = self.eligible(output, index, now) {
                self.transmit(output, index, lane, now);
                return;
            }
        }
        self.wait(output, index, now);
    }

    /// Takes the credit of a virtual channel that the routing found to have room.
    fn reserve(&mut self, output: u32, index: u32, now: u64) {
        let packet = &self.packets[index];
        let (size, bubble, lanes) = (packet.size, packet.bubble, packet.lanes);
        match self.roomiest(output, size, bubble, lanes, now) {
            Ok(lane) => {
                let charge = self.fabric.switching.charge(size);
                self.lane_mut(output, u32::from(lane)).take(charge, now);
                self.packets[index].lanes = (lane, lane + 1);
            }
            Err(_) => self.packets[index].reserved = false,
        }
    }

    /// Puts a packet on the link behind `output`, at `now` or when the link is free.
    pub(super) fn transmit(&mut self, output: u32, index: u32, lane: u8, now: u64) {
        let fabric = &*self.fabric;
        let port = &mut self.ports[output as usize];
        let packet = &mut self.packets[index];
        let link = &fabric.links[port.link as usize];
        let switching = &fabric.switching;
        let serialization = link.time(packet.size);
        let start = port.busy.max(now);
        let mut end = start + serialization;
        let mut head = end;
        if !switching.store_and_forward {
            let chunk = link.time(switching.chunk.min(packet.size));
            head = start + chunk;
            if packet.input != NONE {
                end = end.max(packet.tail + chunk);
            }
        }
        port.busy = end;
        let usage = &mut self.uses[output as usize];
        usage.bytes += u64::from(packet.size);
        usage.busy += end - start;
        usage.blocked += start - packet.ready;
        // A packet occupies its input buffer from its arrival, a router's delay before it is ready, until its last byte leaves.
        let (input, size, old_lane, resided) = (packet.input, packet.size, packet.lane, end - packet.ready + switching.router);
        let delay = link.latency.as_ps();
        let (kind, peer) = (port.end, port.peer);
        match kind {
            TO_ENDPOINT => self.arrived(index, end + delay),
            _ => {
                let delay = delay + switching.router;
                let charge = switching.charge(size);
                packet.ready = head + delay;
                packet.tail = end + delay;
                let ready = packet.ready;
                packet.lane = lane;
                if packet.reserved {
                    packet.reserved = false;
                } else {
                    self.lane_mut(output, u32::from(lane)).take(charge, now);
                }
                if kind == TO_ROUTER {
                    self.push(ready, Kind::Arrive, peer, index);
                } else {
                    debug_assert_eq!(kind, TO_SHARD);
                    let (shard, place) = self.remote[peer as usize];
                    let packet = self.packets[index].clone();
                    self.packets.remove(index);
                    self.outbox[shard as usize].push(Crossing::Packet(ready, place, packet));
                }
            }
        }
        if input != NONE {
            self.release(input, old_lane, size, resided, end, now);
        }
    }

    /// Frees the buffer at `input` that a packet leaves at `end`: its credit goes back over the cable.
    fn release(&mut self, input: u32, lane: u8, size: u32, resided: u64, end: u64, now: u64) {
        let port = &self.ports[input as usize];
        let at = end + self.fabric.credit[port.link as usize];
        let charge = self.fabric.switching.charge(size);
        let (kind, peer) = (port.end, port.peer);
        self.uses[input as usize].occupancy += u64::from(charge) * (resided / 1000);
        if !self.input_busy.is_empty() {
            self.input_busy[input as usize] = end;
        }
        if kind == TO_SHARD {
            let (shard, place) = self.remote[peer as usize];
            self.outbox[shard as usize].push(Crossing::Credit(at, place, lane, charge));
        } else {
            self.credit(peer, lane, charge, at, now);
        }
    }

    /// `bytes` of a virtual channel of `output` become free at `at`.
    #[inline]
    pub(super) fn credit(&mut self, output: u32, lane: u8, bytes: u32, at: u64, now: u64) {
        if !self.lane_mut(output, u32::from(lane)).note(bytes, at, now) {
            self.push(at, Kind::Credit, output, u32::from(lane) << 24 | bytes);
        }
        let port = &self.ports[output as usize];
        if port.queued > 0 {
            let when = at.max(port.busy);
            self.schedule(output, when);
        }
    }
}
