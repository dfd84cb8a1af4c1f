//! Setup that a run needs to begin, from its options.

use crate::machine;
use crate::options::{self, Options};
use mpi::Setup;
use mpi::ranks::effort::Compute;
use mpi::wire::Wire;
use network::Built;

/// Sets up a run in one process, with functions of these names, and what its machine is called.
///
/// # Errors
/// A sentence: the machine cannot be built for this run, or has not what is to be reported.
pub fn setup(options: &Options, names: &'static [&'static str]) -> Result<(Setup, String), String> {
    if let Some(universe) = options.universe.filter(|&universe| universe < options.np) {
        let np = options.np;
        return Err(format!(
            "-xsim-universe {universe} is less than the {np} ranks of the start: it is the most ranks that \
             there will be, those included"
        ));
    }
    setup_on(options, machine::build(options)?, names)
}

/// Refuses a report of the network where messages share none.
///
/// # Errors
/// A sentence with the way out.
pub fn check_network_report(options: &Options, is_shared: bool) -> Result<(), String> {
    if options.network_report.is_empty() || is_shared {
        return Ok(());
    }
    Err("-xsim-network-report (--network-report) is for packet networks: on this machine a message's \
         time is a formula and no packet moves; add level=packet to the machine or leave the option out"
        .to_owned())
}

/// Behaves as [`setup`], on a machine that was built for the run's ranks.
///
/// # Errors
/// A sentence: the machine has not what is to be reported.
pub fn setup_on(
    options: &Options,
    built: Built,
    names: &'static [&'static str],
) -> Result<(Setup, String), String> {
    let label = machine::label(options, &built.specification);
    let compute = compute(options, built.processor_factor);
    let (flop_rate, node) = (built.flop_rate, built.ranks_per_node);
    let wire = Wire::new(built, node);
    check_network_report(options, wire.is_shared())?;
    let failures = options.fail.plan(options.places(), node)?;
    if options.ft && wire.is_shared() {
        return Err(
            "-xsim-ft is for analytic machines, and this one is a packet network: leave level=packet out of \
             the machine"
                .to_owned(),
        );
    }
    let tolerance = options.ft.then_some(options.ft_delay);
    let (policy, batch, check) = (options.coll.clone(), !options.events, options.check);
    let (initial, start_up) = (options.np, options.spawn_time);
    Ok((
        Setup {
            compute,
            flop_rate,
            policy,
            batch,
            check,
            initial,
            start_up,
            failures,
            tolerance,
            ..Setup::new(options.places(), wire, names)
        },
        label,
    ))
}

fn compute(options: &Options, machine_factor: f64) -> Compute {
    match options.compute {
        options::ComputeOption::None => Compute::None,
        options::ComputeOption::Fixed(span) => Compute::Fixed(span),
        options::ComputeOption::Measured => Compute::Measured { factor: machine_factor },
    }
}
