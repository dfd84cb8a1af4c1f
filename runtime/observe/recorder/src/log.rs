//! The log: a line of text for each call, in the order of virtual time.
//!
//! Each process appends the lines of its ranks to a part, `FILE.part0`; at the end the parts become `FILE`,
//! ordered by entry, then rank, and a rank's calls of one instant as they returned. So the file is the same
//! byte for byte on any number of processes. Of a run that did not come to its end (a crash) the parts are
//! left.

use crate::events::{Call, CallReturn, Class, Matched, ObjectArgument, RecordedStatus, Recorder, Value};
use engine::{Span, Time};
use std::fmt::{self, Display, Write as _};
use std::fs::File;
use std::io::{self, BufRead, BufReader, BufWriter, Write};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

/// Elements of an array that are shown.
const SHOWN: usize = 16;

/// Some ranks, as ranges from first to last.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct RankList(Vec<(u32, u32)>);

impl RankList {
    /// Returns all ranks.
    pub fn all() -> RankList {
        RankList(vec![(0, u32::MAX)])
    }
    /// Returns these ranges, from first to last rank.
    pub fn of(ranges: Vec<(u32, u32)>) -> RankList {
        RankList(ranges)
    }
    /// Reads `0-3,7`.
    ///
    /// # Errors
    /// A sentence, if it is something else.
    pub fn parse(text: &str) -> Result<RankList, String> {
        let range = |part: &str| engine::text::bounds(part).filter(|(first, last)| first <= last);
        let ranges: Option<Vec<_>> = text.split(',').map(range).collect();
        ranges.map(RankList).ok_or_else(|| {
            "write ranks and ranges of ranks with commas between them, such as 0-3,7".to_owned()
        })
    }
    /// Returns `true` if `rank` is in; O(number of ranges).
    pub fn contains(&self, rank: u32) -> bool {
        self.0.iter().any(|&(first, last)| (first..=last).contains(&rank))
    }
    /// Returns the greatest rank.
    pub fn last(&self) -> u32 {
        self.0.iter().map(|&(_, last)| last).max().unwrap_or(0)
    }
}

/// Writes the log of a process's ranks.
pub struct Log {
    path: PathBuf,
    ranks: RankList,
    /// A line is written as soon as its call has returned: after a crash the last ones are what matters.
    part: File,
    /// The line under way.
    line: String,
    /// Text about the messages that the receives of the current call got.
    received: String,
    /// The first thing that went wrong.
    failed: Option<io::Error>,
}

fn part(path: &Path, process: u32) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(format!(".part{process}"));
    name.into()
}

fn cannot(what: &str, path: &Path, why: &io::Error) -> String {
    format!("cannot {what} the log {}: {why}", path.display())
}

impl Log {
    /// Creates the log of some ranks in `path`, of which this is process number `process`.
    ///
    /// # Errors
    /// A sentence, if the file cannot be made.
    pub fn create(path: &Path, ranks: RankList, process: u32) -> Result<Log, String> {
        // The program may go to another directory.
        let path = std::path::absolute(path).map_err(|why| cannot("write", path, &why))?;
        let name = part(&path, process);
        let file = File::create(&name).map_err(|why| cannot("write", &name, &why))?;
        Ok(Log { path, ranks, part: file, line: String::new(), received: String::new(), failed: None })
    }

    fn begin(&mut self, rank: u32, at: Time, span: Option<Span>) {
        self.line.clear();
        let _ = write!(self.line, "rank {rank}  {} us  ", Microseconds(at.as_ps()));
        let _ = match span {
            Some(span) => write!(self.line, "+{} us  ", Microseconds(span.as_ps())),
            None => write!(self.line, "unfinished  "),
        };
    }

    fn arguments(&mut self, call: &Call) {
        let _ = write!(self.line, "{}(", call.name);
        for (index, argument) in call.arguments.iter().enumerate() {
            let comma = if index == 0 { "" } else { ", " };
            let _ = write!(self.line, "{comma}{}={}", argument.name, LoggedValue(&argument.value));
        }
        self.line.push(')');
    }

    fn finish(&mut self) {
        self.line.push('\n');
        if let Err(why) = self.part.write_all(self.line.as_bytes()) {
            self.failed.get_or_insert(why);
        }
    }
}

impl Recorder for Log {
    fn wants(&self, rank: u32) -> bool {
        self.ranks.contains(rank)
    }

    fn call(&mut self, call: &Call, left: &CallReturn) {
        if !self.wants(call.rank) {
            return;
        }
        self.begin(call.rank, call.entered, Some(left.at.since(call.entered)));
        self.arguments(call);
        let _ = match left.name {
            Some(name) => write!(self.line, " = {name}"),
            None => write!(self.line, " = {}", left.code),
        };
        self.line.push_str(&std::mem::take(&mut self.received));
        self.finish();
    }

    fn unfinished(&mut self, call: &Call) {
        if !self.wants(call.rank) {
            return;
        }
        self.begin(call.rank, call.entered, None);
        self.arguments(call);
        self.finish();
    }

    fn wants_matches(&self) -> bool {
        true
    }

    fn matched(&mut self, rank: u32, matched: &Matched) {
        let Some(source) = matched.source.filter(|_| self.wants(rank)) else { return };
        let _ = match matched.request {
            Some(request) => write!(self.received, "; request#{request} from rank {source}"),
            None => write!(self.received, "; from rank {source}"),
        };
    }

    fn computed(&mut self, rank: u32, from: Time, span: Span) {
        if !self.wants(rank) {
            return;
        }
        self.begin(rank, from, Some(span));
        self.line.push_str("computes");
        self.finish();
    }

