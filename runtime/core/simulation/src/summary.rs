//! The few lines on stderr that end a run.

use recorder::{LongIntervals, RunReport, Spread};
use report::units::{bytes, grouped, short};
use std::fmt::Write;

/// Returns the summary of a run, a few lines that start with `xsim:`.
pub fn text(report: &RunReport) -> String {
    let (s, h) = (&report.simulated, &report.host);
    let mut text = String::new();
    let _ = writeln!(
        text,
        "xsim: {} on {}: {} of virtual time",
        ranks(s.ranks),
        s.machine,
        short(s.virtual_time_ps)
    );
    let _ = writeln!(
        text,
        "xsim: a rank computes {}, waits {}",
        spread(&s.compute, s.ranks),
        spread(&s.wait, s.ranks)
    );
    let messages = format!("{} messages, {} of payload", grouped(s.messages.into()), bytes(s.bytes));
    let _ = writeln!(text, "xsim: {messages}{}{}", internal(report), functions(report));
    let rate = if h.host_time_s > 0.0 { s.messages as f64 / h.host_time_s } else { 0.0 };
    let processes =
        if h.native_processes == 1 { String::new() } else { format!(" on {} processes", h.native_processes) };
    let _ = writeln!(
        text,
        "xsim: host{processes}: {:.2} s, {:.2} s of CPU, {} messages/s, {} of memory",
        h.host_time_s,
        h.cpu_time_s,
        grouped(rate as u128),
        bytes(h.peak_rss_bytes.into())
    );
    text.push_str(&long_intervals(report));
    text
}

/// Returns a line about messages of MPI's own, if there were any.
fn internal(report: &RunReport) -> String {
    let s = &report.simulated;
    if s.internal_messages == 0 {
        return String::new();
    }
    format!(
        ", beside {} messages, {} of MPI's own",
        grouped(s.internal_messages.into()),
        bytes(s.internal_bytes)
    )
}

/// Describes the measured intervals that stand out most, if the longest of them is a hundredth of the run.
fn long_intervals(report: &RunReport) -> String {
    let all = &report.host.long_intervals;
    let counts = |long: &&LongIntervals| long.max_ps >= report.simulated.virtual_time_ps / 100;
    let Some(long) = all.iter().filter(counts).max_by_key(|long| long.max_ps) else { return String::new() };
    let site = if long.max_site.is_empty() { String::new() } else { format!(" at {}", long.max_site) };
    let (added, count): (u128, u64) =
        all.iter().fold((0, 0), |(added, count), long| (added + long.added_ps, count + long.long));
    let others = match count - 1 {
        0 => String::new(),
        1 => "; with another such interval ".to_owned(),
        others => format!("; with {} other such intervals ", grouped(others.into())),
    };
    let others = if others.is_empty() {
        others
    } else {
        format!("{others}it adds {} to ranks' clocks", short(clamped(added)))
    };
    format!(
        "xsim: rank {} is charged {} between {} and {}{site}, where the median of {} is {}: likely the \
         host's doing and not the program's{others}; repeat the run, or charge no host time (-xsim-compute \
         none or fixed:SPAN)\n",
        long.max_rank,
        short(long.max_ps),
        long.from,
        long.to,
        grouped(long.intervals.into()),
        short(long.median_ps),
    )
}

fn clamped(ps: u128) -> u64 {
    u64::try_from(ps).unwrap_or(u64::MAX)
}

fn ranks(count: u64) -> String {
    if count == 1 { "1 rank".into() } else { format!("{} ranks", grouped(count.into())) }
}

fn spread(spread: &Spread, ranks: u64) -> String {
    if ranks <= 1 || spread.min_ps == spread.max_ps {
        return short(spread.mean_ps);
    }
    format!(
        "{} ({} on {} to {} on {})",
        short(spread.mean_ps),
        short(spread.min_ps),
        spread.min_rank,
        short(spread.max_ps),
        spread.max_rank
    )
}

