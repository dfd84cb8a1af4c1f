//! The path that a message takes, by the packet level's routing.

use super::{FlowOptions, Paths, Route, report};
use crate::message::{Endpoint, Message};
use crate::packet::fabric::PacketFabric;
use crate::packet::load::{PortLoads, Ports};
use crate::packet::port::Packet;
use crate::packet::port_table::PortTable;
use crate::packet::report::{LinkReport, NetworkReport};
use crate::packet::routing::Here;
use crate::packet::slab::{LargePageSlab, NONE};
use crate::packet::statistics::Statistics;
use crate::topology::Neighbor;
use engine::Span;
use flow::Capacity;
use std::sync::Arc;

/// The far end of a port's cable: a router and the port that leads into it, or nothing but an endpoint.
#[derive(Clone, Copy)]
struct Behind {
    router: u32,
    input: u32,
}

/// Finds paths. Ports are numbered by routers, then those of the interfaces.
pub(crate) struct Routes {
    fabric: Arc<PacketFabric>,
    /// No port is busy, which no routing with fixed paths looks at.
    idle: Ports,
    behind: Vec<Behind>,
    kinds: Vec<u8>,
    /// The bandwidth of each kind of link; `None` if bytes take no time on it.
    capacities: Vec<Option<Capacity>>,
    are_all_limited: bool,
    options: FlowOptions,
    /// The least latency between two endpoints, in picoseconds, where weights go by it.
    nearest: u64,
    /// Order of the kinds by bandwidth, the slowest first.
    slowness: Vec<u8>,
    first_interface: u32,
    may_repeat: bool,
    /// The path that was found last, and its links whose bytes take time.
    ports: Vec<u32>,
    limited: Vec<u32>,
    /// Links of the way back that acknowledgements share.
    back: Vec<u32>,
    /// The kind of its slowest link.
    slowest: u8,
}

impl Routes {
    pub(crate) fn new(fabric: &Arc<PacketFabric>) -> Routes {
        let topology = &*fabric.topology;
        let stride = fabric.stride.divisor();
        let (mut behind, mut kinds) = (Vec::new(), Vec::new());
        for router in 0..topology.routers() {
            for port in 0..stride {
                let neighbor =
                    if port < topology.radix() { topology.neighbor(router, port) } else { Neighbor::Nothing };
                behind.push(match neighbor {
                    Neighbor::Router { router, port } => Behind { router, input: port },
                    Neighbor::Endpoint(_) | Neighbor::Nothing => Behind { router: NONE, input: NONE },
                });
                kinds.push(if neighbor == Neighbor::Nothing { 0 } else { fabric.link(router, port) });
            }
        }
        let first_interface = behind.len() as u32;
        for endpoint in 0..topology.endpoints() {
            let (router, input) = topology.attachment(endpoint);
            behind.push(Behind { router, input });
            kinds.push(fabric.injection_link(endpoint));
        }
        let capacities: Vec<Option<Capacity>> = fabric.links.iter().map(|link| link.capacity()).collect();
        let options = fabric.flow.clone();
        let mut order: Vec<usize> = (0..fabric.links.len()).collect();
        order.sort_by(|&a, &b| {
            let bits = |kind: usize| fabric.links[kind].bandwidth.as_bits_per_second();
            bits(a).total_cmp(&bits(b))
        });
        let mut slowness = vec![0; order.len()];
        order.iter().enumerate().for_each(|(place, &kind)| slowness[kind] = place as u8);
        let idle = Ports {
            ports: PortTable::new(0, 1, 0, std::iter::empty()),
            waits: LargePageSlab::with_capacity(0),
            flights: Vec::new(),
            kinds: Vec::new(),
        };
        Routes {
            idle,
            behind,
            kinds,
            are_all_limited: capacities.iter().all(Option::is_some),
            capacities,
            nearest: if options.by_latency { fabric.least_latency() } else { 0 },
            options,
            slowness,
            first_interface,
            // A detour may come back by a link that it has passed.
            may_repeat: fabric.routing.name().contains("valiant"),
            ports: Vec::new(),
            limited: Vec::new(),
            back: Vec::new(),
            slowest: 0,
            fabric: fabric.clone(),
        }
    }

    /// Returns `true` if flows share other links than those of their paths.
    fn needs_limited(&self) -> bool {
        self.may_repeat || !self.are_all_limited || self.options.fat_core
    }

    /// Returns `true` if flows share the link at an index of a path of so many links.
    fn is_shared(&self, port: u32, hop: usize, links: usize) -> bool {
        let is_core = hop > 0 && hop + 1 < links;
        !(self.options.fat_core && is_core) && self.capacities[self.kind(port)].is_some()
    }

