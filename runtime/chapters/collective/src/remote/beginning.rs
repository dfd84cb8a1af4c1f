//! The way in which an instance with members on several processes begins: gathered, or event by event.

use crate::calls::Calls;
use crate::instance::Collectives;
use crate::membership::InstanceScope;
use crate::remote::passage::Distributed;
use crate::remote::spread::{Ident, is_spread};
use objects::Objects;
use objects::group::Group;
use p2p::Messages;
use p2p::remote::Blocks;
use schedule::Kind as Collective;
use schedule::choose::choose;
use schedule::segments::Segments;
use schedule::{Association, Shape};
use std::rc::Rc;

/// Bytes of a message above which a reduction runs event by event rather than in lockstep: all members'
/// buffers at a time leave the caches.
// Event by event, a member's buffer goes through all its rounds while it is warm.
const MAX_LOCKSTEP_BYTES: u64 = 4096;

/// Members a process, on average, from which on messages of one round travel together often enough to pay for
/// waiting until all are in.
// Waiting for all costs two messages between processes; with few members there are few messages of a round to
// save.
const MIN_LOCKSTEP_MEMBERS: usize = 4;

fn pays_in_lockstep(segments: &Segments) -> bool {
    segments.size() as usize >= MIN_LOCKSTEP_MEMBERS * segments.processes().count()
}

/// The first state of an instance, by the location of its members and the way it runs.
pub(crate) enum Beginning {
    /// All members are on this process.
    Here,
    /// Members are on others as well.
    Distributed(Box<Distributed>),
    /// It runs event by event.
    Events,
}

pub(super) fn is_reduced(kind: Collective) -> bool {
    !matches!(
        kind,
        Collective::Barrier
            | Collective::Agree
            | Collective::Bcast
            | Collective::Scatter
            | Collective::Gather
            | Collective::Allgather
            | Collective::Alltoall
    )
}

/// Returns where the members of a group are; `None` if its world ranks do not ascend, so that processes have
/// no rows of them.
// O(1) for evenly spaced ranks, as `MPI_COMM_WORLD`'s and most that splits make.
fn segments_of(group: &Group, blocks: &Blocks) -> Option<Segments> {
    let size = group.size();
    let ascends = match group.as_range() {
        Some((_, stride)) => stride > 0,
        None => (1..size).all(|member| group.world_rank(member - 1) < group.world_rank(member)),
    };
    let firsts = (0..blocks.processes()).map(|process| blocks.first(process));
    ascends.then(|| Segments::ascending(size, |member| group.world_rank(member), firsts))
}

impl Collectives {
    /// Returns how the next instance of a communicator begins, call number `call`.
    // Processes must begin alike without asking each other: this depends on nothing but what all members
    // know, and on whether somebody has started already, which the others will learn as well.
    pub(crate) fn beginning(
        &self,
        messages: &Messages,
        objects: &Objects,
        comm: u32,
        call: u32,
        shape: &Shape,
    ) -> Beginning {
        let communicator = objects.comms.at(comm);
        if !is_spread(messages, communicator) {
            return Beginning::Here;
        }
        let Some(segments) = self.segments(messages, objects, comm) else { return Beginning::Events };
        if self.spread.is_early(&Ident::of_comm(communicator.context, call)) {
            return Beginning::Events;
        }
        let by_events = shape.bytes > MAX_LOCKSTEP_BYTES || !pays_in_lockstep(&segments);
        if is_reduced(shape.kind) && by_events && self.association_of(shape).is_none() {
            return Beginning::Events;
        }
        Beginning::Distributed(Box::new(Distributed {
            segments,
            passage: None,
            early: Vec::new(),
            data: Vec::new(),
            awaited: Vec::new(),
        }))
    }

