//! The flow level: a message is a flow along one path, and flows share links max-min fair.
//!
//! Networks, routings and failures are those of the packet level. A message takes the path that its packets
//! would, and the latencies of that path's links and routers. Its bytes pass all links of the path at one
//! rate, which changes whenever another flow that it depends on starts or ends. Messages below `flowmin`
//! bytes are no flows: they wait for each other in the interfaces that they leave and enter, and take
//! nothing from flows.

mod options;
mod paths;
mod report;
mod routes;

use super::fabric::PacketFabric;
use super::over_time::{LinkSeries, OverTime};
use super::report::{LinkReport, NetworkReport};
use super::statistics::Statistics;
use crate::machine::MachineError;
use crate::message::{Delivered, Endpoint, Message};
use crate::model::{Interfaces, Shared};
use engine::{Span, Time};
use flow::{FlowId, Flows};
pub(crate) use options::{FlowOptions, SizeFactors};
pub(crate) use paths::{Paths, Route};
use routes::Routes;
use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};
use std::sync::Arc;

/// Bytes that a port takes, about.
const PORT_BYTES: u64 = 300;

/// Refuses a network that does not fit the memory or the numbering of ports.
pub(super) fn check_size(fabric: &PacketFabric, available: u64) -> Result<(), MachineError> {
    let ports = fabric.ports();
    if ports >= 1 << 29 {
        return Err(MachineError::new(format!(
            "{} has {ports} ports, more than 2^29; make it smaller",
            fabric.topology.describe()
        )));
    }
    let needed = ports * PORT_BYTES;
    if needed > available {
        Err(fabric.too_large(needed, available, "use a smaller network"))
    } else {
        Ok(())
    }
}

/// A network of links that messages share as flows, along paths of one kind.
pub(crate) struct FlowNetwork<P> {
    paths: P,
    /// Bytes from which on a message is a flow.
    flow_min: u64,
    flows: Flows,
    /// The message of each flow.
    messages: Vec<FlowMessage>,
    /// Messages that were sent for a time that has not been reached, by time and in the order of sending.
    early: VecDeque<(u64, Message)>,
    /// The time at which each link has passed the short messages so far.
    passed: Vec<u64>,
    /// Short messages whose first byte is on its way to the interface of their destination: by time, then
    /// order.
    short: BinaryHeap<Reverse<(u64, u64)>>,
    /// The messages under way, by their order.
    short_messages: Queue<ShortMessage>,
    /// Last bytes on their way: time, then the caller's name.
    arriving: BinaryHeap<Reverse<(u64, u64)>>,
    /// Messages that arrive after the end of virtual time.
    lost: u64,
    ended: Vec<FlowId>,
    /// Bytes that each port has sent.
    carried: Vec<u64>,
    over_time: Option<Box<OverTime>>,
    pub(crate) statistics: Statistics,
    /// Number of instants at which something happened.
    pub(crate) instants: u64,
    next: Option<Time>,
}

/// A message under way as a flow.
#[derive(Clone, Copy, Default)]
struct FlowMessage {
    id: u64,
    created: u64,
    bytes: u64,
    latency: u64,
    source: u32,
    destination: u32,
    routers: u32,
}

/// A short message under way.
#[derive(Clone, Copy)]
struct ShortMessage {
    under: FlowMessage,
    /// The earliest arrival of the last byte.
    last: u64,
    /// The last link of its path, the time that its bytes take there, and the time until the next message.
    link: u32,
    span: u64,
    occupancy: u64,
}

/// Values by consecutive numbers, removed in about their order.
struct Queue<T> {
    first: u64,
    items: VecDeque<Option<T>>,
}

impl<T> Queue<T> {
    fn push(&mut self, item: T) -> u64 {
        self.items.push_back(Some(item));
        self.first + self.items.len() as u64 - 1
    }

    fn take(&mut self, number: u64) -> Option<T> {
        let item = self.items[(number - self.first) as usize].take();
        while let Some(None) = self.items.front() {
            self.items.pop_front();
            self.first += 1;
        }
        item
    }
}

impl FlowNetwork<Routes> {
    /// Returns a network of these routers and links without messages. Counts go to `statistics`.
    pub(crate) fn over(fabric: &Arc<PacketFabric>, statistics: Statistics) -> FlowNetwork<Routes> {
        FlowNetwork::new(Routes::new(fabric), fabric.flow.min, statistics)
    }
}

