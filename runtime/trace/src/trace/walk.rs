//! One rank's calls, unfolded one at a time.

use super::{Cell, Node, Trace};
use crate::template::{Position, Template};
use std::cell::OnceCell;

/// What a rank does.
pub struct View<'a> {
    /// The trace.
    pub trace: &'a Trace,
    /// The rank in `MPI_COMM_WORLD`.
    pub rank: u32,
    /// Calls and loops.
    pub nodes: &'a [Node],
    /// The rank's place among those of its shape.
    place: u64,
    /// The numbers of calls, once they were asked for.
    numbers: Vec<OnceCell<Box<[i64]>>>,
}

/// A call of a rank.
#[derive(Clone, Copy, Debug)]
pub struct Event<'a> {
    /// The call's place in [`Trace::calls`].
    pub call: u32,
    /// The function, the site and the kinds of its arguments.
    pub template: &'a Template,
    /// The rank's numbers for these.
    pub numbers: &'a [i64],
}

impl<'a> View<'a> {
    pub(super) fn new(trace: &'a Trace, rank: u32) -> View<'a> {
        let shape = trace.shape_of.at(rank.into()).expect("a rank of the trace");
        let place = trace.shape_of.count(shape, rank.into());
        let numbers = vec![OnceCell::new(); trace.calls.len()];
        View { trace, rank, nodes: &trace.shapes[shape as usize], place, numbers }
    }

    /// The rank's number in a cell of its shape.
    pub fn cell(&self, cell: Cell) -> i64 {
        match cell {
            Cell::Same(value) => value,
            Cell::Column(column) => self.trace.columns[column as usize].at(self.place).unwrap_or(0),
        }
    }

    /// How often the rank goes through a loop.
    pub fn turns(&self, count: Cell) -> u64 {
        self.cell(count).max(0) as u64
    }

    /// A call of the rank's shape as this rank makes it.
    pub fn event(&self, call: u32) -> Event<'_> {
        let (template, cells) = &self.trace.calls[call as usize];
        let numbers = self.numbers[call as usize].get_or_init(|| cells.iter().map(|&cell| self.cell(cell)).collect());
        Event { call, template: &self.trace.templates[*template as usize], numbers }
    }

    /// What ranks in a call are relative to.
    pub fn position(&self, event: &Event) -> Position {
        self.trace.position(self.rank, event.template, event.numbers)
    }

    /// All calls in order.
    pub fn calls(&self) -> Calls<'_> {
        Calls { view: self, levels: vec![Level { nodes: self.nodes, place: 0, left: 1 }] }
    }
}

struct Level<'a> {
    nodes: &'a [Node],
    place: usize,
    /// Turns, this one included.
    left: u64,
}

/// A rank's calls in order, each O(depth of loops) at most and O(1) mostly.
pub struct Calls<'a> {
    view: &'a View<'a>,
    levels: Vec<Level<'a>>,
}

impl Calls<'_> {
    /// The turns left, this one included, of all loops around the next call, the outermost first.
    pub fn turns_left(&self) -> impl Iterator<Item = u64> + '_ {
        self.levels[1.min(self.levels.len())..].iter().map(|level| level.left)
    }
}

impl<'a> Iterator for Calls<'a> {
    type Item = Event<'a>;

    fn next(&mut self) -> Option<Event<'a>> {
        loop {
            let level = self.levels.last_mut()?;
            let Some(node) = level.nodes.get(level.place) else {
                level.left -= 1;
                level.place = 0;
                if level.left == 0 {
                    self.levels.pop();
                    self.levels.last_mut().map(|level| level.place += 1)?;
                }
                continue;
            };
            match node {
                Node::Call(call) => {
                    level.place += 1;
                    return Some(self.view.event(*call));
                }
                Node::Loop { count, body } => match self.view.turns(*count) {
                    0 => level.place += 1,
                    left => self.levels.push(Level { nodes: body, place: 0, left }),
                },
            }
        }
    }
}
