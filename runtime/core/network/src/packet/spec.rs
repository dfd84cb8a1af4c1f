//! Specifications of packet networks, such as `fattree:m=8,n=3,l=0ns,b=100Gbps,router=90ns,vcs=1,buf=64KiB`.

mod common;
pub(crate) mod parameters;

use super::fabric::{PacketFabric, Switching};
use super::failures::{DegradedTopology, Failures};
use super::flow::{FlowNetwork, FlowOptions};
use super::routing::Routing;
use super::statistics::Statistics;
use super::{packet_network, routing};
use crate::bandwidth::Bandwidth;
use crate::by_size::BySize;
use crate::divisor::Divisor;
use crate::machine::{MachineError, MachineText};
use crate::model::Interfaces;
use crate::rails::NodeRails;
use crate::spec::text::Level;
use crate::spec::{TopologySpec, did_you_mean, routed_topologies, topology_row};
use crate::topology::LinkKind;
use crate::topology::shortest::Shortest;
use crate::topology::{DetailLevel, OwnRoutings, RoutedTopology};
pub use common::COMMON_KEYS;
pub(crate) use common::FLOW_MIN;
use common::{TopologyParameters, common};
use parameters::KeyedValues;
pub use parameters::parse_bytes;
use std::fmt;
use std::sync::Arc;

/// A packet network as it was specified, checked as far as that is possible without building it.
#[derive(Clone)]
pub struct PacketSpec {
    /// As given.
    text: String,
    topology: TopologySpec,
    parameters: KeyedValues,
    common: TopologyParameters,
}

impl PartialEq for PacketSpec {
    fn eq(&self, other: &PacketSpec) -> bool {
        self.topology == other.topology && self.parameters == other.parameters
    }
}

impl fmt::Debug for PacketSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl PacketSpec {
    /// Reads a level as written.
    pub(crate) fn read(level: &Level<'_>, source: MachineText) -> Result<PacketSpec, MachineError> {
        let name = level.name;
        let Some(row) = topology_row(name.text).filter(|row| row.routers.is_some()) else {
            let names: Vec<&str> = routed_topologies().collect();
            let meant = did_you_mean(name.text, names.iter().copied());
            return Err(source.error(
                name.at,
                format!("'{}' is not a packet network; take one of {}{meant}", name.text, names.join(", ")),
            ));
        };
        let (topology, items) = TopologySpec::read(row, level, DetailLevel::Packet, &source)?;
        let parameters = KeyedValues::read(name.text, &items, source, row.keys)?;
        topology.check_required()?;
        let common = common(&parameters, row.routing).map_err(|wrong| parameters.error(wrong))?;
        if common.flow.is_some() {
            let of_packets = row.keys.iter().filter(|key| key.level == DetailLevel::Packet);
            if let Some(key) = of_packets.map(|key| key.name).find(|key| topology.options.get(key).is_some())
            {
                return Err(parameters.error(topology.options.wrong(key, common::no_flow_has(key))));
            }
        }
        Ok(PacketSpec { text: level.to_string(), topology, parameters, common })
    }

