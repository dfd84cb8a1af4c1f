//! Operations under way that a failure or a revocation may end: receives that their ranks have not completed,
//! and sends that wait for their match.
//!
//! Messages meet their receives as soon as both are known, whatever their times, so a receive may have its
//! message long before that arrives. Whether it gets it is a matter of virtual time. An operation that is not
//! over when its rank is notified ends then, with an error, and one that is over before does not, whoever ran
//! first.
//!
//! So all are listed here, no rank goes on from one before its time (`mpi/undecided.rs`), no payload is moved
//! before, and matches are held until it is their turn ([`HeldMatches`](crate::held::HeldMatches)).
//!
//! A send may end with an error before its match is told, and its request may be another one's by then. So
//! its message carries a ticket, which is never used again: to another process in its record, within one in a
//! request that stands for the send's own.

use super::Faults;
use crate::node::NIL;
use engine::Time;
use matcher::Matcher;
use rustc_hash::FxHashMap;
use std::collections::BTreeMap;

/// A send that waits for its match, or whose request nobody has completed.
pub(super) struct Sending {
    pub(super) rank: u32,
    pub(super) context: u32,
    /// When it began.
    pub(super) begun: Time,
    ticket: u32,
}

/// All of a process.
// Trees, since what is found is told to others in order.
#[derive(Default)]
pub(super) struct UnderWay {
    /// By rank, then by node: when it was posted, or its message taken out of the queues by a probe.
    receives: FxHashMap<u32, BTreeMap<u32, Time>>,
    /// By request.
    sends: BTreeMap<u32, Sending>,
    /// Requests by ticket.
    tickets: FxHashMap<u32, u32>,
    issued: u32,
}

impl UnderWay {
    /// Returns the receives of a rank, and when they were posted.
    pub(super) fn receives_of(&self, rank: u32) -> Vec<(u32, Time)> {
        self.receives.get(&rank).into_iter().flatten().map(|(&receive, &posted)| (receive, posted)).collect()
    }

    /// Returns the sends of a rank: request, context, when each began. O(sends under way).
    pub(super) fn sends_of(&self, rank: u32) -> Vec<(u32, u32, Time)> {
        let of_rank = self.sends.iter().filter(|(_, sending)| sending.rank == rank);
        of_rank.map(|(&request, sending)| (request, sending.context, sending.begun)).collect()
    }

    /// Lists a receive of a rank, or a message that it has taken out of the queues.
    pub(super) fn list_receive(&mut self, rank: u32, receive: u32, posted: Time) {
        self.receives.entry(rank).or_default().insert(receive, posted);
    }

    /// Takes a receive of a rank off the list.
    pub(super) fn unlist_receive(&mut self, rank: u32, receive: u32) {
        if let Some(listed) = self.receives.get_mut(&rank) {
            listed.remove(&receive);
        }
    }

    /// Lists a send that waits for its match. Returns its ticket.
    pub(super) fn list_send(&mut self, request: u32, rank: u32, context: u32, begun: Time) -> u32 {
        let ticket = self.issued;
        self.issued += 1;
        self.sends.insert(request, Sending { rank, context, begun, ticket });
        self.tickets.insert(ticket, request);
        ticket
    }

    /// Lists a send that was never made.
    pub(super) fn list_vain(&mut self, request: u32, rank: u32, context: u32, begun: Time) {
        self.sends.insert(request, Sending { rank, context, begun, ticket: NIL });
    }

    /// Returns the context of a send that is listed.
    pub(super) fn context_of_send(&self, request: u32) -> Option<u32> {
        self.sends.get(&request).map(|sending| sending.context)
    }

    /// The receives of a rank are listed no more: they are over.
    pub(super) fn bury(&mut self, rank: u32) -> Vec<(u32, Time)> {
        self.receives.remove(&rank).into_iter().flatten().collect()
    }
}

impl Faults {
    /// Returns the ticket of a send that waits for its match, or none.
    // A send that waits for its match may end because its receiver has failed already, long before its
    // message would arrive.
    pub(crate) fn ticket(&self, request: u32) -> u32 {
        self.under_way.sends.get(&request).map_or(NIL, |sending| sending.ticket)
    }

    /// Takes the request back that a ticket stands for, unless it is void.
    pub fn redeem(&mut self, ticket: u32) -> Option<u32> {
        self.under_way.tickets.remove(&ticket)
    }

    /// Lists a send that was never made.
    pub(crate) fn list_vain(&mut self, request: u32, rank: u32, context: u32, begun: Time) {
        self.under_way.list_vain(request, rank, context, begun);
    }

    /// Makes the ticket of a send void that fails. Returns its context, if it is listed.
    pub(crate) fn void_send(&mut self, request: u32) -> Option<u32> {
        let context = self.under_way.context_of_send(request);
        self.void_ticket(request);
        context
    }

    /// Returns `true` if receives or sends of a context are under way, which may still end because of its
    /// communicator. O(all of them).
    pub fn needs_context(&self, matcher: &Matcher, context: u32) -> bool {
        let mut receives = self.under_way.receives.values().flat_map(BTreeMap::keys);
        self.under_way.sends.values().any(|sending| sending.context == context)
            || receives.any(|&receive| matcher[receive].context == context)
    }

    /// Makes the ticket of a send void, which is over.
    pub(super) fn void_ticket(&mut self, request: u32) {
        if let Some(sending) = self.under_way.sends.get(&request) {
            self.under_way.tickets.remove(&sending.ticket);
        }
    }

    /// Forgets a send whose request is gone.
    pub fn forget_send(&mut self, request: u32) {
        self.void_ticket(request);
        self.under_way.sends.remove(&request);
        self.sends.remove(&request);
    }
}
