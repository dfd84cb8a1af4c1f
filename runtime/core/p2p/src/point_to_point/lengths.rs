//! Runs without payloads, whose messages have a length and no bytes: what a buffer is there.

use crate::error::Result;
use crate::moving::Payloads;
use crate::point_to_point::{Buffer, view};
use crate::view::BufferView;
use objects::Objects;

impl Payloads {
    /// Returns what a call of rank `me` names as a message's buffer: memory, or in a run without payloads
    ///  a length.
    ///
    /// # Errors
    /// As for [`view`].
    #[inline]
    pub fn view(&self, me: u32, objects: &Objects, (buffer, count, datatype): Buffer) -> Result<BufferView> {
        match u64::try_from(count) {
            Ok(elements) if !self.are_carried() => {
                Ok(BufferView::length(objects.types.usable(me, datatype)?.bytes(elements)?))
            }
            _ => view(objects, (buffer, count, datatype)),
        }
    }
}
