//! Tables of a packet network, from the part of the report that it wrote itself (docs/reference/packets.md).
//!
//! That part is read by its names, so that a report of another version shows what it has.

use crate::table::{Align, Table, TableCell};
use crate::units::{grouped, percent, short};
use recorder::Simulated;
use recorder::call_profile::LinkUseSeries;
use serde::Deserialize;
use serde_json::Value;

/// The load of the network by cells of routers, and its busiest links.
#[derive(Debug, Deserialize)]
pub struct LoadMap {
    /// Routers of a cell.
    pub routers_per_cell: u32,
    /// Cells of a row.
    pub row: u32,
    /// First cell of each level of a tree, from the endpoints up; empty of a network without levels.
    #[serde(default)]
    pub levels: Vec<u32>,
    /// In the order of routers.
    pub cells: Vec<LoadCell>,
    /// The busiest links.
    pub busiest: Vec<Busy>,
}

/// Returns how busy links were when; nothing of a run without packets, or without -xsim-profile.
pub fn over_time(run: &Simulated) -> Option<&LinkUseSeries> {
    let links = run.profile.as_ref()?.series.links.as_ref()?;
    Some(links).filter(|links| links.mean.iter().chain(&links.most).any(|&part| part > 0))
}

/// Returns when links were busiest, in a sentence.
pub fn busiest_time(links: &LinkUseSeries) -> String {
    // Of equal stretches the first.
    let most = |parts: &[u16]| {
        parts
            .iter()
            .enumerate()
            .fold((0, 0), |most, (at, &part)| if part > most.1 { (at, part) } else { most })
    };
    let (from, part) =
        (|at: usize| short(links.bin_ps.saturating_mul(at as u64)), |part: u16| percent(part.into(), 10_000));
    let (at, mean) = most(&links.mean);
    let all = format!(
        "Of stretches of {} links were busiest in that from {} on, {} of it in the mean",
        short(links.bin_ps),
        from(at),
        part(mean)
    );
    match most(&links.most) {
        (_, 0) => all,
        (at, one) => format!("{all}; one link was busy {} of that from {} on", part(one), from(at)),
    }
}

/// Some neighbouring routers.
#[derive(Debug, Deserialize)]
pub struct LoadCell {
    /// The first router and the last; a report of an older version has none.
    #[serde(default)]
    pub routers: Option<(u32, u32)>,
    /// Mean share of the run in which the links out of its routers were busy.
    pub use_mean: f64,
    /// The busiest.
    pub use_max: f64,
    /// Ranks at them.
    pub ranks: u32,
    /// The lowest and the highest.
    #[serde(default)]
    pub between: Option<(u32, u32)>,
}

/// A direction of a cable.
#[derive(Debug, Deserialize)]
pub struct Busy {
    from: String,
    to: String,
    #[serde(default)]
    rank: Option<u32>,
    #[serde(rename = "use")]
    usage: f64,
    blocked_ns: f64,
}

/// Returns the map of the network and how many routers it has; nothing of a run without packets, or of one
/// that has none.
pub fn map(run: &Simulated) -> Option<(LoadMap, u64)> {
    let network = run.network.as_ref()?;
    let map: LoadMap = serde_json::from_value(network["map"].clone()).ok()?;
    Some((map, network["routers"].as_u64()?)).filter(|(map, _)| !map.cells.is_empty())
}

/// Returns the links that were busy longest.
pub fn busiest(map: &LoadMap) -> Table {
    use Align::{Left, Right};
    let mut table = Table::new(&[
        ("from", Left),
        ("to", Left),
        ("rank there", Right),
        ("busy", Right),
        ("packets waited", Right),
    ]);
    for link in &map.busiest {
        let rank = link.rank.map_or_else(TableCell::default, TableCell::rank);
        table.rows.push(vec![
            link.from.as_str().into(),
            link.to.as_str().into(),
            rank,
            TableCell::share(link.usage),
            TableCell::time(picoseconds(link.blocked_ns)),
        ]);
    }
    table
}

fn picoseconds(ns: f64) -> u64 {
    (ns * 1000.0).round() as u64
}

fn time(ns: f64) -> String {
    short(picoseconds(ns))
}

/// Returns a sentence about the network and its packets, and its kinds of links; nothing of a run without
/// packets.
pub fn network(run: &Simulated) -> Option<(String, Table)> {
    let network = run.network.as_ref()?;
    let number = |of: &Value, name: &str| of[name].as_f64().unwrap_or(0.0);
    let count = |of: &Value, name: &str| grouped(of[name].as_u64().unwrap_or(0).into());
    let total = &network["total"];
    let said = format!(
        "{}, {} routers, routing {}: {} packets passed {:.2} routers in the mean and took {} ({} half of \
         them, {} 99 % of them, {} the slowest)",
        network["topology"].as_str().unwrap_or("a network of packets"),
        count(network, "routers"),
        network["routing"].as_str().unwrap_or("unknown"),
        count(total, "packets"),
        number(total, "routers_passed"),
        time(number(total, "latency_mean_ns")),
        time(number(total, "latency_p50_ns")),
        time(number(total, "latency_p99_ns")),
        time(number(total, "latency_max_ns")),
    );
    use Align::{Left, Right};
    let mut table = Table::new(&[
        ("links", Left),
        ("count", Right),
        ("busy, mean", Right),
        ("busiest", Right),
        ("buffers, mean", Right),
        ("fullest", Right),
        ("packets waited", Right),
    ]);
    for kind in network["links"].as_array().into_iter().flatten() {
        let shares = ["use_mean", "use_max", "occupancy_mean", "occupancy_max"]
            .map(|name| TableCell::share(number(kind, name)));
        let mut row = vec![
            TableCell::from(kind["name"].as_str().unwrap_or_default()),
            TableCell::count(kind["count"].as_u64().unwrap_or(0)),
        ];
        row.extend(shares);
        row.push(TableCell::time(picoseconds(number(kind, "blocked_ns"))));
        table.rows.push(row);
    }
    Some((said, table))
}
