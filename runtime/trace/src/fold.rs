//! Loops found while items come: RSDs (a run of items, repeated) and PRSDs (such loops nested), after Noeth, Mueller, Schulz and de
//! Supinski, "ScalaTrace: scalable compression and replay of communication traces" (2009), section 3.
//!
//! What has come so far is a stack of items, some of them loops. An item that completes two equal runs at the stack's top makes a loop
//! of them; while the items that come are those of the loop at the top, only a place in it moves on ([`Cursor`]), at the cost of one
//! comparison. When another item comes the loop's count is settled and the loop is an item like others, so that loops of loops are
//! found in the same way.
//!
//! Stacks, loops and bodies are kept once for all who share a [`Grammar`] (hash-consing): a stack is the number of its top, whose node
//! names the one below. So a million ranks that do alike have one stack, and a rank is a few words. What comes out depends on the items
//! of one cursor alone, never on others that share the grammar.

use rustc_hash::FxHashMap;
use smallvec::SmallVec;

/// An item: a symbol (`2 * number`) or a loop (`2 * number + 1`).
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Item(u32);

/// What an item is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// One of what is folded, by number.
    Symbol(u32),
    /// A repeated body.
    Loop {
        /// Which body.
        body: u32,
        /// How often, at least 2.
        count: u64,
    },
}

/// The longest body that is looked for, in items. A longer loop of the program is stored as often as it runs.
pub const LONGEST: usize = 1024;
/// The empty stack.
const EMPTY: u32 = 0;

#[derive(Clone, Copy)]
struct Node {
    below: u32,
    top: Item,
    /// The same stack with the loop that its top completes.
    folded: u32,
}

#[derive(Clone)]
struct Body {
    items: Box<[Item]>,
    /// The symbol that it begins with.
    first: u32,
}

/// Where a cursor is in a loop, or in a loop within that.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Level {
    body: u32,
    /// The next item of the body.
    place: u32,
    /// How often the body was passed.
    passed: u64,
    /// How often it will be; of the outermost nobody knows.
    count: u64,
}

/// One sequence of items under way.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Cursor {
    stack: u32,
    /// The place in the loop at the top of the stack; empty: not in it.
    levels: SmallVec<[Level; 1]>,
    /// The symbol that comes next if the loop goes on.
    expected: u32,
}

/// All bodies, loops and stacks of some sequences.
pub struct Grammar {
    longest: usize,
    nodes: Vec<Node>,
    above: FxHashMap<(u32, Item), u32>,
    bodies: Vec<Body>,
    body_numbers: FxHashMap<Box<[Item]>, u32>,
    loops: Vec<(u32, u64)>,
    loop_numbers: FxHashMap<(u32, u64), u32>,
    /// The items at the top of the stack looked at, downwards.
    tail: Vec<Item>,
}

impl Default for Grammar {
    fn default() -> Self {
        Grammar::new(LONGEST)
    }
}

impl Grammar {
    /// One that looks for bodies of up to `longest` items.
    pub fn new(longest: usize) -> Grammar {
        let empty = Node { below: EMPTY, top: Item(0), folded: EMPTY };
        Grammar {
            longest,
            nodes: vec![empty],
            above: FxHashMap::default(),
            bodies: Vec::new(),
            body_numbers: FxHashMap::default(),
            loops: Vec::new(),
            loop_numbers: FxHashMap::default(),
            tail: Vec::new(),
        }
    }

    /// What an item is.
    pub fn kind(&self, item: Item) -> Kind {
        if item.0 & 1 == 0 {
            return Kind::Symbol(item.0 >> 1);
        }
        let (body, count) = self.loops[(item.0 >> 1) as usize];
        Kind::Loop { body, count }
    }

    /// The items of a loop's body.
    pub fn body(&self, body: u32) -> &[Item] {
        &self.bodies[body as usize].items
    }

    /// Stacks that were made: what the memory goes by.
    pub fn len(&self) -> usize {
        self.nodes.len()
    }

    /// Whether nothing was folded yet.
    pub fn is_empty(&self) -> bool {
        self.nodes.len() == 1
    }

