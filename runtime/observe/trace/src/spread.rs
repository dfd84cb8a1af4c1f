//! The spread of computation among ranks on a way from one call site of the program to another. A rank that
//! is slow each time makes all wait that wait for it; times that any rank may have do not.

use crate::codec::{Put, Reader, Result, unzigzag, zigzag};
use crate::histogram::{FirstTimes, Summary};
use crate::part::{Computed, Path, PathComputation};
use std::collections::BTreeMap;

/// The part of all computation by which ranks have to differ on one path, for the spread to be stored.
const MIN_GAIN: f64 = 0.005;
/// From a rank to the next, how often what is told may change in all, so that traces do not grow with the
/// ranks.
const CHANGES: usize = 512;
/// By how many standard errors the mean of a rank has to differ from that of most.
const ERRORS: f64 = 3.0;
/// The part of all computation by which first times have to differ from the others, to be kept apart.
const MIN_FIRST: f64 = 0.001;
/// The part of all computation that the deviation shared by ranks has to be, to be kept.
const MIN_SHARED: f64 = 0.001;
/// The most percent that are told.
const MAX_PERCENT: f64 = 1e9;

/// By how many percent the times of ranks are longer than those of all on the mean: runs of ranks, from rank
/// 0 on, each so many. Those behind the last are as long.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct RankImbalance {
    runs: Vec<(u32, i64)>,
}

impl RankImbalance {
    fn of(percent: &[i64]) -> RankImbalance {
        let mut runs: Vec<(u32, i64)> = Vec::new();
        for &percent in percent {
            match runs.last_mut() {
                Some((ranks, known)) if *known == percent => *ranks += 1,
                _ => runs.push((1, percent)),
            }
        }
        if runs.last().is_some_and(|run| run.1 == 0) {
            runs.pop();
        }
        RankImbalance { runs }
    }

    /// Returns `true` if all ranks are alike.
    pub fn is_empty(&self) -> bool {
        self.runs.is_empty()
    }

    /// Returns where runs end, and by what the times of their ranks are to be multiplied.
    pub fn factors(&self) -> Vec<(u32, f64)> {
        let mut end = 0u32;
        let factor = |&(ranks, percent): &(u32, i64)| {
            end = end.saturating_add(ranks);
            (end, (1.0 + percent as f64 / 100.0).max(0.0))
        };
        self.runs.iter().map(factor).collect()
    }

    /// Returns the least and the most percent of any of so many ranks.
    pub fn bounds(&self, ranks: u32) -> (i64, i64) {
        let told: u64 = self.runs.iter().map(|run| u64::from(run.0)).sum();
        let rest = (told < u64::from(ranks)).then_some(0);
        let percent = || self.runs.iter().map(|run| run.1).chain(rest);
        (percent().min().unwrap_or(0), percent().max().unwrap_or(0))
    }

    /// Appends it: n of runs, each twice the percent, zigzag, and one more if a number of ranks but one
    /// follows.
    pub fn write(&self, bytes: &mut Vec<u8>) {
        bytes.number(self.runs.len() as u64);
        for &(ranks, percent) in &self.runs {
            bytes.wide(u128::from(zigzag(percent)) * 2 + u128::from(ranks > 1));
            if ranks > 1 {
                bytes.number(ranks.into());
            }
        }
    }

    /// Reads it, in a run of so many ranks.
    ///
    /// # Errors
    /// If it is something else.
    pub fn read(reader: &mut Reader, ranks: u32) -> Result<RankImbalance> {
        let mut left = ranks;
        let mut run = |reader: &mut Reader| {
            let head = reader.wide()?;
            let length = if head & 1 == 1 { reader.number()? } else { 1 };
            let (percent, length) = (
                u64::try_from(head >> 1),
                u32::try_from(length).ok().filter(|length| (1..=left).contains(length)),
            );
            let (Ok(percent), Some(length)) = (percent, length) else {
                return reader.wrong("times of more ranks than there are");
            };
            left -= length;
            Ok((length, unzigzag(percent)))
        };
        let count = reader.count(1, "ranks' times")?;
        Ok(RankImbalance { runs: (0..count).map(|_| run(reader)).collect::<Result<_>>()? })
    }
}

/// Takes the first times apart if they differ from the others, and puts them among the others if not.
fn take_first(computed: &mut Computed, all: f64) -> Option<Box<FirstTimes>> {
    let ranks = computed.ranks.iter().filter(|of| of.first_count > 0).count() as u64;
    let (first, others) = (&computed.first, &computed.histogram);
    let mean = others.sum() as f64 / others.count.max(1) as f64;
    let differs = (first.sum() as f64 - first.count as f64 * mean).abs() > MIN_FIRST * all;
    if ranks == 0 || others.count == 0 || !differs {
        computed.join_first();
        return None;
    }
    let per_rank = u32::try_from((first.count + ranks / 2) / ranks).unwrap_or(u32::MAX);
    Some(Box::new(FirstTimes { per_rank: per_rank.max(1), summary: first.summary() }))
}

