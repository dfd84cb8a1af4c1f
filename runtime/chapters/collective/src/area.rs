//! The program's buffers of a collective call, as MPI's functions name them.

use objects::abi::{MPI_BYTE, MPI_DATATYPE_NULL};
use p2p::point_to_point::Buffer;
use rank::Addr;

/// `MPI_IN_PLACE` of the standard ABI.
pub const IN_PLACE: Addr = Addr(1);

/// Blocks of the `v` forms: one datatype, displacements in its extents.
#[derive(Clone, Copy)]
pub struct Vector<'a> {
    /// Base.
    pub at: Addr,
    /// Elements of each block.
    pub counts: &'a [i64],
    /// Offset of each block, in extents of the datatype.
    pub displacements: &'a [i64],
    /// Handle.
    pub datatype: usize,
}

/// Blocks of the `w` forms: a datatype each, displacements in bytes.
#[derive(Clone, Copy)]
pub struct Typed<'a> {
    /// Base.
    pub at: Addr,
    /// Elements of each block.
    pub counts: &'a [i64],
    /// Offset of each block, in bytes.
    pub displacements: &'a [i64],
    /// Handles.
    pub datatypes: &'a [usize],
}

impl Typed<'_> {
    /// Returns the datatype of a block. Of an empty one `MPI_DATATYPE_NULL` is taken: there is nothing that
    /// it describes.
    // As MPICH does since 4.0.1: programs fill in types only where they communicate.
    pub(crate) fn datatype(&self, block: usize) -> usize {
        let given = self.datatypes[block];
        if given == MPI_DATATYPE_NULL && self.counts[block] == 0 { MPI_BYTE } else { given }
    }
}

/// Number of elements of a reduction that each member keeps.
#[derive(Clone, Copy)]
pub enum MemberElements<'a> {
    /// So many with everyone.
    Same(i64),
    /// So many with each.
    Each(&'a [i64]),
}

/// The memory of one side of a collective.
// The five ways in which MPI's functions name memory, so that a collective is written once for all its forms.
#[derive(Clone, Copy)]
pub enum BufferArgument<'a> {
    /// No memory (a rank that does not take part on this side).
    Nothing,
    /// `MPI_IN_PLACE`.
    InPlace,
    /// One buffer; of a block, or of a block a member.
    One(Buffer),
    /// The `v` forms.
    Each(Vector<'a>),
    /// The `w` forms.
    Typed(Typed<'a>),
}

impl BufferArgument<'_> {
    /// Returns a buffer that may be `MPI_IN_PLACE`.
    pub fn of(buffer: Buffer) -> BufferArgument<'static> {
        if buffer.0 == IN_PLACE { BufferArgument::InPlace } else { BufferArgument::One(buffer) }
    }
    /// Returns `true` if it has blocks that may differ.
    pub fn is_irregular(&self) -> bool {
        matches!(self, BufferArgument::Each(_) | BufferArgument::Typed(_))
    }
    // `MPI_IN_PLACE` may stand where a buffer does in each of the forms (MPI 5.0 section 6.2.1).
    pub(super) fn is_in_place(&self) -> bool {
        matches!(self, BufferArgument::InPlace)
            || matches!(
                self,
                BufferArgument::One((at, ..))
                | BufferArgument::Each(Vector { at, .. })
                | BufferArgument::Typed(Typed { at, .. })
                    if *at == IN_PLACE
            )
    }
}
