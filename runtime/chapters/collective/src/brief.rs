//! A call's own description before anything is known of its blocks: it gathers by that, or goes the general
//! way.

use crate::agreement::{Contribution, Resolve};
use crate::blocks::BlockList;
use crate::gatherv::RootBlocks;
use crate::mode::Mode;
use schedule::Kind;

/// A call as a member of it knows it.
// Compared whole with the call before: two calls whose briefs are equal need no other look at their
// arguments.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct Brief {
    pub kind: Kind,
    pub mode: Mode,
    pub comm: usize,
    pub root: Option<i32>,
    /// `true` if blocks differ from member to member.
    pub irregular: bool,
    /// Bytes as in [`Shape::bytes`].
    pub bytes: u64,
    /// Handles of operation and datatype.
    pub reduction: Option<(usize, usize)>,
}

impl Brief {
    /// Returns a call without root, whose blocks are empty.
    pub(crate) fn of(kind: Kind, mode: Mode, comm: usize) -> Brief {
        Brief { kind, mode, comm, root: None, irregular: false, bytes: 0, reduction: None }
    }
}

/// The instance that was made last, while its members come in: most calls are one more of the same.
// Members of a collective enter one after the other, so that all but the first find their instance here, in
// O(1) and without a look at the communicator's table. Forgotten whenever the instance could change its
// nature.
pub(crate) struct LastCall {
    pub(crate) brief: Brief,
    pub(crate) function: u16,
    pub(crate) index: u32,
    pub(crate) comm: u32,
    /// The number among the communicator's calls.
    pub(crate) call: u32,
    /// Arguments of a reduction of contiguous elements.
    pub(crate) elements: Option<Elements>,
    /// The number of [`CollectiveInstance::taken`](crate::instance::CollectiveInstance::taken).
    pub(crate) taken: u32,
}

/// Arguments of a member beyond a block.
pub(crate) enum Bring<'a> {
    Nothing,
    /// To an agreement.
    Agreement(Contribution, Resolve),
    /// The root of a gather or scatter of blocks that differ.
    Blocks(RootBlocks),
    /// Blocks for and from each member or neighbour, and whether each neighbour gets one of its own.
    Lists(&'a BlockList<'a>, &'a BlockList<'a>, bool),
    /// Offsets at which the blocks of a reduction begin.
    Begins(&'a [u64]),
}

/// Arguments of a reduction: count, and handles of datatype and operation.
pub type Elements = (i64, usize, usize);
