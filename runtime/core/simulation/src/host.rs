//! Cost of the run on the host: wall time, processor time, memory.

use rustix::time::{ClockId, Timespec, clock_gettime};

/// Measures the host from its creation on; a copy from that of the first.
///
/// Asks the kernel directly: the C library's clocks answer in virtual time where libxsim stands
/// in for them.
#[derive(Clone)]
pub struct HostMeter {
    wall: f64,
    cpu: f64,
}

fn seconds(clock: ClockId) -> f64 {
    let Timespec { tv_sec, tv_nsec } = clock_gettime(clock);
    tv_sec as f64 + tv_nsec as f64 * 1e-9
}

impl HostMeter {
    /// Starts measuring.
    pub fn start() -> HostMeter {
        HostMeter { wall: seconds(ClockId::Monotonic), cpu: seconds(ClockId::ProcessCPUTime) }
    }

    /// Returns wall seconds since the start.
    pub fn wall_s(&self) -> f64 {
        seconds(ClockId::Monotonic) - self.wall
    }

    /// Returns processor seconds of the whole process, user and system, since the start.
    pub fn cpu_s(&self) -> f64 {
        seconds(ClockId::ProcessCPUTime) - self.cpu
    }
}

/// Returns the host's date and time, as `2026-01-31 12:00:00 UTC`.
pub fn date() -> String {
    written(clock_gettime(ClockId::Realtime).tv_sec)
}

/// Returns these seconds since 1970 as a date and time of day.
fn written(seconds: i64) -> String {
    let (mut day, second) = (seconds.div_euclid(86_400), seconds.rem_euclid(86_400));
    let is_leap = |year: i64| year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    let (mut year, mut month) = (1970, 1);
    while day >= 365 + i64::from(is_leap(year)) {
        day -= 365 + i64::from(is_leap(year));
        year += 1;
    }
    for length in [31, 28 + i64::from(is_leap(year)), 31, 30, 31, 30, 31, 31, 30, 31, 30] {
        if day < length {
            break;
        }
        day -= length;
        month += 1;
    }
    let (hour, minute, second) = (second / 3600, second / 60 % 60, second % 60);
    format!("{year}-{month:02}-{:02} {hour:02}:{minute:02}:{second:02} UTC", day + 1)
}

/// Returns the largest resident set of this process so far, in bytes; 0 where the kernel does not tell.
pub fn peak_rss_bytes() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    status.lines().find_map(|line| crate::memory::kilobytes(line, "VmHWM:")).unwrap_or(0)
}

/// Returns the resident set of this process now, in bytes; 0 where the kernel does not tell.
pub fn resident_bytes() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    status.lines().find_map(|line| crate::memory::kilobytes(line, "VmRSS:")).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_in_use_is_seen() {
        let block = std::hint::black_box(vec![1u8; 64 << 20]);
        assert!(peak_rss_bytes() >= block.len() as u64);
    }

    #[test]
    fn seconds_are_written_as_a_date() {
        let dates = [0, 951_782_400, 978_307_199, 1_709_164_799, 4_102_444_800].map(written);
        assert_eq!(
            dates,
            [
                "1970-01-01 00:00:00 UTC",
                "2000-02-29 00:00:00 UTC",
                "2000-12-31 23:59:59 UTC",
                "2024-02-28 23:59:59 UTC",
                "2100-01-01 00:00:00 UTC"
            ]
        );
    }

    #[test]
    fn clocks_go_forward() {
        let meter = HostMeter::start();
        let end = meter.cpu_s() + 0.01;
        while meter.cpu_s() < end {}
        // Threads of other tests count among the processor's time, which so may pass faster than the wall's.
        std::thread::sleep(std::time::Duration::from_millis(10));
        assert!(meter.wall_s() > 0.005);
    }
}
