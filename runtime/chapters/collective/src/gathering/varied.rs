//! Collectives whose members say more than one size, while its members gather.

pub(crate) mod agreed;
pub(crate) mod allgatherv;
pub(crate) mod alltoallv;
pub(crate) mod gatherv;
pub(crate) mod neighbor;
pub(crate) mod reduce_scatter;

use crate::arguments::{Beside, CallArguments};
use crate::blocks::BlockList;
use allgatherv::Allgatherv;
use alltoallv::Alltoallv;
use gatherv::Gatherv;
use neighbor::NeighborExchange;
use objects::topology::Topology;
use p2p::view::BufferView;
use reduce_scatter::ReduceScatter;
use schedule::{Blocks, Kind, Member, Members, Shape, member_of};
use std::rc::Rc;

/// Sources and destinations.
type Lists = (Rc<[u32]>, Rc<[u32]>);

/// Blocks that the members bring, by kind of collective.
// An enum, not a trait: the time plane's innermost loop asks members for sizes, and is compiled for the
// largest kinds by themselves.
pub(crate) enum Varied {
    /// Gather and scatter of blocks that differ.
    Gatherv(Gatherv),
    /// An all-to-all of blocks that differ.
    Alltoallv(Alltoallv),
    /// An allgather of blocks that differ.
    Allgatherv(Allgatherv),
    /// A reduction of which each keeps a block; its data is not here.
    ReduceScatter(ReduceScatter),
    /// Neighbours.
    Neighbor(NeighborExchange),
}

