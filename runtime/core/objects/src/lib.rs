//! MPI's opaque objects as values: error classes, handles, groups, communicators, datatypes, operations,
//! topologies, info, attributes, error handlers; and the constants of the ABI, typed once. Knows nothing of
//! messages, ranks that run, memory of the program, or virtual time.

pub mod abi;
pub mod attribute;
pub mod comm;
pub mod datatype;
pub mod errhandler;
pub mod error;
pub mod file;
pub mod group;
pub mod handle;
pub mod handles;
pub mod info;
pub mod op;
mod registry;
pub mod session;
pub use engine::slab;
pub mod topology;
mod wide;
pub mod win;

pub use registry::Objects;
