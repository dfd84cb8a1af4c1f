//! The packet network as the rest of the simulator sees it.

use super::fabric::PacketFabric;
use super::over_time::LinkSeries;
use super::report::{NetworkReport, each_link};
use super::shard::{Pending, Router, RouterVisitor, Shard, ShardAssignment, build, with_router};
use super::slab::NONE;
use super::statistics::Statistics;
use crate::message::{Delivered, Endpoint, Message};
use crate::model::{Interfaces, Shared};
use engine::{Span, Time};
use std::sync::Arc;

/// A network of routers through which messages move as packets. One thread; see the module `traffic` for
/// several.
///
/// A message enters the interface of its source when it is sent, waits there for the messages before it (of
/// its class and flow), and is cut into packets as they leave. Flows take turns, a packet each, unless the
/// specification has `nicq=fifo`. It is delivered when the last of its packets has arrived whole. A message
/// to the endpoint itself goes to the router and back like any other.
struct PacketNetwork<R> {
    shard: Shard<R>,
    fabric: Arc<PacketFabric>,
    next: Option<Time>,
    /// Nothing happens later, for virtual time would pass its end.
    last: Time,
    /// `true` if something would.
    is_over: bool,
}

/// Returns a network of the routers that `fabric` has.
pub(crate) fn packet_network(fabric: Arc<PacketFabric>) -> Box<dyn Interfaces + Send> {
    /// Builds the network for a kind of router.
    struct NetworkBuilder(Arc<PacketFabric>);

    impl RouterVisitor for NetworkBuilder {
        type Output = Box<dyn Interfaces + Send>;

        fn visit<R: Router>(self) -> Self::Output {
            Box::new(PacketNetwork::<R>::new(self.0))
        }
    }

    let switching = &fabric.clone().switching;
    with_router(switching, NetworkBuilder(fabric))
}

impl<R: Router> PacketNetwork<R> {
    fn new(fabric: Arc<PacketFabric>) -> PacketNetwork<R> {
        let partition = ShardAssignment::new(&fabric, 1);
        let statistics = Statistics::new(1, None, 0, (0, u64::MAX));
        let shard = build(&fabric, &partition, 0, 11, &statistics);
        let last = fabric.last_event(0).expect("the specification's check");
        PacketNetwork { shard, fabric, next: None, last: Time::from_ps(last), is_over: false }
    }

    fn look_ahead(&mut self) {
        let next = Time::from_ps(self.shard.next());
        self.is_over = next > self.last && next != Time::MAX;
        self.next = (next <= self.last).then_some(next);
    }
}

impl<R: Router> Interfaces for PacketNetwork<R> {
    fn send_of_pair(&mut self, at: Time, message: &Message, pair: u64) {
        debug_assert!(
            at.as_ps() >= self.shard.clock(),
            "a message that leaves at {at} comes to a network that is at {} ps",
            self.shard.clock()
        );
        let classes = self.fabric.switching.classes.count();
        let pending = Pending {
            created: at.as_ps(),
            left: message.bytes,
            id: message.id,
            last_arrival: 0,
            source: message.source.0,
            destination: message.destination.0,
            outstanding: 1,
            next: NONE,
            flow: pair,
            class: message.class.min(classes - 1),
            tracked: true.into(),
            unused: [0; 6],
        };
        self.shard.send(message.source.0, pending);
        // Before the network has looked, the message itself is what happens next.
        if at <= self.last {
            self.next = Some(self.next.map_or(at, |next| next.min(at)));
        } else {
            // Told once nothing else happens.
            self.is_over = true;
        }
    }
}

impl<R: Router> Shared for PacketNetwork<R> {
    fn stuck(&self) -> Option<String> {
        if self.next.is_some() || self.shard.inside() == 0 {
            return None;
        }
        let shard = std::slice::from_ref(&self.shard);
        Some(if self.is_over { super::run::end_of_time(shard) } else { super::run::deadlock(shard) })
    }

    fn endpoints(&self) -> u64 {
        u64::from(self.fabric.topology.endpoints())
    }

    /// Returns the zero-load time of the smallest packet from the nearest other endpoint.
    fn lookahead(&self, to: Endpoint) -> Span {
        Span::from_ps(self.fabric.nearest(to.0))
    }

    fn send(&mut self, at: Time, message: &Message) -> Option<Time> {
        self.send_of_pair(at, message, u64::from(message.source.0) << 32 | u64::from(message.destination.0));
        None
    }

    fn prefetch(&self, message: &Message) {
        self.shard.prefetch_sender(message.source.0);
    }

    fn next_event(&self) -> Option<Time> {
        self.next
    }

    fn keep_series(&mut self) {
        self.shard.keep_series();
    }

    fn series(&self, end: Time) -> Option<LinkSeries> {
        let over_time = self.shard.over_time()?;
        let links = each_link(std::slice::from_ref(&self.shard), end.as_ps()).len();
        Some(over_time.series(links, end.as_ps()))
    }

    fn report(&self, end: Time) -> NetworkReport {
        let each_link = each_link(std::slice::from_ref(&self.shard), end.as_ps());
        NetworkReport::new(&self.shard.fabric, each_link, &self.shard.statistics)
    }

    fn advance_to_delivery(&mut self, limit: Time, delivered: &mut Vec<Delivered>) -> bool {
        if self.next.is_none_or(|next| next > limit) {
            return false;
        }
        self.shard.run(limit.min(self.last).as_ps());
        let is_delivery = !self.shard.delivered.is_empty();
        self.shard.delivered.sort_unstable_by_key(|delivered| delivered.id);
        delivered.append(&mut self.shard.delivered);
        self.look_ahead();
        is_delivery
    }
}
