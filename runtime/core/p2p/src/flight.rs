//! The consequences of a message's delivery by a shared network.

use crate::chapter::id::ChapterId;
use crate::transit::Transit;
use engine::Time;

/// A send above the eager limit that a receive has met.
#[derive(Clone, Copy, Debug)]
pub struct MatchedSend {
    /// World rank of the sender.
    pub sender: u32,
    /// The sender's request, or what stands for it here.
    pub request: u32,
    /// Number of the request to send among what the sender sends.
    pub sequence: u64,
}

/// The consequence of a message's delivery by a shared network.
#[derive(Clone, Copy, Debug)]
pub enum Flight {
    /// Waiting to be sent, or between two of the other states.
    Leaving,
    /// It lies in the unexpected queue of `to`, or was taken out of it by a matched probe.
    Unexpected {
        /// Destination (world rank).
        to: u32,
        /// The message's node.
        message: u32,
    },
    /// A receive of `to` has it.
    Received {
        /// Destination (world rank).
        to: u32,
        /// The receive's node.
        receive: u32,
        /// The time at which the receive was posted.
        posted_at: Time,
        /// Payload bytes.
        bytes: u64,
        /// The rest.
        transit: Transit,
    },
    /// The empty message that tells a synchronous sender of the match.
    Acknowledgement {
        /// The sender's request.
        request: u32,
    },
    /// The empty message that tells the sender of a message above the eager limit to send the payload.
    ClearToSend {
        /// Destination of the payload (world rank).
        to: u32,
        /// The receive's node.
        receive: u32,
        /// Payload bytes.
        bytes: u64,
        /// The send.
        send: MatchedSend,
    },
    /// The payload of a message above the eager limit.
    Payload {
        /// Destination (world rank).
        to: u32,
        /// The receive's node.
        receive: u32,
    },
    /// Another process has it.
    Elsewhere {
        /// The other process.
        process: u32,
        /// The message's number there.
        flight: u32,
    },
    /// A record for another process, of which the arrival was all that lacked.
    Record {
        /// The record that waits for it.
        record: u32,
    },
    /// A message of another chapter, a step of a collective for one.
    Chapter {
        /// The chapter of the operation.
        chapter: ChapterId,
        /// The operation, in the chapter's own words.
        words: [u32; 4],
    },
}
