//! Receives that cannot come to an end, because their sender has failed or the communicator is revoked.

use crate::end::{End, NIL};
use crate::ready::end_of;
use crate::state::Partitioned;
use engine::Time;
use objects::Objects;
use objects::error::{ErrorClass, FailureScope, Result};
use p2p::Messages;
use p2p::envelope::Pattern;
use p2p::faults::Fault;
use p2p::faults::ending::break_request;

impl Partitioned {
    /// Returns why a receive of `rank` gets nothing any more but what is under way.
    fn fault_of(&self, messages: &Messages, objects: &Objects, rank: u32, number: u32) -> Option<Fault> {
        let channel = self.ends.get(number)?.common().channel;
        messages.faults()?.fault_of(
            objects,
            rank,
            &Pattern { context: channel.context, source: Some(channel.source), tag: None },
        )
    }

    /// Looks at a receive that the mounted rank has started: it ends, if nothing may come, when that is
    /// decided.
    #[cold]
    pub(crate) fn look_at_started(&self, messages: &mut Messages, objects: &Objects, number: u32) {
        let (me, clock) = (messages.me(), messages.clock(messages.me()));
        if let Some(fault) = self.fault_of(messages, objects, me, number) {
            messages.failures().alarm(me, fault.known.max(clock));
        }
    }

    /// Receives of `rank` that are not over end with an error where it is known at `now` that they get no
    /// more.
    // O(ends), once a failure and rank.
    pub fn break_off(&mut self, messages: &mut Messages, objects: &Objects, rank: u32, now: Time) {
        let active: Vec<(u32, u32, Time)> = self
            .ends
            .iter()
            .filter_map(|(number, end)| match end {
                End::Receive(receiver)
                    if receiver.common.request != NIL && receiver.common.channel.to == rank =>
                {
                    Some((number, receiver.common.request, receiver.started))
                }
                _ => None,
            })
            .collect();
        for (number, request, started) in active {
            let Some(fault) =
                self.fault_of(messages, objects, rank, number).filter(|fault| fault.known <= now)
            else {
                continue;
            };
            let ends = |done: Option<Time>| {
                done.is_none_or(|done| fault.class == ErrorClass::REVOKED && done > now.max(started))
            };
            if !messages.requests().get(request).is_some_and(|state| ends(state.done)) {
                continue;
            }
            if started > now {
                messages.failures().alarm(rank, started);
                continue;
            }
            self.broken.insert(number, Fault { known: now, ..fault });
            break_request(messages, request, now);
        }
    }

    /// Completes a receive of the mounted rank that has ended with an error, if it has.
    ///
    /// # Errors
    /// `MPIX_ERR_PROC_FAILED`, `MPIX_ERR_REVOKED`.
    pub(crate) fn take_broken(&mut self, messages: &mut Messages, number: u32) -> Result {
        let Some(fault) = self.broken.remove(&number) else { return Ok(()) };
        self.end_round(messages, number);
        Err(messages.failures().tell_failure(fault).within(self.scope_of(number)))
    }

    /// Returns the communicator of an end, whose error handler gets its failures.
    fn scope_of(&self, number: u32) -> Option<FailureScope> {
        self.ends.get(number).map(|end| FailureScope::Context(end.common().channel.context))
    }

    /// Returns the communicator of a request, if it is a partitioned one.
    pub fn scope_of_request(&self, messages: &Messages, request: usize) -> Option<FailureScope> {
        self.scope_of(end_of(messages, request)?)
    }

    /// Checks that a request's receive, which lacks a partition, can go on.
    ///
    /// # Errors
    /// As `take_broken`, which still has to be asked: the receive is active.
    pub fn goes_on(&self, messages: &mut Messages, request: usize) -> Result {
        match end_of(messages, request).and_then(|number| self.broken.get(&number)) {
            Some(&fault) => Err(messages.failures().tell_failure(fault)),
            None => Ok(()),
        }
    }
}
