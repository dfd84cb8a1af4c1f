//! What the run cost the host: wall time, processor time, memory.

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

    /// Wall seconds since the start.
    pub fn wall_s(&self) -> f64 {
        seconds(ClockId::Monotonic) - self.wall
    }

    /// Processor seconds of the whole process, user and system, since the start.
    pub fn cpu_s(&self) -> f64 {
        seconds(ClockId::ProcessCPUTime) - self.cpu
    }
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
    fn clocks_go_forward() {
        let meter = HostMeter::start();
        let end = meter.cpu_s() + 0.01;
        while meter.cpu_s() < end {}
        // Threads of other tests count among the processor's time, which so may pass faster than the wall's.
        std::thread::sleep(std::time::Duration::from_millis(10));
        assert!(meter.wall_s() > 0.005);
    }
}