impl<P: Paths> FlowNetwork<P> {
    /// Returns the network without messages. Messages are flows from `flow_min` bytes on. Counts go to
    /// `statistics`.
    pub(crate) fn new(paths: P, flow_min: u64, statistics: Statistics) -> FlowNetwork<P> {
        let capacities = paths.capacities();
        let flows = Flows::new(&capacities);
        FlowNetwork {
            flows: if paths.has_cross_traffic() { flows.with_cross_traffic() } else { flows },
            flow_min,
            messages: Vec::new(),
            early: VecDeque::new(),
            passed: vec![0; capacities.len()],
            short: BinaryHeap::new(),
            short_messages: Queue { first: 0, items: VecDeque::new() },
            arriving: BinaryHeap::new(),
            lost: 0,
            ended: Vec::new(),
            carried: vec![0; capacities.len()],
            over_time: None,
            statistics,
            instants: 0,
            next: None,
            paths,
        }
    }

    /// Returns when something happens next.
    fn look_ahead(&self) -> Option<Time> {
        let early = self.early.front().map(|&(at, _)| at);
        let short = self.short.peek().map(|&Reverse((at, _))| at);
        let arriving = self.arriving.peek().map(|&Reverse((at, _))| at);
        let others = [early, short, arriving].into_iter().flatten().min().map(Time::from_ps);
        self.flows.next_end().into_iter().chain(others).min()
    }

    /// Lets everything of one instant happen.
    fn step(&mut self, now: Time, delivered: &mut Vec<Delivered>) {
        let at = now.as_ps();
        let starts = self.early.front().is_some_and(|&(early, _)| early <= at);
        if starts || self.flows.next_end().is_some_and(|end| end <= now) {
            let mut ended = std::mem::take(&mut self.ended);
            self.flows.advance(now, &mut ended);
            for flow in ended.drain(..) {
                let under = self.messages[flow.0 as usize];
                self.land(under, at.saturating_add(under.latency));
            }
            self.ended = ended;
            while self.early.front().is_some_and(|&(early, _)| early <= at) {
                if let Some((_, message)) = self.early.pop_front() {
                    self.start(at, &message);
                }
            }
            self.flows.solve();
        }
        while let Some(&Reverse((head, number))) = self.short.peek()
            && head <= at
        {
            self.short.pop();
            if let Some(short) = self.short_messages.take(number) {
                self.receive(at, short);
            }
        }
        while let Some(&Reverse((arrival, id))) = self.arriving.peek()
            && arrival <= at
        {
            self.arriving.pop();
            delivered.push(Delivered { id, at: Time::from_ps(arrival) });
        }
    }

    /// Starts a message whose time has come.
    fn start(&mut self, at: u64, message: &Message) {
        let Route { latency, routers, bound, weight, work } = self.paths.find(message, at);
        for &link in self.paths.links() {
            self.carried[link as usize] += work;
        }
        let (source, destination, bytes) = (message.source.0, message.destination.0, message.bytes);
        let under = FlowMessage { id: message.id, created: at, bytes, latency, source, destination, routers };
        if bytes > 0 && bytes >= self.flow_min {
            let flow = self.flows.start(self.paths.limited(), self.paths.back(), weight, bound, work);
            let index = flow.0 as usize;
            if index >= self.messages.len() {
                self.messages.resize(index + 1, FlowMessage::default());
            }
            self.messages[index] = under;
            return;
        }
        let (first, link) = self.paths.ends();
        let passed = &mut self.passed[first as usize];
        let begin = (*passed).max(at);
        *passed = begin.saturating_add(self.paths.occupancy(first, bytes));
        let head = begin.saturating_add(latency);
        let last = head.saturating_add(self.paths.slowest_span(bytes));
        if last == u64::MAX {
            self.lost += 1;
            return;
        }
        if first == link {
            return self.land(under, last);
        }
        let (span, occupancy) = (self.paths.span(link, bytes), self.paths.occupancy(link, bytes));
        let number = self.short_messages.push(ShortMessage { under, last, link, span, occupancy });
        self.short.push(Reverse((head, number)));
    }

