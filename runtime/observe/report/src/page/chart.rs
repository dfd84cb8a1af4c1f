//! The pictures of a page, drawn as SVG in units of their own and stretched by the browser.

use super::axis::{
    AxisMark, MARKS_ALONG, MARKS_UP, Upright, framed, grid, marks, rank_marks, scale, share_marks, time_marks,
};
use crate::units::{bytes, grouped, percent};
use maud::{Markup, html};
use recorder::call_profile::{ActivitySeries, LinkUseSeries, RankGroupTimes};
use recorder::traffic::Matrix;
use std::collections::BTreeMap;
use std::fmt::Write;

/// The height of a chart in its own units.
const HEIGHT: f64 = 1000.0;
/// Rows and columns that a matrix is drawn with at most.
const SIDE: u64 = 128;
/// Shades of a matrix.
const SHADES: u32 = 8;

/// One bar, divided as the parts are.
pub fn strip(label: &str, parts: &[(&str, u128)], classes: &[&str]) -> Markup {
    let whole: u128 = parts.iter().map(|(_, ps)| ps).sum();
    let mut from = 0.0;
    let mut pieces = Vec::new();
    for ((_, ps), class) in parts.iter().zip(classes) {
        let width = *ps as f64 / whole.max(1) as f64 * HEIGHT;
        pieces.push((*class, format!("{from:.1}"), format!("{width:.1}")));
        from += width;
    }
    html! {
        svg class="strip" viewBox="0 0 1000 10" preserveAspectRatio="none" role="img" aria-label=(label) {
            @for (class, x, width) in &pieces { rect class=(class) x=(x) y="0" width=(width) height="10" {} }
        }
        ul class="key" {
            @for ((name, ps), class) in parts.iter().zip(classes) {
                li { i class=(class) {} (name) " " (percent(*ps, whole)) }
            }
        }
    }
}

