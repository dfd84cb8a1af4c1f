//! Who gets to know of failures and revocations, and when.

use super::{Fault, Faults, Revoked};
use crate::Messages;
use engine::Time;
use objects::Objects;
use objects::error::ErrorClass;
use objects::group::Group;

impl Messages {
    /// Failures and revocations are reckoned with from now on. Nobody hears of a failure before a message of
    /// that time could have come.
    // Sends leave the plain path at its first question, which so needs no question about failures.
    pub fn have_faults(&mut self) -> &mut Faults {
        if self.faults.is_none() {
            self.flush_batch();
            self.leave_plain_sends();
            (self.plain_receives, self.unseen) = (false, false);
            let delay = self.detection.max(self.fabric.lookahead(false));
            self.faults = Some(Box::new(Faults::new(delay)));
            self.list_all();
        }
        self.faults.get_or_insert_default()
    }

    /// A rank will have something to look at.
    pub fn alarm(&mut self, rank: u32, at: Time) {
        if let Some(faults) = &mut self.faults {
            faults.alarms.entry(rank).or_default().insert(at);
            self.mark_dirty(rank);
        }
    }

    /// A rank of this process stops at a time, unless it does before.
    pub fn doom(&mut self, rank: u32, at: Time) {
        let Some(faults) = &mut self.faults else { return };
        let doom = faults.doomed.entry(rank).or_insert(at);
        *doom = at.min(*doom);
        let doom = *doom;
        self.alarm(rank, doom);
    }

    /// A rank of this process that may be spawned stops at a time, if it has begun by then, or when it
    /// begins.
    pub fn doom_later(&mut self, rank: u32, at: Time) {
        if let Some(faults) = &mut self.faults {
            faults.doomed.insert(rank, at);
        }
    }

    /// A rank of this process begins at a time: it may have to stop, and hears of what is not known by then.
    pub fn born(&mut self, rank: u32, at: Time) {
        let Some(faults) = &mut self.faults else { return };
        let doom = faults.doomed.get_mut(&rank).map(|doom| {
            *doom = at.max(*doom);
            *doom
        });
        let known: Vec<Time> =
            faults.failed.iter().map(|failed| faults.known(failed)).filter(|known| *known > at).collect();
        doom.into_iter().chain(known).for_each(|time| self.alarm(rank, time));
    }

    /// A rank of this process is told at a time that a communicator is revoked.
    pub(super) fn revoke_here(&mut self, rank: u32, context: u32, at: Time) {
        let Some(faults) = &mut self.faults else { return };
        let revoked = faults.revoked.entry((rank, context)).or_insert(Revoked { at, known: false });
        revoked.at = at.min(revoked.at);
        self.alarm(rank, at);
    }

    /// A chapter's request that is not over by `now` ends then, as the chapter has to say: whether that is
    /// so.
    pub fn break_request(&mut self, request: u32, now: Time) -> bool {
        let state = self.requests.get_mut(request).filter(|state| state.done.is_none_or(|done| done > now));
        let is_open = state.is_some();
        if let Some(state) = state {
            // That it is over is known already, and later.
            state.done = None;
            self.finish_request(request, now);
        }
        is_open
    }

    /// The first member of a group of which it is known by `now` that it has failed.
    pub fn fault_of_group(&self, group: &Group, now: Time) -> Option<Fault> {
        let faults = self.faults.as_ref()?;
        let (_, failed) = faults.known_in(group, now).next()?;
        Some(faults.fault(ErrorClass::PROC_FAILED, &failed))
    }

    /// The first member of a communicator (its index) of which it is known by `now` that it has failed.
    pub fn fault_of_members(&self, objects: &Objects, comm: u32, now: Time) -> Option<Fault> {
        self.faults.as_ref()?;
        let communicator = objects.comms.at(comm);
        if communicator.is_self { None } else { self.fault_of_group(&communicator.group, now) }
    }

    /// Returns why a collective call of `rank` on a communicator (its index) cannot come to an end, as the
    /// rank knows.
    pub fn fault_of_collective(&self, objects: &Objects, rank: u32, comm: u32) -> Option<Fault> {
        let faults = self.faults.as_ref()?;
        let communicator = objects.comms.at(comm);
        if let Some(revoked) = faults.revocation(rank, communicator.context) {
            return Some(revoked);
        }
        let of = |group: &Group| {
            faults
                .failed
                .iter()
                .find(|failed| faults.knows(rank, failed) && group.rank_of(failed.rank).is_some())
        };
        let failed = match &communicator.remote {
            _ if communicator.is_self => None,
            None => of(&communicator.group),
            Some(remote) => of(&communicator.group).or_else(|| of(remote)),
        };
        failed.map(|failed| faults.fault(ErrorClass::PROC_FAILED, failed))
    }
}
