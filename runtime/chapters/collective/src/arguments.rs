//! Arguments of a collective call, analysed once. A gathering and agents take the same value.

use crate::agreement::{Contribution, Resolve};
use crate::area::BufferArgument;
use crate::blocks::{BlockList, block_list};
use crate::membership::CallMembership;
use crate::mode::Mode;
use crate::reduction::Operands;
use crate::signature::CallSignature;
use objects::Objects;
use objects::error::{ErrorClass, Failure, Result};
use objects::topology::Topology;
use p2p::Messages;
use p2p::point_to_point::view;
use p2p::view::BufferView;
use schedule::{Blocks, Kind, Shape};
use std::rc::Rc;

/// A call as a member of it knows it.
// Compared whole with the call before: two calls whose briefs are equal need no other look at their
// arguments.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct Brief {
    pub(crate) kind: Kind,
    /// `true` if the call waits for its result.
    pub(crate) blocking: bool,
    /// The communicator's handle.
    pub(crate) comm: usize,
    /// The root as the call names it.
    pub(crate) root: Option<i32>,
    /// `true` if blocks differ from member to member.
    pub(crate) irregular: bool,
    /// Bytes as in [`Shape::bytes`].
    pub(crate) bytes: u64,
    /// Handles of operation and datatype.
    pub(crate) reduction: Option<(usize, usize)>,
}

/// Arguments of a reduction: count, and handles of datatype and operation.
pub type Elements = (i64, usize, usize);

/// Arguments of one collective call, checked.
pub(crate) struct CallArguments<'a> {
    pub(crate) brief: Brief,
    pub(crate) place: CallMembership,
    pub(crate) send: CallMemory<'a>,
    pub(crate) receive: CallMemory<'a>,
    pub(crate) beside: Beside,
    /// `true` if the second half of the call names the memory of its result again.
    pub(crate) halved: bool,
    /// `false` if agents must make the call: its counts contradict each other, or only agents can deliver.
    pub(crate) gathers: bool,
    /// Arguments of a reduction of contiguous elements whose result all members get.
    pub(crate) elements: Option<Elements>,
}

/// Arguments of a call beside its blocks and handles.
pub(crate) enum Beside {
    Nothing,
    /// A function of the program that is not called, on elements of so many bytes.
    Uncalled {
        commutative: bool,
        element: u64,
    },
    /// The topology whose neighbours exchange blocks; with `each`, every neighbour gets a block of its own.
    Neighbors {
        topology: Rc<Topology>,
        each: bool,
    },
    /// To an agreement.
    Agreement(Contribution, Resolve),
}

impl Beside {
    /// Takes what a member gives to an agreement, and the function that makes its outcome.
    pub(crate) fn take_agreement(&mut self) -> Option<(Contribution, Resolve)> {
        match std::mem::replace(self, Beside::Nothing) {
            Beside::Agreement(contribution, resolve) => Some((contribution, resolve)),
            other => {
                *self = other;
                None
            }
        }
    }
}

impl<'a> CallArguments<'a> {
    /// Returns a call without root, of an empty size, with these sides: what a member sends and receives.
    #[inline(always)]
    pub(crate) fn of(
        kind: Kind,
        mode: Mode,
        place: CallMembership,
        (send, receive): (CallMemory<'a>, CallMemory<'a>),
    ) -> CallArguments<'a> {
        let (blocking, comm) = (mode.whole() == Mode::Blocking, place.handle);
        CallArguments {
            brief: Brief { kind, blocking, comm, root: None, irregular: false, bytes: 0, reduction: None },
            place,
            send,
            receive,
            beside: Beside::Nothing,
            halved: mode == Mode::Entering,
            gathers: true,
            elements: None,
        }
    }

    /// Returns operation and datatype of a reduction.
    ///
    /// # Errors
    /// `MPI_ERR_OP`, `MPI_ERR_TYPE`.
    pub(crate) fn operands(&self, messages: &Messages, objects: &Objects) -> Result<Option<Operands>> {
        if let Beside::Uncalled { commutative, element } = self.beside {
            return Operands::uncalled(objects, commutative, element).map(Some);
        }
        self.brief.reduction.map(|handles| Operands::of(messages, objects, handles)).transpose()
    }

    /// Returns what must agree between the members.
    pub(crate) fn signature(&self, messages: &Messages) -> CallSignature {
        CallSignature {
            function: messages.ranks().strand().function(),
            blocking: self.brief.blocking,
            irregular: self.brief.irregular,
            kind: self.brief.kind,
            root: self.place.root,
        }
    }

    /// Returns everything that the choice of an algorithm may depend on, and nothing that differs between
    /// members: all have to choose the same. `operands` are those of a reduction: its operation commutes, is
    /// predefined, and the bytes of an element.
    pub(crate) fn shape(
        &self,
        messages: &Messages,
        objects: &Objects,
        operands: Option<(bool, bool, u64)>,
    ) -> Shape {
        let (Brief { kind, irregular, bytes, .. }, place) = (self.brief, &self.place);
        let comm = objects.comms.at(place.comm);
        let (commutative, predefined, element) = operands.unwrap_or((true, true, 1));
        Shape {
            kind,
            size: place.size,
            root: place.root.unwrap_or(0),
            irregular,
            bytes,
            element,
            commutative,
            // Both sides of an intercommunicator agree as one.
            sides: place.sides.filter(|_| kind != Kind::Agree),
            predefined,
            cartesian: matches!(&self.beside, Beside::Neighbors { topology, .. }
                if matches!(**topology, Topology::Cart(_))),
            node: comm.group.on_node(messages.fabric().wire().node),
        }
    }
}

