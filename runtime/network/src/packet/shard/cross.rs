//! What one shard tells another: packets that go on there, and credits that come back.

use super::Shard;
use crate::packet::event::{Event, Kind};
use crate::packet::port::{Packet, UPSTREAM_REMOTE};
use crate::packet::slab::NONE;
use crate::packet::topology::Shared;

/// Packets, or credits, between loading what one needs and its turn.
const AHEAD: usize = 8;

/// What a shard tells another in a window. Packets are a cache line each, credits less than half of one: what one processor wrote
/// another has to fetch.
#[derive(Default)]
pub(crate) struct Mail {
    /// Their heads can be routed when they are `ready`, and `upstream` is the input; `next` is the output, or `NONE` if that is not known.
    packets: Vec<Packet>,
    credits: Vec<Credit>,
}

/// A buffer's part becomes free.
#[derive(Clone, Copy)]
struct Credit {
    time: u64,
    /// Picoseconds for which it was taken.
    held: u64,
    port: u32,
    /// Virtual channel in the high byte, bytes in the rest.
    load: u32,
}

impl Mail {
    pub(crate) fn is_empty(&self) -> bool {
        self.packets.is_empty() && self.credits.is_empty()
    }

    pub(crate) fn clear(&mut self) {
        self.packets.clear();
        self.credits.clear();
    }
}

/// Where each shard has the routers that shards share, behind its own routers.
#[derive(Clone, Default)]
pub(crate) struct SharedPlaces {
    /// First port of them in each shard; empty if shards share none.
    firsts: Vec<u32>,
    /// The shard that has each of their ports.
    owners: Vec<u8>,
}

impl SharedPlaces {
    /// `positions` are those of the first shared router in each shard.
    pub(super) fn new(shared: Option<&Shared>, positions: impl Iterator<Item = u32>, stride: u32) -> SharedPlaces {
        let Some(shared) = shared else { return SharedPlaces::default() };
        SharedPlaces { firsts: positions.map(|position| position * stride).collect(), owners: shared.owners.clone() }
    }
}

impl Shard {
    /// Whether `port` belongs to a router that shards share, and lies in another shard.
    pub(crate) fn lies_elsewhere(&self, port: u32) -> bool {
        let (_, local) = self.fabric.stride.split(port);
        self.is_shared(port) && self.shared.owners.get(local as usize).is_some_and(|&owner| owner as usize != self.me)
    }

    /// Whether `port`, of a router, belongs to one that shards share.
    #[inline]
    fn is_shared(&self, port: u32) -> bool {
        self.shared.firsts.get(self.me).is_some_and(|&first| port >= first && port < self.first_interface)
    }

    /// The shard at the other end of a port that leads to one.
    #[inline]
    fn other_shard(&self, port: u32) -> usize {
        if self.others.is_empty() { 1 - self.me } else { self.others[port as usize] as usize }
    }

    /// Sends `packet`, which was `index` here and left by `output`, on to `peer`: a port in another shard, or the port that a router which
    /// shards share has in this one.
    #[inline]
    pub(super) fn cross(&mut self, output: u32, peer: u32, index: u32, mut packet: Packet, now: u64) {
        let time = packet.ready;
        let (shard, input) = if self.is_shared(peer) {
            self.packets[index] = packet;
            self.route(peer, index, now);
            let to = self.packets[index].next;
            let owner = self.shared.owners[self.fabric.stride.split(to).1 as usize] as usize;
            if owner == self.me {
                self.wheel.push(Event::new(time, Kind::Arrive, peer, index));
                return;
            }
            packet = self.packets[index];
            let (here, there) = (self.shared.firsts[self.me], self.shared.firsts[owner]);
            packet.next = to - here + there;
            (owner, peer - here + there)
        } else {
            packet.next = NONE;
            (self.other_shard(output), peer)
        };
        packet.upstream = input | UPSTREAM_REMOTE;
        packet.origin = output;
        self.packets.remove(index);
        self.told = self.told.min(time);
        self.outbox[shard].packets.push(packet);
    }

    /// Frees the buffer of `input` that a packet from `origin` in another shard leaves at `end`.
    pub(super) fn release_remote(&mut self, input: u32, origin: u32, lane: u8, size: u32, held: u64, end: u64) {
        let (time, charge) = (end + self.fabric.credit[self.kind_of(input) as usize], self.fabric.switching.charge(size));
        let shard = self.other_shard(input);
        self.told = self.told.min(time);
        self.outbox[shard].credits.push(Credit { time, held, port: origin, load: u32::from(lane) << 24 | charge });
    }

    /// Takes in what another shard told.
    pub(crate) fn receive(&mut self, mail: &Mail) {
        for packet in &mail.packets {
            self.packets.prefetch_place(AHEAD);
            let (input, time) = (packet.upstream & !UPSTREAM_REMOTE, packet.ready);
            let index = self.packets.insert(*packet);
            if self.routes_early && packet.next == NONE {
                self.route(input, index, time);
            }
            self.wheel.push(Event::new(time, Kind::Arrive, input, index));
        }
        for (index, credit) in mail.credits.iter().enumerate() {
            if let Some(ahead) = mail.credits.get(index + AHEAD) {
                self.prefetch_port(ahead.port);
            }
            self.credit(credit.port, (credit.load >> 24) as u8, credit.load & 0xff_ffff, credit.time, credit.held, self.clock);
        }
    }
}
