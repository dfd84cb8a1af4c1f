//! Whether a run fits the host's memory, before it starts.

/// What even an idle rank of the smallest program needs: its state, its account, its saved stack.
/// A lower bound, so that nothing that could run is refused.
pub const LEAST_BYTES_PER_RANK: u64 = 100;

/// `VmHWM:   1234 kB` with the key `VmHWM:` gives 1234 * 1024.
pub(crate) fn kilobytes(line: &str, key: &str) -> Option<u64> {
    let number = line.strip_prefix(key)?.trim().strip_suffix("kB")?;
    number.trim().parse::<u64>().ok()?.checked_mul(1024)
}

/// Bytes that this process can still take: what the kernel calls available, or less where the
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
    let read = |file: &str| std::fs::read_to_string(format!("{directory}/{file}")).ok()?.trim().parse::<u64>().ok();
    Some(read("memory.max")?.saturating_sub(read("memory.current")?))
}

/// Checks that `ranks` ranks of `bytes_per_rank` each fit into `available` bytes.
///
/// # Errors
/// A sentence with how much is needed, how much there is, and how many ranks would fit.
pub fn check(ranks: u64, bytes_per_rank: u64, available: Option<u64>) -> Result<(), String> {
    let needed = u128::from(ranks) * u128::from(bytes_per_rank);
    match available {
        Some(there) if needed > u128::from(there) => Err(format!(
            "{ranks} ranks need about {} of memory ({bytes_per_rank} bytes a rank), and {} are available; at most {} ranks fit",
            crate::summary::bytes(needed),
            crate::summary::bytes(u128::from(there)),
            there / bytes_per_rank.max(1),
        )),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn too_many_ranks_say_how_much_they_need() {
        let message = check(1_000_000_000, 400, Some(8_000_000_000)).unwrap_err();
        assert!(message.contains("400 GB") && message.contains("8 GB") && message.contains("at most 20000000 ranks"), "{message}");
        assert_eq!(check(1000, 400, Some(400_000)), Ok(()));
        assert_eq!(check(u64::MAX, u64::MAX, None), Ok(()));
    }

    #[test]
    fn this_host_has_some_memory() {
        assert!(available().is_some_and(|bytes| bytes > 1 << 20));
    }
}
