//! Collectives in runs without payloads: a call says how long its blocks are, and nothing is moved.
//!
//! They take the way of those with memory, which asks for no more than sizes until it moves bytes, so that
//! their times are the same.

use crate::arguments::{Beside, CallArguments, CallMemory};
use crate::entrance::{EnteredCall, Entrance};
use crate::membership::CallMembership;
use crate::mode::Mode;
use objects::error::Result;
use schedule::{Blocks, Kind};

/// A collective call without its buffers.
// Owned and not borrowed from a program's arrays: there is no program.
#[derive(Clone, Debug)]
pub struct Lengths {
    /// Kind of the collective; not [`Kind::Agree`].
    pub kind: Kind,
    /// The communicator's handle.
    pub comm: usize,
    /// The root, where there is one.
    pub root: Option<i32>,
    /// Bytes of a block: those that a member gives or gets, in an all-to-all those that it gives each. In a
    /// reduction, all bytes that a member gives. Where blocks differ, a number that all members share: in an
    /// allgather all blocks together, in a reduction that scatters all that a member gives, else 0.
    pub bytes: u64,
    /// The blocks that the member gives and gets, where they differ from member to member: of the v and w
    /// forms, of [`Kind::Neighbor`], and in intercommunicators. A neighbourhood has a block for each that the
    /// member sends to, and for each that sends to it.
    // In an intercommunicator both groups say how long their blocks are, and a member of the root's group may
    // give or get none.
    pub blocks: Option<(Blocks, Blocks)>,
    /// `true` for the v and w forms.
    pub irregular: bool,
    /// With what it reduces.
    pub reduction: Option<Reducing>,
}

/// With what a collective without buffers reduces.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Reducing {
    /// An operation of MPI's own.
    Predefined {
        /// The handle.
        op: usize,
        /// The handle of the datatype, which is predefined too.
        datatype: usize,
    },
    /// A function of the program, which is not called: there is nothing to reduce.
    Function {
        /// `true` if the program declared it commutative.
        commutative: bool,
        /// Bytes of an element.
        element: u64,
    },
}

impl Entrance<'_> {
    /// Enters the mounted rank. Costs what the call with buffers costs, but for their bytes.
    ///
    /// # Errors
    /// As for the call with buffers.
    pub fn join_lengths(&mut self, call: &Lengths, mode: Mode) -> Result<EnteredCall> {
        debug_assert!(!self.messages.payloads().are_carried(), "who has payloads has buffers");
        let &Lengths { kind, comm, root, bytes, ref blocks, irregular, reduction: reducing } = call;
        if kind == Kind::Neighbor {
            let (send, receive) = blocks.clone().unwrap_or((Blocks::Uniform(0), Blocks::Uniform(0)));
            return self.join_neighbor_lengths(comm, (send, receive), mode);
        }
        let mut place = CallMembership::of(self.objects, comm)?;
        if let Some(root) = root {
            place = place.with_root(root)?;
        }
        let (send, receive) = match blocks {
            Some(blocks) => blocks.clone(),
            None => {
                let members = u64::from(self.objects.comms.at(place.comm).size());
                let block = if kind == Kind::ReduceScatter { bytes / members } else { bytes };
                (Blocks::Uniform(block), Blocks::Uniform(block))
            }
        };
        let sides = (CallMemory::lengths(send), CallMemory::lengths(receive));
        let mut call = CallArguments::of(kind, mode, place, sides);
        (call.brief.root, call.brief.irregular, call.brief.bytes) = (root, irregular, bytes);
        // As the call with buffers, whose two sides differ between groups.
        call.gathers = !irregular && blocks.is_none();
        match reducing {
            Some(Reducing::Predefined { op, datatype }) => call.brief.reduction = Some((op, datatype)),
            // Gathering knows operations by their handles, which a function that nobody calls has none of.
            Some(Reducing::Function { commutative, element }) => {
                (call.beside, call.gathers) = (Beside::Uncalled { commutative, element }, false);
            }
            None => {}
        }
        self.make(&mut call)
    }
}
