//! A part of the network that one thread simulates: some routers, their endpoints, and their events.

mod arbitrate;
mod build;
mod cross;
mod fifo;
mod flows;
mod forward;
mod heads;
mod incoming;
mod inject;
mod islip;
mod prefetch;
mod wormhole;

use super::arriving::Arriving;
use super::event::{EventKind, PacketEvent};
use super::fabric::PacketFabric;
use super::load::Ports;
use super::over_time::{LinkSeries, OverTime};
use super::pages::Pages;
use super::port::{Fifo, Flag, NEVER, Packet, Requester, UPSTREAM_REMOTE, VcCredits};
use super::runs::RunLengths;
use super::slab::{LargePageSlab, NONE};
use super::statistics::Statistics;
use super::usage::{Carried, LinkUse};
use crate::message::Delivered;
use bytemuck::{Pod, Zeroable};
use engine::{Time, TimingWheel};
use std::sync::Arc;

use flows::{FlowQueue, FlowSlots};
use forward::LinkTimes;
use islip::Matching;
use wormhole::Wormhole;

pub(crate) use build::{ShardAssignment, build};
pub(crate) use cross::Mail;
use cross::{LEAVING, SharedPlaces};

/// A message an interface has not sent whole yet, or that waits for its last packet.
#[derive(Clone, Copy, Default, Pod, Zeroable)]
#[repr(C, align(64))]
pub(crate) struct Pending {
    pub(crate) created: u64,
    pub(crate) left: u64,
    pub(crate) id: u64,
    pub(crate) last_arrival: u64,
    pub(crate) source: u32,
    pub(crate) destination: u32,
    /// Packets sent and not arrived, plus one until the last is cut.
    pub(crate) outstanding: u32,
    pub(crate) next: u32,
    /// Flow of the message, for interfaces that serve flows in turn.
    pub(crate) flow: u64,
    pub(crate) class: u8,
    /// Set if the caller is notified of the delivery.
    pub(crate) tracked: Flag,
    pub(crate) unused: [u8; 6],
}

/// The messages of an interface whose time has not come.
#[derive(Clone, Copy, Pod, Zeroable)]
#[repr(C)]
struct Queue {
    head: u32,
    tail: u32,
}

/// A message that traffic offers.
#[derive(Clone, Copy)]
pub(crate) struct Offer {
    pub(crate) time: u64,
    /// The shard's own number of the endpoint.
    pub(crate) interface: u32,
    pub(crate) destination: u32,
    pub(crate) bytes: u64,
    pub(crate) class: u8,
}

/// Source of a shard's traffic.
pub(crate) trait Feed: Send {
    /// Returns the start of the earliest stretch of time with an offer; `NEVER` after the last.
    fn next(&self) -> u64;
    /// Appends all offers of that stretch, in time order for each interface.
    fn take(&mut self, offers: &mut Vec<Offer>);
    /// Returns how many messages it has left out because an endpoint has failed.
    fn left_out(&self) -> u64;
}

/// Events between loading something and its turn: what an event names, what is found there, and so on. The
/// distance of two is time enough for memory, and all that is on its way still fits a first-level cache. The
/// last three steps are for packets that wait for others.
const AHEAD: [usize; 6] = [36, 29, 22, 16, 10, 5];
/// Messages between loading an interface and its turn.
const OFFERS_AHEAD: usize = 8;
/// Ports that a second-level cache holds beside the rest.
pub(super) const CACHED_PORTS: usize = 16384;

/// Rules of a shard that no event changes.
#[derive(Clone, Copy)]
struct ShardRules {
    store_and_forward: bool,
    /// `true` if it exceeds the processor's second-level cache, so that looking ahead pays.
    is_large: bool,
    /// `true` if a packet's way out of the next router is known when it sets off.
    routes_early: bool,
    /// One virtual channel and no limit of the crossbar, which is decided quickly.
    plain: bool,
    /// `true` if outputs have queues: not with classes or a limited crossbar, where the link's turn is
    /// decided when it is free.
    takes_ahead: bool,
    /// Time between a packet's arrival at a router and its routing, in picoseconds.
    router_delay: u64,
    /// `true` if interfaces serve flows in turn.
    round_robin: bool,
    /// Time from a packet's leaving until the next of its queue asks for an output, in picoseconds.
    turnaround: u64,
    /// `true` if there is no other shard.
    alone: bool,
}

/// State by which outputs choose among inputs and classes.
struct Arbitration {
    /// Rings of classes 1 and up of each port.
    more_rings: Vec<u32>,
    /// Bytes over weight that each class of each port has sent, with weighted classes.
    served: Vec<u64>,
    /// When each input is free, with a crossbar of one packet an input.
    input_busy: Vec<u64>,
    /// Virtual channels of each input, if they have one queue each, and when the next of a queue follows.
    fifos: Vec<Fifo>,
    /// Cycles in which inputs and outputs are matched, if they are.
    matching: Option<Matching>,
    /// With wormhole switching, whose events are `Match` for a step and `Head` for a flit.
    wormhole: Option<Box<Wormhole>>,
}

