//! A run from beginning to end: options, machine, ranks, main loop, report.

use crate::function::NAMES;
use crate::recording::{self, Located};
use crate::state;
use engine::EndOfTime;
use mpi::info::Info;
use mpi::remote::Remote;
use mpi::{Mpi, Setup, World};
use rank::{Config, GlobalsMode, Program, Ranks, StackMode};
use simulation::host::resident_bytes;
use simulation::memory::Forecast;
use simulation::outcome::{self, RunOutcome};
use simulation::{HostMeter, Options, Progress, options, processes};
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
    if let Some(why) = crate::interpose::fortran::is_inside() {
        return refuse(&why);
    }
    prepare_heap();
    program.set_arguments(&arguments);
    let name = arguments.first().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    match run(program, &options, name) {
        Ok(status) => status,
        Err(why) => refuse(&why),
    }
}

/// `xsim run` preloads libxsim into a program that would reach it too late, but not into the program's
/// children.
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

/// Keeps freed memory of the heap, where the C library would give it back to the system: the rank that frees
/// last would be charged for the memory of all. Buffers of ranks and collectives come and go, too, and to
/// touch memory anew costs several times as much as to copy it.
///
/// The beginning of the heap lies on large pages. A thousand ranks with a few kilobytes each are on more
/// small ones than the processor keeps addresses of: a stencil of 1 KiB faces takes 8 % longer with those. It
/// is no more, since a program may leave most of what it allocates untouched. Up to the first large page
/// there are small ones, which are made present with it: the first ranks' blocks lie there.
fn prepare_heap() {
    const LARGEST: libc::c_int = 32 << 20;
    const BEGINNING: usize = 128 << 20;
    /// Freed memory at the heap's end is never given back.
    const NEVER: libc::c_int = -1;
    const PAGE: usize = 2 << 20;
    /// Bytes by which the C library extends the heap at a time by default.
    const PAD: libc::c_int = 128 << 10;
    /// Bytes by which it extends the heap behind the beginning: as many as are made present at a time
    /// (`rank::heap::presence`).
    const STEP: libc::c_int = 2 << 20;
    // SAFETY: settings that are plain numbers, made before the program's own code begins; a block that is
    // freed at once; and advice on the memory between it and the end of the heap, which the C library owns
    // and nobody gives back.
    unsafe {
        libc::mallopt(libc::M_MMAP_THRESHOLD, LARGEST);
        libc::mallopt(libc::M_TRIM_THRESHOLD, NEVER);
        libc::mallopt(libc::M_TOP_PAD, BEGINNING as libc::c_int);
        let block = rank::heap::allocate(2 * PAD as usize).map_or(0, |block| block.0);
        let (from, to) = (block.next_multiple_of(PAGE), libc::sbrk(0) as usize);
        rank::heap::release(rank::Addr(block));
        libc::mallopt(libc::M_TOP_PAD, STEP);
        // The heap may be elsewhere, where something lies behind it.
        if (block..block + 2 * BEGINNING).contains(&to) && from < to {
            libc::madvise(from as *mut libc::c_void, to - from, libc::MADV_HUGEPAGE);
            rank::heap::presence::prepare(block..to, block + 2 * PAD as usize);
        }
    }
}

/// Says why a run cannot begin or end; answers the exit status for that.
pub fn refuse(why: &dyn std::fmt::Display) -> i32 {
    eprintln!("xsim: {why}");
    USAGE
}

/// Returns what a run needs to begin, and the machine's name.
pub fn setup(options: &Options, remote: Option<Remote>) -> Result<(Setup, String), String> {
    crate::given::install(&options.given);
    let (setup, machine) = simulation::setup(options, &NAMES)?;
    let setup = processes::spread(setup, remote);
    simulation::recorders::check(options, &NAMES)?;
    // Decided for the whole run before it begins: the first receive that is cancelled must find the matches
    // held. What a program loads while it runs, as Python does, may cancel.
    let cancels = rank::is_any_called(&["MPI_Cancel", "PMPI_Cancel", "dlopen"]);
    Ok((Setup { environment: environment(options, "MPI_THREAD_FUNNELED"), cancels, ..setup }, machine))
}

/// Returns what `MPI_INFO_ENV` says (MPI 5.0 section 11.2.1).
pub fn environment(options: &Options, threads: &str) -> Info {
    let mut info = Info::default();
    let program = std::env::args().next().unwrap_or_default();
    let host = options.machine.clone();
    for (key, value) in [
        ("command", program),
        ("maxprocs", options.np.to_string()),
        ("soft", options.np.to_string()),
        ("host", host),
        ("thread_level", threads.to_owned()),
    ] {
        // A value too long for an info object is left out.
        let _ = info.set(key, &value);
    }
    info
}

fn config(options: &Options, (first, ranks): (u32, u32)) -> Config {
    let bytes = options.stack.map(|bytes| bytes as usize);
    Config {
        ranks,
        spare: ranks - options.np.saturating_sub(first).min(ranks),
        first,
        total: options.places(),
        stack: match options.stack_mode {
            options::StackOption::Auto if bytes.is_some() => StackMode::Own { bytes },
            options::StackOption::Auto => StackMode::Auto,
            options::StackOption::Own => StackMode::Own { bytes },
            options::StackOption::Shared => {
                StackMode::Shared { bytes: bytes.map(|bytes| bytes.max(8 << 20)) }
            }
        },
        globals: match options.globals {
            options::GlobalsOption::Auto => GlobalsMode::Auto,
            options::GlobalsOption::None => GlobalsMode::None,
            options::GlobalsOption::Copy => GlobalsMode::Copy,
            options::GlobalsOption::Clone => GlobalsMode::Clone,
        },
        globals_libraries: options.globals_libs.clone(),
        globals_fold: options.globals_fold.clone(),
        clear_heap: !options.heap_as_is,
        watchdog: std::time::Duration::try_from_secs_f64(options.watchdog).unwrap_or_default(),
    }
}

