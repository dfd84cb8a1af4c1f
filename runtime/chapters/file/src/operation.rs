//! Operations under way.

use crate::CHAPTER;
use crate::access::{HomeAction, HomeReply};
use crate::asked::Transfer;
use crate::exchange::MemberExchange;
use crate::state::OpenFiles;
use engine::Time;
use p2p::Messages;
use p2p::handle;
use p2p::request::Body;

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

impl OpenFiles {
    /// Makes an operation of the mounted rank, with a request, and returns its index.
    pub(crate) fn make_operation(&mut self, messages: &mut Messages, file: u32) -> u32 {
        let rank = messages.me();
        let (answer, then) = (HomeReply::default(), Then::Nothing);
        let index = self.operations.insert(Operation {
            file,
            rank,
            request: 0,
            next: Vec::new(),
            then,
            transfer: None,
            bytes: 0,
            answer,
            together: false,
            exchange: None,
        });
        self.operations[index].request =
            messages.requests_mut().make(rank, Body::Chapter { chapter: CHAPTER, token: [index, 0] });
        index
    }

    /// Makes a request for what is done already, with so many bytes, as a nonblocking call needs one. Returns
    /// its handle.
    pub fn done_request(&mut self, messages: &mut Messages, file: u32, bytes: u64) -> usize {
        let index = self.make_operation(messages, file);
        let operation = &mut self.operations[index];
        operation.bytes = bytes;
        let request = operation.request;
        messages.requests_mut()[request].done = Some(Time::ZERO);
        handle::of_cold(request)
    }
}
