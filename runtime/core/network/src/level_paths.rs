//! The shared parts of a machine of levels: interfaces of nodes, and memory inside them.
//!
//! A message between nodes is a flow over the interface that it leaves by and the one that it enters by. A
//! message inside a node is a flow over the memory of the level in which its ranks meet. Alone, each takes
//! the formula's time: the formula's narrowest link bounds the flow, and latencies and delays occupy
//! nothing.

#[cfg(test)]
mod tests;

use crate::analytic::Analytic;
use crate::bandwidth::{Bandwidth, Serialization, gcd};
use crate::by_size::BySize;
use crate::divisor::Divisor;
use crate::machine::MachineError;
use crate::message::{Endpoint, Message};
use crate::model::Formula;
use crate::packet::report::{job_report, kind_report};
use crate::packet::{FlowNetwork, LinkEnd, LinkReport, NetworkReport, Paths, Route, RouterMap, Statistics};
use crate::spec::{LevelSpec, Rail};
use engine::Span;
use flow::Capacity;

/// Links at most: interfaces, two for each, and memories.
const MAX_LINKS: u64 = 1 << 28;

/// The interfaces of all nodes. Links go by node, then interface; out, then in.
struct NodeInterfaces {
    /// Endpoints of a node.
    node: Divisor,
    out: SharedLine,
    in_: SharedLine,
    count: u32,
    rail: Rail,
    loopback: Option<Loopback>,
}

/// The path of messages inside a node through its interface.
#[derive(Clone, Copy)]
struct Loopback {
    line: Serialization,
    /// A byte counts for so many of the interface's: a reduced fraction.
    share: (u64, u64),
    /// Bytes from which on messages take it.
    least: u64,
}

/// Time of bytes and messages in a link.
#[derive(Clone)]
struct SharedLine {
    serialization: Serialization,
    /// Least picoseconds between two messages.
    interval: u64,
    /// Picoseconds of a message beside its bytes.
    gap: BySize,
}

/// The memories of all instances of a level.
struct LevelMemory {
    /// Endpoints of an instance.
    block: Divisor,
    /// The first of its links.
    first: u32,
    /// Time of a message's bytes, each of which passes the memory several times.
    line: SharedLine,
    /// Bytes from which on messages share it.
    least: u64,
    topology: &'static str,
}

/// Finds the shared links of messages on a machine of levels.
pub(crate) struct LevelPaths {
    levels: Analytic,
    /// Endpoints of one copy of the levels.
    size: Divisor,
    copies: u32,
    nodes: u32,
    interfaces: Option<NodeInterfaces>,
    /// By level, the outermost first.
    memories: Vec<Option<LevelMemory>>,
    count: u32,
    specification: String,
    /// The path that was found last.
    path: SharedPath,
    limited: Vec<u32>,
    slowest: Serialization,
}

/// The shared links of a message.
#[derive(Clone, Copy)]
struct SharedPath {
    /// The link that it leaves by and the one that it enters by; of a memory the same.
    links: [u32; 2],
    loopback: Option<Loopback>,
}

/// Returns the network of levels that share something, in so many copies side by side.
///
/// # Errors
/// More links than can be numbered, or a bandwidth out of range.
pub(crate) fn shared_levels(
    levels: Analytic,
    specs: &[LevelSpec],
    copies: u32,
) -> Result<FlowNetwork<LevelPaths>, MachineError> {
    let flow_min =
        specs.iter().find(|spec| spec.sharing.is_shared()).map_or(0, |spec| spec.sharing.flow_min());
    let paths = LevelPaths::new(levels, specs, copies)?;
    Ok(FlowNetwork::new(paths, flow_min, Statistics::of_flows()))
}

