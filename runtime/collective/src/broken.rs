//! Collective calls that cannot come to an end, because a member has failed before it entered or their communicator is revoked.
//!
//! A member that is in when it gets to know that leaves with an error, wherever it was. Its instance stays as it is: nobody else gets through it who
//! needs more from those that have left, and each of the others is told in its turn.

use crate::agent::Stage;
use crate::calls::CallId;
use crate::entrance::membership;
use crate::entry::home;
use crate::instance::{Collectives, Instance, Place, sides};
use engine::Time;
use message::Messages;
use message::faults::Fault;
use message::node::NIL;
use objects::Objects;
use objects::error::{ErrorClass, Result};

/// A rank's number among the members of an instance, if it is one that others wait for.
fn member_of(objects: &Objects, place: &Place, rank: u32) -> Option<u32> {
    let comm = match place {
        Place::Group(_, group) => return group.rank_of(rank),
        Place::Comm(comm) => *comm,
    };
    let communicator = objects.comms.alive(comm).filter(|comm| !comm.is_self)?;
    if communicator.remote.is_none() {
        return communicator.group.rank_of(rank);
    }
    let (first, second) = sides(objects, comm);
    first.rank_of(rank).or_else(|| second.rank_of(rank).map(|member| first.size() + member))
}

impl Collectives {
    /// Calls of `rank` that are under way and cannot come to an end, as it knows at `now`, end for it.
    // O(instances, and in each those that have failed): once a failure and rank.
    pub fn break_off(&mut self, messages: &mut Messages, objects: &Objects, rank: u32, now: Time) {
        let under_way = self.instances.iter().filter_map(|(index, instance)| {
            let member = member_of(objects, &instance.place, rank)?;
            instance.is_under_way(member).then_some((index, member))
        });
        let under_way: Vec<(u32, u32)> = under_way.collect();
        for (index, member) in under_way {
            if let Some(fault) = self.fault_of(messages, objects, index, rank, now) {
                self.break_member(messages, (index, member), rank, Fault { known: now, ..fault });
            }
        }
    }

    /// Why an instance will not come to its end for `rank`, as that knows at `now`.
    fn fault_of(&self, messages: &Messages, objects: &Objects, index: u32, rank: u32, now: Time) -> Option<Fault> {
        let faults = messages.faults.as_ref()?;
        let instance = self.instance(index);
        if let Place::Comm(comm) = instance.place
            && faults.is_revoked(rank, objects.comms.at(comm).context)
        {
            return Some(Fault { class: ErrorClass::REVOKED, known: now, rank });
        }
        let failed = faults.failed().iter().take_while(|failed| faults.known(failed) <= now);
        let missing = failed.filter(|failed| {
            let member = member_of(objects, &instance.place, failed.rank);
            member.is_some_and(|member| !self.has_entered(objects, index, member))
        });
        missing.map(|failed| Fault { class: ErrorClass::PROC_FAILED, known: faults.known(failed), rank: failed.rank }).next()
    }

    /// Whether a member has ever been in an instance.
    // One that has left is in no more: the count of its calls tells.
    fn has_entered(&self, objects: &Objects, index: u32, member: u32) -> bool {
        let instance = self.instance(index);
        if instance.has(member) || instance.joined.contains(member) {
            return true;
        }
        let Place::Comm(comm) = instance.place else { return false };
        let home = home(objects, comm);
        let number = self.calls.get(home).and_then(|calls| calls.number(index));
        number.is_some_and(|number| self.calls.of(home, member) > number)
    }

    fn break_member(&mut self, messages: &mut Messages, (index, member): (u32, u32), rank: u32, fault: Fault) {
        self.latest = None;
        self.unhold(index);
        self.abandoned.insert(index);
        let instance = self.instance_mut(index);
        let request = match &mut instance.gathering {
            Some(gathering) => {
                gathering.part(member);
                let place = member - gathering.first;
                gathering.pending.as_ref().map(|pending| pending.request(place)).filter(|&request| request != NIL)
            }
            None => instance.agents[member as usize].take().and_then(|agent| agent.request),
        };
        self.broken.insert((index, member), fault.failure());
        match request {
            Some(request) => messages.finish_request(request, fault.known),
            None => {
                messages.advance(rank, fault.known);
                messages.ranks[rank as usize].waiting = 0;
                messages.ready.wake(rank);
            }
        }
    }

    /// Why the mounted rank leaves an instance with an error, if it does because of that.
    #[inline]
    pub(crate) fn take_broken(&mut self, index: u32, member: u32) -> Result {
        if self.broken.is_empty() {
            Ok(())
        } else {
            self.broken.remove(&(index, member)).map_or(Ok(()), |failure| Err(failure.after_entry()))
        }
    }

    /// Whether the mounted rank's next call on a communicator (its index) belongs to an instance that others have left with an error.
    pub fn is_next_abandoned(&self, objects: &Objects, comm: u32) -> bool {
        let (_, member, _) = membership(objects, comm);
        let home = home(objects, comm);
        let call = CallId::Call(self.calls.of(home, member));
        self.instance_of(home, call).is_some_and(|index| self.abandoned.contains(&index))
    }
}

impl Instance {
    /// Whether a member has entered, and neither left nor come through.
    fn is_under_way(&self, member: u32) -> bool {
        match &self.gathering {
            Some(gathering) => !gathering.is_complete() && gathering.has(member),
            None => self.agents.get(member as usize).is_some_and(|agent| agent.as_ref().is_some_and(|agent| agent.stage != Stage::Done)),
        }
    }

    /// Whether a member is in.
    fn has(&self, member: u32) -> bool {
        match &self.gathering {
            Some(gathering) => gathering.has(member),
            None => self.agents.get(member as usize).is_some_and(Option::is_some),
        }
    }
}
