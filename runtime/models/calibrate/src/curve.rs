//! Values by message size: interpolation, medians of repeated rows, and pieces of few segments.

use crate::pieces::{MAX_PIECES, SizeCost};
use crate::table::Row;

/// A row is a spike if it is off the geometric mean of its neighbours by this factor.
const SPIKE: f64 = 1.6;
/// A spike also passes a neighbour by this factor, which a step between two sizes does not.
const BEYOND: f64 = 1.3;
/// A time is on the line through the two sizes before it if it is no farther off in proportion.
const ON_THE_LINE: f64 = 0.25;
/// A time grows with the size, noise apart, by no more than the size does.
const GROWS: f64 = 1.1;

/// Values in seconds over ascending sizes, a line from each to the next.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Curve(Vec<(u64, f64)>);

impl Curve {
    /// Returns the medians of the rows of each size without spikes, and the rows that were left out.
    ///
    /// A spike is a single size far from both neighbours and beyond the later one (or below the earlier one).
    /// Times grow with the size, so that an outlier shows as a time that falls again.
    pub fn of(rows: &[Row]) -> (Curve, Vec<Row>) {
        let mut sorted = rows.to_vec();
        sorted.sort_by(|a, b| a.bytes.cmp(&b.bytes).then(a.seconds.total_cmp(&b.seconds)));
        let medians: Vec<Row> = sorted.chunk_by(|a, b| a.bytes == b.bytes).map(median).collect();
        let (mut kept, mut spikes) = (medians, Vec::new());
        // One at a time, the farthest first: a spike makes its neighbours look like some.
        while let Some(at) = farthest(&kept) {
            spikes.push(kept.remove(at));
        }
        spikes.sort_by_key(|row: &Row| row.bytes);
        (Curve(kept.iter().map(|row| (row.bytes, row.seconds)).collect()), spikes)
    }

    /// Returns values at sizes.
    pub fn map(sizes: &[u64], value: impl Fn(u64) -> f64) -> Curve {
        Curve(sizes.iter().map(|&bytes| (bytes, value(bytes))).collect())
    }

    /// Returns the sizes, ascending.
    pub fn sizes(&self) -> Vec<u64> {
        self.0.iter().map(|point| point.0).collect()
    }

    /// Returns the points as rows of no file.
    pub fn rows(&self) -> impl Iterator<Item = Row> {
        let row = |&(bytes, seconds): &(u64, f64)| Row { bytes, seconds, resolution: 0.0, file: 0, line: 0 };
        self.0.iter().map(row)
    }

    /// Returns the points.
    pub fn points(&self) -> &[(u64, f64)] {
        &self.0
    }

    /// Returns the value at a size: on the line between its neighbours, the first value below the first size,
    /// and the last two sizes' line beyond the last. 0 without points.
    pub fn at(&self, bytes: u64) -> f64 {
        let next = self.0.partition_point(|point| point.0 < bytes);
        match (next.checked_sub(1).map(|at| self.0[at]), self.0.get(next)) {
            (_, Some(&(size, value))) if size == bytes => value,
            (Some((from, low)), Some(&(until, high))) => {
                low + (high - low) * (bytes - from) as f64 / (until - from) as f64
            }
            (None, Some(&(_, value))) => value,
            (Some((last, value)), None) => match self.0.len().checked_sub(2).map(|at| self.0[at]) {
                Some((size, before)) => {
                    value + ((value - before) / (last - size) as f64).max(0.0) * (bytes - last) as f64
                }
                None => value,
            },
            (None, None) => 0.0,
        }
    }

    /// Returns a cost through the points, with few segments that stay within `tolerance` seconds of each.
    /// A segment is level if the values fall, or its line would begin below nought.
    pub fn pieces(&self, tolerance: impl Fn(u64) -> f64) -> Vec<SizeCost> {
        let mut slack = 1.0;
        loop {
            let pieces = self.segments(|bytes| slack * tolerance(bytes));
            if pieces.len() <= MAX_PIECES {
                return pieces;
            }
            slack *= 2.0;
        }
    }

    fn segments(&self, tolerance: impl Fn(u64) -> f64) -> Vec<SizeCost> {
        let points = &self.0;
        let (mut pieces, mut at): (Vec<SizeCost>, usize) = (Vec::new(), 0);
        while at < points.len() {
            let (from, first) = points[at];
            // The longest level or rising line from here that all points between are near to.
            let line = |until: usize| -> Option<(f64, f64)> {
                let (size, value) = points[until];
                let slope = (value - first) / (size - from) as f64;
                let start = first - slope * from as f64;
                let is_near = |(start, slope): (f64, f64)| {
                    points[at..=until].iter().all(|&(bytes, value)| {
                        (start + slope * bytes as f64 - value).abs() <= tolerance(bytes)
                    })
                };
                let level = (first.max(0.0), 0.0);
                if is_near(level) {
                    return Some(level);
                }
                (slope > 0.0 && start >= 0.0 && is_near((start, slope))).then_some((start, slope))
            };
            let mut best = (at + 1, (first.max(0.0), 0.0));
            for until in at + 1..points.len() {
                let Some(found) = line(until) else { break };
                // A rising line is right at its end, where the next begins; a level one covers its end.
                best = (if found.1 > 0.0 { until } else { until + 1 }, found);
            }
            let (next, (latency, per_byte)) = best;
            let from = if pieces.is_empty() { 0 } else { from };
            pieces.push(SizeCost { from, latency, per_byte });
            // A rising line up to the last point holds beyond it too.
            at = if next + 1 == points.len() && per_byte > 0.0 { points.len() } else { next };
        }
        pieces.dedup_by(|next, before| next.latency == before.latency && next.per_byte == before.per_byte);
        pieces
    }
}