    /// Adds a symbol (below 2^31) to a sequence: O(1) in a loop that goes on, else O([`LONGEST`]) when the stack is new, O(1) when another
    /// sequence had it before.
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
        let items = &self.bodies[last.body as usize].items;
        if let Some(next) = items.get(last.place as usize)
            && next.0 & 1 == 0
        {
            cursor.expected = next.0 >> 1;
            return;
        }
        self.turn(cursor);
    }

    /// The cursor is at the end of a body or before a loop in it: goes to the next symbol.
    fn turn(&self, cursor: &mut Cursor) {
        loop {
            let outermost = cursor.levels.len() == 1;
            let level = cursor.levels.last_mut().expect("called in a loop");
            let items = &self.bodies[level.body as usize].items;
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
                Kind::Symbol(symbol) => {
                    cursor.expected = symbol;
                    return;
                }
                Kind::Loop { body, count } => cursor.levels.push(Level { body, place: 0, passed: 0, count }),
            }
        }
    }

    #[inline(never)]
    fn add_slowly(&mut self, cursor: &mut Cursor, symbol: u32) {
        self.leave(cursor);
        let top = self.nodes[cursor.stack as usize].top;
        if cursor.stack != EMPTY
            && let Kind::Loop { body, .. } = self.kind(top)
            && self.bodies[body as usize].first == symbol
        {
            cursor.levels.push(Level { body, place: 0, passed: 0, count: u64::MAX });
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
                let Node { below, top, .. } = self.nodes[cursor.stack as usize];
                let Kind::Loop { body, count } = self.kind(top) else { unreachable!("a cursor is in the loop at the top") };
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
        for place in 0..end.min(self.bodies[body as usize].items.len()) {
            let item = self.bodies[body as usize].items[place];
            cursor.stack = self.push(cursor.stack, item);
        }
    }

    /// The stack with one more item, folded.
    fn push(&mut self, stack: u32, item: Item) -> u32 {
        if let Some(&above) = self.above.get(&(stack, item)) {
            let folded = self.nodes[above as usize].folded;
            if folded != u32::MAX {
                return folded;
            }
        }
        let above = self.above(stack, item);
        let folded = self.fold(above);
        self.nodes[above as usize].folded = folded;
        folded
    }

    /// The stack with one more item, as it is.
    fn above(&mut self, below: u32, top: Item) -> u32 {
        let next = self.nodes.len() as u32;
        let number = *self.above.entry((below, top)).or_insert(next);
        if number == next {
            assert!(next < u32::MAX, "a trace has at most 2^32 items that are not loops");
            self.nodes.push(Node { below, top, folded: u32::MAX });
        }
        number
    }

    /// Makes a loop of the two equal runs at the top, the shortest if there are several.
    fn fold(&mut self, stack: u32) -> u32 {
        let mut tail = std::mem::take(&mut self.tail);
        tail.clear();
        let mut at = stack;
        let top = self.nodes[stack as usize].top;
        let mut folded = stack;
        // tail[..n] are the n items at the top; a run of n has its twin in tail[n..2 n], so the top comes again at n.
        while tail.len() <= self.longest && at != EMPTY {
            let Node { below, top: item, .. } = self.nodes[at as usize];
            let length = tail.len();
            if length > 0
                && item == top
                && let Some(rest) = self.twin(at, &tail)
            {
                let items: Box<[Item]> = tail.iter().rev().copied().collect();
                let body = self.body_number(items);
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

    /// What is below, if the items at the top of `stack` are those of `tail`.
    fn twin(&self, stack: u32, tail: &[Item]) -> Option<u32> {
        let mut at = stack;
        for &item in tail {
            let node = self.nodes[at as usize];
            if at == EMPTY || node.top != item {
                return None;
            }
            at = node.below;
        }
        Some(at)
    }

    fn body_number(&mut self, items: Box<[Item]>) -> u32 {
        if let Some(&number) = self.body_numbers.get(&items) {
            return number;
        }
        let first = match self.kind(items[0]) {
            Kind::Symbol(symbol) => symbol,
            Kind::Loop { body, .. } => self.bodies[body as usize].first,
        };
        let number = self.bodies.len() as u32;
        self.bodies.push(Body { items: items.clone(), first });
        self.body_numbers.insert(items, number);
        number
    }

    fn repeated(&mut self, body: u32, count: u64) -> Item {
        let next = self.loops.len() as u32;
        let number = *self.loop_numbers.entry((body, count)).or_insert(next);
        if number == next {
            self.loops.push((body, count));
        }
        Item(number << 1 | 1)
    }

    /// Ends a sequence: the number of its stack, equal for equal sequences.
    pub fn close(&mut self, cursor: &mut Cursor) -> u32 {
        self.leave(cursor);
        cursor.stack
    }

    /// The items of a stack, from its bottom.
    pub fn items(&self, mut stack: u32) -> Vec<Item> {
        let mut items = Vec::new();
        while stack != EMPTY {
            let node = self.nodes[stack as usize];
            items.push(node.top);
            stack = node.below;
        }
        items.reverse();
        items
    }
}

#[cfg(test)]
mod tests;
