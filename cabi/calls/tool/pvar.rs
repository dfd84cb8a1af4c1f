//! Performance variables (MPI 5.0 section 15.3.7): what is known of the calling rank at its clock.

use super::{enums, fails, give_index, give_text, initialized, locked, place};
use crate::args::{CText, Handle, InOut, Out, OutText};
use crate::call::Call;
use crate::constants::{
    MPI_INT, MPI_T_BIND_MPI_COMM, MPI_T_BIND_NO_OBJECT, MPI_T_ENUM_NULL, MPI_T_ERR_INVALID,
    MPI_T_ERR_INVALID_HANDLE, MPI_T_ERR_INVALID_SESSION, MPI_T_ERR_PVAR_NO_STARTSTOP,
    MPI_T_ERR_PVAR_NO_WRITE, MPI_T_PVAR_ALL_HANDLES, MPI_T_PVAR_CLASS_AGGREGATE, MPI_T_PVAR_CLASS_COUNTER,
    MPI_T_PVAR_CLASS_LEVEL, MPI_T_PVAR_CLASS_STATE, MPI_T_PVAR_CLASS_TIMER, MPI_T_PVAR_HANDLE_NULL,
    MPI_T_PVAR_SESSION_NULL, MPI_T_VERBOSITY_USER_BASIC, MPI_UNSIGNED, MPI_UNSIGNED_LONG_LONG,
};
use mpi::error::Result;
use mpi::handle::{decode, encode};
use mpi::slab::Slab;
use rank::{Addr, memory};
use std::sync::Mutex;

/// A performance variable (MPI 5.0 section 15.3.7).
#[derive(Clone, Copy, PartialEq, Eq)]
enum PerformanceVariable {
    Clock,
    Compute,
    Wait,
    Sent,
    SentBytes,
    Unexpected,
    Phase,
}

/// The description of a performance variable.
struct Row {
    variable: PerformanceVariable,
    name: &'static str,
    description: &'static str,
    class: i32,
    /// Counted from its start on, and to be set; else always there, and only to be read.
    counted: bool,
}

const ROWS: [Row; 7] = [
    Row {
        variable: PerformanceVariable::Clock,
        name: "xsim_virtual_time",
        description: "The rank's virtual clock: picoseconds since its start.",
        class: MPI_T_PVAR_CLASS_TIMER,
        counted: false,
    },
    Row {
        variable: PerformanceVariable::Compute,
        name: "xsim_compute_time",
        description: "Virtual time that the rank has computed, in picoseconds.",
        class: MPI_T_PVAR_CLASS_TIMER,
        counted: false,
    },
    Row {
        variable: PerformanceVariable::Wait,
        name: "xsim_wait_time",
        description: "Virtual time that the rank has waited in MPI calls, in picoseconds.",
        class: MPI_T_PVAR_CLASS_TIMER,
        counted: false,
    },
    Row {
        variable: PerformanceVariable::Sent,
        name: "xsim_messages_sent",
        description: "Messages that the rank has sent by calls of chapters 3 and 4, not within collectives.",
        class: MPI_T_PVAR_CLASS_COUNTER,
        counted: true,
    },
    Row {
        variable: PerformanceVariable::SentBytes,
        name: "xsim_bytes_sent",
        description: "Payload bytes of the messages that the rank has sent by calls of chapters 3 and 4.",
        class: MPI_T_PVAR_CLASS_AGGREGATE,
        counted: true,
    },
    Row {
        variable: PerformanceVariable::Unexpected,
        name: "xsim_unexpected_messages",
        description: "Messages in a communicator that have arrived by the rank's clock and for which it has \
            posted no receive.",
        class: MPI_T_PVAR_CLASS_LEVEL,
        counted: false,
    },
    Row {
        variable: PerformanceVariable::Phase,
        name: "xsim_phase",
        description: "Where the rank is in its life with MPI.",
        class: MPI_T_PVAR_CLASS_STATE,
        counted: false,
    },
];

/// Returns how many there are.
pub(super) fn count() -> usize {
    ROWS.len()
}

/// A handle of a session.
struct Held {
    session: usize,
    row: usize,
    /// The communicator that it is bound to.
    comm: usize,
    /// The count before the last start, or the value that was written last.
    total: u64,
    /// The rank's total at the last start or write, while the variable runs.
    since: Option<u64>,
}

#[derive(Default)]
struct PvarHandles {
    /// Whose.
    sessions: Slab<u32>,
    handles: Slab<Held>,
}

static OPEN: Mutex<Option<PvarHandles>> = Mutex::new(None);

fn open<T>(with: impl FnOnce(&mut PvarHandles) -> T) -> T {
    with(locked(&OPEN).get_or_insert_default())
}

/// Forgets the sessions of a rank that has left the interface.
pub(super) fn forget(rank: u32) {
    open(|open| {
        let own: Vec<u32> =
            open.sessions.iter().filter(|(_, owner)| **owner == rank).map(|(session, _)| session).collect();
        own.into_iter().for_each(|session| close(open, session));
    });
}

