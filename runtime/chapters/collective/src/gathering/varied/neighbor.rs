//! Neighbourhood collectives while its members gather: blocks between members that a topology makes
//! neighbours.
//!
//! Messages between two members match in the order of their lists, on a grid by direction (MPI 5.0, section
//! 8.6). Who is whose neighbour follows from the topology, which all share.

use crate::blocks::BlockList;
use objects::topology::Topology;
use schedule::{Blocks, Direct, Member, Members, NOBODY, begins, member_of};
use std::cell::Cell;
use std::ops::Range;
use std::rc::Rc;

/// Sizes of a member's blocks.
// Lists are even but for the v and w forms: then a member costs 16 bytes a side here, however many neighbours
// it has.
#[derive(Clone, Copy)]
enum BlockSizes {
    /// All so many bytes.
    Even(u64),
    /// One block of so many bytes goes to every neighbour.
    One(u64),
    /// Their ends in `ends`, counted from the member's first byte, begin here.
    Listed(usize),
}

/// Blocks from each member to its neighbours.
pub(crate) struct NeighborExchange {
    topology: Rc<Topology>,
    data: Vec<u8>,
    /// Offset in `data` at which each member's blocks begin.
    begins: Vec<u64>,
    sends: Vec<BlockSizes>,
    receives: Vec<BlockSizes>,
    ends: Vec<u64>,
    /// The places in `data` of the blocks that a member of a graph gets, once all are in, and where its part
    /// of that list begins.
    places: Vec<u64>,
    places_from: Vec<u64>,
    /// Memory for a list of neighbours.
    // Asked for once a member and round by the time plane: a list of its own each time would be most of its
    // work.
    list: Cell<Vec<u32>>,
}

impl NeighborExchange {
    pub(super) fn new(topology: Rc<Topology>, members: u32) -> NeighborExchange {
        let members = members as usize;
        NeighborExchange {
            topology,
            data: Vec::new(),
            begins: vec![0; members],
            sends: vec![BlockSizes::Even(0); members],
            receives: vec![BlockSizes::Even(0); members],
            ends: Vec::new(),
            places: Vec::new(),
            places_from: Vec::new(),
            list: Cell::default(),
        }
    }
    /// Records that a member is in, whose rank is mounted.
    pub(super) fn enter(&mut self, member: u32, send: &BlockList, receive: &BlockList, each: bool) {
        let member = member as usize;
        self.begins[member] = self.data.len() as u64;
        send.append_to(&mut self.data);
        self.sends[member] = if each { self.note(send) } else { BlockSizes::One(send.bytes) };
        self.receives[member] = self.note(receive);
    }
    fn note(&mut self, list: &BlockList) -> BlockSizes {
        if let Some(bytes) = list.even() {
            return BlockSizes::Even(bytes);
        }
        let place = self.ends.len();
        self.ends.extend(begins(list.sizes()).skip(1));
        BlockSizes::Listed(place)
    }
    /// Returns a block of a packed row, from its first byte.
    #[inline]
    fn block(&self, sizes: BlockSizes, index: usize) -> Range<u64> {
        match sizes {
            BlockSizes::Even(bytes) => bytes * index as u64..bytes * (index as u64 + 1),
            BlockSizes::One(bytes) => 0..bytes,
            BlockSizes::Listed(place) => {
                let begin = if index == 0 { 0 } else { self.ends[place + index - 1] };
                begin..self.ends[place + index]
            }
        }
    }
    /// Returns the block that a member sends to its neighbour number `index`.
    #[inline]
    fn sent(&self, member: usize, index: usize) -> Range<u64> {
        let block = self.block(self.sends[member], index);
        self.begins[member] + block.start..self.begins[member] + block.end
    }
    /// Returns the size of the block that a member gets from its source number `index`.
    #[inline]
    fn received(&self, member: usize, index: usize) -> u64 {
        let block = self.block(self.receives[member], index);
        block.end - block.start
    }
    pub(super) fn topology(&self) -> &Topology {
        &self.topology
    }

