//! Specifications of packet networks, such as `fattree:m=8,n=3,l=0ns,b=100Gbps,router=90ns,vcs=1,buf=64KiB`.

mod kinds;
mod parameters;

use super::fabric::{Classes, Fabric, Link, Switching, Worm};
use super::failures::{Failed, Failures};
use super::routing::Routing;
use super::topology::{Paths, Topology, shortest::Shortest};
use super::{PacketNetwork, routing};
use crate::bandwidth::Bandwidth;
use crate::divisor::Divisor;
use crate::machine::{MachineError, Source};
use crate::spec::text::Level;
use engine::Span;
use kinds::{KINDS, Kind};
pub use parameters::parse_bytes;
use parameters::{Parameters, Wrong};
use std::fmt;
use std::sync::Arc;

/// A packet network as it was specified, checked as far as that is possible without building it.
#[derive(Clone)]
pub struct PacketSpec {
    /// As given.
    text: String,
    kind: &'static Kind,
    parameters: Parameters,
    common: Common,
}

/// What every topology understands.
#[derive(Clone)]
struct Common {
    latency: Span,
    bandwidth: Bandwidth,
    interface: Option<Bandwidth>,
    ejection: Option<Bandwidth>,
    lanes: Option<u32>,
    routing: Option<String>,
    /// Bytes in favour of the minimal path, of the routings that choose between it and a detour.
    bias: u64,
    failures: Option<String>,
    switching: Switching,
}

/// Keys that every topology understands, with what they mean.
pub const COMMON_KEYS: [(&str, &str); 24] = [
    ("l", "latency of a link (0ns)"),
    ("b", "bandwidth of a link (100Gbps)"),
    ("router", "time between a packet's arrival at a router and its routing (90ns)"),
    ("nic", "bandwidth of the link from an endpoint into the network (as the network's)"),
    ("ejection", "bandwidth of the link from the network to an endpoint (as the network's)"),
    ("vcs", "virtual channels of a link (as many as the routing needs)"),
    ("buf", "input buffer of each virtual channel (64KiB)"),
    ("packet", "most payload of a packet (4KiB)"),
    ("header", "bytes each packet has beside its payload (0)"),
    ("chunk", "bytes that cut-through waits for; a flit of wormhole switching (64)"),
    ("switching", "saf (store-and-forward, the default), cut (virtual cut-through) or wormhole (flit by flit)"),
    ("credit", "time a credit takes back (the link's latency)"),
    ("outq", "bytes an output takes ahead in order of arrival; beyond them inputs take turns (one packet)"),
    ("crossbar", "yes: an input sends to one output at a time; islip: the same, matched once a cycle (no)"),
    (
        "cycle",
        "with crossbar=islip, time between two matchings (what a whole packet takes on a link); with switching=wormhole, a router's clock (what a flit takes)",
    ),
    ("speedup", "with switching=wormhole, steps of a router in a cycle (1)"),
    ("queue", "voq (an input has a queue for each output, the default) or fifo (one for each virtual channel, and crossbar=yes at least)"),
    (
        "turnaround",
        "with queue=fifo or switching=wormhole, time from a packet's leaving until the next of its virtual channel asks for an output (0ns)",
    ),
    ("classes", "traffic classes, a lower number first (1)"),
    ("weights", "traffic classes by weight instead, such as 4:2:1"),
    ("routing", "the routing algorithm (the topology's first)"),
    ("bias", "bytes that ugal-l, ugal-g and par count in favour of the minimal path (30 chunks)"),
    ("failures", "file of failed links, routers and endpoints"),
    ("level", "packet; it says no more than that this is a packet network"),
];

