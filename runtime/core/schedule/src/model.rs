//! For tests: what each collective means, written down plainly, and a lockstep executor that checks every
//! rule of [`schedule`](crate) while it runs an algorithm.

use std::collections::{HashMap, VecDeque};
use std::ops::Range;
use std::rc::Rc;

use crate::{
    Blocks, Buffer, Direct, Kind, Member, NOBODY, RoundPattern, Schedule, Shape, Slice, Step, begins,
};

/// Bytes of an element of the reductions below.
pub(crate) const ELEMENT: u64 = 16;

/// A collective with everyone's data and what must come out.
pub(crate) struct Case {
    pub(crate) shape: Shape,
    pub(crate) members: Vec<Member>,
    pub(crate) inputs: Vec<Vec<u8>>,
    /// `None` where nothing is to be written: such a member has no output buffer.
    pub(crate) expected: Vec<Option<Vec<u8>>>,
}

/// Makes a shape without blocks, root 0, of one communicator on a machine without nodes.
pub(crate) fn shape(kind: Kind, size: u32, bytes: u64) -> Shape {
    Shape::regular(kind, size, bytes, if reduces(kind) { ELEMENT } else { 1 })
}

/// Returns `true` if the collective reduces.
pub(crate) fn reduces(kind: Kind) -> bool {
    matches!(kind, Kind::Reduce | Kind::Allreduce | Kind::ReduceScatter | Kind::Scan | Kind::Exscan)
}

/// Contribution of `rank` to lane `lane` of a reduction: a set of ranks where the operation commutes, a range
/// where not.
// Data that says where it comes from: a contribution that is lost, counts twice or stands in the wrong place
// cannot cancel out, as it could in a sum.
fn element(commutative: bool, ranks: Range<u32>, lane: u64) -> [u8; 16] {
    let mut bytes = [0; 16];
    let head = if commutative {
        ranks.fold(0u64, |set, rank| set | 1 << rank)
    } else {
        u64::from(ranks.start) | u64::from(ranks.end) << 32
    };
    bytes[..8].copy_from_slice(&head.to_le_bytes());
    bytes[8..].copy_from_slice(&lane.to_le_bytes());
    bytes
}

fn lanes(commutative: bool, ranks: Range<u32>, bytes: u64) -> Vec<u8> {
    (0..bytes / ELEMENT).flat_map(|lane| element(commutative, ranks.clone(), lane)).collect()
}

/// Computes `left op right`, checking that sets are disjoint, ranges adjacent and lanes equal.
pub(crate) fn combine(commutative: bool, left: &[u8], right: &[u8]) -> Vec<u8> {
    assert!(left.len() == right.len() && left.len().is_multiple_of(16), "a reduction splits an element");
    let word = |bytes: &[u8]| u64::from_le_bytes(bytes.try_into().expect("eight bytes"));
    let mut result = Vec::with_capacity(left.len());
    for (l, r) in left.chunks(16).zip(right.chunks(16)) {
        assert_eq!(&l[8..], &r[8..], "elements of different lanes are reduced");
        let (a, b) = (word(&l[..8]), word(&r[..8]));
        let head = if commutative {
            assert!(a != 0 && b != 0 && a & b == 0, "a contribution counts twice or not at all: {a:b} {b:b}");
            a | b
        } else {
            assert_eq!(a >> 32, b & 0xffff_ffff, "operands are out of order: {a:x} {b:x}");
            (a & 0xffff_ffff) | (b >> 32 << 32)
        };
        result.extend_from_slice(&head.to_le_bytes());
        result.extend_from_slice(&l[8..]);
    }
    result
}

/// Returns the bytes that `from` has for `to` (or for all, `to` = 0).
fn data(from: u32, to: u32, bytes: u64) -> Vec<u8> {
    (0..bytes).map(|i| (u64::from(from) * 31 + u64::from(to) * 7 + i * 3 + 1) as u8).collect()
}

/// One member's blocks of input and output, its input, and the output that a run must give it, if it gets
/// any.
struct MemberBlocks {
    send: Blocks,
    receive: Blocks,
    input: Vec<u8>,
    expected: Option<Vec<u8>>,
}

/// A shape with the sizes of its irregular blocks, in bytes (of ReduceScatter in elements).
struct SizedShape<F: Fn(u32, u32) -> u64> {
    shape: Shape,
    block: F,
}

