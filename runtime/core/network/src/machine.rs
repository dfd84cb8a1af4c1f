//! A simulated machine as a user describes it, and what a run builds from it.

mod error;
mod file;
mod overheads;
mod placement;
mod presets;
mod share;
mod storage;

pub use error::MachineError;
pub(crate) use error::MachineText;
pub use overheads::{CopyCost, Overheads};
pub use placement::{Dealt, Placement, PlacementRule};
pub use presets::{DEFAULT_MACHINE, Preset, PresetPingPong, preset, preset_names, presets};
pub use share::Share;
pub use storage::{Servers, Storage};

use crate::analytic::Analytic;
use crate::by_size::BySize;
use crate::divisor::Divisor;
use crate::engines::{LevelService, RankEngines};
use crate::level_paths::shared_levels;
use crate::model::{Network, Shared};
use crate::nodes::NodeNetwork;
use crate::packet::PacketSpec;
use crate::spec::{BuiltLevels, LevelSpec, NetworkSpec, RankLevels};
use engine::{Span, Time};
use file::Described;
use placement::{PlaceSizes, PlacedHosts};
use std::path::PathBuf;

impl Overheads {
    /// Returns when a message leaves an interface that is free at `free` and whose processor begins to send
    /// at `clock`: after the overhead, `gap` after the one before.
    #[inline]
    pub fn leave(&self, free: &mut Time, clock: Time) -> Time {
        let start = clock.max(*free) + self.send;
        *free = start + self.gap;
        start
    }
}

/// A machine as described: nothing in it depends on the number of ranks.
#[derive(Clone, PartialEq, Debug)]
pub struct Machine {
    /// A preset's or file's name, or the specification itself.
    pub name: String,
    /// Source of the numbers, for people; may be empty.
    pub source: String,
    /// The network, outermost level first.
    pub network: NetworkSpec,
    /// Rule that places ranks on endpoints.
    pub placement: PlacementRule,
    /// File of hosts, which are nodes; ranks take their slots by the rule of placement.
    pub hostfile: Option<PathBuf>,
    /// Simulated processor time for a unit of host time.
    pub processor_factor: f64,
    /// Floating-point operations that a rank's processor does in a second, if the machine says so.
    pub flop_rate: Option<f64>,
    /// Processor costs of messages at the ranks.
    pub overheads: Overheads,
    /// File servers and their costs; `None` if files cost nothing.
    pub storage: Option<Storage>,
}

impl Machine {
    /// Returns the network of routers between the nodes, if the machine has one.
    pub fn packet_network(&self) -> Option<&PacketSpec> {
        match &self.network {
            NetworkSpec::Packet { network, .. } => Some(network),
            NetworkSpec::Levels(_) => None,
        }
    }
}

/// A machine built for a given number of ranks.
#[derive(Debug)]
pub struct Built {
    /// Network model, which gives the latencies of messages.
    pub network: Network,
    /// Endpoint of each rank.
    pub placement: Placement,
    /// Simulated processor time for a unit of host time.
    pub processor_factor: f64,
    /// Floating-point operations that a rank's processor does in a second, if the machine says so.
    pub flop_rate: Option<f64>,
    /// Processor costs of messages at the ranks.
    pub overheads: Overheads,
    /// File servers and their costs; `None` if files cost nothing.
    pub storage: Option<Storage>,
    /// The specification with every size decided, as a report shows it.
    pub specification: String,
    /// Consecutive ranks at one endpoint of the outermost level (a node). It is 1 if there is one level only,
    /// or if ranks are not placed in blocks.
    pub ranks_per_node: u32,
}

/// A network, its specification with every size decided, and the sizes of its parts.
struct SizedNetwork {
    network: Network,
    specification: String,
    sizes: PlaceSizes,
}

impl SizedNetwork {
    fn new(network: Network, specification: String, node: u32, socket: Option<u32>) -> SizedNetwork {
        let sizes = PlaceSizes { endpoints: network.endpoints(), node, socket };
        SizedNetwork { network, specification, sizes }
    }
}

impl Machine {
    /// Reads a preset's name, the path of a machine file (ending in `.toml`), or a network
    /// specification such as `star:l=1us,b=1Gbps` (docs/reference/machines.md has the grammar).
    ///
    /// Errors point at the character of the specification, or name the file and what is wrong in it.
    pub fn parse(text: &str) -> Result<Machine, MachineError> {
        let text = text.trim();
        if let Some(preset) = preset(text) {
            let machine = Machine::specified(&preset.specification)?;
            return Ok(Machine {
                name: preset.name.to_owned(),
                source: preset.sources.join("; "),
                ..machine
            });
        }
        if text.ends_with(".toml") {
            return file::read(text.as_ref()).map(Machine::described);
        }
        let is_word = !text.is_empty() && text.chars().all(|c| c.is_alphanumeric() || c == '-' || c == '_');
        let is_unknown = is_word && crate::spec::topology_row(text).is_none();
        Machine::specified(text)
            .map_err(|error| if is_unknown { error.instead(no_machine(text)) } else { error })
    }

