//! Reductions of members on several processes in the association of one: each process reduces what it has
//! whole parts of.

use crate::Association;
use crate::Kernel;
use engine::record::{Put, Take};
use std::ops::Range;

/// Reduced contributions of members in a row: see [`Association`].
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Partial {
    /// Operands of the binary tree that it covers, a power of two (at the end of [`Association::Rows`] some
    /// are missing); 0 for one member of a pair that makes an operand.
    width: u32,
    /// The index among partial results of this width; the member's number where the width is 0.
    index: u32,
    data: Vec<u8>,
}

/// Reduces partial results that come in the order of operands.
// A binary counter of partial results: like widths that neighbour combine as they come, so that at most log n
// wait at a time.
pub struct ReductionTree {
    kernel: Kernel,
    association: Association,
    size: u32,
    partials: Vec<Partial>,
    // Buffers of operands that were combined: a million members need as many as the tree is deep.
    spare: Vec<Vec<u8>>,
}

impl ReductionTree {
    /// Creates the reduction of the operands of `size` members in the association `association`.
    pub fn new(kernel: Kernel, association: Association, size: u32) -> ReductionTree {
        ReductionTree { kernel, association, size, partials: Vec::new(), spare: Vec::new() }
    }
    /// Takes the contributions of members in a row.
    pub fn members<'a>(&mut self, own: Range<u32>, contribution: impl Fn(u32) -> &'a [u8]) {
        let top = match self.association {
            Association::Pairs { .. } => 0,
            Association::Rows { top } => top,
        };
        // In the order of positions, which begin at the top: operands that neighbour must come one after the
        // other.
        for member in (own.start.max(top)..own.end).chain(own.start..own.end.min(top)) {
            self.member(member, contribution(member));
        }
    }
    fn member(&mut self, member: u32, contribution: &[u8]) {
        let mut data = self.spare.pop().unwrap_or_default();
        data.clear();
        data.extend_from_slice(contribution);
        let (width, index) = match self.association {
            Association::Pairs { folded, .. } if member < 2 * folded => (0, member),
            Association::Pairs { folded, .. } => (1, member - folded),
            Association::Rows { top } if member < top => (1, self.size - top + member),
            Association::Rows { top } => (1, member - top),
        };
        self.push(Partial { width, index, data });
    }
    /// The partial results of all processes, in the order of their members.
    // By the first position that each covers: processes have segments in the order of members, not of
    // positions.
    pub fn push_all(&mut self, mut partials: Vec<Partial>) {
        if let Association::Rows { .. } = self.association {
            partials.sort_by_key(|partial| partial.width * partial.index);
        }
        partials.into_iter().for_each(|partial| self.push(partial));
    }
    fn push(&mut self, mut right: Partial) {
        // Neighbours of one width are a pair if their numbers differ in the last bit alone; any other order
        // would be another association.
        while let Some(left) =
            self.partials.pop_if(|left| left.width == right.width && left.index ^ 1 == right.index)
        {
            (self.kernel)(&left.data, &mut right.data);
            self.spare.push(left.data);
            (right.width, right.index) = ((2 * right.width).max(1), right.index / 2);
        }
        self.partials.push(right);
    }
    /// Returns what cannot be reduced further.
    pub fn finish(self) -> Vec<Partial> {
        self.partials
    }
    /// Returns the result of all members.
    pub fn result(mut self) -> Vec<u8> {
        if let Association::Rows { .. } = self.association {
            // The last row is shorter: it stands for a whole one to the one before it.
            while self.partials.len() > 1
                && let (Some(mut right), Some(left)) = (self.partials.pop(), self.partials.pop())
            {
                (self.kernel)(&left.data, &mut right.data);
                self.partials.push(right);
            }
        }
        debug_assert_eq!(self.partials.len(), 1, "all members are in");
        self.partials.pop().map(|partial| partial.data).unwrap_or_default()
    }
}

