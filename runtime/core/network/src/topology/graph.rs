//! Any network, from a file.

use super::{
    Cabled, Cabling, DetailLevel, KeyKind, LinkKind, Neighbor, OptionKey, Sizing, Topology, TopologyInput,
    Wrong,
};
use crate::bandwidth::Bandwidth;
use engine::Span;
use std::collections::HashMap;

/// Routers with endpoints, and links between any of them.
pub(crate) struct RouterGraph {
    /// For each router its ports: neighbour and kind of link. Links first, then endpoints.
    ports: Vec<Vec<(Neighbor, u8)>>,
    /// Router and port of each endpoint.
    homes: Vec<(u32, u32)>,
    radix: u32,
    links: usize,
}

/// Routers, endpoints and links read so far.
struct GraphReader {
    names: HashMap<String, u32>,
    endpoints: Vec<u32>,
    ports: Vec<Vec<(Neighbor, u8)>>,
    kinds: Vec<LinkKind>,
    links: usize,
}

impl RouterGraph {
    /// Reads lines such as `router A endpoints=4` and `link A B l=10ns b=100Gbps`, `#` begins a comment;
    /// endpoints are numbered in the order of their routers. `latency` and `bandwidth` hold where a link
    /// gives none, and for endpoints. The error begins with the line's number.
    pub(crate) fn parse(
        text: &str,
        latency: Span,
        bandwidth: Bandwidth,
    ) -> Result<(RouterGraph, Vec<LinkKind>), String> {
        let mut reader = GraphReader {
            names: HashMap::new(),
            endpoints: Vec::new(),
            ports: Vec::new(),
            kinds: vec![LinkKind::new("link", latency, bandwidth)],
            links: 0,
        };
        for (index, line) in text.lines().enumerate() {
            let line = line.split('#').next().unwrap_or("").trim();
            let words: Vec<&str> = line.split_whitespace().collect();
            let result = match words.as_slice() {
                [] => Ok(()),
                ["router", name, options @ ..] => reader.router(name, options),
                ["link", a, b, options @ ..] => reader.link(a, b, options, latency, bandwidth),
                _ => Err(format!(
                    "'{line}' is neither 'router NAME [endpoints=N]' nor 'link NAME NAME [l=10ns] \
                     [b=100Gbps]'"
                )),
            };
            result.map_err(|e| format!("line {}: {e}", index + 1))?;
        }
        reader.finish()
    }
}

impl GraphReader {
    fn router(&mut self, name: &str, options: &[&str]) -> Result<(), String> {
        let mut endpoints = 0;
        for option in options {
            endpoints = match option.split_once('=') {
                Some(("endpoints", number)) => number
                    .parse()
                    .ok()
                    .filter(|&n| n < 1 << 20)
                    .ok_or_else(|| format!("'{number}' is not a number of endpoints below 2^20"))?,
                _ => return Err(format!("'{option}' is not endpoints=N")),
            };
        }
        let number = self.ports.len() as u32;
        if self.names.insert(name.to_owned(), number).is_some() {
            return Err(format!("router {name} is there already"));
        }
        self.ports.push(Vec::new());
        self.endpoints.push(endpoints);
        Ok(())
    }

    fn link(
        &mut self,
        a: &str,
        b: &str,
        options: &[&str],
        mut latency: Span,
        mut bandwidth: Bandwidth,
    ) -> Result<(), String> {
        let find = |name: &str| {
            self.names
                .get(name)
                .copied()
                .ok_or_else(|| format!("router {name} is not known; its 'router' line must come first"))
        };
        let (from, to) = (find(a)?, find(b)?);
        if from == to {
            return Err(format!("a link from {a} to itself leads nowhere"));
        }
        for option in options {
            match option.split_once('=') {
                Some(("l", value)) => latency = value.parse().map_err(|e| format!("{option}: {e}"))?,
                Some(("b", value)) => bandwidth = value.parse().map_err(|e| format!("{option}: {e}"))?,
                _ => return Err(format!("'{option}' is neither l=... nor b=...")),
            }
        }
        let same = |kind: &LinkKind| kind.latency == latency && kind.bandwidth == bandwidth;
        let kind = match self.kinds.iter().position(same) {
            Some(kind) => kind,
            None if self.kinds.len() >= 250 => {
                return Err("there are more than 250 different pairs of latency and bandwidth".to_owned());
            }
            None => {
                self.kinds.push(LinkKind::new(
                    &format!("link l={latency} b={bandwidth}"),
                    latency,
                    bandwidth,
                ));
                self.kinds.len() - 1
            }
        };
        let (at_a, at_b) = (self.ports[from as usize].len() as u32, self.ports[to as usize].len() as u32);
        self.ports[from as usize].push((Neighbor::Router { router: to, port: at_b }, kind as u8));
        self.ports[to as usize].push((Neighbor::Router { router: from, port: at_a }, kind as u8));
        self.links += 1;
        Ok(())
    }

