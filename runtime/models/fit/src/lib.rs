//! Formulas in the number of ranks through numbers that were seen at some rank counts: the closest
//! (`approximate.rs`, for what was measured), or one that gives just these ([`exact`], for what is counted).

mod approximate;
pub mod exact;

pub use approximate::{Approximation, fit};
