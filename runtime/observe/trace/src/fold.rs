//! Loops found while items come: RSDs (a run of items, repeated) and PRSDs (such loops nested), after Noeth,
//! Mueller, Schulz and de Supinski, "ScalaTrace: scalable compression and replay of communication traces"
//! (2009), section 3.
//!
//! What has come so far is a stack of items, some of them loops. An item that completes two equal runs at the
//! stack's top makes a loop of them. While the items that come are those of the loop at the top, only a place
//! in it moves on ([`Cursor`]), at the cost of one comparison.
//!
//! Another item settles the loop's count, and the loop is an item like others, so that loops of loops are
//! found in the same way.
//!
//! Stacks, loops and bodies are kept once for all who share a [`Grammar`] (hash-consing): a stack is the
//! number of its top, whose node names the one below. So a million ranks that do alike have one stack, and a
//! rank is a few words. What comes out depends on the items of one cursor alone, never on others that share
//! the grammar.

use crate::dictionary::Dictionary;
use smallvec::SmallVec;

/// An item: a symbol (`2 * number`) or a loop (`2 * number + 1`).
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Item(u32);

/// Kinds of items: a symbol, or a repeated body.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum FoldKind {
    /// One of what is folded, by number.
    Symbol(u32),
    /// A repeated body.
    Loop {
        /// Number of the body, as [`Grammar::body`] takes it.
        body: u32,
        /// Number of repetitions, at least 2.
        count: u64,
    },
}

/// The longest body that is looked for, in items. A longer loop of the program is stored as often as it runs.
pub const LONGEST: usize = 1024;

/// A stack that is not empty: the one below, and what lies on it.
type Node = (u32, Item);

/// The stack is not folded yet.
const UNKNOWN: u32 = u32::MAX;

/// Position of a cursor in one loop of a nest of loops.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct LoopPosition {
    body: u32,
    /// The next item of the body.
    place: u32,
    /// Number of complete passes through the body.
    passed: u64,
    /// Number of passes that the loop makes; `u64::MAX` for the outermost loop, whose end is unknown.
    count: u64,
}

/// One sequence of items under way.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Cursor {
    /// 0 is the empty one.
    stack: u32,
    /// The place in the loop at the top of the stack; empty: not in it.
    levels: SmallVec<[LoopPosition; 1]>,
    /// The symbol that comes next if the loop goes on.
    expected: u32,
}

impl Cursor {
    /// Returns the symbol that comes next if the loop that the sequence is in goes on.
    pub fn expected(&self) -> Option<u32> {
        (!self.levels.is_empty()).then_some(self.expected)
    }

    /// Returns the level, and how many turns it went on, if that is all that has happened since `before`.
    fn turns_since(&self, before: &Cursor) -> Option<(usize, u64)> {
        if (self.stack, self.levels.len(), self.expected)
            != (before.stack, before.levels.len(), before.expected)
        {
            return None;
        }
        let mut moved = None;
        for (at, (now, then)) in self.levels.iter().zip(&before.levels).enumerate() {
            if now == then {
                continue;
            }
            let turns = now.passed.checked_sub(then.passed)?;
            if moved.is_some() || *now != (LoopPosition { passed: now.passed, ..*then }) {
                return None;
            }
            moved = Some((at, turns));
        }
        moved
    }
}

/// All bodies, loops and stacks of some sequences.
pub struct Grammar {
    longest: usize,
    /// By number less one, since the empty stack is the first.
    stacks: Dictionary<Node>,
    /// The stacks with the loops that their tops complete, in the same places.
    folded: Vec<u32>,
    bodies: Dictionary<Box<[Item]>>,
    /// Body and count.
    loops: Dictionary<(u32, u64)>,
    /// The items at the top of the stack looked at, downwards.
    tail: Vec<Item>,
}

impl Default for Grammar {
    fn default() -> Self {
        Grammar::new(LONGEST)
    }
}

impl Grammar {
    /// Returns a grammar that looks for bodies of up to `longest` items.
    pub fn new(longest: usize) -> Grammar {
        let (stacks, bodies, loops) = (Dictionary::default(), Dictionary::default(), Dictionary::default());
        Grammar { longest, stacks, folded: Vec::new(), bodies, loops, tail: Vec::new() }
    }

