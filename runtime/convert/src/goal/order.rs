//! Orders the operations of all ranks as LogGOPSim starts them, by the LogGOPS model.
//!
//! A rank's operations are a graph. Which of two independent operations comes first can depend on when
//! messages arrive. The execution here decides it with the parameters of [`LogGops`]. It follows what one
//! operation starts, so that an order that it finds never deadlocks on a graph that can be executed.
//!
//! Rules of LogGOPSim 1.1 that are kept:
//! - A receive is posted once it is ready and the processor is idle. It takes no processor time.
//! - The overhead of a receive is charged when its message arrives.
//! - Among operations that can start at one time the one that became ready first does.
//! - Operations that become ready together are ordered: sends, receives, computation, and then by the text.

use super::parse::{ANY_TAG, Work};
use super::schedule::Operations;
use rustc_hash::FxHashMap;
use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};
use std::str::FromStr;

/// Any source, in a receive.
const ANY_SOURCE: i32 = -1;

/// The parameters of the LogGOPS model, in nanoseconds and bytes. The overhead per byte is 0.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LogGops {
    /// L: latency.
    pub latency: u64,
    /// o: processor time of a message, at the sender and at the receiver.
    pub overhead: u64,
    /// g: interface time of a message.
    pub gap: u64,
    /// G: interface time of a byte.
    pub gap_per_byte: u64,
    /// S: the longest message that does not wait for its receive, in bytes.
    pub eager: u64,
}

impl Default for LogGops {
    /// Returns LogGOPSim's defaults.
    fn default() -> LogGops {
        LogGops { latency: 2500, overhead: 1500, gap: 1000, gap_per_byte: 6, eager: 65535 }
    }
}

impl FromStr for LogGops {
    type Err = String;

    /// Parses `L=2500,o=1500,g=1000,G=6,S=65535`. A parameter that is left out keeps LogGOPSim's default.
    fn from_str(text: &str) -> Result<LogGops, String> {
        let mut found = LogGops::default();
        for part in text.split(',') {
            let (name, value) =
                part.split_once('=').ok_or_else(|| format!("'{part}' is no parameter: write L=2500"))?;
            let field = match name {
                "L" => &mut found.latency,
                "o" => &mut found.overhead,
                "g" => &mut found.gap,
                "G" => &mut found.gap_per_byte,
                "S" => &mut found.eager,
                _ => {
                    return Err(format!(
                        "'{name}' is no parameter: L, o, g and G (nanoseconds) and S (bytes) are"
                    ));
                }
            };
            *field = value.parse().map_err(|_| format!("{name}={value} is no whole number"))?;
        }
        Ok(found)
    }
}

/// Returns for each block, a rank and its operations, the order in which the rank starts them.
/// Operations that never start follow in the order of the text. O(log) per operation and dependency.
///
/// Sorts the dependencies of each block by the earlier operation. They must not be cyclic.
pub fn start_orders(blocks: &mut [(u32, Operations)], model: &LogGops) -> Vec<Vec<u32>> {
    for (_, operations) in &mut *blocks {
        operations.edges.sort_by_key(|&(_, earlier, _)| earlier);
    }
    let mut execution = Execution {
        blocks,
        model,
        block_of: blocks.iter().zip(0..).map(|((rank, _), block)| (*rank, block)).collect(),
        ranks: blocks.iter().map(|(_, operations)| RankState::new(operations)).collect(),
        events: BinaryHeap::new(),
        sequence: 0,
        posted: FxHashMap::default(),
        unexpected: FxHashMap::default(),
        arrivals: Vec::new(),
    };
    execution.run();
    execution.ranks.into_iter().map(|rank| rank.started).collect()
}

/// An operation of a block.
type OperationId = (u32, u32);
/// A block, a source and a tag, each of the latter perhaps any.
type MatchKey = (u32, i32, i32);
/// Operations or messages that wait for a processor, the first ready one first.
type ReadyQueue<T> = BinaryHeap<Reverse<(u64, T)>>;

/// An event at a time.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Event {
    /// The message of a send arrives at a block.
    Arrival { at: u32, send: OperationId },
    /// A receive is posted.
    Post { receive: OperationId },
    /// The processor of a block may start something. It comes behind all else at its time.
    Wake { block: u32 },
}

/// A rank in the execution.
#[derive(Default)]
struct RankState {
    /// Times at which the processor is idle, and the interface for sends and for receives.
    processor: u64,
    sender: u64,
    receiver: u64,
    /// Dependencies of each operation that are not satisfied.
    missing: Vec<u32>,
    computations: ReadyQueue<u32>,
    sends: ReadyQueue<u32>,
    messages: ReadyQueue<OperationId>,
    /// The wake that counts, of those among the events.
    wake: Option<u64>,
    has_wildcards: bool,
    started: Vec<u32>,
}

