//! The formats that viewers read. Each is a file that writes events as they come, in the order of virtual
//! time.

mod chrome;
mod otf2;
mod paje;
mod paraver;
mod perfetto;

use crate::record::{CallRecord, Message};
use std::fs::File;
use std::io::{self, BufWriter};
use std::path::{Path, PathBuf};

/// The format of a timeline, for one viewer or several.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum TimelineFormat {
    /// Perfetto's protobuf (ui.perfetto.dev).
    Perfetto,
    /// Chrome's JSON, which Perfetto and other viewers read as well.
    Chrome,
    /// Paraver's `.prv`, with `.pcf` and `.row` beside it.
    Paraver,
    /// Paje (pajeng, ViTE).
    Paje,
    /// OTF2 (Vampir, Scalasca), of several files.
    Otf2,
}

/// Names, formats, and what files of theirs are called.
const FORMATS: [(&str, TimelineFormat, &[&str]); 5] = [
    ("perfetto", TimelineFormat::Perfetto, &["pftrace", "perfetto-trace"]),
    ("json", TimelineFormat::Chrome, &["json"]),
    ("paraver", TimelineFormat::Paraver, &["prv"]),
    ("paje", TimelineFormat::Paje, &["paje", "trace"]),
    ("otf2", TimelineFormat::Otf2, &["otf2"]),
];

impl TimelineFormat {
    /// Returns the format of this name.
    ///
    /// # Errors
    /// A sentence with the names that there are.
    pub fn parse(name: &str) -> Result<TimelineFormat, String> {
        let found = FORMATS.iter().find(|(known, ..)| *known == name);
        found
            .map(|&(_, format, _)| format)
            .ok_or_else(|| format!("there are {}", FORMATS.map(|(name, ..)| name).join(", ")))
    }

    /// Returns the format that a file's name asks for.
    ///
    /// # Errors
    /// A sentence with the names that are known.
    pub fn of(path: &Path) -> Result<TimelineFormat, String> {
        let suffix = path.extension().unwrap_or_default();
        let found = FORMATS.iter().find(|(_, _, suffixes)| suffixes.iter().any(|known| suffix == *known));
        let suffixes = || {
            FORMATS
                .iter()
                .flat_map(|(_, _, suffixes)| suffixes.iter().map(|suffix| format!(".{suffix}")))
                .collect::<Vec<_>>()
        };
        found.map(|&(_, format, _)| format).ok_or_else(|| {
            format!(
                "the name of the timeline {} says no format: it ends in {}, or -xsim-timeline-format says it",
                path.display(),
                suffixes().join(", ")
            )
        })
    }

    /// Returns `true` if it shows when ranks compute; in others that is where they do nothing else.
    pub fn shows_computation(self) -> bool {
        matches!(self, TimelineFormat::Paraver | TimelineFormat::Paje)
    }

    /// Returns the files of a timeline at `path`, the one that it is written to first.
    pub fn files(self, path: &Path) -> Vec<PathBuf> {
        let beside = |suffixes: &[&str]| {
            std::iter::once(path.to_owned())
                .chain(suffixes.iter().map(|suffix| path.with_extension(suffix)))
                .collect()
        };
        beside(if self == TimelineFormat::Paraver { &["pcf", "row"] } else { &[] })
    }

    /// Makes the files, so that a place where they cannot be is known before the run.
    ///
    /// # Errors
    /// The file, and what the system says of it.
    pub fn prepare(self, path: &Path) -> Result<(), (PathBuf, io::Error)> {
        if self == TimelineFormat::Otf2 {
            ::otf2::prepare(path).map_err(|why| (path.to_owned(), why))?;
        }
        self.files(path)
            .into_iter()
            .try_for_each(|file| File::create(&file).map(drop).map_err(|why| (file, why)))
    }

