//! The topologies by name: one row each.

use super::parameters::{Parameters, Wrong};
use super::{Built, Common};
use crate::packet::fabric::Link;
use crate::packet::routing::adaptive_minimal::AdaptiveMinimal;
use crate::packet::routing::adaptive_up::AdaptiveUp;
use crate::packet::routing::d_mod_k::DModK;
use crate::packet::routing::dimension_order::{DimensionOrder, RingRule};
use crate::packet::routing::ecmp::Ecmp;
use crate::packet::routing::twisted_order::TwistedOrder;
use crate::packet::topology::dragonfly::Dragonfly;
use crate::packet::topology::dragonfly_plus::DragonflyPlus;
use crate::packet::topology::graph::Graph;
use crate::packet::topology::hyperx::HyperX;
use crate::packet::topology::slim_fly::SlimFly;
use crate::packet::topology::star::Star;
use crate::packet::topology::torus::Torus;
use crate::packet::topology::tree::FatTree;
use crate::packet::topology::twisted::TwistedTorus;
use std::sync::Arc;

/// A topology as specifications name it.
pub(super) struct Kind {
    pub(super) name: &'static str,
    /// Its own keys, with what they mean.
    pub(super) keys: &'static [(&'static str, &'static str)],
    pub(super) build: fn(&Parameters, &Common, Option<u64>) -> Result<Built, Wrong>,
}

const GROUPED: &[(&str, &str)] = &[
    ("p", "endpoints of a router"),
    ("a", "routers of a group"),
    ("h", "global links of a router"),
    ("g", "groups (a*h+1)"),
    ("gl", "latency of a global link (l)"),
    ("gb", "bandwidth of a global link (b)"),
];
const GRID: &[(&str, &str)] =
    &[("sides", "routers in each dimension, such as 8x8"), ("p", "endpoints of a router (1)"), ("rings", "bubble or dateline")];

/// Every packet topology.
pub(super) const KINDS: &[Kind] = &[
    Kind { name: "fattree", keys: &[("m", "ports of a switch"), ("n", "levels of switches")], build: fat_tree },
    Kind {
        name: "taperedtree",
        keys: &[("down", "children of a switch on each level from below"), ("up", "parents on each level but the top")],
        build: tapered,
    },
    Kind { name: "torus", keys: GRID, build: |p, c, _| grid(p, c, true) },
    Kind { name: "mesh", keys: GRID, build: |p, c, _| grid(p, c, false) },
    Kind {
        name: "twistedtorus",
        keys: &[("sides", "columns x rows"), ("twist", "rows that the last column's links go up"), ("p", "endpoints of a router (1)")],
        build: twisted,
    },
    Kind { name: "dragonfly", keys: GROUPED, build: dragonfly },
    Kind { name: "dragonflyplus", keys: GROUPED, build: dragonfly_plus },
    Kind {
        name: "slimfly",
        keys: &[("q", "a power of a prime: 2q^2 routers"), ("p", "endpoints of a router (half the degree)")],
        build: slim_fly,
    },
    Kind {
        name: "hyperx",
        keys: &[("sides", "routers in each dimension, such as 4x4"), ("p", "endpoints of a router (1)")],
        build: hyperx,
    },
    Kind { name: "star", keys: &[("n", "endpoints")], build: star },
    Kind { name: "graph", keys: &[("file", "a file of routers, endpoints and links")], build: graph },
];

fn one_link(common: &Common) -> Vec<Link> {
    vec![Link::new("link", common.latency, common.bandwidth)]
}

fn tree(tree: FatTree, common: &Common) -> Built {
    let tree = Arc::new(tree);
    Built {
        topology: tree.clone(),
        paths: None,
        own: vec![Arc::new(Ecmp(tree.clone())), Arc::new(DModK(tree.clone())), Arc::new(AdaptiveUp(tree))],
        links: one_link(common),
    }
}

fn fat_tree(parameters: &Parameters, common: &Common, _: Option<u64>) -> Result<Built, Wrong> {
    parameters.no_sides()?;
    let (m, n) = (parameters.required("m", "ports of a switch")?, parameters.required("n", "levels of switches")?);
    if m % 2 != 0 || m > 1 << 16 {
        return Err(parameters.wrong("m", format!("m={m} is impossible: half of a switch's ports go up, so m is even (and at most 65536)")));
    }
    if n > 16 {
        return Err(parameters.wrong("n", format!("n={n} is too high a tree; take at most 16 levels")));
    }
    let half = m / 2;
    let mut down = vec![half; n as usize];
    down[n as usize - 1] = m;
    let up = vec![half; n as usize - 1];
    Ok(tree(FatTree::new(format!("{m}-port {n}-tree"), &down, &up)?, common))
}

fn tapered(parameters: &Parameters, common: &Common, _: Option<u64>) -> Result<Built, Wrong> {
    parameters.no_sides()?;
    let down = parameters.list("down", "children of a switch on each level from below")?;
    let up = if down.len() == 1 { Vec::new() } else { parameters.list("up", "parents of a switch on each level but the top")? };
    if down.len() > 16 || up.len() + 1 != down.len() {
        return Err(parameters.wrong("up", format!("down= has {} levels and up= {}; up= has one less", down.len(), up.len())));
    }
    let text = |list: &[u32]| list.iter().map(u32::to_string).collect::<Vec<_>>().join("x");
    Ok(tree(FatTree::new(format!("tapered tree of {} down, {} up", text(&down), text(&up)), &down, &up)?, common))
}

