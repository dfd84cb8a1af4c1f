//! The critical path of a run, and who delays whom (`-xsim-critical-path`).
//!
//! While the run goes on each process appends its ranks' calls to a file, a step of 81 bytes for a call. In
//! the end the first process goes through these files from the last instant to the first.
//!
//! A path needs to be known from its end, so that nothing can be folded before. In memory are some steps of
//! each rank that wait to be written in one piece, and the position of the rank's last such piece.

mod costs;
mod delays;
mod steps;
mod walk;

use crate::gatherings::PendingCollectives;
use crate::places::SiteNumbers;
use engine::Time;
use recorder::Symbols;
use recorder::critical_path::CriticalPath;
use recorder::waiting::{Entries, Returned, WaitRule, WaitState};
use recorder::{Call, CallReturn, CodeLocation, Recorder};
use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};
use std::io;
use std::ops::Range;
use std::path::{Path, PathBuf};
use steps::{CallStep, NOBODY, StepsReader, StepsWriter, acts};

/// Records what the path of a process's ranks can go through.
pub struct Critical {
    own: Range<u32>,
    /// The path of the processes' files; `.path` and the number of a process are appended to it.
    path: PathBuf,
    process: u32,
    writer: StepsWriter,
    symbols: Symbols,
    sites: FxHashMap<u32, String>,
    places: SiteNumbers,
    /// Flags of [`acts`] for the calls, by the number of their call site and function.
    acts: Vec<u32>,
    gatherings: PendingCollectives,
    failed: Option<io::Error>,
    whole: Option<CriticalPath>,
}

/// Data that a process sends to the first process.
#[derive(Serialize, Deserialize)]
struct ProcessPath {
    own: Range<u32>,
    /// Site and function, by place.
    names: Vec<(String, String)>,
    /// The offset in the process's file at which the table of its ranks begins.
    table: u64,
    /// The latest clock, and of several ranks the lowest.
    latest: (u64, u32),
}

fn file_of(path: &Path, process: u32) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(format!(".path{process}"));
    name.into()
}

impl Critical {
    /// Creates the recorder of the ranks `own`, which are this process's; its steps go to a file beside
    /// `report` until the path is known.
    ///
    /// # Errors
    /// A sentence, if that file cannot be made.
    pub fn create(report: &Path, process: u32, own: Range<u32>) -> Result<Critical, String> {
        // The program may go to another directory.
        let path = std::path::absolute(report)
            .map_err(|why| format!("cannot find the directory of {}: {why}", report.display()))?;
        let file = file_of(&path, process);
        let writer = StepsWriter::create(&file, own.clone()).map_err(|why| cannot(&file, &why))?;
        Ok(Critical {
            own,
            path,
            process,
            writer,
            symbols: Symbols::default(),
            sites: FxHashMap::default(),
            places: SiteNumbers::default(),
            acts: Vec::new(),
            gatherings: PendingCollectives::default(),
            failed: None,
            whole: None,
        })
    }

    fn place(&mut self, call: &Returned) -> (u32, u32) {
        let place = self.places.number(call);
        if self.acts.len() == place as usize {
            self.acts.push(acts::of(call.name));
        }
        (place, self.acts[place as usize])
    }

    fn step(&mut self, call: &Returned) -> CallStep {
        let mut step = CallStep::of(call, self.place(call));
        if let Some(cause) = &call.cause {
            step.ended = cause.at.as_ps().min(step.left);
            (step.since, step.after) = (cause.follows.0.as_ps().min(step.ended), cause.follows.1);
        }
        if let (Some((state, lost, by)), Some(cause)) = (call.lost_to_partner(), &call.cause) {
            step.lose(state, lost.as_ps(), (cause.acted, by));
        }
        step
    }

    fn noted(&mut self, done: io::Result<()>) {
        if let (Err(why), None) = (done, &self.failed) {
            self.failed = Some(why);
        }
    }
}

/// Records the loss of a step in a collective call, and the rank whose act ended its wait. Needs the entries
/// of all members.
// The last to enter in a call of all with all, and at the root of one that collects: they need everybody's
// data. Where a root gives, the root. Who waits within a tree for a member that is neither is not known here:
// that counts as messages under way.
fn settle(step: &mut CallStep, call: &Returned, entries: &Entries) {
    if let Some((state, lost, by)) = call.lost_in_gathering(entries) {
        let (acted, _) = match state {
            WaitState::LateBroadcast => entries.root,
            WaitState::EarlyReduce => entries.first,
            _ => entries.last,
        };
        step.lose(state, lost.as_ps(), (acted, by));
    }
    let Some(gathering) = call.gathering else { return };
    let (at, who) = match (gathering.rule, gathering.is_root) {
        (WaitRule::Barrier | WaitRule::Fence | WaitRule::All, _) | (WaitRule::ToRoot, true) => entries.last,
        (WaitRule::FromRoot, false) => entries.root,
        (WaitRule::FromRoot, true) | (WaitRule::ToRoot, false) => return,
    };
    if at > call.entered && at <= call.left {
        (step.since, step.after) = (at.as_ps(), who);
    }
}

