//! OTF2 (Score-P, Vampir, Scalasca): an archive of several files, with a location for each rank, regions for
//! functions and for the program's own, and messages as sends and receives. Its clock counts picoseconds.
//! Counters are left out: they are of the run, and of no location.

use super::{Output, TimelineEvent, TimelineHeader};
use ::otf2::{ArchiveDefinitions, ArchiveWriter, Communicator, Event as Record, Message};
use rustc_hash::FxHashMap;
use std::io;
use std::path::Path;

/// Ticks of the clock in a second.
const PICOSECONDS: u64 = 1_000_000_000_000;

pub struct Otf2 {
    writer: ArchiveWriter,
    /// The place of each rank among those that are shown.
    places: FxHashMap<u32, u32>,
    /// Regions of the program come behind the functions.
    functions: u32,
    /// Tag and payload of messages that are under way, by their names: whoever receives one is told neither.
    under_way: FxHashMap<u64, (u32, u64)>,
}

impl Otf2 {
    /// Begins the archive.
    pub fn begin(path: &Path, head: &TimelineHeader) -> io::Result<Otf2> {
        let contents = ArchiveDefinitions {
            ticks: PICOSECONDS,
            ranks: head.ranks.iter().map(|rank| format!("rank {rank}")).collect(),
            regions: head.functions.iter().chain(&head.regions).cloned().collect(),
            // Ranks in a communicator are places in it: where not all ranks are shown, these have other
            // numbers here, and their names tell.
            communicators: vec![Communicator {
                name: "MPI_COMM_WORLD".to_owned(),
                members: Some((0..head.ranks.len() as u32).collect()),
                parent: None,
                has_events: false,
            }],
        };
        let places = head.ranks.iter().copied().zip(0..).collect();
        let functions = head.functions.len() as u32;
        Ok(Otf2 {
            writer: ArchiveWriter::create(path, contents)?,
            places,
            functions,
            under_way: FxHashMap::default(),
        })
    }

    fn write(&mut self, rank: u32, at: u64, event: &Record) -> io::Result<()> {
        match self.places.get(&rank) {
            Some(&place) => self.writer.event(place, at, event),
            None => Ok(()),
        }
    }
}

impl Output for Otf2 {
    fn event(&mut self, event: &TimelineEvent) -> io::Result<()> {
        match *event {
            TimelineEvent::Entered { rank, at, call } => {
                self.write(rank, at, &Record::Enter(call.function.into()))
            }
            TimelineEvent::Left { rank, at, call } => {
                self.write(rank, at, &Record::Leave(call.function.into()))
            }
            TimelineEvent::Began { rank, at, region } => {
                self.write(rank, at, &Record::Enter(self.functions + region))
            }
            TimelineEvent::Ended { rank, at, region } => {
                self.write(rank, at, &Record::Leave(self.functions + region))
            }
            TimelineEvent::Sent { rank, at, message } => {
                let Some(&peer) = self.places.get(&message.to) else { return Ok(()) };
                let (tag, bytes) = (message.tag as u32, message.bytes);
                self.under_way.insert(message.id, (tag, bytes));
                self.write(rank, at, &Record::Send(Message { peer, comm: 0, tag, bytes }))
            }
            TimelineEvent::Received { rank, at, id, from } => {
                let told = self.places.get(&from).copied().zip(self.under_way.remove(&id));
                let Some((peer, (tag, bytes))) = told else { return Ok(()) };
                self.write(rank, at, &Record::Recv(Message { peer, comm: 0, tag, bytes }))
            }
            TimelineEvent::Waits { .. }
            | TimelineEvent::Waited { .. }
            | TimelineEvent::Computes { .. }
            | TimelineEvent::Computed { .. }
            | TimelineEvent::Counted { .. } => Ok(()),
        }
    }

    fn end(&mut self) -> io::Result<()> {
        self.writer.finish()
    }
}
