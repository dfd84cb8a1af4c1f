//! Paraver's text: states, events and communications in `.prv`, what their numbers mean in `.pcf`, names of
//! ranks in `.row` ("Paraver trace format and configuration files", Barcelona Supercomputing Center). Each
//! rank that is shown is a task of one thread on a processor of its own. Times are nanoseconds, rounded down.

use super::{Output, TimelineEvent, TimelineHeader};
use crate::record::CallRecord;
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::Path;

/// Numbers and names of states, those of Extrae.
const STATES: [(u32, &str); 3] = [(1, "Running"), (3, "Waiting a message"), (15, "Others")];
const RUNNING: u32 = 1;
const WAITING: u32 = 3;
const OTHERS: u32 = 15;

/// Types of events for calls, those of Extrae; the values are places of functions from 1, 0 is the end.
const CALLS: [(u32, &str); 3] =
    [(50_000_001, "MPI Point-to-point"), (50_000_002, "MPI Collective Comm"), (50_000_003, "MPI Other")];
/// The type of events for regions, that of Extrae's user functions; the values are their places from 1, 0 is
/// the end of the last.
const REGION: u32 = 60_000_019;
/// The type of the event that says the call site.
const SITE: u32 = 70_000_001;

/// Returns what of [`CALLS`] a function is.
fn group(function: &str) -> usize {
    const COLLECTIVES: [&str; 8] =
        ["barrier", "bcast", "gather", "scatter", "reduce", "alltoall", "scan", "neighbor"];
    const MESSAGES: [&str; 6] = ["send", "recv", "wait", "test", "probe", "start"];
    let name = function.to_lowercase();
    let is_of = |names: &[&str]| names.iter().any(|part| name.contains(part));
    if is_of(&COLLECTIVES) && name != "mpi_reduce_local" {
        1
    } else if is_of(&MESSAGES) && !name.contains("win_") && !name.contains("file_") {
        0
    } else {
        2
    }
}

pub struct Paraver<W> {
    out: W,
    ranks: Vec<u32>,
    /// The type of event of each function.
    types: Vec<u32>,
}

impl<W: Write> Paraver<W> {
    /// Writes the header, and the files beside `path`.
    pub fn begin(mut out: W, path: &Path, head: &TimelineHeader) -> io::Result<Paraver<W>> {
        let count = head.ranks.len();
        // The format wants a date: that of the host would differ from run to run.
        write!(out, "#Paraver (01/01/2000 at 00:00):{}_ns:1({count}):1:{count}(", head.end / 1000)?;
        for place in 0..count {
            out.write_all(if place == 0 { b"1:1" } else { b",1:1" })?;
        }
        out.write_all(b")\n")?;
        let types: Vec<u32> = head.functions.iter().map(|function| CALLS[group(function)].0).collect();
        write_names(&path.with_extension("pcf"), head, &types)?;
        write_ranks(&path.with_extension("row"), &head.ranks)?;
        Ok(Paraver { out, ranks: head.ranks.clone(), types })
    }

    /// Returns the number of a rank's task, and of its processor.
    fn task(&self, rank: u32) -> usize {
        self.ranks.partition_point(|&known| known < rank) + 1
    }

    fn state(&mut self, rank: u32, (from, until): (u64, u64), state: u32) -> io::Result<()> {
        if from == until {
            return Ok(());
        }
        let task = self.task(rank);
        writeln!(self.out, "1:{task}:1:{task}:1:{}:{}:{state}", from / 1000, until / 1000)
    }
}

