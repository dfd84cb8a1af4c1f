//! The MPI whose calls are recorded.

use crate::objects::{Membership, RelativeBase};
use crate::parameter::RecordedParameter;
use rank::Addr;
use recorder::{Class, RecordedStatus};

/// The meaning of handles, statuses, communicators and Fortran's arguments for the MPI whose calls are
/// recorded.
///
/// Functions without a receiver: an argument is a few words on the stack of the rank that calls.
pub trait Host: 'static {
    /// Bytes of a status that are enough for this MPI.
    const STATUS: usize;

    /// Element `k` of an array of statuses of the program.
    fn status(at: Addr, k: usize) -> RecordedStatus;

    /// Element `k` of an array of handles as C has them.
    fn handle(class: Option<Class>, at: Addr, k: usize) -> usize;

    /// Returns a number in the memory of the program, which may be a constant.
    fn number(parameter: &RecordedParameter, number: i32) -> i32;

    /// Returns the handle that a request gets in place of one that several have; `None` if it has its own.
    fn distinct(request: usize) -> Option<usize>;

    /// Notes that a handle is that of no object any more.
    fn forget(class: Class, handle: usize);

    /// Text of C, without its end.
    fn text(at: Addr) -> Vec<u8>;

    /// Fortran's argument for a status: null if it is ignored.
    fn fortran_status(given: Addr) -> Addr;

    /// Fortran's argument for a buffer.
    fn fortran_buffer(given: Addr) -> Addr;

    /// Fortran's argument for the weights of edges.
    fn fortran_weights(given: Addr) -> Addr;

    /// Fortran's argument for a buffer, in a descriptor.
    fn fortran_base(given: Addr) -> Addr;

    /// Fortran's argument for a text, in a descriptor: the text and its length.
    fn fortran_text(given: Addr) -> (Addr, usize);

    /// Returns the calling rank in the world.
    fn world() -> RelativeBase;

    /// Returns what the calling rank is in a communicator; `None` if it is no member or the handle is none.
    fn position(comm: usize) -> Option<RelativeBase>;

    /// Returns a communicator as the calling rank sees it; `None` if the handle is none.
    fn membership(comm: usize) -> Option<Membership>;

    /// Returns `true` if memory is attached to a window and detached while it is there.
    fn is_dynamic(window: usize) -> bool;

    /// Returns the context of a communicator.
    fn context(comm: usize) -> Option<u32>;

    /// Returns how many neighbours send to the calling rank in a communicator, and how many it sends to.
    fn neighbors(comm: usize) -> Option<(usize, usize)>;

    /// Returns how many dimensions the grid of a communicator has; `None` if it has no grid.
    fn dimensions(comm: usize) -> Option<usize>;

    /// Returns the size and the extent of a datatype.
    fn datatype(handle: usize) -> Option<(u64, i64)>;

    /// Returns the ranks of a group in `MPI_COMM_WORLD`; `None` if the handle is none.
    fn members(group: usize) -> Option<Vec<i32>>;

    /// Returns the bytes in an open file; `None` if they are not known.
    fn file_size(file: usize) -> Option<i64>;

    /// Returns the bytes that an open file had when it was opened; `None` if they are not known.
    fn opened_size(file: usize) -> Option<i64>;

    /// Returns the world rank of a source in a communicator of the calling rank.
    fn source(comm: usize, source: i32) -> Option<u32>;
}
