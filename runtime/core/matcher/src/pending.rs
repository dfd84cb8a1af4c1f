//! A rank's side of matching.

use crate::queue::Queue;

/// The two queues of a rank, and whether something in them is open.
// Part of the one cache line that a sender touches of its receiver: packed, so that the line has room for it.
#[derive(Clone, Copy, Default)]
#[repr(C, packed(2))]
pub struct Pending {
    /// Receives without a message.
    pub(crate) posted: Queue,
    /// Messages without a receive.
    pub(crate) unexpected: Queue,
    /// Undecided receives for any source in `posted`.
    pub(crate) wildcards: u32,
    /// The rank is blocked in a poll, whose answer a message may change.
    polling: bool,
    /// The rank is in the list of ranks whose decisions are out of date.
    pub(crate) dirty: bool,
}

impl Pending {
    /// Returns `true` if a message in the queues may have to be decided.
    #[inline]
    pub fn is_watched(&self) -> bool {
        self.wildcards != 0 || self.polling
    }
    /// Returns the number of undecided receives for any source.
    #[inline]
    pub fn wildcards(&self) -> u32 {
        self.wildcards
    }
    /// Returns `true` if the rank is blocked in a poll.
    #[inline]
    pub fn is_polling(&self) -> bool {
        self.polling
    }
    /// Sets whether the rank is blocked in a poll.
    #[inline]
    pub fn set_polling(&mut self, polling: bool) {
        self.polling = polling;
    }
    /// Returns `true` if a receive waits for its message.
    #[inline]
    pub fn has_posted(&self) -> bool {
        !{ self.posted }.is_empty()
    }
    /// Returns `true` if a message waits for its receive.
    #[inline]
    pub fn has_unexpected(&self) -> bool {
        !{ self.unexpected }.is_empty()
    }
    /// Returns `true` if the decisions of the rank are out of date.
    #[inline]
    pub fn is_dirty(&self) -> bool {
        self.dirty
    }
    /// Notes that the decisions of the rank were found anew.
    #[inline]
    pub fn set_clean(&mut self) {
        self.dirty = false;
    }
}
