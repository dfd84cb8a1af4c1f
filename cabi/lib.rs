//! The C boundary: `extern "C"` exports generated from the table of MPI functions
//! (`cabi/table`), the arguments' wrappers, and one edge that every call goes through.
//! Knows nothing of how MPI works.

pub mod args;
pub mod calls;
pub mod constants;
pub mod edge;
#[allow(non_snake_case, missing_docs)]
pub mod exports;
#[allow(non_snake_case)]
pub mod fortran;
pub mod function;
mod interpose;

/// What the interposed C library functions call.
fn hooks() -> rank::hooks::Hooks {
    rank::hooks::Hooks { start: rank::Program::run_alone, now: || engine::Time::ZERO, advance: |_| (), exited: |_| () }
}