impl LevelPaths {
    fn new(levels: Analytic, specs: &[LevelSpec], copies: u32) -> Result<LevelPaths, MachineError> {
        let size = levels.endpoints_of(0);
        let endpoints = u64::from(size) * u64::from(copies);
        let node = levels.endpoints_below(0);
        let nodes = endpoints / u64::from(node);
        let interfaces = specs[0].sharing.has_interfaces();
        let interfaces = interfaces.then(|| NodeInterfaces::new(&specs[0], node)).transpose()?;
        let mut count = interfaces.as_ref().map_or(0, |interfaces| 2 * nodes * u64::from(interfaces.count));
        let mut memories = Vec::with_capacity(specs.len());
        for (index, spec) in specs.iter().enumerate() {
            let block = levels.endpoints_of(index);
            let memory = spec.sharing.memory.map(|memory| LevelMemory::new(spec, memory, block, count));
            memories.push(memory.transpose()?);
            if spec.sharing.memory.is_some() {
                count += endpoints / u64::from(block);
            }
        }
        if count > MAX_LINKS {
            return Err(MachineError::new(format!(
                "{count} interfaces and memories are more than {MAX_LINKS}; make the machine smaller"
            )));
        }
        Ok(LevelPaths {
            size: Divisor::new(size),
            copies,
            nodes: nodes as u32,
            interfaces,
            memories,
            count: count as u32,
            specification: specs.iter().map(LevelSpec::to_string).collect::<Vec<_>>().join("/"),
            path: SharedPath { links: [0, 0], loopback: None },
            limited: Vec::with_capacity(2),
            slowest: Serialization::new(Bandwidth::INFINITE),
            levels,
        })
    }

    /// Returns the line of a link.
    fn line(&self, link: u32) -> &SharedLine {
        let memory = self.memories.iter().rev().flatten().find(|memory| memory.first <= link);
        match (&self.interfaces, memory) {
            (_, Some(memory)) => &memory.line,
            (Some(interfaces), None) => interfaces.line(link),
            (None, None) => unreachable!("a shared machine has interfaces or memory"),
        }
    }

    /// Returns an endpoint's number in its copy of the levels.
    fn place(&self, endpoint: Endpoint) -> u32 {
        self.size.split(endpoint.0).1
    }

    /// Returns the links that a message shares with others, if it shares any.
    fn shared_path(&self, message: &Message) -> Option<SharedPath> {
        let (source, destination) = (message.source.0, message.destination.0);
        if source == destination {
            return None;
        }
        if let Some(interfaces) = &self.interfaces {
            let links = interfaces.links(source, destination);
            if interfaces.are_apart(source, destination) {
                return Some(SharedPath { links, loopback: None });
            }
            if let Some(loopback) = interfaces.loopback.filter(|loopback| message.bytes >= loopback.least) {
                return Some(SharedPath { links, loopback: Some(loopback) });
            }
        }
        let level = self.levels.meeting_level(self.place(message.source), self.place(message.destination));
        let memory = self.memories[level].as_ref().filter(|memory| message.bytes >= memory.least)?;
        let link = memory.first + memory.block.split(source).0;
        Some(SharedPath { links: [link, link], loopback: None })
    }
}

impl NodeInterfaces {
    fn new(spec: &LevelSpec, node: u32) -> Result<NodeInterfaces, MachineError> {
        let sharing = &spec.sharing;
        let (mut count, mut together) = (sharing.interfaces(), 1);
        if sharing.rail() == Rail::Stripe {
            (count, together) = (1, count);
        }
        let out = sharing.interface.unwrap_or(spec.bandwidth);
        let in_ = sharing.ejection.unwrap_or(out);
        let interval = sharing.rate.map_or(0, |rate| (1e12 / rate / f64::from(together)).round() as u64);
        let line = |bandwidth: Bandwidth| {
            let all = bandwidth.scaled(together, 1).ok_or_else(|| out_of_range("nic"))?;
            let (serialization, gap) = (Serialization::new(all), sharing.interface_gap.clone());
            Ok::<_, MachineError>(SharedLine { serialization, interval, gap })
        };
        let (node, out, in_) = (Divisor::new(node), line(out)?, line(in_)?);
        let loopback = sharing
            .loopback
            .map(|bandwidth| Loopback::new(bandwidth, sharing.memory_min(), &out))
            .transpose()?;
        Ok(NodeInterfaces { node, out, in_, count, rail: sharing.rail(), loopback })
    }

