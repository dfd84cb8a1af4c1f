//! One object for all ranks that make the same one.
//!
//! A million ranks that each build the same datatype share one object: what each makes is
//! looked up by structure, and a rank takes a share of an instance that it does not hold
//! yet. A rank's second live object of the same structure gets an instance of its own, so
//! that names and attributes stay apart. Cost: one slot per distinct live instance, and at
//! most about one byte per rank that holds it.

use super::{FIRST_DYNAMIC, GENERATIONS, Naming, RankSet, SLOT_BITS, SLOT_MASK, invalid};
use crate::error::{ErrorClass, Failure, Result};
use rustc_hash::FxHashMap;
use smallvec::SmallVec;
use std::rc::Rc;

/// The part of a slot that every use of a handle reads.
// Apart from the rest: with a set of holders in each slot, four slots would not share a cache line.
struct Hot<T> {
    object: Option<Rc<T>>,
    handle: u32,
    /// Set once a rank gave its share back while others kept theirs: only then must a use
    /// ask whether the user is among the holders.
    partly_freed: bool,
}

/// The part of a slot that only creation and release touch.
#[derive(Default)]
struct Cold {
    hash: u64,
    /// Index of the slot in its list in `alike`.
    position: u32,
    holders: RankSet,
}

/// A table of shared objects; see the module text.
pub struct Shared<T> {
    naming: Naming,
    hot: Vec<Hot<T>>,
    cold: Vec<Cold>,
    free: Vec<u32>,
    // By hash alone, without the object as a key: a datatype's constructor may have a million displacements,
    // which are then kept once.
    alike: FxHashMap<u64, SmallVec<[u32; 2]>>,
    /// For a rank with many alike objects: the position in `alike` below which it holds all.
    crowded: FxHashMap<(u64, u32), u32>,
    /// Shares beyond the first that a rank has of a handle; few handles ever have any.
    again: FxHashMap<(usize, u32), u32>,
}

/// From how many alike instances on the search remembers where it ended.
const CROWD: usize = 16;

impl<T> Shared<T> {
    /// Returns an empty table.
    pub fn new(naming: Naming) -> Self {
        let hot =
            (0..FIRST_DYNAMIC).map(|handle| Hot { object: None, handle: handle as u32, partly_freed: false });
        Shared {
            naming,
            hot: hot.collect(),
            cold: Vec::new(),
            free: Vec::new(),
            alike: FxHashMap::default(),
            crowded: FxHashMap::default(),
            again: FxHashMap::default(),
        }
    }

    /// Sets the object of a predefined handle, which every rank holds for ever.
    pub fn predefine(&mut self, handle: usize, object: Rc<T>) {
        self.hot[handle].object = Some(object);
    }

    /// The object behind `handle`, whoever holds it; O(1).
    ///
    /// # Errors
    /// The naming's class when the handle is null, never existed, or is freed by all.
    // Whoever asks: what a message or request refers to stays valid though its rank has freed the handle (MPI
    // 5.0 section 5.1.9).
    #[inline]
    pub fn get(&self, handle: usize) -> Result<&Rc<T>> {
        match self.hot.get(handle & SLOT_MASK) {
            Some(Hot { object: Some(object), handle: own, .. }) if *own as usize == handle => Ok(object),
            _ => Err(invalid(self.naming, handle)),
        }
    }

    /// The object behind `handle`, which `rank` must hold; O(1).
    ///
    /// # Errors
    /// As for [`get`](Self::get), and when `rank` has freed the handle.
    // Two cases and the common one first: while nobody has freed it, whoever names it has it, and the set of
    // holders is not touched.
    #[inline]
    pub fn held(&self, rank: u32, handle: usize) -> Result<&Rc<T>> {
        match self.hot.get(handle & SLOT_MASK) {
            Some(Hot { object: Some(object), handle: own, partly_freed: false })
                if *own as usize == handle =>
            {
                Ok(object)
            }
            Some(Hot { object: Some(object), handle: own, .. })
                if *own as usize == handle && self.holds(rank, handle) =>
            {
                Ok(object)
            }
            _ => Err(invalid(self.naming, handle)),
        }
    }

