//! A rank has failed: processes tell each other which collective calls it had entered, for those who wait for
//! it elsewhere.

use crate::broken::member_of;
use crate::instance::Collectives;
use crate::membership::{InstanceScope, home};
use crate::remote::spread::{Ident, is_spread};
use engine::record::Take;
use objects::Objects;
use p2p::Messages;

impl Collectives {
    /// Writes the calls that a failed rank of this process had entered to `out`, for the other processes.
    // O(communicators + calls of ranks), once a failure.
    pub fn put_entered(&mut self, messages: &Messages, objects: &Objects, rank: u32, out: &mut Vec<u8>) {
        // A call that it was refused counts as made.
        let begun: Vec<u32> = self.calls.begun().collect();
        for comm in begun {
            let Some(communicator) =
                objects.comms.alive(comm).filter(|communicator| is_spread(messages, communicator))
            else {
                continue;
            };
            if let Some(member) = member_of(objects, &InstanceScope::Comm(comm), rank)
                && let Some(last) = self.calls.of(home(objects, comm), member).checked_sub(1)
            {
                self.spread.departed.enters(rank, Ident::of_comm(communicator.context, last));
            }
        }
        self.spread.departed.put(rank, out);
    }

    /// Reads the calls that a rank of another process had entered when it failed.
    pub fn take_entered(&mut self, rank: u32, record: &mut Take) {
        self.spread.departed.take(rank, record);
    }
}
