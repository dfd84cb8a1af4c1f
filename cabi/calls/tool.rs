//! The tool information interface (MPI 5.0 chapter 15). The standard leaves it to the library
//! which variables, categories and events there are; xsim has none, and its report says
//! what a performance variable would.

use crate::args::{Handle, InOut, Out};
use crate::call::Call;
use crate::constants::{
    MPI_T_ERR_INVALID_HANDLE, MPI_T_ERR_INVALID_SESSION, MPI_T_ERR_NOT_INITIALIZED, MPI_T_PVAR_ALL_HANDLES, MPI_T_PVAR_SESSION_NULL,
    MPI_THREAD_FUNNELED, MPI_THREAD_SINGLE,
};
use mpi::error::{ErrorClass, Failure, Result};
use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// How often a rank has initialized the interface, for the few ranks that have.
static USERS: Mutex<BTreeMap<u32, u32>> = Mutex::new(BTreeMap::new());

/// The one session that a rank can have anything in.
const SESSION: usize = 1;

fn users() -> MutexGuard<'static, BTreeMap<u32, u32>> {
    USERS.lock().unwrap_or_else(PoisonError::into_inner)
}

fn initialized(c: &Call) -> Result {
    match users().get(&c.me()) {
        Some(_) => Ok(()),
        None => fails(MPI_T_ERR_NOT_INITIALIZED),
    }
}

/// Tool functions return their code and call no error handler, so the text is for nobody.
fn fails(code: i32) -> Result {
    Err(Failure::new(ErrorClass(code), String::new()))
}

/// A function about something that xsim has none of.
pub fn nothing(c: &Call, code: i32) -> Result {
    initialized(c)?;
    fails(code)
}

/// `MPI_T_init_thread`.
pub fn init_thread(c: &Call, required: i32, provided: Out<i32>) -> Result {
    *users().entry(c.me()).or_default() += 1;
    provided.set(required.clamp(MPI_THREAD_SINGLE, MPI_THREAD_FUNNELED));
    Ok(())
}

/// `MPI_T_finalize`, once for each initialization.
pub fn finalize(c: &Call) -> Result {
    initialized(c)?;
    let mut users = users();
    if let Some(times) = users.get_mut(&c.me()) {
        *times -= 1;
        if *times == 0 {
            users.remove(&c.me());
        }
    }
    Ok(())
}

/// `MPI_T_*_get_num` and `MPI_T_category_changed`: none, and that never changes.
pub fn none_yet(c: &Call, number: Out<i32>) -> Result {
    initialized(c)?;
    number.set(0);
    Ok(())
}

/// `MPI_T_pvar_session_create`.
pub fn session_create(c: &Call, session: Out<Handle>) -> Result {
    initialized(c)?;
    session.set(Handle(SESSION));
    Ok(())
}

/// `MPI_T_pvar_session_free`.
pub fn session_free(c: &Call, session: InOut<Handle>) -> Result {
    initialized(c)?;
    in_session(session.get())?;
    session.set(Handle(MPI_T_PVAR_SESSION_NULL));
    Ok(())
}

fn in_session(session: Handle) -> Result {
    if session.0 == SESSION { Ok(()) } else { fails(MPI_T_ERR_INVALID_SESSION) }
}

/// `MPI_T_pvar_start`, `stop` and `reset`: all handles of a session are none.
pub fn all_handles(c: &Call, session: Handle, handle: Handle) -> Result {
    initialized(c)?;
    in_session(session)?;
    if handle.0 == MPI_T_PVAR_ALL_HANDLES { Ok(()) } else { fails(MPI_T_ERR_INVALID_HANDLE) }
}