fn common(parameters: &Parameters) -> Result<Common, Wrong> {
    let classes = match (parameters.text("weights"), parameters.number("classes")?) {
        (Some(_), Some(_)) => return Err(parameters.wrong("classes", "'classes' and 'weights' exclude each other; give one of them")),
        (Some(weights), None) => Classes::Weighted(weight_list(weights).map_err(|why| parameters.wrong("weights", why))?),
        (None, Some(count)) if (1..=8).contains(&count) => Classes::Strict(count as u8),
        (None, Some(count)) => return Err(parameters.wrong("classes", format!("classes={count} is not between 1 and 8"))),
        (None, None) => Classes::Strict(1),
    };
    let (store_and_forward, by_flits) = match parameters.text("switching") {
        None | Some("saf") => (true, false),
        Some("cut") => (false, false),
        Some("wormhole") => (false, true),
        Some(other) => {
            let why = format!("switching={other} is neither saf (store-and-forward) nor cut (cut-through) nor wormhole");
            return Err(parameters.wrong("switching", why));
        }
    };
    let (crossbar, matched) = match parameters.text("crossbar") {
        None | Some("no") => (false, false),
        Some("yes") => (true, false),
        Some("islip") => (true, true),
        Some(other) => return Err(parameters.wrong("crossbar", format!("crossbar={other} is none of no, yes and islip"))),
    };
    let cycle = parameters.span("cycle")?;
    if cycle.is_some() && !matched && !by_flits {
        return Err(parameters.wrong("cycle", "cycle=... needs crossbar=islip or switching=wormhole"));
    }
    if cycle == Some(Span::ZERO) {
        return Err(parameters.wrong("cycle", "cycle=0 leaves no time between two matchings"));
    }
    if matched && classes.count() > 1 {
        return Err(parameters.wrong("crossbar", "crossbar=islip knows no traffic classes; leave classes and weights out"));
    }
    let turnaround = parameters.span("turnaround")?;
    let fifo = match parameters.text("queue") {
        None | Some("voq") if turnaround.is_none() || by_flits => None,
        None | Some("voq") => {
            return Err(parameters.wrong("turnaround", "turnaround=... needs queue=fifo or switching=wormhole"));
        }
        Some("fifo") => Some(turnaround.unwrap_or(Span::ZERO).as_ps()),
        Some(other) => {
            let why = format!("queue={other} is neither voq (a queue for each output) nor fifo (one for each virtual channel)");
            return Err(parameters.wrong("queue", why));
        }
    };
    if fifo.is_some() && parameters.text("crossbar") == Some("no") {
        return Err(parameters.wrong("crossbar", "queue=fifo sends from an input to one output at a time; leave crossbar=no out"));
    }
    if !matches!(parameters.text("level"), None | Some("packet")) {
        return Err(parameters.wrong("level", "level=... can only be packet here"));
    }
    let mut switching = Switching {
        store_and_forward,
        chunk: parameters.bytes("chunk", 64, 1)?,
        payload: parameters.bytes("packet", 4096, 1)?,
        header: parameters.bytes("header", 0, 0)?,
        lanes: 1,
        buffer: parameters.bytes("buf", 65536, 1)?,
        slotted: false,
        router: parameters.span("router")?.unwrap_or(Span::from_ns(90)).as_ps(),
        credit: parameters.span("credit")?.map(Span::as_ps),
        output: parameters.bytes("outq", parameters.bytes("packet", 4096, 1)?, 0)?,
        crossbar: crossbar || fifo.is_some(),
        fifo,
        cycle: None,
        wormhole: None,
        classes,
    };
    if u64::from(switching.payload) + u64::from(switching.header) >= 1 << 24 {
        return Err(parameters.wrong("packet", "a packet with its header must stay below 16 MiB; lower packet= or header="));
    }
    let bandwidth = parameters.bandwidth("b")?.unwrap_or(Bandwidth::from_gbps(100));
    if by_flits {
        switching.wormhole = Some(worm(parameters, &switching, bandwidth)?);
    } else if parameters.text("speedup").is_some() {
        return Err(parameters.wrong("speedup", "speedup=... needs switching=wormhole"));
    }
    if matched {
        let whole = || Link::new("", Span::ZERO, bandwidth).time(switching.packet());
        switching.cycle = Some(cycle.map_or_else(whole, Span::as_ps));
    }
    let lanes = parameters.number("vcs")?;
    if let Some(lanes @ (0 | 129..)) = lanes {
        return Err(parameters.wrong("vcs", format!("vcs={lanes} is not between 1 and 128")));
    }
    Ok(Common {
        latency: parameters.span("l")?.unwrap_or(Span::ZERO),
        bandwidth,
        interface: parameters.bandwidth("nic")?,
        ejection: parameters.bandwidth("ejection")?,
        bias: bias(parameters)?,
        lanes,
        routing: parameters.text("routing").map(str::to_owned),
        failures: parameters.text("failures").map(str::to_owned),
        switching,
    })
}

