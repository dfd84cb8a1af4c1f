//! The constants of the standard ABI.

pub use mpi::abi::*;
