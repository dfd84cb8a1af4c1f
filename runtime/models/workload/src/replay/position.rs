//! Position of a rank in the calls and loops of its shape, as a few words.

use super::columns::Columns;
use smallvec::SmallVec;
use trace::trace::{Cell, Node};

/// One step of a shape, all loops laid out one behind the other.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Step {
    /// A call, by its place in the trace.
    Call(u32),
    /// A loop begins: how often it runs, and the step behind it.
    Loop(Cell, u32),
    /// A loop's turn ends: its first step.
    Turn(u32),
    /// The rank's calls are over.
    End,
}

/// The way to the place behind a call: that, and the turns of the innermost loop that end before it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Way {
    behind: u32,
    turns: u64,
}

/// The call that follows a step, and the step behind that.
// Two words for each step, where the step itself would have to be told from others.
#[derive(Clone, Copy, Debug)]
pub(super) struct Lead {
    call: u32,
    behind: u32,
}

impl Lead {
    /// To no call.
    pub(super) const NOWHERE: Lead = Lead { call: u32::MAX, behind: 0 };

    /// Makes the lead to a call, and the step behind it.
    pub(super) fn to(call: u32, behind: u32) -> Lead {
        Lead { call, behind }
    }

    /// Returns the lead from a call, or from the end of a loop's iteration to its first call.
    pub(super) fn of(steps: &[Step], step: usize) -> Lead {
        let at = if let Step::Turn(begin) = steps[step] { begin } else { step as u32 };
        if let Step::Call(call) = steps[at as usize] { Lead { call, behind: at + 1 } } else { Lead::NOWHERE }
    }

    /// Goes there from a rank's place, where that is possible ([`Lead::way`]): the call.
    #[inline(always)]
    pub(super) fn pass(self, position: &mut Position) -> u32 {
        let Lead { call, behind } = self;
        position.pass(Way { behind, turns: u64::from(behind <= position.step) });
        call
    }

    /// Returns the call, of no trace if there is none, and the way behind it, if the rank that is there has a
    /// turn left where one ends.
    #[inline(always)]
    pub(super) fn way(self, position: &Position) -> Option<(u32, Way)> {
        let Lead { call, behind } = self;
        // Back is only where a turn ends.
        let turns = u64::from(behind <= position.step);
        let goes_on = turns == 0 || position.turns.last().is_some_and(|&left| left > turns);
        goes_on.then_some((call, Way { behind, turns }))
    }
}

/// A place among the steps.
#[derive(Clone, Default, Debug)]
pub(super) struct Position {
    pub(super) step: u32,
    /// The rank's place among those of its shape.
    pub(super) place: u32,
    /// The turns left, this one included, of the loops around.
    turns: SmallVec<[u64; 2]>,
}

impl Position {
    /// Returns the state before the first step of a shape.
    pub(super) fn at(step: u32, place: u32) -> Position {
        Position { step, place, turns: SmallVec::new() }
    }

    /// Returns the next call and the way to the place behind it, if no loop begins or ends before it.
    #[inline(always)]
    pub(super) fn at_call(&self, steps: &[Step]) -> Option<(u32, Way)> {
        let begin = match steps[self.step as usize] {
            Step::Call(call) => return Some((call, Way { behind: self.step + 1, turns: 0 })),
            Step::Turn(begin) if self.turns.last().is_some_and(|&left| left > 1) => begin,
            _ => return None,
        };
        match steps[begin as usize] {
            Step::Call(call) => Some((call, Way { behind: begin + 1, turns: 1 })),
            _ => None,
        }
    }

    /// Returns the turn, from 0, of the innermost loop around, which has so many.
    #[inline]
    pub(super) fn turn(&self, turns: u32) -> usize {
        self.turns.last().map_or(0, |&left| u64::from(turns).saturating_sub(left) as usize)
    }

    /// Goes the way that [`Position::at_call`] told.
    #[inline(always)]
    pub(super) fn pass(&mut self, Way { behind, turns }: Way) {
        self.step = behind;
        if turns != 0
            && let Some(left) = self.turns.last_mut()
        {
            *left -= turns;
        }
    }

    /// Moves on to the next call and returns it; O(depth of loops) at most and O(1) mostly.
    #[inline]
    pub(super) fn next(&mut self, steps: &[Step], columns: &Columns) -> Option<u32> {
        loop {
            match steps[self.step as usize] {
                Step::Call(call) => {
                    self.step += 1;
                    return Some(call);
                }
                Step::Loop(count, behind) => match columns.number(count, self) {
                    ..=0 => self.step = behind,
                    turns => {
                        self.turns.push(turns as u64);
                        self.step += 1;
                    }
                },
                Step::Turn(begin) => {
                    let left = self.turns.last_mut().expect("a turn is of a loop");
                    *left -= 1;
                    if *left > 0 {
                        self.step = begin;
                    } else {
                        self.turns.pop();
                        self.step += 1;
                    }
                }
                Step::End => return None,
            }
        }
    }
}

/// Appends the steps of nodes; loops of nothing are left out.
pub(super) fn lay_out(nodes: &[Node], steps: &mut Vec<Step>) {
    for node in nodes {
        match node {
            Node::Call(call) => steps.push(Step::Call(*call)),
            Node::Loop { count, body, .. } => {
                let begin = steps.len();
                steps.push(Step::End);
                lay_out(body, steps);
                if steps.len() == begin + 1 {
                    steps.pop();
                    continue;
                }
                steps.push(Step::Turn(begin as u32 + 1));
                steps[begin] = Step::Loop(*count, steps.len() as u32);
            }
        }
    }
}
