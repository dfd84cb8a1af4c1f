//! Algorithms made of others: stages one after the other, each on groups of the members and parts of the
//! buffers.

use std::cell::RefCell;
use std::rc::Rc;

use crate::{Active, Blocks, Buffer, Member, RoundPattern, Schedule, Slice, Step};

/// Members that run one schedule together, or several such groups of equal size.
// Numbers of a group are computed from ranks and back in O(1), so that a million members need no list of who
// is in which.
#[derive(Clone, Copy, Debug)]
pub(super) enum StageMembers {
    /// Members `first..first + count`.
    Range { first: u32, count: u32 },
    /// The members of each node in `from..to` but `except`.
    Nodes { node: u32, from: u32, to: u32, except: u32 },
    /// The first member of each node; of node `special` the given member.
    Leaders { node: u32, special: u32, leader: u32 },
    /// The member with the same offset in each node.
    Column { node: u32, offset: u32 },
    /// Two members.
    Pair { first: u32, second: u32 },
}

impl StageMembers {
    /// Returns the number of `rank` in its group, `None` if it is in none.
    fn number(&self, rank: u32) -> Option<u32> {
        match *self {
            StageMembers::Range { first, count } => rank.checked_sub(first).filter(|&number| number < count),
            StageMembers::Nodes { node, from, to, except } => {
                let own = rank / node;
                (own >= from && own < to && own != except).then(|| rank % node)
            }
            StageMembers::Leaders { node, special, leader } => {
                let own = rank / node;
                let leads = if own == special { rank == leader } else { rank.is_multiple_of(node) };
                leads.then_some(own)
            }
            StageMembers::Column { node, offset } => (rank % node == offset).then(|| rank / node),
            StageMembers::Pair { first, second } => match rank {
                _ if rank == first => Some(0),
                _ if rank == second => Some(1),
                _ => None,
            },
        }
    }

    /// Returns the member with `number` in the group of `rank`.
    fn member(&self, rank: u32, number: u32) -> u32 {
        match *self {
            StageMembers::Range { first, .. } => first + number,
            StageMembers::Nodes { node, .. } => rank / node * node + number,
            StageMembers::Leaders { special, leader, .. } if number == special => leader,
            StageMembers::Leaders { node, .. } => number * node,
            StageMembers::Column { node, offset } => number * node + offset,
            StageMembers::Pair { first, second } => {
                if number == 0 {
                    first
                } else {
                    second
                }
            }
        }
    }
}

/// The blocks that the members of a stage work on.
#[derive(Clone, Copy, Debug)]
pub(super) enum StageBlocks {
    /// One block of so many bytes.
    Block(u64),
    /// One block: all that the member receives from so many members.
    Received(u32),
    /// The member's own blocks.
    Own,
    /// The blocks of the member's contribution, of which it gets its own.
    Contributed,
}

impl StageBlocks {
    /// Gives `inner`, number `inner.rank` of its group, the blocks of the stage.
    fn place(&self, member: &Member, inner: &mut Member) {
        (inner.send, inner.receive) = match *self {
            StageBlocks::Block(bytes) => (Blocks::Uniform(bytes), Blocks::Uniform(bytes)),
            StageBlocks::Received(count) => {
                let bytes = member.receive.offset(count);
                (Blocks::Uniform(bytes), Blocks::Uniform(bytes))
            }
            StageBlocks::Own => (member.send.clone(), member.receive.clone()),
            StageBlocks::Contributed => (member.send.clone(), Blocks::Uniform(member.send.bytes(inner.rank))),
        };
    }
}

/// A schedule on a group.
pub(super) struct GroupSchedule {
    /// The members.
    pub(super) group: StageMembers,
    /// The schedule that the group runs.
    pub(super) schedule: Rc<dyn Schedule>,
    /// On what.
    pub(super) data: StageBlocks,
    /// The buffer that holds the schedule's `Input`, and its offset there in bytes.
    pub(super) input: (Buffer, u64),
    /// The buffer that holds the schedule's `Output`, and its offset there in bytes.
    pub(super) output: (Buffer, u64),
}

struct Stage {
    start: u32,
    rounds: u32,
    parts: Vec<GroupSchedule>,
}

/// Stages in sequence. The parts of a stage have no member in common.
// Any schedule can be a stage: two-level algorithms and those between groups are written by naming what they
// are made of.
pub(super) struct Staged {
    name: &'static str,
    size: u32,
    stages: Vec<Stage>,
    /// The root of a broadcast, which has the message in `Input` and no `Output`; or no member.
    origin: u32,
    /// Bytes at the start of `Scratch` that stages hand to each other; the parts' own scratch memory lies
    /// behind.
    // Kept apart from the parts' own scratch memory, because a stage's result must outlive the stage after
    // it.
    reserve: u64,
    /// The member as a stage sees it, kept because one is needed for every round of every member.
    // Behind a cell, since a schedule is asked and not changed; nobody else can be asking meanwhile.
    inner: RefCell<Member>,
}

