//! Collectives in runs without payloads: a call says how long its blocks are, and nothing is moved.
//!
//! They take the way of those with memory, which asks for no more than sizes until it moves bytes, so that
//! their times are the same.

use super::Beside;
use crate::area::Area;
use crate::brief::Brief;
use crate::entrance::{EnteredCall, Entrance};
use crate::mode::Mode;
use crate::reduction::{Reduction, reduction};
use objects::Objects;
use objects::error::Result;
use p2p::Messages;
use p2p::view::BufferView;
use schedule::{Blocks, Kind};
use std::rc::Rc;

/// A collective call on an intracommunicator, without its buffers.
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
    /// forms, and of [`Kind::Neighbor`]. A neighbourhood has a block for each neighbour that the member sends
    /// to, and for each that sends to it.
    pub blocks: Option<(Blocks, Blocks)>,
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
        let &Lengths { kind, comm, root, bytes, ref blocks, reduction: reducing } = call;
        if kind == Kind::Neighbor {
            let (send, receive) = blocks.clone().unwrap_or((Blocks::Uniform(0), Blocks::Uniform(0)));
            return self.join_neighbor_lengths(comm, (send, receive), mode);
        }
        let handles = match reducing {
            Some(Reducing::Predefined { op, datatype }) => Some((op, datatype)),
            _ => None,
        };
        let brief = Brief { kind, mode, comm, root, irregular: blocks.is_some(), bytes, reduction: handles };
        // Gathering knows operations by their handles, which a function that nobody calls has none of.
        let is_plain = blocks.is_none() && reducing.is_some() == handles.is_some();
        if is_plain
            && self.may_gather()
            && let Some(part) = self.join_gathering(&brief, &BufferView::none(), &BufferView::none())?
        {
            return Ok(part);
        }
        let reduction =
            reducing.map(|reducing| reducing.reduction(self.messages, self.objects)).transpose()?;
        let (send, receive) = match blocks {
            Some(blocks) => blocks.clone(),
            None => {
                let members = u64::from(self.objects.comms.get(comm)?.size());
                let block = if kind == Kind::ReduceScatter { bytes / members } else { bytes };
                (Blocks::Uniform(block), Blocks::Uniform(block))
            }
        };
        self.general(
            &brief,
            reduction.map_or(Beside::Nothing, Beside::Reduction),
            lengths(send),
            lengths(receive),
        )
    }
}

impl Reducing {
    fn reduction(self, messages: &Messages, objects: &Objects) -> Result<Rc<Reduction>> {
        match self {
            Reducing::Predefined { op, datatype } => reduction(messages, objects, op, datatype),
            Reducing::Function { commutative, element } => {
                Reduction::unreduced(objects, commutative, element)
            }
        }
    }
}

/// Blocks of these lengths, in no memory.
pub(super) fn lengths(blocks: Blocks) -> Area {
    Area { views: Vec::new(), blocks, bytes: 0 }
}
