//! Wormhole switching: an input-queued router with virtual channels that works flit by flit (Dally,
//! "Virtual-channel flow control", IEEE TPDS 3, 1992). It has the allocators of BookSim2 (Jiang et al., "A
//! detailed and flexible cycle-accurate network-on-chip simulator", ISPASS 2013).
//!
//! In each step of its clock a router gives free virtual channels of its outputs to packets at the head of
//! its inputs' virtual channels. It matches inputs with outputs for the flits of packets that had theirs
//! before. Both by one iteration of iSLIP. A packet owns its output's virtual channel until its tail has
//! left. A step costs O(ports x virtual channels).

mod allocators;

use super::{Router, ShardSize};
use crate::packet::event::EventKind;
use crate::packet::fabric::{PacketFabric, Switching};
use crate::packet::load::QueuedPacket;
use crate::packet::port::{NEVER, TO_ENDPOINT};
use crate::packet::shard::forward::note_flight;
use crate::packet::shard::{Offer, Shard};
use crate::packet::slab::NONE;
use allocators::{AllocationRequest, allocate, match_ports};
use std::collections::VecDeque;

/// Resource or event that a virtual channel of an input waits for.
#[derive(Clone, Copy, PartialEq, Eq)]
enum VcStage {
    /// A head flit.
    Empty,
    /// To be routed, from a time on.
    Route(u64),
    /// A virtual channel of its output.
    Allocate,
    /// The switch, from a time on, and credit.
    Switch(u64),
}

/// A virtual channel of an input.
struct InputVc {
    stage: VcStage,
    /// Packets of which flits are here or on the link, in their order.
    packets: VecDeque<u32>,
    /// Flits here, and flits of the first packet that have gone on.
    flits: u32,
    sent: u32,
    /// The output of the first packet, from 0, and the virtual channels that it may take, or has taken.
    output: u32,
    lanes: (u8, u8),
    /// When `flits` changed, for the occupancy.
    changed: u64,
}

/// The packet that an interface is sending.
#[derive(Clone, Copy)]
struct Injection {
    packet: u32,
    /// Flits that have left.
    sent: u32,
    lane: u8,
    /// When the interface is looked at next.
    wake: u64,
}

/// The state of all routers and interfaces.
pub(crate) struct Wormhole {
    /// Bytes of a flit, and picoseconds between two steps of a router.
    flit: u32,
    step: u64,
    turnaround: u64,
    /// When each router's next step is, and when its last was (`NEVER`: none yet).
    next: Vec<u64>,
    stepped: Vec<u64>,
    inputs: Vec<InputVc>,
    /// `true` for each virtual channel of a router's output that a packet owns.
    owned: Vec<bool>,
    /// iSLIP's pointers of virtual channels, as outputs and as inputs; of ports, as outputs and as inputs;
    /// the virtual channel of each input that is next in turn.
    grant: Vec<u32>,
    accept: Vec<u32>,
    switch_grant: Vec<u32>,
    switch_accept: Vec<u32>,
    turn: Vec<u32>,
    injections: Vec<Injection>,
    /// Memory for one step.
    best: Vec<Option<(u32, u32)>>,
    requests: Vec<AllocationRequest>,
}

impl Router for Wormhole {
    fn fits(switching: &Switching) -> bool {
        switching.wormhole.is_some()
    }

    fn new(fabric: &PacketFabric, size: ShardSize) -> Wormhole {
        let worm = fabric.switching.wormhole.as_ref().expect("the kind of router fits");
        let channels = size.ports * fabric.switching.lanes as usize;
        let input = || InputVc {
            stage: VcStage::Empty,
            packets: VecDeque::new(),
            flits: 0,
            sent: 0,
            output: 0,
            lanes: (0, 0),
            changed: 0,
        };
        Wormhole {
            flit: worm.flit,
            step: worm.step,
            turnaround: worm.turnaround,
            next: vec![NEVER; size.routers],
            stepped: vec![NEVER; size.routers],
            inputs: std::iter::repeat_with(input).take(channels).collect(),
            owned: vec![false; channels],
            grant: vec![0; channels],
            accept: vec![0; channels],
            switch_grant: vec![0; size.ports],
            switch_accept: vec![0; size.ports],
            turn: vec![0; size.ports],
            injections: vec![Injection { packet: NONE, sent: 0, lane: 0, wake: NEVER }; size.interfaces],
            best: Vec::new(),
            requests: Vec::new(),
        }
    }

    fn routes_early(_: &Switching) -> bool {
        true
    }

    /// Does nothing: flits arrive, packets do not.
    fn arrive(_: &mut Shard<Self>, _: u32, _: u32, _: u64) {}

    fn head(shard: &mut Shard<Self>, input: u32, lane: u32, now: u64) {
        shard.flit_arrives(input, lane, now);
    }

