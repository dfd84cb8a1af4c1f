//! Info objects (MPI 5.0 chapter 10).

use crate::args::{CText, Handle, InOut, Out, OutText, Texts, check_pointer};
use crate::call::Call;
use crate::constants::{MPI_ERR_ARG, MPI_MAX_INFO_KEY};
use mpi::error::Result;
use mpi::info::{INFO_ENV, INFO_NULL, Info};

/// Hands a new info object to the program.
pub fn give(c: &Call, out: Out<Handle>, info: Info) -> Result {
    let mut world = c.mpi.world();
    let me = world.messages.me();
    out.set(Handle(world.objects.infos.insert(me, info)?));
    Ok(())
}

/// Returns the hints that a call gives; none for `MPI_INFO_NULL`.
pub fn hints(c: &Call, info: Handle) -> Result<Info> {
    let world = c.mpi.world();
    Ok(world.objects.infos.get_optional(world.messages.me(), info.0)?.cloned().unwrap_or_default())
}

/// Returns the value of a key, if it is set.
fn value(c: &Call, info: Handle, key: CText) -> Result<Option<String>> {
    let world = c.mpi.world();
    Ok(world.objects.infos.get(world.messages.me(), info.0)?.get(&key.text())?.map(str::to_owned))
}

/// `MPI_Info_create`.
pub fn create(c: &Call, info: Out<Handle>) -> Result {
    give(c, info, Info::default())
}

/// `MPI_Info_create_env`: the same as `MPI_INFO_ENV`, in an object of its own.
pub fn create_env(c: &Call, _argc: i32, _argv: Texts, info: Out<Handle>) -> Result {
    dup(c, Handle(INFO_ENV), info)
}

/// `MPI_Info_dup`.
pub fn dup(c: &Call, info: Handle, newinfo: Out<Handle>) -> Result {
    let copy = {
        let world = c.mpi.world();
        world.objects.infos.get(world.messages.me(), info.0)?.clone()
    };
    give(c, newinfo, copy)
}

/// `MPI_Info_free`.
pub fn free(c: &Call, info: InOut<Handle>) -> Result {
    let mut world = c.mpi.world();
    let me = world.messages.me();
    world.objects.infos.free(me, info.get().0)?;
    info.set(Handle(INFO_NULL));
    Ok(())
}

/// `MPI_Info_set`.
pub fn set(c: &Call, info: Handle, key: CText, value: CText) -> Result {
    let mut world = c.mpi.world();
    let me = world.messages.me();
    world.objects.infos.get_mut(me, info.0)?.set(&key.text(), &value.text())
}

/// `MPI_Info_delete`.
pub fn delete(c: &Call, info: Handle, key: CText) -> Result {
    let mut world = c.mpi.world();
    let me = world.messages.me();
    world.objects.infos.get_mut(me, info.0)?.delete(&key.text())
}

/// `MPI_Info_get`: at most `valuelen` bytes and the null byte.
pub fn get(c: &Call, info: Handle, key: CText, valuelen: i32, out: OutText, flag: Out<bool>) -> Result {
    if valuelen < 0 {
        return Err(c.wrong(
            2,
            MPI_ERR_ARG,
            format_args!("it is {valuelen}, and a length must not be negative"),
        ));
    }
    let found = value(c, info, key)?;
    if let Some(value) = &found {
        out.set(value.as_bytes(), valuelen as usize + 1);
    }
    flag.set(found.is_some());
    Ok(())
}

/// `MPI_Info_get_string`: `buflen` counts the null byte, going in and coming out.
pub fn get_string(
    c: &Call,
    info: Handle,
    key: CText,
    buflen: InOut<i32>,
    out: OutText,
    flag: Out<bool>,
) -> Result {
    let room = buflen.get();
    if room < 0 {
        return Err(c.wrong(2, MPI_ERR_ARG, format_args!("it is {room}, and a length must not be negative")));
    }
    if room > 0 {
        check_pointer(c, 3, out.0)?;
    }
    let found = value(c, info, key)?;
    if let Some(value) = &found {
        out.set(value.as_bytes(), room as usize);
        buflen.set(value.len() as i32 + 1);
    }
    flag.set(found.is_some());
    Ok(())
}

/// `MPI_Info_get_valuelen`.
pub fn get_valuelen(c: &Call, info: Handle, key: CText, valuelen: Out<i32>, flag: Out<bool>) -> Result {
    let found = value(c, info, key)?;
    if let Some(value) = &found {
        valuelen.set(value.len() as i32);
    }
    flag.set(found.is_some());
    Ok(())
}

/// `MPI_Info_get_nkeys`.
pub fn get_nkeys(c: &Call, info: Handle, nkeys: Out<i32>) -> Result {
    let world = c.mpi.world();
    nkeys.set(world.objects.infos.get(world.messages.me(), info.0)?.len() as i32);
    Ok(())
}

/// `MPI_Info_get_nthkey`.
pub fn get_nthkey(c: &Call, info: Handle, n: i32, key: OutText) -> Result {
    let world = c.mpi.world();
    key.set(
        world.objects.infos.get(world.messages.me(), info.0)?.nth_key(n)?.as_bytes(),
        MPI_MAX_INFO_KEY as usize,
    );
    Ok(())
}
