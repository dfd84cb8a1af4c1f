//! Ranks without a program: state machines that call MPI.
//!
//! A [`Workload`] says what each rank calls next; [`Machines`] makes the calls, through the same matching, collectives and networks as
//! programs do, and with messages that have lengths and no bytes. A rank has no stack: what it is blocked in is a word, so that a million
//! ranks take little more than a million clocks. Workloads are models in Aspen ([`Walk`]) and recorded runs ([`Replay`]).

mod aspen;
mod call;
mod function;
mod machines;
mod replay;
mod requests;
mod workload;

pub use aspen::Walk;
pub use call::{Answer, Call, Collective, Envelope, Exchange, Requests, Wait};
pub use function::{Function, NAMES};
pub use machines::Machines;
pub use replay::{Comparison, Computation, How, Replay};
pub use workload::{Caller, Workload};
