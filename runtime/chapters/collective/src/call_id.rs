//! Identities of a communicator's calls. Collectives match in the order in which each member makes them.
//! Persistent ones match in the order of their initialization (MPI 5.0, section 6.13), so that members may
//! start them in any order.

use crate::calls::{CallId, Calls};
use crate::entrance::Entrance;
use crate::instance::Collectives;
use crate::membership::{home, membership};
use objects::error::Result;

impl Collectives {
    /// The mounted rank's next call on the communicator with this index; of an intercommunicator, its home.
    // The number is the member's own count. Members that disagree about the order of their calls meet in one
    // instance, and are told apart there by what they called: that is the error that MPI forbids and programs
    // make.
    pub(super) fn call_id(&self, comm: u32, member: u32) -> CallId {
        match self.starting {
            Some((number, times)) => CallId::Start(number, times),
            None => CallId::Call(self.calls.of(comm, member)),
        }
    }
    /// Returns the instance of a call, if a member has made it.
    pub(super) fn instance_of(&self, comm: u32, call_id: CallId) -> Option<u32> {
        self.calls.instance(comm, call_id)
    }
    /// Records that the mounted rank has started a persistent collective: its call belongs to this instance.
    pub(super) fn note_start(&mut self, comm: u32, call_id: (u32, u32), index: u32) {
        self.calls.make(comm).make_persistent().open.insert(call_id, index);
    }
    /// Records that all members have left the instance of a call.
    pub(super) fn forget_start(&mut self, comm: u32, call_id: (u32, u32)) {
        if let Some(persistent) = self.calls.get_mut(comm).and_then(Calls::persistent) {
            persistent.open.remove(&call_id);
        }
    }
}

impl Entrance<'_> {
    /// The mounted rank makes a persistent collective on a communicator: its number among those.
    ///
    /// # Errors
    /// `MPI_ERR_COMM`.
    // Not by its place among the other calls: a persistent collective may be started later than others that
    // were called after it was made.
    pub fn initialize(&mut self, comm: usize) -> Result<u32> {
        let index = self.objects.comms.index(comm)?;
        let (_, member, _) = membership(self.objects, index);
        let made = self
            .collectives
            .calls
            .make(home(self.objects, index))
            .make_persistent()
            .made
            .entry(member)
            .or_default();
        *made += 1;
        Ok(*made - 1)
    }
}
