//! Lines through times over sizes: how many, where each begins and ends, and how sure each is.
//!
//! Residuals are relative, because a benchmark's times vary in proportion to themselves and the small ones
//! must count as the large ones do. Where lines end is found over all possibilities by dynamic programming,
//! how many there are by Schwarz's criterion (G. Schwarz, "Estimating the Dimension of a Model", Annals of
//! Statistics 6, 1978): another one must make the data more probable by far.

use crate::table::Row;

/// Rows that a line needs: two are on a line whatever they are.
const MIN_SIZES: usize = 3;
/// Rows at most: lines end at the best of all sizes.
const MAX_ROWS: usize = 512;
/// The most lines: what short messages, eager ones, those of a rendezvous and those beyond the caches take.
const MAX_LINES: usize = 4;
/// By how much the criterion must fall for another line. Ten is called very strong evidence (R. Kass, A.
/// Raftery, "Bayes Factors", 1995).
const EVIDENCE: f64 = 10.0;
/// A row that is farther from its line than this part of its time is no noise.
const FAR: f64 = 0.25;

/// A number with half the width of its 95 % confidence interval.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Estimate {
    /// The number.
    pub value: f64,
    /// It is within so much of this with a probability of 95 %.
    pub within: f64,
}

/// A line: `latency + bytes * per_byte`, in seconds.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Segment {
    /// The smallest size on it.
    pub from: u64,
    /// The largest.
    pub until: u64,
    /// The time at no bytes.
    pub latency: Estimate,
    /// Time of each byte.
    pub per_byte: Estimate,
}

impl Segment {
    /// Returns the line's time.
    pub fn at(&self, bytes: u64) -> f64 {
        self.latency.value + self.per_byte.value * bytes as f64
    }
}

/// Lines through rows.
#[derive(Clone, PartialEq, Debug)]
pub struct Fit {
    /// By size; between two of them is a jump or a bend.
    pub segments: Vec<Segment>,
    /// Rows that no line comes near, which count for none.
    pub left_out: Vec<Row>,
}

impl Fit {
    /// Returns the line of a size: the first that reaches it, or the last.
    pub fn at(&self, bytes: u64) -> f64 {
        self.segments
            .iter()
            .find(|segment| bytes <= segment.until)
            .unwrap_or(&self.segments[self.segments.len() - 1])
            .at(bytes)
    }

    /// Returns where the time surely jumps up, the largest jump in proportion first: the last size before it,
    /// and by how much.
    pub fn jumps(&self) -> Vec<(u64, f64)> {
        let jumps = self.segments.windows(2).filter_map(|pair| {
            let (before, after) = (&pair[0], &pair[1]);
            let (from, to) = (before.at(after.from), after.at(after.from));
            let unsure = before.within(after.from) + after.within(after.from);
            // Beyond a bend lines meet; a jump is more than what they may be off by.
            (to - from > unsure && to > from * 1.05).then_some((before.until, to - from, to / from))
        });
        let mut jumps: Vec<(u64, f64, f64)> = jumps.collect();
        jumps.sort_by(|a, b| b.2.total_cmp(&a.2));
        jumps.into_iter().map(|(at, by, _)| (at, by)).collect()
    }
}

impl Segment {
    /// Returns a bound on what the line may be off by at a size.
    fn within(&self, bytes: u64) -> f64 {
        self.latency.within + self.per_byte.within * bytes as f64
    }
}

/// Sums over rows, from which a line through any range of them follows: weights, and weighted bytes, times,
/// squares and products.
#[derive(Clone, Copy, Default)]
struct Sums([f64; 6]);

impl Sums {
    fn of(rows: &[Row]) -> Sums {
        let mut sums = Sums::default();
        for row in rows {
            let (x, y, w) = (row.bytes as f64, row.seconds, row.seconds.powi(-2));
            for (sum, term) in sums.0.iter_mut().zip([w, w * x, w * y, w * x * x, w * x * y, w * y * y]) {
                *sum += term;
            }
        }
        sums
    }

    /// Returns the weighted least-squares line (at nought, slope), and the determinant of its equations.
    fn line(&self) -> (f64, f64, f64) {
        let [w, x, y, xx, xy, _] = self.0;
        let determinant = w * xx - x * x;
        let slope = (w * xy - x * y) / determinant;
        ((y - slope * x) / w, slope, determinant)
    }
}

/// Returns the sum of squared relative residuals from the best line. Straight from the rows: differences of
/// sums would lose the digits of an exact table.
fn residual(rows: &[Row]) -> f64 {
    let (latency, slope, _) = Sums::of(rows).line();
    rows.iter().map(|row| ((latency + slope * row.bytes as f64) / row.seconds - 1.0).powi(2)).sum()
}

/// Returns how many different sizes there are among rows in order.
fn sizes(rows: &[Row]) -> usize {
    rows.chunk_by(|a, b| a.bytes == b.bytes).count()
}

