//! Windows as objects (MPI 5.0 section 12.2): made and freed, names, hints, groups, attributes, error
//! handlers.

use super::info::hints;
use crate::args::{CText, Handle, InOut, Out, OutAttribute, OutCount, OutText};
use crate::call::{self, Call};
use crate::constants::{MPI_ERR_NO_MEM, MPI_MAX_OBJECT_NAME, MPI_WIN_UNIFIED};
use mpi::attribute::{AttributeValue, ObjectKind, PredefinedAttribute};
use mpi::error::{ErrorClass, Failure, Result};
use mpi::group::Group;
use mpi::info::Info;
use mpi::win::{Flavor, WIN_NULL};
use rank::{Addr, memory};

/// Hints that a window has where the program says nothing: MPI's own defaults (MPI 5.0 section 12.2.1).
const HINTS: [(&str, &str); 6] = [
    ("no_locks", "false"),
    ("accumulate_ordering", "rar,raw,war,waw"),
    ("accumulate_ops", "same_op_no_op"),
    ("same_size", "false"),
    ("same_disp_unit", "false"),
    ("mpi_accumulate_granularity", "0"),
];

/// The new window, with what the program says of it.
fn made(c: &Call, handle: usize, info: &Info, win: Out<Handle>) -> Result {
    let mut world = c.mpi.world();
    let me = world.messages.me();
    world.objects.wins.add_info(me, handle, info)?;
    win.set(Handle(handle));
    Ok(())
}

/// `MPI_Win_create`.
pub fn create(
    c: &Call,
    base: Addr,
    size: i64,
    disp_unit: i64,
    info: Handle,
    comm: Handle,
    win: Out<Handle>,
) -> Result {
    let info = hints(c, info)?;
    let handle = c.mpi.make_window(Flavor::Create, base, size, disp_unit, comm.0)?;
    made(c, handle, &info, win)
}

/// `MPI_Win_allocate`.
pub fn allocate(
    c: &Call,
    size: i64,
    disp_unit: i64,
    info: Handle,
    comm: Handle,
    baseptr: Addr,
    win: Out<Handle>,
) -> Result {
    let info = hints(c, info)?;
    let memory = match rank::heap::allocate(usize::try_from(size).unwrap_or(0)) {
        Some(memory) => memory,
        None => return Err(c.wrong(0, MPI_ERR_NO_MEM, format!("there is no memory for {size} bytes"))),
    };
    match c.mpi.make_window(Flavor::Allocate, memory, size, disp_unit, comm.0) {
        Ok(handle) => {
            memory::store(baseptr, memory.0);
            made(c, handle, &info, win)
        }
        Err(failure) => {
            release(memory);
            Err(failure)
        }
    }
}

/// `MPI_Win_allocate_shared`.
pub fn allocate_shared(
    c: &Call,
    size: i64,
    disp_unit: i64,
    info: Handle,
    comm: Handle,
    baseptr: Addr,
    win: Out<Handle>,
) -> Result {
    let info = hints(c, info)?;
    let handle = c.mpi.make_window(Flavor::Shared, Addr::NULL, size, disp_unit, comm.0)?;
    memory::store(baseptr, own_base(c, handle)?);
    made(c, handle, &info, win)
}

/// `MPI_Win_create_dynamic`.
pub fn create_dynamic(c: &Call, info: Handle, comm: Handle, win: Out<Handle>) -> Result {
    let info = hints(c, info)?;
    let handle = c.mpi.make_window(Flavor::Dynamic, Addr::NULL, 0, 1, comm.0)?;
    made(c, handle, &info, win)
}

/// Gives back memory of a window.
fn release(memory: Addr) {
    // SAFETY: `rank::heap::allocate` gave it for this window, which is no more.
    unsafe { rank::heap::release(memory) };
}

/// Returns where the calling rank's memory begins.
fn own_base(c: &Call, handle: usize) -> Result<usize> {
    let world = c.mpi.world();
    let win = world.objects.wins.get(&world.objects.comms, handle)?;
    let rank = world.objects.comms.get(win.comm)?.rank(world.messages.me());
    Ok(win.exposed[rank as usize].base)
}

