//! From when a rank uses the tool interface, and until when (MPI 5.0 section 15.3.4).

use super::{USERS, cvar, event, initialized, locked, pvar};
use crate::args::Out;
use crate::call::Call;
use crate::constants::MPI_THREAD_SINGLE;
use mpi::error::Result;

/// `MPI_T_init_thread`.
pub fn init_thread(c: &Call, required: i32, provided: Out<i32>) -> Result {
    *locked(&USERS).entry(c.me()).or_default() += 1;
    provided.set(required.clamp(MPI_THREAD_SINGLE, crate::calls::environment::most_threads(c)));
    Ok(())
}

/// `MPI_T_finalize`, once for each initialization.
pub fn finalize(c: &Call) -> Result {
    initialized(c)?;
    let mut users = locked(&USERS);
    if let Some(times) = users.get_mut(&c.me()) {
        *times -= 1;
        if *times == 0 {
            users.remove(&c.me());
            drop(users);
            cvar::forget(c.me());
            pvar::forget(c.me());
            event::forget(c.me());
        }
    }
    Ok(())
}
