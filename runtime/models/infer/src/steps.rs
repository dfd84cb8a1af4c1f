//! Steps that all ranks of a trace make together, one by one.
//!
//! Collective operations are met by all ranks in one order, and so divide a run. The messages of a rank
//! between two of them are divided where it has waited for all that it had started. Usually that is an
//! exchange, and the same one on all ranks. Where ranks do not agree in that (a pipeline, a wave) all between
//! two collective operations is one step.

use aspen::{Collective, Operation};
use mpi::abi::{MPI_MAX, MPI_MIN, MPI_PROD};
use mpi::collective::Reducing;
use mpi::schedule::Kind;
use rustc_hash::{FxHashMap, FxHashSet};
use std::rc::Rc;
use trace::Trace;
use workload::{Call, Envelope, How, Replay, Requests, Script};

/// The kind of a step.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum StepAction {
    /// A collective operation, with the bytes of a rank's part.
    Collective(Collective, Operation, u64),
    /// Messages: source, destination and bytes, in order.
    Messages(Rc<[(u32, u32, u64)]>),
}

/// A step, and how long a rank computes before it, on average, in seconds.
#[derive(Clone, Debug)]
pub struct ModelStep {
    /// The kind of the step.
    pub what: StepAction,
    /// Seconds.
    pub computed: f64,
}

/// A run, in steps.
#[derive(Clone, Debug)]
pub struct RunSteps {
    /// The ranks.
    pub ranks: u32,
    /// In their order.
    pub steps: Vec<ModelStep>,
}

/// One rank's messages and collective in a step.
#[derive(Clone, Default, PartialEq, Eq, Hash, Debug)]
struct RankStep {
    collective: Option<(Collective, Operation, u64)>,
    /// Destinations and bytes.
    sends: Vec<(u32, u64)>,
    /// Sources.
    receives: Vec<u32>,
}

/// The parts of one rank, with what it computes before each.
type Parts = Vec<(f64, Rc<RankStep>)>;

/// Returns the steps of a trace. O(calls of all ranks).
pub fn steps(trace: &Trace) -> Result<RunSteps, String> {
    let how = How { decides: false, compares: false, without: &[] };
    let mut replay = Replay::new(trace, how)?;
    let mut known = FxHashSet::default();
    let mut all = Vec::with_capacity(trace.ranks as usize);
    for rank in 0..trace.ranks {
        all.push(parts(trace, &mut replay, rank, &mut known)?);
    }
    if !agree(&all) {
        all.iter_mut().for_each(|parts| *parts = merged(parts));
    }
    together(trace.ranks, &all)
}

/// The state of the reader of a rank's calls.
struct CallReader<'k> {
    known: &'k mut FxHashSet<Rc<RankStep>>,
    parts: Parts,
    open: FxHashSet<u32>,
    part: RankStep,
    /// Seconds that were computed before the part, and since.
    computed: f64,
}

impl CallReader<'_> {
    fn close(&mut self) {
        let part = std::mem::take(&mut self.part);
        if part != RankStep::default() {
            let part = match self.known.get(&part) {
                Some(known) => Rc::clone(known),
                None => {
                    let part = Rc::new(part);
                    self.known.insert(Rc::clone(&part));
                    part
                }
            };
            self.parts.push((std::mem::take(&mut self.computed), part));
        }
    }

    fn send(&mut self, envelope: &Envelope) {
        self.part.sends.extend(u32::try_from(envelope.peer).ok().map(|peer| (peer, envelope.bytes)));
    }

    fn receive(&mut self, envelope: &Envelope) {
        self.part.receives.extend(u32::try_from(envelope.peer).ok());
    }

    /// Notes that a call that waits has returned.
    fn waited(&mut self) {
        if self.open.is_empty() {
            self.close();
        }
    }

    fn collective(&mut self, of: (Collective, Operation, u64)) {
        // What is under way across it belongs to what began before.
        self.close();
        self.part.collective = Some(of);
        self.close();
    }
}