/// `MPI_Win_free`.
pub fn free(c: &Call, win: InOut<Handle>) -> Result {
    let handle = win.get();
    c.concerns(call::Object::Win(handle));
    valid(c, handle)?;
    c.mpi.may_free_window(handle.0)?;
    super::attribute::delete_all(c, ObjectKind::Win, handle)?;
    let memory = c.mpi.free_window(handle.0)?;
    if let Some(memory) = memory {
        release(memory);
    }
    let mut world = c.mpi.world();
    let me = world.messages.me();
    world.objects.errhandlers.forget((ObjectKind::Win, handle.0 as u64, me));
    drop(world);
    win.set(Handle(WIN_NULL));
    Ok(())
}

/// Checks that the calling rank has this window.
pub fn valid(c: &Call, win: Handle) -> Result {
    let world = c.mpi.world();
    world.objects.wins.index(&world.objects.comms, win.0).map(|_| ())
}

/// `MPI_Win_attach`.
pub fn attach(c: &Call, win: Handle, base: Addr, size: i64) -> Result {
    c.mpi.rma(|rma, messages, objects| rma.attach(messages, objects, win.0, base, size))
}

/// `MPI_Win_detach`.
pub fn detach(c: &Call, win: Handle, base: Addr) -> Result {
    c.mpi.rma(|rma, messages, objects| rma.detach(messages, objects, win.0, base))
}

/// `MPI_Win_shared_query`: of `MPI_PROC_NULL` the first rank that has memory.
pub fn shared_query(
    c: &Call,
    win: Handle,
    rank: i32,
    size: OutCount,
    disp_unit: OutCount,
    baseptr: Addr,
) -> Result {
    let world = c.mpi.world();
    let window = world.objects.wins.get(&world.objects.comms, win.0)?;
    let communicator = world.objects.comms.get(window.comm)?;
    if window.flavor == Flavor::Dynamic {
        return Err(Failure::new(
            ErrorClass::RMA_FLAVOR,
            "a window of MPI_Win_create_dynamic has no memory of its own: ask of one of \
             MPI_Win_allocate_shared",
        ));
    }
    let member = if rank == mpi::request::PROC_NULL {
        window.exposed.iter().position(|part| part.size != 0).unwrap_or(0) as u32
    } else {
        communicator.peer(rank, world.messages.me(), "rank")?;
        rank as u32
    };
    // Memory that a rank has for itself is no other's to load and store, wherever it is on this host.
    let reachable = window.flavor == Flavor::Shared || communicator.rank(world.messages.me()) == member;
    let (part, unit) = (window.exposed[member as usize], window.units.get(member));
    let has_memory = reachable && part.size != 0;
    size.set(if reachable { part.size as i64 } else { 0 });
    disp_unit.set(if reachable { unit } else { 0 });
    memory::store(baseptr, if has_memory || reachable { part.base } else { 0 });
    Ok(())
}

/// `MPI_Win_get_group`.
pub fn get_group(c: &Call, win: Handle, group: Out<Handle>) -> Result {
    let mut world = c.mpi.world();
    let me = world.messages.me();
    let comm = world.objects.wins.get(&world.objects.comms, win.0)?.comm;
    let communicator = world.objects.comms.get(comm)?;
    let members = if communicator.is_self { Group::of_one(me) } else { communicator.group.clone() };
    group.set(Handle(world.objects.groups.create(me, members)?));
    Ok(())
}

/// `MPI_Win_set_name`.
pub fn set_name(c: &Call, win: Handle, win_name: CText) -> Result {
    valid(c, win)?;
    let mut world = c.mpi.world();
    let me = world.messages.me();
    world.objects.wins.set_name(me, win.0, &win_name.name());
    Ok(())
}

/// `MPI_Win_get_name`.
pub fn get_name(c: &Call, win: Handle, win_name: OutText, resultlen: Out<i32>) -> Result {
    if win.0 == WIN_NULL {
        resultlen.set(win_name.set(b"MPI_WIN_NULL", MPI_MAX_OBJECT_NAME as usize) as i32);
        return Ok(());
    }
    valid(c, win)?;
    let world = c.mpi.world();
    let length =
        win_name.set(world.objects.wins.name(world.messages.me(), win.0), MPI_MAX_OBJECT_NAME as usize);
    resultlen.set(length as i32);
    Ok(())
}