    /// Returns what an item is.
    pub fn kind(&self, item: Item) -> FoldKind {
        if item.0 & 1 == 0 {
            return FoldKind::Symbol(item.0 >> 1);
        }
        let &(body, count) = self.loops.get(item.0 >> 1);
        FoldKind::Loop { body, count }
    }

    /// Returns the items of a loop's body.
    pub fn body(&self, body: u32) -> &[Item] {
        self.bodies.get(body)
    }

    /// Stacks that were made: what the memory goes by.
    pub fn len(&self) -> usize {
        self.stacks.len()
    }

    /// Returns `true` if nothing was folded yet.
    pub fn is_empty(&self) -> bool {
        self.stacks.is_empty()
    }

    /// Adds a symbol (below 2^31) to a sequence: O(1) in a loop that goes on, else O([`LONGEST`]) when the
    /// stack is new, O(1) when another sequence had it before.
    #[inline]
    pub fn add(&mut self, cursor: &mut Cursor, symbol: u32) {
        if !cursor.levels.is_empty() && cursor.expected == symbol {
            self.advance(cursor);
        } else {
            self.add_slowly(cursor, symbol);
        }
    }

    #[inline]
    fn advance(&self, cursor: &mut Cursor) {
        let last = cursor.levels.last_mut().expect("called in a loop");
        last.place += 1;
        let items = self.body(last.body);
        if let Some(next) = items.get(last.place as usize)
            && next.0 & 1 == 0
        {
            cursor.expected = next.0 >> 1;
            return;
        }
        self.turn(cursor);
    }

    /// Moves the cursor from the end of a body, or from before a loop in it, to the next symbol.
    fn turn(&self, cursor: &mut Cursor) {
        loop {
            let outermost = cursor.levels.len() == 1;
            let level = cursor.levels.last_mut().expect("called in a loop");
            let items = self.body(level.body);
            if level.place as usize == items.len() {
                level.place = 0;
                level.passed += 1;
                if !outermost && level.passed == level.count {
                    cursor.levels.pop();
                    cursor.levels.last_mut().expect("an outer loop").place += 1;
                }
                continue;
            }
            match self.kind(items[level.place as usize]) {
                FoldKind::Symbol(symbol) => {
                    cursor.expected = symbol;
                    return;
                }
                FoldKind::Loop { body, count } => {
                    cursor.levels.push(LoopPosition { body, place: 0, passed: 0, count })
                }
            }
        }
    }

    #[inline(never)]
    fn add_slowly(&mut self, cursor: &mut Cursor, symbol: u32) {
        self.leave(cursor);
        if let Some((_, top)) = self.node(cursor.stack)
            && let FoldKind::Loop { body, .. } = self.kind(top)
            && self.first(body) == symbol
        {
            cursor.levels.push(LoopPosition { body, place: 0, passed: 0, count: u64::MAX });
            self.turn(cursor);
            return self.advance(cursor);
        }
        cursor.stack = self.push(cursor.stack, Item(symbol << 1));
    }

    /// Settles the loop that a cursor is in: its count, and the part of its body that was begun again.
    fn leave(&mut self, cursor: &mut Cursor) {
        let levels = std::mem::take(&mut cursor.levels);
        for (depth, level) in levels.iter().enumerate() {
            if depth == 0 && level.passed > 0 {
                let (below, top) = self.node(cursor.stack).expect("a cursor is in the loop at the top");
                let FoldKind::Loop { body, count } = self.kind(top) else {
                    unreachable!("a cursor is in the loop at the top")
                };
                let more = self.repeated(body, count + level.passed);
                cursor.stack = self.above(below, more);
            } else if depth > 0 && level.passed > 1 {
                let inner = self.repeated(level.body, level.passed);
                cursor.stack = self.push(cursor.stack, inner);
            } else if depth > 0 && level.passed == 1 {
                self.push_part(cursor, level.body, usize::MAX);
            }
            self.push_part(cursor, level.body, level.place as usize);
        }
    }

