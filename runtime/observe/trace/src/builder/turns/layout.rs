//! The layout of a group: its steps with loops as they are told, and the numbers of its classes in the same
//! order.

use super::LoopForm;
use super::walk::Lane;
use crate::builder::shapes::Step;

/// The steps of a group as loops in loops.
pub enum LoopNest {
    /// The template of a call, and which call of the steps it is.
    Call(u32, usize),
    /// The index of a loop among the loops of the steps, and its body.
    Loop(usize, Vec<LoopNest>),
}

/// Builds the tree of loops of `steps`.
pub fn nested(steps: &[Step]) -> Vec<LoopNest> {
    let (mut open, mut nodes, mut calls, mut loops) = (Vec::new(), Vec::new(), 0, 0);
    for step in steps {
        match step {
            Step::Call(template) => {
                nodes.push(LoopNest::Call(*template, calls));
                calls += 1;
            }
            Step::Begin | Step::Varying => {
                open.push((loops, std::mem::take(&mut nodes)));
                loops += 1;
            }
            Step::End => {
                let (number, outer) = open.pop().expect("a loop that ends has begun");
                let body = std::mem::replace(&mut nodes, outer);
                nodes.push(LoopNest::Loop(number, body));
            }
        }
    }
    nodes
}

/// Appends the steps of a group with its loops as they are told.
pub fn lay_out(nodes: &[LoopNest], ways: &[LoopForm], counts: &[u64], steps: &mut Vec<Step>) {
    for node in nodes {
        let (number, body) = match node {
            LoopNest::Call(template, _) => {
                steps.push(Step::Call(*template));
                continue;
            }
            LoopNest::Loop(number, body) => (*number, body),
        };
        let begins: &[Step] = match ways[number] {
            LoopForm::Alike => &[Step::Begin],
            LoopForm::Varying(period) if period == counts[number] => &[Step::Varying],
            LoopForm::Varying(_) => &[Step::Begin, Step::Varying],
            LoopForm::Unrolled => {
                (0..counts[number]).for_each(|_| lay_out(body, ways, counts, steps));
                continue;
            }
        };
        steps.extend_from_slice(begins);
        lay_out(body, ways, counts, steps);
        steps.extend(begins.iter().map(|_| Step::End));
    }
}

/// Calls of loops that vary, turn by turn, of steps and the numbers of a class, where templates have so many
/// numbers.
pub fn calls_by_turn(steps: &[Step], numbers: &[i64], lengths: &[usize]) -> u64 {
    let (mut calls, mut at, mut turns) = (0, 0, vec![1]);
    for step in steps {
        match *step {
            Step::Call(template) => {
                let turns = *turns.last().expect("never empty");
                calls += if turns > 1 { turns } else { 0 };
                at += lengths[template as usize] * turns as usize;
            }
            Step::Begin | Step::Varying => {
                turns.push(if *step == Step::Varying { numbers[at] as u64 } else { 1 });
                at += 1;
            }
            Step::End => drop(turns.pop()),
        }
    }
    calls
}

/// The iterations for which a call stores its numbers.
#[derive(Clone, Copy)]
pub enum IterationSet {
    /// This one, as often: in each turn of a loop around that varies.
    Of(u64, u64),
    /// So many from the first on.
    First(u64),
}

/// The numbers of a class, whose group is told so.
pub struct Numbers<'w, 'a> {
    pub ways: &'w [LoopForm],
    pub counts: &'w [u64],
    pub lanes: &'w [Lane<'a>],
}

impl Numbers<'_, '_> {
    /// Appends them, in the order of [`lay_out`].
    pub fn add(&self, nodes: &[LoopNest], turns: IterationSet, numbers: &mut Vec<i64>) {
        for node in nodes {
            match node {
                LoopNest::Call(_, call) => {
                    let said = self.lanes[*call]
                        .iter()
                        .flat_map(|&(count, numbers)| std::iter::repeat_n(numbers, count as usize));
                    match turns {
                        IterationSet::Of(turn, times) => (0..times)
                            .for_each(|_| numbers.extend_from_slice(said_in(&self.lanes[*call], turn))),
                        IterationSet::First(turns) => {
                            said.take(turns as usize).for_each(|of_turn| numbers.extend_from_slice(of_turn))
                        }
                    }
                }
                LoopNest::Loop(number, body) => {
                    let count = self.counts[*number];
                    match self.ways[*number] {
                        LoopForm::Alike => {
                            numbers.push(count as i64);
                            self.add(body, IterationSet::Of(0, 1), numbers);
                        }
                        LoopForm::Varying(period) => {
                            if period != count {
                                numbers.push((count / period) as i64);
                            }
                            numbers.push(period as i64);
                            self.add(body, IterationSet::First(period), numbers);
                        }
                        LoopForm::Unrolled => {
                            let (IterationSet::Of(_, times) | IterationSet::First(times)) = turns;
                            (0..count)
                                .for_each(|turn| self.add(body, IterationSet::Of(turn, times), numbers));
                        }
                    }
                }
            }
        }
    }
}

/// Returns the run of turns that a turn is in: where it ends, and what is said in it.
pub fn run_of<'a>(lane: &Lane<'a>, turn: u64) -> Option<(u64, &'a [i64])> {
    let mut end = 0;
    lane.iter().find_map(|&(count, numbers)| {
        end += count;
        (turn < end).then_some((end, numbers))
    })
}

/// Returns what a call says in a turn.
pub fn said_in<'a>(lane: &Lane<'a>, turn: u64) -> &'a [i64] {
    run_of(lane, turn).map_or(&[], |(_, numbers)| numbers)
}
