//! Computation at another rank count: for each two places that follow each other the closest formula through the means of the traces, and a histogram of that
//! mean that is like the one of the largest of them.

use crate::common::{Common, Renamed};
use engine::Span;
use fit::fit;
use std::collections::BTreeMap;
use trace::Trace;
use trace::histogram::{Histogram, Summary};
use trace::part::Path;
use trace::times::Reading;

/// The histograms of all paths of a trace, in the common dictionaries. O(paths), of exact times O(calls).
///
/// # Errors
/// A sentence, if exact times are damaged.
pub fn of_trace(trace: &Trace, renamed: &Renamed) -> Result<BTreeMap<Path, Summary>, String> {
    let renamed_path = |(from, to): Path| (from.map(|from| renamed.place(from)), renamed.place(to));
    if trace.times.is_empty() {
        return Ok(trace.histograms.iter().map(|(path, summary)| (renamed_path(*path), summary.clone())).collect());
    }
    let mut all: BTreeMap<Path, Histogram> = BTreeMap::new();
    for rank in 0..trace.ranks {
        let Some(bytes) = trace.times.get(&rank) else { continue };
        let damaged = |why| format!("the times of rank {rank}: {why}");
        let mut reading = Reading::new(bytes).map_err(damaged)?;
        let view = trace.rank(rank);
        let mut from = None;
        for event in view.calls() {
            let to = (event.template.function, event.template.site);
            let Some((computed, _)) = reading.next().map_err(damaged)? else { break };
            // As recorders of histograms, which leave out what computes nothing.
            if computed > Span::ZERO {
                all.entry(renamed_path((from, to))).or_default().add(computed);
            }
            from = Some(to);
        }
    }
    Ok(all.into_iter().map(|(path, histogram)| (path, histogram.summary())).collect())
}

/// The histograms at the rank count that is wanted; those of the traces are ordered by count. And sentences about means that no formula comes close to.
pub fn extrapolate(
    common: &Common,
    counts: &[u32],
    traces: &[BTreeMap<Path, Summary>],
    wanted: u32,
) -> (Vec<(Path, Histogram)>, Vec<String>) {
    let mut paths: Vec<Path> = traces.iter().flat_map(|trace| trace.keys().copied()).collect();
    paths.sort_unstable();
    paths.dedup();
    let mut notes = Vec::new();
    let one = |path: Path| {
        let seen: Vec<(f64, &Summary)> =
            counts.iter().zip(traces).filter_map(|(&count, trace)| Some((f64::from(count), trace.get(&path)?))).collect();
        let (_, last) = *seen.last()?;
        let through = |value: &dyn Fn(&Summary) -> f64, whole: bool| {
            let fit = fit(&seen.iter().map(|&(count, summary)| (count, value(summary))).collect::<Vec<_>>(), whole);
            (fit.at(f64::from(wanted)), fit.error)
        };
        let (mean, error) = through(&|summary| summary.mean as f64, false);
        let (times, _) = through(&|summary| summary.count as f64, true);
        if error > LARGE {
            let (to, from) = (common.place(path.1), path.0.map_or("the beginning".to_owned(), |from| common.place(from)));
            notes.push(format!(
                "no formula in the rank count comes closer to the computation before {to} (after {from}) than {:.0} %",
                error * 100.0
            ));
        }
        Some((path, Histogram::of(&scaled(last, mean, times.clamp(1.0, 1e18) as u64))))
    };
    let all = paths.into_iter().filter_map(one).collect();
    (all, notes)
}

/// Above this the difference between a formula and what was seen is told.
const LARGE: f64 = 0.25;

/// A histogram like this one, of so many times with this mean in picoseconds.
fn scaled(like: &Summary, mean: f64, count: u64) -> Summary {
    let factor = if like.mean == 0 { 1.0 } else { mean.max(1.0) / like.mean as f64 };
    let by = |ps: u64| ((ps as f64 * factor).round() as u64).max(1);
    let (least, most) = (by(like.least), by(like.most));
    let bits = |ps: u64| u64::BITS - ps.leading_zeros();
    let mut bins = vec![0u64; (bits(most) - bits(least) + 1) as usize];
    // How many times up to the end of each bin, so that what is rounded adds up.
    let (mut up_to, mut told) = (0u64, 0u64);
    for (bin, &times) in (like.first_bits..).zip(&like.bins) {
        up_to += times;
        let all = (u128::from(up_to) * u128::from(count) / u128::from(like.count.max(1))) as u64;
        let middle = 0.75 * 2f64.powi(bin as i32) * factor;
        let place = bits((middle as u64).clamp(least, most)) - bits(least);
        bins[place as usize] += all - told;
        told = all;
    }
    Summary {
        count,
        least,
        most,
        mean: by(like.mean).clamp(least, most),
        deviation: (like.deviation as f64 * factor) as u64,
        bins,
        first_bits: bits(least),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn a_scaled_histogram_is_one(spans in prop::collection::vec(1u64..1 << 40, 1..40), mean in 1.0f64..1e12, count in 1u64..1 << 30) {
            let mut histogram = Histogram::default();
            spans.iter().for_each(|&span| histogram.add(Span::from_ps(span)));
            let scaled = scaled(&histogram.summary(), mean, count);
            prop_assert_eq!(scaled.bins.iter().sum::<u64>(), count);
            prop_assert!(scaled.least <= scaled.mean && scaled.mean <= scaled.most);
            prop_assert!((scaled.mean as f64 - mean).abs() <= 1.0 + mean * 1e-6);
            let written = Histogram::of(&scaled).summary();
            prop_assert_eq!((written.mean, written.least, written.most, written.count), (scaled.mean, scaled.least, scaled.most, count));
        }
    }
}
