//! Group handles.

use super::{Group, Members};
use crate::abi;
use crate::error::{ErrorClass, Result};
use crate::handles::{Naming, Shared};
use rustc_hash::FxHasher;
use std::hash::{Hash, Hasher};
use std::rc::Rc;

/// `MPI_GROUP_NULL`
pub const GROUP_NULL: usize = abi::MPI_GROUP_NULL;
/// `MPI_GROUP_EMPTY`
pub const GROUP_EMPTY: usize = abi::MPI_GROUP_EMPTY;

/// Every group of this process that a rank has a handle to; equal groups are one object.
pub struct GroupRegistry {
    table: Shared<Group>,
}

impl Default for GroupRegistry {
    fn default() -> Self {
        Self::new()
    }
}

impl GroupRegistry {
    /// Returns the predefined group.
    pub fn new() -> GroupRegistry {
        let mut table = Shared::new(Naming { noun: "group", class: ErrorClass::GROUP, null: GROUP_NULL });
        table.predefine(GROUP_EMPTY, Group::empty());
        GroupRegistry { table }
    }

    /// A handle of `rank` to the group; `MPI_GROUP_EMPTY` for an empty one.
    ///
    /// # Errors
    /// A full table.
    // Empty groups are one handle: `MPI_GROUP_EMPTY` must compare as identical, and may be freed any number
    // of times.
    pub fn create(&mut self, rank: u32, group: Rc<Group>) -> Result<usize> {
        if group.size() == 0 {
            return Ok(GROUP_EMPTY);
        }
        self.table.intern(rank, group.structure_hash(), |have| have.same(&group), || Ok(group.clone()))
    }

    /// Returns the group behind a handle; O(1).
    ///
    /// # Errors
    /// `MPI_ERR_GROUP` for a null, unknown or freed handle.
    #[inline]
    pub fn get(&self, rank: u32, handle: usize) -> Result<&Rc<Group>> {
        self.table.held(rank, handle)
    }

    /// Implements `MPI_Group_free`; freeing `MPI_GROUP_EMPTY`, which constructors return, does nothing.
    pub fn free(&mut self, rank: u32, handle: usize) -> Result {
        if handle == GROUP_EMPTY {
            return Ok(());
        }
        self.table.release(rank, handle).map(|_| ())
    }

    /// Returns how many groups are live.
    pub fn live(&self) -> usize {
        self.table.live()
    }
}

impl Group {
    fn structure_hash(&self) -> u64 {
        let fresh = || {
            let mut hasher = FxHasher::default();
            self.size.hash(&mut hasher);
            match &self.members {
                Members::Range { first, stride } => (first, stride).hash(&mut hasher),
                Members::Table { .. } => self.table().hash(&mut hasher),
            }
            hasher.finish()
        };
        match &self.members {
            Members::Range { .. } => fresh(),
            // Kept, because each rank of a split asks for it.
            Members::Table { hash, .. } => *hash.get_or_init(fresh),
        }
    }
}
