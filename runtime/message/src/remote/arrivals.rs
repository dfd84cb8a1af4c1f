//! What comes from other processes: chunks of records are taken while ranks run, and when none can.

use crate::messages::Messages;

/// Bytes of messages that a rank has not taken after which no more are taken for it while others can run.
// A receiver that has not run for long would else collect all that its senders elsewhere ever sent it, in
// memory.
const FLOOD: u64 = 16 << 20;

impl Messages {
    /// Returns `true` if a rank has so many messages that it has not taken that no more should come while
    /// others can run: then they stay with their senders, which step back.
    pub fn is_flooded(&mut self) -> bool {
        let Some(rank) = self.peers.others().flooded else { return false };
        if self.faults.as_ref().is_some_and(|faults| faults.has_failed(rank)) {
            self.peers.others().flooded = None;
            return false;
        }
        let unread = self.matcher.message_count(&self.ranks[rank].pending) as u64;
        // Half of what made it so: at the limit itself each message received would switch back and forth.
        let still = unread * self.peers.others().flooding > FLOOD / 2;
        if !still {
            self.peers.others().flooded = None;
        }
        still
    }

    /// A message of `bytes` has come for `rank` from another process.
    #[inline]
    pub fn note_arrival(&mut self, rank: u32, bytes: u64) {
        let unread = self.matcher.message_count(&self.ranks[rank].pending) as u64;
        let each = bytes + size_of::<crate::node::Node>() as u64;
        if unread * each > FLOOD {
            let remote = self.peers.others();
            (remote.flooded, remote.flooding) = (Some(rank), each);
        }
    }
}
