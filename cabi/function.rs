//! The MPI functions by number and name, generated from `cabi/table`.

include!(concat!(env!("OUT_DIR"), "/functions.rs"));

impl Function {
    /// The C name, `MPI_Send`.
    pub fn name(self) -> &'static str {
        NAMES[self as usize]
    }
    /// Where the name is.
    pub fn name_place(self) -> &'static &'static str {
        &NAMES[self as usize]
    }
    /// The name of the `index`th argument in the standard.
    pub fn argument(self, index: usize) -> &'static str {
        ARGUMENTS[self as usize].get(index).copied().unwrap_or("argument")
    }
}
