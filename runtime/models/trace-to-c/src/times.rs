//! Times that ranks compute between calls, as a table for the program.

use crate::numbers::{NumberByRank, Vectors};
use rustc_hash::FxHashMap;
use std::fmt::Write;
use trace::Trace;
use trace::draw::TimeSampler;
use trace::histogram::{Histogram, Summary};
use trace::part::{Path, Place};
use trace::passages;
use trace::times::Reading;

/// The call sites, from 1, and the computation on the paths between them.
pub struct ComputationTimes {
    /// By [`Trace::calls`].
    places: Vec<u32>,
    /// By the place that they lead to.
    paths: Vec<ComputationPath>,
}

/// The computation on the path from one place to another.
struct ComputationPath {
    /// 0: the beginning.
    from: u32,
    to: u32,
    /// Number of times that ranks took this path.
    passages: u64,
    summary: Summary,
    /// Mean times of the ranks, from exact times or else from the histogram.
    means: Means,
}

/// The mean of each rank in picoseconds, and whether each rank computes that long each time.
type Means = Option<(NumberByRank, bool)>;

impl ComputationTimes {
    /// Reads the times of a trace. With exact times, which do not say where ranks were alike, those of all
    /// ranks are taken together; O(calls of all ranks) then.
    pub fn of(trace: &Trace) -> ComputationTimes {
        let mut numbers: FxHashMap<Place, u32> = FxHashMap::default();
        let places: Vec<u32> = (0..trace.calls.len() as u32)
            .map(|call| {
                let next = numbers.len() as u32;
                *numbers.entry(trace.place(call)).or_insert(next)
            })
            .collect();
        let passages = passages::count(trace, &places);
        let histograms = match trace.times.is_empty() {
            true => trace
                .histograms
                .iter()
                .map(|(path, summary)| (*path, summary.clone(), None))
                .collect::<Vec<_>>(),
            false => of_exact(trace),
        };
        let mut paths = Vec::new();
        for ((from, to), summary, means) in histograms {
            let from = from.map_or(Some(0), |from| numbers.get(&from).map(|from| from + 1));
            if let (Some(from), Some(&to)) = (from, numbers.get(&to)) {
                let passages = summary.later(passages.get(&(from, to)).copied().unwrap_or(0));
                let means = means.or_else(|| means_of(&summary, passages, trace.ranks));
                paths.push(ComputationPath { from, to: to + 1, passages, summary, means });
            }
        }
        paths.sort_by_key(|way| (way.to, way.from));
        ComputationTimes { places: places.into_iter().map(|place| place + 1).collect(), paths }
    }

    /// Returns `true` if anything is computed at all.
    pub fn is_empty(&self) -> bool {
        self.paths.is_empty()
    }

    /// Returns the place of a call of the trace.
    pub fn place(&self, call: u32) -> u32 {
        self.places[call as usize]
    }

    /// Returns the table in C.
    pub fn definitions(&self, vectors: &mut Vectors) -> String {
        let mut out = String::from(
            "/* From, to, passages; seconds: least, mean, most; part of a bin, shrinking; how many from\n \
             * 2^(first - 1) ps on, and so on; means of ranks in ps; percent of shared passages, first \
             passages. */\n",
        );
        let mut firsts = String::new();
        let mut all = String::from("static const struct path paths[] = {\n");
        for (number, ComputationPath { from, to, passages, summary, means }) in self.paths.iter().enumerate()
        {
            let (first, first_times) = match &summary.first {
                Some(first) => {
                    let row = row((*from, *to), first.summary.count, &first.summary, "NULL");
                    let _ =
                        writeln!(firsts, "static const struct path first{number} = {{{row}, 0, 0, NULL}};");
                    (first.per_rank, format!("&first{number}"))
                }
                None => (0, "NULL".to_owned()),
            };
            let of_rank = match means {
                None => "NULL".to_owned(),
                Some((value, _)) => vectors.place(value),
            };
            let mut summary = summary.clone();
            if means.as_ref().is_some_and(|means| means.1) {
                summary.bins.clear();
            }
            let row = row((*from, *to), *passages, &summary, &of_rank);
            let _ = writeln!(all, "    {{{row}, {}, {first}, {first_times}}},", summary.shared);
        }
        out += &firsts;
        out + &all + "};\n\n"
    }
}

