//! Worlds besides the first, of ranks that were spawned or are another job's: what `MPI_COMM_WORLD` and the
//! parents' intercommunicator are to whom.

use super::{Comms, FIRST_CONTEXT};
use crate::group::Group;
use crate::handle::{self, COMM_NULL};
use std::rc::Rc;

/// A world of ranks that were spawned together, or began beside the first world's.
pub(super) struct Spawned {
    /// The ranks: the number of the first among all that there are, and how many.
    pub(super) first: u32,
    /// Number of ranks of each command.
    counts: Rc<[u32]>,
    /// Index of its `MPI_COMM_WORLD`.
    world: u32,
    /// The ranks' side of the intercommunicator with those who spawned it, and the context of that.
    // Contexts are never used again, and indices are: with its context a communicator is known to be still
    // the same.
    parent: usize,
    parent_context: u32,
}

impl Comms {
    #[inline(never)]
    pub(super) fn enter_world(&mut self, rank: u32) {
        (self.world, self.ranks) = match self.spawned_of(rank) {
            Some(spawned) => (spawned.world, 0),
            None => (0, self.initial),
        };
    }
    fn spawned_of(&self, rank: u32) -> Option<&Spawned> {
        if rank < self.initial {
            return None;
        }
        self.spawned[..self.spawned.partition_point(|spawned| spawned.first <= rank)].last()
    }
    /// Spawns ranks, some of them here: from `first` on so many of each command, by a group that they have
    /// the intercommunicator with. `world` and `inter` are the contexts of their world and of that.
    pub fn spawn(&mut self, first: u32, counts: Rc<[u32]>, parents: Rc<Group>, (world, inter): (u32, u32)) {
        let group = Group::range(first, 1, counts.iter().sum());
        let before = self.continue_contexts(Some(world));
        let made = self.make(group.clone(), None, None);
        self.restore_contexts(before);
        let parent = self.make_side(group, parents, inter);
        let world = handle::decode(made).expect("some of its ranks are here");
        self.spawned.push(Spawned { first, counts, world, parent, parent_context: inter });
    }
    /// Ranks begin beside those of the first world, spawned by nobody: behind these worlds of so many each.
    /// Before any communicator is made.
    // All processes give these the same contexts, and each its own ones behind them.
    pub fn begin_worlds(&mut self, counts: &[u32]) {
        let mut first = self.initial;
        for (context, &count) in (FIRST_CONTEXT..).zip(counts) {
            let before = self.continue_contexts(Some(context));
            let made = self.make(Group::range(first, 1, count), None, None);
            self.restore_contexts(before);
            if let Some(world) = handle::decode(made) {
                self.spawned.push(Spawned {
                    first,
                    counts: Rc::new([count]),
                    world,
                    parent: COMM_NULL,
                    parent_context: 0,
                });
            }
            first += count;
        }
        self.contexts += counts.len() as u32;
    }
    /// Returns the mounted rank's intercommunicator with those who spawned it; `MPI_COMM_NULL` if nobody did,
    /// or it has freed it.
    pub fn parent(&self) -> usize {
        let Some(spawned) = self.spawned_of(self.current) else { return COMM_NULL };
        match self.get(spawned.parent) {
            Ok(comm) if comm.context == spawned.parent_context => spawned.parent,
            _ => COMM_NULL,
        }
    }
    /// Returns which command of those that were spawned together the mounted rank is of (`MPI_APPNUM`).
    pub fn command(&self) -> u32 {
        let Some(spawned) = self.spawned_of(self.current) else { return 0 };
        let ends = spawned.counts.iter().scan(spawned.first, |end, count| {
            *end += count;
            Some(*end)
        });
        ends.take_while(|&end| end <= self.current).count() as u32
    }
}
