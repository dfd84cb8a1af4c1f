//! What a network looks like: its sizes, distances and a table of latencies.

mod packets;
mod presets;

use crate::analytic::{Analytic, WayHops};
use crate::machine::{Machine, MachineError};
use crate::spec::{self, LevelSpec, NetworkSpec};
use crate::topology::{HopStatistics, Method};
use engine::Span;
pub use packets::{PacketLinkReport, PacketReport};
pub use presets::describe_preset;
use serde::Serialize;
use std::fmt;

/// Message sizes of the latency table, in bytes.
const SIZES: [u64; 9] = [0, 8, 64, 1 << 10, 8 << 10, 64 << 10, 1 << 20, 16 << 20, 1 << 30];

/// An analytic network described for people (`Display`) and for programs (`Serialize`).
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct TopologyReport {
    /// The machine's name.
    pub machine: String,
    /// Source of the machine's numbers; empty if the machine gives none.
    pub source: String,
    /// The network with every size decided.
    pub specification: String,
    /// Places for ranks.
    pub endpoints: u64,
    /// Links of all levels together: pairs of neighbours, a two-way link counted once.
    pub links: u64,
    /// The largest hop count between two endpoints.
    pub diameter: u64,
    /// The mean hop count over all ordered pairs of two different endpoints.
    pub average_hops: f64,
    /// `exact`, or how the diameter and the mean were estimated.
    pub method: String,
    /// The levels, outermost first.
    pub levels: Vec<LevelReport>,
    /// Latencies over distances and message sizes.
    pub latencies: Vec<DistanceReport>,
}

/// One level of a network; its counts are those of one instance.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct LevelReport {
    /// The topology's name.
    pub topology: String,
    /// The level as specified, its size decided.
    pub specification: String,
    /// Number of instances of this level in the network.
    pub instances: u64,
    /// Places in one.
    pub endpoints: u64,
    /// Links in one.
    pub links: u64,
    /// The largest hop count within one.
    pub diameter: u32,
    /// The mean hop count between two different places of one.
    pub average_hops: f64,
    /// The most hops between a place and the gateway to the level outside.
    pub gateway_hops: u32,
    /// A link's latency in picoseconds.
    pub latency_ps: u64,
    /// A link's bandwidth.
    pub bandwidth: String,
    /// Remark about the hop counts; empty if there is none.
    pub remark: String,
}

/// Latencies of messages between two endpoints of a certain distance.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct DistanceReport {
    /// Description of the pairs of endpoints at this distance.
    pub distance: String,
    /// Links on the way.
    pub hops: u64,
    /// Message size in bytes and latency in picoseconds; no latency where it passes 2^64 ps.
    pub latencies: Vec<(u64, Option<u64>)>,
}

/// A machine's network described, at its level of detail.
#[derive(Clone, PartialEq, Debug, Serialize)]
#[serde(untagged)]
pub enum MachineReport {
    /// Time is a formula.
    Formula(TopologyReport),
    /// Packets through routers.
    Packets(PacketReport),
}

impl fmt::Display for MachineReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            MachineReport::Formula(report) => report.fmt(f),
            MachineReport::Packets(report) => report.fmt(f),
        }
    }
}

/// Describes the network of `machine`, sized for `ranks` ranks if it leaves a size open.
///
/// # Errors
/// As `Machine::build`; a size left open without `ranks`.
pub fn machine_report(machine: &Machine, ranks: Option<u32>) -> Result<MachineReport, MachineError> {
    match &machine.network {
        NetworkSpec::Levels(levels) => Ok(MachineReport::Formula(topology_report(machine, levels, ranks)?)),
        NetworkSpec::Packet { network, inside } => {
            Ok(MachineReport::Packets(packets::report(machine, network, inside, ranks)?))
        }
    }
}

