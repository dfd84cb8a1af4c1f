//! A MapReduce job on Hadoop: maps, shuffle, and reduces that write replicas, one rank for each node.
//!
//! Phases follow one another with a barrier between them, which stands for the job's master. Within a phase
//! the network decides: all fetches of a shuffle are under way at once, and replicas pass from node to node
//! in chunks.

use crate::call::{Answer, Call, Collective, Envelope, Requests, Wait};
use crate::workload::{Caller, Workload};
use engine::{Span, Time};
use mpi::point_to_point::SendMode;
use mpi::schedule::Kind;

/// The largest number of blocks of an input.
const MAX_BLOCKS: u64 = 10_000_000;
/// The largest number of rounds of a chain of jobs.
const MAX_ROUNDS: u32 = 1000;
/// The longest phase, in seconds of virtual time.
const MAX_PHASE_SECONDS: f64 = 1e6;

/// A job, the cluster's file system, and what its nodes do in a second.
#[derive(Clone, Debug)]
pub struct HadoopJob {
    /// Nodes, each with the same disk and slots.
    pub nodes: u32,
    /// Bytes of the input.
    pub input: u64,
    /// Bytes of a block of the file system at most; a map reads one block.
    pub block: u64,
    /// Maps or reduces that a node runs at a time.
    pub slots: u32,
    /// Reduces of a round, in turn on the nodes.
    pub reducers: u32,
    /// Copies of each block, the first on the node that writes it.
    pub replication: u32,
    /// Bytes that pass to the next replica at a time.
    pub chunk: u64,
    /// Bytes that maps write for each byte they read in the first round; later maps write what they read.
    pub map_output: f64,
    /// Bytes that reduces write for each byte they fetch.
    pub reduce_output: f64,
    /// Rounds; each but the first reads what the one before wrote.
    pub rounds: u32,
    /// Bytes a second of a node's disk.
    pub disk: u64,
    /// Bytes a second that one map reads and processes.
    pub map_rate: u64,
    /// Bytes a second that one reduce merges and processes.
    pub reduce_rate: u64,
    /// Time to start the tasks of a wave.
    pub launch: Span,
    /// Seed of the places of blocks.
    pub seed: u64,
}

/// A phase of a round.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum HadoopPhase {
    /// Blocks are read, processed and written to local disks.
    Map,
    /// Reduces fetch their parts from all nodes.
    Shuffle,
    /// Parts are merged, processed and written with replicas.
    Reduce,
}

impl HadoopPhase {
    const ALL: [HadoopPhase; 3] = [HadoopPhase::Map, HadoopPhase::Shuffle, HadoopPhase::Reduce];

    /// Returns the phase's name in results.
    pub fn name(self) -> &'static str {
        match self {
            HadoopPhase::Map => "map",
            HadoopPhase::Shuffle => "shuffle",
            HadoopPhase::Reduce => "reduce",
        }
    }
}

/// Bytes that a job moves between nodes.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct HadoopTraffic {
    /// Blocks that a map reads on another node.
    pub reads: u64,
    /// Parts that reduces fetch from other nodes.
    pub shuffle: u64,
    /// Replicas.
    pub replicas: u64,
}

/// A round of the job: where its maps run, and what its reduces write.
struct HadoopRound {
    /// Bytes of a block.
    block: u64,
    /// Bytes that maps write for each byte they read.
    map_output: f64,
    /// Bytes that all maps write.
    output: u64,
    /// Maps of each node that read the node's disk.
    local: Vec<u32>,
    /// Nodes that each node's other maps read from.
    reads: Vec<Vec<u32>>,
    /// Nodes that read from each node.
    serves: Vec<Vec<u32>>,
}

/// The workload of a job.
pub struct HadoopRun {
    job: HadoopJob,
    rounds: Vec<HadoopRound>,
    /// Distances from a writer to the nodes of its replicas, the writer first.
    shifts: Vec<u32>,
    /// Ends of phases, by the clock of rank 0 behind the barrier.
    ends: Vec<Time>,
}

