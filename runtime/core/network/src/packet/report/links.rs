//! What each direction of each cable did.

use crate::packet::fabric::PacketFabric;
use crate::packet::shard::{Router, Shard};
use crate::topology::Neighbor;
use serde::Serialize;
use std::fmt::{Display, Formatter, Write};

/// A kind of link.
#[derive(Clone, Debug, Serialize)]
pub struct KindReport {
    /// Its name.
    pub name: String,
    /// Directions of cables of that kind.
    pub count: u64,
    /// Mean share of the time that they were busy.
    pub use_mean: f64,
    /// The busiest one's.
    pub use_max: f64,
    /// Mean share of its buffers (of all virtual channels) that was occupied.
    pub occupancy_mean: f64,
    /// The fullest virtual channel's.
    pub occupancy_max: f64,
    /// Nanoseconds that packets waited, summed.
    pub blocked_ns: f64,
}

/// An end of a cable.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum LinkEnd {
    /// A router and its port.
    Router(u32, u32),
    /// An endpoint's interface.
    Endpoint(u32),
}

impl LinkEnd {
    /// Returns the end that lies at a router's neighbor; `None` if no cable leads there.
    pub(crate) fn of(neighbor: Neighbor) -> Option<LinkEnd> {
        match neighbor {
            Neighbor::Nothing => None,
            Neighbor::Endpoint(endpoint) => Some(LinkEnd::Endpoint(endpoint)),
            Neighbor::Router { router, port } => Some(LinkEnd::Router(router, port)),
        }
    }
}

impl Display for LinkEnd {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        match self {
            LinkEnd::Router(router, port) => write!(f, "router {router} port {port}"),
            LinkEnd::Endpoint(endpoint) => write!(f, "endpoint {endpoint}"),
        }
    }
}

/// One direction of a cable.
#[derive(Clone, Debug)]
pub struct LinkReport {
    /// The end it leaves.
    pub from: LinkEnd,
    /// The end it leads to.
    pub to: LinkEnd,
    /// Index of its kind.
    pub kind: u8,
    /// Bytes sent.
    pub bytes: u64,
    /// Nanoseconds busy.
    pub busy_ns: f64,
    /// Nanoseconds that packets waited for it, summed.
    pub blocked_ns: f64,
    /// Share of the time it was busy.
    pub usage: f64,
    /// Mean bytes in the buffer at its end.
    pub buffer_mean: f64,
    /// Most bytes in a virtual channel of the buffer at its end.
    pub buffer_max: u32,
}

impl LinkReport {
    /// Returns the report of a link on which nothing waits, nor in a buffer: it was busy for so many
    /// picoseconds of `duration`.
    pub(crate) fn of_flows(
        (from, to): (LinkEnd, LinkEnd),
        kind: u8,
        bytes: u64,
        busy: u64,
        duration: u64,
    ) -> LinkReport {
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
    }
}

/// Returns a line for each direction of each cable.
pub(crate) fn links_to_csv(links: &[LinkReport], kinds: &[KindReport]) -> String {
    let mut csv =
        String::from("from,to,kind,bytes,busy_ns,blocked_ns,use,buffer_mean_bytes,buffer_max_bytes\n");
    for link in links {
        let kind = &kinds[link.kind as usize].name;
        let _ = writeln!(
            csv,
            "{},{},{kind},{},{},{},{:.6},{:.3},{}",
            link.from,
            link.to,
            link.bytes,
            link.busy_ns,
            link.blocked_ns,
            link.usage,
            link.buffer_mean,
            link.buffer_max
        );
    }
    csv
}

/// Returns every direction of every cable, in the order of routers and ports, then endpoints; shares of
/// `duration` picoseconds.
pub(crate) fn each_link<R: Router>(shards: &[Shard<R>], duration: u64) -> Vec<LinkReport> {
    let Some(shard) = shards.first() else { return Vec::new() };
    let fabric = &shard.fabric;
    let buffers = f64::from(fabric.switching.buffer);
    let duration = duration.max(1);
    let mut links = Vec::with_capacity(shards.iter().map(|shard| shard.at.ports.len() as usize).sum());
    for shard in shards {
        let stride = fabric.stride.divisor();
        for index in 0..shard.at.ports.len() {
            if shard.lies_elsewhere(index) {
                continue;
            }
            let usage = shard.usage(index);
            let (from, to) = if index >= shard.first_interface {
                let endpoint = shard.endpoint_at(index - shard.first_interface);
                if !fabric.topology.works(endpoint) {
                    continue;
                }
                let (router, at) = fabric.topology.attachment(endpoint);
                (LinkEnd::Endpoint(endpoint), LinkEnd::Router(router, at))
            } else {
                let (router, local) = (shard.router_at(index / stride), index % stride);
                if local >= fabric.topology.radix() {
                    continue;
                }
                let Some(to) = LinkEnd::of(fabric.topology.neighbor(router, local)) else { continue };
                (LinkEnd::Router(router, local), to)
            };
            let low = shard.lows(index).min().unwrap_or(0);
            links.push(LinkReport {
                from,
                to,
                kind: shard.kind_of(index),
                bytes: usage.bytes,
                busy_ns: ns(usage.busy),
                blocked_ns: ns(usage.blocked),
                usage: usage.busy as f64 / duration as f64,
                buffer_mean: usage.occupancy as f64 / ns(duration),
                buffer_max: (buffers - f64::from(low)) as u32,
            });
        }
    }
    links.sort_unstable_by_key(|link| link.from);
    links
}

/// Returns the kinds of links, over all links of each.
pub(crate) fn kinds(fabric: &PacketFabric, links: &[LinkReport]) -> Vec<KindReport> {
    let (buffer, lanes) = (f64::from(fabric.switching.buffer), f64::from(fabric.switching.lanes));
    let kinds = fabric.links.iter().enumerate();
    kinds.map(|(index, kind)| kind_report(index, kind.name.clone(), links, (buffer, lanes))).collect()
}

/// Returns what the links of a kind did, whose buffers have so many bytes for each of so many channels.
pub(crate) fn kind_report(
    index: usize,
    name: String,
    links: &[LinkReport],
    (buffer, lanes): (f64, f64),
) -> KindReport {
    let of_kind = || links.iter().filter(|link| link.kind as usize == index);
    let count = of_kind().count() as u64;
    let mean = |value: &dyn Fn(&LinkReport) -> f64| of_kind().map(value).sum::<f64>() / (count.max(1)) as f64;
    KindReport {
        name,
        count,
        use_mean: mean(&|link| link.usage),
        use_max: of_kind().map(|link| link.usage).fold(0.0, f64::max),
        occupancy_mean: mean(&|link| link.buffer_mean) / (buffer * lanes),
        occupancy_max: of_kind().map(|link| f64::from(link.buffer_max) / buffer).fold(0.0, f64::max),
        blocked_ns: of_kind().map(|link| link.blocked_ns).sum(),
    }
}

/// Picoseconds as nanoseconds.
pub(crate) fn ns(picoseconds: u64) -> f64 {
    picoseconds as f64 / 1000.0
}
