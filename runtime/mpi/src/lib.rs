//! MPI itself: handles, groups, communicators, datatypes, operations, matching, requests,
//! collectives, topologies, errors. `progress` owns the main loop. Knows nothing of the C ABI.

pub mod collective;
pub mod datatype;
pub mod error;
pub mod group;
pub mod handles;
pub mod op;