/// Returns the percent of the variance that all ranks share in a step.
fn shared(computed: &Computed, all: f64) -> u8 {
    let Computed { histogram, ranks, steps, .. } = computed;
    let count = histogram.count.max(1) as f64;
    let mean = histogram.sum() as f64 / count;
    let of_rank = |of: &PathComputation| of.sum as f64 / of.count.max(1) as f64;
    let between = ranks.iter().map(|of| of.count as f64 * (of_rank(of) - mean).powi(2)).sum::<f64>() / count;
    let variance = (histogram.variance() - between).max(0.0);
    let shared = steps.shared(variance);
    if (shared * variance).sqrt() * count > MIN_SHARED * all { (shared * 100.0).round() as u8 } else { 0 }
}

/// Returns the histograms of a file, of so many ranks.
pub fn summaries(mut computed: BTreeMap<Path, Computed>, ranks: u32) -> BTreeMap<Path, Summary> {
    let all: f64 = computed.values().map(|computed| computed.sum() as f64).sum();
    let mut firsts: BTreeMap<Path, Box<FirstTimes>> = BTreeMap::new();
    for (path, computed) in &mut computed {
        firsts.extend(take_first(computed, all).map(|first| (*path, first)));
        computed.ranks.retain(|of| of.count > 0);
    }
    let computed = computed;
    let mut told: Vec<(f64, Path, Vec<i64>)> = Vec::new();
    for (path, computed) in &computed {
        let percent = percent(computed, ranks);
        let gain = of_mean(computed, &percent)
            .map(|(times, mean, of_rank)| times * (of_rank - mean).abs())
            .sum::<f64>();
        if gain > MIN_GAIN * all {
            told.push((gain, *path, percent));
        }
    }
    told.sort_by(|one, other| other.0.total_cmp(&one.0).then(one.1.cmp(&other.1)));
    let mut summaries: BTreeMap<Path, Summary> =
        computed.iter().map(|(path, computed)| (*path, computed.histogram.summary())).collect();
    for (path, summary) in &mut summaries {
        summary.shared = shared(&computed[path], all);
        summary.first = firsts.remove(path);
    }
    let mut changes = 0;
    for (_, path, percent) in told {
        let spread = RankImbalance::of(&percent);
        if changes + spread.runs.len() > CHANGES {
            continue;
        }
        changes += spread.runs.len();
        let (computed, summary) = (&computed[&path], summaries.get_mut(&path).expect("one for each way"));
        let between = of_mean(computed, &percent)
            .map(|(times, mean, of_rank)| times * (of_rank - mean).powi(2))
            .sum::<f64>()
            / computed.histogram.count as f64;
        summary.deviation = ((summary.deviation as f64).powi(2) - between).max(0.0).sqrt() as u64;
        summary.spread = spread;
    }
    summaries
}

/// Returns how often each rank passed there, the mean of all, and what is told of its own.
fn of_mean<'a>(computed: &'a Computed, percent: &'a [i64]) -> impl Iterator<Item = (f64, f64, f64)> + 'a {
    let mean = computed.histogram.sum() as f64 / computed.histogram.count.max(1) as f64;
    let told = move |of: &PathComputation| {
        (
            of.count as f64,
            mean,
            mean * (1.0 + percent.get(of.rank as usize).map_or(0.0, |&percent| percent as f64 / 100.0)),
        )
    };
    computed.ranks.iter().map(told)
}

