//! Objects of a group of ranks that have a communicator of their own, windows and files: one shared object a
//! process, whatever the number of its members. Who has given the communicator back has given back the
//! object.

use crate::comm::{Comm, Comms};
use crate::error::{ErrorClass, Failure, Result};
use crate::handle;
use crate::info::Info;
use crate::slab::Slab;
use rustc_hash::FxHashMap;

/// An object of a group.
pub trait OfGroup {
    /// Returns the handle of its communicator.
    fn comm(&self) -> usize;
    /// Returns the one rank (world number) whose it is, if it was made on a communicator that every rank has
    /// for itself.
    fn owner(&self) -> Option<u32>;
    /// The class of an invalid handle, the null handle and its name, the noun in messages.
    const NAMING: (ErrorClass, usize, &'static str, &'static str);
}

/// All objects of a kind.
pub struct Grouped<T> {
    slab: Slab<T>,
    infos: FxHashMap<(usize, u32), Info>,
    /// By the context of its communicator, which all processes know it by.
    // Records between processes name an object so; an index is a process's own.
    by_context: FxHashMap<u32, u32>,
}

impl<T> Default for Grouped<T> {
    fn default() -> Self {
        Grouped { slab: Slab::default(), infos: FxHashMap::default(), by_context: FxHashMap::default() }
    }
}

impl<T: OfGroup> Grouped<T> {
    /// Adds a new object and returns its handle.
    ///
    /// # Errors
    /// `MPI_ERR_COMM` if its communicator is none.
    pub fn make(&mut self, comms: &Comms, object: T) -> Result<usize> {
        let context = comms.get(object.comm())?.context;
        let index = self.slab.insert(object);
        self.by_context.insert(context, index);
        Ok(handle::encode(index))
    }

    /// Returns the index of a handle that the mounted rank has.
    ///
    /// # Errors
    /// The kind's class of invalid handles.
    #[inline]
    pub fn index(&self, comms: &Comms, handle: usize) -> Result<u32> {
        match handle::decode(handle) {
            Some(index) if self.slab.get(index).is_some_and(|object| Self::is_of(comms, object)) => Ok(index),
            _ => Err(Self::invalid(handle)),
        }
    }

    /// Returns the object behind a handle, whoever has it, and its index.
    #[inline]
    pub fn known(&self, handle: usize) -> Option<(u32, &T)> {
        let index = handle::decode(handle)?;
        self.slab.get(index).map(|object| (index, object))
    }

    // Having its communicator is having the object: who freed it has neither, and no second set of holders is
    // kept.
    fn is_of(comms: &Comms, object: &T) -> bool {
        let Ok(comm) = comms.get(object.comm()) else { return false };
        match object.owner() {
            Some(owner) => owner == comms.current,
            None => comm.group.rank_of(comms.current).is_some(),
        }
    }

    #[cold]
    fn invalid(handle: usize) -> Box<Failure> {
        let (class, null, name, noun) = T::NAMING;
        let why = if handle == null {
            format!("{name} is not a {noun} to use here")
        } else {
            format!("{noun} handle {handle:#x} is not valid: it was freed, or never made")
        };
        Failure::new(class, why)
    }

    /// Returns the object behind a handle that the mounted rank has.
    ///
    /// # Errors
    /// As [`Grouped::index`].
    pub fn get(&self, comms: &Comms, handle: usize) -> Result<&T> {
        Ok(&self.slab[self.index(comms, handle)?])
    }

    /// Returns the object at an index.
    #[inline]
    pub fn at(&self, index: u32) -> &T {
        &self.slab[index]
    }

    /// Returns `true` if there is none.
    pub fn is_empty(&self) -> bool {
        self.by_context.is_empty()
    }

    /// Returns the object at an index, if it still is.
    pub fn alive(&self, index: u32) -> Option<&T> {
        self.slab.get(index)
    }

    /// Returns the communicator of the object at an index, whoever is mounted, if it still is.
    pub fn comm<'a>(&self, comms: &'a Comms, index: u32) -> Option<&'a Comm> {
        comms.alive(handle::decode(self.slab.get(index)?.comm())?)
    }

    /// Returns the object whose communicator has this context.
    pub fn by_context(&self, context: u32) -> Option<u32> {
        self.by_context.get(&context).copied()
    }

    /// Removes an object that all members have given back, and its communicator, whose context this was.
    /// Returns the object, if it was there.
    pub fn remove(&mut self, index: u32, context: u32) -> Option<T> {
        self.by_context.remove(&context);
        self.slab.remove(index)
    }

    /// Returns the hints that an object has for a rank: these defaults, and what the rank has said.
    ///
    /// # Errors
    /// None for keys and values that are short enough.
    pub fn info(&self, rank: u32, handle: usize, defaults: &[(&str, &str)]) -> Result<Info> {
        let mut info = Info::default();
        for &(key, value) in defaults {
            info.set(key, value)?;
        }
        for (key, value) in self.infos.get(&(handle, rank)).into_iter().flat_map(Info::iter) {
            info.set(key, value)?;
        }
        Ok(info)
    }

    /// Adds hints of a rank; what it gave before of other keys stays.
    ///
    /// # Errors
    /// None for keys and values of an info object.
    pub fn add_info(&mut self, rank: u32, handle: usize, more: &Info) -> Result {
        if more.is_empty() {
            return Ok(());
        }
        let info = self.infos.entry((handle, rank)).or_default();
        more.iter().try_for_each(|(key, value)| info.set(key, value))
    }

    /// Forgets a rank that gives the object back.
    pub fn forget(&mut self, rank: u32, handle: usize) {
        self.infos.remove(&(handle, rank));
    }
}
