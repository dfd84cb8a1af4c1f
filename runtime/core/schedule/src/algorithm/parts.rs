//! Parts that the algorithms share: rank arithmetic, slices, pieces of a message.

use crate::{Buffer, Slice, Step};

/// Returns a range of `Input`.
#[inline]
pub(crate) fn input(offset: u64, bytes: u64) -> Slice {
    Slice { buffer: Buffer::Input, offset, bytes }
}

/// Returns a range of `Output`.
#[inline]
pub(crate) fn output(offset: u64, bytes: u64) -> Slice {
    Slice { buffer: Buffer::Output, offset, bytes }
}

/// Returns a range of `Scratch`.
#[inline]
pub(crate) fn scratch(offset: u64, bytes: u64) -> Slice {
    Slice { buffer: Buffer::Scratch, offset, bytes }
}

/// Returns a slice of bytes that cost time and carry nothing.
#[inline]
pub(crate) fn nothing(bytes: u64) -> Slice {
    Slice { buffer: Buffer::Nothing, offset: 0, bytes }
}

/// Returns the slice `bytes` long that begins `offset` bytes into `of`.
#[inline]
pub(crate) fn part(of: Slice, offset: u64, bytes: u64) -> Slice {
    debug_assert!(offset + bytes <= of.bytes, "a part lies inside its slice");
    Slice { buffer: of.buffer, offset: of.offset + offset, bytes }
}

/// Appends a copy unless it is empty.
// Empty steps are left out everywhere, so that who interprets them needs no question about them.
#[inline]
pub(crate) fn copy(from: Slice, into: Slice, steps: &mut Vec<Step>) {
    if from.bytes > 0 {
        steps.push(Step::Copy { from, into });
    }
}

/// Appends `into = from op into` if `left`, else `into = into op from`, unless it is empty.
#[inline]
pub(crate) fn reduce(left: bool, from: Slice, into: Slice, steps: &mut Vec<Step>) {
    if into.bytes == 0 {
        return;
    }
    steps.push(if left { Step::ReduceLeft { from, into } } else { Step::ReduceRight { from, into } });
}

/// Returns the least `k` with `2^k >= n`: rounds of a doubling algorithm.
#[inline]
pub(crate) fn ceil_log2(n: u32) -> u32 {
    if n <= 1 { 0 } else { 32 - (n - 1).leading_zeros() }
}

/// `(rank + distance) mod size`, for `distance <= size`.
// A comparison and not a division: this is asked for every message.
#[inline]
pub(crate) fn add(rank: u32, distance: u32, size: u32) -> u32 {
    let sum = u64::from(rank) + u64::from(distance);
    (if sum >= u64::from(size) { sum - u64::from(size) } else { sum }) as u32
}

/// Returns `(rank - distance) mod size`, for `distance <= size`.
#[inline]
pub(crate) fn subtract(rank: u32, distance: u32, size: u32) -> u32 {
    if rank >= distance {
        rank - distance
    } else {
        (u64::from(rank) + u64::from(size) - u64::from(distance)) as u32
    }
}

/// A message in nearly equal pieces of whole elements: the first `count mod parts` pieces have one element
/// more.
// The longer ones first, as the libraries cut: bytes and times then agree with theirs.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Pieces {
    each: u64,
    longer: u64,
    element: u64,
}

impl Pieces {
    /// Divides `bytes` into `parts` pieces of whole `element`s.
    pub(crate) fn new(bytes: u64, parts: u32, element: u64) -> Pieces {
        let element = element.max(1);
        let count = bytes / element;
        Pieces { each: count / u64::from(parts), longer: count % u64::from(parts), element }
    }
    /// Returns where piece `index` begins.
    #[inline]
    pub(crate) fn offset(&self, index: u32) -> u64 {
        (self.each * u64::from(index) + self.longer.min(u64::from(index))) * self.element
    }
    /// Returns the bytes of pieces `first..end`.
    #[inline]
    pub(crate) fn bytes(&self, first: u32, end: u32) -> u64 {
        self.offset(end) - self.offset(first)
    }
    /// Pieces `first..end` of `whole`.
    #[inline]
    pub(crate) fn slice(&self, whole: Slice, first: u32, end: u32) -> Slice {
        part(whole, self.offset(first), self.bytes(first, end))
    }
}

