//! Collectives in runs without payloads: a call says how long its blocks are, and nothing is moved.
//!
//! They take the way of those with memory, which asks for no more than sizes until it moves bytes, so that their times are the same.

use super::Call;
use crate::area::Area;
use crate::brief::Brief;
use crate::delivery::Delivery;
use crate::entrance::{Entrance, Part};
use crate::mode::Mode;
use crate::reduction::reduction;
use message::view::Extent;
use objects::error::Result;
use schedule::{Blocks, Kind};

/// A collective call on an intracommunicator, without its buffers. The forms whose blocks differ from member to member are left out.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Lengths {
    /// Which collective; neither [`Kind::Agree`] nor [`Kind::Neighbor`].
    pub kind: Kind,
    /// The communicator's handle.
    pub comm: usize,
    /// Where there is one.
    pub root: Option<i32>,
    /// Of a block: what each member gives or gets, of an all-to-all what it gives each; of a reduction all that a member gives.
    pub bytes: u64,
    /// Handles of operation and datatype.
    pub reduction: Option<(usize, usize)>,
}

impl Entrance<'_> {
    /// The mounted rank enters. Costs what the call with buffers costs, but for their bytes.
    ///
    /// # Errors
    /// As for the call with buffers.
    pub fn join_lengths(&mut self, &Lengths { kind, comm, root, bytes, reduction: handles }: &Lengths, mode: Mode) -> Result<Part> {
        debug_assert!(!self.messages.payloads, "who has payloads has buffers");
        if self.may_gather() {
            let brief = Brief { kind, mode, comm, root, irregular: false, bytes, reduction: handles };
            if let Some(part) = self.held(&brief, &Extent::none(), &Extent::none())? {
                return Ok(part);
            }
        }
        let reduction = handles.map(|(op, datatype)| reduction(self.messages, self.objects, op, datatype)).transpose()?;
        let members = u64::from(self.objects.comms.get(comm)?.size());
        let block = if kind == Kind::ReduceScatter { bytes / members } else { bytes };
        let side = || Area { extents: Vec::new(), blocks: Blocks::Uniform(block), bytes: 0 };
        let call = Call { kind, comm, root, irregular: false, bytes, reduction, mode };
        self.simple(call, side(), Vec::new(), side(), Delivery::None)
    }
}
