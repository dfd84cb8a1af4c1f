//! The picture of a packet network: routers in the order of their numbers, how busy the links out of them
//! were, and where ranks sit.

use super::axis::scale;
use crate::network::{LoadCell, LoadMap};
use crate::units::{grouped, share};
use maud::{Markup, html};

/// Shades of a cell.
const SHADES: f64 = 8.0;
/// Between columns of rows, in cells.
const BAND_GAP: f64 = 0.5;

/// The layout of cells: rows of equal length, cut where they are long, and side by side where there are many.
struct RouterLayout {
    /// Cells of a row, and rows.
    row: u64,
    rows: u64,
    /// Parts of a row, below each other.
    parts: u64,
    /// Columns of rows, from left to right.
    bands: u64,
}

impl RouterLayout {
    /// Chooses a picture that is between as wide as high and four times that, as far as rows allow.
    fn of(row: u64, cells: u64) -> RouterLayout {
        let row = row.clamp(1, cells.max(1));
        let rows = cells.div_ceil(row).max(1);
        let parts = (1..=row).find(|&parts| row.div_ceil(parts) <= 4 * rows * parts).unwrap_or(1);
        let mut layout = RouterLayout { row, rows, parts, bands: 1 };
        while layout.bands < rows && layout.width() < layout.height() {
            layout.bands += 1;
        }
        layout
    }

    fn part(&self) -> u64 {
        self.row.div_ceil(self.parts)
    }

    fn band_rows(&self) -> u64 {
        self.rows.div_ceil(self.bands)
    }

    fn width(&self) -> f64 {
        (self.bands * self.part()) as f64 + (self.bands - 1) as f64 * BAND_GAP
    }

    fn height(&self) -> f64 {
        (self.band_rows() * self.parts) as f64
    }

    /// Returns the corner of a cell.
    fn place(&self, at: u64) -> (f64, f64) {
        let (row, column) = (at / self.row, at % self.row);
        let (band, line) = (row / self.band_rows(), row % self.band_rows());
        let x = (column % self.part()) as f64 + band as f64 * (self.part() as f64 + BAND_GAP);
        (x, (line * self.parts + column / self.part()) as f64)
    }
}

/// A cell for each router or block of routers, darker where a link was busier, with a bar below for the
/// ranks.
pub fn topology(map: &LoadMap, routers: u64) -> Markup {
    let layout = RouterLayout::of(map.row.into(), map.cells.len() as u64);
    let most = map.cells.iter().map(|cell| cell.use_max).fold(0.0, f64::max);
    let crowd = map.cells.iter().map(|cell| cell.ranks).max().unwrap_or(0).max(1);
    let blocks = if map.routers_per_cell > 1 {
        format!(", in blocks of {}", map.routers_per_cell)
    } else {
        String::new()
    };
    let bands =
        if layout.bands > 1 { format!(", {} rows to a column", layout.band_rows()) } else { String::new() };
    let label = format!(
        "Routers 0 to {}{blocks}, in rows: how busy the links out of them were; the busiest {}",
        routers.saturating_sub(1),
        share(most)
    );
    html! {
        figure {
            svg class="topology" viewBox=(format!("0 0 {} {}", layout.width(), layout.height()))
                role="img" aria-label=(label) {
                @for (at, cell) in (0..).zip(&map.cells) {
                    @let (x, y) = layout.place(at);
                    g transform=(format!("translate({x} {y})")) {
                        title { (said(map, routers, at, cell)) }
                        rect class="load" width=".94" height=".94"
                            fill-opacity=(format!("{:.2}", shade(cell.use_max, most))) {}
                        @if cell.ranks > 0 {
                            rect class="ranks" y=".8" height=".14"
                                width=(format!("{:.2}", 0.94 * f64::from(cell.ranks) / f64::from(crowd))) {}
                        }
                    }
                }
            }
            (scale("load", SHADES as u32, "0 %", &share(most),
                "of the time: the busiest link out of a router"))
            figcaption class="soft" {
                "Routers by number, row after row" (blocks) (bands)
                ". The bar below is how many ranks sit there. Pointing at one tells which."
            }
        }
    }
}

fn said(map: &LoadMap, routers: u64, at: u64, cell: &LoadCell) -> String {
    let first = at * u64::from(map.routers_per_cell);
    let last = (first + u64::from(map.routers_per_cell)).min(routers).saturating_sub(1);
    let name = if last > first { format!("routers {first} to {last}") } else { format!("router {first}") };
    let ranks = match (cell.ranks, cell.between) {
        (_, None) => "no ranks".to_owned(),
        (1, Some((rank, _))) => format!("rank {rank}"),
        (ranks, Some((first, last))) => format!("{} ranks from {first} to {last}", grouped(ranks.into())),
    };
    format!(
        "{name}: {ranks}; links busy {} of the time in the mean, the busiest {}",
        share(cell.use_mean),
        share(cell.use_max)
    )
}

/// Between a trace of colour and all of it; nothing where nothing was sent.
fn shade(value: f64, most: f64) -> f64 {
    if value <= 0.0 || most <= 0.0 { 0.0 } else { (value / most * SHADES).ceil() / SHADES }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_map_is_a_sliver_and_no_two_cells_share_a_place() {
        // Of a torus, a dragonfly of many groups, a mesh of two long rows, a ring, and a single router.
        for (row, cells) in [(3, 9), (8, 264), (16, 512), (256, 512), (512, 512), (1, 300), (1, 1), (7, 20)] {
            let layout = RouterLayout::of(row, cells);
            let ratio = layout.width() / layout.height();
            assert!(
                (0.5..=4.5).contains(&ratio),
                "{cells} cells in rows of {row} are {} x {}",
                layout.width(),
                layout.height()
            );
            let places: std::collections::BTreeSet<_> =
                (0..cells).map(|at| layout.place(at)).map(|(x, y)| ((x * 2.0) as u64, y as u64)).collect();
            assert_eq!(places.len() as u64, cells);
            assert!((0..cells).all(|at| layout.place(at).0 + 1.0 <= layout.width()
                && layout.place(at).1 + 1.0 <= layout.height()));
        }
        assert_eq!((RouterLayout::of(3, 9).width(), RouterLayout::of(3, 9).height()), (3.0, 3.0));
    }
}