/// Members of which some step back so that a power of two remains. Of the first `2 * folded` members, the
/// even one of each pair hands its part to the odd one. MPICH's and Open MPI's recursive doubling do so
/// (Thakur, Rabenseifner and Gropp, IJHPCA 2005, section 4.3).
#[derive(Clone, Copy, Debug)]
pub(crate) struct Fold {
    /// Members that remain, a power of two.
    pub(crate) among: u32,
    /// Pairs.
    pub(crate) folded: u32,
    /// The member that must remain, if it is the even one of a pair.
    keep: u32,
}

impl Fold {
    /// Makes the fold of `size` members.
    pub(crate) fn new(size: u32) -> Fold {
        Fold::keeping(size, 1)
    }
    /// For `size` members of which `keep` remains.
    // The root of a reduction must be among those that remain, or the result would take a message more.
    pub(crate) fn keeping(size: u32, keep: u32) -> Fold {
        let among = 1 << size.ilog2();
        Fold { among, folded: size - among, keep }
    }
    /// Rounds of exchanges among those that remain.
    #[inline]
    pub(crate) fn exchanges(&self) -> u32 {
        self.among.ilog2()
    }
    /// Returns 1 if there are pairs, else 0: the rounds before and after the exchanges.
    #[inline]
    pub(crate) fn fringe(&self) -> u32 {
        u32::from(self.folded > 0)
    }
    /// Returns the other of the pair of `rank`, if it is in one.
    #[inline]
    pub(crate) fn pair(&self, rank: u32) -> Option<u32> {
        (rank / 2 < self.folded).then_some(rank ^ 1)
    }
    /// Returns the position of `rank` among those that remain, `None` if it steps back.
    #[inline]
    pub(crate) fn position(&self, rank: u32) -> Option<u32> {
        if rank / 2 >= self.folded {
            Some(rank - self.folded)
        } else if self.member(rank / 2) == rank {
            Some(rank / 2)
        } else {
            None
        }
    }
    /// Returns the member at `position`.
    #[inline]
    pub(crate) fn member(&self, position: u32) -> u32 {
        if position >= self.folded {
            position + self.folded
        } else if self.keep == 2 * position {
            2 * position
        } else {
            2 * position + 1
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_cover_the_message_without_splitting_an_element() {
        for parts in 1..9 {
            for count in 0..30 {
                let pieces = Pieces::new(count * 4, parts, 4);
                assert_eq!(pieces.offset(parts), count * 4);
                for i in 0..parts {
                    assert_eq!(pieces.bytes(i, i + 1) % 4, 0);
                    assert!(pieces.bytes(i, i + 1) / 4 <= count.div_ceil(u64::from(parts)));
                }
            }
        }
    }

    #[test]
    fn fold_positions_and_members_are_inverse_and_keep_the_kept() {
        for size in 1..40 {
            for keep in 0..size {
                let fold = Fold::keeping(size, keep);
                assert!(fold.position(keep).is_some());
                for position in 0..fold.among {
                    assert_eq!(fold.position(fold.member(position)), Some(position));
                }
                let back = (0..size).filter(|&r| fold.position(r).is_none());
                assert_eq!(back.count() as u32, fold.folded);
            }
        }
    }

    #[test]
    fn logarithm_rounds_up() {
        assert_eq!([1, 2, 3, 4, 5, 8, 9, 1 << 31].map(ceil_log2), [0, 1, 2, 2, 3, 3, 4, 31]);
        assert_eq!(ceil_log2(u32::MAX), 32);
    }
}
