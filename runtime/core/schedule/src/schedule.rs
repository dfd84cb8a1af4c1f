//! Collective algorithms: rounds of send, receive, reduce and copy for each member.
//!
//! # Rounds
//! Rounds are numbered alike for all members, and a message sent in round `k` is received in
//! round `k`. A member with nothing to do in a round has no steps in it. Inside a round:
//! 1. all its [`Step::Send`]s start, in the order listed, with the data that the buffers hold
//!    when the round begins;
//! 2. all its [`Step::Receive`]s complete, in the order listed;
//! 3. its [`Step::ReduceLeft`], [`Step::ReduceRight`] and [`Step::Copy`] steps run, in the order listed.
//!
//! A member's clock moves only by its messages: a send costs the sender's overhead, a receive waits until the
//! message is there. That makes a schedule's time and result a function of the members' entry clocks,
//! whichever executor runs it. One goes event by event through the network, another takes all members at once
//! in a loop over clocks.
//!
//! # Data
//! Members work on packed bytes: `Input` is the member's packed contribution, `Output` its packed
//! result, `Scratch` memory of the size the schedule asks for. Blocks of several members lie one
//! behind the other in rank order. Two messages between one pair of members in one round arrive
//! in the order they were sent.

use std::rc::Rc;

/// One of a member's packed buffers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Buffer {
    /// The member's contribution; never written.
    Input,
    /// The member's result.
    Output,
    /// Working memory, [`Schedule::scratch`] bytes, zeroed at the start.
    Scratch,
    /// No memory: the bytes cost time in the network and carry nothing (barriers, context agreement). What is
    /// received here is dropped, also if its sender sent data: a broadcast's root gets back pieces that it
    /// has.
    Nothing,
}

/// A range of one of the buffers, in bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Slice {
    /// The buffer.
    pub buffer: Buffer,
    /// First byte.
    pub offset: u64,
    /// The length in bytes.
    pub bytes: u64,
}

/// One action of one member in one round.
// Five steps and no more: whatever an algorithm does besides must follow from these, because each plane and
// the event executor interprets them.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Step {
    /// Sends `from` to member `to`.
    Send {
        /// The receiving member.
        to: u32,
        /// The bytes that are sent.
        from: Slice,
    },
    /// Receives from member `from`; the message must have exactly `into.bytes` bytes.
    Receive {
        /// The sending member.
        from: u32,
        /// The range that the message is written to.
        into: Slice,
    },
    /// `into = from op into`: `from` is the left operand (the lower ranks, for operations that do not
    /// commute).
    ReduceLeft {
        /// Left operand.
        from: Slice,
        /// Right operand and result.
        into: Slice,
    },
    /// `into = into op from`: `from` is the right operand (the higher ranks).
    ReduceRight {
        /// Right operand.
        from: Slice,
        /// Left operand and result.
        into: Slice,
    },
    /// `into = from`; the ranges do not overlap.
    Copy {
        /// Source.
        from: Slice,
        /// Destination.
        into: Slice,
    },
}

/// A message that a step sends or receives.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct StepMessage {
    /// `true` if the member sends it.
    pub sends: bool,
    /// The other member.
    pub peer: u32,
    /// Payload.
    pub bytes: u64,
}

impl Step {
    /// Returns the message that it sends or receives, for those who need no data.
    pub fn message(&self) -> Option<StepMessage> {
        match *self {
            Step::Send { to: peer, from: slice } | Step::Receive { from: peer, into: slice } => {
                let sends = matches!(self, Step::Send { .. });
                Some(StepMessage { sends, peer, bytes: slice.bytes })
            }
            _ => None,
        }
    }
}

/// Bytes of each member's block.
// Three forms, because the even one is a number and a list for a million members is eight megabytes a member.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Blocks {
    /// Every block has this many bytes.
    Uniform(u64),
    /// All blocks are the same bytes, once in the buffer (`MPI_Neighbor_allgather` sends one to everyone).
    Same(u64),
    /// Prefix sums: block `i` is bytes `offsets[i]..offsets[i + 1]` of the packed buffer.
    Each(Rc<[u64]>),
}

/// Returns where blocks of these sizes begin that lie one behind the other, and where the last one ends: as
/// in [`Blocks::Each`].
// One more number than blocks: the end of the last is asked for as often as the begin of the first.
pub fn begins(sizes: impl Iterator<Item = u64> + Clone) -> impl Iterator<Item = u64> + Clone {
    let ends = sizes.scan(0, |end, bytes| {
        *end += bytes;
        Some(*end)
    });
    std::iter::once(0).chain(ends)
}

