//! Traces: every MPI call of every rank, compressed while it is recorded, in a file, and read again
//! (docs/reference/traces.md).
//!
//! A call is a template and numbers ([`template`]); a rank's calls are folded into loops ([`fold`]); ranks
//! that do alike share a shape, with a column of numbers ([`mod@column`]) where they differ ([`builder`]).
//! Nothing here knows MPI: the seam (`recorder::recorder`) says what each argument is.

pub mod assembly;
pub mod average;
pub mod builder;
mod calls;
pub mod check;
pub mod codec;
pub mod column;
mod contexts;
pub mod cut;
pub mod dictionary;
pub mod diff;
pub mod draw;
pub mod duplicates;
mod encode;
pub mod file;
pub mod fold;
pub mod histogram;
pub mod part;
pub mod passages;
mod printable;
pub mod recording;
pub mod roles;
pub mod saved;
mod saving;
pub mod scale;
pub mod show;
pub mod spread;
pub mod stat;
mod steps;
pub mod template;
pub mod text;
pub mod times;
pub mod trace;

pub use recording::{Options, Recording, Timing};
pub use trace::Trace;
