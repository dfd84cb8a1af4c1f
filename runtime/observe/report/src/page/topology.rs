//! The picture of a packet network: routers in the order of their numbers, how busy the links out of them
//! were, and where ranks sit.

use super::axis::scale;
use crate::network::{LoadCell, LoadMap};
use crate::units::{grouped, share};
use maud::{Markup, html};

/// Shades of a cell.
const SHADES: f64 = 8.0;
/// Between columns of rows and between levels, in cells.
const GAP: f64 = 0.5;
/// A picture of levels is at most this many times as wide as high.
const MAX_WIDENESS: f64 = 4.0;

/// The layout of cells, each of which is one wide and one high.
struct RouterLayout {
    width: f64,
    height: f64,
    /// The corner of each cell.
    corners: Vec<(f64, f64)>,
    /// Rows of a column, if there are several columns.
    column_rows: Option<u64>,
}

impl RouterLayout {
    /// Returns the layout of a map: levels of a tree one above another, else rows.
    fn of(map: &LoadMap) -> RouterLayout {
        let cells = map.cells.len() as u64;
        let starts: Vec<u64> = map.levels.iter().map(|&start| start.into()).collect();
        let is_partition = starts.first() == Some(&0) && starts.is_sorted() && starts.last() < Some(&cells);
        if is_partition {
            RouterLayout::levels(&starts, cells)
        } else {
            RouterLayout::rows(map.row.into(), cells)
        }
    }

    /// Lays out levels, the lowest at the bottom, each in the middle. A long level takes several lines.
    fn levels(starts: &[u64], cells: u64) -> RouterLayout {
        let ends = starts.iter().skip(1).copied().chain([cells]);
        let levels: Vec<(u64, u64)> = starts.iter().copied().zip(ends).collect();
        let longest = levels.iter().map(|(start, end)| end - start).max().unwrap_or(1).max(1);
        let gaps = (levels.len() - 1) as f64 * GAP;
        let height = |line: u64| {
            levels.iter().map(|(start, end)| (end - start).div_ceil(line)).sum::<u64>() as f64 + gaps
        };
        let line = (1..=longest).rev().find(|&line| line as f64 <= MAX_WIDENESS * height(line)).unwrap_or(1);
        let mut corners = vec![(0.0, 0.0); cells as usize];
        let mut top = 0.0;
        for &(start, end) in levels.iter().rev() {
            let lines = (end - start).div_ceil(line).max(1);
            // Lines of a level are equally long.
            let length = (end - start).div_ceil(lines).max(1);
            let left = (line - length) as f64 / 2.0;
            for at in start..end {
                let (y, x) = ((at - start) / length, (at - start) % length);
                corners[at as usize] = (left + x as f64, top + y as f64);
            }
            top += lines as f64 + GAP;
        }
        RouterLayout { width: line as f64, height: top - GAP, corners, column_rows: None }
    }

    /// Lays out rows of equal length: cut where they are long, in columns side by side where they are many.
    /// The picture is between as wide as high and four times that, as far as rows allow.
    fn rows(row: u64, cells: u64) -> RouterLayout {
        let row = row.clamp(1, cells.max(1));
        let rows = cells.div_ceil(row).max(1);
        let parts = (1..=row).find(|&parts| row.div_ceil(parts) <= 4 * rows * parts).unwrap_or(1);
        let part = row.div_ceil(parts);
        let width = |columns: u64| (columns * part) as f64 + (columns - 1) as f64 * GAP;
        let height = |columns: u64| (rows.div_ceil(columns) * parts) as f64;
        let columns = (1..rows).find(|&columns| width(columns) >= height(columns)).unwrap_or(rows);
        let column_rows = rows.div_ceil(columns);
        let corner = |at: u64| {
            let (row, index) = (at / row, at % row);
            let (column, line) = (row / column_rows, row % column_rows);
            let x = (index % part) as f64 + column as f64 * (part as f64 + GAP);
            (x, (line * parts + index / part) as f64)
        };
        RouterLayout {
            width: width(columns),
            height: height(columns),
            corners: (0..cells).map(corner).collect(),
            column_rows: (columns > 1).then_some(column_rows),
        }
    }
}