    /// Receives a short message whose first byte is at the last link of its path.
    fn receive(&mut self, at: u64, short: ShortMessage) {
        let passed = &mut self.passed[short.link as usize];
        let begin = (*passed).max(at);
        *passed = begin.saturating_add(short.occupancy);
        self.land(short.under, begin.saturating_add(short.span).max(short.last));
    }

    /// Notes that a message's last byte arrives at a time.
    fn land(&mut self, under: FlowMessage, arrival: u64) {
        if arrival == u64::MAX {
            self.lost += 1;
            return;
        }
        if self.over_time.is_some() {
            self.keep(&under, arrival);
        }
        self.statistics.record_whole(
            under.source,
            (under.created, arrival),
            under.bytes,
            under.routers as usize,
        );
        self.arriving.push(Reverse((arrival, under.id)));
    }

    /// Keeps when a message used the links of its path: evenly from its start to its end.
    fn keep(&mut self, under: &FlowMessage, arrival: u64) {
        let Some(over_time) = &mut self.over_time else { return };
        let message = Message {
            source: Endpoint(under.source),
            destination: Endpoint(under.destination),
            bytes: under.bytes,
            id: under.id,
            class: 0,
        };
        let work = self.paths.find(&message, under.created).work;
        let end = (arrival - under.latency).max(under.created);
        for &link in self.paths.links() {
            over_time.spread(link, (under.created, end), self.paths.span(link, work));
        }
    }

    /// Returns what each direction of each cable did; shares are of so many picoseconds.
    pub(crate) fn each_link(&self, duration: u64) -> Vec<LinkReport> {
        self.paths.each_link(&self.carried, duration)
    }

    /// Returns the sentence for messages under way of which none arrives any more.
    fn end_of_time(&self) -> String {
        let inside = self.flows.len() as u64 + self.lost;
        format!(
            "virtual time ends at 2^64 picoseconds (213 days), and {inside} messages are still under way in \
             the network; raise its bandwidth b, lower its latency l or send less"
        )
    }
}

impl<P: Paths> Interfaces for FlowNetwork<P> {
    fn send_of_pair(&mut self, at: Time, message: &Message, _pair: u64) {
        let ps = at.as_ps();
        match self.early.back() {
            Some(&(last, _)) if last > ps => {
                let index = self.early.partition_point(|&(early, _)| early <= ps);
                self.early.insert(index, (ps, *message));
            }
            _ => self.early.push_back((ps, *message)),
        }
        self.next = Some(self.next.map_or(at, |next| next.min(at)));
    }
}

impl<P: Paths> Shared for FlowNetwork<P> {
    fn endpoints(&self) -> u64 {
        self.paths.endpoints()
    }

    /// Returns the latency from the nearest other endpoint.
    fn lookahead(&self, to: Endpoint) -> Span {
        self.paths.nearest_latency(to)
    }

    fn send(&mut self, at: Time, message: &Message) -> Option<Time> {
        let alone = self.paths.time_alone(message);
        if alone.is_none() {
            self.send_of_pair(at, message, 0);
        }
        alone.map(|span| at + span)
    }

    fn next_event(&self) -> Option<Time> {
        self.next
    }

    fn advance_to_delivery(&mut self, mut limit: Time, delivered: &mut Vec<Delivered>) -> bool {
        let first = delivered.len();
        while let Some(next) = self.next.filter(|&next| next <= limit) {
            self.step(next, delivered);
            self.next = self.look_ahead();
            self.instants += u64::from(self.next != Some(next));
            if delivered.len() > first {
                limit = next;
            }
        }
        delivered[first..].sort_unstable_by_key(|delivered| delivered.id);
        delivered.len() > first
    }

    fn stuck(&self) -> Option<String> {
        let is_under_way = !self.flows.is_empty() || self.lost > 0;
        (self.next.is_none() && is_under_way).then(|| self.end_of_time())
    }

    fn keep_series(&mut self) {
        self.over_time.get_or_insert_with(|| Box::new(OverTime::new(self.carried.len())));
    }

    fn series(&self, end: Time) -> Option<LinkSeries> {
        let over_time = self.over_time.as_ref()?;
        Some(over_time.series(self.each_link(end.as_ps()).len(), end.as_ps()))
    }

    fn report(&self, end: Time) -> NetworkReport {
        self.paths.report(self.each_link(end.as_ps()), &self.statistics)
    }
}
