//! The tables of all kinds of objects together.

use crate::attribute::Attributes;
use crate::comm::Comms;
use crate::datatype::{Constructor, Datatype, Element, Types};
use crate::errhandler::Errhandlers;
use crate::error::{ErrorCodes, Result};
use crate::file::Files;
use crate::group::GroupRegistry;
use crate::info::{Info, Infos};
use crate::op::{self, Ops, Predefined};
use crate::session::Sessions;
use crate::win::Wins;

/// The objects of a process's ranks, by kind: shared by the ranks that made them alike.
// One struct and not one global each: a process may have several worlds (tests do), and what a call changes
// is in its arguments.
pub struct Objects {
    /// Communicators.
    pub comms: Comms,
    /// Datatypes.
    pub types: Types,
    /// Operations.
    pub ops: Ops,
    /// Groups.
    pub groups: GroupRegistry,
    /// Windows.
    pub wins: Wins,
    /// Sessions.
    pub sessions: Sessions,
    /// Open files.
    pub files: Files,
    /// Info objects.
    pub infos: Infos,
    /// Attribute keys and values.
    pub attributes: Attributes,
    /// Error handlers.
    pub errhandlers: Errhandlers,
    /// Error classes and codes that the program added.
    pub codes: ErrorCodes,
}

impl Objects {
    /// Makes the registry of the predefined objects. `environment` is what `MPI_INFO_ENV` says.
    pub fn new(comms: Comms, environment: Info) -> Objects {
        Objects {
            comms,
            types: Types::new(),
            ops: Ops::new(),
            groups: GroupRegistry::new(),
            wins: Wins::default(),
            sessions: Sessions::default(),
            files: Files::default(),
            infos: Infos::new(environment),
            attributes: Attributes::default(),
            errhandlers: Errhandlers::default(),
            codes: ErrorCodes::default(),
        }
    }

    /// Returns `true` if ranks of the process may have memory, or parts of files, that others reach without a
    /// call of theirs.
    pub fn have_targets(&self) -> bool {
        !self.wins.is_empty() || !self.files.is_empty()
    }

    /// Returns the pair type of a [`Constructor::ValueIndex`], where `MPI_MAXLOC` is defined for it; one
    /// handle for all ranks and all time.
    ///
    /// # Errors
    /// What [`Datatype::new`] fails with.
    pub fn pair(&mut self, constructor: Constructor) -> Result<Option<usize>> {
        // Here and not at the types: they know of no operation.
        match Datatype::new(constructor.clone())?.element {
            Some(element @ Element::Pair(_, index))
                if index.is_integer() && op::kernel(Predefined::Maxloc, element).is_some() =>
            {
                self.types.permanent(constructor).map(Some)
            }
            _ => Ok(None),
        }
    }
}
