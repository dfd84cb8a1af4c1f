//! The recorder: writes what the ranks of a process do, and on the first process the timeline in the end.

use crate::format::{TimelineFormat, TimelineHeader};
use crate::merge::{HeaderIndices, Merge};
use crate::record::{self, Message, RankAction, Record};
use crate::runs::{Merged, RunWriter};
use crate::selection::FunctionSelection;
use engine::{Span, Time};
use recorder::waiting::{ReceivedMessage, Returned};
use recorder::{Call, CallReturn, CodeLocation, Recorder, RegionEvent};
use recorder::{RankList, Symbols};
use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fs::File;
use std::io;
use std::ops::Range;
use std::path::{Path, PathBuf};

/// The contents of a timeline, and its file.
#[derive(Clone, Debug)]
pub struct Options {
    /// The file.
    pub path: PathBuf,
    /// The format of the file.
    pub format: TimelineFormat,
    /// The ranks that are shown.
    pub selected: RankList,
    /// The functions that are.
    pub functions: FunctionSelection,
    /// Calls that are entered, and messages that are sent, from the first instant on and before the second.
    pub window: Range<Time>,
    /// Ranks of the run.
    pub ranks: u32,
    /// The ranks that this process has.
    pub own: Range<u32>,
    /// The number of this process; the first writes the file.
    pub process: u32,
}

/// Records the timeline of a process's ranks.
pub struct Timeline {
    options: Options,
    /// By world rank.
    selected: Vec<bool>,
    writer: RunWriter,
    symbols: Symbols,
    sites: Vec<(u32, String)>,
    functions: BTreeMap<u16, (&'static str, bool)>,
    /// Names of regions, by their numbers, and these by name.
    regions: (Vec<String>, FxHashMap<String, u32>),
    /// The regions that ranks are in, the last one last, and whether they are shown.
    inside: FxHashMap<u32, Vec<(u32, bool)>>,
    /// Number of messages that each own rank has received.
    received: Vec<u32>,
    /// Messages received by the call that is reported next.
    messages: Vec<ReceivedMessage>,
    /// Number of changes of counters.
    changes: u64,
    end: u64,
    /// Offsets at which the runs end, once it is over.
    ends: Vec<u64>,
    failed: Option<io::Error>,
}

/// The data that a process sends to the first one.
#[derive(Default, Serialize, Deserialize)]
struct ProcessTimeline {
    ends: Vec<u64>,
    sites: Vec<(u32, String)>,
    regions: Vec<String>,
    functions: Vec<(u16, String)>,
    changes: u64,
    end: u64,
}

fn part_of(path: &Path, process: u32) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(format!(".part{process}"));
    name.into()
}

fn cannot(path: &Path, why: &io::Error) -> String {
    format!("cannot write the timeline {}: {why}", path.display())
}

impl Timeline {
    /// Makes the timeline of a process's ranks.
    ///
    /// # Errors
    /// A sentence, if a file cannot be made.
    pub fn create(mut options: Options) -> Result<Timeline, String> {
        // The program may go to another directory.
        options.path = std::path::absolute(&options.path).map_err(|why| cannot(&options.path, &why))?;
        if options.process == 0 {
            options.format.prepare(&options.path).map_err(|(file, why)| cannot(&file, &why))?;
        }
        let name = part_of(&options.path, options.process);
        let file = File::create(&name).map_err(|why| cannot(&name, &why))?;
        let selected = (0..options.ranks).map(|rank| options.selected.contains(rank)).collect();
        Ok(Timeline {
            selected,
            writer: RunWriter::new(file),
            symbols: Symbols::default(),
            sites: Vec::new(),
            functions: BTreeMap::new(),
            regions: Default::default(),
            inside: FxHashMap::default(),
            received: vec![0; options.own.len()],
            messages: Vec::new(),
            changes: 0,
            end: 0,
            ends: Vec::new(),
            failed: None,
            options,
        })
    }

    fn add(&mut self, record: Record) {
        if self.failed.is_none()
            && let Err(why) = self.writer.add(record)
        {
            self.ends = self.writer.give_up();
            self.failed = Some(why);
        }
    }

    fn shows(&mut self, call: &Returned) -> bool {
        let functions = &self.options.functions;
        let (_, chosen) = *self
            .functions
            .entry(call.function)
            .or_insert_with(|| (call.name, functions.contains(call.name)));
        // A call of a function that the program gave is a part of the call that it was for.
        chosen
            && !call.inner
            && self.selected[call.rank as usize]
            && self.options.window.contains(&call.entered)
    }

