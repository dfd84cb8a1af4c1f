//! Messages that are the same for all ranks but for whom they are with, and waits that are the same for all:
//! most calls of most programs.
//!
//! What the general way ([`Replay::call`]) looks up in cells each time a rank comes by is put together once
//! for all of them. Whatever asks for more (a tag that differs, a wildcard, a status to be looked up) is left
//! to the general way, and so is what is wrong, of which that has the sentences.

use super::arguments::{Comm, Partner};
use super::operation::{Completed, Operation, Slots};
use super::{Cursor, Replay};
use crate::call::{Awaited, Call, Envelope, Message, Partners, Start, Starts, What};
use crate::workload::Caller;
use mpi::point_to_point::SendMode;
use mpi::request::{ANY_SOURCE, ANY_TAG};
use std::rc::Rc;
use trace::template::{Peer, Position};
use trace::trace::Cell;

/// A call that is ready but for the other rank.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Ready {
    pub(super) function: u16,
    what: What,
    /// The number of its request, if it has one: a copy of the number in `what`, which takes longer to read.
    number: u32,
    pub(super) rank: Cell,
    tag: i32,
    pub(super) comm: u32,
    bytes: u64,
}

impl Ready {
    /// Makes it of a function's operation, where `cancels` says that receives may have been cancelled; `None`
    /// if it is none or says more.
    pub(super) fn of(function: u16, operation: &Operation, cancels: bool) -> Option<Ready> {
        let slot = |request: Cell| {
            same(request)
                .and_then(|number| u32::try_from(number.checked_sub(1)?).ok())
                .filter(|&number| number < super::MAX_REQUESTS)
        };
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
            Comm::Made(number) => u32::try_from(same(number)?)
                .ok()?
                .checked_add(Call::SELF)
                .filter(|&comm| comm > Call::SELF)?,
        };
        let number = if let What::Isend(_, number) | What::Irecv(number) = what { number } else { 0 };
        (tag != ANY_TAG).then_some(Ready {
            function,
            what,
            number,
            rank,
            tag,
            comm,
            bytes: count.saturating_mul(size),
        })
    }
}

impl Ready {
    /// Returns what it does as one of a series, which it can be one of if others are like it
    /// ([`Ready::is_like`]).
    #[inline]
    pub(super) fn starts(&self) -> Option<Starts> {
        match self.what {
            _ if self.tag < 0 => None,
            What::Send(SendMode::Standard | SendMode::Ready) => Some(Starts::Sends),
            What::Isend(SendMode::Standard | SendMode::Ready, _) => Some(Starts::Isends),
            What::Irecv(_) => Some(Starts::Irecvs),
            What::Send(_) | What::Isend(..) | What::Recv => None,
        }
    }

    /// Returns `true` if it is an `MPI_Recv` of a message that is known.
    pub(super) fn receives(&self) -> bool {
        self.what == What::Recv && self.tag >= 0
    }

    /// Returns `true` if both may be of one series.
    pub(super) fn is_like(&self, other: &Ready) -> bool {
        self.starts().is_some()
            && (self.starts(), self.function, self.comm) == (other.starts(), other.function, other.comm)
    }

    /// Returns the call as one of a series, with this rank.
    #[inline(always)]
    pub(super) fn start(&self, peer: u32) -> Start {
        Start { peer, tag: self.tag, bytes: self.bytes, number: self.number }
    }
}

/// A wait for requests that are the same for all ranks.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Waiting {
    pub(super) function: u16,
    pub(super) awaited: Awaited,
}

impl Waiting {
    /// Returns the wait that a function's operation is. Returns `None` if it is no wait, tests a flag,
    /// differs between ranks, or completes requests that the trace does not name.
    pub(super) fn of(function: u16, operation: &Operation) -> Option<Waiting> {
        let Operation::Complete { flag: None, requests: Slots::Same(slots), completed, .. } = operation
        else {
            return None;
        };
        let one = |index: &Cell| slots.get(usize::try_from(same(*index)?).ok()?).copied();
        let numbers: Rc<[u32]> = match completed {
            Completed::All => slots.clone(),
            Completed::One(index) => [one(index)?].into(),
            Completed::Some(indices) => indices.iter().map(one).collect::<Option<_>>()?,
            Completed::Any => return None,
        };
        let counts_up = numbers.iter().copied().eq(0..numbers.len() as u32);
        (!numbers.is_empty()).then_some(Waiting { function, awaited: Awaited { numbers, counts_up } })
    }
}

fn same(cell: Cell) -> Option<i64> {
    if let Cell::Same(value) = cell { Some(value) } else { None }
}

impl Replay<'_> {
    /// Returns a call of the series at the cursor; `None` if it is with none of these partners.
    #[inline(always)]
    pub(super) fn in_series(&self, cursor: &Cursor, ready: &Ready, partners: &Partners) -> Option<Start> {
        self.partner(cursor, ready.rank, partners).map(|peer| ready.start(peer))
    }

    /// Returns the rank in a cell, if it is one of these partners.
    #[inline(always)]
    pub(super) fn partner(&self, cursor: &Cursor, rank: Cell, partners: &Partners) -> Option<u32> {
        let told = Peer::of(self.columns.number(rank, &cursor.position));
        let peer = told.rank(Position { rank: partners.me, peers: partners.size }) as u32;
        (peer.wrapping_sub(partners.first) < partners.count).then_some(peer)
    }

    /// Returns the message of the rank at the cursor; `None` if its call is one for the general way.
    #[inline(always)]
    pub(super) fn ready(&self, caller: &Caller, cursor: &Cursor, ready: &Ready) -> Option<Message> {
        let Ready { what, rank, tag, comm, bytes, .. } = *ready;
        let told = Peer::of(self.columns.number(rank, &cursor.position));
        let peer = match told {
            Peer::Absolute(peer) => peer,
            Peer::Relative(_) => {
                let (rank, peers) = if comm == Call::WORLD {
                    (caller.rank, self.trace.ranks)
                } else {
                    caller.position(comm)?
                };
                told.rank(Position { rank, peers })
            }
        };
        if peer == ANY_SOURCE || comm > Call::SELF && comm - Call::SELF > caller.made() {
            return None;
        }
        Some(Message { what, envelope: Envelope { peer, tag, comm, bytes } })
    }
}
