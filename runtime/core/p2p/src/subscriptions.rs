//! Subscriptions of recorders and tools, made before or while a run goes on, and what they need of the rest.

use crate::fabric::Fabric;
use crate::peers::Peers;
use crate::ranks::Ranks;
use crate::ranks::strand::StrandId;
use crate::ready::Ready;
use crate::remote::record::Take;
use crate::request::Requests;
use crate::types::members::Block;
use crate::types::sends::Sends;
use crate::watch::Watch;
use engine::Time;
use objects::Objects;
use objects::comm::Comm;
use recorder::waiting::{CollectiveEntry, WaitRule};

/// Subscriptions of recorders, with the ranks and processes that they report on and the paths that they
/// close.
pub struct Watching<'a> {
    pub(crate) ranks: &'a Ranks,
    pub(crate) ready: &'a mut Ready,
    pub(crate) requests: &'a mut Requests,
    pub(crate) fabric: &'a mut Fabric,
    pub(crate) peers: &'a mut Peers,
    pub(crate) watch: &'a mut Watch,
}

impl Watching<'_> {
    /// Finds out from now on who keeps whom waiting. The run has not begun.
    // Sends leave the plain path at its first question, which so needs no question about recorders.
    pub fn follow_waits(&mut self) {
        self.fabric.leave_plain_sends();
        if let Some(shared) = self.fabric.wire_mut().shared() {
            shared.keep_series();
        }
        self.requests.complete_in_sight();
        self.watch.follow_waits(self.ranks.own(), self.ranks.size());
    }

    /// Compares the types of messages from now on. The run has not begun.
    pub fn compare_types(&mut self) {
        self.fabric.leave_plain_sends();
        self.requests.leave_plain_receives();
        self.watch.compare_types();
    }

    /// Counts from now on what each rank sends.
    pub fn count_sends(&mut self) {
        self.fabric.leave_plain_sends();
        self.watch.count_sends();
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
        self.watch.enter_gathering((self.ranks.me(), self.peers), comm, (rule, root), at)
    }

    /// Compares the blocks that the mounted rank gives and takes in a collective call of `function` on a
    /// communicator (handle), which it is about to enter.
    pub fn compare_members(&mut self, objects: &Objects, function: u16, comm: usize, blocks: &[Block]) {
        self.watch.compare_members((self.ranks, self.peers), objects, function, comm, blocks);
    }

    /// Takes what another process knows of a collective call.
    pub fn entries_arrived(&mut self, record: Take) {
        self.watch.entries_arrived((self.ranks, self.peers), record);
    }

    /// Lets all waiting senders go on, each with a finding: `waits` lists what ranks would wait for without
    /// buffers.
    pub fn report_senders(&mut self, waits: &str) {
        let senders = self.watch.sends().map(Sends::release_all).unwrap_or_default();
        // The last to be woken runs first.
        for (rank, node) in senders.into_iter().rev() {
            self.watch.report_unbuffered((self.ranks, self.peers), rank, node, waits);
            self.ready.wake(StrandId::of(rank));
        }
    }
}
