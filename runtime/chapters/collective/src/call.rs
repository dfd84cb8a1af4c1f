//! The collective calls of MPI 5.0 chapter 6: from a program's buffers to blocks, and back.

pub(crate) mod agreement;
pub(crate) mod lengths;
pub(crate) mod moving;
pub(crate) mod neighbor;
pub(crate) mod reducing;

use crate::agent::pack;
use crate::area::{Area, BufferArgument, IN_PLACE};
use crate::brief::{Brief, Bring};
use crate::delivery::Delivery;
use crate::entrance::{EnteredCall, Entrance, membership, root_member};
use crate::entry::Entry;
use crate::instance::InstanceScope;
use crate::mode::Mode;
use crate::reduction::Reduction;
use crate::signature::CallSignature;
use objects::error::Result;
use p2p::handle;
use p2p::point_to_point::view;
use p2p::request::ROOT;
use p2p::view::BufferView;
use schedule::{Member, Shape};
use std::rc::Rc;

/// Arguments of a call beside its blocks.
enum Beside {
    Nothing,
    Reduction(Rc<Reduction>),
    Neighbors(NeighborLists),
}

/// The members that a rank's blocks come from and go to.
struct NeighborLists {
    sources: Rc<[u32]>,
    destinations: Rc<[u32]>,
    /// `true` if they are those of a grid.
    cartesian: bool,
}

impl Entrance<'_> {
    /// Enters the mounted rank as an agent.
    fn enter(&mut self, entry: Entry) -> Result<EnteredCall> {
        let (instance, member, request) =
            self.collectives.enter_collective(self.messages, self.objects, entry)?;
        Ok(self.collectives.entered(
            self.messages,
            self.objects,
            instance,
            member,
            request.map(handle::of_cold),
            BufferView::none(),
        ))
    }

    /// Returns `true` if calls may gather.
    fn may_gather(&self) -> bool {
        self.collectives.gathers(self.messages, true)
    }

    /// Enters the general way: with all that is given packed, and all that is received kept until it is
    /// delivered.
    // The one way that takes every call there is; gathering is an offer before it, which a call may decline
    // at no cost.
    fn general(&mut self, brief: &Brief, beside: Beside, send: Area, receive: Area) -> Result<EnteredCall> {
        let delivery = brief.mode.delivery(&receive);
        self.deliver(brief, beside, send, receive, delivery)
    }

    /// Behaves as [`Entrance::general`]; what is received goes where `delivery` says.
    fn deliver(
        &mut self,
        brief: &Brief,
        beside: Beside,
        send: Area,
        receive: Area,
        delivery: Delivery,
    ) -> Result<EnteredCall> {
        let comm = self.objects.comms.index(brief.comm)?;
        let (size, rank, sides) = membership(self.objects, comm);
        let root = brief.root.map(|root| root_member(self.objects, comm, root)).transpose()?;
        let blocking = brief.mode.whole() == Mode::Blocking;
        let (reduction, neighbors) = match beside {
            Beside::Nothing => (None, None),
            Beside::Reduction(reduction) => (Some(reduction), None),
            Beside::Neighbors(neighbors) => (None, Some(neighbors)),
        };
        // Everything that the choice of an algorithm may depend on, and nothing that differs between members:
        // all have to choose the same.
        let shape = Shape {
            kind: brief.kind,
            size,
            root: root.flatten().unwrap_or(0),
            irregular: brief.irregular,
            bytes: brief.bytes,
            element: reduction.as_ref().map_or(1, |reduction| reduction.datatype.size.max(1)),
            commutative: reduction.as_ref().is_none_or(|reduction| reduction.op.commutative()),
            sides,
            predefined: reduction.as_ref().is_none_or(|reduction| reduction.kernel.is_some()),
            cartesian: neighbors.as_ref().is_some_and(|neighbors| neighbors.cartesian),
            node: self.objects.comms.at(comm).group.on_node(self.messages.fabric().wire().node),
        };
        let function = self.messages.ranks().strand().function();
        let signature = CallSignature {
            function,
            blocking,
            irregular: brief.irregular,
            kind: brief.kind,
            root: root.flatten(),
        };
        let (sources, destinations) = neighbors.map_or_else(
            || (Rc::default(), Rc::default()),
            |neighbors| (neighbors.sources, neighbors.destinations),
        );
        self.enter(Entry {
            signature,
            place: InstanceScope::Comm(comm),
            root_known: root != Some(None),
            shape,
            input: pack(&send.views),
            member: Member { rank, send: send.blocks, receive: receive.blocks, sources, destinations },
            output_bytes: receive.bytes,
            reduction,
            delivery,
            agreement: None,
            blocking,
        })
    }

    /// Returns `(is this rank the root, blocks of the far side, own rank in the group, whether an
    /// intercommunicator)`.
    fn rooted(&mut self, comm: usize, root: i32) -> Result<(bool, u32, u32, bool)> {
        let index = self.objects.comms.index(comm)?;
        let (_, member, sides) = membership(self.objects, index);
        let is_root =
            root_member(self.objects, index, root)? == Some(member) && (sides.is_none() || root == ROOT);
        let communicator = self.objects.comms.at(index);
        Ok((is_root, communicator.peers(), communicator.rank(self.messages.me()), sides.is_some()))
    }

    /// Enters a collective that may gather; `None` if it is to be made in the general way.
    fn join_gathering(
        &mut self,
        brief: &Brief,
        source: &BufferView,
        target: &BufferView,
    ) -> Result<Option<EnteredCall>> {
        self.try_gathering(brief, source, target.clone(), &mut Bring::Nothing)
    }

    /// Returns the memory of `blocks` blocks of one datatype; `None` for other sides, and for too many
    /// elements.
    fn blocks(&mut self, side: &BufferArgument, blocks: u32) -> Result<Option<BufferView>> {
        let BufferArgument::One((at, count, datatype)) = *side else { return Ok(None) };
        let Some(total) = count.checked_mul(i64::from(blocks)).filter(|_| at != IN_PLACE) else {
            return Ok(None);
        };
        view(self.objects, (at, total, datatype)).map(Some)
    }

    /// The memory of an intracommunicator's rank that is one block; in place, that at the receiving side.
    // In place means that a member's own block lies at its place among those received (MPI 5.0 sections 6.5
    // and 6.7).
    fn own_block(
        &mut self,
        send: &BufferArgument,
        receive: &BufferArgument,
        me: u32,
    ) -> Result<Option<BufferView>> {
        match (send.is_in_place(), receive) {
            (true, BufferArgument::One((at, count, datatype))) => {
                let step = self.objects.types.get(*datatype)?.extent() * *count;
                view(self.objects, (at.offset(step * i64::from(me)), *count, *datatype)).map(Some)
            }
            _ => self.blocks(send, 1),
        }
    }

    /// Returns `(size, own rank, whether it may be held)` of a call on `comm`.
    fn members(&mut self, comm: usize) -> Result<(u32, u32, bool)> {
        let holds = self.may_gather();
        let communicator = self.objects.comms.get(comm)?;
        Ok((communicator.size(), communicator.rank(self.messages.me()), holds && !communicator.is_inter()))
    }
}
