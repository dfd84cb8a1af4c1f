//! Objects that each belong to the one rank that made them.

use super::{FIRST_DYNAMIC, GENERATIONS, Naming, SLOT_BITS, SLOT_MASK, invalid};
use crate::error::{ErrorClass, Failure, Result};

/// A table of objects that each belong to the one rank that made them.
// For what programs change after making it (info objects): to share it would mean to copy it at the first
// change, and few ranks make any.
pub struct Owned<T> {
    naming: Naming,
    slots: Vec<OwnedSlot<T>>,
    free: Vec<u32>,
}

struct OwnedSlot<T> {
    generation: u32,
    object: Option<(u32, T)>,
}

impl<T> Owned<T> {
    /// Returns an empty table.
    pub fn new(naming: Naming) -> Self {
        Owned { naming, slots: Vec::new(), free: Vec::new() }
    }

    /// Inserts a new object of `rank` and returns its handle.
    ///
    /// # Errors
    /// `MPI_ERR_NO_MEM` when the table is full.
    pub fn insert(&mut self, rank: u32, object: T) -> Result<usize> {
        let slot = match self.free.pop() {
            Some(slot) => slot as usize,
            None if self.slots.len() + FIRST_DYNAMIC > SLOT_MASK => {
                let noun = self.naming.noun;
                return Err(Failure::new(
                    ErrorClass::NO_MEM,
                    format!("too many {noun} objects are in use; free those no longer needed"),
                ));
            }
            None => {
                self.slots.push(OwnedSlot { generation: 0, object: None });
                self.slots.len() - 1
            }
        };
        self.slots[slot].object = Some((rank, object));
        Ok((slot + FIRST_DYNAMIC) | (self.slots[slot].generation as usize) << SLOT_BITS)
    }

    // O(1). The owner is compared too: a handle that another rank passed on by message is none here, as
    // between real processes.
    fn slot(&self, rank: u32, handle: usize) -> Option<usize> {
        let slot = (handle & SLOT_MASK).checked_sub(FIRST_DYNAMIC)?;
        let found = self.slots.get(slot)?;
        let owned = found.object.as_ref().is_some_and(|object| object.0 == rank);
        (owned && found.generation as usize == handle >> SLOT_BITS).then_some(slot)
    }

    /// Returns the object behind a handle of `rank`.
    ///
    /// # Errors
    /// The naming's class when the handle is null, never existed, is freed, or another rank's.
    pub fn get(&self, rank: u32, handle: usize) -> Result<&T> {
        let slot = self.slot(rank, handle).ok_or_else(|| invalid(self.naming, handle))?;
        Ok(&self.slots[slot].object.as_ref().expect("found").1)
    }

    /// Behaves as [`get`](Self::get), to change it.
    pub fn get_mut(&mut self, rank: u32, handle: usize) -> Result<&mut T> {
        let slot = self.slot(rank, handle).ok_or_else(|| invalid(self.naming, handle))?;
        Ok(&mut self.slots[slot].object.as_mut().expect("found").1)
    }

    /// Takes the object out; its handle is invalid from now on.
    pub fn remove(&mut self, rank: u32, handle: usize) -> Result<T> {
        let slot = self.slot(rank, handle).ok_or_else(|| invalid(self.naming, handle))?;
        self.slots[slot].generation = (self.slots[slot].generation + 1) % GENERATIONS;
        self.free.push(slot as u32);
        Ok(self.slots[slot].object.take().expect("found").1)
    }

    /// Returns how many objects are live.
    pub fn live(&self) -> usize {
        self.slots.len() - self.free.len()
    }
}