    /// Visits the links of the path of a message that leaves at a time. Returns the sum of their latencies
    /// and of those of the routers between them, in picoseconds.
    #[inline(always)]
    fn walk(&self, (source, destination): (u32, u32), at: u64, mut visit: impl FnMut(u32, u8)) -> u64 {
        let fabric = &*self.fabric;
        let mut packet = Packet::new(source, destination, 1, at, 0);
        let mut port = self.first_interface + source;
        let mut latency = 0u64;
        loop {
            let kind = self.kinds[port as usize];
            visit(port, kind);
            latency = latency.saturating_add(fabric.links[usize::from(kind)].latency.as_ps());
            let Behind { router, input } = self.behind[port as usize];
            if router == NONE {
                return latency;
            }
            latency = latency.saturating_add(fabric.switching.router);
            packet.hops = packet.hops.wrapping_add(1);
            let base = router * fabric.stride.divisor();
            let here =
                Here { router, input, lanes: 1, load: PortLoads { at: &self.idle, fabric, base, now: at } };
            port = base + fabric.routing.route(&here, &mut packet).port;
        }
    }

    /// Finds the links that acknowledgements of a message share: those of the way back that flows share and
    /// that are not on its path.
    // Out of line: few networks have cross traffic.
    #[inline(never)]
    fn find_back(&mut self, message: &Message, at: u64) {
        let mut back = std::mem::take(&mut self.back);
        back.clear();
        self.walk((message.destination.0, message.source.0), at, |port, _| back.push(port));
        let (links, mut kept) = (back.len(), 0);
        for hop in 0..links {
            let port = back[hop];
            if self.is_shared(port, hop, links)
                && !self.ports.contains(&port)
                && !back[..kept].contains(&port)
            {
                back[kept] = port;
                kept += 1;
            }
        }
        back.truncate(kept);
        self.back = back;
    }

    /// Returns the kind of the link behind a port.
    fn kind(&self, port: u32) -> usize {
        usize::from(self.kinds[port as usize])
    }
}

impl Paths for Routes {
    fn endpoints(&self) -> u64 {
        u64::from(self.fabric.topology.endpoints())
    }

    fn nearest_latency(&self, to: Endpoint) -> Span {
        self.options.least_latency(Span::from_ps(self.fabric.nearest_latency(to.0)))
    }

    fn capacities(&self) -> Vec<Capacity> {
        let other =
            self.capacities.iter().flatten().next().copied().unwrap_or(Capacity { bytes: 1, picoseconds: 1 });
        self.kinds.iter().map(|&kind| self.capacities[usize::from(kind)].unwrap_or(other)).collect()
    }

    fn find(&mut self, message: &Message, at: u64) -> Route {
        let mut ports = std::mem::take(&mut self.ports);
        ports.clear();
        let first = self.first_interface + message.source.0;
        let (mut slowest, mut narrowest) = (self.kinds[first as usize], 0);
        let latency = self.walk((message.source.0, message.destination.0), at, |port, kind| {
            if self.slowness[usize::from(kind)] < self.slowness[usize::from(slowest)] {
                (slowest, narrowest) = (kind, ports.len());
            }
            ports.push(port);
        });
        self.ports = ports;
        let routers = self.ports.len() as u32 - 1;
        if self.needs_limited() {
            let mut limited = std::mem::take(&mut self.limited);
            limited.clear();
            for (hop, &port) in self.ports.iter().enumerate() {
                if self.is_shared(port, hop, self.ports.len()) && !limited.contains(&port) {
                    limited.push(port);
                }
            }
            self.limited = limited;
        }
        if self.options.cross_traffic {
            self.find_back(message, at);
        }
        self.slowest = slowest;
        let path = self.capacities[usize::from(slowest)];
        // An interface that is the slowest bounds the flow itself.
        let is_inside = narrowest > 0 && narrowest + 1 < self.ports.len();
        let fat = path.filter(|_| self.options.fat_core && is_inside);
        let bytes = message.bytes;
        let latency = self.options.latency(latency, bytes);
        let bound = self.options.bound(bytes, latency, path, fat);
        Route { latency, routers, bound, weight: self.options.weight(latency, self.nearest), work: bytes }
    }

    fn links(&self) -> &[u32] {
        &self.ports
    }

    fn limited(&self) -> &[u32] {
        if self.needs_limited() { &self.limited } else { &self.ports }
    }

    fn back(&self) -> &[u32] {
        &self.back
    }

    fn has_cross_traffic(&self) -> bool {
        self.options.cross_traffic
    }

    fn ends(&self) -> (u32, u32) {
        match self.ports[..] {
            [first, .., last] => (first, last),
            [only] => (only, only),
            [] => (0, 0),
        }
    }

    fn slowest_span(&self, bytes: u64) -> u64 {
        self.options.span(self.fabric.links[usize::from(self.slowest)].span(bytes), bytes)
    }

    fn span(&self, link: u32, bytes: u64) -> u64 {
        self.fabric.links[self.kind(link)].span(bytes)
    }

    fn each_link(&self, carried: &[u64], duration: u64) -> Vec<LinkReport> {
        report::each_link(&self.fabric, carried, duration)
    }

    fn report(&self, each_link: Vec<LinkReport>, statistics: &Statistics) -> NetworkReport {
        NetworkReport::new(&self.fabric, each_link, statistics)
    }
}
