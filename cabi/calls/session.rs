//! Sessions (MPI 5.0 section 11.3), and their error handlers (section 9.3). Their buffers are in `buffer.rs`.

use crate::args::{CText, Handle, InOut, Out, OutText, check_pointer};
use crate::call::{Call, Object};
use crate::constants::{
    MPI_ERR_ARG, MPI_ERR_INFO_VALUE, MPI_THREAD_FUNNELED, MPI_THREAD_MULTIPLE, MPI_THREAD_SERIALIZED,
    MPI_THREAD_SINGLE,
};
use crate::failure;
use mpi::attribute;
use mpi::buffered::Use;
use mpi::error::{ErrorClass, Failure, Result};
use mpi::info::Info;
use mpi::session::{PROCESS_SETS, SESSION_NULL, Sessions};
use mpi::world::Phase;

/// The levels of threads as info values.
const LEVELS: [(&str, i32); 4] = [
    ("MPI_THREAD_SINGLE", MPI_THREAD_SINGLE),
    ("MPI_THREAD_FUNNELED", MPI_THREAD_FUNNELED),
    ("MPI_THREAD_SERIALIZED", MPI_THREAD_SERIALIZED),
    ("MPI_THREAD_MULTIPLE", MPI_THREAD_MULTIPLE),
];

/// Checks that the calling rank has this session.
fn check(c: &Call, session: Handle) -> Result {
    let world = c.mpi.world();
    world.objects.sessions.check(world.messages.me(), session.0)
}

/// Opens a session, with its error handler.
fn open(c: &Call, threads: i32, errhandler: Handle) -> Result<Handle> {
    let mut world = c.mpi.world();
    let me = world.messages.me();
    let session = world.objects.sessions.open(me, threads);
    if let Err(failure) =
        world.objects.errhandlers.set((attribute::ObjectKind::Session, session as u64, me), errhandler.0)
    {
        world.objects.sessions.close(me, session)?;
        return Err(failure);
    }
    Ok(Handle(session))
}

fn close(c: &Call, session: Handle) -> Result {
    let mut world = c.mpi.world();
    let me = world.messages.me();
    world.objects.sessions.close(me, session.0)?;
    world.objects.errhandlers.forget((attribute::ObjectKind::Session, session.0 as u64, me));
    world.messages.requests_mut().detach(me, Use::Session(session.0));
    Ok(())
}

/// Returns what an info object asks for, if it does: as much as there is of it.
fn wanted_threads(c: &Call, info: Handle) -> Result<i32> {
    let most = super::environment::most_threads(c);
    let world = c.mpi.world();
    let Some(info) = world.objects.infos.get_optional(world.messages.me(), info.0)? else { return Ok(most) };
    match info.get("thread_level")? {
        None => Ok(most),
        Some(asked) => match LEVELS.iter().find(|(name, _)| *name == asked) {
            Some(&(_, level)) => Ok(level.min(most)),
            None => {
                let names = LEVELS.map(|(name, _)| name).join(", ");
                Err(Failure::new(
                    ErrorClass(MPI_ERR_INFO_VALUE),
                    format!("thread_level is '{asked}': use one of {names}"),
                ))
            }
        },
    }
}

/// `MPI_Session_init`. What fails is told to the error handler that the session would have.
pub fn init(c: &Call, info: Handle, errhandler: Handle, session: Out<Handle>) -> Result {
    if c.mpi.is_alone() && crate::alone::is_over() {
        return Err(Failure::new(
            ErrorClass::OTHER,
            "where a process is one rank the run ends in MPI_Finalize: open a session before that, or link \
             the program with libxsim",
        ));
    }
    let threads = wanted_threads(c, info);
    let level = *threads.as_ref().unwrap_or(&MPI_THREAD_SINGLE);
    let made = open(c, level, errhandler)?;
    crate::threads::granted(level);
    if let Err(failure) = threads {
        c.concerns(Object::Session(made));
        failure::raise(c, &failure);
        close(c, made)?;
        // The handler has been told.
        c.concerns(Object::Tool);
        return Err(failure);
    }
    let mut world = c.mpi.world();
    let me = world.messages.me();
    if world.messages.ranks()[me].phase == Phase::Before {
        world.messages.ranks_mut()[me].phase = Phase::Opened;
    }
    session.set(made);
    Ok(())
}

