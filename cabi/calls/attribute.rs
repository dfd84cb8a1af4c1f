//! Attribute caching (MPI 5.0 section 7.7).

use super::datatype;
use crate::args::{Handle, InOut, Out, OutAttribute};
use crate::call::Call;
use crate::callback;
use crate::constants::{MPI_ANY_SOURCE, MPI_PROC_NULL};
use crate::fortran::callbacks;
pub use mpi::attribute::AttributeValue;
use mpi::attribute::{
    Attribute, DUP_FN, KEYVAL_INVALID, Keyval, NULL_FN, ObjectKind, Place, PredefinedAttribute,
};
use mpi::error::{ErrorClass, Failure, Result};
use mpi::handle::COMM_SELF;
use rank::Addr;
use std::cell::RefCell;
use std::collections::HashMap;

/// `Keyval::convention` of a key whose functions are of Fortran.
const FORTRAN: u8 = 1;

/// A value as the functions of its key are given it: a pointer in C, an integer in Fortran.
fn given(keyval: &Keyval, value: &AttributeValue) -> usize {
    if keyval.convention == FORTRAN { value.in_fortran() as usize } else { value.in_c() }
}

/// Copies an object's attributes to a new one, through the copy functions of their keys.
pub fn copy_all(c: &Call, object: ObjectKind, from: Handle, to: Handle) -> Result {
    let me = c.mpi.world().messages.me();
    let list = c.mpi.world().objects.attributes.list((object, from.0 as u64, me));
    for attribute in list {
        // A copy function may have deleted or replaced it.
        let Some(attribute) =
            c.mpi.world().objects.attributes.find((object, from.0 as u64, me), attribute.key).cloned()
        else {
            continue;
        };
        let keyval = &attribute.keyval;
        let copied = match keyval.copy {
            NULL_FN => None,
            DUP_FN => Some(attribute.value.duplicate()),
            function => {
                callback::copy(function, from, attribute.key, keyval.extra, given(keyval, &attribute.value))
                    .map_err(|code| refused("copy", attribute.key, code))?
                    .map(|copied| {
                        if keyval.convention == FORTRAN {
                            AttributeValue::integer(copied as i64)
                        } else {
                            AttributeValue::Pointer(copied)
                        }
                    })
            }
        };
        if let Some(value) = copied {
            c.mpi.world().objects.attributes.set_copy((object, to.0 as u64, me), &attribute, value);
        }
    }
    Ok(())
}

/// Rounds of deleting an object's attributes at most: delete functions may set others.
const MAX_ROUNDS: u32 = 100;

/// Deletes an object's attributes, the last set first, through the delete functions of their keys. Each is
/// called once for each value, whatever other attributes it deletes or sets.
///
/// # Errors
/// What a delete function returned. `MPI_ERR_OTHER` if delete functions set attributes without end.
pub fn delete_all(c: &Call, object: ObjectKind, handle: Handle) -> Result {
    let place = (object, handle.0 as u64, c.mpi.world().messages.me());
    for _ in 0..MAX_ROUNDS {
        let list = c.mpi.world().objects.attributes.list(place);
        if list.is_empty() {
            return Ok(());
        }
        for attribute in list.iter().rev() {
            // A delete function may have deleted or replaced it.
            let there = c.mpi.world().objects.attributes.find(place, attribute.key).cloned();
            if let Some(attribute) = there {
                delete(c, place, handle, &attribute)?;
            }
        }
    }
    Err(Failure::new(
        ErrorClass::OTHER,
        format!(
            "the {} still has attributes after {MAX_ROUNDS} rounds of deleting them: delete functions set \
             new ones; let each set none on the object that is freed",
            object.noun()
        ),
    ))
}

fn delete(c: &Call, place: Place, handle: Handle, attribute: &Attribute) -> Result {
    let keyval = &attribute.keyval;
    if keyval.delete != NULL_FN {
        match callback::delete(
            keyval.delete,
            handle,
            attribute.key,
            given(keyval, &attribute.value),
            keyval.extra,
        ) {
            0 => {}
            code => return Err(refused("delete", attribute.key, code)),
        }
    }
    c.mpi.world().objects.attributes.remove(place, attribute.key);
    Ok(())
}

