//! The path itself: from the clock that is last at the end of the run back to its beginning.
//!
//! At a wait it goes to who ended that: to the instant at which that rank acted, since between that and the
//! end of the wait are only messages under way (J. C. Yang and B. P. Miller, "Critical path analysis for the
//! execution of parallel and distributed programs", ICDCS 1988). It never goes forward in time, so that each
//! rank's steps are read once at most: O(steps of the ranks that it passes).

use super::steps::{CallStep, Cursor, NOBODY, StepsReader, acts};
use recorder::critical_path::{CriticalPath, PathBreakdown, PathRank, PathSite};
use rustc_hash::FxHashMap;
use std::cmp::Reverse;
use std::io;

/// Instead of a place: behind the last call.
const BEHIND: u32 = u32::MAX;

/// A rank that the path has been on.
struct Visited {
    cursor: Cursor,
    /// The call that comes next in time, whose way there computation counts for.
    next: u32,
    of: PathBreakdown,
}

struct PathWalk<'a> {
    reader: &'a mut StepsReader,
    ranks: FxHashMap<u32, Visited>,
    places: FxHashMap<u32, PathBreakdown>,
    whole: PathBreakdown,
    hops: u64,
}

/// The field of [`PathBreakdown`] that a stretch of the path counts for.
type Kind = fn(&mut PathBreakdown) -> &mut u64;
const COMPUTE: Kind = |of| &mut of.compute_ps;
const MPI: Kind = |of| &mut of.mpi_ps;
const TRANSFER: Kind = |of| &mut of.transfer_ps;
const WAIT: Kind = |of| &mut of.wait_ps;

/// Walks the path that ends at `latest`, a clock and whose it is; `names` are the sites and functions of
/// places.
pub fn walk(
    reader: &mut StepsReader,
    latest: (u64, u32),
    names: &[&(String, String)],
) -> io::Result<CriticalPath> {
    let (mut at, mut rank) = latest;
    let mut walk = PathWalk {
        reader,
        ranks: FxHashMap::default(),
        places: FxHashMap::default(),
        whole: PathBreakdown::default(),
        hops: 0,
    };
    while at > 0 {
        (at, rank) = walk.back(at, rank)?;
    }
    let name =
        |place: u32| names.get(place as usize).map_or((String::new(), String::new()), |name| (*name).clone());
    let sites = walk.places.into_iter().map(|(place, of)| {
        let (site, function) = name(place);
        PathSite { site, function, of }
    });
    let mut sites: Vec<_> = sites.collect();
    sites.sort_by(|a, b| (b.of.sum(), &a.site, &a.function).cmp(&(a.of.sum(), &b.site, &b.function)));
    let mut by_rank: Vec<_> =
        walk.ranks.into_iter().map(|(rank, visited)| PathRank { rank, of: visited.of }).collect();
    by_rank.retain(|rank| rank.of.sum() > 0);
    by_rank.sort_by_key(|rank| (Reverse(rank.of.sum()), rank.rank));
    let ranks = by_rank.len() as u64;
    by_rank.truncate(CriticalPath::RANKS);
    Ok(CriticalPath {
        whole: walk.whole,
        hops: walk.hops,
        sites,
        ranks,
        by_rank,
        delays: Vec::new(),
        costs: Vec::new(),
    })
}

impl PathWalk<'_> {
    /// Returns what led to `rank` being where it is at `at`: one stretch of the path, and where that began.
    fn back(&mut self, at: u64, rank: u32) -> io::Result<(u64, u32)> {
        if !self.ranks.contains_key(&rank) {
            let cursor = self.reader.cursor(rank)?;
            self.ranks.insert(rank, Visited { cursor, next: BEHIND, of: PathBreakdown::default() });
        }
        let Some(visited) = self.ranks.get_mut(&rank) else { unreachable!("it was just put there") };
        let step = loop {
            match self.reader.last(&mut visited.cursor)? {
                // What began then has no part in how it came to that; the computation before leads to the
                // first of such calls.
                Some(step) if step.entered >= at => {
                    visited.next = step.place;
                    visited.cursor.pass();
                }
                step => break step,
            }
        };
        let Some(step) = step else {
            let next = visited.next;
            return Ok(self.stretch(rank, next, COMPUTE, 0..at));
        };
        if at > step.left {
            let next = visited.next;
            return Ok(self.stretch(rank, next, COMPUTE, step.left..at));
        }
        self.within(at, rank, &step)
    }

    /// Goes back within a call: `at` is behind its entry, and not behind its end.
    fn within(&mut self, at: u64, rank: u32, step: &CallStep) -> io::Result<(u64, u32)> {
        let began = step.began();
        if at > step.ended {
            return Ok(self.stretch(rank, step.place, MPI, step.ended..at));
        }
        if at <= began {
            return Ok(self.stretch(rank, step.place, MPI, step.entered..at));
        }
        // The rank may have acted while it waited, within a call that does several things: how it came to
        // that is not known.
        if at == step.ended && step.after != NOBODY {
            self.hops += u64::from(step.after != rank);
            if step.since == at
                && let Some(visited) = self.ranks.get_mut(&rank)
            {
                // Where messages take no time the path stands still: it goes this way once.
                visited.cursor.change(|step| step.after = NOBODY);
            }
            let (since, _) = self.stretch(rank, step.place, TRANSFER, step.since..at);
            return Ok((since, step.after));
        }
        let kind = if step.acts & acts::GATHERS != 0 { TRANSFER } else { WAIT };
        Ok(self.stretch(rank, step.place, kind, began..at))
    }

    fn stretch(&mut self, rank: u32, place: u32, kind: Kind, range: std::ops::Range<u64>) -> (u64, u32) {
        let span = range.end - range.start;
        *kind(&mut self.whole) += span;
        if span > 0 {
            *kind(self.places.entry(place).or_default()) += span;
        }
        if let Some(visited) = self.ranks.get_mut(&rank) {
            *kind(&mut visited.of) += span;
        }
        (range.start, rank)
    }
}