impl Blocks {
    /// Returns where block `index` begins in the packed buffer.
    #[inline]
    pub fn offset(&self, index: u32) -> u64 {
        match self {
            Blocks::Uniform(bytes) => bytes * u64::from(index),
            Blocks::Same(_) => 0,
            Blocks::Each(offsets) => offsets[index as usize],
        }
    }
    /// Returns the bytes of block `index`.
    #[inline]
    pub fn bytes(&self, index: u32) -> u64 {
        match self {
            Blocks::Uniform(bytes) | Blocks::Same(bytes) => *bytes,
            Blocks::Each(offsets) => offsets[index as usize + 1] - offsets[index as usize],
        }
    }
}

/// A collective operation. The blocking, nonblocking and persistent forms are one kind.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Kind {
    /// MPI_Barrier.
    Barrier,
    /// MPI_Bcast: `send` of the root = `receive` of all = one block. The root's data is in `Input`, the
    /// result of the others in `Output`; the root's `Output` is not used.
    Bcast,
    /// MPI_Gather and MPI_Gatherv: `receive` at the root has a block a member; others know only their own
    /// `send`.
    Gather,
    /// MPI_Scatter and MPI_Scatterv: `send` at the root has a block a member.
    Scatter,
    /// MPI_Allgather and MPI_Allgatherv: every member knows all blocks in `receive`.
    Allgather,
    /// MPI_Alltoall, v and w: `send` block `i` goes to member `i`, `receive` block `i` comes from member `i`.
    Alltoall,
    /// MPI_Reduce: one block.
    Reduce,
    /// MPI_Allreduce: one block.
    Allreduce,
    /// MPI_Reduce_scatter and MPI_Reduce_scatter_block: all members know all blocks (in `send`); member `i`
    /// keeps block `i`, the one block of its `receive`.
    ReduceScatter,
    /// MPI_Scan.
    Scan,
    /// MPI_Exscan: member 0's output is not written.
    Exscan,
    /// Neighbourhood collectives: one round over [`Member::sources`] and [`Member::destinations`].
    Neighbor,
    /// Agreement when a communicator is made: time only (`Buffer::Nothing`), [`Shape::bytes`] from each
    /// member known to all at the end.
    Agree,
}

impl Kind {
    /// Every kind.
    pub const ALL: [Kind; 13] = [
        Kind::Barrier,
        Kind::Bcast,
        Kind::Gather,
        Kind::Scatter,
        Kind::Allgather,
        Kind::Alltoall,
        Kind::Reduce,
        Kind::Allreduce,
        Kind::ReduceScatter,
        Kind::Scan,
        Kind::Exscan,
        Kind::Neighbor,
        Kind::Agree,
    ];

    /// Returns its name in `-xsim-coll` and in reports.
    pub fn name(self) -> &'static str {
        match self {
            Kind::Barrier => "barrier",
            Kind::Bcast => "bcast",
            Kind::Gather => "gather",
            Kind::Scatter => "scatter",
            Kind::Allgather => "allgather",
            Kind::Alltoall => "alltoall",
            Kind::Reduce => "reduce",
            Kind::Allreduce => "allreduce",
            Kind::ReduceScatter => "reduce_scatter",
            Kind::Scan => "scan",
            Kind::Exscan => "exscan",
            Kind::Neighbor => "neighbor",
            Kind::Agree => "agree",
        }
    }
}

/// Properties of a collective that all members know. Algorithms are chosen from these alone.
// Nothing that only one member knows: members choose by this without talking, and must all choose the same.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Shape {
    /// The collective operation.
    pub kind: Kind,
    /// Members; of an intercommunicator, both groups: local group of the lower side first (see `sides`).
    pub size: u32,
    /// Root member, 0 where there is none.
    pub root: u32,
    /// `true` if blocks may differ from member to member (the v and w forms).
    pub irregular: bool,
    /// The size the decision tables look at, in bytes, equal on all members: the message of Bcast, Reduce,
    /// Allreduce, Scan; one block of Gather, Scatter, Alltoall, Allgather, Agree. The total of ReduceScatter
    /// (both forms) and Allgatherv; 0 for the other v and w forms, where not all members know a size, and for
    /// Neighbor.
    pub bytes: u64,
    /// Bytes of one element, which a reduction must not split; 1 where nothing is reduced.
    pub element: u64,
    /// `true` if the operation commutes (true where nothing is reduced).
    pub commutative: bool,
    /// The first group's size of an intercommunicator: members `0..first` are one group, `first..size` the
    /// other. Blocks then count the members of the other group (block 0 is its first), except those of
    /// ReduceScatter, which count the own group.
    pub sides: Option<u32>,
    /// Ranks that share a node of the machine, for two-level algorithms: members `i` and `j` are on one node
    /// if `i / node == j / node`; 1 where the machine has no such level.
    pub node: u32,
    /// `true` if the operation is one of MPI's own (true where nothing is reduced): published tables ask for
    /// it.
    pub predefined: bool,
    /// Neighbourhood collectives on a Cartesian topology: neighbours come in pairs (negative, positive
    /// direction), and what was sent in one direction arrives from the other, even where both are one member
    /// (MPI 5.0, section 8.6).
    pub cartesian: bool,
}

