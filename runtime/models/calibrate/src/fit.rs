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
/// By how much the criterion must fall for each further line. Ten is called very strong evidence (R. Kass, A.
/// Raftery, "Bayes Factors", 1995).
const EVIDENCE: f64 = 10.0;
/// A row that is farther from its line than this part of its time is no noise.
const FAR: f64 = 0.25;
/// A row is noise if it is off by less than so many times the scatter.
const NOISE_WIDTH: f64 = 3.0;
/// The scatter of neighbours is noise up to so many times the variance from the lines; more of it is steps.
const WIDER: f64 = 4.0;
/// Rows with two neighbours that show the scatter.
const MIN_SCATTER: usize = 12;
/// Quarters, and the quantile of the square of a standard normal number there.
const QUANTILES_OF_SQUARES: [(usize, f64); 2] = [(2, 0.4549), (3, 1.3233)];

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
    /// Scatter of times around their neighbours in proportion, a standard deviation; 0 of few rows.
    pub scatter: f64,
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
    fit_of_files(rows, &[])
}

/// Returns the lines as [`fit`] does, of rows from files with these names.
///
/// # Errors
/// The same sentences, which name the file of each line if there are several.
pub fn fit_of_files(rows: &[Row], files: &[String]) -> Result<Fit, String> {
    if rows.len() > MAX_ROWS {
        let count = rows.len();
        return Err(format!(
            "these are {count} times, and at most {MAX_ROWS} are fitted: give powers of two"
        ));
    }
    let scatter = scatter(rows);
    if scatter > FAR {
        return Err(format!(
            "no line fits these times: from size to size they scatter by {:.0} %: measure again with more \
            repetitions, or give tables of several runs",
            scatter * 100.0
        ));
    }
    let far = FAR.max(NOISE_WIDTH * scatter);
    let mut kept = rows.to_vec();
    let mut left_out: Vec<Row> = Vec::new();
    loop {
        if sizes(&kept) < MIN_SIZES {
            return Err(match left_out.is_empty() {
                true => match sizes(rows) {
                    1 => format!("these are times of 1 size: a line needs at least {MIN_SIZES}"),
                    sizes => format!("these are times of {sizes} sizes: a line needs at least {MIN_SIZES}"),
                },
                false => no_line(&left_out, rows.len(), files),
            });
        }
        let segments = segments(&kept, scatter);
        let fit = Fit { segments, left_out: Vec::new(), scatter };
        let off = |row: &Row| (fit.at(row.bytes) / row.seconds - 1.0).abs();
        // One at a time: a row that is far off pulls its line away from its neighbours.
        let worst = (0..kept.len()).max_by(|&a, &b| off(&kept[a]).total_cmp(&off(&kept[b]))).unwrap_or(0);
        if off(&kept[worst]) <= far {
            left_out.sort_by_key(|row| (row.file, row.line));
            return Ok(Fit { left_out, ..fit });
        }
        left_out.push(kept.remove(worst));
        if left_out.len() * 4 > rows.len() {
            return Err(no_line(&left_out, rows.len(), files));
        }
    }
}

fn no_line(left_out: &[Row], of: usize, files: &[String]) -> String {
    let mut rows = left_out.to_vec();
    rows.sort_unstable_by_key(|row| (row.file, row.line));
    let of_file = |same: &[Row]| {
        let lines: Vec<String> = same.iter().map(|row| row.line.to_string()).collect();
        match files.get(same[0].file).filter(|_| files.len() > 1) {
            Some(name) => format!("{} of {name}", lines.join(", ")),
            None => lines.join(", "),
        }
    };
    let lines: Vec<String> = rows.chunk_by(|a, b| a.file == b.file).map(of_file).collect();
    format!(
        "no line fits these times: of {of} rows {} are more than {:.0} % off whatever the others are \
        (lines {}): measure again with more repetitions",
        rows.len(),
        FAR * 100.0,
        lines.join("; ")
    )
}

