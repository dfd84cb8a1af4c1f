//! Random graphs end as in a plain model of LogGOPS. It keeps all that is to come in one list, takes the
//! first by time and number, and puts back what finds its processor or interface busy.

use goal::{
    ANY_SOURCE, ANY_TAG, Carrier, ExecutionUnit, GoalGraph, LogGops, Operations, ReadyOrder, Work, run,
};
use network::Machine;
use proptest::prelude::*;

/// Something that is to come: an operation of a rank, or its message, and the receive that this has met.
#[derive(Clone, Copy, PartialEq, Debug)]
enum Coming {
    Operation(usize, usize),
    Arrival { from: (usize, usize), met: Option<usize> },
}

/// A send whose message waits, and when its receiver is done with that, if it has begun.
type Unreceived = ((usize, usize), Option<u64>);

/// The model: times are nanoseconds, `graph` has all ranks in order.
struct Plain<'g> {
    graph: &'g GoalGraph,
    model: LogGops,
    coming: Vec<(u64, u64, Coming)>,
    count: u64,
    /// Until when processors, and interfaces for sends and for receives, are busy; by rank and number.
    busy: Vec<[Vec<u64>; 3]>,
    is_single: Vec<bool>,
    begun: Vec<Vec<bool>>,
    ended: Vec<Vec<bool>>,
    ready_at: Vec<Vec<u64>>,
    posted: Vec<Vec<usize>>,
    unexpected: Vec<Vec<Unreceived>>,
    end: Vec<u64>,
}

