//! Outcome of a run: its counts, as a report, and where that goes.

use crate::host::HostMeter;
use crate::options::Options;
use crate::summary;
use mpi::World;
use mpi::progress::{Cause, Ending};
use network::NetworkReport;
use recorder::{
    CallProfile, CriticalPath, EarlyEnd, EndCause, Host, JobSummary, ProcessCounts, RunReport, Simulated,
};

/// Returns what this process counted; `names` are those of the MPI functions.
pub fn part(world: &World, names: &[&'static str], meter: &HostMeter, switches: u64) -> ProcessCounts {
    let (messages, bytes) = world.messages.ranks().traffic();
    let (internal_messages, internal_bytes) = world.messages.ranks().profile().internal_traffic();
    ProcessCounts {
        latest_ps: world.latest().as_ps(),
        messages: messages - internal_messages,
        bytes: bytes - internal_bytes,
        internal_messages,
        internal_bytes,
        functions: world.messages.ranks().profile().functions(names),
        compute: world.messages.ranks().profile().compute_sum(world.messages.ranks().local_started()),
        wait: world.messages.ranks().profile().wait_sum(world.messages.ranks().local_started()),
        cpu_s: meter.cpu_s(),
        rss: crate::host::peak_rss_bytes(),
        switches,
        long_intervals: Vec::new(),
        interrupted_intervals: world.messages.ranks().profile().intervals.interruptions.of_run(),
    }
}

/// Returns why a run ended before its program did, if it did.
fn early_end(ending: &Ending) -> Option<EarlyEnd> {
    let cause = match ending.cause {
        Some(Cause::Deadlock) => EndCause::Deadlock,
        Some(Cause::Signal) => EndCause::Signal,
        None if ending.status == 0 => return None,
        None => EndCause::Failure,
    };
    let lines = ending.messages.iter().flat_map(|message| message.lines());
    let mut sentences: Vec<String> = lines.map(|line| line.trim().to_owned()).collect();
    if sentences.is_empty() {
        sentences.push(format!("the run ended with exit status {}; standard error said why", ending.status));
    }
    Some(EarlyEnd { cause, sentences })
}

/// Returns the words of the command line, without the options of the run, which stand by themselves.
fn command() -> Vec<String> {
    let mut words: Vec<_> = std::env::args_os().collect();
    // A command line that does not read was refused before the run.
    drop(Options::from_args(&mut words, []));
    words.into_iter().map(|word| word.to_string_lossy().into_owned()).collect()
}

/// A run that is over.
pub struct RunOutcome<'a> {
    /// The names of the program and of the machine.
    pub names: (String, String),
    /// The meter that has measured the host's time since the run began.
    pub meter: &'a HostMeter,
    /// Native processes.
    pub processes: u32,
    /// Ranks that have run.
    pub ranks: u32,
    /// The counts of all ranks together.
    pub part: ProcessCounts,
    /// The way in which it ended.
    pub ending: &'a Ending,
    /// The report of a packet network.
    pub network: Option<NetworkReport>,
    /// The jobs, if several had the machine at once.
    pub jobs: Vec<JobSummary>,
    /// The time by call site, if a profile was requested.
    pub profile: Option<CallProfile>,
    /// The critical path, if it was requested.
    pub critical_path: Option<CriticalPath>,
}

impl RunOutcome<'_> {
    /// Prints the summary, unless that is not wanted, and writes the files that were asked for.
    ///
    /// # Errors
    /// A sentence with the name of a file that cannot be written, or that standard error took less than all.
    pub fn tell(mut self, options: &Options) -> Result<(), String> {
        let network = self.network.take();
        let report = self.report(options, network.as_ref());
        if !options.quiet {
            engine::stderr::print(format_args!("{}", summary::text(&report)));
            engine::stderr::print(format_args!("{}", ::report::profile::summary(&report.simulated)));
            engine::stderr::print(format_args!("{}", ::report::critical::summary(&report.simulated)));
        }
        if let Some(path) = &options.report {
            report.write(path)?;
        }
        network.map_or(Ok(()), |network| crate::write_network(&network, &options.network_report))?;
        // The files of a run are whole where its summary is lost, but a script must not take it for one that
        // said all.
        match engine::stderr::is_lost() {
            true => Err("standard error takes no more data: what the run said is not whole".to_owned()),
            false => Ok(()),
        }
    }

    fn report(self, options: &Options, network: Option<&NetworkReport>) -> RunReport {
        let RunOutcome {
            names: (program, machine),
            meter,
            processes,
            ranks,
            part,
            ending,
            jobs,
            profile,
            critical_path,
            ..
        } = self;
        RunReport {
            version: RunReport::VERSION,
            simulated: Simulated {
                program,
                machine,
                ranks: ranks.into(),
                virtual_time_ps: part.latest_ps,
                messages: part.messages,
                bytes: part.bytes,
                internal_messages: part.internal_messages,
                internal_bytes: part.internal_bytes,
                functions: part.functions,
                early_end: early_end(ending),
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
                options: options
                    .given
                    .iter()
                    .map(|(name, value)| ((*name).to_owned(), value.clone()))
                    .collect(),
                command: command(),
                date: crate::host::date(),
                xsim: env!("CARGO_PKG_VERSION").to_owned(),
                long_intervals: part.long_intervals,
                interrupted_intervals: part.interrupted_intervals,
            },
        }
    }
}