/// Returns a cell for each router or block of routers, darker where a link was busier, with a bar below for
/// the ranks.
pub fn topology(map: &LoadMap, routers: u64) -> Markup {
    let layout = RouterLayout::of(map);
    let most = map.cells.iter().map(|cell| cell.use_max).fold(0.0, f64::max);
    let crowd = map.cells.iter().map(|cell| cell.ranks).max().unwrap_or(0).max(1);
    let blocks = if map.routers_per_cell > 1 {
        format!(", in blocks of {}", map.routers_per_cell)
    } else {
        String::new()
    };
    let order = match (map.levels.len(), layout.column_rows) {
        (0, None) => format!("Routers by number, row after row{blocks}"),
        (0, Some(rows)) => format!("Routers by number, row after row{blocks}, {rows} rows to a column"),
        (levels, _) => format!("Routers by number{blocks}, in {levels} levels: the lowest has the endpoints"),
    };
    let label = format!(
        "Routers 0 to {}{blocks}, in rows: how busy the links out of them were; the busiest {}",
        routers.saturating_sub(1),
        share(most)
    );
    html! {
        figure {
            svg class="topology" viewBox=(format!("0 0 {} {}", layout.width, layout.height))
                role="img" aria-label=(label) {
                @for (at, cell) in (0..).zip(&map.cells) {
                    @let (x, y) = layout.corners[at as usize];
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
                (order) @if map.row > 1 && map.levels.is_empty() { ": a row is a group, or a side of a grid" }
                ". The bar below is how many ranks sit there. Pointing at one tells which."
            }
        }
    }
}

fn said(map: &LoadMap, routers: u64, at: u64, cell: &LoadCell) -> String {
    let (first, last) = cell.routers.map_or_else(
        || {
            let first = at * u64::from(map.routers_per_cell);
            (first, (first + u64::from(map.routers_per_cell)).min(routers).saturating_sub(1))
        },
        |(first, last)| (first.into(), last.into()),
    );
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

/// Returns a shade between a trace of colour and all of it; nothing where nothing was sent.
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
            let layout = RouterLayout::rows(row, cells);
            assert_wide_and_apart(&layout, cells);
        }
        let layout = RouterLayout::rows(3, 9);
        assert_eq!((layout.width, layout.height), (3.0, 3.0));
    }

    #[test]
    fn levels_of_a_tree_are_above_each_other() {
        for (starts, cells) in
            [(&[0, 8, 16][..], 20), (&[0, 256], 384), (&[0, 1], 2), (&[0], 7), (&[0, 500], 501)]
        {
            let layout = RouterLayout::levels(starts, cells);
            assert_wide_and_apart(&layout, cells);
            let lowest = |level: u64| layout.corners[level as usize].1;
            assert!(starts.windows(2).all(|two| lowest(two[0]) > lowest(two[1])), "{starts:?}");
        }
        let layout = RouterLayout::levels(&[0, 8, 16], 20);
        assert_eq!(
            (layout.corners[16], layout.corners[0]),
            ((2.0, 0.0), (0.0, 3.0)),
            "the top is in the middle"
        );
    }

    /// Checks the ratio of width and height, that no two cells overlap and that all are inside.
    fn assert_wide_and_apart(layout: &RouterLayout, cells: u64) {
        let ratio = layout.width / layout.height;
        assert!((0.3..=4.5).contains(&ratio), "{cells} cells are {} x {}", layout.width, layout.height);
        let corners: std::collections::BTreeSet<_> =
            layout.corners.iter().map(|&(x, y)| ((x * 2.0) as u64, (y * 2.0) as u64)).collect();
        assert_eq!(corners.len() as u64, cells);
        let is_inside = |&(x, y): &(f64, f64)| x + 1.0 <= layout.width && y + 1.0 <= layout.height;
        assert!(layout.corners.iter().all(is_inside));
    }
}