fn topology_report(
    machine: &Machine,
    levels: &[LevelSpec],
    ranks: Option<u32>,
) -> Result<TopologyReport, MachineError> {
    let built = spec::build(levels, ranks)?;
    let network = &built.network;
    let statistics: Vec<_> = network.topologies().map(|topology| topology.statistics()).collect();
    let mut instances = 1;
    let levels: Vec<LevelReport> = built
        .specification_levels
        .iter()
        .zip(network.topologies())
        .zip(&statistics)
        .map(|((level, topology), statistics)| {
            let report = LevelReport {
                topology: level.topology().to_owned(),
                specification: level.to_string(),
                instances,
                endpoints: topology.endpoints(),
                links: topology.links(),
                diameter: statistics.diameter,
                average_hops: statistics.average_hops,
                gateway_hops: statistics.to_gateway.greatest.max(statistics.from_gateway.greatest),
                latency_ps: level.latency().as_ps(),
                bandwidth: level.bandwidth().to_string(),
                remark: statistics.remark.clone().unwrap_or_default(),
            };
            instances *= topology.endpoints();
            report
        })
        .collect();
    let distances = distances(network, &statistics);
    let method = statistics.iter().find_map(|statistics| match statistics.method {
        Method::Exact => None,
        Method::Sampled { sources } => Some(format!(
            "estimated from the ways of {sources} evenly spread endpoints to all; the diameter is a lower \
             bound"
        )),
    });
    Ok(TopologyReport {
        machine: machine.name.clone(),
        source: machine.source.clone(),
        specification: built.specification.clone(),
        endpoints: instances,
        links: levels.iter().map(|level| level.instances * level.links).sum(),
        diameter: distances.iter().map(|(_, hops)| hops.total()).max().unwrap_or(0),
        average_hops: average_hops(network, &statistics),
        method: method.unwrap_or_else(|| "exact".to_owned()),
        levels,
        latencies: distances
            .into_iter()
            .map(|(distance, hops)| latencies(network, &built.specification_levels, distance, &hops))
            .collect(),
    })
}

/// Returns the mean over all ordered pairs, by the level in which they meet: ways inside that level, and
/// gateway ways in the levels further in, are independent of each other.
fn average_hops(network: &Analytic, statistics: &[HopStatistics]) -> f64 {
    let (mut sum, mut pairs, mut gateways, mut inside) = (0.0, 0.0, 0.0, 1.0);
    for (topology, statistics) in network.topologies().zip(statistics).rev() {
        let meet = inside * (topology.endpoints() as f64 - 1.0);
        sum += meet * (statistics.average_hops + gateways);
        pairs += meet;
        inside *= topology.endpoints() as f64;
        gateways += statistics.to_gateway.average + statistics.from_gateway.average;
    }
    if pairs > 0.0 { sum / pairs } else { 0.0 }
}

/// Returns the nearest and farthest pairs that meet in each level, innermost first, after a message to
/// oneself.
fn distances(network: &Analytic, statistics: &[HopStatistics]) -> Vec<(String, WayHops)> {
    let topologies: Vec<_> = network.topologies().collect();
    let mut found = vec![("to itself".to_owned(), WayHops(vec![0; topologies.len()]))];
    for (meet, topology) in
        topologies.iter().enumerate().rev().filter(|(_, topology)| topology.endpoints() > 1)
    {
        let way = |hops: u32, gateways: fn(&HopStatistics) -> u32| {
            let inner = statistics[meet + 1..].iter().map(gateways);
            WayHops(std::iter::repeat_n(0, meet).chain([hops]).chain(inner).collect())
        };
        let nearest = way(topology.nearest(0), |level| level.to_gateway.least + level.from_gateway.least);
        let farthest =
            way(statistics[meet].diameter, |level| level.to_gateway.greatest + level.from_gateway.greatest);
        let place = if topologies.len() > 1 { format!("in level {}, ", meet + 1) } else { String::new() };
        if nearest == farthest {
            let each = if place.is_empty() {
                "to another".to_owned()
            } else {
                place.trim_end_matches(", ").to_owned()
            };
            found.push((each, nearest));
        } else {
            found.push((format!("{place}nearest"), nearest));
            found.push((format!("{place}farthest"), farthest));
        }
    }
    found
}