/// Returns ascending sizes with another one among them; `u64::MAX` is none.
pub(crate) fn with_size(sizes: &[u64], size: u64) -> Vec<u64> {
    let mut all = sizes.to_vec();
    if let (true, Err(at)) = (size < u64::MAX, all.binary_search(&size)) {
        all.insert(at, size);
    }
    all
}

/// Returns the median of rows of one size: of an even number the mean of the two in the middle.
fn median(same: &[Row]) -> Row {
    let (low, high) = (same[(same.len() - 1) / 2], same[same.len() / 2]);
    Row { seconds: (low.seconds + high.seconds) / 2.0, ..low }
}

/// Returns `true` if a row is on the line through the two before it. Copies of a library grow like this until
/// a size from which on it copies no more, and the fall behind that size is no outlier.
fn continues(rows: &[Row], at: usize) -> bool {
    let Some([first, second, here]) = at.checked_sub(2).and_then(|from| rows.get(from..=at)) else {
        return false;
    };
    let width = (second.bytes - first.bytes) as f64;
    let slope = (second.seconds - first.seconds) / width;
    let line = second.seconds + slope * (here.bytes - second.bytes) as f64;
    let most = GROWS * first.seconds * (second.bytes as f64 / first.bytes.max(1) as f64);
    second.seconds <= most && (here.seconds / line - 1.0).abs() <= ON_THE_LINE
}

/// Returns the index of the row that is the farthest off its neighbours, if that is a spike.
fn farthest(rows: &[Row]) -> Option<usize> {
    let off = |at: usize| -> Option<f64> {
        let here = rows[at].seconds;
        let before = at.checked_sub(1).map(|before| rows[before].seconds);
        let after = rows.get(at + 1).map(|row| row.seconds);
        let middle = match (before, after) {
            (Some(before), Some(after)) => (before * after).sqrt(),
            (one, other) => one.or(other)?,
        };
        let is_above = |after: &f64| here > BEYOND * after && !continues(rows, at);
        let above = after.filter(is_above).map(|_| here / middle);
        let below = before.filter(|before| here * BEYOND < *before).map(|_| middle / here);
        above.into_iter().chain(below).filter(|off| *off > SPIKE).max_by(f64::total_cmp)
    };
    let all = (0..rows.len()).filter(|_| rows.len() > 3).filter_map(|at| Some((at, off(at)?)));
    all.max_by(|a, b| a.1.total_cmp(&b.1)).map(|(at, _)| at)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn row(bytes: u64, seconds: f64) -> Row {
        Row { bytes, seconds, resolution: 0.0, file: 0, line: 1 }
    }

    fn value(pieces: &[SizeCost], bytes: u64) -> f64 {
        let piece = pieces.iter().rev().find(|piece| piece.from <= bytes).unwrap();
        piece.latency + piece.per_byte * bytes as f64
    }

    #[test]
    fn repeated_sizes_become_their_median() {
        let rows = [row(1, 5e-6), row(1, 1e-6), row(1, 1.1e-6), row(2, 1e-6), row(4, 1e-6)];
        assert_eq!(Curve::of(&rows).0.points(), [(1, 1.1e-6), (2, 1e-6), (4, 1e-6)]);
    }

    #[test]
    fn a_spike_is_left_out_and_a_step_is_kept() {
        let times = [1.0, 1.0, 3.0, 1.1, 1.2, 1.2, 4.0, 4.1, 4.2];
        let rows: Vec<Row> = times.iter().zip(0..).map(|(&time, power)| row(1 << power, time)).collect();
        let (curve, left_out) = Curve::of(&rows);
        assert_eq!(left_out, [row(4, 3.0)]);
        assert_eq!(curve.at(64), 4.0);
        assert!((curve.at(4) - 1.0333).abs() < 1e-3);
        // Copies that grow in proportion end at a size.
        let copies = [1.3, 1.5, 1.86, 2.6, 4.15, 2.26, 2.5];
        let rows: Vec<Row> = copies.iter().zip(8..).map(|(&time, power)| row(1 << power, time)).collect();
        assert_eq!(Curve::of(&rows).1, []);
        // A protocol that copies less takes less time from a size on.
        let falls = [0.74, 1.15, 1.82, 2.98, 2.15, 2.67, 4.56];
        let rows: Vec<Row> = falls.iter().zip(0..).map(|(&time, power)| row(1 << power, time)).collect();
        assert_eq!(Curve::of(&rows).1, []);
    }

    proptest! {
        #[test]
        fn pieces_are_within_the_tolerance_of_rising_points(
            steps in prop::collection::vec(0.0f64..1.0, 1..40),
        ) {
            let mut sum = 1.0;
            let points: Vec<f64> = steps.iter().map(|step| { sum += step; sum }).collect();
            let sizes: Vec<u64> = (0..points.len() as u64).map(|at| 10 + at).collect();
            let curve = Curve::map(&sizes, |bytes| points[(bytes - 10) as usize]);
            let pieces = curve.pieces(|bytes| 0.1 * points[(bytes - 10) as usize]);
            prop_assert!(pieces.len() <= MAX_PIECES);
            for &(bytes, wanted) in curve.points() {
                prop_assert!((value(&pieces, bytes) - wanted).abs() <= 0.1001 * wanted);
            }
        }
    }
}
