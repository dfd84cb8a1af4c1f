//! Instances with members on several processes: what all call them, and what is kept of those that are not
//! complete here.

use crate::agreement::Contributions;
use crate::calls::CallId;
use crate::remote::departed::Departed;
use crate::remote::readies::Readies;
use engine::Time;
use engine::record::{Put, Take};
use objects::comm::Comm;
use objects::group::Group;
use p2p::Messages;
use rustc_hash::{FxHashMap, FxHasher};
use std::hash::Hasher;

/// Identifier of an instance, the same on all processes.
// No process has to be asked for a name: context and number of the call are the same everywhere, by MPI's
// rule that all members call in the same order.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) struct Ident {
    /// Context of the communicator.
    pub context: u32,
    /// Tag and first member of a group's instance.
    pub(crate) key: (i32, u32),
    /// Fingerprint of the members of a group's instance.
    // A digest of the members, because groups that meet under one tag and first member may differ; 64 bits,
    // no more is told of them.
    pub(crate) print: u64,
    /// Number of the call on the communicator, or in the group.
    pub call: u32,
}

impl Ident {
    /// Identifies call number `call` of the communicator with this context.
    pub(crate) fn of_comm(context: u32, call: u32) -> Ident {
        Ident { context, key: (0, u32::MAX), print: 0, call }
    }
    /// Returns a call, or a start of a persistent collective: no group has its tag.
    pub(crate) fn of_call(context: u32, call_id: CallId) -> Ident {
        match call_id {
            CallId::Call(call) => Ident::of_comm(context, call),
            CallId::Start(number, times) => Ident { context, key: (i32::MIN, number), print: 0, call: times },
        }
    }
    /// Writes it into a record.
    pub(crate) fn put(&self, out: &mut Vec<u8>) {
        out.u32(self.context);
        out.i32(self.key.0);
        out.u32(self.key.1);
        out.u64(self.print);
        out.u32(self.call);
    }
    /// Reads it from one.
    pub(crate) fn take(record: &mut Take) -> Ident {
        Ident {
            context: record.u32(),
            key: (record.i32(), record.u32()),
            print: record.u64(),
            call: record.u32(),
        }
    }
    /// Bytes of an encoded one.
    pub(crate) const BYTES: usize = 24;
}

/// A message of a schedule for an instance that is not here yet.
// Kept as it came: what it means is known once a member here has entered.
pub(crate) struct Early {
    pub(crate) to: u32,
    pub(crate) from: u32,
    pub(crate) round: u32,
    pub(crate) at: Time,
    pub(crate) bytes: u64,
    pub(crate) payload: Option<u32>,
    pub(crate) missing: Option<u32>,
    pub(crate) called: Called,
}

/// The collective that the sender of a schedule's message takes part in: kind, root, function.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct Called {
    pub(crate) kind: u8,
    pub(crate) root: u32,
    pub(crate) function: u16,
}

/// Key under which members of a group meet: context, tag, first member.
pub(crate) type GroupKey = (u32, i32, u32);

/// The contributions of members that make a communicator which have come together so far.
#[derive(Default)]
pub(crate) struct PendingComm {
    pub(crate) contributions: Contributions,
}

/// Instances with members elsewhere.
#[derive(Default)]
pub(crate) struct DistributedInstances {
    pub(crate) instances: FxHashMap<Ident, u32>,
    pub(crate) early: FxHashMap<Ident, Vec<Early>>,
    /// Number of instances of its group that a member has entered, by key, fingerprint of the members, and
    /// member.
    pub(crate) joins: FxHashMap<(GroupKey, u64, u32), u32>,
    pub(crate) meetings: FxHashMap<Ident, PendingComm>,
    /// Processes that are ready, for instances whose first member is on this one.
    pub(crate) readies: FxHashMap<Ident, Readies>,
    /// Calls that ranks have entered that may fail, or have.
    pub(crate) departed: Departed,
}

impl DistributedInstances {
    /// Returns `true` if messages for an instance that is not here yet have arrived: others run it event by
    /// event.
    pub(crate) fn is_early(&self, ident: &Ident) -> bool {
        self.early.contains_key(ident)
    }
}

pub(crate) fn fingerprint(group: &Group) -> u64 {
    let mut hasher = FxHasher::default();
    group.iter().for_each(|rank| hasher.write_u32(rank));
    hasher.finish()
}

/// Returns `true` if a communicator has members on other processes.
// Counted when the communicator was made, so that each call asks in O(1).
pub(crate) fn is_spread(messages: &Messages, comm: &Comm) -> bool {
    messages.peers().exist() && !comm.is_self && comm.local.saturating_add(comm.remote_local) < comm.members()
}
