//! MPI_Scan and MPI_Exscan: linear and recursive doubling.

use std::rc::Rc;

use super::parameters::Parameters;
use super::parts::{ceil_log2, copy, input, output, reduce, scratch};
use crate::{Active, Member, Schedule, Shape, Slice, Step};

/// The prefix goes from member to member.
struct LinearScan {
    size: u32,
    bytes: u64,
    exclusive: bool,
}

pub(super) fn linear_scan(shape: &Shape, _: &Parameters) -> Rc<dyn Schedule> {
    Rc::new(LinearScan { size: shape.size, bytes: shape.bytes, exclusive: false })
}

pub(super) fn linear_exscan(shape: &Shape, _: &Parameters) -> Rc<dyn Schedule> {
    Rc::new(LinearScan { size: shape.size, bytes: shape.bytes, exclusive: true })
}

impl Schedule for LinearScan {
    fn name(&self) -> &'static str {
        "linear"
    }
    fn rounds(&self) -> u32 {
        self.size - 1
    }
    fn round(&self, member: &Member, round: u32, steps: &mut Vec<Step>) {
        let (own, result, total) = (input(0, self.bytes), output(0, self.bytes), scratch(0, self.bytes));
        // What is passed on includes the member's own part, which an exclusive result must not.
        let through = if self.exclusive { total } else { result };
        if member.rank == round {
            steps.push(Step::Send { to: round + 1, from: if round == 0 { own } else { through } });
            if round == 0 && !self.exclusive {
                copy(own, result, steps);
            }
        } else if member.rank == round + 1 {
            steps.push(Step::Receive { from: round, into: result });
            if !self.exclusive {
                reduce(false, own, result, steps);
            } else if member.rank + 1 < self.size {
                copy(result, total, steps);
                reduce(false, own, total, steps);
            }
        }
    }
    fn scratch(&self, _: &Member) -> u64 {
        if self.exclusive { self.bytes } else { 0 }
    }
    fn active(&self, round: u32) -> Option<Active> {
        Some(Active { first: round, stride: 1, count: 2 })
    }
    fn next(&self, rank: u32, round: u32) -> u32 {
        if round <= rank { round.max(rank.max(1) - 1) } else { self.rounds() }
    }
}

/// Pairs at distance 1, 2, 4, ... exchange what is reduced over their group so far; the higher one takes it
/// into its prefix (MPICH). Any size: a partner that does not exist is skipped.
struct DoublingScan {
    size: u32,
    bytes: u64,
    exclusive: bool,
}

pub(super) fn doubling_scan(shape: &Shape, _: &Parameters) -> Rc<dyn Schedule> {
    Rc::new(DoublingScan { size: shape.size, bytes: shape.bytes, exclusive: false })
}

pub(super) fn doubling_exscan(shape: &Shape, _: &Parameters) -> Rc<dyn Schedule> {
    Rc::new(DoublingScan { size: shape.size, bytes: shape.bytes, exclusive: true })
}

impl DoublingScan {
    /// Returns `true` if a member has met a partner before `round`: then its group's sum is in `Scratch`.
    // From the number alone: without it, scratch memory would have to be filled before the first round. A
    // partner below always exists; of those above the nearest is the first.
    fn started(&self, rank: u32, round: u32) -> bool {
        let below = rank & ((1 << round) - 1);
        round > 0 && (below != 0 || rank + 1 < self.size)
    }
    fn prefix(&self, rank: u32, round: u32, received: Slice, steps: &mut Vec<Step>) {
        let result = output(0, self.bytes);
        // Before the first partner below, an exclusive prefix is empty: there is nothing that the message
        // could be reduced with.
        let lower_before = rank & ((1 << round) - 1) != 0;
        if self.exclusive && !lower_before {
            copy(received, result, steps);
            return;
        }
        reduce(true, received, result, steps);
    }
}

impl Schedule for DoublingScan {
    fn name(&self) -> &'static str {
        "recursive-doubling"
    }
    fn rounds(&self) -> u32 {
        ceil_log2(self.size)
    }
    fn round(&self, member: &Member, round: u32, steps: &mut Vec<Step>) {
        let rank = member.rank;
        let (own, result) = (input(0, self.bytes), output(0, self.bytes));
        let (group, received) = (scratch(0, self.bytes), scratch(self.bytes, self.bytes));
        let other = rank ^ (1 << round);
        let started = self.started(rank, round);
        if other < self.size {
            steps.push(Step::Send { to: other, from: if started { group } else { own } });
            steps.push(Step::Receive { from: other, into: received });
        }
        if round == 0 && !self.exclusive {
            copy(own, result, steps);
        }
        if other >= self.size {
            return;
        }
        if other < rank {
            self.prefix(rank, round, received, steps);
        }
        if !started {
            copy(own, group, steps);
        }
        reduce(other < rank, received, group, steps);
    }
    fn scratch(&self, _: &Member) -> u64 {
        2 * self.bytes
    }
}
