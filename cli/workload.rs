//! Runs of ranks without a program, from the options to the report.

use crate::failure::{Failure, USAGE};
use engine::EndOfTime;
use mpi::charging::Compute;
use mpi::wire::Wire;
use mpi::{Mpi, Setup, World};
use simulation::{HostMeter, Options, Progress, outcome};
use std::process::ExitCode;
use workload::{Machines, NAMES, Workload};

/// Runs a workload of this name.
pub fn run(options: &Options, name: String, workload: impl Workload) -> Result<ExitCode, Failure> {
    let unusable = |why: String| Failure::with(USAGE, why);
    let meter = HostMeter::start();
    simulation::preflight(options, options.np, 1, true).map_err(unusable)?;
    let built = simulation::machine::build(options).map_err(unusable)?;
    let machine = simulation::machine::label(options, &built.specification);
    let (flop_rate, node) = (built.flop_rate, built.ranks_per_node);
    let wire = Wire::new(built, node);
    if !options.network_report.is_empty() && !wire.is_shared() {
        let why =
            "--network-report is for packet networks: on this machine a message's time is a formula and no packet moves; add level=packet";
        return Err(unusable(why.to_owned()));
    }
    let mpi = Mpi::new(Setup {
        compute: Compute::None,
        flop_rate,
        policy: options.coll.clone(),
        batch: !options.events,
        payloads: false,
        ..Setup::new(options.np, wire, &NAMES)
    });
    let mut machines = Machines::new(&mpi, workload);
    let mut progress = Progress::new(options, options.np.into());
    let mut tick = |world: &World| {
        progress.tick(u64::from(world.ended()), world.messages.clock(world.messages.me()), world.messages.traffic().0);
    };
    let ending = EndOfTime::catch(|| machines.run(&mut tick));
    progress.finish();
    let ending = ending.map_err(|EndOfTime(why)| {
        let world = mpi.world();
        let (rank, at) = world.messages.furthest();
        unusable(format!("rank {rank} at {at}: {}: {why}", world.messages.function_of(rank)))
    })?;
    for message in &ending.messages {
        eprintln!("xsim: {message}");
    }
    let (part, network) = {
        let world = mpi.world();
        (outcome::part(&world, &NAMES, &meter, machines.resumed()), world.messages.network_report())
    };
    let mut report = outcome::report(part, options, (name, machine), &meter, 1);
    report.simulated.network = network.as_ref().and_then(|network| serde_json::to_value(network).ok());
    outcome::tell(&report, network.as_ref(), options).map_err(unusable)?;
    Ok(ExitCode::from(u8::try_from(ending.status).unwrap_or(1)))
}