/// `MPI_Win_set_info`: hints are kept, and change nothing.
pub fn set_info(c: &Call, win: Handle, info: Handle) -> Result {
    valid(c, win)?;
    let info = hints(c, info)?;
    let mut world = c.mpi.world();
    let me = world.messages.me();
    world.objects.wins.add_info(me, win.0, &info)
}

/// `MPI_Win_get_info`: MPI's defaults, and what the program has said.
pub fn get_info(c: &Call, win: Handle, info_used: Out<Handle>) -> Result {
    valid(c, win)?;
    let mut world = c.mpi.world();
    let me = world.messages.me();
    let info = world.objects.wins.info(me, win.0, &HINTS)?;
    info_used.set(Handle(world.objects.infos.insert(me, info)?));
    Ok(())
}

/// `MPI_Win_set_attr`.
pub fn set_attr(c: &Call, win: Handle, keyval: i32, value: AttributeValue) -> Result {
    valid(c, win)?;
    super::attribute::set(c, ObjectKind::Win, win, keyval, value)
}

/// `MPI_Win_get_attr`.
pub fn get_attr(c: &Call, win: Handle, keyval: i32, value: OutAttribute, flag: Out<bool>) -> Result {
    valid(c, win)?;
    let Some(predefined) = PredefinedAttribute::from_key(keyval) else {
        return super::attribute::get(c, ObjectKind::Win, win, keyval, value, flag);
    };
    let found = predefined_value(c, win, predefined)?;
    if let Some(found) = &found {
        value.set(found);
    }
    flag.set(found.is_some());
    Ok(())
}

/// Returns what a predefined attribute of a window says.
fn predefined_value(
    c: &Call,
    win: Handle,
    predefined: PredefinedAttribute,
) -> Result<Option<AttributeValue>> {
    let world = c.mpi.world();
    let window = world.objects.wins.get(&world.objects.comms, win.0)?;
    let member = world.objects.comms.get(window.comm)?.rank(world.messages.me());
    let (part, unit) = (window.exposed[member as usize], window.units.get(member));
    Ok(match predefined {
        PredefinedAttribute::WinBase => Some(AttributeValue::Pointer(part.base)),
        PredefinedAttribute::WinSize => Some(super::attribute::lasting(part.size as i64)),
        PredefinedAttribute::WinDispUnit => Some(super::attribute::lasting(unit)),
        PredefinedAttribute::WinCreateFlavor => {
            Some(super::attribute::lasting(i64::from(window.flavor as i32)))
        }
        PredefinedAttribute::WinModel => Some(super::attribute::lasting(MPI_WIN_UNIFIED.into())),
        _ => None,
    })
}

/// `MPI_Win_delete_attr`.
pub fn delete_attr(c: &Call, win: Handle, keyval: i32) -> Result {
    valid(c, win)?;
    super::attribute::remove(c, ObjectKind::Win, win, keyval)
}

/// `MPI_Win_set_errhandler`.
pub fn set_errhandler(c: &Call, win: Handle, errhandler: Handle) -> Result {
    valid(c, win)?;
    let mut world = c.mpi.world();
    let me = world.messages.me();
    world.objects.errhandlers.set((ObjectKind::Win, win.0 as u64, me), errhandler.0)
}

/// `MPI_Win_get_errhandler`.
pub fn get_errhandler(c: &Call, win: Handle, errhandler: Out<Handle>) -> Result {
    valid(c, win)?;
    let mut world = c.mpi.world();
    let me = world.messages.me();
    errhandler.set(Handle(world.objects.errhandlers.get((ObjectKind::Win, win.0 as u64, me))?));
    Ok(())
}

/// `MPI_Win_call_errhandler`.
pub fn call_errhandler(c: &Call, win: Handle, errorcode: i32) -> Result {
    valid(c, win)?;
    crate::failure::raise(c, &crate::failure::raised(errorcode));
    Ok(())
}