/// Appends partial results.
pub fn put(partials: &[Partial], out: &mut Vec<u8>) {
    out.u32(partials.len() as u32);
    for partial in partials {
        out.u32(partial.width);
        out.u32(partial.index);
        out.bytes(&partial.data);
    }
}

/// Returns what [`put`] appended.
pub fn take(from: &mut Take) -> Vec<Partial> {
    (0..from.u32())
        .map(|_| Partial { width: from.u32(), index: from.u32(), data: from.bytes().to_vec() })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Hashes both operands into `right`. It is not associative: the result shows who was reduced with whom.
    fn hash(left: &[u8], right: &mut [u8]) {
        for (left, right) in left.iter().zip(right) {
            *right = left.wrapping_mul(31).wrapping_add(right.wrapping_mul(17)).rotate_left(3) ^ 0x5a;
        }
    }

    fn plain(mut operands: Vec<Vec<u8>>, folded: usize) -> Vec<u8> {
        let pair = |left: Vec<u8>, mut right: Vec<u8>| {
            hash(&left, &mut right);
            right
        };
        let rest = operands.split_off(2 * folded);
        let mut level: Vec<Vec<u8>> =
            operands.chunks(2).map(|two| pair(two[0].clone(), two[1].clone())).chain(rest).collect();
        while level.len() > 1 {
            level = level.chunks(2).map(|two| pair(two[0].clone(), two[1].clone())).collect();
        }
        level.pop().unwrap()
    }

    fn by_rows(operands: &[Vec<u8>], top: usize) -> Vec<u8> {
        let size = operands.len();
        let mut rows: Vec<Option<Vec<u8>>> =
            (0..size).map(|position| Some(operands[(top + position) % size].clone())).collect();
        let mut width = 1;
        while width < size {
            for start in (0..size - width).step_by(2 * width) {
                let mut right = rows[start + width].take().unwrap();
                hash(rows[start].as_ref().unwrap(), &mut right);
                rows[start] = Some(right);
            }
            width *= 2;
        }
        rows[0].take().unwrap()
    }

    /// Returns the result, when processes have the members between these cuts.
    fn apart(association: Association, operands: &[Vec<u8>], cuts: &[u32]) -> Vec<u8> {
        let size = operands.len() as u32;
        let mut starts: Vec<u32> = cuts.iter().map(|cut| cut % (size + 1)).chain([0, size]).collect();
        starts.sort_unstable();
        let mut partials = Vec::new();
        for part in starts.windows(2) {
            let mut own = ReductionTree::new(hash, association, size);
            own.members(part[0]..part[1], |member| &operands[member as usize]);
            let mut bytes = Vec::new();
            put(&own.finish(), &mut bytes);
            partials.extend(take(&mut Take(&bytes)));
        }
        let mut all = ReductionTree::new(hash, association, size);
        all.push_all(partials);
        all.result()
    }

    fn operands(size: u32) -> Vec<Vec<u8>> {
        (0..size).map(|member| vec![member as u8, member as u8 ^ 0xa7]).collect()
    }

    proptest! {
        #[test]
        fn members_on_several_processes_reduce_in_the_order_of_one(
            log in 0u32..6,
            folded in 0u32..32,
            cuts in proptest::collection::vec(0u32..70, 0..4),
        ) {
            let among = 1 << log;
            let folded = folded % among;
            let operands = operands(among + folded);
            prop_assert_eq!(
                apart(Association::Pairs { among, folded }, &operands, &cuts),
                plain(operands, folded as usize)
            );
        }

        #[test]
        fn rows_counted_from_any_member_reduce_in_the_order_of_one_process(
            size in 1u32..70,
            top in 0u32..70,
            cuts in proptest::collection::vec(0u32..70, 0..4),
        ) {
            let (operands, top) = (operands(size), top % size);
            prop_assert_eq!(
                apart(Association::Rows { top }, &operands, &cuts),
                by_rows(&operands, top as usize)
            );
        }
    }
}