impl<F: Fn(u32, u32) -> u64> SizedShape<F> {
    fn bytes(&self, from: u32, to: u32) -> u64 {
        if self.shape.irregular { (self.block)(from, to) } else { self.shape.bytes }
    }
    /// Returns equal blocks, or those of these sizes.
    fn blocks(&self, sizes: impl Iterator<Item = u64> + Clone) -> Blocks {
        if !self.shape.irregular {
            return Blocks::Uniform(self.shape.bytes);
        }
        Blocks::Each(begins(sizes).collect())
    }
    /// Returns the group of `rank`.
    fn own(&self, rank: u32) -> Range<u32> {
        let size = self.shape.size;
        self.shape.sides.map_or(0..size, |first| if rank < first { 0..first } else { first..size })
    }
    /// Returns the group that `rank` exchanges with.
    fn other(&self, rank: u32) -> Range<u32> {
        let size = self.shape.size;
        self.shape.sides.map_or(0..size, |first| if rank < first { first..size } else { 0..first })
    }
    /// Returns `true` if `rank` exchanges with the root.
    fn meets_root(&self, rank: u32) -> bool {
        self.other(self.shape.root).contains(&rank)
    }

    fn bcast(&self, rank: u32) -> MemberBlocks {
        let (root, one) = (self.shape.root, Blocks::Uniform(self.shape.bytes));
        let message = data(root, 0, self.shape.bytes);
        let gets = rank != root && self.meets_root(rank);
        let input = if rank == root { message.clone() } else { vec![] };
        MemberBlocks { send: one.clone(), receive: one, input, expected: gets.then_some(message) }
    }

    fn gather(&self, rank: u32) -> MemberBlocks {
        let from = self.other(self.shape.root);
        let sends = if self.meets_root(rank) { self.bytes(rank, 0) } else { 0 };
        let (mut receive, mut expected) = (Blocks::Uniform(0), None);
        if rank == self.shape.root {
            receive = self.blocks(from.clone().map(|i| self.bytes(i, 0)));
            expected = Some(from.flat_map(|i| data(i, 0, self.bytes(i, 0))).collect());
        }
        MemberBlocks { send: Blocks::Uniform(sends), receive, input: data(rank, 0, sends), expected }
    }

    fn scatter(&self, rank: u32) -> MemberBlocks {
        let root = self.shape.root;
        let to = self.other(root);
        let gets = if self.meets_root(rank) { self.bytes(0, rank) } else { 0 };
        let (mut send, mut input) = (Blocks::Uniform(0), vec![]);
        if rank == root {
            send = self.blocks(to.clone().map(|i| self.bytes(0, i)));
            input = to.flat_map(|i| data(root, i, self.bytes(0, i))).collect();
        }
        let expected = self.meets_root(rank).then(|| data(root, rank, gets));
        MemberBlocks { send, receive: Blocks::Uniform(gets), input, expected }
    }

    fn allgather(&self, rank: u32) -> MemberBlocks {
        let (from, bytes) = (self.other(rank), self.bytes(rank, 0));
        let receive = self.blocks(from.clone().map(|i| self.bytes(i, 0)));
        let all = from.flat_map(|i| data(i, 0, self.bytes(i, 0))).collect();
        MemberBlocks {
            send: Blocks::Uniform(bytes),
            receive,
            input: data(rank, 0, bytes),
            expected: Some(all),
        }
    }

    fn alltoall(&self, rank: u32) -> MemberBlocks {
        let others = self.other(rank);
        MemberBlocks {
            send: self.blocks(others.clone().map(|i| self.bytes(rank, i))),
            receive: self.blocks(others.clone().map(|i| self.bytes(i, rank))),
            input: others.clone().flat_map(|i| data(rank, i, self.bytes(rank, i))).collect(),
            expected: Some(others.flat_map(|i| data(i, rank, self.bytes(i, rank))).collect()),
        }
    }

    /// Returns the blocks of a reduction: one block in, the reduction over `ranks` out where there are any.
    fn reduction(&self, rank: u32, ranks: Option<Range<u32>>) -> MemberBlocks {
        let (one, commutative) = (Blocks::Uniform(self.shape.bytes), self.shape.commutative);
        // Members in the group of an intercommunicator's root contribute nothing.
        let gives = self.shape.kind != Kind::Reduce || self.meets_root(rank);
        let bytes = if gives { self.shape.bytes } else { 0 };
        let expected = ranks.map(|ranks| lanes(commutative, ranks, self.shape.bytes));
        MemberBlocks {
            send: one.clone(),
            receive: one,
            input: lanes(commutative, rank..rank + 1, bytes),
            expected,
        }
    }

