//! Hands the members of a collective to the planes of [`schedule`]: their clocks to the time plane, their
//! bytes to the data plane, and what comes of it back to ranks and requests.
//!
//! They are allowed when all members are in, message times are a formula, and reductions are MPI's own (those
//! of the program go through `functions.rs`). Then nothing else can come between, and the planes give the
//! picosecond and the bits of the event executor. A test compares the two on random programs.

use crate::agent::AgentMembers;
use crate::agent::{Agent, AgentState, agent_done};
use crate::gathering::pending::Pending;
use crate::gathering::varied::Varied;
use crate::instance::CollectiveInstance;
use crate::instance::Collectives;
use crate::membership::{InstanceScope, group_of};
use engine::{EndOfTime, Span, Time};
use objects::Objects;
use objects::group::Group;
use p2p::Messages;
use schedule::data::steps::DataPlane;
use schedule::segments::ProcessSegment;
use schedule::time::{Burden, Clocks, Costs, MessageOverheads, RoundResult, TimePlane};
use schedule::{Kind, Schedule, Shape};
use std::rc::Rc;

/// The clock with which a member leaves.
///
/// The loops over clocks add without looking. No clock goes back in them, so that one which has passed half
/// of all time stays there, and what was added to it later may be wrong, but is not taken for right.
// One comparison when a member leaves, instead of one for each addition in the innermost loops.
#[inline]
fn in_time(clock: u64) -> u64 {
    if clock >= 1 << 63 {
        EndOfTime::reached(
            "virtual time passed 2^63 picoseconds (106 days) in a collective; reduce link latencies, message \
             sizes or compute factors",
        );
    }
    clock
}

/// Message times between members, of which `rank_of` knows the world ranks.
pub(crate) struct Between<'a, F> {
    pub(crate) wire: &'a p2p::wire::Wire,
    pub(crate) rank_of: F,
}

impl<F: Fn(u32) -> u32> Costs for Between<'_, F> {
    #[inline]
    fn uniform(&self, bytes: u64) -> Option<u64> {
        self.wire.uniform().map(|uniform| uniform.latency(false, bytes).as_ps())
    }
    #[inline]
    fn latency(&self, from: u32, to: u32, bytes: u64) -> u64 {
        self.wire.latency((self.rank_of)(from), (self.rank_of)(to), bytes).as_ps()
    }
    #[inline]
    fn reduction(&self, bytes: u64) -> u64 {
        self.wire.reduction(bytes).map_or(0, Span::as_ps)
    }
    #[inline]
    fn copying(&self, bytes: u64) -> u64 {
        self.wire.copying(bytes).map_or(0, Span::as_ps)
    }
}

impl Collectives {
    /// Returns `true` if an instance whose members have all entered as agents may pass the planes. With a
    /// gap, what a member does meanwhile delays its messages.
    // Agents in any other stage have done steps already, which the planes would take again. Where ranks fail,
    // a member may be told before it is through.
    pub(crate) fn fits_planes(&self, messages: &Messages, instance: &CollectiveInstance) -> bool {
        let gap = messages.fabric().wire().overheads.gap != Span::ZERO;
        self.batch
            && !messages.fabric().is_shared()
            && messages.faults().is_none()
            && instance.agents.iter().all(|agent| {
                // Who has no steps is through already, or gone.
                let Some(agent) = agent.as_ref().filter(|agent| agent.stage == AgentState::Held) else {
                    return false;
                };
                !agent.refused
                    && (agent.request.is_none() || !gap)
                    && agent.reduction.as_ref().is_none_or(|reduction| reduction.kernel.is_some())
            })
    }

