//! The few lines on stderr that end a run.

use observe::{Report, Spread};
use report::units::{bytes, grouped, short};
use std::fmt::Write;

/// The summary of a run, a few lines that start with `xsim:`.
pub fn text(report: &Report) -> String {
    let (s, h) = (&report.simulated, &report.host);
    let mut text = String::new();
    let _ = writeln!(text, "xsim: {} on {}: {} of virtual time", ranks(s.ranks), s.machine, short(s.virtual_time_ps));
    let _ = writeln!(text, "xsim: a rank computes {}, waits {}", spread(&s.compute, s.ranks), spread(&s.wait, s.ranks));
    let _ = writeln!(text, "xsim: {} messages, {} of payload{}", grouped(s.messages.into()), bytes(s.bytes), functions(report));
    let rate = if h.host_time_s > 0.0 { s.messages as f64 / h.host_time_s } else { 0.0 };
    let processes = if h.native_processes == 1 { String::new() } else { format!(" on {} processes", h.native_processes) };
    let _ = writeln!(
        text,
        "xsim: host{processes}: {:.2} s, {:.2} s of CPU, {} messages/s, {} of memory",
        h.host_time_s,
        h.cpu_time_s,
        grouped(rate as u128),
        bytes(h.peak_rss_bytes.into())
    );
    text
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

/// The functions that took most, with their share of all ranks' time: those above 1 %, at most four.
fn functions(report: &Report) -> String {
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
    use observe::{FunctionCost, Host, Simulated};

    #[test]
    fn a_run_is_told_in_four_lines() {
        let cost = |calls, time_ps| FunctionCost { calls, time_ps };
        let functions = [("MPI_Recv", cost(1000, 900_000_000_000)), ("MPI_Send", cost(1000, 1)), ("MPI_Wait", cost(3, 90_000_000_000))];
        let simulated = Simulated {
            program: "ring".into(),
            machine: "star:l=0.5us,b=100Gbps".into(),
            ranks: 1000,
            virtual_time_ps: 1_000_320_000,
            messages: 1000,
            bytes: 4000,
            functions: functions.map(|(name, cost)| (name.to_owned(), cost)).into(),
            compute: Spread::default(),
            jobs: Vec::new(),
            profile: None,
            critical_path: None,
            network: None,
            wait: Spread { min_ps: 1, min_rank: 0, mean_ps: 900_000_000, max_ps: 1_000_320_000, max_rank: 999 },
        };
        let host = Host {
            native_processes: 1,
            host_time_s: 0.5,
            cpu_time_s: 0.25,
            peak_rss_bytes: 12_345_678,
            context_switches: 9,
            options: [].into(),
        };
        let expected = "\
xsim: 1,000 ranks on star:l=0.5us,b=100Gbps: 1 ms of virtual time
xsim: a rank computes 0 s, waits 900 us (1 ps on 0 to 1 ms on 999)
xsim: 1,000 messages, 4 kB of payload; time goes to MPI_Recv 90 % (1,000 calls), MPI_Wait 9 % (3 calls)
xsim: host: 0.50 s, 0.25 s of CPU, 2,000 messages/s, 12.35 MB of memory
";
        assert_eq!(text(&Report { version: Report::VERSION, simulated, host }), expected);
    }
}
