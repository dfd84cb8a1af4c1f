//! Ranks without a program: state machines that call MPI.
//!
//! A [`Workload`] says what each rank calls next; [`Machines`] makes the calls, through the same matching,
//! collectives and networks as programs do, and with messages that have lengths and no bytes. A rank has no
//! stack: what it is blocked in is a word, so that a million ranks take little more than a million clocks.
//! Workloads are models in Aspen ([`Walk`]), recorded runs ([`Replay`]) and jobs of Hadoop ([`HadoopRun`]).
//!
//! Its run has no payloads (`Messages::payloads`): a message is a length. Buffers have no address there, and
//! a buffer without memory is neither copied nor packed, so that a message of any length takes the way of a
//! short plain one. Collectives are told sizes alone (`collective::Lengths`) and take the way of all others,
//! which asks for no more until it moves bytes: the data plane is left out, and agents have no buffers.
//!
//! Calls of such a rank happen at the picosecond at which a program's would (`tests/aspen_run.rs` and
//! `tests/replay.rs` compare them).
//!
//! Most calls are messages. A workload marks a rank's next call as one if it knows that
//! ([`Workload::message`]). Messages that follow one another are made within one borrow, and so are waits for
//! all of a rank's requests. Those that are alike ([`Workload::series`]) are started and held as those of a
//! program are (`message/batch.rs`).
//!
//! Messages that are waited for as soon as they are started ([`Workload::volley`]) are made as one, with
//! their wait, and without a request for any of them (`message/volley.rs`). All other calls, and all of them
//! where recorders listen, go one by one.
//!
//! A replay makes of each different call of a trace once what it is to a rank, with the numbers that differ
//! between ranks as places in columns, and lays loops out as steps. A rank's cursor is a place among these
//! and the turns left of the loops around it.

mod aspen;
mod bridge;
mod call;
mod file;
mod function;
mod hadoop;
mod jobs;
mod machines;
mod partitioned;
mod ports;
mod replay;
mod requests;
mod script;
mod stage;
mod window;
mod workload;

pub use aspen::Walk;
pub use bridge::{BridgeCall, Bridging};
pub use call::{
    Answer, Awaited, Call, Collective, Envelope, Exchange, Message, Neighborhood, Partners, Requests, Series,
    Start, Starts, Volley, Wait, What,
};
pub use file::{
    AccessEnd, FileAccess, FileAction, FileCall, FileView, TypeCall, TypeLayout, TypeName, TypeShape,
};
pub use function::{Function, NAMES};
pub use hadoop::{HadoopJob, HadoopPhase, HadoopRun, HadoopTraffic};
pub use jobs::{Job, Jobs};
pub use machines::{Found, Machines};
pub use partitioned::{PartitionedAction, PartitionedCall};
pub use ports::PortCall;
pub use replay::{Comparison, How, Replay};
pub use script::Script;
pub use window::{WindowAccess, WindowAction, WindowCall};
pub use workload::{Caller, CommStanding, Workload};
