//! Plan of a rank of a model, in order: computation that takes so long, and communication.

use crate::communication::{CommunicationPattern, Step};
use crate::cost::EvaluationRequest;
use crate::error::AspenError;
use crate::hardware::Hardware;
use crate::model::{Application, Machine};
use crate::source::SourceSpan;
use crate::usage::Usage;
use crate::walk::{ModelWalk, Structure, Visitor};
use std::collections::BTreeSet;

/// Computation and communication of all ranks of a model.
#[derive(Clone, Debug, Default)]
pub struct ExecutionPlan {
    /// In order.
    pub parts: Vec<PlanNode>,
    /// Sentences about what was left out.
    pub notes: Vec<String>,
}

/// A node of a plan: a loop, a computation or a communication step.
#[derive(Clone, Debug)]
pub enum PlanNode {
    /// Parts that happen so often, one time after the other.
    Repeat(u64, Vec<PlanNode>),
    /// Computation of so many seconds.
    Compute(f64),
    /// A step of all ranks.
    Communicate(Step),
}

/// On which sockets of a machine ranks compute.
#[derive(Clone, Debug)]
pub struct Sockets<'a> {
    /// The machine.
    pub machine: &'a Machine,
    /// The kind of socket where nothing else is said.
    pub socket: &'a str,
    /// Kernels that compute on other kinds, with all that they call but for what has a kind of its own: name
    /// and kind.
    pub of_kernels: Vec<(&'a str, &'a str)>,
}

impl Application {
    /// Returns what the ranks do, each computing on one socket at a time; without a machine computation takes
    /// no time. In an `execute` a rank computes first, then it communicates in the order of the text;
    /// parallel steps and times are one after the other.
    ///
    /// # Errors
    /// As for [`Application::evaluate`] and [`Application::communication`]; a branch has a probability and
    /// the traversal is implicit; a kernel that has a socket is not there.
    pub fn plan(
        &self,
        request: &EvaluationRequest<'_, f64>,
        sockets: Option<&Sockets<'_>>,
    ) -> Result<ExecutionPlan, AspenError> {
        let of_kernels = sockets.map_or(&[][..], |sockets| sockets.of_kernels.as_slice());
        let others = of_kernels
            .iter()
            .map(|(name, _)| self.full_name(name))
            .collect::<Result<Vec<&str>, AspenError>>()?;
        self.on_hardware(
            request,
            sockets.map(|sockets| (sockets.machine, sockets.socket)),
            |values, hardware| {
                let mut all: Vec<Hardware<'_, f64>> = Vec::new();
                for (_, socket) in of_kernels {
                    all.extend(hardware.map(|hardware| hardware.beside(socket)).transpose()?);
                }
                let kernels = others.iter().copied().zip(&all).collect();
                let mut planner = PlanBuilder {
                    on: vec![hardware],
                    kernels,
                    open: vec![(1, Vec::new())],
                    notes: BTreeSet::new(),
                };
                let (kernel, arguments) = self.asked(request.kernel, values)?;
                ModelWalk::new(self, values, request.traversal, request.seed).kernel(
                    kernel,
                    arguments,
                    &mut planner,
                )?;
                let mut notes: Vec<String> = planner.notes.into_iter().collect();
                notes.extend(hardware.into_iter().chain(&all).flat_map(Hardware::notes));
                notes.sort_unstable();
                notes.dedup();
                let (_, parts) = planner.open.pop().unwrap_or_default();
                Ok(ExecutionPlan { parts, notes })
            },
        )
    }

    /// Returns the name of a kernel with the models it is in, as a traversal gives it.
    fn full_name(&self, name: &str) -> Result<&str, AspenError> {
        let found = self.kernel(0, name).ok_or_else(|| AspenError::new(self.no_kernel(0, name)))?;
        Ok(&self.kernels[found].full)
    }
}

struct PlanBuilder<'h, 'm> {
    /// On what the parts compute that are being gone through, innermost last: the model's own socket is the
    /// first.
    on: Vec<Option<&'h Hardware<'m, f64>>>,
    /// Kernels with sockets of their own.
    kernels: Vec<(&'h str, &'h Hardware<'m, f64>)>,
    /// Parts that are being gone through, and how often each happens.
    open: Vec<(u64, Vec<PlanNode>)>,
    notes: BTreeSet<String>,
}

impl PlanBuilder<'_, '_> {
    fn add(&mut self, part: PlanNode) {
        if let Some((_, parts)) = self.open.last_mut() {
            parts.push(part);
        }
    }
}

impl Visitor<f64> for PlanBuilder<'_, '_> {
    fn enter(&mut self, structure: &Structure<'_, f64>) -> Result<(), AspenError> {
        let times = match structure {
            // As a program has it, which goes through a fraction of a loop's body no less than once more.
            Structure::Repeat { count, .. } => count.ceil() as u64,
            Structure::Weighted(_) => {
                return Err(AspenError::new(
                    "a rank takes one branch or another where the model has probabilities; --explicit draws \
                     them",
                ));
            }
            _ => 1,
        };
        let own = match structure {
            Structure::Kernel(name) => {
                self.kernels.iter().find(|(kernel, _)| kernel == name).map(|(_, hardware)| *hardware)
            }
            _ => None,
        };
        self.on.push(own.or(self.on.last().copied().flatten()));
        self.open.push((times, Vec::new()));
        Ok(())
    }

    fn leave(&mut self) -> Result<(), AspenError> {
        self.on.pop();
        let Some((times, mut parts)) = self.open.pop() else { return Ok(()) };
        match times {
            1 => {
                if let Some((_, outer)) = self.open.last_mut() {
                    outer.append(&mut parts);
                }
            }
            _ if parts.is_empty() || times == 0 => {}
            _ => self.add(PlanNode::Repeat(times, parts)),
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
        let (mut computes, mut steps) = (Vec::new(), Vec::new());
        for usage in usages {
            match Step::of(usage, *parallelism)? {
                None => computes.push(usage),
                Some(Step { pattern: CommunicationPattern::Unaddressed, .. }) => {
                    let resource = &usage.tree.resource.text;
                    self.notes
                        .insert(format!("'{resource}' without a trait that says who receives is not sent"));
                }
                Some(step) => steps.push(step),
            }
        }
        if let Some(hardware) = self.on.last().copied().flatten() {
            let (seconds, _) = hardware.together(parallelism, &computes)?;
            if seconds > 0.0 {
                self.add(PlanNode::Compute(seconds));
            }
        } else if !computes.is_empty() {
            self.notes.insert(
                "computation takes no time: there is no model of a machine (--machine-model)".to_owned(),
            );
        }
        for step in steps {
            match step.times {
                0 => {}
                1 => self.add(PlanNode::Communicate(step)),
                times => {
                    self.add(PlanNode::Repeat(times, vec![PlanNode::Communicate(Step { times: 1, ..step })]))
                }
            }
        }
        Ok(())
    }
}
