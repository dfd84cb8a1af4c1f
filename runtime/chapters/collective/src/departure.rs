//! Departure of a member from a collective: its completion, its result into the program's memory, and the end
//! of the instance with its last member.

use crate::CHAPTER;
use crate::agent::AgentState;
use crate::blocks::BlockList;
use crate::delivery::Delivery;
use crate::gathering::ResultMemory;
use crate::instance::Collectives;
use crate::membership::{InstanceScope, home};
use objects::Objects;
use objects::error::Result;
use p2p::Messages;
use p2p::handle::{self, RequestRef};
use p2p::request::{Body, Request};
use p2p::view::BufferView;
use rank::Addr;

impl Collectives {
    /// Stores the new communicator's handle at `target` when `request` (of an agreement) is collected.
    pub fn store_outcome(&mut self, messages: &mut Messages, request: usize, target: Addr) {
        if let RequestRef::Cold(index) = handle::request(request)
            && let Some(Request {
                body: Body::Chapter { chapter: CHAPTER, token: [instance, member] }, ..
            }) = messages.requests().get(index)
            && let Some(agent) = &mut self.instances[*instance].agents[*member as usize]
        {
            agent.delivery = Delivery::Handle(target);
        }
    }

    /// Moves a complete member's result into the program's memory, ahead of its completion.
    // Early, for `MPI_Request_get_status`, which makes the data available and keeps the request (MPI 5.0
    // section 3.7.6). A handle waits for the end, as its communicator may not exist for this member before.
    pub(crate) fn deliver_collective(&mut self, objects: &Objects, index: u32, member: u32) {
        if self.instances[index].gathering.is_some() {
            self.finish_pending(objects, index, member, false);
            return;
        }
        if let Some(agent) = &mut self.instances[index].agents[member as usize]
            && agent.stage == AgentState::Done
            && !matches!(agent.delivery, Delivery::Handle(_))
        {
            std::mem::take(&mut agent.delivery).deliver(&agent.output);
        }
    }

    /// Collects the mounted rank's result: moves it into the program's memory and leaves the instance.
    pub(crate) fn finish_collective(
        &mut self,
        messages: &mut Messages,
        objects: &Objects,
        index: u32,
        member: u32,
    ) -> Result<usize> {
        self.take_broken(messages, objects, index, member)?;
        if self.instances[index].gathering.is_some() {
            self.finish_pending(objects, index, member, true);
            return Ok(0);
        }
        self.finish_agent(messages, objects, index, member, None)
    }

    /// Takes the result of the mounted rank, which is through, into these blocks; the rank leaves.
    pub(crate) fn finish_lists(
        &mut self,
        messages: &mut Messages,
        objects: &Objects,
        index: u32,
        member: u32,
        list: Option<&BlockList>,
    ) -> Result<usize> {
        self.take_broken(messages, objects, index, member)?;
        let instance = self.instance_mut(index);
        if let Some(gathering) = &mut instance.gathering {
            if let Some(list) = list
                && gathering.varied.is_some()
            {
                gathering.take(&instance.shape, member, ResultMemory::List(list));
                self.leave_instance(objects, index);
                return Ok(0);
            }
        } else if let (Some(agent), Some(list)) = (&instance.agents[member as usize], list)
            && agent.failure.is_none()
        {
            list.fill_known(&agent.output, &agent.member.sources);
        }
        self.finish_agent(messages, objects, index, member, None)
    }

    /// Collects the mounted rank's result of a nonblocking collective whose members gathered to its end; with
    /// `leaves`, for good.
    pub(crate) fn finish_pending(&mut self, objects: &Objects, index: u32, member: u32, leaves: bool) {
        let instance = self.instance_mut(index);
        let Some(gathering) = instance.gathering.as_mut().filter(|gathering| gathering.is_complete()) else {
            return;
        };
        if gathering.pending.is_none() {
            return;
        }
        gathering.take(&instance.shape, member, ResultMemory::Pending);
        if leaves {
            self.leave_instance(objects, index);
        }
    }

    /// Gives the mounted rank its result and lets it leave. Returns the handle of a new communicator, if one
    /// was made.
    pub(crate) fn finish_part(
        &mut self,
        messages: &mut Messages,
        objects: &Objects,
        index: u32,
        member: u32,
        target: &BufferView,
    ) -> Result<usize> {
        self.take_broken(messages, objects, index, member)?;
        let instance = self.instance_mut(index);
        let Some(gathering) = &mut instance.gathering else {
            return self.finish_agent(messages, objects, index, member, Some(target));
        };
        gathering.take(&instance.shape, member, ResultMemory::View(target));
        let outcome = instance.outcome(member);
        self.leave_instance(objects, index);
        outcome.unwrap_or(Ok(0)).map_err(|failure| failure.after_entry())
    }

    /// Returns the error with which the mounted rank leaves an instance, if another rank's failure or a
    /// revocation is why it does.
    // None is the rule, and asked by every member of every call.
    #[inline(always)]
    fn take_broken(&mut self, messages: &mut Messages, objects: &Objects, index: u32, member: u32) -> Result {
        if self.broken.is_empty() { Ok(()) } else { self.leave_broken(messages, objects, index, member) }
    }

    #[cold]
    fn leave_broken(
        &mut self,
        messages: &mut Messages,
        objects: &Objects,
        index: u32,
        member: u32,
    ) -> Result {
        let Some(fault) = self.broken.remove(&(index, member)) else { return Ok(()) };
        let agent = self.instance(index).agents.get(member as usize).and_then(Option::as_ref);
        if agent.is_some_and(|agent| agent.stage == AgentState::Done || agent.stage == AgentState::Finished) {
            self.leave_instance(objects, index);
        }
        Err(messages.failures().tell_failure(fault).after_entry())
    }

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
    fn finish_agent(
        &mut self,
        messages: &mut Messages,
        objects: &Objects,
        index: u32,
        member: u32,
        target: Option<&BufferView>,
    ) -> Result<usize> {
        let me = messages.me();
        let Some(mut agent) = self.instances[index].agents[member as usize].take() else { return Ok(0) };
        // Waiting inside the collective was counted where it happened.
        messages.ranks_mut()[me].advance(agent.clock);
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
