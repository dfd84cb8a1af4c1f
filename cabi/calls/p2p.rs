//! Point-to-point communication (MPI 5.0 chapter 3).

use crate::args::{Handle, InOut, Out, StatusFields, StatusPointer};
use crate::call::{Call, Quick, Wait};
use mpi::error::Result;
use mpi::handle::MESSAGE_NULL;
use mpi::node::NIL;
use mpi::point_to_point::SendMode;
use mpi::request::{self, Template};
use mpi::world::World;
use rank::Addr;

/// A status as the program sees it.
pub fn status(from: &request::Status) -> StatusFields {
    StatusFields {
        source: from.source,
        tag: from.tag,
        error: from.error,
        bytes: from.bytes as i64,
        cancelled: from.cancelled,
    }
}

#[inline(always)]
fn send_as(
    c: &Call,
    mode: SendMode,
    buf: Addr,
    count: i64,
    datatype: Handle,
    dest: i32,
    tag: i32,
    comm: Handle,
) -> Result {
    c.mpi.send(mode, (buf, count, datatype.0), (dest, tag, comm.0))
}

#[inline(always)]
#[allow(clippy::too_many_arguments)]
fn isend_as(
    c: &Call,
    mode: SendMode,
    buf: Addr,
    count: i64,
    datatype: Handle,
    dest: i32,
    tag: i32,
    comm: Handle,
    request: Out<Handle>,
) -> Result {
    request.set(Handle(c.mpi.isend(mode, (buf, count, datatype.0), (dest, tag, comm.0))?));
    Ok(())
}

#[allow(clippy::too_many_arguments)]
fn send_init_as(
    c: &Call,
    mode: SendMode,
    buf: Addr,
    count: i64,
    datatype: Handle,
    dest: i32,
    tag: i32,
    comm: Handle,
    request: Out<Handle>,
) -> Result {
    c.mpi.world().objects.comms.get(comm.0)?;
    let template = Template::Send { mode, buffer: (buf, count, datatype.0), to: (dest, tag, comm.0) };
    request.set(Handle(c.mpi.persistent(template)));
    Ok(())
}

macro_rules! modes {
    ($($mode:ident $send:ident $isend:ident $init:ident $name:literal;)*) => { $(
        #[doc = concat!("`MPI_", $name, "`: ", stringify!($mode), " mode.")]
        #[inline(always)]
        pub fn $send(
            c: &Call, buf: Addr, count: i64, datatype: Handle, dest: i32, tag: i32, comm: Handle
        ) -> Result {
            send_as(c, SendMode::$mode, buf, count, datatype, dest, tag, comm)
        }
        #[doc = concat!("The nonblocking form of `MPI_", $name, "`.")]
        #[inline(always)]
        #[allow(clippy::too_many_arguments)]
        pub fn $isend(
            c: &Call, buf: Addr, count: i64, datatype: Handle, dest: i32, tag: i32, comm: Handle,
            request: Out<Handle>
        ) -> Result {
            isend_as(c, SendMode::$mode, buf, count, datatype, dest, tag, comm, request)
        }
        #[doc = concat!("The persistent form of `MPI_", $name, "`.")]
        #[allow(clippy::too_many_arguments)]
        pub fn $init(
            c: &Call, buf: Addr, count: i64, datatype: Handle, dest: i32, tag: i32, comm: Handle,
            request: Out<Handle>
        ) -> Result {
            send_init_as(c, SendMode::$mode, buf, count, datatype, dest, tag, comm, request)
        }
    )* };
}
modes! {
    Standard send isend send_init "Send";
    Synchronous ssend issend ssend_init "Ssend";
    Buffered bsend ibsend bsend_init "Bsend";
    Ready rsend irsend rsend_init "Rsend";
}

/// [`send`] of a plain message.
#[inline(always)]
pub fn send_quickly(
    world: &mut World,
    buf: Addr,
    count: i64,
    datatype: Handle,
    dest: i32,
    tag: i32,
    comm: Handle,
) -> Quick {
    world.send_quickly((buf, count, datatype.0), (dest, tag, comm.0)).map_or(Quick::Undone, |()| Quick::Over)
}

/// [`isend`] of a plain message.
#[inline(always)]
#[allow(clippy::too_many_arguments)]
pub fn isend_quickly(
    world: &mut World,
    buf: Addr,
    count: i64,
    datatype: Handle,
    dest: i32,
    tag: i32,
    comm: Handle,
    request: Out<Handle>,
) -> Quick {
    started(world.isend_quickly((buf, count, datatype.0), (dest, tag, comm.0)), request)
}

/// [`irecv`] of a plain message.
#[inline(always)]
#[allow(clippy::too_many_arguments)]
pub fn irecv_quickly(
    world: &mut World,
    buf: Addr,
    count: i64,
    datatype: Handle,
    source: i32,
    tag: i32,
    comm: Handle,
    request: Out<Handle>,
) -> Quick {
    started(world.ireceive_quickly((buf, count, datatype.0), (source, tag, comm.0)), request)
}