fn close(open: &mut PvarHandles, session: u32) {
    open.sessions.remove(session);
    open.handles.retain(|held| held.session != encode(session));
}

fn session_of(c: &Call, session: Handle) -> Result<u32> {
    initialized(c)?;
    let me = c.me();
    match decode(session.0).filter(|&index| open(|open| open.sessions.get(index) == Some(&me))) {
        Some(index) => Ok(index),
        None => fails(MPI_T_ERR_INVALID_SESSION),
    }
}

/// Returns a handle of the session: its index.
fn held(c: &Call, session: Handle, handle: Handle) -> Result<u32> {
    session_of(c, session)?;
    match decode(handle.0)
        .filter(|&index| open(|open| open.handles.get(index).is_some_and(|held| held.session == session.0)))
    {
        Some(index) => Ok(index),
        None => fails(MPI_T_ERR_INVALID_HANDLE),
    }
}

/// Returns what the variable is now.
fn value(c: &Call, variable: PerformanceVariable, comm: usize) -> Result<u64> {
    let me = c.me();
    if variable == PerformanceVariable::Unexpected {
        return match c.mpi.unexpected(comm) {
            Ok(count) => Ok(u64::from(count)),
            // The communicator was freed since.
            Err(_) => fails(MPI_T_ERR_INVALID),
        };
    }
    let world = c.mpi.world();
    let messages = &world.messages;
    Ok(match variable {
        PerformanceVariable::Clock => messages.clock(me).as_ps(),
        PerformanceVariable::Compute => messages.ranks().profile().rank(me).compute.as_ps(),
        PerformanceVariable::Wait => messages.ranks().profile().rank(me).wait.as_ps(),
        PerformanceVariable::Sent => messages.watch().sent_by(me).messages,
        PerformanceVariable::SentBytes => messages.watch().sent_by(me).bytes,
        PerformanceVariable::Phase => enums::value_of(messages.ranks()[me].phase) as u64,
        PerformanceVariable::Unexpected => unreachable!("asked above"),
    })
}

/// Returns what a handle reads.
fn reading(c: &Call, index: u32) -> Result<u64> {
    let (row, comm, total, since) = open(|open| {
        let held = &open.handles[index];
        (held.row, held.comm, held.total, held.since)
    });
    let row = &ROWS[row];
    if !row.counted {
        return value(c, row.variable, comm);
    }
    Ok(total + since.map_or(Ok(0), |since| value(c, row.variable, comm).map(|now| now - since))?)
}

/// Does something to a handle, or to all of the session's that are counted. One that is not fails with `code`
/// if it is named.
fn each(
    c: &Call,
    session: Handle,
    handle: Handle,
    code: i32,
    mut with: impl FnMut(&mut Held, u64),
) -> Result {
    session_of(c, session)?;
    let indices: Vec<u32> = if handle.0 == MPI_T_PVAR_ALL_HANDLES {
        open(|open| {
            open.handles
                .iter()
                .filter(|(_, held)| held.session == session.0)
                .map(|(index, _)| index)
                .collect()
        })
    } else {
        vec![held(c, session, handle)?]
    };
    for index in indices {
        let row = &ROWS[open(|open| open.handles[index].row)];
        if !row.counted {
            if handle.0 == MPI_T_PVAR_ALL_HANDLES {
                continue;
            }
            return fails(code);
        }
        let now = value(c, row.variable, 0)?;
        open(|open| with(&mut open.handles[index], now));
    }
    Ok(())
}

/// `MPI_T_pvar_get_num`.
pub fn get_num(c: &Call, number: Out<i32>) -> Result {
    initialized(c)?;
    number.set(ROWS.len() as i32);
    Ok(())
}

/// `MPI_T_pvar_get_index`.
pub fn get_index(c: &Call, name: CText, class: i32, index: Out<i32>) -> Result {
    initialized(c)?;
    let name = name.text();
    give_index(ROWS.iter().position(|row| row.name == name && row.class == class), index)
}

/// `MPI_T_pvar_get_info`.
pub fn get_info(
    c: &Call,
    index: i32,
    name: OutText,
    name_len: InOut<i32>,
    verbosity: Out<i32>,
    class: Out<i32>,
    datatype: Out<Handle>,
    enumtype: Out<Handle>,
    desc: OutText,
    desc_len: InOut<i32>,
    bind: Out<i32>,
    readonly: Out<bool>,
    continuous: Out<bool>,
    atomic: Out<bool>,
) -> Result {
    let row = &ROWS[place(c, index, ROWS.len())?];
    give_text(row.name, name, name_len);
    give_text(row.description, desc, desc_len);
    verbosity.set(MPI_T_VERBOSITY_USER_BASIC);
    class.set(row.class);
    datatype.set(Handle(match row.variable {
        PerformanceVariable::Phase => MPI_INT,
        PerformanceVariable::Unexpected => MPI_UNSIGNED,
        _ => MPI_UNSIGNED_LONG_LONG,
    }));
    enumtype.set(Handle(if row.variable == PerformanceVariable::Phase {
        enums::PHASES
    } else {
        MPI_T_ENUM_NULL
    }));
    bind.set(if row.variable == PerformanceVariable::Unexpected {
        MPI_T_BIND_MPI_COMM
    } else {
        MPI_T_BIND_NO_OBJECT
    });
    readonly.set(!row.counted);
    continuous.set(!row.counted);
    atomic.set(row.counted);
    Ok(())
}

