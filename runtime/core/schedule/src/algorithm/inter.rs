//! Collectives of intercommunicators: what one group contributes reaches the other (MPI 5.0, chapter 6). As
//! in MPICH the groups work through their first members, their leaders, and rooted collectives go straight to
//! and from the root.

use std::rc::Rc;

use super::combined::as_kind;
use super::parameters::Parameters;
use super::parts::{input, output};
use super::staged::{GroupSchedule, StageBlocks, StageMembers, Staged};
use super::{barrier, bcast, gather, local, reduce};
use crate::{Buffer, Kind, Member, Schedule, Shape, Step};

const INPUT: (Buffer, u64) = (Buffer::Input, 0);
const OUTPUT: (Buffer, u64) = (Buffer::Output, 0);
const SCRATCH: (Buffer, u64) = (Buffer::Scratch, 0);

/// Builds the schedule of an intercommunicator's collective.
pub(super) fn schedule(shape: &Shape, parameters: &Parameters) -> Rc<dyn Schedule> {
    match shape.kind {
        Kind::Bcast => inter_bcast(shape, parameters),
        Kind::Reduce => inter_reduce(shape, parameters),
        Kind::Allreduce => inter_allreduce(shape, parameters),
        Kind::ReduceScatter => inter_reduce_scatter(shape, parameters),
        Kind::Allgather => inter_allgather(shape, parameters),
        Kind::Gather | Kind::Scatter | Kind::Alltoall => Rc::new(DirectExchange::new(shape.kind, shape)),
        Kind::Barrier | Kind::Agree => barrier::dissemination(shape, parameters),
        Kind::Scan | Kind::Exscan | Kind::Neighbor => {
            unreachable!("MPI defines no {:?} on an intercommunicator", shape.kind)
        }
    }
}

/// Returns both groups, as (first member, members).
fn sides(shape: &Shape) -> [(u32, u32); 2] {
    let first = shape.sides.expect("only intercommunicators come here");
    [(0, first), (first, shape.size - first)]
}

/// Returns the group that the root is not in.
fn far(shape: &Shape) -> (u32, u32) {
    let [one, other] = sides(shape);
    if shape.root < other.0 { other } else { one }
}

// Always binomial or linear within a group: decision tables are for communicators of one group.
fn on(
    side: (u32, u32),
    kind: Kind,
    shape: &Shape,
    parameters: &Parameters,
) -> (StageMembers, Rc<dyn Schedule>) {
    let (first, count) = side;
    let shape = Shape { size: count, node: 1, ..as_kind(shape, kind) };
    let schedule = match kind {
        _ if count == 1 => local::single(&shape),
        Kind::Bcast => bcast::binomial(&shape, parameters),
        Kind::Reduce => reduce::binomial(&shape, parameters),
        _ => gather::linear_scatter(&shape, parameters),
    };
    (StageMembers::Range { first, count }, schedule)
}

/// Builds a schedule of one message from `from` to `to`.
fn hand_over(
    from: u32,
    to: u32,
    shape: &Shape,
    parameters: &Parameters,
    input: (Buffer, u64),
    output: (Buffer, u64),
) -> GroupSchedule {
    let pair = Shape { size: 2, ..as_kind(shape, Kind::Bcast) };
    let schedule = bcast::linear(&pair, parameters);
    GroupSchedule {
        group: StageMembers::Pair { first: from, second: to },
        schedule,
        data: StageBlocks::Block(shape.bytes),
        input,
        output,
    }
}

/// Builds a broadcast: the root sends to the leader of the other group, which broadcasts.
fn inter_bcast(shape: &Shape, parameters: &Parameters) -> Rc<dyn Schedule> {
    let side = far(shape);
    let (group, schedule) = on(side, Kind::Bcast, shape, parameters);
    Staged::new("inter", shape.size, 0)
        .then(vec![hand_over(shape.root, side.0, shape, parameters, INPUT, OUTPUT)])
        .then(vec![GroupSchedule {
            group,
            schedule,
            data: StageBlocks::Block(shape.bytes),
            input: OUTPUT,
            output: OUTPUT,
        }])
        .finish()
}

/// Builds a reduction: the other group reduces to its leader, which sends to the root.
fn inter_reduce(shape: &Shape, parameters: &Parameters) -> Rc<dyn Schedule> {
    let side = far(shape);
    let (group, schedule) = on(side, Kind::Reduce, shape, parameters);
    Staged::new("inter", shape.size, shape.bytes)
        .then(vec![GroupSchedule {
            group,
            schedule,
            data: StageBlocks::Block(shape.bytes),
            input: INPUT,
            output: SCRATCH,
        }])
        .then(vec![hand_over(side.0, shape.root, shape, parameters, SCRATCH, OUTPUT)])
        .finish()
}

/// Builds stages in which both groups reduce to their leaders, which exchange the results into `exchanged`.
fn reduce_and_exchange(
    reserve: u64,
    exchanged: (Buffer, u64),
    shape: &Shape,
    parameters: &Parameters,
) -> Staged {
    let [one, other] = sides(shape);
    let up = [one, other].map(|side| {
        let (group, schedule) = on(side, Kind::Reduce, shape, parameters);
        GroupSchedule {
            group,
            schedule,
            data: StageBlocks::Block(shape.bytes),
            input: INPUT,
            output: SCRATCH,
        }
    });
    Staged::new("inter", shape.size, reserve)
        .then(up.into())
        .then(vec![exchange(one.0, other.0, shape, SCRATCH, exchanged)])
}

// Both leaders at once, one message each way.
fn exchange(
    first: u32,
    second: u32,
    shape: &Shape,
    input: (Buffer, u64),
    output: (Buffer, u64),
) -> GroupSchedule {
    GroupSchedule {
        group: StageMembers::Pair { first, second },
        schedule: Rc::new(Swap),
        data: StageBlocks::Block(shape.bytes),
        input,
        output,
    }
}

