//! Runs of ranks without a program, from the options to the report.

use crate::failure::{Failure, USAGE};
use engine::EndOfTime;
use mpi::charging::Compute;
use mpi::{Mpi, Setup, World};
use network::NetworkReport;
use observe::{Job, Part};
use simulation::outcome::{self, Outcome};
use simulation::{HostMeter, Options, Progress};
use std::process::ExitCode;
use workload::{Found, Machines, Workload};

/// What a run was called, and the machine that it ran on.
pub type Names = (String, String);

/// A run that is over.
pub struct Ran {
    /// Where its ranks are.
    pub mpi: Mpi,
    status: i32,
    part: Part,
    network: Option<NetworkReport>,
    found: Found,
}

/// Runs a workload of this name, whose calls are of the functions in `names`.
pub fn run(options: &Options, name: String, names: &'static [&'static str], workload: impl Workload) -> Result<ExitCode, Failure> {
    let unusable = |why: String| Failure::with(USAGE, why);
    let meter = HostMeter::start();
    simulation::preflight(options, options.np, 1, true).map_err(unusable)?;
    let (setup, machine) = simulation::setup(options, names).map_err(unusable)?;
    let ran = drive(options, setup, &meter, workload)?;
    tell(options, (name, machine), &meter, Vec::new(), ran)
}

/// Runs a workload.
pub fn drive(options: &Options, setup: Setup, meter: &HostMeter, workload: impl Workload) -> Result<Ran, Failure> {
    let names = setup.names;
    if setup.tolerance.is_some() {
        let why = "-xsim-ft (--ft) is for programs: ranks without one cannot go on when another fails; leave it out";
        return Err(Failure::with(USAGE, why.to_owned()));
    }
    let ranks = setup.initial;
    // Machines spawn nothing: there are the ranks of the start alone.
    let mpi = Mpi::new(Setup { compute: Compute::None, payloads: false, ranks: setup.initial, ..setup });
    let mut machines = Machines::new(&mpi, workload);
    let unusable = |why: String| Failure::with(USAGE, why);
    simulation::recorders::check(options, names).map_err(unusable)?;
    machines.listen(simulation::recorders::recorders(options, 0, 0..ranks).map_err(unusable)?);
    let mut progress = Progress::new(options);
    let ending = EndOfTime::catch(|| machines.run(&mut |world: &World| progress.tick(world)));
    progress.finish();
    let ending = ending.map_err(|end| Failure::with(USAGE, mpi.world().messages.explain(&end)))?;
    for message in &ending.messages {
        eprintln!("xsim: {message}");
    }
    let (part, network) = {
        let world = mpi.world();
        (outcome::part(&world, names, meter, machines.resumed()), world.messages.network_report())
    };
    let found = machines.found();
    drop(machines);
    Ok(Ran { mpi, status: ending.status, part, network, found })
}

/// Prints the summary of a run and writes its reports.
pub fn tell(options: &Options, names: Names, meter: &HostMeter, jobs: Vec<Job>, ran: Ran) -> Result<ExitCode, Failure> {
    let Ran { part, network, status, found: Found { profile, critical_path, failed }, .. } = ran;
    Outcome { names, meter, processes: 1, ranks: options.np, part, network, jobs, profile, critical_path }
        .tell(options)
        .map_err(|why| Failure::with(USAGE, why))?;
    failed.map_or(Ok(exit(status)), |why| Err(Failure::new(why)))
}

/// The exit code of a run.
fn exit(status: i32) -> ExitCode {
    ExitCode::from(u8::try_from(status).unwrap_or(1))
}
