//! Reduce-scatter by recursive vector halving with distance doubling. After the exchange at distance
//! `2^level` position `v` holds the result of its half over the positions that differ from `v` in the lowest
//! `level + 1` bits only. These are consecutive, so order is kept.

use super::parts::{Fold, Pieces, part, reduce};
use crate::{Slice, Step};

/// The pieces (first, end) of `among` that a position is left with after `levels` halvings: its lowest bit
/// chose the half, the next the quarter, ...
// The lowest bit is decided first and halves the whole: the bits of a position, read backwards, are its
// place.
#[inline]
pub(super) fn kept(among: u32, position: u32, levels: u32) -> (u32, u32) {
    let bits = among.ilog2();
    let chosen = position & ((1 << levels) - 1);
    let first = if bits == 0 { 0 } else { chosen.reverse_bits() >> (32 - bits) };
    (first, first + (among >> levels))
}

/// The ranges of a member's buffers that one exchange reads and writes.
pub(super) struct HalvingRanges {
    /// The own contribution, `None` once the partial result includes it.
    pub(super) own: Option<Slice>,
    /// The partial result so far.
    pub(super) partial: Slice,
    /// Room for what arrives.
    pub(super) waiting: Slice,
}

/// The exchange of one level; `cut(whole, pieces)` takes pieces (first, end) out of a slice.
// By distance doubling, operands stay neighbours: the order of those that do not commute is kept, at the
// price of pieces in reversed order.
pub(super) fn exchange(
    fold: &Fold,
    position: u32,
    level: u32,
    data: &HalvingRanges,
    cut: impl Fn(Slice, (u32, u32)) -> Slice,
    steps: &mut Vec<Step>,
) {
    let other = position ^ (1 << level);
    let to = fold.member(other);
    let (keeps, gives) = (kept(fold.among, position, level + 1), kept(fold.among, other, level + 1));
    let result = cut(data.partial, keeps);
    steps.push(Step::Send { to, from: cut(data.own.unwrap_or(data.partial), gives) });
    if let Some(own) = data.own {
        // What arrives takes the place of the result, and the own contribution is reduced into it.
        steps.push(Step::Receive { from: to, into: result });
        reduce(position < other, cut(own, keeps), result, steps);
    } else {
        let into = part(data.waiting, 0, result.bytes);
        steps.push(Step::Receive { from: to, into });
        reduce(other < position, into, result, steps);
    }
}

/// The halving of one message in nearly equal pieces among the members that remain after a fold.
#[derive(Clone, Copy, Debug)]
pub(super) struct Halving {
    /// The fold that selects the members that take part.
    pub(super) fold: Fold,
    pieces: Pieces,
}

impl Halving {
    /// Cuts `bytes` into nearly equal pieces of whole `element`s, a piece for each member that remains after
    /// the fold.
    pub(super) fn new(fold: Fold, bytes: u64, element: u64) -> Halving {
        Halving { fold, pieces: Pieces::new(bytes, fold.among, element) }
    }
    /// Returns what of `whole` a position is left with after `levels` halvings.
    pub(super) fn kept(&self, whole: Slice, position: u32, levels: u32) -> Slice {
        let (first, end) = kept(self.fold.among, position, levels);
        self.pieces.slice(whole, first, end)
    }
    /// Adds the exchange of one level.
    pub(super) fn exchange(&self, position: u32, level: u32, data: &HalvingRanges, steps: &mut Vec<Step>) {
        exchange(
            &self.fold,
            position,
            level,
            data,
            |whole, (first, end)| self.pieces.slice(whole, first, end),
            steps,
        );
    }
    /// Returns `true` if nobody's result holds the contribution of `rank` before the exchange of `level`.
    pub(super) fn is_first(&self, rank: u32, level: u32) -> bool {
        level == 0 && self.fold.pair(rank).is_none()
    }
}
