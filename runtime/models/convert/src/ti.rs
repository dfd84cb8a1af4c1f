//! Time-independent traces of SimGrid (`smpirun -trace-ti`, `-replay`): a line for each action of a rank,
//! with volumes in place of times.

mod actions;
mod datatypes;
mod export;
mod import;

pub use export::export;
pub use import::{import, read};
