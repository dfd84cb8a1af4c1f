//! Host time of a rank's computation, for the processor model.
//!
//! Reading the time stamp counter takes 9 to 22 ns, the thread's CPU clock 234 ns. An interval is taken from
//! the counter; a long one is checked against CPU time, so that what other processes used while this one was
//! preempted is not billed to the rank.
//!
//! The effects of a preemption, switches and caches that another process has filled, are CPU time of the
//! thread. So an interval says that it was preempted.
//!
//! A call is left at one reading and the next one entered at another. Of calls that are brief, which all take
//! some ten nanoseconds, one in seventeen of each function is measured; the others are taken to last as long
//! as those did on the average.
//!
//! A processor reads its counter while a hundred nanoseconds of earlier work go on beside it, which would be
//! the call's time instead of the rank's. So the reading waits for that work, unless the call is likely to be
//! brief and is not measured. If a call is left without a reading, what it began beside the rank's work is
//! part of the next interval.

mod excluded;
mod interruptions;

pub use excluded::exclude;
pub use interruptions::{HostInterruptions, MIN_GAP_NS};

use engine::Span;

/// Intervals longer than this are checked against the thread's CPU time.
const MIN_CHECKED_NS: u64 = 25_000;

/// A reading of CPU time that is older is too old to begin an interval with.
// The thread is taken to have run since. Where another process did, that time is missing from the interval.
const STALE_NS: u64 = 20_000;

/// Another process ran within an interval that took so much more than its CPU time.
const PREEMPTED_NS: u64 = 15_000;

/// Start of an interval that has not begun: no clock reading reaches it.
const PAUSED: u64 = u64::MAX / 2;

/// The number of brief calls of a function of which one is measured: a prime, since programs repeat
/// themselves after round numbers of calls.
const EACH: u8 = 17;
/// So many are measured first, and the least of them taken.
const FIRST: u8 = 8;
/// After so many brief calls of a function in a row the next is likely to be brief.
const LIKELY: u8 = 3;
/// Ticks that are made up for at most: some brief calls' worth.
const MAX_AHEAD: u64 = 1000;
/// Bits of a fraction: of the mean of brief calls, and of virtual picoseconds a tick.
const MEAN_BITS: u32 = 8;
const SCALE_BITS: u32 = 20;
/// Functions that are kept apart: of more, some share an entry.
const PLACES: usize = 256;

/// Mean duration of a function's brief calls.
#[derive(Clone, Copy, Default, Debug)]
struct Mean {
    /// Until the next is measured.
    left: u8,
    /// Number of the first calls that were measured, up to [`FIRST`].
    first: u8,
    /// Number of brief calls in a row, up to [`LIKELY`].
    brief: u8,
    /// Ticks that one took on the average, with a reading, times 2^8.
    ticks: u32,
}

/// An interval of a rank's own code.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct MeasuredInterval {
    /// Virtual time of it, without that of other processes.
    pub span: Span,
    /// `true` if another process ran meanwhile: some of the CPU time may be that one's doing.
    pub preempted: bool,
    /// The rest of the time between the readings that it lies between: a brief call before it, and a reading.
    // An interruption that meets these seems to be the interval's too.
    pub beside: Span,
}

/// Measures one interval after the other on the simulating thread.
#[derive(Clone, Copy, Debug)]
pub struct HostClock {
    /// Nanoseconds per tick, times 2^32.
    scale: u64,
    /// Virtual time of one host time, and virtual picoseconds per tick times 2^20.
    factor: f64,
    virtual_scale: u64,
    /// Intervals of more ticks are checked.
    short: u64,
    started: u64,
    /// The last reading before the interval.
    read_at: u64,
    stopped: u64,
    /// Ticks of a reading.
    reading: u64,
    /// By function.
    means: [Mean; PLACES],
    /// Ticks by which the last brief call was taken to last longer than until the next began: no interval is
    /// less than nothing, so the next one has to make up for them.
    ahead: u64,
    /// CPU time when it was last read, and the counter then.
    cpu_ns: u64,
    cpu_at: u64,
    /// Ticks after which a reading of CPU time is too old to begin an interval with.
    stale: u64,
    /// The clock of CPU time: the thread's or the process's.
    cpu: libc::clockid_t,
}

/// Reads the host's time in nanoseconds, whoever asks and from whatever beginning: the C library's clocks are
/// those of the rank that runs.
pub fn now_ns() -> u64 {
    kernel_ns(libc::CLOCK_MONOTONIC)
}

