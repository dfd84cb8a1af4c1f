//! The communication of a model: which steps, and how often.

use crate::communication::Step;
use crate::cost::EvaluationRequest;
use crate::error::AspenError;
use crate::model::Application;
use crate::source::SourceSpan;
use crate::usage::Usage;
use crate::walk::{Structure, Visitor};
use std::collections::HashMap;

/// A communication step, and how often it happens.
#[derive(Clone, PartialEq, Debug)]
pub struct Communication {
    /// The step.
    pub step: Step,
    /// Number of repetitions; a fraction where probabilities weigh.
    pub times: f64,
    /// The kernel in which it is.
    pub kernel: String,
    /// The place of its resource.
    pub span: SourceSpan,
}

/// Messages of a step, of all ranks.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct StepTraffic {
    /// Number of messages.
    pub messages: u64,
    /// Their bytes.
    pub bytes: u64,
    /// Into how many packets they are divided.
    pub packets: u64,
}

impl Application {
    /// Returns the communication steps of a kernel in the order in which they are met first; those of one
    /// statement and equal sizes are one.
    ///
    /// # Errors
    /// As for [`Application::evaluate`]; a trait is not known.
    pub fn communication(
        &self,
        request: &EvaluationRequest<'_, f64>,
    ) -> Result<Vec<Communication>, AspenError> {
        let mut steps = StepCollector {
            found: Vec::new(),
            at: HashMap::new(),
            weights: vec![1.0],
            kernels: Vec::new(),
            is_kernel: Vec::new(),
        };
        self.visit(request, &mut steps)?;
        Ok(steps.found)
    }
}

impl Step {
    /// Returns the messages of all ranks, divided into packets of so many bytes. O(ranks * neighbours);
    /// nothing for collective operations, whose messages are their algorithms'.
    ///
    /// # Errors
    /// So many ranks make no grid.
    pub fn traffic(&self, ranks: u64, packet: u64) -> Result<StepTraffic, AspenError> {
        let grid = self.grid(ranks)?;
        let mut traffic = StepTraffic::default();
        for rank in 0..ranks {
            for message in self.sends(rank, ranks, grid.as_ref(), 0) {
                traffic.messages += self.times;
                traffic.bytes = traffic.bytes.saturating_add(message.bytes.saturating_mul(self.times));
                // A message without bytes is a packet all the same.
                traffic.packets = traffic
                    .packets
                    .saturating_add(message.bytes.div_ceil(packet).max(1).saturating_mul(self.times));
            }
        }
        Ok(traffic)
    }
}

struct StepCollector {
    found: Vec<Communication>,
    at: HashMap<(SourceSpan, Step), usize>,
    weights: Vec<f64>,
    kernels: Vec<String>,
    is_kernel: Vec<bool>,
}

impl Visitor<f64> for StepCollector {
    fn enter(&mut self, structure: &Structure<'_, f64>) -> Result<(), AspenError> {
        let outer = self.weights.last().copied().unwrap_or(1.0);
        self.weights.push(match structure {
            Structure::Repeat { count, .. } => outer * count,
            Structure::Weighted(weight) => outer * weight,
            _ => outer,
        });
        if let Structure::Kernel(name) = structure {
            self.kernels.push((*name).to_owned());
        }
        self.is_kernel.push(matches!(structure, Structure::Kernel(_)));
        Ok(())
    }

    fn leave(&mut self) -> Result<(), AspenError> {
        self.weights.pop();
        if self.is_kernel.pop() == Some(true) {
            self.kernels.pop();
        }
        Ok(())
    }

    fn execute(
        &mut self,
        _: &str,
        parallelism: &f64,
        usages: &[Usage<'_, f64>],
        _: SourceSpan,
    ) -> Result<(), AspenError> {
        for usage in usages {
            let Some(step) = Step::of(usage, *parallelism)? else { continue };
            let (span, times) = (usage.tree.resource.span, self.weights.last().copied().unwrap_or(1.0));
            match self.at.get(&(span, step)) {
                Some(&at) => self.found[at].times += times,
                None => {
                    self.at.insert((span, step), self.found.len());
                    let kernel = self.kernels.last().cloned().unwrap_or_default();
                    self.found.push(Communication { step, times, kernel, span });
                }
            }
        }
        Ok(())
    }
}
