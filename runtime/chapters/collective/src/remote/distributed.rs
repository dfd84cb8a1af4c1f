//! Blocking collectives whose members gather on each of several processes.
//!
//! Each process holds its own members as if there were no others ([`gathering`](crate::gathering)). When the
//! last of them has entered it notifies the process of the first member, which lets all go on once all are
//! ready ([`ready`](super::ready)). From then on nothing can keep a member from going through. The clocks
//! pass the rounds on all processes ([`TimePlane`]), and data goes from process to process once, as the
//! collective means it ([`data`](super::data)).
//!
//! A reduction in a tree travels with the word that a process is ready and back with the word to go; other
//! reductions take the schedule's steps ([`DataPlane`](schedule::data::steps::DataPlane)).
//!
//! Until that word members may have to go on one by one, because nothing else can run or because another
//! process runs the collective event by event: then each process makes agents of its own.

use crate::agent::Agent;
use crate::calls::Calls;
use crate::contributions::{Data, Gathering};
use crate::instance::Collectives;
use crate::instance::InstanceScope;
use crate::planes::Between;
use crate::planes::agents_through;
use crate::planes::burden;
use crate::planes::count_messages;
use crate::planes::release_member;
use crate::remote::data::send_data;
use crate::remote::kind::CollectiveRecordKind;
use crate::remote::passage::{Distributed, MemberPasses, Plane};
use crate::remote::spread::Ident;
use crate::remote::spread::is_spread;
use engine::Time;
use engine::record::{Put, Take};
use objects::Objects;
use objects::group::Group;
use p2p::Messages;
use p2p::remote::Blocks;
use schedule::choose::choose;
use schedule::data::steps::Rows;
use schedule::segments::{ProcessSegment, Segments};
use schedule::time::{RoundResult, TimePlane};
use schedule::{Kind as Collective, Shape};
use std::rc::Rc;

/// Bytes of a message above which a reduction runs event by event rather than in lockstep: all members'
/// buffers at a time leave the caches.
// Event by event, a member's buffer goes through all its rounds while it is warm.
const MAX_LOCKSTEP_BYTES: u64 = 4096;

/// Members a process, on average, from which on messages of one round travel together often enough to pay for
/// waiting until all are in.
// Waiting for all costs two messages between processes; with few members there are few messages of a round to
// save.
const MIN_LOCKSTEP_MEMBERS: usize = 4;

fn pays_in_lockstep(segments: &Segments) -> bool {
    segments.size() as usize >= MIN_LOCKSTEP_MEMBERS * segments.processes().count()
}

/// The first state of an instance, by the location of its members and the way it runs.
pub(crate) enum Beginning {
    /// All members are on this process.
    Here,
    /// Members are on others as well.
    Distributed(Box<Distributed>),
    /// It runs event by event.
    Events,
}

pub(super) fn is_reduced(kind: Collective) -> bool {
    !matches!(
        kind,
        Collective::Barrier
            | Collective::Agree
            | Collective::Bcast
            | Collective::Scatter
            | Collective::Gather
            | Collective::Allgather
            | Collective::Alltoall
    )
}

/// Returns where the members of a group are; `None` if its world ranks do not ascend, so that processes have
/// no rows of them.
// O(1) for evenly spaced ranks, as `MPI_COMM_WORLD`'s and most that splits make.
fn segments_of(group: &Group, blocks: &Blocks) -> Option<Segments> {
    let size = group.size();
    let ascends = match group.as_range() {
        Some((_, stride)) => stride > 0,
        None => (1..size).all(|member| group.world_rank(member - 1) < group.world_rank(member)),
    };
    let firsts = (0..blocks.processes()).map(|process| blocks.first(process));
    ascends.then(|| Segments::ascending(size, |member| group.world_rank(member), firsts))
}

