//! From the files of a run to a trace, one rank after the other.

use super::calls::Rank as Calls;
use super::comms::{Comms, MAKERS, Steps};
use super::file::{Rank, Record, Source};
use super::layout::{Function, functions};
use super::types::{Known, Types};
use crate::writer::Writer;
use std::fs::File;
use std::io::Cursor;
use std::path::{Path, PathBuf};
use trace::Trace;

/// The most ranks of a run.
const MAX_RANKS: u32 = 1 << 24;

/// Location of the ranks' files: on disk, or in memory.
enum Files<'a> {
    Disk { directory: PathBuf, prefix: String },
    Memory(Vec<&'a [u8]>),
}

impl Files<'_> {
    fn name(&self, rank: u32) -> String {
        match self {
            Files::Disk { .. } => self.path(rank).display().to_string(),
            Files::Memory(_) => format!("rank {rank}"),
        }
    }

    fn path(&self, rank: u32) -> PathBuf {
        match self {
            Files::Disk { directory, prefix } => directory.join(format!("{prefix}-{rank:04}.bin")),
            Files::Memory(_) => PathBuf::new(),
        }
    }

    fn open(&self, rank: u32) -> Result<Rank<'_>, String> {
        let source: Box<dyn Source + '_> = match self {
            Files::Disk { .. } => {
                let path = self.path(rank);
                Box::new(
                    File::open(&path).map_err(|why| format!("{} cannot be read: {why}", path.display()))?,
                )
            }
            Files::Memory(files) => Box::new(Cursor::new(files[rank as usize])),
        };
        Rank::open(source).map_err(|why| format!("{}: {why}", self.name(rank)))
    }
}

/// Imports a trace of a run, from the text file that describes it (`.meta`), or from the file of one of its
/// ranks.
pub fn import(from: &Path, to: &Path) -> Result<(), String> {
    let (files, ranks) = files(from)?;
    let mut writer = Writer::create(to, ranks)?;
    convert(&files, ranks, &mut writer)?;
    writer.finish()
}

/// Reads a trace of files in memory, one behind the other, each with its length before it as four bytes,
/// least first; of one rank the file alone.
pub fn read(mut bytes: &[u8]) -> Result<Trace, String> {
    let mut all = Vec::new();
    if bytes.starts_with(&[0xff, 0xaa, 0xdd]) {
        all.push(bytes);
        bytes = &[];
    }
    while let Some((length, rest)) = bytes.split_first_chunk::<4>() {
        let length = (u32::from_le_bytes(*length) as usize).min(rest.len());
        let (file, behind) = rest.split_at(length);
        all.push(file);
        bytes = behind;
    }
    let ranks = all.len() as u32;
    if ranks == 0 {
        return Err("there is nothing in it".to_owned());
    }
    let mut writer = Writer::in_memory(ranks);
    convert(&Files::Memory(all), ranks, &mut writer)?;
    writer.into_trace()
}

/// Returns the files of a run, and how many there are.
fn files(from: &Path) -> Result<(Files<'static>, u32), String> {
    let directory = from.parent().unwrap_or(Path::new("")).to_owned();
    let wrong = |why: &str| format!("{}: {why}", from.display());
    let stem = from.file_stem().and_then(|stem| stem.to_str()).ok_or_else(|| wrong("its name is no text"))?;
    if from.extension().is_none_or(|suffix| suffix != "bin") {
        let text = engine::text::read(from, engine::text::SETTINGS)
            .map_err(|why| format!("{} cannot be read: {why}", from.display()))?;
        let value = |name: &str| {
            text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix('=')).map(str::trim)
        };
        let ranks = value("numprocs")
            .and_then(|ranks| ranks.parse().ok())
            .filter(|ranks| (1..=MAX_RANKS).contains(ranks));
        let ranks = ranks.ok_or_else(|| wrong("it does not say how many ranks there are (numprocs=4)"))?;
        let prefix = value("fileprefix").unwrap_or(stem).to_owned();
        // A description is a stranger's: what it names lies beside it.
        if prefix.contains('/') || prefix.chars().any(char::is_control) {
            return Err(wrong("its fileprefix names another folder: the files of ranks lie beside it"));
        }
        return Ok((Files::Disk { directory, prefix }, ranks));
    }
    let (prefix, _) = stem
        .rsplit_once('-')
        .ok_or_else(|| wrong("the name of a rank's file ends in its number, as in dumpi-0000.bin"))?;
    let files = Files::Disk { directory, prefix: prefix.to_owned() };
    match (0..MAX_RANKS).find(|&rank| !files.path(rank).exists()).unwrap_or(MAX_RANKS) {
        0 => Err(format!("{} is not there: the files of all ranks are read", files.name(0))),
        ranks => Ok((files, ranks)),
    }
}

/// Goes through the records of a rank.
fn each(
    files: &Files,
    rank: u32,
    functions: &[Function],
    mut visit: impl FnMut(&Function, &Record) -> Result<(), String>,
) -> Result<(), String> {
    let mut file = files.open(rank)?;
    let mut record = Record::default();
    let mut all = || {
        file.begin()?;
        while file.next(functions, &mut record)? {
            let function = &functions[usize::from(record.function)];
            visit(function, &record)
                .map_err(|why| format!("byte {}: MPI_{}: {why}", record.at, function.name))?;
        }
        Ok(())
    };
    all().map_err(|why: String| format!("{}: {why}", files.name(rank)))
}

fn convert(files: &Files, ranks: u32, writer: &mut Writer) -> Result<(), String> {
    let functions = functions();
    let mut comms = Comms::of(steps(files, ranks, &functions)?)?;
    let known = Known::new();
    for rank in 0..ranks {
        let sizes = files.open(rank)?.sizes;
        let mut calls = Calls::new(rank, writer, &mut comms, Types::new(&known, sizes));
        each(files, rank, &functions, |function, record| calls.record(function, record))?;
        calls.finish();
    }
    Ok(())
}

/// Returns what each rank called that makes communicators. A file tells how often each function was called,
/// so that most are not read for it.
fn steps(files: &Files, ranks: u32, functions: &[Function]) -> Result<Vec<Steps>, String> {
    let makes: Vec<bool> = functions.iter().map(|function| MAKERS.contains(&function.name)).collect();
    let mut all = vec![Steps::default(); ranks as usize];
    for (rank, steps) in (0..).zip(&mut all) {
        let counts = files.open(rank)?.counts().map_err(|why| format!("{}: {why}", files.name(rank)))?;
        if !counts.is_empty() && !counts.iter().zip(&makes).any(|(&count, &makes)| makes && count > 0) {
            continue;
        }
        each(files, rank, functions, |function, record| {
            steps.add(function, record);
            Ok(())
        })?;
    }
    Ok(all)
}