    fn finish(mut self) -> Result<(RouterGraph, Vec<LinkKind>), String> {
        let mut homes = Vec::new();
        for (router, &count) in self.endpoints.iter().enumerate() {
            for _ in 0..count {
                let ports = &mut self.ports[router];
                homes.push((router as u32, ports.len() as u32));
                ports.push((Neighbor::Endpoint(homes.len() as u32 - 1), 0));
            }
        }
        if homes.is_empty() {
            return Err("end: no router has an endpoint; write for example 'router A endpoints=4'".to_owned());
        }
        let radix = self.ports.iter().map(Vec::len).max().unwrap_or(0) as u32;
        let graph = RouterGraph { ports: self.ports, homes, radix, links: self.links };
        // Connection is checked where shortest paths are measured, but a graph that cannot be read further is
        // said here.
        Ok((graph, self.kinds))
    }
}

impl RouterGraph {
    /// Reads the file that an option names.
    fn read(given: &TopologyInput<'_>) -> Result<(RouterGraph, Vec<LinkKind>), Wrong> {
        let file = given.options.text("file");
        let text = engine::text::read(file.as_ref(), engine::text::LIST).map_err(|e| {
            given.options.wrong("file", format!("the graph file '{file}' cannot be read: {e}"))
        })?;
        let read = RouterGraph::parse(&text, given.link.latency, given.link.bandwidth);
        Ok(read.map_err(|e| format!("{file}, {e}"))?)
    }
}

impl Topology for RouterGraph {
    const NAME: &'static str = "graph";
    const SUMMARY: &'static str = "any routers and links, from a file";
    const SIZING: Sizing = Sizing::Options;
    const KEYS: &'static [OptionKey] =
        &[OptionKey::new("file", KeyKind::Text, "a file of routers, endpoints and links").required()];
    const LEVEL: DetailLevel = DetailLevel::Packet;
    type Shape = RouterGraph;

    fn build(given: &TopologyInput<'_>) -> Result<RouterGraph, Wrong> {
        Ok(RouterGraph::read(given)?.0)
    }
    fn cable(given: &TopologyInput<'_>) -> Result<Cabled<RouterGraph>, Wrong> {
        let (graph, links) = RouterGraph::read(given)?;
        Ok(Cabled::new(graph, given).with_links(links))
    }
}

impl Cabling for RouterGraph {
    fn describe(&self) -> String {
        format!(
            "graph of {} routers, {} endpoints and {} links",
            self.ports.len(),
            self.homes.len(),
            self.links
        )
    }
    fn routers(&self) -> u32 {
        self.ports.len() as u32
    }
    fn endpoints(&self) -> u32 {
        self.homes.len() as u32
    }
    fn radix(&self) -> u32 {
        self.radix
    }
    fn neighbor(&self, router: u32, port: u32) -> Neighbor {
        self.ports[router as usize].get(port as usize).map_or(Neighbor::Nothing, |p| p.0)
    }
    fn attachment(&self, endpoint: u32) -> (u32, u32) {
        self.homes[endpoint as usize]
    }
    fn link(&self, router: u32, port: u32) -> usize {
        self.ports[router as usize].get(port as usize).map_or(0, |p| p.1 as usize)
    }
}