    /// Returns `true` if all members agree on who sends what to whom; a graph's messages find their places.
    pub(super) fn fits(&mut self) -> bool {
        match &*self.topology {
            Topology::Cart(_) => self.grid_fits(),
            _ => self.match_graph(),
        }
    }
    // On a grid the messages of a dimension cross: what goes to the upper neighbour arrives as from the lower
    // one, whose index differs in the last bit. That holds even where both are the same rank, and order alone
    // would not tell them apart (MPI 5.0 section 8.6).
    fn grid_fits(&self) -> bool {
        let mut sources = Vec::new();
        (0..self.begins.len()).all(|member| {
            self.topology.sources(member as u32, &mut sources);
            sources.iter().enumerate().all(|(index, &source)| {
                let sent = || self.sent(source as usize, index ^ 1);
                source == NOBODY || sent().end - sent().start == self.received(member, index)
            })
        })
    }
    // O(edges log degree). A counting sort by receiver, then each receiver's list in order of senders beside
    // it: where both agree entry by entry, all messages have found their place.
    fn match_graph(&mut self) -> bool {
        let members = self.begins.len();
        // By receiver: who sends to it, in order of senders and of their lists.
        let (mut counts, mut list) = (vec![0u64; members + 1], Vec::new());
        for member in 0..members {
            self.topology.destinations(member as u32, &mut list);
            list.iter().for_each(|&to| counts[to as usize + 1] += 1);
        }
        for member in 0..members {
            counts[member + 1] += counts[member];
        }
        let (mut ends, mut messages) = (counts.clone(), vec![(0u32, 0u32); counts[members] as usize]);
        for member in 0..members {
            self.topology.destinations(member as u32, &mut list);
            for (index, &to) in list.iter().enumerate() {
                messages[ends[to as usize] as usize] = (member as u32, index as u32);
                ends[to as usize] += 1;
            }
        }
        let (mut order, mut places) = (Vec::new(), vec![0; messages.len()]);
        for member in 0..members {
            self.topology.sources(member as u32, &mut list);
            let own = counts[member] as usize..counts[member + 1] as usize;
            if list.len() != own.len() {
                return false;
            }
            // In order of senders as well, of one in the order of the list.
            order.clear();
            order.extend(0..list.len());
            order.sort_by_key(|&index| list[index]);
            for (&(sender, number), &index) in messages[own.clone()].iter().zip(&order) {
                let sent = self.sent(sender as usize, number as usize);
                if list[index] != sender || sent.end - sent.start != self.received(member, index) {
                    return false;
                }
                places[own.start + index] = sent.start;
            }
        }
        (self.places, self.places_from) = (places, counts);
        true
    }

    pub(super) fn blocks(&self, member: u32) -> (Blocks, Blocks) {
        let (mut sources, mut destinations) = (Vec::new(), Vec::new());
        self.topology.sources(member, &mut sources);
        self.topology.destinations(member, &mut destinations);
        let (send, receive) = (self.sends[member as usize], self.receives[member as usize]);
        let of = |sizes: BlockSizes, count: usize| match sizes {
            BlockSizes::Even(bytes) => Blocks::Uniform(bytes),
            BlockSizes::One(bytes) => Blocks::Same(bytes),
            BlockSizes::Listed(place) => Blocks::Each(
                std::iter::once(0).chain(self.ends[place..place + count].iter().copied()).collect(),
            ),
        };
        (of(send, destinations.len()), of(receive, sources.len()))
    }
    pub(super) fn contribution(&self, member: u32) -> &[u8] {
        let member = member as usize;
        let mut destinations = Vec::new();
        self.topology.destinations(member as u32, &mut destinations);
        let count = if let BlockSizes::One(_) = self.sends[member] { 1 } else { destinations.len() };
        let bytes = count.checked_sub(1).map_or(0, |last| self.block(self.sends[member], last).end);
        &self.data[self.begins[member] as usize..][..bytes as usize]
    }
    /// Hands over the blocks that a member gets: number and bytes.
    pub(super) fn each_received(&self, member: u32, mut run: impl FnMut(usize, &[u8])) {
        let mut sources = Vec::new();
        self.topology.sources(member, &mut sources);
        for (index, &source) in sources.iter().enumerate().filter(|(_, source)| **source != NOBODY) {
            let begin = match self.places_from.get(member as usize) {
                Some(&from) => self.places[from as usize + index],
                None => self.sent(source as usize, index ^ 1).start,
            };
            let bytes = self.received(member as usize, index);
            run(index, &self.data[begin as usize..(begin + bytes) as usize]);
        }
    }
}

impl Members for NeighborExchange {
    fn prototype(&self) -> Member {
        member_of(0, Blocks::Uniform(0), Blocks::Uniform(0))
    }
    fn describe(&self, member: &mut Member) {
        (member.send, member.receive) = self.blocks(member.rank);
        (member.sources, member.destinations, _) = self.topology.neighbors(member.rank);
    }
    /// Blocks of neighbours that do not exist included.
    fn output(&self, rank: u32) -> u64 {
        let mut sources = Vec::new();
        self.topology.sources(rank, &mut sources);
        sources.len().checked_sub(1).map_or(0, |last| self.block(self.receives[rank as usize], last).end)
    }
    fn knows(&self, direct: Direct) -> bool {
        matches!(direct, Direct::Neighbors)
    }
    fn sources(&self, to: u32, list: &mut Vec<(u32, u64)>) {
        let mut sources = self.list.take();
        self.topology.sources(to, &mut sources);
        let known = sources.iter().enumerate().filter(|(_, from)| **from != NOBODY);
        list.clear();
        list.extend(known.map(|(index, &from)| (from, self.received(to as usize, index))));
        self.list.set(sources);
    }
}