impl Plain<'_> {
    fn of(graph: &GoalGraph, model: LogGops) -> Plain<'_> {
        let all = || -> Vec<Vec<bool>> {
            graph.blocks.iter().map(|(_, operations)| vec![false; operations.works.len()]).collect()
        };
        let is_single = |operations: &Operations| {
            (0..operations.works.len() as u32).all(|at| operations.unit(at) == ExecutionUnit::default())
        };
        Plain {
            graph,
            model,
            coming: Vec::new(),
            count: 0,
            busy: vec![[vec![0; 256], vec![0; 256], vec![0; 256]]; graph.blocks.len()],
            is_single: graph.blocks.iter().map(|(_, operations)| is_single(operations)).collect(),
            begun: all(),
            ended: all(),
            ready_at: graph.blocks.iter().map(|(_, operations)| vec![0; operations.works.len()]).collect(),
            posted: vec![Vec::new(); graph.blocks.len()],
            unexpected: vec![Vec::new(); graph.blocks.len()],
            end: vec![0; graph.blocks.len()],
        }
    }

    fn work(&self, (rank, at): (usize, usize)) -> Work {
        self.graph.blocks[rank].1.works[at]
    }

    fn unit(&self, (rank, at): (usize, usize)) -> [usize; 2] {
        let unit = self.graph.blocks[rank].1.unit(at as u32);
        [unit.cpu.into(), unit.nic.into()]
    }

    /// Queues the operations of a rank whose dependencies have all come about; `marked` are operations in the
    /// order in which that was, each with `true` for its beginning and `false` for its end.
    fn queue_ready(&mut self, rank: usize, marked: &[(usize, bool)]) {
        let edges = &self.graph.blocks[rank].1.edges;
        let met = marked.iter().flat_map(|&(marked, starts)| {
            let meets = move |edge: &&(u32, u32, bool)| edge.1 as usize == marked && edge.2 == starts;
            edges.iter().filter(meets).map(|edge| edge.0 as usize)
        });
        let met: Vec<usize> = met.collect();
        let is_open = |&&(_, before, on_start): &&(u32, u32, bool)| {
            let done = if on_start { &self.begun } else { &self.ended };
            !done[rank][before as usize]
        };
        let waits = |at: usize| edges.iter().filter(|edge| edge.0 as usize == at).any(|edge| is_open(&edge));
        let is_last = |&index: &usize| !met[index + 1..].contains(&met[index]);
        let ready = (0..met.len()).filter(|index| is_last(index) && !waits(met[*index]));
        let ready = ready.map(|index| met[index]).collect();
        self.queue(rank, ready);
    }

    fn queue(&mut self, rank: usize, mut ready: Vec<usize>) {
        ready.sort_by_key(|&at| match self.work((rank, at)) {
            Work::Send { .. } => 1,
            Work::Receive { .. } => 2,
            Work::Calculate(_) => 3,
        });
        for at in ready {
            let [cpu, nic] = self.unit((rank, at));
            let mut time = self.ready_at[rank][at].max(self.busy[rank][0][cpu]);
            if let Work::Send { .. } = self.work((rank, at)) {
                time = time.max(self.busy[rank][1][nic]);
            }
            self.count += 1;
            self.coming.push((time, self.count, Coming::Operation(rank, at)));
        }
    }

    fn mark(&mut self, (rank, at): (usize, usize), starts: bool, time: u64) {
        if starts {
            self.begun[rank][at] = true;
        } else {
            self.ended[rank][at] = true;
            self.end[rank] = self.end[rank].max(time);
        }
        for &(later, earlier, on_start) in &self.graph.blocks[rank].1.edges {
            if earlier as usize == at && on_start == starts {
                let ready_at = &mut self.ready_at[rank][later as usize];
                *ready_at = (*ready_at).max(time);
            }
        }
    }

    /// Runs to the end. Returns when each rank ends, and whether all operations and messages have.
    fn run(mut self) -> (Vec<u64>, bool) {
        for rank in 0..self.graph.blocks.len() {
            let (_, operations) = &self.graph.blocks[rank];
            let waits = |at: usize| operations.edges.iter().any(|&(later, ..)| later as usize == at);
            self.queue(rank, (0..operations.works.len()).filter(|&at| !waits(at)).collect());
        }
        while let Some(index) =
            (0..self.coming.len()).min_by_key(|&at| (self.coming[at].0, self.coming[at].1))
        {
            let (now, number, coming) = self.coming.swap_remove(index);
            match coming {
                Coming::Operation(rank, at) => self.begin(rank, at, now, number),
                Coming::Arrival { from, met } => self.arrive(from, met, now, number),
            }
        }
        let all =
            self.ended.iter().flatten().all(|&ended| ended) && self.unexpected.iter().all(Vec::is_empty);
        (self.end, all)
    }

    fn begin(&mut self, rank: usize, at: usize, now: u64, number: u64) {
        let [cpu, nic] = self.unit((rank, at));
        let LogGops { latency, overhead, gap, gap_per_byte, eager } = self.model;
        match self.work((rank, at)) {
            Work::Calculate(time) => {
                let free = self.busy[rank][0][cpu];
                if free > now {
                    return self.coming.push((free, number, Coming::Operation(rank, at)));
                }
                self.busy[rank][0][cpu] = now + time;
                self.mark((rank, at), true, now);
                self.mark((rank, at), false, now + time);
                self.queue_ready(rank, &[(at, true), (at, false)]);
            }
            Work::Send { bytes, .. } => {
                let free = self.busy[rank][0][cpu].max(self.busy[rank][1][nic]);
                if free > now {
                    return self.coming.push((free, number, Coming::Operation(rank, at)));
                }
                self.busy[rank][0][cpu] = now + overhead;
                self.busy[rank][1][nic] = now + gap + bytes.saturating_sub(1) * gap_per_byte;
                self.end[rank] = self.end[rank].max(now + overhead);
                self.mark((rank, at), true, now);
                self.count += 1;
                let arrival = Coming::Arrival { from: (rank, at), met: None };
                self.coming.push((now + overhead + latency, self.count, arrival));
                if bytes <= eager {
                    self.mark((rank, at), false, now + overhead);
                    self.queue_ready(rank, &[(at, true), (at, false)]);
                } else {
                    self.queue_ready(rank, &[(at, true)]);
                }
            }
            Work::Receive { from, tag, .. } => {
                self.mark((rank, at), true, now);
                let accepts = |send: (usize, usize)| accepts((from, tag), self.graph, send);
                let found = self.unexpected[rank].iter().position(|&(send, _)| accepts(send));
                match found.map(|found| self.unexpected[rank].remove(found)) {
                    None => {
                        self.posted[rank].push(at);
                        self.queue_ready(rank, &[(at, true)]);
                    }
                    Some((send, Some(done))) => self.meet(send, (rank, at), now, done.max(now), true),
                    Some((send, None)) => {
                        self.queue_ready(rank, &[(at, true)]);
                        self.arrive(send, Some(at), now, number);
                    }
                }
            }
        }
    }

    fn arrive(&mut self, send: (usize, usize), mut met: Option<usize>, now: u64, number: u64) {
        let Work::Send { bytes, to, .. } = self.work(send) else { unreachable!() };
        let rank = to as usize;
        let [mut cpu, mut nic] = [0, 0];
        if !self.is_single[rank] {
            met = met.or_else(|| self.take_posted(rank, send));
            let Some(met) = met else { return self.unexpected[rank].push((send, None)) };
            [cpu, nic] = self.unit((rank, met));
        }
        let free = self.busy[rank][0][cpu].max(self.busy[rank][2][nic]);
        if free > now {
            return self.coming.push((free, number, Coming::Arrival { from: send, met }));
        }
        let line = bytes.saturating_sub(1) * self.model.gap_per_byte;
        let done = now + self.model.overhead + line;
        self.busy[rank][0][cpu] = done;
        self.busy[rank][2][nic] = now + self.model.gap + line;
        self.end[rank] = self.end[rank].max(done);
        match met.or_else(|| self.take_posted(rank, send)) {
            Some(receive) => self.meet(send, (rank, receive), now, done, false),
            None => self.unexpected[rank].push((send, Some(done))),
        }
    }

    fn take_posted(&mut self, rank: usize, send: (usize, usize)) -> Option<usize> {
        let wants = |&receive: &usize| match self.work((rank, receive)) {
            Work::Receive { from, tag, .. } => accepts((from, tag), self.graph, send),
            _ => unreachable!(),
        };
        let found = self.posted[rank].iter().position(wants)?;
        Some(self.posted[rank].remove(found))
    }

    fn meet(&mut self, send: (usize, usize), receive: (usize, usize), now: u64, end: u64, begins: bool) {
        let Work::Send { bytes, .. } = self.work(send) else { unreachable!() };
        let waits = bytes > self.model.eager;
        if waits {
            self.mark(send, false, now);
        }
        self.mark(receive, false, end);
        let mut marks = if begins { vec![(receive.1, true)] } else { Vec::new() };
        if waits && send.0 == receive.0 {
            marks.push((send.1, false));
        }
        marks.push((receive.1, false));
        if waits && send.0 < receive.0 {
            self.queue_ready(send.0, &[(send.1, false)]);
        }
        self.queue_ready(receive.0, &marks);
        if waits && send.0 > receive.0 {
            self.queue_ready(send.0, &[(send.1, false)]);
        }
    }
}

