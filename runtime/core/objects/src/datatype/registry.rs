//! Datatype handles: which rank holds which type, committed or not.

use super::Datatype;
use super::constructor::{Constructor, Contents};
use super::predefined::{self, DATATYPE_NULL};
use crate::error::{ErrorClass, Failure, Result};
use crate::handles::{FIRST_DYNAMIC, Names, Naming, RankSet, Shared};
use rustc_hash::FxHashMap;
use std::rc::Rc;

/// Every datatype of this process, shared among its ranks (see [`crate::handles`]).
pub struct Types {
    table: Shared<Datatype>,
    /// Ranks that made a type and have not committed it, by handle; normally empty between two calls.
    // The exception is kept, not the rule: a bit for each rank and type that is committed would grow with
    // both.
    uncommitted: FxHashMap<usize, RankSet>,
    names: Names,
    /// By handle: bytes of a predefined type whose elements lie side by side; 0 of any other.
    // A byte for each predefined handle, 4 KB in all: the size of a plain message is one load.
    plain: Box<[u8]>,
}

impl Default for Types {
    fn default() -> Self {
        Self::new()
    }
}

/// The holder of types that no rank may free: those of `MPI_Type_create_f90_*`.
const NOBODY: u32 = u32::MAX;

impl Types {
    /// Returns the predefined types.
    pub fn new() -> Types {
        let mut table =
            Shared::new(Naming { noun: "datatype", class: ErrorClass::TYPE, null: DATATYPE_NULL });
        let mut plain = vec![0; FIRST_DYNAMIC].into_boxed_slice();
        for (handle, datatype) in predefined::all() {
            if datatype.contiguous {
                plain[handle] = u8::try_from(datatype.size).unwrap_or_default();
            }
            table.predefine(handle, datatype);
        }
        Types { table, uncommitted: FxHashMap::default(), names: Names::default(), plain }
    }

    /// Returns the bytes of an element of `handle`, if that is predefined and elements lie side by side: what
    /// most messages are made of.
    #[inline(always)]
    pub fn plain_size(&self, handle: usize) -> Option<u64> {
        self.plain.get(handle).filter(|&&size| size != 0).map(|&size| u64::from(size))
    }

    /// Makes a type for `rank`, shared with the ranks that made the same one; its handle. A
    /// type of `MPI_Type_dup` of a committed type is committed, any other is not.
    ///
    /// # Errors
    /// What [`Datatype::new`] fails with.
    pub fn create(&mut self, rank: u32, constructor: Constructor) -> Result<usize> {
        let hash = constructor.structure_hash();
        let fixed = matches!(
            constructor,
            Constructor::F90Real { .. } | Constructor::F90Complex { .. } | Constructor::F90Integer { .. }
        );
        if fixed {
            return self.permanent(constructor);
        }
        let handle = self.table.intern(
            rank,
            hash,
            |have| have.constructor == constructor,
            || Datatype::new(constructor.clone()),
        )?;
        self.uncommitted.entry(handle).or_default().insert(rank);
        Ok(handle)
    }

    /// `MPI_Type_dup` without the attributes: committed if `old` is.
    // The committed state is a rank's own and not part of the shared type.
    pub fn dup(&mut self, rank: u32, old: usize) -> Result<usize> {
        let committed = self.is_committed(rank, old);
        let handle = self.create(rank, Constructor::Dup { old: self.table.held(rank, old)?.into() })?;
        if committed {
            self.commit(rank, handle)?;
        }
        Ok(handle)
    }

    /// Makes a type with one handle for all ranks and all time, as MPI 5.0 section 19.1.9 asks.
    pub(crate) fn permanent(&mut self, constructor: Constructor) -> Result<usize> {
        let hash = constructor.structure_hash();
        if let Some(handle) = self.table.find(hash, |have| have.constructor == constructor) {
            return Ok(handle);
        }
        // Held by nobody, so that no rank's MPI_Type_free can take it from the others.
        self.table.intern(NOBODY, hash, |_| false, || Datatype::new(constructor))
    }

    /// Returns the type behind a handle, committed or not; O(1).
    ///
    /// # Errors
    /// `MPI_ERR_TYPE` for a null, unknown or freed handle.
    #[inline]
    pub fn get(&self, handle: usize) -> Result<&Rc<Datatype>> {
        self.table.get(handle)
    }

    /// Returns the type behind a handle that `rank` itself holds: for constructors and queries.
    #[inline]
    pub fn held(&self, rank: u32, handle: usize) -> Result<&Rc<Datatype>> {
        self.table.held(rank, handle)
    }

    /// Returns the type behind a handle that `rank` may communicate with: held and committed.
    ///
    /// # Errors
    /// `MPI_ERR_TYPE`, saying whether it is unknown, freed or not committed.
    #[inline(always)]
    pub fn usable(&self, rank: u32, handle: usize) -> Result<&Rc<Datatype>> {
        let datatype = self.table.held(rank, handle)?;
        // Programs commit before they communicate, so the set is empty nearly always, and no look-up is made.
        if !self.uncommitted.is_empty() && !self.is_committed(rank, handle) {
            return Err(Failure::new(
                ErrorClass::TYPE,
                format!(
                    "datatype {} is not committed; call MPI_Type_commit before communicating with it",
                    self.describe(rank, handle)
                ),
            ));
        }
        Ok(datatype)
    }

