//! Files of a rank without a program, and the datatypes of their views.

use mpi::file::Direction;
use mpi::files::Pointer;
use mpi::info::Info;
use std::rc::Rc;

/// A call about a file.
#[derive(Clone, PartialEq, Debug)]
pub struct FileCall {
    /// The file's number, as the workload likes: a rank has at most one file of a number.
    pub file: u32,
    /// The action.
    pub does: FileAction,
}

/// An action on a file. No file of the host is touched.
#[derive(Clone, PartialEq, Debug)]
pub enum FileAction {
    /// `MPI_File_open`.
    Open {
        /// The communicator's number.
        comm: u32,
        /// The file's name, which decides the servers of a storage model.
        name: Rc<str>,
        /// The access mode.
        amode: i32,
        /// Bytes in the file.
        size: u64,
        /// Hints.
        hints: Rc<Info>,
        /// The error class with which the first member cannot open it.
        failure: Option<i32>,
    },
    /// `MPI_File_close`.
    Close,
    /// `MPI_File_set_view`.
    View(FileView),
    /// `MPI_File_set_info`.
    Hints(Rc<Info>),
    /// An access.
    Access(FileAccess),
    /// The second half of a split access, by the name of the whole.
    EndSplit(&'static str),
    /// `MPI_File_seek`: offset, whence, and the bytes in the file if they count.
    Seek(i64, i32, u64),
    /// `MPI_File_seek_shared`.
    SeekShared(i64, i32, u64),
    /// `MPI_File_get_position_shared`.
    SharedPosition,
    /// `MPI_File_set_size`.
    SetSize(i64),
    /// `MPI_File_preallocate`.
    Preallocate(i64),
    /// `MPI_File_set_atomicity`.
    Atomicity(bool),
    /// `MPI_File_sync`.
    Sync,
}

/// A view of a file.
#[derive(Clone, PartialEq, Debug)]
pub struct FileView {
    /// Bytes, or `MPI_DISPLACEMENT_CURRENT`.
    pub disp: i64,
    /// The datatype in which accesses count.
    pub etype: TypeName,
    /// The datatype with which the file is tiled.
    pub filetype: TypeName,
    /// The data representation's name.
    pub datarep: Rc<str>,
    /// Hints.
    pub hints: Rc<Info>,
}

/// An access to a file, without data.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct FileAccess {
    /// Direction of the data.
    pub direction: Direction,
    /// Position.
    pub pointer: Pointer,
    /// `true` if all members call.
    pub collective: bool,
    /// Elements.
    pub count: i64,
    /// Their datatype.
    pub datatype: TypeName,
    /// Bytes of memory that a read finds data for; all if that is not known.
    pub found: Option<u64>,
    /// The end of the call.
    pub ends: AccessEnd,
}

/// End of an access to a file.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum AccessEnd {
    /// With the call.
    Blocking,
    /// With the request of this number.
    Request(u32),
    /// With the second half of this split collective.
    Split(&'static str),
}

/// A datatype.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum TypeName {
    /// A predefined one, by its handle.
    Predefined(usize),
    /// One that the rank has made, by number.
    Made(u32),
}

/// A call that makes or frees a datatype.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TypeCall {
    /// The datatype's number, as the workload likes.
    pub number: u32,
    /// The layout; `None` where it is freed.
    pub made: Option<TypeLayout>,
}

/// A datatype to be made: arguments in the standard's order, one number for one that is no array.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TypeLayout {
    /// The constructor.
    pub shape: TypeShape,
    /// The numbers.
    pub numbers: Vec<Box<[i64]>>,
    /// The datatypes.
    pub of: Box<[TypeName]>,
}

/// A constructor of datatypes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[allow(missing_docs, reason = "they are MPI's")]
pub enum TypeShape {
    Dup,
    Contiguous,
    Vector,
    Hvector,
    Indexed,
    Hindexed,
    IndexedBlock,
    HindexedBlock,
    Struct,
    Subarray,
    Darray,
    Resized,
    F90Real,
    F90Complex,
    F90Integer,
}
