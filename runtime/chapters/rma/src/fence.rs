//! State of the fences of a window.

use crate::access::Held;
use engine::Time;
use rustc_hash::FxHashMap;
use std::collections::BTreeMap;
use std::rc::Rc;

/// A bit for each member.
#[derive(Default)]
pub(crate) struct Bits(Vec<u64>);

impl Bits {
    pub(crate) fn get(&self, member: u32) -> bool {
        self.0.get(member as usize / 64).is_some_and(|word| word >> (member % 64) & 1 != 0)
    }
    pub(crate) fn set(&mut self, member: u32, value: bool, members: u32) {
        if self.0.is_empty() {
            self.0 = vec![0; (members as usize).div_ceil(64)];
        }
        let (word, bit) = (&mut self.0[member as usize / 64], 1 << (member % 64));
        *word = if value { *word | bit } else { *word & !bit };
    }
}

/// The fences of a window.
// entered by some --> entered by all here (`epoch` counts) --> closed: all that was sent is here --> applied
// (`applied` counts) Members elsewhere may be one epoch ahead, since a fence's barrier lets them go before
// this process has heard of all: hence the maps by epoch.
#[derive(Default)]
pub(crate) struct Fence {
    /// Fences that all members of the process have entered: the number of the epoch that the last one began.
    pub(crate) epoch: u32,
    /// Members that have entered the next one.
    pub(crate) entered: u32,
    /// Members whose last fence began an epoch.
    pub(crate) open: Bits,
    /// Accesses that have arrived and must not touch memory yet, by epoch: ranks elsewhere may be one ahead.
    pub(crate) kept: BTreeMap<u32, Vec<Held>>,
    /// Number of accesses that a shared network carries, by epoch and target.
    // By target: each goes on when what is for it is there, whatever is still under way to others.
    pub(crate) expected: BTreeMap<u32, FxHashMap<u32, u32>>,
    /// Processes that have closed the epoch, by epoch.
    // A process sends its mark behind all accesses of the epoch: streams keep their order, so that when the
    // marks are in so is everything.
    pub(crate) marks: BTreeMap<u32, u32>,
    /// Epochs that are over: all is in the targets' memory.
    pub(crate) applied: u32,
    /// Accesses whose turn has come and that are not in their target's memory, by epoch and target.
    // Some accesses wait until their target is mounted; the epoch is over when the last of these is done.
    pub(crate) touching: BTreeMap<u32, FxHashMap<u32, u32>>,
    /// The time at which the last access of an epoch came to each target, by epoch: the last that was
    /// applied, and those since.
    pub(crate) exits: BTreeMap<u32, FxHashMap<u32, Time>>,
    /// Ranks that are through the barrier, and what they wait with.
    pub(crate) waiting: Vec<(u32, u32)>,
    /// The other processes with members.
    pub(crate) others: Option<Rc<[u32]>>,
}

impl Fence {
    /// Returns the epoch in which a member makes accesses, if its last fence began one.
    pub(crate) fn epoch_of(&self, member: u32) -> Option<u32> {
        self.open.get(member).then_some(self.epoch)
    }
    /// A member's epoch is over, though its next fence has not come.
    // Another kind of epoch may begin after a fence (MPI 5.0 section 12.5.1), for this member alone.
    pub(crate) fn end(&mut self, member: u32) {
        self.open.set(member, false, member + 1);
    }
    /// Keeps an access of this epoch, which is there.
    pub(crate) fn keep(&mut self, epoch: u32, access: Held) {
        self.kept.entry(epoch).or_default().push(access);
    }
    /// Counts an access of this epoch that a shared network carries to a target.
    pub(crate) fn expect(&mut self, epoch: u32, target: u32) {
        more(&mut self.expected, epoch, target);
    }
    /// Counts an access of this epoch that has come.
    pub(crate) fn landed(&mut self, epoch: u32, target: u32) {
        less(&mut self.expected, epoch, target);
    }
    /// Notes that an access of this epoch touches a target's memory now.
    pub(crate) fn touches(&mut self, epoch: u32, target: u32) {
        more(&mut self.touching, epoch, target);
    }
    /// Records that an access of this epoch is in the target's memory, at `at`.
    pub(crate) fn touched(&mut self, epoch: u32, target: u32, at: Time) {
        let exit = self.exits.entry(epoch).or_default().entry(target).or_default();
        *exit = at.max(*exit);
        less(&mut self.touching, epoch, target);
    }
    /// Returns `true` if all members have ended the epoch, those elsewhere included, so that all that there
    /// is of it is known.
    pub(crate) fn is_closed(&self, epoch: u32) -> bool {
        let others = self.others.as_ref().map_or(0, |others| others.len() as u32);
        self.epoch > epoch && self.marks.get(&epoch).copied().unwrap_or_default() >= others
    }
    /// Returns `true` if an epoch that members have ended is over for a rank: all of it is in the rank's
    /// memory.
    pub(crate) fn is_over_for(&self, epoch: u32, rank: u32) -> bool {
        let has = |all: &BTreeMap<u32, FxHashMap<u32, u32>>| {
            all.get(&epoch).is_some_and(|by_target| by_target.contains_key(&rank))
        };
        self.applied > epoch || self.is_closed(epoch) && !has(&self.expected) && !has(&self.touching)
    }
    /// Returns `true` if an epoch has begun for a rank, so that what comes may touch its memory: the one
    /// before is over for it.
    pub(crate) fn is_open_for(&self, epoch: u32, rank: u32) -> bool {
        epoch.checked_sub(1).is_none_or(|before| self.is_over_for(before, rank))
    }
    /// Returns `true` if nothing is left of an epoch that is closed.
    pub(crate) fn is_over(&self, epoch: u32) -> bool {
        !self.expected.contains_key(&epoch)
            && !self.touching.contains_key(&epoch)
            && !self.kept.contains_key(&epoch)
    }
    /// Returns when the last access of an epoch came to a rank, if any did.
    pub(crate) fn exit(&self, epoch: u32, rank: u32) -> Option<Time> {
        self.exits.get(&epoch)?.get(&rank).copied()
    }
}

/// Counts one more of an epoch for a target.
fn more(counts: &mut BTreeMap<u32, FxHashMap<u32, u32>>, epoch: u32, target: u32) {
    *counts.entry(epoch).or_default().entry(target).or_default() += 1;
}

/// Counts one less; a count of none is removed.
fn less(counts: &mut BTreeMap<u32, FxHashMap<u32, u32>>, epoch: u32, target: u32) {
    let Some(by_target) = counts.get_mut(&epoch) else { return };
    if let Some(count) = by_target.get_mut(&target) {
        *count -= 1;
        if *count == 0 {
            by_target.remove(&target);
        }
    }
    if by_target.is_empty() {
        counts.remove(&epoch);
    }
}
