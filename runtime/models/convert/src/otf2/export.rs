//! From a trace to an archive, one rank after the other.
//!
//! A trace with exact times has how long each call took, one without them has not: there calls take no time,
//! and events are as far apart as ranks compute. Messages are those of the recording; what a receive had room
//! for is its length.

use crate::script::{BETWEEN_GROUPS, Group, Groups, Probed, replay};
use ::otf2::numbers::NONE;
use ::otf2::{ArchiveDefinitions, ArchiveWriter, Communicator, Event, Message, operation};
use engine::Span;
use mpi::request::{PROC_NULL, UNDEFINED};
use mpi::schedule::{Blocks, Kind};
use rustc_hash::FxHashMap;
use std::path::Path;
use trace::Trace;
use trace::times::Reading;
use workload::{Call, Collective, Envelope, Neighborhood, Requests, Script};

/// Ticks of the clock in a second.
const PICOSECONDS: u64 = 1_000_000_000_000;

/// The reason why a call is not written.
type Refused = String;

/// Writes a trace as an archive.
pub fn export(trace: &Trace, to: &Path, without: &[String]) -> Result<(), String> {
    let cannot = |why: std::io::Error| format!("cannot write {}: {why}", to.display());
    let (mut replay, groups) = (replay(trace, without)?, Groups::of(trace)?);
    let regions: FxHashMap<&str, u32> =
        trace.functions.iter().map(|function| function.name.as_str()).zip(0..).collect();
    let mut writer = ArchiveWriter::create(to, contents(trace, &groups)).map_err(cannot)?;
    for number in 0..trace.ranks {
        let mut times = trace
            .times
            .get(&number)
            .map(|times| Reading::new(times))
            .transpose()
            .map_err(|why| why.to_string())?;
        let mut script = Script::new(&mut replay, number);
        let mut rank = Rank::new(number, &groups);
        let mut clock = 0u64;
        // What the rank computes before its first call counts from here.
        writer.event(number, clock, &Event::Measurement(true)).map_err(cannot)?;
        while let Some((computed, call)) = script.next()? {
            let took = match &mut times {
                Some(times) => {
                    times.next().map_err(|why| why.to_string())?.map_or(Span::ZERO, |(_, took)| took)
                }
                None => Span::ZERO,
            };
            let region = script.function(&call).and_then(|name| regions.get(name).copied());
            clock = clock.saturating_add(computed.as_ps());
            rank.events.clear();
            rank.events.extend(region.map(Event::Enter));
            let inside = rank.events.len();
            rank.call(call).map_err(|why| script.refusal(&why))?;
            let entered = clock;
            clock = clock.saturating_add(took.as_ps());
            for (place, event) in rank.events.iter().enumerate() {
                // What is told of a message that is sent holds on entry, all else when the call is over.
                let early = place < inside
                    || matches!(event, Event::Send(_) | Event::Isend(..) | Event::CollectiveBegin);
                let at = if early && clock_is_at(&rank.events, place) { entered } else { clock };
                writer.event(number, at, event).map_err(cannot)?;
            }
            if let Some(region) = region {
                writer.event(number, clock, &Event::Leave(region)).map_err(cannot)?;
            }
        }
    }
    writer.finish().map_err(cannot)
}

/// Returns `true` if nothing that comes at the end of a call stands before this place: time does not go back.
fn clock_is_at(events: &[Event], place: usize) -> bool {
    events[..place].iter().all(|event| {
        matches!(event, Event::Enter(_) | Event::Send(_) | Event::Isend(..) | Event::CollectiveBegin)
    })
}