    /// Sizes of the blocks of the group of `rank`.
    fn kept(&self, rank: u32) -> Vec<u64> {
        let equal = self.shape.bytes / u64::from(self.shape.size);
        self.own(rank)
            .map(|i| if self.shape.irregular { ELEMENT * (self.block)(i, 0) } else { equal })
            .collect()
    }

    fn reduce_scatter(&self, rank: u32) -> MemberBlocks {
        let sizes = self.kept(rank);
        let total = sizes.iter().sum();
        let all = lanes(self.shape.commutative, self.other(rank), total);
        let index = (rank - self.own(rank).start) as usize;
        let start = sizes[..index].iter().sum::<u64>() as usize;
        let expected = all[start..start + sizes[index] as usize].to_vec();
        let send =
            if self.shape.irregular { self.blocks(sizes.iter().copied()) } else { Blocks::Uniform(sizes[0]) };
        let input = lanes(self.shape.commutative, rank..rank + 1, total);
        MemberBlocks { send, receive: Blocks::Uniform(sizes[index]), input, expected: Some(expected) }
    }

    fn part(&self, rank: u32) -> MemberBlocks {
        let nil = Blocks::Uniform(0);
        match self.shape.kind {
            Kind::Barrier | Kind::Agree | Kind::Neighbor => {
                MemberBlocks { send: nil.clone(), receive: nil, input: vec![], expected: None }
            }
            Kind::Bcast => self.bcast(rank),
            Kind::Gather => self.gather(rank),
            Kind::Scatter => self.scatter(rank),
            Kind::Allgather => self.allgather(rank),
            Kind::Alltoall => self.alltoall(rank),
            Kind::Reduce => self.reduction(rank, (rank == self.shape.root).then(|| self.other(rank))),
            Kind::Allreduce => self.reduction(rank, Some(self.other(rank))),
            Kind::ReduceScatter => self.reduce_scatter(rank),
            Kind::Scan => self.reduction(rank, Some(0..rank + 1)),
            Kind::Exscan => self.reduction(rank, (rank > 0).then_some(0..rank)),
        }
    }

    /// Returns [`Shape::bytes`] as the collective's documentation defines it.
    fn known_bytes(&self) -> u64 {
        match self.shape.kind {
            Kind::ReduceScatter => self.kept(0).iter().sum(),
            Kind::Allgather if self.shape.irregular && self.shape.sides.is_none() => {
                (0..self.shape.size).map(|i| self.bytes(i, 0)).sum()
            }
            Kind::Allgather | Kind::Alltoall if self.shape.irregular => 0,
            _ => self.shape.bytes,
        }
    }
}

impl Case {
    /// Makes the case of `shape`; `block(from, to)` gives the sizes where they are irregular (in elements for
    /// ReduceScatter; in an intercommunicator these must have the same sum in both groups).
    pub(crate) fn new(shape: Shape, block: impl Fn(u32, u32) -> u64) -> Case {
        let maker = SizedShape { shape, block };
        let nobody: Rc<[u32]> = Rc::from([]);
        let (mut members, mut inputs, mut expected) = (vec![], vec![], vec![]);
        for rank in 0..maker.shape.size {
            let part = maker.part(rank);
            let (sources, destinations) = (nobody.clone(), nobody.clone());
            members.push(Member { rank, send: part.send, receive: part.receive, sources, destinations });
            inputs.push(part.input);
            expected.push(part.expected);
        }
        let shape = Shape { bytes: maker.known_bytes(), ..maker.shape };
        Case { shape, members, inputs, expected }
    }
}

/// Messages and bytes that a run sent.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub(crate) struct Cost {
    pub(crate) messages: u64,
    pub(crate) bytes: u64,
}

/// A message under way: where it was sent from, and its data.
type Flying = (Slice, Vec<u8>);

struct MemberBuffers {
    input: Vec<u8>,
    output: Vec<u8>,
    scratch: Vec<u8>,
}

impl MemberBuffers {
    fn buffer(&self, buffer: Buffer) -> Option<&Vec<u8>> {
        match buffer {
            Buffer::Input => Some(&self.input),
            Buffer::Output => Some(&self.output),
            Buffer::Scratch => Some(&self.scratch),
            Buffer::Nothing => None,
        }
    }
    fn read(&self, slice: Slice) -> Vec<u8> {
        let Some(buffer) = self.buffer(slice.buffer) else { return vec![0; slice.bytes as usize] };
        buffer[slice.offset as usize..][..slice.bytes as usize].to_vec()
    }
    fn write(&mut self, slice: Slice, data: &[u8]) {
        assert_eq!(slice.bytes, data.len() as u64);
        let buffer = match slice.buffer {
            Buffer::Input => panic!("a step writes the contribution"),
            Buffer::Output => &mut self.output,
            Buffer::Scratch => &mut self.scratch,
            Buffer::Nothing => return,
        };
        buffer[slice.offset as usize..][..slice.bytes as usize].copy_from_slice(data);
    }
}

