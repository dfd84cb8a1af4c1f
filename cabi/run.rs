//! A run from beginning to end: options, machine, ranks, main loop, report.

use crate::function::NAMES;
use crate::state;
use mpi::info::Info;
use mpi::wire::Wire;
use mpi::world::Compute;
use mpi::{Mpi, Setup, World};
use observe::{Host, Report, Simulated};
use rank::{Config, GlobalsMode, Program, Ranks, StackMode};
use simulation::{HostMeter, Options, Progress, options, summary};
use std::ffi::OsString;

/// Exit status of a run that could not begin.
const USAGE: i32 = 2;

/// The program was started: runs it on virtual ranks. Answers the process's exit status.
pub fn start(mut program: Program) -> i32 {
    restore_preload();
    let mut arguments: Vec<OsString> = program.arguments();
    let options = match Options::from_args(&mut arguments, std::env::vars_os()) {
        Ok(options) => options,
        Err(why) => return refuse(&why),
    };
    if options.help {
        print!("{}", options::help_text());
        return 0;
    }
    if options.version {
        println!("xsim {}", env!("CARGO_PKG_VERSION"));
        return 0;
    }
    program.set_arguments(&arguments);
    let name = arguments.first().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    match run(program, &options, name) {
        Ok(status) => status,
        Err(why) => refuse(&why),
    }
}

/// `xsim run` preloads libxsim into a program that would reach it too late, but not into the program's children.
fn restore_preload() {
    let Some(before) = std::env::var_os("XSIM_PRELOADED") else { return };
    // SAFETY: the program has not started, so no other thread reads the environment.
    unsafe {
        if before.is_empty() {
            std::env::remove_var("LD_PRELOAD");
        } else {
            std::env::set_var("LD_PRELOAD", before);
        }
        std::env::remove_var("XSIM_PRELOADED");
    }
}

fn refuse(why: &dyn std::fmt::Display) -> i32 {
    eprintln!("xsim: {why}");
    USAGE
}

fn compute(options: &Options, machine_factor: f64) -> Compute {
    match options.compute {
        options::Compute::None => Compute::None,
        options::Compute::Fixed(span) => Compute::Fixed(span),
        options::Compute::Measured => Compute::Measured { factor: machine_factor },
    }
}

fn setup(options: &Options) -> Result<(Setup, String), String> {
    let built = simulation::machine::build(options)?;
    let machine = simulation::machine::label(options, &built.specification);
    let compute = compute(options, built.processor_factor);
    let policy = options.coll.clone();
    Ok((
        Setup {
            ranks: options.np,
            wire: {
                let node = built.ranks_per_node;
                Wire::new(built, node)
            },
            compute,
            policy,
            names: &NAMES,
            batch: !options.events,
            environment: environment(options),
        },
        machine,
    ))
}

/// What `MPI_INFO_ENV` says (MPI 5.0 section 11.2.1).
fn environment(options: &Options) -> Info {
    let mut info = Info::default();
    let program = std::env::args().next().unwrap_or_default();
    let host = options.machine.clone();
    for (key, value) in [
        ("command", program),
        ("maxprocs", options.np.to_string()),
        ("soft", options.np.to_string()),
        ("host", host),
        ("thread_level", "MPI_THREAD_FUNNELED".to_owned()),
    ] {
        // A value too long for an info object is left out.
        let _ = info.set(key, &value);
    }
    info
}

/// The world of a process whose `main` was not taken over.
pub fn alone() -> Mpi {
    let mut arguments = vec![OsString::from("program")];
    let options = match Options::from_args(&mut arguments, std::env::vars_os()) {
        Ok(options) if options.np == 1 => options,
        Ok(options) => {
            eprintln!(
                "xsim: {} ranks were asked for, but libxsim did not take over main (it was loaded late, or only through another library): \
                 link the program itself with -lxsim, or start it with 'xsim run'",
                options.np
            );
            std::process::exit(USAGE);
        }
        Err(why) => std::process::exit(refuse(&why)),
    };
    match setup(&options) {
        Ok((setup, _)) => Mpi::alone(setup),
        Err(why) => std::process::exit(refuse(&why)),
    }
}

fn config(options: &Options) -> Config {
    let bytes = options.stack as usize;
    Config {
        ranks: options.np,
        first: 0,
        total: options.np,
        stack: match options.stack_mode {
            options::StackMode::Auto if options.given.contains_key("stack") => StackMode::Own { bytes },
            options::StackMode::Auto => StackMode::Auto,
            options::StackMode::Own => StackMode::Own { bytes },
            options::StackMode::Shared => StackMode::Shared { bytes: bytes.max(8 << 20) },
        },
        globals: match options.globals {
            options::Globals::Auto => GlobalsMode::Auto,
            options::Globals::None => GlobalsMode::None,
            options::Globals::Copy => GlobalsMode::Copy,
            options::Globals::Clone => GlobalsMode::Clone,
        },
        globals_libraries: options.globals_libs.clone(),
        globals_fold: options.globals_fold.clone(),
        clear_heap: !options.heap_as_is,
        watchdog: std::time::Duration::try_from_secs_f64(options.watchdog).unwrap_or_default(),
    }
}

fn run(program: Program, options: &Options, name: String) -> Result<i32, String> {
    let meter = HostMeter::start();
    simulation::preflight(options)?;
    let (setup, machine) = setup(options)?;
    let ranks = options.np;
    let mut stacks = Ranks::new(program, config(options))?;
    if options.verbose {
        eprintln!("xsim: {}", stacks.explanation());
    }
    let mpi = state::install(Mpi::new(setup));
    let mut progress = Progress::new(options, u64::from(ranks));
    let mut tick = |world: &World| progress.tick(u64::from(world.ended()), world.clock(world.me()), world.traffic().0);
    let ending = mpi::progress::run(mpi, &mut stacks, &mut tick);
    progress.finish();
    rank::output::flush();
    for message in &ending.messages {
        eprintln!("xsim: {message}");
    }
    let report = report(&mpi.world(), options, (name, machine), &meter, stacks.switches());
    if !options.quiet {
        eprint!("{}", summary::text(&report));
    }
    if let Some(path) = &options.report {
        report.write(path)?;
    }
    Ok(ending.status)
}

fn report(world: &World, options: &Options, (program, machine): (String, String), meter: &HostMeter, switches: u64) -> Report {
    let (messages, bytes) = world.traffic();
    Report {
        simulated: Simulated {
            program,
            machine,
            ranks: u64::from(world.size()),
            virtual_time_ps: world.latest().as_ps(),
            messages,
            bytes,
            functions: world.profile.functions(&NAMES),
            compute: world.profile.compute_spread(),
            wait: world.profile.wait_spread(),
        },
        host: Host {
            native_processes: 1,
            host_time_s: meter.wall_s(),
            cpu_time_s: meter.cpu_s(),
            peak_rss_bytes: simulation::host::peak_rss_bytes(),
            context_switches: switches,
            options: options.given.iter().map(|(name, value)| ((*name).to_owned(), value.clone())).collect(),
        },
    }
}