    /// Implements `MPI_Type_commit`; committing twice does nothing.
    pub fn commit(&mut self, rank: u32, handle: usize) -> Result {
        self.table.held(rank, handle)?;
        if let Some(waiting) = self.uncommitted.get_mut(&handle) {
            waiting.remove(rank);
            if waiting.is_empty() {
                self.uncommitted.remove(&handle);
            }
        }
        Ok(())
    }

    /// Returns `true` if `rank` has committed the type; predefined types are.
    pub fn is_committed(&self, rank: u32, handle: usize) -> bool {
        handle < FIRST_DYNAMIC || !self.uncommitted.get(&handle).is_some_and(|waiting| waiting.contains(rank))
    }

    /// Implements `MPI_Type_free`: gives back `rank`'s share; operations under way keep the type alive.
    ///
    /// # Errors
    /// `MPI_ERR_TYPE` for a predefined type, and one that `rank` does not hold.
    pub fn free(&mut self, rank: u32, handle: usize) -> Result {
        let fixed = self.table.get(handle).is_ok_and(|have| have.constructor.datatypes().is_empty());
        if fixed && handle >= FIRST_DYNAMIC && !self.table.holds(rank, handle) {
            return Err(Failure::new(
                ErrorClass::TYPE,
                "a type of MPI_Type_create_f90_* is predefined and cannot be freed; remove the call",
            ));
        }
        let committed = self.is_committed(rank, handle);
        // The set lists who has not committed: a rank without the type must not stay in it for the next type
        // with this handle.
        let _ = self.commit(rank, handle);
        self.table.release(rank, handle)?;
        if !self.table.holds(rank, handle) {
            self.names.remove(rank, handle);
        } else if !committed {
            self.uncommitted.entry(handle).or_default().insert(rank);
        }
        Ok(())
    }

    /// Takes another share of a type for an object that outlives the program's own, such as a persistent
    /// request; [`free`](Self::free) gives it back.
    pub fn share_again(&mut self, rank: u32, handle: usize) -> Result {
        self.table.share_again(rank, handle)
    }

    /// Implements `MPI_Type_set_name`.
    pub fn set_name(&mut self, rank: u32, handle: usize, name: &[u8]) -> Result {
        self.table.held(rank, handle)?;
        self.names.set(rank, handle, name);
        Ok(())
    }

    /// Implements `MPI_Type_get_name`. Returns the name given, that of a predefined type, or nothing.
    pub fn name(&self, rank: u32, handle: usize) -> Result<&[u8]> {
        if handle != DATATYPE_NULL {
            self.table.held(rank, handle)?;
        }
        Ok(self
            .names
            .get(rank, handle)
            .or_else(|| predefined::name(handle).map(str::as_bytes))
            .unwrap_or_default())
    }

    /// Returns a handle as messages show it: by name where it has one.
    pub fn describe(&self, rank: u32, handle: usize) -> String {
        match self.name(rank, handle) {
            Ok(name) if !name.is_empty() => String::from_utf8_lossy(name).into_owned(),
            _ => format!("{handle:#x}"),
        }
    }

    /// Implements `MPI_Type_get_contents`. Returns the arguments, with a handle of `rank` for each datatype
    /// (a new share of derived ones, which the program must free).
    ///
    /// # Errors
    /// `MPI_ERR_TYPE` for a predefined type, which has no contents.
    pub fn contents(&mut self, rank: u32, handle: usize) -> Result<(Contents, Vec<usize>)> {
        let datatype = self.table.held(rank, handle)?.clone();
        if datatype.is_predefined() {
            return Err(Failure::new(
                ErrorClass::TYPE,
                format!(
                    "{} is predefined and has no contents; ask MPI_Type_get_envelope first",
                    self.describe(rank, handle)
                ),
            ));
        }
        let contents = datatype.constructor.contents();
        let mut handles = Vec::with_capacity(contents.datatypes.len());
        for old in &contents.datatypes {
            handles.push(self.handle_of(rank, &old.0)?);
        }
        Ok((contents, handles))
    }

    /// Returns a handle of `rank` to an object it has: the predefined one, or a new, committed share.
    pub fn handle_of(&mut self, rank: u32, datatype: &Rc<Datatype>) -> Result<usize> {
        // `MPI_Type_get_contents` must return predefined types as what they were passed as (MPI 5.0 section
        // 5.1.13).
        if let Constructor::Named(handle) = datatype.constructor {
            return Ok(handle);
        }
        let hash = datatype.constructor.structure_hash();
        if datatype.constructor.datatypes().is_empty()
            && let Some(handle) = self.table.find(hash, |have| have.constructor == datatype.constructor)
        {
            return Ok(handle);
        }
        self.table.intern(
            rank,
            hash,
            |have| have.constructor == datatype.constructor,
            || Ok(datatype.clone()),
        )
    }

    /// Returns how many derived types are live, for leak reports and tests.
    pub fn live(&self) -> usize {
        self.table.live()
    }
}