impl Shape {
    /// Returns the elements of the message.
    pub(crate) fn elements(&self) -> u64 {
        self.bytes / self.element.max(1)
    }

    /// Returns `true` if there are several nodes, and several members on a node.
    // One node alone has no second level.
    pub(crate) fn spans_nodes(&self) -> bool {
        self.node > 1 && self.size > self.node
    }

    /// Returns a collective whose members have blocks of one size, on ranks that share no nodes; the
    /// operation, if it reduces, commutes.
    pub fn regular(kind: Kind, size: u32, bytes: u64, element: u64) -> Shape {
        Shape {
            kind,
            size,
            root: 0,
            irregular: false,
            bytes,
            element,
            commutative: true,
            sides: None,
            node: 1,
            predefined: true,
            cartesian: false,
        }
    }
    /// Returns `true` if two members' calls can be one collective.
    // Not the root and not the kind: those are in the signature of the call, which has the better sentence
    // for them.
    pub fn matches(&self, other: &Shape) -> bool {
        self.bytes == other.bytes
            && self.element == other.element
            && self.commutative == other.commutative
            && self.predefined == other.predefined
            && self.cartesian == other.cartesian
    }
    /// Returns the size, as messages show it.
    pub fn describe(&self) -> String {
        let of = match self.kind {
            Kind::Gather | Kind::Scatter | Kind::Allgather | Kind::Alltoall if !self.irregular => {
                " for each member"
            }
            _ => "",
        };
        let bytes = format!("{} byte{}{of}", self.bytes, if self.bytes == 1 { "" } else { "s" });
        match (self.element, self.predefined) {
            (1, true) => bytes,
            (element, true) => format!("{bytes} (elements of {element})"),
            (element, false) => format!("{bytes} (elements of {element}, an operation of the program)"),
        }
    }
    /// Returns `true` if its messages carry no data: only clocks matter.
    pub fn carries_nothing(&self) -> bool {
        matches!(self.kind, Kind::Barrier | Kind::Agree)
    }
}

/// The neighbour of a Cartesian topology that does not exist.
pub const NOBODY: u32 = u32::MAX;

/// One member's data of a collective: its rank, its blocks and its neighbours.
#[derive(Clone, Debug)]
pub struct Member {
    /// The number in the collective.
    pub rank: u32,
    /// Blocks of `Input`.
    pub send: Blocks,
    /// Blocks of `Output`.
    pub receive: Blocks,
    /// Neighbourhood collectives: who sends to this member, in order (block `i` of `receive`); [`NOBODY`] for
    /// `MPI_PROC_NULL`.
    pub sources: Rc<[u32]>,
    /// Neighbourhood collectives: to whom this member sends, in order (block `i` of `send`); [`NOBODY`] for
    /// `MPI_PROC_NULL`.
    pub destinations: Rc<[u32]>,
}

/// Rounds whose messages all members exchange in one regular pattern. Clocks are then advanced in a loop over
/// neighbouring numbers, or, while all are equal, in one addition. A barrier of a million members that enter
/// together costs its 20 rounds, and no step of theirs is ever made.
// Three patterns cover the rounds of all doubling, halving, ring and dissemination algorithms; trees have
// `active` instead.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum RoundPattern {
    /// Every member `i` sends `bytes` to `(i + distance) mod size` and receives from `(i - distance) mod
    /// size`.
    Shift {
        /// The distance from a member to the one that it sends to.
        distance: u32,
        /// Bytes of each message.
        bytes: u64,
    },
    /// `among` members, a power of two, exchange `bytes` in pairs; the others rest. Position `v` exchanges
    /// with position `v xor mask`; it is member `2 v + 1` for `v < folded` (the even one of these pairs
    /// rests), else member `v + folded`.
    Exchange {
        /// The bits in which the positions of two partners differ.
        mask: u32,
        /// The number of members that take part.
        among: u32,
        /// Pairs of which one member rests: `size - among`; 0 where the size is a power of two.
        folded: u32,
        /// Bytes of each message.
        bytes: u64,
    },
    /// One member of each of `pairs` pairs, made of members `2 i` and `2 i + 1`, sends `bytes` to the other.
    /// Further members rest.
    Pairs {
        /// The number of pairs.
        pairs: u32,
        /// `true` if the even one sends.
        up: bool,
        /// Bytes of each message.
        bytes: u64,
    },
}