fn contents(trace: &Trace, groups: &Groups) -> ArchiveDefinitions {
    let named = |name: &str, members| Communicator {
        name: name.to_owned(),
        members,
        parent: None,
        has_events: false,
    };
    let mut communicators =
        vec![named("MPI_COMM_WORLD", Some((0..trace.ranks).collect())), named("MPI_COMM_SELF", None)];
    communicators.extend(groups.made().into_iter().map(|(number, members)| Communicator {
        name: format!("communicator {}", number - 1),
        members: Some(members.to_vec()),
        parent: Some(0),
        has_events: true,
    }));
    ArchiveDefinitions {
        ticks: PICOSECONDS,
        ranks: (0..trace.ranks).map(|rank| format!("rank {rank}")).collect(),
        regions: trace.functions.iter().map(|function| function.name.clone()).collect(),
        communicators,
    }
}

/// A request that is under way.
enum Open {
    Send(u64),
    Receive(u64, Message),
    Joint(u64, ::otf2::Collective),
}

/// One rank.
struct Rank<'a> {
    number: u32,
    groups: &'a Groups<'a>,
    /// Events of the call under way.
    events: Vec<Event>,
    /// By the numbers that the trace has for requests, which come again; those of the archive do not.
    open: FxHashMap<u32, Vec<Open>>,
    requests: u64,
    persistent: FxHashMap<u32, Box<Collective>>,
    messages: Probed,
    /// Communicators that it made.
    made: u32,
}

