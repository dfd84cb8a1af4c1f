//! The constants of the standard ABI, which traces have in place of an MPI's own.

pub use objects::abi::*;