#[inline(always)]
fn started(handle: Option<usize>, request: Out<Handle>) -> Quick {
    let Some(handle) = handle else { return Quick::Undone };
    request.set(Handle(handle));
    Quick::Over
}

/// [`recv`] of a plain message.
#[inline(always)]
#[allow(clippy::too_many_arguments)]
pub fn recv_quickly(
    world: &mut World,
    buf: Addr,
    count: i64,
    datatype: Handle,
    source: i32,
    tag: i32,
    comm: Handle,
    out: StatusPointer,
) -> Quick {
    match world.receive_quickly((buf, count, datatype.0), (source, tag, comm.0)) {
        None => Quick::Undone,
        Some(NIL) => {
            tell(out, || world.messages.requests().latest());
            Quick::Over
        }
        Some(expected) => Quick::Waits(Wait(expected.into())),
    }
}

/// `MPI_Recv` up to its wait.
#[inline(always)]
#[allow(clippy::too_many_arguments)]
pub fn recv(
    c: &Call,
    buf: Addr,
    count: i64,
    datatype: Handle,
    source: i32,
    tag: i32,
    comm: Handle,
    out: StatusPointer,
) -> Result<Option<Wait>> {
    tell_unless_waiting(c, c.mpi.begin_any_receive((buf, count, datatype.0), (source, tag, comm.0))?, out)
}

/// `MPI_Recv` after its wait.
#[inline(always)]
pub fn recv_end(c: &Call, Wait(expected): Wait, out: StatusPointer) -> Result {
    c.mpi.end_receive(expected as u32)?;
    tell_latest(c, out);
    Ok(())
}

pub use recv_end as sendrecv_end;
pub use recv_end as sendrecv_replace_end;

/// Returns what a receive waits for; the status of one that is complete is told.
#[inline(always)]
fn tell_unless_waiting(c: &Call, expected: Option<u32>, out: StatusPointer) -> Result<Option<Wait>> {
    if expected.is_none() {
        tell_latest(c, out);
    }
    Ok(expected.map(|expected| Wait(expected.into())))
}

#[inline(always)]
fn tell_latest(c: &Call, out: StatusPointer) {
    tell(out, || c.mpi.latest_status());
}

#[inline(always)]
fn tell(out: StatusPointer, latest: impl FnOnce() -> request::Status) {
    if !out.is_ignored() {
        out.set(&status(&latest()));
    }
}

/// `MPI_Irecv`.
#[inline(always)]
#[allow(clippy::too_many_arguments)]
pub fn irecv(
    c: &Call,
    buf: Addr,
    count: i64,
    datatype: Handle,
    source: i32,
    tag: i32,
    comm: Handle,
    request: Out<Handle>,
) -> Result {
    request.set(Handle(c.mpi.any_ireceive((buf, count, datatype.0), (source, tag, comm.0))?));
    Ok(())
}

/// `MPI_Recv_init`.
#[allow(clippy::too_many_arguments)]
pub fn recv_init(
    c: &Call,
    buf: Addr,
    count: i64,
    datatype: Handle,
    source: i32,
    tag: i32,
    comm: Handle,
    request: Out<Handle>,
) -> Result {
    c.mpi.world().objects.comms.get(comm.0)?;
    request.set(Handle(
        c.mpi.persistent(Template::Receive { buffer: (buf, count, datatype.0), from: (source, tag, comm.0) }),
    ));
    Ok(())
}

/// `MPI_Sendrecv` up to its wait.
#[allow(clippy::too_many_arguments)]
pub fn sendrecv(
    c: &Call,
    sendbuf: Addr,
    sendcount: i64,
    sendtype: Handle,
    dest: i32,
    sendtag: i32,
    recvbuf: Addr,
    recvcount: i64,
    recvtype: Handle,
    source: i32,
    recvtag: i32,
    comm: Handle,
    out: StatusPointer,
) -> Result<Option<Wait>> {
    let (send, receive) = ((sendbuf, sendcount, sendtype.0), (recvbuf, recvcount, recvtype.0));
    tell_unless_waiting(
        c,
        c.mpi.begin_send_receive(send, (dest, sendtag, comm.0), receive, (source, recvtag, comm.0), false)?,
        out,
    )
}

/// `MPI_Sendrecv_replace` up to its wait.
#[allow(clippy::too_many_arguments)]
pub fn sendrecv_replace(
    c: &Call,
    buf: Addr,
    count: i64,
    datatype: Handle,
    dest: i32,
    sendtag: i32,
    source: i32,
    recvtag: i32,
    comm: Handle,
    out: StatusPointer,
) -> Result<Option<Wait>> {
    let buffer = (buf, count, datatype.0);
    tell_unless_waiting(
        c,
        c.mpi.begin_send_receive(buffer, (dest, sendtag, comm.0), buffer, (source, recvtag, comm.0), true)?,
        out,
    )
}

