//! The event loop. At each instant everything that ends does so first; then each stream that is free begins
//! the node with the least id among those that are ready.

use crate::account::RankAccount;
use crate::agent::{MemberMessage, RunningCollective};
use crate::graph::ChakraGraph;
use crate::medium::{MachineMedium, MessagePurpose};
use crate::node::{ChakraStream, NodeWork};
use crate::pairing::{PairedMessage, Pairs};
use engine::{Span, Time};
use rustc_hash::FxHashMap;
use schedule::choose::{Policy, choose};
use schedule::{Members, Shape};
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// An event at a time.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum ChakraEvent {
    /// A node ends.
    End(u32),
    /// A message arrives.
    Arrive(MessagePurpose),
    /// A message leaves for a shared network.
    Depart(u32),
}

/// Progress of a node.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub enum NodeProgress {
    /// It has not begun.
    #[default]
    Waiting,
    /// It has begun.
    Begun,
    /// It has ended.
    Ended,
}

/// A stream of a rank.
#[derive(Default)]
struct StreamQueue {
    is_busy: bool,
    has_many: bool,
    is_touched: bool,
    /// Ready nodes: the least number is that of the least id.
    ready: BinaryHeap<Reverse<u32>>,
}

/// State of an execution. Nodes count over all ranks.
pub struct ChakraExecution<'g, 'n> {
    graph: &'g ChakraGraph,
    durations: &'g [Vec<Span>],
    policy: &'g Policy,
    medium: MachineMedium<'n>,
    /// First node of each rank, and the number of all.
    pub first: Vec<u32>,
    rank_of: Vec<u32>,
    stream_of: Vec<u32>,
    streams: Vec<StreamQueue>,
    touched: Vec<u32>,
    missing: Vec<u32>,
    /// Progress of each node.
    pub progress: Vec<NodeProgress>,
    /// Begin of each node that has begun.
    pub begun: Vec<Time>,
    /// End of each node that has ended.
    pub ended: Vec<Time>,
    nic_free: Vec<Time>,
    /// Time of each rank, by what it did.
    pub accounts: Vec<RankAccount>,
    events: BinaryHeap<Reverse<(Time, u64, ChakraEvent)>>,
    numbers: u64,
    /// Messages between ranks.
    pub pairs: Pairs,
    running: FxHashMap<u32, RunningCollective>,
    movable: Vec<(u32, u32)>,
    sends: Vec<MemberMessage>,
    /// Messages that were sent.
    pub messages: u64,
    /// Their bytes.
    pub bytes: u128,
    /// The first message whose receive has another size: node of the send, node of the receive.
    pub mismatch: Option<(u32, u32)>,
}

impl<'g, 'n> ChakraExecution<'g, 'n> {
    /// Prepares the execution of a graph whose computations, loads and stores take these times.
    pub fn new(
        graph: &'g ChakraGraph,
        durations: &'g [Vec<Span>],
        policy: &'g Policy,
        medium: MachineMedium<'n>,
    ) -> ChakraExecution<'g, 'n> {
        let count = graph.ranks.iter().map(|rank| rank.nodes.len()).sum();
        let mut execution = ChakraExecution {
            graph,
            durations,
            policy,
            medium,
            first: Vec::with_capacity(graph.ranks.len() + 1),
            rank_of: Vec::with_capacity(count),
            stream_of: Vec::with_capacity(count),
            streams: Vec::new(),
            touched: Vec::new(),
            missing: Vec::with_capacity(count),
            progress: vec![NodeProgress::default(); count],
            begun: vec![Time::ZERO; count],
            ended: vec![Time::ZERO; count],
            nic_free: vec![Time::ZERO; graph.ranks.len()],
            accounts: Vec::with_capacity(graph.ranks.len()),
            events: BinaryHeap::new(),
            numbers: 0,
            pairs: Pairs::default(),
            running: FxHashMap::default(),
            movable: Vec::new(),
            sends: Vec::new(),
            messages: 0,
            bytes: 0,
            mismatch: None,
        };
        let mut streams: FxHashMap<ChakraStream, u32> = FxHashMap::default();
        for (rank, number) in graph.ranks.iter().zip(0..) {
            streams.clear();
            execution.first.push(execution.rank_of.len() as u32);
            execution.missing.extend_from_slice(&rank.missing);
            execution.accounts.push(RankAccount::of(rank));
            for node in &rank.nodes {
                let stream = *streams.entry(node.stream).or_insert_with(|| {
                    let has_many = node.stream == ChakraStream::Unlimited;
                    execution.streams.push(StreamQueue { has_many, ..StreamQueue::default() });
                    execution.streams.len() as u32 - 1
                });
                execution.stream_of.push(stream);
                execution.rank_of.push(number);
            }
        }
        execution.first.push(execution.rank_of.len() as u32);
        execution
    }