fn disjoint(one: Slice, other: Slice) -> bool {
    one.buffer != other.buffer
        || one.offset + one.bytes <= other.offset
        || other.offset + other.bytes <= one.offset
}

/// Runs `schedule` on `case`, checks all rules of schedules and the results.
pub(crate) fn run(schedule: &dyn Schedule, case: &Case) -> Cost {
    let mut cost = Cost::default();
    let mut states: Vec<MemberBuffers> = (case.members.iter().zip(&case.inputs).zip(&case.expected))
        .map(|((member, input), expected)| MemberBuffers {
            input: input.clone(),
            output: vec![0xee; expected.as_ref().map_or(0, Vec::len)],
            scratch: vec![0; schedule.scratch(member) as usize],
        })
        .collect();
    for round in 0..schedule.rounds() {
        let steps: Vec<Vec<Step>> = (case.members.iter())
            .map(|member| {
                let mut steps = vec![];
                schedule.round(member, round, &mut steps);
                steps
            })
            .collect();
        check_hints(schedule, round, &steps);
        if let Some(direct) = schedule.direct(round) {
            check_direct(direct, case, &steps);
        }
        cost = lockstep(case, &mut states, &steps, cost);
    }
    for (rank, (state, expected)) in states.iter().zip(&case.expected).enumerate() {
        let expected = expected.as_deref().unwrap_or(&[]);
        assert!(state.output == expected, "member {rank} of {:?} has a wrong result", case.shape);
    }
    cost
}

fn lockstep(case: &Case, states: &mut [MemberBuffers], steps: &[Vec<Step>], mut cost: Cost) -> Cost {
    let mut flying = HashMap::<(u32, u32), VecDeque<Flying>>::new();
    for (rank, steps) in steps.iter().enumerate() {
        let phase = |step: &Step| match step {
            Step::Send { .. } => 0,
            Step::Receive { .. } => 1,
            _ => 2,
        };
        assert!(steps.is_sorted_by_key(phase), "steps come in the order send, receive, local: {steps:?}");
        for step in steps {
            if let Step::Send { to, from } = *step {
                assert!(to < case.shape.size);
                assert!(to != rank as u32 || case.shape.kind == Kind::Neighbor, "a member sends to itself");
                flying.entry((rank as u32, to)).or_default().push_back((from, states[rank].read(from)));
                cost.messages += 1;
                cost.bytes += from.bytes;
            }
        }
    }
    for (rank, steps) in steps.iter().enumerate() {
        let mut landed: Vec<Slice> = vec![];
        for step in steps {
            match *step {
                Step::Send { .. } => {}
                Step::Receive { from, into } => {
                    let message = flying.get_mut(&(from, rank as u32)).and_then(VecDeque::pop_front);
                    let (sent, message) =
                        message.unwrap_or_else(|| panic!("{rank} waits for {from} in vain"));
                    assert_eq!(message.len() as u64, into.bytes, "{rank} expects another size from {from}");
                    assert!(
                        sent.buffer != Buffer::Nothing || into.buffer == Buffer::Nothing,
                        "no data arrives as data"
                    );
                    assert!(
                        landed.iter().all(|&other| disjoint(other, into)),
                        "two messages land on each other"
                    );
                    landed.push(into);
                    states[rank].write(into, &message);
                }
                Step::ReduceLeft { from, into } | Step::ReduceRight { from, into } => {
                    assert!(disjoint(from, into) && from.bytes == into.bytes && into.bytes > 0);
                    let (other, own) = (states[rank].read(from), states[rank].read(into));
                    let left = matches!(step, Step::ReduceLeft { .. });
                    let (left, right) = if left { (&other, &own) } else { (&own, &other) };
                    let result = combine(case.shape.commutative, left, right);
                    states[rank].write(into, &result);
                }
                Step::Copy { from, into } => {
                    assert!(disjoint(from, into) && from.bytes == into.bytes);
                    let data = states[rank].read(from);
                    states[rank].write(into, &data);
                }
            }
        }
    }
    assert!(flying.values().all(VecDeque::is_empty), "a message is never received");
    cost
}