fn accepts((from, tag): (i32, i32), graph: &GoalGraph, (rank, at): (usize, usize)) -> bool {
    let Work::Send { tag: sent, .. } = graph.blocks[rank].1.works[at] else { unreachable!() };
    (from == ANY_SOURCE || from as usize == rank) && (tag == ANY_TAG || tag == sent)
}

/// One step of a random graph: what is done, the ranks that do it, and what it waits for.
#[derive(Clone, Debug)]
struct Step {
    ranks: [usize; 2],
    kind: u8,
    size: u64,
    tag: i32,
    wildcard: u8,
    units: [ExecutionUnit; 2],
    /// For each half, the operations before it that it waits for, and whether their start is enough.
    behind: [Vec<(usize, bool)>; 2],
}

fn step(ranks: usize, units: u8) -> impl Strategy<Value = Step> {
    let unit = || (0..units, 0..units).prop_map(|(cpu, nic)| ExecutionUnit { cpu, nic });
    let behind = || prop::collection::vec((0..6usize, prop::bool::weighted(0.3)), 0..3);
    let size = prop_oneof![Just(0u64), Just(1), 1..100u64, 1..65_536u64];
    (
        [0..ranks, 0..ranks],
        0..5u8,
        size,
        0..3i32,
        prop_oneof![9 => Just(0u8), 1 => 1..4u8],
        [unit(), unit()],
        [behind(), behind()],
    )
        .prop_map(|(ranks, kind, size, tag, wildcard, units, behind)| Step {
            ranks,
            kind,
            size,
            tag,
            wildcard,
            units,
            behind,
        })
}

/// Adds an operation of a rank behind some of its last ones.
fn add(block: &mut Operations, work: Work, unit: ExecutionUnit, behind: &[(usize, bool)]) {
    let at = block.works.len();
    block.works.push(work);
    block.units.push(unit);
    for &(back, starts) in behind {
        if let Some(earlier) = at.checked_sub(back + 1) {
            block.edges.push((at as u32, earlier as u32, starts));
        }
    }
}

