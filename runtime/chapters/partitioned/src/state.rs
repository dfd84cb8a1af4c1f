//! State of partitioned communication.

use crate::channel::MatchedPair;
use crate::end::End;
use crate::part::PartitionTransfer;
use crate::round::PartitionedMessages;
use engine::Time;
use objects::slab::Slab;
use p2p::faults::Fault;
use rustc_hash::FxHashMap;

/// Partitioned sends and receives of the ranks of this process, and what has come for them.
#[derive(Default)]
pub struct Partitioned {
    /// By the number that their persistent requests know them by.
    pub(crate) ends: Slab<End>,
    /// Receives that have been initialized and not freed.
    pub(crate) receivers: FxHashMap<MatchedPair, u32>,
    /// Initializations so far: by channel with number 0, and whether it is the receiving end. O(envelopes
    /// ever used): an end that is freed still counts.
    pub(crate) initialized: FxHashMap<(MatchedPair, bool), u32>,
    /// Operations of which something has come and that are not complete, by channel and operation.
    pub(crate) rounds: FxHashMap<(MatchedPair, u32), PartitionedMessages>,
    /// Receives that have ended with an error and are not completed.
    pub(crate) broken: FxHashMap<u32, Fault>,
    /// Partitions that a shared network carries.
    pub(crate) flying: Slab<PartitionTransfer>,
    /// Partitions that the network has delivered, by their numbers in `flying`, and when.
    pub(crate) landed: Vec<(u32, Time)>,
}