/// Returns the lines through rows that are sorted by size.
///
/// # Errors
/// A sentence: too few sizes, or rows that no line comes near, with their lines in the file.
pub fn fit(rows: &[Row]) -> Result<Fit, String> {
    if rows.len() > MAX_ROWS {
        let count = rows.len();
        return Err(format!(
            "these are {count} times, and at most {MAX_ROWS} are fitted: give powers of two"
        ));
    }
    let mut kept = rows.to_vec();
    let mut left_out: Vec<Row> = Vec::new();
    loop {
        if sizes(&kept) < MIN_SIZES {
            return Err(match left_out.is_empty() {
                true => {
                    format!("these are times of {} sizes: a line needs at least {MIN_SIZES}", sizes(rows))
                }
                false => no_line(&left_out, rows.len()),
            });
        }
        let segments = segments(&kept);
        let fit = Fit { segments, left_out: Vec::new() };
        let off = |row: &Row| (fit.at(row.bytes) / row.seconds - 1.0).abs();
        // One at a time: a row that is far off pulls its line away from its neighbours.
        let worst = (0..kept.len()).max_by(|&a, &b| off(&kept[a]).total_cmp(&off(&kept[b]))).unwrap_or(0);
        if off(&kept[worst]) <= FAR {
            left_out.sort_by_key(|row| row.line);
            return Ok(Fit { left_out, ..fit });
        }
        left_out.push(kept.remove(worst));
        if left_out.len() * 4 > rows.len() {
            return Err(no_line(&left_out, rows.len()));
        }
    }
}

fn no_line(left_out: &[Row], of: usize) -> String {
    let mut lines: Vec<usize> = left_out.iter().map(|row| row.line).collect();
    lines.sort_unstable();
    let lines: Vec<String> = lines.iter().map(usize::to_string).collect();
    format!(
        "no line fits these times: of {of} rows {} are more than {:.0} % off whatever the others are \
        (lines {}): measure again with more repetitions",
        lines.len(),
        FAR * 100.0,
        lines.join(", ")
    )
}

/// Returns the lines that the criterion chooses.
fn segments(rows: &[Row]) -> Vec<Segment> {
    let count = rows.len() as f64;
    // What rounding to the printed digits adds: exact tables would otherwise be taken apart for their last
    // digits.
    let rounding =
        rows.iter().map(|row| (row.resolution / row.seconds).powi(2) / 12.0).sum::<f64>() / count + 1e-14;
    let mut best: Option<(f64, Vec<usize>, f64)> = None;
    for lines in 1..=MAX_LINES.min(sizes(rows) / MIN_SIZES) {
        let Some((squares, ends)) = partition(rows, lines) else { break };
        // A line has two parameters, and where it ends is a third.
        let parameters = (3 * lines - 1) as f64;
        let criterion = count * (squares / count + rounding).ln() + parameters * count.ln();
        if best.as_ref().is_none_or(|(least, ..)| criterion < least - EVIDENCE) {
            best = Some((criterion, ends, squares));
        }
    }
    let (_, ends, squares) = best.expect("one line always fits");
    let freedom = rows.len().saturating_sub(2 * ends.len()).max(1);
    let variance = (squares / freedom as f64).max(rounding);
    let mut from = 0;
    let segment = |&until: &usize| {
        let of = &rows[std::mem::replace(&mut from, until)..until];
        let sums = Sums::of(of);
        let (latency, slope, determinant) = sums.line();
        let within = |sum: f64| student(freedom) * (variance * sum / determinant).sqrt();
        // Rounding is alike in all rows that differ by less than a digit, so that no number of them tells
        // more than half of the last one.
        let digit = of.iter().map(|row| row.resolution / 2.0).fold(f64::MAX, f64::min);
        Segment {
            from: of[0].bytes,
            until: of[of.len() - 1].bytes,
            latency: Estimate { value: latency, within: within(sums.0[3]).max(digit) },
            per_byte: Estimate { value: slope, within: within(sums.0[0]) },
        }
    };
    ends.iter().map(segment).collect()
}

/// Returns the cut of rows into so many lines with the least sum of squares, and where each ends; O(lines
/// rows³), of some tens of rows. No size is cut in two.
fn partition(rows: &[Row], lines: usize) -> Option<(f64, Vec<usize>)> {
    let is_cut = |at: usize| at == 0 || at == rows.len() || rows[at - 1].bytes != rows[at].bytes;
    // The best cuts of the first rows, by how many.
    let mut best: Vec<Option<(f64, Vec<usize>)>> = vec![None; rows.len() + 1];
    best[0] = Some((0.0, Vec::new()));
    for _ in 0..lines {
        let mut next = vec![None; rows.len() + 1];
        for until in (0..=rows.len()).filter(|&at| is_cut(at)) {
            let from = (0..until).filter(|&at| is_cut(at) && sizes(&rows[at..until]) >= MIN_SIZES);
            let of = from.filter_map(|at| {
                best[at].as_ref().map(|(sum, ends)| (sum + residual(&rows[at..until]), ends))
            });
            let least = of.min_by(|a, b| a.0.total_cmp(&b.0));
            next[until] = least.map(|(sum, ends)| (sum, [ends.as_slice(), &[until]].concat()));
        }
        best = next;
    }
    best.pop().flatten()
}

