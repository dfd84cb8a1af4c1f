//! A short access under way, which has its place in the row of what waits at its target.

use crate::atomic::Combine;
use rank::{Addr, memory};

/// An access of few bytes under way within the process, whose channel knows since it left when its answer
/// comes: nobody can keep it waiting at its target.
#[derive(Clone, Copy)]
pub(crate) struct Short {
    /// From the window's first byte.
    pub(crate) at: i64,
    /// Address in its origin's memory for the data that it fetches.
    pub(crate) wanted: Addr,
    /// Data that the access brings; once it was served, data that it has found.
    pub(crate) data: [u64; 2],
    pub(crate) win: u32,
    pub(crate) channel: u32,
    pub(crate) bytes: u8,
    pub(crate) does: Does,
}

/// Effect of a short access at its target.
#[derive(Clone, Copy)]
pub(crate) enum Does {
    Put,
    Get,
    Accumulate(Combine),
}

/// Data that a short access has found, and the address in its origin's memory for it.
pub(crate) struct Fetched {
    to: Addr,
    data: [u64; 2],
    bytes: u8,
}

impl Short {
    /// Returns `true` if it can be done while its target is not mounted; the window begins at `base`.
    pub(crate) fn is_reachable(&self, base: usize) -> bool {
        rank::is_addressable_unmounted(Addr(base).offset(self.at), usize::from(self.bytes))
    }
    /// Applies the access to the memory of its target, whose window begins at `base`.
    #[inline]
    pub(crate) fn run(&mut self, base: usize) {
        let (place, bytes) = (Addr(base).offset(self.at), usize::from(self.bytes));
        match self.does {
            Does::Put => memory::store_short(place, &self.data, bytes),
            Does::Get => self.data = memory::load_short(place, bytes),
            Does::Accumulate(combine) => {
                let before = memory::load_short(place, bytes);
                memory::store_short(place, &combine.short(self.data, before, bytes), bytes);
            }
        }
    }
    /// Returns what it found, if it was to find something.
    #[inline]
    pub(crate) fn fetched(&self) -> Option<Fetched> {
        matches!(self.does, Does::Get).then_some(Fetched {
            to: self.wanted,
            data: self.data,
            bytes: self.bytes,
        })
    }
}

impl Fetched {
    /// Stores the data where it is wanted; that rank is mounted.
    pub(crate) fn deliver(self) {
        memory::store_short(self.to, &self.data, usize::from(self.bytes));
    }
}