impl<'a> Rank<'a> {
    fn new(number: u32, groups: &'a Groups<'a>) -> Rank<'a> {
        Rank {
            number,
            groups,
            events: Vec::new(),
            open: FxHashMap::default(),
            requests: 0,
            persistent: FxHashMap::default(),
            messages: Probed::default(),
            made: 0,
        }
    }

    fn request(&mut self) -> u64 {
        self.requests += 1;
        self.requests
    }

    /// Returns what a message is in the archive; `None` if nobody is at the other end.
    fn message(&self, envelope: &Envelope) -> Result<Option<Message>, Refused> {
        let &Envelope { peer, tag, comm, bytes } = envelope;
        if peer == PROC_NULL {
            return Ok(None);
        }
        let (comm, group) = self.groups.get(self.number, comm)?;
        let (Some(_), Ok(tag)) = (group.rank(peer), u32::try_from(tag)) else {
            return Err("it was never told whose message it receives".to_owned());
        };
        Ok(Some(Message { peer: peer as u32, comm, tag, bytes }))
    }

    fn send(&mut self, envelope: &Envelope, slot: Option<u32>) -> Result<(), Refused> {
        let Some(message) = self.message(envelope)? else { return Ok(()) };
        match slot {
            None => self.events.push(Event::Send(message)),
            Some(slot) => {
                let request = self.request();
                self.events.push(Event::Isend(message, request));
                self.open.entry(slot).or_default().push(Open::Send(request));
            }
        }
        Ok(())
    }

    fn receive(&mut self, envelope: &Envelope, slot: Option<u32>) -> Result<(), Refused> {
        let Some(message) = self.message(envelope)? else { return Ok(()) };
        match slot {
            None => self.events.push(Event::Recv(message)),
            Some(slot) => {
                let request = self.request();
                self.events.push(Event::IrecvRequest(request));
                self.open.entry(slot).or_default().push(Open::Receive(request, message));
            }
        }
        Ok(())
    }

    fn complete(&mut self, slots: &[u32]) {
        for open in slots.iter().filter_map(|slot| self.open.remove(slot)).flatten() {
            self.events.push(match open {
                Open::Send(request) => Event::IsendComplete(request),
                Open::Receive(request, message) => Event::Irecv(message, request),
                Open::Joint(request, collective) => Event::IcollectiveComplete(collective, request),
            });
        }
    }

    fn join(&mut self, collective: &Collective, slot: u32) -> Result<(), Refused> {
        let told = self.collective(collective)?;
        let request = self.request();
        self.events.push(Event::IcollectiveRequest(request));
        self.open.entry(slot).or_default().push(Open::Joint(request, told));
        Ok(())
    }

    /// Returns the bytes as Score-P counts them: a sum over all members, the rank itself among them.
    fn collective(&self, of: &Collective) -> Result<::otf2::Collective, Refused> {
        let (comm, group) = self.groups.get(self.number, of.comm)?;
        let me = group.place(self.number).ok_or("the rank is not in its communicator")?;
        let (operation, sent, received) = volumes(of, me, group.size())?;
        let root = of.root.and_then(|root| u32::try_from(root).ok()).unwrap_or(NONE);
        Ok(::otf2::Collective { operation, comm, root, sent, received })
    }

    /// Writes that a communicator is made of another by all its members; the rank gets it, or not.
    fn make(&mut self, parent: u32, gets: bool) -> Result<(), Refused> {
        let (comm, _) = self.groups.get(self.number, parent)?;
        self.events.push(Event::CollectiveBegin);
        if gets {
            self.got()?;
        }
        let told = ::otf2::Collective {
            operation: operation::CREATE_HANDLE,
            comm,
            root: NONE,
            sent: 0,
            received: 0,
        };
        self.events.push(Event::CollectiveEnd(told));
        Ok(())
    }

    fn got(&mut self) -> Result<(), Refused> {
        self.made += 1;
        let (number, _) = self.groups.get(self.number, Call::SELF + self.made)?;
        self.events.push(Event::CommCreate(number));
        Ok(())
    }

    fn call(&mut self, call: Call) -> Result<(), Refused> {
        match call {
            Call::Send(_, envelope) => self.send(&envelope, None)?,
            Call::Isend(_, envelope, slot) => self.send(&envelope, Some(slot))?,
            Call::Recv(envelope) => self.receive(&envelope, None)?,
            Call::Irecv(envelope, slot) => self.receive(&envelope, Some(slot))?,
            Call::SendReceive(exchange) => {
                self.send(&exchange.to, None)?;
                self.receive(&exchange.from, None)?;
            }
            Call::IsendReceive(exchange, slot) => {
                self.send(&exchange.to, Some(slot))?;
                self.receive(&exchange.from, Some(slot))?;
            }
            Call::Mprobe(envelope, message) => self.messages.keep(message, envelope),
            Call::Mrecv(message, bytes) => {
                let envelope =
                    self.messages.take(message, bytes).map_err(|_| "it receives what was not probed")?;
                self.receive(&envelope, None)?;
            }
            Call::Imrecv(message, bytes, slot) => {
                let envelope =
                    self.messages.take(message, bytes).map_err(|_| "it receives what was not probed")?;
                self.receive(&envelope, Some(slot))?;
            }
            Call::Several(calls) => calls.into_iter().try_for_each(|call| self.call(call))?,
            Call::Complete(_, Requests::These(slots)) => self.complete(&slots),
            Call::Complete(_, Requests::All) => {
                let mut slots: Vec<u32> = self.open.keys().copied().collect();
                slots.sort_unstable();
                self.complete(&slots);
            }
            Call::FreeRequest(slot) => drop(self.persistent.remove(&slot)),
            Call::Collective(of) => {
                let told = self.collective(&of)?;
                self.events.extend([Event::CollectiveBegin, Event::CollectiveEnd(told)]);
            }
            Call::Icollective(of, slot) => self.join(&of, slot)?,
            Call::PersistentCollective(of, slot) => drop(self.persistent.insert(slot, of)),
            Call::Start(slot) => {
                let of = self.persistent.remove(&slot).ok_or("it starts what the trace does not have")?;
                self.join(&of, slot)?;
                self.persistent.insert(slot, of);
            }
            Call::Idup(..) => {
                return Err("a communicator that is made without waiting has no event of its own".to_owned());
            }
            Call::Dup(parent) => self.make(parent, true)?,
            Call::Split(parent, color, _) => self.make(parent, color != UNDEFINED)?,
            Call::Neighborhood(parent, how) => {
                let (_, group) = self.groups.get(self.number, parent)?;
                let gets = self.is_in(&group, &how);
                self.make(parent, gets)?;
            }
            Call::Group(..) => self.got()?,
            Call::FreeComm(comm) => {
                let (number, _) = self.groups.get(self.number, comm)?;
                self.events.push(Event::CommDestroy(number));
            }
            Call::Probe(_) | Call::Local | Call::Compute(_) | Call::End => {}
            Call::Type(_) => {}
            Call::Failing(_) | Call::Refused(_) => return Err("it failed when it was recorded".into()),
            Call::Bridge(_) | Call::Port(_) => return Err(BETWEEN_GROUPS.to_owned()),
            Call::Window(_) | Call::File(_) | Call::Partitioned(_) => {
                return Err(
                    "one-sided and partitioned communication and files are not written to OTF2".into()
                );
            }
            Call::Fail(why) => return Err(why.into()),
        }
        Ok(())
    }

    /// Returns `true` if a topology has a place for the rank: who is beyond its nodes gets nothing.
    fn is_in(&self, group: &Group, how: &Neighborhood) -> bool {
        let me = group.place(self.number).map_or(u64::MAX, u64::from);
        match how {
            Neighborhood::Cart(dims, _) => me < dims.iter().map(|&dim| dim.max(0) as u64).product(),
            Neighborhood::Graph(index, _) => me < index.len() as u64,
            Neighborhood::Adjacent(..) | Neighborhood::Edges(_) | Neighborhood::Part(_) => true,
        }
    }
}

