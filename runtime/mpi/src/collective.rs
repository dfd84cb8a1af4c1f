//! Collectives: an algorithm is written once as a [`schedule`], run by either executor.

pub mod algorithm;
pub mod choose;
#[cfg(test)]
pub(crate) mod model;
pub mod schedule;