/// `MPI_Session_finalize`: what was made of the session goes with its own calls, and nothing of it is waited
/// for.
pub fn finalize(c: &Call, session: InOut<Handle>) -> Result {
    // The table names no object for a handle that is given by its address.
    c.concerns(Object::Session(session.get()));
    close(c, session.get())?;
    session.set(Handle(SESSION_NULL));
    Ok(())
}

/// `MPI_Session_get_info`: what is in use of what the session can be asked for.
pub fn get_info(c: &Call, session: Handle, info_used: Out<Handle>) -> Result {
    let threads = {
        let world = c.mpi.world();
        world.objects.sessions.threads(world.messages.me(), session.0)?
    };
    let mut info = Info::default();
    let level = LEVELS.iter().find(|(_, level)| *level == threads).map_or("", |(name, _)| *name);
    info.set("thread_level", level)?;
    // Of MPI 5.0 section 11.4.3: what MPI_Alloc_mem and malloc give.
    info.set("mpi_memory_alloc_kinds", "mpi,system")?;
    super::info::give(c, info_used, info)
}

/// `MPI_Session_get_num_psets`. No info key narrows the sets.
pub fn get_num_psets(c: &Call, session: Handle, _info: Handle, npset_names: Out<i32>) -> Result {
    check(c, session)?;
    npset_names.set(PROCESS_SETS.len() as i32);
    Ok(())
}

/// `MPI_Session_get_nth_pset`: at most `pset_len` bytes of the name with its null byte; then how many it has.
pub fn get_nth_pset(
    c: &Call,
    session: Handle,
    _info: Handle,
    n: i32,
    pset_len: InOut<i32>,
    pset_name: OutText,
) -> Result {
    check(c, session)?;
    let Some(name) = usize::try_from(n).ok().and_then(|n| PROCESS_SETS.get(n)) else {
        let text = format_args!(
            "there is no process set {n}: there are {} (0 to {})",
            PROCESS_SETS.len(),
            PROCESS_SETS.len() - 1
        );
        return Err(c.wrong(2, MPI_ERR_ARG, text));
    };
    let room = pset_len.get();
    if room < 0 {
        return Err(c.wrong(3, MPI_ERR_ARG, format_args!("it is {room}, and a length must not be negative")));
    }
    if room > 0 {
        check_pointer(c, 4, pset_name.0)?;
        pset_name.set(name.as_bytes(), room as usize);
    }
    pset_len.set(name.len() as i32 + 1);
    Ok(())
}

/// `MPI_Session_get_pset_info`.
pub fn get_pset_info(c: &Call, session: Handle, pset_name: CText, info: Out<Handle>) -> Result {
    check(c, session)?;
    let size = {
        let world = c.mpi.world();
        let set = Sessions::process_set(
            world.messages.me(),
            &pset_name.text(),
            &world.objects.comms.get(mpi::handle::COMM_WORLD)?.group,
        )?;
        set.size().to_string()
    };
    let mut about = Info::default();
    about.set("mpi_size", &size)?;
    super::info::give(c, info, about)
}

/// `MPI_Group_from_session_pset`.
pub fn group_from_pset(c: &Call, session: Handle, pset_name: CText, newgroup: Out<Handle>) -> Result {
    check(c, session)?;
    let mut world = c.mpi.world();
    let me = world.messages.me();
    let set = Sessions::process_set(
        me,
        &pset_name.text(),
        &world.objects.comms.get(mpi::handle::COMM_WORLD)?.group,
    )?;
    let made = world.objects.groups.create(me, set)?;
    world.objects.sessions.derive_group(me, made, session.0);
    newgroup.set(Handle(made));
    Ok(())
}

/// `MPI_Session_set_errhandler`.
pub fn set_errhandler(c: &Call, session: Handle, errhandler: Handle) -> Result {
    check(c, session)?;
    let mut world = c.mpi.world();
    let me = world.messages.me();
    world.objects.errhandlers.set((attribute::ObjectKind::Session, session.0 as u64, me), errhandler.0)
}

/// `MPI_Session_get_errhandler`.
pub fn get_errhandler(c: &Call, session: Handle, errhandler: Out<Handle>) -> Result {
    check(c, session)?;
    let mut world = c.mpi.world();
    let me = world.messages.me();
    errhandler.set(Handle(world.objects.errhandlers.get((
        attribute::ObjectKind::Session,
        session.0 as u64,
        me,
    ))?));
    Ok(())
}

/// `MPI_Session_call_errhandler`.
pub fn call_errhandler(c: &Call, session: Handle, errorcode: i32) -> Result {
    check(c, session)?;
    failure::raise(c, &failure::raised(errorcode));
    Ok(())
}