/// A rank's phase, all rounds counted, and its calls in it.
#[derive(Clone, Default)]
pub struct HadoopCursor {
    phase: u32,
    calls: u64,
}

/// Returns a share of some bytes, rounded.
fn share(bytes: u64, share: f64) -> u64 {
    (bytes as f64 * share).round() as u64
}

/// Returns the time of bytes at a rate; the longest span if that is longer than virtual time.
fn span(bytes: u64, rate: u64) -> Span {
    Span::from_seconds(bytes as f64 / rate as f64).unwrap_or(Span::from_ps(u64::MAX))
}

/// Returns a pseudorandom number of a seed and an index (splitmix64).
fn drawn(seed: u64, index: u64) -> u64 {
    let mut z = seed.wrapping_add((index + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15));
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

impl HadoopJob {
    /// Returns why the job cannot run, as a sentence without its subject's option.
    fn refusal(&self) -> Option<String> {
        let wrong = |share: f64| !share.is_finite() || !(0.0..=1000.0).contains(&share);
        let positive = [
            (self.input, "the input has no bytes (--input 16GiB)"),
            (self.block, "a block has no bytes (--block 128MiB)"),
            (self.chunk, "a chunk has no bytes (--chunk 4MiB)"),
            (self.slots.into(), "a node has no slots (--slots 8)"),
            (self.reducers.into(), "there are no reduces (--reducers 16)"),
            (self.replication.into(), "there is no copy of a block (--replication 3)"),
            (self.rounds.into(), "there are no rounds (--rounds 1)"),
            (self.disk, "a disk moves nothing (--disk 80MB/s)"),
            (self.map_rate, "a map processes nothing (--map-rate 40MB/s)"),
            (self.reduce_rate, "a reduce processes nothing (--reduce-rate 40MB/s)"),
        ];
        if let Some((_, why)) = positive.iter().find(|(number, _)| *number == 0) {
            return Some((*why).to_owned());
        }
        if self.replication > self.nodes {
            return Some(format!(
                "{} copies of a block need as many nodes, and there are {}: lower --replication, or raise -n",
                self.replication, self.nodes
            ));
        }
        if self.rounds > MAX_ROUNDS {
            return Some(format!("{} rounds are more than {MAX_ROUNDS}: lower --rounds", self.rounds));
        }
        if wrong(self.map_output) || wrong(self.reduce_output) {
            return Some(
                "shares of output are numbers from 0 to 1000 (--map-output, --reduce-output)".to_owned(),
            );
        }
        self.length_refusal()
    }

    /// Returns why the job is too long: what each round reads follows from the one before.
    fn length_refusal(&self) -> Option<String> {
        let slowest = self.disk.min(self.map_rate).min(self.reduce_rate) as f64;
        let mut input = self.input as f64;
        for number in 1..=self.rounds {
            let written = if number == 1 { input * self.map_output } else { input };
            let output = written * self.reduce_output;
            let blocks = (input / self.block as f64).ceil();
            let nodes = f64::from(self.nodes);
            let tasks = (blocks / nodes).max(f64::from(self.reducers) / nodes);
            let waves = (tasks / f64::from(self.slots)).ceil();
            let bytes = input.max(written).max(output) * f64::from(self.replication);
            if blocks > MAX_BLOCKS as f64 {
                return Some(format!(
                    "round {number} reads {input:.3e} bytes, more than {MAX_BLOCKS} blocks: raise --block, \
                     or lower --input, --rounds or the shares of output"
                ));
            }
            if bytes / slowest + waves * self.launch.as_seconds() > MAX_PHASE_SECONDS {
                return Some(format!(
                    "a phase of round {number} could take longer than 10^6 seconds: lower --input, --launch, \
                     --reducers, --rounds or the shares of output, or raise the rates"
                ));
            }
            input = output;
        }
        None
    }

    /// Returns the maps of a round: each block on a node that has a copy, unless those have their part
    /// already.
    fn round(&self, number: u32, input: u64, shifts: &[u32]) -> HadoopRound {
        let nodes = self.nodes as usize;
        let blocks = input.div_ceil(self.block);
        let limit = blocks.div_ceil(u64::from(self.nodes));
        let block = input.checked_div(blocks).unwrap_or(0);
        let map_output = if number == 0 { self.map_output } else { 1.0 };
        let mut round = HadoopRound {
            block,
            map_output,
            output: share(blocks * block, map_output),
            local: vec![0; nodes],
            reads: vec![Vec::new(); nodes],
            serves: vec![Vec::new(); nodes],
        };
        let mut loads = vec![0u64; nodes];
        let mut next = 0;
        for block in 0..blocks {
            let writer = drawn(self.seed ^ (u64::from(number) << 32), block) % u64::from(self.nodes);
            let copies = shifts.iter().map(|shift| (writer as usize + *shift as usize) % nodes);
            let nearest = copies.min_by_key(|&node| loads[node]).unwrap_or(0);
            if loads[nearest] < limit {
                loads[nearest] += 1;
                round.local[nearest] += 1;
                continue;
            }
            // A node with room exists: the loads sum up to `block`, less than `limit` for each.
            while loads[next] >= limit {
                next = (next + 1) % nodes;
            }
            loads[next] += 1;
            round.reads[next].push(nearest as u32);
            round.serves[nearest].push(next as u32);
        }
        round
    }
}

impl HadoopRun {
    /// Returns the workload of a job.
    ///
    /// # Errors
    /// A sentence with the option that helps, if the job cannot run.
    pub fn new(job: HadoopJob) -> Result<HadoopRun, String> {
        if let Some(why) = job.refusal() {
            return Err(why);
        }
        // The second copy is half the cluster away, as in another rack, and the others are beside it.
        let others = job.nodes.saturating_sub(1).max(1);
        let shifts: Vec<u32> = std::iter::once(0)
            .chain((1..job.replication).map(|copy| 1 + (job.nodes / 2 + copy + others - 2) % others))
            .collect();
        let mut input = job.input;
        let mut rounds = Vec::new();
        for number in 0..job.rounds {
            let round = job.round(number, input, &shifts);
            input = share(share(input, round.map_output), job.reduce_output);
            rounds.push(round);
        }
        Ok(HadoopRun { job, rounds, shifts, ends: Vec::new() })
    }

    /// Returns the bytes that the job moves between nodes.
    pub fn traffic(&self) -> HadoopTraffic {
        let mut traffic = HadoopTraffic::default();
        for round in &self.rounds {
            traffic.reads += round.block * round.reads.iter().map(Vec::len).sum::<usize>() as u64;
            for node in 0..self.job.nodes {
                for other in (0..self.job.nodes).filter(|&other| other != node) {
                    traffic.shuffle += self.part(round, other, node);
                }
                traffic.replicas += self.written(round, node) * u64::from(self.job.replication - 1);
            }
        }
        traffic
    }

    /// Returns the phases that have ended on rank 0, with their rounds (from 1) and times.
    pub fn phases(&self) -> impl Iterator<Item = (u32, HadoopPhase, Span)> + '_ {
        let begins = std::iter::once(Time::ZERO).chain(self.ends.iter().copied());
        begins.zip(&self.ends).enumerate().map(|(index, (begin, end))| {
            (index as u32 / 3 + 1, HadoopPhase::ALL[index % 3], end.since(begin))
        })
    }

    /// Returns `true` once all phases have ended.
    pub fn is_complete(&self) -> bool {
        self.ends.len() == self.rounds.len() * HadoopPhase::ALL.len()
    }

    /// Returns how many reduces a node has.
    fn reducers(&self, node: u32) -> u32 {
        let (each, more) = (self.job.reducers / self.job.nodes, self.job.reducers % self.job.nodes);
        each + u32::from(node < more)
    }

    /// Returns how many maps a node runs.
    fn maps(round: &HadoopRound, node: u32) -> u64 {
        u64::from(round.local[node as usize]) + round.reads[node as usize].len() as u64
    }

    /// Returns the bytes that the reduces of a node fetch from the maps of another.
    fn part(&self, round: &HadoopRound, from: u32, to: u32) -> u64 {
        let written = share(HadoopRun::maps(round, from) * round.block, round.map_output);
        share(written, f64::from(self.reducers(to)) / f64::from(self.job.reducers))
    }

    /// Returns the bytes that the reduces of a node fetch, its own included.
    fn fetched(&self, round: &HadoopRound, node: u32) -> u64 {
        share(round.output, f64::from(self.reducers(node)) / f64::from(self.job.reducers))
    }

    /// Returns the bytes that the reduces of a node write, replicas left out.
    fn written(&self, round: &HadoopRound, node: u32) -> u64 {
        share(self.fetched(round, node), self.job.reduce_output)
    }

    /// Returns the bytes of a chunk that a node writes; 0 behind the last.
    fn chunk(&self, round: &HadoopRound, node: u32, chunk: u64) -> u64 {
        let begin = chunk.saturating_mul(self.job.chunk);
        self.written(round, node).saturating_sub(begin).min(self.job.chunk)
    }

    /// Returns the node behind another one by a distance, or before it.
    fn behind(&self, node: u32, shift: u32) -> u32 {
        (node + shift) % self.job.nodes
    }

    fn before(&self, node: u32, shift: u32) -> u32 {
        (node + self.job.nodes - shift) % self.job.nodes
    }

    /// Returns the time of a wave of `tasks` maps of which `local` read the node's disk.
    fn wave(&self, round: &HadoopRound, tasks: u64, local: u64) -> Span {
        let reading = span(local * round.block, self.job.disk);
        let processing = span(round.block, self.job.map_rate);
        let written = share(tasks * round.block, round.map_output);
        self.job.launch + reading.max(processing) + span(written, self.job.disk)
    }

    /// Returns a call of the map phase, or `None` behind the last.
    fn map(&self, round: &HadoopRound, node: u32, call: u64) -> Option<Call> {
        let (reads, serves) = (&round.reads[node as usize], &round.serves[node as usize]);
        let mut index = call;
        if let Some(from) = reads.get(index as usize) {
            return Some(Call::Irecv(envelope(*from, HadoopPhase::Map, round.block), index as u32));
        }
        index -= reads.len() as u64;
        if let Some(to) = serves.get(index as usize) {
            let number = (reads.len() as u64 + index) as u32;
            return Some(Call::Isend(
                SendMode::Standard,
                envelope(*to, HadoopPhase::Map, round.block),
                number,
            ));
        }
        index -= serves.len() as u64;
        // Maps of the node's own blocks come first; the wave with the first other block waits for all.
        let (slots, local, tasks) =
            (u64::from(self.job.slots), u64::from(round.local[node as usize]), HadoopRun::maps(round, node));
        let alone = if reads.is_empty() { tasks.div_ceil(slots) } else { local / slots };
        let wave = match index {
            index if index == alone => return Some(finish()),
            index if index > alone => index - 1,
            index => index,
        };
        let first = wave * slots;
        (first < tasks).then(|| {
            let count = slots.min(tasks - first);
            Call::Compute(self.wave(round, count, local.saturating_sub(first).min(count)))
        })
    }

    /// Returns a call of the shuffle, or `None` behind the last.
    fn shuffle(&self, round: &HadoopRound, node: u32, call: u64) -> Option<Call> {
        let distance = (call / 2 + 1) as u32;
        if call / 2 + 1 < u64::from(self.job.nodes) {
            let (from, to) = (self.before(node, distance), self.behind(node, distance));
            let number = call as u32;
            return Some(match call % 2 {
                0 => Call::Irecv(envelope(from, HadoopPhase::Shuffle, self.part(round, from, node)), number),
                _ => {
                    let bytes = self.part(round, node, to);
                    Call::Isend(SendMode::Standard, envelope(to, HadoopPhase::Shuffle, bytes), number)
                }
            });
        }
        match call - 2 * u64::from(self.job.nodes - 1) {
            0 => Some(finish()),
            1 => Some(Call::Compute(span(self.fetched(round, node), self.job.disk))),
            _ => None,
        }
    }

    /// Returns a call of the reduce phase, or `None` behind the last.
    fn reduce(&self, round: &HadoopRound, node: u32, call: u64) -> Option<Call> {
        if call == 0 {
            return Some(Call::Compute(self.merging(round, node)));
        }
        // A chunk takes a send, a receive and a wait for each copy but the first, and the disk.
        let hops = self.shifts.len() as u64 - 1;
        let (chunk, step) = ((call - 1) / (3 * hops + 1), (call - 1) % (3 * hops + 1));
        let of = |shift: u32| self.chunk(round, self.before(node, shift), chunk);
        let on_disk: u64 = self.shifts.iter().map(|&shift| of(shift)).sum();
        if on_disk == 0 {
            return None;
        }
        if step == 3 * hops {
            return Some(Call::Compute(span(on_disk, self.job.disk)));
        }
        let hop = step as usize / 3;
        let (here, there) = (self.shifts[hop], self.shifts[hop + 1]);
        Some(match step % 3 {
            0 if of(here) > 0 => {
                let to = self.behind(self.before(node, here), there);
                Call::Isend(SendMode::Standard, envelope(to, HadoopPhase::Reduce, of(here)), 0)
            }
            1 if of(there) > 0 => {
                let from = self.behind(self.before(node, there), here);
                Call::Irecv(envelope(from, HadoopPhase::Reduce, of(there)), 1)
            }
            2 => finish(),
            _ => Call::Local,
        })
    }

    /// Returns the time that the reduces of a node read, merge and process.
    fn merging(&self, round: &HadoopRound, node: u32) -> Span {
        let tasks = u64::from(self.reducers(node));
        if tasks == 0 {
            return Span::ZERO;
        }
        let fetched = self.fetched(round, node);
        let waves = tasks.div_ceil(u64::from(self.job.slots));
        let processing = span(fetched / tasks * waves, self.job.reduce_rate);
        self.job.launch.checked_mul(waves).unwrap_or(Span::from_ps(u64::MAX))
            + span(fetched, self.job.disk).max(processing)
    }
}