    fn record(&mut self, call: &Returned, returned: bool) {
        let messages = std::mem::take(&mut self.messages);
        if self.shows(call) {
            let (at, left) = (call.entered.as_ps(), call.left.as_ps());
            self.end = self.end.max(left);
            self.changes += if call.wait > Span::ZERO { 2 } else { 0 };
            let (wait, function, site, bytes) = (call.wait.as_ps(), call.function, call.site, call.bytes);
            // What it waited for last was there then, and took the rank its overhead.
            let waited = call.cause.map_or(left, |cause| cause.at.as_ps()).clamp(at + wait, left);
            let told = record::CallRecord { function, site, left, wait, waited, bytes, returned };
            self.add(Record { at, rank: call.rank, what: RankAction::Called(told) });
            messages.iter().for_each(|message| self.message(call, message));
        }
        self.messages = messages;
        self.messages.clear();
    }

    fn message(&mut self, call: &Returned, message: &ReceivedMessage) {
        let number = &mut self.received[(call.rank - self.options.own.start) as usize];
        *number += 1;
        let id = u64::from(call.rank) << 32 | u64::from(*number);
        let ReceivedMessage { from, sent, arrived, bytes, tag } = *message;
        if !self.selected[from as usize] || !self.options.window.contains(&sent) {
            return;
        }
        self.changes += 2;
        let received = arrived.max(call.entered).min(call.left).as_ps();
        let arrived = arrived.as_ps();
        let sending = Message { id, to: call.rank, arrived, received, bytes, tag };
        self.add(Record { at: sent.as_ps(), rank: from, what: RankAction::Sent(sending) });
        self.add(Record {
            at: call.entered.as_ps(),
            rank: call.rank,
            what: RankAction::Received { at: received, id, from },
        });
    }
}

impl Timeline {
    fn enter(&mut self, rank: u32, at: Time, name: &str) {
        let (names, numbers) = &mut self.regions;
        let number = *numbers.entry(name.to_owned()).or_insert_with(|| {
            names.push(name.to_owned());
            names.len() as u32 - 1
        });
        let shown = self.selected[rank as usize] && self.options.window.contains(&at);
        self.inside.entry(rank).or_default().push((number, shown));
        if shown {
            self.change_region(rank, at, RankAction::Region { region: number, begins: true });
        }
    }

    /// Returns `true` if that is the one that the rank went into last.
    fn leave(&mut self, rank: u32, at: Time, name: &str) -> bool {
        let Some(&number) = self.regions.1.get(name) else { return false };
        let last = self.inside.get_mut(&rank).and_then(|inside| inside.pop_if(|(last, _)| *last == number));
        if last.is_some_and(|(_, shown)| shown) {
            self.change_region(rank, at, RankAction::Region { region: number, begins: false });
        }
        last.is_some()
    }

    fn change_region(&mut self, rank: u32, at: Time, what: RankAction) {
        self.end = self.end.max(at.as_ps());
        self.add(Record { at: at.as_ps(), rank, what });
    }
}

impl Recorder for Timeline {
    fn wants(&self, rank: u32) -> bool {
        self.selected[rank as usize]
    }

    fn wants_calls(&self) -> bool {
        false
    }

    fn wants_waits(&self) -> bool {
        true
    }

    fn wants_messages(&self) -> bool {
        true
    }

    fn wants_sites(&self) -> bool {
        true
    }

    fn site(&mut self, number: u32, place: &CodeLocation) {
        self.sites.push((number, self.symbols.name(place)));
    }

    fn named_site(&mut self, number: u32, name: &str) {
        self.sites.push((number, name.to_owned()));
    }

    fn received(&mut self, message: &ReceivedMessage) {
        self.messages.push(*message);
    }

    fn returned(&mut self, call: &Returned) {
        self.record(call, true);
    }

    fn unreturned(&mut self, call: &Returned) {
        self.record(call, false);
    }

    fn computed(&mut self, rank: u32, from: Time, span: Span) {
        if self.options.format.shows_computation()
            && self.selected[rank as usize]
            && self.options.window.contains(&from)
        {
            let until = (from + span).as_ps();
            self.end = self.end.max(until);
            self.add(Record { at: from.as_ps(), rank, what: RankAction::Computed { until } });
        }
    }

    fn region(&mut self, rank: u32, at: Time, region: RegionEvent) -> bool {
        match region {
            RegionEvent::Begin(name) => self.enter(rank, at, name),
            RegionEvent::End(name) => return self.leave(rank, at, name),
            // Levels overlap with regions, which slices of a viewer cannot.
            RegionEvent::Level(_) => {}
        }
        true
    }

