//! The recording of one process, for itself: as it goes to the process that makes the file of all, and as it
//! is saved while the program runs (FORMAT.md, "Parts"). [`join`] makes one trace of several.

use crate::builder::Builder;
use crate::codec::{Put, Reader, Result};
use crate::file::{self, TraceFileKind};
use crate::part::{Item, ProcessTrace, Seen};
use crate::trace::{DEEPEST, RANKS};
use rustc_hash::FxHashMap;
use std::path::Path;

/// The key that tells a communicator apart from all others of the run, where processes have numbers of their
/// own for them.
pub type Key = [u64; 2];

/// Up to so many ranks of a run may be those of other processes; beyond, [`SHARE`] holds.
const MAX_UNCHECKED_RANKS: u32 = 1 << 20;
/// The most ranks of a run for each that a process tells of.
const SHARE: u64 = 1 << 16;
/// Loops unfold to so many steps, and for each byte of the contents to [`STEPS`] more.
const SMALL: u64 = 1 << 24;
const STEPS: u64 = 1000;

/// Recorded calls of a process, with the keys of its communicators.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Saved {
    /// Keys of the communicators, by the process's contexts; empty if contexts are numbers of the whole run.
    pub keys: Vec<Key>,
    /// The calls.
    pub part: ProcessTrace,
}

impl Saved {
    /// Returns what was saved as bytes, for another process.
    pub fn write(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        bytes.number(self.keys.len() as u64);
        self.keys.iter().flatten().for_each(|&word| bytes.number(word));
        self.part.write(&mut bytes);
        bytes
    }

    /// Reads what [`Saved::write`] wrote. The memory that it takes, and that of a trace made of it, goes by
    /// the length of the bytes.
    ///
    /// # Errors
    /// The byte and the reason, if it is something else.
    pub fn read(bytes: &[u8]) -> Result<Saved> {
        let reader = &mut Reader::new(bytes);
        let count = reader.count(2, "communicators")?;
        let keys =
            (0..count).map(|_| Ok([reader.number()?, reader.number()?])).collect::<Result<Vec<_>>>()?;
        let part = ProcessTrace::read(reader)?;
        let saved = Saved { keys, part };
        match saved.fault(bytes.len() as u64) {
            None if reader.left() > 0 => {
                reader.wrong(format!("{} bytes are left behind what was recorded", reader.left()))
            }
            None => Ok(saved),
            Some(why) => reader.wrong(why),
        }
    }

    /// Returns the bytes of a file.
    pub fn file(&self) -> Vec<u8> {
        file::pack(TraceFileKind::Part, &self.write())
    }

    /// Opens what a process has saved.
    ///
    /// # Errors
    /// A sentence with the file's name.
    pub fn open(path: &Path) -> std::result::Result<Saved, String> {
        let cannot = |why: String| format!("cannot read the part {}: {why}", path.display());
        let bytes = std::fs::read(path).map_err(|why| cannot(why.to_string()))?;
        let (kind, _, contents) = file::unpack(&bytes).map_err(|why| cannot(why.to_string()))?;
        match kind {
            TraceFileKind::Part => {
                Saved::read(&contents).map_err(|why| cannot(format!("its contents, at {why}")))
            }
            TraceFileKind::Trace => Err(cannot(
                "it is a whole trace, and not what one process saved of a run (FILE.part0 and so on)".into(),
            )),
        }
    }

    /// Returns what cannot be, if something is so, of bytes of this length.
    fn fault(&self, bytes: u64) -> Option<String> {
        let ProcessTrace { ranks, ranks_of, comms, .. } = &self.part;
        if *ranks == 0 || u64::from(*ranks) > RANKS {
            return Some(format!("{ranks} ranks, where 1 to {RANKS} may be"));
        }
        if *ranks > MAX_UNCHECKED_RANKS && u64::from(*ranks) > SHARE * ranks_of.len() as u64 {
            return Some(format!("a run of {ranks} ranks, of which it tells of {} only", ranks_of.len()));
        }
        if ranks_of.windows(2).any(|two| two[0].0 >= two[1].0) {
            return Some("ranks that are not in order".into());
        }
        let known = comms.len() as u64;
        let is_wrong = |seen: &Seen| {
            let Seen { world_rank, number, context, rank, size, peers, .. } = *seen;
            let context = self.keys.is_empty() || (context as usize) < self.keys.len();
            !context
                || world_rank >= *ranks
                || number == 0
                || u64::from(number) > known
                || rank >= size
                || peers == 0
        };
        if let Some(seen) = comms.iter().find(|seen| is_wrong(seen)) {
            return Some(format!("a communicator that cannot be: {seen:?}"));
        }
        self.unfolds(SMALL + STEPS * bytes).err()
    }

    /// Checks that the loops of what ranks did have at most so many steps, each class for itself, and are not
    /// too deep.
    fn unfolds(&self, most: u64) -> std::result::Result<(), String> {
        let mut loops: Vec<(u64, usize)> = Vec::with_capacity(self.part.loops.len());
        let measure = |items: &[Item], loops: &[(u64, usize)]| {
            items.iter().fold((0u64, 0), |(steps, depth), item| match *item {
                Item::Call(_) => (steps.saturating_add(1), depth),
                Item::Loop(number) => {
                    let (of_loop, deep) = loops[number as usize];
                    (steps.saturating_add(of_loop), depth.max(deep))
                }
            })
        };
        for (_, items) in &self.part.loops {
            let (steps, depth) = measure(items, &loops);
            if depth == DEEPEST {
                return Err("loops are within loops too deep".into());
            }
            loops.push((steps.saturating_add(2), depth + 1));
        }
        let steps =
            self.part.classes.iter().fold(0u64, |sum, items| sum.saturating_add(measure(items, &loops).0));
        if steps > most {
            Err(format!("its loops would have {steps} steps, where {most} may be"))
        } else {
            Ok(())
        }
    }
}

