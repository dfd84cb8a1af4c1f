//! How a member leaves a collective: its completion, its result into the program's memory, and the instance's end.

use crate::collective::Delivery;
use crate::collective::agent::{Agent, Stage};
use crate::collective::blocks::BlockList;
use crate::collective::instance::Place;
use crate::error::Result;
use crate::handle::{self, RequestRef};
use crate::matching::Extent;
use crate::request::{Body, Request};
use crate::world::World;
use rank::Addr;

impl World {
    pub(crate) fn agent_done(&mut self, agent: &mut Agent) {
        match agent.request {
            Some(request) => self.finish_request(request, agent.clock),
            None => {
                let state = &mut self.messages.ranks[agent.rank as usize];
                if state.waiting != 0 {
                    state.waiting = 0;
                    self.messages.ready.wake(agent.rank);
                }
            }
        }
    }

    /// Stores the new communicator's handle at `target` when `request` (of an agreement) is collected.
    pub(crate) fn store_outcome(&mut self, request: usize, target: Addr) {
        if let RequestRef::Cold(index) = handle::request(request)
            && let Some(Request { body: Body::Collective { instance, member }, .. }) = self.messages.requests.get(index)
            && let Some(agent) = &mut self.collectives.instances[*instance].agents[*member as usize]
        {
            agent.delivery = Delivery::Handle(target);
        }
    }

    /// Whether a member is through.
    pub(crate) fn is_through(&self, index: u32, member: u32) -> bool {
        let instance = self.collectives.instance(index);
        match &instance.gathering {
            Some(gathering) => gathering.is_complete(),
            None => instance.agents[member as usize].as_ref().is_some_and(|agent| agent.stage == Stage::Done),
        }
    }

    /// Moves a complete member's result into the program's memory, ahead of its completion.
    pub(crate) fn deliver_collective(&mut self, index: u32, member: u32) {
        if self.collectives.instances[index].gathering.is_some() {
            self.finish_pending(index, member, false);
            return;
        }
        if let Some(agent) = &mut self.collectives.instances[index].agents[member as usize]
            && agent.stage == Stage::Done
            && !matches!(agent.delivery, Delivery::Handle(_))
        {
            std::mem::take(&mut agent.delivery).deliver(&agent.output);
        }
    }

    /// The mounted rank collects its result: moves it into the program's memory and leaves the instance.
    pub(crate) fn finish_collective(&mut self, index: u32, member: u32) -> Result<usize> {
        if self.collectives.instances[index].gathering.is_some() {
            self.finish_pending(index, member, true);
            return Ok(0);
        }
        self.finish_agent(index, member, None)
    }

    /// The same; the result goes to `target`, where the agent does not know.
    pub(crate) fn finish_agent(&mut self, index: u32, member: u32, target: Option<&Extent>) -> Result<usize> {
        let me = self.messages.current;
        let Some(mut agent) = self.collectives.instances[index].agents[member as usize].take() else { return Ok(0) };
        let before = self.messages.ranks[me as usize].clock;
        // Waiting inside the collective was counted where it happened.
        if agent.clock > before {
            let state = &mut self.messages.ranks[me as usize];
            state.clock = agent.clock;
            state.spins = 0;
        }
        let outcome = self.collectives.instance(index).outcome(member);
        self.leave_instance(index);
        if let Some(failure) = agent.failure.take() {
            return Err(failure);
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
            Some(Err(failure)) => Err(failure),
            None => Ok(0),
        }
    }

    /// The mounted rank, which is through, takes its result into these blocks and leaves.
    pub(crate) fn finish_lists(&mut self, index: u32, member: u32, list: Option<&BlockList>) -> Result<usize> {
        let instance = self.collectives.instance_mut(index);
        if let Some(gathering) = &mut instance.gathering {
            if let Some(list) = list
                && gathering.varied.is_some()
            {
                match gathering.kept(member) {
                    Some(kept) => list.fill(kept),
                    None => gathering.varied.as_mut().expect("looked at above").deliver_to(member, list),
                }
                self.leave_instance(index);
                return Ok(0);
            }
        } else if let (Some(agent), Some(list)) = (&instance.agents[member as usize], list)
            && agent.failure.is_none()
        {
            list.fill_known(&agent.output, &agent.member.sources);
        }
        self.finish_agent(index, member, None)
    }

    pub(crate) fn leave_instance(&mut self, index: u32) {
        let instance = &mut self.collectives.instances[index];
        instance.left -= 1;
        if instance.left > 0 {
            return;
        }
        let (place, start) = (instance.place.clone(), instance.start);
        self.collectives.latest = None;
        if let Some(ident) = instance.ident {
            self.collectives.spread.instances.remove(&ident);
            self.collectives.spread.readies.remove(&ident);
        }
        self.collectives.instances.remove(index);
        let comm = match place {
            Place::Comm(comm) => comm,
            Place::Group(key, _) => {
                if let Some(list) = self.collectives.meetings.get_mut(&key) {
                    list.retain(|&other| other != index);
                    if list.is_empty() {
                        self.collectives.meetings.remove(&key);
                    }
                }
                return;
            }
        };
        // The communicator may be freed while its last collective is collected.
        if self.objects.comms.alive(comm).is_none() {
            return;
        }
        let home = self.home(comm);
        if let Some(call_id) = start {
            return self.forget_start(home, call_id);
        }
        if let Some(calls) = self.collectives.calls.get_mut(home) {
            calls.leave(index);
        }
    }
}