    /// Executes all that can be executed.
    pub fn run(&mut self) {
        for node in 0..self.missing.len() as u32 {
            if self.missing[node as usize] == 0 {
                self.ready(node);
            }
        }
        self.dispatch(Time::ZERO);
        loop {
            let local = self.events.peek().map(|Reverse((time, ..))| *time);
            let arrived = self.medium.advance_to_delivery(local.unwrap_or(Time::MAX));
            if !arrived.is_empty() {
                for (at, purpose) in arrived {
                    self.push(at, ChakraEvent::Arrive(purpose));
                }
                continue;
            }
            let Some(now) = local else { return };
            while let Some(&Reverse((time, _, event))) = self.events.peek()
                && time == now
            {
                self.events.pop();
                self.handle(event, now);
            }
            self.dispatch(now);
        }
    }

    /// Returns why a shared network delivers nothing more, if so.
    pub fn stuck(&self) -> Option<String> {
        self.medium.stuck()
    }

    /// Returns the rank of a node.
    pub fn rank(&self, node: u32) -> u32 {
        self.rank_of[node as usize]
    }

    /// Returns the number of a node among its rank's.
    pub fn own_number(&self, node: u32) -> u32 {
        node - self.first[self.rank(node) as usize]
    }

    fn work(&self, node: u32) -> NodeWork {
        self.graph.ranks[self.rank(node) as usize].nodes[self.own_number(node) as usize].work
    }

    fn push(&mut self, time: Time, event: ChakraEvent) {
        self.numbers += 1;
        self.events.push(Reverse((time, self.numbers, event)));
    }

    /// Queues a node at its stream.
    fn ready(&mut self, node: u32) {
        let stream = self.stream_of[node as usize];
        self.streams[stream as usize].ready.push(Reverse(node));
        self.touch(stream);
    }

    fn touch(&mut self, stream: u32) {
        if !std::mem::replace(&mut self.streams[stream as usize].is_touched, true) {
            self.touched.push(stream);
        }
    }

    /// Begins nodes of streams that have become free, or whose nodes have become ready.
    fn dispatch(&mut self, now: Time) {
        let mut touched = std::mem::take(&mut self.touched);
        touched.sort_unstable();
        for stream in touched.drain(..) {
            self.streams[stream as usize].is_touched = false;
            loop {
                let queue = &mut self.streams[stream as usize];
                if queue.is_busy {
                    break;
                }
                let Some(Reverse(node)) = queue.ready.pop() else { break };
                queue.is_busy = !queue.has_many;
                self.begin(node, now);
            }
        }
        // Nothing becomes ready here: ends are events.
        self.touched = touched;
    }

    fn handle(&mut self, event: ChakraEvent, now: Time) {
        match event {
            ChakraEvent::End(node) => self.end(node, now),
            ChakraEvent::Arrive(purpose) => self.arrive(purpose, now),
            ChakraEvent::Depart(number) => {
                if let Some((at, purpose)) = self.medium.depart(number, now) {
                    self.push(at, ChakraEvent::Arrive(purpose));
                }
            }
        }
    }

