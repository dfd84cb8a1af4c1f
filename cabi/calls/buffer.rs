//! Buffers of buffered sends (MPI 5.0 section 3.6).

use crate::args::{Handle, Out, OutCount};
use crate::call::Call;
use crate::constants::MPI_BUFFER_AUTOMATIC;
use mpi::buffered::{Attached, Use};
use mpi::error::Result;
use mpi::handle::REQUEST_SENT;
use rank::Addr;

fn attach_to(c: &Call, of: Use, buffer: Addr, size: i64) -> Result {
    let size = if buffer.0 == MPI_BUFFER_AUTOMATIC { u64::MAX } else { size as u64 };
    c.mpi.attach_buffer(of, Attached { at: buffer, size })
}

fn detach_from(c: &Call, of: Use, buffer_addr: Addr, size: OutCount) -> Result {
    let was = c.mpi.detach_buffer(of)?;
    if !buffer_addr.is_null() {
        rank::memory::store(buffer_addr, was.at.0);
    }
    size.set(if was.size == u64::MAX { 0 } else { was.size as i64 });
    Ok(())
}

/// `MPI_Buffer_attach`.
pub fn attach(c: &Call, buffer: Addr, size: i64) -> Result {
    attach_to(c, Use::All, buffer, size)
}
/// `MPI_Buffer_detach`.
pub fn detach(c: &Call, buffer_addr: Addr, size: OutCount) -> Result {
    detach_from(c, Use::All, buffer_addr, size)
}
/// `MPI_Buffer_flush`: messages leave the buffer at once.
pub fn flush(_: &Call) -> Result {
    Ok(())
}
/// `MPI_Buffer_iflush`.
pub fn iflush(_: &Call, request: Out<Handle>) -> Result {
    request.set(Handle(REQUEST_SENT));
    Ok(())
}
/// `MPI_Comm_attach_buffer`.
pub fn comm_attach(c: &Call, comm: Handle, buffer: Addr, size: i64) -> Result {
    c.mpi.world().objects.comms.get(comm.0)?;
    attach_to(c, Use::Comm(comm.0), buffer, size)
}
/// `MPI_Comm_detach_buffer`.
pub fn comm_detach(c: &Call, comm: Handle, buffer_addr: Addr, size: OutCount) -> Result {
    detach_from(c, Use::Comm(comm.0), buffer_addr, size)
}
/// `MPI_Comm_flush_buffer`.
pub fn comm_flush(c: &Call, comm: Handle) -> Result {
    c.mpi.world().objects.comms.get(comm.0).map(|_| ())
}
/// `MPI_Comm_iflush_buffer`.
pub fn comm_iflush(c: &Call, comm: Handle, request: Out<Handle>) -> Result {
    c.mpi.world().objects.comms.get(comm.0)?;
    request.set(Handle(REQUEST_SENT));
    Ok(())
}

fn check(c: &Call, session: Handle) -> Result {
    let world = c.mpi.world();
    world.objects.sessions.check(world.messages.me(), session.0)
}

/// `MPI_Session_attach_buffer`.
pub fn session_attach(c: &Call, session: Handle, buffer: Addr, size: i64) -> Result {
    check(c, session)?;
    attach_to(c, Use::Session(session.0), buffer, size)
}
/// `MPI_Session_detach_buffer`.
pub fn session_detach(c: &Call, session: Handle, buffer_addr: Addr, size: OutCount) -> Result {
    check(c, session)?;
    detach_from(c, Use::Session(session.0), buffer_addr, size)
}
/// `MPI_Session_flush_buffer`.
pub fn session_flush(c: &Call, session: Handle) -> Result {
    check(c, session)
}
/// `MPI_Session_iflush_buffer`.
pub fn session_iflush(c: &Call, session: Handle, request: Out<Handle>) -> Result {
    check(c, session)?;
    request.set(Handle(REQUEST_SENT));
    Ok(())
}