/// Builds a schedule in which both groups reduce to their leaders, which exchange and broadcast.
fn inter_allreduce(shape: &Shape, parameters: &Parameters) -> Rc<dyn Schedule> {
    let down = sides(shape).map(|side| {
        let (group, schedule) = on(side, Kind::Bcast, shape, parameters);
        GroupSchedule {
            group,
            schedule,
            data: StageBlocks::Block(shape.bytes),
            input: OUTPUT,
            output: OUTPUT,
        }
    });
    reduce_and_exchange(shape.bytes, OUTPUT, shape, parameters).then(down.into()).finish()
}

/// Builds a schedule in which both groups reduce to their leaders, which exchange and scatter.
fn inter_reduce_scatter(shape: &Shape, parameters: &Parameters) -> Rc<dyn Schedule> {
    // Behind the group's own sum, which its leader still sends while the other group's arrives.
    let received = (Buffer::Scratch, shape.bytes);
    let down = sides(shape).map(|side| {
        let (group, schedule) = on(side, Kind::Scatter, shape, parameters);
        GroupSchedule { group, schedule, data: StageBlocks::Contributed, input: received, output: OUTPUT }
    });
    reduce_and_exchange(2 * shape.bytes, received, shape, parameters).then(down.into()).finish()
}

/// Builds an allgather: every member sends to the other group's leader, which broadcasts what it got.
fn inter_allgather(shape: &Shape, parameters: &Parameters) -> Rc<dyn Schedule> {
    let [one, other] = sides(shape);
    let all = StageMembers::Range { first: 0, count: shape.size };
    let schedule: Rc<dyn Schedule> = Rc::new(DirectExchange::new(Kind::Allgather, shape));
    let cross = GroupSchedule { group: all, schedule, data: StageBlocks::Own, input: INPUT, output: OUTPUT };
    let down = [(one, other), (other, one)].map(|(side, from)| {
        let (group, schedule) = on(side, Kind::Bcast, shape, parameters);
        GroupSchedule { group, schedule, data: StageBlocks::Received(from.1), input: OUTPUT, output: OUTPUT }
    });
    Staged::new("inter", shape.size, 0).then(vec![cross]).then(down.into()).finish()
}

/// Two members exchange their blocks.
struct Swap;

impl Schedule for Swap {
    fn name(&self) -> &'static str {
        "swap"
    }
    fn rounds(&self) -> u32 {
        1
    }
    fn round(&self, member: &Member, _: u32, steps: &mut Vec<Step>) {
        let other = 1 - member.rank;
        steps.push(Step::Send { to: other, from: input(0, member.send.bytes(0)) });
        steps.push(Step::Receive { from: other, into: output(0, member.receive.bytes(0)) });
    }
    fn scratch(&self, _: &Member) -> u64 {
        0
    }
}

/// One round of messages across: Gather and Scatter with the root, Allgather to the leaders, Alltoall among
/// all.
struct DirectExchange {
    kind: Kind,
    size: u32,
    first: u32,
    root: u32,
    irregular: bool,
}

impl DirectExchange {
    fn new(kind: Kind, shape: &Shape) -> DirectExchange {
        let first = sides(shape)[1].0;
        DirectExchange { kind, size: shape.size, first, root: shape.root, irregular: shape.irregular }
    }
    /// Returns the first member and the members of the other group.
    fn across(&self, rank: u32) -> (u32, u32) {
        if rank < self.first { (self.first, self.size - self.first) } else { (0, self.first) }
    }
    /// Returns how many members of the other group this one sends a block each to, or the one it sends to.
    fn receivers(&self, rank: u32) -> std::ops::Range<u32> {
        let (first, count) = self.across(rank);
        let to_root = first <= self.root && self.root < first + count;
        match self.kind {
            Kind::Gather if to_root => self.root..self.root + 1,
            Kind::Scatter if rank == self.root => first..first + count,
            Kind::Allgather => first..first + 1,
            Kind::Alltoall => first..first + count,
            _ => 0..0,
        }
    }
    fn senders(&self, rank: u32) -> std::ops::Range<u32> {
        let (first, count) = self.across(rank);
        let from_root = first <= self.root && self.root < first + count;
        match self.kind {
            Kind::Gather if rank == self.root => first..first + count,
            Kind::Scatter if from_root => self.root..self.root + 1,
            Kind::Allgather if rank == 0 || rank == self.first => first..first + count,
            Kind::Alltoall => first..first + count,
            _ => 0..0,
        }
    }
}

impl Schedule for DirectExchange {
    fn name(&self) -> &'static str {
        "inter"
    }
    fn rounds(&self) -> u32 {
        1
    }
    fn round(&self, member: &Member, _: u32, steps: &mut Vec<Step>) {
        let skips = |bytes: u64| self.irregular && bytes == 0;
        let (first, _) = self.across(member.rank);
        // A single block is block 0; else block `i` belongs to member `i` of the other group.
        let blocks_out = matches!(self.kind, Kind::Scatter | Kind::Alltoall);
        for to in self.receivers(member.rank) {
            let index = if blocks_out { to - first } else { 0 };
            let from = input(member.send.offset(index), member.send.bytes(index));
            if !skips(from.bytes) {
                steps.push(Step::Send { to, from });
            }
        }
        for from in self.senders(member.rank) {
            let index = if self.kind == Kind::Scatter { 0 } else { from - first };
            let into = output(member.receive.offset(index), member.receive.bytes(index));
            if !skips(into.bytes) {
                steps.push(Step::Receive { from, into });
            }
        }
    }
    fn scratch(&self, _: &Member) -> u64 {
        0
    }
}