/// Returns Student's t of a two-sided 95 % interval: a table to 10 degrees of freedom, then within 0.3 % by
/// 1.96 + 2.4/n + 3/n².
fn student(freedom: usize) -> f64 {
    const FIRST: [f64; 10] = [12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228];
    let n = freedom as f64;
    FIRST.get(freedom.wrapping_sub(1)).copied().unwrap_or(1.96 + 2.4 / n + 3.0 / (n * n))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use proptest::strategy::ValueTree;

    fn rows(sizes: impl IntoIterator<Item = u64>, time: impl Fn(u64) -> f64) -> Vec<Row> {
        let row =
            |(at, bytes): (usize, u64)| Row { bytes, seconds: time(bytes), resolution: 1e-12, line: at + 1 };
        sizes.into_iter().enumerate().map(row).collect()
    }

    fn powers() -> impl Iterator<Item = u64> {
        std::iter::once(0).chain((0..23).map(|power| 1 << power))
    }

    proptest! {
        #[test]
        fn a_line_is_found_again(latency in 1e-7f64..1e-4, gbps in 0.1f64..400.0) {
            let per_byte = 8e-9 / gbps;
            let found = fit(&rows(powers(), |bytes| latency + per_byte * bytes as f64)).unwrap();
            prop_assert_eq!(found.segments.len(), 1);
            prop_assert!((found.segments[0].latency.value / latency - 1.0).abs() < 1e-3);
            prop_assert!((found.segments[0].per_byte.value / per_byte - 1.0).abs() < 1e-3);
        }
    }

    /// Draws the same lines each time, since the share within the interval is a matter of chance.
    #[test]
    fn a_noisy_line_is_within_its_interval_nineteen_times_in_twenty() {
        const LINES: u32 = 2000;
        let mut runner = proptest::test_runner::TestRunner::deterministic();
        let lines = (1e-7f64..1e-4, 0.1f64..400.0, prop::collection::vec(-0.01f64..0.01, 24));
        let (mut taken_apart, mut latency_within, mut slope_within) = (0, 0, 0);
        for _ in 0..LINES {
            let (latency, gbps, noise) = lines.new_tree(&mut runner).unwrap().current();
            let per_byte = 8e-9 / gbps;
            let mut noisy = rows(powers(), |bytes| latency + per_byte * bytes as f64);
            noisy.iter_mut().zip(noise).for_each(|(row, off)| row.seconds *= 1.0 + off);
            let found = fit(&noisy).unwrap();
            let first = found.segments[0];
            taken_apart += u32::from(found.segments.len() > 1);
            latency_within += u32::from((first.latency.value - latency).abs() < first.latency.within);
            slope_within += u32::from((first.per_byte.value - per_byte).abs() < first.per_byte.within);
        }
        assert!(taken_apart * 100 < LINES, "{taken_apart} of {LINES} lines were taken for several");
        for within in [latency_within, slope_within] {
            assert!(
                (0.93..0.97).contains(&(f64::from(within) / f64::from(LINES))),
                "{latency_within} and {slope_within} of {LINES}"
            );
        }
    }

    #[test]
    fn a_jump_is_where_it_is() {
        let time = |bytes: u64| {
            if bytes <= 8192 { 1e-6 + bytes as f64 * 1e-9 } else { 4e-6 + bytes as f64 * 0.1e-9 }
        };
        let found = fit(&rows(powers(), time)).unwrap();
        assert_eq!(found.segments.len(), 2);
        assert_eq!((found.segments[0].until, found.segments[1].from), (8192, 16384));
        assert!((found.segments[1].latency.value - 4e-6).abs() < 1e-10);
        // Down: no jump up. At 16,384 the lines are 17.384 us and 5.6384 us.
        assert_eq!(found.jumps(), []);
        let up = fit(&rows(powers(), |bytes| if bytes <= 8192 { 1e-6 } else { 4e-6 } + bytes as f64 * 1e-10))
            .unwrap();
        let [(at, by)] = up.jumps()[..] else { panic!("one jump") };
        assert_eq!((at, (by * 1e9).round()), (8192, 3000.0));
    }

    #[test]
    fn a_row_that_is_far_off_is_left_out_and_told() {
        let mut table = rows(powers(), |bytes| 2e-6 + bytes as f64 * 1e-9);
        table[5].seconds *= 3.0;
        let found = fit(&table).unwrap();
        assert_eq!(found.left_out.iter().map(|row| row.line).collect::<Vec<_>>(), [6]);
        assert!((found.segments[0].latency.value - 2e-6).abs() < 1e-9);
    }

    #[test]
    fn what_no_line_fits_is_told_with_its_lines() {
        let wild = rows(powers(), |bytes| {
            if bytes.count_ones() == 1 && bytes.trailing_zeros() % 2 == 0 { 1e-6 } else { 5e-5 }
        });
        let why = fit(&wild).unwrap_err();
        assert!(why.contains("no line fits these times") && why.contains("(lines "), "{why}");
        let why = fit(&rows([1, 2], |_| 1e-6)).unwrap_err();
        assert!(why.contains("2 sizes: a line needs at least 3"), "{why}");
    }
}