impl RoundPattern {
    /// Returns the bytes of each message.
    pub fn bytes(self) -> u64 {
        match self {
            RoundPattern::Shift { bytes, .. }
            | RoundPattern::Exchange { bytes, .. }
            | RoundPattern::Pairs { bytes, .. } => bytes,
        }
    }
}

/// Rounds of all-to-alls and neighbourhoods in which blocks go directly to their members, so that only the
/// blocks' sizes are to be known. The steps of an all-to-all of `n` members would name `n` blocks for each of
/// `n` members in each of `n` rounds. A member sends, and receives, in the order in which its messages are
/// listed here, which matters where it pays for each.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Direct {
    /// Every member `i` sends to `(i + distance) mod size` for `count` distances from `first` on, as far as
    /// they are below the size.
    Ahead {
        /// The least distance.
        first: u32,
        /// The number of distances.
        count: u32,
        /// `true` if empty blocks are not sent.
        skips_empty: bool,
    },
    /// Every member `i` exchanges with `i xor mask`.
    Across {
        /// The bits in which the numbers of two partners differ.
        mask: u32,
    },
    /// Every member sends to all its neighbours.
    Neighbors,
}

/// The order in which a reduction's operands come together, where a schedule has one for all members.
/// Floating-point addition is not associative, so a result has the schedule's bits only in the schedule's
/// association. Told in short, it takes `n - 1` reductions of the members' own bytes instead of the `n log n`
/// of a recursive doubling.
// Two, for the algorithms that small reductions use by default (recursive doubling, binomial); for longer
// messages the bytes dominate anyway.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Association {
    /// `folded` pairs of members `2 i` and `2 i + 1` reduce first, so that `among` operands remain, a power
    /// of two, in order. Then neighbours reduce in pairs until one is left, the lower one always on the left.
    /// All members have the result.
    Pairs {
        /// Operands after the first pairs.
        among: u32,
        /// The first pairs.
        folded: u32,
    },
    /// Positions count from member `top` on and round the end. Neighbouring rows of 1, 2, 4, ... positions
    /// reduce, the lower one on the left; the last row may be shorter, and one without a neighbour waits. The
    /// root has the result.
    Rows {
        /// Position 0.
        top: u32,
    },
}

/// Members that may have steps in a round: `(first + i * stride) mod size` for `i` in `0..count`. The others
/// have none.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Active {
    /// The first of them.
    pub first: u32,
    /// From one to the next.
    pub stride: u32,
    /// The number of these members.
    pub count: u32,
}

/// A collective algorithm for one [`Shape`]. Its answers must follow from the shape, the member and the round
/// alone. The planes and the event executor ask again for the same round, in any order of members, and
/// processes ask for their own members only.
// Asked by round and member, and never written out: an all-to-all of n members has n squared steps. The hints
// (`pattern`, `direct`, `association`, `active`, `next`) must say what the steps say; the tests hold each
// algorithm's against them.
pub trait Schedule {
    /// Returns the algorithm's name, as `-xsim-coll` and reports write it.
    fn name(&self) -> &'static str;
    /// Returns how many rounds, the same for all members.
    fn rounds(&self) -> u32;
    /// Appends the steps of `member` in `round`: first sends, then receives, then the others.
    fn round(&self, member: &Member, round: u32, steps: &mut Vec<Step>);
    /// Returns the bytes of scratch memory that `member` needs.
    fn scratch(&self, member: &Member) -> u64;
    /// Returns the round's messages as a regular pattern, if they are one (an optional help to the time
    /// plane).
    fn pattern(&self, _round: u32) -> Option<RoundPattern> {
        None
    }
    /// Returns who sends blocks to whom in the round, if they go directly there (an optional help to the time
    /// plane).
    fn direct(&self, _round: u32) -> Option<Direct> {
        None
    }
    /// Returns how operands come together, if that can be told in short (an optional help to the data plane).
    fn association(&self) -> Option<Association> {
        None
    }
    /// Returns the members that may have steps in `round`; `None` if all may. Makes a tree of a million
    /// members cost what its messages cost, not members times rounds.
    fn active(&self, _round: u32) -> Option<Active> {
        None
    }
    /// Returns the first round at or after `round` in which member `rank` may have steps, or
    /// [`rounds`](Schedule::rounds); the member may skip the rounds before it.
    fn next(&self, _rank: u32, round: u32) -> u32 {
        round
    }
}
