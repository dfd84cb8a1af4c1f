//! C++ exceptions of functions that MPI calls for a rank: error handlers, operations, attribute functions,
//! generalized requests.
//!
//! Each is held for the rank whose function threw it, and the call goes on as if the function had returned an
//! error. The exception leaves the rank's own call where that would return ([`crate::edge`]). For operations
//! of collectives this is another moment: the scheduler calls the function while the rank waits, and the
//! exception leaves the call that it waits in.

use crate::constants::MPI_ERR_OTHER;
use crate::recording;
use mpi::Mpi;
use mpi::world::Phase;
use rank::exception::{self, Thrown};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

static HELD: Mutex<Vec<(u32, Thrown)>> = Mutex::new(Vec::new());
/// Number of exceptions that are deferred. Every call reads it.
static COUNT: AtomicUsize = AtomicUsize::new(0);

/// Returns `true` if any rank has an exception.
#[inline(always)]
pub fn any() -> bool {
    COUNT.load(Relaxed) != 0
}

fn held() -> std::sync::MutexGuard<'static, Vec<(u32, Thrown)>> {
    HELD.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
}

/// Returns `true` if the mounted rank has an exception that its call has yet to throw.
#[cold]
pub fn is_held(mpi: &Mpi) -> bool {
    let me = mpi.world().messages.me();
    held().iter().any(|(rank, _)| *rank == me)
}

/// Calls a function that the mounted rank passed to MPI; `otherwise` if it throws, and if one before it has
/// thrown in the same call. The world must not be borrowed.
pub fn keep<R>(mpi: &Mpi, otherwise: R, function: impl FnOnce() -> R) -> R {
    keep_failing(mpi, MPI_ERR_OTHER, otherwise, function)
}

/// [`keep`], of a function that is called because the rank's call fails with this code.
pub fn keep_failing<R>(mpi: &Mpi, code: i32, otherwise: R, function: impl FnOnce() -> R) -> R {
    if any() && is_held(mpi) {
        return otherwise;
    }
    let under_way = {
        let world = mpi.world();
        world.messages.ranks().strand().function()
    };
    // Calls of the function have their frames below.
    let here = 0u8;
    let entered = recording::enter_callback(code, std::ptr::from_ref(std::hint::black_box(&here)) as usize);
    let result = exception::catch(function);
    recording::leave_callback(&entered);
    {
        // The call within which the function was called goes on: calls that the function has made are over.
        let mut world = mpi.world();
        world.messages.ranks_mut().strand_mut().set_function(under_way);
    }
    match result {
        Ok(result) => result,
        Err(thrown) => {
            hold(mpi, thrown);
            otherwise
        }
    }
}

#[cold]
fn hold(mpi: &Mpi, thrown: Thrown) {
    let mut world = mpi.world();
    let me = world.messages.me();
    if world.messages.ranks()[me].phase == Phase::Ended {
        let at = world.messages.clock(me);
        eprintln!(
            "xsim: rank {me} at {at}: an operation that it made with MPI_Op_create threw a C++ exception \
             when the rank had ended, so that no call of it can throw it; complete reductions before \
             MPI_Finalize"
        );
        world.set_abort(1);
        return;
    }
    held().push((me, thrown));
    COUNT.fetch_add(1, Relaxed);
}

/// Throws what is held for the mounted rank at the program, if anything is, instead of returning the code:
/// the last thing that a call does.
#[cold]
#[inline(never)]
pub fn rethrow(mpi: &Mpi, code: i32) {
    let me = mpi.world().messages.me();
    let mut list = held();
    let Some(index) = list.iter().position(|(rank, _)| *rank == me) else { return };
    let (_, thrown) = list.swap_remove(index);
    drop(list);
    COUNT.fetch_sub(1, Relaxed);
    recording::throws_instead_of(code);
    thrown.rethrow()
}
