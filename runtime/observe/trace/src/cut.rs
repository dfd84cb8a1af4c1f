//! Parts of a trace: some ranks, or calls of a stretch of virtual time.

use crate::assembly::Assembly;
use crate::builder::Builder;
use crate::part::{Item, ProcessTrace};
use crate::times::{Reading, Times};
use crate::trace::{Act, Made, RankView, Trace};
use engine::Time;
use recorder::RankList;
use std::ops::Range;

/// The file of a trace with the calls of these ranks that were entered in this window; other ranks have none.
/// Histograms are those of all ranks and of the whole time, so that they are left out.
///
/// # Errors
/// A sentence, if the window is not all of the time and the trace has no exact times.
pub fn cut(trace: &Trace, ranks: &RankList, window: &Range<Time>) -> Result<Vec<u8>, String> {
    let whole = *window == (Time::ZERO..Time::MAX);
    if !whole && trace.times.is_empty() {
        return Err(
            "the trace does not have when calls were made: record it with -xsim-trace-times exact, or cut it \
             by ranks".to_owned());
    }
    let mut cutter = Cutter::new(trace);
    for rank in (0..trace.ranks).filter(|&rank| ranks.contains(rank)) {
        if whole { cutter.all_of(rank) } else { cutter.within(rank, window)? }
    }
    let mut builder = Builder::new(trace.ranks);
    builder.add(cutter.finish());
    Ok(builder.finish())
}

struct Cutter<'a> {
    trace: &'a Trace,
    assembly: Assembly,
}

impl<'a> Cutter<'a> {
    fn new(trace: &'a Trace) -> Cutter<'a> {
        Cutter { trace, assembly: Assembly::of(trace) }
    }

    fn call(&mut self, view: &RankView, made: Made) -> Item {
        self.assembly.call(self.trace.calls[made.call as usize].0, view.event(made).numbers.to_vec())
    }

    fn items(&mut self, view: &RankView, acts: &[Act]) -> Vec<Item> {
        let mut items = Vec::new();
        for act in acts {
            items.push(match act {
                Act::Call(made) => self.call(view, *made),
                Act::Loop { turns, body } => {
                    let body = self.items(view, body);
                    self.assembly.repeated(*turns, body)
                }
            });
        }
        items
    }

    fn all_of(&mut self, rank: u32) {
        let view = self.trace.rank(rank);
        let items = self.items(&view, view.acts());
        self.assembly.keep(rank, items, self.trace.times.get(&rank).cloned());
    }

    fn within(&mut self, rank: u32, window: &Range<Time>) -> Result<(), String> {
        let view = self.trace.rank(rank);
        let Some(bytes) = self.trace.times.get(&rank) else { return Ok(()) };
        let damaged = |why| format!("the times of rank {rank}: {why}");
        let mut reading = Reading::new(bytes).map_err(damaged)?;
        let (mut items, mut times, mut clock) = (Vec::new(), Times::default(), Time::ZERO);
        for event in view.calls() {
            let Some((computed, took)) = reading.next().map_err(damaged)? else { break };
            let entered = Time::from_ps(clock.as_ps().saturating_add(computed.as_ps()));
            clock = Time::from_ps(entered.as_ps().saturating_add(took.as_ps()));
            if window.contains(&entered) {
                items.push(self.call(&view, event.made));
                times.add(computed, took);
            }
        }
        let items = self.assembly.folded(&items);
        self.assembly.keep(rank, items, Some(times.finish()));
        Ok(())
    }

    fn finish(self) -> ProcessTrace {
        self.assembly.finish(&self.trace.templates)
    }
}
