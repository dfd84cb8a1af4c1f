//! What a packet network looks like.

use super::table;
use crate::machine::{Machine, MachineError};
use crate::model::Formula;
use crate::packet::{PacketFabric, PacketSpec};
use crate::spec::LevelSpec;
use crate::topology::Neighbor;
use engine::Span;
use serde::Serialize;
use std::collections::VecDeque;
use std::fmt;

/// The most endpoints from which ways to all others are measured.
const SOURCES: u32 = 64;
/// Ports that are looked at, up to which the ways of all endpoints to all are found: a fraction of a second.
const MAX_EXACT_STEPS: u64 = 1 << 26;

/// A packet network described for people (`Display`) and for programs (`Serialize`).
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct PacketReport {
    /// The machine's name.
    pub machine: String,
    /// Source of the machine's numbers; empty if the machine gives none.
    pub source: String,
    /// The network as specified.
    pub specification: String,
    /// `packet` or `flow`.
    pub level: &'static str,
    /// Description of the topology.
    pub topology: String,
    /// Places for ranks.
    pub endpoints: u64,
    /// Places at each endpoint of the packet network: more than one where levels are inside them.
    pub places_per_node: u64,
    /// Number of routers.
    pub routers: u64,
    /// Cables between routers, each counted once.
    pub cables: u64,
    /// The most ports of a router.
    pub router_ports: u64,
    /// The routing algorithm.
    pub routing: String,
    /// Virtual channels of a link.
    pub virtual_channels: u64,
    /// The kinds of links.
    pub links: Vec<PacketLinkReport>,
    /// The most routers on a shortest way between two endpoints.
    pub most_routers: u64,
    /// The mean number of routers on shortest ways to other endpoints.
    pub average_routers: f64,
    /// `exact`, or how the two were estimated.
    pub method: String,
    /// The time of one packet over the shortest way to the farthest endpoint of endpoint 0 with nothing else
    /// in the network: its payload in bytes, and picoseconds.
    pub zero_load: Vec<(u64, u64)>,
}

/// A kind of link.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct PacketLinkReport {
    /// Its name in reports.
    pub name: String,
    /// Its latency in picoseconds.
    pub latency_ps: u64,
    /// Its bandwidth.
    pub bandwidth: String,
}

/// Shortest ways from an endpoint's router: for each router the links to it and the kind of the last;
/// `u32::MAX` where none leads.
fn ways(fabric: &PacketFabric, from: u32) -> Vec<(u32, u32, u8)> {
    let topology = &*fabric.topology;
    let mut ways = vec![(u32::MAX, u32::MAX, 0); topology.routers() as usize];
    let start = topology.attachment(from).0;
    ways[start as usize].0 = 0;
    let mut queue = VecDeque::from([start]);
    while let Some(router) = queue.pop_front() {
        for port in 0..topology.radix() {
            if let Neighbor::Router { router: next, .. } = topology.neighbor(router, port)
                && ways[next as usize].0 == u32::MAX
            {
                ways[next as usize] =
                    (ways[router as usize].0 + 1, router, topology.link(router, port) as u8);
                queue.push_back(next);
            }
        }
    }
    ways
}

/// Returns the kinds of links from endpoint 0 to the farthest other endpoint.
fn farthest(fabric: &PacketFabric) -> Vec<u8> {
    let topology = &*fabric.topology;
    let ways = ways(fabric, 0);
    let links = |&endpoint: &u32| ways[topology.attachment(endpoint).0 as usize].0;
    let working = (0..topology.endpoints())
        .filter(|&endpoint| topology.works(endpoint))
        .filter(|endpoint| links(endpoint) != u32::MAX);
    let last = working.max_by_key(links).unwrap_or(0);
    let (mut router, port) = topology.attachment(last);
    let mut kinds = vec![fabric.link(router, port)];
    while ways[router as usize].1 != u32::MAX {
        kinds.push(ways[router as usize].2);
        router = ways[router as usize].1;
    }
    kinds.push(fabric.injection_link(0));
    kinds.reverse();
    kinds
}

