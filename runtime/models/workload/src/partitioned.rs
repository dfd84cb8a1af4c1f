//! Partitioned communication of a rank without a program.

use crate::call::Envelope;
use std::rc::Rc;

/// A call about a partitioned send or receive.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PartitionedCall {
    /// The number of its request.
    pub request: u32,
    /// The action.
    pub does: PartitionedAction,
}

/// An action on a partitioned send or receive.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum PartitionedAction {
    /// `MPI_Psend_init`: partitions, and the message of each.
    Sends(i32, Envelope),
    /// `MPI_Precv_init`: partitions, and the message of each.
    Receives(i32, Envelope),
    /// `MPI_Pready` and its kin, of these partitions.
    Ready(Rc<[i32]>),
    /// `MPI_Pready_range`: from the first to the last.
    Range(i32, i32),
    /// `MPI_Parrived` of a partition that has come.
    Arrived(i32),
}
