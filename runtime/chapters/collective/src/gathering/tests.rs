//! Members that gather, against members that are agents, and both against a plain model.

use crate::agreement::Contribution;
use crate::area::{BufferArgument, IN_PLACE, Vector};
use crate::arguments::{Beside, CallArguments, CallMemory};
use crate::entrance::{EnteredCall, Entrance};
use crate::instance::Collectives;
use crate::membership::CallMembership;
use crate::mode::Mode;
use engine::Time;
use network::Machine;
use objects::Objects;
use objects::abi::{MPI_BYTE, MPI_SUM, MPI_UINT8_T};
use objects::comm::Comms;
use objects::handle::COMM_WORLD;
use objects::info::Info;
use p2p::Messages;
use p2p::messages::Costs;
use p2p::ranks::Processor;
use p2p::ranks::effort::Compute;
use p2p::wire::Wire;
use proptest::prelude::*;
use rank::Addr;
use schedule::Kind;

/// All that collective calls change, of ranks on one process.
struct CallWorld {
    messages: Messages,
    objects: Objects,
    collectives: Collectives,
}

impl CallWorld {
    fn new(ranks: u32, batch: bool) -> CallWorld {
        let built = Machine::parse("star:l=0.5us,b=100Gbps").unwrap().build(ranks).unwrap();
        let processor = Processor { compute: Compute::None, flop_rate: None };
        let costs = Costs { wire: Wire::new(built, 1), processor };
        CallWorld {
            messages: Messages::new(costs, (ranks, ranks), None, (&["a call"], false)),
            objects: Objects::new(Comms::new(ranks, (0, ranks), (0, 1)), Info::default()),
            collectives: Collectives::new(batch, schedule::choose::Policy::default()),
        }
    }
    fn mount(&mut self, rank: u32) -> Entrance<'_> {
        self.messages.ranks_mut().mount(rank);
        self.objects.comms.current = rank;
        let CallWorld { messages, objects, collectives } = self;
        Entrance { objects, messages, collectives }
    }
}

/// A call of all ranks.
#[derive(Clone, Debug)]
struct CallPlan {
    kind: Kind,
    root: u32,
    in_place: bool,
    /// `true` for the v form.
    varies: bool,
    /// Bytes of the block from each member to each, by sender. In the regular forms all are the first one.
    sizes: Vec<Vec<u8>>,
    /// Members in the order in which they enter.
    order: Vec<u32>,
}

impl CallPlan {
    fn members(&self) -> u32 {
        self.order.len() as u32
    }
    /// Returns the block that one member gives another; where all get the same, `to` is 0.
    fn block(&self, from: u32, to: u32) -> Vec<u8> {
        let (row, column) = if self.varies { (from, to) } else { (0, 0) };
        vec![(from * 31 + to * 7 + 1) as u8; usize::from(self.sizes[row as usize][column as usize])]
    }
    /// Returns the blocks that a member sends, by receiver.
    fn sent(&self, member: u32) -> Vec<Vec<u8>> {
        let all = |run: &dyn Fn(u32) -> Vec<u8>| (0..self.members()).map(run).collect();
        match self.kind {
            Kind::Alltoall => all(&|to| self.block(member, to)),
            Kind::Scatter if member == self.root => all(&|to| self.block(to, 0)),
            Kind::Scatter => Vec::new(),
            Kind::Bcast if member != self.root => Vec::new(),
            _ => vec![self.block(member, 0)],
        }
    }
    /// Returns the blocks that a member is to get, by sender.
    fn expected(&self, member: u32) -> Vec<Vec<u8>> {
        let all = |run: &dyn Fn(u32) -> Vec<u8>| (0..self.members()).map(run).collect();
        match self.kind {
            Kind::Alltoall => all(&|from| self.block(from, member)),
            Kind::Allgather => all(&|from| self.block(from, 0)),
            Kind::Gather if member == self.root => all(&|from| self.block(from, 0)),
            Kind::Scatter => vec![self.block(member, 0)],
            Kind::Bcast => vec![self.block(self.root, 0)],
            Kind::Allreduce => {
                let bytes = self.block(0, 0).len();
                let all = |at: usize| (0..self.members()).map(move |from| self.block(from, 0)[at]);
                vec![(0..bytes).map(|at| all(at).fold(0, u8::wrapping_add)).collect()]
            }
            _ => Vec::new(),
        }
    }

    /// Lets all ranks make the call; returns what each gets, and its clock when it leaves.
    fn run(&self, batch: bool) -> Vec<(Vec<Vec<u8>>, Time)> {
        let mut world = CallWorld::new(self.members(), batch);
        let mut calls: Vec<(u32, PlannedCall, EnteredCall)> = Vec::new();
        for &member in &self.order {
            let (ahead, mut call) = (u64::from(member % 3), PlannedCall::new(self, member));
            let mut entrance = world.mount(member);
            entrance.messages.ranks_mut().mounted().clock = Time::from_ps(1_000 * ahead);
            let part = call.enter(self, &mut entrance);
            if !part.through {
                let instance = entrance.collectives.instance(part.instance);
                assert_eq!(instance.gathering.is_some(), batch, "{self:?}");
            }
            calls.push((member, call, part));
        }
        let mut results = vec![Default::default(); calls.len()];
        for (member, mut call, part) in calls {
            let mut entrance = world.mount(member);
            call.leave(self, &mut entrance, &part);
            let clock = entrance.messages.ranks()[member].clock;
            results[member as usize] = (call.received(), clock);
        }
        assert!(world.collectives.instances().next().is_none(), "the last member takes the instance along");
        results
    }
}

