//! Collective calls that cannot come to an end, because a member has failed before it entered or their
//! communicator is revoked.
//!
//! A member that has entered leaves with an error as soon as its rank knows that, unless it was through
//! before. The rest of its work for the others is done without it, as for a member that has failed in the
//! call. So the members that get through depend on which have entered and when, and on no knowledge but a
//! member's own.

use crate::agent::AgentState;
use crate::agent::agent_done;
use crate::instance::{CollectiveInstance, Collectives};
use crate::membership::{InstanceScope, home, sides};
use engine::Time;
use objects::Objects;
use objects::error::ErrorClass;
use p2p::Messages;
use p2p::faults::Fault;
use p2p::node::NIL;

/// Returns a rank's number among the members of an instance, if it is one that others wait for.
pub(crate) fn member_of(objects: &Objects, place: &InstanceScope, rank: u32) -> Option<u32> {
    let comm = match place {
        InstanceScope::Group(_, group) => return group.rank_of(rank),
        InstanceScope::Comm(comm) => *comm,
    };
    let communicator = objects.comms.alive(comm).filter(|comm| !comm.is_self)?;
    if communicator.remote.is_none() {
        return communicator.group.rank_of(rank);
    }
    let (first, second) = sides(objects, comm);
    first.rank_of(rank).or_else(|| second.rank_of(rank).map(|member| first.size() + member))
}

impl Collectives {
    /// Calls of `rank` end that are over by `now`, and those that cannot come to an end, as it knows then.
    // O(instances, and in each those that have failed): once a failure and rank.
    pub fn break_off(&mut self, messages: &mut Messages, objects: &Objects, rank: u32, now: Time) {
        let under_way = self.instances.iter().filter_map(|(index, instance)| {
            let member = member_of(objects, &instance.place, rank)?;
            instance.is_under_way(member).then_some((index, member))
        });
        let under_way: Vec<(u32, u32)> = under_way.collect();
        for (index, member) in under_way {
            if self.release_finished(messages, (index, member), now) {
                continue;
            }
            if let Some(fault) = self.fault_of(messages, objects, index, rank, now) {
                self.break_member(messages, (index, member), rank, Fault { known: now, ..fault });
            }
        }
    }

    /// Returns why an instance will not come to its end for `rank`, as that knows at `now`.
    fn fault_of(
        &self,
        messages: &Messages,
        objects: &Objects,
        index: u32,
        rank: u32,
        now: Time,
    ) -> Option<Fault> {
        let faults = messages.faults()?;
        let instance = self.instance(index);
        if let InstanceScope::Comm(comm) = instance.place
            && faults.is_revoked(rank, objects.comms.at(comm).context)
        {
            return Some(Fault { class: ErrorClass::REVOKED, known: now, rank });
        }
        let failed = faults.failed().iter().take_while(|failed| faults.known(failed) <= now);
        let missing = failed.filter(|failed| {
            let member = member_of(objects, &instance.place, failed.rank);
            member.is_some_and(|member| !self.has_entered(messages, objects, index, (failed.rank, member)))
        });
        missing
            .map(|failed| Fault {
                class: ErrorClass::PROC_FAILED,
                known: faults.known(failed),
                rank: failed.rank,
            })
            .next()
    }

    /// Returns `true` if a member has ever been in an instance.
    // One that has left is in no more: the count of its calls tells.
    fn has_entered(
        &self,
        messages: &Messages,
        objects: &Objects,
        index: u32,
        (rank, member): (u32, u32),
    ) -> bool {
        if !messages.ranks().is_local(rank) {
            return self
                .instance(index)
                .ident
                .is_some_and(|ident| self.spread.departed.had_entered(rank, &ident));
        }
        let instance = self.instance(index);
        if instance.has(member) || instance.joined.contains(member) {
            return true;
        }
        let InstanceScope::Comm(comm) = instance.place else { return false };
        let home = home(objects, comm);
        let number = self.calls.get(home).and_then(|calls| calls.number(index));
        number.is_some_and(|number| self.calls.of(home, member) > number)
    }

    /// Releases a member that is through by `now`. Returns `false` if it is not.
    fn release_finished(&mut self, messages: &mut Messages, (index, member): (u32, u32), now: Time) -> bool {
        let agent = self.instance_mut(index).agents.get_mut(member as usize).and_then(Option::as_mut);
        let Some(agent) = agent.filter(|agent| agent.stage == AgentState::Finished && agent.clock <= now)
        else {
            return false;
        };
        agent.stage = AgentState::Done;
        agent_done(messages, agent);
        true
    }

    fn break_member(
        &mut self,
        messages: &mut Messages,
        (index, member): (u32, u32),
        rank: u32,
        fault: Fault,
    ) {
        self.latest = None;
        self.unhold(index);
        let instance = self.instance_mut(index);
        let request = match &mut instance.gathering {
            Some(gathering) => {
                gathering.part(member);
                let place = member - gathering.first;
                gathering
                    .pending
                    .as_ref()
                    .map(|pending| pending.request(place))
                    .filter(|&request| request != NIL)
            }
            None => instance.agents[member as usize].as_mut().and_then(|agent| {
                agent.gone = true;
                agent.nic_free = messages.ranks()[rank].nic_free;
                agent.request.take()
            }),
        };
        self.broken.insert((index, member), fault);
        match request {
            Some(request) => messages.finish_request(request, fault.known),
            None => {
                messages.ranks_mut().advance(rank, fault.known);
                if let Some(strand) = messages.ranks_mut().unblock(rank) {
                    messages.ready_mut().wake(strand);
                }
            }
        }
    }
}

impl CollectiveInstance {
    /// Returns `true` if a member has entered, and neither left nor come through.
    fn is_under_way(&self, member: u32) -> bool {
        match &self.gathering {
            Some(gathering) => !gathering.is_complete() && gathering.has(member),
            None => self.agents.get(member as usize).is_some_and(|agent| {
                agent.as_ref().is_some_and(|agent| agent.stage != AgentState::Done && !agent.gone)
            }),
        }
    }

    /// Returns `true` if a member is in.
    pub(crate) fn has(&self, member: u32) -> bool {
        match &self.gathering {
            Some(gathering) => gathering.has(member),
            None => self.agents.get(member as usize).is_some_and(Option::is_some),
        }
    }
}
