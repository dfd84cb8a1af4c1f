//! From calls to actions. Volumes are bytes but for reductions, whose elements the algorithms do not split.

use super::datatypes;
use crate::Options;
use crate::script::{BETWEEN_GROUPS, Groups, Probed, Stop, Writing, follow, replay};
use engine::Span;
use mpi::collective::Reducing;
use mpi::datatype::predefined;
use mpi::request::PROC_NULL;
use mpi::schedule::{Blocks, Kind};
use rustc_hash::FxHashMap;
use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::Path;
use trace::Trace;
use workload::{Call, Collective, Envelope, Exchange, Requests, Script};

/// Writes a trace as actions of all ranks, one rank's behind the other's.
pub fn export(trace: &Trace, to: &Path, options: &Options) -> Result<(), String> {
    let cannot = |why: std::io::Error| format!("cannot write {}: {why}", to.display());
    let (mut replay, groups) = (replay(trace, &options.without)?, Groups::of(trace)?);
    let sizes = predefined::all().map(|(handle, datatype)| (handle, datatype.size)).collect();
    let mut out = BufWriter::new(File::create(to).map_err(cannot)?);
    for rank in 0..trace.ranks {
        writeln!(out, "{rank} init").map_err(cannot)?;
        let mut script = Script::new(&mut replay, rank);
        let (ranks, requests, messages) = (trace.ranks, FxHashMap::default(), Probed::default());
        let mut writing =
            Rank { rank, ranks, groups: &groups, sizes: &sizes, out: &mut out, requests, messages, options };
        follow(&mut script, &mut writing, &cannot)?;
        writeln!(out, "{rank} finalize").map_err(cannot)?;
    }
    out.flush().map_err(cannot)
}

/// Source, destination and tag.
type Key = (u32, u32, i32);

/// State of one rank's export.
struct Rank<'a, W> {
    rank: u32,
    ranks: u32,
    groups: &'a Groups<'a>,
    sizes: &'a FxHashMap<usize, u64>,
    out: &'a mut W,
    /// Messages that a request waits for, by the request's number; none if the other end is `MPI_PROC_NULL`.
    requests: FxHashMap<u32, Vec<Key>>,
    messages: Probed,
    options: &'a Options,
}

impl<W: Write> Rank<'_, W> {
    /// Writes a message; what it is waited for by.
    fn message(&mut self, name: &str, envelope: &Envelope) -> Result<Option<Key>, Stop> {
        let &Envelope { peer, tag, comm, bytes } = envelope;
        if peer == PROC_NULL {
            return Ok(None);
        }
        let (_, group) = self.groups.get(self.rank, comm).map_err(Stop::Refused)?;
        let named = group.rank(peer).filter(|_| tag >= 0);
        let peer =
            named.ok_or_else(|| Stop::Refused("it was never told whose message it receives".to_owned()))?;
        writeln!(self.out, "{} {name} {peer} {tag} {bytes}", self.rank)?;
        Ok(Some(if name.ends_with("recv") { (peer, self.rank, tag) } else { (self.rank, peer, tag) }))
    }

    fn started(&mut self, name: &str, envelope: &Envelope, request: u32) -> Result<(), Stop> {
        let key = self.message(name, envelope)?;
        self.requests.entry(request).or_default().extend(key);
        Ok(())
    }

    fn wait(&mut self, request: u32) -> Result<(), Stop> {
        for (source, destination, tag) in self.requests.remove(&request).unwrap_or_default() {
            writeln!(self.out, "{} wait {source} {destination} {tag}", self.rank)?;
        }
        Ok(())
    }

    /// Writes both messages of an exchange, which may have other tags than SimGrid's action for it.
    fn exchange(&mut self, exchange: &Exchange, request: u32) -> Result<(), Stop> {
        self.started("irecv", &exchange.from, request)?;
        self.started("isend", &exchange.to, request)
    }

    fn collective(&mut self, collective: &Collective) -> Result<(), Stop> {
        let &Collective { kind, comm, root, bytes, ref blocks, reduction, .. } = collective;
        let (_, group) = self.groups.get(self.rank, comm).map_err(Stop::Refused)?;
        if group.size() == 1 {
            return Ok(());
        }
        if !group.is_world(self.ranks) {
            return Err(Stop::Refused(
                "SimGrid's replay has collectives of all ranks alone, and this one is of a communicator of \
                 others"
                    .to_owned(),
            ));
        }
        let root = root.unwrap_or(0);
        let list = |blocks: &Blocks| {
            (0..self.ranks).map(|rank| format!(" {}", blocks.bytes(rank))).collect::<String>()
        };
        let one = |blocks: &Blocks| {
            if let Blocks::Each(_) = blocks { blocks.bytes(self.rank) } else { blocks.bytes(0) }
        };
        let (count, datatype) = self.elements(bytes, reduction);
        let what = match (kind, blocks) {
            (Kind::Barrier, _) => "barrier".to_owned(),
            (Kind::Bcast, _) => format!("bcast {bytes} {root}"),
            (Kind::Reduce, _) => format!("reduce {count} 0 {root} {datatype}"),
            (Kind::Allreduce, _) => format!("allreduce {count} 0 {datatype}"),
            (Kind::Scan, _) => format!("scan {count} 0 {datatype}"),
            (Kind::Exscan, _) => format!("exscan {count} 0 {datatype}"),
            (Kind::ReduceScatter, Some((send, _))) => {
                let size = bytes.checked_div(count).unwrap_or(1).max(1);
                let counts =
                    (0..self.ranks).map(|rank| format!(" {}", send.bytes(rank) / size)).collect::<String>();
                format!("reducescatter{counts} 0 {datatype}")
            }
            (Kind::ReduceScatter, None) => {
                let counts = format!(" {}", count / u64::from(self.ranks)).repeat(self.ranks as usize);
                format!("reducescatter{counts} 0 {datatype}")
            }
            (Kind::Alltoall, None) => format!("alltoall {bytes} {bytes}"),
            (Kind::Allgather, None) => format!("allgather {bytes} {bytes}"),
            (Kind::Gather, None) => format!("gather {bytes} {bytes} {root}"),
            (Kind::Scatter, None) => format!("scatter {bytes} {bytes} {root}"),
            (Kind::Alltoall, Some((send, receive))) => {
                let sum = |blocks: &Blocks| (0..self.ranks).map(|rank| blocks.bytes(rank)).sum::<u64>();
                format!("alltoallv {}{} {}{}", sum(send), list(send), sum(receive), list(receive))
            }
            (Kind::Allgather, Some((send, receive))) => format!("allgatherv {}{}", one(send), list(receive)),
            // Who is not the root knows nothing of the others.
            (Kind::Gather, Some((send, receive))) => format!("gatherv {}{} {root}", one(send), list(receive)),
            (Kind::Scatter, Some((send, receive))) => {
                format!("scatterv{} {} {root}", list(send), one(receive))
            }
            (Kind::Neighbor | Kind::Agree, _) => {
                return Err(Stop::Refused("SimGrid's replay has no process topologies".to_owned()));
            }
        };
        writeln!(self.out, "{} {what}", self.rank)?;
        Ok(())
    }

    /// Returns what is reduced, in elements of a datatype by its number; bytes where that has none.
    fn elements(&self, bytes: u64, reduction: Option<Reducing>) -> (u64, u32) {
        let Some(Reducing::Predefined { datatype, .. }) = reduction else { return (bytes, datatypes::BYTES) };
        let number = predefined::name(datatype).and_then(datatypes::number);
        let size = self.sizes.get(&datatype).copied().filter(|&size| size > 0);
        number.zip(size).map_or((bytes, datatypes::BYTES), |(number, size)| (bytes / size, number))
    }
}

