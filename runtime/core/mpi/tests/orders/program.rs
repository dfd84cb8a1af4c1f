//! Small programs whose outcome depends on the order of events, and what their ranks see.

use proptest::prelude::*;

/// One call of a rank. Ranks and tags are small numbers; `None` is any.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Op {
    /// Computes for so many picoseconds.
    Compute(u64),
    /// A message; the sender of a synchronous one waits for its match.
    Send { to: u32, tag: i32, bytes: u64, synchronous: bool },
    /// A blocking receive.
    Receive { from: Option<u32>, tag: Option<i32> },
    /// Posts a receive.
    Post { from: Option<u32>, tag: Option<i32> },
    /// Waits for one of the posted, of which it asks about so many.
    WaitAny(usize),
    /// Tests so many of the posted, for one.
    TestAny(usize),
    /// Waits for a message to receive.
    Probe { from: Option<u32>, tag: Option<i32> },
    /// Asks for a message to receive.
    Iprobe { from: Option<u32>, tag: Option<i32> },
}

impl Op {
    /// Returns `true` if a call that asks waits for what it asks for.
    pub fn waits(self) -> bool {
        matches!(self, Op::WaitAny(_) | Op::Probe { .. })
    }
}

/// The calls of each rank.
pub type Program = Vec<Vec<Op>>;

/// A message that a rank got or saw: source and tag.
pub type Seen = Option<(u32, i32)>;

/// After a call: its number, what it answered (a request's number with it, if one was completed), and the
/// rank's clock in picoseconds.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Step {
    pub call: usize,
    pub index: Option<usize>,
    pub seen: Seen,
    pub clock: u64,
}

/// Steps of all ranks, each up to its end or to a call in which it waits for ever.
pub type Outcome = Vec<Vec<Step>>;

/// A program of so many ranks.
pub fn programs(ranks: std::ops::RangeInclusive<usize>, longest: usize) -> impl Strategy<Value = Program> {
    ranks.prop_flat_map(move |ranks| {
        let calls = move |rank: usize| prop::collection::vec(op(rank as u32, ranks as u32), 0..=longest);
        (0..ranks).map(calls).collect::<Vec<_>>()
    })
}

fn op(me: u32, ranks: u32) -> impl Strategy<Value = Op> {
    let other = move || (1..ranks).prop_map(move |step| (me + step) % ranks);
    // Also itself, which is at no distance on any machine.
    let to = move || prop_oneof![3 => other(), 1 => Just(me)];
    let from = move || prop_oneof![2 => Just(None), 1 => to().prop_map(Some)];
    let many = || prop_oneof![2 => Just(usize::MAX), 1 => 1..=2_usize];
    let tag = || prop_oneof![1 => Just(None), 2 => (0..2).prop_map(Some)];
    let bytes = prop_oneof![Just(0u64), Just(8), Just(300)];
    prop_oneof![
        2 => prop_oneof![Just(1u64), Just(10), Just(1_000)].prop_map(Op::Compute),
        6 => (to(), 0..2, bytes, prop::bool::weighted(0.25))
            .prop_map(|(to, tag, bytes, synchronous)| Op::Send { to, tag, bytes, synchronous }),
        3 => (from(), tag()).prop_map(|(from, tag)| Op::Receive { from, tag }),
        4 => (from(), tag()).prop_map(|(from, tag)| Op::Post { from, tag }),
        3 => many().prop_map(Op::WaitAny),
        1 => many().prop_map(Op::TestAny),
        1 => (from(), tag()).prop_map(|(from, tag)| Op::Probe { from, tag }),
        1 => (from(), tag()).prop_map(|(from, tag)| Op::Iprobe { from, tag }),
    ]
}
