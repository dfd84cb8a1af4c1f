//! The event loop: elements begin in the order of time and number.

use crate::carrier::Carrier;
use crate::graph::{ANY_SOURCE, ANY_TAG, GoalGraph, Work};
use crate::matching::{MatchQueues, Unexpected};
use crate::ready_order::ReadyOrder;
use crate::resource::{BusyResource, ReadyElement};
use engine::{Span, Time};
use network::Delivered;
use rustc_hash::FxHashMap;
use std::cmp::{Ordering, Reverse};
use std::collections::BinaryHeap;

/// An event at a time.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum GoalEvent {
    /// An element may begin.
    Begin(ReadyElement),
    /// A receive is posted.
    Post(u32),
    /// The first element that waits for a resource may begin.
    Wake(u32),
}

/// Progress of an operation.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub enum OperationProgress {
    /// It has not begun.
    #[default]
    Waiting,
    /// It has begun: a receive without a message, or a send whose message waits for its receive.
    Begun,
    /// It has ended.
    Ended,
}

/// One rank's part of the state.
pub struct RankState {
    /// Number of the rank.
    pub rank: u32,
    /// First operation, counted over all ranks.
    pub first: u32,
    /// First resource: processors, then interfaces for sends, then interfaces for receives.
    resources: u32,
    /// Number of its processors and of its interfaces.
    pub cpus: u16,
    nics: u16,
    has_wildcards: bool,
    /// Latest end of anything that it did.
    pub end: Time,
    /// Time that its processors computed, and were busy at all.
    pub computed: Span,
    pub busy: Span,
    /// Operations in the order in which they began.
    pub order: Vec<u32>,
}

/// An end that operations behind another wait for.
#[derive(Clone, Copy)]
enum DependencyMark {
    Began,
    Ended,
}

/// The execution of a graph.
pub struct Execution<'g, 'n> {
    graph: &'g GoalGraph,
    carrier: Carrier<'n>,
    order: ReadyOrder,
    pub ranks: Vec<RankState>,
    /// The block of each rank that has one.
    block_of: FxHashMap<u32, u32>,
    resources: Vec<BusyResource>,
    /// Block of each operation, counted over all ranks; its missing dependencies, the time at which the
    /// others were satisfied, and its progress.
    block_of_operation: Vec<u32>,
    missing: Vec<u32>,
    ready_at: Vec<Time>,
    pub progress: Vec<OperationProgress>,
    /// Operations behind each other one, from `first_follower` on: the later one, and whether the start is
    /// enough.
    first_follower: Vec<u32>,
    followers: Vec<(u32, bool)>,
    events: BinaryHeap<Reverse<(Time, u64, GoalEvent)>>,
    numbers: u64,
    pub queues: MatchQueues,
    /// Bytes that were sent.
    pub sent_bytes: u128,
    /// Processor time of computations, sends and messages.
    pub spent: [Span; 3],
    ready: Vec<u32>,
    delivered: Vec<Delivered>,
}

/// The most operations and dependencies of a graph.
pub const MAX_OPERATIONS: u64 = u32::MAX as u64;

impl<'g, 'n> Execution<'g, 'n> {
    /// Prepares the execution of a graph of at most [`MAX_OPERATIONS`] operations and as many dependencies.
    pub fn new(graph: &'g GoalGraph, carrier: Carrier<'n>, order: ReadyOrder) -> Execution<'g, 'n> {
        let count: usize = graph.blocks.iter().map(|(_, operations)| operations.works.len()).sum();
        let edges: usize = graph.blocks.iter().map(|(_, operations)| operations.edges.len()).sum();
        let mut execution = Execution {
            graph,
            carrier,
            order,
            ranks: Vec::with_capacity(graph.blocks.len()),
            block_of: graph.blocks.iter().zip(0..).map(|((rank, _), block)| (*rank, block)).collect(),
            resources: Vec::new(),
            block_of_operation: Vec::with_capacity(count),
            missing: vec![0; count],
            ready_at: vec![Time::ZERO; count],
            progress: vec![OperationProgress::default(); count],
            first_follower: vec![0; count + 1],
            followers: vec![(0, false); edges],
            events: BinaryHeap::new(),
            numbers: 0,
            queues: MatchQueues::default(),
            sent_bytes: 0,
            spent: [Span::ZERO; 3],
            ready: Vec::new(),
            delivered: Vec::new(),
        };
        for (block, (rank, operations)) in (0..).zip(&graph.blocks) {
            let first = execution.block_of_operation.len() as u32;
            let is_wildcard = |work: &Work| match *work {
                Work::Receive { from, tag, .. } => from == ANY_SOURCE || tag == ANY_TAG,
                _ => false,
            };
            let most =
                |of: fn(&crate::ExecutionUnit) -> u8| operations.units.iter().map(of).max().unwrap_or(0);
            let (cpus, nics) = (u16::from(most(|unit| unit.cpu)) + 1, u16::from(most(|unit| unit.nic)) + 1);
            let resources = execution.resources.len() as u32;
            execution
                .resources
                .resize_with(resources as usize + usize::from(cpus + 2 * nics), Default::default);
            execution.block_of_operation.resize(first as usize + operations.works.len(), block);
            for &(later, earlier, _) in &operations.edges {
                execution.missing[(first + later) as usize] += 1;
                execution.first_follower[(first + earlier) as usize] += 1;
            }
            execution.ranks.push(RankState {
                rank: *rank,
                first,
                resources,
                cpus,
                nics,
                has_wildcards: operations.works.iter().any(is_wildcard),
                end: Time::ZERO,
                computed: Span::ZERO,
                busy: Span::ZERO,
                order: Vec::with_capacity(operations.works.len()),
            });
        }
        execution.sort_followers();
        execution
    }