impl Varied {
    /// Returns `true` if a collective of this kind is one.
    pub(crate) fn is(kind: Kind, irregular: bool) -> bool {
        irregular || kind == Kind::Neighbor
    }
    /// For `members` of a collective of a communicator with this topology; `None` if it is not to gather.
    // `None` before anything is kept: what would take too much memory goes through as agents from its first
    // member on.
    pub(crate) fn new(shape: &Shape, members: u32, topology: Option<Rc<Topology>>) -> Option<Varied> {
        match (shape.kind, topology) {
            (Kind::Neighbor, Some(topology)) => {
                Some(Varied::Neighbor(NeighborExchange::new(topology, members)))
            }
            (Kind::Alltoall, _) => {
                Alltoallv::holds(members).then(|| Varied::Alltoallv(Alltoallv::new(members)))
            }
            (Kind::Allgather, _) => Some(Varied::Allgatherv(Allgatherv::new(members))),
            (Kind::ReduceScatter, _) => Some(Varied::ReduceScatter(ReduceScatter::default())),
            (Kind::Gather | Kind::Scatter, _) => {
                Some(Varied::Gatherv(Gatherv::new(shape.kind, shape.root, members)))
            }
            _ => None,
        }
    }
    /// Records that a member is in, whose rank is mounted.
    pub(crate) fn enter(&mut self, call: &CallArguments) {
        let (member, send, receive) = (call.place.member, &call.send, &call.receive);
        match (self, send.as_list(), receive.as_list()) {
            (Varied::Gatherv(gatherv), ..) => gatherv.enter(member, send, receive),
            (Varied::ReduceScatter(reduce_scatter), ..) => {
                if let Blocks::Each(begins) = send.blocks() {
                    reduce_scatter.enter(member, &begins);
                }
            }
            (Varied::Allgatherv(allgatherv), _, Some(receive)) => allgatherv.enter(member, send, receive),
            (Varied::Alltoallv(alltoallv), Some(send), Some(receive)) => {
                alltoallv.enter(member, send, receive);
            }
            (Varied::Neighbor(neighbor), Some(send), Some(receive)) => {
                let each = !matches!(call.beside, Beside::Neighbors { each: false, .. });
                neighbor.enter(member, send, receive, each);
            }
            _ => unreachable!("a call of lists that gathers has both"),
        }
    }
    /// Returns `true` if what members bring and get is kept elsewhere, because it is reduced.
    pub(crate) fn is_reduced(&self) -> bool {
        matches!(self, Varied::ReduceScatter(_))
    }
    /// Returns where blocks of a reduction begin, on which all agree.
    pub(crate) fn begins(&self) -> Option<&Rc<[u64]>> {
        if let Varied::ReduceScatter(reduce_scatter) = self { reduce_scatter.agreed() } else { None }
    }
    /// Returns `true` if all say the same.
    pub(crate) fn fits(&mut self) -> bool {
        match self {
            Varied::Gatherv(gatherv) => gatherv.fits(),
            Varied::Alltoallv(alltoallv) => alltoallv.fits(),
            Varied::Allgatherv(allgatherv) => allgatherv.fits(),
            Varied::ReduceScatter(reduce_scatter) => reduce_scatter.agreed().is_some(),
            Varied::Neighbor(neighbor) => neighbor.fits(),
        }
    }
    /// Returns what a member that is in sends and receives.
    pub(crate) fn blocks(&self, member: u32) -> (Blocks, Blocks) {
        match self {
            Varied::Gatherv(gatherv) => gatherv.blocks(member),
            Varied::Alltoallv(alltoallv) => alltoallv.blocks(member),
            Varied::Allgatherv(allgatherv) => allgatherv.blocks(member),
            Varied::ReduceScatter(reduce_scatter) => reduce_scatter.blocks(member),
            Varied::Neighbor(neighbor) => neighbor.blocks(member),
        }
    }
    /// Returns its neighbours: sources and destinations.
    pub(crate) fn neighbors(&self, member: u32) -> Option<Lists> {
        let Varied::Neighbor(neighbor) = self else { return None };
        let (sources, destinations, _) = neighbor.topology().neighbors(member);
        Some((sources, destinations))
    }
    /// Returns the packed bytes that a member gives.
    pub(crate) fn contribution(&self, member: u32) -> &[u8] {
        match self {
            Varied::Gatherv(gatherv) => gatherv.contribution(member),
            Varied::Alltoallv(alltoallv) => alltoallv.contribution(member),
            Varied::Allgatherv(allgatherv) => allgatherv.contribution(member),
            Varied::ReduceScatter(_) => &[],
            Varied::Neighbor(neighbor) => neighbor.contribution(member),
        }
    }
    /// Returns where the root of a gather gets its blocks.
    pub(crate) fn targets(&self, member: u32) -> &[BufferView] {
        match self {
            Varied::Gatherv(gatherv) => gatherv.targets(member),
            _ => &[],
        }
    }
    /// Copies a member's result, whose rank is mounted, into its memory.
    pub(crate) fn deliver(&self, member: u32, target: &BufferView) {
        match self {
            Varied::Gatherv(gatherv) => gatherv.deliver(member, target),
            // Side by side: others are delivered to a list of blocks.
            Varied::Neighbor(neighbor) if target.bytes != 0 => {
                neighbor.each_received(member, |index, bytes| {
                    rank::memory::write(target.buffer.offset((index * bytes.len()) as i64), bytes);
                })
            }
            _ => {}
        }
    }
    /// Delivers as [`Varied::deliver`] does, into a list of blocks.
    pub(crate) fn deliver_to(&mut self, member: u32, list: &BlockList) {
        match self {
            Varied::Gatherv(_) | Varied::ReduceScatter(_) => {}
            Varied::Alltoallv(alltoallv) => list.fill(&alltoallv.take(member)),
            Varied::Allgatherv(allgatherv) => list.fill(allgatherv.all()),
            Varied::Neighbor(neighbor) => {
                neighbor.each_received(member, |index, bytes| list.fill_block(index, bytes))
            }
        }
    }
    /// Records that a member's result is in its memory.
    pub(crate) fn delivered(&mut self, member: u32) {
        if let Varied::Gatherv(gatherv) = self {
            gatherv.delivered(member);
        }
    }
}

impl Members for Varied {
    fn prototype(&self) -> Member {
        member_of(0, Blocks::Uniform(0), Blocks::Uniform(0))
    }
    fn describe(&self, member: &mut Member) {
        (member.send, member.receive) = self.blocks(member.rank);
        if let Some((sources, destinations)) = self.neighbors(member.rank) {
            (member.sources, member.destinations) = (sources, destinations);
        }
    }
    /// Returns the packed bytes that a member gets.
    fn output(&self, member: u32) -> u64 {
        match self {
            Varied::Gatherv(gatherv) => gatherv.output(member),
            Varied::Alltoallv(alltoallv) => alltoallv.output(member),
            Varied::Allgatherv(allgatherv) => allgatherv.output(member),
            Varied::ReduceScatter(reduce_scatter) => reduce_scatter.blocks(member).1.bytes(0),
            Varied::Neighbor(neighbor) => neighbor.output(member),
        }
    }
}