/// The most and the mean number of routers between endpoints, and how they were found.
fn distances(fabric: &PacketFabric) -> (u64, f64, String) {
    let topology = &*fabric.topology;
    let n = topology.endpoints();
    let work = u64::from(n) * u64::from(topology.routers()) * u64::from(topology.radix());
    let sources = if work <= MAX_EXACT_STEPS { n } else { n.min(SOURCES) };
    let (mut most, mut sum, mut pairs) = (0, 0u64, 0u64);
    for source in (0..sources).map(|index| (u64::from(index) * u64::from(n) / u64::from(sources)) as u32) {
        let ways = ways(fabric, source);
        for endpoint in (0..n).filter(|&endpoint| endpoint != source) {
            let links = ways[topology.attachment(endpoint).0 as usize].0;
            if links != u32::MAX {
                (most, sum, pairs) = (most.max(u64::from(links) + 1), sum + u64::from(links) + 1, pairs + 1);
            }
        }
    }
    let estimated = || {
        format!(
            "estimated from the ways of {sources} evenly spread endpoints to all; the greatest is a lower \
             bound"
        )
    };
    (
        most,
        if pairs == 0 { 0.0 } else { sum as f64 / pairs as f64 },
        if sources == n { "exact".to_owned() } else { estimated() },
    )
}

/// Describes a machine's packet network with `inside` each of its endpoints.
pub(super) fn report(
    machine: &Machine,
    network: &PacketSpec,
    inside: &[LevelSpec],
    ranks: Option<u32>,
) -> Result<PacketReport, MachineError> {
    let places = match inside {
        [] => 1,
        levels => crate::spec::build(levels, None)?.network.endpoints(),
    };
    let rails = network.rails();
    let interfaces = |ranks: u32| {
        let nodes = u64::from(ranks).div_ceil(places);
        rails.map_or(nodes, |rails| rails.endpoints(nodes))
    };
    let fabric = network.fabric(ranks.map(interfaces))?;
    let topology = &*fabric.topology;
    let leads_on = |router, port| matches!(topology.neighbor(router, port), Neighbor::Router { .. });
    let ends: u64 = (0..topology.routers())
        .map(|router| (0..topology.radix()).filter(|&port| leads_on(router, port)).count() as u64)
        .sum();
    let (most_routers, average_routers, method) = distances(&fabric);
    let way = farthest(&fabric);
    let switching = &fabric.switching;
    let zero_load = |&payload: &u32| {
        let alone = match network.is_of_flows() {
            true => fabric.alone_as_flow(payload.into(), &way),
            false => fabric.alone(switching.wire(payload), &way),
        };
        let costs = network.delay().time(payload.into()) + network.service().time(payload.into()) * 2;
        (u64::from(payload), alone.saturating_add(costs.as_ps()))
    };
    Ok(PacketReport {
        machine: machine.name.clone(),
        source: machine.source.clone(),
        specification: machine.network.to_string(),
        level: network.level(),
        topology: topology.describe(),
        endpoints: rails
            .map_or(topology.endpoints().into(), |rails| rails.nodes(topology.endpoints().into()))
            * places,
        places_per_node: places,
        routers: topology.routers().into(),
        cables: ends / 2,
        router_ports: topology.radix().into(),
        routing: fabric.routing.name().to_owned(),
        virtual_channels: switching.lanes.into(),
        links: fabric
            .links
            .iter()
            .map(|link| PacketLinkReport {
                name: link.name.clone(),
                latency_ps: link.latency.as_ps(),
                bandwidth: link.bandwidth.to_string(),
            })
            .collect(),
        most_routers,
        average_routers,
        method,
        zero_load: [0, 8, switching.payload]
            .iter()
            .filter(|&&payload| payload <= switching.payload)
            .map(zero_load)
            .collect(),
    })
}