/// `MPI_T_pvar_session_create`.
pub fn session_create(c: &Call, session: Out<Handle>) -> Result {
    initialized(c)?;
    let me = c.me();
    session.set(Handle(encode(open(|open| open.sessions.insert(me)))));
    Ok(())
}

/// `MPI_T_pvar_session_free`, with its handles.
pub fn session_free(c: &Call, session: InOut<Handle>) -> Result {
    let index = session_of(c, session.get())?;
    open(|open| close(open, index));
    session.set(Handle(MPI_T_PVAR_SESSION_NULL));
    Ok(())
}

/// `MPI_T_pvar_handle_alloc`.
pub fn handle_alloc(
    c: &Call,
    session: Handle,
    index: i32,
    object: Addr,
    handle: Out<Handle>,
    elements: Out<i32>,
) -> Result {
    session_of(c, session)?;
    let row = place(c, index, ROWS.len())?;
    let mut comm = 0;
    if ROWS[row].variable == PerformanceVariable::Unexpected {
        if object.is_null() {
            return fails(MPI_T_ERR_INVALID_HANDLE);
        }
        comm = memory::load::<usize>(object);
        if c.mpi.world().objects.comms.get(comm).is_err() {
            return fails(MPI_T_ERR_INVALID_HANDLE);
        }
    }
    if ROWS[row].counted {
        c.mpi.world().messages.watching().count_sends();
    }
    let made =
        open(|open| open.handles.insert(Held { session: session.0, row, comm, total: 0, since: None }));
    handle.set(Handle(encode(made)));
    elements.set(1);
    Ok(())
}

/// `MPI_T_pvar_handle_free`.
pub fn handle_free(c: &Call, session: Handle, handle: InOut<Handle>) -> Result {
    session_of(c, session)?;
    if handle.at().is_null() {
        return fails(MPI_T_ERR_INVALID_HANDLE);
    }
    let index = held(c, session, handle.get())?;
    open(|open| open.handles.remove(index));
    handle.set(Handle(MPI_T_PVAR_HANDLE_NULL));
    Ok(())
}

/// `MPI_T_pvar_start`: one that runs already goes on.
pub fn start(c: &Call, session: Handle, handle: Handle) -> Result {
    each(c, session, handle, MPI_T_ERR_PVAR_NO_STARTSTOP, |held, now| held.since = held.since.or(Some(now)))
}

/// `MPI_T_pvar_stop`.
pub fn stop(c: &Call, session: Handle, handle: Handle) -> Result {
    each(c, session, handle, MPI_T_ERR_PVAR_NO_STARTSTOP, |held, now| {
        if let Some(since) = held.since.take() {
            held.total += now - since;
        }
    })
}

/// Sets what a handle has counted.
fn set(c: &Call, session: Handle, handle: Handle, to: u64) -> Result {
    each(c, session, handle, MPI_T_ERR_PVAR_NO_WRITE, |held, now| {
        held.total = to;
        held.since = held.since.map(|_| now);
    })
}

/// `MPI_T_pvar_read`.
pub fn read(c: &Call, session: Handle, handle: Handle, buffer: Addr) -> Result {
    let index = held(c, session, handle)?;
    let value = reading(c, index)?;
    match ROWS[open(|open| open.handles[index].row)].variable {
        PerformanceVariable::Phase | PerformanceVariable::Unexpected => memory::store(buffer, value as i32),
        _ => memory::store(buffer, value),
    }
    Ok(())
}

/// `MPI_T_pvar_write`.
pub fn write(c: &Call, session: Handle, handle: Handle, buffer: Addr) -> Result {
    let index = held(c, session, handle)?;
    if !ROWS[open(|open| open.handles[index].row)].counted {
        return fails(MPI_T_ERR_PVAR_NO_WRITE);
    }
    set(c, session, handle, memory::load(buffer))
}

/// `MPI_T_pvar_reset`.
pub fn reset(c: &Call, session: Handle, handle: Handle) -> Result {
    set(c, session, handle, 0)
}

/// `MPI_T_pvar_readreset`.
pub fn readreset(c: &Call, session: Handle, handle: Handle, buffer: Addr) -> Result {
    let index = held(c, session, handle)?;
    if !ROWS[open(|open| open.handles[index].row)].counted {
        return fails(MPI_T_ERR_PVAR_NO_WRITE);
    }
    read(c, session, handle, buffer)?;
    reset(c, session, handle)
}