#[cold]
fn refused(which: &str, key: i32, code: i32) -> Box<Failure> {
    Failure::new(
        ErrorClass(code),
        format!("the program's {which} function of attribute key {key} returned error code {code}"),
    )
}

/// Copies a communicator's attributes to its duplicate.
pub fn copy_comm(c: &Call, from: Handle, to: Handle) -> Result {
    copy_all(c, ObjectKind::Comm, from, to)
}

/// Deletes a communicator's attributes before it is freed.
pub fn delete_comm(c: &Call, comm: Handle) -> Result {
    delete_all(c, ObjectKind::Comm, comm)
}

/// Deletes the attributes of `MPI_COMM_SELF`, the first thing that `MPI_Finalize` does.
pub fn delete_self(c: &Call) -> Result {
    // Each rank ends with this, and hardly any has one.
    if c.mpi.world().objects.attributes.are_none() {
        return Ok(());
    }
    delete_all(c, ObjectKind::Comm, Handle(COMM_SELF))
}

fn create(c: &Call, object: ObjectKind, copy: usize, delete: usize, keyval: Out<i32>, extra: Addr) -> Result {
    let mut world = c.mpi.world();
    let me = world.messages.me();
    let convention = if callbacks::is_keyval(delete) { FORTRAN } else { 0 };
    keyval.set(
        world
            .objects
            .attributes
            .create_key(me, Keyval { object, copy, delete, extra: extra.0, convention })?,
    );
    Ok(())
}

fn free(c: &Call, object: ObjectKind, keyval: InOut<i32>) -> Result {
    let mut world = c.mpi.world();
    let me = world.messages.me();
    world.objects.attributes.free_key(me, object, keyval.get())?;
    keyval.set(KEYVAL_INVALID as i32);
    Ok(())
}

/// Replaces a value after the delete function of the old one agreed.
pub fn set(c: &Call, object: ObjectKind, handle: Handle, key: i32, value: AttributeValue) -> Result {
    let place = (object, handle.0 as u64, c.mpi.world().messages.me());
    let old = c.mpi.world().objects.attributes.get(place, key)?.cloned();
    if let Some(old) = old {
        delete(c, place, handle, &old)?;
    }
    c.mpi.world().objects.attributes.set(place, key, value)
}

/// Answers a value that the program has set.
pub fn get(
    c: &Call,
    object: ObjectKind,
    handle: Handle,
    key: i32,
    value: OutAttribute,
    flag: Out<bool>,
) -> Result {
    let world = c.mpi.world();
    let found = world.objects.attributes.get((object, handle.0 as u64, world.messages.me()), key)?;
    if let Some(attribute) = found {
        value.set(&attribute.value);
    }
    flag.set(found.is_some());
    Ok(())
}

/// Deletes a value through the delete function of its key.
pub fn remove(c: &Call, object: ObjectKind, handle: Handle, key: i32) -> Result {
    let place = (object, handle.0 as u64, c.mpi.world().messages.me());
    let found = c.mpi.world().objects.attributes.get(place, key)?.cloned();
    match found {
        Some(attribute) => delete(c, place, handle, &attribute),
        None => Err(Failure::new(
            ErrorClass::KEYVAL,
            format!("the {} has no attribute with key {key} to delete", object.noun()),
        )),
    }
}

/// `MPI_Comm_create_keyval`.
pub fn create_comm_keyval(
    c: &Call,
    copy: usize,
    delete: usize,
    keyval: Out<i32>,
    extra_state: Addr,
) -> Result {
    create(c, ObjectKind::Comm, copy, delete, keyval, extra_state)
}

/// `MPI_Type_create_keyval`.
pub fn create_type_keyval(
    c: &Call,
    copy: usize,
    delete: usize,
    keyval: Out<i32>,
    extra_state: Addr,
) -> Result {
    create(c, ObjectKind::Type, copy, delete, keyval, extra_state)
}