/// Wormhole switching's own keys.
fn worm(parameters: &Parameters, switching: &Switching, bandwidth: Bandwidth) -> Result<Worm, Wrong> {
    if let Some(key) = ["queue", "crossbar"].into_iter().find(|key| parameters.text(key).is_some()) {
        let why =
            format!("{key}=... has no effect with switching=wormhole, whose routers have queues and a crossbar of their own; leave it out");
        return Err(parameters.wrong(key, why));
    }
    if switching.classes.count() > 1 {
        return Err(parameters.wrong("switching", "switching=wormhole knows no traffic classes; leave classes and weights out"));
    }
    let flit = switching.chunk.min(switching.packet());
    let cycle = parameters.span("cycle")?.map_or_else(|| Link::new("", Span::ZERO, bandwidth).time(flit), Span::as_ps);
    let speedup = parameters.text("speedup").unwrap_or("1");
    let times = speedup.parse::<f64>().ok().filter(|times| (1.0..=64.0).contains(times));
    let times = times.ok_or_else(|| parameters.wrong("speedup", format!("speedup={speedup} is not a number from 1 to 64")))?;
    let step = ((cycle as f64 / times) as u64).max(1);
    Ok(Worm { flit, step, turnaround: parameters.span("turnaround")?.unwrap_or(Span::ZERO).as_ps() })
}

/// BookSim2's `adaptive_threshold` of 30 flits is the default, a flit being what cut-through waits for.
fn bias(parameters: &Parameters) -> Result<u64, Wrong> {
    let chunk = parameters.bytes("chunk", 64, 1)?;
    if parameters.text("bias").is_some() && !matches!(parameters.text("routing"), Some("ugal-l" | "ugal-g" | "par")) {
        let why = "bias=... is for routings that choose between the minimal path and a detour; add routing=ugal-l, ugal-g or par";
        return Err(parameters.wrong("bias", why));
    }
    parameters.bytes("bias", 0, 0).map(|bytes| if parameters.text("bias").is_some() { u64::from(bytes) } else { 30 * u64::from(chunk) })
}

fn weight_list(text: &str) -> Result<Vec<u32>, String> {
    let error = || format!("weights={text} is not a list of 1 to 8 weights from 1 to 1000, such as 4:2:1");
    let weights: Vec<u32> = text.split(':').map(|w| w.parse().map_err(|_| error())).collect::<Result<_, _>>()?;
    if weights.len() > 8 || weights.iter().any(|&w| w == 0 || w > 1000) { Err(error()) } else { Ok(weights) }
}

/// A topology with the routings made for it.
struct Built {
    topology: Arc<dyn Topology>,
    /// Shortest paths, if the topology computes them itself.
    paths: Option<Arc<dyn Paths>>,
    /// The topology's own routings, the default first.
    own: Vec<Arc<dyn Routing>>,
    /// The kinds of links.
    links: Vec<Link>,
}

impl PartialEq for PacketSpec {
    fn eq(&self, other: &PacketSpec) -> bool {
        self.kind.name == other.kind.name && self.parameters == other.parameters
    }
}

impl fmt::Debug for PacketSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl PacketSpec {
    /// Reads a level as written.
    pub(crate) fn read(level: &Level<'_>, source: Source) -> Result<PacketSpec, MachineError> {
        let name = level.name;
        let Some(kind) = KINDS.iter().find(|kind| kind.name == name.text) else {
            let names: Vec<&str> = KINDS.iter().map(|kind| kind.name).collect();
            return Err(source.error(name.at, format!("'{}' is not a packet network; take one of {}", name.text, names.join(", "))));
        };
        let known: Vec<&str> = COMMON_KEYS.iter().map(|k| k.0).chain(kind.keys.iter().map(|k| k.0)).collect();
        let parameters = Parameters::read(level, source, &known)?;
        let common = common(&parameters).map_err(|wrong| parameters.error(wrong))?;
        Ok(PacketSpec { text: level.to_string(), kind, parameters, common })
    }

