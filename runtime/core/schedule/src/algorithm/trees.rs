//! Trees over positions `0..size`, as pipelined broadcasts and reductions use them.

/// A family of trees. Positions are ranks counted from the root, which is position 0 ([`Tree::InOrder`]: the
/// last).
// The shapes are those of the libraries, child by child, since the order in which a member sends to its
// children is seen in the times.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Tree {
    /// `fanout` chains of consecutive positions hang at the root; the first ones are longer by one where it
    /// does not divide.
    Chain {
        /// The number of chains.
        fanout: u32,
    },
    /// Each level is twice as wide as the one above; the left children of a level come before its right
    /// children.
    Binary,
    /// The parent of a position is itself with its lowest non-zero digit in base `radix` cleared.
    Knomial {
        /// The base.
        radix: u32,
    },
    /// Binary; a subtree is a range of positions with its root last, left subtree before right subtree: a
    /// reduction keeps order.
    InOrder,
}

/// A tree over `size` positions.
// Two words and no table: parent and children follow from the position, for any size.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Shaped {
    tree: Tree,
    size: u32,
}

impl Shaped {
    /// Shapes `tree` over `size` positions.
    pub(crate) fn new(tree: Tree, size: u32) -> Shaped {
        let tree = match tree {
            // Users set the fanout: more chains than members would be chains of nobody.
            Tree::Chain { fanout } => Tree::Chain { fanout: fanout.clamp(1, size.max(2) - 1) },
            Tree::Knomial { radix } => Tree::Knomial { radix: radix.max(2) },
            other => other,
        };
        Shaped { tree, size }
    }

    /// Returns the position of the root.
    pub(crate) fn root(&self) -> u32 {
        if self.tree == Tree::InOrder { self.size - 1 } else { 0 }
    }

    /// Returns depth and parent of a position; the root has depth 0. O(log size).
    pub(crate) fn place(&self, position: u32) -> (u32, Option<u32>) {
        if position == self.root() {
            return (0, None);
        }
        match self.tree {
            Tree::Chain { fanout } => {
                let step = Self::chain_step(self.size, fanout, position);
                (step + 1, Some(if step == 0 { 0 } else { position - 1 }))
            }
            Tree::Binary => {
                let level = (position + 1).ilog2();
                let above = (1u32 << (level - 1)) - 1;
                (level, Some(above + ((position - above) & above)))
            }
            Tree::Knomial { radix } => Self::knomial_place(position, radix),
            Tree::InOrder => {
                let (depth, parent, _) = self.descend(position);
                (depth, Some(parent))
            }
        }
    }

    /// Calls `visit` with the children of a position, in the order they are sent to.
    pub(crate) fn children(&self, position: u32, mut visit: impl FnMut(u32)) {
        match self.tree {
            Tree::Chain { fanout } if position == 0 => {
                let mut first = 1;
                for chain in 0..fanout.min(self.size - 1) {
                    visit(first);
                    first += Self::chain_length(self.size, fanout, chain);
                }
            }
            Tree::Chain { fanout } => {
                let next = position + 1;
                if next < self.size && Self::chain_step(self.size, fanout, next) > 0 {
                    visit(next);
                }
            }
            Tree::Binary => {
                let width = 1u64 << (position + 1).ilog2();
                for child in [u64::from(position) + width, u64::from(position) + 2 * width] {
                    if child < u64::from(self.size) {
                        visit(child as u32);
                    }
                }
            }
            Tree::Knomial { radix } => self.knomial_children(position, radix, visit),
            Tree::InOrder => {
                let (_, _, first) = self.descend(position);
                let (left, right) = Self::in_order_children(first, position);
                left.into_iter().chain(right).for_each(visit);
            }
        }
    }

    /// A bound on the depth, reached in all families but some k-nomial sizes.
    // A bound is enough for the number of rounds; a round in which nobody has a step takes no time.
    pub(crate) fn height(&self) -> u32 {
        match self.tree {
            Tree::Chain { fanout } => Self::chain_length(self.size, fanout, 0),
            Tree::Binary => self.size.ilog2(),
            Tree::Knomial { radix } => {
                let (mut digits, mut reach) = (0, 1u64);
                while reach < u64::from(self.size) {
                    reach *= u64::from(radix);
                    digits += 1;
                }
                digits
            }
            Tree::InOrder => {
                let (mut height, mut nodes) = (0, self.size);
                while nodes > 1 {
                    nodes = (nodes - 1).div_ceil(2);
                    height += 1;
                }
                height
            }
        }
    }

