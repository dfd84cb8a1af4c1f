//! Files of a trace: one for each rank, `NAME.RANK.et`.

use crate::fault::{ChakraFault, ChakraFaultKind};
use crate::graph::ChakraGraph;
use crate::groups::ProcessGroups;
use crate::node::{DependencyKinds, RankOf};
use crate::rank::RankGraph;
use flate2::bufread::MultiGzDecoder;
use std::collections::BTreeMap;
use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};

/// Ends of the names of files, the second of compressed ones.
const ENDINGS: [&str; 2] = [".et", ".et.gz"];
/// First bytes of a file compressed by gzip.
const GZIP: [u8; 2] = [0x1f, 0x8b];

/// Returns a file's name without `.RANK.et`, and the rank.
fn name_of(path: &Path) -> Option<(String, u32)> {
    let name = path.file_name()?.to_str()?;
    let name = ENDINGS.iter().find_map(|ending| name.strip_suffix(ending))?;
    let (name, rank) = name.rsplit_once('.')?;
    let is_number = !rank.is_empty() && rank.bytes().all(|byte| byte.is_ascii_digit());
    Some((name.to_owned(), rank.parse().ok().filter(|_| is_number)?))
}

/// Returns the files with a rank in a directory.
fn listed(directory: &Path) -> std::io::Result<Vec<(String, u32, PathBuf)>> {
    let directory = if directory.as_os_str().is_empty() { Path::new(".") } else { directory };
    let mut found = Vec::new();
    for entry in std::fs::read_dir(directory)? {
        let path = entry?.path();
        if let Some((name, rank)) = name_of(&path) {
            found.push((name, rank, path));
        }
    }
    found.sort();
    Ok(found)
}

/// Returns `true` if a path names a trace: a file by its ending, a directory by what is in it, or the name
/// without `.RANK.et`.
pub fn is_trace(path: &Path) -> bool {
    if path.is_dir() {
        return listed(path).is_ok_and(|found| !found.is_empty());
    }
    if ENDINGS.iter().any(|ending| path.to_str().is_some_and(|text| text.ends_with(ending))) {
        return true;
    }
    let (Some(name), false) = (path.file_name().and_then(|name| name.to_str()), path.exists()) else {
        return false;
    };
    listed(path.parent().unwrap_or(Path::new("."))).is_ok_and(|found| found.iter().any(|(of, ..)| of == name))
}

/// Returns the files of a trace in the order of ranks.
///
/// # Errors
/// Files that are missing, of two traces, or twice there.
pub fn files_of(path: &Path) -> Result<Vec<PathBuf>, ChakraFault> {
    let fault = |reason: String| ChakraFault::of(ChakraFaultKind::Files, reason);
    let is_directory = path.is_dir();
    let directory = if is_directory { path } else { path.parent().unwrap_or(Path::new("")) };
    let mut found = listed(directory).map_err(|why| {
        let reason = format!("the directory {} cannot be read: {why}", directory.display());
        ChakraFault::of(ChakraFaultKind::Unreadable, reason)
    })?;
    if is_directory {
        let names: BTreeMap<&String, ()> = found.iter().map(|(name, ..)| (name, ())).collect();
        if let [first, second, ..] = names.keys().collect::<Vec<_>>()[..] {
            return Err(fault(format!(
                "{} has two traces, {first} and {second}: name one by its file of rank 0",
                path.display()
            )));
        }
    } else {
        let own = match name_of(path) {
            Some((name, _)) => name,
            None => {
                let text = path.display().to_string();
                if ENDINGS.iter().any(|ending| text.ends_with(ending)) {
                    return Err(fault(format!(
                        "{text} has no rank in its name: the file of rank 0 is called NAME.0.et"
                    )));
                }
                path.file_name().and_then(|name| name.to_str()).unwrap_or_default().to_owned()
            }
        };
        found.retain(|(name, ..)| *name == own);
    }
    let mut ranks: BTreeMap<u32, PathBuf> = BTreeMap::new();
    for (_, rank, path) in found {
        let text = path.display().to_string();
        if let Some(other) = ranks.insert(rank, path) {
            return Err(fault(format!(
                "rank {rank} has two files, {} and {text}: remove one",
                other.display()
            )));
        }
    }
    let Some(&last) = ranks.keys().next_back() else {
        let reason = match is_directory {
            true => format!("the directory {} has no file NAME.RANK.et", path.display()),
            false => format!("there is no file {}", path.display()),
        };
        return Err(fault(reason));
    };
    if let Some(lacking) = (0..=last).find(|rank| !ranks.contains_key(rank)) {
        let count = u64::from(last) + 1 - ranks.len() as u64;
        let others = if count > 1 { format!(" (and {} more)", count - 1) } else { String::new() };
        return Err(fault(format!(
            "the file of rank {lacking} is missing{others}: there is {}, and every rank from 0 on needs one",
            ranks[&last].display()
        )));
    }
    Ok(ranks.into_values().collect())
}

/// Reads the files of a trace, in the order of ranks, with process groups that come before those of the
/// trace.
///
/// # Errors
/// A fault with its file, and its byte if it has one.
pub fn open(
    files: &[PathBuf],
    groups: &ProcessGroups,
    dependencies: DependencyKinds,
) -> Result<ChakraGraph, ChakraFault> {
    let Ok(ranks) = u32::try_from(files.len()) else {
        return Err(ChakraFault::of(ChakraFaultKind::Size, "2^32 ranks and more are too many"));
    };
    let mut graphs = Vec::with_capacity(files.len());
    for (path, rank) in files.iter().zip(0..) {
        let name = path.display().to_string();
        let unreadable = |why: std::io::Error| {
            let reason = format!("cannot be read: {why}");
            ChakraFault::of(ChakraFaultKind::Unreadable, reason).in_file(&name)
        };
        let mut input = BufReader::new(File::open(path).map_err(unreadable)?);
        let is_compressed = input.fill_buf().map_err(unreadable)?.starts_with(&GZIP);
        let of = RankOf { rank, ranks, dependencies };
        graphs.push(if is_compressed {
            RankGraph::read(BufReader::new(MultiGzDecoder::new(input)), &name, of)?
        } else {
            RankGraph::read(input, &name, of)?
        });
    }
    ChakraGraph::new(graphs, groups)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_files_have_a_rank_before_the_ending() {
        for (name, expected) in [
            ("a/x.0.et", Some(("x", 0))),
            ("x.y.12.et.gz", Some(("x.y", 12))),
            ("x.et", None),
            ("x.+1.et", None),
            ("x..et", None),
            ("x.0.json", None),
            ("x.4294967296.et", None),
        ] {
            assert_eq!(
                name_of(Path::new(name)),
                expected.map(|(name, rank)| (name.to_owned(), rank)),
                "{name}"
            );
        }
    }
}