impl fmt::Display for PacketReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "network    {}", self.specification)?;
        if self.machine != self.specification {
            writeln!(f, "machine    {}", self.machine)?;
        }
        if !self.source.is_empty() {
            writeln!(f, "source     {}", self.source)?;
        }
        writeln!(f, "{:<10} {}", format!("{}s", self.level), self.topology)?;
        let nodes = if self.places_per_node > 1 {
            format!(", {} in each node", self.places_per_node)
        } else {
            String::new()
        };
        writeln!(f, "endpoints  {}{nodes}", self.endpoints)?;
        writeln!(
            f,
            "routers    {} of {} ports, {} cables between them",
            self.routers, self.router_ports, self.cables
        )?;
        let channels = if self.virtual_channels == 1 {
            "1 virtual channel".to_owned()
        } else {
            format!("{} virtual channels", self.virtual_channels)
        };
        let channels = if self.level == "flow" { String::new() } else { format!(", {channels}") };
        writeln!(f, "routing    {}{channels}", self.routing)?;
        writeln!(
            f,
            "distance   {} routers at most, {:.3} on average",
            self.most_routers, self.average_routers
        )?;
        writeln!(f, "distances  {}\n", self.method)?;
        let mut rows = vec![["link", "latency", "bandwidth"].map(str::to_owned).to_vec()];
        rows.extend(self.links.iter().map(|link| {
            vec![link.name.clone(), Span::from_ps(link.latency_ps).to_string(), link.bandwidth.clone()]
        }));
        table(f, &rows)?;
        writeln!(f)?;
        let mut rows = vec![vec!["payload".to_owned(), "to the farthest from 0, alone".to_owned()]];
        rows.extend(
            self.zero_load
                .iter()
                .map(|&(bytes, ps)| vec![format!("{bytes} B"), Span::from_ps(ps).to_string()]),
        );
        table(f, &rows)
    }
}

#[cfg(test)]
mod tests {
    use super::super::{MachineReport, machine_report};
    use super::*;
    use crate::{Endpoint, Message};
    use engine::Time;

    fn described(specification: &str, ranks: Option<u32>) -> PacketReport {
        match machine_report(&Machine::parse(specification).unwrap(), ranks)
            .unwrap_or_else(|error| panic!("{error}"))
        {
            MachineReport::Packets(report) => report,
            MachineReport::Formula(_) => panic!("it says level=packet"),
        }
    }

    #[test]
    fn a_packet_network_is_described() {
        let report = described("fattree:m=4,n=3,l=10ns,level=packet/star:4,l=1us", None);
        assert_eq!(
            (report.endpoints, report.places_per_node, report.routers, report.cables),
            (64, 4, 20, 32)
        );
        assert_eq!(
            (report.most_routers, report.method.as_str(), report.routing.as_str()),
            (5, "exact", "ecmp")
        );
        let text = report.to_string();
        assert!(
            text.contains("endpoints  64, 4 in each node") && text.contains("20 of 4 ports, 32 cables"),
            "{text}"
        );
        assert!(serde_json::to_string(&report).unwrap().contains("\"routers\":20"));
        assert_eq!(described("star:level=packet", Some(9)).endpoints, 9);
        let error =
            machine_report(&Machine::parse("star:level=packet").unwrap(), None).unwrap_err().to_string();
        assert!(error.contains("the size of 'star' comes from the number of ranks"), "{error}");
    }

    #[test]
    fn the_zero_load_is_what_a_packet_takes_to_the_farthest() {
        for network in [
            "torus:4x3,l=7ns,switching=cut",
            "dragonfly:p=2,a=4,h=2,gl=1us,l=1ns",
            "mesh:5",
            "mesh:5,nic=7Gbps,ejection=50Gbps",
            "mesh:4x3,switching=wormhole,ejection=50Gbps,nic=130Gbps,cycle=3ns",
        ] {
            let specification = &format!("{network},packet=700,level=packet");
            let report = described(specification, None);
            let taken = (1..report.endpoints as u32).map(|to| {
                let mut network = Machine::parse(specification).unwrap().build(1).unwrap().network;
                let network = network.shared_mut().unwrap();
                let message =
                    Message { source: Endpoint(0), destination: Endpoint(to), bytes: 700, id: 0, class: 0 };
                network.send(Time::ZERO, &message);
                let mut delivered = Vec::new();
                network.advance_to_delivery(Time::MAX, &mut delivered);
                delivered[0].at.as_ps()
            });
            assert_eq!(taken.max().unwrap(), report.zero_load[2].1, "{specification}");
        }
    }
}
