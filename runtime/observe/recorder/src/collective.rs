//! Algorithms that collective calls took, and how long others would have taken: what recorders are told, and
//! what the report has.

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Collective calls that took the same algorithm among as many members with about as many bytes.
// Sizes fall into powers of two, so that a program whose messages are all differently long has no more kinds
// than there are bits.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize, Deserialize)]
pub struct CollectiveKind {
    /// The collective, as `-xsim-coll` calls it.
    pub collective: String,
    /// The algorithm, as `-xsim-coll` calls it; `local` where nothing is sent.
    pub algorithm: String,
    /// Members.
    pub members: u32,
    /// `true` if blocks may differ from member to member.
    pub irregular: bool,
    /// `true` if the operation commutes, if it is a reduction.
    pub commutative: bool,
    /// Length in bits of the byte count that the decision tables look at.
    pub size_bits: u32,
}

/// One of the calls of a kind, from which the others' times follow: of those with most bytes that of the
/// communicator whose ranks are the lowest, then that with the lowest root.
// A total order, so that the example does not depend on which process has seen which call first.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Example {
    /// Bytes.
    pub bytes: u64,
    /// The members in `MPI_COMM_WORLD`, in runs: the first, from one to the next, how many.
    pub ranks: Vec<(u32, i64, u32)>,
    /// The root; 0 where there is none.
    pub root: u32,
    /// Bytes of an element.
    pub element: u64,
    /// `true` if the operation is one of MPI's own.
    pub predefined: bool,
}

impl Example {
    /// Returns its members in `MPI_COMM_WORLD`, in their order.
    pub fn members(&self) -> impl Iterator<Item = u32> + '_ {
        let run = |&(first, stride, count): &(u32, i64, u32)| {
            (0..i64::from(count)).map(move |at| (i64::from(first) + stride * at) as u32)
        };
        self.ranks.iter().flat_map(run)
    }

    /// Returns `true` if this one stands for both.
    fn leads(&self, other: &Example) -> bool {
        let key =
            |example: &Example| (u64::MAX - example.bytes, example.root, example.element, example.predefined);
        (key(self).0, &self.ranks, key(self)) <= (key(other).0, &other.ranks, key(other))
    }
}

/// A kind with what is known of its calls.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct CollectiveUse {
    /// The fewest bytes.
    pub least_bytes: u64,
    /// The call that stands for all.
    pub example: Example,
}

impl CollectiveUse {
    /// Adds the calls that another process has seen.
    pub fn add(&mut self, other: &CollectiveUse) {
        self.least_bytes = self.least_bytes.min(other.least_bytes);
        if !self.example.leads(&other.example) {
            self.example = other.example.clone();
        }
    }
}

/// The calls of a kind from one place, as a report has them.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct CollectiveCost {
    /// Call site, as [`SiteCost::site`](crate::call_profile::SiteCost::site).
    pub site: String,
    /// The MPI function.
    pub function: String,
    /// Kind of the calls.
    pub kind: CollectiveKind,
    /// The fewest bytes that the decision tables look at, of any of them.
    pub least_bytes: u64,
    /// The most.
    pub most_bytes: u64,
    /// Calls, one for each member.
    pub calls: u64,
    /// Their time from entry to return; of those that do not block the rest is in the calls that complete
    /// them.
    pub time_ps: u128,
    /// Waiting within it.
    pub wait_ps: u128,
    /// The time that one takes by each algorithm whose members enter at one time, this one's too; nothing
    /// where it was not found out.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub takes_ps: BTreeMap<String, u64>,
    /// The reason why some or all of that is not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unknown: Option<Unknown>,
    /// Until the times are found out.
    #[serde(skip)]
    pub example: Option<Example>,
}

/// The reason why it is not known how long other algorithms would have taken.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Unknown {
    /// Messages share the network, so that their times depend on all else that is under way.
    Shared,
    /// Members have blocks of different lengths.
    Blocks,
    /// To find out would take too long.
    Messages,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn example(bytes: u64, first: u32, root: u32) -> CollectiveUse {
        let example = Example { bytes, ranks: vec![(first, 1, 4)], root, element: 8, predefined: true };
        CollectiveUse { least_bytes: bytes, example }
    }

    #[test]
    fn the_same_call_stands_for_all_in_whatever_order_they_come() {
        let calls = [example(8, 0, 1), example(16, 4, 0), example(16, 0, 3), example(16, 0, 2)];
        for shift in 0..calls.len() {
            let mut all = calls[shift].clone();
            (1..calls.len()).for_each(|at| all.add(&calls[(shift + at) % calls.len()]));
            assert_eq!((all.least_bytes, all.example), (8, example(16, 0, 2).example));
        }
    }
}
