//! Interruptions of the simulating thread that no clock of the kernel sees.
//!
//! Timer interrupts and the work of a hypervisor are CPU time of the thread. On a virtual machine they can
//! take a twentieth of it, some 40 us at a time, where intervals between calls last a few microseconds.

use super::{HostClock, kernel_ns, ticks};

/// Host time for which the thread is watched at most, in nanoseconds.
const MAX_WATCHED_NS: u64 = 30_000_000;
/// After so many interruptions it is watched no longer.
const SUFFICIENT_GAPS: usize = 16;
/// Shorter gaps between two readings of the counter are no interruption, in nanoseconds.
// A timer's own interrupt takes 2 to 5 us and comes more often. Counted with those of a hypervisor it would
// make their median so short that theirs seemed to be the program's.
pub const MIN_GAP_NS: u64 = 10_000;
/// The length of interruptions where there was none.
const USUAL_NS: u64 = 40_000;
/// Time without the thread from which on other processes ran, in nanoseconds.
const MIN_OTHERS_NS: u64 = 100_000;

/// Frequency and length of the interruptions of a thread that computes.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct HostInterruptions {
    /// Interruptions in a second.
    pub per_second: f64,
    /// The median of their lengths, in nanoseconds.
    pub median_ns: u64,
}

impl HostInterruptions {
    /// Returns what these gaps within `passed_ns` are, in which the thread used `cpu_ns`, all in nanoseconds.
    // The longest are the other processes' that ran instead: those the CPU clock sees.
    fn of(mut gaps_ns: Vec<u64>, passed_ns: u64, cpu_ns: u64) -> HostInterruptions {
        gaps_ns.sort_unstable();
        let mut of_others = passed_ns.saturating_sub(cpu_ns);
        while of_others >= MIN_OTHERS_NS
            && let Some(longest) = gaps_ns.pop()
        {
            of_others = of_others.saturating_sub(longest);
        }
        // One more than there were: a short time without any says little of the next one.
        HostInterruptions {
            per_second: (gaps_ns.len() + 1) as f64 * 1e9 / cpu_ns.max(1) as f64,
            median_ns: gaps_ns.get(gaps_ns.len() / 2).copied().unwrap_or(USUAL_NS),
        }
    }
}

impl HostClock {
    /// Watches the calling thread for 30 ms, or until it was interrupted 16 times.
    pub fn interruptions(&self) -> HostInterruptions {
        let (least, watched) = (self.ticks_of(MIN_GAP_NS), self.ticks_of(MAX_WATCHED_NS));
        let mut gaps_ns = Vec::with_capacity(SUFFICIENT_GAPS);
        let (begun_cpu, begun) = (kernel_ns(libc::CLOCK_THREAD_CPUTIME_ID), ticks());
        let mut last = begun;
        while last.saturating_sub(begun) < watched && gaps_ns.len() < SUFFICIENT_GAPS {
            let now = ticks();
            let gap = now.saturating_sub(last);
            if gap >= least {
                gaps_ns.push(self.ns(gap));
            }
            last = now;
        }
        let cpu_ns = kernel_ns(libc::CLOCK_THREAD_CPUTIME_ID).saturating_sub(begun_cpu);
        HostInterruptions::of(gaps_ns, self.ns(last - begun), cpu_ns)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gaps_are_counted_by_second_and_their_median_taken() {
        let measured =
            HostInterruptions::of(vec![30_000, 900_000, 20_000, 40_000, 25_000], 10_000_000, 10_000_000);
        assert_eq!(measured, HostInterruptions { per_second: 600.0, median_ns: 30_000 });
        // Two other processes ran for 3 ms in all.
        let measured =
            HostInterruptions::of(vec![30_000, 20_000, 1_000_000, 40_000, 2_000_000], 10_000_000, 7_000_000);
        assert_eq!(measured.median_ns, 30_000);
        assert!((measured.per_second - 4.0 / 7e-3).abs() < 1e-6, "{measured:?}");
        let quiet = HostInterruptions::of(Vec::new(), 30_000_000, 30_000_000);
        assert_eq!(quiet, HostInterruptions { per_second: 1e9 / 30e6, median_ns: USUAL_NS });
    }

    #[test]
    fn a_watched_thread_has_most_of_the_time_for_itself() {
        let of_this_host = (0..5)
            .map(|_| HostClock::new().interruptions())
            .find(|host| host.per_second * host.median_ns as f64 * 1e-9 < 0.5);
        assert!(of_this_host.is_some(), "half of the time is interrupted in each of five tries");
    }
}
