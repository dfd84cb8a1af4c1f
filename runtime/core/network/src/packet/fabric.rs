//! What all shards of a network share and never change: cabling, routing, switching, links.

use super::flow::FlowOptions;
use super::port::{Fifo, MAX_PORT_KINDS};
use super::port_table::PortTable;
use super::routing::Routing;
use crate::divisor::Divisor;
use crate::machine::MachineError;
use crate::topology::{Cabling, LinkKind, Neighbor};
use std::sync::Arc;

/// Rule by which traffic classes share a link.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Classes {
    /// This many; a lower number goes first whenever it can.
    Strict(u8),
    /// Bytes in proportion to the weights, each at least 1.
    Weighted(Vec<u32>),
}

impl Classes {
    /// Returns how many classes.
    pub fn count(&self) -> u8 {
        match self {
            Classes::Strict(count) => *count,
            Classes::Weighted(weights) => weights.len() as u8,
        }
    }
}

/// Switching parameters of the routers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Switching {
    /// A router waits for the whole packet (else for its first chunk).
    pub store_and_forward: bool,
    /// Bytes of a chunk, what cut-through waits for.
    pub chunk: u32,
    /// The most payload of a packet, in bytes.
    pub payload: u32,
    /// Bytes that each packet has beside its payload.
    pub header: u32,
    /// Virtual channels of a link.
    pub lanes: u32,
    /// Bytes of input buffer of each virtual channel.
    pub buffer: u32,
    /// `true` if a buffer holds so many packets of any size (for the bubble rule) instead of bytes.
    pub slotted: bool,
    /// Time between a head's arrival and its routing, in picoseconds.
    pub router: u64,
    /// Way back of a credit in picoseconds; the link's latency if not given.
    pub credit: Option<u64>,
    /// Bytes that an output takes ahead, in order of arrival; beyond them inputs take turns.
    pub output: u32,
    /// `true` if an input sends to one output at a time.
    pub crossbar: bool,
    /// With inputs and outputs matched in cycles: picoseconds of one.
    pub cycle: Option<u64>,
    /// With one queue a virtual channel instead of one for each output: how long after a packet has left the
    /// next of its virtual channel can ask for an output, in picoseconds.
    pub fifo: Option<u64>,
    /// With flits that pass routers one by one.
    pub wormhole: Option<Worm>,
    /// Traffic classes.
    pub classes: Classes,
    /// `true` if interfaces serve flows in turn, a packet each; else messages in their order.
    pub round_robin: bool,
}

/// Wormhole switching.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Worm {
    /// Bytes of a flit.
    pub flit: u32,
    /// Picoseconds between two steps of a router.
    pub step: u64,
    /// Picoseconds from a packet's tail until the next packet of its virtual channel asks for an output.
    pub turnaround: u64,
}

impl Switching {
    /// Returns the bytes of the largest packet.
    #[inline]
    pub fn packet(&self) -> u32 {
        self.payload + self.header
    }
    /// Returns the bytes of buffer that a packet of `size` takes.
    #[inline]
    pub fn charge(&self, size: u32) -> u32 {
        if self.slotted { self.packet() } else { size }
    }
    /// Wire bytes of a packet with this payload; at least one.
    #[inline]
    pub fn wire(&self, payload: u32) -> u32 {
        (payload + self.header).max(1)
    }
}

/// The parts of a packet network that no event changes.
pub(crate) struct PacketFabric {
    pub(crate) topology: Arc<dyn Cabling>,
    pub(crate) routing: Arc<dyn Routing>,
    pub(crate) switching: Switching,
    pub(crate) links: Vec<LinkKind>,
    /// Picoseconds that a credit takes back over each kind of link.
    pub(crate) credit: Vec<u64>,
    /// The kind of link from an endpoint to its router.
    pub(crate) injection: Option<u8>,
    /// The kind of link from a router to an endpoint, if it is not the topology's.
    pub(crate) ejection: Option<u8>,
    /// Ports of a router in the numbering of ports.
    pub(crate) stride: Divisor,
    /// The rules of flows, at their level.
    pub(crate) flow: FlowOptions,
}

