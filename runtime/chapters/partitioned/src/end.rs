//! The two ends of a channel: what a persistent partitioned request keeps.

use crate::channel::MatchedPair;
use engine::Time;
use objects::datatype::Datatype;
use p2p::view::BufferView;
use rank::Addr;
use rustc_hash::FxHashMap;
use std::rc::Rc;

/// The number of an absent request or partner.
pub(crate) const NIL: u32 = u32::MAX;

/// State that both ends of a channel have.
pub(crate) struct EndState {
    pub(crate) channel: MatchedPair,
    /// `MPI_PROC_NULL` on the other side: everything is complete at once.
    pub(crate) nobody: bool,
    pub(crate) partitions: u32,
    /// The request of the active operation, else [`NIL`].
    pub(crate) request: u32,
    /// Operations that have been completed.
    pub(crate) round: u32,
}

/// The buffer of a send, to be read partition by partition.
pub(crate) struct Sender {
    pub(crate) common: EndState,
    pub(crate) buffer: Addr,
    pub(crate) datatype: Rc<Datatype>,
    /// Bytes of a partition.
    pub(crate) bytes: u64,
    /// `true` for each partition that is ready.
    pub(crate) ready: Vec<bool>,
    /// Number of partitions that are not ready.
    pub(crate) left: u32,
}

/// The buffer of a receive. What has come is kept by the round ([`crate::round::PartitionedMessages`]),
/// which may begin before the receive is started.
pub(crate) struct Receiver {
    pub(crate) common: EndState,
    pub(crate) view: BufferView,
    /// The time at which it was started last.
    pub(crate) started: Time,
    /// The requests by which `MPI_Parrived` asks for partitions. Each stays until the answer is yes or the
    /// operation is complete, because what a rank asks over and over is recognized by its handle.
    pub(crate) looks: FxHashMap<u32, u32>,
}

/// One end.
pub(crate) enum End {
    Send(Sender),
    Receive(Receiver),
}

impl End {
    pub(crate) fn common(&self) -> &EndState {
        match self {
            End::Send(sender) => &sender.common,
            End::Receive(receiver) => &receiver.common,
        }
    }
    pub(crate) fn common_mut(&mut self) -> &mut EndState {
        match self {
            End::Send(sender) => &mut sender.common,
            End::Receive(receiver) => &mut receiver.common,
        }
    }
}