    fn end(&mut self) -> Result<(), String> {
        self.failed.take().map_or(Ok(()), Err).map_err(|why| cannot("write", &self.path, &why))
    }

    fn merge(&mut self, parts: Vec<Vec<u8>>) -> Result<(), String> {
        let parts: Vec<PathBuf> = (0..).zip(&parts).map(|(process, _)| part(&self.path, process)).collect();
        merge(&self.path, &parts)?;
        for name in &parts {
            std::fs::remove_file(name).map_err(|why| cannot("remove a part of", name, &why))?;
        }
        Ok(())
    }
}

/// Location of a line in a part, and the keys by which lines are ordered.
struct LogPosition {
    at: u64,
    rank: u32,
    part: u32,
    offset: u64,
    length: usize,
}

/// Writes the lines of `parts` in order; memory: 32 bytes a line.
fn merge(path: &Path, parts: &[PathBuf]) -> Result<(), String> {
    let mut places = Vec::new();
    let mut files = Vec::new();
    for (number, name) in (0..).zip(parts) {
        let file = File::open(name).map_err(|why| cannot("read a part of", name, &why))?;
        index(&file, number, &mut places).map_err(|why| cannot("read a part of", name, &why))?;
        files.push(file);
    }
    // Stable: the lines of one rank and instant stay in the order of their part.
    places.sort_by_key(|place| (place.at, place.rank));
    let write = || {
        let mut out = BufWriter::new(File::create(path)?);
        let mut line = Vec::new();
        for place in &places {
            line.resize(place.length, 0);
            files[place.part as usize].read_exact_at(&mut line, place.offset)?;
            out.write_all(&line)?;
        }
        out.flush()
    };
    write().map_err(|why| cannot("write", path, &why))
}

fn index(file: &File, part: u32, places: &mut Vec<LogPosition>) -> io::Result<()> {
    let mut reader = BufReader::new(file);
    let (mut line, mut offset) = (Vec::new(), 0);
    loop {
        line.clear();
        let length = reader.read_until(b'\n', &mut line)?;
        if length == 0 {
            return Ok(());
        }
        let (rank, at) = key(&line).ok_or_else(|| {
            io::Error::new(io::ErrorKind::InvalidData, "a line does not begin with rank and time")
        })?;
        places.push(LogPosition { at, rank, part, offset, length });
        offset += length as u64;
    }
}

/// Returns rank and picoseconds at the beginning of a line, if it has them.
fn key(line: &[u8]) -> Option<(u32, u64)> {
    let mut words = line.split(|&byte| byte == b' ').filter(|word| !word.is_empty()).skip(1);
    let rank = std::str::from_utf8(words.next()?).ok()?.parse().ok()?;
    let (whole, fraction) = std::str::from_utf8(words.next()?).ok()?.split_once('.')?;
    Some((rank, format!("{whole}{fraction}").parse().ok()?))
}

/// Picoseconds as microseconds, all of them.
struct Microseconds(u64);

impl Display for Microseconds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{:06}", self.0 / 1_000_000, self.0 % 1_000_000)
    }
}

/// A value as it is shown: constants by name, memory not at all.
struct LoggedValue<'a>(&'a Value);

impl Display for LoggedValue<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Value::Unknown => f.write_str("?"),
            Value::Null => f.write_str("null"),
            Value::Buffer(_) | Value::Address(_) => f.write_str("..."),
            Value::InPlace => f.write_str("MPI_IN_PLACE"),
            Value::Integer(-32766) => f.write_str("MPI_UNDEFINED"),
            Value::Count(number) | Value::Integer(number) => number.fmt(f),
            Value::Logical(truth) => truth.fmt(f),
            Value::Rank(rank) => show_rank(*rank, f),
            Value::Tag(tag) => show_tag(*tag, f),
            Value::Comm { object, .. } => show(Class::Comm, *object, f),
            Value::Datatype { object, .. } => show(Class::Datatype, *object, f),
            Value::Handle(class, object) => show(*class, *object, f),
            Value::Status(status) => show_status(status, f),
            Value::Text(text) => write!(f, "\"{}\"", text.escape_default()),
            Value::List(values) => show_list(values, f),
        }
    }
}

fn show(class: Class, object: ObjectArgument, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    match object {
        ObjectArgument::Named(name) => f.write_str(name),
        ObjectArgument::Made { number, .. } => write!(f, "{}#{number}", class.name()),
    }
}

fn show_rank(rank: i32, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    match rank {
        -1 => f.write_str("MPI_ANY_SOURCE"),
        -3 => f.write_str("MPI_PROC_NULL"),
        -4 => f.write_str("MPI_ROOT"),
        -32766 => f.write_str("MPI_UNDEFINED"),
        rank => rank.fmt(f),
    }
}

fn show_tag(tag: i32, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    if tag == -2 { f.write_str("MPI_ANY_TAG") } else { tag.fmt(f) }
}

fn show_status(status: &RecordedStatus, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    // Of a send, or of no operation.
    if status.source == -1 && !status.cancelled {
        return f.write_str("{}");
    }
    f.write_str("{source=")?;
    show_rank(status.source, f)?;
    f.write_str(", tag=")?;
    show_tag(status.tag, f)?;
    write!(f, ", bytes={}{}}}", status.bytes, if status.cancelled { ", cancelled" } else { "" })
}

fn show_list(values: &[Value], f: &mut fmt::Formatter<'_>) -> fmt::Result {
    f.write_str("[")?;
    for (index, value) in values.iter().take(SHOWN).enumerate() {
        write!(f, "{}{}", if index == 0 { "" } else { ", " }, LoggedValue(value))?;
    }
    if values.len() > SHOWN {
        write!(f, ", ... {} in all", values.len())?;
    }
    f.write_str("]")
}

#[cfg(test)]
mod tests;
