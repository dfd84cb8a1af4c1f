//! The tool information interface (MPI 5.0 chapter 15): which variables there are is the library's choice.
//!
//! Control variables are the options of the run, which nobody can change once it runs, and what a rank may
//! decide for itself (`cvar.rs`). Performance variables what is known of the calling rank at its clock
//! (`pvar.rs`), the same on every run, and so nothing that depends on how far other ranks have run ahead.
//! Events (`event.rs`) are what the calling rank's calls do, with the times of its clock.

pub mod category;
pub mod cvar;
pub mod enums;
pub mod event;
pub mod life;
pub mod pvar;
pub mod raised;
pub mod source;

use crate::args::{Handle, InOut, Out, OutText};
use crate::call::Call;
use crate::constants::{MPI_T_ERR_INVALID_INDEX, MPI_T_ERR_INVALID_NAME, MPI_T_ERR_NOT_INITIALIZED};
use mpi::error::{ErrorClass, Failure, Result};
use mpi::info::Info;
use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Number of times that a rank has initialized the interface, for the few ranks that have.
static USERS: Mutex<BTreeMap<u32, u32>> = Mutex::new(BTreeMap::new());

/// Returns what a lock guards, whatever a panic left: nothing is half done under it.
fn locked<T>(of: &'static Mutex<T>) -> MutexGuard<'static, T> {
    of.lock().unwrap_or_else(PoisonError::into_inner)
}

fn initialized(c: &Call) -> Result {
    match locked(&USERS).get(&c.me()) {
        Some(_) => Ok(()),
        None => fails(MPI_T_ERR_NOT_INITIALIZED),
    }
}

/// Tool functions return their code and call no error handler, so the text is for nobody.
fn fails<T>(code: i32) -> Result<T> {
    Err(Failure::new(ErrorClass(code), String::new()))
}

/// A text and its length with the null byte (MPI 5.0 section 15.3.3): cut to the room that there is, and left
/// alone where only the length is asked for or nothing.
fn give_text(text: &str, out: OutText, length: InOut<i32>) {
    if length.at().is_null() {
        return;
    }
    out.set(text.as_bytes(), usize::try_from(length.get()).unwrap_or(0));
    length.set(text.len() as i32 + 1);
}

/// Sets the index of what a name was looked for, if it was found; fails otherwise.
fn give_index(found: Option<usize>, index: Out<i32>) -> Result {
    let Some(found) = found else { return fails(MPI_T_ERR_INVALID_NAME) };
    index.set(found as i32);
    Ok(())
}

/// The place of what a rank asks for by its index, of so many.
fn place(c: &Call, index: i32, count: usize) -> Result<usize> {
    initialized(c)?;
    match usize::try_from(index).ok().filter(|&index| index < count) {
        Some(index) => Ok(index),
        None => fails(MPI_T_ERR_INVALID_INDEX),
    }
}

/// An info object without keys, if one is asked for.
fn give_no_info(c: &Call, info: Out<Handle>) -> Result {
    if info.at().is_null() { Ok(()) } else { crate::calls::info::give(c, info, Info::default()) }
}

/// `MPI_T_category_changed`: never.
pub fn unchanged(c: &Call, number: Out<i32>) -> Result {
    initialized(c)?;
    number.set(0);
    Ok(())
}