    fn specified(text: &str) -> Result<Machine, MachineError> {
        let (network, host) = crate::spec::parse(text)?;
        Ok(Machine::described(Described { name: text.to_owned(), source: String::new(), network, host }))
    }

    fn described(Described { name, source, network, host }: Described) -> Machine {
        let RankLevels { overheads, placement, processor_factor, flop_rate, storage } = host;
        Machine {
            name,
            source,
            network,
            placement,
            hostfile: None,
            processor_factor,
            flop_rate,
            overheads,
            storage,
        }
    }

    /// Builds the machine for `ranks` ranks.
    ///
    /// Errors: no ranks at all, a network smaller than the ranks, a size that does not suit the
    /// topology, latencies that pass 2^62 ps across the network, a placement that does not fit.
    pub fn build(&self, ranks: u32) -> Result<Built, MachineError> {
        let mut network = self.build_network(ranks)?;
        let placement = match &self.hostfile {
            None => self.placement.build(ranks, network.sizes)?,
            Some(path) => {
                let hosts = PlacedHosts::read(path, &self.placement, ranks, network.sizes.node)?;
                let needed = hosts.endpoints()?;
                // A network of fixed size stays as it is: the placement then names the host that it has no
                // node for.
                if u64::from(needed) > network.sizes.endpoints
                    && let Ok(larger) = self.build_network(needed)
                {
                    network = larger;
                }
                hosts.build(network.sizes)?
            }
        };
        let ranks_per_node = if matches!(placement, Placement::Block) { network.sizes.node } else { 1 };
        Ok(self.built(network, placement, ranks_per_node))
    }

    /// Builds the machine for several jobs of so many ranks each, whose ranks are numbered one job's behind
    /// the other's. How the machine itself would place ranks does not count.
    ///
    /// # Errors
    /// As [`Machine::build`]; a share that does not fit.
    pub fn build_shared(&self, jobs: &[(Share, u32)]) -> Result<Built, MachineError> {
        let needed = share::needed(jobs)?;
        let too_small =
            |why| MachineError::new(format!("{why}; the jobs' endpoints go up to {}", i64::from(needed) - 1));
        let network = self.build_network(needed).map_err(too_small)?;
        let placement = Placement::Table(share::endpoints(jobs, network.sizes.endpoints)?.into());
        Ok(self.built(network, placement, 1))
    }

    /// Builds the network with room for so many ranks.
    fn build_network(&self, ranks: u32) -> Result<SizedNetwork, MachineError> {
        if ranks == 0 {
            return Err(MachineError::new("a machine cannot be built for 0 ranks; ask for at least 1"));
        }
        match &self.network {
            NetworkSpec::Levels(levels) => {
                let built = crate::spec::build(levels, Some(ranks))?;
                let socket = (levels.len() > 2).then(|| built.network.endpoints_below(1));
                let services = services(&built.network, levels, None);
                let is_shared = !services.is_empty() || levels.iter().any(|level| level.sharing.is_shared());
                let network = match is_shared {
                    true => {
                        let shared = shared_levels(built.network, &built.specification_levels, 1)?;
                        Network::Shared(with_engines(Box::new(shared), services))
                    }
                    false => Network::Formula(Box::new(built.network)),
                };
                Ok(SizedNetwork::new(network, built.specification, built.group, socket))
            }
            NetworkSpec::Packet { network, inside } => {
                let (network, node, socket) = packet(network, inside, ranks)?;
                Ok(SizedNetwork::new(network, self.network.to_string(), node, socket))
            }
        }
    }

    fn built(&self, network: SizedNetwork, placement: Placement, ranks_per_node: u32) -> Built {
        let SizedNetwork { network, specification, .. } = network;
        let Machine { processor_factor, flop_rate, overheads, .. } = *self;
        let storage = self.storage.clone();
        Built {
            network,
            placement,
            processor_factor,
            flop_rate,
            overheads,
            storage,
            specification,
            ranks_per_node,
        }
    }
}

/// Returns the sentence for a word that is no machine: what was meant, or else all that there is.
fn no_machine(word: &str) -> String {
    let topologies = crate::topology::TOPOLOGIES.iter().map(|row| row.name);
    match crate::spec::nearest(word, preset_names().chain(topologies)) {
        Some(meant) => format!(
            "expected a topology, a preset or a machine file, but found '{word}'; did you mean '{meant}'? \
             `xsim presets` lists presets"
        ),
        None => format!(
            "expected a topology, one of {}, the name of a preset (`xsim presets` lists them) or the path of \
             a machine file ending in .toml, but found '{word}'",
            crate::spec::all_topologies()
        ),
    }
}