/// Returns the contents of the trace of what processes of one run recorded, and the ranks that none of them
/// tells of.
///
/// # Errors
/// If they are of different runs, or two of them tell of one rank.
pub fn join(all: Vec<Saved>) -> std::result::Result<Joined, String> {
    let ranks = all.first().map_or(0, |saved| saved.part.ranks);
    let mut told = vec![false; ranks as usize];
    let mut contexts: FxHashMap<Key, u32> = FxHashMap::default();
    let mut builder = Builder::new(ranks);
    for Saved { keys, mut part } in all {
        if part.ranks != ranks {
            return Err(format!("one is of a run of {ranks} ranks, and another of {}", part.ranks));
        }
        for &(rank, _) in &part.ranks_of {
            if std::mem::replace(&mut told[rank as usize], true) {
                return Err(format!("two of them tell of rank {rank}"));
            }
        }
        for seen in &mut part.comms {
            if let Some(key) = keys.get(seen.context as usize) {
                let next = contexts.len() as u32;
                seen.context = *contexts.entry(*key).or_insert(next);
            }
        }
        builder.add(part);
    }
    let missing = (0..ranks).filter(|&rank| !told[rank as usize]).collect();
    Ok(Joined { contents: builder.contents(), missing })
}

/// Result of [`join`]: the trace, and the ranks that no recording has.
pub struct Joined {
    /// The contents of a trace.
    pub contents: Vec<u8>,
    /// Ranks that nothing is known of, in order.
    pub missing: Vec<u32>,
}

impl Joined {
    /// Returns the bytes of the trace's file.
    pub fn file(&self) -> Vec<u8> {
        file::pack(TraceFileKind::Trace, &self.contents)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn part(ranks: u32, own: &[u32]) -> ProcessTrace {
        ProcessTrace {
            ranks,
            classes: vec![Vec::new()],
            ranks_of: own.iter().map(|&rank| (rank, 0)).collect(),
            ..ProcessTrace::default()
        }
    }

    fn says(part: ProcessTrace) -> String {
        let bytes = Saved { keys: Vec::new(), part }.write();
        Saved::read(&bytes).unwrap_err().why
    }

    #[test]
    fn what_lies_is_refused() {
        assert!(says(part(0, &[])).contains("0 ranks, where 1 to"));
        assert!(says(part(1 << 30, &[5])).contains("of which it tells of 1 only"));
        assert!(says(part(4, &[2, 1])).contains("not in order"));
        let seen = Seen { world_rank: 1, number: 9, context: 0, rank: 0, size: 2, peers: 2, leaders: (0, 0) };
        assert!(
            says(ProcessTrace { comms: vec![seen], ..part(4, &[1]) })
                .contains("a communicator that cannot be")
        );
        let twice = |n: u32| (2, vec![Item::Loop(n), Item::Loop(n)]);
        let loops: Vec<_> = std::iter::once((2, vec![])).chain((0..50).map(twice)).collect();
        assert!(
            says(ProcessTrace { classes: vec![vec![Item::Loop(50)]], loops, ..part(4, &[1]) })
                .contains("steps, where")
        );
        let within = |n: u32| (2, vec![Item::Loop(n)]);
        let loops: Vec<_> = std::iter::once((2, vec![])).chain((0..70).map(within)).collect();
        assert!(says(ProcessTrace { loops, ..part(4, &[1]) }).contains("too deep"));
    }

    #[test]
    fn parts_of_one_run_are_joined_and_others_are_not() {
        let saved = |ranks, own: &[u32]| Saved { keys: Vec::new(), part: part(ranks, own) };
        assert_eq!(join(vec![saved(5, &[0, 1]), saved(5, &[3])]).unwrap().missing, [2, 4]);
        let refused = |all| join(all).err().unwrap();
        assert_eq!(
            refused(vec![saved(5, &[0]), saved(4, &[1])]),
            "one is of a run of 5 ranks, and another of 4"
        );
        assert_eq!(refused(vec![saved(5, &[0, 1]), saved(5, &[1])]), "two of them tell of rank 1");
    }

    #[test]
    fn communicators_are_the_same_if_their_keys_are() {
        // Each process counts its contexts from 0, and both have seen the one with key 7.
        let saved = |world_rank: u32, keys: Vec<Key>, context: u32| {
            let seen =
                Seen { world_rank, number: 1, context, rank: world_rank, size: 2, peers: 2, leaders: (0, 0) };
            Saved { keys, part: ProcessTrace { comms: vec![seen], ..part(2, &[world_rank]) } }
        };
        let joined = join(vec![saved(0, vec![[7, 0]], 0), saved(1, vec![[8, 0], [7, 0]], 1)]).unwrap();
        let trace = crate::Trace::read_contents(&joined.contents, file::VERSION).unwrap();
        let of = |rank: u32| trace.comms.instance(rank, 1).unwrap();
        assert_eq!(of(0), of(1), "the number that rank 0, its first member, has for it");
        let other = join(vec![saved(0, vec![[7, 0]], 0), saved(1, vec![[8, 0], [7, 0]], 0)]).unwrap();
        let trace = crate::Trace::read_contents(&other.contents, file::VERSION).unwrap();
        assert_ne!(trace.comms.instance(0, 1).unwrap(), trace.comms.instance(1, 1).unwrap());
    }
}