fn parts(
    trace: &Trace,
    replay: &mut Replay<'_>,
    rank: u32,
    known: &mut FxHashSet<Rc<RankStep>>,
) -> Result<Parts, String> {
    let mut script = Script::new(replay, rank);
    let mut reading = CallReader {
        known,
        parts: Vec::new(),
        open: FxHashSet::default(),
        part: RankStep::default(),
        computed: 0.0,
    };
    while let Some((computed, call)) = script.next()? {
        reading.computed += computed.as_seconds();
        if let Err(why) = read(trace, rank, &call, &mut reading) {
            return Err(script.refusal(&why));
        }
    }
    reading.close();
    Ok(reading.parts)
}

fn read(trace: &Trace, rank: u32, call: &Call, reading: &mut CallReader) -> Result<(), String> {
    let world = |comm: u32| of_world(trace, rank, comm);
    match call {
        Call::Send(_, to) => {
            world(to.comm)?;
            reading.send(to);
        }
        Call::Isend(_, to, request) => {
            world(to.comm)?;
            reading.send(to);
            reading.open.insert(*request);
        }
        Call::Recv(from) => {
            world(from.comm)?;
            reading.receive(from);
            reading.waited();
        }
        Call::Irecv(from, request) => {
            world(from.comm)?;
            reading.receive(from);
            reading.open.insert(*request);
        }
        Call::SendReceive(both) | Call::IsendReceive(both, _) => {
            world(both.to.comm)?;
            reading.send(&both.to);
            reading.receive(&both.from);
            match call {
                Call::IsendReceive(_, request) => drop(reading.open.insert(*request)),
                _ => reading.waited(),
            }
        }
        Call::Complete(_, requests) => {
            match requests {
                Requests::All => reading.open.clear(),
                Requests::These(these) => reading.open.retain(|request| !these.contains(request)),
            }
            reading.waited();
        }
        Call::Several(calls) => calls.iter().try_for_each(|call| read(trace, rank, call, reading))?,
        Call::Collective(of) | Call::Icollective(of, _) => {
            world(of.comm)?;
            reading.collective(collective(of)?);
        }
        Call::Dup(_)
        | Call::FreeComm(_)
        | Call::FreeRequest(_)
        | Call::Local
        | Call::Type(_)
        | Call::Probe(_)
        | Call::Compute(_)
        | Call::End => {}
        Call::Fail(why) => return Err(why.to_string()),
        _ => return Err("Aspen has no words for it".to_owned()),
    }
    Ok(())
}

/// Checks that a communicator has all ranks in their order.
fn of_world(trace: &Trace, rank: u32, comm: u32) -> Result<(), String> {
    if comm == Call::WORLD {
        return Ok(());
    }
    let member = (comm > Call::SELF).then(|| trace.comms.member(rank, comm - Call::SELF)).flatten();
    match member {
        Some(member) if member.peers == trace.ranks && member.rank == rank => Ok(()),
        _ => Err("it is in a communicator of some ranks, and in Aspen all ranks communicate".to_owned()),
    }
}

fn collective(of: &workload::Collective) -> Result<(Collective, Operation, u64), String> {
    let operation = match of.reduction {
        Some(Reducing::Predefined { op: MPI_MIN, .. }) => Operation::Min,
        Some(Reducing::Predefined { op: MPI_MAX, .. }) => Operation::Max,
        Some(Reducing::Predefined { op: MPI_PROD, .. }) => Operation::Prod,
        _ => Operation::Sum,
    };
    let which = match of.kind {
        Kind::Barrier => Collective::Barrier,
        Kind::Bcast => Collective::Bcast,
        Kind::Gather => Collective::Gather,
        Kind::Scatter => Collective::Scatter,
        Kind::Allgather => Collective::Allgather,
        Kind::Alltoall => Collective::Alltoall,
        Kind::Reduce => Collective::Reduce,
        Kind::Allreduce => Collective::Allreduce,
        Kind::Scan => Collective::Scan,
        _ => return Err("Aspen has no words for this collective operation".to_owned()),
    };
    if of.blocks.is_some() {
        return Err("Aspen has no words for blocks that differ from rank to rank".to_owned());
    }
    Ok((which, operation, if which == Collective::Barrier { 0 } else { of.bytes }))
}

