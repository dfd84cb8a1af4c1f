//! Datatypes (MPI 5.0 chapter 5): what a buffer's bytes are, and how they are packed.
//!
//! A [`Datatype`] is immutable and shared. It keeps the [`Constructor`] that made it, for envelope, contents,
//! element counts and signatures. Packing reads only its [`layout::Layout`]: the type map compiled to nested
//! loops over contiguous blocks, with neighbours merged. Sizes are in bytes; displacements, bounds and
//! extents in signed bytes.

mod array;
mod bounds;
mod compile;
pub mod constructor;
mod count;
pub mod external32;
mod kind;
pub mod layout;
pub mod predefined;
mod registry;
mod signature;
mod validate;

#[cfg(test)]
mod tests;

pub use constructor::{Constructor, Contents, Distribution, Envelope, Old, Order, combiner_name};
pub use kind::{Element, Kind};
pub use registry::Types;
pub use signature::Signature;

use crate::error::Result;
use bounds::Bounds;
use layout::Layout;
use std::rc::Rc;

/// A datatype: immutable, shared by every rank that built the same one.
// Everything that a call asks is computed when the type is made: sending looks at `contiguous` and `size`,
// and walks nothing.
#[derive(Debug)]
pub struct Datatype {
    /// Bytes of data in one instance, without gaps.
    pub size: u64,
    /// Lower bound, bytes from the buffer address.
    pub lb: i64,
    /// Upper bound; `ub - lb` is the extent.
    pub ub: i64,
    /// Lowest byte that is data.
    pub true_lb: i64,
    /// One past the highest byte that is data.
    pub true_ub: i64,
    /// `true` if any count of instances is one block at offset 0: the path without a layout.
    // Any count of them, so that extent and size are equal as well: then a buffer is an address and a number
    // of bytes.
    pub contiguous: bool,
    /// Basic elements in one instance.
    pub element_count: u64,
    /// Element for predefined reductions, if all elements of the map are alike.
    pub element: Option<Element>,
    /// The signature of one instance.
    pub signature: Signature,
    /// The constructor call that made it.
    pub constructor: Constructor,
    layout: Rc<Layout>,
    bounds: Bounds,
}

impl Datatype {
    /// Returns the distance between consecutive instances in a buffer, bytes.
    #[inline]
    pub fn extent(&self) -> i64 {
        self.ub - self.lb
    }

    /// Returns the distance between the first and the last byte of data.
    pub fn true_extent(&self) -> i64 {
        self.true_ub - self.true_lb
    }

    /// Returns `true` if this is a predefined type.
    pub fn is_predefined(&self) -> bool {
        matches!(self.constructor, Constructor::Named(_))
    }

    /// Gives every block of `count` instances to `sink`, in type-map order, as displacements from the first
    /// instance; neighbours are merged where the layout shows them.
    #[inline]
    pub fn walk(&self, count: u64, sink: &mut impl layout::Sink) {
        self.layout.walk_many(count, self.extent(), sink);
    }

    /// Visits as [`walk`](Self::walk) does the blocks that hold the packed bytes `range` alone, of as many
    /// instances as that takes.
    #[inline]
    pub fn walk_range(&self, range: std::ops::Range<u64>, sink: &mut impl layout::Sink) {
        self.layout.walk_many_range(self.extent(), range, sink);
    }

    /// Returns the packed bytes of `count` instances.
    ///
    /// # Errors
    /// `MPI_ERR_COUNT` when they exceed 64 bits.
    pub fn bytes(&self, count: u64) -> Result<u64> {
        self.size.checked_mul(count).ok_or_else(|| {
            crate::error::Failure::new(
                crate::error::ErrorClass::COUNT,
                format!("{count} elements of {} bytes exceed 2^64 bytes; pass a smaller count", self.size),
            )
        })
    }
}
