//! From calls to GOAL: each waits for what the rank did before, and what a wait waits for is what comes
//! behind it waits for.

use super::binary::Blocks;
use super::collective::Expansion;
use super::text::Text;
use crate::Options;
use crate::script::{BETWEEN_GROUPS, Group, Groups, Probed, Stop, Writing, agreement, follow, replay};
use ::goal::{ANY_TAG, Operations, Work};
use engine::Span;
use mpi::request::PROC_NULL;
use mpi::schedule::Kind;
use rustc_hash::FxHashMap;
use std::fs::File;
use std::io::BufWriter;
use std::path::Path;
use trace::Trace;
use workload::{Call, Collective, Envelope, Exchange, Requests, Script};

/// Tags from here on are those of collectives.
const COLLECTIVES: u32 = 1 << 30;
/// The most operations that the next one waits for directly. More are joined by one that waits for all of
/// them.
// Each of the next ones names each of them: between two rounds of an all-to-all that would be the square of
// the ranks.
const MAX_DEPENDENCIES: usize = 4;

/// The most operations of a rank, which are in memory until they are written.
const MAX_OPERATIONS: usize = 1 << 25;

/// Writes a trace as GOAL, as a text or in its binary form.
// A rank's operations are in memory until they are written: those of others never are.
pub fn export(trace: &Trace, to: &Path, options: &Options, is_binary: bool) -> Result<(), String> {
    let cannot = |why: std::io::Error| format!("cannot write {}: {why}", to.display());
    let (mut replay, groups) = (replay(trace, &options.without)?, Groups::of(trace)?);
    let out = BufWriter::new(File::create(to).map_err(cannot)?);
    let mut out: Box<dyn Output> = match is_binary {
        false => Box::new(Text::begin(out, trace.ranks).map_err(cannot)?),
        true => Box::new(Blocks::begin(out, trace.ranks).map_err(cannot)?),
    };
    let expansion = Expansion::new(&options.policy);
    for rank in 0..trace.ranks {
        let mut script = Script::new(&mut replay, rank);
        let mut writing = Rank::new(rank, &groups, &expansion);
        follow(&mut script, &mut writing, &cannot)?;
        out.block(rank, &writing.operations).map_err(cannot)?;
    }
    out.end().map_err(cannot)
}

/// A file that is written rank by rank.
pub trait Output {
    /// Writes the operations of the next rank, in the order of their numbers; of each the edges stand
    /// together, in that order too.
    fn block(&mut self, rank: u32, operations: &Operations) -> std::io::Result<()>;
    /// Ends the file: all ranks have been written.
    fn end(&mut self) -> std::io::Result<()>;
}

/// An operation that another comes behind, and whether its beginning is enough.
type Before = (u32, bool);

/// Operations of one rank, and the state of their export.
struct Rank<'a> {
    rank: u32,
    groups: &'a Groups<'a>,
    expansion: &'a Expansion<'a>,
    operations: Operations,
    /// Operations that the next one waits for.
    front: Vec<Before>,
    /// Operations that are over when a request is complete, by the request's number.
    requests: FxHashMap<u32, Vec<u32>>,
    persistent: FxHashMap<u32, Box<Collective>>,
    messages: Probed,
    /// Collectives of each communicator up to now.
    collectives: FxHashMap<u32, u32>,
    /// Computation that was no whole nanosecond.
    left: u64,
}