/// Reads the processor's time stamp counter: some 10^9 ticks a second.
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

/// Reads the counter once all that was begun before is done.
#[inline]
fn ticks_when_done() -> u64 {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: an instruction that every x86-64 has, and that changes nothing.
    unsafe {
        std::arch::x86_64::_mm_lfence();
    }
    ticks()
}

/// Reads a kernel clock in nanoseconds, past any interposed `clock_gettime`.
pub(crate) fn kernel_ns(clock: libc::clockid_t) -> u64 {
    let mut at = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the system call writes one timespec.
    unsafe { libc::syscall(libc::SYS_clock_gettime, clock, &raw mut at) };
    at.tv_sec as u64 * 1_000_000_000 + at.tv_nsec as u64
}

/// Returns the counter and the kernel's clock in nanoseconds, at one time.
// The closest of some tries: another process may run between two readings.
fn both_clocks() -> (u64, u64) {
    let tries = (0..8).map(|_| {
        let (before, ns, after) = (ticks(), kernel_ns(libc::CLOCK_MONOTONIC_RAW), ticks());
        (after.saturating_sub(before), before, ns)
    });
    tries.min().map_or((0, 0), |(apart, before, ns)| (before + apart / 2, ns))
}

impl HostClock {
    /// For intervals of the calling thread. Calibrates the counter against the kernel's clock for about 2 ms.
    pub fn new() -> HostClock {
        HostClock::with(libc::CLOCK_THREAD_CPUTIME_ID)
    }

    /// For intervals in which any thread of the process may compute: the lesser of wall time and all threads'
    /// CPU time.
    pub fn of_process() -> HostClock {
        HostClock::with(libc::CLOCK_PROCESS_CPUTIME_ID)
    }

    fn with(cpu: libc::clockid_t) -> HostClock {
        let (t0, n0) = both_clocks();
        let mut n1 = n0;
        while n1 - n0 < 2_000_000 {
            n1 = kernel_ns(libc::CLOCK_MONOTONIC_RAW);
        }
        let (t1, n1) = both_clocks();
        let scale = (u128::from(n1 - n0) << 32) / u128::from((t1 - t0).max(1));
        // The least of some tries: nothing came between.
        let reading = (0..64)
            .map(|_| (ticks(), ticks(), ticks()))
            .map(|(a, _, c)| c.saturating_sub(a) / 2)
            .min()
            .unwrap_or(0);
        let (means, cpu_ns) = ([Mean::default(); PLACES], kernel_ns(cpu));
        let clock = HostClock {
            scale: scale as u64,
            factor: 1.0,
            virtual_scale: 0,
            short: 0,
            started: t1,
            read_at: t1,
            stopped: t1,
            reading,
            means,
            ahead: 0,
            cpu_ns,
            cpu_at: t1,
            stale: 0,
            cpu,
        };
        HostClock { stale: clock.ticks_of(STALE_NS), ..clock }.scaled(1.0)
    }

    /// Returns this clock, for a virtual processor that needs `factor` times as long.
    pub fn scaled(mut self, factor: f64) -> HostClock {
        let each = self.scale as f64 / (1u64 << 32) as f64 * 1000.0 * factor;
        self.factor = factor;
        self.virtual_scale = (each * f64::from(1u32 << SCALE_BITS)) as u64;
        self.short = self.ticks_of(MIN_CHECKED_NS).min(u64::MAX / self.virtual_scale.max(1));
        self
    }

    fn ticks_of(&self, ns: u64) -> u64 {
        ((u128::from(ns) << 32) / u128::from(self.scale.max(1))) as u64
    }

    #[inline]
    fn ns(&self, ticks: u64) -> u64 {
        ((u128::from(ticks) * u128::from(self.scale)) >> 32) as u64
    }

    /// An interval begins: a rank runs its own code from here.
    #[inline]
    pub fn start(&mut self) {
        let now = ticks();
        // What this reading and the next take is nobody's.
        (self.read_at, self.started) = (now, now + self.reading + std::mem::take(&mut self.ahead));
        if now.wrapping_sub(self.cpu_at) > self.stale {
            self.reread();
        }
    }