impl RankState {
    fn new(operations: &Operations) -> RankState {
        let mut missing = vec![0; operations.works.len()];
        operations.edges.iter().for_each(|&(later, ..)| missing[later as usize] += 1);
        let is_wildcard = |work: &Work| matches!(work, Work::Receive { from, tag, .. } if *from == ANY_SOURCE || *tag == ANY_TAG);
        RankState { missing, has_wildcards: operations.works.iter().any(is_wildcard), ..RankState::default() }
    }

    /// Returns for computation, sends and messages when the first of them can start and which that is.
    fn candidates(&self) -> [Option<(u64, u64)>; 3] {
        let (processor, sender, receiver) =
            (self.processor, self.processor.max(self.sender), self.processor.max(self.receiver));
        [
            self.computations.peek().map(|Reverse((sequence, _))| (processor, *sequence)),
            self.sends.peek().map(|Reverse((sequence, _))| (sender, *sequence)),
            self.messages.peek().map(|Reverse((sequence, _))| (receiver, *sequence)),
        ]
    }
}

struct Execution<'b> {
    blocks: &'b [(u32, Operations)],
    model: &'b LogGops,
    block_of: FxHashMap<u32, u32>,
    ranks: Vec<RankState>,
    events: BinaryHeap<Reverse<(u64, bool, u64, Event)>>,
    sequence: u64,
    /// Receives without a message, each with the number of its posting.
    posted: FxHashMap<MatchKey, VecDeque<(u64, u32)>>,
    /// Messages without a receive, by their number among `arrivals`.
    unexpected: FxHashMap<MatchKey, VecDeque<usize>>,
    /// `None` of one that a receive took.
    arrivals: Vec<Option<OperationId>>,
}

