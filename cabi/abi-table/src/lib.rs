//! Generates what follows from the table of MPI's functions, callback types and constants
//! (`cabi/table`). That is the exported C and Fortran symbols, `mpi.h`, Fortran's modules, the recorders'
//! tables, and the wrappers around the machine's own MPI.
//!
//! Build scripts use it. A generator is a function from a [`AbiTable`] to a text. [`Output`] parses generated
//! Rust before it is written. So a generator's fault shows as one, and not as an error of the compiler in a
//! file that nobody wrote.

pub mod bodies;
pub mod entries;
pub mod exports;
pub mod fortran;
pub mod header;
pub mod interface_calls;
mod kinds;
pub mod modules;
mod output;
pub mod recording;
mod table;
pub mod wrappers;

#[cfg(test)]
mod tests;

pub use kinds::Kind;
pub use output::Output;
pub use table::{AbiTable, Constant, Intent, PROPERTIES, Parameter, Row, read};