    /// A handle of `rank` to an object for which `same` holds, else to the one that `make` returns.
    ///
    /// # Errors
    /// What `make` fails with, and `MPI_ERR_NO_MEM` for a full table.
    // A rank that makes n alike objects would pass the same n slots each time, O(n^2) in all: beyond `CROWD`
    // it goes on where it ended.
    pub fn intern(
        &mut self,
        rank: u32,
        hash: u64,
        same: impl Fn(&T) -> bool,
        make: impl FnOnce() -> Result<Rc<T>>,
    ) -> Result<usize> {
        let mut known: Option<Rc<T>> = None;
        let list = self.alike.get(&hash).map_or(&[][..], |list| &list[..]);
        let from =
            if list.len() > CROWD { self.crowded.get(&(hash, rank)).map_or(0, |&at| at as usize) } else { 0 };
        let from = from.min(list.len());
        // What was skipped is all of one structure, so the first of it stands for the rest.
        if from > 0 {
            known = self.hot[list[0] as usize].object.clone().filter(|object| same(object));
        }
        let mut scanned = from;
        for &slot in &list[from..] {
            let object = self.hot[slot as usize].object.as_ref().expect("listed slots are live");
            if same(object) {
                let cold = &mut self.cold[slot as usize - FIRST_DYNAMIC];
                // The rank does not have this one yet: it takes a share. If it has, it gets the next, or one
                // of its own: MPI hands out a new object each time, which can be named and freed by itself.
                if cold.holders.insert(rank) {
                    return Ok(self.hot[slot as usize].handle as usize);
                }
                known.get_or_insert_with(|| object.clone());
            }
            scanned += 1;
        }
        if scanned > CROWD {
            self.crowded.insert((hash, rank), scanned as u32);
        }
        let object = match known {
            Some(object) => object,
            None => make()?,
        };
        self.insert(rank, hash, object)
    }

    /// A handle to an object for which `same` holds, whoever holds it.
    // For what MPI calls predefined though it is made: everybody gets the one handle.
    pub fn find(&self, hash: u64, same: impl Fn(&T) -> bool) -> Option<usize> {
        let slots = self.alike.get(&hash)?.iter().map(|&slot| &self.hot[slot as usize]);
        slots.filter(|hot| hot.object.as_deref().is_some_and(&same)).map(|hot| hot.handle as usize).next()
    }

    fn insert(&mut self, rank: u32, hash: u64, object: Rc<T>) -> Result<usize> {
        let slot = match self.free.pop() {
            Some(slot) => slot as usize,
            None if self.hot.len() > SLOT_MASK => {
                return Err(Failure::new(
                    ErrorClass::NO_MEM,
                    format!(
                        "more than {} different {}s are in use; free those no longer needed",
                        SLOT_MASK - FIRST_DYNAMIC,
                        self.naming.noun
                    ),
                ));
            }
            None => {
                self.hot.push(Hot { object: None, handle: self.hot.len() as u32, partly_freed: false });
                self.cold.push(Cold::default());
                self.hot.len() - 1
            }
        };
        let cold = &mut self.cold[slot - FIRST_DYNAMIC];
        cold.hash = hash;
        cold.holders.insert(rank);
        self.hot[slot].object = Some(object);
        let list = self.alike.entry(hash).or_default();
        cold.position = list.len() as u32;
        list.push(slot as u32);
        Ok(self.hot[slot].handle as usize)
    }

    /// Takes another share of a handle that `rank` holds, where MPI hands out the same handle again; each
    /// share is released on its own. Predefined handles are not counted.
    ///
    /// # Errors
    /// As for [`held`](Self::held).
    pub fn share_again(&mut self, rank: u32, handle: usize) -> Result {
        self.held(rank, handle)?;
        // A rank that holds a predefined handle cannot give it back, so there is nothing to count.
        if handle >= FIRST_DYNAMIC {
            *self.again.entry((handle, rank)).or_default() += 1;
        }
        Ok(())
    }

    /// Gives back `rank`'s share of `handle`; true when it was the last one.
    ///
    /// # Errors
    /// A predefined handle, or one that `rank` does not hold.
    pub fn release(&mut self, rank: u32, handle: usize) -> Result<bool> {
        if handle < FIRST_DYNAMIC && self.get(handle).is_ok() {
            let noun = self.naming.noun;
            return Err(Failure::new(
                self.naming.class,
                format!("a predefined {noun} cannot be freed; remove the call"),
            ));
        }
        if !self.holds(rank, handle) {
            return Err(invalid(self.naming, handle));
        }
        // Shares beyond the first are given back first: the last `free` of the program's own is the one that
        // counts.
        if let Some(shares) = self.again.get_mut(&(handle, rank)) {
            *shares -= 1;
            if *shares == 0 {
                self.again.remove(&(handle, rank));
            }
            return Ok(false);
        }
        let slot = handle & SLOT_MASK;
        let cold = &mut self.cold[slot - FIRST_DYNAMIC];
        cold.holders.remove(rank);
        let (hash, position) = (cold.hash, cold.position);
        // The rank no longer holds all below where it ended: the next search begins at the gap.
        if let Some(from) = self.crowded.get_mut(&(hash, rank)) {
            *from = position.min(*from);
        }
        if !cold.holders.is_empty() {
            self.hot[slot].partly_freed = true;
            return Ok(false);
        }
        let hot = &mut self.hot[slot];
        // A program that still uses the freed handle is told so, until the slot has been reused 64 times.
        let generation = (hot.handle >> SLOT_BITS).wrapping_add(1) % GENERATIONS;
        *hot = Hot { object: None, handle: slot as u32 | (generation << SLOT_BITS), partly_freed: false };
        let list = self.alike.get_mut(&hash).expect("a live slot is listed");
        // Not in order: a list of 100,000 alike objects would be moved for each that is freed.
        list.swap_remove(position as usize);
        match list.get(position as usize) {
            Some(&moved) => self.cold[moved as usize - FIRST_DYNAMIC].position = position,
            None if list.is_empty() => {
                self.alike.remove(&hash);
                self.crowded.retain(|key, _| key.0 != hash);
            }
            None => {}
        }
        self.free.push(slot as u32);
        Ok(true)
    }