    /// Returns `true` if two endpoints are on different nodes.
    fn are_apart(&self, source: u32, destination: u32) -> bool {
        self.node.split(source).0 != self.node.split(destination).0
    }

    fn line(&self, link: u32) -> &SharedLine {
        if link.is_multiple_of(2) { &self.out } else { &self.in_ }
    }

    /// Returns the link that a message leaves by and the one that it enters by.
    fn links(&self, source: u32, destination: u32) -> [u32; 2] {
        let ((from, at), (to, place)) = (self.node.split(source), self.node.split(destination));
        let (leaves, enters) = self.rail.interfaces(at, place, self.node.divisor(), self.count);
        [2 * (from * self.count + leaves), 2 * (to * self.count + enters) + 1]
    }
}

impl Loopback {
    fn new(bandwidth: Bandwidth, least: u64, out: &SharedLine) -> Result<Loopback, MachineError> {
        let line = Serialization::new(bandwidth);
        let ((picoseconds, bytes), (of_out, bytes_of_out)) =
            (line.picoseconds_per_byte(), out.serialization.picoseconds_per_byte());
        if of_out == 0 {
            return Err(MachineError::new(
                "loopback=... takes bytes of an interface, and this one takes no time for bytes; add nic=...",
            ));
        }
        // A byte takes the interface for as long as it takes the loopback.
        let (part, of) =
            (u128::from(picoseconds) * u128::from(bytes_of_out), u128::from(bytes) * u128::from(of_out));
        let common = gcd(part, of);
        let [part, of] = [part, of].map(|number| u64::try_from(number / common));
        match (part, of) {
            (Ok(part), Ok(of)) => Ok(Loopback { line, share: (part, of), least }),
            _ => Err(out_of_range("loopback")),
        }
    }

    /// Returns the interface's bytes for a message's bytes; saturates.
    fn work(&self, bytes: u64) -> u64 {
        let (part, of) = self.share;
        let work = (u128::from(bytes) * u128::from(part)).div_ceil(u128::from(of));
        u64::try_from(work).unwrap_or(u64::MAX)
    }

    /// Returns a message's capacity in bytes of the interface; `None` out of range.
    fn bound(&self, capacity: Capacity) -> Option<Capacity> {
        let (part, of) = self.share;
        let bytes = capacity.bytes.checked_mul(part)?;
        Some(Capacity { bytes, picoseconds: capacity.picoseconds.checked_mul(of)? })
    }
}

impl LevelMemory {
    fn new(spec: &LevelSpec, memory: Bandwidth, block: u32, first: u64) -> Result<LevelMemory, MachineError> {
        let each = memory.scaled(1, spec.sharing.passes()).ok_or_else(|| out_of_range("mem"))?;
        Ok(LevelMemory {
            block: Divisor::new(block),
            first: first as u32,
            line: SharedLine { serialization: Serialization::new(each), interval: 0, gap: BySize::default() },
            least: spec.sharing.memory_min(),
            topology: spec.topology(),
        })
    }
}

fn out_of_range(name: &str) -> MachineError {
    MachineError::new(format!(
        "{name}=... is too small or too large to be shared; write for example {name}=12.5GB/s"
    ))
}

impl Paths for LevelPaths {
    fn capacities(&self) -> Vec<Capacity> {
        let any = Capacity { bytes: 1, picoseconds: 1 };
        (0..self.count).map(|link| self.line(link).serialization.capacity().unwrap_or(any)).collect()
    }

    fn endpoints(&self) -> u64 {
        self.levels.endpoints() * u64::from(self.copies)
    }

    fn nearest_latency(&self, to: Endpoint) -> Span {
        self.levels.lookahead(Endpoint(self.place(to)))
    }

    fn time_alone(&self, message: &Message) -> Option<Span> {
        if self.shared_path(message).is_some() {
            return None;
        }
        let [source, destination] =
            [message.source, message.destination].map(|end| Endpoint(self.place(end)));
        Some(self.levels.latency(source, destination, message.bytes))
    }