/// `MPI_Win_create_keyval`.
pub fn create_win_keyval(
    c: &Call,
    copy: usize,
    delete: usize,
    keyval: Out<i32>,
    extra_state: Addr,
) -> Result {
    create(c, ObjectKind::Win, copy, delete, keyval, extra_state)
}

/// `MPI_Comm_free_keyval`.
pub fn free_comm_keyval(c: &Call, keyval: InOut<i32>) -> Result {
    free(c, ObjectKind::Comm, keyval)
}

/// `MPI_Type_free_keyval`.
pub fn free_type_keyval(c: &Call, keyval: InOut<i32>) -> Result {
    free(c, ObjectKind::Type, keyval)
}

/// `MPI_Win_free_keyval`.
pub fn free_win_keyval(c: &Call, keyval: InOut<i32>) -> Result {
    free(c, ObjectKind::Win, keyval)
}

fn comm(c: &Call, comm: Handle) -> Result {
    c.mpi.world().objects.comms.get(comm.0).map(|_| ())
}

/// `MPI_Comm_set_attr`.
pub fn set_comm_attr(c: &Call, handle: Handle, keyval: i32, value: AttributeValue) -> Result {
    comm(c, handle)?;
    set(c, ObjectKind::Comm, handle, keyval, value)
}

/// `MPI_Comm_get_attr`; the predefined attributes are as if set in Fortran.
pub fn get_comm_attr(c: &Call, handle: Handle, keyval: i32, value: OutAttribute, flag: Out<bool>) -> Result {
    comm(c, handle)?;
    let Some(predefined) = PredefinedAttribute::from_key(keyval) else {
        return get(c, ObjectKind::Comm, handle, keyval, value, flag);
    };
    let found = predefined_value(c, predefined);
    if let Some(found) = found {
        value.set(&lasting(found.into()));
    }
    flag.set(found.is_some());
    Ok(())
}

/// `MPI_Comm_delete_attr`.
pub fn delete_comm_attr(c: &Call, handle: Handle, keyval: i32) -> Result {
    comm(c, handle)?;
    remove(c, ObjectKind::Comm, handle, keyval)
}

/// `MPI_Type_set_attr`.
pub fn set_type_attr(c: &Call, handle: Handle, keyval: i32, value: AttributeValue) -> Result {
    datatype::held(c, handle)?;
    set(c, ObjectKind::Type, handle, keyval, value)
}

/// `MPI_Type_get_attr`.
pub fn get_type_attr(c: &Call, handle: Handle, keyval: i32, value: OutAttribute, flag: Out<bool>) -> Result {
    datatype::held(c, handle)?;
    get(c, ObjectKind::Type, handle, keyval, value, flag)
}

/// `MPI_Type_delete_attr`.
pub fn delete_type_attr(c: &Call, handle: Handle, keyval: i32) -> Result {
    datatype::held(c, handle)?;
    remove(c, ObjectKind::Type, handle, keyval)
}

/// Returns what a predefined attribute of a communicator says; none for those of windows.
fn predefined_value(c: &Call, predefined: PredefinedAttribute) -> Option<i32> {
    let world = c.mpi.world();
    match predefined {
        PredefinedAttribute::TagUb => Some(i32::MAX),
        PredefinedAttribute::Io => Some(MPI_ANY_SOURCE),
        PredefinedAttribute::Host => Some(MPI_PROC_NULL),
        PredefinedAttribute::WtimeIsGlobal => Some(1),
        PredefinedAttribute::Appnum => Some(world.objects.comms.command() as i32),
        PredefinedAttribute::LastUsedCode => Some(world.objects.codes.last_used(world.messages.me())),
        PredefinedAttribute::UniverseSize => Some(world.messages.ranks().size() as i32),
        _ => None,
    }
}

/// An integer of this value that stays where it is; one for each value that was ever asked for.
pub fn lasting(value: i64) -> AttributeValue {
    thread_local! {
        static VALUES: RefCell<HashMap<i64, AttributeValue>> = RefCell::default();
    }
    VALUES.with_borrow_mut(|values| {
        values.entry(value).or_insert_with(|| AttributeValue::integer(value)).clone()
    })
}