impl Staged {
    /// Makes a schedule for `size` members, without stages.
    pub(super) fn new(name: &'static str, size: u32, reserve: u64) -> Staged {
        let (nil, nobody) = (Blocks::Uniform(0), Rc::<[u32]>::from([]));
        let inner = Member {
            rank: 0,
            send: nil.clone(),
            receive: nil,
            sources: nobody.clone(),
            destinations: nobody,
        };
        Staged { name, size, stages: Vec::new(), origin: u32::MAX, reserve, inner: RefCell::new(inner) }
    }
    /// Lets `origin` send on from its `Input` what stages send it again, which is dropped.
    // A leader that is not the root broadcasts to its whole node, the root included.
    pub(super) fn with_origin(self, origin: u32) -> Staged {
        Staged { origin, ..self }
    }
    /// Adds one stage more.
    pub(super) fn then(mut self, parts: Vec<GroupSchedule>) -> Staged {
        // Of the longest part: rounds are aligned for all members, and who is through earlier has none left.
        let rounds = parts.iter().map(|part| part.schedule.rounds()).max().unwrap_or(0);
        self.stages.push(Stage { start: self.rounds(), rounds, parts });
        self
    }
    /// Returns the first of the members that take part and the distance between them, if they are the same
    /// one of each node.
    pub(super) fn column(&self) -> Option<(u32, u32)> {
        match self.stages.first()?.parts.as_slice() {
            [GroupSchedule { group: StageMembers::Column { node, offset }, .. }] => Some((*offset, *node)),
            _ => None,
        }
    }
    /// Returns it as a schedule.
    pub(super) fn finish(self) -> Rc<dyn Schedule> {
        Rc::new(self)
    }

    // O(stages), at most five.
    fn stage(&self, round: u32) -> Option<&Stage> {
        self.stages.iter().find(|stage| round >= stage.start && round - stage.start < stage.rounds)
    }

    /// Calls `visit` with the member as `part` sees it, if it takes part.
    fn as_seen<T>(
        &self,
        part: &GroupSchedule,
        member: &Member,
        visit: impl FnOnce(&Member) -> T,
    ) -> Option<T> {
        let rank = part.group.number(member.rank)?;
        let mut inner = self.inner.borrow_mut();
        inner.rank = rank;
        part.data.place(member, &mut inner);
        Some(visit(&inner))
    }

    /// Turns a part's step into one of the whole.
    fn translate(&self, part: &GroupSchedule, rank: u32, step: &mut Step) {
        let place = |slice: &mut Slice| {
            let (buffer, base) = match slice.buffer {
                Buffer::Input => part.input,
                Buffer::Output => part.output,
                Buffer::Scratch => (Buffer::Scratch, self.reserve),
                Buffer::Nothing => (Buffer::Nothing, 0),
            };
            slice.buffer = buffer;
            slice.offset = if buffer == Buffer::Nothing { 0 } else { slice.offset + base };
        };
        match step {
            Step::Send { to, from } => {
                *to = part.group.member(rank, *to);
                place(from);
            }
            Step::Receive { from, into } => {
                *from = part.group.member(rank, *from);
                place(into);
            }
            Step::ReduceLeft { from, into }
            | Step::ReduceRight { from, into }
            | Step::Copy { from, into } => {
                place(from);
                place(into);
            }
        }
    }
}

