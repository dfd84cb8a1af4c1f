//! The picture of a packet network: routers in the order of their numbers, how busy the links out of them were, and where ranks sit.

use crate::network::{Cell, Map};
use crate::units::{grouped, share};
use maud::{Markup, html};

/// Shades of a cell.
const SHADES: f64 = 8.0;

/// A cell for each router or block of routers, darker where a link was busier, with a bar below for the ranks.
pub fn topology(map: &Map, routers: u64) -> Markup {
    let row = u64::from(map.row.max(1));
    let rows = (map.cells.len() as u64).div_ceil(row).max(1);
    let most = map.cells.iter().map(|cell| cell.use_max).fold(0.0, f64::max);
    let crowd = map.cells.iter().map(|cell| cell.ranks).max().unwrap_or(0).max(1);
    let blocks = if map.routers_per_cell > 1 { format!(", in blocks of {}", map.routers_per_cell) } else { String::new() };
    let label = format!(
        "Routers 0 to {}{blocks}, in rows: how busy the links out of them were; the busiest {}",
        routers.saturating_sub(1),
        share(most)
    );
    html! {
        figure {
            svg class="topology" viewBox=(format!("0 0 {row} {rows}")) role="img" aria-label=(label) {
                @for (at, cell) in (0..).zip(&map.cells) {
                    g transform=(format!("translate({} {})", at % row, at / row)) {
                        title { (said(map, routers, at, cell)) }
                        rect class="load" width=".94" height=".94" fill-opacity=(format!("{:.2}", shade(cell.use_max, most))) {}
                        @if cell.ranks > 0 {
                            rect class="ranks" y=".8" height=".14" width=(format!("{:.2}", 0.94 * f64::from(cell.ranks) / f64::from(crowd))) {}
                        }
                    }
                }
            }
            figcaption class="soft" {
                "Routers by number, row after row" (blocks) ". Darker is the busiest link out of a router, up to " (share(most))
                " of the time; the bar below is how many ranks sit there. Pointing at one tells which."
            }
        }
    }
}

fn said(map: &Map, routers: u64, at: u64, cell: &Cell) -> String {
    let first = at * u64::from(map.routers_per_cell);
    let last = (first + u64::from(map.routers_per_cell)).min(routers).saturating_sub(1);
    let name = if last > first { format!("routers {first} to {last}") } else { format!("router {first}") };
    let ranks = match (cell.ranks, cell.between) {
        (_, None) => "no ranks".to_owned(),
        (1, Some((rank, _))) => format!("rank {rank}"),
        (ranks, Some((first, last))) => format!("{} ranks from {first} to {last}", grouped(ranks.into())),
    };
    format!("{name}: {ranks}; links busy {} of the time in the mean, the busiest {}", share(cell.use_mean), share(cell.use_max))
}

/// Between a trace of colour and all of it; nothing where nothing was sent.
fn shade(value: f64, most: f64) -> f64 {
    if value <= 0.0 || most <= 0.0 { 0.0 } else { (value / most * SHADES).ceil() / SHADES }
}