impl Collectives {
    /// Returns how the next instance of a communicator begins, call number `call`.
    // Processes must begin alike without asking each other: this depends on nothing but what all members
    // know, and on whether somebody has started already, which the others will learn as well.
    pub(crate) fn beginning(
        &self,
        messages: &Messages,
        objects: &Objects,
        comm: u32,
        call: u32,
        shape: &Shape,
    ) -> Beginning {
        let communicator = objects.comms.at(comm);
        if !is_spread(messages, communicator) {
            return Beginning::Here;
        }
        let Some(segments) = self.segments(messages, objects, comm) else { return Beginning::Events };
        if self.spread.is_early(&Ident::of_comm(communicator.context, call)) {
            return Beginning::Events;
        }
        let by_events = shape.bytes > MAX_LOCKSTEP_BYTES || !pays_in_lockstep(&segments);
        if is_reduced(shape.kind) && by_events && self.association_of(shape).is_none() {
            return Beginning::Events;
        }
        Beginning::Distributed(Box::new(Distributed {
            segments,
            passage: None,
            early: Vec::new(),
            data: Vec::new(),
            awaited: Vec::new(),
        }))
    }

    /// A member has entered an instance as an agent: whether it waits for the members of all processes, to
    /// pass the rounds with them. Processes may decide differently: who goes on event by event makes the
    /// others do so.
    // The first member decides for the process, and only a fresh instance can wait: what has been sent cannot
    // be taken back.
    pub(crate) fn hold_agent(
        &mut self,
        messages: &mut Messages,
        objects: &mut Objects,
        index: u32,
        member: u32,
    ) -> bool {
        let instance = self.instance(index);
        if instance.gathering.is_none() {
            let Some(distributed) = self.distributed_agents(messages, objects, index, member) else {
                return false;
            };
            let own = distributed.segments.of_process(messages.peers_mut().others().me);
            let gathering = Gathering::of_agents(own.start, own.end - own.start, distributed);
            self.instance_mut(index).gathering = Some(Box::new(gathering));
            self.hold(index);
        }
        let clock = messages.ranks()[messages.me()].clock;
        let instance = self.instance_mut(index);
        instance.gathering.as_mut().expect("found or made above").join(member, clock, instance.arrived == 1);
        if instance.arrived == instance.here {
            self.ready_distributed(messages, objects, index);
        }
        true
    }

    fn distributed_agents(
        &self,
        messages: &Messages,
        objects: &Objects,
        index: u32,
        member: u32,
    ) -> Option<Box<Distributed>> {
        let instance = self.instance(index);
        let agent = instance.agents[member as usize].as_ref()?;
        let (signature, ..) = instance.describe();
        let InstanceScope::Comm(comm) = instance.place else { return None };
        let known = signature.blocking && instance.root_known && instance.agreement.is_none();
        let fresh = instance.arrived == 1 && !instance.started && !instance.has_mail();
        let steps = agent.reduction.as_ref().is_none_or(|reduction| reduction.kernel.is_some())
            && self.association_of(&instance.shape).is_none();
        let small = agent.input.len() as u64 <= MAX_LOCKSTEP_BYTES * u64::from(instance.size);
        if !(known && fresh && steps && small && self.gathers(messages, true))
            || objects.comms.at(comm).is_inter()
        {
            return None;
        }
        let segments =
            self.segments(messages, objects, comm).filter(|segments| pays_in_lockstep(segments))?;
        Some(Box::new(Distributed {
            segments,
            passage: None,
            early: Vec::new(),
            data: Vec::new(),
            awaited: Vec::new(),
        }))
    }

    /// Returns where the members of an intracommunicator are, if each process has a row of them.
    pub(crate) fn segments(&self, messages: &Messages, objects: &Objects, comm: u32) -> Option<Rc<Segments>> {
        let communicator = objects.comms.at(comm);
        let blocks = &messages.peers().remote()?.blocks;
        self.calls.segments(comm, || segments_of(&communicator.group, blocks))
    }

    /// The members of a communicator that may make calls on this process, in a row.
    // Counts of calls are kept for a process's own members where these are a row: O(own) instead of O(all) a
    // communicator.
    pub(crate) fn rows_of(
        &self,
        messages: &Messages,
        objects: &Objects,
        comm: u32,
        members: u32,
    ) -> std::ops::Range<u32> {
        let communicator = objects.comms.at(comm);
        if !self.calls.get(comm).is_some_and(Calls::has_begun)
            && !communicator.is_inter()
            && is_spread(messages, communicator)
            && let (Some(segments), Some(remote)) =
                (self.segments(messages, objects, comm), messages.peers().remote())
        {
            return segments.of_process(remote.me);
        }
        0..members
    }

