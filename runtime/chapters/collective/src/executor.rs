//! Runs schedules event by event: an agent for each member, moved on by the arrival of messages.

use crate::agent::agent_done;
use crate::agent::{Agent, AgentState, buffer_mut, buffer_of};
use crate::broken::member_of;
use crate::instance::ArrivedMessage;
use crate::instance::Collectives;
use crate::membership::member_rank;
use crate::reduction::UserReduction;
use engine::{Span, Time};
use objects::Objects;
use p2p::Messages;
use p2p::fabric::Departure;
use p2p::flight::Flight;
use schedule::{Buffer, Kind, Slice, Step};

impl Collectives {
    /// Moves agents on until none can move or a function of the program is needed (`collectives.user`).
    // First come, first served: the order has no influence on any time, as each message's arrival follows
    // from its sender's clock alone.
    pub(crate) fn run_agents(&mut self, messages: &mut Messages, objects: &Objects) {
        while self.user.is_none()
            && let Some((index, member)) = self.movable.pop_front()
        {
            self.run_agent(messages, objects, index, member);
        }
    }

    fn run_agent(&mut self, messages: &mut Messages, objects: &Objects, index: u32, member: u32) {
        let Some(instance) = self.instances.get_mut(index) else { return };
        let Some(schedule) = instance.schedule.clone() else { return };
        // Out of its place while it moves: sending to a member looks into the same instance.
        let Some(mut agent) = instance.agents[member as usize].take() else { return };
        if matches!(agent.stage, AgentState::Done | AgentState::Finished) {
            instance.agents[member as usize] = Some(agent);
            return;
        }
        if agent.stage == AgentState::Held {
            agent.stage = AgentState::Running;
            if messages.payloads().are_carried() {
                agent.scratch = vec![0; schedule.scratch(&agent.member) as usize];
            }
        }
        agent.waiting = None;
        // One buffer for all rounds of all members: a round is described anew each time it is entered, and
        // never kept.
        let mut steps = std::mem::take(&mut self.steps);
        let rounds = schedule.rounds();
        let mut through = true;
        while agent.round < rounds {
            if !agent.sent {
                agent.round = schedule.next(member, agent.round);
                if agent.round >= rounds {
                    break;
                }
            }
            steps.clear();
            schedule.round(&agent.member, agent.round, &mut steps);
            if !self.run_round(messages, objects, index, &mut agent, &steps) {
                through = false;
                break;
            }
            agent.round += 1;
            agent.cursor = 0;
            agent.sent = false;
        }
        self.steps = steps;
        // Members on several processes may be through before what was agreed on is known here.
        let over = through
            && self.instances[index].agreement.as_ref().is_none_or(|agreement| agreement.outcome.is_some());
        let mut leaves = over && agent.refused;
        if over {
            agent.stage = AgentState::Done;
            if agent.gone {
                leaves = !self.broken.contains_key(&(index, member));
            } else if messages.faults().is_some()
                && !agent.refused
                && member_of(objects, &self.instances[index].place, agent.rank).is_some()
            {
                // Others may have failed by then, and it know of that.
                agent.stage = AgentState::Finished;
                messages.failures().alarm(agent.rank, agent.clock);
            } else if !agent.refused {
                agent_done(messages, &mut agent);
            }
        }
        self.instances[index].agents[member as usize] = Some(agent);
        if leaves {
            self.leave_instance(objects, index);
        }
    }

