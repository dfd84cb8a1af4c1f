//! Reads the arguments of MPI calls, in C and in Fortran, by the table of functions.
//!
//! Two libraries record calls with it: libxsim.so, whose objects are those of the simulated world, and the
//! recorder of real runs (`cabi/tracer`), whose objects are those of the machine's own MPI. Both implement
//! [`Host`], which says what handles, statuses and communicators mean.

pub mod arguments;
pub mod beside;
pub mod facts;
pub mod function;
pub mod host;
pub mod level;
pub mod module;
pub mod objects;
pub mod open;
pub mod parameter;
pub mod plan;
pub mod sent;

/// The constants of the standard ABI.
pub use ::objects::abi as constants;
pub use host::Host;
