//! Standard sends that wait for their receives (`-xsim-check`).

use crate::messages::Messages;
use crate::node::NIL;
use crate::types::sends::{Sends, SentMessage};
use engine::Time;
use smallvec::SmallVec;

impl Messages {
    /// Returns `true` if standard sends wait for a receive to meet their message.
    // Other processes would have to agree that nothing else can happen. On a shared network the sender's
    // clock bounds what is delivered. A failed rank receives nothing.
    #[inline]
    pub fn checks_sends(&self) -> bool {
        self.watch.compares_types()
            && !self.peers.exist()
            && !self.fabric.is_shared()
            && self.faults.is_none()
    }

    fn sends(&mut self) -> Option<&mut Sends> {
        self.watch.sends()
    }

    /// Ends a standard send of the mounted rank. Returns `true` if it is to block, because no receive has met
    /// its message.
    pub fn waits_for_receive(&mut self) -> bool {
        self.flush_batch();
        let (rank, clock) = (self.me(), self.clock(self.me()));
        self.sends().is_some_and(|sends| sends.end(rank, clock))
    }

    /// Returns the message that the mounted rank's call has sent, and its receiver, if no receive has met it.
    #[inline]
    pub fn unmatched_message(&self) -> (SentMessage, u32) {
        self.watch.checked_sends().map_or((SentMessage::NONE, NIL), Sends::last)
    }

    /// Notes that the mounted rank begins to wait for the requests of these messages.
    #[inline]
    pub fn await_receives(&mut self, messages: impl Iterator<Item = (SentMessage, u32)>) {
        if let Some(sends) = self.sends() {
            sends.await_all(messages);
        }
    }

    /// Takes the messages for whose receives the mounted rank's call waits, with their receivers.
    pub fn take_awaited_receives(&mut self) -> SmallVec<[(SentMessage, u32); 8]> {
        self.flush_batch();
        self.sends().map(Sends::take_awaited).unwrap_or_default()
    }

    /// Returns `true` if a rank is to block at its clock, because no receive has met this message to `to`.
    pub fn waits_for_receive_of(&mut self, message: SentMessage, to: u32, rank: (u32, Time)) -> bool {
        self.watch.wait_for_receive(message, to, rank)
    }

    /// Returns the least clock of a sender that waits for a receive.
    #[inline]
    pub fn least_unmatched(&self) -> Option<Time> {
        self.watch.checked_sends()?.least_clock()
    }

    /// Returns the receiver and the tag of the message for whose receive `rank` waits.
    pub fn unmatched_send(&self, rank: u32) -> Option<(u32, i32)> {
        let (to, node) = self.watch.checked_sends()?.waited(rank, self.clock(rank))?;
        Some((to, self.matcher[node].tag))
    }

    /// Lets the waiting sender with the least clock go on.
    pub fn release_sender(&mut self) {
        if let Some(rank) = self.sends().and_then(Sends::release_first) {
            self.ready.wake(rank);
        }
    }

    /// Lets all waiting senders go on, each with a finding: `waits` says what ranks would wait for without
    /// buffers.
    pub fn report_senders(&mut self, waits: &str) {
        let senders = self.sends().map(Sends::release_all).unwrap_or_default();
        // The last to be woken runs first.
        for (rank, node) in senders.into_iter().rev() {
            self.watch.report_unbuffered((&self.ranks, &self.peers), rank, node, waits);
            self.ready.wake(rank);
        }
    }
}