/// A call of one member, and its memory.
struct PlannedCall {
    send: Vec<u8>,
    receive: Vec<u8>,
    /// Sizes and offsets of blocks, of both sides.
    lists: [(Vec<i64>, Vec<i64>); 2],
    member: u32,
}

impl PlannedCall {
    fn new(plan: &CallPlan, member: u32) -> PlannedCall {
        let (sent, expected) = (plan.sent(member), plan.expected(member));
        let list = |blocks: &[Vec<u8>]| {
            let counts: Vec<i64> = blocks.iter().map(|block| block.len() as i64).collect();
            let displacements = counts.iter().scan(0, |end, &count| {
                *end += count;
                Some(*end - count)
            });
            let displacements: Vec<i64> = displacements.collect();
            (counts, displacements)
        };
        let lists = [list(&sent), list(&expected)];
        // A byte more, so that the memory of an empty side is memory.
        let send = [sent.concat(), vec![0]].concat();
        let mut receive = vec![0; expected.concat().len() + 1];
        if plan.in_place && plan.kind == Kind::Allgather {
            let begin = lists[1].1[member as usize] as usize;
            receive[begin..begin + send.len() - 1].copy_from_slice(&send[..send.len() - 1]);
        }
        PlannedCall { send, receive, lists, member }
    }
    /// Returns one side as the call names it.
    fn side(&self, plan: &CallPlan, side: usize) -> BufferArgument<'_> {
        let memory = if side == 0 { &self.send } else { &self.receive };
        let at = Addr(memory.as_ptr() as usize);
        let (counts, displacements) = &self.lists[side];
        // The v forms have a list on the side that has a block for each member.
        let lists = match plan.kind {
            Kind::Alltoall => true,
            Kind::Allgather | Kind::Gather => side == 1,
            Kind::Scatter => side == 0,
            _ => false,
        };
        if plan.varies && lists {
            return BufferArgument::Each(Vector { at, counts, displacements, datatype: MPI_BYTE });
        }
        BufferArgument::One((at, counts.first().copied().unwrap_or(0), MPI_BYTE))
    }
    fn enter(&mut self, plan: &CallPlan, entrance: &mut Entrance) -> EnteredCall {
        let (send, receive) = (self.side(plan, 0), self.side(plan, 1));
        let lists = plan.varies && matches!(plan.kind, Kind::Allgather | Kind::Alltoall);
        let mode = if lists { Mode::Entering } else { Mode::Blocking };
        let root = plan.root as i32;
        let entered = match plan.kind {
            Kind::Barrier => entrance.join_barrier(COMM_WORLD, mode),
            Kind::Bcast => {
                let BufferArgument::One(buffer) = (if self.member == plan.root { send } else { receive })
                else {
                    unreachable!()
                };
                entrance.join_bcast(buffer, root, COMM_WORLD, mode)
            }
            Kind::Gather => entrance.join_gather(send, receive, root, COMM_WORLD, mode),
            Kind::Scatter => entrance.join_scatter(send, receive, root, COMM_WORLD, mode),
            Kind::Allgather => {
                let send = if plan.in_place { BufferArgument::InPlace } else { send };
                entrance.join_allgather(send, receive, COMM_WORLD, mode)
            }
            Kind::Alltoall => entrance.join_alltoall(send, receive, COMM_WORLD, mode),
            _ => {
                let elements = (self.lists[1].0[0], MPI_UINT8_T);
                let (send, receive) =
                    (Addr(self.send.as_ptr() as usize), Addr(self.receive.as_ptr() as usize));
                let kind = plan.kind;
                entrance.join_reduction(kind, send, receive, elements, MPI_SUM, None, COMM_WORLD, mode)
            }
        };
        entered.unwrap_or_else(|failure| panic!("{plan:?}: {}", failure.text))
    }
    fn leave(&mut self, plan: &CallPlan, entrance: &mut Entrance, part: &EnteredCall) {
        let left = if plan.varies && matches!(plan.kind, Kind::Allgather | Kind::Alltoall) {
            let receive = self.side(plan, 1);
            entrance.end_lists(part.waiting(), &receive, plan.order.len())
        } else {
            entrance.take_result(part).map(|_| ())
        };
        left.unwrap_or_else(|failure| panic!("{plan:?}: {}", failure.text));
        if plan.kind == Kind::Bcast && self.member == plan.root {
            self.receive = self.send.clone();
        }
    }
    /// Returns the blocks that have come.
    fn received(&self) -> Vec<Vec<u8>> {
        let (counts, displacements) = &self.lists[1];
        let blocks = counts.iter().zip(displacements);
        blocks
            .map(|(&count, &begin)| self.receive[begin as usize..(begin + count) as usize].to_vec())
            .collect()
    }
}

