//! What a run came to: what was counted, as a report, and where that goes.

use crate::host::HostMeter;
use crate::options::Options;
use crate::summary;
use mpi::World;
use network::NetworkReport;
use observe::{CallProfile, CriticalPath, Host, Job, Part, Report, Simulated};

/// What this process counted; `names` are those of the MPI functions.
pub fn part(world: &World, names: &[&'static str], meter: &HostMeter, switches: u64) -> Part {
    let (messages, bytes) = world.messages.traffic();
    Part {
        latest_ps: world.latest().as_ps(),
        messages,
        bytes,
        functions: world.messages.profile.functions(names),
        compute: world.messages.profile.compute_sum(world.messages.local_started()),
        wait: world.messages.profile.wait_sum(world.messages.local_started()),
        cpu_s: meter.cpu_s(),
        rss: crate::host::peak_rss_bytes(),
        switches,
    }
}

/// A run that is over.
pub struct Outcome<'a> {
    /// What the program and the machine are called.
    pub names: (String, String),
    /// What has measured the host since the run began.
    pub meter: &'a HostMeter,
    /// Native processes.
    pub processes: u32,
    /// Ranks that have run.
    pub ranks: u32,
    /// What all of them counted.
    pub part: Part,
    /// What a packet network did.
    pub network: Option<NetworkReport>,
    /// The jobs, if several had the machine at once.
    pub jobs: Vec<Job>,
    /// Where the time went by call site, if that was asked for.
    pub profile: Option<CallProfile>,
    /// What the time depended on, if that was asked for.
    pub critical_path: Option<CriticalPath>,
}

impl Outcome<'_> {
    /// Prints the summary, unless that is not wanted, and writes the files that were asked for.
    ///
    /// # Errors
    /// A sentence with the name of a file that cannot be written.
    pub fn tell(mut self, options: &Options) -> Result<(), String> {
        let network = self.network.take();
        let report = self.report(options, network.as_ref());
        if !options.quiet {
            eprint!("{}", summary::text(&report));
            eprint!("{}", ::report::profile::summary(&report.simulated));
            eprint!("{}", ::report::critical::summary(&report.simulated));
        }
        if let Some(path) = &options.report {
            report.write(path)?;
        }
        network.map_or(Ok(()), |network| crate::write_network(&network, &options.network_report))
    }

    fn report(self, options: &Options, network: Option<&NetworkReport>) -> Report {
        let Outcome { names: (program, machine), meter, processes, ranks, part, jobs, profile, critical_path, .. } = self;
        Report {
            version: Report::VERSION,
            simulated: Simulated {
                program,
                machine,
                ranks: ranks.into(),
                virtual_time_ps: part.latest_ps,
                messages: part.messages,
                bytes: part.bytes,
                functions: part.functions,
                compute: part.compute.spread(),
                wait: part.wait.spread(),
                jobs,
                profile,
                critical_path,
                network: network.and_then(|network| serde_json::to_value(network).ok()),
            },
            host: Host {
                native_processes: processes,
                host_time_s: meter.wall_s(),
                cpu_time_s: part.cpu_s,
                peak_rss_bytes: part.rss,
                context_switches: part.switches,
                options: options.given.iter().map(|(name, value)| ((*name).to_owned(), value.clone())).collect(),
            },
        }
    }
}
