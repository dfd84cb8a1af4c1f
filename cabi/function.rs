//! The MPI functions by number and name, generated from `cabi/table`.

use mpi::ranks::effort::Course;

include!(concat!(env!("OUT_DIR"), "/functions.rs"));

impl Function {
    /// Returns the C name, `MPI_Send`.
    pub fn name(self) -> &'static str {
        NAMES[self as usize]
    }
    /// Returns where the name is.
    pub fn name_place(self) -> &'static &'static str {
        &NAMES[self as usize]
    }
    /// Returns `true` if the table says so of the function; known when the library is built, where the
    /// function is.
    #[inline(always)]
    pub const fn is(self, property: Property) -> bool {
        PROPERTIES[self as usize] & property as u8 != 0
    }
    /// Returns what a call does to what its rank started in a row just before.
    #[inline(always)]
    pub const fn course(self) -> Course {
        if self.is(Property::Posts) {
            Course::Posts
        } else if self.is(Property::Starts) {
            Course::Starts
        } else {
            Course::Ends
        }
    }
    /// Returns the name of the `index`th argument in the standard.
    pub fn argument(self, index: usize) -> &'static str {
        ARGUMENTS[self as usize].get(index).copied().unwrap_or("argument")
    }
}