    /// Returns the text it was read from.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Returns the level of detail: `packet` or `flow`.
    pub(crate) fn level(&self) -> &'static str {
        if self.is_of_flows() { "flow" } else { "packet" }
    }

    /// Returns `true` if this network is one of flows.
    pub(crate) fn is_of_flows(&self) -> bool {
        self.common.flow.is_some()
    }

    /// Returns the MPI library's own time for messages that pass the network.
    pub(crate) fn delay(&self) -> &BySize {
        &self.common.delay
    }

    /// Returns the interfaces of nodes, if they have several.
    pub(crate) fn rails(&self) -> Option<NodeRails> {
        self.common.rails.map(NodeRails::new)
    }

    /// Refuses costs of the MPI library for synthetic traffic, which has none.
    pub(crate) fn check_synthetic(&self) -> Result<(), MachineError> {
        if self.common.rails.is_some() {
            return Err(MachineError::new(
                "nics=... gives nodes several endpoints, and synthetic traffic has endpoints alone; leave \
                 nics= out",
            ));
        }
        let costs = [("delay", &self.common.delay), ("o", &self.common.service)];
        match costs.iter().find(|(_, cost)| !cost.is_zero()) {
            Some((key, _)) => Err(MachineError::new(format!(
                "{key}=... is the MPI library's time, and synthetic traffic has no MPI; leave {key}= out"
            ))),
            None => Ok(()),
        }
    }

    /// Returns the time for which the MPI library of either end is busy with a message that passes the
    /// network.
    pub(crate) fn service(&self) -> &BySize {
        &self.common.service
    }

    /// Builds the network at its level for `ranks` endpoints or more.
    ///
    /// # Errors
    /// Says what is impossible, or how much memory it would need.
    pub(crate) fn interfaces(&self, ranks: u64) -> Result<Box<dyn Interfaces + Send>, MachineError> {
        let fabric = self.fabric_for(ranks)?;
        Ok(match self.is_of_flows() {
            true => Box::new(FlowNetwork::over(&fabric, Statistics::of_flows())),
            false => packet_network(fabric),
        })
    }

    /// Returns the network without its state, with room for `ranks` endpoints.
    fn fabric_for(&self, ranks: u64) -> Result<Arc<PacketFabric>, MachineError> {
        if self.common.switching.classes.count() > 1 {
            return Err(MachineError::new(
                "traffic classes have no effect here: all messages of MPI programs are of one class; leave \
                 classes= and weights= out",
            ));
        }
        let fabric = self.fabric(Some(ranks))?;
        let endpoints = u64::from(fabric.topology.endpoints());
        if endpoints < ranks {
            return Err(MachineError::new(format!(
                "{} has {endpoints} endpoints, too few for {ranks}; make it larger",
                fabric.topology.describe()
            )));
        }
        Ok(Arc::new(fabric))
    }

    /// Returns the network without its state. `ranks` sizes topologies that leave their size open; without it
    /// the network is for synthetic traffic.
    pub(crate) fn fabric(&self, ranks: Option<u64>) -> Result<PacketFabric, MachineError> {
        let link = LinkKind::new("link", self.common.latency, self.common.bandwidth);
        let mut built = self.topology.routers(ranks, link).map_err(|wrong| self.parameters.error(wrong))?;
        if let Some(file) = &self.common.failures {
            let text = engine::text::read(file.as_ref(), engine::text::LIST)
                .map_err(|e| format!("the file of failures '{file}' cannot be read: {e}"))?;
            let failures = Failures::parse(&text, &*built.topology).map_err(|e| format!("{file}, {e}"))?;
            if let (Some(_), Some(endpoint)) = (ranks, failures.first_endpoint()) {
                return Err(MachineError::new(format!(
                    "{file}: endpoint {endpoint} has failed, but a rank may run there; under MPI programs \
                     let only links and routers without endpoints fail"
                )));
            }
            let spares_the_routers = failures.spare_the_routers();
            built.topology = Arc::new(DegradedTopology::new(built.topology.clone(), failures));
            // Routings made for a topology compute their ways from its numbers, which failures leave untrue.
            if !spares_the_routers {
                let routings: Vec<_> = built.own.routings.iter().map(|r| r.name()).collect();
                if let Some(name) = self.common.routing.as_deref().filter(|name| routings.contains(name)) {
                    return Err(MachineError::new(format!(
                        "routing={name} cannot go around failures; use minimal, valiant, ugal-l or ugal-g"
                    )));
                }
                built.own = OwnRoutings::default();
                built.paths = None;
            }
        }
        let routing = self.routing(&mut built)?;
        if self.is_of_flows() {
            return self.assemble_flows(built, routing);
        }
        let mut switching = self.common.switching.clone();
        // Sources of synthetic traffic are one queue in the simulators and papers that its figures are
        // compared with.
        switching.round_robin = self.common.round_robin.unwrap_or(ranks.is_some());
        switching.slotted = routing.uses_bubbles();
        let needed = routing.lanes_needed();
        switching.lanes = self.common.lanes.unwrap_or(needed);
        if switching.lanes < needed {
            return Err(MachineError::new(format!(
                "routing {} on {} can deadlock with vcs={}; it needs at least {needed}",
                routing.name(),
                built.topology.describe(),
                switching.lanes
            )));
        }
        if needed > 128 {
            return Err(MachineError::new(format!(
                "routing {} on {} would need {needed} virtual channels (limit 128); use a topology of \
                 smaller diameter",
                routing.name(),
                built.topology.describe()
            )));
        }
        if let Some(worm) = &switching.wormhole {
            if routing.uses_bubbles() || routing.takes_credit() {
                return Err(MachineError::new(format!(
                    "switching=wormhole cannot do what routing {} on {} does, which needs whole packets in a \
                     buffer; {}",
                    routing.name(),
                    built.topology.describe(),
                    if routing.takes_credit() {
                        "take another routing"
                    } else {
                        "take a torus with rings=dateline"
                    }
                )));
            }
            if switching.buffer < worm.flit {
                return Err(MachineError::new(format!(
                    "buf={} bytes cannot hold a flit of {} bytes; raise buf= or lower chunk=",
                    switching.buffer, worm.flit
                )));
            }
            return self.assemble(built, routing, switching);
        }
        let room = switching.packet() * if switching.slotted { 2 } else { 1 };
        if switching.buffer < room {
            return Err(MachineError::new(format!(
                "buf={} bytes cannot hold {} ({room} bytes); raise buf= or lower packet=",
                switching.buffer,
                if switching.slotted {
                    "the two packets that the bubble rule needs"
                } else {
                    "one packet with its header"
                }
            )));
        }
        self.assemble(built, routing, switching)
    }

    fn routing(&self, built: &mut RoutedTopology) -> Result<Arc<dyn Routing>, MachineError> {
        let wanted = self.common.routing.as_deref();
        let own = &built.own;
        if let Some(own) =
            own.routings.iter().find(|r| wanted.map_or(own.first_is_default, |name| r.name() == name))
        {
            return Ok(own.clone());
        }
        let mut names: Vec<&str> = own.routings.iter().map(|r| r.name()).collect();
        names.extend(["minimal", "valiant", "ugal-l", "ugal-g", "par"]);
        // A flow has one path from its start on, so that a routing by load is not the default.
        let default = if self.is_of_flows() { "minimal" } else { self.topology.row.routing };
        let name = wanted.unwrap_or(default);
        if !names.contains(&name) {
            return Err(MachineError::new(format!(
                "'{name}' is not a routing for {}; take one of {}",
                self.topology.row.name,
                names.join(", ")
            )));
        }
        let paths = match &built.paths {
            Some(paths) => paths.clone(),
            None => Arc::new(Shortest::new(built.topology.clone())?),
        };
        let bias = self.common.bias;
        Ok(match name {
            "valiant" => Arc::new(routing::valiant::Valiant::new(paths)),
            "ugal-l" => Arc::new(routing::ugal::Ugal::new(paths, bias, false)),
            "ugal-g" => Arc::new(routing::ugal::Ugal::new(paths, bias, true)),
            "par" => Arc::new(routing::progressive::Progressive::new(paths, bias)),
            _ => Arc::new(routing::minimal::Minimal::new(paths)),
        })
    }

    /// Puts a network of flows together, which has no buffers, so that nothing deadlocks.
    fn assemble_flows(
        &self,
        built: RoutedTopology,
        routing: Arc<dyn Routing>,
    ) -> Result<PacketFabric, MachineError> {
        if routing.looks_at_load() {
            return Err(MachineError::new(format!(
                "routing={} goes by queues, which level=flow does not have; take a routing with fixed paths, \
                 such as minimal or valiant, or level=packet",
                routing.name()
            )));
        }
        let fabric = self.join(built, routing, Switching { lanes: 1, ..self.common.switching.clone() });
        super::flow::check_size(&fabric, available_memory())?;
        if fabric.flow.by_latency && fabric.least_latency() == 0 {
            return Err(MachineError::new(
                "share=latency needs a latency between any two endpoints; give l= or router= above 0",
            ));
        }
        Ok(fabric)
    }

    fn assemble(
        &self,
        built: RoutedTopology,
        routing: Arc<dyn Routing>,
        switching: Switching,
    ) -> Result<PacketFabric, MachineError> {
        let fabric = self.join(built, routing, switching);
        if fabric.last_event(0).is_none() {
            return Err(MachineError::new(fabric.too_slow()));
        }
        let ports = fabric.ports();
        if ports >= super::event::PLACES {
            return Err(MachineError::new(format!(
                "{} has {ports} ports, more than 2^29; make it smaller",
                fabric.topology.describe()
            )));
        }
        let (needed, available) = (fabric.memory(), available_memory());
        if needed > available {
            return Err(fabric.too_large(
                needed,
                available,
                "use fewer virtual channels or a smaller network",
            ));
        }
        Ok(fabric)
    }

    /// Adds the links of interfaces.
    fn join(&self, built: RoutedTopology, routing: Arc<dyn Routing>, switching: Switching) -> PacketFabric {
        let mut links = built.links;
        let mut extra = |name: &str, bandwidth: Option<Bandwidth>| {
            bandwidth.map(|bandwidth| {
                links.push(LinkKind::new(name, self.common.latency, bandwidth));
                links.len() as u8 - 1
            })
        };
        let injection = extra("interface", self.common.interface);
        let ejection = extra("ejection", self.common.ejection);
        let credit = links.iter().map(|link| switching.credit.unwrap_or(link.latency.as_ps())).collect();
        let stride = Divisor::new(built.topology.radix().max(1));
        PacketFabric {
            topology: built.topology,
            routing,
            switching,
            links,
            credit,
            injection,
            ejection,
            stride,
            flow: self.common.flow.clone().unwrap_or_else(|| FlowOptions::new(0)),
        }
    }
}

/// Returns the bytes that this host can still give; without limit where it does not tell.
fn available_memory() -> u64 {
    let text = std::fs::read_to_string("/proc/meminfo").unwrap_or_default();
    let line = text.lines().find(|line| line.starts_with("MemAvailable:"));
    let kib = line.and_then(|line| line.split_whitespace().nth(1)).and_then(|kib| kib.parse::<u64>().ok());
    kib.map_or(u64::MAX, |kib| kib * 1024)
}
