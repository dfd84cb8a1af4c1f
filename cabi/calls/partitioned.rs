//! Partitioned communication (MPI 5.0 chapter 4).

use crate::args::{Handle, Ints, Out};
use crate::call::Call;
use crate::constants::MPI_ERR_ARG;
use mpi::error::Result;
use mpi::handle::REQUEST_NULL;
use mpi::partitioned::Init;
use rank::Addr;

/// `MPI_Psend_init`. No info key means anything.
pub fn psend_init(
    c: &Call,
    buf: Addr,
    partitions: i32,
    count: i64,
    datatype: Handle,
    dest: i32,
    tag: i32,
    comm: Handle,
    _info: Handle,
    request: Out<Handle>,
) -> Result {
    let init = Init { partitions, buffer: (buf, count, datatype.0), peer: (dest, tag, comm.0) };
    request.set(Handle(c.mpi.init_partitioned_send(init)?));
    Ok(())
}

/// `MPI_Precv_init`. No info key means anything.
pub fn precv_init(
    c: &Call,
    buf: Addr,
    partitions: i32,
    count: i64,
    datatype: Handle,
    source: i32,
    tag: i32,
    comm: Handle,
    _info: Handle,
    request: Out<Handle>,
) -> Result {
    let init = Init { partitions, buffer: (buf, count, datatype.0), peer: (source, tag, comm.0) };
    request.set(Handle(c.mpi.init_partitioned_receive(init)?));
    Ok(())
}

/// `MPI_Pready`.
pub fn pready(c: &Call, partition: i32, request: Handle) -> Result {
    c.mpi.partitions_ready(request.0, std::iter::once(partition))
}

/// `MPI_Pready_range`: from `low` to `high`, both included.
pub fn pready_range(c: &Call, low: i32, high: i32, request: Handle) -> Result {
    if low > high {
        return Err(c.wrong(
            0,
            MPI_ERR_ARG,
            format_args!("the range from {low} to {high} has no partition: give the lower one first"),
        ));
    }
    c.mpi.partitions_ready(request.0, low..=high)
}

/// `MPI_Pready_list`.
pub fn pready_list(c: &Call, length: i32, partitions: Ints, request: Handle) -> Result {
    c.mpi.partitions_ready(request.0, (0..length as usize).map(|index| partitions.get(index)))
}

/// `MPI_Parrived`: nothing is missing of a request that is null or not active.
pub fn parrived(c: &Call, request: Handle, partition: i32, flag: Out<bool>) -> Result {
    flag.set(request.0 == REQUEST_NULL || c.mpi.has_partition_arrived(request.0, partition)?);
    Ok(())
}
