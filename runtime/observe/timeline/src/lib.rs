//! Timelines (`-xsim-timeline`, docs/reference/timelines.md): what each rank called when, which messages went
//! from rank to rank, how many ranks waited, in the formats of viewers.
//!
//! Each process writes what its ranks do to a part of its own, as runs that are each in order
//! ([`mod@record`], `runs.rs`); memory is that of one run. At the end the first process merges all runs
//! (`merge.rs`) into events in the order of virtual time, and a format writes these as they come (`format/`).
//! So the file is the same on any number of processes, and no format keeps what it has written.

mod counters;
pub mod format;
mod merge;
pub mod record;
mod recording;
mod runs;
mod selection;

pub use format::TimelineFormat;
pub use recording::{Options, Timeline};
pub use selection::{FunctionSelection, default_ranks};