    /// Registers an instance that was made and begins distributed.
    pub(crate) fn made_distributed(
        &mut self,
        objects: &Objects,
        index: u32,
        comm: u32,
        call: u32,
        here: u32,
    ) {
        let ident = Ident::of_comm(objects.comms.at(comm).context, call);
        let instance = self.instance_mut(index);
        (instance.ident, instance.here, instance.left) = (Some(ident), here, here);
        self.spread.instances.insert(ident, index);
    }

    pub(super) fn distributed_agents(
        &self,
        messages: &Messages,
        objects: &Objects,
        index: u32,
        member: u32,
    ) -> Option<Box<Distributed>> {
        let instance = self.instance(index);
        let agent = instance.agents[member as usize].as_ref()?;
        let (signature, ..) = instance.describe();
        let InstanceScope::Comm(comm) = instance.place else { return None };
        let known = signature.blocking && instance.root_known && instance.agreement.is_none();
        let fresh = instance.arrived == 1 && !instance.started && !instance.has_mail();
        let steps = agent.reduction.as_ref().is_none_or(|reduction| reduction.kernel.is_some())
            && self.association_of(&instance.shape).is_none();
        let small = agent.input.len() as u64 <= MAX_LOCKSTEP_BYTES * u64::from(instance.size);
        if !(known && fresh && steps && small && self.gathers(messages, true))
            || objects.comms.at(comm).is_inter()
        {
            return None;
        }
        let segments =
            self.segments(messages, objects, comm).filter(|segments| pays_in_lockstep(segments))?;
        Some(Box::new(Distributed {
            segments,
            passage: None,
            early: Vec::new(),
            data: Vec::new(),
            awaited: Vec::new(),
        }))
    }

    /// Returns how the operands of a reduction come together, where that can be told in short.
    pub(super) fn association_of(&self, shape: &Shape) -> Option<Association> {
        if is_reduced(shape.kind) { choose(shape, &self.policy).association() } else { None }
    }

    /// Returns where the members of an intracommunicator are, if each process has a row of them.
    pub(crate) fn segments(&self, messages: &Messages, objects: &Objects, comm: u32) -> Option<Rc<Segments>> {
        let communicator = objects.comms.at(comm);
        let blocks = &messages.peers().remote()?.blocks;
        self.calls.segments(comm, || segments_of(&communicator.group, blocks))
    }

    /// The members of a communicator that may make calls on this process, in a row.
    // Counts of calls are kept for a process's own members where these are a row: O(own) instead of O(all) a
    // communicator.
    pub(crate) fn rows_of(
        &self,
        messages: &Messages,
        objects: &Objects,
        comm: u32,
        members: u32,
    ) -> std::ops::Range<u32> {
        let communicator = objects.comms.at(comm);
        if !self.calls.get(comm).is_some_and(Calls::has_begun)
            && !communicator.is_inter()
            && is_spread(messages, communicator)
            && let (Some(segments), Some(remote)) =
                (self.segments(messages, objects, comm), messages.peers().remote())
        {
            return segments.of_process(remote.me);
        }
        0..members
    }
}

/// Returns this process's members of an instance that begins: the first, and how many.
pub(crate) fn own_members(messages: &Messages, beginning: &Beginning, size: u32) -> (u32, u32) {
    match (beginning, messages.peers().remote()) {
        (Beginning::Distributed(distributed), Some(remote)) => {
            let own = distributed.segments.of_process(remote.me);
            (own.start, own.end - own.start)
        }
        _ => (0, size),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_group_out_of_order_has_no_segments() {
        assert_eq!(segments_of(&Group::from_ranks(vec![0, 2, 1]), &Blocks::even(4, 2)), None);
        assert_eq!(segments_of(&Group::range(3, -1, 4), &Blocks::even(4, 2)), None);
        let segments =
            segments_of(&Group::from_ranks(vec![0, 1, 3]), &Blocks::even(4, 2)).expect("they ascend");
        assert_eq!((segments.of_process(0), segments.of_process(1)), (0..2, 2..3));
    }
}