    fn chain_length(size: u32, fanout: u32, chain: u32) -> u32 {
        (size - 1) / fanout + u32::from(chain < (size - 1) % fanout)
    }

    /// Returns how far down its chain a position other than the root is.
    fn chain_step(size: u32, fanout: u32, position: u32) -> u32 {
        let (short, longer) = ((size - 1) / fanout, (size - 1) % fanout);
        let index = position - 1;
        if index < longer * (short + 1) {
            index % (short + 1)
        } else {
            (index - longer * (short + 1)) % short
        }
    }

    fn knomial_place(position: u32, radix: u32) -> (u32, Option<u32>) {
        let (mut depth, mut scale, mut rest, mut parent) = (0, 1, position, None);
        while rest > 0 {
            let digit = rest % radix;
            if digit > 0 {
                depth += 1;
                parent = parent.or(Some(position - digit * scale));
            }
            rest /= radix;
            if rest > 0 {
                scale *= radix;
            }
        }
        (depth, parent)
    }

    fn knomial_children(&self, position: u32, radix: u32, mut visit: impl FnMut(u32)) {
        let (radix, position, size) = (u64::from(radix), u64::from(position), u64::from(self.size));
        let mut scale = 1;
        while position % (scale * radix) == 0 && scale < size {
            scale *= radix;
        }
        // The farthest first: their subtrees are the largest.
        while scale > 1 {
            scale /= radix;
            for digit in 1..radix {
                let child = position + digit * scale;
                if child < size {
                    visit(child as u32);
                }
            }
        }
    }

    /// Roots of the left and right subtree of the node `root` of range `first..=root`.
    fn in_order_children(first: u32, root: u32) -> (Option<u32>, Option<u32>) {
        let below = root - first;
        let left = below / 2;
        ((left > 0).then(|| first + left - 1), (below > left).then(|| root - 1))
    }

    /// Depth, parent, and first position of the subtree of a node of the in-order tree.
    // O(log size), from the root down: an in-order tree has no formula for a position's parent.
    fn descend(&self, position: u32) -> (u32, u32, u32) {
        let (mut first, mut root, mut depth, mut parent) = (0, self.size - 1, 0, self.size - 1);
        while root != position {
            let (left, right) = Self::in_order_children(first, root);
            parent = root;
            depth += 1;
            match left {
                Some(left) if position <= left => root = left,
                left => {
                    first = left.map_or(first, |left| left + 1);
                    root = right.expect("a position lies in one of the subtrees");
                }
            }
        }
        (depth, parent, first)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TREES: [Tree; 8] = [
        Tree::Chain { fanout: 1 },
        Tree::Chain { fanout: 2 },
        Tree::Chain { fanout: 4 },
        Tree::Binary,
        Tree::Knomial { radix: 2 },
        Tree::Knomial { radix: 3 },
        Tree::Knomial { radix: 4 },
        Tree::InOrder,
    ];

    #[test]
    fn parents_and_children_agree_and_reach_everybody_within_the_height() {
        for tree in TREES {
            for size in 1..70 {
                let shaped = Shaped::new(tree, size);
                let mut parents = vec![None; size as usize];
                for position in 0..size {
                    shaped.children(position, |child| {
                        assert_eq!(parents[child as usize].replace(position), None, "{tree:?} {size}");
                    });
                }
                for position in 0..size {
                    let (depth, parent) = shaped.place(position);
                    assert_eq!(parent, parents[position as usize], "{tree:?} {size} {position}");
                    assert_eq!(depth, parent.map_or(0, |p| shaped.place(p).0 + 1));
                    assert!(depth <= shaped.height());
                }
                assert_eq!(parents.iter().filter(|p| p.is_none()).count(), 1);
            }
        }
    }
}
