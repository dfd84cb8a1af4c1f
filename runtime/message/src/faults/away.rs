//! Sends to ranks of other processes that wait for their match, and what processes tell each other of failures and revocations.
//!
//! Such a send may end with an error before its match is told, and its request may be another one's by then. So its message carries a ticket, which is never
//! used again.

use super::Fault;
use crate::Messages;
use crate::envelope::Transit;
use crate::node::NIL;
use crate::remote::record::{Put, Take};
use crate::remote::stream::Kind;
use engine::Time;
use objects::error::ErrorClass;
use rustc_hash::FxHashMap;

/// Requests by ticket, with the context of their messages.
#[derive(Default)]
pub(super) struct Away {
    issued: u32,
    sends: FxHashMap<u32, (u32, u32)>,
}

impl Messages {
    /// When a message to another process has an effect at the earliest, and what its receiver's process tells if it is matched.
    // A send that waits for its match may end because its receiver has failed already, long before its message would arrive.
    pub(crate) fn ticket(&mut self, context: u32, transit: &Transit) -> (Time, u32) {
        match &mut self.faults {
            Some(faults) if transit.request != NIL => {
                let ticket = faults.away.issued;
                faults.away.issued += 1;
                faults.away.sends.insert(ticket, (transit.request, context));
                (Time::ZERO, ticket)
            }
            _ => (transit.arrival, transit.request),
        }
    }

    /// The request of a ticket; none if that has ended.
    pub(crate) fn redeem(&mut self, ticket: u32) -> Option<u32> {
        match &mut self.faults {
            Some(faults) => faults.away.sends.remove(&ticket).map(|(request, _)| request),
            None => Some(ticket),
        }
    }

    /// Sends of `rank` in a context to ranks of other processes end with an error.
    pub(super) fn fail_sends_away(&mut self, rank: u32, context: u32, fault: Fault) {
        let Messages { faults: Some(faults), requests, .. } = self else { return };
        let owned = |request: u32| requests.get(request).is_some_and(|request| request.owner == rank && request.done.is_none());
        let sends = faults.away.sends.iter().filter(|(_, (request, of))| *of == context && owned(*request));
        let mut tickets: Vec<u32> = sends.map(|(ticket, _)| *ticket).collect();
        tickets.sort_unstable();
        for ticket in tickets {
            if let Some(request) = self.redeem(ticket) {
                self.fail_send(request, fault);
            }
        }
    }

    /// A send of another process's rank will not be matched.
    pub(super) fn tell_vain(&mut self, process: u32, ticket: u32, fault: Fault) {
        let streams = &mut self.others().streams;
        let out = streams.begin(process, Kind::Vain, fault.known, 16);
        out.u32(ticket);
        out.u32(fault.rank);
        out.u64(fault.known.as_ps());
        streams.end();
    }

    /// A send of this process will not be matched elsewhere.
    pub fn vain_arrived(&mut self, mut record: Take) {
        let (ticket, rank, known) = (record.u32(), record.u32(), Time::from_ps(record.u64()));
        if let Some(request) = self.redeem(ticket) {
            self.fail_send(request, Fault { class: ErrorClass::PROC_FAILED, known, rank });
        }
    }

    /// A rank is told at a time that a communicator is revoked, wherever it is.
    pub fn revoke(&mut self, rank: u32, context: u32, at: Time) {
        if self.is_local(rank) {
            return self.revoke_here(rank, context, at);
        }
        let remote = self.others();
        let process = remote.blocks.process(rank);
        let out = remote.streams.begin(process, Kind::Revoked, at, 16);
        out.u32(rank);
        out.u32(context);
        out.u64(at.as_ps());
        remote.streams.end();
    }

    /// A rank of another process has revoked a communicator: when one of this process is told.
    pub fn revoked_arrived(&mut self, mut record: Take) -> Time {
        let (rank, context, at) = (record.u32(), record.u32(), Time::from_ps(record.u64()));
        self.revoke_here(rank, context, at);
        at
    }
}
