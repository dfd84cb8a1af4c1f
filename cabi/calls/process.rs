//! Dynamic processes (MPI 5.0 sections 11.8 to 11.10): ranks that are spawned, ports, published names, and
//! the ends of sockets.

mod program;

use super::info::hints;
use crate::args::{CText, Handle, Handles, Ints, Out, OutText, Texts};
use crate::call::Call;
use crate::constants::{
    MPI_ERR_ARG, MPI_ERR_INFO_VALUE, MPI_ERR_SPAWN, MPI_ERRCODES_IGNORE, MPI_MAX_PORT_NAME, MPI_SUCCESS,
};
use mpi::dynamic::Command;
use mpi::error::{ErrorClass, Failure, Result};
use mpi::handle::COMM_NULL;
use rank::Addr;
use std::mem::ManuallyDrop;
use std::net::TcpStream;
use std::os::fd::FromRawFd;
use std::os::unix::ffi::OsStringExt;

/// `MPI_Open_port`.
pub fn open_port(c: &Call, info: Handle, port_name: OutText) -> Result {
    hints(c, info)?;
    port_name.set(c.mpi.open_port().as_bytes(), MPI_MAX_PORT_NAME as usize);
    Ok(())
}

/// `MPI_Close_port`.
pub fn close_port(c: &Call, port_name: CText) -> Result {
    c.mpi.close_port(&port_name.text())
}

/// `MPI_Publish_name`.
pub fn publish_name(c: &Call, service_name: CText, info: Handle, port_name: CText) -> Result {
    hints(c, info)?;
    c.mpi.publish_name(&service_name.text(), &port_name.text())
}

/// `MPI_Unpublish_name`.
pub fn unpublish_name(c: &Call, service_name: CText, info: Handle, port_name: CText) -> Result {
    hints(c, info)?;
    c.mpi.unpublish_name(&service_name.text(), &port_name.text())
}

/// `MPI_Lookup_name`.
pub fn lookup_name(c: &Call, service_name: CText, info: Handle, port_name: OutText) -> Result {
    hints(c, info)?;
    let port = c.mpi.look_up_name(&service_name.text())?;
    port_name.set(port.as_bytes(), MPI_MAX_PORT_NAME as usize);
    Ok(())
}

/// Returns what the root alone gives.
fn port_of(c: &Call, info: Handle, port_name: CText) -> Result<String> {
    hints(c, info)?;
    Ok(port_name.text())
}

/// `MPI_Comm_accept`. Port and info are the root's alone.
pub fn accept(
    c: &Call,
    port_name: CText,
    info: Handle,
    root: i32,
    comm: Handle,
    newcomm: Out<Handle>,
) -> Result {
    newcomm.set(Handle(COMM_NULL));
    let made = c.mpi.comm_accept(comm.0, root, || port_of(c, info, port_name))?;
    newcomm.set(Handle(made));
    super::comm::inherit(c, comm.0, made);
    Ok(())
}

/// `MPI_Comm_connect`. Port and info are the root's alone.
pub fn connect(
    c: &Call,
    port_name: CText,
    info: Handle,
    root: i32,
    comm: Handle,
    newcomm: Out<Handle>,
) -> Result {
    newcomm.set(Handle(COMM_NULL));
    let made = c.mpi.comm_connect(comm.0, root, || port_of(c, info, port_name))?;
    newcomm.set(Handle(made));
    super::comm::inherit(c, comm.0, made);
    Ok(())
}

/// `MPI_Comm_join`: both ends meet under the two addresses of their connection.
// Nothing is read from the socket, which both ranks share with this process and which a rank may not wait
// for: other ranks run on this thread.
pub fn join(c: &Call, fd: i32, intercomm: Out<Handle>) -> Result {
    intercomm.set(Handle(COMM_NULL));
    let Some((mine, theirs)) = addresses(fd) else {
        let text = format_args!(
            "file descriptor {fd} is not a connected socket with Internet addresses, by which both ends can \
             find each other"
        );
        return Err(c.wrong(0, MPI_ERR_ARG, text));
    };
    let name = format!("{} {}", (&mine).min(&theirs), (&mine).max(&theirs));
    intercomm.set(Handle(c.mpi.comm_join(&name)?));
    Ok(())
}

/// Returns the addresses of the two ends of a socket, this one's first.
fn addresses(fd: i32) -> Option<(String, String)> {
    if fd < 0 {
        return None;
    }
    // SAFETY: never closed here (`ManuallyDrop`); a descriptor that is not open, or no socket, is told by its
    // two questions.
    let socket = ManuallyDrop::new(unsafe { TcpStream::from_raw_fd(fd) });
    Some((socket.local_addr().ok()?.to_string(), socket.peer_addr().ok()?.to_string()))
}

/// Nothing for `MPI_ARGV_NULL`, else the texts up to the null pointer.
fn texts(list: Texts) -> Vec<Box<[u8]>> {
    if list.0.is_null() {
        return Vec::new();
    }
    (0..).map(|i| list.get(i)).take_while(|text| !text.0.is_null()).map(|text| text.bytes().into()).collect()
}

/// One command of a spawn, as the root gives it.
struct SpawnCommand {
    command: CText,
    argv: Texts,
    maxprocs: i32,
    info: Handle,
}

