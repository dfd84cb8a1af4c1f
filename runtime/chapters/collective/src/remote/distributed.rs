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
use crate::gathering::{Data, Gathering};
use crate::instance::Collectives;
use crate::membership::InstanceScope;
use crate::planes::Between;
use crate::planes::agents_through;
use crate::planes::burden;
use crate::planes::count_messages;
use crate::planes::release_member;
use crate::remote::beginning::is_reduced;
use crate::remote::data::send_data;
use crate::remote::kind::CollectiveRecordKind;
use crate::remote::passage::{MemberPasses, Plane};
use crate::remote::spread::Ident;
use engine::Time;
use engine::record::{Put, Take};
use objects::Objects;
use objects::group::Group;
use p2p::Messages;
use schedule::choose::choose;
use schedule::data::steps::Rows;
use schedule::segments::ProcessSegment;
use schedule::time::{RoundResult, TimePlane};

impl Collectives {
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
