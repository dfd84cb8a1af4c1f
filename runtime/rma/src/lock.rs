//! The lock of a target's memory in a window (MPI 5.0 section 12.5.3): who has it, and who waits for it.

use crate::access::Access;
use std::collections::VecDeque;

/// A lock that is held or waited for.
#[derive(Default)]
pub(crate) struct Lock {
    pub(crate) exclusive: bool,
    pub(crate) shared: u32,
    /// What waits for it, with what its origin sent after that.
    pub(crate) queue: VecDeque<Access>,
}

impl Lock {
    pub(crate) fn is_free(&self) -> bool {
        !self.exclusive && self.shared == 0 && self.queue.is_empty()
    }
    /// Takes it, if that is possible.
    pub(crate) fn take(&mut self, exclusive: bool) -> bool {
        if self.exclusive || exclusive && self.shared != 0 {
            return false;
        }
        if exclusive {
            self.exclusive = true;
        } else {
            self.shared += 1;
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lock_is_for_one_or_for_those_that_share_it() {
        let mut lock = Lock::default();
        assert!(lock.take(false) && lock.take(false) && !lock.take(true));
        lock.shared = 0;
        assert!(lock.take(true) && !lock.take(false) && !lock.take(true));
        assert!(!lock.is_free());
    }
}