fn grid(parameters: &Parameters, common: &Common, wraps: bool) -> Result<Built, Wrong> {
    let sides = parameters.sides()?;
    let rule = match parameters.text("rings") {
        None | Some("bubble") => RingRule::Bubble,
        Some("dateline") => RingRule::Dateline,
        Some(other) => return Err(parameters.wrong("rings", format!("rings={other} is neither bubble nor dateline"))),
    };
    let torus = Arc::new(Torus::new(&sides, &vec![wraps; sides.len()], parameters.positive("p", 1)?)?);
    Ok(Built {
        topology: torus.clone(),
        paths: Some(torus.clone()),
        own: vec![Arc::new(DimensionOrder::new(torus.clone(), rule)), Arc::new(AdaptiveMinimal::new(torus))],
        links: one_link(common),
    })
}

fn twisted(parameters: &Parameters, common: &Common, _: Option<u64>) -> Result<Built, Wrong> {
    let sides = parameters.sides()?;
    let [width, height] = sides[..] else { return Err("a twisted torus has two sides, such as 8x4".to_owned().into()) };
    let twist = parameters.number("twist")?.unwrap_or(height / 2);
    let torus = Arc::new(TwistedTorus::new(width, height, twist, parameters.positive("p", 1)?)?);
    Ok(Built { topology: torus.clone(), paths: Some(torus.clone()), own: vec![Arc::new(TwistedOrder(torus))], links: one_link(common) })
}

fn groups(parameters: &Parameters) -> Result<(u32, u32, u32, u32), Wrong> {
    parameters.no_sides()?;
    let p = parameters.required("p", "endpoints of a router")?;
    let a = parameters.required("a", "routers of a group")?;
    let h = parameters.required("h", "global links of a router")?;
    let all = a
        .checked_mul(h)
        .and_then(|links| links.checked_add(1))
        .ok_or_else(|| parameters.wrong("a", "a*h is too large; make the groups smaller"))?;
    Ok((p, a, h, parameters.positive("g", all)?))
}

fn group_links(parameters: &Parameters, common: &Common) -> Result<Vec<Link>, Wrong> {
    let latency = parameters.span("gl")?.unwrap_or(common.latency);
    let bandwidth = parameters.bandwidth("gb")?.unwrap_or(common.bandwidth);
    Ok(vec![Link::new("local", common.latency, common.bandwidth), Link::new("global", latency, bandwidth)])
}

fn dragonfly(parameters: &Parameters, common: &Common, _: Option<u64>) -> Result<Built, Wrong> {
    let (p, a, h, g) = groups(parameters)?;
    let dragonfly = Arc::new(Dragonfly::new(p, a, h, g)?);
    Ok(Built { topology: dragonfly.clone(), paths: Some(dragonfly), own: Vec::new(), links: group_links(parameters, common)? })
}

fn dragonfly_plus(parameters: &Parameters, common: &Common, _: Option<u64>) -> Result<Built, Wrong> {
    let (p, a, h, g) = groups(parameters)?;
    Ok(Built { topology: Arc::new(DragonflyPlus::new(p, a, h, g)?), paths: None, own: Vec::new(), links: group_links(parameters, common)? })
}

fn slim_fly(parameters: &Parameters, common: &Common, _: Option<u64>) -> Result<Built, Wrong> {
    parameters.no_sides()?;
    let p = parameters.number("p")?;
    if p == Some(0) {
        return Err(parameters.wrong("p", "p=0 is impossible: a router has at least 1 endpoint"));
    }
    let slim_fly = SlimFly::new(parameters.required("q", "a power of a prime")?, p)?;
    Ok(Built { topology: Arc::new(slim_fly), paths: None, own: Vec::new(), links: one_link(common) })
}

fn hyperx(parameters: &Parameters, common: &Common, _: Option<u64>) -> Result<Built, Wrong> {
    let hyperx = Arc::new(HyperX::new(&parameters.sides()?, parameters.positive("p", 1)?)?);
    Ok(Built { topology: hyperx.clone(), paths: Some(hyperx), own: Vec::new(), links: one_link(common) })
}

fn star(parameters: &Parameters, common: &Common, ranks: Option<u64>) -> Result<Built, Wrong> {
    parameters.no_sides()?;
    let n = match (parameters.number("n")?, ranks) {
        (Some(0), _) => return Err(parameters.wrong("n", "n=0 is impossible: a star has at least 1 endpoint")),
        (Some(n), _) => n,
        (None, Some(ranks)) => u32::try_from(ranks).unwrap_or(u32::MAX).max(1),
        (None, None) => return Err(parameters.wrong("n", "n= is missing: endpoints of the star")),
    };
    if n > 1 << 28 {
        return Err(parameters.wrong("n", format!("n={n} is too large; a star has at most 2^28 endpoints")));
    }
    let star = Arc::new(Star(n));
    Ok(Built { topology: star.clone(), paths: Some(star), own: Vec::new(), links: one_link(common) })
}

fn graph(parameters: &Parameters, common: &Common, _: Option<u64>) -> Result<Built, Wrong> {
    parameters.no_sides()?;
    let file =
        parameters.text("file").ok_or_else(|| parameters.wrong("file", "file= is missing: a file of routers, endpoints and links"))?;
    let text = engine::text::read(file.as_ref(), engine::text::LIST)
        .map_err(|e| parameters.wrong("file", format!("the graph file '{file}' cannot be read: {e}")))?;
    let (graph, links) = Graph::parse(&text, common.latency, common.bandwidth).map_err(|e| format!("{file}, {e}"))?;
    Ok(Built { topology: Arc::new(graph), paths: None, own: Vec::new(), links })
}