impl PacketFabric {
    /// Returns a lower bound on the time between a shard's decision and its effect on another, in
    /// picoseconds: the smallest packet (or its first chunk) must be sent, fly and be looked at. A credit
    /// goes back once a packet was sent.
    pub(crate) fn lookahead(&self, smallest: u32) -> u64 {
        let switching = &self.switching;
        let links = || {
            self.links
                .iter()
                .zip(&self.credit)
                .enumerate()
                .filter(|(index, _)| self.injection != Some(*index as u8))
                .map(|(_, l)| l)
        };
        let first = if switching.store_and_forward { smallest } else { switching.chunk.min(smallest) };
        let packet = links()
            .map(|(link, _)| link.time(first) + link.latency.as_ps() + switching.router)
            .min()
            .unwrap_or(1);
        let sent = self.links.iter().map(|link| link.time(smallest)).min().unwrap_or(0);
        let credit = links().map(|(_, credit)| *credit).min().unwrap_or(0);
        packet.min(sent + credit).max(1)
    }

    /// Returns the last picosecond at which an event may happen: all that follows from it at once is before
    /// 2^64, so that events need not look for the end of time. `ahead` are the bytes that an interface takes
    /// on ahead of their time. `None` where one packet may take so long that less than half of the range is
    /// left.
    pub(crate) fn last_event(&self, ahead: u64) -> Option<u64> {
        let step = self.longest_step(ahead)?;
        (step < 1 << 63).then_some(u64::MAX - 1 - step)
    }

    /// No event follows at once from another of so many picoseconds before, if an interface takes `ahead`
    /// bytes on ahead of their time. `None` beyond 2^64.
    pub(crate) fn longest_step(&self, ahead: u64) -> Option<u64> {
        let switching = &self.switching;
        let delays = switching
            .router
            .checked_add(switching.cycle.unwrap_or(0))?
            .checked_add(switching.fifo.unwrap_or(0))?;
        let worm = switching.wormhole.as_ref();
        let delays = worm.map_or(Some(delays), |worm| {
            delays.checked_add(worm.step)?.checked_add(worm.step)?.checked_add(worm.turnaround)
        })?;
        let longest = self.links.iter().zip(&self.credit).enumerate().try_fold(
            0u64,
            |longest, (kind, (link, credit))| {
                let ahead = if self.injection.is_none_or(|injection| usize::from(injection) == kind) {
                    ahead
                } else {
                    0
                };
                let bytes = ahead + u64::from(switching.output) + 2 * u64::from(switching.packet());
                let time = link.checked_time(bytes)?.checked_add(link.latency.as_ps().max(*credit))?;
                Some(longest.max(time))
            },
        )?;
        longest.checked_add(delays)
    }

    /// Returns why `last_event` is none.
    pub(crate) fn too_slow(&self) -> String {
        format!(
            "a packet of {} bytes, with what goes ahead of it, takes more than 2^63 picoseconds (106 days) \
             over a link; raise b or lower l, router, packet, outq or buf",
            self.switching.packet()
        )
    }

    /// Says that the ports need more memory than there is, and what to do.
    pub(crate) fn too_large(&self, needed: u64, available: u64, remedy: &str) -> MachineError {
        let gib = |bytes: u64| bytes as f64 / (1u64 << 30) as f64;
        MachineError::new(format!(
            "{} would need {:.1} GiB for its {} ports, but {:.1} GiB are available; {remedy}",
            self.topology.describe(),
            gib(needed),
            self.ports(),
            gib(available)
        ))
    }

    /// Returns `true` if a router's outputs know nothing of each other, nor the routing of them: then a
    /// router's outputs can lie on several threads.
    pub(crate) fn has_independent_outputs(&self) -> bool {
        let switching = &self.switching;
        !self.routing.looks_at_load()
            && !switching.crossbar
            && switching.fifo.is_none()
            && switching.cycle.is_none()
    }