impl<'a> Rank<'a> {
    fn new(rank: u32, groups: &'a Groups<'a>, expansion: &'a Expansion<'a>) -> Rank<'a> {
        Rank {
            rank,
            groups,
            expansion,
            operations: Operations::default(),
            front: Vec::new(),
            requests: FxHashMap::default(),
            persistent: FxHashMap::default(),
            messages: Probed::default(),
            collectives: FxHashMap::default(),
            left: 0,
        }
    }

    /// Adds an operation that comes behind others; returns its number.
    fn operation(&mut self, work: Work, before: &[Before]) -> u32 {
        let number = self.operations.works.len() as u32;
        self.operations.works.push(work);
        self.operations.edges.extend(before.iter().map(|&(other, starts)| (number, other, starts)));
        number
    }

    /// Returns what to wait for instead of all these: if they are many, one new operation that is over when
    /// they are.
    fn joined(&mut self, before: Vec<Before>) -> Vec<Before> {
        if before.len() <= MAX_DEPENDENCIES {
            before
        } else {
            vec![(self.operation(Work::Calculate(0), &before), false)]
        }
    }

    /// Starts a message: its label, unless there is nobody to have it.
    fn message(&mut self, sends: bool, envelope: &Envelope) -> Result<Option<u32>, Stop> {
        let &Envelope { peer, tag, comm, bytes } = envelope;
        if peer == PROC_NULL {
            return Ok(None);
        }
        let (_, group) = self.groups.get(self.rank, comm).map_err(Stop::Refused)?;
        let peer = match group.rank(peer) {
            Some(peer) => peer as i32,
            None if peer < 0 && !sends => -1,
            None => return Err(Stop::Refused(format!("{peer} is not a rank of its communicator"))),
        };
        let work = if sends {
            Work::Send { bytes, to: peer, tag }
        } else {
            Work::Receive { bytes, from: peer, tag: tag.max(ANY_TAG) }
        };
        let front = std::mem::take(&mut self.front);
        let label = self.operation(work, &front);
        self.front = front;
        Ok(Some(label))
    }

    /// Writes a message that blocks.
    fn whole(&mut self, sends: bool, envelope: &Envelope) -> Result<(), Stop> {
        if let Some(label) = self.message(sends, envelope)? {
            self.front = vec![(label, false)];
        }
        Ok(())
    }

    /// Writes messages with a request.
    fn started(&mut self, messages: &[(bool, &Envelope)], request: u32) -> Result<(), Stop> {
        let mut labels = Vec::new();
        for &(sends, envelope) in messages {
            labels.extend(self.message(sends, envelope)?);
        }
        // The next operation comes behind their beginnings, as the program called them.
        if !labels.is_empty() {
            self.front = labels.iter().map(|&label| (label, true)).collect();
        }
        self.requests.insert(request, labels);
        Ok(())
    }

    fn wait(&mut self, requests: &[u32]) -> Result<(), Stop> {
        let mut before = Vec::new();
        for request in requests {
            before.extend(
                self.requests.remove(request).unwrap_or_default().into_iter().map(|label| (label, false)),
            );
        }
        // Who waits for the end of an operation need not wait for its beginning.
        let front = std::mem::take(&mut self.front);
        let more: Vec<Before> = front
            .into_iter()
            .filter(|&(label, starts)| !starts || !before.contains(&(label, false)))
            .collect();
        before.extend(more);
        before.sort_unstable();
        before.dedup();
        self.front = self.joined(before);
        Ok(())
    }

    /// Adds the messages of a collective, behind `self.front`; returns what is over when it is.
    fn collective(&mut self, collective: &Collective) -> Result<Vec<Before>, Stop> {
        if collective.kind == Kind::Neighbor {
            return Err(Stop::Refused(
                "GOAL has no process topologies: neighbourhood collectives are not written".to_owned(),
            ));
        }
        let (number, group) = self.groups.get(self.rank, collective.comm).map_err(Stop::Refused)?;
        self.expanded(collective, number, &group)
    }

    fn expanded(&mut self, collective: &Collective, number: u32, group: &Group) -> Result<Vec<Before>, Stop> {
        let count = self.collectives.entry(number).or_default();
        // Collectives under way at once differ in their tags, and only few are.
        let tag = COLLECTIVES | ((number << 12 | *count & 0xfff) & (COLLECTIVES - 1));
        *count = count.wrapping_add(1);
        let me = group
            .place(self.rank)
            .ok_or_else(|| Stop::Refused("the rank is not in its communicator".to_owned()))?;
        let mut front = self.front.clone();
        for round in self.expansion.rounds(collective, group, me) {
            let mut next = Vec::with_capacity(round.len());
            for message in round {
                let (peer, bytes, tag) =
                    (group.rank(message.peer as i32).unwrap_or(0) as i32, message.bytes, tag as i32);
                let work = if message.sends {
                    Work::Send { bytes, to: peer, tag }
                } else {
                    Work::Receive { bytes, from: peer, tag }
                };
                next.push((self.operation(work, &front), false));
            }
            front = self.joined(next);
        }
        Ok(front)
    }

    fn background(&mut self, collective: &Collective, request: u32) -> Result<(), Stop> {
        let over = self.collective(collective)?;
        self.requests.insert(
            request,
            over.into_iter().filter(|(_, starts)| !starts).map(|(label, _)| label).collect(),
        );
        Ok(())
    }
}

