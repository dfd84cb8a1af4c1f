//! Standard sends that wait for their receives (`-xsim-check`).

use crate::fabric::Fabric;
use crate::faults::Faults;
use crate::node::NIL;
use crate::peers::Peers;
use crate::types::sends::{Sends, SentMessage};
use crate::watch::Watch;
use engine::Time;
use matcher::Matcher;
use smallvec::SmallVec;

impl Watch {
    /// Returns `true` if standard sends wait for a receive to meet their message.
    // Other processes would have to agree that nothing else can happen. On a shared network the sender's
    // clock bounds what is delivered. A failed rank receives nothing.
    #[inline]
    pub fn checks_sends(&self, fabric: &Fabric, peers: &Peers, faults: Option<&Faults>) -> bool {
        self.compares_types() && !peers.exist() && !fabric.is_shared() && faults.is_none()
    }

    /// Ends a standard send of the mounted rank at its clock. Returns `true` if it is to block, because no
    /// receive has met its message.
    pub fn waits_for_receive(&mut self, (me, clock): (u32, Time)) -> bool {
        self.sends().is_some_and(|sends| sends.end(me, clock))
    }

    /// Returns the message that the mounted rank's call has sent, and its receiver, if no receive has met it.
    #[inline]
    pub fn unmatched_message(&self) -> (SentMessage, u32) {
        self.checked_sends().map_or((SentMessage::NONE, NIL), Sends::last)
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
        self.sends().map(Sends::take_awaited).unwrap_or_default()
    }

    /// Returns the least clock of a sender that waits for a receive.
    #[inline]
    pub fn least_unmatched(&self) -> Option<Time> {
        self.checked_sends()?.least_clock()
    }

    /// Returns the receiver and the tag of the message for whose receive `rank` waits since `clock`.
    pub fn unmatched_send(&self, matcher: &Matcher, rank: u32, clock: Time) -> Option<(u32, i32)> {
        let (to, node) = self.checked_sends()?.waited(rank, clock)?;
        Some((to, matcher[node].tag))
    }

    /// Lets the waiting sender with the least clock go on. Returns its rank.
    pub fn release_sender(&mut self) -> Option<u32> {
        self.sends().and_then(Sends::release_first)
    }
}
