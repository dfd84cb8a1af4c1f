//! The MPI functions by number and name, generated from `cabi/table`.

#[allow(dead_code, reason = "libxsim.so needs the rest")]
mod table {
    include!(concat!(env!("OUT_DIR"), "/functions.rs"));
}

use table::COUNT;
pub use table::Function;
pub use table::NAMES;

impl Function {
    /// That with this number.
    pub fn of(number: u32) -> Option<Function> {
        // SAFETY: the enumeration counts from 0 to below `COUNT`, in words of this size.
        ((number as usize) < COUNT).then(|| unsafe { std::mem::transmute::<u32, Function>(number) })
    }
    /// Returns the C name, `MPI_Send`.
    pub fn name(self) -> &'static str {
        NAMES[self as usize]
    }
}
