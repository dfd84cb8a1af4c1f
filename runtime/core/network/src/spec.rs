//! A network specification: its levels, how it is written, and the network it stands for.

mod nearest;
mod parse;
mod rail;
mod resolve;
mod sharing;
mod size;
#[cfg(test)]
mod tests;
pub(crate) mod text;
mod topology;

pub(crate) use nearest::did_you_mean;
pub use nearest::nearest;
pub(crate) use parse::{RANK, RankLevels, STORAGE, SpecParser, all_topologies, parse};
pub use parse::{flop_rate, parse_packet};
pub(crate) use rail::{MAX_INTERFACES, Rail};
pub(crate) use sharing::LevelSharing;
pub(crate) use topology::{TopologySpec, routed_topologies, topology_row};

use crate::analytic::{Analytic, AnalyticLevel};
use crate::bandwidth::Bandwidth;
use crate::machine::MachineError;
use crate::packet::PacketSpec;
use crate::topology::{AnyTopology, DetailLevel, LinkKind};
use engine::Span;
use size::Size;
use std::fmt;

/// A network as specified.
#[derive(Clone, PartialEq, Debug)]
pub enum NetworkSpec {
    /// The analytic model: levels from the outermost in.
    Levels(Vec<LevelSpec>),
    /// Packets between nodes, and the analytic model inside them.
    Packet {
        /// The packet network.
        network: Box<PacketSpec>,
        /// Levels inside each of its endpoints, outermost first. Empty if an endpoint holds a single rank.
        inside: Vec<LevelSpec>,
    },
}

impl fmt::Display for NetworkSpec {
    /// In the grammar that `Machine::parse` reads.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            NetworkSpec::Packet { network, inside } if inside.is_empty() => f.write_str(network.text()),
            NetworkSpec::Packet { network, inside } => write!(f, "{}/{}", network.text(), join(inside)),
            NetworkSpec::Levels(levels) => f.write_str(&join(levels)),
        }
    }
}

fn join(levels: &[LevelSpec]) -> String {
    levels.iter().map(LevelSpec::to_string).collect::<Vec<_>>().join("/")
}

/// One level: a topology, its size and options, its links.
#[derive(Clone, PartialEq, Debug)]
pub struct LevelSpec {
    pub(crate) topology: TopologySpec,
    pub(crate) latency: Span,
    pub(crate) bandwidth: Bandwidth,
    pub(crate) sharing: LevelSharing,
}

impl LevelSpec {
    /// Returns the topology's name.
    pub fn topology(&self) -> &'static str {
        self.topology.row.name
    }
    /// Returns the latency of a link.
    pub fn latency(&self) -> Span {
        self.latency
    }
    /// Returns the bandwidth of a link.
    pub fn bandwidth(&self) -> Bandwidth {
        self.bandwidth
    }
}

impl fmt::Display for LevelSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut items = self.topology.items();
        if self.topology.row.level != DetailLevel::Formula {
            items.push(format!("{}={}", text::LEVEL, text::FORMULA));
        }
        if self.topology.row.has_links {
            items.push(format!("l={}", self.latency));
            items.push(format!("b={}", self.bandwidth));
        }
        items.extend(self.sharing.items());
        let colon = if items.is_empty() { "" } else { ":" };
        write!(f, "{}{colon}{}", self.topology(), items.join(","))
    }
}

/// An analytic network with every size decided.
pub(crate) struct BuiltLevels {
    pub(crate) network: Analytic,
    pub(crate) specification: String,
    /// The specification, level by level, outermost first.
    pub(crate) specification_levels: Vec<LevelSpec>,
    /// Endpoints below one place of the outermost level.
    pub(crate) group: u32,
}

/// Decides all sizes for `ranks` ranks and builds the network.
pub(crate) fn build(levels: &[LevelSpec], ranks: Option<u32>) -> Result<BuiltLevels, MachineError> {
    let built = |level: &LevelSpec, sides: &[u32]| {
        let link = LinkKind::new("link", level.latency, level.bandwidth);
        level.topology.formula(sides, link).map_err(|wrong| {
            let why = wrong.sentence;
            MachineError::new(format!("the level '{level}' of the network cannot be built: {why}"))
        })
    };
    let by_options = |level: &LevelSpec| level.topology.size == Size::ByOptions;
    let fixed: Vec<Option<AnyTopology>> = levels
        .iter()
        .map(|level| by_options(level).then(|| built(level, &[])).transpose())
        .collect::<Result<_, _>>()?;
    let endpoints: Vec<Option<u64>> =
        fixed.iter().map(|topology| topology.as_ref().map(AnyTopology::endpoints)).collect();
    let sides = resolve::resolve(levels, &endpoints, ranks)?;
    let mut sized = levels.to_vec();
    let mut parts = Vec::with_capacity(levels.len());
    for ((level, sides), fixed) in sized.iter_mut().zip(&sides).zip(fixed) {
        let topology = match fixed {
            Some(topology) => topology,
            None => {
                let topology = built(level, sides)?;
                level.topology.size = Size::Sides(sides.iter().copied().map(Some).collect());
                topology
            }
        };
        let (latency, bandwidth, delay) = (level.latency, level.bandwidth, level.sharing.delay.clone());
        parts.push(AnalyticLevel { topology, latency, bandwidth, delay });
    }
    let specification = join(&sized);
    let group = parts[1..].iter().map(|part| part.topology.endpoints()).product::<u64>();
    let group = u32::try_from(group).expect("sizes are 32-bit");
    let network = Analytic::new(parts)
        .map_err(|why| MachineError::new(format!("the network '{specification}' cannot be built: {why}")))?;
    Ok(BuiltLevels { network, specification, specification_levels: sized, group })
}