    /// Begins a timeline.
    ///
    /// # Errors
    /// What the system says of the file.
    pub fn begin(self, path: &Path, head: &TimelineHeader) -> io::Result<Box<dyn Output>> {
        let out = || Ok::<_, io::Error>(BufWriter::with_capacity(1 << 20, File::create(path)?));
        Ok(match self {
            TimelineFormat::Otf2 => Box::new(otf2::Otf2::begin(path, head)?),
            TimelineFormat::Perfetto => Box::new(perfetto::Perfetto::begin(out()?, head)?),
            TimelineFormat::Chrome => Box::new(chrome::Chrome::begin(out()?, head)?),
            TimelineFormat::Paraver => Box::new(paraver::Paraver::begin(out()?, path, head)?),
            TimelineFormat::Paje => Box::new(paje::Paje::begin(out()?, head)?),
        })
    }
}

/// Data that are known before the first event.
#[derive(Clone, Debug, Default)]
pub struct TimelineHeader {
    /// The ranks that are shown, in order.
    pub ranks: Vec<u32>,
    /// Names of functions; those of calls are places in this list.
    pub functions: Vec<String>,
    /// Names of call sites, in the same way.
    pub sites: Vec<String>,
    /// Names of regions of the program, in the same way.
    pub regions: Vec<String>,
    /// The time at which the last call returned, in picoseconds.
    pub end: u64,
}

/// The quantity that a counter counts.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Counter {
    /// Ranks that wait in a call.
    Waiting,
    /// Messages between ranks that are shown which were sent and are not there yet.
    UnderWay,
}

impl Counter {
    /// All counters, each in the place of its number.
    pub const ALL: [Counter; 2] = [Counter::Waiting, Counter::UnderWay];

    /// Returns what it is called.
    pub fn name(self) -> &'static str {
        ["ranks waiting", "messages under way"][self as usize]
    }
}

/// An event of a timeline. Events come in the order of time; times are picoseconds.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[allow(missing_docs, reason = "the fields are those of `record`")]
pub enum TimelineEvent {
    /// A rank begins a call.
    Entered { rank: u32, at: u64, call: CallRecord },
    /// The call is over.
    Left { rank: u32, at: u64, call: CallRecord },
    /// In the call, a rank waits.
    Waits { rank: u32, at: u64, until: u64 },
    /// The wait is over; the call returns later.
    Waited { rank: u32, at: u64, left: u64 },
    /// A rank computes.
    Computes { rank: u32, at: u64, until: u64 },
    /// The end of that.
    Computed { rank: u32, at: u64 },
    /// A rank goes into a region of the program, within those that it is in.
    Began { rank: u32, at: u64, region: u32 },
    /// It leaves the one that it went into last.
    Ended { rank: u32, at: u64, region: u32 },
    /// In its call, a rank sends a message.
    Sent { rank: u32, at: u64, message: Message },
    /// In its call, a rank receives a message.
    Received { rank: u32, at: u64, id: u64, from: u32 },
    /// A counter has another value from now on.
    Counted { counter: Counter, at: u64, value: i64 },
}

/// Writes events in a format.
pub trait Output {
    /// Returns what happens next.
    ///
    /// # Errors
    /// What the system says of the file.
    fn event(&mut self, event: &TimelineEvent) -> io::Result<()>;
    /// Ends the file: that was all.
    ///
    /// # Errors
    /// What the system says of the file.
    fn end(&mut self) -> io::Result<()>;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_name_of_a_file_says_its_format() {
        let of = |name: &str| TimelineFormat::of(Path::new(name));
        assert_eq!(of("a/run.pftrace"), Ok(TimelineFormat::Perfetto));
        assert_eq!(of("run.trace"), Ok(TimelineFormat::Paje));
        assert_eq!(of("run.otf2"), Ok(TimelineFormat::Otf2));
        assert!(
            of("run")
                .unwrap_err()
                .contains("it ends in .pftrace, .perfetto-trace, .json, .prv, .paje, .trace, .otf2")
        );
        assert_eq!(TimelineFormat::parse("json"), Ok(TimelineFormat::Chrome));
        assert_eq!(
            TimelineFormat::Paraver.files(Path::new("a/b.prv")),
            ["a/b.prv", "a/b.pcf", "a/b.row"].map(PathBuf::from)
        );
    }
}
