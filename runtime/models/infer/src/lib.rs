//! From runs to a model: what traces of one program at several rank counts have in common, as a model in
//! Aspen whose numbers are formulas in the number of ranks.
//!
//! Of each trace the steps are found that all its ranks do together (`steps`): collective operations, and
//! what is sent between them until all requests are complete. Equal steps that follow each other are loops
//! (`fold`). Messages between pairs are compared with Aspen's patterns on the grid of the ranks (`pattern`).
//!
//! The traces must then be alike but for numbers (`join`), each of which becomes a formula (the crate `fit`).
//! The text that comes out is read as any model and held against each trace (`check`).

mod check;
mod fold;
mod join;
mod pattern;
mod steps;
mod write;

pub use check::RunComparison;

use trace::Trace;

/// A model, and how it compares with the traces.
#[derive(Clone, Debug)]
pub struct Inferred {
    /// The model of the application.
    pub model: String,
    /// A machine on which what was computed takes as long as in the recordings.
    pub machine: String,
    /// A row for each trace.
    pub compared: Vec<RunComparison>,
    /// Sentences about what the model leaves out.
    pub notes: Vec<String>,
}

/// Returns the model that traces at different rank counts have in common. `name` is the model's. O(calls of
/// all ranks): loops are unfolded.
///
/// # Errors
/// A sentence: two traces have equally many ranks, differ by more than numbers, or do what Aspen has no words
/// for.
pub fn infer(name: &str, traces: &[Trace]) -> Result<Inferred, String> {
    let mut traces: Vec<&Trace> = traces.iter().collect();
    traces.sort_by_key(|trace| trace.ranks);
    if let Some(pair) = traces.windows(2).find(|pair| pair[0].ranks == pair[1].ranks) {
        return Err(format!(
            "two traces have {} ranks each: a model's numbers are formulas in the number of ranks",
            pair[0].ranks
        ));
    }
    let of = |why: String, trace: &Trace| format!("the trace of {} ranks: {why}", trace.ranks);
    let mut runs = Vec::with_capacity(traces.len());
    for &trace in &traces {
        runs.push(steps::steps(trace).map_err(|why| of(why, trace))?);
    }
    let joined = join::join(&runs)?;
    let (model, notes) = write::model(name, &joined);
    let compared = check::compare(&model, &runs)?;
    Ok(Inferred { model, machine: write::MACHINE.to_owned(), compared, notes })
}
