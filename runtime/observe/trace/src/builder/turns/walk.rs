//! A walk over what each call of a group says in the turns of the loop around it, as a class has it: a way
//! through what was recorded, beside the steps of the group.

use super::layout::{LoopNest, nested, run_of, said_in};
use super::{Folder, MAX_VISITED_CALLS};
use crate::builder::shapes::Step;
use crate::trace::MAX_ITERATIONS;

/// Numbers of one call of a group by iteration of the enclosing loop: run lengths, each with its numbers.
pub type Lane<'a> = Vec<(u64, &'a [i64])>;

/// Numbers of a class as they were recorded.
pub struct Recorded<'a> {
    /// Index in `numbers` of the first number of each call.
    pub calls: Vec<usize>,
    /// Number of iterations of each loop.
    pub counts: Vec<u64>,
    pub numbers: &'a [i64],
}

/// A walk over a class's steps, beside the steps of its group.
pub struct ClassWalk<'f, 'a> {
    folder: &'f Folder<'a>,
    recorded: Recorded<'a>,
    steps: Vec<LoopNest>,
    counts: &'f [u64],
    /// The place of the walk: in each loop around, the innermost last, the place in it and the turn. The
    /// first is no loop.
    levels: Vec<(usize, u64)>,
    pub lanes: Vec<Lane<'a>>,
}

impl<'f, 'a> ClassWalk<'f, 'a> {
    /// Returns the state before the first call.
    pub fn new(
        folder: &'f Folder<'a>,
        steps: &[Step],
        counts: &'f [u64],
        recorded: Recorded<'a>,
    ) -> ClassWalk<'f, 'a> {
        let calls = steps.iter().filter(|step| matches!(step, Step::Call(_))).count();
        let mut walk = ClassWalk {
            folder,
            recorded,
            steps: nested(steps),
            counts,
            levels: vec![(0, 0)],
            lanes: vec![Vec::new(); calls],
        };
        walk.settle();
        walk
    }

    /// Returns the steps of the innermost loop around, how often they are gone through, and which loop it is.
    fn innermost(&self) -> (&[LoopNest], u64, Option<usize>) {
        let (mut steps, mut turns, mut which) = (self.steps.as_slice(), 1, None);
        for &(place, _) in &self.levels[..self.levels.len() - 1] {
            let LoopNest::Loop(number, body) = &steps[place] else { unreachable!("a level is in a loop") };
            (steps, turns, which) = (body, self.counts[*number], Some(*number));
        }
        (steps, turns, which)
    }

    /// Goes on to the next call.
    fn settle(&mut self) {
        loop {
            let (place, turn) = *self.levels.last().expect("never empty");
            let (steps, turns, _) = self.innermost();
            match steps.get(place) {
                Some(LoopNest::Call(..)) => return,
                Some(LoopNest::Loop(..)) => self.levels.push((0, 0)),
                None if turn + 1 < turns => *self.levels.last_mut().expect("never empty") = (0, turn + 1),
                None if self.levels.len() == 1 => return,
                None => {
                    self.levels.pop();
                    self.levels.last_mut().expect("an outer one").0 += 1;
                }
            }
        }
    }

    /// Goes through what was recorded. The error is the loop around a call that says other numbers in other
    /// turns of loops around that, too; none where it is too much to look at.
    pub fn nodes(&mut self, nodes: &[LoopNest]) -> Result<(), Option<usize>> {
        for node in nodes {
            match node {
                LoopNest::Call(template, call) => {
                    let numbers = &self.recorded.numbers[self.recorded.calls[*call]..]
                        [..self.folder.lengths[*template as usize]];
                    self.call(numbers)?;
                }
                LoopNest::Loop(number, body) => {
                    let mut left = self.recorded.counts[*number];
                    while left > 0 {
                        let before = self.levels.clone();
                        self.nodes(body)?;
                        left -= 1;
                        left -= self.repeat(&before, left)?;
                    }
                }
            }
        }
        Ok(())
    }

    /// Takes the numbers of the next call.
    fn call(&mut self, numbers: &'a [i64]) -> Result<(), Option<usize>> {
        let looked_at = self.folder.looked_at.replace(self.folder.looked_at.get() + 1);
        if looked_at > MAX_VISITED_CALLS {
            return Err(None);
        }
        let (place, turn) = *self.levels.last().expect("never empty");
        let LoopNest::Call(_, call) = self.innermost().0[place] else {
            unreachable!("it is settled before a call")
        };
        self.say(call, turn, 1, numbers)?;
        self.levels.last_mut().expect("never empty").0 += 1;
        self.settle();
        Ok(())
    }

    /// Takes the numbers of a call in so many iterations of the loop around: for the first time, or again as
    /// the loops around that one go on.
    fn say(&mut self, call: usize, turn: u64, turns: u64, numbers: &'a [i64]) -> Result<(), Option<usize>> {
        let is_first = self.levels[..self.levels.len() - 1].iter().all(|&(_, turn)| turn == 0);
        let lane = &mut self.lanes[call];
        if is_first {
            match lane.last_mut() {
                Some((count, said)) if *said == numbers => *count += turns,
                _ => lane.push((turns, numbers)),
            }
            return if lane.len() == 1 || turn + turns <= MAX_ITERATIONS { Ok(()) } else { Err(None) };
        }
        match run_of(lane, turn) {
            Some((end, said)) if said == numbers && turn + turns <= end => Ok(()),
            _ => Err(self.innermost().2),
        }
    }

    /// Returns where a turn of a recorded loop was one of the innermost loop here, its further turns are,
    /// too, up to the end of this one: how many.
    fn repeat(&mut self, before: &[(usize, u64)], left: u64) -> Result<u64, Option<usize>> {
        let (&(place, turn), outer) = self.levels.split_last().expect("never empty");
        let is_turn = before.split_last().is_some_and(|(last, around)| {
            around == outer && *last == (place, turn - 1.min(turn)) && turn > 0
        });
        if !is_turn {
            return Ok(0);
        }
        let (steps, turns, _) = self.innermost();
        let possible = left.min(turns - 1 - turn);
        if possible == 0 {
            return Ok(0);
        }
        // Calls behind this place have said nothing in this turn yet.
        let calls: Vec<(usize, u64)> = steps
            .iter()
            .enumerate()
            .filter_map(|(at, step)| {
                if let LoopNest::Call(_, call) = step {
                    Some((*call, if at < place { turn + 1 } else { turn }))
                } else {
                    None
                }
            })
            .collect();
        for (call, from) in calls {
            let numbers = said_in(&self.lanes[call], from - 1);
            self.say(call, from, possible, numbers)?;
        }
        self.levels.last_mut().expect("never empty").1 += possible;
        Ok(possible)
    }
}
