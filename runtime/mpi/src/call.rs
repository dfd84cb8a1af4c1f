//! Calls: what a program asks for, as begin and end, on the parts of the world.

pub(crate) mod abort;
pub(crate) mod arrivals;
pub(crate) mod buffered;
pub(crate) mod charging;
pub(crate) mod collective;
pub(crate) mod complete;
pub mod file;
pub(crate) mod land;
pub(crate) mod partitioned;
pub(crate) mod persistent;
pub(crate) mod receive;
pub(crate) mod request;
pub(crate) mod rma;
pub(crate) mod send;