fn envelope(peer: u32, phase: HadoopPhase, bytes: u64) -> Envelope {
    Envelope { peer: peer as i32, tag: phase as i32, comm: Call::WORLD, bytes }
}

fn finish() -> Call {
    Call::Complete(Wait::All, Requests::All)
}

fn barrier() -> Call {
    Call::Collective(Box::new(Collective {
        kind: Kind::Barrier,
        comm: Call::WORLD,
        root: None,
        bytes: 0,
        blocks: None,
        is_irregular: false,
        reduction: None,
    }))
}

impl Workload for HadoopRun {
    type Cursor = HadoopCursor;

    fn site_name(&self, _: u32) -> String {
        "job".to_owned()
    }

    fn next(&mut self, caller: &Caller, cursor: &mut HadoopCursor, _: &Answer) -> (Span, Call) {
        let node = caller.rank;
        if node == 0 && cursor.calls == 0 && cursor.phase > 0 {
            self.ends.push(caller.clock);
        }
        let Some(round) = self.rounds.get(cursor.phase as usize / 3) else { return (Span::ZERO, Call::End) };
        let call = match HadoopPhase::ALL[cursor.phase as usize % 3] {
            HadoopPhase::Map => self.map(round, node, cursor.calls),
            HadoopPhase::Shuffle => self.shuffle(round, node, cursor.calls),
            HadoopPhase::Reduce => self.reduce(round, node, cursor.calls),
        };
        match call {
            Some(call) => {
                cursor.calls += 1;
                (Span::ZERO, call)
            }
            None => {
                *cursor = HadoopCursor { phase: cursor.phase + 1, calls: 0 };
                (Span::ZERO, barrier())
            }
        }
    }
}