/// Messages to and from other shards.
pub(crate) struct ShardBorder {
    /// The shard at the other end of each router's port; empty if there are only two.
    others: Vec<u8>,
    /// Positions of the routers that shards share.
    shared: SharedPlaces,
    /// Number of packets that wait to be sent off to other shards, and, empty between calls, memory for their
    /// events.
    leaving: usize,
    taken: Vec<PacketEvent>,
    pub(crate) outbox: Vec<Mail>,
    /// The earliest time in it.
    pub(crate) told: u64,
}

/// See the module. Aligned so that no two share a cache line, or a pair of them that is loaded together.
#[repr(align(128))]
pub(crate) struct Shard {
    pub(crate) fabric: Arc<PacketFabric>,
    pub(crate) me: usize,
    wheel: TimingWheel<PacketEvent>,
    pub(crate) at: Ports,
    carried: Carried,
    rules: ShardRules,
    arbitration: Arbitration,
    pub(crate) border: ShardBorder,
    /// Times of each kind of link.
    times: Vec<LinkTimes>,
    packets: LargePageSlab<Packet>,
    requesters: LargePageSlab<Requester>,
    messages: LargePageSlab<Pending>,
    /// The messages that wait in each interface, of each class.
    queues: Pages<FlowQueue>,
    flows: FlowSlots,
    /// Messages of each interface whose time has not come, by time and, at one instant, in the order in which
    /// they were given.
    early: Pages<Queue>,
    /// First port of the interfaces.
    pub(crate) first_interface: u32,
    /// Router of each position.
    routers: RunLengths,
    /// Endpoint of each interface.
    endpoints: RunLengths,
    pub(crate) statistics: Statistics,
    arriving: Arriving,
    pub(crate) delivered: Vec<Delivered>,
    pub(crate) feed: Option<Box<dyn Feed>>,
    offers: Vec<Offer>,
    pub(crate) events: u64,
    /// The time of the last event.
    clock: u64,
}

impl Shard {
    /// Returns when something happens next.
    pub(crate) fn next(&mut self) -> u64 {
        let feed = self.feed.as_ref().map_or(NEVER, |feed| feed.next());
        self.wheel.peek().map_or(NEVER, |event| event.time).min(feed)
    }

    /// Everything up to and including `until`.
    pub(crate) fn run(&mut self, until: u64) {
        loop {
            let feed = self.feed.as_ref().map_or(NEVER, |feed| feed.next());
            let before = if feed == 0 { None } else { Some(until.min(feed - 1)) };
            if let Some(before) = before {
                self.run_events(before);
            }
            if feed > until || feed == NEVER {
                return;
            }
            let mut offers = std::mem::take(&mut self.offers);
            if let Some(feed) = &mut self.feed {
                feed.take(&mut offers);
            }
            for (index, &offer) in offers.iter().enumerate() {
                if let Some(ahead) = offers.get(index + OFFERS_AHEAD) {
                    self.prefetch_interface(self.first_interface + ahead.interface);
                    if self.rules.is_large {
                        self.packets.prefetch_place(OFFERS_AHEAD);
                    }
                }
                self.offer(offer);
            }
            offers.clear();
            self.offers = offers;
        }
    }

    fn run_events(&mut self, until: u64) {
        while let Some(event) = self.wheel.pop_until(until) {
            self.events += 1;
            self.clock = event.time;
            if self.rules.is_large {
                self.prefetch();
            }
            if self.border.leaving >= LEAVING {
                self.send_off();
            }
            match event.kind() {
                EventKind::Arrive => self.arrive(event.place(), event.load(), event.time),
                EventKind::Head => self.follow(event.place(), event.load(), event.time),
                EventKind::Match if self.arbitration.wormhole.is_some() => {
                    self.step(event.place(), event.time)
                }
                EventKind::Match => self.match_all(event.place(), event.time),
                EventKind::Grant => self.wake(event.place(), event.time),
                EventKind::Credit => {
                    let (port, lane, bytes) = (event.place(), event.load() >> 24, event.load() & 0xff_ffff);
                    self.lane_mut(port, lane).give(bytes);
                    // Served after the arrivals of this instant, as with a noted credit.
                    if !self.nobody_waits(port) {
                        self.schedule(port, event.time.max(self.at.ports[port].busy));
                    }
                }
                EventKind::Inject => self.inject(event.place(), event.time),
                EventKind::Deliver => {
                    let message = &self.messages[event.load()];
                    self.statistics.record_tracked(message.created, event.time);
                    self.delivered.push(Delivered { id: message.id, at: Time::from_ps(event.time) });
                    self.messages.remove(event.load());
                }
            }
        }
    }