    fn call(&mut self, _: &Call, _: &CallReturn) {}

    fn unfinished(&mut self, _: &Call) {}

    fn end(&mut self) -> Result<(), String> {
        if self.failed.is_none() {
            match self.writer.finish() {
                Ok(ends) => self.ends = ends,
                Err(why) => {
                    self.ends = self.writer.give_up();
                    self.failed = Some(why);
                }
            }
        }
        let part = part_of(&self.options.path, self.options.process);
        self.failed
            .take()
            .map_or(Ok(()), |why| Err(format!("{}; it has less than the run", cannot(&part, &why))))
    }

    fn part(&mut self) -> Vec<u8> {
        let part = ProcessTimeline {
            ends: std::mem::take(&mut self.ends),
            sites: std::mem::take(&mut self.sites),
            regions: std::mem::take(&mut self.regions.0),
            functions: self
                .functions
                .iter()
                .map(|(&function, &(name, _))| (function, name.to_owned()))
                .collect(),
            changes: self.changes,
            end: self.end,
        };
        serde_json::to_vec(&part).expect("plain data always has a JSON form")
    }

    fn merge(&mut self, parts: Vec<Vec<u8>>) -> Result<(), String> {
        let path = &self.options.path;
        let read = |part: &Vec<u8>| {
            serde_json::from_slice(part)
                .map_err(|why| format!("a process's part of the timeline cannot be read: {why}"))
        };
        let parts: Vec<ProcessTimeline> = parts.iter().map(read).collect::<Result<_, String>>()?;
        let written = write(&self.options, &self.selected, &parts);
        let removed = (0..parts.len() as u32)
            .map(|process| std::fs::remove_file(part_of(path, process)))
            .fold(Ok(()), Result::and);
        written.and(removed).map_err(|why| cannot(path, &why))
    }
}

/// Writes the timeline from the parts of all processes.
fn write(options: &Options, selected: &[bool], parts: &[ProcessTimeline]) -> io::Result<()> {
    let ranks = (0..options.ranks).filter(|&rank| selected[rank as usize]).collect();
    let names: BTreeMap<u16, &str> = parts
        .iter()
        .flat_map(|part| part.functions.iter().map(|(row, name)| (*row, name.as_str())))
        .collect();
    // A function's place by its row in the table, which grows from version to version: places do not.
    let mut functions = vec![0; names.last_key_value().map_or(0, |(&row, _)| usize::from(row) + 1)];
    (0..).zip(names.keys()).for_each(|(place, &row)| functions[usize::from(row)] = place);
    // By name: a site has another number on each process. The first is that of calls whose place is not
    // known.
    let known: BTreeMap<&str, ()> =
        parts.iter().flat_map(|part| part.sites.iter().map(|(_, name)| (name.as_str(), ()))).collect();
    let places: FxHashMap<&str, u32> = known.keys().copied().zip(1..).collect();
    let sites: Vec<FxHashMap<u32, u32>> = parts
        .iter()
        .map(|part| part.sites.iter().map(|(number, name)| (*number, places[name.as_str()])).collect())
        .collect();
    let regions: BTreeMap<&str, ()> =
        parts.iter().flat_map(|part| part.regions.iter().map(|name| (name.as_str(), ()))).collect();
    let numbers: FxHashMap<&str, u32> = regions.keys().copied().zip(0..).collect();
    let of_part = |part: &ProcessTimeline| part.regions.iter().map(|name| numbers[name.as_str()]).collect();
    let places = HeaderIndices { functions, sites, regions: parts.iter().map(of_part).collect() };
    let head = TimelineHeader {
        ranks,
        functions: names.values().map(|&name| name.to_owned()).collect(),
        sites: std::iter::once("unknown").chain(known.into_keys()).map(str::to_owned).collect(),
        regions: regions.into_keys().map(str::to_owned).collect(),
        end: parts.iter().map(|part| part.end).max().unwrap_or(0),
    };
    let open = |(process, part): (u32, &ProcessTimeline)| {
        Ok((File::open(part_of(&options.path, process))?, part.ends.clone()))
    };
    let mut records = Merged::new((0..).zip(parts).map(open).collect::<io::Result<_>>()?)?;
    let changes = parts.iter().map(|part| part.changes).sum();
    let mut out = options.format.begin(&options.path, &head)?;
    Merge::new(&head, changes, out.as_mut()).run(&mut records, &places)
}
