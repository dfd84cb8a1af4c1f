//! What one shard tells another: packets that go on there, and credits that come back.

use super::{Router, Shard};
use crate::packet::port::{Packet, UPSTREAM_REMOTE};
use crate::topology::SharedRouters;

/// After so many packets that leave, they are sent off: the first of them are still in the processor's cache.
pub(super) const LEAVING: usize = 64;

/// The mail from one shard to another in a window. Packets are a cache line each, credits less than half of
/// one: what one processor wrote another has to fetch.
#[derive(Default)]
pub(crate) struct Mail {
    /// Their heads can be routed when they are `ready`, and `upstream` is the input; at a router that shards
    /// share they were, and `next` is the output.
    pub(super) packets: Vec<Packet>,
    pub(super) credits: Vec<Credit>,
    /// Credits not yet among these. A store to a line that another processor read last keeps all stores
    /// behind it waiting; many of them in a row wait together.
    gathered: Vec<Credit>,
}

/// A buffer's part becomes free.
#[derive(Clone, Copy)]
pub(super) struct Credit {
    pub(super) time: u64,
    /// Picoseconds for which it was taken.
    pub(super) held: u64,
    pub(super) port: u32,
    /// Virtual channel in the high byte, bytes in the rest.
    pub(super) load: u32,
}

impl Mail {
    /// Returns `true` if it has nothing that was sent off.
    pub(crate) fn is_empty(&self) -> bool {
        self.packets.is_empty() && self.credits.is_empty()
    }

    pub(crate) fn clear(&mut self) {
        self.packets.clear();
        self.credits.clear();
    }
}

/// Positions of the shared routers in each shard, behind the shard's own routers.
#[derive(Clone, Default)]
pub(crate) struct SharedPlaces {
    /// First port of them in each shard; empty if shards share none.
    firsts: Vec<u32>,
    /// The shard that has each of their ports.
    owners: Vec<u8>,
    /// The first endpoint of each shard but the first.
    bounds: Vec<u32>,
    /// First and number of this shard's endpoints; no number if shards share nothing.
    own: (u32, u32),
}

impl SharedPlaces {
    /// `positions` are those of the first shared router in each shard.
    pub(super) fn new(
        shared: Option<&SharedRouters>,
        positions: impl Iterator<Item = u32>,
        me: &[u32],
        bounds: Vec<u32>,
        stride: u32,
    ) -> SharedPlaces {
        let Some(shared) = shared else { return SharedPlaces::default() };
        let firsts = positions.map(|position| position * stride).collect();
        SharedPlaces {
            firsts,
            owners: shared.owners.clone(),
            bounds,
            own: (me.first().copied().unwrap_or(0), me.len() as u32),
        }
    }

    /// Returns `true` if shards share routers. If so, all cables between shards lead to such.
    #[inline]
    pub(super) fn is_any(&self) -> bool {
        !self.owners.is_empty()
    }

    /// Returns `true` if a packet at a router that shards share leaves it in this shard.
    #[inline]
    pub(super) fn is_behind(&self, destination: u32) -> bool {
        destination.wrapping_sub(self.own.0) < self.own.1
    }
}

impl<R: Router> Shard<R> {
    /// Returns `true` if `port` belongs to a router that shards share, and lies in another shard.
    pub(crate) fn lies_elsewhere(&self, port: u32) -> bool {
        let (_, local) = self.fabric.stride.split(port);
        self.is_shared(port)
            && self.border.shared.owners.get(local as usize).is_some_and(|&owner| owner as usize != self.me)
    }

    /// Returns `true` if `port`, of a router, belongs to one that shards share.
    #[inline]
    fn is_shared(&self, port: u32) -> bool {
        self.border
            .shared
            .firsts
            .get(self.me)
            .is_some_and(|&first| port >= first && port < self.first_interface)
    }

    /// Returns the shard at the other end of a port that leads to one.
    #[inline]
    pub(super) fn other_shard(&self, port: u32) -> usize {
        if self.border.others.is_empty() { 1 - self.me } else { self.border.others[port as usize] as usize }
    }

    /// Sends the packets on that leave this shard at routers which shards share: many at a time, because
    /// nobody can foresee which do.
    pub(crate) fn send_off(&mut self) {
        self.border.leaving = 0;
        for mail in &mut self.border.outbox {
            mail.credits.append(&mut mail.gathered);
        }
        let mut leaving = std::mem::take(&mut self.border.taken);
        self.wheel.take_aside(&mut leaving);
        for event in leaving.drain(..) {
            let mut packet = self.packets[event.load()];
            self.packets.remove(event.load());
            let owner: usize =
                self.border.shared.bounds.iter().map(|&bound| usize::from(packet.destination >= bound)).sum();
            let (here, there) = (self.border.shared.firsts[self.me], self.border.shared.firsts[owner]);
            packet.next = packet.next - here + there;
            self.tell(owner, event.place() - here + there, packet);
        }
        self.border.taken = leaving;
    }

    /// Sends a packet on to another shard, where it comes in at `input`.
    #[inline]
    pub(super) fn tell(&mut self, shard: usize, input: u32, mut packet: Packet) {
        (packet.upstream, packet.origin) = (input | UPSTREAM_REMOTE, packet.upstream);
        self.border.told = self.border.told.min(packet.ready);
        self.border.outbox[shard].packets.push(packet);
    }

    /// Frees the buffer of `input` that a packet from `origin` in another shard leaves at `end`.
    pub(super) fn release_remote(
        &mut self,
        input: u32,
        origin: u32,
        lane: u8,
        size: u32,
        held: u64,
        end: u64,
    ) {
        let (time, charge) =
            (end + self.fabric.credit[self.kind_of(input) as usize], self.fabric.switching.charge(size));
        let shard = self.other_shard(input);
        self.border.told = self.border.told.min(time);
        self.border.outbox[shard].gathered.push(Credit {
            time,
            held,
            port: origin,
            load: u32::from(lane) << 24 | charge,
        });
    }
}
