//! Aspen, a language for models of applications and machines on a page.
//!
//! An application model says how much its kernels compute, load, store and send, as formulas in its
//! parameters. A machine model says how long its components take for that and how much power they draw. The
//! page docs/reference/aspen.md has the language as it is read here, and the decisions where its description
//! leaves something open.
//!
//! - K. L. Spafford, J. S. Vetter: "Aspen: A domain specific language for performance modeling", SC 2012.
//! - C. D. Carothers et al.: "Durango: Scalable synthetic workload generation for extreme-scale application
//!   performance modeling and simulation", SIGSIM-PADS 2017 (the resource `comm`, section 2.3).

mod check;
mod communication;
mod cost;
mod error;
mod evaluate;
mod exchange;
mod format;
mod formula;
mod generate;
mod grid;
mod hardware;
mod model;
mod names;
mod number;
mod outline;
mod parse;
mod plan;
mod random;
mod source;
mod steps;
pub mod token;
pub mod tree;
mod usage;
mod walk;

pub use communication::{Collective, CommunicationPattern, Message, Neighbors, Operation, Step, Wave};
pub use cost::{Amount, Evaluation, EvaluationRequest, Runtime};
pub use error::AspenError;
pub use exchange::StepExchange;
pub use format::format;
pub use formula::Formula;
pub use grid::Grid;
pub use model::{Application, LoadedModel, Machine};
pub use number::{Function, Number};
pub use outline::{constant, value};
pub use parse::{parse, parse_formula};
pub use plan::{ExecutionPlan, PlanNode, Sockets};
pub use source::{FileId, LineColumn, SourceFile, SourceSpan, Sources};
pub use steps::{Communication, StepTraffic};
pub use usage::Usage;
pub use walk::{Structure, Traversal, Visitor};
