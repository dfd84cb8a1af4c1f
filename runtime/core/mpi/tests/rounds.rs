//! Waits and tests for any of many requests, compared with a pass over all of them from the index behind the
//! one that the rank found last. The program may put anything at any index between its calls.

use engine::{Span, Time};
use mpi::handle::{COMM_WORLD, REQUEST_NULL};
use mpi::point_to_point::{Buffer, Peer, SendMode};
use mpi::progress;
use mpi::ranks::effort::Course;
use mpi::request::{Completion, Generalized, RequestArray, Template, UNDEFINED};
use mpi::runner::{Outcome, Runner};
use mpi::wire::Wire;
use mpi::world::Phase;
use mpi::{Mpi, Setup};
use network::Machine;
use proptest::prelude::*;
use rank::Addr;
use std::rc::Rc;

/// Requests up to which the first that is complete is looked for from the first of all on.
const MAX_SCANNED_FROM_FIRST: usize = 64;

#[derive(Clone, Copy, Debug)]
enum Op {
    /// A receive in this place, if it is free, and later its message.
    Post(usize),
    Send(usize),
    /// A send that is complete, a generalized request that is or is not yet, a persistent one that is not
    /// started.
    Isend(usize),
    Generalized(usize, bool),
    Persistent(usize),
    /// Both places change their handles.
    Swap(usize, usize),
    /// The first place's handle stands in the other one too, if it may be given twice.
    Copy(usize, usize),
    Compute(u64),
    /// Receives in all places that are free from one on, up to another, and persistent ones that are started.
    Fill(usize, usize, bool),
    /// A synchronous send, and later its receive.
    Issend(usize),
    Receive(usize),
    /// A wait for the request of this place alone, if it is complete.
    Wait(usize),
    WaitAny(usize),
    TestAny(usize),
    WaitSome(usize),
}

fn op() -> impl Strategy<Value = Op> {
    let place = || prop_oneof![0..12usize, 0..300usize];
    let many = || prop_oneof![1 => Just(20usize), 1 => Just(64usize), 4 => Just(300usize), 2 => 65..300usize];
    prop_oneof![
        3 => place().prop_map(Op::Post),
        4 => place().prop_map(Op::Send),
        1 => place().prop_map(Op::Isend),
        1 => (place(), any::<bool>()).prop_map(|(place, done)| Op::Generalized(place, done)),
        1 => place().prop_map(Op::Persistent),
        2 => (place(), place()).prop_map(|(one, other)| Op::Swap(one, other)),
        1 => (place(), place()).prop_map(|(one, other)| Op::Copy(one, other)),
        2 => (1..3_000_000u64).prop_map(Op::Compute),
        2 => (0..300usize, 0..200usize, any::<bool>())
            .prop_map(|(from, many, persistent)| Op::Fill(from, many, persistent)),
        1 => place().prop_map(Op::Issend),
        1 => place().prop_map(Op::Receive),
        2 => place().prop_map(Op::Wait),
        2 => many().prop_map(Op::WaitSome),
        5 => many().prop_map(Op::WaitAny),
        2 => many().prop_map(Op::TestAny),
    ]
}

/// A rank that receives from itself.
struct Alone<'a> {
    mpi: &'a Mpi,
    ops: &'a [Op],
    next: usize,
    blocked: bool,
    handles: Vec<usize>,
    /// Handles that may stand in several places: they name something after they are completed as before.
    lasting: Vec<usize>,
    /// Tags of receives whose messages have not left.
    posted: Vec<i32>,
    /// Tags of the receives that persistent requests start, by handle.
    persistent: Vec<(usize, i32)>,
    /// Tags of synchronous sends that nobody has received.
    sent: Vec<i32>,
    last_tag: i32,
    words: Vec<u64>,
    /// Behind which place of a long array a request was found last.
    behind: usize,
    /// Results of the calls, and those of the plain pass: index and clock.
    found: Vec<(i32, Time)>,
    expected: Vec<(i32, Time)>,
}

