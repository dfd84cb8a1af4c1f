//! Requests of ranks to a file's home, and its answers.

use crate::direction::Direction;
use crate::exchange::RoundTransfer;
use crate::meet::Meet;
use engine::Time;
use objects::error::Failure;
use p2p::Messages;
use p2p::chapter::arrivals::Arrival;

/// Pieces of a file: first byte and length, ascending.
pub(crate) type Pieces = Box<[(u64, u64)]>;

/// Action that an access requests.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum HomeAction {
    /// Moves the shared pointer by so many etypes: where it was.
    Advance(u64),
    /// Reads in one turn.
    Read(Pieces),
    /// Writes in one turn.
    Write(Pieces, Vec<u8>),
    /// One member's part in what all do together; its number among the file's.
    Meet(u32, Meet),
    /// Bytes that each of these servers reads or writes: of no file that its home knows.
    Serve(Box<[(u32, u64)]>),
    /// A member's bytes in a round of collective buffering: of its aggregator, not of the file's home.
    Part(Box<RoundTransfer>),
    /// All members' parts are there. Never under way: made at home.
    Met(u32),
}

/// Bytes of a request or an answer that has no data: a place or a count.
pub(crate) const WORD: u64 = 8;

impl HomeAction {
    /// Returns `true` if the message and its answer carry no data of the program.
    pub(crate) fn is_internal(&self) -> bool {
        matches!(
            self,
            HomeAction::Meet(..) | HomeAction::Advance(_) | HomeAction::Met(_) | HomeAction::Serve(_)
        )
    }

    /// Counts a message with so many bytes that asks for this or answers.
    pub(crate) fn count(&self, messages: &mut Messages, bytes: u64) {
        if self.is_internal() {
            messages.ranks_mut().profile_mut().internal_message(bytes)
        } else {
            messages.ranks_mut().profile_mut().message(bytes)
        }
    }

    /// Returns the bytes of the message that asks.
    pub(crate) fn bytes(&self) -> u64 {
        match self {
            HomeAction::Read(_) => 0,
            HomeAction::Write(pieces, _) => pieces.iter().map(|piece| piece.1).sum(),
            HomeAction::Part(part) if part.direction == Direction::Write => part.bytes,
            HomeAction::Part(_) => 0,
            HomeAction::Meet(_, Meet::Span(..)) => 2 * WORD,
            HomeAction::Advance(_) | HomeAction::Meet(..) | HomeAction::Met(_) | HomeAction::Serve(_) => WORD,
        }
    }
}

impl HomeAction {
    /// Returns where it is asked, of a file with this home.
    pub(crate) fn place(&self, home: u32) -> u32 {
        if let HomeAction::Part(part) = self { part.rank } else { home }
    }
}

/// A request to a file's home.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct HomeRequest {
    /// The file's index.
    pub(crate) file: u32,
    /// World rank.
    pub(crate) origin: u32,
    /// The time at which it is there.
    pub(crate) arrival: Time,
    /// Sequence number among the requests of its origin.
    pub(crate) sequence: u32,
    pub(crate) action: HomeAction,
    /// Number of the operation in its origin's process.
    pub(crate) operation: u32,
}

impl HomeRequest {
    /// Returns the arrival by which it is ordered among those that wait at the home, of which it is this one.
    pub(crate) fn turn(&self, index: u32) -> Arrival<u32> {
        Arrival { time: self.arrival, origin: self.origin, sequence: self.sequence, what: index }
    }
}

/// Answer of a file's home to a request.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct HomeReply {
    /// A place or a count.
    pub(crate) value: u64,
    /// Bytes that were read.
    pub(crate) data: Vec<u8>,
    pub(crate) failure: Option<Box<Failure>>,
}

impl HomeReply {
    /// Returns the bytes of its message.
    pub(crate) fn bytes(&self, action: &HomeAction) -> u64 {
        match action {
            HomeAction::Read(_) => self.value,
            HomeAction::Write(..) => 0,
            HomeAction::Part(part) if part.direction == Direction::Read => part.bytes,
            HomeAction::Part(_) => 0,
            HomeAction::Meet(_, Meet::Span(..)) => 2 * WORD,
            HomeAction::Advance(_) | HomeAction::Meet(..) | HomeAction::Met(_) | HomeAction::Serve(_) => WORD,
        }
    }
    /// Adds the answer of another step of the operation. Values are summed; the first data and the first
    /// failure are kept.
    pub(crate) fn add(&mut self, other: HomeReply) {
        self.value += other.value;
        if self.data.is_empty() {
            self.data = other.data;
        }
        self.failure = self.failure.take().or(other.failure);
    }
    /// Creates the answer to an access that failed.
    pub(crate) fn failed(failure: Box<Failure>) -> HomeReply {
        HomeReply { failure: Some(failure), ..HomeReply::default() }
    }
    /// Makes a reply of an offset or a count.
    pub(crate) fn of(value: u64) -> HomeReply {
        HomeReply { value, ..HomeReply::default() }
    }
}
