//! Runs of ranks without a program, from the options to the report.

use crate::failure::{Failure, USAGE};
use engine::EndOfTime;
use mpi::charging::Compute;
use mpi::{Mpi, Setup, World};
use simulation::outcome::{self, Outcome};
use simulation::{HostMeter, Options, Progress};
use std::process::ExitCode;
use workload::{Machines, Workload};

/// Runs a workload of this name, whose calls are of the functions in `names`.
pub fn run(options: &Options, name: String, names: &'static [&'static str], workload: impl Workload) -> Result<ExitCode, Failure> {
    let unusable = |why: String| Failure::with(USAGE, why);
    let meter = HostMeter::start();
    simulation::preflight(options, options.np, 1, true).map_err(unusable)?;
    let (setup, machine) = simulation::setup(options, names).map_err(unusable)?;
    // Machines spawn nothing: there are the ranks of the start alone.
    let mpi = Mpi::new(Setup { compute: Compute::None, payloads: false, ranks: setup.initial, ..setup });
    let mut machines = Machines::new(&mpi, workload);
    let mut progress = Progress::new(options);
    let ending = EndOfTime::catch(|| machines.run(&mut |world: &World| progress.tick(world)));
    progress.finish();
    let ending = ending.map_err(|end| unusable(mpi.world().messages.explain(&end)))?;
    for message in &ending.messages {
        eprintln!("xsim: {message}");
    }
    let (part, network) = {
        let world = mpi.world();
        (outcome::part(&world, names, &meter, machines.resumed()), world.messages.network_report())
    };
    Outcome { names: (name, machine), meter: &meter, processes: 1, ranks: options.np, part, network, profile: None }
        .tell(options)
        .map_err(unusable)?;
    Ok(ExitCode::from(u8::try_from(ending.status).unwrap_or(1)))
}
