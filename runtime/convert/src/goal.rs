//! GOAL: for each rank the operations that it has to do, and which of them wait for which.

mod collective;
mod export;
mod import;
mod parse;
mod schedule;

pub use export::export;
pub use import::{import, read};
