//! Short writes at the shared pointer, and how their bytes get to the host's file together.

use engine::Time;
use objects::error::Failure;
use rustc_hash::FxHashMap;
use smallvec::SmallVec;

/// Bit that marks the number of a short write, rather than of an operation or an access.
pub(crate) const WRITE: u32 = 1 << 30;

/// Bytes that are kept without a place of their own: a number or two.
const INLINE_BYTES: usize = 16;

/// Bytes that go to the host's file at once, at most: more are no faster.
const MAX_BATCH_BYTES: usize = 256 << 10;

/// A write of a few bytes at the shared pointer, for which its rank is blocked.
pub(crate) struct Write {
    pub(crate) file: u32,
    /// World rank.
    pub(crate) rank: u32,
    /// The byte of the file at which the view begins.
    pub(crate) disp: u64,
    /// Bytes of an etype of the view, and how many of these are written.
    pub(crate) unit: u32,
    pub(crate) etypes: u32,
    /// The time at which the call is over, once its offset is known.
    pub(crate) done: Time,
    pub(crate) data: SmallVec<[u8; INLINE_BYTES]>,
}

/// Bytes whose places are known and which are not in the host's file yet, side by side in one file.
///
/// Who writes them is woken but has not run: the first that does brings all to the file. So nobody who learns
/// that a write is over finds the file without it.
#[derive(Default)]
pub(crate) struct WriteBehind {
    pub(crate) file: u32,
    pub(crate) at: u64,
    pub(crate) bytes: Vec<u8>,
    /// Indices of the writes that the bytes belong to, and the bytes of each.
    pub(crate) parts: Vec<(u32, u32)>,
    /// Errors of the host for writes whose ranks have not received them yet, by write.
    pub(crate) failed: FxHashMap<u32, Box<Failure>>,
}

impl WriteBehind {
    /// Returns `true` if nothing is to be brought to the file.
    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.parts.is_empty()
    }

    /// Returns `true` if bytes of a file from `at` on are next to those that it has.
    #[inline]
    pub(crate) fn is_before(&self, file: u32, at: u64) -> bool {
        self.file == file && self.at + self.bytes.len() as u64 == at && self.bytes.len() < MAX_BATCH_BYTES
    }
}