    /// Runs all rounds of an instance whose members are agents, all of them here; they are through
    /// afterwards.
    pub(crate) fn run_agents_at_once(
        &mut self,
        messages: &mut Messages,
        index: u32,
        schedule: &Rc<dyn Schedule>,
    ) {
        let instance = self.instance_mut(index);
        // Agents know their clocks from entry on; what a rank did since is not in them, and must not be.
        let (size, silent) =
            (instance.size, instance.shape.carries_nothing() || !messages.payloads().are_carried());
        let kind = instance.shape.kind;
        let mut agents = std::mem::take(&mut instance.agents);
        let members = AgentMembers { agents: &agents, first: 0 };
        let data = (!silent).then(|| {
            let mut plane =
                DataPlane::new(ProcessSegment::whole(size), schedule.clone(), &members, members.inputs());
            plane.advance(
                &members,
                &mut |member, left, right| members.combine(member, left, right),
                &mut Vec::new(),
            );
            plane
        });
        let rank_of = |member: u32| members.agent(member).rank;
        let clocks = (0..size).map(|member| members.agent(member).clock.as_ps()).collect();
        let burden = burden(messages, (0..size).map(rank_of));
        let mut time =
            TimePlane::new(ProcessSegment::whole(size), schedule.clone(), clocks, true).with_burden(burden);
        let mut said = RoundResult::default();
        time.advance(&members, &Between { wire: messages.fabric().wire(), rank_of }, &mut said);
        count_messages(messages, kind, &said);
        agents_through(messages, &mut agents, 0, &time, data);
        self.instance_mut(index).agents = agents;
    }
}

/// Counts the messages of a collective. What members agree on when they make an object is MPI's own traffic.
pub(crate) fn count_messages(messages: &mut Messages, kind: Kind, said: &RoundResult) {
    messages.ranks_mut().profile_mut().messages_of(said.messages, said.bytes);
    if kind == Kind::Agree {
        messages.ranks_mut().profile_mut().internal(said.messages, said.bytes);
    }
}

/// Passes all rounds of a collective of blocked members, without data: their clocks move, and they wake.
/// `same` is the clock of all of them, if it is known to be one.
pub(crate) fn run_blocked(
    messages: &mut Messages,
    objects: &Objects,
    place: &InstanceScope,
    schedule: Rc<dyn Schedule>,
    shape: &Shape,
    varied: Option<&Varied>,
    same: Option<Time>,
) {
    let (group, size) = (group_of(objects, place), shape.size);
    let clock_of = |member: u32| messages.ranks()[group.world_rank(member)].clock.as_ps();
    debug_assert!(
        same.is_none_or(|same| (0..size).all(|member| clock_of(member) == same.as_ps())),
        "nobody's clock moves while it is held"
    );
    let clocks = match same {
        Some(same) => Clocks::same(same.as_ps(), size as usize),
        None => (0..size).map(clock_of).collect(),
    };
    let plane = pass_rounds(messages, schedule, clocks, &group, shape, varied);
    // Last to first, so that they run in the order of ranks.
    // `ready` runs who was woken last first.
    for member in (0..size).rev() {
        release_member(messages, group.world_rank(member), &plane, member, member as usize);
    }
}

/// Passes rounds as [`run_blocked`] does, of members that have gone on: their requests complete.
pub(crate) fn run_pending(
    messages: &mut Messages,
    objects: &Objects,
    place: &InstanceScope,
    schedule: Rc<dyn Schedule>,
    shape: &Shape,
    varied: Option<&Varied>,
    pending: &Pending,
) {
    let (group, size) = (group_of(objects, place), shape.size);
    let clocks = (0..size).map(|member| pending.clock(member).as_ps()).collect();
    let plane = pass_rounds(messages, schedule, clocks, &group, shape, varied);
    for member in (0..size).rev() {
        // The rank's clock stays where it is: it moves when the rank asks, if it asks after that.
        messages.finish_request(pending.request(member), Time::from_ps(in_time(plane.clock(member))));
    }
}

/// Returns what these ranks carry into the time plane, if messages cost them anything.
pub(crate) fn burden(messages: &Messages, ranks: impl ExactSizeIterator<Item = u32>) -> Option<Burden> {
    overheads(messages.fabric().wire()).map(|overheads| {
        let free = |rank: u32| messages.ranks()[rank].nic_free.as_ps();
        Burden::new(overheads, ranks.len(), ranks.map(free))
    })
}

/// Returns what messages cost ranks, if they, reductions or copies cost anything.
pub(crate) fn overheads(wire: &p2p::wire::Wire) -> Option<MessageOverheads> {
    (wire.has_overheads || wire.has_local_costs()).then(|| {
        let network = &wire.overheads;
        MessageOverheads {
            send: network.send.as_ps(),
            receive: network.receive.as_ps(),
            gap: network.gap.as_ps(),
        }
    })
}

