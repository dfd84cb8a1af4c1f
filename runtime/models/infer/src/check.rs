//! A model beside the runs that it is from.

use crate::steps::{RunSteps, StepAction};
use aspen::{Application, CommunicationPattern, EvaluationRequest, LoadedModel, Sources};

/// A run compared with its model.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct RunComparison {
    /// Ranks of the run.
    pub ranks: u32,
    /// Messages between pairs of all ranks, in the run and in the model.
    pub messages: (f64, f64),
    /// Their bytes.
    pub bytes: (f64, f64),
    /// Collective operations.
    pub collectives: (f64, f64),
    /// Bytes of a rank's parts in them.
    pub parts: (f64, f64),
    /// Seconds that a rank computes, on average.
    pub computed: (f64, f64),
}

impl RunComparison {
    /// Returns `true` if all that is communicated is the same in both.
    pub fn is_equal(&self) -> bool {
        [self.messages, self.bytes, self.collectives, self.parts].iter().all(|(run, model)| run == model)
    }
}

/// Reads the text as a model, and compares it with each run.
pub fn compare(text: &str, runs: &[RunSteps]) -> Result<Vec<RunComparison>, String> {
    let mut sources = Sources::default();
    let id = sources.add("the model", text);
    let LoadedModel::Application(model) =
        LoadedModel::load(&mut sources, id).map_err(|error| error.to_string())?
    else {
        return Err("the model is a machine".to_owned());
    };
    runs.iter().map(|run| one(&model, &sources, run)).collect()
}

fn one(model: &Application, sources: &Sources, run: &RunSteps) -> Result<RunComparison, String> {
    let failed = |error: aspen::AspenError| error.located(sources).to_string();
    let parameters = [("ranks".to_owned(), f64::from(run.ranks))];
    let request = EvaluationRequest { parameters: &parameters, ..EvaluationRequest::default() };
    let (mut messages, mut bytes, mut collectives, mut parts) = (0.0, 0.0, 0.0, 0.0);
    for found in model.communication(&request).map_err(failed)? {
        match found.step.pattern {
            CommunicationPattern::Collective(..) => {
                collectives += found.times;
                parts += found.times * found.step.bytes() as f64;
            }
            _ => {
                let traffic = found.step.traffic(run.ranks.into(), u64::MAX).map_err(failed)?;
                messages += found.times * traffic.messages as f64;
                bytes += found.times * traffic.bytes as f64;
            }
        }
    }
    let computed = model.evaluate(&request, None).map_err(failed)?.total("compute");
    let mut seen = RunComparison {
        ranks: run.ranks,
        messages: (0.0, messages),
        bytes: (0.0, bytes),
        collectives: (0.0, collectives),
        parts: (0.0, parts),
        computed: (0.0, computed),
    };
    for step in &run.steps {
        seen.computed.0 += step.computed;
        match &step.what {
            StepAction::Collective(.., bytes) => {
                seen.collectives.0 += 1.0;
                seen.parts.0 += *bytes as f64;
            }
            StepAction::Messages(messages) => {
                seen.messages.0 += messages.len() as f64;
                seen.bytes.0 += messages.iter().map(|&(.., bytes)| bytes as f64).sum::<f64>();
            }
        }
    }
    Ok(seen)
}