    /// Returns `true` if `rank` may use `handle`.
    pub fn holds(&self, rank: u32, handle: usize) -> bool {
        let slot = handle & SLOT_MASK;
        self.get(handle).is_ok()
            && (handle < FIRST_DYNAMIC || self.cold[slot - FIRST_DYNAMIC].holders.contains(rank))
    }

    /// Returns how many instances are live, predefined ones aside.
    pub fn live(&self) -> usize {
        self.cold.len() - self.free.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const NAMING: Naming = Naming { noun: "thing", class: ErrorClass::ARG, null: 0 };

    fn make(table: &mut Shared<u64>, rank: u32, value: u64) -> usize {
        table.intern(rank, value, |have| *have == value, || Ok(Rc::new(value))).unwrap()
    }

    #[test]
    fn ranks_share_an_object_and_a_second_one_stays_apart() {
        let mut table = Shared::new(NAMING);
        let first = make(&mut table, 0, 5);
        assert_eq!(make(&mut table, 900_000, 5), first);
        let second = make(&mut table, 0, 5);
        assert_ne!(second, first);
        assert!(Rc::ptr_eq(table.get(first).unwrap(), table.get(second).unwrap()));
        assert_eq!(table.live(), 2);
        assert_ne!(make(&mut table, 0, 6), first);
    }

    #[test]
    fn a_freed_handle_is_invalid_for_its_rank_alone_until_the_last_share_goes() {
        let mut table = Shared::new(NAMING);
        let handle = make(&mut table, 0, 5);
        make(&mut table, 1, 5);
        assert!(!table.release(0, handle).unwrap());
        assert!(table.held(0, handle).is_err());
        assert!(table.held(1, handle).is_ok());
        assert!(table.release(0, handle).is_err());
        assert!(table.release(1, handle).unwrap());
        assert!(table.get(handle).is_err());
        let reused = make(&mut table, 3, 9);
        assert_ne!(reused, handle);
        assert_eq!(reused & SLOT_MASK, handle & SLOT_MASK);
        assert!(reused <= i32::MAX as usize);
    }

    #[test]
    fn a_hundred_thousand_alike_objects_of_one_rank_are_made_and_freed_in_linear_time() {
        let mut table = Shared::new(NAMING);
        let handles: Vec<_> = (0..100_000).map(|_| make(&mut table, 4, 1)).collect();
        assert_eq!(table.live(), 100_000);
        for handle in handles.into_iter().rev() {
            table.release(4, handle).unwrap();
        }
        assert_eq!(table.live(), 0);
    }

    #[test]
    fn predefined_objects_cannot_be_freed() {
        let mut table = Shared::new(NAMING);
        table.predefine(0x20, Rc::new(1));
        assert!(table.held(77, 0x20).is_ok());
        assert!(table.release(77, 0x20).unwrap_err().text.contains("predefined"));
        assert!(table.get(0).unwrap_err().text.contains("null"));
    }

    proptest! {
        #[test]
        fn a_rank_may_use_what_it_made_until_it_frees_it(
            steps in prop::collection::vec((0u32..3, 0u64..3, any::<Option<u8>>()), 0..100),
        ) {
            let mut table = Shared::new(NAMING);
            let mut shares: Vec<(u32, usize, u64)> = Vec::new();
            let mut freed: Vec<(u32, usize)> = Vec::new();
            for (rank, value, free) in steps {
                match free.filter(|_| !shares.is_empty()) {
                    Some(pick) => {
                        let (rank, handle, _) = shares.swap_remove(usize::from(pick) % shares.len());
                        let last = !shares.iter().any(|share| share.1 == handle);
                        prop_assert_eq!(table.release(rank, handle), Ok(last));
                        freed.push((rank, handle));
                    }
                    None => {
                        let handle = make(&mut table, rank, value);
                        prop_assert!(!shares.iter().any(|share| (share.0, share.1) == (rank, handle)),
                            "a second object has a handle of its own");
                        shares.push((rank, handle, value));
                        freed.retain(|&share| share != (rank, handle));
                    }
                }
                for &(rank, handle, value) in &shares {
                    prop_assert_eq!(table.held(rank, handle).map(|value| **value), Ok(value));
                }
                for &(rank, handle) in &freed {
                    prop_assert!(table.held(rank, handle).is_err());
                }
            }
            let mut live: Vec<usize> = shares.iter().map(|share| share.1).collect();
            live.sort_unstable();
            live.dedup();
            prop_assert_eq!(table.live(), live.len());
        }
    }
}
