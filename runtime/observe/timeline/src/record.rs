//! Records of a run until it is put in order.

use engine::record::{Put, Take};
use std::cmp::Ordering;

/// Something that a rank did. Times are picoseconds.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Record {
    /// Time of its begin, by which records are ordered.
    pub at: u64,
    /// The rank that did it.
    pub rank: u32,
    /// The action.
    pub what: RankAction,
}

/// An action of a rank.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum RankAction {
    /// It sent a message. Written by the process of the receiver, which alone knows when it was received.
    Sent(Message),
    /// It computed.
    Computed {
        /// Up to here.
        until: u64,
    },
    /// It called MPI.
    Called(CallRecord),
    /// Within the call before this record, which it begins with, it received a message.
    Received {
        /// The time.
        at: u64,
        /// The message.
        id: u64,
        /// The rank that sent it.
        from: u32,
    },
    /// It went into a region of the program, or out of the last one that it went into.
    Region {
        /// In runs by the number that the process gave it, in events by its place among all.
        region: u32,
        /// `true` if it went in.
        begins: bool,
    },
}

/// A message from its sender to its receiver.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Message {
    /// The identity: the receiver and how many it had received, so that no agreement between processes is
    /// needed.
    pub id: u64,
    /// The receiver.
    pub to: u32,
    /// The time at which it was there.
    pub arrived: u64,
    /// The time at which a call of the receiver took it; not before that call's entry.
    pub received: u64,
    /// Payload.
    pub bytes: u64,
    /// Tag.
    pub tag: i32,
}

/// A recorded call.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct CallRecord {
    /// The function's row in the table of MPI functions.
    pub function: u16,
    /// The call site: in runs by the number that the process gave it, in events by its place among all.
    pub site: u32,
    /// The time at which it returned.
    pub left: u64,
    /// Time that it waited.
    pub wait: u64,
    /// The time at which that was over; behind it are overheads of what it waited for.
    pub waited: u64,
    /// Bytes that count and datatype say it sends.
    pub bytes: u64,
    /// `true` if it returned before the run ended.
    pub returned: bool,
}

/// The most bytes of a record in a run.
pub const LONGEST: usize = 64;

impl Record {
    /// Compares two records in the order of a timeline: time, then rank; what a rank sent at an instant
    /// before what it did then, which keeps the order in which it was told. Messages that are alike in all of
    /// that are told apart by their names, so that the order does not depend on who wrote them.
    pub fn order(&self, other: &Record) -> Ordering {
        let id = |record: &Record| {
            if let RankAction::Sent(message) = record.what { (0, message.id) } else { (1, 0) }
        };
        (self.at, self.rank, id(self)).cmp(&(other.at, other.rank, id(other)))
    }

    /// Appends its bytes, at most [`LONGEST`].
    pub fn put(&self, out: &mut Vec<u8>) {
        let kind = match self.what {
            RankAction::Sent(_) => 0,
            RankAction::Computed { .. } => 1,
            RankAction::Called(CallRecord { returned, .. }) => 2 + u8::from(returned),
            RankAction::Received { .. } => 4,
            RankAction::Region { begins, .. } => 5 + u8::from(begins),
        };
        out.u8(kind);
        out.u64(self.at);
        out.u32(self.rank);
        match self.what {
            RankAction::Sent(Message { id, to, arrived, received, bytes, tag }) => {
                out.u64(id);
                out.u32(to);
                [arrived, received, bytes].into_iter().for_each(|number| out.u64(number));
                out.i32(tag);
            }
            RankAction::Computed { until } => out.u64(until),
            RankAction::Region { region, .. } => out.u32(region),
            RankAction::Called(CallRecord { function, site, left, wait, waited, bytes, .. }) => {
                out.u32(function.into());
                out.u32(site);
                [left, wait, waited, bytes].into_iter().for_each(|number| out.u64(number));
            }
            RankAction::Received { at, id, from } => {
                out.u64(at);
                out.u64(id);
                out.u32(from);
            }
        }
    }

    /// Reads what [`Record::put`] appended.
    ///
    /// # Panics
    /// If it is something else.
    pub fn take(from: &mut Take) -> Record {
        let (kind, at, rank) = (from.u8(), from.u64(), from.u32());
        let what = match kind {
            0 => RankAction::Sent(Message {
                id: from.u64(),
                to: from.u32(),
                arrived: from.u64(),
                received: from.u64(),
                bytes: from.u64(),
                tag: from.i32(),
            }),
            1 => RankAction::Computed { until: from.u64() },
            2 | 3 => RankAction::Called(CallRecord {
                function: from.u32() as u16,
                site: from.u32(),
                left: from.u64(),
                wait: from.u64(),
                waited: from.u64(),
                bytes: from.u64(),
                returned: kind == 3,
            }),
            5 | 6 => RankAction::Region { region: from.u32(), begins: kind == 6 },
            _ => RankAction::Received { at: from.u64(), id: from.u64(), from: from.u32() },
        };
        Record { at, rank, what }
    }
}
