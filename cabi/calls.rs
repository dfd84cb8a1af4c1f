//! The implementations behind the C entry points, one file per chapter. Each function takes
//! the `Call` and the arguments as `cabi/table/README.md` says, and does one thing: it
//! translates handles and pointers for the `mpi` crate.
#![allow(clippy::too_many_arguments, reason = "the arguments are those of MPI")]

pub mod abi;
pub mod attribute;
pub mod buffer;
pub mod collective;
pub mod comm;
pub mod constructor;
pub mod convert;
pub mod datatype;
pub mod environment;
pub mod errhandler;
pub mod external;
pub mod failure;
pub mod file;
pub mod group;
pub mod info;
pub mod interop;
pub mod op;
pub mod p2p;
pub mod pack;
pub mod partitioned;
pub mod process;
pub mod request;
pub mod rma;
pub mod session;
pub mod status;
pub mod tool;
pub mod topology;
pub mod window;