    /// The text it was read from.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Builds the network for `ranks` endpoints or more. The error says what is impossible, or how much memory it would need.
    pub fn build(&self, ranks: u64) -> Result<PacketNetwork, MachineError> {
        if self.common.switching.classes.count() > 1 {
            return Err(MachineError::new(
                "traffic classes have no effect here: all messages of MPI programs are of one class; leave classes= and weights= out",
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
        Ok(PacketNetwork::new(Arc::new(fabric)))
    }

    /// The network without its state; `ranks` sizes topologies that leave their size open.
    pub(crate) fn fabric(&self, ranks: Option<u64>) -> Result<Fabric, MachineError> {
        let mut built = (self.kind.build)(&self.parameters, &self.common, ranks).map_err(|wrong| self.parameters.error(wrong))?;
        if let Some(file) = &self.common.failures {
            let text = engine::text::read(file.as_ref(), engine::text::LIST)
                .map_err(|e| format!("the file of failures '{file}' cannot be read: {e}"))?;
            let failures = Failures::parse(&text, &*built.topology).map_err(|e| format!("{file}, {e}"))?;
            if let (Some(_), Some(endpoint)) = (ranks, failures.first_endpoint()) {
                return Err(MachineError::new(format!(
                    "{file}: endpoint {endpoint} has failed, but a rank may run there; under MPI programs let only links and routers without endpoints fail"
                )));
            }
            let spares_the_routers = failures.spare_the_routers();
            built.topology = Arc::new(Failed::new(built.topology.clone(), failures));
            if !spares_the_routers {
                let routings: Vec<_> = built.own.iter().map(|r| r.name()).collect();
                if let Some(name) = self.common.routing.as_deref().filter(|name| routings.contains(name)) {
                    return Err(MachineError::new(format!(
                        "routing={name} cannot go around failures; use minimal, valiant, ugal-l or ugal-g"
                    )));
                }
                built.own.clear();
                built.paths = None;
            }
        }
        let routing = self.routing(&mut built)?;
        let mut switching = self.common.switching.clone();
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
                "routing {} on {} would need {needed} virtual channels (limit 128); use a topology of smaller diameter",
                routing.name(),
                built.topology.describe()
            )));
        }
        if let Some(worm) = &switching.wormhole {
            if routing.uses_bubbles() || routing.takes_credit() {
                return Err(MachineError::new(format!(
                    "switching=wormhole cannot do what routing {} on {} does, which needs whole packets in a buffer; {}",
                    routing.name(),
                    built.topology.describe(),
                    if routing.takes_credit() { "take another routing" } else { "take a torus with rings=dateline" }
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
                if switching.slotted { "the two packets that the bubble rule needs" } else { "one packet with its header" }
            )));
        }
        self.assemble(built, routing, switching)
    }

    fn routing(&self, built: &mut Built) -> Result<Arc<dyn Routing>, MachineError> {
        let wanted = self.common.routing.as_deref();
        if let Some(own) = built.own.iter().find(|r| wanted.is_none_or(|name| r.name() == name)) {
            return Ok(own.clone());
        }
        let mut names: Vec<&str> = built.own.iter().map(|r| r.name()).collect();
        names.extend(["minimal", "valiant", "ugal-l", "ugal-g", "par"]);
        let name = wanted.unwrap_or("minimal");
        if !names.contains(&name) {
            return Err(MachineError::new(format!("'{name}' is not a routing for {}; take one of {}", self.kind.name, names.join(", "))));
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

    fn assemble(&self, built: Built, routing: Arc<dyn Routing>, switching: Switching) -> Result<Fabric, MachineError> {
        let mut links = built.links;
        let mut extra = |name: &str, bandwidth: Option<Bandwidth>| {
            bandwidth.map(|bandwidth| {
                links.push(Link::new(name, self.common.latency, bandwidth));
                links.len() as u8 - 1
            })
        };
        let injection = extra("interface", self.common.interface);
        let ejection = extra("ejection", self.common.ejection);
        let credit = links.iter().map(|link| switching.credit.unwrap_or(link.latency.as_ps())).collect();
        let stride = Divisor::new(built.topology.radix().max(1));
        let fabric = Fabric { topology: built.topology, routing, switching, links, credit, injection, ejection, stride };
        if fabric.last_event(0).is_none() {
            return Err(MachineError::new(fabric.too_slow()));
        }
        let ports = fabric.ports();
        if ports >= super::event::PLACES {
            return Err(MachineError::new(format!("{} has {ports} ports, more than 2^29; make it smaller", fabric.topology.describe())));
        }
        let (needed, available) = (fabric.memory(), available_memory());
        if needed > available {
            let gib = |bytes: u64| bytes as f64 / (1u64 << 30) as f64;
            return Err(MachineError::new(format!(
                "{} would need {:.1} GiB for its {ports} ports, but {:.1} GiB are available; use fewer virtual channels or a smaller network",
                fabric.topology.describe(),
                gib(needed),
                gib(available)
            )));
        }
        Ok(fabric)
    }
}

/// Bytes that this host can still give; without limit where it does not tell.
fn available_memory() -> u64 {
    let text = std::fs::read_to_string("/proc/meminfo").unwrap_or_default();
    let line = text.lines().find(|line| line.starts_with("MemAvailable:"));
    let kib = line.and_then(|line| line.split_whitespace().nth(1)).and_then(|kib| kib.parse::<u64>().ok());
    kib.map_or(u64::MAX, |kib| kib * 1024)
}
