//! Links as topologies distinguish them.

use crate::bandwidth::{Bandwidth, Serialization};
use engine::Span;
use flow::Capacity;

/// A kind of link.
#[derive(Clone, Debug)]
pub struct LinkKind {
    /// Name in reports.
    pub name: String,
    /// Time of flight.
    pub latency: Span,
    /// Bytes a second.
    pub bandwidth: Bandwidth,
    serialization: Serialization,
}

impl LinkKind {
    /// Makes a kind of link.
    pub fn new(name: &str, latency: Span, bandwidth: Bandwidth) -> LinkKind {
        LinkKind { name: name.to_owned(), latency, bandwidth, serialization: Serialization::new(bandwidth) }
    }
    /// Picoseconds between the first and the last of `bytes`, at least one so that no two packets share an
    /// instant.
    #[inline]
    pub fn time(&self, bytes: u32) -> u64 {
        self.serialization.time(u64::from(bytes)).as_ps().max(1)
    }
    /// Returns the time between the first and the last of any number of bytes, 0 of none; saturates.
    pub(crate) fn span(&self, bytes: u64) -> u64 {
        self.serialization.span(bytes)
    }
    /// Returns the capacity; `None` if bytes take no time.
    pub(crate) fn capacity(&self) -> Option<Capacity> {
        self.serialization.capacity()
    }
    /// Behaves as `time`, or `None` beyond 2^64.
    pub(crate) fn checked_time(&self, bytes: u64) -> Option<u64> {
        self.serialization.checked_time(bytes).map(|span| span.as_ps().max(1))
    }
}
