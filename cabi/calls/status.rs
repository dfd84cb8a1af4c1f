//! The fields of a status (MPI 5.0 sections 3.2.5, 3.8.4 and 13.3).

use super::datatype::held;
use crate::args::{Handle, Out, OutCount, StatusPointer};
use crate::call::Call;
use crate::constants::{MPI_ERR_ARG, MPI_UNDEFINED};
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

/// `MPI_Get_count`: whole instances, or `MPI_UNDEFINED` for a fraction.
pub fn get_count(c: &Call, status: StatusPointer, datatype: Handle, count: OutCount) -> Result {
    let bytes = given(c, status)?.get().bytes as u64;
    count.set(held(c, datatype)?.count_of(bytes).map_or(MPI_UNDEFINED.into(), |count| count as i64));
    Ok(())
}

/// `MPI_Get_elements` and `MPI_Get_elements_x`: basic elements, or `MPI_UNDEFINED` for a fraction.
pub fn get_elements(c: &Call, status: StatusPointer, datatype: Handle, count: OutCount) -> Result {
    let bytes = given(c, status)?.get().bytes as u64;
    count.set(held(c, datatype)?.elements(bytes).map_or(MPI_UNDEFINED.into(), |count| count as i64));
    Ok(())
}

/// `MPI_Status_set_elements` and `MPI_Status_set_elements_x`.
pub fn set_elements(c: &Call, status: StatusPointer, datatype: Handle, count: i64) -> Result {
    let status = given(c, status)?;
    let datatype = held(c, datatype)?;
    let bytes = u64::try_from(count)
        .ok()
        .and_then(|count| datatype.bytes_of_elements(count))
        .filter(|&bytes| bytes <= i64::MAX as u64);
    let Some(bytes) = bytes else {
        return Err(c.wrong(
            2,
            MPI_ERR_ARG,
            format_args!("{count} elements of this datatype are no possible message"),
        ));
    };
    let mut value = status.get();
    value.bytes = bytes as i64;
    status.set(&value);
    Ok(())
}