impl SpawnCommand {
    fn command(&self, c: &Call) -> Result<Command> {
        let hints = hints(c, self.info)?;
        let command = self.command.text();
        let key = |name| hints.get(name).ok().flatten();
        let (wdir, path) = (key("wdir"), key("path"));
        // Where each rank is a process, that is started as a launcher would; the file is found from another
        // directory then.
        let file = || {
            program::file(&command, wdir, path).map(|file| Some(std::path::absolute(&file).unwrap_or(file)))
        };
        let program = if c.mpi.is_alone() { file() } else { program::find(&command, wdir, path) };
        let program = program.map_err(|why| Failure::new(ErrorClass(MPI_ERR_SPAWN), why))?;
        let program = program.map_or(Vec::new(), |path| path.into_os_string().into_vec()).into();
        let directory = wdir.and_then(|wdir| std::path::absolute(wdir).ok());
        let directory = directory.map_or(Vec::new(), |path| path.into_os_string().into_vec()).into();
        let Ok(most) = u32::try_from(self.maxprocs) else {
            return Err(Failure::new(
                ErrorClass(MPI_ERR_ARG),
                format!("argument maxprocs: {} processes cannot be spawned", self.maxprocs),
            ));
        };
        let numbers = match key("soft") {
            None => vec![most],
            Some(soft) => program::numbers(soft, most).ok_or_else(|| {
                let text = format!(
                    "the value of key soft is '{soft}', which is no list of numbers, ranges A:B and steps \
                     A:B:C"
                );
                Failure::new(ErrorClass(MPI_ERR_INFO_VALUE), text)
            })?,
        };
        let arguments = std::iter::once(command.as_bytes().into()).chain(texts(self.argv)).collect();
        Ok(Command { program, directory, arguments, numbers: numbers.into() })
    }
}

/// Starts all of `wanted`, which the root alone gives, and sets in `errcodes` what became of each process.
fn spawn_all(
    c: &Call,
    wanted: impl Fn() -> Result<Vec<SpawnCommand>>,
    (root, comm): (i32, Handle),
    intercomm: Out<Handle>,
    errcodes: Ints,
) -> Result {
    intercomm.set(Handle(COMM_NULL));
    let is_root = {
        let world = c.mpi.world();
        world.objects.comms.get(comm.0)?.rank(world.messages.me()) as i32 == root
    };
    let most = |wanted: &[SpawnCommand]| wanted.iter().map(|one| one.maxprocs.max(0)).collect::<Vec<_>>();
    let made = c.mpi.comm_spawn(comm.0, root, || wanted()?.iter().map(|one| one.command(c)).collect());
    let (made, counts) = match made {
        Ok(made) => made,
        Err(failure) => {
            if is_root
                && errcodes.0.0 != MPI_ERRCODES_IGNORE
                && let Ok(wanted) = wanted()
            {
                let all: i32 = most(&wanted).iter().sum();
                (0..all as usize).for_each(|i| errcodes.set(i, failure.class.0));
            }
            return Err(failure);
        }
    };
    intercomm.set(Handle(made));
    super::comm::inherit(c, comm.0, made);
    if errcodes.0.0 == MPI_ERRCODES_IGNORE {
        return Ok(());
    }
    // Others than the root know neither what was wanted nor of which command who is: of all that were
    // spawned, that they were.
    let Some(counts) = counts else {
        let spawned = c.mpi.world().objects.comms.get(made)?.peers();
        (0..spawned as usize).for_each(|i| errcodes.set(i, MPI_SUCCESS));
        return Ok(());
    };
    let mut at = 0;
    for (most, &count) in most(&wanted()?).into_iter().zip(&*counts) {
        for i in 0..most {
            errcodes.set(at, if (i as u32) < count { MPI_SUCCESS } else { MPI_ERR_SPAWN });
            at += 1;
        }
    }
    Ok(())
}

/// `MPI_Comm_spawn`. Command, arguments, number and info are the root's alone.
#[allow(clippy::too_many_arguments)]
pub fn spawn(
    c: &Call,
    command: CText,
    argv: Texts,
    maxprocs: i32,
    info: Handle,
    root: i32,
    comm: Handle,
    intercomm: Out<Handle>,
    array_of_errcodes: Ints,
) -> Result {
    spawn_all(
        c,
        || Ok(vec![SpawnCommand { command, argv, maxprocs, info }]),
        (root, comm),
        intercomm,
        array_of_errcodes,
    )
}

/// `MPI_Comm_spawn_multiple`. All but the root and the communicator are the root's alone.
#[allow(clippy::too_many_arguments)]
pub fn spawn_multiple(
    c: &Call,
    count: i32,
    array_of_commands: Texts,
    array_of_argv: Addr,
    array_of_maxprocs: Ints,
    array_of_info: Handles,
    root: i32,
    comm: Handle,
    intercomm: Out<Handle>,
    array_of_errcodes: Ints,
) -> Result {
    let argv =
        |i| if array_of_argv.is_null() { Texts(Addr::NULL) } else { Texts(Texts(array_of_argv).get(i).0) };
    let wanted = |i| SpawnCommand {
        command: array_of_commands.get(i),
        argv: argv(i),
        maxprocs: array_of_maxprocs.get(i),
        info: array_of_info.get(i),
    };
    // Of others than the root nothing of this is looked at, so that the table cannot ask for it.
    let all = || {
        let given =
            !array_of_commands.0.is_null() && !array_of_maxprocs.0.is_null() && !array_of_info.is_null();
        if count > 0 && !given {
            return Err(Failure::new(
                ErrorClass(MPI_ERR_ARG),
                "commands, numbers or info objects are a null pointer at the root",
            ));
        }
        Ok((0..count.max(0) as usize).map(wanted).collect())
    };
    spawn_all(c, all, (root, comm), intercomm, array_of_errcodes)
}
