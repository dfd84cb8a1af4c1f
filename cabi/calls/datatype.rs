//! Addresses and datatypes (MPI 5.0 chapter 5); the constructors are in `constructor.rs`.

use super::attribute;
use crate::args::{CText, Counts, Handle, Handles, InOut, Ints, Out, OutCount, OutText};
use crate::call::Call;
use crate::constants::*;
use mpi::attribute::ObjectKind;
use mpi::datatype::{Constructor, Datatype, Old, predefined};
use mpi::error::Result;
use rank::Addr;
use std::rc::Rc;

/// `MPI_Aint_add`: wraps like the address arithmetic it stands for.
pub fn aint_add(_: &Call, base: i64, disp: i64) -> i64 {
    base.wrapping_add(disp)
}

/// `MPI_Aint_diff`.
pub fn aint_diff(_: &Call, addr1: i64, addr2: i64) -> i64 {
    addr1.wrapping_sub(addr2)
}

/// `MPI_Get_address`.
pub fn get_address(_: &Call, location: Addr, address: OutCount) -> Result {
    address.set(location.0 as i64);
    Ok(())
}

/// Returns the datatype behind a handle of the calling rank, committed or not.
pub fn held(c: &Call, datatype: Handle) -> Result<Rc<Datatype>> {
    let world = c.mpi.world();
    world.objects.types.held(world.messages.me(), datatype.0).cloned()
}

/// `MPI_Type_commit`.
pub fn commit(c: &Call, datatype: InOut<Handle>) -> Result {
    let mut world = c.mpi.world();
    let me = world.messages.me();
    world.objects.types.commit(me, datatype.get().0)
}

/// `MPI_Type_free`: attributes go first, through their functions.
pub fn free(c: &Call, datatype: InOut<Handle>) -> Result {
    let handle = datatype.get();
    held(c, handle)?;
    attribute::delete_all(c, ObjectKind::Type, handle)?;
    let mut world = c.mpi.world();
    let me = world.messages.me();
    world.objects.types.free(me, handle.0)?;
    datatype.set(Handle(predefined::DATATYPE_NULL));
    Ok(())
}

/// `MPI_Type_dup`: with the attributes whose functions say so.
pub fn dup(c: &Call, oldtype: Handle, newtype: Out<Handle>) -> Result {
    let (made, me) = {
        let mut world = c.mpi.world();
        let me = world.messages.me();
        (world.objects.types.dup(me, oldtype.0)?, me)
    };
    newtype.set(Handle(predefined::DATATYPE_NULL));
    if let Err(failure) = attribute::copy_all(c, ObjectKind::Type, oldtype, Handle(made)) {
        c.mpi.world().objects.types.free(me, made)?;
        return Err(failure);
    }
    newtype.set(Handle(made));
    Ok(())
}

/// `MPI_Type_size` and `MPI_Type_size_x`.
pub fn size(c: &Call, datatype: Handle, size: OutCount) -> Result {
    size.set(held(c, datatype)?.size as i64);
    Ok(())
}

/// `MPI_Type_get_extent` and `MPI_Type_get_extent_x`.
pub fn get_extent(c: &Call, datatype: Handle, lb: OutCount, extent: OutCount) -> Result {
    let datatype = held(c, datatype)?;
    lb.set(datatype.lb);
    extent.set(datatype.extent());
    Ok(())
}

/// `MPI_Type_get_true_extent` and `MPI_Type_get_true_extent_x`.
pub fn get_true_extent(c: &Call, datatype: Handle, true_lb: OutCount, true_extent: OutCount) -> Result {
    let datatype = held(c, datatype)?;
    true_lb.set(datatype.true_lb);
    true_extent.set(datatype.true_extent());
    Ok(())
}

/// `MPI_Type_set_name`.
pub fn set_name(c: &Call, datatype: Handle, type_name: CText) -> Result {
    let mut world = c.mpi.world();
    let me = world.messages.me();
    world.objects.types.set_name(me, datatype.0, &type_name.name())
}

/// `MPI_Type_get_name`.
pub fn get_name(c: &Call, datatype: Handle, type_name: OutText, resultlen: Out<i32>) -> Result {
    let world = c.mpi.world();
    let name = world.objects.types.name(world.messages.me(), datatype.0)?;
    resultlen.set(type_name.set(name, MPI_MAX_OBJECT_NAME as usize) as i32);
    Ok(())
}

/// `MPI_Type_get_envelope`.
pub fn get_envelope(
    c: &Call,
    datatype: Handle,
    num_integers: OutCount,
    num_addresses: OutCount,
    num_large_counts: OutCount,
    num_datatypes: OutCount,
    combiner: Out<i32>,
) -> Result {
    let envelope = held(c, datatype)?.constructor.envelope();
    if envelope.large_counts != 0 && !num_integers.wide {
        return Err(c.wrong(0, MPI_ERR_TYPE, "it was made with large counts; call MPI_Type_get_envelope_c"));
    }
    num_integers.set(envelope.integers as i64);
    num_addresses.set(envelope.addresses as i64);
    num_large_counts.set(envelope.large_counts as i64);
    num_datatypes.set(envelope.datatypes as i64);
    combiner.set(envelope.combiner);
    Ok(())
}