/// Returns the operation of a collective, and the bytes that a member sends and receives.
fn volumes(of: &Collective, me: u32, size: u32) -> Result<(u8, u64, u64), Refused> {
    let Collective { kind, bytes, blocks, root, .. } = of;
    let (all, bytes) = (u64::from(size), *bytes);
    let is_root = root.is_some_and(|root| u32::try_from(root) == Ok(me));
    let at_root = |sum: u64| if is_root { sum } else { 0 };
    let total = bytes.saturating_mul(all);
    let sum = |blocks: &Blocks| (0..size).map(|rank| blocks.bytes(rank)).fold(0u64, u64::saturating_add);
    let own = |blocks: &Blocks| if let Blocks::Each(_) = blocks { blocks.bytes(me) } else { blocks.bytes(0) };
    Ok(match (kind, blocks) {
        (Kind::Barrier, _) => (operation::BARRIER, 0, 0),
        (Kind::Bcast, _) => (operation::BCAST, at_root(total), bytes),
        (Kind::Reduce, _) => (operation::REDUCE, bytes, at_root(total)),
        (Kind::Allreduce, _) => (operation::ALLREDUCE, total, total),
        (Kind::Scan, _) => (
            operation::SCAN,
            bytes.saturating_mul((size - me).into()),
            bytes.saturating_mul(u64::from(me) + 1),
        ),
        (Kind::Exscan, _) => {
            (operation::EXSCAN, bytes.saturating_mul((size - me - 1).into()), bytes.saturating_mul(me.into()))
        }
        (Kind::ReduceScatter, None) => (operation::REDUCE_SCATTER_BLOCK, bytes, bytes),
        (Kind::ReduceScatter, Some((send, _))) => {
            (operation::REDUCE_SCATTER, sum(send), send.bytes(me).saturating_mul(all))
        }
        (Kind::Alltoall, None) => (operation::ALLTOALL, total, total),
        (Kind::Alltoall, Some((send, receive))) => (operation::ALLTOALLV, sum(send), sum(receive)),
        (Kind::Allgather, None) => (operation::ALLGATHER, total, total),
        (Kind::Allgather, Some((send, receive))) => {
            (operation::ALLGATHERV, own(send).saturating_mul(all), sum(receive))
        }
        (Kind::Gather, None) => (operation::GATHER, bytes, at_root(total)),
        (Kind::Gather, Some((send, receive))) => (operation::GATHERV, own(send), at_root(sum(receive))),
        (Kind::Scatter, None) => (operation::SCATTER, at_root(total), bytes),
        (Kind::Scatter, Some((send, receive))) => (operation::SCATTERV, at_root(sum(send)), own(receive)),
        (Kind::Neighbor | Kind::Agree, _) => {
            return Err("OTF2 has no collectives of process topologies".to_owned());
        }
    })
}