/// Returns the lines that the criterion chooses.
fn segments(rows: &[Row], scatter: f64) -> Vec<Segment> {
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
        // With the noise itself a line must explain more than that does, by the same criterion.
        let is_better = |(least, ends, before): &(f64, Vec<usize>, f64)| {
            let more = (lines - ends.len()) as f64;
            let freedom = rows.len().saturating_sub(2 * lines).max(1) as f64;
            let noise = scatter.powi(2).min(WIDER * squares / freedom).max(rounding);
            let explained = (before - squares) / noise;
            *least - criterion > more * EVIDENCE && explained > more * (EVIDENCE + 3.0 * count.ln())
        };
        if best.as_ref().is_none_or(is_better) {
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

/// Returns the noise of times in proportion to them; 0 of few rows, which do not show it.
///
/// It is what a row is off the line through its two neighbours (T. Gasser, L. Sroka, C. Jennen-Steinmetz,
/// "Residual Variance and Residual Pattern in Nonlinear Regression", Biometrika 73, 1986). Quantiles of the
/// squares do not grow by a few jumps.
pub(crate) fn scatter(rows: &[Row]) -> f64 {
    let square = |of: &[Row]| {
        let [before, here, after] = of else { return 0.0 };
        let width = (after.bytes - before.bytes) as f64;
        let part = if width > 0.0 { (here.bytes - before.bytes) as f64 / width } else { 0.5 };
        let (low, high) = ((1.0 - part) * before.seconds, part * after.seconds);
        let variance = here.seconds.powi(2) + low.powi(2) + high.powi(2);
        (here.seconds - low - high).powi(2) / variance
    };
    let mut squares: Vec<f64> = rows.windows(3).map(square).collect();
    if squares.len() < MIN_SCATTER {
        return 0.0;
    }
    squares.sort_by(f64::total_cmp);
    let variance = |(quarters, quantile): (usize, f64)| squares[squares.len() * quarters / 4] / quantile;
    QUANTILES_OF_SQUARES.map(variance).into_iter().fold(0.0, f64::max).sqrt()
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
        let row = |(at, bytes): (usize, u64)| Row {
            bytes,
            seconds: time(bytes),
            resolution: 1e-12,
            file: 0,
            line: at + 1,
        };
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

    /// Noise makes a second line in 2 of 200 tables at most, in 4, and in 20 if it is a fifth.
    #[test]
    fn a_line_is_kept_only_if_it_explains_more_than_the_noise() {
        let mut runner = proptest::test_runner::TestRunner::deterministic();
        let uniforms = prop::collection::vec((1e-12f64..1.0, 0.0f64..1.0), 24);
        for (noise, most) in [(0.05, 2), (0.1, 4), (0.2, 20)] {
            let (mut several, mut refused) = (0, 0);
            for _ in 0..200 {
                let mut noisy = rows(powers(), |bytes| 1.8e-6 + bytes as f64 / 12.5e9);
                let drawn = uniforms.new_tree(&mut runner).unwrap().current();
                for (row, (radius, angle)) in noisy.iter_mut().zip(drawn) {
                    let normal = (-2.0 * f64::ln(radius)).sqrt() * (std::f64::consts::TAU * angle).cos();
                    row.seconds *= (1.0 + noise * normal).max(0.05);
                }
                match fit(&noisy) {
                    Ok(found) => {
                        assert!(found.segments.len() < 3, "{noise}: {:?}", found.segments);
                        several += usize::from(found.segments.len() > 1);
                    }
                    Err(why) => {
                        assert!(why.contains("they scatter by"), "{why}");
                        refused += 1;
                    }
                }
            }
            assert!(several <= most && refused < 100, "{noise}: {several} of several lines, {refused}");
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
        assert!(why.contains("no line fits these times: from size to size they scatter by "), "{why}");
        let mut few = wild[..9].to_vec();
        few.iter_mut().skip(4).for_each(|row| row.file = 1);
        let names = ["a.txt".to_owned(), "b.txt".to_owned()];
        let why = fit_of_files(&few, &names).unwrap_err();
        assert!(why.contains(" of a.txt; ") && why.contains(" of b.txt): measure again"), "{why}");
        let why = fit(&rows([1], |_| 1e-6)).unwrap_err();
        assert!(why.contains("1 size: a line needs at least 3"), "{why}");
        let why = fit(&rows([1, 2], |_| 1e-6)).unwrap_err();
        assert!(why.contains("2 sizes: a line needs at least 3"), "{why}");
    }
}