impl Schedule for Staged {
    fn name(&self) -> &'static str {
        self.name
    }
    fn rounds(&self) -> u32 {
        self.stages.last().map_or(0, |stage| stage.start + stage.rounds)
    }
    fn round(&self, member: &Member, round: u32, steps: &mut Vec<Step>) {
        let Some(stage) = self.stage(round) else { return };
        for part in &stage.parts {
            if round - stage.start >= part.schedule.rounds() {
                continue;
            }
            let first = steps.len();
            let seen =
                self.as_seen(part, member, |inner| part.schedule.round(inner, round - stage.start, steps));
            if seen.is_none() {
                continue;
            }
            for step in &mut steps[first..] {
                self.translate(part, member.rank, step);
            }
            if member.rank == self.origin {
                from_input(steps, first);
            }
            return;
        }
    }
    fn scratch(&self, member: &Member) -> u64 {
        let parts = self.stages.iter().flat_map(|stage| &stage.parts);
        // The greatest and not the sum: stages use the same memory one after the other.
        let own = parts.filter_map(|part| self.as_seen(part, member, |inner| part.schedule.scratch(inner)));
        self.reserve + own.max().unwrap_or(0)
    }
    fn pattern(&self, round: u32) -> Option<RoundPattern> {
        let stage = self.stage(round)?;
        match stage.parts.as_slice() {
            [GroupSchedule { group: StageMembers::Range { first: 0, count }, schedule, .. }]
                if *count == self.size =>
            {
                schedule.pattern(round - stage.start)
            }
            _ => None,
        }
    }
    fn active(&self, round: u32) -> Option<Active> {
        let stage = self.stage(round)?;
        let round = round - stage.start;
        if let StageMembers::Nodes { node, .. } = stage.parts.first()?.group {
            return self.active_in_nodes(stage, node, round);
        }
        let [part] = stage.parts.as_slice() else { return None };
        match part.group {
            StageMembers::Range { first: 0, count } if count == self.size => part.schedule.active(round),
            StageMembers::Leaders { node, special, leader } if leader == special * node => {
                // Numbers that wrap around the leaders do not wrap around the members.
                let inner = part.schedule.active(round)?;
                (inner.first == 0).then_some(Active { stride: inner.stride * node, ..inner })
            }
            StageMembers::Pair { first, second } => {
                let lower = first.min(second);
                Some(Active { first: lower, stride: first.max(second) - lower, count: 2 })
            }
            StageMembers::Column { node, offset } => {
                let inner = part.schedule.active(round).filter(|inner| inner.first == 0)?;
                Some(Active { first: offset, stride: inner.stride * node, ..inner })
            }
            _ => None,
        }
    }
    // A member that takes no part in the stages to come is through: it need not be asked for their rounds.
    fn next(&self, rank: u32, round: u32) -> u32 {
        for stage in &self.stages {
            if round >= stage.start + stage.rounds {
                continue;
            }
            let part = stage.parts.iter().find_map(|part| Some((part, part.group.number(rank)?)));
            if let Some((part, number)) = part {
                let inner = part.schedule.next(number, round.saturating_sub(stage.start));
                if inner < part.schedule.rounds() {
                    return stage.start + inner;
                }
            }
        }
        self.rounds()
    }
}

impl Staged {
    /// The active numbers of all nodes as one progression, if they begin with the first member and fit the
    /// nodes.
    // With the greatest common stride, which names some members too many: those have no steps, and answer so
    // at once.
    fn active_in_nodes(&self, stage: &Stage, node: u32, round: u32) -> Option<Active> {
        let (mut stride, mut end) = (0, 0);
        for part in &stage.parts {
            let StageMembers::Nodes { to, .. } = part.group else { return None };
            end = end.max(to);
            if round < part.schedule.rounds() {
                let active = part.schedule.active(round).filter(|active| active.first == 0)?;
                stride = gcd(active.stride, stride);
            }
        }
        let size = self.size.min(end * node);
        (stride > 0 && node.is_multiple_of(stride)).then(|| Active {
            first: 0,
            stride,
            count: size.div_ceil(stride),
        })
    }
}

/// Turns the steps from `first` on into those of a broadcast's root: it sends from `Input`, and drops what
/// would go to `Output`.
fn from_input(steps: &mut Vec<Step>, first: usize) {
    let mut index = 0;
    steps.retain_mut(|step| {
        index += 1;
        if index <= first {
            return true;
        }
        match step {
            Step::Send { from, .. } if from.buffer == Buffer::Output => from.buffer = Buffer::Input,
            Step::Receive { into, .. } if into.buffer == Buffer::Output => {
                (into.buffer, into.offset) = (Buffer::Nothing, 0);
            }
            Step::Copy { from, into } => {
                if from.buffer == Buffer::Output {
                    from.buffer = Buffer::Input;
                }
                return into.buffer != Buffer::Output;
            }
            _ => {}
        }
        true
    });
}

fn gcd(a: u32, b: u32) -> u32 {
    if b == 0 { a } else { gcd(b, a % b) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_and_members_of_a_group_are_inverse() {
        let groups = [
            StageMembers::Range { first: 3, count: 5 },
            StageMembers::Nodes { node: 4, from: 0, to: 3, except: 1 },
            StageMembers::Leaders { node: 4, special: 1, leader: 6 },
            StageMembers::Column { node: 4, offset: 3 },
            StageMembers::Pair { first: 7, second: 2 },
        ];
        for group in groups {
            let mut found = 0;
            for rank in 0..12 {
                if let Some(number) = group.number(rank) {
                    assert_eq!(group.member(rank, number), rank, "{group:?}");
                    found += 1;
                }
            }
            assert!(found >= 2);
        }
    }
}