    /// An interval begins after a brief call of `function`, which [`HostClock::enter`] was told.
    #[inline]
    pub fn start_after_brief(&mut self, function: u16) {
        let mean = &mut self.means[usize::from(function) % PLACES];
        if mean.left == 0 || self.stopped.wrapping_sub(self.cpu_at) > self.stale {
            return self.measure(function);
        }
        mean.left -= 1;
        mean.brief = (mean.brief + 1).min(LIKELY);
        self.read_at = self.stopped;
        self.started = self.stopped + u64::from(mean.ticks >> MEAN_BITS) + std::mem::take(&mut self.ahead);
    }

    /// An interval begins after a call of `function` that was not brief.
    #[inline]
    pub fn start_after(&mut self, function: u16) {
        self.means[usize::from(function) % PLACES].brief = 0;
        self.start();
    }

    /// Returns `true` if how long brief calls of `function` take is known, and the next of them need not be
    /// measured.
    #[inline]
    pub fn knows(&self, function: u16) -> bool {
        self.means[usize::from(function) % PLACES].left != 0
    }

    /// Leaves a brief call of `function` out of the interval in which it was made, and which goes on.
    #[inline]
    pub fn leave_out(&mut self, function: u16) {
        let mean = &mut self.means[usize::from(function) % PLACES];
        mean.left -= 1;
        // The mean contains a reading, and here was none.
        self.started += u64::from(mean.ticks >> MEAN_BITS).saturating_sub(self.reading);
    }

    /// The interval begins now, after a call whose length goes into its mean.
    fn measure(&mut self, function: u16) {
        let now = ticks();
        (self.read_at, self.started, self.ahead) = (now, now + self.reading, 0);
        if now.wrapping_sub(self.cpu_at) > self.stale {
            return self.reread();
        }
        let took = now.saturating_sub(self.stopped).min(u64::from(u16::MAX));
        let (took, mean) = ((took as u32) << MEAN_BITS, &mut self.means[usize::from(function) % PLACES]);
        if mean.first < FIRST {
            // The first find nothing in the cache.
            mean.ticks = if mean.first == 0 { took } else { mean.ticks.min(took) };
            mean.first += 1;
            return;
        }
        mean.left = EACH - 1;
        // One that was interrupted says nothing of the others.
        mean.ticks = (mean.ticks / 8 * 7) + took.min(mean.ticks.saturating_mul(2)) / 8;
    }

    #[cold]
    fn reread(&mut self) {
        self.cpu_ns = kernel_ns(self.cpu);
        self.cpu_at = ticks();
        (self.read_at, self.started) = (self.cpu_at, self.cpu_at + self.reading);
    }

    /// Pauses the clock: nothing is the rank's until it is started.
    pub fn pause(&mut self) {
        self.started = PAUSED;
    }

    /// The interval ends; returns its virtual time, preemption not counted.
    #[inline]
    pub fn stop(&mut self) -> MeasuredInterval {
        self.stop_at(ticks_when_done())
    }

    /// The interval ends as `function` is entered; returns its virtual time.
    #[inline]
    pub fn enter(&mut self, function: u16) -> MeasuredInterval {
        let mean = &self.means[usize::from(function) % PLACES];
        // One that will be measured waits, or its mean would have in it what is left of the rank's work.
        let waits = mean.left == 0 || mean.brief < LIKELY;
        self.stop_at(if waits { ticks_when_done() } else { ticks() })
    }

    /// The call that ended the interval begins only now: the simulator was busy with the interval.
    pub fn entered_later(&mut self) {
        self.stopped = ticks();
    }

    #[inline]
    fn stop_at(&mut self, now: u64) -> MeasuredInterval {
        self.stopped = now;
        let span = match now.checked_sub(self.started) {
            Some(took) if took > self.short => return self.checked(now, took),
            Some(took) => self.virtual_span(took),
            None => {
                self.ahead = if self.started == PAUSED { 0 } else { (self.started - now).min(MAX_AHEAD) };
                Span::ZERO
            }
        };
        MeasuredInterval { span, preempted: false, beside: self.beside() }
    }

    /// Returns what passed from the last reading to where the interval began.
    #[inline]
    fn beside(&self) -> Span {
        self.virtual_span(self.started.saturating_sub(self.read_at).min(self.short))
    }

    /// Returns the virtual time of at most `self.short` ticks.
    #[inline]
    fn virtual_span(&self, ticks: u64) -> Span {
        Span::from_ps((ticks * self.virtual_scale) >> SCALE_BITS)
    }

