//! `MPI_Intercomm_create` between groups whose leaders or members are on several processes.
//!
//! Each leader tells the other its group and a context of its process; both sides take that of the leader
//! with the lesser rank.

use crate::remote::kind::CollectiveRecordKind;
use engine::record::{Put, Take};
use objects::Objects;
use objects::group::Group;
use p2p::Messages;
use p2p::remote::group::{put_group, take_group};
use rustc_hash::FxHashMap;
use std::rc::Rc;

/// A leader, the other one, the tag, and the context of the communicator that both are in.
// The context too: threads of a rank may meet the same leader at once, with the same tag, each in a
// communicator of its own.
pub type Key = (u32, u32, i32, u32);

/// One side of an `MPI_Intercomm_create`: the other side's new handle once it is made, and the group.
pub type Bridge = (Option<usize>, Rc<Group>);

/// Leaders of groups that meet to make an intercommunicator.
#[derive(Default)]
pub struct Bridges {
    /// Leaders of this process.
    pub meetings: FxHashMap<Key, Bridge>,
    /// Contexts that leaders propose, where there are several processes.
    // Both leaders reserve a context, since neither knows whether it has the lesser rank until it knows who
    // the other is; the one that is not taken is never used.
    proposals: FxHashMap<Key, u32>,
}

impl Bridges {
    /// Sends the group of the leader `key.0` ahead to the process of `key.1`, if that is another one: the
    /// leader is about to write to `key.1`. Returns the context that it proposes.
    pub fn tell_leader(
        &mut self,
        messages: &mut Messages,
        objects: &mut Objects,
        key: Key,
        group: &Group,
    ) -> u32 {
        if !messages.peers().exist() {
            return 0;
        }
        let context = objects.comms.reserve_context();
        if messages.ranks().is_local(key.1) {
            self.proposals.insert(key, context);
            return context;
        }
        let mut body = Vec::new();
        body.u32(key.0);
        body.u32(key.1);
        body.i32(key.2);
        body.u32(key.3);
        body.u32(context);
        put_group(group, &mut body);
        let remote = messages.peers_mut().others();
        let process = remote.blocks.process(key.1);
        remote.streams.put(process, CollectiveRecordKind::Leader.kind(), &body);
        context
    }

    pub(crate) fn leader_arrived(&mut self, mut record: Take) {
        let key = (record.u32(), record.u32(), record.i32(), record.u32());
        let context = record.u32();
        let group = take_group(&mut record);
        self.meetings.insert(key, (None, group));
        self.proposals.insert(key, context);
    }

    /// After the leader `mine` has heard from the other: the context of the intercommunicator, 0 where there
    /// is one process.
    // The lesser of the two ranks decides, which both sides know without another message.
    pub fn bridge_context(
        &mut self,
        messages: &mut Messages,
        (mine, theirs, tag, peer): Key,
        proposed: u32,
    ) -> u32 {
        if !messages.peers().exist() {
            return 0;
        }
        let other = self.proposals.remove(&(theirs, mine, tag, peer)).unwrap_or_default();
        if mine < theirs { proposed } else { other }
    }
}
