//! The shared parts of a machine of levels: interfaces of nodes, and memory inside them.
//!
//! A message between nodes is a flow over the interface that it leaves by and the one that it enters by. A
//! message inside a node is a flow over the memory of the level in which its ranks meet. Alone, each takes
//! the formula's time: the formula's narrowest link bounds the flow, and latencies and delays occupy
//! nothing.

#[cfg(test)]
mod tests;

use crate::analytic::Analytic;
use crate::bandwidth::{Bandwidth, Serialization};
use crate::by_size::BySize;
use crate::divisor::Divisor;
use crate::machine::MachineError;
use crate::message::{Endpoint, Message};
use crate::model::Formula;
use crate::packet::report::{job_report, kind_report, ns};
use crate::packet::{FlowNetwork, LinkEnd, LinkReport, Map, NetworkReport, Paths, Route, Statistics};
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

/// The way of messages inside a node through its interface.
struct Loopback {
    line: Serialization,
    /// A byte counts for so many of the interface's: a fraction.
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
    links: Vec<u32>,
    limited: Vec<u32>,
    slowest: Serialization,
    /// A byte counts for so many on these links: a fraction.
    share: (u64, u64),
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
        let size = levels.endpoints();
        let endpoints = size * u64::from(copies);
        let node = levels.endpoints_below(0);
        let nodes = endpoints / u64::from(node);
        let interfaces = specs[0].sharing.has_interfaces();
        let interfaces = interfaces.then(|| NodeInterfaces::new(&specs[0], node)).transpose()?;
        let mut count = interfaces.as_ref().map_or(0, |interfaces| 2 * nodes * u64::from(interfaces.count));
        let mut memories = Vec::with_capacity(specs.len());
        for (index, spec) in specs.iter().enumerate() {
            let block = if index == 0 { size } else { levels.endpoints_below(index - 1).into() };
            let memory = spec.sharing.memory.map(|memory| LevelMemory::new(spec, memory, block, count));
            memories.push(memory.transpose()?);
            if spec.sharing.memory.is_some() {
                count += endpoints / block;
            }
        }
        if count > MAX_LINKS {
            return Err(MachineError::new(format!(
                "{count} interfaces and memories are more than {MAX_LINKS}; make the machine smaller"
            )));
        }
        Ok(LevelPaths {
            size: Divisor::new(size as u32),
            copies,
            nodes: nodes as u32,
            interfaces,
            memories,
            count: count as u32,
            specification: specs.iter().map(LevelSpec::to_string).collect::<Vec<_>>().join("/"),
            links: Vec::with_capacity(2),
            limited: Vec::with_capacity(2),
            slowest: Serialization::new(Bandwidth::INFINITE),
            share: (1, 1),
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

    /// Returns what a message shares with others.
    fn sharing(&self, message: &Message) -> SharedPart<'_> {
        let (source, destination) = (message.source.0, message.destination.0);
        let (from, to) = (self.size.split(source).1, self.size.split(destination).1);
        let level = self.levels.meeting_level(from, to);
        if let Some(interfaces) = &self.interfaces {
            if interfaces.are_apart(source, destination) {
                return SharedPart::Interfaces(interfaces);
            }
            if let Some(loopback) = &interfaces.loopback
                && message.bytes >= loopback.least
                && source != destination
            {
                return SharedPart::Loopback(interfaces, loopback);
            }
        }
        match &self.memories[level] {
            Some(memory) if message.bytes >= memory.least && source != destination => {
                SharedPart::Memory(memory)
            }
            _ => SharedPart::Nothing,
        }
    }
}

/// The part that a message shares with others.
enum SharedPart<'a> {
    Interfaces(&'a NodeInterfaces),
    Loopback(&'a NodeInterfaces, &'a Loopback),
    Memory(&'a LevelMemory),
    Nothing,
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
        let loopback = sharing.loopback.map(|bandwidth| Loopback::new(bandwidth, sharing.memory_min(), &out));
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
        let (leaves, enters) = match self.rail {
            Rail::Rank => (at % self.count, place % self.count),
            Rail::Peer => ((at + place) % self.count, (at + place) % self.count),
            Rail::Stripe => (0, 0),
        };
        [2 * (from * self.count + leaves), 2 * (to * self.count + enters) + 1]
    }
}

impl Loopback {
    fn new(bandwidth: Bandwidth, least: u64, out: &SharedLine) -> Loopback {
        let line = Serialization::new(bandwidth);
        let ((picoseconds, bytes), (of_out, bytes_of_out)) =
            (line.picoseconds_per_byte(), out.serialization.picoseconds_per_byte());
        // A byte takes the interface for as long as it takes the loopback.
        let share = (picoseconds.saturating_mul(bytes_of_out), bytes.saturating_mul(of_out));
        Loopback { line, share, least }
    }
}

impl LevelMemory {
    fn new(spec: &LevelSpec, memory: Bandwidth, block: u64, first: u64) -> Result<LevelMemory, MachineError> {
        let each = memory.scaled(1, spec.sharing.passes()).ok_or_else(|| out_of_range("mem"))?;
        Ok(LevelMemory {
            block: Divisor::new(block as u32),
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

/// Returns the capacity of a line, if bytes take time on it.
fn capacity(line: &Serialization) -> Option<Capacity> {
    let (picoseconds, bytes) = line.picoseconds_per_byte();
    (picoseconds > 0).then_some(Capacity { bytes, picoseconds })
}

/// Returns a capacity in bytes of which each counts for a fraction of one; `None` out of range.
fn shared(capacity: Capacity, (part, of): (u64, u64)) -> Option<Capacity> {
    let common = gcd(part, of);
    let bytes = capacity.bytes.checked_mul(part / common)?;
    Some(Capacity { bytes, picoseconds: capacity.picoseconds.checked_mul(of / common)? })
}

fn gcd(mut a: u64, mut b: u64) -> u64 {
    while b != 0 {
        (a, b) = (b, a % b);
    }
    a.max(1)
}

/// Returns `true` if bytes take longer on one line than on another.
fn is_slower(line: &Serialization, other: &Serialization) -> bool {
    let ((picoseconds, bytes), (of_other, bytes_of_other)) =
        (line.picoseconds_per_byte(), other.picoseconds_per_byte());
    u128::from(picoseconds) * u128::from(bytes_of_other) > u128::from(of_other) * u128::from(bytes)
}

impl Paths for LevelPaths {
    fn capacities(&self) -> Vec<Capacity> {
        let any = Capacity { bytes: 1, picoseconds: 1 };
        (0..self.count).map(|link| capacity(&self.line(link).serialization).unwrap_or(any)).collect()
    }

    fn endpoints(&self) -> u64 {
        self.levels.endpoints() * u64::from(self.copies)
    }

    fn nearest_latency(&self, to: Endpoint) -> Span {
        self.levels.lookahead(Endpoint(self.size.split(to.0).1))
    }

    fn time_alone(&self, message: &Message) -> Option<Span> {
        let end = |endpoint: Endpoint| Endpoint(self.size.split(endpoint.0).1);
        match self.sharing(message) {
            SharedPart::Nothing => {
                Some(self.levels.latency(end(message.source), end(message.destination), message.bytes))
            }
            _ => None,
        }
    }

    fn find(&mut self, message: &Message, _at: u64) -> Route {
        let (source, destination, bytes) = (message.source.0, message.destination.0, message.bytes);
        let mut links = std::mem::take(&mut self.links);
        links.clear();
        let (share, mut slowest) = match self.sharing(message) {
            SharedPart::Interfaces(interfaces) => {
                links.extend(interfaces.links(source, destination));
                ((1, 1), None)
            }
            SharedPart::Loopback(interfaces, loopback) => {
                links.extend(interfaces.links(source, destination));
                (loopback.share, Some(loopback.line))
            }
            SharedPart::Memory(memory) => {
                links.push(memory.first + memory.block.split(source).0);
                ((1, 1), None)
            }
            SharedPart::Nothing => ((1, 1), None),
        };
        let path = self.levels.path(self.size.split(source).1, self.size.split(destination).1);
        let delay = path.delay.map_or(Span::ZERO, |delay| delay.time(bytes));
        let latency = (path.latency + delay).as_ps();
        let own = *path.line;
        self.limited.clear();
        for &link in &links {
            let line = self.line(link).serialization;
            if line.picoseconds_per_byte().0 > 0 {
                self.limited.push(link);
            }
            if share == (1, 1) && slowest.is_none_or(|slowest| is_slower(&line, &slowest)) {
                slowest = Some(line);
            }
        }
        let slowest = slowest.unwrap_or(own);
        let is_narrowest = is_slower(&own, &slowest);
        self.slowest = if is_narrowest { own } else { slowest };
        let bound = if is_narrowest { capacity(&own).and_then(|bound| shared(bound, share)) } else { None };
        (self.links, self.share) = (links, share);
        let work = (u128::from(bytes) * u128::from(share.0)).div_ceil(u128::from(share.1.max(1)));
        let work = u64::try_from(work).unwrap_or(u64::MAX);
        Route { latency, routers: u32::from(self.links.len() == 2), bound, work }
    }

    fn links(&self) -> &[u32] {
        &self.links
    }

    fn limited(&self) -> &[u32] {
        &self.limited
    }

    fn ends(&self) -> (u32, u32) {
        match self.links[..] {
            [first, last] => (first, last),
            _ => (self.links[0], self.links[0]),
        }
    }

    fn slowest_span(&self, bytes: u64) -> u64 {
        self.slowest.checked_time(bytes).map_or(u64::MAX, Span::as_ps)
    }

    fn span(&self, link: u32, bytes: u64) -> u64 {
        self.line(link).serialization.checked_time(bytes).map_or(u64::MAX, Span::as_ps)
    }

    fn occupancy(&self, link: u32, bytes: u64) -> u64 {
        let (line, work) = (self.line(link), u128::from(bytes) * u128::from(self.share.0));
        let work = u64::try_from(work / u128::from(self.share.1.max(1))).unwrap_or(u64::MAX);
        self.span(link, work).saturating_add(line.gap.time(bytes).as_ps()).max(line.interval)
    }

    fn each_link(&self, carried: &[u64], duration: u64) -> Vec<LinkReport> {
        let link = |link: u32, from: LinkEnd, to: LinkEnd, kind: u8| {
            let bytes = carried[link as usize];
            let busy = self.span(link, bytes);
            LinkReport {
                from,
                to,
                kind,
                bytes,
                busy_ns: ns(busy),
                blocked_ns: 0.0,
                usage: busy as f64 / duration.max(1) as f64,
                buffer_mean: 0.0,
                buffer_max: 0,
            }
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
            places: self.levels.endpoints_below(0),
            map: Map::default(),
        }
    }
}
