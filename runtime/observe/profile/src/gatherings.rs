//! Collective calls until it is known how long each member waited for the last one, the root or the first:
//! some members return before others have entered.

use recorder::waiting::{Entries, Returned};
use rustc_hash::FxHashMap;

/// A collective call on this process.
#[derive(Default)]
struct PendingCollective {
    /// The time at which its members entered, once all have.
    entries: Option<Entries>,
    /// Calls that have returned before that, each with what it belongs to.
    waiting: Vec<(u32, Returned)>,
    /// Calls that have returned.
    returned: u32,
    /// Members of this process, once one has returned.
    members: u32,
}

/// Collective calls under way; those that nothing is missing of are forgotten.
#[derive(Default)]
pub struct PendingCollectives {
    open: FxHashMap<(u32, u32), PendingCollective>,
}

impl PendingCollectives {
    /// Records that a call that is a member's part of one has returned; `tell` is called at once if all is
    /// known. O(1).
    pub fn returned(&mut self, tally: u32, call: &Returned, tell: impl FnOnce(u32, &Returned, &Entries)) {
        let Some(gathering) = call.gathering else { return };
        let open = self.open.entry(gathering.id).or_default();
        open.members = gathering.members;
        open.returned += 1;
        match &open.entries {
            None => open.waiting.push((tally, *call)),
            Some(entries) => {
                tell(tally, call, entries);
                if open.returned == open.members {
                    self.open.remove(&gathering.id);
                }
            }
        }
    }

    /// Records when the members of one entered: `tell` is called for those that have returned already.
    pub fn gathered(
        &mut self,
        id: (u32, u32),
        entries: &Entries,
        mut tell: impl FnMut(u32, &Returned, &Entries),
    ) {
        let open = self.open.entry(id).or_default();
        for (tally, call) in std::mem::take(&mut open.waiting) {
            tell(tally, &call, entries);
        }
        open.entries = Some(*entries);
        if open.members != 0 && open.returned == open.members {
            self.open.remove(&id);
        }
    }
}
