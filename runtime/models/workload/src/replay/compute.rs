//! Computation of ranks between their calls: as long as the trace has it, or drawn from its histograms. Other
//! computation is another trace ([`trace::scale`]).

use super::plan::Plan;
use engine::{Span, Time};
use mpi::ranks::{FREE_POLLS, failed_poll_cost};
use rustc_hash::FxHashMap;
use trace::Trace;
use trace::draw::TimeSampler;
use trace::times::Reading;

/// From one call of a rank to the next.
pub(super) struct Passage {
    /// The step behind the call before, and the next call.
    pub(super) last: u32,
    pub(super) call: u32,
    /// The calls up to then.
    pub(super) calls: u64,
    /// `true` if the next is a poll that finds nothing.
    pub(super) polls: bool,
}

/// Says what is computed before each call.
pub(super) struct Clockwork<'t> {
    source: Source<'t>,
    /// Recorded computation before the latest call that was looked up, and the recorded length of that call.
    latest: (Span, Span),
}

enum Source<'t> {
    Nothing,
    /// By rank; with the failed polls since it did anything else.
    Exact(Vec<(Option<Reading<'t>>, u32)>),
    /// By the place before, from 1, and that of the call. Then the passages of each rank on paths on which
    /// these count.
    Drawn(FxHashMap<(u32, u32), TimeSampler<'t>>, FxHashMap<(u32, u32, u32), u64>),
}

impl<'t> Clockwork<'t> {
    pub(super) fn new(trace: &'t Trace, plan: &Plan) -> Clockwork<'t> {
        let source = if !trace.times.is_empty() {
            Source::Exact(readings(trace))
        } else if trace.histograms.is_empty() {
            Source::Nothing
        } else {
            Source::Drawn(drawn(trace, plan), FxHashMap::default())
        };
        Clockwork { source, latest: (Span::ZERO, Span::ZERO) }
    }

    /// Returns `true` if nothing is computed at all.
    pub(super) fn is_still(&self) -> bool {
        matches!(self.source, Source::Nothing)
    }

    /// Rewinds: exact times are read once more; drawn ones are the same whenever they are asked for.
    pub(super) fn rewind(&mut self, trace: &'t Trace) {
        match &mut self.source {
            Source::Exact(ranks) => *ranks = readings(trace),
            Source::Drawn(_, passages) => passages.clear(),
            Source::Nothing => {}
        }
    }

    /// Returns what a rank computes before the call that it makes now.
    #[inline(always)]
    pub(super) fn before(&mut self, rank: u32, passage: Passage, plan: &Plan) -> Span {
        match &self.source {
            Source::Nothing => Span::ZERO,
            _ => self.recorded(rank, &passage, plan),
        }
    }

    #[inline(never)]
    fn recorded(&mut self, rank: u32, passage: &Passage, plan: &Plan) -> Span {
        match &mut self.source {
            Source::Nothing => Span::ZERO,
            Source::Exact(ranks) => {
                let (times, vain) = &mut ranks[rank as usize];
                *vain = if passage.polls { *vain + 1 } else { 0 };
                let next = times.as_mut().and_then(|times| times.next().ok().flatten());
                self.latest = next.unwrap_or_default();
                let (computed, took) = self.latest;
                // A poll that found nothing costs what it cost, but for what it waited: a rank that does
                // nothing but poll is let sleep.
                let waited = took > failed_poll_cost(*vain, FREE_POLLS);
                computed + if *vain > 0 && !waited { took } else { Span::ZERO }
            }
            Source::Drawn(drawn, passages) => {
                let before = plan.call_before(passage.last).map_or(0, |last| plan.places[last as usize] + 1);
                let place = plan.places[passage.call as usize];
                let Some(draw) = drawn.get(&(before, place)) else { return Span::ZERO };
                let mut earlier = 0;
                if draw.counts() {
                    let count = passages.entry((rank, before, place)).or_default();
                    earlier = *count;
                    *count += 1;
                }
                draw.time(rank, passage.calls, earlier)
            }
        }
    }

    /// Returns when the call ended that was asked for last, in the recording, if the one before ended then.
    pub(super) fn ended(&self, before: Time) -> Time {
        before + self.latest.0 + self.latest.1
    }
}

fn readings(trace: &Trace) -> Vec<(Option<Reading<'_>>, u32)> {
    (0..trace.ranks)
        .map(|rank| (trace.times.get(&rank).and_then(|times| Reading::new(times).ok()), 0))
        .collect()
}

/// Histograms by places, with how often ranks went there.
fn drawn<'t>(trace: &'t Trace, plan: &Plan) -> FxHashMap<(u32, u32), TimeSampler<'t>> {
    let passages = trace::passages::count(trace, &plan.places);
    let number: FxHashMap<trace::part::Place, u32> = plan.sites.iter().copied().zip(0..).collect();
    let of = |(path, summary): &'t (trace::part::Path, trace::histogram::Summary)| {
        let from = match path.0 {
            Some(place) => *number.get(&place)? + 1,
            None => 0,
        };
        let to = *number.get(&path.1)?;
        let passages = summary.later(passages.get(&(from, to)).copied().unwrap_or(0));
        Some(((from, to), TimeSampler::new(summary, passages, trace.ranks)))
    };
    trace.histograms.iter().filter_map(of).collect()
}
