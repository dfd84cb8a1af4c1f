//! A part of the network that one thread simulates: some routers, their endpoints, and their events.

mod arbitrate;
mod build;
mod cross;
mod flows;
mod forward;
mod incoming;
mod inject;
mod link_times;
mod packet_switch;
mod prefetch;
mod router;

use super::arriving::Arriving;
use super::event::{EventKind, PacketEvent};
use super::fabric::PacketFabric;
use super::load::Ports;
use super::over_time::OverTime;
use super::pages::Pages;
use super::port::{Flag, NEVER, Packet, UPSTREAM_REMOTE, VcCredits};
use super::runs::RunLengths;
use super::slab::{LargePageSlab, NONE};
use super::statistics::Statistics;
use super::usage::{Carried, LinkUse};
use crate::message::Delivered;
use bytemuck::{Pod, Zeroable};
use engine::{Time, TimingWheel};
use std::sync::Arc;

pub(crate) use build::{ShardAssignment, build};
pub(crate) use cross::Mail;
use cross::{LEAVING, SharedPlaces};
use flows::{FlowQueue, FlowSlots};
pub(crate) use router::{Router, RouterVisitor, with_router};

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
    /// `true` if it exceeds the processor's second-level cache, so that looking ahead pays.
    is_large: bool,
    /// `true` if a packet's way out of the next router is known when it sets off.
    routes_early: bool,
    /// Time between a packet's arrival at a router and its routing, in picoseconds.
    router_delay: u64,
    /// `true` if interfaces serve flows in turn.
    round_robin: bool,
    /// `true` if there is no other shard.
    alone: bool,
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
pub(crate) struct Shard<R> {
    pub(crate) fabric: Arc<PacketFabric>,
    pub(crate) me: usize,
    wheel: TimingWheel<PacketEvent>,
    pub(crate) at: Ports,
    carried: Carried,
    rules: ShardRules,
    /// State of the routers, as their kind needs it.
    router: R,
    pub(crate) border: ShardBorder,
    packets: LargePageSlab<Packet>,
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

impl<R: Router> Shard<R> {
    /// Returns when something happens next.
    pub(crate) fn next(&mut self) -> u64 {
        let feed = self.feed.as_ref().map_or(NEVER, |feed| feed.next());
        self.wheel.peek().map_or(NEVER, |event| event.time).min(feed)
    }

    /// Handles all events up to and including `until`, or the first instant at which messages of a caller
    /// are delivered. Messages of a feed are delivered to no caller.
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

    fn run_events(&mut self, mut until: u64) {
        while let Some(event) = self.wheel.pop_until(until) {
            self.events += 1;
            self.clock = event.time;
            if self.rules.is_large {
                R::prefetch(self);
            }
            if self.border.leaving >= LEAVING {
                self.send_off();
            }
            match event.kind() {
                EventKind::Arrive => R::arrive(self, event.place(), event.load(), event.time),
                EventKind::Head => R::head(self, event.place(), event.load(), event.time),
                EventKind::Cycle => R::cycle(self, event.place(), event.time),
                EventKind::Grant => R::grant(self, event.place(), event.time),
                EventKind::Credit => {
                    let (port, lane, bytes) = (event.place(), event.load() >> 24, event.load() & 0xff_ffff);
                    self.lane_mut(port, lane).give(bytes);
                    // Served after the arrivals of this instant, as with a noted credit.
                    if !self.nobody_waits(port) {
                        R::schedule(self, port, event.time.max(self.at.ports[port].busy));
                    }
                }
                EventKind::Inject => self.inject(event.place(), event.time),
                EventKind::Deliver => {
                    let message = &self.messages[event.load()];
                    self.statistics.record_tracked(message.created, event.time);
                    self.delivered.push(Delivered { id: message.id, at: Time::from_ps(event.time) });
                    self.messages.remove(event.load());
                    until = event.time;
                }
            }
        }
    }

    /// Returns the time of the last event.
    pub(crate) fn clock(&self) -> u64 {
        self.clock
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

    /// Returns the ports at which something waits, and its bytes, for the report of a deadlock.
    pub(crate) fn waiting(&self) -> Vec<(u32, u32)> {
        R::waiting(self)
    }

    /// Returns what the link behind `port` and the buffer at its end were used for.
    pub(crate) fn usage(&self, port: u32) -> LinkUse {
        self.carried.total(port, &self.at.ports[port].usage)
    }

    /// From now on it is kept how busy links were when.
    pub(crate) fn keep_series(&mut self) {
        self.carried.over_time.get_or_insert_with(|| Box::new(OverTime::new(self.at.ports.len() as usize)));
    }

    /// Returns how busy links were when; `None` if that was not to be kept.
    pub(crate) fn over_time(&self) -> Option<&OverTime> {
        self.carried.over_time.as_deref()
    }

    /// Returns the kind of the link behind `port`.
    #[inline]
    pub(crate) fn kind_of(&self, port: u32) -> u8 {
        self.at.kind(port)
    }

    pub(crate) fn push(&mut self, time: u64, kind: EventKind, place: u32, load: u32) {
        self.wheel.push(PacketEvent::new(time, kind, place, load));
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
    #[inline]
    fn is_interface(&self, port: u32) -> bool {
        port >= self.first_interface
    }
}

impl Queue {
    const EMPTY: Queue = Queue { head: NONE, tail: NONE };
}