    /// The CPU clock was last read at most `stale` before the interval began, and the thread is
    /// taken to have run in between: what is left of the CPU time used since is the interval's.
    #[cold]
    fn checked(&mut self, now: u64, took: u64) -> MeasuredInterval {
        let cpu = kernel_ns(self.cpu);
        let used = cpu.saturating_sub(self.cpu_ns);
        let before = self.ns(self.started.saturating_sub(self.cpu_at));
        (self.cpu_ns, self.cpu_at) = (cpu, now);
        let (excluded, excluded_cpu) = excluded::between(self.started, now);
        let took = self.ns(took.saturating_sub(excluded));
        let cpu = used.saturating_sub(before).saturating_sub(excluded_cpu);
        let span = Span::from_ns(took.min(cpu));
        MeasuredInterval {
            span: if self.factor == 1.0 {
                span
            } else {
                Span::from_ps((span.as_ps() as f64 * self.factor) as u64)
            },
            preempted: took.saturating_sub(cpu) >= PREEMPTED_NS,
            beside: self.beside(),
        }
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
        let busy = clock.stop().span.as_ps() / 1000;
        assert!((4_000_000..20_000_000).contains(&busy), "{busy} ns");
        clock.start();
        std::thread::sleep(std::time::Duration::from_millis(20));
        let slept = clock.stop();
        assert!(slept.preempted && slept.span.as_ps() < 5_000_000_000, "{slept:?}");
    }

    #[test]
    fn what_others_ran_before_an_interval_is_not_taken_off_it() {
        let is_whole = || {
            let mut clock = HostClock::new();
            clock.start();
            clock.stop();
            // Less than a millisecond, in which the thread does not run.
            std::thread::sleep(std::time::Duration::from_micros(300));
            clock.start();
            let begun = kernel_ns(libc::CLOCK_THREAD_CPUTIME_ID);
            while kernel_ns(libc::CLOCK_THREAD_CPUTIME_ID) - begun < 400_000 {}
            clock.stop().span >= Span::from_ns(380_000)
        };
        // Others may run within the few instructions that read two clocks.
        assert!((0..20).filter(|_| is_whole()).count() >= 15);
    }

    #[test]
    fn work_of_the_simulator_within_an_interval_is_not_the_ranks() {
        let mut clock = HostClock::new();
        let spin = || {
            let begun = kernel_ns(libc::CLOCK_THREAD_CPUTIME_ID);
            while kernel_ns(libc::CLOCK_THREAD_CPUTIME_ID) - begun < 5_000_000 {}
        };
        clock.start();
        (0..3).for_each(|_| exclude(spin));
        let of_simulator = clock.stop().span.as_ps() / 1000;
        assert!(of_simulator < 2_000_000, "{of_simulator} ns");
        // What was excluded before is not taken off the next one.
        clock.start();
        spin();
        let of_rank = clock.stop().span.as_ps() / 1000;
        assert!((4_000_000..20_000_000).contains(&of_rank), "{of_rank} ns");
    }

    #[test]
    fn a_slower_processor_needs_longer() {
        let mut clock = HostClock::new();
        for factor in [0.5, 2.0, 1e6] {
            let mut slower = clock.scaled(factor);
            for ticks in [3_000, 60_000, 4_000_000_000] {
                (clock.started, slower.started) = (0, 0);
                let of = |clock: &HostClock| match ticks <= clock.short {
                    true => (ticks * clock.virtual_scale) >> SCALE_BITS,
                    false => (clock.ns(ticks) as f64 * 1000.0 * clock.factor) as u64,
                };
                let (one, other) = (of(&clock) as f64 * factor, of(&slower) as f64);
                assert!((one - other).abs() <= 1e-3 * other + factor + 1000.0 * factor, "{one} {other}");
            }
        }
    }

    #[test]
    fn few_calls_of_one_length_are_measured() {
        let mut clock = HostClock::new();
        let (mut total, calls) = (Span::ZERO, 20_000);
        for _ in 0..calls {
            clock.enter(7);
            // The call, which is not the rank's: some 100 ns.
            (0..60u32).for_each(|at| {
                std::hint::black_box(at);
            });
            clock.start_after_brief(7);
            total += clock.stop().span;
        }
        let each = total.as_ps() / calls / 1000;
        assert!(each < 60, "{each} ns of a rank's own time, of which there is none");
    }
}
