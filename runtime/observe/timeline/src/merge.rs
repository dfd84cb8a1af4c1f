//! From the records of all processes to events in the order of virtual time.
//!
//! What is kept meanwhile are the calls, messages and computations under way: a few words a rank and a
//! message.

use crate::counters::Counters;
use crate::format::{Counter, Output, TimelineEvent, TimelineHeader};
use crate::record::{CallRecord, Message, RankAction, Record};
use crate::runs::Merged;
use rustc_hash::FxHashMap;
use std::cmp::Ordering;
use std::collections::BinaryHeap;
use std::io;

/// Something that will happen, because something else has begun.
struct FutureEvent {
    at: u64,
    rank: u32,
    number: u64,
    what: Later,
}

#[derive(Clone, Copy)]
enum Later {
    Waits { until: u64 },
    Waited { left: u64 },
    Arrived,
    Received { id: u64, from: u32 },
    Computed,
    Left(CallRecord),
}

impl FutureEvent {
    /// Returns the key of an event. The end of a call is behind what is in it.
    fn key(&self) -> (u64, u32, bool, u64) {
        (self.at, self.rank, matches!(self.what, Later::Left(_)), self.number)
    }
}

impl Ord for FutureEvent {
    fn cmp(&self, other: &FutureEvent) -> Ordering {
        other.key().cmp(&self.key())
    }
}
impl PartialOrd for FutureEvent {
    fn partial_cmp(&self, other: &FutureEvent) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}
impl PartialEq for FutureEvent {
    fn eq(&self, other: &FutureEvent) -> bool {
        self.key() == other.key()
    }
}
impl Eq for FutureEvent {}

/// A rank's call under way.
struct CallInProgress {
    left: u64,
    /// Messages that it may send and that are not known yet; of `MPI_Startall` any number.
    messages: u32,
}

/// Returns how many messages a call of a function sends by itself at most.
fn messages(function: &str) -> u32 {
    let is_start = matches!(function, "MPI_Start" | "MPI_Pready");
    match function {
        "MPI_Startall" | "MPI_Pready_list" | "MPI_Pready_range" => u32::MAX,
        _ if function.ends_with("_init") => 0,
        _ => u32::from(is_start || function.to_lowercase().contains("send")),
    }
}

/// Indices in the head for what records name by other numbers.
pub struct HeaderIndices {
    /// Functions, by their rows.
    pub functions: Vec<u16>,
    /// Call sites, by process and the number that it gave them.
    pub sites: Vec<FxHashMap<u32, u32>>,
    /// Regions, in the same way.
    pub regions: Vec<Vec<u32>>,
}

pub struct Merge<'a> {
    head: &'a TimelineHeader,
    out: &'a mut dyn Output,
    /// By function.
    messages: Vec<u32>,
    pending: BinaryHeap<FutureEvent>,
    number: u64,
    open: FxHashMap<u32, CallInProgress>,
    /// Messages of one rank at one instant, whose call is not known yet.
    held: Vec<Message>,
    held_at: (u64, u32),
    counters: Counters,
}

