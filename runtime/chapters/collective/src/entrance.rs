//! Entrance of collective calls, and what they know of a communicator's members.

use crate::instance::Collectives;
use crate::instance::sides;
use objects::Objects;
use objects::error::{ErrorClass, Failure, Result};
use p2p::Messages;
use p2p::request::{PROC_NULL, ROOT};
use p2p::view::BufferView;

/// `(members in all, this rank's number, members of the first side)` of a communicator's collectives.
// Both sides of an intercommunicator are one set of members here, the side with the lesser first rank in
// front: an algorithm between groups is a schedule as any other.
pub(crate) fn membership(objects: &Objects, comm: u32) -> (u32, u32, Option<u32>) {
    let me = objects.comms.current;
    let communicator = objects.comms.at(comm);
    if communicator.remote.is_none() {
        return (communicator.size(), communicator.rank(me), None);
    }
    let (first, second) = sides(objects, comm);
    let member = first.rank_of(me).unwrap_or_else(|| first.size() + second.rank_of(me).unwrap_or(0));
    (first.size() + second.size(), member, Some(first.size()))
}

/// The root as a member number; `None` for `MPI_PROC_NULL`.
// Outside the root's group the root is named by its rank there (MPI 5.0 section 6.2.3); the numbers of
// members are the same for all.
pub fn root_member(objects: &Objects, comm: u32, root: i32) -> Result<Option<u32>> {
    let communicator = objects.comms.at(comm);
    let (_, me, sides) = membership(objects, comm);
    let bad = || {
        Failure::new(
            ErrorClass::ROOT,
            format!(
                "root {root} is not a rank of the communicator, which has {} (0 to {})",
                communicator.peers(),
                i64::from(communicator.peers()) - 1
            ),
        )
    };
    match sides {
        None if root >= 0 && (root as u32) < communicator.size() => Ok(Some(root as u32)),
        Some(_) if root == ROOT => Ok(Some(me)),
        Some(_) if root == PROC_NULL => Ok(None),
        Some(first) if root >= 0 && (root as u32) < communicator.peers() => {
            Ok(Some(if me < first { first + root as u32 } else { root as u32 }))
        }
        _ => Err(bad()),
    }
}

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
