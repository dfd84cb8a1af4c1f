//! The end of a member's part in an instance, and of the instance with its last member.

use crate::agent::AgentState;
use crate::delivery::Delivery;
use crate::instance::Collectives;
use crate::membership::{InstanceScope, home};
use objects::Objects;
use objects::error::Result;
use p2p::Messages;
use p2p::view::BufferView;

impl Collectives {
    /// Returns `true` if a member is through.
    // O(1): asked once by each member right after it has entered.
    pub(crate) fn is_through(&self, index: u32, member: u32) -> bool {
        let instance = self.instance(index);
        match &instance.gathering {
            Some(gathering) => gathering.is_complete(),
            None => {
                instance.agents[member as usize].as_ref().is_some_and(|agent| agent.stage == AgentState::Done)
            }
        }
    }

    /// Collects as [`Collectives::finish_collective`] does, for an agent; the result goes to `target`, where
    /// the agent does not know.
    pub(crate) fn finish_agent(
        &mut self,
        messages: &mut Messages,
        objects: &Objects,
        index: u32,
        member: u32,
        target: Option<&BufferView>,
    ) -> Result<usize> {
        let me = messages.me();
        let Some(mut agent) = self.instances[index].agents[member as usize].take() else { return Ok(0) };
        let before = messages.ranks()[me].clock;
        // Waiting inside the collective was counted where it happened.
        if agent.clock > before {
            let state = &mut messages.ranks_mut()[me];
            state.clock = agent.clock;
            state.strand.set_failed_polls(0);
        }
        // Before leaving, with which the instance may be gone.
        let outcome = self.instance(index).outcome(member);
        self.leave_instance(objects, index);
        if let Some(failure) = agent.failure.take() {
            return Err(failure.after_entry());
        }
        agent.delivery.deliver(&agent.output);
        if let Some(target) = target.filter(|target| target.bytes != 0) {
            target.fill(&agent.output);
        }
        match outcome {
            Some(Ok(handle)) => {
                if let Delivery::Handle(target) = agent.delivery {
                    rank::memory::store(target, handle);
                }
                Ok(handle)
            }
            Some(Err(failure)) => Err(failure.after_entry()),
            None => Ok(0),
        }
    }

    // Members pass through the calls of a communicator in order, so that the instance is forgotten with its
    // last member, and its number can never be asked for again.
    pub(crate) fn leave_instance(&mut self, objects: &Objects, index: u32) {
        let instance = &mut self.instances[index];
        instance.left -= 1;
        if instance.left > 0 {
            return;
        }
        let (place, start) = (instance.place.clone(), instance.start);
        self.latest = None;
        if let Some(ident) = instance.ident {
            self.spread.instances.remove(&ident);
            self.spread.readies.remove(&ident);
        }
        self.instances.remove(index);
        let comm = match place {
            InstanceScope::Comm(comm) => comm,
            InstanceScope::Group(key, _) => {
                if let Some(list) = self.meetings.get_mut(&key) {
                    list.retain(|&other| other != index);
                    if list.is_empty() {
                        self.meetings.remove(&key);
                    }
                }
                return;
            }
        };
        let home = home(objects, comm);
        if let Some(call_id) = start {
            return self.forget_start(home, call_id);
        }
        if let Some(calls) = self.calls.get_mut(home) {
            calls.leave(index);
        }
    }
}