impl Alone<'_> {
    fn buffer(&mut self, place: usize) -> Buffer {
        (Addr(std::ptr::from_mut(&mut self.words[place]) as usize), 8, mpi::abi::MPI_BYTE)
    }

    fn myself(tag: i32) -> Peer {
        (0, tag, COMM_WORLD)
    }

    fn array(&mut self, many: usize) -> RequestArray {
        RequestArray { at: Addr(self.handles.as_mut_ptr() as usize), count: many as u32, wide: true }
    }

    fn clock(&self) -> Time {
        self.mpi.world().messages.clock(0)
    }

    /// Returns what a pass over all of the first `many` requests finds, in its order: the place, and when.
    /// `None` if none is known to complete.
    fn pass(&self, many: usize) -> Option<(usize, Time)> {
        let from = if many > MAX_SCANNED_FROM_FIRST && self.behind < many { self.behind } else { 0 };
        let world = self.mpi.world();
        let clock = world.messages.clock(0);
        let known = (from..many).chain(0..from).filter_map(|place| {
            match world.completion(self.handles[place]).ok() {
                Some(Completion::At(time)) => Some((place, time.max(clock))),
                Some(_) => None,
                None => panic!("place {place} has a handle that is none"),
            }
        });
        known.reduce(|first, other| if other.1 < first.1 { other } else { first })
    }

    fn note(&mut self, many: usize, index: i32) {
        self.found.push((index, self.clock()));
        if index != UNDEFINED && many > MAX_SCANNED_FROM_FIRST {
            self.behind = index as usize + 1;
        }
    }

    fn next_tag(&mut self) -> i32 {
        self.last_tag += 1;
        self.last_tag
    }

    /// A persistent receive in this place, if it is free or has one that is not active, is started.
    fn start(&mut self, place: usize) {
        let mpi = self.mpi;
        if self.handles[place] == REQUEST_NULL {
            let tag = self.next_tag();
            let template = Template::Receive { buffer: self.buffer(place), from: Self::myself(tag) };
            self.handles[place] = mpi.persistent(template);
            self.persistent.push((self.handles[place], tag));
        }
        let handle = self.handles[place];
        let Some(&(_, tag)) = self.persistent.iter().find(|(known, _)| *known == handle) else { return };
        if mpi.world().completion(handle).unwrap() == Completion::Null {
            mpi.start(handle).unwrap();
            mpi.world().enter_call(0, Course::Ends);
            self.posted.push(tag);
        }
    }

    /// Returns which of the first `many` requests are complete at `time`, in their order.
    fn complete_at(&self, many: usize, time: Time) -> Vec<i32> {
        let world = self.mpi.world();
        let known = |place: usize| world.completion(self.handles[place]);
        let is_complete = |&place: &usize| matches!(known(place), Ok(Completion::At(at)) if at <= time);
        (0..many).filter(is_complete).map(|place| place as i32).collect()
    }

    fn put(&mut self, place: usize, make: impl FnOnce(&mut Self) -> usize) {
        if self.handles[place] == REQUEST_NULL {
            self.handles[place] = make(self);
        }
    }

    /// Makes a call: false if the rank is blocked in it.
    fn make(&mut self, op: Op) -> bool {
        let mpi = self.mpi;
        mpi.world().enter_call(0, Course::Ends);
        match op {
            Op::Post(place) => self.put(place, |rank| {
                let tag = rank.next_tag();
                rank.posted.push(tag);
                mpi.ireceive(rank.buffer(place), Self::myself(tag)).unwrap()
            }),
            Op::Send(which) => {
                if !self.posted.is_empty() {
                    let tag = self.posted.swap_remove(which % self.posted.len());
                    mpi.send(SendMode::Standard, self.buffer(0), Self::myself(tag)).unwrap();
                }
            }
            Op::Isend(place) => self.put(place, |rank| {
                let handle =
                    mpi.isend(SendMode::Standard, rank.buffer(place), Self::myself(1_000_000)).unwrap();
                rank.lasting.push(handle);
                handle
            }),
            Op::Generalized(place, done) => self.put(place, |_| {
                let handle = mpi.generalized(Generalized {
                    query: Rc::new(|_| 0),
                    free: Rc::new(|| 0),
                    cancel: Rc::new(|_| 0),
                });
                if done {
                    mpi.complete_generalized(handle).unwrap();
                }
                handle
            }),
            Op::Persistent(place) => self.put(place, |rank| {
                let handle = mpi.persistent(Template::Receive {
                    buffer: rank.buffer(place),
                    from: Self::myself(2_000_000),
                });
                rank.lasting.push(handle);
                handle
            }),
            Op::Swap(one, other) => self.handles.swap(one, other),
            Op::Copy(one, other)
                if self.handles[other] == REQUEST_NULL && self.lasting.contains(&self.handles[one]) =>
            {
                self.handles[other] = self.handles[one];
            }
            Op::Copy(..) => {}
            Op::Compute(time) => mpi.world().messages.ranks_mut().charge(0, Span::from_ps(time)),
            Op::Fill(from, many, persistent) => {
                for place in from..(from + many).min(300) {
                    if persistent {
                        self.start(place);
                    } else {
                        self.make(Op::Post(place));
                    }
                }
            }
            Op::Issend(place) => self.put(place, |rank| {
                let tag = 3_000_000 + rank.next_tag();
                rank.sent.push(tag);
                mpi.isend(SendMode::Synchronous, rank.buffer(place), Self::myself(tag)).unwrap()
            }),
            Op::Receive(which) => {
                if !self.sent.is_empty() {
                    let tag = self.sent.swap_remove(which % self.sent.len());
                    let mut request = mpi.ireceive(self.buffer(0), Self::myself(tag)).unwrap();
                    let one = RequestArray {
                        at: Addr(std::ptr::from_mut(&mut request) as usize),
                        count: 1,
                        wide: true,
                    };
                    mpi.world().enter_call(0, Course::Ends);
                    mpi.finish_all(one, |_, _| {}).unwrap();
                }
            }
            Op::Wait(place) => {
                let clock = self.clock();
                let known = mpi.world().completion(self.handles[place]).unwrap();
                if matches!(known, Completion::At(time) if time <= clock) {
                    let one = RequestArray {
                        at: Addr(std::ptr::from_mut(&mut self.handles[place]) as usize),
                        count: 1,
                        wide: true,
                    };
                    mpi.finish_all(one, |_, _| {}).unwrap();
                }
            }
            Op::WaitSome(many) => {
                let Some((_, time)) = self.pass(many) else { return true };
                let complete = self.complete_at(many, time);
                self.expected.extend(complete.into_iter().map(|index| (index, time)));
                if mpi.begin_wait_some(self.array(many)) {
                    return false;
                }
                self.end(op);
            }
            // One that waits for what nobody does would wait for ever.
            Op::WaitAny(many) => {
                let Some((place, time)) = self.pass(many) else { return true };
                self.expected.push((place as i32, time));
                if mpi.begin_wait_any(self.array(many)) {
                    return false;
                }
                self.end(op);
            }
            Op::TestAny(many) => {
                let clock = self.clock();
                let place = self
                    .pass(many)
                    .filter(|&(_, time)| time <= clock)
                    .map_or(UNDEFINED, |(place, _)| place as i32);
                self.expected.push((place, clock));
                mpi.world().messages.ranks_mut().enter_poll();
                if mpi.begin_test_any(self.array(many)) {
                    return false;
                }
                self.end(op);
            }
        }
        true
    }

    fn end(&mut self, op: Op) {
        match op {
            Op::WaitAny(many) => {
                let (index, _) = self.mpi.end_wait_any(self.array(many)).unwrap();
                self.note(many, index);
            }
            Op::TestAny(many) => {
                let (flag, index, _) = self.mpi.end_test_any(self.array(many)).unwrap();
                let is_null = |&handle: &usize| self.mpi.world().completion(handle) == Ok(Completion::Null);
                assert_eq!(flag, index != UNDEFINED || self.handles[..many].iter().all(is_null));
                self.note(many, index);
            }
            Op::WaitSome(many) => {
                let mut indices = Vec::new();
                let count = self.mpi.end_wait_some(self.array(many), &mut |_, index, _| indices.push(index));
                assert_eq!(count.unwrap(), Some(indices.len() as u32));
                let clock = self.clock();
                self.found.extend(indices.into_iter().map(|index| (index as i32, clock)));
            }
            _ => unreachable!("these ask"),
        }
    }
}