    /// Registers an instance that was made and begins distributed.
    pub(crate) fn made_distributed(
        &mut self,
        objects: &Objects,
        index: u32,
        comm: u32,
        call: u32,
        here: u32,
    ) {
        let ident = Ident::of_comm(objects.comms.at(comm).context, call);
        let instance = self.instance_mut(index);
        (instance.ident, instance.here, instance.left) = (Some(ident), here, here);
        self.spread.instances.insert(ident, index);
    }

    /// Lets members go through: those of all processes are in.
    pub(super) fn go(
        &mut self,
        messages: &mut Messages,
        objects: &Objects,
        index: u32,
        common: bool,
        result: Vec<u8>,
    ) {
        self.unhold(index);
        let me = messages.peers_mut().others().me;
        let instance = self.instance_mut(index);
        instance.start();
        let agents = std::mem::take(&mut instance.agents);
        let mut gathering = instance.gathering.take().expect("gathered");
        let (shape, InstanceScope::Comm(comm)) = (instance.shape.clone(), &instance.place) else {
            unreachable!("groups of their own are not gathered")
        };
        let ident = instance.ident.expect("members are elsewhere");
        let group = objects.comms.at(*comm).group.clone();
        let schedule = choose(&shape, &self.policy);
        let segments = gathering.distributed().segments.clone();
        let own = segments.of_process(me);
        let is_tree = schedule.association().is_some();
        let ranks = own.clone().map(|member| group.world_rank(member));
        let clocks = ranks.clone().map(|rank| messages.ranks()[rank].clock.as_ps()).collect();
        let segment = ProcessSegment::part(me, segments);
        let time = TimePlane::new(segment.clone(), schedule.clone(), clocks, common)
            .with_burden(burden(messages, ranks));
        let mut passage = MemberPasses::new(segment, time);
        if !agents.is_empty() {
            let agents = agents.into_iter().skip(own.start as usize).take(own.len()).collect();
            passage = passage.with_agents(schedule, agents, messages.payloads().are_carried());
        } else if messages.payloads().are_carried() && is_reduced(shape.kind) && !is_tree {
            let input = match std::mem::replace(&mut gathering.data, Data::Nothing) {
                Data::Each(input, stride) => Rows::even(input, stride),
                _ => Rows::even(Vec::new(), 0),
            };
            passage = passage.with_data(schedule, &shape, input);
        }
        let distributed = gathering.distributed_mut();
        // Others may have been told to go before this process was, and be rounds ahead.
        std::mem::take(&mut distributed.early).into_iter().for_each(|told| passage.deliver(told));
        let by_meaning = !passage.has_data();
        distributed.passage = Some(Box::new(passage));
        if is_tree {
            gathering.data = Data::One(result);
        } else if messages.payloads().are_carried() && shape.bytes != 0 && by_meaning {
            send_data(messages, ident, &shape, &mut gathering);
        }
        self.instance_mut(index).gathering = Some(gathering);
        self.advance_distributed(messages, objects, index);
    }

    pub(crate) fn round_arrived(
        &mut self,
        messages: &mut Messages,
        objects: &Objects,
        from: u32,
        mut record: Take,
    ) {
        let ident = Ident::take(&mut record);
        let (plane, round) = (Plane::of(record.u8()), record.u32());
        let index = *self.spread.instances.get(&ident).expect("its members are in");
        let distributed = self.instance_mut(index).gathering.as_mut().expect("gathered").distributed_mut();
        match &mut distributed.passage {
            None => distributed.early.push((plane, round, from, record.0.to_vec())),
            Some(passage) => {
                passage.deliver((plane, round, from, record.0.to_vec()));
                self.advance_distributed(messages, objects, index);
            }
        }
    }

