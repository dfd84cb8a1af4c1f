//! The fields of a status (MPI 5.0 sections 3.2.5, 3.8.4 and 13.3).

use crate::args::{Out, StatusPointer};
use crate::constants::MPI_ERR_ARG;
use crate::edge::Call;
use mpi::error::Result;

fn given(c: &Call, status: StatusPointer) -> Result<StatusPointer> {
    if status.is_ignored() {
        return Err(c.wrong(0, MPI_ERR_ARG, "MPI_STATUS_IGNORE holds nothing; pass a status"));
    }
    Ok(status)
}

/// `MPI_Status_get_source`.
pub fn get_source(c: &Call, status: StatusPointer, source: Out<i32>) -> Result {
    source.set(given(c, status)?.get().source);
    Ok(())
}

/// `MPI_Status_get_tag`.
pub fn get_tag(c: &Call, status: StatusPointer, tag: Out<i32>) -> Result {
    tag.set(given(c, status)?.get().tag);
    Ok(())
}

/// `MPI_Status_get_error`.
pub fn get_error(c: &Call, status: StatusPointer, error: Out<i32>) -> Result {
    error.set(given(c, status)?.get().error);
    Ok(())
}

/// `MPI_Status_set_source`.
pub fn set_source(c: &Call, status: StatusPointer, source: i32) -> Result {
    let status = given(c, status)?;
    let mut value = status.get();
    value.source = source;
    status.set(&value);
    Ok(())
}

/// `MPI_Status_set_tag`.
pub fn set_tag(c: &Call, status: StatusPointer, tag: i32) -> Result {
    let status = given(c, status)?;
    let mut value = status.get();
    value.tag = tag;
    status.set(&value);
    Ok(())
}

/// `MPI_Status_set_error`.
pub fn set_error(c: &Call, status: StatusPointer, error: i32) -> Result {
    let status = given(c, status)?;
    let mut value = status.get();
    value.error = error;
    status.set_all(&value);
    Ok(())
}

/// `MPI_Status_set_cancelled`.
pub fn set_cancelled(c: &Call, status: StatusPointer, flag: bool) -> Result {
    let status = given(c, status)?;
    let mut value = status.get();
    value.cancelled = flag;
    status.set(&value);
    Ok(())
}

/// `MPI_Test_cancelled`.
pub fn test_cancelled(c: &Call, status: StatusPointer, flag: Out<bool>) -> Result {
    flag.set(given(c, status)?.get().cancelled);
    Ok(())
}