    fn cycle(shard: &mut Shard<Self>, port: u32, now: u64) {
        if shard.is_interface(port) { shard.inject_flit(port, now) } else { shard.step(port, now) }
    }

    /// Does nothing: routers and interfaces are served in cycles.
    fn grant(_: &mut Shard<Self>, _: u32, _: u64) {}

    /// Does nothing, for the same reason.
    fn schedule(_: &mut Shard<Self>, _: u32, _: u64) {}

    fn sends_ahead(_: &mut Shard<Self>, _: u32, _: &Offer) -> bool {
        false
    }

    fn inject(shard: &mut Shard<Self>, port: u32, _: u8, now: u64) {
        shard.schedule_injection(port, now);
    }

    fn prefetch(shard: &mut Shard<Self>) {
        shard.prefetch_places();
    }

    /// Returns the bytes of flits at each input.
    fn waiting(shard: &Shard<Self>) -> Vec<(u32, u32)> {
        let Wormhole { inputs, flit, .. } = &shard.router;
        let lanes = shard.fabric.switching.lanes as usize;
        let bytes = |inputs: &[InputVc]| inputs.iter().map(|input| input.flits * flit).sum();
        (0..).zip(inputs.chunks(lanes).map(bytes)).filter(|&(_, bytes)| bytes > 0).collect()
    }
}

impl Shard<Wormhole> {
    /// Makes sure that the router whose first port is `base` steps at its clock's first tick from `at` on.
    fn schedule_step(&mut self, base: u32, at: u64) {
        let router = (base / self.fabric.stride.divisor()) as usize;
        let worms = &mut self.router;
        let at = at.div_ceil(worms.step).saturating_mul(worms.step);
        // Routers with nothing to do have no event: a network at low load costs what its packets cost, not
        // what its cycles do.
        if at < worms.next[router] {
            worms.next[router] = at;
            self.push(at, EventKind::Cycle, base, 0);
        }
    }

    /// A flit comes into virtual channel `lane` of the input at `port`.
    fn flit_arrives(&mut self, port: u32, lane: u32, now: u64) {
        let router_delay = self.rules.router_delay;
        let (_, local) = self.fabric.stride.split(port);
        let place = (port * self.fabric.switching.lanes + lane) as usize;
        self.note_occupancy(port, place, now);
        let worms = &mut self.router;
        let input = &mut worms.inputs[place];
        input.flits += 1;
        let at = match input.stage {
            VcStage::Empty => {
                input.stage = VcStage::Route(now + router_delay);
                now + router_delay
            }
            VcStage::Switch(from) => now.max(from),
            VcStage::Route(_) | VcStage::Allocate => return,
        };
        self.schedule_step(port - local, at);
    }

    /// Counts the bytes that were in the buffer of an input since they last changed.
    fn note_occupancy(&mut self, port: u32, place: usize, now: u64) {
        let worms = &mut self.router;
        let input = &mut worms.inputs[place];
        let held = u64::from(input.flits * worms.flit) * ((now - input.changed) / 1000);
        input.changed = now;
        let upstream = self.at.ports[port].peer();
        self.carried.held(upstream, &mut self.at.ports[upstream].usage, held);
    }

    /// Does a step of the router whose first port is `base`.
    fn step(&mut self, base: u32, now: u64) {
        let (stride, lanes) = (self.fabric.stride.divisor(), self.fabric.switching.lanes);
        let router = (base / stride) as usize;
        // A step that was scheduled and then brought forward happens all the same, for a credit may come with
        // it; but one an instant.
        if std::mem::replace(&mut self.router.stepped[router], now) == now {
            return;
        }
        if self.router.next[router] <= now {
            self.router.next[router] = NEVER;
        }
        let first = (base * lanes) as usize;
        let mut again = self.route_heads(base, now);
        // Separate from the matching below, and applied after it: a packet that gets its virtual channel in
        // this step requests the switch in the next.
        let allocated = allocate(&mut self.router, first, stride * lanes, lanes);
        again = again.min(self.request_switch(base, now));
        let matched = match_ports(&mut self.router, base, stride);
        let step = self.router.step;
        for (channel, output) in allocated {
            let (at, from) = (first + channel as usize, now + step);
            self.router.owned[first + output as usize] = true;
            let lane = (output % lanes) as u8;
            let input = &mut self.router.inputs[at];
            (input.stage, input.lanes) = (VcStage::Switch(from), (lane, lane + 1));
            again = again.min(from);
        }
        for &AllocationRequest { input, output, lane, .. } in &matched {
            self.send_flit(base, input, lane, output, now);
        }
        if !matched.is_empty() {
            again = again.min(now + step);
        }
        if again != NEVER {
            self.schedule_step(base, again.max(now + step));
        }
    }

