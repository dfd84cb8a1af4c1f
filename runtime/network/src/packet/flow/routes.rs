//! The path that a message takes, by the packet level's routing.

use crate::packet::fabric::Fabric;
use crate::packet::load::{Load, Ports};
use crate::packet::port::Packet;
use crate::packet::port_table::PortTable;
use crate::packet::routing::Here;
use crate::packet::slab::{NONE, Slab};
use crate::packet::topology::Neighbor;
use flow::Capacity;
use std::sync::Arc;

/// The properties of a path.
#[derive(Clone, Copy)]
pub(super) struct Route {
    /// Picoseconds of links and routers.
    pub(super) latency: u64,
    pub(super) routers: u32,
    /// The kind of its slowest link.
    pub(super) slowest: u8,
}

/// The far end of a port's cable: a router and the port that leads into it, or nothing but an endpoint.
#[derive(Clone, Copy)]
struct Behind {
    router: u32,
    input: u32,
}

/// Finds paths. Ports are numbered by routers, then those of the interfaces.
pub(super) struct Routes {
    fabric: Arc<Fabric>,
    /// No port is busy, which no routing with fixed paths looks at.
    idle: Ports,
    behind: Vec<Behind>,
    kinds: Vec<u8>,
    /// For each kind of link, `true` if bytes take time on it.
    is_limited: Vec<bool>,
    are_all_limited: bool,
    /// Order of the kinds by bandwidth, the slowest first.
    slowness: Vec<u8>,
    first_interface: u32,
    may_repeat: bool,
    /// The path that was found last, and its links whose bytes take time.
    ports: Vec<u32>,
    limited: Vec<u32>,
}

impl Routes {
    pub(super) fn new(fabric: &Arc<Fabric>) -> Routes {
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
        let is_limited: Vec<bool> = fabric.links.iter().map(|link| link.capacity().is_some()).collect();
        let mut order: Vec<usize> = (0..fabric.links.len()).collect();
        order.sort_by(|&a, &b| {
            let bits = |kind: usize| fabric.links[kind].bandwidth.as_bits_per_second();
            bits(a).total_cmp(&bits(b))
        });
        let mut slowness = vec![0; order.len()];
        order.iter().enumerate().for_each(|(place, &kind)| slowness[kind] = place as u8);
        let idle = Ports {
            ports: PortTable::new(0, 1, 0, std::iter::empty()),
            waits: Slab::with_capacity(0),
            flights: Vec::new(),
            kinds: Vec::new(),
        };
        Routes {
            idle,
            behind,
            kinds,
            are_all_limited: is_limited.iter().all(|&is| is),
            is_limited,
            slowness,
            first_interface,
            // A detour may come back by a link that it has passed.
            may_repeat: fabric.routing.name().contains("valiant"),
            ports: Vec::new(),
            limited: Vec::new(),
            fabric: fabric.clone(),
        }
    }

    /// Returns the capacity of each port; of those that no path has, the capacity of some other.
    pub(super) fn capacities(&self) -> Vec<Capacity> {
        let of_kinds: Vec<Option<Capacity>> = self.fabric.links.iter().map(|link| link.capacity()).collect();
        let other =
            of_kinds.iter().flatten().next().copied().unwrap_or(Capacity { bytes: 1, picoseconds: 1 });
        self.kinds.iter().map(|&kind| of_kinds[usize::from(kind)].unwrap_or(other)).collect()
    }

    /// Finds the path of a message that leaves at a time, in picoseconds.
    pub(super) fn find(&mut self, source: u32, destination: u32, at: u64) -> Route {
        let fabric = &*self.fabric;
        let mut packet = Packet::new(source, destination, 1, at, 0);
        let mut port = self.first_interface + source;
        let (mut latency, mut slowest) = (0u64, self.kinds[port as usize]);
        self.ports.clear();
        loop {
            self.ports.push(port);
            let kind = self.kinds[port as usize];
            latency = latency.saturating_add(fabric.links[usize::from(kind)].latency.as_ps());
            if self.slowness[usize::from(kind)] < self.slowness[usize::from(slowest)] {
                slowest = kind;
            }
            let Behind { router, input } = self.behind[port as usize];
            if router == NONE {
                break;
            }
            latency = latency.saturating_add(fabric.switching.router);
            packet.hops = packet.hops.wrapping_add(1);
            let base = router * fabric.stride.divisor();
            let here = Here { router, input, lanes: 1, load: Load { at: &self.idle, fabric, base, now: at } };
            port = base + fabric.routing.route(&here, &mut packet).port;
        }
        let routers = self.ports.len() as u32 - 1;
        if self.may_repeat || !self.are_all_limited {
            self.limited.clear();
            for &port in &self.ports {
                if self.is_limited[usize::from(self.kinds[port as usize])] && !self.limited.contains(&port) {
                    self.limited.push(port);
                }
            }
        }
        Route { latency, routers, slowest }
    }

    /// Returns the path that was found last, the interface first.
    pub(super) fn ports(&self) -> &[u32] {
        &self.ports
    }

    /// Returns the links of that path on which bytes take time, each once.
    pub(super) fn limited(&self) -> &[u32] {
        if self.may_repeat || !self.are_all_limited { &self.limited } else { &self.ports }
    }

    /// Returns the kind of the link behind a port.
    pub(super) fn kind(&self, port: u32) -> usize {
        usize::from(self.kinds[port as usize])
    }

    /// Returns the kind of the path's first link.
    pub(super) fn first_kind(&self) -> u8 {
        self.ports.first().map_or(0, |&port| self.kinds[port as usize])
    }

    /// Returns the kind of the path's last link.
    pub(super) fn last_kind(&self) -> u8 {
        self.ports.last().map_or(0, |&port| self.kinds[port as usize])
    }
}