    fn find(&mut self, message: &Message, _at: u64) -> Route {
        let bytes = message.bytes;
        self.path = self.shared_path(message).expect("others are answered at once");
        let SharedPath { links: [first, last], loopback } = self.path;
        let levels = self.levels.path(self.place(message.source), self.place(message.destination));
        let delay = levels.delay.map_or(Span::ZERO, |delay| delay.time(bytes));
        let (latency, own) = ((levels.latency + delay).as_ps(), *levels.line);
        let [out, in_] = [first, last].map(|link| self.line(link).serialization);
        let shared = match loopback {
            Some(loopback) => loopback.line,
            None if in_.is_slower_than(&out) => in_,
            None => out,
        };
        self.limited.clear();
        self.limited.extend(out.capacity().map(|_| first));
        self.limited.extend(in_.capacity().filter(|_| last != first).map(|_| last));
        let is_bounded = own.is_slower_than(&shared);
        self.slowest = if is_bounded { own } else { shared };
        let bound = own.capacity().filter(|_| is_bounded);
        let (bound, work) = match loopback {
            Some(loopback) => (bound.and_then(|bound| loopback.bound(bound)), loopback.work(bytes)),
            None => (bound, bytes),
        };
        Route { latency, routers: u32::from(first != last), bound, weight: 1, work }
    }

    fn links(&self) -> &[u32] {
        match &self.path.links {
            [first, last] if first == last => &self.path.links[..1],
            links => links,
        }
    }

    fn limited(&self) -> &[u32] {
        &self.limited
    }

    fn ends(&self) -> (u32, u32) {
        let [first, last] = self.path.links;
        (first, last)
    }

    fn slowest_span(&self, bytes: u64) -> u64 {
        self.slowest.span(bytes)
    }

    fn span(&self, link: u32, bytes: u64) -> u64 {
        self.line(link).serialization.span(bytes)
    }

    fn occupancy(&self, link: u32, bytes: u64) -> u64 {
        let (line, work) =
            (self.line(link), self.path.loopback.map_or(bytes, |loopback| loopback.work(bytes)));
        self.span(link, work).saturating_add(line.gap.time(bytes).as_ps()).max(line.interval)
    }

    fn each_link(&self, carried: &[u64], duration: u64) -> Vec<LinkReport> {
        let link = |link: u32, from: LinkEnd, to: LinkEnd, kind: u8| {
            let bytes = carried[link as usize];
            LinkReport::of_flows((from, to), kind, bytes, self.span(link, bytes), duration)
        };
        let mut links = Vec::with_capacity(self.count as usize);
        if let Some(interfaces) = &self.interfaces {
            for interface in 0..self.nodes * interfaces.count {
                let (node, hub) =
                    (LinkEnd::Endpoint(interface / interfaces.count), LinkEnd::Router(0, interface));
                links.push(link(2 * interface, node, hub, 0));
                links.push(link(2 * interface + 1, hub, node, 1));
            }
        }
        let endpoints = self.endpoints() as u32;
        for (kind, memory) in (2..).zip(self.memories.iter().flatten()) {
            for instance in 0..endpoints / memory.block.divisor() {
                let place = LinkEnd::Endpoint(instance);
                links.push(link(memory.first + instance, place, place, kind));
            }
        }
        links
    }

    fn report(&self, each_link: Vec<LinkReport>, statistics: &Statistics) -> NetworkReport {
        let memories = self.memories.iter().flatten().map(|memory| format!("memory of {}", memory.topology));
        let names = ["out of nodes".to_owned(), "into nodes".to_owned()].into_iter().chain(memories);
        NetworkReport {
            topology: self.specification.clone(),
            routing: "formula".to_owned(),
            endpoints: self.nodes,
            routers: 1,
            virtual_channels: 1,
            total: job_report("total", self.nodes, &statistics.total(), statistics),
            links: names
                .enumerate()
                .map(|(kind, name)| kind_report(kind, name, &each_link, (1.0, 1.0)))
                .collect(),
            each_link,
            row: 1,
            levels: Vec::new(),
            places: self.levels.endpoints_below(0),
            rails: None,
            map: RouterMap::default(),
        }
    }
}
