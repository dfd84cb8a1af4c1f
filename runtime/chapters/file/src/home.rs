//! Decisions about a file, kept by the process of its first member.

use crate::access::HomeRequest;
use crate::meet::Meet;
use std::collections::BTreeMap;

/// A file at home.
pub(crate) struct Home {
    /// The shared pointer, in etypes.
    pub(crate) shared: u64,
    /// Meetings that members have entered, by number.
    pub(crate) meetings: BTreeMap<u32, Meeting>,
}

/// Members that have come so far.
#[derive(Default)]
pub(crate) struct Meeting {
    /// Their parts, in any order.
    pub(crate) parts: Vec<(HomeRequest, Meet)>,
}

impl Meeting {
    /// Returns who has come (world ranks).
    pub(crate) fn here(&self) -> impl Iterator<Item = u32> {
        self.parts.iter().map(|(access, _)| access.origin)
    }
}