/// Names the functions that took most, with their share of all ranks' time: those above 1 %, at most four.
fn functions(report: &RunReport) -> String {
    let s = &report.simulated;
    let whole = u128::from(s.virtual_time_ps) * u128::from(s.ranks);
    let mut costs: Vec<_> = s.functions.iter().filter(|(_, cost)| cost.time_ps * 100 > whole).collect();
    costs.sort_by_key(|(name, cost)| (std::cmp::Reverse(cost.time_ps), *name));
    let mut text = String::new();
    for (i, (name, cost)) in costs.iter().take(4).enumerate() {
        let lead = if i == 0 { "; time goes to " } else { ", " };
        let share = cost.time_ps as f64 * 100.0 / whole as f64;
        let _ = write!(text, "{lead}{name} {share:.0} % ({} calls)", grouped(cost.calls.into()));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use recorder::{FunctionCost, Host, Simulated};

    fn run() -> Simulated {
        let cost = |calls, time_ps| FunctionCost { calls, time_ps };
        let functions = [
            ("MPI_Recv", cost(1000, 900_000_000_000)),
            ("MPI_Send", cost(1000, 1)),
            ("MPI_Wait", cost(3, 90_000_000_000)),
        ];
        Simulated {
            program: "ring".into(),
            machine: "star:l=0.5us,b=100Gbps".into(),
            ranks: 1000,
            virtual_time_ps: 1_000_320_000,
            messages: 1000,
            bytes: 4000,
            internal_messages: 0,
            internal_bytes: 0,
            functions: functions.map(|(name, cost)| (name.to_owned(), cost)).into(),
            compute: Spread::default(),
            jobs: Vec::new(),
            profile: None,
            critical_path: None,
            early_end: None,
            network: None,
            wait: Spread {
                min_ps: 1,
                min_rank: 0,
                mean_ps: 900_000_000,
                max_ps: 1_000_320_000,
                max_rank: 999,
            },
        }
    }

    fn host() -> Host {
        Host {
            native_processes: 1,
            host_time_s: 0.5,
            cpu_time_s: 0.25,
            peak_rss_bytes: 12_345_678,
            context_switches: 9,
            options: [].into(),
            command: Vec::new(),
            date: String::new(),
            xsim: String::new(),
            long_intervals: Vec::new(),
            interrupted_intervals: None,
        }
    }

    #[test]
    fn a_run_is_told_in_four_lines() {
        let (simulated, host) = (run(), host());
        let expected = "\
xsim: 1,000 ranks on star:l=0.5us,b=100Gbps: 1 ms of virtual time
xsim: a rank computes 0 s, waits 900 us (1 ps on 0 to 1 ms on 999)
xsim: 1,000 messages, 4 kB of payload; time goes to MPI_Recv 90 % (1,000 calls), MPI_Wait 9 % (3 calls)
xsim: host: 0.50 s, 0.25 s of CPU, 2,000 messages/s, 12.35 MB of memory
";
        let mut report = RunReport { version: RunReport::VERSION, simulated, host };
        assert_eq!(text(&report), expected);
        (report.simulated.internal_messages, report.simulated.internal_bytes) = (2000, 83_000_000_000);
        let told = text(&report);
        assert!(
            told.contains("1,000 messages, 4 kB of payload, beside 2,000 messages, 83 GB of MPI's own; time"),
            "{told}"
        );
    }

    #[test]
    fn a_long_interval_is_named_where_it_counts() {
        let long = LongIntervals {
            from: "MPI_Comm_rank".into(),
            to: "MPI_Wtime".into(),
            intervals: 1000,
            median_ps: 1_000_000,
            long: 3,
            added_ps: 5_000_000_000,
            max_ps: 4_000_000_000,
            max_rank: 464,
            max_site: "stencil3d.c:92 main".into(),
        };
        let mut report = RunReport { version: RunReport::VERSION, simulated: run(), host: host() };
        report.simulated.virtual_time_ps = 100 * long.max_ps;
        report.host.long_intervals = vec![long];
        let told = text(&report);
        let sentence = "xsim: rank 464 is charged 4 ms between MPI_Comm_rank and MPI_Wtime at stencil3d.c:92 \
            main, where the median of 1,000 is 1 us: likely the host's doing and not the program's; with 2 \
            other such intervals it adds 5 ms to ranks' clocks; repeat the run, or charge no host time \
            (-xsim-compute none or fixed:SPAN)\n";
        assert!(told.ends_with(sentence), "{told}");
        report.simulated.virtual_time_ps += 100;
        assert!(!text(&report).contains("464"));
    }
}
