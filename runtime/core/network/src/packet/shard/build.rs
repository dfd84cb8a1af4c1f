//! Cutting a network into shards.

use super::cross::{Mail, SharedPlaces};
use super::flows::{FlowQueue, FlowSlots};
use super::router::{Router, ShardSize};
use super::{CACHED_PORTS, Queue, Shard, ShardBorder, ShardRules};
use crate::packet::arriving::Arriving;
use crate::packet::event::{PLACES, PacketEvent};
use crate::packet::fabric::PacketFabric;
use crate::packet::load::Ports;
use crate::packet::pages::Pages;
use crate::packet::port::{MAX_PORT_KINDS, NEVER, Port, TO_ENDPOINT, TO_NOTHING, TO_ROUTER, TO_SHARD};
use crate::packet::port_table::PortTable;
use crate::packet::runs::RunLengths;
use crate::packet::slab::{LargePageSlab, NONE};
use crate::packet::statistics::Statistics;
use crate::packet::usage::Carried;
use crate::topology::{Neighbor, SharedRouters};
use engine::TimingWheel;
use std::collections::VecDeque;
use std::sync::Arc;

/// Assignment of routers and endpoints to shards.
pub(crate) struct ShardAssignment {
    /// Shard of each router, and its position there. Of one that shards share, its position behind the
    /// routers of each.
    places: Vec<(u32, u32)>,
    /// Parts that shards share.
    shared: Option<SharedRouters>,
    /// Routers of each shard, in ascending order, then those that shards share.
    pub(crate) routers: Vec<Vec<u32>>,
    /// Endpoints of each shard, in ascending order.
    pub(crate) endpoints: Vec<Vec<u32>>,
}

impl ShardAssignment {
    /// Cuts a network into `parts`.
    pub(crate) fn new(fabric: &PacketFabric, parts: u32) -> ShardAssignment {
        let topology = &fabric.topology;
        let shared =
            if fabric.has_independent_outputs() && parts > 1 { topology.shared(parts) } else { None };
        let is_shared = |router| shared.as_ref().is_some_and(|shared| shared.routers.contains(&router));
        let mut routers = vec![Vec::new(); parts as usize];
        let mut after = 0;
        let place = |router| {
            if is_shared(router) {
                after += 1;
                return (NONE, after - 1);
            }
            let part = topology.part(router, parts).min(parts - 1);
            routers[part as usize].push(router);
            (part, routers[part as usize].len() as u32 - 1)
        };
        let places: Vec<(u32, u32)> = (0..topology.routers()).map(place).collect();
        let mut endpoints = vec![Vec::new(); parts as usize];
        for endpoint in 0..topology.endpoints() {
            endpoints[places[topology.attachment(endpoint).0 as usize].0 as usize].push(endpoint);
        }
        if let Some(shared) = &shared {
            routers.iter_mut().for_each(|routers| routers.extend(shared.routers.clone()));
        }
        ShardAssignment { places, shared, routers, endpoints }
    }

    /// Returns where `me` has a router, if it has.
    fn place(&self, router: u32, me: usize) -> (Option<usize>, u32) {
        match self.places[router as usize] {
            (NONE, after) => (None, self.first_shared(me) + after),
            (shard, position) => (Some(shard as usize), position),
        }
    }

    /// Returns the position of the first router that shards share.
    fn first_shared(&self, shard: usize) -> u32 {
        (self.routers[shard].len() - self.shared.as_ref().map_or(0, |shared| shared.routers.len())) as u32
    }
}

/// Builds a shard of a partition, without traffic. `width` is the log2 of a wheel's bucket in picoseconds.
pub(crate) fn build<R: Router>(
    fabric: &Arc<PacketFabric>,
    partition: &ShardAssignment,
    me: usize,
    width: u32,
    statistics: &Statistics,
) -> Shard<R> {
    ShardBuilder { fabric, partition, me }.shard(width, statistics)
}

/// Makes a wheel that sees as far ahead as one event makes another: what lies beyond would wait in a heap,
/// which costs a cache line for each level. Buckets become wider where more than 2^16 would be needed.
fn wheel(fabric: &PacketFabric, width: u32) -> TimingWheel<PacketEvent> {
    let bits = |number: u64| u64::BITS - number.leading_zeros();
    let horizon = bits(fabric.longest_step(0).unwrap_or(u64::MAX));
    let width = width.max(horizon.saturating_sub(16)).min(40);
    TimingWheel::new(width, horizon.saturating_sub(width).clamp(12, 16))
}

struct ShardBuilder<'a> {
    fabric: &'a Arc<PacketFabric>,
    partition: &'a ShardAssignment,
    me: usize,
}

