//! Host time of a rank's computation, for the processor model.
//!
//! Reading the time stamp counter takes 9 ns, the thread's CPU clock 234 ns. An interval is taken
//! from the counter; a long one is checked against CPU time, so that what other processes used
//! while this one was preempted is not billed to the rank.

use engine::Span;

/// Intervals longer than this are checked against the thread's CPU time.
const LONG_NS: u64 = 50_000;

/// Measures one interval after the other on the simulating thread.
#[derive(Clone, Copy, Debug)]
pub struct HostClock {
    /// Nanoseconds per tick, times 2^32.
    scale: u64,
    started: u64,
    /// CPU time when it was last read, and the counter then.
    cpu_ns: u64,
    cpu_at: u64,
    /// Ticks after which a reading of CPU time is too old to begin an interval with.
    stale: u64,
    /// The clock of CPU time: the thread's or the process's.
    cpu: libc::clockid_t,
}

/// The processor's time stamp counter: some 10^9 ticks a second.
#[inline]
pub fn ticks() -> u64 {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: reads the time stamp counter, which every x86-64 has.
    unsafe {
        std::arch::x86_64::_rdtsc()
    }
    #[cfg(not(target_arch = "x86_64"))]
    kernel_ns(libc::CLOCK_MONOTONIC)
}

/// A kernel clock in nanoseconds, past any interposed `clock_gettime`.
pub(crate) fn kernel_ns(clock: libc::clockid_t) -> u64 {
    let mut at = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the system call writes one timespec.
    unsafe { libc::syscall(libc::SYS_clock_gettime, clock, &raw mut at) };
    at.tv_sec as u64 * 1_000_000_000 + at.tv_nsec as u64
}

impl HostClock {
    /// For intervals of the calling thread. Calibrates the counter against the kernel's clock for about 2 ms.
    pub fn new() -> HostClock {
        HostClock::with(libc::CLOCK_THREAD_CPUTIME_ID)
    }

    /// For intervals in which any thread of the process may compute: the lesser of wall time and all threads' CPU time.
    pub fn of_process() -> HostClock {
        HostClock::with(libc::CLOCK_PROCESS_CPUTIME_ID)
    }

    fn with(cpu: libc::clockid_t) -> HostClock {
        let (t0, n0) = (ticks(), kernel_ns(libc::CLOCK_MONOTONIC_RAW));
        let mut n1 = n0;
        while n1 - n0 < 2_000_000 {
            n1 = kernel_ns(libc::CLOCK_MONOTONIC_RAW);
        }
        let t1 = ticks();
        let scale = (u128::from(n1 - n0) << 32) / u128::from((t1 - t0).max(1));
        let mut clock = HostClock { scale: scale as u64, started: t1, cpu_ns: 0, cpu_at: t1, stale: (t1 - t0) / 2, cpu };
        clock.cpu_ns = kernel_ns(cpu);
        clock
    }

    #[inline]
    fn ns(&self, ticks: u64) -> u64 {
        ((u128::from(ticks) * u128::from(self.scale)) >> 32) as u64
    }

    /// An interval begins: a rank runs its own code from here.
    #[inline]
    pub fn start(&mut self) {
        let now = ticks();
        self.started = now;
        if now.wrapping_sub(self.cpu_at) > self.stale {
            self.reread();
        }
    }

    #[cold]
    fn reread(&mut self) {
        self.cpu_ns = kernel_ns(self.cpu);
        self.started = ticks();
        self.cpu_at = self.started;
    }

    /// The interval ends; returns its host time (nanosecond resolution), preemption not counted.
    #[inline]
    pub fn stop(&mut self) -> Span {
        let now = ticks();
        let ns = self.ns(now.saturating_sub(self.started));
        if ns > LONG_NS { self.checked(now, ns) } else { Span::from_ns(ns) }
    }

    /// The CPU clock was last read at most `stale` before the interval began, and the thread is
    /// taken to have run in between: what is left of the CPU time used since is the interval's.
    #[cold]
    fn checked(&mut self, now: u64, ns: u64) -> Span {
        let cpu = kernel_ns(self.cpu);
        let used = cpu.saturating_sub(self.cpu_ns);
        let before = self.ns(self.started.saturating_sub(self.cpu_at));
        (self.cpu_ns, self.cpu_at) = (cpu, now);
        Span::from_ns(ns.min(used.saturating_sub(before)))
    }
}

impl Default for HostClock {
    fn default() -> HostClock {
        HostClock::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_busy_interval_is_measured_and_a_sleep_is_not() {
        let mut clock = HostClock::new();
        clock.start();
        let begun = kernel_ns(libc::CLOCK_THREAD_CPUTIME_ID);
        while kernel_ns(libc::CLOCK_THREAD_CPUTIME_ID) - begun < 5_000_000 {}
        let busy = clock.stop().as_ps() / 1000;
        assert!((4_000_000..20_000_000).contains(&busy), "{busy} ns");
        clock.start();
        std::thread::sleep(std::time::Duration::from_millis(20));
        let slept = clock.stop().as_ps() / 1000;
        assert!(slept < 5_000_000, "{slept} ns");
    }
}