    fn begin(&mut self, node: u32, now: Time) {
        let rank = self.rank(node);
        self.progress[node as usize] = NodeProgress::Begun;
        self.begun[node as usize] = now;
        let own = self.own_number(node) as usize;
        self.accounts[rank as usize].begin(&self.graph.ranks[rank as usize].nodes[own], now);
        match self.work(node) {
            NodeWork::Nothing => self.push(now, ChakraEvent::End(node)),
            NodeWork::Compute(_) | NodeWork::Memory { .. } => {
                let end = now + self.durations[rank as usize][own];
                self.push(end, ChakraEvent::End(node));
            }
            NodeWork::Send { to, tag, bytes } => self.send(node, (rank, to, tag), bytes, now),
            NodeWork::Receive { from, tag, bytes } => {
                let pair = self.pairs.receive((from, rank, tag), node);
                if let Some(pair) = pair {
                    self.check(pair, bytes);
                    self.meet(pair, now);
                }
            }
            NodeWork::Collective(number) => {
                let (collective, member) = self.graph.calls[rank as usize][number as usize];
                self.enter(collective, member, now);
            }
        }
    }

    fn end(&mut self, node: u32, now: Time) {
        let (rank, own) = (self.rank(node) as usize, self.own_number(node));
        self.progress[node as usize] = NodeProgress::Ended;
        self.ended[node as usize] = now;
        self.accounts[rank].end(&self.graph.ranks[rank].nodes[own as usize], now);
        let stream = self.stream_of[node as usize];
        self.streams[stream as usize].is_busy = false;
        self.touch(stream);
        let graph = self.graph;
        for &later in graph.ranks[rank].followers_of(own) {
            let later = self.first[rank] + later;
            self.missing[later as usize] -= 1;
            if self.missing[later as usize] == 0 {
                self.ready(later);
            }
        }
    }

    fn send(&mut self, node: u32, (rank, to, tag): (u32, u32, i64), bytes: u64, now: Time) {
        let leaves = self.medium.overheads.leave(&mut self.nic_free[rank as usize], now);
        let waits = self.medium.overheads.eager_limit.is_some_and(|limit| bytes > limit);
        let pair = self.pairs.send((rank, to, tag), PairedMessage::new(node, bytes, waits));
        if self.pairs[pair].receive.is_some() {
            let receive = self.pairs[pair].receive.map(|receive| self.work(receive));
            if let Some(NodeWork::Receive { bytes, .. }) = receive {
                self.check(pair, bytes);
            }
        }
        if waits {
            self.ship(MessagePurpose::Request(pair), (rank, to), 0, leaves);
        } else {
            self.payload(pair, (rank, to), bytes, leaves);
            self.push(leaves, ChakraEvent::End(node));
        }
    }

    /// Notes a receive whose size is not that of its message.
    fn check(&mut self, pair: u32, expected: u64) {
        let PairedMessage { send, receive, bytes, .. } = self.pairs[pair];
        if let Some(receive) = receive.filter(|_| bytes != expected) {
            self.mismatch.get_or_insert((send, receive));
        }
    }

    fn payload(&mut self, pair: u32, between: (u32, u32), bytes: u64, leaves: Time) {
        self.messages += 1;
        self.bytes += u128::from(bytes);
        self.ship(MessagePurpose::Payload(pair), between, bytes, leaves);
    }

    /// Sends a message at a time.
    fn ship(&mut self, purpose: MessagePurpose, (from, to): (u32, u32), bytes: u64, leaves: Time) {
        if self.medium.is_shared() {
            let number = self.medium.keep(purpose, from, to, bytes);
            self.push(leaves, ChakraEvent::Depart(number));
        } else {
            let at = leaves + self.medium.latency(from, to, bytes);
            self.push(at, ChakraEvent::Arrive(purpose));
        }
    }

