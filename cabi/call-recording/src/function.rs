//! The MPI functions by number and name, generated from `cabi/table`.

include!(concat!(env!("OUT_DIR"), "/functions.rs"));

impl Function {
    /// Returns the function with this number, if there is one.
    pub fn of(number: u32) -> Option<Function> {
        // SAFETY: the enumeration counts from 0 to below `COUNT`, in words of this size.
        ((number as usize) < COUNT).then(|| unsafe { std::mem::transmute::<u32, Function>(number) })
    }
    /// Returns the C name, `MPI_Send`.
    #[inline]
    pub fn name(self) -> &'static str {
        NAMES[self as usize]
    }
    /// Returns where the name is.
    #[inline]
    pub fn name_place(self) -> &'static &'static str {
        &NAMES[self as usize]
    }
    /// Returns `true` if the table says so of the function; known when a library is built, where the
    /// function is.
    #[inline(always)]
    pub const fn is(self, property: Property) -> bool {
        PROPERTIES[self as usize] & property as u8 != 0
    }
    /// Returns the name of the `index`th argument in the standard.
    pub fn argument(self, index: usize) -> &'static str {
        ARGUMENTS[self as usize].get(index).copied().unwrap_or("argument")
    }
}
