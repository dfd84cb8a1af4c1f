//! Computation at another rank count. For each two call sites that follow each other it has the closest
//! formula through the means of the traces. It also has a histogram of that mean, like the one of the largest
//! of them.

use crate::common::{Dictionaries, Renamed};
use engine::Span;
use fit::fit;
use std::collections::BTreeMap;
use trace::Trace;
use trace::histogram::{Histogram, Summary};
use trace::part::{Computed, Path};
use trace::times::Reading;

/// Returns the histograms of all paths of a trace, in the common dictionaries. O(paths), of exact times
/// O(calls).
///
/// # Errors
/// A sentence, if exact times are damaged.
pub fn of_trace(trace: &Trace, renamed: &Renamed) -> Result<BTreeMap<Path, Summary>, String> {
    // Kinds of calls go by sizes, which are others at other counts.
    let site = |(function, site, _)| {
        let (function, site) = renamed.place((function, site));
        (function, site, 0)
    };
    let renamed_path = |(from, to): Path| (from.map(site), site(to));
    let mut all: BTreeMap<Path, Histogram> = BTreeMap::new();
    if trace.times.is_empty() {
        for (path, summary) in &trace.histograms {
            all.entry(renamed_path(*path)).or_default().merge(&Histogram::of(summary));
        }
    }
    for rank in 0..trace.ranks {
        let Some(bytes) = trace.times.get(&rank) else { continue };
        let damaged = |why| format!("the times of rank {rank}: {why}");
        let mut reading = Reading::new(bytes).map_err(damaged)?;
        let view = trace.rank(rank);
        let mut from = None;
        for event in view.calls() {
            let to = (event.template.function, event.template.site, 0);
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

/// Returns the histograms at the rank count that is wanted; those of the traces are ordered by count. Also
/// returns sentences about means that no formula comes close to.
pub fn extrapolate(
    common: &Dictionaries,
    counts: &[u32],
    traces: &[BTreeMap<Path, Summary>],
    wanted: u32,
) -> (Vec<(Path, Computed)>, Vec<String>) {
    let mut paths: Vec<Path> = traces.iter().flat_map(|trace| trace.keys().copied()).collect();
    paths.sort_unstable();
    paths.dedup();
    let mut notes = Vec::new();
    let one = |path: Path| {
        let seen: Vec<(f64, &Summary)> = counts
            .iter()
            .zip(traces)
            .filter_map(|(&count, trace)| Some((f64::from(count), trace.get(&path)?)))
            .collect();
        let (_, last) = *seen.last()?;
        let through = |value: &dyn Fn(&Summary) -> f64, whole: bool| {
            let fit =
                fit(&seen.iter().map(|&(count, summary)| (count, value(summary))).collect::<Vec<_>>(), whole);
            (fit.at(f64::from(wanted)), fit.error)
        };
        let (mean, error) = through(&|summary| summary.mean as f64, false);
        let (times, _) = through(&|summary| summary.count as f64, true);
        if error > LARGE {
            let place = |(function, site, _)| common.place((function, site));
            let (to, from) = (place(path.1), path.0.map_or("the beginning".to_owned(), place));
            notes.push(format!(
                "no formula in the rank count comes closer to the computation before {to} (after {from}) \
                 than {:.0} %",
                error * 100.0
            ));
        }
        let histogram = Histogram::of(&last.scaled(mean, times.clamp(1.0, 1e18) as u64));
        Some((path, Computed { histogram, ..Computed::default() }))
    };
    let all = paths.into_iter().filter_map(one).collect();
    (all, notes)
}

/// Above this the difference between a formula and what was seen is told.
const LARGE: f64 = 0.25;
