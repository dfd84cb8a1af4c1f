//! The flow level: a message is a flow along one path, and flows share links max-min fair.
//!
//! Networks, routings and failures are those of the packet level. A message takes the path that its packets
//! would, and the latencies of that path's links and routers. Its bytes pass all links of the path at one
//! rate, which changes whenever another flow that it depends on starts or ends. Messages below `flowmin`
//! bytes are no flows: they wait for each other in the interfaces that they leave and enter, and take
//! nothing from flows.

mod report;
mod routes;

use super::fabric::Fabric;
use super::over_time::{LinkSeries, OverTime};
use super::report::{LinkReport, NetworkReport};
use super::statistics::Statistics;
use crate::machine::MachineError;
use crate::message::{Delivered, Endpoint, Message};
use crate::model::{Interfaces, Shared};
use engine::{Span, Time};
use flow::{FlowId, Flows};
use routes::{Route, Routes};
use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};
use std::sync::Arc;

/// Bytes that a port takes, about.
const PORT_BYTES: u64 = 300;

/// Refuses a network that does not fit the memory or the numbering of ports.
pub(super) fn check_size(fabric: &Fabric, available: u64) -> Result<(), MachineError> {
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

/// A network of links that messages share as flows.
pub(crate) struct FlowNetwork {
    fabric: Arc<Fabric>,
    routes: Routes,
    /// Bytes from which on a message is a flow.
    flow_min: u64,
    flows: Flows,
    /// The message of each flow.
    messages: Vec<Under>,
    /// Messages that were sent for a time that has not been reached, by time and in the order of sending.
    early: VecDeque<(u64, Message)>,
    interfaces: Vec<Interface>,
    /// Short messages whose first byte is on its way to the interface of their destination: by time, then
    /// order.
    short: BinaryHeap<Reverse<(u64, u64)>>,
    /// The messages under way, by their order.
    short_messages: Queue<Short>,
    /// Last bytes on their way: time, then the caller's name.
    arriving: BinaryHeap<Reverse<(u64, u64)>>,
    /// Messages that arrive after the end of virtual time.
    lost: u64,
    ended: Vec<FlowId>,
    /// Bytes that each port has sent.
    carried: Vec<u64>,
    over_time: Option<Box<OverTime>>,
    pub(crate) statistics: Statistics,
    next: Option<Time>,
}

/// A message under way as a flow.
#[derive(Clone, Copy, Default)]
struct Under {
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
struct Short {
    under: Under,
    /// When its last byte can be there, and the time that it takes in the interface.
    last: u64,
    span: u64,
}

/// When an endpoint's interface has sent and received the short messages so far.
#[derive(Clone, Copy, Default)]
struct Interface {
    sent: u64,
    received: u64,
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

impl FlowNetwork {
    /// Returns the network without messages. Counts go to `statistics`.
    pub(crate) fn new(fabric: Arc<Fabric>, flow_min: u64, statistics: Statistics) -> FlowNetwork {
        let routes = Routes::new(&fabric);
        FlowNetwork {
            flows: Flows::new(&routes.capacities()),
            flow_min,
            messages: Vec::new(),
            early: VecDeque::new(),
            interfaces: vec![Interface::default(); fabric.topology.endpoints() as usize],
            short: BinaryHeap::new(),
            short_messages: Queue { first: 0, items: VecDeque::new() },
            arriving: BinaryHeap::new(),
            lost: 0,
            ended: Vec::new(),
            carried: vec![0; fabric.ports() as usize],
            over_time: None,
            statistics,
            next: None,
            routes,
            fabric,
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
        let Route { latency, routers, slowest } =
            self.routes.find(message.source.0, message.destination.0, at);
        for &port in self.routes.ports() {
            self.carried[port as usize] += message.bytes;
        }
        let (source, destination, bytes) = (message.source.0, message.destination.0, message.bytes);
        let under = Under { id: message.id, created: at, bytes, latency, source, destination, routers };
        if bytes > 0 && bytes >= self.flow_min {
            let flow = self.flows.start(self.routes.limited(), 1, None, bytes);
            let index = flow.0 as usize;
            if index >= self.messages.len() {
                self.messages.resize(index + 1, Under::default());
            }
            self.messages[index] = under;
            return;
        }
        let links = &self.fabric.links;
        let interface = &mut self.interfaces[source as usize];
        let begin = interface.sent.max(at);
        interface.sent = begin.saturating_add(links[usize::from(self.routes.first_kind())].span(bytes));
        let head = begin.saturating_add(latency);
        let last = head.saturating_add(links[usize::from(slowest)].span(bytes));
        let span = links[usize::from(self.routes.last_kind())].span(bytes);
        if last == u64::MAX {
            self.lost += 1;
            return;
        }
        let number = self.short_messages.push(Short { under, last, span });
        self.short.push(Reverse((head, number)));
    }

    /// Receives a short message whose first byte is at its destination's interface.
    fn receive(&mut self, at: u64, short: Short) {
        let interface = &mut self.interfaces[short.under.destination as usize];
        let through = interface.received.max(at).saturating_add(short.span);
        interface.received = through;
        self.land(short.under, through.max(short.last));
    }

    /// Notes that a message's last byte arrives at a time.
    fn land(&mut self, under: Under, arrival: u64) {
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
    fn keep(&mut self, under: &Under, arrival: u64) {
        let Some(over_time) = &mut self.over_time else { return };
        self.routes.find(under.source, under.destination, under.created);
        let end = (arrival - under.latency).max(under.created);
        for &port in self.routes.ports() {
            over_time.spread(
                port,
                (under.created, end),
                self.fabric.links[self.routes.kind(port)].span(under.bytes),
            );
        }
    }

    /// Returns what each direction of each cable did; shares are of so many picoseconds.
    pub(crate) fn each_link(&self, duration: u64) -> Vec<LinkReport> {
        report::each_link(&self.fabric, &self.carried, duration)
    }

    /// Why nothing more arrives though messages are under way.
    fn end_of_time(&self) -> String {
        let inside = self.flows.len() as u64 + self.lost;
        format!(
            "virtual time ends at 2^64 picoseconds (213 days), and {inside} messages are still under way in the network; raise its bandwidth b, lower its latency l or send less"
        )
    }
}

impl Interfaces for FlowNetwork {
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

impl Shared for FlowNetwork {
    fn endpoints(&self) -> u64 {
        u64::from(self.fabric.topology.endpoints())
    }

    /// The latency from the nearest other endpoint.
    fn lookahead(&self, to: Endpoint) -> Span {
        Span::from_ps(self.fabric.nearest_latency(to.0))
    }

    fn send(&mut self, at: Time, message: &Message) -> Option<Time> {
        self.send_of_pair(at, message, 0);
        None
    }

    fn next_event(&self) -> Option<Time> {
        self.next
    }

    fn advance(&mut self, until: Time, delivered: &mut Vec<Delivered>) {
        let first = delivered.len();
        while let Some(next) = self.next.filter(|&next| next <= until) {
            self.step(next, delivered);
            self.next = self.look_ahead();
        }
        delivered[first..].sort_unstable_by_key(|delivered| (delivered.at, delivered.id));
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
        NetworkReport::new(&self.fabric, self.each_link(end.as_ps()), &self.statistics)
    }
}
