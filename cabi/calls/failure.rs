//! Failures of processes: ULFM (docs/reference/failures.md).

use crate::args::{Handle, InOut, Out};
use crate::call::Call;
use crate::constants::MPI_ERR_ARG;
use mpi::error::Result;
use mpi::group::Group;
use std::rc::Rc;

/// `MPIX_Comm_revoke`.
pub fn revoke(c: &Call, comm: Handle) -> Result {
    c.mpi.comm_revoke(comm.0)
}

/// `MPIX_Comm_is_revoked`.
pub fn is_revoked(c: &Call, comm: Handle, flag: Out<bool>) -> Result {
    flag.set(c.mpi.comm_is_revoked(comm.0)?);
    Ok(())
}

fn give(c: &Call, group: Rc<Group>, to: Out<Handle>) -> Result {
    let mut world = c.mpi.world();
    let me = world.messages.me();
    to.set(Handle(world.objects.groups.create(me, group)?));
    Ok(())
}

/// `MPIX_Comm_get_failed`.
pub fn get_failed(c: &Call, comm: Handle, failedgrp: Out<Handle>) -> Result {
    give(c, c.mpi.comm_get_failed(comm.0)?, failedgrp)
}

/// `MPIX_Comm_ack_failed`.
pub fn ack_failed(c: &Call, comm: Handle, num_to_ack: i32, num_acked: Out<i32>) -> Result {
    let Ok(count) = u32::try_from(num_to_ack) else {
        return Err(c.wrong(
            1,
            MPI_ERR_ARG,
            format!("{num_to_ack} is negative; pass how many of the failed processes to acknowledge"),
        ));
    };
    num_acked.set(c.mpi.comm_ack_failed(comm.0, count)? as i32);
    Ok(())
}

/// `MPIX_Comm_failure_ack`: all that are known.
pub fn failure_ack(c: &Call, comm: Handle) -> Result {
    c.mpi.comm_ack_failed(comm.0, u32::MAX).map(|_| ())
}

/// `MPIX_Comm_failure_get_acked`.
pub fn failure_get_acked(c: &Call, comm: Handle, failedgrp: Out<Handle>) -> Result {
    give(c, c.mpi.comm_failure_get_acked(comm.0)?, failedgrp)
}

/// `MPIX_Comm_agree`.
pub fn agree(c: &Call, comm: Handle, flag: InOut<i32>) -> Result {
    c.mpi.comm_agree(comm.0, flag.get(), flag.at())
}

/// `MPIX_Comm_iagree`.
pub fn iagree(c: &Call, comm: Handle, flag: InOut<i32>, request: Out<Handle>) -> Result {
    request.set(Handle(c.mpi.comm_iagree(comm.0, flag.get(), flag.at())?));
    Ok(())
}

/// `MPIX_Comm_shrink`.
pub fn shrink(c: &Call, comm: Handle, newcomm: Out<Handle>) -> Result {
    newcomm.set(Handle(c.mpi.comm_shrink(comm.0)?));
    Ok(())
}
