//! Agents of members that were held together: they go on one by one from here.

use crate::agent::Agent;
use crate::delivery::Delivery;
use crate::gathering::Gathering;
use crate::instance::Collectives;
use crate::membership::member_rank;
use objects::Objects;
use p2p::Messages;
use schedule::{Member, NOBODY, Shape};
use std::rc::Rc;

impl Collectives {
    /// Makes agents of the members that are in, so that they can go on one by one.
    // Each member's clock is still that of its entry: nobody's moves while it is held, and one that went on
    // has its own kept.
    pub(crate) fn expand(&mut self, messages: &mut Messages, objects: &Objects, index: u32) {
        self.latest = None;
        let instance = self.instance_mut(index);
        let holds_agents = instance.holds_agents();
        let Some(gathering) = instance.gathering.take().filter(|_| !holds_agents) else { return };
        let (shape, place) = (instance.shape.clone(), instance.place.clone());
        let none: Rc<[u32]> = Rc::new([]);
        let mut agents = Vec::with_capacity(shape.size as usize);
        for member in 0..shape.size {
            if !gathering.has(member) {
                agents.push(None);
                continue;
            }
            agents.push(Some(agent_of(
                messages,
                &gathering,
                &shape,
                member_rank(objects, &place, member, 0),
                member,
                &none,
            )));
        }
        self.instance_mut(index).agents = agents;
    }
}

/// Returns the agent of a member that is in.
pub(crate) fn agent_of(
    messages: &Messages,
    gathering: &Gathering,
    shape: &Shape,
    rank: u32,
    member: u32,
    none: &Rc<[u32]>,
) -> Box<Agent> {
    let (send, receive, output) = gathering.buffers(shape, member);
    let output = if messages.payloads().are_carried() { output } else { 0 };
    let input = gathering.contribution(shape, member).to_vec();
    let neighbors = gathering.varied.as_ref().and_then(|varied| varied.neighbors(member));
    let (sources, destinations) = neighbors.unwrap_or_else(|| (none.clone(), none.clone()));
    let member = Member { rank: member, send, receive, sources, destinations };
    let own = gathering.functions.as_ref().and_then(|functions| functions.get(member.rank));
    let reduction = own.or(gathering.reduction.as_ref().map(|(_, reduction)| reduction)).cloned();
    let clock = messages.ranks()[rank].clock;
    let place = member.rank - gathering.first;
    let allgatherv = gathering.varied.as_ref().map_or(&[][..], |varied| varied.targets(member.rank));
    let mut agent = Agent::entered(rank, clock, member, input, output, reduction);
    if let Some(pending) = &gathering.pending {
        (agent.clock, agent.request) = (pending.clock(place), Some(pending.request(place)));
        let target = pending.target(place, output);
        agent.delivery = match agent.member.sources.contains(&NOBODY) {
            false => Delivery::To(vec![target]),
            true => Delivery::From(target.parts(agent.member.sources.len()), agent.member.sources.clone()),
        };
    }
    if !allgatherv.is_empty() {
        agent.delivery = Delivery::To(allgatherv.to_vec());
    }
    Box::new(agent)
}