/// Returns `true` if the ranks have equally many parts, alike in kind, in each of which what is sent is
/// received.
fn agree(all: &[Parts]) -> bool {
    let length = all.first().map_or(0, Vec::len);
    if all.iter().any(|parts| parts.len() != length) {
        return false;
    }
    let mut seen: FxHashSet<Vec<*const RankStep>> = FxHashSet::default();
    (0..length).all(|at| {
        let parts: Vec<&Rc<RankStep>> = all.iter().map(|parts| &parts[at].1).collect();
        !seen.insert(parts.iter().map(|part| Rc::as_ptr(part)).collect()) || meet(&parts)
    })
}

fn meet(parts: &[&Rc<RankStep>]) -> bool {
    let is_collective = parts[0].collective.is_some();
    if parts.iter().any(|part| part.collective.is_some() != is_collective) {
        return false;
    }
    let mut balance: FxHashMap<(u32, u32), i64> = FxHashMap::default();
    for (rank, part) in (0..).zip(parts) {
        part.sends.iter().for_each(|&(to, _)| *balance.entry((rank, to)).or_default() += 1);
        part.receives.iter().for_each(|&from| *balance.entry((from, rank)).or_default() -= 1);
    }
    balance.values().all(|&left| left == 0)
}

/// Returns all that a rank does between two collective operations as one part, which there is even if it does
/// nothing.
fn merged(parts: &Parts) -> Parts {
    let mut merged: Parts = Vec::new();
    let (mut between, mut computed) = (RankStep::default(), 0.0);
    for (seconds, part) in parts {
        computed += seconds;
        if part.collective.is_none() {
            between.sends.extend(&part.sends);
            between.receives.extend(&part.receives);
        } else {
            merged.push((std::mem::take(&mut computed), Rc::new(std::mem::take(&mut between))));
            merged.push((0.0, Rc::clone(part)));
        }
    }
    merged.push((computed, Rc::new(between)));
    merged
}

/// Returns the parts of all ranks as steps.
fn together(ranks: u32, all: &[Parts]) -> Result<RunSteps, String> {
    let length = all.first().map_or(0, Vec::len);
    if all.iter().any(|parts| parts.len() != length) {
        return Err("its ranks do not meet in the same collective operations".to_owned());
    }
    let mut known: FxHashMap<Vec<*const RankStep>, StepAction> = FxHashMap::default();
    let mut steps = Vec::with_capacity(length);
    let mut computed = 0.0;
    for at in 0..length {
        computed += all.iter().map(|parts| parts[at].0).sum::<f64>() / f64::from(ranks);
        let key: Vec<*const RankStep> = all.iter().map(|parts| Rc::as_ptr(&parts[at].1)).collect();
        let what = match known.get(&key) {
            Some(what) => what.clone(),
            None => {
                let what = step(all.iter().map(|parts| &*parts[at].1))?;
                known.insert(key, what.clone());
                what
            }
        };
        // Where parts were merged there may be nothing between two collective operations.
        if what != StepAction::Messages(Rc::from([])) {
            steps.push(ModelStep { what, computed: std::mem::take(&mut computed) });
        }
    }
    Ok(RunSteps { ranks, steps })
}

fn step<'p>(parts: impl Iterator<Item = &'p RankStep>) -> Result<StepAction, String> {
    let mut messages = Vec::new();
    let mut of: Option<(Collective, Operation, u64)> = None;
    for (rank, part) in (0..).zip(parts) {
        messages.extend(part.sends.iter().map(|&(to, bytes)| (rank, to, bytes)));
        match (of, part.collective) {
            (None, Some(collective)) if rank == 0 => of = Some(collective),
            (Some((which, operation, bytes)), Some((other, _, more))) if which == other => {
                of = Some((which, operation, bytes.max(more)))
            }
            (None, None) => {}
            _ => {
                return Err(format!(
                    "rank {rank} does not meet the others in the same collective operations"
                ));
            }
        }
    }
    messages.sort_unstable();
    Ok(of.map_or_else(
        || StepAction::Messages(messages.into()),
        |(which, operation, bytes)| StepAction::Collective(which, operation, bytes),
    ))
}
