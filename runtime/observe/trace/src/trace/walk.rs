//! Acts of one rank: its loops and calls with its own numbers, and its calls one at a time.

use super::{Cell, Node, Trace};
use crate::template::{Position, Template};
use std::cell::OnceCell;

/// A call as a rank makes it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Made {
    /// The call's place in [`Trace::calls`].
    pub call: u32,
    /// In a loop that varies the turn, from 0; else 0. Of turns side by side that say the same numbers it is
    /// the first.
    pub turn: u32,
}

/// A step of one rank, with the rank's own numbers.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Act {
    /// A call.
    Call(Made),
    /// A loop that says the same in each turn: where one varies there is one for each run of turns that do,
    /// and what is done in one turn alone stands by itself.
    Loop {
        /// Number of iterations, at least 1.
        turns: u64,
        /// Steps of one iteration.
        body: Vec<Act>,
    },
}

/// The numbers of a call, once they were asked for.
type Numbers = OnceCell<Box<[i64]>>;

/// Calls and loops of one rank.
pub struct RankView<'a> {
    /// The trace.
    pub trace: &'a Trace,
    /// The rank in `MPI_COMM_WORLD`.
    pub rank: u32,
    nodes: &'a [Node],
    /// The rank's place among those of its shape, and how many these are.
    place: u64,
    size: u64,
    /// The numbers of calls, once they were asked for: by turn, where these differ.
    numbers: Vec<OnceCell<Box<[Numbers]>>>,
    acts: OnceCell<Vec<Act>>,
}

/// A call of a rank, with its numbers.
#[derive(Clone, Copy, Debug)]
pub struct RankCall<'a> {
    /// Index of the call and, in a varying loop, its iteration.
    pub made: Made,
    /// The function, the site and the kinds of its arguments.
    pub template: &'a Template,
    /// The rank's numbers for these.
    pub numbers: &'a [i64],
}

impl RankCall<'_> {
    /// Returns the call's place in [`Trace::calls`].
    pub fn call(&self) -> u32 {
        self.made.call
    }
}

impl<'a> RankView<'a> {
    pub(super) fn new(trace: &'a Trace, rank: u32) -> RankView<'a> {
        let shape = trace.shape_of.at(rank.into()).expect("a rank of the trace");
        let place = trace.shape_of.count(shape, rank.into());
        let numbers = vec![OnceCell::new(); trace.calls.len()];
        let (nodes, size) = (&trace.shapes[shape as usize], trace.sizes[shape as usize]);
        RankView { trace, rank, nodes, place, size, numbers, acts: OnceCell::new() }
    }

    fn number(&self, cell: Cell, turn: u64) -> i64 {
        match cell {
            Cell::Same(value) => value,
            Cell::Column(column) => {
                let column = &self.trace.columns[column as usize];
                column.at(self.place * (column.len() / self.size) + turn).unwrap_or(0)
            }
        }
    }

    /// Returns how many turns have numbers of their own.
    fn turns_of(&self, cells: &[Cell]) -> u64 {
        let column =
            cells.iter().find_map(|cell| if let Cell::Column(column) = cell { Some(*column) } else { None });
        column.map_or(1, |column| (self.trace.columns[column as usize].len() / self.size).max(1))
    }

    /// Returns a call of the rank's shape as this rank makes it.
    pub fn event(&self, made: Made) -> RankCall<'_> {
        let (template, cells) = &self.trace.calls[made.call as usize];
        let all = self.numbers[made.call as usize]
            .get_or_init(|| vec![OnceCell::new(); self.turns_of(cells) as usize].into());
        // What all ranks say in all turns is said in the first.
        let turn = if (made.turn as usize) < all.len() { made.turn } else { 0 };
        let numbers = all[turn as usize]
            .get_or_init(|| cells.iter().map(|&cell| self.number(cell, turn.into())).collect());
        RankCall { made, template: &self.trace.templates[*template as usize], numbers }
    }

    /// Returns what ranks in a call are relative to.
    pub fn position(&self, event: &RankCall) -> Position {
        self.trace.position(self.rank, event.template, event.numbers)
    }

    /// Returns what the rank does, folded. O(its shape), times the turns of loops that vary.
    pub fn acts(&self) -> &[Act] {
        self.acts.get_or_init(|| self.acts_of(self.nodes, 0))
    }

    /// Returns the acts in an iteration of the loop around.
    fn acts_of(&self, nodes: &[Node], turn: u32) -> Vec<Act> {
        let mut acts = Vec::with_capacity(nodes.len());
        for node in nodes {
            match node {
                Node::Call(call) => acts.push(Act::Call(Made { call: *call, turn })),
                Node::Loop { count, body, varies } => match self.number(*count, 0).max(0) as u64 {
                    0 => {}
                    turns if *varies => self.add_runs(turns, body, &mut acts),
                    turns => acts.push(Act::Loop { turns, body: self.acts_of(body, 0) }),
                },
            }
        }
        acts
    }

    /// Adds the iterations of a loop that varies, those side by side that are alike as a loop.
    fn add_runs(&self, turns: u64, body: &[Node], acts: &mut Vec<Act>) {
        let numbers = |call: u32, turn: u64| self.event(Made { call, turn: turn as u32 }).numbers;
        let alike = |turn: u64, other: u64| {
            let calls =
                body.iter().filter_map(|node| if let Node::Call(call) = node { Some(*call) } else { None });
            calls.into_iter().all(|call| numbers(call, turn) == numbers(call, other))
        };
        let mut first = 0;
        while first < turns {
            let end = (first + 1..turns).find(|&turn| !alike(first, turn)).unwrap_or(turns);
            let body = self.acts_of(body, first as u32);
            match end - first {
                1 => acts.extend(body),
                turns => acts.push(Act::Loop { turns, body }),
            }
            first = end;
        }
    }

    /// Returns all calls in order.
    pub fn calls(&self) -> Calls<'_> {
        Calls { view: self, levels: vec![LoopFrame { acts: self.acts(), place: 0, left: 1 }] }
    }
}

struct LoopFrame<'a> {
    acts: &'a [Act],
    place: usize,
    /// Turns, this one included.
    left: u64,
}

/// A rank's calls in order, each O(depth of loops) at most and O(1) mostly.
pub struct Calls<'a> {
    view: &'a RankView<'a>,
    levels: Vec<LoopFrame<'a>>,
}

impl<'a> Iterator for Calls<'a> {
    type Item = RankCall<'a>;

    fn next(&mut self) -> Option<RankCall<'a>> {
        loop {
            let level = self.levels.last_mut()?;
            let Some(act) = level.acts.get(level.place) else {
                level.left -= 1;
                level.place = 0;
                if level.left == 0 {
                    self.levels.pop();
                    self.levels.last_mut().map(|level| level.place += 1)?;
                }
                continue;
            };
            match act {
                Act::Call(made) => {
                    level.place += 1;
                    return Some(self.view.event(*made));
                }
                Act::Loop { turns, body } => {
                    self.levels.push(LoopFrame { acts: body, place: 0, left: *turns })
                }
            }
        }
    }
}
