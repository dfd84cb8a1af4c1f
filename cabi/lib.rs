//! The C boundary: `extern "C-unwind"` exports (exceptions of the program's functions leave by them)
//! generated from the table of MPI functions (`cabi/table`), the arguments' wrappers, and one edge that every
//! call goes through. Knows nothing of how MPI works.

/// Prints a line to standard error. The standard library's macro of this name panics where that takes no
/// more.
macro_rules! eprintln {
    ($($text:tt)*) => { engine::stderr::line(format_args!($($text)*)) };
}

pub mod alone;
pub mod args;
pub mod bodies;
pub mod call;
pub mod callback;
pub mod calls;
pub mod constants;
pub mod edge;
#[allow(non_snake_case, missing_docs)]
pub mod exports;
pub mod extension;
pub mod failure;
pub mod folding;
#[allow(non_snake_case)]
pub mod fortran;
pub mod function;
pub mod given;
mod interpose;
pub mod recording;
pub mod removed;
pub mod run;
pub mod smpi;
pub mod state;
pub mod threads;
pub mod thrown;

/// Returns what the interposed C library functions call.
fn hooks() -> rank::hooks::Hooks {
    rank::hooks::Hooks {
        declines: alone::asked,
        start: run::start,
        entered: || {
            if let Some(mpi) = state::installed() {
                mpi.world().messages.ranks_mut().begin();
            }
        },
        now: || {
            let read = |mpi: &mpi::Mpi| {
                edge::outside_mpi("reading the clock", || mpi.world().messages.ranks_mut().read_clock())
            };
            state::installed().map_or(engine::Time::ZERO, read)
        },
        advance: |span| {
            if let Some(mpi) = state::installed() {
                edge::outside_mpi("sleeping", || {
                    let mut world = mpi.world();
                    let me = world.messages.me();
                    world.messages.ranks_mut().charge(me, span);
                });
            }
        },
        exited: |_| (),
        helped: || {
            if let Some(mpi) = state::installed() {
                edge::helped(mpi);
            }
        },
        killed: extension::rank_killed,
        timed: || {
            if let Some(mpi) = state::installed() {
                mpi.guard();
            }
        },
        held: || {
            if let Some(mpi) = state::installed() {
                edge::held(mpi);
            }
        },
    }
}