    /// Ports of routers and interfaces.
    pub(crate) fn ports(&self) -> u64 {
        u64::from(self.topology.routers()) * u64::from(self.stride.divisor())
            + u64::from(self.topology.endpoints())
    }

    /// Returns the bytes of memory that the network takes before any packet enters it, about.
    pub(crate) fn memory(&self) -> u64 {
        let (lanes, classes) = (u64::from(self.switching.lanes), u64::from(self.switching.classes.count()));
        let port = PortTable::bytes(self.switching.lanes)
            + 12 * (classes - 1)
            + u64::from(self.links.len() > usize::from(MAX_PORT_KINDS))
            + 8
            + if self.switching.wormhole.is_some() { 80 * lanes + 12 } else { 0 }
            + if self.switching.fifo.is_some() { lanes * size_of::<Fifo>() as u64 } else { 0 };
        self.ports() * port + u64::from(self.topology.endpoints()) * (200 + 16 * classes)
    }

    /// Time of a packet of `size` bytes over `kinds` of links with nobody else in the network, in
    /// picoseconds. With store-and-forward it is the sum of every link's serialisation and latency and every
    /// router's delay: FatTreeSim's T = H (D/B + Tp) + Ts (Liu et al., SIGSIM-PADS 2015, equation 1). H are
    /// the links passed, the interface's included, and Ts the routers' delays.
    pub(crate) fn zero_load(&self, size: u32, kinds: &[u8]) -> u64 {
        let switching = &self.switching;
        let (mut head, mut tail) = (0u64, 0u64);
        for (index, &kind) in kinds.iter().enumerate() {
            let link = &self.links[kind as usize];
            let whole = link.time(size);
            let chunk = link.time(switching.chunk.min(size));
            let end = if index == 0 {
                whole
            } else if switching.store_and_forward {
                tail.saturating_add(whole)
            } else {
                head.saturating_add(whole).max(tail.saturating_add(chunk))
            };
            let first = if switching.store_and_forward { end } else { head.saturating_add(chunk) };
            let router = if index + 1 < kinds.len() { switching.router } else { 0 };
            head = first.saturating_add(link.latency.as_ps()).saturating_add(router);
            tail = end.saturating_add(link.latency.as_ps()).saturating_add(router);
        }
        tail
    }

    /// Time of a packet of `size` bytes, sent at time 0, over `kinds` of links with nobody else in the
    /// network and room in every buffer, in picoseconds. With wormhole switching it is found flit by flit,
    /// for routers act at the ticks of their clocks only.
    pub(crate) fn alone(&self, size: u32, kinds: &[u8]) -> u64 {
        let Some(worm) = &self.switching.wormhole else { return self.zero_load(size, kinds) };
        let tick = |at: u64| at.div_ceil(worm.step).saturating_mul(worm.step);
        let mut flits = vec![0u64; size.div_ceil(worm.flit) as usize];
        for (index, &kind) in kinds.iter().enumerate() {
            let link = &self.links[kind as usize];
            let (time, ahead) = (link.time(worm.flit), link.time(self.switching.output.max(1)));
            // A virtual channel is allotted in one step, the switch in the next.
            let mut soonest = if index == 0 {
                0
            } else {
                tick(flits[0].saturating_add(self.switching.router)).saturating_add(worm.step)
            };
            let mut free = 0u64;
            for flit in &mut flits {
                let start = soonest.max(*flit);
                let start =
                    if index == 0 { start.max(free) } else { tick(start.max(free.saturating_sub(ahead))) };
                free = start.max(free).saturating_add(time);
                soonest = start.saturating_add(if index == 0 { 0 } else { worm.step });
                *flit = free.saturating_add(link.latency.as_ps());
            }
        }
        flits.last().copied().unwrap_or(0)
    }

