//! What is under way that a failure or a revocation may end: receives that their ranks have not completed, and sends that wait for their match.
//!
//! Messages meet their receives as soon as both are known, whatever their times, so a receive may have its message long before that arrives. Whether it
//! gets it is a matter of virtual time: an operation that is not over when its rank is told ends then, with an error, and one that is over before does not, whoever ran
//! first. So all are listed here, no rank goes on from one before its time (`mpi/undecided.rs`), no payload is moved before, and matches are held until it
//! is their turn ([`HeldMatches`](crate::held::HeldMatches)).
//!
//! A send may end with an error before its match is told, and its request may be another one's by then. So its message carries a ticket, which is never
//! used again: to another process in its record, within one in a request that stands for the send's own.

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

    /// The receives of a rank are listed no more: they are over.
    pub(super) fn bury(&mut self, rank: u32) -> Vec<(u32, Time)> {
        self.receives.remove(&rank).into_iter().flatten().collect()
    }
}

impl Messages {
    /// A receive of a rank is under way since `posted`, or a message that it has taken out of the queues.
    pub(crate) fn list_receive(&mut self, rank: u32, receive: u32, posted: Time) {
        let Some(faults) = &mut self.faults else { return };
        faults.under_way.receives.entry(rank).or_default().insert(receive, posted);
        let node = &mut self.nodes[receive];
        if node.state != State::Extracted {
            node.flags |= flag::LISTED | flag::MOUNTED_ONLY;
        }
    }

    /// A message has been taken out of the queues of the mounted rank, which may fail before it receives it.
    #[cold]
    pub fn list_extracted(&mut self, message: u32) {
        self.list_receive(self.current, message, self.clock(self.current));
    }

    /// A receive of the mounted rank is over, or a message that had been taken out of the queues received.
    pub(crate) fn unlist_receive(&mut self, receive: u32) {
        let me = self.current;
        if let Some(listed) = self.faults.as_mut().and_then(|faults| faults.under_way.receives.get_mut(&me)) {
            listed.remove(&receive);
        }
    }

    /// A send of the mounted rank with this request waits for its match: what its message carries.
    pub(crate) fn list_send(&mut self, request: u32, context: u32, to: u32) -> u32 {
        let (rank, begun, process) = (self.current, self.clock(self.current), self.own_process());
        let Some(faults) = &mut self.faults else { return request };
        let ticket = faults.under_way.issued;
        faults.under_way.issued += 1;
        faults.under_way.sends.insert(request, Sending { rank, context, begun, ticket });
        faults.under_way.tickets.insert(ticket, request);
        // It is told already, and has not looked since.
        if faults.is_revoked(rank, context) {
            self.alarm(rank, begun);
        }
        if self.is_local(to) { self.make_request(rank, Body::Away { process, request: ticket }) } else { request }
    }

    /// The number of this process.
    fn own_process(&self) -> u32 {
        self.remote.as_ref().map_or(0, |remote| remote.me)
    }

    /// Whether what a request stands for is of this process.
    pub(crate) fn is_own(&self, process: u32) -> bool {
        self.faults.is_some() && process == self.own_process()
    }

    /// When a message to another process has an effect at the earliest, and what its receiver's process tells if it is matched.
    // A send that waits for its match may end because its receiver has failed already, long before its message would arrive.
    pub(crate) fn ticket(&self, request: u32, arrival: Time) -> (Time, u32) {
        match &self.faults {
            Some(faults) if request != NIL => (Time::ZERO, faults.under_way.sends.get(&request).map_or(NIL, |sending| sending.ticket)),
            _ => (arrival, request),
        }
    }

    /// The request of a ticket; none if that has ended.
    pub(crate) fn redeem(&mut self, ticket: u32) -> Option<u32> {
        match &mut self.faults {
            Some(faults) => faults.under_way.tickets.remove(&ticket),
            None => Some(ticket),
        }
    }

    /// The match of a send, if it comes, is nothing to it any more.
    pub(super) fn void_ticket(&mut self, request: u32) {
        if let Some(faults) = &mut self.faults
            && let Some(sending) = faults.under_way.sends.get(&request)
        {
            faults.under_way.tickets.remove(&sending.ticket);
        }
    }

    /// A send's request is no more.
    pub fn forget_send(&mut self, request: u32) {
        self.void_ticket(request);
        if let Some(faults) = &mut self.faults {
            faults.under_way.sends.remove(&request);
            faults.sends.remove(&request);
        }
    }

    /// Whether receives or sends of a context are under way, which may still end because of its communicator. O(all of them).
    pub fn needs_context(&self, context: u32) -> bool {
        let Some(faults) = &self.faults else { return false };
        let mut receives = faults.under_way.receives.values().flat_map(BTreeMap::keys);
        faults.under_way.sends.values().any(|sending| sending.context == context)
            || receives.any(|&receive| self.nodes[receive].context == context)
    }

    /// Lists what is under way when failures and revocations are reckoned with from now on.
    // In the middle of a run, of one process alone.
    pub(super) fn list_all(&mut self) {
        for rank in self.first..self.first + self.local_started() {
            let posted: Vec<u32> = self.posted.iter(self.ranks[rank as usize].posted).collect();
            for receive in posted {
                // One that is completed unseen is no more when its rank goes on.
                let node = &self.nodes[receive];
                if !node.has(flag::STATUS_IGNORED) {
                    self.list_receive(rank, receive, node.arrival);
                }
            }
            let lying: Vec<u32> = self.unexpected.iter(self.ranks[rank as usize].unexpected).collect();
            for message in lying {
                let node = self.nodes[message];
                if node.has(flag::SYNCHRONOUS | flag::RENDEZVOUS) {
                    let request = node.data[1] as u32;
                    let before = std::mem::replace(&mut self.current, self.requests[request].owner);
                    self.nodes[message].data[1] = self.list_send(request, node.context, rank).into();
                    self.current = before;
                }
            }
        }
    }
}
