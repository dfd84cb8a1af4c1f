//! Collectives whose members say more than one size, while they are held together.

use crate::collective::blocks::BlockList;
use crate::collective::exchange::Exchange;
use crate::collective::gathered::Gathered;
use crate::collective::neighborhood::Neighborhood;
use crate::collective::ragged::Ragged;
use crate::collective::scattered::Scattered;
use crate::matching::Extent;
use crate::topology::Topology;
use ::schedule::{Blocks, Kind, Member, Members, Shape, member_of};
use std::rc::Rc;

/// Sources and destinations.
type Lists = (Rc<[u32]>, Rc<[u32]>);

/// What its members bring, by kind of collective.
pub(crate) enum Varied {
    /// Gather and scatter of blocks that differ.
    Ragged(Ragged),
    /// An all-to-all of blocks that differ.
    Exchange(Exchange),
    /// An allgather of blocks that differ.
    Gathered(Gathered),
    /// A reduction of which each keeps a block; its data is not here.
    Scattered(Scattered),
    /// Neighbours.
    Neighborhood(Neighborhood),
}

impl Varied {
    /// Whether a collective of this kind is one.
    pub(super) fn is(kind: Kind, irregular: bool) -> bool {
        irregular || kind == Kind::Neighbor
    }
    /// For `members` of a collective of a communicator with this topology; `None` if it is not to be held together.
    pub(super) fn new(shape: &Shape, members: u32, topology: Option<Rc<Topology>>) -> Option<Varied> {
        match (shape.kind, topology) {
            (Kind::Neighbor, Some(topology)) => Some(Varied::Neighborhood(Neighborhood::new(topology, members))),
            (Kind::Alltoall, _) => Exchange::holds(members).then(|| Varied::Exchange(Exchange::new(members))),
            (Kind::Allgather, _) => Some(Varied::Gathered(Gathered::new(members))),
            (Kind::ReduceScatter, _) => Some(Varied::Scattered(Scattered::default())),
            (Kind::Gather | Kind::Scatter, _) => Some(Varied::Ragged(Ragged::new(shape.kind, shape.root, members))),
            _ => None,
        }
    }
    /// A member is in, whose rank is mounted. Of neighbours, `each` gets a block of its own, or all get one.
    pub(super) fn enter_lists(&mut self, member: u32, send: &BlockList, receive: &BlockList, each: bool) {
        match self {
            Varied::Ragged(_) | Varied::Scattered(_) => {}
            Varied::Exchange(exchange) => exchange.enter(member, send, receive),
            Varied::Gathered(gathered) => gathered.enter(member, send, receive),
            Varied::Neighborhood(neighborhood) => neighborhood.enter(member, send, receive, each),
        }
    }
    /// The same, of one block on each side.
    pub(super) fn enter(&mut self, member: u32, source: &Extent, target: &Extent) {
        if let Varied::Ragged(ragged) = self {
            ragged.enter(member, source, target);
        }
    }
    /// The same of a reduction: where blocks begin.
    pub(super) fn enter_begins(&mut self, member: u32, begins: &[u64]) {
        if let Varied::Scattered(scattered) = self {
            scattered.enter(member, begins);
        }
    }
    /// Whether what members bring and get is kept elsewhere, because it is reduced.
    pub(super) fn is_reduced(&self) -> bool {
        matches!(self, Varied::Scattered(_))
    }
    /// Where blocks of a reduction begin, on which all agree.
    pub(super) fn begins(&self) -> Option<&Rc<[u64]>> {
        if let Varied::Scattered(scattered) = self { scattered.agreed() } else { None }
    }
    pub(super) fn as_ragged(&mut self) -> Option<&mut Ragged> {
        match self {
            Varied::Ragged(ragged) => Some(ragged),
            _ => None,
        }
    }
    /// Whether all say the same.
    pub(super) fn fits(&mut self) -> bool {
        match self {
            Varied::Ragged(ragged) => ragged.fits(),
            Varied::Exchange(exchange) => exchange.fits(),
            Varied::Gathered(gathered) => gathered.fits(),
            Varied::Scattered(scattered) => scattered.agreed().is_some(),
            Varied::Neighborhood(neighborhood) => neighborhood.fits(),
        }
    }
    /// What a member that is in sends and receives.
    pub(super) fn blocks(&self, member: u32) -> (Blocks, Blocks) {
        match self {
            Varied::Ragged(ragged) => ragged.blocks(member),
            Varied::Exchange(exchange) => exchange.blocks(member),
            Varied::Gathered(gathered) => gathered.blocks(member),
            Varied::Scattered(scattered) => scattered.blocks(member),
            Varied::Neighborhood(neighborhood) => neighborhood.blocks(member),
        }
    }
    /// Its neighbours: sources and destinations.
    pub(super) fn neighbors(&self, member: u32) -> Option<Lists> {
        let Varied::Neighborhood(neighborhood) = self else { return None };
        let (sources, destinations, _) = neighborhood.topology().neighbors(member);
        Some((sources, destinations))
    }
    /// Packed bytes that a member gives.
    pub(super) fn contribution(&self, member: u32) -> &[u8] {
        match self {
            Varied::Ragged(ragged) => ragged.contribution(member),
            Varied::Exchange(exchange) => exchange.contribution(member),
            Varied::Gathered(gathered) => gathered.contribution(member),
            Varied::Scattered(_) => &[],
            Varied::Neighborhood(neighborhood) => neighborhood.contribution(member),
        }
    }
    /// Where the root of a gather gets its blocks.
    pub(super) fn targets(&self, member: u32) -> &[Extent] {
        match self {
            Varied::Ragged(ragged) => ragged.targets(member),
            _ => &[],
        }
    }
    /// A member's result, whose rank is mounted, into its memory.
    pub(super) fn deliver(&self, member: u32, target: &Extent) {
        match self {
            Varied::Ragged(ragged) => ragged.deliver(member, target),
            // Side by side: others are delivered to a list of blocks.
            Varied::Neighborhood(neighborhood) if target.bytes != 0 => neighborhood.each_received(member, |index, bytes| {
                rank::memory::write(target.buffer.offset((index * bytes.len()) as i64), bytes);
            }),
            _ => {}
        }
    }
    /// The same into a list of blocks.
    pub(super) fn deliver_to(&mut self, member: u32, list: &BlockList) {
        match self {
            Varied::Ragged(_) | Varied::Scattered(_) => {}
            Varied::Exchange(exchange) => list.fill(&exchange.take(member)),
            Varied::Gathered(gathered) => list.fill(gathered.all()),
            Varied::Neighborhood(neighborhood) => neighborhood.each_received(member, |index, bytes| list.fill_block(index, bytes)),
        }
    }
    /// A member's result is in its memory.
    pub(super) fn delivered(&mut self, member: u32) {
        if let Varied::Ragged(ragged) = self {
            ragged.delivered(member);
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
    /// Packed bytes that a member gets.
    fn output(&self, member: u32) -> u64 {
        match self {
            Varied::Ragged(ragged) => ragged.output(member),
            Varied::Exchange(exchange) => exchange.output(member),
            Varied::Gathered(gathered) => gathered.output(member),
            Varied::Scattered(scattered) => scattered.blocks(member).1.bytes(0),
            Varied::Neighborhood(neighborhood) => neighborhood.output(member),
        }
    }
}
