//! Memory as calls name it.

use crate::node::{INLINE_BYTES, flag};
use crate::packing::Packing;
use rank::{Addr, memory};
use std::rc::Rc;

/// Memory as a program names it: address, layout and count.
#[derive(Clone)]
pub struct BufferView {
    /// Where.
    pub buffer: Addr,
    /// Datatype and count that lay the payload out in memory; `None` for contiguous bytes.
    pub layout: Option<(Rc<crate::datatype::Datatype>, u64)>,
    /// Payload bytes.
    pub bytes: u64,
}

impl BufferView {
    /// Returns no memory.
    pub fn none() -> BufferView {
        BufferView::length(0)
    }
    /// Returns the view of a payload of so many bytes that nobody has, in a run without payloads
    /// ([`Messages::payloads`](crate::messages::Messages::payloads)).
    pub fn length(bytes: u64) -> BufferView {
        BufferView { buffer: Addr::NULL, layout: None, bytes }
    }
    /// Returns `true` if there is memory behind it. Data at the null pointer has a layout of absolute
    /// addresses (`MPI_BOTTOM`).
    // Two questions in one word: a run without payloads has neither.
    #[inline(always)]
    pub fn has_memory(&self) -> bool {
        !self.buffer.is_null() || self.layout.is_some()
    }
    /// Cuts the view into so many equal parts of bytes that lie side by side.
    pub fn parts(&self, count: usize) -> Vec<BufferView> {
        let bytes = self.bytes / count.max(1) as u64;
        (0..count as i64)
            .map(|index| BufferView { buffer: self.buffer.offset(index * bytes as i64), layout: None, bytes })
            .collect()
    }
    /// Returns `true` if a node can hold it beside these flags: a sender that waits for the match has its
    /// request where the payload would be.
    #[inline(always)]
    pub fn fits_inline(&self, flags: u16) -> bool {
        self.bytes <= INLINE_BYTES
            && self.layout.is_none()
            && flags & (flag::SYNCHRONOUS | flag::RENDEZVOUS) == 0
            && (!self.buffer.is_null() || self.bytes == 0)
    }
    /// Packs it behind what `out` has; its rank must be mounted.
    #[inline]
    pub fn append_to(&self, out: &mut Vec<u8>) {
        match &self.layout {
            None => memory::append(self.buffer, self.bytes as usize, out),
            Some((datatype, count)) => datatype.pack(self.buffer, *count, out),
        }
    }
    /// Unpacks the beginning of `bytes`, as many as it has; its rank must be mounted.
    // A result may be shorter than the buffer, never longer: who delivers has compared, and what is beyond is
    // cut off here once more.
    pub fn fill(&self, bytes: &[u8]) {
        let part = &bytes[..bytes.len().min(self.bytes as usize)];
        match &self.layout {
            None => memory::write(self.buffer, part),
            Some((datatype, count)) => {
                datatype.unpack(self.buffer, *count, part);
            }
        }
    }
}
