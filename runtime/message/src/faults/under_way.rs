//! Operations under way that a failure or a revocation may end: receives that their ranks have not completed,
//! and sends that wait for their match.
//!
//! Messages meet their receives as soon as both are known, whatever their times, so a receive may have its
//! message long before that arrives. Whether it gets it is a matter of virtual time: an operation that is not
//! over when its rank is told ends then, with an error, and one that is over before does not, whoever ran
//! first. So all are listed here, no rank goes on from one before its time (`mpi/undecided.rs`), no payload
//! is moved before, and matches are held until it is their turn ([`HeldMatches`](crate::held::HeldMatches)).
//!
//! A send may end with an error before its match is told, and its request may be another one's by then. So
//! its message carries a ticket, which is never used again: to another process in its record, within one in a
//! request that stands for the send's own.

use super::Faults;
use crate::Messages;
use crate::node::{NIL, State, flag};
use crate::request::Body;
use engine::Time;
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
    /// The receives of a rank, and when they were posted.
    pub(super) fn receives_of(&self, rank: u32) -> Vec<(u32, Time)> {
        self.receives.get(&rank).into_iter().flatten().map(|(&receive, &posted)| (receive, posted)).collect()
    }

    /// The sends of a rank: request, context, when each began. O(sends under way).
    pub(super) fn sends_of(&self, rank: u32) -> Vec<(u32, u32, Time)> {
        let of_rank = self.sends.iter().filter(|(_, sending)| sending.rank == rank);
        of_rank.map(|(&request, sending)| (request, sending.context, sending.begun)).collect()
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
    pub(crate) fn redeem(&mut self, ticket: u32) -> Option<u32> {
        self.under_way.tickets.remove(&ticket)
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

impl Messages {
    /// A receive of a rank is under way since `posted`, or a message that it has taken out of the queues.
    pub(crate) fn list_receive(&mut self, rank: u32, receive: u32, posted: Time) {
        let Some(faults) = &mut self.faults else { return };
        faults.under_way.receives.entry(rank).or_default().insert(receive, posted);
        let node = &mut self.matcher[receive];
        if node.state != State::Extracted {
            node.flags |= flag::LISTED | flag::MOUNTED_ONLY;
        }
    }

    /// A message has been taken out of the queues of the mounted rank, which may fail before it receives it.
    #[cold]
    pub fn list_extracted(&mut self, message: u32) {
        self.list_receive(self.ranks.me(), message, self.clock(self.ranks.me()));
    }

    /// A receive of the mounted rank is over, or a message that had been taken out of the queues received.
    pub(crate) fn unlist_receive(&mut self, receive: u32) {
        let me = self.ranks.me();
        if let Some(listed) = self.faults.as_mut().and_then(|faults| faults.under_way.receives.get_mut(&me)) {
            listed.remove(&receive);
        }
    }

    /// A send of the mounted rank with this request waits for its match: what its message carries.
    pub(crate) fn list_send(&mut self, request: u32, context: u32, to: u32) -> u32 {
        let (rank, begun, process) = (self.ranks.me(), self.clock(self.ranks.me()), self.peers.own_number());
        let Some(faults) = &mut self.faults else { return request };
        let ticket = faults.under_way.issued;
        faults.under_way.issued += 1;
        faults.under_way.sends.insert(request, Sending { rank, context, begun, ticket });
        faults.under_way.tickets.insert(ticket, request);
        // It is told already, and has not looked since.
        if faults.is_revoked(rank, context) {
            self.alarm(rank, begun);
        }
        if self.is_local(to) {
            self.make_request(rank, Body::Away { process, request: ticket })
        } else {
            request
        }
    }

    /// Returns `true` if receives or sends of a context are under way, which may still end because of its
    /// communicator. O(all of them).
    pub fn needs_context(&self, context: u32) -> bool {
        let Some(faults) = &self.faults else { return false };
        let mut receives = faults.under_way.receives.values().flat_map(BTreeMap::keys);
        faults.under_way.sends.values().any(|sending| sending.context == context)
            || receives.any(|&receive| self.matcher[receive].context == context)
    }

    /// Lists what is under way when failures and revocations are reckoned with from now on.
    // In the middle of a run, of one process alone.
    pub(super) fn list_all(&mut self) {
        for rank in self.ranks.own_started() {
            let posted: Vec<u32> = self.matcher.receives(&self.ranks[rank].pending).collect();
            for receive in posted {
                // One that is completed unseen is no more when its rank goes on.
                let node = &self.matcher[receive];
                if !node.has(flag::STATUS_IGNORED) {
                    self.list_receive(rank, receive, node.arrival);
                }
            }
            let lying: Vec<u32> = self.matcher.messages(&self.ranks[rank].pending).collect();
            for message in lying {
                let node = self.matcher[message];
                if node.has(flag::SYNCHRONOUS | flag::RENDEZVOUS) {
                    let request = node.data[1] as u32;
                    let before = self.ranks.me();
                    self.ranks.mount(self.requests[request].owner);
                    self.matcher[message].data[1] = self.list_send(request, node.context, rank).into();
                    self.ranks.mount(before);
                }
            }
        }
    }
}