    /// Goes on with the rounds; when they are over, and all else is there, the members of this process leave.
    // Taken out and put back: the planes borrow the gathering, the streams and the wire at once.
    pub(crate) fn advance_distributed(&mut self, messages: &mut Messages, objects: &Objects, index: u32) {
        let instance = self.instance_mut(index);
        let (Some(mut gathering), InstanceScope::Comm(comm)) = (instance.gathering.take(), &instance.place)
        else {
            return;
        };
        let ident = instance.ident.expect("members are elsewhere");
        let group = objects.comms.at(*comm).group.clone();
        let (shape, kernel) = (instance.shape.clone(), gathering.kernel());
        let distributed = gathering.distributed_mut();
        let Some(passage) = &mut distributed.passage else {
            instance.gathering = Some(gathering);
            return;
        };
        let (mut said, mut moved) = (RoundResult::default(), Vec::new());
        let costs = Between { wire: messages.fabric().wire(), rank_of: |member| group.world_rank(member) };
        let over = passage.advance(&shape, kernel, &costs, &mut said, &mut moved);
        count_messages(messages, shape.kind, &said);
        let streams = &mut messages.peers_mut().others().streams;
        for (plane, records) in [(Plane::Time, said.records), (Plane::Data, moved)] {
            for (process, round, record) in records {
                // Its effect may be at any time: a process that hears of it must not have decided beyond, so
                // that no lease outlives it.
                let out = streams.begin(
                    process,
                    CollectiveRecordKind::Round.kind(),
                    Time::ZERO,
                    Ident::BYTES + 1 + 4 + record.len(),
                );
                ident.put(out);
                out.u8(plane as u8);
                out.u32(round);
                out.extend_from_slice(&record);
                streams.end();
            }
        }
        let agreed =
            self.instance(index).agreement.as_ref().is_none_or(|agreement| agreement.outcome.is_some());
        if over && agreed && distributed.data.len() == distributed.awaited.len() {
            if let Some(passage) = distributed.passage.take_if(|passage| passage.has_agents()) {
                self.leave_as_agents(messages, index, *passage);
                return;
            }
            self.leave_distributed(messages, index, &group, &mut gathering);
        }
        self.instance_mut(index).gathering = Some(gathering);
    }

    /// Takes the agents of this process, which are through, back into the instance.
    fn leave_as_agents(&mut self, messages: &mut Messages, index: u32, passage: MemberPasses) {
        let first = passage.first();
        let (time, data, agents) = passage.into_parts();
        let mut own = agents.expect("it moves agents");
        agents_through(messages, &mut own, first, &time, data);
        let mut agents: Vec<Option<Box<Agent>>> = (0..self.instance(index).size).map(|_| None).collect();
        own.into_iter().zip(&mut agents[first as usize..]).for_each(|(agent, place)| *place = agent);
        self.instance_mut(index).agents = agents;
    }

    fn leave_distributed(
        &mut self,
        messages: &mut Messages,
        index: u32,
        group: &Group,
        gathering: &mut Gathering,
    ) {
        let me = messages.peers_mut().others().me;
        let shape = self.instance(index).shape.clone();
        let distributed = gathering.distributed_mut();
        let mut parts = std::mem::take(&mut distributed.data);
        parts.sort_by_key(|(process, _)| *process);
        let (segments, passage) =
            (distributed.segments.clone(), distributed.passage.take().expect("it is over"));
        let own = segments.of_process(me);
        let (time, data, _) = passage.into_parts();
        if let Some(data) = data {
            debug_assert!(data.faults().is_empty(), "all processes have the same blocks");
            gathering.take_results(&shape, data.into_rows().0);
        } else if messages.payloads().are_carried() && shape.bytes != 0 {
            gathering.data.complete(&shape, &segments, me, parts);
        }
        gathering.set_complete();
        // Last to first, so that they run in the order of ranks.
        for member in own.clone().rev() {
            release_member(messages, group.world_rank(member), &time, member, (member - own.start) as usize);
        }
    }
}

/// Returns this process's members of an instance that begins: the first, and how many.
pub(crate) fn own_members(messages: &Messages, beginning: &Beginning, size: u32) -> (u32, u32) {
    match (beginning, messages.peers().remote()) {
        (Beginning::Distributed(distributed), Some(remote)) => {
            let own = distributed.segments.of_process(remote.me);
            (own.start, own.end - own.start)
        }
        _ => (0, size),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_group_out_of_order_has_no_segments() {
        assert_eq!(segments_of(&Group::from_ranks(vec![0, 2, 1]), &Blocks::even(4, 2)), None);
        assert_eq!(segments_of(&Group::range(3, -1, 4), &Blocks::even(4, 2)), None);
        let segments =
            segments_of(&Group::from_ranks(vec![0, 1, 3]), &Blocks::even(4, 2)).expect("they ascend");
        assert_eq!((segments.of_process(0), segments.of_process(1)), (0..2, 2..3));
    }
}
