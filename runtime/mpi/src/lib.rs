//! MPI itself: handles, groups, communicators, datatypes, operations, matching, requests,
//! collectives, topologies, errors. `progress` owns the main loop. Knows nothing of the C ABI.

pub mod attribute;
pub mod collective;
pub mod datatype;
pub mod errhandler;
pub mod error;
pub mod group;
pub mod handles;
pub mod info;
pub mod op;
pub mod topology;