/// Returns a path up to its vector of ranks, as C has it.
fn row((from, to): (u32, u32), passages: u64, summary: &Summary, of_rank: &str) -> String {
    let [least, mean, most] = [summary.least, summary.mean, summary.most].map(|ps| ps as f64 * 1e-12);
    let bins: Vec<String> = summary.bins.iter().map(u64::to_string).collect();
    let draw = TimeSampler::new(summary, passages, 1);
    let times = format!("{least:.12e}, {mean:.12e}, {most:.12e}, {:.3}, {:.3}", draw.within, draw.shrink);
    let bins = bins.join(" ");
    format!("{from}, {to}, {passages}, {times}, {}, \"{bins}\", {of_rank}", summary.first_bits)
}

/// Returns the mean of each rank, of all its passages as [`of_exact`] has it, if a histogram says in what
/// ranks differ.
fn means_of(summary: &Summary, passages: u64, ranks: u32) -> Means {
    if summary.spread.is_empty() {
        return None;
    }
    let draw = TimeSampler::new(summary, passages, ranks);
    let computes = summary.count as f64 / passages as f64;
    let means = (0..ranks).map(|rank| (summary.mean as f64 * draw.factor(rank) * computes).round() as i64);
    Some((NumberByRank::Each(means.collect(), 1), false))
}

/// Times that one rank computed on one path.
#[derive(Default)]
struct RankTimes {
    sum: u64,
    passages: u64,
    least: u64,
    most: u64,
}

/// Returns all ways with the times of all ranks together, and the mean of each rank: who computes longer than
/// others does so in the program too.
fn of_exact(trace: &Trace) -> Vec<(Path, Summary, Means)> {
    let mut all: FxHashMap<Path, (Histogram, Vec<i64>, bool)> = FxHashMap::default();
    for rank in 0..trace.ranks {
        let Some(mut times) = trace.times.get(&rank).and_then(|times| Reading::new(times).ok()) else {
            continue;
        };
        let view = trace.rank(rank);
        let (mut before, mut own) = (None, FxHashMap::<Path, RankTimes>::default());
        for event in view.calls() {
            let place = trace.place(event.call());
            let path = (before.replace(place), place);
            let Ok(Some((computed, _))) = times.next() else { break };
            let (known, ps) = (own.entry(path).or_default(), computed.as_ps());
            known.least = if known.passages == 0 { ps } else { known.least.min(ps) };
            (known.sum, known.passages, known.most) =
                (known.sum.saturating_add(ps), known.passages + 1, known.most.max(ps));
            if ps > 0 {
                all.entry(path)
                    .or_insert_with(|| (Histogram::default(), vec![0; trace.ranks as usize], true))
                    .0
                    .add(computed);
            }
        }
        for (path, RankTimes { sum, passages, least, most }) in own {
            if let Some((_, means, is_exact)) = all.get_mut(&path) {
                means[rank as usize] = (sum / passages) as i64;
                *is_exact &= least == most;
            }
        }
    }
    let one = |(path, (histogram, means, is_exact)): (Path, (Histogram, Vec<i64>, bool))| {
        // What ranks differ in lasts, and is in their means: the rest is drawn.
        let mut summary = histogram.summary();
        summary.deviation = within_ranks(&summary, &means);
        let value = if means.iter().all(|&mean| mean == means[0]) {
            NumberByRank::Same(means[0])
        } else {
            NumberByRank::Each(means, 1)
        };
        (path, summary, Some((value, is_exact)))
    };
    let mut all: Vec<_> = all.into_iter().map(one).collect();
    all.sort_by_key(|(path, ..)| *path);
    all
}

/// Returns the deviation of times from the means of their ranks, if these are all that ranks differ in and
/// each passed as often.
fn within_ranks(summary: &Summary, means: &[i64]) -> u64 {
    let some = || means.iter().filter(|&&mean| mean > 0).map(|&mean| mean as f64);
    let count = some().count().max(1) as f64;
    let mean = some().sum::<f64>() / count;
    let between = some().map(|of_rank| (of_rank - mean).powi(2)).sum::<f64>() / count;
    ((summary.deviation as f64).powi(2) - between).max(0.0).sqrt() as u64
}
