//! Files (MPI 5.0 chapter 14): one shared object a process, whatever the number of its members. What is done
//! with them is another crate's.

use crate::abi;
use crate::error::ErrorClass;
use crate::handles::{Grouped, OfGroup};
use std::rc::Rc;

/// `MPI_FILE_NULL`.
pub const FILE_NULL: usize = abi::MPI_FILE_NULL;

/// An open file.
#[derive(Debug)]
pub struct File {
    /// The communicator of those who have opened it, which is its own.
    pub comm: usize,
    /// Access mode: the bits `MPI_MODE_*` with which it was opened.
    pub amode: i32,
    /// The name on the host.
    pub name: Rc<str>,
    /// Bytes in it when it was opened: all members' pointers begin there with `MPI_MODE_APPEND`.
    pub size: u64,
    /// The rank (world number) whose process decides what has an order: that of the first member.
    pub home: u32,
    /// The one rank (world number) whose it is, if it was opened on a communicator that every rank has for
    /// itself.
    pub owner: Option<u32>,
}

impl OfGroup for File {
    fn comm(&self) -> usize {
        self.comm
    }
    fn owner(&self) -> Option<u32> {
        self.owner
    }
    const NAMING: (ErrorClass, usize, &'static str, &'static str) =
        (ErrorClass::FILE, FILE_NULL, "MPI_FILE_NULL", "file");
}

/// All files that a process's ranks have open.
pub type Files = Grouped<File>;