/// Returns what messages over such a distance take alone, the MPI library of both ends included.
fn latencies(network: &Analytic, levels: &[LevelSpec], distance: String, hops: &WayHops) -> DistanceReport {
    let meeting = levels.iter().zip(&hops.0).find(|&(_, &hops)| hops > 0).map(|(level, _)| level);
    let latency = |bytes| {
        let service = meeting.map_or(Span::ZERO, |level| level.sharing.service.time(bytes));
        let alone = network.latency_over(hops, bytes)?;
        alone.checked_add(service)?.checked_add(service).map(Span::as_ps)
    };
    DistanceReport {
        distance,
        hops: hops.total(),
        latencies: SIZES.iter().map(|&bytes| (bytes, latency(bytes))).collect(),
    }
}

/// Formats a number of bytes as people say it.
fn size(bytes: u64) -> String {
    const UNITS: [(&str, u64); 4] = [("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10), ("B", 1)];
    let (unit, scale) = UNITS.iter().find(|(_, scale)| bytes >= *scale).unwrap_or(&UNITS[3]);
    format!("{} {unit}", bytes / scale)
}

/// Writes the rows of cells in columns as wide as their widest cell; the first column to the left, the rest
/// to the right.
fn table(f: &mut fmt::Formatter<'_>, rows: &[Vec<String>]) -> fmt::Result {
    let columns = rows.iter().map(Vec::len).max().unwrap_or(0);
    let width = |column: usize| {
        rows.iter().filter_map(|row| row.get(column)).map(|cell| cell.chars().count()).max().unwrap_or(0)
    };
    let widths: Vec<usize> = (0..columns).map(width).collect();
    for row in rows {
        let mut line = String::new();
        for (column, (cell, &width)) in row.iter().zip(&widths).enumerate() {
            line += &if column == 0 { format!("{cell:<width$}") } else { format!("  {cell:>width$}") };
        }
        writeln!(f, "{}", line.trim_end())?;
    }
    Ok(())
}

impl fmt::Display for TopologyReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "network    {}", self.specification)?;
        if self.machine != self.specification {
            writeln!(f, "machine    {}", self.machine)?;
        }
        if !self.source.is_empty() {
            writeln!(f, "source     {}", self.source)?;
        }
        writeln!(f, "endpoints  {}", self.endpoints)?;
        writeln!(f, "links      {}", self.links)?;
        writeln!(f, "diameter   {} hops", self.diameter)?;
        writeln!(f, "average    {:.3} hops between two different endpoints", self.average_hops)?;
        writeln!(f, "distances  {}", self.method)?;
        for level in self.levels.iter().filter(|level| !level.remark.is_empty()) {
            writeln!(f, "note       {}", level.remark)?;
        }
        writeln!(f)?;
        let titles = ["level", "instances", "endpoints", "links", "diameter", "average", "to gateway"]
            .map(str::to_owned);
        let row = |(number, level): (usize, &LevelReport)| {
            let LevelReport {
                specification,
                instances,
                endpoints,
                links,
                diameter,
                average_hops,
                gateway_hops,
                ..
            } = level;
            let counts = [instances, endpoints, links].map(u64::to_string);
            let hops = [diameter.to_string(), format!("{average_hops:.3}"), format!("{gateway_hops}")];
            [format!("{number} {specification}")].into_iter().chain(counts).chain(hops).collect()
        };
        let rows: Vec<Vec<String>> =
            [titles.to_vec()].into_iter().chain((1..).zip(&self.levels).map(row)).collect();
        table(f, &rows)?;
        writeln!(f)?;
        let column = |cell: &dyn Fn(&DistanceReport) -> String, title: &str| {
            [title.to_owned()].into_iter().chain(self.latencies.iter().map(cell)).collect::<Vec<String>>()
        };
        let mut rows = vec![
            column(&|latency| latency.distance.clone(), "latency"),
            column(&|latency| format!("{} hops", latency.hops), ""),
        ];
        for (index, &bytes) in SIZES.iter().enumerate() {
            let cell = |latency: &DistanceReport| {
                latency.latencies[index]
                    .1
                    .map_or("over 213 days".to_owned(), |ps| Span::from_ps(ps).to_string())
            };
            rows.push(column(&cell, &size(bytes)));
        }
        table(f, &rows)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analytic::tests::any_level;
    use crate::analytic::tests::network as formula;
    use crate::{Endpoint, Formula};
    use proptest::prelude::*;

    fn report(specification: &str, ranks: Option<u32>) -> TopologyReport {
        match machine_report(&Machine::parse(specification).unwrap(), ranks)
            .unwrap_or_else(|error| panic!("{error}"))
        {
            MachineReport::Formula(report) => report,
            MachineReport::Packets(_) => panic!("it does not say level=packet"),
        }
    }

    #[test]
    fn a_hierarchy_is_described() {
        let report = report("torus:8x8x8,l=7us,b=8.8Gbps/star:2,l=0.32us,b=9.6Gbps", None);
        assert_eq!((report.endpoints, report.diameter, report.links), (1024, 14, 3 * 512 + 512 * 2));
        assert_eq!(report.levels[1].instances, 512);
        let table: Vec<_> = report
            .latencies
            .iter()
            .map(|l| (l.distance.as_str(), l.hops, l.latencies[0].1.unwrap()))
            .collect();
        assert_eq!(
            table,
            [
                ("to itself", 0, 0),
                ("in level 2", 2, 640_000),
                ("in level 1, nearest", 3, 7_640_000),
                ("in level 1, farthest", 14, 12 * 7_000_000 + 640_000)
            ]
        );
        let text = report.to_string();
        assert!(text.contains("diameter   14 hops") && text.contains("1 torus:8x8x8"), "{text}");
        assert!(serde_json::to_string(&report).unwrap().contains("\"diameter\":14"));
    }

    #[test]
    fn an_open_size_needs_the_ranks() {
        let error = machine_report(&Machine::parse("star:l=1us").unwrap(), None).unwrap_err().to_string();
        assert!(error.contains("number of ranks"), "{error}");
        assert_eq!(report("star:l=1us", Some(10)).endpoints, 10);
    }

    #[test]
    fn costs_of_the_library_are_part_of_the_table() {
        let table = |specification: &str| {
            let machine = Machine::parse(specification).unwrap();
            match machine_report(&machine, Some(4)).unwrap() {
                MachineReport::Formula(report) => report.latencies.last().unwrap().latencies[0].1.unwrap(),
                MachineReport::Packets(report) => report.zero_load[0].1,
            }
        };
        for specification in ["star:l=1us", "star:n=4,l=1us,level=packet", "star:n=4,l=1us,level=flow"] {
            let costly = format!("{specification},delay=5us,o=1us");
            assert_eq!(table(&costly), table(specification) + 7_000_000, "{specification}");
        }
    }

    proptest! {
        #[test]
        fn averages_and_extremes_are_those_of_all_pairs(levels in prop::collection::vec(any_level(), 1..4)) {
            let specification = levels.join("/");
            let report = report(&specification, None);
            let network = formula(&specification, 1);
            let n = network.endpoints() as u32;
            prop_assume!((2..300).contains(&n));
            let (mut sum, mut most) = (0u64, 0);
            for (a, b) in (0..n).flat_map(|a| (0..n).map(move |b| (a, b))) {
                let hops = network.hops(Endpoint(a), Endpoint(b));
                sum += hops;
                most = most.max(hops);
            }
            prop_assert_eq!(report.diameter, most);
            let mean = sum as f64 / (f64::from(n) * f64::from(n - 1));
            prop_assert!(
                (report.average_hops - mean).abs() < 1e-9,
                "{} is not {}",
                report.average_hops,
                mean
            );
            let others = (0..n).flat_map(|a| (0..n).map(move |b| (a, b))).filter(|(a, b)| a != b);
            let times: Vec<u64> =
                others.map(|(a, b)| network.latency(Endpoint(a), Endpoint(b), 8).as_ps()).collect();
            let table = report.latencies.iter().skip(1).map(|latency| latency.latencies[1].1.unwrap());
            for latency in table {
                prop_assert!(times.contains(&latency), "{} has no pair at {} ps", specification, latency);
            }
        }
    }
}
