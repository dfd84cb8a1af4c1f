//! Persistent requests: what they start, and starting it.

use crate::chapter::id::ChapterId;
use crate::handles::FIRST_DYNAMIC;
use crate::point_to_point::SendMode;
use rank::Addr;
use std::rc::Rc;

/// Arguments with which a chapter above messages starts its request. The chapter alone interprets them.
pub type Starter = Rc<dyn std::any::Any>;

/// The operation that a persistent request starts.
#[derive(Clone)]
pub enum Template {
    /// A send.
    Send {
        /// The send mode.
        mode: SendMode,
        /// Buffer, count, datatype.
        buffer: (Addr, i64, usize),
        /// Destination, tag, communicator.
        to: (i32, i32, usize),
    },
    /// A receive.
    Receive {
        /// Buffer, count, datatype.
        buffer: (Addr, i64, usize),
        /// Source, tag, communicator.
        from: (i32, i32, usize),
    },
    /// An operation of another chapter, a collective for one.
    Chapter {
        /// Number of the chapter.
        chapter: ChapterId,
        /// The chapter's arguments that start the operation.
        start: Starter,
        /// Its number among the chapter's persistent operations on its communicator.
        number: u32,
        /// Number of times that it was started.
        times: u32,
    },
}

impl Template {
    /// Returns the derived datatype that it needs.
    pub fn datatype(&self) -> Option<usize> {
        match self {
            Template::Send { buffer, .. } | Template::Receive { buffer, .. } => {
                Some(buffer.2).filter(|&handle| handle >= FIRST_DYNAMIC)
            }
            Template::Chapter { .. } => None,
        }
    }
}