    /// Packets inside and messages not sent whole.
    pub(crate) fn inside(&self) -> usize {
        self.packets.len() + self.messages.len()
    }

    #[inline]
    fn lane_mut(&mut self, port: u32, lane: u32) -> &mut VcCredits {
        self.at.ports.lane_mut(port, lane)
    }

    #[inline]
    fn lane(&self, port: u32, lane: u32) -> &VcCredits {
        self.at.ports.lane(port, lane)
    }

    /// Returns the input that packets from `upstream` come in by.
    #[inline]
    fn input_of(&self, upstream: u32) -> u32 {
        if upstream & UPSTREAM_REMOTE == 0 {
            self.at.ports[upstream].peer()
        } else {
            upstream & !UPSTREAM_REMOTE
        }
    }

    /// Returns the router of a position in this shard.
    #[inline]
    pub(crate) fn router_at(&self, position: u32) -> u32 {
        self.routers.at(position)
    }

    /// Returns the endpoint of an interface in this shard.
    #[inline]
    pub(crate) fn endpoint_at(&self, interface: u32) -> u32 {
        self.endpoints.at(interface)
    }

    /// The least free buffer each virtual channel behind `port` has had.
    pub(crate) fn lows(&self, port: u32) -> impl Iterator<Item = u32> + '_ {
        (0..self.fabric.switching.lanes).map(move |lane| self.lane(port, lane).low())
    }

    /// Returns the ports at which something waits, for the report of a deadlock.
    pub(crate) fn waiting(&self) -> Vec<(u32, u32)> {
        if let Some(wormhole) = &self.arbitration.wormhole {
            return wormhole.waiting(self.fabric.switching.lanes);
        }
        (0..self.at.ports.len())
            .map(|port| (port, self.queued(port)))
            .filter(|&(_, queued)| queued > 0)
            .collect()
    }

    /// Returns what the link behind `port` and the buffer at its end were used for.
    pub(crate) fn usage(&self, port: u32) -> LinkUse {
        self.carried.total(port, &self.at.ports[port].usage)
    }

    /// From now on it is kept how busy links were when.
    pub(crate) fn keep_series(&mut self) {
        self.carried.over_time.get_or_insert_with(|| Box::new(OverTime::new(self.at.ports.len() as usize)));
    }

    /// Returns how busy links were when, up to `end`; `None` if nobody wanted to know.
    pub(crate) fn series(&self, end: u64) -> Option<LinkSeries> {
        let over_time = self.carried.over_time.as_ref()?;
        Some(over_time.series(super::report::each_link(std::slice::from_ref(self), end).len(), end))
    }

    /// Returns the kind of the link behind `port`.
    #[inline]
    pub(crate) fn kind_of(&self, port: u32) -> u8 {
        self.at.kind(port)
    }

    pub(crate) fn push(&mut self, time: u64, kind: EventKind, place: u32, load: u32) {
        self.wheel.push(PacketEvent::new(time, kind, place, load));
    }

    /// Returns a ring of requesters of a port.
    #[inline]
    fn ring(&self, port: u32, class: u8) -> u32 {
        if class != 0 {
            return self.arbitration.more_rings[self.more_ring(port, class)];
        }
        let waits = self.at.ports[port].waits();
        if waits == NONE { NONE } else { self.at.waits[waits].ring }
    }
    /// Something must wait at the port.
    #[inline]
    fn set_ring(&mut self, port: u32, class: u8, ring: u32) {
        if class == 0 {
            self.at.waits[self.at.ports[port].waits()].ring = ring;
        } else {
            let index = self.more_ring(port, class);
            self.arbitration.more_rings[index] = ring;
        }
    }
    #[inline]
    fn more_ring(&self, port: u32, class: u8) -> usize {
        port as usize * (self.fabric.switching.classes.count() as usize - 1) + class as usize - 1
    }
    #[inline]
    fn nobody_waits(&self, port: u32) -> bool {
        self.queued(port) == 0
    }
    /// Returns the bytes of the packets that wait at a port.
    #[inline]
    fn queued(&self, port: u32) -> u32 {
        let waits = self.at.ports[port].waits();
        if waits == NONE { 0 } else { self.at.waits[waits].queued }
    }
    /// Forgets a port's `Waits` once nothing waits and no `Grant` is to come.
    #[inline]
    fn settle(&mut self, port: u32) {
        let port = &mut self.at.ports[port];
        let place = port.waits();
        if place != NONE && self.at.waits[place].queued == 0 && self.at.waits[place].wake == NEVER {
            self.at.waits.remove(place);
            port.set_waits(NONE);
        }
    }
    #[inline]
    fn is_interface(&self, port: u32) -> bool {
        port >= self.first_interface
    }
}

impl Queue {
    const EMPTY: Queue = Queue { head: NONE, tail: NONE };
}
