//! Which endpoints each of several jobs has that run on one machine at once.

use super::MachineError;
use crate::message::Endpoint;
use crate::traffic::shuffled;
use std::ops::RangeInclusive;

/// The endpoints that one of several jobs is to have, as a user says it.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub enum Share {
    /// The first that no other job has.
    #[default]
    Next,
    /// These, the first for the job's rank 0. More than it has ranks may be named.
    Endpoints(Vec<RangeInclusive<u32>>),
    /// Any that no job names, drawn with this seed.
    Random(u64),
}

impl std::str::FromStr for Share {
    type Err = String;

    /// `next`, `random:SEED`, or endpoints such as `0-1023` or `0,8,16-31`.
    fn from_str(text: &str) -> Result<Share, String> {
        if text == "next" {
            return Ok(Share::Next);
        }
        if let Some(seed) = text.strip_prefix("random:") {
            return seed
                .parse()
                .map(Share::Random)
                .map_err(|_| format!("'{seed}' is no seed: write a number, random:7"));
        }
        let range = |part: &str| {
            engine::text::bounds(part).filter(|(first, last)| first <= last).map(|(first, last)| first..=last)
        };
        let wrong = |part: &str| {
            format!("'{part}' names no endpoints: write 0-1023, or 0,8,16-31, or next, or random:7")
        };
        let ranges = text.split(',').map(|part| range(part).ok_or_else(|| wrong(part)));
        Ok(Share::Endpoints(ranges.collect::<Result<_, _>>()?))
    }
}

impl Share {
    /// Returns the greatest endpoint that a job of so many ranks gets by name.
    fn greatest(&self, ranks: u32) -> Option<u32> {
        let Share::Endpoints(ranges) = self else { return None };
        ranges.iter().cloned().flatten().take(ranks as usize).max()
    }
}

/// Returns how many endpoints jobs of so many ranks need at least, if a network can have as many as are asked
/// for.
pub(super) fn needed(jobs: &[(Share, u32)]) -> Result<u32, MachineError> {
    let ranks = jobs.iter().try_fold(0u32, |sum, (_, ranks)| sum.checked_add(*ranks));
    let Some(ranks) = ranks else {
        return Err(MachineError::new("the jobs have more than 2^32 ranks together"));
    };
    let named = jobs.iter().filter_map(|(share, ranks)| share.greatest(*ranks)).max();
    Ok(named.map_or(ranks, |named| ranks.max(named.saturating_add(1))))
}

