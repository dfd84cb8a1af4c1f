//! What is kept of the fences of a window.

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

/// An answer that a shared network carries ahead of its data.
#[derive(Clone, Copy)]
pub(crate) struct Ahead {
    pub(crate) win: u32,
    pub(crate) origin: u32,
    pub(crate) reply: u32,
    pub(crate) epoch: u32,
}

/// The fences of a window.
// entered by some --> entered by all here (`epoch` counts) --> closed: all that was sent is here --> applied (`applied` counts)
// Members elsewhere may be one epoch ahead, since a fence's barrier lets them go before this process has heard
// of all: hence the maps by epoch.
#[derive(Default)]
pub(crate) struct Fence {
    /// Fences that all members of the process have entered: the number of the epoch that the last one began.
    pub(crate) epoch: u32,
    /// Members that have entered the next one.
    pub(crate) entered: u32,
    /// Members whose last fence began an epoch.
    pub(crate) open: Bits,
    /// What has come, by epoch: ranks elsewhere may be one ahead.
    pub(crate) kept: BTreeMap<u32, Vec<Held>>,
    /// What a shared network carries, and processes that have closed the epoch, by epoch.
    pub(crate) expected: BTreeMap<u32, u32>,
    // A process sends its mark behind all accesses of the epoch: streams keep their order, so that when the
    // marks are in so is everything.
    pub(crate) marks: BTreeMap<u32, u32>,
    /// When answers came that a shared network carried ahead of their data, by origin and its reply.
    pub(crate) ahead: FxHashMap<(u32, u32), Time>,
    /// Epochs of which the other processes with members know that all that was sent to them is there.
    pub(crate) marked: u32,
    /// Epochs that are over: all is in the targets' memory.
    pub(crate) applied: u32,
    /// Accesses of the epoch that is closing which are not in the targets' memory.
    // Some accesses wait until their target is mounted; the epoch is over when the last of these is done.
    pub(crate) left: usize,
    /// The latest arrival at each rank in the last epoch that was applied.
    pub(crate) exits: FxHashMap<u32, Time>,
    /// Ranks that are through the barrier, and what they wait with.
    pub(crate) waiting: Vec<(u32, u32)>,
    /// The other processes with members.
    pub(crate) others: Option<Rc<[u32]>>,
}

impl Fence {
    /// The epoch in which a member makes accesses, if its last fence began one.
    pub(crate) fn epoch_of(&self, member: u32) -> Option<u32> {
        self.open.get(member).then_some(self.epoch)
    }
    /// A member's epoch is over, though its next fence has not come.
    // Another kind of epoch may begin after a fence (MPI 5.0 section 12.5.1), for this member alone.
    pub(crate) fn end(&mut self, member: u32) {
        self.open.set(member, false, member + 1);
    }
    /// An access of this epoch is there.
    pub(crate) fn keep(&mut self, epoch: u32, access: Held) {
        self.kept.entry(epoch).or_default().push(access);
    }
    /// A shared network carries something of this epoch.
    pub(crate) fn expect(&mut self, epoch: u32) {
        *self.expected.entry(epoch).or_default() += 1;
    }
}