/// `MPI_Isendrecv`.
#[allow(clippy::too_many_arguments)]
pub fn isendrecv(
    c: &Call,
    sendbuf: Addr,
    sendcount: i64,
    sendtype: Handle,
    dest: i32,
    sendtag: i32,
    recvbuf: Addr,
    recvcount: i64,
    recvtype: Handle,
    source: i32,
    recvtag: i32,
    comm: Handle,
    request: Out<Handle>,
) -> Result {
    request.set(Handle(c.mpi.isend_receive(
        (sendbuf, sendcount, sendtype.0),
        (dest, sendtag, comm.0),
        (recvbuf, recvcount, recvtype.0),
        (source, recvtag, comm.0),
        false,
    )?));
    Ok(())
}

/// `MPI_Isendrecv_replace`.
#[allow(clippy::too_many_arguments)]
pub fn isendrecv_replace(
    c: &Call,
    buf: Addr,
    count: i64,
    datatype: Handle,
    dest: i32,
    sendtag: i32,
    source: i32,
    recvtag: i32,
    comm: Handle,
    request: Out<Handle>,
) -> Result {
    let buffer = (buf, count, datatype.0);
    request.set(Handle(c.mpi.isend_receive(
        buffer,
        (dest, sendtag, comm.0),
        buffer,
        (source, recvtag, comm.0),
        true,
    )?));
    Ok(())
}

/// `MPI_Probe` up to its wait.
pub fn probe(c: &Call, source: i32, tag: i32, comm: Handle, out: StatusPointer) -> Result<Option<Wait>> {
    if c.mpi.begin_probe((source, tag, comm.0))? {
        return Ok(Some(Wait(0)));
    }
    probe_end(c, Wait(0), source, tag, comm, out).map(|()| None)
}

/// `MPI_Probe` after its wait.
pub fn probe_end(c: &Call, _: Wait, source: i32, tag: i32, comm: Handle, out: StatusPointer) -> Result {
    out.set(&status(&c.mpi.end_probe((source, tag, comm.0))?));
    Ok(())
}

/// `MPI_Iprobe`.
pub fn iprobe(c: &Call, source: i32, tag: i32, comm: Handle, flag: Out<bool>, out: StatusPointer) -> Result {
    let found = c.mpi.iprobe((source, tag, comm.0))?;
    flag.set(found.is_some());
    if let Some(found) = found {
        out.set(&status(&found));
    }
    Ok(())
}

/// `MPI_Mprobe` up to its wait.
pub fn mprobe(
    c: &Call,
    source: i32,
    tag: i32,
    comm: Handle,
    message: Out<Handle>,
    out: StatusPointer,
) -> Result<Option<Wait>> {
    if c.mpi.begin_probe((source, tag, comm.0))? {
        return Ok(Some(Wait(0)));
    }
    mprobe_end(c, Wait(0), source, tag, comm, message, out).map(|()| None)
}

/// `MPI_Mprobe` after its wait.
pub fn mprobe_end(
    c: &Call,
    _: Wait,
    source: i32,
    tag: i32,
    comm: Handle,
    message: Out<Handle>,
    out: StatusPointer,
) -> Result {
    let (handle, found) = c.mpi.end_matched_probe((source, tag, comm.0))?;
    message.set(Handle(handle));
    out.set(&status(&found));
    Ok(())
}

/// `MPI_Improbe`.
pub fn improbe(
    c: &Call,
    source: i32,
    tag: i32,
    comm: Handle,
    flag: Out<bool>,
    message: Out<Handle>,
    out: StatusPointer,
) -> Result {
    let found = c.mpi.matched_iprobe((source, tag, comm.0))?;
    flag.set(found.is_some());
    if let Some((handle, found)) = found {
        message.set(Handle(handle));
        out.set(&status(&found));
    }
    Ok(())
}

/// `MPI_Mrecv` up to its wait.
pub fn mrecv(
    c: &Call,
    buf: Addr,
    count: i64,
    datatype: Handle,
    message: InOut<Handle>,
    out: StatusPointer,
) -> Result<Option<Wait>> {
    let expected = c.mpi.begin_matched_receive((buf, count, datatype.0), message.get().0)?;
    message.set(Handle(MESSAGE_NULL));
    tell_unless_waiting(c, expected, out)
}

/// `MPI_Mrecv` after its wait.
pub fn mrecv_end(c: &Call, wait: Wait, _: InOut<Handle>, out: StatusPointer) -> Result {
    recv_end(c, wait, out)
}

/// `MPI_Imrecv`.
pub fn imrecv(
    c: &Call,
    buf: Addr,
    count: i64,
    datatype: Handle,
    message: InOut<Handle>,
    request: Out<Handle>,
) -> Result {
    let handle = c.mpi.matched_ireceive((buf, count, datatype.0), message.get().0)?;
    message.set(Handle(MESSAGE_NULL));
    request.set(Handle(handle));
    Ok(())
}
