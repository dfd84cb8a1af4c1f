//! The MPI functions by number and name.

pub use call_recording::function::*;
use mpi::ranks::effort::Course;

/// Returns what a call does to what its rank started in a row just before.
#[inline(always)]
pub const fn course(function: Function) -> Course {
    if function.is(Property::Posts) {
        Course::Posts
    } else if function.is(Property::Starts) {
        Course::Starts
    } else {
        Course::Ends
    }
}