    /// Replaces counts of followers by the index of the first, and lists them in the order of dependencies.
    fn sort_followers(&mut self) {
        let mut sum = 0;
        for first in &mut self.first_follower {
            sum += std::mem::replace(first, sum);
        }
        let mut next = self.first_follower.clone();
        for (state, (_, operations)) in self.ranks.iter().zip(&self.graph.blocks) {
            for &(later, earlier, starts) in &operations.edges {
                let next = &mut next[(state.first + earlier) as usize];
                self.followers[*next as usize] = (state.first + later, starts);
                *next += 1;
            }
        }
    }

    /// Executes all that can be executed.
    pub fn run(&mut self) {
        for block in 0..self.ranks.len() as u32 {
            let first = self.ranks[block as usize].first;
            let count = self.graph.blocks[block as usize].1.works.len() as u32;
            self.ready.clear();
            self.ready.extend((first..first + count).filter(|&at| self.missing[at as usize] == 0));
            self.admit();
        }
        loop {
            let local = self.events.peek().map_or(Time::MAX, |Reverse((time, ..))| *time);
            if self.advance_to_delivery(local) {
                continue;
            }
            let Some(Reverse((now, number, event))) = self.events.pop() else { return };
            match event {
                GoalEvent::Begin(element) => self.begin(element, now, number),
                GoalEvent::Post(receive) => self.post(receive, now, number),
                GoalEvent::Wake(resource) => {
                    if let Some(element) = self.resources[resource as usize].woken(now, number) {
                        self.begin(element, now, number);
                    }
                    self.schedule_wake(resource, now);
                }
            }
        }
    }

    /// Returns why a shared network delivers nothing more, if so.
    pub fn stuck(&self) -> Option<String> {
        self.carrier.stuck()
    }

    /// Returns the block of an operation.
    pub fn block(&self, operation: u32) -> usize {
        self.block_of_operation[operation as usize] as usize
    }

    /// Returns the number of an operation among its rank's.
    pub fn own_number(&self, operation: u32) -> u32 {
        operation - self.ranks[self.block(operation)].first
    }

    /// Returns the work of an operation.
    pub fn work(&self, operation: u32) -> Work {
        self.graph.blocks[self.block(operation)].1.works[self.own_number(operation) as usize]
    }

    /// Returns an operation's processor, and its interface for sends or for receives.
    fn resources_of(&self, operation: u32, receives: bool) -> [u32; 2] {
        let block = self.block(operation);
        let unit = self.graph.blocks[block].1.unit(self.own_number(operation));
        let state = &self.ranks[block];
        let nics = state.resources + u32::from(state.cpus) + if receives { u32::from(state.nics) } else { 0 };
        [state.resources + u32::from(unit.cpu), nics + u32::from(unit.nic)]
    }

    fn number(&mut self) -> u64 {
        self.numbers += 1;
        self.numbers
    }

    fn free(&self, resource: u32) -> Time {
        self.resources[resource as usize].free
    }

    fn advance_to_delivery(&mut self, limit: Time) -> bool {
        let mut delivered = std::mem::take(&mut self.delivered);
        let is_delivery = self.carrier.advance_to_delivery(limit, &mut delivered);
        for Delivered { id, at } in delivered.drain(..) {
            let number = self.number();
            self.push(at, number, GoalEvent::Begin(ReadyElement::Message(id as u32, None)));
        }
        self.delivered = delivered;
        is_delivery
    }

