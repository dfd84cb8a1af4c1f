//! Messages that are the same for all ranks but for whom they are with: most calls of most programs.
//!
//! What the general way ([`Replay::call`]) looks up in cells each time a rank comes by is put together once for all of them. Whatever asks for more (a tag
//! that differs, a wildcard, a status to be looked up) is left to the general way, and so is what is wrong, of which that has the sentences.

use super::arguments::{Comm, Partner};
use super::operation::Operation;
use super::{Cursor, Replay};
use crate::call::{Call, Envelope, Message, What};
use crate::workload::Caller;
use mpi::request::{ANY_SOURCE, ANY_TAG};
use trace::template::{Peer, Position};
use trace::trace::Cell;

/// A call that is ready but for the other rank.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Ready {
    pub(super) function: u16,
    what: What,
    rank: Cell,
    tag: i32,
    comm: u32,
    bytes: u64,
}

impl Ready {
    /// Of a function's operation, where `cancels` says that receives may have been cancelled; `None` if it is none or says more.
    pub(super) fn of(function: u16, operation: &Operation, cancels: bool) -> Option<Ready> {
        let slot = |request: Cell| same(request).and_then(|number| u32::try_from(number.checked_sub(1)?).ok());
        let (what, partner) = match operation {
            Operation::Send { mode, to, request: None } => (What::Send(*mode), to),
            Operation::Send { mode, to, request: Some(request) } => (What::Isend(*mode, slot(*request)?), to),
            Operation::Receive { from, .. } => (What::Recv, from),
            Operation::Ireceive { from, request } if !cancels => (What::Irecv(slot(*request)?), from),
            _ => return None,
        };
        let Partner { rank, tag, comm, length } = *partner;
        let tag = i32::try_from(same(tag)?).ok()?;
        let (count, size) = (u64::try_from(same(length.0)?).ok()?, u64::try_from(same(length.1)?).ok()?);
        let comm = match comm {
            Comm::World => Call::WORLD,
            Comm::Own => Call::SELF,
            Comm::Made(number) => u32::try_from(same(number)?).ok()?.checked_add(Call::SELF).filter(|&comm| comm > Call::SELF)?,
        };
        (tag != ANY_TAG).then_some(Ready { function, what, rank, tag, comm, bytes: count.saturating_mul(size) })
    }
}

fn same(cell: Cell) -> Option<i64> {
    if let Cell::Same(value) = cell { Some(value) } else { None }
}

impl Replay<'_> {
    /// The message of the rank at the cursor; `None` if its call is one for the general way.
    #[inline(always)]
    pub(super) fn ready(&self, caller: &Caller, cursor: &Cursor, ready: &Ready) -> Option<Message> {
        let Ready { what, rank, tag, comm, bytes, .. } = *ready;
        let told = Peer::of(self.columns.number(rank, cursor.position.place));
        let peer = match told {
            Peer::Absolute(peer) => peer,
            Peer::Relative(_) => {
                let (rank, peers) = if comm == Call::WORLD { (caller.rank, self.trace.ranks) } else { caller.position(comm)? };
                told.rank(Position { rank, peers })
            }
        };
        if peer == ANY_SOURCE || comm > Call::SELF && comm - Call::SELF > caller.made() {
            return None;
        }
        Some(Message { what, envelope: Envelope { peer, tag, comm, bytes } })
    }
}
