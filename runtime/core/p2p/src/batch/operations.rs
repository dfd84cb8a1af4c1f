//! What is in the batch, and who may join it.

use crate::node::{INLINE_BYTES, NIL};

/// Maximum number of operations in the batch.
// A processor has ten to twenty misses under way at a time: more in a row gain nothing, and the row stays in
// the nearest cache.
pub(super) const MAX_OPERATIONS: usize = 32;

/// Permission of an operation to join the batch, by how long its buffer stays unchanged.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Batching {
    /// No: it is done now.
    Never,
    /// Its buffer may change as soon as the call returns.
    UntilReturn,
    /// Its buffer stays until its request is completed.
    UntilComplete,
}

impl Batching {
    /// Returns the batching of an `MPI_Send`, by whether its rank's call before was one, too: the second of
    /// two in a row is likely to be followed by a third.
    #[inline(always)]
    pub fn of_send(again: bool) -> Batching {
        if again { Batching::UntilReturn } else { Batching::Never }
    }
    /// Returns `true` if a send of so many contiguous bytes may join.
    #[inline(always)]
    pub fn holds(self, bytes: u64) -> bool {
        match self {
            Batching::Never => false,
            Batching::UntilReturn => bytes <= INLINE_BYTES,
            Batching::UntilComplete => true,
        }
    }
}

/// A message for `to`, or with [`NIL`] a receive of the mounted rank, by its node.
#[derive(Clone, Copy, Default, Debug)]
pub(crate) struct Operation {
    pub(crate) node: u32,
    pub(crate) to: u32,
}

impl Operation {
    /// Returns a receive of the mounted rank.
    #[inline(always)]
    pub(crate) fn receive(node: u32) -> Operation {
        Operation { node, to: NIL }
    }
}

/// A receive of `to` and its message, which are out of their queues.
#[derive(Clone, Copy, Default, Debug)]
pub(crate) struct Pair {
    pub(crate) to: u32,
    pub(crate) receive: u32,
    pub(crate) message: u32,
}

/// Operations that the mounted rank has started and that are not done, in the order of its calls.
#[derive(Default)]
pub struct Batch {
    pub(super) operations: [Operation; MAX_OPERATIONS],
    pub(super) count: usize,
    /// Pairs of a receive and its message that match while the operations are done.
    pub(crate) pairs: [Pair; MAX_OPERATIONS],
}

impl Batch {
    /// Returns `true` if nothing is in it.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }
}