    /// One round; false if it must wait for a message or for a function of the program.
    // Sends, receives, local steps: the order of a round's parts is that of the schedule's definition
    // (`schedule::Step`), which both planes share. Receives one after the other, as a library posts and waits
    // for them.
    fn run_round(
        &mut self,
        messages: &mut Messages,
        objects: &Objects,
        index: u32,
        agent: &mut Agent,
        steps: &[Step],
    ) -> bool {
        if !agent.sent {
            agent.sent = true;
            for step in steps {
                if let Step::Send { to, from } = *step {
                    self.agent_send(messages, objects, index, agent, to, from);
                }
            }
        }
        let receives = steps.iter().filter(|step| matches!(step, Step::Receive { .. }));
        let count = receives.clone().count() as u32;
        for step in receives.skip(agent.cursor as usize) {
            let Step::Receive { from, into } = *step else { unreachable!("filtered") };
            if !self.agent_receive(messages, index, agent, from, into) {
                return false;
            }
            agent.cursor += 1;
        }
        if agent.cursor == count {
            agent.clock += local_time(messages, steps);
        }
        if !messages.payloads().are_carried() {
            return true;
        }
        // Counted on from the receives, so that a member which waited for a function of the program does not
        // repeat what it has done.
        let local = steps.iter().filter(|step| {
            matches!(step, Step::ReduceLeft { .. } | Step::ReduceRight { .. } | Step::Copy { .. })
        });
        for step in local.skip((agent.cursor - count) as usize) {
            agent.cursor += 1;
            match *step {
                Step::Copy { from, into } => agent.copy(from, into),
                Step::ReduceLeft { from, into } => {
                    if !self.agent_reduce(index, agent, from, into, into) {
                        return false;
                    }
                }
                Step::ReduceRight { from, into } => {
                    if !self.agent_reduce(index, agent, into, from, into) {
                        return false;
                    }
                }
                _ => unreachable!("filtered"),
            }
        }
        true
    }

    fn agent_send(
        &mut self,
        messages: &mut Messages,
        objects: &Objects,
        index: u32,
        agent: &mut Agent,
        to: u32,
        from: Slice,
    ) {
        let target = member_rank(objects, &self.instances[index].place, to, agent.rank);
        if messages.fabric().wire().has_overheads {
            let costs = messages.fabric().wire().overheads;
            agent.clock = match agent.is_by_itself() {
                true => costs.leave(&mut agent.nic_free, agent.clock),
                false => costs.leave(&mut messages.ranks_mut()[agent.rank].nic_free, agent.clock),
            };
        }
        messages.ranks_mut().profile_mut().message(from.bytes);
        if self.instances[index].shape.kind == Kind::Agree {
            messages.ranks_mut().profile_mut().internal(1, from.bytes.into());
        }
        if !messages.ranks().is_local(target) {
            self.agent_send_away(messages, index, agent, to, target, from);
            return;
        }
        let carries = messages.payloads().are_carried() && from.buffer != Buffer::Nothing && from.bytes != 0;
        let payload =
            (carries && agent.covers(from)).then(|| messages.payloads_mut().store(buffer_of(agent, from)));
        // By sender and round: a message of a later round may come before an earlier one where a path is
        // shorter.
        let key = (to, agent.member.rank, agent.round);
        // Unknown on a shared network; the letter lies there without a time until its flight has landed.
        let at = if messages.fabric().is_shared() {
            let flight = Flight::Chapter {
                chapter: crate::CHAPTER,
                words: [index, to, agent.member.rank, agent.round],
            };
            messages.departures().launch(
                Departure::Own,
                agent.rank,
                target,
                (from.bytes, agent.clock),
                flight,
            );
            Time::MAX
        } else {
            agent.clock + messages.fabric().latency(agent.rank, target, from.bytes)
        };
        let instance = &mut self.instances[index];
        instance.mail.entry(key).or_default().push_back(ArrivedMessage {
            at,
            bytes: from.bytes,
            payload,
            missing: agent.missing,
        });
        let waits = instance.agents[to as usize].as_ref().is_some_and(|agent| agent.waiting == Some(key.1));
        if waits && at != Time::MAX {
            self.movable.push_back((index, to));
        }
    }

    /// Notes that a shared network delivered a message of a schedule.
    pub(crate) fn collective_arrival(&mut self, index: u32, to: u32, from: u32, round: u32, at: Time) {
        let Some(instance) = self.instances.get_mut(index) else { return };
        if let Some(queue) = instance.mail.get_mut(&(to, from, round))
            && let Some(mail) = queue.iter_mut().find(|mail| mail.at == Time::MAX)
        {
            mail.at = at;
        }
        if instance.agents[to as usize].as_ref().is_some_and(|agent| agent.waiting == Some(from)) {
            self.movable.push_back((index, to));
        }
    }

