//! What a run came to: what was counted, as a report, and where that goes.

use crate::host::HostMeter;
use crate::options::Options;
use crate::summary;
use mpi::World;
use network::NetworkReport;
use observe::{Host, Part, Report, Simulated};

/// What this process counted; `names` are those of the MPI functions.
pub fn part(world: &World, names: &[&'static str], meter: &HostMeter, switches: u64) -> Part {
    let (messages, bytes) = world.messages.traffic();
    Part {
        latest_ps: world.messages.latest().as_ps(),
        messages,
        bytes,
        functions: world.messages.profile.functions(names),
        compute: world.messages.profile.compute_sum(),
        wait: world.messages.profile.wait_sum(),
        cpu_s: meter.cpu_s(),
        rss: crate::host::peak_rss_bytes(),
        switches,
    }
}

/// The report of a run that its processes have counted together, of this program on this machine.
pub fn report(part: Part, options: &Options, (program, machine): (String, String), meter: &HostMeter, processes: u32) -> Report {
    Report {
        simulated: Simulated {
            program,
            machine,
            ranks: options.np.into(),
            virtual_time_ps: part.latest_ps,
            messages: part.messages,
            bytes: part.bytes,
            functions: part.functions,
            compute: part.compute.spread(),
            wait: part.wait.spread(),
            network: None,
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

/// Prints the summary, unless that is not wanted, and writes the files that were asked for.
///
/// # Errors
/// A sentence with the name of a file that cannot be written.
pub fn tell(report: &Report, network: Option<&NetworkReport>, options: &Options) -> Result<(), String> {
    if !options.quiet {
        eprint!("{}", summary::text(report));
    }
    if let Some(path) = &options.report {
        report.write(path)?;
    }
    match network {
        Some(network) => crate::write_network(network, &options.network_report),
        None => Ok(()),
    }
}
