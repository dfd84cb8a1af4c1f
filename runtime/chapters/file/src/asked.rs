//! Accesses as calls name them, and what becomes of them.

use crate::direction::Direction;
use crate::transfer::UserBuffer;
use p2p::point_to_point::Buffer;
use p2p::request::Status;

/// The arguments of an access, as a call names them.
#[derive(Clone, Copy, Debug)]
pub struct AccessArguments {
    /// The file's handle.
    pub file: usize,
    /// Direction of the data.
    pub direction: Direction,
    /// The program's memory.
    pub buffer: Buffer,
    /// `true` if the file's own pointers say where: a sequential file has no others.
    pub by_shared: bool,
}

/// An access that may begin.
#[derive(Clone)]
pub struct Transfer {
    pub(crate) file: u32,
    /// The file's handle.
    pub(crate) handle: usize,
    pub(crate) direction: Direction,
    pub(crate) memory: UserBuffer,
    /// Bytes in the file.
    pub(crate) bytes: u64,
    /// Etypes of the view.
    pub(crate) etypes: u64,
    /// The program's memory and its datatype as the call names them, for functions of the program.
    pub(crate) named: (usize, usize),
    /// Bytes to write, if a function of the program has converted them.
    pub(crate) converted: Option<Vec<u8>>,
    /// `true` if it has its turn as a whole, so that what is read comes with the answer.
    pub(crate) atomic: bool,
    /// Bytes of the file that an atomic read found, where the file is not there to be asked.
    pub(crate) found: Option<u64>,
}

impl Transfer {
    /// Returns the index of its file.
    pub fn file(&self) -> u32 {
        self.file
    }
    /// Elements of its datatype, and their bytes in the file.
    pub fn elements(&self) -> (u64, u64) {
        (self.memory.count.saturating_mul(self.memory.datatype.element_count), self.bytes)
    }
    /// Sets the bytes to write, which a function of the program has made of the memory.
    pub fn convert(&mut self, bytes: Option<Vec<u8>>) {
        self.converted = bytes;
    }
    /// Returns how far it moves a pointer, in etypes.
    pub fn etypes(&self) -> u64 {
        self.etypes
    }
}

/// An access that has begun.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum AccessStart {
    /// All is done: so many bytes of memory were moved.
    Done(u64),
    /// The handle of the request that completes it.
    Waits(usize),
}

impl AccessStart {
    /// Returns the status of an access that is done.
    pub fn status(self) -> Option<Status> {
        match self {
            AccessStart::Done(bytes) => Some(status(bytes)),
            AccessStart::Waits(_) => None,
        }
    }
}

/// Returns the status of an access to a file: how many bytes of memory it moved, and nothing else (MPI 5.0
/// section
/// 14.4.1).
pub(crate) fn status(bytes: u64) -> Status {
    Status { bytes, ..Status::EMPTY }
}