impl Recorder for Critical {
    fn wants(&self, rank: u32) -> bool {
        self.own.contains(&rank)
    }

    fn wants_calls(&self) -> bool {
        false
    }

    fn wants_waits(&self) -> bool {
        true
    }

    fn wants_sites(&self) -> bool {
        true
    }

    fn site(&mut self, number: u32, place: &CodeLocation) {
        self.sites.insert(number, self.symbols.name(place));
    }

    fn named_site(&mut self, number: u32, name: &str) {
        self.sites.insert(number, name.to_owned());
    }

    fn returned(&mut self, call: &Returned) {
        // What is called within a call is a part of that one.
        if call.inner {
            return;
        }
        let step = self.step(call);
        let number = self.writer.add(call.rank, step);
        if call.gathering.is_some() {
            self.writer.hold(call.rank);
            let writer = &mut self.writer;
            self.gatherings.returned(number, call, |number, call, entries| {
                writer.settle(call.rank, number, |step| settle(step, call, entries));
            });
        }
        let done = self.writer.flush(call.rank);
        self.noted(done);
    }

    fn unreturned(&mut self, call: &Returned) {
        if !call.inner {
            let step = self.step(call);
            self.writer.add(call.rank, step);
        }
    }

    fn gathered(&mut self, id: (u32, u32), entries: &Entries) {
        let writer = &mut self.writer;
        self.gatherings.gathered(id, entries, |number, call, entries| {
            writer.settle(call.rank, number, |step| settle(step, call, entries));
        });
    }

    fn finished(&mut self, rank: u32, at: Time) {
        self.writer.finish(rank, at.as_ps());
    }

    fn call(&mut self, _: &Call, _: &CallReturn) {}

    fn unfinished(&mut self, _: &Call) {}

    fn end(&mut self) -> Result<(), String> {
        let done = self.writer.end();
        self.noted(done);
        self.failed.take().map_or(Ok(()), |why| Err(cannot(&file_of(&self.path, self.process), &why)))
    }

    fn part(&mut self) -> Vec<u8> {
        let name = |&(site, function): &(u32, &'static str)| {
            (self.sites.get(&site).map_or("unknown", String::as_str).to_owned(), function.to_owned())
        };
        let names = self.places.met().iter().map(name).collect();
        let part = ProcessPath {
            own: self.own.clone(),
            names,
            table: self.writer.table(),
            latest: self.writer.latest(),
        };
        serde_json::to_vec(&part).expect("plain data always has a JSON form")
    }

    fn merge(&mut self, parts: Vec<Vec<u8>>) -> Result<(), String> {
        let mut read = Vec::new();
        for part in &parts {
            let part: ProcessPath = serde_json::from_slice(part)
                .map_err(|why| format!("a process's part of the critical path cannot be read: {why}"))?;
            read.push(part);
        }
        let files: Vec<PathBuf> =
            (0..read.len() as u32).map(|process| file_of(&self.path, process)).collect();
        let found = analyse(&files, &read);
        // Whatever came of it: nobody else reads them.
        files.iter().for_each(|file| drop(std::fs::remove_file(file)));
        self.whole = Some(found.map_err(|why| cannot(&self.path, &why))?);
        Ok(())
    }

    fn critical_path(&mut self) -> Option<CriticalPath> {
        self.whole.take()
    }
}

fn analyse(files: &[PathBuf], parts: &[ProcessPath]) -> io::Result<CriticalPath> {
    let mut reader = StepsReader::new();
    // Of one name one place, whichever process saw it.
    let mut numbers: FxHashMap<&(String, String), u32> = FxHashMap::default();
    let mut names: Vec<&(String, String)> = Vec::new();
    for (file, part) in files.iter().zip(parts) {
        let places = part.names.iter().map(|name| {
            *numbers.entry(name).or_insert_with(|| {
                names.push(name);
                names.len() as u32 - 1
            })
        });
        reader.add(file, part.own.clone(), part.table, places.collect())?;
    }
    let latest =
        parts.iter().map(|part| part.latest).max_by_key(|&(at, rank)| (at, !rank)).unwrap_or((0, NOBODY));
    let mut path = walk::walk(&mut reader, latest, &names)?;
    (path.delays, path.costs) = delays::delays(&mut reader, &names)?;
    Ok(path)
}

fn cannot(path: &Path, why: &io::Error) -> String {
    format!("cannot keep the steps of the critical path beside {}: {why}", path.display())
}
