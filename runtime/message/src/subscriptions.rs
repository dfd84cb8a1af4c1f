//! Subscriptions of recorders and tools, made before or while a run goes on.

use crate::messages::Messages;
use crate::remote::record::Take;
use crate::types::members::Block;
use engine::Time;
use objects::Objects;
use objects::comm::Comm;
use observe::waiting::{CollectiveEntry, WaitCause, WaitRule};

impl Messages {
    /// Finds out from now on who keeps whom waiting. The run has not begun.
    // Sends leave the plain path at its first question, which so needs no question about recorders.
    pub fn follow_waits(&mut self) {
        self.leave_plain_sends();
        if let Some(shared) = self.fabric.wire_mut().shared() {
            shared.keep_series();
        }
        self.unseen = false;
        self.watch.follow_waits(self.ranks.own(), self.ranks.size());
    }

    /// Compares the types of messages from now on. The run has not begun.
    pub fn compare_types(&mut self) {
        self.leave_plain_sends();
        self.plain_receives = false;
        self.watch.compare_types();
    }

    /// Counts from now on what each rank sends.
    pub fn count_sends(&mut self) {
        self.leave_plain_sends();
        self.watch.count_sends();
    }

    /// Notes that the mounted rank sends a message, which leaves at its clock.
    #[inline]
    pub fn note_sending(&mut self, to: u32, bytes: u64) {
        let me = self.ranks.me();
        self.watch.note_sending((me, self.ranks.clock(me)), to, bytes);
    }

    /// Notes that the mounted rank goes on because of what is no message of its own: an answer, a lock, an
    /// epoch's end.
    pub fn note_cause(&mut self, cause: WaitCause) {
        self.watch.note_cause(self.ranks.me(), cause);
    }

    /// Notes that the mounted rank has entered a collective of the kind with this number; 0: of none.
    #[inline]
    pub fn note_collective(&mut self, number: u32) {
        self.watch.note_collective(self.ranks.me(), number);
    }

    /// Sends no message on the plain path from now on.
    pub(crate) fn leave_plain_sends(&mut self) {
        self.fabric.wire_mut().plain = false;
    }

    /// Notes that the mounted rank enters a blocking collective of `comm` at `at`. Returns none if it waits
    /// for no one, or if waits are not followed.
    pub fn enter_gathering(
        &mut self,
        comm: &Comm,
        rule: WaitRule,
        root: i32,
        at: Time,
    ) -> Option<CollectiveEntry> {
        self.watch.enter_gathering((self.ranks.me(), &mut self.peers), comm, (rule, root), at)
    }

    /// Compares the blocks that the mounted rank gives and takes in a collective call of `function` on a
    /// communicator (handle), which it is about to enter.
    pub fn compare_members(&mut self, objects: &Objects, function: u16, comm: usize, blocks: &[Block]) {
        self.watch.compare_members((&self.ranks, &mut self.peers), objects, function, comm, blocks);
    }

    /// Takes what another process knows of a collective call.
    pub fn entries_arrived(&mut self, record: Take) {
        self.watch.entries_arrived((&self.ranks, &mut self.peers), record);
    }
}