    /// Routes the heads whose time has come. Returns the earliest time of another's, or of this one's next
    /// try.
    fn route_heads(&mut self, base: u32, now: u64) -> u64 {
        let lanes = self.fabric.switching.lanes;
        let mut again = NEVER;
        for channel in 0..self.fabric.stride.divisor() * lanes {
            let at = (base * lanes + channel) as usize;
            let input = &self.router.inputs[at];
            match input.stage {
                VcStage::Route(from) if from <= now => {
                    let index = input.packets[0];
                    self.packets[index].lane = (channel % lanes) as u8;
                    self.route(base + channel / lanes, index, now);
                    let packet = &self.packets[index];
                    let input = &mut self.router.inputs[at];
                    (input.stage, input.output) = (VcStage::Allocate, packet.next - base);
                    // An endpoint takes packets by any virtual channel.
                    let ejects = self.at.ports[packet.next].end() == TO_ENDPOINT;
                    input.lanes = if ejects { (0, lanes as u8) } else { packet.lanes.into() };
                }
                VcStage::Route(from) => again = again.min(from),
                _ => {}
            }
        }
        again
    }

    /// Collects which inputs request which outputs: of the virtual channels of an input that request one
    /// output the first in turn. Returns when to do so again (`NEVER`: when a flit or a credit comes).
    fn request_switch(&mut self, base: u32, now: u64) -> u64 {
        let (stride, lanes) = (self.fabric.stride.divisor(), self.fabric.switching.lanes);
        let mut requests = std::mem::take(&mut self.router.requests);
        let worms = &self.router;
        requests.clear();
        let mut again = NEVER;
        for port in 0..stride {
            let start = requests.len();
            for lane in 0..lanes {
                let input = &worms.inputs[((base + port) * lanes + lane) as usize];
                let VcStage::Switch(from) = input.stage else { continue };
                if input.flits == 0 {
                    continue;
                }
                if let Err(at) = self.can_send(base + input.output, input.lanes.0, from, worms.flit, now) {
                    again = again.min(at);
                    continue;
                }
                let turns = (lane + lanes - worms.turn[(base + port) as usize]) % lanes;
                let request = AllocationRequest { input: port, output: input.output, lane, turns };
                match requests[start..].iter_mut().find(|other| other.output == request.output) {
                    Some(other) if turns < other.turns => *other = request,
                    Some(_) => {}
                    None => requests.push(request),
                }
                again = now;
            }
        }
        self.router.requests = requests;
        again
    }

    /// Returns whether a flit can go out by a virtual channel now; else when to ask again (`NEVER`: when a
    /// credit comes).
    fn can_send(&self, output: u32, lane: u8, from: u64, flit: u32, now: u64) -> Result<(), u64> {
        let port = &self.at.ports[output];
        let ahead =
            self.fabric.links[self.kind_of(output) as usize].time(self.fabric.switching.output.max(1));
        let soonest = from.max(if port.busy > now { port.busy.saturating_sub(ahead) } else { now });
        if soonest > now {
            return Err(soonest);
        }
        if port.end() == TO_ENDPOINT {
            return Ok(());
        }
        let state = self.lane(output, lane.into());
        if state.has(flit, now) { Ok(()) } else { Err(state.next_credit(now)) }
    }

    /// Sends the next flit of a virtual channel of an input.
    fn send_flit(&mut self, base: u32, port: u32, lane: u32, output: u32, now: u64) {
        let (lanes, output) = (self.fabric.switching.lanes, base + output);
        let place = ((base + port) * lanes + lane) as usize;
        self.note_occupancy(base + port, place, now);
        let worms = &mut self.router;
        let input = &mut worms.inputs[place];
        let (packet, out_lane) = (input.packets[0], input.lanes.0);
        input.flits -= 1;
        input.sent += 1;
        let (sent, flit) = (input.sent, worms.flit);
        let size = self.packets[packet].size;
        let is_tail = sent == size.div_ceil(flit);
        if is_tail {
            worms.owned[output as usize * lanes as usize + out_lane as usize] = false;
            input.packets.pop_front();
            input.sent = 0;
            let at = now + worms.turnaround.max(worms.step);
            input.stage = if input.flits > 0 { VcStage::Route(at) } else { VcStage::Empty };
            if input.flits > 0 {
                self.schedule_step(base, at);
            }
        }
        let ready = self.packets[packet].ready;
        let end = self.put_flit(
            output,
            packet,
            out_lane,
            (sent - 1, flit, size),
            if sent == 1 { now - ready.min(now) } else { 0 },
            now,
        );
        self.return_credit(self.at.ports[base + port].peer(), lane as u8, flit, end, now);
    }

