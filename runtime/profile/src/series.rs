//! What ranks did when: equal stretches of virtual time, doubled whenever the run gets longer than they reach.

use engine::{Span, Time};
use observe::call_profile;
use serde::{Deserialize, Serialize};

/// Stretches.
const BINS: usize = 512;

/// What a rank does.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Doing {
    /// Outside MPI.
    Compute,
    /// In MPI, not waiting.
    Mpi,
    /// Waiting.
    Wait,
}

/// Times of all ranks, by stretch and by what they did.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Series {
    /// A stretch has 2 to this power picoseconds, so that times fall into them by a shift.
    width: u32,
    bins: Vec<[u128; 3]>,
}

impl Default for Series {
    fn default() -> Series {
        Series { width: 0, bins: vec![[0; 3]; BINS] }
    }
}

impl Series {
    /// A rank did this from `from` on for `span`; O(stretches that it reaches over).
    #[inline]
    pub fn add(&mut self, doing: Doing, from: Time, span: Span) {
        if span == Span::ZERO {
            return;
        }
        let (from, until) = (from.as_ps(), from.as_ps().saturating_add(span.as_ps()));
        self.reach(until - 1);
        let (first, last) = (from >> self.width, (until - 1) >> self.width);
        if first == last {
            self.bins[first as usize][doing as usize] += u128::from(until - from);
            return;
        }
        for bin in first..=last {
            let (begin, end) = ((bin << self.width).max(from), ((u128::from(bin) + 1) << self.width).min(until.into()));
            self.bins[bin as usize][doing as usize] += end - u128::from(begin);
        }
    }

    /// The instant `at` is within.
    fn reach(&mut self, at: u64) {
        while at >> self.width >= BINS as u64 {
            self.double();
        }
    }

    fn double(&mut self) {
        for half in 0..BINS / 2 {
            let (a, b) = (self.bins[2 * half], self.bins[2 * half + 1]);
            self.bins[half] = std::array::from_fn(|doing| a[doing] + b[doing]);
        }
        self.bins[BINS / 2..].fill([0; 3]);
        self.width += 1;
    }

    /// With what the ranks of another process did.
    pub fn add_all(&mut self, other: &Series) {
        let mut other = other.clone();
        while self.width < other.width {
            self.double();
        }
        while other.width < self.width {
            other.double();
        }
        self.bins.iter_mut().zip(&other.bins).for_each(|(all, more)| (0..3).for_each(|doing| all[doing] += more[doing]));
    }

    /// As a report has it, up to the last stretch in which anybody did anything.
    pub fn report(&self) -> call_profile::Series {
        let length = self.bins.iter().rposition(|bin| *bin != [0; 3]).map_or(0, |last| last + 1);
        let of = |doing: Doing| self.bins[..length].iter().map(|bin| bin[doing as usize]).collect();
        call_profile::Series { bin_ps: 1 << self.width, compute_ps: of(Doing::Compute), mpi_ps: of(Doing::Mpi), wait_ps: of(Doing::Wait) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn add(series: &mut Series, doing: Doing, from: u64, span: u64) {
        series.add(doing, Time::from_ps(from), Span::from_ps(span));
    }

    #[test]
    fn a_long_stay_is_spread_over_the_stretches_that_it_touches() {
        let mut series = Series::default();
        add(&mut series, Doing::Wait, 3, 1022);
        let report = series.report();
        assert_eq!(report.bin_ps, 4, "512 stretches of 4 ps reach to 2048, those of 2 ps to 1024 only");
        assert_eq!((report.wait_ps[0], report.wait_ps[1], report.wait_ps[256], report.wait_ps.len()), (1, 4, 1, 257));
        assert_eq!(report.wait_ps.iter().sum::<u128>(), 1022);
        assert!(report.compute_ps.iter().all(|&ps| ps == 0));
    }

    #[test]
    fn the_end_of_time_is_within() {
        let mut series = Series::default();
        add(&mut series, Doing::Mpi, u64::MAX - 5, 5);
        add(&mut series, Doing::Compute, 0, u64::MAX);
        let report = series.report();
        assert_eq!((report.bin_ps, report.mpi_ps.len(), report.mpi_ps[511]), (1 << 55, 512, 5));
        assert_eq!(report.compute_ps.iter().sum::<u128>(), u128::from(u64::MAX));
    }

    #[test]
    fn parts_that_reach_differently_far_are_the_whole() {
        let stays = [(Doing::Compute, 0, 700), (Doing::Wait, 5_000, 90_000), (Doing::Mpi, 1, 2), (Doing::Wait, 511, 2)];
        let mut whole = Series::default();
        stays.iter().for_each(|&(doing, from, span)| add(&mut whole, doing, from, span));
        for cut in 0..=stays.len() {
            let mut parts = [Series::default(), Series::default()];
            stays.iter().enumerate().for_each(|(at, &(doing, from, span))| add(&mut parts[usize::from(at >= cut)], doing, from, span));
            let [mut all, other] = parts;
            all.add_all(&other);
            assert_eq!(all, whole, "cut at {cut}");
        }
    }
}