fn run(program: Program, options: &Options, name: String) -> Result<i32, String> {
    let meter = HostMeter::start();
    let remote = processes::remote(options)?;
    let (own, sharing) = processes::own(options, remote.as_ref());
    simulation::preflight(options, own.1, sharing, remote.as_ref().is_none_or(Remote::is_first))?;
    let (setup, machine) = setup(options, remote)?;
    let mut stacks = Located::new(Ranks::new(program, config(options, own))?);
    if matches!(options.compute, options::ComputeOption::Measured) {
        let most = simulation::memory::available().map_or(0, |bytes| bytes / u64::from(sharing) / 4);
        rank::heap::presence::keep(most as usize);
    }
    if options.verbose && own.0 == 0 {
        eprintln!("xsim: {}", stacks.ranks().explanation());
    }
    let mpi = state::install(Mpi::new(setup));
    let (processes, me) = mpi.processes();
    if processes > 1
        && let Some(why) = processes::introduce(mpi, options, "")
    {
        mpi.part();
        return if me == 0 { Err(why) } else { Ok(0) };
    }
    let recorders = simulation::recorders::recorders(options, me, own.0..own.0 + own.1)?;
    recording::install(mpi, recorders, own.0..own.0 + own.1);
    let mut progress = Progress::new(options);
    let mut forecast = Forecast::new(resident_bytes());
    let mut tick = |world: &World| {
        if me == 0 {
            progress.tick(world);
            rank::output::set_line_drawn(progress.is_drawn());
        }
        if forecast.is_due(world.messages.me().saturating_sub(own.0), own.1)
            && let there = simulation::memory::available().map(|bytes| bytes / u64::from(sharing))
            && let Err(why) =
                forecast.check(own.1, resident_bytes().saturating_sub(rank::heap::presence::made()), there)
        {
            progress.finish();
            rank::output::flush();
            // The launcher ends the other processes with this one.
            transport::watch::over();
            std::process::exit(refuse(&why));
        }
    };
    rank::set_last_words(transport::watch::dies);
    crate::interpose::waits::note_threads();
    let ending = EndOfTime::catch(|| mpi::progress::run(mpi, &mut stacks, &mut tick));
    rank::output::set_line_drawn(false);
    progress.finish();
    rank::output::flush();
    let ending = ending.unwrap_or_else(|end| end_of_time(mpi, &end));
    // What a build system compiles with the MPI compiler to try it out, or to run it as a tool of its own, is
    // no simulation.
    if let Some(status) = ending.without_mpi
        && processes == 1
        && !options.given.contains_key("np")
    {
        // Its calls, if it made any, were none of MPI.
        return recording::end().and_then(|()| merge(mpi)).map(|()| failed_if_lost(status));
    }
    close(mpi, &ending, options, (name, machine), &meter, stacks.ranks().switches())?;
    Ok(failed_if_lost(ending.status))
}

/// Returns the status of a run that ends with `status`: lost output is a failure, whose sentence was printed
/// when it happened.
fn failed_if_lost(status: i32) -> i32 {
    if rank::output::is_lost() && status == 0 { 1 } else { status }
}

/// Virtual time ends while ranks wait: names the rank that is furthest. The launcher ends the other processes
/// with this one.
fn end_of_time(mpi: &Mpi, end: &EndOfTime) -> ! {
    let text = mpi.world().messages.ranks().explain(end);
    transport::watch::over();
    std::process::exit(refuse(&text))
}

/// Says how the run ended, writes the summary and the report (on process 0), and parts from the other
/// processes.
pub fn close(
    mpi: &Mpi,
    ending: &mpi::progress::Ending,
    options: &Options,
    names: (String, String),
    meter: &HostMeter,
    switches: u64,
) -> Result<(), String> {
    for message in &ending.messages {
        eprintln!("xsim: {message}");
    }
    let (processes, _) = mpi.processes();
    let recorded = recording::end();
    let mut part = outcome::part(&mpi.world(), &NAMES, meter, switches);
    part.long_intervals = recording::long_intervals(mpi);
    let network = mpi.world().network_report();
    // All processes have ended their parts of what was recorded when they send theirs of the report.
    let part = processes::together(mpi, part)?;
    let recorded = recorded.and(merge(mpi));
    let Some(part) = part else {
        mpi.part();
        return recorded;
    };
    mpi.part();
    // A full disk takes what was recorded, and nothing else of the run.
    let ranks = mpi.world().messages.ranks().started();
    let profile = recording::profile().map(|profile| mpi.world().complete(profile));
    let critical_path = recording::critical_path();
    let jobs = Vec::new();
    let told =
        RunOutcome { names, meter, processes, ranks, part, ending, network, jobs, profile, critical_path }
            .tell(options);
    recorded.and(told)
}

/// Brings what the processes recorded together, on process 0.
fn merge(mpi: &Mpi) -> Result<(), String> {
    let mut of_recorders = Vec::new();
    for part in recording::parts() {
        of_recorders.extend(mpi.gather_bytes(part));
    }
    if mpi.processes().1 == 0 { recording::merge(of_recorders) } else { Ok(()) }
}
