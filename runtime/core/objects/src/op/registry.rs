//! Operation handles.

use super::{OP_NULL, Op, Predefined, User};
use crate::error::{ErrorClass, Failure, Result};
use crate::handles::{Naming, Shared};
use rustc_hash::FxHasher;
use std::hash::{Hash, Hasher};
use std::rc::Rc;

/// Every operation of this process; ranks with the same function address share one.
pub struct Ops {
    table: Shared<Op>,
}

impl Default for Ops {
    fn default() -> Self {
        Self::new()
    }
}

impl Ops {
    /// Returns the predefined operations.
    pub fn new() -> Ops {
        let mut table = Shared::new(Naming { noun: "operation", class: ErrorClass::OP, null: OP_NULL });
        for &op in Predefined::ALL {
            table.predefine(op.handle(), Rc::new(Op::Predefined(op)));
        }
        Ops { table }
    }

    /// Implements `MPI_Op_create`.
    ///
    /// # Errors
    /// `MPI_ERR_ARG` for a null function.
    pub fn create(&mut self, rank: u32, user: User) -> Result<usize> {
        if user.function == 0 {
            return Err(Failure::new(ErrorClass::ARG, "user_fn is a null pointer; pass a function"));
        }
        // All that a program said of it: one function declared commutative and not is two operations.
        let key = (user.function, user.commute, user.large);
        let mut hasher = FxHasher::default();
        key.hash(&mut hasher);
        let same = |op: &Op| matches!(op, Op::User(user) if (user.function, user.commute, user.large) == key);
        self.table.intern(rank, hasher.finish(), same, || Ok(Rc::new(Op::User(user))))
    }

    /// Returns the operation behind a handle; O(1).
    ///
    /// # Errors
    /// `MPI_ERR_OP` for a null, unknown or freed handle.
    #[inline]
    pub fn get(&self, rank: u32, handle: usize) -> Result<&Rc<Op>> {
        self.table.held(rank, handle)
    }

    /// Implements `MPI_Op_free`; operations under way keep the function alive.
    pub fn free(&mut self, rank: u32, handle: usize) -> Result {
        self.table.release(rank, handle).map(|_| ())
    }

    /// Returns how many user operations are live.
    pub fn live(&self) -> usize {
        self.table.live()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn user(function: usize, commute: bool) -> User {
        User { commute, function, large: false, call: Rc::new(|_, _, _, _| {}) }
    }

    #[test]
    fn ranks_with_one_function_share_an_operation() {
        let mut ops = Ops::new();
        let op = ops.create(0, user(0x1000, true)).unwrap();
        assert_eq!(ops.create(1, user(0x1000, true)).unwrap(), op);
        assert_ne!(ops.create(2, user(0x1000, false)).unwrap(), op);
        assert!(ops.get(0, op).unwrap().commutative());
        ops.free(0, op).unwrap();
        assert!(ops.get(0, op).unwrap_err().text.contains("freed"));
        assert!(ops.get(1, op).is_ok());
        assert!(ops.free(1, Predefined::Sum.handle()).is_err());
        assert!(ops.create(0, user(0, true)).is_err());
    }
}
