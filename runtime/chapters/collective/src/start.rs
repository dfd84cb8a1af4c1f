//! Start of an instance: its schedule is chosen, and its members' agents move.

use crate::CHAPTER;
use crate::instance::Collectives;
use objects::Objects;
use p2p::Messages;
use p2p::handle::{self, RequestRef};
use p2p::request::{Body, Request, RequestArray};

impl Collectives {
    // The schedule is chosen here and not when the instance is made: a member that names no root knows
    // neither root nor size.
    pub(crate) fn start_instance(&mut self, messages: &mut Messages, objects: &Objects, index: u32) {
        if !self.instance(index).root_known {
            self.hold(index);
            return;
        }
        self.unhold(index);
        self.expand(messages, objects, index);
        let Collectives { instances, policy, .. } = self;
        let instance = &mut instances[index];
        instance.started = true;
        let schedule = schedule::choose::choose(&instance.shape, policy);
        instance.schedule = Some(schedule.clone());
        let complete = instance.arrived == instance.size;
        if complete && self.fits_planes(messages, self.instance(index)) {
            self.run_agents_at_once(messages, index, &schedule);
            return;
        }
        let collectives = self;
        for (member, agent) in collectives.instances[index].agents.iter().enumerate() {
            if agent.is_some() {
                collectives.movable.push_back((index, member as u32));
            }
        }
    }

    /// Starts all held instances, complete or not, because nothing else can run; false if there were none.
    pub(crate) fn start_all_held(&mut self, messages: &mut Messages, objects: &Objects) -> bool {
        // A copy, since starting takes instances out of the list. Those that still do not know their root
        // stay, which is how the loop sees that nothing was gained.
        let held = self.held.clone();
        for &index in &held {
            self.start_instance(messages, objects, index);
        }
        self.held.len() < held.len()
    }

    /// The mounted rank asks whether requests are complete: collectives that are held for their members, and
    /// could complete one, go on.
    // A test must be answered, and the others' answer may need what this member would send: so the members
    // that are in go on without the rest.
    pub(crate) fn start_tested(
        &mut self,
        messages: &mut Messages,
        objects: &Objects,
        requests: RequestArray,
    ) {
        if !self.has_held() {
            return;
        }
        for handle in requests.iter() {
            if let RequestRef::Cold(request) = handle::request(messages.requests().active_part(handle))
                && let Some(&Request {
                    body: Body::Chapter { chapter: CHAPTER, token: [instance, _] },
                    done: None,
                    ..
                }) = messages.requests().get(request)
                && !self.instance(instance).is_started()
            {
                self.start_instance(messages, objects, instance);
            }
        }
        self.run_agents(messages, objects);
    }
}
