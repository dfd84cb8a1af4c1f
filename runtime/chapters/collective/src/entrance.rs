//! Entrance of collective calls.

use crate::instance::Collectives;
use crate::ticket::Ticket;
use objects::Objects;
use p2p::Messages;
use p2p::view::BufferView;

/// A call that the mounted rank has entered: what it waits for, and where its result goes.
pub struct EnteredCall {
    /// The request of a call that does not wait.
    pub request: Option<usize>,
    pub(crate) instance: u32,
    pub(crate) member: u32,
    /// `true` if there is nothing to wait for.
    pub through: bool,
    /// The memory for a result that no agent delivers.
    pub(crate) target: BufferView,
}

impl EnteredCall {
    /// Returns what it waits for.
    pub fn waiting(&self) -> Ticket {
        Ticket::new(self.instance, self.member)
    }
}

/// The state that a collective call changes, in three parts.
// The three parts, and not the world: this crate must not know who else has a place there.
pub struct Entrance<'a> {
    /// MPI's opaque objects.
    pub objects: &'a mut Objects,
    /// Ranks and what passes between them.
    pub messages: &'a mut Messages,
    /// Collective calls under way.
    pub collectives: &'a mut Collectives,
}

impl Collectives {
    /// Runs the agents that can go on after a member has entered, and marks a rank that must wait.
    pub(crate) fn entered(
        &mut self,
        messages: &mut Messages,
        objects: &Objects,
        instance: u32,
        member: u32,
        request: Option<usize>,
        target: BufferView,
    ) -> EnteredCall {
        // Now and not at the next switch: who can leave at once, an early root for one, must not block first.
        self.run_agents(messages, objects);
        let through = request.is_some() || self.is_through(instance, member);
        if !through {
            messages.ranks_mut().strand_mut().block(1);
        }
        EnteredCall { request, instance, member, through, target }
    }
}
