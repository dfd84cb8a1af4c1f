//! Operations that members of a file may do together.

use crate::hints::Hints;

/// A member's part.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Meet {
    /// None: its call failed before it was made.
    Refused,
    /// A collective access, whose data each member moves by itself.
    Access,
    /// A collective access where files take time: from the first byte that the member accesses to the end of
    /// the last (two times 0 for none), and what its hints say of buffering.
    Span(u64, u64, Hints),
    /// An access in the order of ranks, of so many etypes: where it begins.
    Ordered(u64),
    /// `MPI_File_set_size`.
    SetSize(u64),
    /// `MPI_File_preallocate`.
    Preallocate(u64),
    /// `MPI_File_set_view`: what must be alike of the members' views.
    SetView(u64),
    /// `MPI_File_set_atomicity`.
    SetAtomicity(bool),
    /// `MPI_File_sync`.
    Sync,
    /// `MPI_File_seek_shared`: offset and `whence`, and the end of the file as the member sees it, in etypes.
    SeekShared(i64, i32, u64),
}

impl Meet {
    /// Returns what must be the same for all members.
    pub(crate) fn alike(&self) -> Meet {
        match *self {
            Meet::Ordered(_) => Meet::Ordered(0),
            Meet::Span(..) => Meet::Access,
            Meet::SeekShared(offset, whence, _) => Meet::SeekShared(offset, whence, 0),
            meet => meet,
        }
    }
}