impl<W: Write> Writing for Rank<'_, W> {
    fn compute(&mut self, span: Span) -> std::io::Result<()> {
        if span == Span::ZERO {
            Ok(())
        } else {
            writeln!(self.out, "{} compute {}", self.rank, self.options.operations(span))
        }
    }

    fn call(&mut self, call: Call) -> Result<(), Stop> {
        match call {
            Call::Send(_, envelope) => drop(self.message("send", &envelope)?),
            Call::Recv(envelope) => drop(self.message("recv", &envelope)?),
            Call::Isend(_, envelope, request) => self.started("isend", &envelope, request)?,
            Call::Irecv(envelope, request) => self.started("irecv", &envelope, request)?,
            Call::SendReceive(exchange) => {
                self.exchange(&exchange, u32::MAX)?;
                self.wait(u32::MAX)?;
            }
            Call::IsendReceive(exchange, request) => self.exchange(&exchange, request)?,
            Call::Mprobe(envelope, message) => self.messages.keep(message, envelope),
            Call::Mrecv(message, bytes) => {
                let envelope = self.messages.take(message, bytes)?;
                self.message("recv", &envelope)?;
            }
            Call::Imrecv(message, bytes, request) => {
                let envelope = self.messages.take(message, bytes)?;
                self.started("irecv", &envelope, request)?;
            }
            Call::Several(calls) => calls.into_iter().try_for_each(|call| self.call(call))?,
            Call::Complete(_, Requests::These(requests)) => {
                requests.iter().try_for_each(|&request| self.wait(request))?
            }
            Call::FreeRequest(request) => drop(self.requests.remove(&request)),
            Call::Collective(collective) => self.collective(&collective)?,
            Call::Icollective(..) | Call::Idup(..) | Call::PersistentCollective(..) | Call::Start(_) => {
                return Err(Stop::Refused(
                    "SimGrid's replay has no nonblocking and no persistent collectives".to_owned(),
                ));
            }
            Call::Bridge(_) | Call::Port(_) => return Err(Stop::Refused(BETWEEN_GROUPS.to_owned())),
            // Making communicators takes no time there.
            Call::Dup(_) | Call::Split(..) | Call::Neighborhood(..) | Call::Group(..) | Call::FreeComm(_) => {
            }
            Call::Complete(_, Requests::All)
            | Call::Probe(_)
            | Call::Local
            | Call::Compute(_)
            | Call::End => {}
            Call::Type(_) => {}
            Call::Failing(_) | Call::Refused(_) => {
                return Err(Stop::Refused("it failed when it was recorded".to_owned()));
            }
            Call::Window(_) | Call::File(_) | Call::Partitioned(_) => {
                return Err(Stop::Refused(
                    "SimGrid's replay has no one-sided and no partitioned communication, and no files"
                        .to_owned(),
                ));
            }
            Call::Fail(why) => return Err(Stop::Refused(why.into())),
        }
        Ok(())
    }
}
