//! Other computation between calls.

use super::{Change, Rule};
use crate::histogram::Summary;
use crate::part::Place;
use crate::passages;
use crate::times::{Reading, Times};
use crate::trace::Trace;
use engine::Span;
use rustc_hash::FxHashMap;
use std::collections::BTreeMap;

/// Changes what ranks compute.
pub fn change(trace: &mut Trace, rules: &[Rule]) -> Result<(), String> {
    let changes = Changes::new(trace, rules)?;
    if changes.are_nothing() {
        return Ok(());
    }
    // A trace of exact times has no histograms.
    if trace.times.is_empty() { histograms(trace, &changes) } else { times(trace, &changes) }
}

/// A function and a call site.
type Site = (u32, u32);

/// Changes of computation, by function and call site.
struct Changes<'r> {
    /// Change at all sites that `of` does not list: that of the last rule without a place, or none.
    all: Change,
    of: FxHashMap<Site, Change>,
    rules: &'r [Rule],
}

/// Returns `true` if a name stands for a place: the whole of a call site, what is before or behind its first
/// space, or the function of MPI.
fn is_at(name: &str, function: &str, site: &str) -> bool {
    name == function
        || name == site
        || site.split_once(' ').is_some_and(|(line, inside)| name == line || name == inside)
}

impl<'r> Changes<'r> {
    fn new(trace: &Trace, rules: &'r [Rule]) -> Result<Changes<'r>, String> {
        let mut changes = Changes { all: Change::Factor(1.0), of: FxHashMap::default(), rules };
        let mut places: Vec<Site> =
            trace.templates.iter().map(|template| (template.function, template.site)).collect();
        places.sort_unstable();
        places.dedup();
        for Rule { place, change } in rules {
            let Some(name) = place else {
                changes.all = *change;
                changes.of.clear();
                continue;
            };
            let is_meant = |&&(function, site): &&Site| {
                is_at(name, &trace.functions[function as usize].name, trace.site(site))
            };
            let meant: Vec<Site> = places.iter().filter(is_meant).copied().collect();
            if meant.is_empty() {
                return Err(format!(
                    "nothing in the trace is called at '{name}': write a call site as `xsim trace show` has \
                     it (solve.c:31 step), its file and line, its function, or a function of MPI"
                ));
            }
            changes.of.extend(meant.into_iter().map(|place| (place, *change)));
        }
        Ok(changes)
    }

    fn are_nothing(&self) -> bool {
        self.rules.iter().all(|rule| rule.change == Change::Factor(1.0))
    }

    fn at(&self, site: Site) -> Change {
        self.of.get(&site).copied().unwrap_or(self.all)
    }
}

fn changed(computed: Span, change: Change) -> Span {
    match change {
        Change::Factor(1.0) => computed,
        Change::Factor(factor) => Span::from_ps((computed.as_ps() as f64 * factor).round() as u64),
        Change::Time(span) => span,
    }
}

/// Changes exact times. How long calls took stays what it was: what they would take now only a replay knows.
fn times(trace: &mut Trace, changes: &Changes) -> Result<(), String> {
    let mut all = std::mem::take(&mut trace.times);
    for (&rank, of_rank) in &mut all {
        let damaged = |why| format!("the times of rank {rank}: {why}");
        let mut reading = Reading::new(of_rank).map_err(damaged)?;
        let mut times = Times::default();
        if changes.of.is_empty() {
            while let Some((computed, took)) = reading.next().map_err(damaged)? {
                times.add(changed(computed, changes.all), took);
            }
        } else {
            let view = trace.rank(rank);
            for event in view.calls() {
                let Some((computed, took)) = reading.next().map_err(damaged)? else { break };
                times
                    .add(changed(computed, changes.at((event.template.function, event.template.site))), took);
            }
        }
        *of_rank = times.finish();
    }
    trace.times = all;
    Ok(())
}

/// Changes histograms. Times that are told take the place of all passages to their places.
fn histograms(trace: &mut Trace, changes: &Changes) -> Result<(), String> {
    let mut all = BTreeMap::new();
    for (path, summary) in std::mem::take(&mut trace.histograms) {
        match changes.at((path.1.0, path.1.1)) {
            Change::Factor(1.0) => drop(all.insert(path, summary)),
            Change::Factor(factor) if factor > 0.0 => {
                let mean = summary.mean as f64 * factor;
                if summary.most as f64 * factor >= u64::MAX as f64 {
                    return Err(format!("{} ps, {factor} times, is more than 2^64 ps", summary.most));
                }
                all.insert(path, summary.scaled(mean, summary.count));
            }
            Change::Factor(_) | Change::Time(_) => {}
        }
    }
    let tells = |change: Change| matches!(change, Change::Time(span) if span != Span::ZERO);
    if tells(changes.all) || changes.of.values().any(|&change| tells(change)) {
        let of_call: Vec<Place> = (0..trace.calls.len() as u32).map(|call| trace.place(call)).collect();
        let mut places = of_call.clone();
        places.sort_unstable();
        places.dedup();
        let numbers: Vec<u32> =
            of_call.iter().map(|place| places.binary_search(place).map_or(0, |at| at as u32)).collect();
        for ((from, to), count) in passages::count(trace, &numbers) {
            let (from, to) = (from.checked_sub(1).map(|from| places[from as usize]), places[to as usize]);
            if let Change::Time(span) = changes.at((to.0, to.1))
                && span != Span::ZERO
            {
                all.insert((from, to), Summary::constant(span.as_ps(), count));
            }
        }
    }
    trace.histograms = all.into_iter().collect();
    Ok(())
}
