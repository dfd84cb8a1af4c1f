//! Collectives: an algorithm is written once as a [`schedule`], run by either executor.

pub mod schedule;
