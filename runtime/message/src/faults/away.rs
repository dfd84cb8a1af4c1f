//! What processes tell each other of failures and revocations.

use super::Fault;
use crate::Messages;
use crate::remote::record::{Put, Take};
use crate::remote::stream::Kind;
use engine::Time;
use objects::error::ErrorClass;

impl Messages {
    /// A send, of another process's rank or of one of this, will not be matched.
    pub(super) fn tell_vain(&mut self, process: u32, ticket: u32, fault: Fault) {
        if process == self.peers.own_number() {
            return self.is_vain(ticket, fault);
        }
        let streams = &mut self.peers.others().streams;
        let out = streams.begin(process, Kind::Vain, fault.known, 16);
        out.u32(ticket);
        out.u32(fault.rank);
        out.u64(fault.known.as_ps());
        streams.end();
    }

    /// A send of this process will not be matched elsewhere.
    pub fn vain_arrived(&mut self, mut record: Take) {
        let (ticket, rank, known) = (record.u32(), record.u32(), Time::from_ps(record.u64()));
        self.is_vain(ticket, Fault { class: ErrorClass::PROC_FAILED, known, rank });
    }

    fn is_vain(&mut self, ticket: u32, fault: Fault) {
        if let Some(request) = self.faults.as_mut().and_then(|faults| faults.redeem(ticket)) {
            self.fail_send(request, fault);
        }
    }

    /// A rank is told at a time that a communicator is revoked, wherever it is.
    pub fn revoke(&mut self, rank: u32, context: u32, at: Time) {
        if self.is_local(rank) {
            return self.revoke_here(rank, context, at);
        }
        let remote = self.peers.others();
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
