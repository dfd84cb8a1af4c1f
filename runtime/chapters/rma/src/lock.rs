//! The lock of a target's memory in a window (MPI 5.0 section 12.5.3): who has it, and who waits for it.

use crate::access::Held;
use std::collections::VecDeque;

/// A lock that is held or waited for.
#[derive(Default)]
pub(crate) struct Lock {
    /// The rank (world number) that has it for itself.
    pub(crate) exclusive: Option<u32>,
    /// Number of ranks that share it.
    pub(crate) shared: u32,
    /// Accesses that ask for the lock, and those that their origins sent afterwards.
    // First come, first served, writers among readers: a stream of shared locks cannot keep an exclusive one
    // waiting for ever.
    pub(crate) queue: VecDeque<Held>,
}

impl Lock {
    pub(crate) fn is_free(&self) -> bool {
        self.exclusive.is_none() && self.shared == 0 && self.queue.is_empty()
    }
    /// A rank takes it, if that is possible.
    // Not whether somebody waits: that is asked by who comes new, and not by who is granted from the queue.
    pub(crate) fn take(&mut self, rank: u32, exclusive: bool) -> bool {
        if self.exclusive.is_some() || exclusive && self.shared != 0 {
            return false;
        }
        if exclusive {
            self.exclusive = Some(rank);
        } else {
            self.shared += 1;
        }
        true
    }

    /// Returns who has it, for a deadlock's report.
    pub(crate) fn holders(&self) -> String {
        match (self.exclusive, self.shared) {
            (Some(rank), _) => format!(", locked by rank {rank}"),
            (None, 1) => ", shared by 1 rank".to_owned(),
            (None, ranks) => format!(", shared by {ranks} ranks"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lock_is_for_one_or_for_those_that_share_it() {
        let mut lock = Lock::default();
        assert!(lock.take(4, false) && lock.take(5, false) && !lock.take(4, true));
        lock.shared = 0;
        assert!(lock.take(7, true) && !lock.take(4, false) && !lock.take(7, true));
        assert!(!lock.is_free() && lock.holders().contains("rank 7"));
    }
}