fn plan() -> impl Strategy<Value = CallPlan> {
    let kinds = [
        Kind::Barrier,
        Kind::Bcast,
        Kind::Gather,
        Kind::Scatter,
        Kind::Allgather,
        Kind::Alltoall,
        Kind::Allreduce,
    ];
    (2..6usize, prop::sample::select(kinds.to_vec()), any::<(bool, bool)>()).prop_flat_map(
        |(members, kind, (in_place, varies))| {
            let order = Just((0..members as u32).collect::<Vec<u32>>()).prop_shuffle();
            let sizes = prop::collection::vec(prop::collection::vec(0u8..20, members), members);
            let varies = varies && !matches!(kind, Kind::Barrier | Kind::Bcast | Kind::Allreduce);
            (0..members as u32, sizes, order).prop_map(move |(root, sizes, order)| CallPlan {
                kind,
                root,
                in_place,
                varies,
                sizes,
                order,
            })
        },
    )
}

proptest! {
    #[test]
    fn members_that_gather_and_agents_get_what_the_call_means(plan in plan()) {
        let (gathered, agents) = (plan.run(true), plan.run(false));
        for member in 0..plan.members() {
            let at = member as usize;
            prop_assert_eq!(&gathered[at].0, &plan.expected(member));
            prop_assert_eq!(&agents[at], &gathered[at]);
        }
    }
}

fn none() -> (CallMemory<'static>, CallMemory<'static>) {
    (CallMemory::none(), CallMemory::none())
}

#[test]
fn a_call_that_does_not_gather_changes_nothing_and_keeps_its_arguments() {
    for (batch, gathers) in [(false, true), (true, false)] {
        let mut world = CallWorld::new(3, batch);
        let entrance = world.mount(1);
        let place = CallMembership::of(entrance.objects, COMM_WORLD).unwrap();
        let mut call = CallArguments::of(Kind::Agree, Mode::Blocking, place, none());
        call.gathers = gathers;
        call.beside = Beside::Agreement(Contribution::Split(Some(7), 2), |_, _, _, _, _| unreachable!());
        let Entrance { objects, messages, collectives } = entrance;
        assert_eq!(collectives.enter_gathering(messages, objects, &mut call), Ok(None));
        assert!(matches!(call.beside, Beside::Agreement(Contribution::Split(Some(7), 2), _)));
        assert_eq!(collectives.instances().count(), 0);
        assert_eq!(collectives.calls.of(place.comm, 1), 0);
        assert!(collectives.latest.is_none() && collectives.held.is_empty());
    }
}

#[test]
fn a_gathering_call_leaves_its_agreement_with_the_instance() {
    let mut world = CallWorld::new(3, true);
    let entrance = world.mount(1);
    let place = CallMembership::of(entrance.objects, COMM_WORLD).unwrap();
    let mut call = CallArguments::of(Kind::Agree, Mode::Blocking, place, none());
    call.beside = Beside::Agreement(Contribution::Split(Some(7), 2), |_, _, _, _, _| unreachable!());
    let Entrance { objects, messages, collectives } = entrance;
    let (index, member, request) =
        collectives.enter_gathering(messages, objects, &mut call).unwrap().unwrap();
    assert_eq!((member, request), (1, None));
    assert!(matches!(call.beside, Beside::Nothing));
    assert!(collectives.instance(index).is_in(1) && !collectives.instance(index).is_in(0));
    assert_eq!(collectives.calls.of(place.comm, 1), 1);
    assert_eq!(collectives.instance(index).agreement.as_ref().unwrap().contributions.len(), 1);
}

#[test]
fn a_wrong_buffer_fails_alike_whether_members_gather_or_not() {
    let failures = [true, false].map(|batch| {
        let mut world = CallWorld::new(3, batch);
        let mut entrance = world.mount(0);
        let wrong = BufferArgument::One((IN_PLACE, 2, MPI_BYTE));
        let good = [0u8; 16];
        let good = BufferArgument::One((Addr(good.as_ptr() as usize), 2, MPI_BYTE));
        let failed = [
            entrance.join_gather(good, wrong, 0, COMM_WORLD, Mode::Blocking).err(),
            entrance.join_scatter(wrong, good, 0, COMM_WORLD, Mode::Nonblocking).err(),
            entrance.join_alltoall(good, wrong, COMM_WORLD, Mode::Blocking).err(),
            entrance.join_allgather(good, wrong, COMM_WORLD, Mode::Blocking).err(),
        ];
        assert_eq!(entrance.collectives.instances().count(), 0);
        failed.map(|failure| {
            let failure = failure.expect("the buffer is no memory");
            (failure.class, failure.text)
        })
    });
    assert_eq!(failures[0], failures[1]);
}
