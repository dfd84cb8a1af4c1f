//! From actions to calls. A file has the actions of all ranks, each with its rank before it, or the names of
//! such files, one for each rank.

use super::actions::Rank;
use crate::Options;
use crate::lines::{Lines, at};
use crate::writer::Writer;
use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use trace::Trace;

/// The most ranks that a text may have: as many as a line of it may name.
const MAX_RANKS: u32 = 1 << 24;

/// Imports a trace from files.
pub fn import(from: &Path, to: &Path, options: &Options) -> Result<(), String> {
    let files = files(from)?;
    let mut ranks = 0;
    for file in &files {
        ranks = ranks.max(count(open(file)?).map_err(|why| named(file, why))?);
    }
    if ranks == 0 {
        return Err(named(from, "there is nothing in it".to_owned()));
    }
    let mut writer = Writer::create(to, ranks)?;
    let mut all: Vec<Rank> = (0..ranks).map(Rank::new).collect();
    for file in &files {
        convert(open(file)?, &mut all, &mut writer, options).map_err(|why| named(file, why))?;
    }
    all.iter_mut().for_each(|rank| rank.finish(&mut writer));
    writer.finish()
}

/// Reads a trace of a text with the actions of all ranks, in memory.
pub fn read(text: &[u8], options: &Options) -> Result<Trace, String> {
    let ranks = count(text)?;
    // A short text may name a rank beyond all others, which would each take their place.
    if ranks == 0 || u64::from(ranks) > text.len() as u64 {
        return Err(format!("{ranks} ranks in {} bytes", text.len()));
    }
    let mut writer = Writer::in_memory(ranks);
    let mut all: Vec<Rank> = (0..ranks).map(Rank::new).collect();
    convert(text, &mut all, &mut writer, options)?;
    all.iter_mut().for_each(|rank| rank.finish(&mut writer));
    writer.into_trace()
}

fn named(file: &Path, why: String) -> String {
    format!("{}: {why}", file.display())
}

fn open(file: &Path) -> Result<BufReader<File>, String> {
    File::open(file).map(BufReader::new).map_err(|why| named(file, format!("it cannot be read: {why}")))
}

/// Returns the files with actions: this one, or those that it names.
fn files(from: &Path) -> Result<Vec<PathBuf>, String> {
    let mut lines = Lines::new(open(from)?);
    let mut files = Vec::new();
    let directory = from.parent().unwrap_or(Path::new(""));
    while let Some((_, line)) = lines.next().map_err(|why| named(from, why))? {
        let line = line.trim();
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        if line.split_whitespace().nth(1).is_some() && files.is_empty() {
            return Ok(vec![from.to_owned()]);
        }
        files.push(directory.join(line));
    }
    Ok(if files.is_empty() { vec![from.to_owned()] } else { files })
}

/// Returns the words of a line that has any.
fn words(line: &str) -> Option<Vec<&str>> {
    let words: Vec<&str> = line.split_whitespace().collect();
    words.first().is_some_and(|first| !first.starts_with('#')).then_some(words)
}

fn rank(number: u64, words: &[&str]) -> Result<u32, String> {
    let rank = words[0].parse::<u32>().ok().filter(|&rank| rank < MAX_RANKS);
    rank.ok_or_else(|| {
        at(number, &format!("'{}' stands where a rank should, a number below {MAX_RANKS}", words[0]))
    })
}

/// Returns how many ranks there are: one more than the greatest number.
fn count(from: impl BufRead) -> Result<u32, String> {
    let (mut lines, mut ranks) = (Lines::new(from), 0);
    while let Some((number, line)) = lines.next()? {
        // Only the first word is looked at here; a line may be long.
        if let Some(first) = line.split_whitespace().next().filter(|first| !first.starts_with('#')) {
            ranks = ranks.max(rank(number, &[first])? + 1);
        }
    }
    Ok(ranks)
}

fn convert(
    from: impl BufRead,
    all: &mut [Rank],
    writer: &mut Writer,
    options: &Options,
) -> Result<(), String> {
    let mut lines = Lines::new(from);
    let ranks = all.len() as u32;
    while let Some((number, line)) = lines.next()? {
        let Some(words) = words(line) else { continue };
        let rank = rank(number, &words)?;
        let Some(action) = words.get(1) else {
            return Err(at(number, "the line ends where an action should be"));
        };
        all[rank as usize]
            .action(action, &words[2..], writer, ranks, options)
            .map_err(|why| at(number, &format!("{action}: {why}")))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use mpi::schedule::choose::Policy;

    fn options() -> Options {
        Options {
            flops: 1e9,
            policy: Policy::default(),
            loggops: crate::LogGops::default(),
            without: Vec::new(),
        }
    }

    #[test]
    fn actions_become_calls() {
        let text = "0 init\n\
            1 init\n\
            0 compute 5e8\n\
            0 isend 1 3 1e6\n\
            1 irecv 0 3 1e6\n\
            1 test 0 1 3\n\
            1 wait 0 1 3\n\
            0 waitall\n\
            0 allreduce 5e4 5e8\n\
            1 allreduce 5e4 5e8 0\n\
            0 finalize\n\
            1 finalize\n";
        let trace = read(text.as_bytes(), &options()).unwrap();
        let mut out = Vec::new();
        (0..2).for_each(|rank| trace::show::rank(&trace, rank, &mut out).unwrap());
        let text = String::from_utf8(out).unwrap();
        for part in [
            "count=1000000, datatype=MPI_BYTE, dest=1, tag=3, comm=MPI_COMM_WORLD, request=request#1",
            "MPI_Test(request=request#1, flag=false",
            "source=0, tag=3, bytes=1000000",
            "count=50000, datatype=MPI_BYTE, op=MPI_BOR",
            "count=50000, datatype=MPI_DOUBLE, op=MPI_SUM",
            "MPI_Finalize",
        ] {
            assert!(text.contains(part), "'{part}' is missing in {text}");
        }
    }

    #[test]
    fn errors_name_the_line_the_action_and_the_reason() {
        for (text, line, why) in [
            ("0 init\nx send", 2, "'x'"),
            ("0 init\n0 send 5 0 10", 2, "send: '5' stands where the other rank"),
            ("0 init\n0 send 0 0", 2, "send: the line ends where the size"),
            ("0 init\n0 send 0 0 1 0 7", 2, "'7' is more"),
            ("0 bcast 10 0 99", 1, "'99' is no number of a datatype"),
            ("0 dance 10", 1, "'dance'"),
            ("0 compute 1e40", 1, "longer than time"),
            ("0 compute -1", 1, "'-1'"),
            ("0 finalize\n0 send 0 0 1", 2, "finalized"),
            ("0", 1, "an action"),
            ("0 alltoallv 1 1 1", 1, "the line ends where a size received"),
        ] {
            let error = read(text.as_bytes(), &options()).unwrap_err();
            assert!(error.starts_with(&format!("line {line}: ")) && error.contains(why), "{error}");
        }
        assert!(read(b"16777215 init", &options()).is_err() && read(b"", &options()).is_err());
    }
}
