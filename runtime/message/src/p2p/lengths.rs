//! Runs without payloads, whose messages have a length and no bytes: what a buffer is there.

use crate::error::Result;
use crate::messages::Messages;
use crate::p2p::{Buffer, view};
use crate::view::BufferView;
use objects::Objects;

impl Messages {
    /// Returns what a call names as a message's buffer: memory, or in a run without payloads
    /// ([`Messages::payloads`]) a length.
    ///
    /// # Errors
    /// As for [`view`].
    #[inline]
    pub fn payload(&self, objects: &Objects, (buffer, count, datatype): Buffer) -> Result<BufferView> {
        match u64::try_from(count) {
            Ok(elements) if !self.payloads.are_carried() => {
                Ok(BufferView::length(objects.types.usable(self.ranks.me(), datatype)?.bytes(elements)?))
            }
            _ => view(objects, (buffer, count, datatype)),
        }
    }
}