/// The endpoints of all jobs' ranks, one job's behind the other's.
// Names come first, draws second and what is left last, whatever the order of jobs: a job that is added
// without a name moves none that has one.
pub(super) fn endpoints(jobs: &[(Share, u32)], endpoints: u64) -> Result<Vec<Endpoint>, MachineError> {
    let count = u32::try_from(endpoints).unwrap_or(u32::MAX);
    let mut taken = vec![0u32; count as usize];
    let mut found: Vec<Vec<Endpoint>> = vec![Vec::new(); jobs.len()];
    for (job, (share, ranks)) in jobs.iter().enumerate() {
        let Share::Endpoints(ranges) = share else { continue };
        found[job] = ranges.iter().cloned().flatten().take(*ranks as usize).map(Endpoint).collect();
        let wrong = |why: String| Err(MachineError::new(format!("job {}: {why}", job + 1)));
        if found[job].len() < *ranks as usize {
            return wrong(format!("{} endpoints are named for its {ranks} ranks", found[job].len()));
        }
        for &Endpoint(endpoint) in &found[job] {
            match taken.get_mut(endpoint as usize) {
                None => {
                    return wrong(format!(
                        "endpoint {endpoint} is named, but the network's are 0 to {}",
                        i64::from(count) - 1
                    ));
                }
                Some(by) if *by == 0 => *by = job as u32 + 1,
                Some(by) if *by == job as u32 + 1 => {
                    return wrong(format!("endpoint {endpoint} is named twice"));
                }
                Some(by) => {
                    return wrong(format!("endpoint {endpoint} is that of a rank of job {by} already"));
                }
            }
        }
    }
    let mut fill = |job: usize, order: &mut dyn Iterator<Item = u32>| {
        let ranks = jobs[job].1 as usize;
        let mut free = order.filter(|&endpoint| taken[endpoint as usize] == 0);
        found[job] = free.by_ref().take(ranks).map(Endpoint).collect();
        found[job].iter().for_each(|&Endpoint(endpoint)| taken[endpoint as usize] = job as u32 + 1);
        if found[job].len() == ranks {
            return Ok(());
        }
        let (job, free) = (job + 1, found[job].len());
        Err(MachineError::new(format!(
            "job {job} has {ranks} ranks, and the network has {free} endpoints left of its {count}"
        )))
    };
    for (job, (share, _)) in jobs.iter().enumerate() {
        if let Share::Random(seed) = share {
            fill(job, &mut shuffled(count, *seed).into_iter())?;
        }
    }
    for (job, (share, _)) in jobs.iter().enumerate() {
        if *share == Share::Next {
            fill(job, &mut (0..count))?;
        }
    }
    Ok(found.concat())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn placed(jobs: &[(&str, u32)], count: u64) -> Result<Vec<u32>, String> {
        let jobs: Vec<_> = jobs.iter().map(|(share, ranks)| (share.parse().unwrap(), *ranks)).collect();
        endpoints(&jobs, count)
            .map(|found| found.iter().map(|endpoint| endpoint.0).collect())
            .map_err(|why| why.to_string())
    }

    #[test]
    fn jobs_have_the_endpoints_that_they_name_and_others_what_is_left() {
        assert_eq!(placed(&[("next", 3), ("1-2", 2), ("next", 1)], 8).unwrap(), [0, 3, 4, 1, 2, 5]);
        assert_eq!(placed(&[("7,0,3-5", 4)], 8).unwrap(), [7, 0, 3, 4]);
    }

    #[test]
    fn drawn_endpoints_differ_and_are_nobody_elses() {
        let found = placed(&[("0-9", 10), ("random:7", 20), ("random:8", 20), ("next", 14)], 64).unwrap();
        let mut all = found.clone();
        all.sort_unstable();
        assert_eq!(all, (0..64).collect::<Vec<_>>());
        assert_ne!(found[10..30], found[30..50]);
        assert_eq!(
            found,
            placed(&[("0-9", 10), ("random:7", 20), ("random:8", 20), ("next", 14)], 64).unwrap()
        );
    }

    #[test]
    fn shares_that_cannot_be_say_why() {
        for (jobs, why) in [
            (&[("0-3", 5)][..], "job 1: 4 endpoints are named for its 5 ranks"),
            (&[("0-3", 4), ("3-4", 2)], "job 2: endpoint 3 is that of a rank of job 1 already"),
            (&[("5,5", 2)], "job 1: endpoint 5 is named twice"),
            (&[("6-9", 4)], "endpoint 8 is named, but the network's are 0 to 7"),
            (&[("0-3", 4), ("next", 5)], "job 2 has 5 ranks, and the network has 4 endpoints left of its 8"),
        ] {
            let error = placed(jobs, 8).unwrap_err();
            assert!(error.contains(why), "{error}");
        }
        for text in ["", "3-1", "x", "random:x", "1-"] {
            assert!(text.parse::<Share>().is_err(), "{text}");
        }
    }

    #[test]
    fn a_network_without_a_size_has_room_for_ranks_and_names() {
        let jobs: Vec<(Share, u32)> = vec![("4-5".parse().unwrap(), 2), (Share::Next, 3)];
        assert_eq!(needed(&jobs).unwrap(), 6);
        assert_eq!(needed(&[(Share::Next, 3), (Share::Random(1), 9)]).unwrap(), 12);
    }
}
