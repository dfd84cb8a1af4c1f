//! Handle tables of the objects that programs make: [`Shared`] by the ranks that make them alike, or
//! [`Owned`] by one; and [`Grouped`], of objects that a group of ranks makes together.

mod grouped;
mod names;
mod owned;
mod rank_set;
mod shared;

pub use grouped::{Grouped, OfGroup};
pub use names::Names;
pub use owned::Owned;
pub use rank_set::RankSet;
pub use shared::Shared;

use crate::error::{ErrorClass, Failure};
use crate::handle::FIRST;

/// Bits of a handle that hold the slot; the bits above, below the sign of a 32-bit
/// integer (Fortran handles), tell a reused slot from its predecessor.
// 33 million objects of a kind; the six bits above let a slot be used 64 times before a stale handle would be
// taken for a new one.
const SLOT_BITS: u32 = 25;
const SLOT_MASK: usize = (1 << SLOT_BITS) - 1;
const GENERATIONS: u32 = 1 << (31 - SLOT_BITS);

/// The first handle value that is not predefined (MPI 5.0 section 20.3).
pub const FIRST_DYNAMIC: usize = FIRST;

/// Noun, error class and null handle of a kind of object.
#[derive(Clone, Copy, Debug)]
pub struct Naming {
    /// The noun in messages, such as "datatype".
    pub noun: &'static str,
    /// The class of an invalid handle.
    pub class: ErrorClass,
    /// The null handle.
    pub null: usize,
}

#[cold]
fn invalid(Naming { noun, class, null }: Naming, handle: usize) -> Box<Failure> {
    Failure::new(
        class,
        if handle == null {
            format!("the {noun} is the null handle; pass a valid {noun}")
        } else {
            format!(
                "{handle:#x} is not a valid {noun}: it was never created, it is freed already, or another \
                 rank made it"
            )
        },
    )
}