    fn arrive(&mut self, purpose: MessagePurpose, now: Time) {
        match purpose {
            MessagePurpose::Payload(pair) | MessagePurpose::Request(pair) => {
                self.pairs[pair].is_there = true;
                self.meet(pair, now);
            }
            MessagePurpose::Clear(pair) => {
                let PairedMessage { send, bytes, .. } = self.pairs[pair];
                let NodeWork::Send { to, .. } = self.work(send) else { return };
                self.pairs[pair].waits = false;
                self.push(now, ChakraEvent::End(send));
                self.payload(pair, (self.rank(send), to), bytes, now);
            }
            MessagePurpose::Round { collective, to, from, round, sequence } => {
                let Some(running) = self.running.get_mut(&collective) else { return };
                if running.arrived((to, from, round), sequence, now) {
                    self.movable.push((collective, to));
                    self.advance();
                }
            }
        }
    }

    /// Goes on with a message that may have met its receive: one above the eager limit is asked for, another
    /// one ends the receive.
    fn meet(&mut self, pair: u32, now: Time) {
        let PairedMessage { send, receive: Some(receive), waits, is_there: true, .. } = self.pairs[pair]
        else {
            return;
        };
        let (from, to) = (self.rank(send), self.rank(receive));
        if waits {
            self.pairs[pair].is_there = false;
            self.ship(MessagePurpose::Clear(pair), (to, from), 0, now);
        } else {
            self.pairs.remove(pair);
            self.push(now + self.medium.overheads.receive, ChakraEvent::End(receive));
        }
    }

    fn enter(&mut self, collective: u32, member: u32, now: Time) {
        let (graph, policy) = (self.graph, self.policy);
        let group = &graph.collectives[collective as usize];
        let ranks_per_node = self.medium.ranks_per_node;
        let running = self.running.entry(collective).or_insert_with(|| {
            let shape = Shape { node: on_node(&group.members, ranks_per_node), ..group.shape.clone() };
            RunningCollective::new(choose(&shape, policy), group.shape.size)
        });
        let mut description = group.shape.prototype();
        description.rank = member;
        running.enter(description, now);
        self.movable.push((collective, member));
        self.advance();
    }

    /// Moves members of collectives on. The order has no influence: an arrival follows from its sender's
    /// clock alone.
    fn advance(&mut self) {
        while let Some((collective, member)) = self.movable.pop() {
            let Some(running) = self.running.get_mut(&collective) else { continue };
            let end = running.advance(member, &self.medium, &mut self.sends);
            let is_over = running.left == 0;
            let graph = self.graph;
            let group = &graph.collectives[collective as usize];
            let mut sends = std::mem::take(&mut self.sends);
            for MemberMessage { leaves, from, to, round, sequence, bytes } in sends.drain(..) {
                self.messages += 1;
                self.bytes += u128::from(bytes);
                let ranks = [from, to].map(|member| group.members[member as usize]);
                if self.medium.is_shared() {
                    let purpose = MessagePurpose::Round { collective, to, from, round, sequence };
                    self.ship(purpose, (ranks[0], ranks[1]), bytes, leaves);
                    continue;
                }
                let at = leaves + self.medium.latency(ranks[0], ranks[1], bytes);
                if let Some(running) = self.running.get_mut(&collective)
                    && running.arrived((to, from, round), sequence, at)
                {
                    self.movable.push((collective, to));
                }
            }
            self.sends = sends;
            if let Some(end) = end {
                let rank = group.members[member as usize];
                let node = self.first[rank as usize] + group.nodes[member as usize];
                self.push(end, ChakraEvent::End(node));
            }
            if is_over {
                self.running.remove(&collective);
            }
        }
    }
}

/// Returns how many neighbouring members share a node, if they are as many on each node; else 1.
fn on_node(members: &[u32], ranks_per_node: u32) -> u32 {
    let node_of = |&rank: &u32| rank / ranks_per_node.max(1);
    let Some(first) = members.first().map(node_of) else { return 1 };
    let count = members.iter().take_while(|rank| node_of(rank) == first).count();
    let chunks = || members.chunks(count);
    let is_even = chunks().all(|chunk| chunk.iter().all(|rank| node_of(rank) == node_of(&chunk[0])));
    let ascends = chunks().map(|chunk| node_of(&chunk[0])).is_sorted_by(|one, next| one < next);
    if is_even && ascends { count as u32 } else { 1 }
}