    // Payload and time together: a member that has its message's bytes has its arrival too, so that neither
    // can run ahead of the other.
    fn agent_receive(
        &mut self,
        messages: &mut Messages,
        index: u32,
        agent: &mut Agent,
        from: u32,
        into: Slice,
    ) -> bool {
        let instance = &mut self.instances[index];
        let key = (agent.member.rank, from, agent.round);
        let ready =
            instance.mail.get(&key).and_then(|queue| queue.front()).is_some_and(|mail| mail.at != Time::MAX);
        if !ready {
            agent.waiting = Some(from);
            return false;
        }
        let queue = instance.mail.get_mut(&key).expect("found above");
        let mail = queue.pop_front().expect("found above");
        if queue.is_empty() {
            instance.mail.remove(&key);
        }
        if mail.at > agent.clock {
            if !agent.is_by_itself() {
                messages.ranks_mut().profile_mut().wait(agent.rank, mail.at.since(agent.clock));
            }
            agent.clock = mail.at;
        }
        if messages.fabric().wire().has_overheads {
            agent.clock += messages.fabric().wire().overheads.receive;
        }
        if let Some(rank) = mail.missing {
            if into.bytes != 0 {
                agent.lacks(rank);
            }
        } else if mail.bytes != into.bytes {
            agent.mismatch(from, mail.bytes, into.bytes);
        }
        if let Some(slot) = mail.payload {
            let bytes = messages.payloads().stored(slot);
            let part = bytes.len().min(into.bytes as usize);
            if into.buffer != Buffer::Nothing && agent.covers(into) {
                buffer_mut(agent, into)[..part].copy_from_slice(&bytes[..part]);
            }
            messages.payloads_mut().discard(slot);
        }
        true
    }

    /// Computes `into = left op right`. Returns `false` if a function of the program must do it.
    fn agent_reduce(
        &mut self,
        index: u32,
        agent: &mut Agent,
        left: Slice,
        right: Slice,
        into: Slice,
    ) -> bool {
        let Some(reduction) = agent.reduction.clone() else { return true };
        if into.bytes == 0
            || agent.failure.is_some()
            || agent.missing.is_some()
            || !agent.covers(left)
            || !agent.covers(right)
        {
            return true;
        }
        if reduction.kernel.is_some() {
            agent.reduce(left, right, into);
            return true;
        }
        // Copies: the function may do as it likes with both, and meanwhile other members move.
        let (left, right) = (buffer_of(agent, left).to_vec(), buffer_of(agent, right).to_vec());
        self.user = Some(UserReduction {
            rank: agent.rank,
            instance: index,
            member: agent.member.rank,
            reduction,
            left,
            right,
            into,
        });
        false
    }

    /// Goes on after the function of the program has reduced `work.left` into `work.right`.
    pub(crate) fn user_reduced(&mut self, work: UserReduction) {
        if let Some(instance) = self.instances.get_mut(work.instance)
            && let Some(agent) = &mut instance.agents[work.member as usize]
        {
            buffer_mut(agent, work.into).copy_from_slice(&work.right);
            // In front: until this member has gone on no other one may call a function, because there is one
            // place for such work.
            self.movable.push_front((work.instance, work.member));
        }
    }
}

/// Returns what a round's reductions and copies take of its member's processor.
fn local_time(messages: &Messages, steps: &[Step]) -> Span {
    let wire = messages.fabric().wire();
    if !wire.has_local_costs() {
        return Span::ZERO;
    }
    let spans = steps.iter().filter_map(|step| match step {
        Step::ReduceLeft { into, .. } | Step::ReduceRight { into, .. } => wire.reduction(into.bytes),
        Step::Copy { into, .. } => wire.copying(into.bytes),
        _ => None,
    });
    spans.fold(Span::ZERO, |sum, span| sum + span)
}
