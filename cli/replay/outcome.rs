//! Ends of graphs that were replayed: the sentences, the summary and the reports.

use crate::failure::{Failure, USAGE};
use crate::options;
use crate::output::note;
use crate::workload::Processes;
use clap::ArgMatches;
use engine::Time;
use mpi::progress::{Cause, Ending};
use network::NetworkReport;
use recorder::ProcessCounts;
use simulation::host::peak_rss_bytes;
use simulation::outcome::RunOutcome;
use simulation::{HostMeter, Options};
use std::path::Path;
use std::process::ExitCode;

/// Ranks whose ends are printed; `--ends` writes those of more.
const MAX_PRINTED: u32 = 16;

/// Options about calls, of which a graph has none.
const ABOUT_CALLS: [&str; 14] = [
    "compare",
    "wildcards",
    "without",
    "compute",
    "sizes",
    "events",
    "profile",
    "critical-path",
    "timeline",
    "timeline-ranks",
    "timeline-functions",
    "timeline-from",
    "timeline-until",
    "fail",
];

/// Returns the first option about calls that was given, or one of further options.
pub fn about_calls<'o>(matches: &ArgMatches, further: &[&'o str]) -> Option<&'o str> {
    ABOUT_CALLS.iter().chain(further).find(|name| options::is_given(matches, name)).copied()
}

/// Checks the number of ranks that was given, if one was, and that one process has them all. Sets the
/// options' number.
pub fn check_ranks(
    options: &mut Options,
    matches: &ArgMatches,
    (path, files): (&Path, &[&Path]),
    ranks: u32,
) -> Result<(), Failure> {
    let usage = |why: String| Failure::with(USAGE, why);
    if options::is_given(matches, "np") && options.np != ranks {
        let (asked, path) = (options.np, path.display());
        return Err(usage(format!(
            "-n {asked}: {path} has {ranks} ranks, and all are replayed; leave -n out"
        )));
    }
    options.np = ranks;
    let ((_, own), sharing) = Processes::connect(options, files)?.own(options);
    if own != ranks {
        return Err(usage(format!("{} is replayed by one process: start xsim alone", path.display())));
    }
    simulation::preflight(options, own, sharing, true).map_err(usage)
}

/// A graph that was replayed.
pub struct ReplayedGraph<'m> {
    /// End of each rank.
    pub ends: Vec<Time>,
    /// A sentence about what never ended.
    pub deadlock: Option<String>,
    /// A sentence about what else went wrong.
    pub failure: Option<String>,
    /// Counts of all ranks.
    pub part: ProcessCounts,
    /// Report of a shared network.
    pub network: Option<NetworkReport>,
    /// Meter since the beginning.
    pub meter: &'m HostMeter,
    /// Names of the graph and of the machine.
    pub names: (String, String),
}

impl ReplayedGraph<'_> {
    /// Prints the summary, and writes the reports.
    pub fn tell(self, options: &Options) -> Result<ExitCode, Failure> {
        let ReplayedGraph { ends, deadlock, failure, part, network, meter, names } = self;
        let mut ending = Ending::default();
        for (message, cause) in [(deadlock, Some(Cause::Deadlock)), (failure, None)] {
            if let Some(message) = message {
                (ending.status, ending.cause) = (1, cause);
                note!("xsim: {message}");
                ending.messages.push(message);
            }
        }
        if !options.quiet && options.np <= MAX_PRINTED {
            let ends: Vec<String> = ends.iter().map(Time::to_string).collect();
            note!("xsim: ranks end at {}", ends.join(" "));
        }
        let latest_ps = ends.iter().map(|end| end.as_ps()).max().unwrap_or(0);
        let outcome = RunOutcome {
            names,
            meter,
            processes: 1,
            ranks: options.np,
            part: ProcessCounts { latest_ps, cpu_s: meter.cpu_s(), rss: peak_rss_bytes(), ..part },
            ending: &ending,
            network,
            jobs: Vec::new(),
            profile: None,
            critical_path: None,
        };
        outcome.tell(options).map_err(|why| Failure::with(USAGE, why))?;
        Ok(ExitCode::from(ending.status as u8))
    }
}
