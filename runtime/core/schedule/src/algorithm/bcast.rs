//! MPI_Bcast: linear, binomial, scatter and allgather, and pipelines down a tree.

mod knomial;
mod linear;
mod message;
mod pipeline;
mod scatter_allgather;
mod split_binary;

pub(super) use knomial::binomial;
pub(super) use linear::linear;
pub(super) use pipeline::{binary, chain, knomial, pipeline};
pub(super) use scatter_allgather::{scatter_doubling, scatter_ring};
pub(super) use split_binary::split_binary;
