//! Activities of ranks in equal stretches of virtual time.

use engine::{Span, Time};
use recorder::{Bins, call_profile};
use serde::{Deserialize, Serialize};

/// An activity of a rank.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Activity {
    /// Outside MPI.
    Compute,
    /// In MPI, not waiting.
    Mpi,
    /// Waiting.
    Wait,
}

/// Times of all ranks, by stretch and by what they did.
// Each of the three has stretches as long as itself needs; a report has all in those of the longest.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct ActivityTimes([Bins; 3]);

impl ActivityTimes {
    /// Adds what a rank did from `from` on for `span`; O(stretches that it reaches over).
    #[inline]
    pub fn add(&mut self, doing: Activity, from: Time, span: Span) {
        self.0[doing as usize].add(from, span, 1);
    }

    /// Adds what the ranks of another process did.
    pub fn add_all(&mut self, other: &ActivityTimes) {
        self.0.iter_mut().zip(&other.0).for_each(|(all, more)| all.add_all(more));
    }

    /// Returns the series as a report has it, up to the last stretch in which there was anything, with the
    /// bytes under way.
    pub fn report(mut self, mut under_way: Bins) -> call_profile::ActivitySeries {
        let width = self.0.iter().map(Bins::width).max().unwrap_or(0).max(under_way.width());
        self.0.iter_mut().chain([&mut under_way]).for_each(|bins| bins.widen(width));
        let length = self.0.iter().chain([&under_way]).map(|bins| bins.used().len()).max().unwrap_or(0);
        let of = |bins: &Bins| -> Vec<u128> {
            bins.used().iter().copied().chain(std::iter::repeat(0)).take(length).collect()
        };
        let [compute_ps, mpi_ps, wait_ps] = [0, 1, 2].map(|doing| of(&self.0[doing]));
        let under_way_bytes = of(&under_way).into_iter().map(|sum| sum >> width).collect();
        call_profile::ActivitySeries {
            bin_ps: 1 << width,
            compute_ps,
            mpi_ps,
            wait_ps,
            under_way_bytes,
            links: None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_report_has_all_in_the_stretches_of_the_longest() {
        let (mut series, mut under_way) = (ActivityTimes::default(), Bins::default());
        series.add(Activity::Wait, Time::from_ps(3), Span::from_ps(1022));
        series.add(Activity::Mpi, Time::from_ps(1), Span::from_ps(2));
        // 100 bytes for 6 of the 8 ps of the first two stretches of 4 ps.
        under_way.add(Time::from_ps(2), Span::from_ps(6), 100);
        let report = series.report(under_way);
        assert_eq!((report.bin_ps, report.wait_ps.len(), report.compute_ps.len()), (4, 257, 257));
        assert_eq!(
            (report.wait_ps[0], report.wait_ps[1], report.mpi_ps[0], report.compute_ps[0]),
            (1, 4, 2, 0)
        );
        assert_eq!(report.under_way_bytes[..3], [50, 100, 0]);
    }
}
