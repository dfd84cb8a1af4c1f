//! Bounds what comes from other processes: chunks of records are taken while ranks run, and when none can.

use crate::node::Node;
use crate::peers::Peers;

/// Bytes of messages that a rank has not taken after which no more are taken for it while others can run.
// A receiver that has not run for long would else collect all that its senders elsewhere ever sent it, in
// memory.
const FLOOD: u64 = 16 << 20;

impl Peers {
    /// Returns the rank that has so many messages not taken that no more should come while others can run.
    pub fn flooded(&self) -> Option<u32> {
        self.remote()?.flooded
    }

    /// Returns `true` if the flooded rank, which has not taken `unread` messages, is flooded still: then
    /// further ones stay with their senders, which step back.
    pub fn is_still_flooded(&mut self, unread: usize) -> bool {
        let others = self.others();
        // Half of what made it so: at the limit itself each message received would switch back and forth.
        let still = unread as u64 * others.flooding > FLOOD / 2;
        if !still {
            others.flooded = None;
        }
        still
    }

    /// Notes that a message of `bytes` has come for `rank`, which has not taken `unread`.
    #[inline]
    pub(crate) fn note_arrival(&mut self, rank: u32, unread: usize, bytes: u64) {
        let each = bytes + size_of::<Node>() as u64;
        if unread as u64 * each > FLOOD {
            let remote = self.others();
            (remote.flooded, remote.flooding) = (Some(rank), each);
        }
    }
}
