//! Steps with the arguments of a call that libxsim.so does not need: values of the machine's MPI become
//! those of the standard, and requests are told apart.

pub mod host;

use crate::constants::MPI_PROC_NULL;
use call_recording::Host;
use call_recording::arguments::Handles;
use call_recording::function::Function;
use call_recording::parameter::{ArgumentIntent, Kind, Length};
use call_recording::plan::ReadPlan;
use host::NativeMpi;
use rank::Addr;
use recorder::Class;

/// The arguments of a call of a real run.
pub type ArgumentRegisters = call_recording::arguments::ArgumentRegisters<NativeMpi>;
/// A call of a real run that has not returned.
pub type OpenCall = call_recording::open::OpenCall<NativeMpi>;
/// The objects that a process has seen and not freed.
pub type TracedObjects = call_recording::objects::TracedObjects<NativeMpi>;

/// Puts the standard's values in place of the MPI's own among the words of a call: what is behind addresses
/// is translated when it is read.
pub fn translate(function: Function, large: bool, words: &mut [u64]) {
    let plan = ReadPlan::of(function, large);
    for (p, place) in plan.parameters.iter().zip(&plan.words) {
        let Some(word) = place.map(|place| &mut words[place]) else { continue };
        *word = match p.class() {
            Some(class) if p.is_value() => host::translated(class, *word, 0, 0) as u64,
            None if p.is_value() && !p.wide[usize::from(large)] && !is_address(p.kind) => {
                NativeMpi::number(p, *word as i32) as i64 as u64
            }
            None if !p.is_value() || is_address(p.kind) => host::address(p, *word),
            _ => *word,
        };
    }
}

fn is_address(kind: Kind) -> bool {
    matches!(kind, Kind::Buffer | Kind::Address | Kind::Text | Kind::Status | Kind::Main)
}

/// Steps of a call that only the recorder of real runs takes.
pub trait RealCall {
    /// The requests that the call has made begin: two may have the same handle.
    fn begin_requests(&self);

    /// Tells of the communicator that the call, if it is `function`, began to make.
    fn begin_copy(&self, function: Function);

    /// Notes which of the call's statuses are of operations that receive nothing: MPI leaves these undefined
    /// (MPI 5.0 section 3.7.3).
    fn note_statuses(&self, before: &Handles, objects: &TracedObjects);
}

impl RealCall for ArgumentRegisters {
    fn begin_requests(&self) {
        let from_nobody =
            self.plan.source.is_some_and(|source| self.scalar(source) == i64::from(MPI_PROC_NULL));
        for &(_, index) in &self.plan.results {
            let p = self.parameter(index);
            if p.kind == Kind::Handle(Class::Request) && p.length == Length::One && self.word(index) != 0 {
                host::begin_request(Addr(self.word(index) as usize), from_nobody);
            }
        }
    }

    fn begin_copy(&self, function: Function) {
        let copies = matches!(function, Function::Comm_idup | Function::Comm_idup_with_info);
        let made =
            self.plan.results.iter().find(|&&(_, index)| copies && self.parameter(index).kind == Kind::Comm);
        host::begin_copy(
            self.comm().unwrap_or_default(),
            made.map(|&(_, index)| Addr(self.word(index) as usize)),
        );
    }

    fn note_statuses(&self, before: &Handles, objects: &TracedObjects) {
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