    fn push_part(&mut self, cursor: &mut Cursor, body: u32, end: usize) {
        for place in 0..end.min(self.body(body).len()) {
            let item = self.body(body)[place];
            cursor.stack = self.push(cursor.stack, item);
        }
    }

    /// Returns the stack with one more item, folded.
    fn push(&mut self, stack: u32, item: Item) -> u32 {
        let above = self.above(stack, item);
        let place = above as usize - 1;
        if self.folded[place] == UNKNOWN {
            self.folded[place] = self.fold(above);
        }
        self.folded[place]
    }

    /// Returns the stack with one more item, as it is.
    fn above(&mut self, below: u32, top: Item) -> u32 {
        let place = self.stacks.place((below, top));
        self.folded.resize(self.stacks.len(), UNKNOWN);
        place + 1
    }

    /// Returns a stack's parts; `None` of the empty one.
    fn node(&self, stack: u32) -> Option<Node> {
        stack.checked_sub(1).map(|place| *self.stacks.get(place))
    }

    /// Makes a loop of the two equal runs at the top, the shortest if there are several.
    fn fold(&mut self, stack: u32) -> u32 {
        let mut tail = std::mem::take(&mut self.tail);
        tail.clear();
        let mut at = stack;
        let mut folded = stack;
        // tail[..n] are the n items at the top; a run of n has its twin in tail[n..2 n], so the top comes
        // again at n.
        while tail.len() <= self.longest
            && let Some((below, item)) = self.node(at)
        {
            if tail.first() == Some(&item)
                && let Some(rest) = self.twin(at, &tail)
            {
                let body = self.bodies.place(tail.iter().rev().copied().collect());
                let twice = self.repeated(body, 2);
                folded = self.above(rest, twice);
                break;
            }
            tail.push(item);
            at = below;
        }
        self.tail = tail;
        folded
    }

    /// Returns what is below, if the items at the top of `stack` are those of `tail`.
    fn twin(&self, stack: u32, tail: &[Item]) -> Option<u32> {
        let mut at = stack;
        for &item in tail {
            let (below, top) = self.node(at)?;
            if top != item {
                return None;
            }
            at = below;
        }
        Some(at)
    }

    /// Returns the symbol that a body begins with; O(depth of its loops).
    fn first(&self, mut body: u32) -> u32 {
        loop {
            match self.kind(self.body(body)[0]) {
                FoldKind::Symbol(symbol) => return symbol,
                FoldKind::Loop { body: inner, .. } => body = inner,
            }
        }
    }

    fn repeated(&mut self, body: u32, count: u64) -> Item {
        Item(self.loops.place((body, count)) << 1 | 1)
    }

    /// Adds a run of symbols `times` over. `add` adds it once. If a run leaves the cursor in the position
    /// that it was in, but for iterations of a loop that is not over, further runs do, too, and are counted.
    pub fn repeat(
        &mut self,
        cursor: &mut Cursor,
        times: u64,
        mut add: impl FnMut(&mut Grammar, &mut Cursor),
    ) {
        let mut left = times;
        while left > 0 {
            let before = cursor.clone();
            add(self, cursor);
            left -= 1;
            let Some((level, turns)) = cursor.turns_since(&before) else { continue };
            let (level, outermost) = (&mut cursor.levels[level], level == 0);
            let possible = if outermost { left } else { (level.count - 1 - level.passed) / turns };
            let counted = left.min(possible);
            level.passed += turns * counted;
            left -= counted;
        }
    }

    /// Ends a sequence: the number of its stack, equal for equal sequences.
    pub fn close(&mut self, cursor: &mut Cursor) -> u32 {
        self.leave(cursor);
        cursor.stack
    }

    /// Returns the items of a stack, from its bottom.
    pub fn items(&self, mut stack: u32) -> Vec<Item> {
        let mut items = Vec::new();
        while let Some((below, top)) = self.node(stack) {
            items.push(top);
            stack = below;
        }
        items.reverse();
        items
    }
}

#[cfg(test)]
mod tests;
