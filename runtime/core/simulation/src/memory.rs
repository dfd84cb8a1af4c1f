//! Forecast, before it starts, of a run that does not fit the host's memory.

/// Bytes that even an idle rank of the smallest program needs: its state, its account, its saved stack. A
/// lower bound, so that no run that fits is refused.
pub const MIN_BYTES_PER_RANK: u64 = 100;

/// Reads a size in bytes: `VmHWM:   1234 kB` with the key `VmHWM:` gives 1234 * 1024.
pub(crate) fn kilobytes(line: &str, key: &str) -> Option<u64> {
    let number = line.strip_prefix(key)?.trim().strip_suffix("kB")?;
    number.trim().parse::<u64>().ok()?.checked_mul(1024)
}

/// Returns the bytes that this process can still take: what the kernel calls available, or less where the
/// control group allows less; `None` where neither is told.
pub fn available() -> Option<u64> {
    let info = std::fs::read_to_string("/proc/meminfo").unwrap_or_default();
    let free = info.lines().find_map(|line| kilobytes(line, "MemAvailable:"));
    [free, control_group_rest()].into_iter().flatten().min()
}

fn control_group_rest() -> Option<u64> {
    let group = std::fs::read_to_string("/proc/self/cgroup").ok()?;
    let path = group.lines().find_map(|line| line.strip_prefix("0::"))?;
    let directory = format!("/sys/fs/cgroup{}", path.trim_end());
    let read =
        |file: &str| std::fs::read_to_string(format!("{directory}/{file}")).ok()?.trim().parse::<u64>().ok();
    Some(read("memory.max")?.saturating_sub(read("memory.current")?))
}

/// Checks that `ranks` ranks of `bytes_per_rank` each fit into `available` bytes, of which each of `sharing`
/// processes takes as much.
///
/// # Errors
/// A sentence with how much is needed, how much there is, how many ranks would fit, and where more would.
pub fn check(ranks: u64, bytes_per_rank: u64, available: Option<u64>, sharing: u32) -> Result<(), String> {
    let needed = u128::from(ranks) * u128::from(bytes_per_rank) * u128::from(sharing);
    match available {
        Some(there) if needed > u128::from(there) => Err(format!(
            "{ranks} ranks {}need about {} of memory ({bytes_per_rank} bytes a rank), and {} are available; \
             at most {} ranks fit: run fewer, or spread them over more machines with mpirun \
             (docs/how-to/several-processes.md)",
            if sharing > 1 {
                format!("on each of the {sharing} processes of this host ")
            } else {
                String::new()
            },
            report::units::bytes(needed),
            report::units::bytes(u128::from(there)),
            there / bytes_per_rank.max(1),
        )),
        _ => Ok(()),
    }
}

/// Ranks that must have run before their memory tells anything of all.
const MIN_FORECAST_RANKS: u32 = 4096;

/// Memory comes in pages of up to 2 MiB, of which each table, the heap and what is kept of stacks and globals
/// have begun one or two.
const BEGUN: u64 = 32 << 20;

/// The memory that all ranks of a run will need, judged by the memory of the first ones.
pub struct Forecast {
    before: u64,
    started: u32,
    next: u32,
}

impl Forecast {
    /// Creates the forecast of a process that uses `resident` bytes before its ranks start.
    pub fn new(resident: u64) -> Forecast {
        Forecast { before: resident, started: 0, next: MIN_FORECAST_RANKS }
    }

    /// Decides now and then, while the ranks run, when to [`check`](Forecast::check): `rank` runs now, of
    /// `ranks` in all, which start in their order. Returns `true` each time twice as many have started.
    pub fn is_due(&mut self, rank: u32, ranks: u32) -> bool {
        self.started = self.started.max(rank + 1);
        let due = self.started >= self.next && self.started < ranks;
        if due {
            self.next = self.started.saturating_mul(2);
        }
        due
    }

    /// Compares what `ranks` ranks will need with what there is.
    ///
    /// # Errors
    /// A sentence with how much is needed, if memory cannot suffice.
    pub fn check(&self, ranks: u32, resident: u64, available: Option<u64>) -> Result<(), String> {
        let taken = u128::from(resident.saturating_sub(self.before));
        let needed = taken.saturating_sub(u128::from(BEGUN)) * u128::from(ranks) / u128::from(self.started);
        match available {
            Some(there) if needed > taken + u128::from(there) => Err(format!(
                "the first {} of {ranks} ranks took {} of memory, so all will need about {}, and {} are \
                 available: run fewer ranks, or let them share large arrays (-xsim-globals-fold, \
                 xsim_shared_malloc)",
                self.started,
                report::units::bytes(taken),
                report::units::bytes(needed),
                report::units::bytes(taken + u128::from(there)),
            )),
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_ranks_tell_what_all_need() {
        let mut forecast = Forecast::new(1_000_000);
        let mut check = |rank, resident| {
            if forecast.is_due(rank, 100_000) {
                forecast.check(100_000, resident, Some(1_000_000_000))
            } else {
                Ok(())
            }
        };
        assert_eq!(check(4000, 1_000_000_000), Ok(()), "too few to tell");
        assert_eq!(check(4999, 41_000_000 + BEGUN), Ok(()), "0.8 GB in all");
        assert_eq!(check(9000, 900_000_000), Ok(()), "asked when twice as many have started");
        let message = check(9999, 201_000_000 + BEGUN).unwrap_err();
        assert!(
            message.contains("first 10000 of 100000 ranks took 233.6 MB") && message.contains("2 GB"),
            "{message}"
        );
    }

    #[test]
    fn too_many_ranks_say_how_much_they_need() {
        let message = check(1_000_000_000, 400, Some(8_000_000_000), 1).unwrap_err();
        assert!(
            message.contains("400 GB")
                && message.contains("8 GB")
                && message.contains("at most 20000000 ranks"),
            "{message}"
        );
        assert_eq!(check(1000, 400, Some(400_000), 1), Ok(()));
        assert_eq!(check(u64::MAX, 400, None, 1), Ok(()));
        let message = check(1000, 400, Some(1_000_000), 3).unwrap_err();
        assert!(
            message.contains("1000 ranks on each of the 3 processes of this host need about 1.2 MB"),
            "{message}"
        );
    }

    #[test]
    fn this_host_has_some_memory() {
        assert!(available().is_some_and(|bytes| bytes > 1 << 20));
    }
}
