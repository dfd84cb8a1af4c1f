//! What ranks compute between their calls: as long as the trace has it, or drawn from its histograms. Other computation is another trace
//! ([`trace::scale`]).

use super::Cursor;
use super::plan::Plan;
use engine::{Span, Time};
use mpi::messages::{FREE_POLLS, failed_poll_cost};
use rustc_hash::FxHashMap;
use trace::Trace;
use trace::histogram::Summary;
use trace::times::Reading;

/// Says what is computed before each call.
pub(super) struct Clockwork<'t> {
    source: Source<'t>,
    /// What was computed before the call that was asked for last, and how long that took, in the recording.
    latest: (Span, Span),
}

enum Source<'t> {
    Nothing,
    /// By rank.
    Exact(Vec<Option<Reading<'t>>>),
    /// By the place before, from 1, and that of the call.
    Drawn(FxHashMap<(u32, u32), Drawn<'t>>),
}

/// Times between two places.
struct Drawn<'t> {
    summary: &'t Summary,
    /// How often ranks went there: more than there are times, where some computed nothing.
    passages: u64,
    /// By what a time from the middle of its bin is multiplied, so that the mean is that of the recording.
    scale: f64,
}

impl<'t> Clockwork<'t> {
    pub(super) fn new(trace: &'t Trace, plan: &Plan) -> Clockwork<'t> {
        let source = if !trace.times.is_empty() {
            Source::Exact(readings(trace))
        } else if trace.histograms.is_empty() {
            Source::Nothing
        } else {
            Source::Drawn(drawn(trace, plan))
        };
        Clockwork { source, latest: (Span::ZERO, Span::ZERO) }
    }

    /// Exact times are read once more; drawn ones are the same whenever they are asked for.
    pub(super) fn rewind(&mut self, trace: &'t Trace) {
        if let Source::Exact(ranks) = &mut self.source {
            *ranks = readings(trace);
        }
    }

    /// What a rank computes before the call that it makes now.
    pub(super) fn before(&mut self, rank: u32, cursor: &mut Cursor, plan: &Plan) -> Span {
        match &mut self.source {
            Source::Nothing => Span::ZERO,
            Source::Exact(ranks) => {
                let next = ranks[rank as usize].as_mut().and_then(|times| times.next().ok().flatten());
                self.latest = next.unwrap_or_default();
                let (computed, took) = self.latest;
                // A poll that found nothing costs what it cost, but for what it waited: a rank that does nothing but poll is let sleep.
                let waited = took > failed_poll_cost(cursor.vain, FREE_POLLS);
                computed + if cursor.vain > 0 && !waited { took } else { Span::ZERO }
            }
            Source::Drawn(drawn) => {
                let place = plan.places[cursor.call as usize];
                let before = std::mem::replace(&mut cursor.before, place + 1);
                drawn.get(&(before, place)).map_or(Span::ZERO, |drawn| drawn.draw(rank, cursor.calls))
            }
        }
    }

    /// When the call ended that was asked for last, in the recording, if the one before ended then.
    pub(super) fn ended(&self, before: Time) -> Time {
        before + self.latest.0 + self.latest.1
    }
}

fn readings(trace: &Trace) -> Vec<Option<Reading<'_>>> {
    (0..trace.ranks).map(|rank| trace.times.get(&rank).and_then(|times| Reading::new(times).ok())).collect()
}

/// A number that looks random, the same for the same two.
fn hash(one: u64, other: u64) -> u64 {
    let mut x = one.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ other.wrapping_add(0x2545_f491_4f6c_dd1d);
    for factor in [0xbf58_476d_1ce4_e5b9, 0x94d0_49bb_1331_11eb] {
        x = (x ^ (x >> 30)).wrapping_mul(factor);
    }
    x ^ (x >> 31)
}

impl<'t> Drawn<'t> {
    fn new(summary: &'t Summary, passages: u64) -> Drawn<'t> {
        let mut drawn = Drawn { summary, passages: passages.max(summary.count), scale: 1.0 };
        let sum: f64 = (0..summary.bins.len()).map(|bin| drawn.middle(bin) * summary.bins[bin] as f64).sum();
        let mean = sum / summary.count.max(1) as f64;
        if mean > 0.0 {
            drawn.scale = summary.mean as f64 / mean;
        }
        drawn
    }

    /// The least and the greatest time of a bin.
    fn bounds(&self, bin: usize) -> (u64, u64) {
        let bits = self.summary.first_bits + bin as u32;
        let (low, high) = if bits == 0 { (0, 0) } else { (1 << (bits - 1), u64::MAX >> (64 - bits)) };
        (low.max(self.summary.least), high.min(self.summary.most))
    }

    fn middle(&self, bin: usize) -> f64 {
        let (low, high) = self.bounds(bin);
        (low as f64 + high as f64) / 2.0
    }

    /// A time for a rank's call of this number.
    fn draw(&self, rank: u32, call: u64) -> Span {
        let drawn = hash(u64::from(rank) + 1, call);
        let mut left = ((u128::from(drawn) * u128::from(self.passages)) >> 64) as u64;
        for (bin, &count) in self.summary.bins.iter().enumerate() {
            if left < count {
                let (low, high) = self.bounds(bin);
                let within = (u128::from(hash(drawn, call)) * (u128::from(high.saturating_sub(low)) + 1)) >> 64;
                return Span::from_ps(((low + within as u64) as f64 * self.scale).round() as u64);
            }
            left -= count;
        }
        Span::ZERO
    }
}

/// Histograms by places, with how often ranks went there.
fn drawn<'t>(trace: &'t Trace, plan: &Plan) -> FxHashMap<(u32, u32), Drawn<'t>> {
    let passages = trace::passages::count(trace, &plan.places);
    let number: FxHashMap<(u32, u32), u32> = plan.sites.iter().copied().zip(0..).collect();
    let of = |(path, summary): &'t (trace::part::Path, Summary)| {
        let from = match path.0 {
            Some(place) => *number.get(&place)? + 1,
            None => 0,
        };
        let to = *number.get(&path.1)?;
        Some(((from, to), Drawn::new(summary, passages.get(&(from, to)).copied().unwrap_or(0))))
    };
    trace.histograms.iter().filter_map(of).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn drawn_times_have_the_mean_of_the_recording() {
        let summary = Summary {
            count: 300,
            least: 900,
            mean: 2_500,
            most: 40_000,
            deviation: 0,
            bins: vec![100, 150, 0, 0, 40, 0, 10],
            first_bits: 10,
        };
        let drawn = Drawn::new(&summary, 400);
        let draws = 100_000;
        let (mut sum, mut none) = (0.0, 0);
        for call in 0..draws {
            let span = drawn.draw(7, call).as_ps();
            sum += span as f64;
            none += u32::from(span == 0);
        }
        // A quarter of the passages had no computation.
        assert!((f64::from(none) / draws as f64 - 0.25).abs() < 0.01, "{none}");
        assert!((sum / (draws as f64 * 0.75) / 2_500.0 - 1.0).abs() < 0.03, "{}", sum / draws as f64);
    }
}