impl std::fmt::Display for Machine {
    /// In the grammar that `Machine::parse` reads (a placement file and a hostfile excepted).
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Overheads { send, receive, gap, eager_limit, reduce, copy } = self.overheads;
        let spans = [("o_send", send), ("o_recv", receive), ("gap", gap)];
        let mut rank: Vec<String> = spans
            .iter()
            .filter(|(_, span)| *span != Span::ZERO)
            .map(|(name, span)| format!("{name}={span}"))
            .collect();
        rank.extend(reduce.map(|rate| format!("reduce={rate}")));
        rank.extend(copy.map(|cost| format!("copy={cost}")));
        rank.extend(eager_limit.map(|bytes| format!("eager={bytes}")));
        if self.placement != PlacementRule::Block {
            rank.push(format!("place={}", self.placement));
        }
        if self.processor_factor != 1.0 {
            rank.push(format!("proc={}", self.processor_factor));
        }
        rank.extend(self.flop_rate.map(|rate| format!("flops={rate}")));
        self.network.fmt(f)?;
        if !rank.is_empty() {
            write!(f, "/rank:{}", rank.join(","))?;
        }
        self.storage.as_ref().map_or(Ok(()), |storage| write!(f, "/{storage}"))
    }
}

/// Builds a packet network with room for `ranks` ranks; also returns how many places each of its nodes has,
/// and each socket inside them.
fn packet(
    network: &PacketSpec,
    inside: &[LevelSpec],
    ranks: u32,
) -> Result<(Network, u32, Option<u32>), MachineError> {
    let built = match inside {
        [] => single_endpoint()?,
        levels => crate::spec::build(levels, None)?,
    };
    let node = built.network;
    let size = node.endpoints_of(0);
    let socket = (inside.len() > 1).then(|| node.endpoints_below(0));
    let (rails, nodes) = (network.rails(), u64::from(ranks.div_ceil(size)));
    let outer = network.interfaces(rails.map_or(nodes, |rails| rails.endpoints(nodes)))?;
    let nodes = rails.map_or(outer.endpoints(), |rails| rails.nodes(outer.endpoints()));
    let endpoints = nodes.saturating_mul(u64::from(size));
    if endpoints > u64::from(u32::MAX) {
        return Err(MachineError::new(format!(
            "{nodes} nodes of {size} endpoints each are more than the 2^32 - 1 endpoints that are possible; \
             make the nodes or the packet network smaller"
        )));
    }
    let services = services(&node, inside, Some(network.service()));
    let is_shared = inside.iter().any(|level| level.sharing.is_shared());
    let shared = is_shared
        .then(|| shared_levels(node.clone(), &built.specification_levels, nodes as u32))
        .transpose()?;
    let is_bare = inside.is_empty() && network.delay().is_zero() && rails.is_none();
    let network: Box<dyn Shared + Send> = match is_bare {
        true => outer,
        false => Box::new(NodeNetwork::new(outer, node, shared, network.delay().clone(), rails)),
    };
    Ok((Network::Shared(with_engines(network, services)), size, socket))
}

/// Returns what the MPI library takes for messages by the level in which they meet, the innermost first; with
/// `outside` for those that leave all levels. Empty if it takes nothing.
fn services(levels: &Analytic, specs: &[LevelSpec], outside: Option<&BySize>) -> Vec<LevelService> {
    let all = specs.iter().map(|spec| &spec.sharing.service);
    if all.chain(outside).all(BySize::is_zero) {
        return Vec::new();
    }
    let level = |(index, spec): (usize, &LevelSpec)| LevelService {
        block: Some(Divisor::new(levels.endpoints_of(index))),
        time: spec.sharing.service.clone(),
    };
    let inner = specs.iter().enumerate().rev().map(level);
    inner.chain(outside.map(|time| LevelService { block: None, time: time.clone() })).collect()
}

/// Returns the network with the MPI library at each endpoint, if that takes time.
fn with_engines(network: Box<dyn Shared + Send>, services: Vec<LevelService>) -> Box<dyn Shared + Send> {
    match services.is_empty() {
        true => network,
        false => Box::new(RankEngines::new(network, services)),
    }
}

/// Returns levels of one endpoint without links.
fn single_endpoint() -> Result<BuiltLevels, MachineError> {
    match crate::spec::parse("none:1")? {
        (NetworkSpec::Levels(levels), _) => crate::spec::build(&levels, None),
        (NetworkSpec::Packet { .. }, _) => unreachable!("'none' is a formula"),
    }
}
