//! Dynamic processes (MPI 5.0 sections 11.8 to 11.10): ports, published names, and the ends of sockets.

use super::info::hints;
use crate::args::{Handle, Out, OutText, Text};
use crate::call::Call;
use crate::constants::{MPI_ERR_ARG, MPI_MAX_PORT_NAME};
use mpi::error::Result;
use mpi::handle::COMM_NULL;
use std::mem::ManuallyDrop;
use std::net::TcpStream;
use std::os::fd::FromRawFd;

/// `MPI_Open_port`.
pub fn open_port(c: &Call, info: Handle, port_name: OutText) -> Result {
    hints(c, info)?;
    port_name.set(c.mpi.open_port().as_bytes(), MPI_MAX_PORT_NAME as usize);
    Ok(())
}

/// `MPI_Close_port`.
pub fn close_port(c: &Call, port_name: Text) -> Result {
    c.mpi.close_port(&port_name.text())
}

/// `MPI_Publish_name`.
pub fn publish_name(c: &Call, service_name: Text, info: Handle, port_name: Text) -> Result {
    hints(c, info)?;
    c.mpi.publish_name(&service_name.text(), &port_name.text())
}

/// `MPI_Unpublish_name`.
pub fn unpublish_name(c: &Call, service_name: Text, info: Handle, port_name: Text) -> Result {
    hints(c, info)?;
    c.mpi.unpublish_name(&service_name.text(), &port_name.text())
}

/// `MPI_Lookup_name`.
pub fn lookup_name(c: &Call, service_name: Text, info: Handle, port_name: OutText) -> Result {
    hints(c, info)?;
    let port = c.mpi.look_up_name(&service_name.text())?;
    port_name.set(port.as_bytes(), MPI_MAX_PORT_NAME as usize);
    Ok(())
}

/// What the root alone gives.
fn port_of(c: &Call, info: Handle, port_name: Text) -> Result<String> {
    hints(c, info)?;
    Ok(port_name.text())
}

/// `MPI_Comm_accept`. Port and info are the root's alone.
pub fn accept(c: &Call, port_name: Text, info: Handle, root: i32, comm: Handle, newcomm: Out<Handle>) -> Result {
    newcomm.set(Handle(COMM_NULL));
    let made = c.mpi.comm_accept(comm.0, root, || port_of(c, info, port_name))?;
    newcomm.set(Handle(made));
    super::comm::inherit(c, comm.0, made);
    Ok(())
}

/// `MPI_Comm_connect`. Port and info are the root's alone.
pub fn connect(c: &Call, port_name: Text, info: Handle, root: i32, comm: Handle, newcomm: Out<Handle>) -> Result {
    newcomm.set(Handle(COMM_NULL));
    let made = c.mpi.comm_connect(comm.0, root, || port_of(c, info, port_name))?;
    newcomm.set(Handle(made));
    super::comm::inherit(c, comm.0, made);
    Ok(())
}

/// `MPI_Comm_join`: both ends meet under the two addresses of their connection.
// Nothing is read from the socket, which both ranks share with this process and which a rank may not wait for: other ranks run on
// this thread.
pub fn join(c: &Call, fd: i32, intercomm: Out<Handle>) -> Result {
    intercomm.set(Handle(COMM_NULL));
    let Some((mine, theirs)) = addresses(fd) else {
        let text =
            format_args!("file descriptor {fd} is not a connected socket with Internet addresses, by which both ends can find each other");
        return Err(c.wrong(0, MPI_ERR_ARG, text));
    };
    let name = format!("{} {}", (&mine).min(&theirs), (&mine).max(&theirs));
    intercomm.set(Handle(c.mpi.comm_join(&name)?));
    Ok(())
}

/// The addresses of the two ends of a socket, this one's first.
fn addresses(fd: i32) -> Option<(String, String)> {
    if fd < 0 {
        return None;
    }
    // SAFETY: never closed here (`ManuallyDrop`); a descriptor that is not open, or no socket, is told by its two questions.
    let socket = ManuallyDrop::new(unsafe { TcpStream::from_raw_fd(fd) });
    Some((socket.local_addr().ok()?.to_string(), socket.peer_addr().ok()?.to_string()))
}