/// Checks `direct` against the messages of a round, by receiver: from whom, and whether empty ones are left
/// out.
fn check_direct(direct: Direct, case: &Case, steps: &[Vec<Step>]) {
    let size = steps.len() as u32;
    for (rank, steps) in (0..).zip(steps) {
        let sources = &case.members[rank as usize].sources;
        let (expected, skips): (Vec<u32>, bool) = match direct {
            Direct::Ahead { first, count, skips_empty } => (
                (first..first.saturating_add(count).min(size))
                    .map(|distance| (rank + size - distance) % size)
                    .collect(),
                skips_empty,
            ),
            Direct::Across { mask } => (vec![rank ^ mask], false),
            Direct::Neighbors => {
                (sources.iter().copied().filter(|&source| source != NOBODY).collect(), false)
            }
        };
        let bytes = |from: u32| case.members[rank as usize].receive.bytes(from);
        let mut expected: Vec<u32> =
            expected.into_iter().filter(|&from| !skips || bytes(from) != 0).collect();
        let mut received: Vec<u32> = steps
            .iter()
            .filter_map(|step| if let Step::Receive { from, .. } = step { Some(*from) } else { None })
            .collect();
        expected.sort_unstable();
        received.sort_unstable();
        assert_eq!(expected, received, "{rank}: {direct:?}");
    }
}

/// Checks `active`, `next` and `pattern` against the steps of a round.
fn check_hints(schedule: &dyn Schedule, round: u32, steps: &[Vec<Step>]) {
    let size = steps.len() as u32;
    if let Some(active) = schedule.active(round) {
        let member = |i: u32| {
            ((u64::from(active.first) + u64::from(i) * u64::from(active.stride)) % u64::from(size)) as u32
        };
        let mut named = vec![false; steps.len()];
        for i in 0..active.count {
            assert!(
                !std::mem::replace(&mut named[member(i) as usize], true),
                "a member is named twice: {active:?}"
            );
        }
        for (rank, steps) in steps.iter().enumerate() {
            assert!(
                named[rank] || steps.is_empty(),
                "member {rank} has steps in round {round}, not in {active:?}"
            );
        }
    }
    for (rank, steps) in (0..).zip(steps) {
        let next = schedule.next(rank, round);
        assert!(next >= round && next <= schedule.rounds());
        assert!(next == round || steps.is_empty(), "member {rank} would skip its steps in round {round}");
    }
    if let Some(pattern) = schedule.pattern(round) {
        for (rank, steps) in (0..).zip(steps) {
            let messages: Vec<Step> =
                steps.iter().copied().filter(|s| s.slice_of_message().is_some()).collect();
            if let RoundPattern::Pairs { pairs, up, bytes } = pattern {
                let sender = rank % 2 == u32::from(!up);
                let message = |step: &Step| match *step {
                    Step::Send { to, from } => sender && to == (rank ^ 1) && from.bytes == bytes,
                    Step::Receive { from, into } => !sender && from == (rank ^ 1) && into.bytes == bytes,
                    _ => false,
                };
                assert!(
                    messages.len() == usize::from(rank / 2 < pairs) && messages.iter().all(message),
                    "{rank}: {pattern:?} is not {messages:?}"
                );
                continue;
            }
            let expected = partners(pattern, rank, size);
            let (Some((to, from)), bytes) = expected else {
                assert!(messages.is_empty(), "{rank} rests in {pattern:?}");
                continue;
            };
            let sends = matches!(messages[0], Step::Send { to: t, from: s } if t == to && s.bytes == bytes);
            let receives =
                matches!(messages[1], Step::Receive { from: f, into } if f == from && into.bytes == bytes);
            assert!(messages.len() == 2 && sends && receives, "{rank}: {pattern:?} is not {messages:?}");
        }
    }
}

fn partners(pattern: RoundPattern, rank: u32, size: u32) -> (Option<(u32, u32)>, u64) {
    match pattern {
        RoundPattern::Shift { distance, bytes } => {
            (Some(((rank + distance) % size, (rank + size - distance) % size)), bytes)
        }
        RoundPattern::Exchange { mask, among, folded, bytes } => {
            let member = |v: u32| if v < folded { 2 * v + 1 } else { v + folded };
            let position = (0..among).find(|&v| member(v) == rank);
            (position.map(|v| (member(v ^ mask), member(v ^ mask))), bytes)
        }
        RoundPattern::Pairs { .. } => unreachable!("checked by the caller"),
    }
}

impl Step {
    fn slice_of_message(&self) -> Option<Slice> {
        match *self {
            Step::Send { from, .. } => Some(from),
            Step::Receive { into, .. } => Some(into),
            _ => None,
        }
    }
}