    /// Returns the time of a flow of `bytes` bytes over `kinds` of links with no other flow in the network.
    ///
    /// In picoseconds: the latencies of links and routers, and its bytes at the slowest link or its bound.
    pub(crate) fn alone_as_flow(&self, bytes: u64, kinds: &[u8]) -> u64 {
        let links = || kinds.iter().map(|&kind| &self.links[usize::from(kind)]);
        let latency = links().fold(0u64, |sum, link| sum.saturating_add(link.latency.as_ps()));
        let routers = self.switching.router.saturating_mul(kinds.len().saturating_sub(1) as u64);
        let latency = self.flow.latency(latency.saturating_add(routers), bytes);
        let slowest = links().map(|link| link.span(bytes)).max().unwrap_or(0);
        let windowed = match self.flow.window.filter(|_| bytes >= self.flow.min) {
            // A window each round trip.
            Some(window) => (u128::from(latency) * 2 * u128::from(bytes)).div_ceil(u128::from(window)),
            None => 0,
        };
        let windowed = u64::try_from(windowed).unwrap_or(u64::MAX);
        latency.saturating_add(self.flow.span(slowest, bytes).max(windowed))
    }

    /// Returns the zero-load time of the smallest packet to `endpoint` from another, at least.
    pub(crate) fn nearest(&self, endpoint: u32) -> u64 {
        let topology = &self.topology;
        let (router, port) = topology.attachment(endpoint);
        let size = self.switching.wire(0);
        let injection = self.injection_link(endpoint);
        let quickest = |kinds: &mut dyn Iterator<Item = u8>| {
            kinds.min_by_key(|&kind| self.zero_load(size, &[kind])).unwrap_or(0)
        };
        let last = self.link(router, port);
        let mut shared = false;
        let mut cables = Vec::new();
        for port in 0..topology.radix() {
            match topology.neighbor(router, port) {
                Neighbor::Endpoint(other) => shared |= other != endpoint,
                Neighbor::Router { .. } => cables.push(topology.link(router, port) as u8),
                Neighbor::Nothing => {}
            }
        }
        if shared {
            return self.zero_load(size, &[quickest(&mut std::iter::once(injection)), last]);
        }
        let first = quickest(&mut (0..self.links.len() as u8));
        self.zero_load(size, &[first, quickest(&mut cables.into_iter()), last])
    }

    /// Returns the least time of the links and routers between two endpoints, in picoseconds. O(ports).
    pub(crate) fn least_latency(&self) -> u64 {
        (0..self.topology.endpoints()).map(|endpoint| self.nearest_latency(endpoint)).min().unwrap_or(0)
    }

    /// Returns the least time of the links and routers from another endpoint to `endpoint`, without any for
    /// bytes, in picoseconds.
    pub(crate) fn nearest_latency(&self, endpoint: u32) -> u64 {
        let topology = &self.topology;
        let (router, port) = topology.attachment(endpoint);
        let latency = |kind: u8| self.links[usize::from(kind)].latency.as_ps();
        let delay = self.switching.router;
        let last = latency(self.link(router, port)).saturating_add(delay);
        let mut nearest = u64::MAX;
        for port in 0..topology.radix() {
            let way = match topology.neighbor(router, port) {
                Neighbor::Endpoint(other) if other != endpoint => latency(self.injection_link(other)),
                Neighbor::Router { .. } => {
                    let first = self.links.iter().map(|link| link.latency.as_ps()).min().unwrap_or(0);
                    first.saturating_add(delay).saturating_add(latency(topology.link(router, port) as u8))
                }
                Neighbor::Endpoint(_) | Neighbor::Nothing => continue,
            };
            nearest = nearest.min(way);
        }
        if nearest == u64::MAX { last } else { nearest.saturating_add(last) }
    }

    /// Returns the kind of the link behind a router's port, which is not cabled to nothing.
    pub(crate) fn link(&self, router: u32, port: u32) -> u8 {
        match (self.ejection, self.topology.neighbor(router, port)) {
            (Some(ejection), Neighbor::Endpoint(_)) => ejection,
            _ => self.topology.link(router, port) as u8,
        }
    }

    /// Returns the kind of the link from an endpoint into the network.
    pub(crate) fn injection_link(&self, endpoint: u32) -> u8 {
        let (router, port) = self.topology.attachment(endpoint);
        self.injection.unwrap_or(self.topology.link(router, port) as u8)
    }
}