/// Makes a graph. Every message has a receive in the order of the steps, so that graphs without wildcards
/// never deadlock.
fn graph(ranks: usize, steps: &[Step]) -> GoalGraph {
    let mut blocks = vec![Operations::default(); ranks];
    for step in steps {
        let [from, to] = step.ranks;
        if step.kind == 0 {
            add(&mut blocks[from], Work::Calculate(step.size), step.units[0], &step.behind[0]);
            continue;
        }
        let send = Work::Send { bytes: step.size, to: to as i32, tag: step.tag };
        add(&mut blocks[from], send, step.units[0], &step.behind[0]);
        let source = if step.wildcard & 1 == 1 { ANY_SOURCE } else { from as i32 };
        let tag = if step.wildcard & 2 == 2 { ANY_TAG } else { step.tag };
        let receive = Work::Receive { bytes: step.size, from: source, tag };
        add(&mut blocks[to], receive, step.units[1], &step.behind[1]);
    }
    GoalGraph { ranks: ranks as u32, blocks: (0..).zip(blocks).collect() }
}

fn graphs(units: u8) -> impl Strategy<Value = GoalGraph> {
    (2..6usize).prop_flat_map(move |ranks| {
        prop::collection::vec(step(ranks, units), 0..60).prop_map(move |steps| graph(ranks, &steps))
    })
}

fn models() -> impl Strategy<Value = LogGops> {
    let size = prop_oneof![Just(0u64), Just(100), 1..65_536u64, Just(65_535)];
    (0..4000u64, 0..2000u64, 0..2000u64, 0..8u64, size).prop_map(
        |(latency, overhead, gap, gap_per_byte, eager)| LogGops {
            latency,
            overhead,
            gap,
            gap_per_byte,
            eager,
        },
    )
}

fn check(graph: &GoalGraph, model: LogGops) -> Result<(), TestCaseError> {
    let (ends, all) = Plain::of(graph, model).run();
    let found = run(graph, Carrier::loggops(&model), ReadyOrder::Text).unwrap();
    let found_ends: Vec<u64> = found.ends.iter().map(|end| end.end.as_ps()).collect();
    let ends: Vec<u64> = ends.iter().map(|end| end * 1000).collect();
    prop_assert_eq!(found_ends, ends);
    prop_assert_eq!(found.deadlock.is_none() && found.failure.is_none(), all);
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn ranks_with_one_processor_end_as_in_the_plain_model(graph in graphs(1), model in models()) {
        check(&graph, model)?;
    }

    #[test]
    fn ranks_with_several_processors_end_as_in_the_plain_model(graph in graphs(3), model in models()) {
        check(&graph, model)?;
    }

    #[test]
    fn a_star_with_the_models_parameters_gives_its_ends(graph in graphs(2), model in models()) {
        // Bandwidths are decimal: G is a divisor of a power of ten, and L at least G.
        let gap_per_byte = [0, 1, 2, 4, 5, 8][model.gap_per_byte as usize % 6];
        let model = LogGops { gap_per_byte, latency: model.latency + gap_per_byte, ..model };
        let LogGops { latency, overhead, gap, eager, .. } = model;
        let bandwidth = 1000u64.checked_div(gap_per_byte);
        let bandwidth = bandwidth.map_or("inf".to_owned(), |rate| format!("{rate}MB/s"));
        let hop = (latency - gap_per_byte) * 500;
        let machine = format!(
            "star:l={hop}ps,b={bandwidth}/rank:o_send={overhead}ns,o_recv={overhead}ns,\
             gap={gap}ns,eager={eager}"
        );
        // An empty message has no first byte on a link, and one to its own rank crosses none.
        let differs = |rank: u32, work: &Work| {
            matches!(*work, Work::Send { bytes, to, .. } if bytes == 0 || to as u32 == rank)
        };
        let mut graph = graph;
        for (rank, operations) in &mut graph.blocks {
            operations.works.iter_mut().filter(|work| differs(*rank, work)).for_each(|work| {
                *work = Work::Calculate(1);
            });
        }
        let mut built = Machine::parse(&machine).unwrap().build(graph.ranks).unwrap();
        let ends = |carrier| run(&graph, carrier, ReadyOrder::Text).unwrap().ends;
        prop_assert_eq!(ends(Carrier::machine(&mut built)), ends(Carrier::loggops(&model)));
    }
}
