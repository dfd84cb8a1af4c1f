//! Operations under way.

use crate::access::{HomeAction, HomeReply};
use crate::asked::Transfer;
use crate::exchange::MemberExchange;

/// Work that remains when the rank completes its operation, whose memory is accessible then.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Then {
    Nothing,
    /// Reads the host's file.
    Load,
    /// Unpacks what the answer brought.
    Unpack,
    /// Nothing: the program has converted the bytes before (`conversion.rs`).
    Convert,
}

/// An operation of a rank of this process.
pub(crate) struct Operation {
    pub(crate) file: u32,
    /// World rank.
    pub(crate) rank: u32,
    /// The program's request for it; none of one that has ended with an error.
    pub(crate) request: u32,
    /// Actions that remain, each requested once the one before it is answered; the next is last.
    pub(crate) next: Vec<HomeAction>,
    pub(crate) then: Then,
    /// The memory and the place in the view.
    pub(crate) transfer: Option<(Transfer, u64)>,
    /// Bytes of memory that were moved.
    pub(crate) bytes: u64,
    pub(crate) answer: HomeReply,
    /// `true` if all members of the file have a part in it.
    pub(crate) together: bool,
    /// State of a collective access that may be buffered.
    pub(crate) exchange: Option<MemberExchange>,
}