impl ShardBuilder<'_> {
    fn shard<R: Router>(&self, width: u32, statistics: &Statistics) -> Shard<R> {
        let (fabric, partition, me) = (self.fabric, self.partition, self.me);
        let (routers, endpoints) = (&partition.routers[me], &partition.endpoints[me]);
        let stride = fabric.stride.divisor();
        let first_interface = routers.len() as u32 * stride;
        let count = first_interface as usize + endpoints.len();
        assert!((count as u64) < PLACES, "the specification's check bounds the number of ports");
        let mut others = Vec::new();
        let has_table = fabric.links.len() > usize::from(MAX_PORT_KINDS);
        let mut kinds = Vec::with_capacity(if has_table { count } else { 0 });
        let ports = routers.iter().flat_map(|&router| (0..stride).map(move |port| (router, port)));
        let ports = ports.map(|(router, port)| self.port(router, port, first_interface, &mut others));
        let interfaces = endpoints.iter().map(|&endpoint| {
            let (router, port) = fabric.topology.attachment(endpoint);
            let place = partition.place(router, me).1 * stride + port;
            let kind = fabric.injection_link(endpoint);
            (Port::new(TO_ROUTER, place, kind, fabric.switching.buffer), kind)
        });
        let ports = ports.chain(interfaces).map(|(port, kind)| {
            if has_table {
                kinds.push(kind);
            }
            port
        });
        let switching = &fabric.switching;
        let ports = PortTable::new(count, switching.lanes, switching.buffer, ports);
        let classes = switching.classes.count() as usize;
        let bounds = partition.endpoints[1..]
            .iter()
            .map(|endpoints| endpoints.first().copied().unwrap_or(NONE))
            .collect();
        let positions = (0..partition.routers.len()).map(|shard| partition.first_shared(shard));
        let size = ShardSize {
            routers: routers.len(),
            ports: first_interface as usize,
            interfaces: endpoints.len(),
        };
        let rules = ShardRules {
            is_large: count > CACHED_PORTS,
            routes_early: !fabric.routing.looks_at_load() && R::routes_early(switching),
            router_delay: switching.router,
            round_robin: switching.round_robin,
            alone: partition.routers.len() == 1,
        };
        let border = ShardBorder {
            others,
            shared: SharedPlaces::new(partition.shared.as_ref(), positions, endpoints, bounds, stride),
            leaving: 0,
            taken: Vec::new(),
            told: NEVER,
            outbox: (0..partition.routers.len()).map(|_| Mail::default()).collect(),
        };
        Shard {
            fabric: fabric.clone(),
            rules,
            router: R::new(fabric, size),
            border,
            me,
            wheel: wheel(fabric, width),
            packets: LargePageSlab::with_capacity(endpoints.len()),
            messages: LargePageSlab::new(),
            queues: Pages::new(
                endpoints.len() * classes,
                std::iter::repeat_n(FlowQueue::EMPTY, endpoints.len() * classes),
            ),
            flows: FlowSlots::new(),
            early: Pages::new(endpoints.len(), std::iter::repeat_n(Queue::EMPTY, endpoints.len())),
            first_interface,
            routers: RunLengths::new(routers),
            endpoints: RunLengths::new(endpoints),
            statistics: statistics.clone(),
            arriving: Arriving::new(),
            delivered: Vec::new(),
            feed: None,
            offers: Vec::new(),
            events: 0,
            clock: 0,
            at: Ports {
                ports,
                kinds,
                waits: LargePageSlab::new(),
                flights: vec![
                    VecDeque::new();
                    if fabric.routing.counts_queues() { first_interface as usize } else { 0 }
                ],
            },
            carried: Carried::default(),
        }
    }

    /// Returns a router's port and its kind of link.
    fn port(&self, router: u32, port: u32, first_interface: u32, others: &mut Vec<u8>) -> (Port, u8) {
        let (fabric, partition) = (self.fabric, self.partition);
        let (buffer, stride) = (fabric.switching.buffer, fabric.stride.divisor());
        let radix = fabric.topology.radix();
        let neighbor = if port < radix { fabric.topology.neighbor(router, port) } else { Neighbor::Nothing };
        let mut other_shard = self.me as u8;
        let (end, peer) = match neighbor {
            Neighbor::Nothing => (TO_NOTHING, 0),
            Neighbor::Endpoint(endpoint) => match partition.endpoints[self.me].binary_search(&endpoint) {
                Ok(index) => (TO_ENDPOINT, first_interface + index as u32),
                Err(_) => unreachable!("an endpoint belongs to the shard of its router"),
            },
            Neighbor::Router { router: other, port: back } => {
                let (shard, position) = partition.place(other, self.me);
                let place = position * stride + back;
                match shard {
                    Some(shard) if shard == self.me => (TO_ROUTER, place),
                    Some(shard) => {
                        other_shard = shard as u8;
                        // What leaves a shared router for another shard leaves it there.
                        if partition.places[router as usize].0 == NONE {
                            (TO_NOTHING, 0)
                        } else {
                            (TO_SHARD, place)
                        }
                    }
                    None => (TO_SHARD, place),
                }
            }
        };
        if partition.routers.len() > 2 {
            others.push(other_shard);
        }
        let kind = if neighbor == Neighbor::Nothing { 0 } else { fabric.link(router, port) };
        (Port::new(end, peer, kind, buffer), kind)
    }
}
