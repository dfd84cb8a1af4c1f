//! How the arguments of a call are read: libxsim.so's own files, over a host that is the machine's MPI.

#[path = "../../recording/arguments.rs"]
#[allow(dead_code, reason = "libxsim.so needs the rest, here as in what follows")]
pub mod arguments;
#[path = "../../recording/facts.rs"]
#[allow(dead_code)]
pub mod facts;
pub mod host;
#[path = "../../recording/level.rs"]
#[allow(dead_code)]
pub mod level;
#[path = "../../recording/module.rs"]
#[allow(dead_code)]
pub mod module;
#[path = "../../recording/objects.rs"]
#[allow(dead_code)]
pub mod objects;
#[path = "../../recording/open.rs"]
#[allow(dead_code)]
pub mod open;
#[path = "../../recording/parameter.rs"]
#[allow(dead_code)]
pub mod parameter;
#[path = "../../recording/plan.rs"]
#[allow(dead_code)]
mod plan;
#[path = "../../recording/sent.rs"]
#[allow(dead_code)]
mod sent;

use crate::constants::MPI_PROC_NULL;
use crate::function::Function;
use arguments::{ArgumentRegisters, Handles};
use objects::TracedObjects;
use parameter::{ArgumentIntent, Kind, Length};
use plan::ReadPlan;
use rank::Addr;
use recorder::Class;

impl Function {
    /// Returns how many words a call of it has.
    pub fn parameters(self, large: bool) -> usize {
        ReadPlan::of(self, large).length
    }
}

/// Puts the standard's values in place of the MPI's own among the words of a call: what is behind addresses
/// is translated when it is read.
pub fn translate(function: Function, large: bool, words: &mut [u64]) {
    let plan = ReadPlan::of(function, large);
    for (p, place) in plan.parameters.iter().zip(&plan.words) {
        let Some(word) = place.map(|place| &mut words[place]) else { continue };
        *word = match p.class() {
            Some(class) if p.is_value() => host::translated(class, *word, 0, 0) as u64,
            None if p.is_value() && !p.wide[usize::from(large)] && !is_address(p.kind) => {
                host::number(p, *word as i32) as i64 as u64
            }
            None if !p.is_value() || is_address(p.kind) => host::address(p, *word),
            _ => *word,
        };
    }
}

fn is_address(kind: Kind) -> bool {
    matches!(kind, Kind::Buffer | Kind::Address | Kind::Text | Kind::Status | Kind::Main)
}

impl ArgumentRegisters {
    /// Returns `true` if the call tells recorders all in words.
    pub fn has_facts(&self) -> bool {
        self.plan.facts.is_some()
    }

    /// The requests that the call has made begin: two may have the same handle.
    pub fn begin_requests(&self) {
        let from_nobody =
            self.plan.source.is_some_and(|source| self.scalar(source) == i64::from(MPI_PROC_NULL));
        for &(_, index) in &self.plan.results {
            let p = self.parameter(index);
            if p.kind == Kind::Handle(Class::Request) && p.length == Length::One && self.word(index) != 0 {
                host::begin_request(Addr(self.word(index) as usize), from_nobody);
            }
        }
    }

    /// Tells of the communicator that the call, if it is `function`, began to make.
    pub fn begin_copy(&self, function: Function) {
        let copies = matches!(function, Function::Comm_idup | Function::Comm_idup_with_info);
        let made =
            self.plan.results.iter().find(|&&(_, index)| copies && self.parameter(index).kind == Kind::Comm);
        host::begin_copy(
            self.comm().unwrap_or_default(),
            made.map(|&(_, index)| Addr(self.word(index) as usize)),
        );
    }

    /// Notes which of the call's statuses are of operations that receive nothing: MPI leaves these undefined
    /// (MPI 5.0 section 3.7.3).
    pub fn note_statuses(&self, before: &Handles, objects: &TracedObjects) {
        host::forget_statuses();
        let (Some(status), Some(requests)) = (self.plan.statuses, self.plan.requests) else { return };
        let is_replaced = self.parameter(requests).direction == ArgumentIntent::InOut;
        for k in 0..self.handles(status) {
            let of = self.completed(k);
            let request = if is_replaced { before.get(of).copied() } else { Some(self.handle(requests, of)) };
            let pending = request.and_then(|request| objects.pending(Class::Request, request));
            host::note_status(request.unwrap_or_default(), pending.is_some_and(|pending| pending.receives));
        }
    }
}
