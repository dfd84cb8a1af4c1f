//! Reasons why messages do not come or go: their other end has failed, or their communicator is revoked.

use super::{FailedReceive, FailedSend, Fault, Faults};
use crate::envelope::Pattern;
use engine::Time;
use objects::Objects;
use objects::error::{ErrorClass, Failure, FailureScope, Result};
use objects::group::Group;

impl Faults {
    /// Returns why nothing that this pattern accepts will come to `rank` any more, unless it is on its way.
    pub fn fault_of(&self, objects: &Objects, rank: u32, pattern: &Pattern) -> Option<Fault> {
        if let Some(revoked) = self.revocation(rank, pattern.context) {
            return Some(revoked);
        }
        if self.failed.is_empty() {
            return None;
        }
        let comm = objects.comms.by_context(pattern.context, rank)?;
        let sources = comm.remote.as_ref().unwrap_or(&comm.group);
        match pattern.source {
            _ if comm.is_self => None,
            Some(source) => self.fault_of_rank(sources.world_rank(source)),
            None => {
                let failed = self.first_unacknowledged(rank, pattern.context, sources)?;
                Some(self.fault(ErrorClass::PROC_FAILED_PENDING, &failed))
            }
        }
    }

    /// Returns why a probe of `rank` at `clock` finds nothing any more, if no message comes before that is
    /// known: of those that it accepts the first arrives at `head`.
    pub fn fault_of_probe(
        &self,
        objects: &Objects,
        (rank, clock): (u32, Time),
        pattern: &Pattern,
        head: Option<Time>,
    ) -> Option<Fault> {
        let fault = self.fault_of(objects, rank, pattern)?;
        let finds = match fault.class {
            ErrorClass::PROC_FAILED => head.is_some(),
            _ => head.is_some_and(|head| head.max(clock) <= fault.known.max(clock)),
        };
        (!finds).then_some(fault)
    }

    /// Returns why nothing reaches a rank, if it has failed.
    pub(crate) fn fault_of_rank(&self, rank: u32) -> Option<Fault> {
        let index = *self.places.get(&rank)?;
        Some(self.fault(ErrorClass::PROC_FAILED, &self.failed[index as usize]))
    }

    /// Returns the first member of a group of which it is known by `now` that it has failed.
    pub fn fault_of_group(&self, group: &Group, now: Time) -> Option<Fault> {
        let (_, failed) = self.known_in(group, now).next()?;
        Some(self.fault(ErrorClass::PROC_FAILED, &failed))
    }

    /// Returns the first member of a communicator (its index) of which it is known by `now` that it has
    /// failed.
    pub fn fault_of_members(&self, objects: &Objects, comm: u32, now: Time) -> Option<Fault> {
        let communicator = objects.comms.at(comm);
        if communicator.is_self { None } else { self.fault_of_group(&communicator.group, now) }
    }

    /// Returns why a collective call of `rank` on a communicator (its index) cannot come to an end, as the
    /// rank knows.
    pub fn fault_of_collective(&self, objects: &Objects, rank: u32, comm: u32) -> Option<Fault> {
        let communicator = objects.comms.at(comm);
        if let Some(revoked) = self.revocation(rank, communicator.context) {
            return Some(revoked);
        }
        let of = |group: &Group| {
            self.failed.iter().find(|failed| self.knows(rank, failed) && group.rank_of(failed.rank).is_some())
        };
        let failed = match &communicator.remote {
            _ if communicator.is_self => None,
            None => of(&communicator.group),
            Some(remote) => of(&communicator.group).or_else(|| of(remote)),
        };
        failed.map(|failed| self.fault(ErrorClass::PROC_FAILED, failed))
    }

    /// Checks that rank `me` may communicate in a context.
    ///
    /// # Errors
    /// `MPIX_ERR_REVOKED`.
    pub(crate) fn may_communicate(&self, me: u32, context: u32) -> Result {
        if self.knows_revoked(me, context) {
            return Err(Fault { class: ErrorClass::REVOKED, known: Time::ZERO, rank: me }.failure());
        }
        Ok(())
    }

    /// Checks that rank `me` may send to a rank. Returns why that gets nothing any more, if `me` knows.
    ///
    /// # Errors
    /// `MPIX_ERR_REVOKED`.
    pub(crate) fn may_send(&self, me: u32, context: u32, to: u32) -> Result<Option<Fault>> {
        self.may_communicate(me, context)?;
        let Some(&index) = self.places.get(&to) else { return Ok(None) };
        let failed = &self.failed[index as usize];
        Ok(self.knows(me, failed).then(|| self.fault(ErrorClass::PROC_FAILED, failed)))
    }

    /// Notes that the request of a send is complete and failed.
    pub(crate) fn keep_failed_send(&mut self, request: u32, context: Option<u32>, fault: Fault) {
        self.sends.insert(request, FailedSend { context, fault });
    }

    /// Returns why a complete send of rank `me` has failed, which is forgotten here.
    pub fn take_send_fault(&mut self, me: u32, request: u32) -> Option<Box<Failure>> {
        let failed = self.sends.remove(&request);
        self.forget_send(request);
        failed.map(|FailedSend { context, fault }| {
            self.falls_behind(me);
            fault.failure().within(context.map(FailureScope::Context))
        })
    }

    /// Changes the error of a receive whose rank has no request for it: it cannot go on waiting.
    #[cold]
    pub fn end_pending(&mut self, receive: u32) {
        if let Some(failed) = self.receives.get_mut(&receive) {
            failed.fault = failed.fault.without_request();
        }
    }

    /// Returns why a receive of rank `me` has failed, which is forgotten here.
    pub(crate) fn take_failed_receive(&mut self, me: u32, receive: u32) -> Option<Fault> {
        let FailedReceive { owner, fault, .. } = self.receives.remove(&receive)?;
        debug_assert_eq!(owner, me, "receive {receive} is completed by its owner");
        Some(fault)
    }

    /// Takes the receives of rank `me` that wait for an acknowledgement and are `wanted`, in the order in
    /// which they have ended.
    pub(super) fn take_pending_of(&mut self, me: u32, wanted: impl Fn(u32) -> bool) -> Vec<u32> {
        let is_pending = |(receive, failed): (&u32, &FailedReceive)| {
            let pending = failed.owner == me && failed.fault.class == ErrorClass::PROC_FAILED_PENDING;
            (pending && wanted(*receive)).then_some((failed.number, *receive))
        };
        let mut pending: Vec<(u64, u32)> = self.receives.iter().filter_map(is_pending).collect();
        pending.sort_unstable();
        pending.iter().for_each(|(_, receive)| {
            self.receives.remove(receive);
        });
        pending.into_iter().map(|(_, receive)| receive).collect()
    }
}