/// `MPI_Type_get_contents`.
pub fn get_contents(
    c: &Call,
    datatype: Handle,
    max_integers: i64,
    max_addresses: i64,
    max_large_counts: i64,
    max_datatypes: i64,
    integers: Ints,
    addresses: Counts,
    large_counts: Counts,
    datatypes: Handles,
) -> Result {
    let envelope = held(c, datatype)?.constructor.envelope();
    for (index, name, room, need) in [
        (1, "integers", max_integers, envelope.integers),
        (2, "addresses", max_addresses, envelope.addresses),
        (3, "large counts", max_large_counts, envelope.large_counts),
        (4, "datatypes", max_datatypes, envelope.datatypes),
    ] {
        if (room as u64) < need {
            let text = format_args!(
                "there is room for {room} {name}, but the datatype has {need}; MPI_Type_get_envelope tells"
            );
            return Err(c.wrong(index, MPI_ERR_ARG, text));
        }
    }
    let (contents, handles) = {
        let mut world = c.mpi.world();
        let me = world.messages.me();
        world.objects.types.contents(me, datatype.0)?
    };
    contents.integers.iter().enumerate().for_each(|(i, &value)| integers.set(i, value));
    contents.addresses.iter().enumerate().for_each(|(i, &value)| addresses.set(i, value));
    contents.large_counts.iter().enumerate().for_each(|(i, &value)| large_counts.set(i, value));
    handles.iter().enumerate().for_each(|(i, &value)| datatypes.set(i, Handle(value)));
    Ok(())
}

/// `MPI_Type_match_size`: the Fortran type of a class and size.
pub fn match_size(c: &Call, typeclass: i32, size: i32, datatype: Out<Handle>) -> Result {
    /// `MPIX_TYPECLASS_LOGICAL`, not yet in the standard.
    const LOGICAL: i32 = 191;
    use predefined::*;
    let found = match (typeclass, size) {
        (MPI_TYPECLASS_REAL, 2) => REAL2,
        (MPI_TYPECLASS_REAL, 4) => REAL4,
        (MPI_TYPECLASS_REAL, 8) => REAL8,
        (MPI_TYPECLASS_REAL, 16) => REAL16,
        (MPI_TYPECLASS_INTEGER, 1) => INTEGER1,
        (MPI_TYPECLASS_INTEGER, 2) => INTEGER2,
        (MPI_TYPECLASS_INTEGER, 4) => INTEGER4,
        (MPI_TYPECLASS_INTEGER, 8) => INTEGER8,
        (MPI_TYPECLASS_INTEGER, 16) => INTEGER16,
        (MPI_TYPECLASS_COMPLEX, 4) => COMPLEX4,
        (MPI_TYPECLASS_COMPLEX, 8) => COMPLEX8,
        (MPI_TYPECLASS_COMPLEX, 16) => COMPLEX16,
        (MPI_TYPECLASS_COMPLEX, 32) => COMPLEX32,
        (LOGICAL, 1) => LOGICAL1,
        (LOGICAL, 2) => LOGICAL2,
        (LOGICAL, 4) => LOGICAL4,
        (LOGICAL, 8) => LOGICAL8,
        (LOGICAL, 16) => LOGICAL16,
        (MPI_TYPECLASS_REAL | MPI_TYPECLASS_INTEGER | MPI_TYPECLASS_COMPLEX | LOGICAL, _) => {
            return Err(c.wrong(1, MPI_ERR_ARG, format_args!("no type of this class has {size} bytes")));
        }
        _ => {
            let text = format_args!(
                "it is {typeclass}; pass MPI_TYPECLASS_INTEGER, MPI_TYPECLASS_REAL or MPI_TYPECLASS_COMPLEX"
            );
            return Err(c.wrong(0, MPI_ERR_ARG, text));
        }
    };
    datatype.set(Handle(found));
    Ok(())
}

/// `MPI_Type_get_value_index`: a pair type for `MPI_MINLOC` and `MPI_MAXLOC`, or
/// `MPI_DATATYPE_NULL` where there is none.
pub fn get_value_index(c: &Call, value_type: Handle, index_type: Handle, pair_type: Out<Handle>) -> Result {
    let found = match predefined::pair(value_type.0, index_type.0) {
        Some(pair) => pair,
        None => {
            let (value, index) = (held(c, value_type)?, held(c, index_type)?);
            let constructor = Constructor::ValueIndex { value: Old(value), index: Old(index) };
            c.mpi.world().objects.pair(constructor)?.unwrap_or(predefined::DATATYPE_NULL)
        }
    };
    pair_type.set(Handle(found));
    Ok(())
}