impl Writing for Rank<'_> {
    // GOAL has nanoseconds: what is left of one is done with the next computation, so that the sum is that of
    // the trace.
    fn compute(&mut self, span: Span) -> std::io::Result<()> {
        self.left += span.as_ps();
        let whole = self.left / 1000;
        if whole > 0 {
            self.left %= 1000;
            let front = std::mem::take(&mut self.front);
            let label = self.operation(Work::Calculate(whole), &front);
            self.front = vec![(label, false)];
        }
        Ok(())
    }

    fn call(&mut self, call: Call) -> Result<(), Stop> {
        if self.operations.works.len() > MAX_OPERATIONS {
            let why = "it is the rank's operation number 2^25, and all of a rank are in memory until they \
                are written: cut the trace first (xsim trace cut)";
            return Err(Stop::Refused(why.to_owned()));
        }
        match call {
            Call::Send(_, envelope) => self.whole(true, &envelope)?,
            Call::Recv(envelope) => self.whole(false, &envelope)?,
            Call::Isend(_, envelope, request) => self.started(&[(true, &envelope)], request)?,
            Call::Irecv(envelope, request) => self.started(&[(false, &envelope)], request)?,
            Call::SendReceive(exchange) => {
                let Exchange { to, from, .. } = *exchange;
                // No program has a request of this number open.
                self.started(&[(true, &to), (false, &from)], u32::MAX)?;
                self.wait(&[u32::MAX])?;
            }
            Call::IsendReceive(exchange, request) => {
                self.started(&[(true, &exchange.to), (false, &exchange.from)], request)?
            }
            Call::Mprobe(envelope, message) => self.messages.keep(message, envelope),
            Call::Mrecv(message, bytes) => {
                let envelope = self.messages.take(message, bytes)?;
                self.whole(false, &envelope)?;
            }
            Call::Imrecv(message, bytes, request) => {
                let envelope = self.messages.take(message, bytes)?;
                self.started(&[(false, &envelope)], request)?;
            }
            Call::Several(calls) => calls.into_iter().try_for_each(|call| self.call(call))?,
            Call::Complete(_, Requests::These(requests)) => self.wait(&requests)?,
            Call::FreeRequest(request) => {
                self.requests.remove(&request);
                self.persistent.remove(&request);
            }
            Call::Collective(collective) => self.front = self.collective(&collective)?,
            Call::Icollective(collective, request) => self.background(&collective, request)?,
            Call::PersistentCollective(collective, request) => {
                drop(self.persistent.insert(request, collective))
            }
            Call::Start(request) => {
                let Some(collective) = self.persistent.remove(&request) else {
                    return Err(Stop::Refused("it starts what the trace does not have".to_owned()));
                };
                self.background(&collective, request)?;
                self.persistent.insert(request, collective);
            }
            Call::Idup(comm, _, request) => self.background(&agreement(comm), request)?,
            Call::Dup(comm) | Call::Split(comm, ..) | Call::Neighborhood(comm, _) => {
                self.front = self.collective(&agreement(comm))?
            }
            Call::Group(_, members, _) => {
                let group = Group::Listed(members);
                self.front = self.expanded(&agreement(Call::WORLD), u32::MAX, &group)?;
            }
            Call::Complete(_, Requests::All)
            | Call::Probe(_)
            | Call::FreeComm(_)
            | Call::Local
            | Call::Compute(_) => {}
            Call::Type(_) => {}
            Call::Failing(_) | Call::Refused(_) => {
                return Err(Stop::Refused("it failed when it was recorded".to_owned()));
            }
            Call::Bridge(_) | Call::Port(_) => return Err(Stop::Refused(BETWEEN_GROUPS.to_owned())),
            Call::Window(_) | Call::File(_) | Call::Partitioned(_) => {
                return Err(Stop::Refused(
                    "GOAL has no one-sided and no partitioned communication, and no files".to_owned(),
                ));
            }
            Call::Fail(why) => return Err(Stop::Refused(why.into())),
            Call::End => {}
        }
        Ok(())
    }
}
