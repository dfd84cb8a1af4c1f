//! The kinds of records in which processes tell each other of collectives.

use crate::CHAPTER;
use p2p::remote::stream::Kind;

/// Kind of a record about collectives.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub(crate) enum CollectiveRecordKind {
    /// A message of a schedule.
    Step,
    /// All members on this process are in.
    Ready,
    /// All members on all processes are.
    Go,
    /// Clocks with which members send in a round, or data of it.
    Round,
    /// Data that members get from those of another process.
    Data,
    /// Contributions of a process's members to a new communicator.
    Contributions,
    /// All contributions, and the contexts agreed on.
    Outcome,
    /// The leader of `MPI_Intercomm_create` tells its group.
    Leader,
}

impl CollectiveRecordKind {
    pub(crate) const ALL: [CollectiveRecordKind; 8] = [
        CollectiveRecordKind::Step,
        CollectiveRecordKind::Ready,
        CollectiveRecordKind::Go,
        CollectiveRecordKind::Round,
        CollectiveRecordKind::Data,
        CollectiveRecordKind::Contributions,
        CollectiveRecordKind::Outcome,
        CollectiveRecordKind::Leader,
    ];

    /// Returns the kind as the streams between processes know it.
    pub(crate) fn kind(self) -> Kind {
        Kind::Chapter(CHAPTER, self as u8)
    }
}
