//! Which collective calls ranks of other processes had entered when they failed: they take part in these to the end.

use crate::remote::spread::Ident;
use rustc_hash::{FxHashMap, FxHashSet};

/// What ranks of other processes had entered that have failed.
#[derive(Default)]
pub(crate) struct Departed {
    /// How many calls of a communicator, by rank and context.
    pub(super) calls: FxHashMap<(u32, u32), u32>,
    /// What else had not come to its end for it: starts of persistent collectives, calls among the members of a group.
    pub(super) open: FxHashSet<(u32, Ident)>,
}

impl Departed {
    /// Whether a rank that has failed had entered a call.
    pub(crate) fn had_entered(&self, rank: u32, ident: &Ident) -> bool {
        match ident.as_call() {
            Some((context, call)) => self.calls.get(&(rank, context)).is_some_and(|&calls| calls > call),
            None => self.open.contains(&(rank, *ident)),
        }
    }
}
