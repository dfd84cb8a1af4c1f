//! Checks of a call's arguments.

use crate::direction::Direction;
use objects::Objects;
use objects::abi::{MPI_MODE_RDONLY, MPI_MODE_SEQUENTIAL, MPI_MODE_WRONLY};
use objects::error::{ErrorClass, Failure, Result};
use objects::file::File;

#[cold]
pub(crate) fn other(text: impl Into<String>) -> Box<Failure> {
    Failure::new(ErrorClass::OTHER, text)
}

#[cold]
pub(crate) fn bad_argument(text: impl Into<String>) -> Box<Failure> {
    Failure::new(ErrorClass::ARG, text)
}

/// Checks that a file that is open for reading alone is not written, nor the other way round.
pub(crate) fn direction(file: &File, direction: Direction) -> Result {
    match direction {
        Direction::Write if file.amode & MPI_MODE_RDONLY != 0 => Err(Failure::new(
            ErrorClass::READ_ONLY,
            "the file was opened with MPI_MODE_RDONLY: open it with MPI_MODE_RDWR or MPI_MODE_WRONLY",
        )),
        Direction::Read if file.amode & MPI_MODE_WRONLY != 0 => Err(Failure::new(
            ErrorClass::ACCESS,
            "the file was opened with MPI_MODE_WRONLY: open it with MPI_MODE_RDWR or MPI_MODE_RDONLY",
        )),
        _ => Ok(()),
    }
}

/// Refuses a sequential file, which has its shared pointer alone (MPI 5.0 section 14.2.1).
pub(crate) fn not_sequential(file: &File) -> Result {
    if file.amode & MPI_MODE_SEQUENTIAL != 0 {
        return Err(Failure::new(
            ErrorClass::UNSUPPORTED_OPERATION,
            "a file that was opened with MPI_MODE_SEQUENTIAL is accessed by its shared pointer, without \
             seeking: use the _shared and _ordered calls",
        ));
    }
    Ok(())
}

/// Checks an offset or a size, which must not be negative, and returns it.
pub(crate) fn not_negative(what: &str, value: i64) -> Result<u64> {
    u64::try_from(value).map_err(|_| bad_argument(format!("{what} {value} is negative: use 0 or more")))
}

/// Returns `true` if nobody but one rank has the file open.
pub(crate) fn is_alone(objects: &Objects, file: u32) -> bool {
    objects.files.at(file).owner.is_some()
        || objects.files.comm(&objects.comms, file).is_some_and(|comm| comm.size() == 1)
}
