//! Execution traces of MLCommons' Chakra (S. Sridharan et al., "Chakra: Advancing Performance Benchmarking
//! and Co-design using Standardized Execution Traces", 2023), read and executed on a simulated machine.
//!
//! A rank's nodes form a graph. A node begins when all that it depends on has ended and its stream is free. A
//! stream executes one node at a time: of those that are ready the one with the least id. Streams are, as in
//! ASTRA-sim's resources:
//! - the host's processor, for nodes with `is_cpu_op`;
//! - the accelerator's streams that the trace numbers (`stream`);
//! - without numbers one for computations, one for sends and collectives, one for loads and stores.
//!
//! Receives take no stream, and metadata no time. Computations take their duration, or the longer of
//! `num_ops` and `tensor_size` by their rates (a roofline). Messages cost their ranks what messages of MPI
//! do. Collectives run by the schedules of MPI's collectives, each member from when its node begins.

mod account;
mod agent;
mod attributes;
mod execution;
mod fault;
pub mod files;
mod graph;
pub mod groups;
mod medium;
mod message;
mod node;
mod pairing;
mod rank;
mod run;

pub use fault::{ChakraFault, ChakraFaultKind};
pub use graph::{ChakraGraph, GroupCollective};
pub use message::MAX_MESSAGE_BYTES;
pub use node::{
    ChakraNode, ChakraStream, DependencyKinds, MAX_BYTES, NodeEffort, NodeWork, RankCollective, RankOf,
};
pub use rank::RankGraph;
pub use run::{ChakraEnd, ChakraRun, NodeTotal, WorkRates, run};