impl Execution<'_> {
    fn run(&mut self) {
        for block in 0..self.blocks.len() as u32 {
            let missing = &self.ranks[block as usize].missing;
            let ready =
                (0..missing.len() as u32).filter(|&operation| missing[operation as usize] == 0).collect();
            self.admit(block, ready, 0);
        }
        while let Some(Reverse((now, _, sequence, event))) = self.events.pop() {
            match event {
                Event::Arrival { at, send } => {
                    self.ranks[at as usize].messages.push(Reverse((sequence, send)));
                    self.schedule(at, now);
                }
                Event::Post { receive } => self.post(receive, now),
                Event::Wake { block } if self.ranks[block as usize].wake == Some(now) => {
                    self.ranks[block as usize].wake = None;
                    self.start_one(block, now);
                    self.schedule(block, now);
                }
                Event::Wake { .. } => {}
            }
        }
    }

    fn work(&self, (block, operation): OperationId) -> Work {
        self.blocks[block as usize].1.works[operation as usize]
    }

    fn number(&mut self) -> u64 {
        self.sequence += 1;
        self.sequence
    }

    fn push(&mut self, time: u64, sequence: u64, event: Event) {
        self.events.push(Reverse((time, matches!(event, Event::Wake { .. }), sequence, event)));
    }

    /// Schedules a wake for the time at which the block can start something, unless an earlier one is
    /// scheduled.
    fn schedule(&mut self, block: u32, now: u64) {
        let rank = &mut self.ranks[block as usize];
        let Some(time) = rank.candidates().into_iter().flatten().map(|(time, _)| time.max(now)).min() else {
            return;
        };
        if rank.wake.is_none_or(|wake| time < wake) {
            rank.wake = Some(time);
            self.push(time, 0, Event::Wake { block });
        }
    }

    /// Starts what became ready first of that which can start.
    fn start_one(&mut self, block: u32, now: u64) {
        let candidates = self.ranks[block as usize].candidates();
        let able = |kind: &usize| candidates[*kind].is_some_and(|(time, _)| time <= now);
        let first = (0..3).filter(able).min_by_key(|&kind| candidates[kind].map(|(_, sequence)| sequence));
        let rank = &mut self.ranks[block as usize];
        match first {
            Some(0) => {
                let Some(Reverse((_, operation))) = rank.computations.pop() else { return };
                let Work::Calculate(time) = self.blocks[block as usize].1.works[operation as usize] else {
                    return;
                };
                rank.processor = now.saturating_add(time);
                rank.started.push(operation);
                let ready = self.released(block, operation, &[true, false]);
                self.admit(block, ready, now);
            }
            Some(1) => {
                let Some(Reverse((_, operation))) = rank.sends.pop() else { return };
                self.send((block, operation), now);
            }
            Some(2) => {
                let Some(Reverse((_, send))) = rank.messages.pop() else { return };
                self.receive(block, send, now);
            }
            _ => {}
        }
    }

    /// Returns the interface time of a message's bytes but the first.
    fn bytes_time(&self, bytes: u64) -> u64 {
        bytes.saturating_sub(1).saturating_mul(self.model.gap_per_byte)
    }

    fn send(&mut self, send: OperationId, now: u64) {
        let Work::Send { bytes, to, .. } = self.work(send) else { return };
        let interface = now.saturating_add(self.model.gap).saturating_add(self.bytes_time(bytes));
        let processor = now.saturating_add(self.model.overhead);
        let rank = &mut self.ranks[send.0 as usize];
        (rank.processor, rank.sender) = (processor, interface);
        rank.started.push(send.1);
        let sequence = self.number();
        // A rank without operations receives nothing.
        if let Some(&at) = self.block_of.get(&(to as u32)) {
            self.push(processor.saturating_add(self.model.latency), sequence, Event::Arrival { at, send });
        }
        let ends = if bytes <= self.model.eager { &[true, false][..] } else { &[true] };
        let ready = self.released(send.0, send.1, ends);
        self.admit(send.0, ready, now);
    }

    /// Receives a message that has arrived, whether its receive is posted or not.
    fn receive(&mut self, block: u32, send: OperationId, now: u64) {
        let Work::Send { bytes, tag, .. } = self.work(send) else { return };
        let source = self.blocks[send.0 as usize].0 as i32;
        let time = self.bytes_time(bytes);
        let rank = &mut self.ranks[block as usize];
        rank.processor = now.saturating_add(self.model.overhead).saturating_add(time);
        rank.receiver = now.saturating_add(self.model.gap).saturating_add(time);
        let keys = [
            (block, source, tag),
            (block, ANY_SOURCE, tag),
            (block, source, ANY_TAG),
            (block, ANY_SOURCE, ANY_TAG),
        ];
        let keys = if rank.has_wildcards { &keys[..] } else { &keys[..1] };
        let first = |key: &&MatchKey| {
            self.posted.get(*key).and_then(|queue| queue.front()).map(|&(number, _)| number)
        };
        match keys.iter().filter(|key| first(key).is_some()).min_by_key(first) {
            Some(key) => {
                let queue = self.posted.get_mut(key).expect("a key that was found");
                let (_, receive) = queue.pop_front().expect("a receive that was found");
                self.complete(send, (block, receive), now, &[false]);
            }
            None => {
                let arrival = self.arrivals.len();
                self.arrivals.push(Some(send));
                keys.iter().for_each(|key| self.unexpected.entry(*key).or_default().push_back(arrival));
            }
        }
    }

    fn post(&mut self, receive: OperationId, now: u64) {
        let Work::Receive { from, tag, .. } = self.work(receive) else { return };
        self.ranks[receive.0 as usize].started.push(receive.1);
        let key = (receive.0, from, tag);
        let arrivals = &mut self.arrivals;
        let found = self.unexpected.get_mut(&key).and_then(|queue| {
            // Receives of other keys have taken some.
            while let Some(arrival) = queue.pop_front() {
                if let Some(send) = arrivals[arrival].take() {
                    return Some(send);
                }
            }
            None
        });
        if let Some(send) = found {
            return self.complete(send, receive, now, &[true, false]);
        }
        let number = self.number();
        self.posted.entry(key).or_default().push_back((number, receive.1));
        let ready = self.released(receive.0, receive.1, &[true]);
        self.admit(receive.0, ready, now);
    }

    /// Completes a receive, and a send that waits for it. `ends` is what that satisfies at the receiver.
    fn complete(&mut self, send: OperationId, receive: OperationId, now: u64, ends: &[bool]) {
        if matches!(self.work(send), Work::Send { bytes, .. } if bytes > self.model.eager) {
            let ready = self.released(send.0, send.1, &[false]);
            self.admit(send.0, ready, now);
        }
        let ready = self.released(receive.0, receive.1, ends);
        self.admit(receive.0, ready, now);
    }

    /// Satisfies what waits for the start (`true`) or the end (`false`) of an operation. Returns what is
    /// ready by that.
    fn released(&mut self, block: u32, operation: u32, ends: &[bool]) -> Vec<u32> {
        let edges = &self.blocks[block as usize].1.edges;
        let begin = edges.partition_point(|&(_, earlier, _)| earlier < operation);
        let followers = || edges[begin..].iter().take_while(|&&(_, earlier, _)| earlier == operation);
        let missing = &mut self.ranks[block as usize].missing;
        let mut ready = Vec::new();
        for &end in ends {
            for &(later, ..) in followers().filter(|&&(_, _, starts)| starts == end) {
                missing[later as usize] -= 1;
                if missing[later as usize] == 0 {
                    ready.push(later);
                }
            }
        }
        ready
    }

    /// Queues operations that are ready.
    fn admit(&mut self, block: u32, mut ready: Vec<u32>, now: u64) {
        ready.sort_by_key(|&operation| match self.work((block, operation)) {
            Work::Send { .. } => 0,
            Work::Receive { .. } => 1,
            Work::Calculate(_) => 2,
        });
        for operation in ready {
            let (sequence, work) = (self.number(), self.work((block, operation)));
            let rank = &mut self.ranks[block as usize];
            match work {
                Work::Send { .. } => rank.sends.push(Reverse((sequence, operation))),
                Work::Calculate(_) => rank.computations.push(Reverse((sequence, operation))),
                Work::Receive { .. } => {
                    let time = rank.processor.max(now);
                    self.push(time, sequence, Event::Post { receive: (block, operation) });
                }
            }
        }
        self.schedule(block, now);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    type Edges<'e> = &'e [(u32, u32, bool)];

    fn orders(works: [Vec<Work>; 2], edges: [Edges<'_>; 2], model: &str) -> Vec<Vec<u32>> {
        let operations =
            works.into_iter().zip(edges).map(|(works, edges)| Operations { works, edges: edges.to_vec() });
        let mut blocks: Vec<(u32, Operations)> = (0..).zip(operations).collect();
        start_orders(&mut blocks, &model.parse().unwrap())
    }

    fn send(to: i32, bytes: u64, tag: i32) -> Work {
        Work::Send { bytes, to, tag }
    }

    fn receive(from: i32, tag: i32) -> Work {
        Work::Receive { bytes: 1, from, tag }
    }

    #[test]
    fn work_that_waits_for_no_message_precedes_work_that_does() {
        // The second rank answers what the first sends last in its text.
        let works =
            [vec![receive(1, 0), Work::Calculate(5), send(1, 1, 1)], vec![receive(0, 1), send(0, 1, 0)]];
        assert_eq!(
            orders(works, [&[(1, 0, false)], &[(1, 0, false)]], "L=1,o=0"),
            [[0, 2, 1].to_vec(), [0, 1].to_vec()]
        );
    }

    #[test]
    fn work_behind_the_message_that_arrives_first_comes_first() {
        for (first, order) in [(0, [0, 1, 2, 3]), (1, [0, 1, 3, 2])] {
            let works = [
                vec![receive(1, 0), receive(1, 1), Work::Calculate(5), Work::Calculate(6)],
                vec![send(0, 1, first), send(0, 1, 1 - first)],
            ];
            assert_eq!(orders(works, [&[(2, 0, false), (3, 1, false)], &[]], "L=9")[0], order);
        }
    }

    #[test]
    fn a_long_message_ends_when_its_receive_is_posted() {
        let works = || {
            [
                vec![send(1, 100, 0), Work::Calculate(1), Work::Calculate(50)],
                vec![Work::Calculate(9), receive(0, 0)],
            ]
        };
        let edges: [Edges<'_>; 2] = [&[(1, 0, false)], &[(1, 0, false)]];
        assert_eq!(orders(works(), edges, "L=1,o=0,g=0,G=0,S=99")[0], [0, 2, 1]);
        // What is ready at the start precedes what a send's end makes ready.
        assert_eq!(orders(works(), edges, "L=1,o=0,g=0,G=0,S=100")[0], [0, 2, 1]);
    }

    #[test]
    fn a_wildcard_takes_the_message_that_arrived_first() {
        let works = [
            vec![
                Work::Calculate(100),
                receive(ANY_SOURCE, ANY_TAG),
                receive(1, 7),
                Work::Calculate(1),
                Work::Calculate(2),
            ],
            vec![send(0, 1, 7), send(0, 1, 7)],
        ];
        let edges: [Edges<'_>; 2] = [&[(1, 0, false), (2, 1, true), (3, 1, false), (4, 2, false)], &[]];
        assert_eq!(orders(works, edges, "L=1,o=0,g=0")[0], [0, 1, 2, 3, 4]);
    }

    #[test]
    fn operations_that_never_start_are_left_out() {
        let works = [vec![receive(1, 0), Work::Calculate(1), send(7, 1, 0)], vec![]];
        assert_eq!(orders(works, [&[(1, 0, false)], &[]], "L=1")[0], [0, 2]);
    }

    #[test]
    fn parameters_are_named_and_others_keep_loggopsims_defaults() {
        assert_eq!(
            "L=3,S=7".parse::<LogGops>().unwrap(),
            LogGops { latency: 3, eager: 7, ..LogGops::default() }
        );
        for (text, part) in [("L", "'L'"), ("x=3", "'x'"), ("o=1.5", "o=1.5"), ("g=-1", "g=-1")] {
            assert!(text.parse::<LogGops>().unwrap_err().contains(part), "{text}");
        }
    }
}