impl Runner for Alone<'_> {
    fn resume(&mut self, _: u32) -> Outcome {
        self.mpi.world().messages.ranks_mut()[0].phase = Phase::Active;
        while let Some(&op) = self.ops.get(self.next) {
            if std::mem::take(&mut self.blocked) {
                self.end(op);
            } else if !self.make(op) {
                self.blocked = true;
                return Outcome::Blocked;
            }
            self.next += 1;
        }
        self.mpi.world().messages.ranks_mut()[0].phase = Phase::Finalized;
        Outcome::Finished { status: 0 }
    }

    fn mounted(&mut self, _: u32, call: impl FnOnce()) {
        call();
    }
}

proptest! {
    #[test]
    fn any_of_many_is_the_first_of_a_pass_over_all(ops in proptest::collection::vec(op(), 1..300)) {
        let built = Machine::parse("star:l=1us,b=8Gbps").unwrap().build(1).unwrap();
        let mpi = Mpi::new(Setup::new(1, Wire::new(built, 1), &["a call"; 4]));
        let mut rank = Alone {
            mpi: &mpi,
            ops: &ops,
            next: 0,
            blocked: false,
            handles: vec![REQUEST_NULL; 300],
            lasting: Vec::new(),
            posted: Vec::new(),
            persistent: Vec::new(),
            sent: Vec::new(),
            last_tag: 0,
            words: vec![0; 300],
            behind: 0,
            found: Vec::new(),
            expected: Vec::new(),
        };
        let ending = progress::run(&mpi, &mut rank, &mut |_| {});
        prop_assert_eq!(ending.status, 0, "{:?}", ending.messages);
        prop_assert_eq!(rank.found, rank.expected);
    }
}