/// Returns by how many percent the mean of each rank differs from that of all. Those that are as near to what
/// most have as chance lets them be are one.
fn percent(Computed { histogram, ranks, .. }: &Computed, of: u32) -> Vec<i64> {
    let mut percent = vec![0; of as usize];
    if ranks.len() < 2 {
        return Vec::new();
    }
    let (count, sum) = (histogram.count as f64, histogram.sum() as f64);
    let mean = sum / count;
    let of_rank = |of: &PathComputation| of.sum as f64 / of.count.max(1) as f64;
    let between = ranks.iter().map(|of| of.count as f64 * (of_rank(of) - mean).powi(2)).sum::<f64>();
    let within = (histogram.variance() * count - between).max(0.0);
    let more = histogram.count.saturating_sub(ranks.len() as u64);
    // Where each passes once nothing says what is chance.
    let variance = if more > 0 { within / more as f64 } else { 0.0 };
    let mut means: Vec<f64> = ranks.iter().map(of_rank).collect();
    means.sort_by(f64::total_cmp);
    let middle = means[means.len() / 2];
    let differs = |of: &&PathComputation| {
        (of_rank(of) - middle).abs() > ERRORS * (variance / of.count.max(1) as f64).sqrt()
    };
    let alike = ranks
        .iter()
        .filter(|of| !differs(of))
        .fold((0.0, 0.0), |sum, of| (sum.0 + of.sum as f64, sum.1 + of.count as f64));
    let told = |mean_of: f64| ((mean_of / mean - 1.0) * 100.0).round().clamp(-100.0, MAX_PERCENT) as i64;
    let common = if alike.1 > 0.0 { told(alike.0 / alike.1) } else { 0 };
    percent.fill(common);
    ranks.iter().filter(differs).for_each(|of| percent[of.rank as usize] = told(of_rank(of)));
    percent
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::histogram::Histogram;
    use engine::Span;
    use proptest::prelude::*;

    /// Returns what ranks computed on two ways, the second as often and long as all of the first.
    fn computed(times: &[Vec<u64>]) -> BTreeMap<Path, Computed> {
        let mut all = Computed::default();
        for (rank, times) in (0..).zip(times) {
            let mut histogram = Histogram::default();
            times.iter().for_each(|&ps| histogram.add(Span::from_ps(ps)));
            let (count, sum) = (times.len() as u64, times.iter().sum());
            let ranks = vec![PathComputation { rank, count, sum, ..PathComputation::default() }];
            all.merge(&Computed { histogram, ranks, ..Computed::default() });
        }
        let mut other = all.clone();
        other.ranks.clear();
        BTreeMap::from([((None, (0, 0, 0)), all), ((None, (1, 0, 0)), other)])
    }

    fn factor(spread: &RankImbalance, rank: u32) -> f64 {
        spread.factors().into_iter().find(|run| rank < run.0).map_or(1.0, |run| run.1)
    }

    #[test]
    fn who_is_slow_each_time_is_told() {
        let noise = |rank: u64, turn: u64| (rank * 7919 + turn * 104_729) % 1000;
        let times: Vec<Vec<u64>> = (0..16)
            .map(|rank| {
                (0..50)
                    .map(|turn| (if rank == 5 { 3_000_000 } else { 1_000_000 }) + 200 * noise(rank, turn))
                    .collect()
            })
            .collect();
        let summaries = summaries(computed(&times), 16);
        let one = &summaries[&(None, (0, 0, 0))];
        let mean = one.mean as f64;
        for (rank, times) in (0..).zip(&times) {
            let own = times.iter().sum::<u64>() as f64 / 50.0;
            assert!((factor(&one.spread, rank) * mean / own - 1.0).abs() < 0.02, "rank {rank}");
        }
        assert_eq!(one.spread.runs.len(), 3, "the others are one: {:?}", one.spread);
        assert!(one.deviation < 100_000, "what is left is noise: {}", one.deviation);
        assert!(summaries[&(None, (1, 0, 0))].spread.is_empty());
    }

    #[test]
    fn chance_is_not_told() {
        let times: Vec<Vec<u64>> = (0..64u64)
            .map(|rank| {
                (0..20u64).map(|turn| 1_000_000 + (rank * 31 + turn * turn * 17) % 97 * 10_000).collect()
            })
            .collect();
        assert!(summaries(computed(&times), 64)[&(None, (0, 0, 0))].spread.is_empty());
    }

    #[test]
    fn what_is_told_of_ranks_has_a_bound() {
        let of = |ranks: u64| {
            let times: Vec<Vec<u64>> =
                (0..ranks).map(|rank| vec![1_000_000 + rank * rank % 1009 * 1000]).collect();
            summaries(computed(&times), ranks as u32)[&(None, (0, 0, 0))].spread.runs.len()
        };
        assert!(of(100) > 90);
        assert_eq!(of(2000), 0);
    }

    proptest! {
        #[test]
        fn it_reads_back(
            percent in prop::collection::vec(prop_oneof![Just(0i64), -100..1_000_000i64], 1..40),
        ) {
            let spread = RankImbalance::of(&percent);
            let mut bytes = Vec::new();
            spread.write(&mut bytes);
            let ranks = percent.len() as u32;
            prop_assert_eq!(&RankImbalance::read(&mut Reader::new(&bytes), ranks).unwrap(), &spread);
            for (rank, &percent) in (0..).zip(&percent) {
                prop_assert_eq!(factor(&spread, rank), 1.0 + percent as f64 / 100.0);
            }
            let bounds = (*percent.iter().min().unwrap(), *percent.iter().max().unwrap());
            prop_assert_eq!(spread.bounds(ranks), bounds);
            if spread.runs.iter().map(|run| run.0).sum::<u32>() == ranks {
                prop_assert!(RankImbalance::read(&mut Reader::new(&bytes), ranks - 1).is_err());
            }
        }
    }
}