    fn push(&mut self, time: Time, number: u64, event: GoalEvent) {
        self.events.push(Reverse((time, number, event)));
    }

    fn schedule_wake(&mut self, resource: u32, now: Time) {
        if let Some((time, number)) = self.resources[resource as usize].next_wake(now) {
            self.push(time, number, GoalEvent::Wake(resource));
        }
    }

    /// Returns `true` if resources are free; else the element waits for the one that is busy longest.
    fn is_free(&mut self, resources: &[u32], element: ReadyElement, now: Time, number: u64) -> bool {
        let last = resources.iter().copied().max_by_key(|&resource| self.free(resource));
        let Some(last) = last.filter(|&last| self.free(last) > now) else { return true };
        if let Some((time, number)) = self.resources[last as usize].park(number, element) {
            self.push(time, number, GoalEvent::Wake(last));
        }
        false
    }

    fn begin(&mut self, element: ReadyElement, now: Time, number: u64) {
        match element {
            ReadyElement::Calculation(operation) => {
                let [cpu, _] = self.resources_of(operation, false);
                let Work::Calculate(time) = self.work(operation) else { return };
                if self.is_free(&[cpu], element, now, number) {
                    let time = Span::from_ns(time);
                    let block = self.block(operation);
                    let end = self.occupy(cpu, block, now, time, 0);
                    self.ranks[block].computed = sum(self.ranks[block].computed, time);
                    self.began(operation, now);
                    self.ended(operation, end);
                    self.admit();
                }
            }
            ReadyElement::Send(operation) => {
                let resources = self.resources_of(operation, false);
                if self.is_free(&resources, element, now, number) {
                    self.send(operation, resources, now);
                }
            }
            ReadyElement::Message(send, receive) => self.arrive(send, receive, now, number),
        }
    }

    /// Keeps a processor busy. Returns until when.
    fn occupy(&mut self, cpu: u32, block: usize, now: Time, time: Span, kind: usize) -> Time {
        let end = now.saturating_add(time);
        self.resources[cpu as usize].free = end;
        let state = &mut self.ranks[block];
        state.end = state.end.max(end);
        state.busy = sum(state.busy, time);
        self.spent[kind] = sum(self.spent[kind], time);
        end
    }

    fn send(&mut self, send: u32, [cpu, nic]: [u32; 2], now: Time) {
        let Work::Send { bytes, to, .. } = self.work(send) else { return };
        let (from, costs) = (self.ranks[self.block(send)].rank, self.carrier.costs);
        let line = self.carrier.line(from, to as u32, bytes);
        let end = self.occupy(cpu, self.block(send), now, costs.send, 1);
        self.resources[nic as usize].free = now.saturating_add(sum(costs.gap, line));
        self.sent_bytes += u128::from(bytes);
        let number = self.number();
        if let Some(arrival) = self.carrier.send(end, from, to as u32, bytes, send) {
            self.push(arrival, number, GoalEvent::Begin(ReadyElement::Message(send, None)));
        }
        self.began(send, now);
        if bytes <= costs.eager {
            self.ended(send, end);
        }
        self.admit();
    }

    /// Handles a message that is at its receiver: meets its receive, or notes it as unexpected; does neither
    /// while what it needs is not free.
    fn arrive(&mut self, send: u32, mut receive: Option<u32>, now: Time, number: u64) {
        let Work::Send { bytes, to, tag } = self.work(send) else { return };
        let source = self.ranks[self.block(send)].rank;
        // A rank without operations receives nothing.
        let Some(&block) = self.block_of.get(&(to as u32)) else {
            return self.queues.add_unexpected(
                u32::MAX,
                source as i32,
                tag,
                false,
                Unexpected { send, processed: None },
            );
        };
        let state = &self.ranks[block as usize];
        let (has_wildcards, is_single) = (state.has_wildcards, state.cpus == 1 && state.nics == 1);
        let take = |queues: &mut MatchQueues| queues.take_posted(block, source as i32, tag, has_wildcards);
        let resources = if is_single {
            [state.resources, state.resources + 2]
        } else {
            receive = receive.or_else(|| take(&mut self.queues));
            let Some(receive) = receive else {
                let found = Unexpected { send, processed: None };
                return self.queues.add_unexpected(block, source as i32, tag, has_wildcards, found);
            };
            self.resources_of(receive, true)
        };
        if !self.is_free(&resources, ReadyElement::Message(send, receive), now, number) {
            return;
        }
        let (costs, line) = (self.carrier.costs, self.carrier.line(source, to as u32, bytes));
        let end = self.occupy(resources[0], block as usize, now, sum(costs.receive, line), 2);
        self.resources[resources[1] as usize].free = now.saturating_add(sum(costs.gap, line));
        match receive.or_else(|| take(&mut self.queues)) {
            Some(receive) => self.meet(send, receive, now, end),
            None => {
                let found = Unexpected { send, processed: Some(end) };
                self.queues.add_unexpected(block, source as i32, tag, has_wildcards, found);
            }
        }
    }