impl<'a> Merge<'a> {
    pub fn new(head: &'a TimelineHeader, changes: u64, out: &'a mut dyn Output) -> Merge<'a> {
        let messages = head.functions.iter().map(|function| messages(function)).collect();
        let counters = Counters::new(head.end, changes);
        let (pending, open) = (BinaryHeap::new(), FxHashMap::default());
        Merge { head, out, messages, pending, number: 0, open, held: Vec::new(), held_at: (0, 0), counters }
    }

    /// Writes all of it.
    pub fn run(mut self, records: &mut Merged, places: &HeaderIndices) -> io::Result<()> {
        while let Some((process, mut record)) = records.next()? {
            match &mut record.what {
                RankAction::Called(call) => {
                    call.function = places.functions[call.function as usize];
                    call.site = places.sites[process as usize].get(&call.site).copied().unwrap_or(0);
                }
                RankAction::Region { region, .. } => {
                    *region = places.regions[process as usize][*region as usize]
                }
                _ => {}
            }
            self.record(&record)?;
        }
        self.release()?;
        self.flush((u64::MAX, u32::MAX), true)?;
        self.counters.finish(self.head.end, self.out)?;
        self.out.end()
    }

    fn record(&mut self, record: &Record) -> io::Result<()> {
        let Record { at, rank, what } = *record;
        if !matches!(what, RankAction::Received { .. }) {
            if (at, rank) != self.held_at {
                self.release()?;
            }
            self.flush((at, rank), false)?;
            self.counters.advance(at, self.out)?;
        }
        match what {
            RankAction::Sent(message) => self.sent(at, rank, message),
            RankAction::Computed { until } => {
                self.flush((at, rank), true)?;
                self.later(until, rank, Later::Computed);
                self.out.event(&TimelineEvent::Computes { rank, at, until })
            }
            RankAction::Region { region, begins } => {
                self.flush((at, rank), true)?;
                self.out.event(&if begins {
                    TimelineEvent::Began { rank, at, region }
                } else {
                    TimelineEvent::Ended { rank, at, region }
                })
            }
            RankAction::Called(call) => {
                self.flush((at, rank), true)?;
                self.called(at, rank, call)
            }
            RankAction::Received { at, id, from } => {
                self.later(at, rank, Later::Received { id, from });
                Ok(())
            }
        }
    }

    fn later(&mut self, at: u64, rank: u32, what: Later) {
        self.number += 1;
        self.pending.push(FutureEvent { at, rank, number: self.number, what });
    }

    /// Adds a message to the call within which it was sent. Calls that take no time make that ambiguous: then
    /// it is the first at that instant that sends and has no message yet.
    fn sent(&mut self, at: u64, rank: u32, message: Message) -> io::Result<()> {
        self.counters.change(Counter::UnderWay, 1);
        self.later(message.arrived, rank, Later::Arrived);
        match self.open.get_mut(&rank) {
            Some(open) if open.left > at || open.messages > 0 && open.left == at => {
                open.messages = open.messages.saturating_sub(1);
                self.out.event(&TimelineEvent::Sent { rank, at, message })
            }
            _ => {
                self.held_at = (at, rank);
                self.held.push(message);
                Ok(())
            }
        }
    }

    fn called(&mut self, at: u64, rank: u32, mut call: CallRecord) -> io::Result<()> {
        if !call.returned {
            call.left = self.head.end.max(at);
            (call.wait, call.waited) = (call.left - at, call.left);
        }
        self.out.event(&TimelineEvent::Entered { rank, at, call })?;
        let mut messages = self.messages[call.function as usize];
        if !self.held.is_empty() && messages > 0 {
            let first = self.held.len().min(messages as usize);
            messages -= first as u32;
            for message in self.held.drain(..first) {
                self.out.event(&TimelineEvent::Sent { rank, at, message })?;
            }
        }
        self.open.insert(rank, CallInProgress { left: call.left, messages });
        if call.wait > 0 {
            self.later(call.waited - call.wait, rank, Later::Waits { until: call.waited });
            self.later(call.waited, rank, Later::Waited { left: call.left });
        }
        self.later(call.left, rank, Later::Left(call));
        Ok(())
    }

    /// Writes messages whose calls are not shown.
    fn release(&mut self) -> io::Result<()> {
        let (at, rank) = self.held_at;
        for message in std::mem::take(&mut self.held) {
            self.out.event(&TimelineEvent::Sent { rank, at, message })?;
        }
        Ok(())
    }

    /// Returns what happens before an instant of a rank, or with it.
    fn flush(&mut self, until: (u64, u32), inclusive: bool) -> io::Result<()> {
        while let Some(next) = self.pending.peek() {
            let key = (next.at, next.rank);
            if key > until || key == until && !inclusive {
                return Ok(());
            }
            let FutureEvent { at, rank, what, .. } = self.pending.pop().expect("it was just looked at");
            self.counters.advance(at, self.out)?;
            match what {
                Later::Arrived => self.counters.change(Counter::UnderWay, -1),
                Later::Waits { until } => {
                    self.counters.change(Counter::Waiting, 1);
                    self.out.event(&TimelineEvent::Waits { rank, at, until })?;
                }
                Later::Received { id, from } => {
                    self.out.event(&TimelineEvent::Received { rank, at, id, from })?
                }
                Later::Computed => self.out.event(&TimelineEvent::Computed { rank, at })?,
                Later::Waited { left } => {
                    self.counters.change(Counter::Waiting, -1);
                    self.out.event(&TimelineEvent::Waited { rank, at, left })?;
                }
                Later::Left(call) => {
                    self.open.remove(&rank);
                    self.out.event(&TimelineEvent::Left { rank, at, call })?;
                }
            }
        }
        Ok(())
    }
}