fn write_names(path: &Path, head: &TimelineHeader, types: &[u32]) -> io::Result<()> {
    let mut out = BufWriter::new(File::create(path)?);
    out.write_all(b"DEFAULT_OPTIONS\n\nLEVEL               THREAD\nUNITS               NANOSEC\n\nSTATES\n")?;
    STATES.iter().try_for_each(|(number, name)| writeln!(out, "{number}    {name}"))?;
    for (kind, name) in CALLS {
        write!(out, "\nEVENT_TYPE\n9    {kind}    {name}\nVALUES\n0    End\n")?;
        let of_kind = (1..).zip(&head.functions).zip(types).filter(|&(_, of)| *of == kind);
        of_kind.into_iter().try_for_each(|((value, function), _)| writeln!(out, "{value}    {function}"))?;
    }
    write!(out, "\nEVENT_TYPE\n9    {SITE}    Caller\nVALUES\n0    End\n")?;
    (1..).zip(&head.sites).try_for_each(|(value, site): (u32, _)| writeln!(out, "{value}    {site}"))?;
    if !head.regions.is_empty() {
        write!(out, "\nEVENT_TYPE\n9    {REGION}    User function\nVALUES\n0    End\n")?;
        (1..)
            .zip(&head.regions)
            .try_for_each(|(value, region): (u32, _)| writeln!(out, "{value}    {region}"))?;
    }
    out.flush()
}

fn write_ranks(path: &Path, ranks: &[u32]) -> io::Result<()> {
    let mut out = BufWriter::new(File::create(path)?);
    for level in ["CPU", "THREAD"] {
        writeln!(out, "LEVEL {level} SIZE {}", ranks.len())?;
        ranks.iter().try_for_each(|rank| writeln!(out, "rank {rank}"))?;
        writeln!(out)?;
    }
    out.flush()
}

impl<W: Write> Output for Paraver<W> {
    fn event(&mut self, event: &TimelineEvent) -> io::Result<()> {
        match *event {
            TimelineEvent::Entered { rank, at, call } => {
                let until = if call.wait > 0 { call.waited - call.wait } else { call.left };
                self.state(rank, (at, until), OTHERS)?;
                let (task, CallRecord { function, site, .. }) = (self.task(rank), call);
                let (kind, value, site) = (self.types[function as usize], function + 1, site + 1);
                writeln!(self.out, "2:{task}:1:{task}:1:{}:{kind}:{value}:{SITE}:{site}", at / 1000)
            }
            TimelineEvent::Left { rank, at, call } => {
                let (task, kind) = (self.task(rank), self.types[call.function as usize]);
                writeln!(self.out, "2:{task}:1:{task}:1:{}:{kind}:0:{SITE}:0", at / 1000)
            }
            TimelineEvent::Began { rank, at, region } => {
                let task = self.task(rank);
                writeln!(self.out, "2:{task}:1:{task}:1:{}:{REGION}:{}", at / 1000, region + 1)
            }
            TimelineEvent::Ended { rank, at, .. } => {
                let task = self.task(rank);
                writeln!(self.out, "2:{task}:1:{task}:1:{}:{REGION}:0", at / 1000)
            }
            TimelineEvent::Waits { rank, at, until } => self.state(rank, (at, until), WAITING),
            TimelineEvent::Waited { rank, at, left } => self.state(rank, (at, left), OTHERS),
            TimelineEvent::Computes { rank, at, until } => self.state(rank, (at, until), RUNNING),
            TimelineEvent::Sent { rank, at, message } => {
                let (from, to, sent) = (self.task(rank), self.task(message.to), at / 1000);
                let (received, arrived) = (message.received / 1000, message.arrived / 1000);
                let (bytes, tag) = (message.bytes, message.tag);
                writeln!(
                    self.out,
                    "3:{from}:1:{from}:1:{sent}:{sent}:{to}:1:{to}:1:{received}:{arrived}:{bytes}:{tag}"
                )
            }
            TimelineEvent::Computed { .. }
            | TimelineEvent::Received { .. }
            | TimelineEvent::Counted { .. } => Ok(()),
        }
    }

    fn end(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

#[cfg(test)]
mod tests {
    use super::group;

    #[test]
    fn functions_are_messages_collectives_or_others() {
        let groups = [
            "MPI_Waitall",
            "MPI_Sendrecv",
            "MPI_Iallreduce",
            "MPI_Reduce_local",
            "MPI_Init",
            "MPI_Win_start",
            "MPI_Scatterv",
        ]
        .map(group);
        assert_eq!(groups, [0, 0, 1, 2, 2, 2, 1]);
    }
}