/// Passes all rounds of members that enter with these clocks; returns when each is through.
fn pass_rounds(
    messages: &mut Messages,
    schedule: Rc<dyn Schedule>,
    clocks: Clocks,
    group: &Group,
    shape: &Shape,
    varied: Option<&Varied>,
) -> TimePlane {
    let burden = burden(messages, (0..shape.size).map(|member| group.world_rank(member)));
    let mut plane =
        TimePlane::new(ProcessSegment::whole(shape.size), schedule, clocks, true).with_burden(burden);
    let costs = Between { wire: messages.fabric().wire(), rank_of: |member| group.world_rank(member) };
    let mut said = RoundResult::default();
    // The loops are compiled for each kind of members: a call through a table for every message would double
    // the time of an all-to-all.
    let over = match varied {
        None => plane.advance(shape, &costs, &mut said),
        // Each by itself: how large a block is is asked for in the innermost loop.
        Some(Varied::Alltoallv(alltoallv)) => plane.advance(alltoallv, &costs, &mut said),
        Some(Varied::Neighbor(neighbor)) => plane.advance(neighbor, &costs, &mut said),
        Some(varied) => plane.advance(varied, &costs, &mut said),
    };
    debug_assert!(over, "a process alone waits for nobody");
    count_messages(messages, shape.kind, &said);
    plane
}

/// A blocked member of a collective, which is in this place of the plane, is through.
// With overheads not all that passes is waiting: the plane has kept apart what was the processor's own work.
#[inline]
pub(crate) fn release_member(
    messages: &mut Messages,
    rank: u32,
    plane: &TimePlane,
    member: u32,
    place: usize,
) {
    let clock = Time::from_ps(in_time(plane.clock(member)));
    let burden = plane
        .burden()
        .map(|burden| (Span::from_ps(burden.waited(place)), burden.free(place).map(Time::from_ps)));
    if let Some(strand) = messages.ranks_mut().release(rank, clock, burden) {
        messages.ready_mut().wake(strand);
    }
}

/// Passes all ranks of the world through a collective of `MPI_COMM_WORLD` now, in time alone: nothing is
/// sent, and no rank waits for it.
pub fn time_collective(
    messages: &mut Messages,
    objects: &Objects,
    schedule: &Rc<dyn Schedule>,
    shape: &Shape,
) {
    run_blocked(messages, objects, &InstanceScope::Comm(0), schedule.clone(), shape, None, None);
}

/// Agents in a row from member `first` on are through: they have what the planes say.
pub(crate) fn agents_through(
    messages: &mut Messages,
    agents: &mut [Option<Box<Agent>>],
    first: u32,
    time: &TimePlane,
    data: Option<DataPlane>,
) {
    if let Some(data) = data {
        // Before results are handed over: who has failed gets none of them, but its bytes were needed for the
        // others'.
        for &(member, fault) in data.faults() {
            agents[(member - first) as usize].as_mut().expect("all members are in").fails(fault);
        }
        for (place, agent) in agents.iter_mut().flatten().enumerate() {
            agent.output.copy_from_slice(data.output().get(place));
        }
    }
    for (place, agent) in agents.iter_mut().flatten().enumerate() {
        let (entry, clock) = (agent.clock, Time::from_ps(in_time(time.clock(first + place as u32))));
        let mut waited = clock.since(entry);
        (agent.clock, agent.stage) = (clock, AgentState::Done);
        if let Some(burden) = time.burden() {
            waited = Span::from_ps(burden.waited(place));
            let state = &mut messages.ranks_mut()[agent.rank];
            state.nic_free = burden.free(place).map_or(state.nic_free, Time::from_ps);
        }
        if agent.request.is_none() {
            messages.ranks_mut().profile_mut().wait(agent.rank, waited);
        }
    }
    // Woken last to first, so that they run in the order of ranks.
    for agent in agents.iter_mut().rev().flatten() {
        agent_done(messages, agent);
    }
}
