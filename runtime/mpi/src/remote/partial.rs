//! Reductions of members on several processes in the association of one: each process reduces what it has whole parts of.

use crate::op::Kernel;
use crate::remote::record::{Put, Take};

/// Reduced contributions of members in a row: see [`Digest::Pairs`](crate::collective::schedule::Digest::Pairs).
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Partial {
    /// Operands of the binary tree that it covers, a power of two; 0 for one member of a pair that makes an operand.
    width: u32,
    /// Which of this width; the member, where that is 0.
    index: u32,
    data: Vec<u8>,
}

/// Reduces partial results that come in the order of members.
pub(crate) struct Tree {
    kernel: Kernel,
    partials: Vec<Partial>,
    spare: Vec<Vec<u8>>,
}

impl Tree {
    pub(crate) fn new(kernel: Kernel) -> Tree {
        Tree { kernel, partials: Vec::new(), spare: Vec::new() }
    }
    /// The contribution of a member, where `folded` pairs reduce first.
    pub(crate) fn member(&mut self, member: u32, folded: u32, contribution: &[u8]) {
        let mut data = self.spare.pop().unwrap_or_default();
        data.clear();
        data.extend_from_slice(contribution);
        let (width, index) = if member < 2 * folded { (0, member) } else { (1, member - folded) };
        self.push(Partial { width, index, data });
    }
    /// The next partial result.
    pub(crate) fn push(&mut self, mut right: Partial) {
        while let Some(left) = self.partials.pop_if(|left| left.width == right.width && left.index ^ 1 == right.index) {
            (self.kernel)(&left.data, &mut right.data);
            self.spare.push(left.data);
            (right.width, right.index) = ((2 * right.width).max(1), right.index / 2);
        }
        self.partials.push(right);
    }
    /// What cannot be reduced further.
    pub(crate) fn finish(self) -> Vec<Partial> {
        self.partials
    }
    /// The result of all members.
    pub(crate) fn result(mut self) -> Vec<u8> {
        debug_assert_eq!(self.partials.len(), 1, "all members are in");
        self.partials.pop().map(|partial| partial.data).unwrap_or_default()
    }
}

/// Appends partial results.
pub(crate) fn put(partials: &[Partial], out: &mut Vec<u8>) {
    out.u32(partials.len() as u32);
    for partial in partials {
        out.u32(partial.width);
        out.u32(partial.index);
        out.bytes(&partial.data);
    }
}

/// What [`put`] appended.
pub(crate) fn take(from: &mut Take) -> Vec<Partial> {
    (0..from.u32()).map(|_| Partial { width: from.u32(), index: from.u32(), data: from.bytes().to_vec() }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Not associative: the result tells who was reduced with whom.
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
        let mut level: Vec<Vec<u8>> = operands.chunks(2).map(|two| pair(two[0].clone(), two[1].clone())).chain(rest).collect();
        while level.len() > 1 {
            level = level.chunks(2).map(|two| pair(two[0].clone(), two[1].clone())).collect();
        }
        level.pop().unwrap()
    }

    proptest! {
        #[test]
        fn members_on_several_processes_reduce_in_the_order_of_one(log in 0u32..6, folded in 0u32..32, cuts in proptest::collection::vec(0u32..70, 0..4)) {
            let among = 1 << log;
            let folded = folded % among;
            let size = among + folded;
            let operands: Vec<Vec<u8>> = (0..size).map(|member| vec![member as u8, member as u8 ^ 0xa7]).collect();
            let mut starts: Vec<u32> = cuts.iter().map(|cut| cut % (size + 1)).chain([0, size]).collect();
            starts.sort_unstable();
            let mut all = Tree::new(hash);
            for part in starts.windows(2) {
                let mut own = Tree::new(hash);
                (part[0]..part[1]).for_each(|member| own.member(member, folded, &operands[member as usize]));
                let mut bytes = Vec::new();
                put(&own.finish(), &mut bytes);
                take(&mut Take(&bytes)).into_iter().for_each(|partial| all.push(partial));
            }
            prop_assert_eq!(all.result(), plain(operands, folded as usize));
        }
    }
}