    fn post(&mut self, receive: u32, now: Time, number: u64) {
        let Work::Receive { from, tag, .. } = self.work(receive) else { return };
        self.began(receive, now);
        let block = self.block_of_operation[receive as usize];
        match self.queues.take_unexpected(block, from, tag) {
            Some(Unexpected { send, processed: Some(processed) }) => {
                self.meet(send, receive, now, now.max(processed));
            }
            Some(Unexpected { send, processed: None }) => {
                self.admit();
                self.arrive(send, Some(receive), now, number);
            }
            None => {
                self.queues.post(block, from, tag, receive);
                self.admit();
            }
        }
    }

    /// Ends a receive, and a send that waited for it.
    fn meet(&mut self, send: u32, receive: u32, now: Time, end: Time) {
        let waits = matches!(self.work(send), Work::Send { bytes, .. } if bytes > self.carrier.costs.eager);
        // Ranks become ready in their order.
        let order = self.block(send).cmp(&self.block(receive));
        if waits && order == Ordering::Less {
            let own = std::mem::take(&mut self.ready);
            self.ended(send, now);
            self.admit();
            self.ready = own;
        }
        if waits && order == Ordering::Equal {
            self.ended(send, now);
        }
        self.ended(receive, end);
        self.admit();
        if waits && order == Ordering::Greater {
            self.ended(send, now);
            self.admit();
        }
    }

    /// Marks an operation as begun: operations that wait for that may be ready.
    fn began(&mut self, operation: u32, now: Time) {
        let own = self.own_number(operation);
        let block = self.block(operation);
        self.ranks[block].order.push(own);
        self.progress[operation as usize] = OperationProgress::Begun;
        self.ready.clear();
        self.satisfy(operation, DependencyMark::Began, now);
    }

    /// Ends an operation at a time: operations that wait for that may be ready.
    fn ended(&mut self, operation: u32, end: Time) {
        self.progress[operation as usize] = OperationProgress::Ended;
        let block = self.block(operation);
        self.ranks[block].end = self.ranks[block].end.max(end);
        self.satisfy(operation, DependencyMark::Ended, end);
    }

    fn satisfy(&mut self, operation: u32, mark: DependencyMark, at: Time) {
        let [begin, end] =
            [operation, operation + 1].map(|operation| self.first_follower[operation as usize] as usize);
        for &(later, starts) in &self.followers[begin..end] {
            if starts == matches!(mark, DependencyMark::Began) {
                let later_index = later as usize;
                self.ready_at[later_index] = self.ready_at[later_index].max(at);
                self.missing[later_index] -= 1;
                if self.missing[later_index] == 0 {
                    self.ready.push(later);
                }
            }
        }
    }

    /// Numbers operations that became ready together, and schedules them.
    fn admit(&mut self) {
        let mut ready = std::mem::take(&mut self.ready);
        self.order.sort(&mut ready, |operation| match self.work(operation) {
            Work::Send { .. } => 0,
            Work::Receive { .. } => 1,
            Work::Calculate(_) => 2,
        });
        for operation in ready.drain(..) {
            let (number, work) = (self.number(), self.work(operation));
            let [cpu, nic] = self.resources_of(operation, false);
            let at = self.ready_at[operation as usize].max(self.free(cpu));
            let (at, event) = match work {
                Work::Send { .. } => {
                    (at.max(self.free(nic)), GoalEvent::Begin(ReadyElement::Send(operation)))
                }
                Work::Calculate(_) => (at, GoalEvent::Begin(ReadyElement::Calculation(operation))),
                Work::Receive { .. } => (at, GoalEvent::Post(operation)),
            };
            self.push(at, number, event);
        }
        self.ready = ready;
    }
}

/// Returns the sum of two spans, or the longest span.
fn sum(one: Span, other: Span) -> Span {
    one.checked_add(other).unwrap_or(Span::MAX)
}