/// Areas on top of each other: of each column the parts of one, from below.
fn stacked(columns: usize, parts: &[(&'static str, Vec<f64>)]) -> Vec<(&'static str, String)> {
    let mut below = vec![0.0; columns];
    let mut areas = Vec::new();
    for (class, values) in parts {
        let top: Vec<f64> = below.iter().zip(values).map(|(below, value)| below + value).collect();
        let mut path = String::new();
        let y = |value: f64| (HEIGHT * (1.0 - value.min(1.0))).round();
        for (x, &value) in top.iter().enumerate() {
            let _ = write!(path, "{}{x} {}H{}", if x == 0 { "M" } else { "L" }, y(value), x + 1);
        }
        for (x, &value) in below.iter().enumerate().rev() {
            let _ = write!(path, "L{} {}H{x}", x + 1, y(value));
        }
        areas.push((*class, path + "Z"));
        below = top;
    }
    areas
}

fn chart(
    label: &str,
    columns: f64,
    bin_ps: Option<u64>,
    beside: &[AxisMark],
    areas: &[(&'static str, String)],
) -> Markup {
    let lines = grid(beside, columns.ceil(), HEIGHT);
    html! {
        svg class="chart" data-bin=[bin_ps] viewBox=(format!("0 0 {columns} {HEIGHT}"))
            preserveAspectRatio="none" role="img" aria-label=(label) {
            @for (class, path) in areas { path class=(class) d=(path) {} }
            @if !lines.is_empty() { path class="grid" d=(lines) {} }
        }
    }
}

/// A chart whose columns are stretches of so many picoseconds: all of them end with the run, and a reader may
/// zoom in (`script.js`).
fn over_time(
    label: &str,
    time_ps: u64,
    bin_ps: u64,
    beside: &[AxisMark],
    areas: &[(&'static str, String)],
) -> Markup {
    let picture = chart(label, time_ps as f64 / bin_ps.max(1) as f64, Some(bin_ps), beside, areas);
    framed(picture, "", Upright::Up, beside, &time_marks(time_ps), Some(time_ps))
}

/// Returns what ranks did when.
pub fn series(series: &ActivitySeries, ranks: u64, time_ps: u64, label: &str) -> Markup {
    let full = series.bin_ps as f64 * ranks as f64;
    let of = |ps: &[u128]| ps.iter().map(|&ps| ps as f64 / full).collect();
    let parts =
        [("compute", of(&series.compute_ps)), ("mpi", of(&series.mpi_ps)), ("wait", of(&series.wait_ps))];
    let columns = series.compute_ps.len();
    let beside = marks(ranks.into(), MARKS_UP, grouped);
    over_time(label, time_ps, series.bin_ps, &beside, &stacked(columns, &parts))
}

/// Returns how many bytes were under way when; as high as the most.
pub fn under_way(series: &ActivitySeries, time_ps: u64, label: &str) -> Markup {
    let most = series.under_way_bytes.iter().copied().max().unwrap_or(0).max(1);
    let parts = [("rest", series.under_way_bytes.iter().map(|&bytes| bytes as f64 / most as f64).collect())];
    let columns = series.under_way_bytes.len();
    over_time(label, time_ps, series.bin_ps, &marks(most, MARKS_UP, bytes), &stacked(columns, &parts))
}

/// Returns how busy links were when: the mean of all as an area, and as a line the busiest of each stretch.
pub fn links(links: &LinkUseSeries, time_ps: u64, label: &str) -> Markup {
    let of = |part: &u16| f64::from(*part) / 1e4;
    let mut areas = stacked(links.mean.len(), &[("rest", links.mean.iter().map(of).collect())]);
    if !links.most.is_empty() {
        areas.push(("most", line(links.most.iter().map(of))));
    }
    over_time(label, time_ps, links.bin_ps, &share_marks(), &areas)
}

/// A line at these heights, of 1, over columns.
fn line(heights: impl Iterator<Item = f64>) -> String {
    let mut line = String::new();
    for (x, height) in heights.enumerate() {
        let y = (HEIGHT * (1.0 - height.min(1.0))).round();
        let _ = write!(line, "{}{x} {y}H{}", if x == 0 { "M" } else { "L" }, x + 1);
    }
    line
}

/// Returns what each rank or block of ranks did, and as a line the rank of each that computed longest.
pub fn load(load: &[RankGroupTimes], ranks: u64, time_ps: u64, label: &str) -> Markup {
    let of = |ps: u64| ps as f64 / time_ps.max(1) as f64;
    let parts = [
        ("compute", load.iter().map(|load| of(load.compute.mean_ps)).collect()),
        ("mpi", load.iter().map(|load| of(load.mpi.mean_ps)).collect()),
        ("wait", load.iter().map(|load| of(load.wait.mean_ps)).collect()),
    ];
    let mut areas = stacked(load.len(), &parts);
    if load.iter().any(|load| load.ranks > 1) {
        areas.push(("most", line(load.iter().map(|load| of(load.compute.max_ps)))));
    }
    let (beside, below) = (share_marks(), rank_marks(ranks, load.len() as u64, MARKS_ALONG));
    framed(chart(label, load.len() as f64, None, &beside, &areas), "", Upright::Up, &beside, &below, None)
}

/// Returns how many calls took how long, from the shortest to the longest power of two.
pub fn durations(histogram: &[(u32, u64)]) -> Markup {
    let (first, last) = (histogram.first().map_or(0, |bar| bar.0), histogram.last().map_or(0, |bar| bar.0));
    let most = histogram.iter().map(|bar| bar.1).max().unwrap_or(1) as f64;
    let mut path = String::new();
    for &(bits, calls) in histogram {
        let height = (calls as f64 / most * 19.0 + 1.0).round();
        let _ = write!(path, "M{} 20v-{height}h.9v{height}z", bits - first);
    }
    html! {
        svg class="small" viewBox=(format!("0 0 {} 20", (last - first + 1).max(8)))
            preserveAspectRatio="none" aria-hidden="true" {
            path class="compute" d=(path) {}
        }
    }
}

/// A matrix as it is drawn: ranks of a row, and bytes (messages, if none has any) by row and column.
pub struct FoldedMatrix {
    /// Neighbouring ranks that are one row and column.
    pub ranks_per_block: u64,
    /// Rows and columns.
    pub side: u64,
    /// By row and column.
    pub cells: BTreeMap<(u64, u64), u128>,
}

/// Folds a matrix until it can be drawn.
pub fn fold(matrix: &Matrix, ranks: u64) -> FoldedMatrix {
    let blocks = ranks.div_ceil(matrix.ranks_per_block.max(1)).max(1);
    let together = blocks.div_ceil(SIDE);
    let has_bytes = matrix.cells.iter().any(|cell| cell.3 > 0);
    let mut cells = BTreeMap::new();
    for &(from, to, messages, bytes) in &matrix.cells {
        let value = if has_bytes { bytes } else { u128::from(messages) };
        *cells.entry((u64::from(from) / together, u64::from(to) / together)).or_insert(0) += value;
    }
    FoldedMatrix {
        ranks_per_block: matrix.ranks_per_block * together,
        side: blocks.div_ceil(together),
        cells,
    }
}

/// Returns who sends to whom: rows send, columns receive, darker is more, by a logarithmic scale.
pub fn heat_map(folded: &FoldedMatrix, ranks: u64, label: &str, amount: impl Fn(u128) -> String) -> Markup {
    let most = folded.cells.values().copied().max().unwrap_or(1).max(1) as f64;
    let least = folded.cells.values().copied().filter(|&value| value > 0).min().unwrap_or(1) as f64;
    let mut shades = vec![String::new(); SHADES as usize];
    for (&(from, to), &value) in &folded.cells {
        let share = if most > least {
            (value.max(1) as f64 / least).ln().max(0.0) / (most / least).ln()
        } else {
            1.0
        };
        let shade = (share * f64::from(SHADES - 1)).round() as usize;
        let _ = write!(shades[shade], "M{to} {from}h1v1h-1z");
    }
    let picture = html! {
        svg class="matrix" viewBox=(format!("0 0 {side} {side}", side = folded.side)) role="img"
            aria-label=(label) {
            g class="cells" {
                @for (shade, path) in shades.iter().enumerate() {
                    @if !path.is_empty() {
                        path d=(path)
                            fill-opacity=(format!("{:.2}", (shade + 1) as f64 / f64::from(SHADES))) {}
                    }
                }
            }
        }
    };
    let sides = rank_marks(ranks, folded.side, MARKS_ALONG);
    html! {
        (framed(picture, "square", Upright::Down, &sides, &sides, None))
        @if most > least {
            (scale("compute", SHADES, &amount(least as u128), &amount(most as u128), "(logarithmic)"))
        }
        @else { p class="soft" { "Each " (amount(most as u128)) "." } }
    }
}

/// The pairs of a matrix that exchange most: who, and how much.
pub fn greatest(folded: &FoldedMatrix, count: usize) -> Vec<(String, String, u128)> {
    let mut cells: Vec<_> = folded.cells.iter().collect();
    cells.sort_by_key(|(place, value)| (std::cmp::Reverse(**value), **place));
    let ranks = |block: u64| {
        let first = block * folded.ranks_per_block;
        if folded.ranks_per_block == 1 {
            grouped(first.into())
        } else {
            format!("{} ...", grouped(first.into()))
        }
    };
    cells.into_iter().take(count).map(|(&(from, to), &value)| (ranks(from), ranks(to), value)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn areas_lie_on_each_other() {
        let areas = stacked(2, &[("compute", vec![0.5, 1.0]), ("wait", vec![0.25, 0.0])]);
        assert_eq!(areas[0].1, "M0 500H1L1 0H2L2 1000H1L1 1000H0Z");
        assert_eq!(areas[1].1, "M0 250H1L1 0H2L2 0H1L1 500H0Z");
    }

    #[test]
    fn a_large_matrix_is_folded_to_what_can_be_drawn() {
        let cells = (0..4096).map(|block| (block, (block + 1) % 4096, 2, 10)).collect();
        let folded = fold(&Matrix { ranks_per_block: 256, cells }, 1 << 20);
        assert_eq!((folded.ranks_per_block, folded.side), (8192, 128));
        assert_eq!(folded.cells[&(0, 0)], 31 * 10);
        assert_eq!(folded.cells[&(127, 0)], 10);
        assert_eq!(greatest(&folded, 1), [("0 ...".to_owned(), "0 ...".to_owned(), 310)]);
    }
}