/// The memory of one side of a call.
pub(crate) enum CallMemory<'a> {
    /// None: blocks of these sizes, and the packed bytes of a result that stays where it is, or goes where
    /// only the end of the call says.
    // Schedules ask every member for its blocks: of who has no buffer on a side they are told the sizes that
    // the others must have.
    Absent(Blocks, Option<u64>),
    /// One stretch, and the blocks that it is.
    One(BufferView, Blocks),
    /// A block for each member or neighbour.
    List(BlockList<'a>),
}

impl<'a> CallMemory<'a> {
    pub(crate) fn none() -> CallMemory<'a> {
        CallMemory::Absent(Blocks::Uniform(0), None)
    }
    /// Returns blocks of these sizes, in no memory.
    pub(crate) fn lengths(blocks: Blocks) -> CallMemory<'a> {
        CallMemory::Absent(blocks, None)
    }
    /// Returns one block of so many bytes, whose memory is not looked at.
    pub(crate) fn unseen(bytes: u64) -> CallMemory<'a> {
        CallMemory::Absent(Blocks::Uniform(bytes), Some(bytes))
    }
    /// Returns no memory: the blocks of the other side, of members that have it.
    pub(crate) fn opposite(other: &CallMemory) -> CallMemory<'a> {
        CallMemory::lengths(other.blocks())
    }
    /// Returns one block.
    pub(crate) fn block(view: BufferView) -> CallMemory<'a> {
        let bytes = view.bytes;
        CallMemory::One(view, Blocks::Uniform(bytes))
    }

    /// Returns `blocks` blocks of what a call names.
    ///
    /// # Errors
    /// As of [`view`]; `MPI_ERR_COUNT` for blocks that are too large together.
    pub(crate) fn of(
        messages: &Messages,
        objects: &Objects,
        argument: &BufferArgument<'a>,
        blocks: u32,
    ) -> Result<CallMemory<'a>> {
        let BufferArgument::One((at, count, datatype)) = *argument else {
            return CallMemory::list(messages, objects, argument, blocks as usize);
        };
        // A product of counts can pass 2^63 with each of them right: a wrong count, before any address is
        // computed from it.
        let Some(total) = count.checked_mul(i64::from(blocks)) else {
            view(objects, (at, count, datatype))?;
            return Err(Failure::new(
                ErrorClass::COUNT,
                format!("count {count} for each of {blocks} members is beyond 2^63 elements"),
            ));
        };
        let all = view(objects, (at, total, datatype))?;
        let block = all.bytes / u64::from(blocks);
        Ok(CallMemory::One(all, Blocks::Uniform(block)))
    }
    /// Returns `len` blocks of what a call names, each by itself.
    ///
    /// # Errors
    /// As of [`block_list`].
    pub(crate) fn list(
        messages: &Messages,
        objects: &Objects,
        argument: &BufferArgument<'a>,
        len: usize,
    ) -> Result<CallMemory<'a>> {
        Ok(block_list(messages, objects, argument, len)?.map_or_else(CallMemory::none, CallMemory::List))
    }
    /// Returns the block of the mounted rank, number `me`: of what it sends, or in place at the receiving
    /// side.
    // In place means that a member's own block lies at its place among those received (MPI 5.0 sections 6.5
    // and 6.7): the same memory, so that it is packed before anything arrives.
    pub(crate) fn own(
        messages: &Messages,
        objects: &Objects,
        (send, in_place): (&BufferArgument<'a>, bool),
        (argument, receive): (&BufferArgument, &CallMemory),
        me: u32,
    ) -> Result<CallMemory<'a>> {
        match (argument, receive) {
            _ if !in_place => CallMemory::of(messages, objects, send, 1),
            (&BufferArgument::One((at, count, datatype)), _) => {
                let step = objects.types.get(datatype)?.extent() * count;
                let own = view(objects, (at.offset(step * i64::from(me)), count, datatype))?;
                Ok(CallMemory::block(own))
            }
            (_, CallMemory::List(list)) => Ok(CallMemory::block(list.view(me as usize))),
            _ => Ok(CallMemory::none()),
        }
    }

    /// Returns the sizes of its blocks.
    pub(crate) fn blocks(&self) -> Blocks {
        match self {
            CallMemory::Absent(blocks, _) | CallMemory::One(_, blocks) => blocks.clone(),
            CallMemory::List(list) => list.blocks(),
        }
    }
    /// Returns the bytes of the first block of a side whose blocks are equal.
    pub(crate) fn block_bytes(&self) -> u64 {
        match self {
            CallMemory::Absent(blocks, _) | CallMemory::One(_, blocks) => blocks.bytes(0),
            CallMemory::List(list) => list.even().unwrap_or(0),
        }
    }
    /// Returns the packed bytes of all.
    pub(crate) fn bytes(&self) -> u64 {
        match self {
            CallMemory::Absent(_, bytes) => bytes.unwrap_or(0),
            CallMemory::One(view, _) => view.bytes,
            CallMemory::List(list) => list.bytes,
        }
    }
    /// Returns `true` if its blocks may differ.
    pub(crate) fn is_irregular(&self) -> bool {
        match self {
            CallMemory::Absent(blocks, _) | CallMemory::One(_, blocks) => matches!(blocks, Blocks::Each(_)),
            CallMemory::List(list) => list.even().is_none(),
        }
    }
    /// Returns `true` if it is one block or stretch of a size that its member knows.
    pub(crate) fn is_known(&self) -> bool {
        matches!(self, CallMemory::Absent(_, Some(_)) | CallMemory::One(..))
    }
    /// Returns `true` if it is one stretch of memory.
    pub(crate) fn is_one(&self) -> bool {
        matches!(self, CallMemory::One(..))
    }
    /// Returns its blocks, if each is by itself.
    pub(crate) fn as_list(&self) -> Option<&BlockList<'a>> {
        if let CallMemory::List(list) = self { Some(list) } else { None }
    }
    /// Returns the memory of a side that is in one stretch.
    pub(crate) fn as_view(&self) -> Option<&BufferView> {
        if let CallMemory::One(view, _) = self { Some(view) } else { None }
    }
    /// Returns the stretch that a result fills; none if the blocks are apart.
    pub(crate) fn target(&self) -> BufferView {
        match self {
            CallMemory::One(view, _) => view.clone(),
            CallMemory::List(list) => match list.side_by_side() {
                Some(buffer) => BufferView { buffer, layout: None, bytes: list.bytes },
                None => BufferView::none(),
            },
            CallMemory::Absent(..) => BufferView::none(),
        }
    }
    /// Returns [`CallMemory::target`]; afterwards it is none.
    #[inline]
    pub(crate) fn take_target(&mut self) -> BufferView {
        match std::mem::replace(self, CallMemory::none()) {
            CallMemory::One(view, _) => view,
            CallMemory::Absent(..) => BufferView::none(),
            list => list.target(),
        }
    }
    /// Returns the views of its blocks, or of the stretch that they are.
    pub(crate) fn views(&self) -> Vec<BufferView> {
        match self {
            CallMemory::Absent(..) => Vec::new(),
            CallMemory::One(view, _) => vec![view.clone()],
            CallMemory::List(list) => list.views(),
        }
    }
    /// Packs it behind what `out` has; the rank must be mounted.
    pub(crate) fn append_to(&self, out: &mut Vec<u8>) {
        match self {
            CallMemory::Absent(..) => {}
            CallMemory::One(view, _) => view.append_to(out),
            CallMemory::List(list) => list.append_to(out),
        }
    }
}
