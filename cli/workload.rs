//! Runs of ranks without a program, from the options to the report, on one native process or several.

use crate::failure::{Failure, USAGE};
use crate::output::note;
use engine::EndOfTime;
use mpi::progress::Ending;
use mpi::ranks::effort::Compute;
use mpi::remote::Remote;
use mpi::{Mpi, Setup, World};
use network::NetworkReport;
use recorder::{JobSummary, ProcessCounts};
use simulation::outcome::{self, RunOutcome};
use simulation::{HostMeter, Options, Progress, processes};
use std::fmt::Write;
use std::path::Path;
use std::process::ExitCode;
use workload::{Found, Machines, Workload};

/// The name of a run, and that of the machine that it ran on.
pub type Names = (String, String);

/// The native processes of a run, as this one knows them.
pub struct Processes {
    remote: Option<Remote>,
    /// Properties that the processes must have alike besides the options, in lines; `None` once they have
    /// met.
    besides: Option<String>,
}

impl Processes {
    /// Connects the processes that a launcher started, if one did. All must have the same command line and
    /// the same files at `paths`.
    pub fn connect(options: &Options, paths: &[&Path]) -> Result<Processes, Failure> {
        let remote = processes::remote(options).map_err(|why| Failure::with(USAGE, why))?;
        let mut besides = String::new();
        if remote.is_some() {
            for argument in std::env::args().skip(1) {
                let _ = writeln!(besides, "the argument {}", argument.escape_debug());
            }
            for path in paths {
                let _ = writeln!(besides, "a file of {}", processes::fingerprint(path).unwrap_or_default());
            }
        }
        Ok(Processes { remote, besides: Some(besides) })
    }

    /// Returns this process's ranks, the first and how many, and how many processes share this host.
    pub fn own(&self, options: &Options) -> ((u32, u32), u32) {
        processes::own(options, self.remote.as_ref())
    }

    /// Returns `true` if this is the one that speaks, and writes files.
    pub fn is_first(&self) -> bool {
        self.remote.as_ref().is_none_or(Remote::is_first)
    }
}

/// A run that is over.
pub struct FinishedRun {
    /// The simulated MPI with this process's ranks.
    pub mpi: Mpi,
    ending: Ending,
    /// The part of all processes in the report, on process 0.
    part: Option<ProcessCounts>,
    network: Option<NetworkReport>,
    found: Found,
    /// The meter of the host; below, the names of program and machine.
    meter: HostMeter,
    names: Names,
}

impl FinishedRun {
    /// Returns the processes of this run, for another one.
    pub fn again(self) -> Processes {
        Processes { remote: self.mpi.again(), besides: None }
    }
}

/// Runs a workload of this name, whose calls are of the functions in `names`.
pub fn run(
    options: &Options,
    others: Processes,
    name: String,
    names: &'static [&'static str],
    workload: impl Workload,
) -> Result<FinishedRun, Failure> {
    let unusable = |why: String| Failure::with(USAGE, why);
    let meter = HostMeter::start();
    let ((_, ranks), sharing) = others.own(options);
    simulation::preflight(options, ranks, sharing, others.is_first()).map_err(unusable)?;
    let (setup, machine) = simulation::setup(options, names).map_err(unusable)?;
    drive(options, others, setup, meter, (name, machine), workload)
}

/// Runs a workload.
pub fn drive(
    options: &Options,
    Processes { remote, besides }: Processes,
    setup: Setup,
    meter: HostMeter,
    names: Names,
    workload: impl Workload,
) -> Result<FinishedRun, Failure> {
    let functions = setup.names;
    let unusable = |why: String| Failure::with(USAGE, why);
    if setup.tolerance.is_some() {
        let why = "-xsim-ft (--ft) is for programs: ranks without one cannot go on when another fails; leave \
            it out";
        return Err(unusable(why.to_owned()));
    }
    let setup = processes::spread(setup, remote);
    simulation::recorders::check(options, functions).map_err(unusable)?;
    // Machines spawn nothing: there are the ranks of the start alone.
    let mpi = Mpi::new(Setup { compute: Compute::None, payloads: false, ranks: setup.initial, ..setup });
    let (processes, me) = mpi.processes();
    if processes > 1 {
        meet(&mpi, options, besides)?;
    }
    let (first, ranks) = mpi.ranks_of(me);
    let mut machines = Machines::new(&mpi, workload);
    machines.listen(simulation::recorders::recorders(options, me, first..first + ranks).map_err(unusable)?);
    let mut progress = Progress::new(options);
    let mut tick = |world: &World| {
        if me == 0 {
            progress.tick(world);
        }
    };
    let ending = EndOfTime::catch(|| machines.run(&mut tick));
    progress.finish();
    let ending = ending.map_err(|end| {
        // The launcher ends the other processes with this one.
        transport::watch::over();
        unusable(mpi.world().messages.ranks().explain(&end))
    })?;
    for message in &ending.messages {
        note!("xsim: {message}");
    }
    let found = machines.found();
    let resumed = machines.resumed();
    drop(machines);
    let part = outcome::part(&mpi.world(), functions, &meter, resumed);
    let part = processes::together(&mpi, part).map_err(unusable)?;
    let network = mpi.world().network_report();
    Ok(FinishedRun { mpi, ending, part, network, found, meter, names })
}

/// Checks that the processes of a run are all there, and belong together.
fn meet(mpi: &Mpi, options: &Options, besides: Option<String>) -> Result<(), Failure> {
    let Some(besides) = besides else {
        mpi.everybody("");
        return Ok(());
    };
    let Some(why) = processes::introduce(mpi, options, &besides) else { return Ok(()) };
    mpi.part();
    // Process 0 says it for all.
    if mpi.processes().1 == 0 { Err(Failure::with(USAGE, why)) } else { std::process::exit(0) }
}

/// Parts from the other processes; process 0 prints the summary of a run and writes its reports.
pub fn tell(options: &Options, jobs: Vec<JobSummary>, ran: FinishedRun) -> Result<ExitCode, Failure> {
    let FinishedRun {
        mpi,
        part,
        network,
        ending,
        found: Found { profile, critical_path, failed },
        meter,
        names,
    } = ran;
    let processes = mpi.processes().0;
    mpi.part();
    if let Some(part) = part {
        RunOutcome {
            names,
            meter: &meter,
            processes,
            ranks: options.np,
            part,
            ending: &ending,
            network,
            jobs,
            profile,
            critical_path,
        }
        .tell(options)
        .map_err(|why| Failure::with(USAGE, why))?;
    }
    failed.map_or(Ok(exit(ending.status)), |why| Err(Failure::new(why)))
}

/// Returns the exit code of a run.
fn exit(status: i32) -> ExitCode {
    ExitCode::from(u8::try_from(status).unwrap_or(1))
}
