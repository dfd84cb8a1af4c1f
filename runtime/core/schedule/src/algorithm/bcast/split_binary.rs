//! Broadcast down a binary tree in halves (Open MPI): one half goes down the left subtree, the other down the
//! right one, then pairs of members, one of each subtree, exchange.

use std::rc::Rc;

use super::super::parameters::Parameters;
use super::super::parts::{add, part, subtract};
use super::super::trees::{Shaped, Tree};
use super::linear::linear;
use super::message::message;
use crate::{Member, Schedule, Shape, Slice, Step};

/// Odd positions are the left subtree, positive even ones the right.
struct SplitBinary {
    tree: Shaped,
    size: u32,
    root: u32,
    /// Bytes of the first half, the longer one.
    first: u64,
    bytes: u64,
    segment: u64,
    segments: u32,
}

/// Builds the split binary tree; linear where a half would be empty.
pub(in super::super) fn split_binary(shape: &Shape, parameters: &Parameters) -> Rc<dyn Schedule> {
    if shape.bytes < 2 {
        return linear(shape, parameters);
    }
    let first = shape.bytes.div_ceil(2);
    let (segment, segments) = parameters.segments(first, 1);
    let tree = Shaped::new(Tree::Binary, shape.size);
    Rc::new(SplitBinary {
        tree,
        size: shape.size,
        root: shape.root,
        first,
        bytes: shape.bytes,
        segment,
        segments,
    })
}

impl SplitBinary {
    fn half(&self, whole: Slice, right: bool) -> Slice {
        if right { part(whole, self.first, self.bytes - self.first) } else { part(whole, 0, self.first) }
    }
    /// A segment of the half of position `position`; the last ones of the shorter half may be empty.
    // Halves differ by a byte: the shorter one's last segment may be empty, and is sent so that rounds stay
    // aligned.
    fn segment(&self, whole: Slice, position: u32, index: u32) -> Slice {
        let half = self.half(whole, position.is_multiple_of(2));
        let offset = (u64::from(index) * self.segment).min(half.bytes);
        part(half, offset, self.segment.min(half.bytes - offset))
    }
    fn rank(&self, position: u32) -> u32 {
        add(position, self.root, self.size)
    }
    /// Exchanges halves with the other member of the pair; the last one of an even size has none and hears
    /// from the root.
    fn exchange(&self, position: u32, whole: Slice, steps: &mut Vec<Step>) {
        let alone = self.size.is_multiple_of(2);
        let last = self.size - 1;
        if position == 0 {
            if alone {
                steps.push(Step::Send { to: self.rank(last), from: self.half(whole, true) });
            }
        } else if position == last && alone {
            steps.push(Step::Receive { from: self.root, into: self.half(whole, true) });
        } else {
            let right = position.is_multiple_of(2);
            let other = self.rank(if right { position - 1 } else { position + 1 });
            steps.push(Step::Send { to: other, from: self.half(whole, right) });
            steps.push(Step::Receive { from: other, into: self.half(whole, !right) });
        }
    }
}

impl Schedule for SplitBinary {
    fn name(&self) -> &'static str {
        "split-binary"
    }
    fn rounds(&self) -> u32 {
        self.tree.height() + self.segments
    }
    fn round(&self, member: &Member, round: u32, steps: &mut Vec<Step>) {
        let position = subtract(member.rank, self.root, self.size);
        let whole = message(member, self.root);
        if round + 1 == self.rounds() {
            return self.exchange(position, whole, steps);
        }
        let (depth, parent) = self.tree.place(position);
        let sends = round.wrapping_sub(depth);
        if sends < self.segments {
            self.tree.children(position, |child| {
                steps.push(Step::Send { to: self.rank(child), from: self.segment(whole, child, sends) });
            });
        }
        let receives = round.wrapping_sub(depth).wrapping_add(1);
        if let Some(parent) = parent
            && receives < self.segments
        {
            steps.push(Step::Receive {
                from: self.rank(parent),
                into: self.segment(whole, position, receives),
            });
        }
    }
    fn scratch(&self, _: &Member) -> u64 {
        0
    }
}