    /// Puts flit number `number` of a packet on the link behind `output`; the answer is when its last byte
    /// has left.
    fn put_flit(
        &mut self,
        output: u32,
        packet: u32,
        lane: u8,
        (number, flit, size): (u32, u32, u32),
        blocked: u64,
        now: u64,
    ) -> u64 {
        let link = self.kind_of(output);
        let (time, flight) =
            (self.fabric.links[link as usize].time(flit), self.fabric.links[link as usize].latency.as_ps());
        let (bytes, is_tail) = (flit.min(size - number * flit), (number + 1) * flit >= size);
        let port = &mut self.at.ports[output];
        let start = port.busy.max(now);
        let end = start + time;
        port.busy = end;
        self.carried.sent(output, &mut port.usage, bytes, (start, time), blocked);
        let (kind, peer) = (port.end(), port.peer());
        if kind == TO_ENDPOINT {
            if is_tail {
                self.arrived(packet, end + flight);
            }
            return end;
        }
        if let Some(flights) = self.at.flights.get_mut(output as usize) {
            let back = end + flight + self.fabric.credit[link as usize];
            note_flight(flights, QueuedPacket { start, back, charge: flit }, now);
        }
        self.lane_mut(output, lane.into()).take(flit, now);
        if number == 0 {
            self.packets[packet].ready = end + flight + self.rules.router_delay;
            let place = peer as usize * self.fabric.switching.lanes as usize + lane as usize;
            self.router.inputs[place].packets.push_back(packet);
        }
        self.push(end + flight, EventKind::Head, peer, lane.into());
        end
    }

    /// Sends back the credit for a flit's room in a buffer: the other end of the cable, `upstream`, knows it
    /// free once the credit is there.
    fn return_credit(&mut self, upstream: u32, lane: u8, flit: u32, end: u64, now: u64) {
        let at = end + self.fabric.credit[self.kind_of(upstream) as usize];
        if !self.lane_mut(upstream, lane.into()).note(flit, at, now) {
            self.push(at, EventKind::Credit, upstream, u32::from(lane) << 24 | flit);
            // Nobody can look up when it comes, so that what it wakes may not be left to an earlier step.
            let place = if self.is_interface(upstream) {
                upstream
            } else {
                upstream - self.fabric.stride.split(upstream).1
            };
            let step = if self.is_interface(upstream) { 1 } else { self.router.step };
            self.push(at.next_multiple_of(step), EventKind::Cycle, place, 0);
            return;
        }
        if self.is_interface(upstream) {
            self.schedule_injection(upstream, at);
        } else {
            self.schedule_step(upstream - self.fabric.stride.split(upstream).1, at);
        }
    }

    /// Makes sure that an interface is served by `at`.
    fn schedule_injection(&mut self, port: u32, at: u64) {
        let wake = &mut self.router.injections[(port - self.first_interface) as usize].wake;
        if at < *wake {
            *wake = at;
            self.push(at, EventKind::Cycle, port, 0);
        }
    }

    /// Sends the next flit of an interface, if its link is free and there is credit. A packet takes the first
    /// virtual channel with room, counted from the one after the last packet's.
    fn inject_flit(&mut self, port: u32, now: u64) {
        let interface = (port - self.first_interface) as usize;
        let worms = &mut self.router;
        let flit = worms.flit;
        let mut injection = worms.injections[interface];
        if injection.wake <= now {
            injection.wake = NEVER;
        }
        let busy = self.at.ports[port].busy;
        if busy > now {
            worms.injections[interface] = injection;
            self.schedule_injection(port, busy);
            return;
        }
        if injection.packet == NONE {
            worms.injections[interface] = injection;
            let Some(packet) = self.cut(port, 0, now) else { return };
            (injection.packet, injection.sent) = (packet, 0);
        }
        let packet = injection.packet;
        let (ready, size) = (self.packets[packet].ready, self.packets[packet].size);
        let lane = if injection.sent > 0 {
            self.lane(port, injection.lane.into()).has(flit, now).then_some(injection.lane)
        } else {
            let (first, end) = self.fabric.routing.injection(self.fabric.switching.lanes);
            let count = end - first;
            let order = (1..=count).map(|turn| first + (injection.lane.max(first) - first + turn) % count);
            order.into_iter().find(|&lane| self.lane(port, lane.into()).has(flit, now))
        };
        if let Some(lane) = lane {
            let end = self.put_flit(
                port,
                packet,
                lane,
                (injection.sent, flit, size),
                if injection.sent == 0 { now - ready } else { 0 },
                now,
            );
            injection.lane = lane;
            injection.sent += 1;
            if injection.sent == size.div_ceil(flit) {
                injection.packet = NONE;
            }
            self.router.injections[interface] = injection;
            self.schedule_injection(port, end);
        } else {
            self.router.injections[interface] = injection;
            let credit = (0..self.fabric.switching.lanes)
                .map(|lane| self.lane(port, lane).next_credit(now))
                .min()
                .unwrap_or(NEVER);
            self.schedule_injection(port, credit);
        }
    }
}
