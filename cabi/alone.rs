//! One rank a process: a program whose `main` was not taken over is its process's rank, on its own stack.
//!
//! Programs run so that cannot share an address space with others of their kind: an interpreter that loads
//! libxsim as a part of a module, a program whose threads call MPI. Under a launcher there are as many ranks
//! as processes, else one. The run begins with the first MPI call and ends in `MPI_Finalize`, or at the
//! process's exit. Nothing of the process is exchanged or interposed.

use crate::recording;
use crate::run;
use crate::state;
use crate::threads;
use engine::EndOfTime;
use mpi::progress::Ending;
use mpi::remote::Remote;
use mpi::world::Phase;
use mpi::{Mpi, Setup};
use simulation::{HostMeter, Options, processes};
use std::ffi::{OsString, c_int, c_void};
use std::os::unix::ffi::OsStringExt;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use transport::Transport;
use transport::growing::{self, Growing};

/// State that the end of the run needs.
struct RunState {
    options: Options,
    name: String,
    machine: String,
    meter: HostMeter,
    /// The process that is the rank: a fork of it is not.
    process: u32,
}

// SAFETY: threads of the rank touch it inside MPI calls and at the process's exit only, one at a time, like
// all of `state`.
unsafe impl Send for RunState {}

static OPEN: Mutex<Option<RunState>> = Mutex::new(None);
/// `true` if the program was linked with libxsim and asked for one rank a process.
static ASKED: AtomicBool = AtomicBool::new(false);

/// The program's entry point was reached, and it is to be one rank: takes the options out of its arguments,
/// of which `arguments` are left.
pub fn asked(arguments: &mut Vec<OsString>) -> bool {
    let mut left = arguments.clone();
    // What is wrong with an option is said where the run begins.
    let wanted = Options::from_args(&mut left, std::env::vars_os()).is_ok_and(|options| options.one_rank);
    let wanted = wanted || growing::spawned().is_some();
    if wanted {
        ASKED.store(true, Relaxed);
        *arguments = left;
    }
    wanted
}

/// Returns the process's arguments: a library that is loaded late is given none.
fn arguments() -> Vec<OsString> {
    let line = std::fs::read("/proc/self/cmdline").unwrap_or_default();
    let line = line.strip_suffix(b"\0").unwrap_or(&line);
    line.split(|&byte| byte == 0).map(|word| OsString::from_vec(word.to_vec())).collect()
}

/// Returns the simulated MPI; a process whose `main` was not taken over becomes one rank.
#[inline]
pub fn mpi() -> &'static Mpi {
    match state::installed() {
        Some(mpi) => mpi,
        None => late(),
    }
}

#[cold]
fn late() -> &'static Mpi {
    state::install(begin())
}

/// The run begins.
fn begin() -> Mpi {
    match try_begin() {
        Ok(mpi) => mpi,
        Err(why) => std::process::exit(run::refuse(&why)),
    }
}

fn try_begin() -> Result<Mpi, String> {
    let meter = HostMeter::start();
    let mut arguments = arguments();
    let mut options =
        Options::from_args(&mut arguments, std::env::vars_os()).map_err(|why| why.to_string())?;
    if options.map.is_some() {
        return Err(
            "-xsim-map says which ranks a process has, but here each process is one rank: leave it out"
                .to_owned(),
        );
    }
    let spawned = growing::spawned();
    let launcher = if spawned.is_some() { None } else { processes::launcher(&options) };
    if launcher == Some(transport::Launcher::OpenMpi) {
        show_symbols();
    }
    let transport = threads::without(|| transport::connect(launcher))?;
    let processes = spawned.as_ref().map_or(transport.size(), |spawned| spawned.first);
    if options.given.contains_key("np") && options.np != processes {
        return Err(wrong_count(&options, processes));
    }
    options.np = processes;
    let places = options.places();
    let is_late = spawned.is_some();
    let transport: Box<dyn Transport> = match spawned {
        Some(spawned) => Box::new(Growing::join(spawned, places, for_spawned(&options))?),
        None if places > processes => Box::new(Growing::new(transport, places, for_spawned(&options))?),
        None => transport,
    };
    let remote = (places > 1).then(|| Remote::new(transport, places));
    let (setup, machine) = run::setup(&options, remote)?;
    let environment = run::environment(&options, "MPI_THREAD_MULTIPLE");
    let mpi = Mpi::alone(Setup { environment, ..setup }, over, Some(&threads::RankThreads));
    let (processes, me) = mpi.processes();
    if processes > 1
        && !is_late
        && let Some(why) = processes::introduce(&mpi, &options, "")
    {
        mpi.part();
        if me == 0 {
            return Err(why);
        }
        std::process::exit(1);
    }
    recording::install(&mpi, simulation::recorders::recorders(&options, me, me..me + 1)?, me..me + 1);
    let name = arguments.first().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    threads::begin();
    *OPEN.lock().expect("nothing panics with it") =
        Some(RunState { options, name, machine, meter, process: std::process::id() });
    at_exit();
    Ok(mpi)
}

/// Variables of the environment for processes that are spawned: this run's options, however they were given.
fn for_spawned(options: &Options) -> Vec<(OsString, OsString)> {
    let given = options.given.iter().map(|(name, value)| (*name, value.clone()));
    let always = [("np", options.np.to_string()), ("universe", options.places().to_string())];
    given
        .chain(always)
        .map(|(name, value)| (simulation::options::variable(name).into(), value.into()))
        .collect()
}

/// Open MPI makes its symbols visible to everything that is loaded after it. Modules that the program loads
/// later must find ours, so these come first.
fn show_symbols() {
    // SAFETY: all-zero bytes are a valid Dl_info; `begin` is an address in this library, which is loaded
    // already and stays.
    unsafe {
        let mut info: libc::Dl_info = std::mem::zeroed();
        if libc::dladdr(begin as *const c_void, &mut info) != 0 {
            libc::dlopen(info.dli_fname, libc::RTLD_NOW | libc::RTLD_NOLOAD | libc::RTLD_GLOBAL);
        }
    }
}

/// Another number of ranks was asked for than there are processes.
fn wrong_count(options: &Options, processes: u32) -> String {
    let np = options.np;
    let start = format!("start it with 'mpirun -np {np}'");
    let several =
        if processes == 1 { "this is the only one".to_owned() } else { format!("there are {processes}") };
    if ASKED.load(Relaxed) {
        return format!(
            "{np} ranks were asked for with one rank a process, and {several}: {start}, or leave \
             -xsim-one-rank out to run all ranks in one process"
        );
    }
    format!(
        "{np} ranks were asked for, but libxsim did not take over main (it was loaded late, as by Python, or \
         only through another library), so that each process is one rank, and {several}: {start}; a program \
         in C, C++ or Fortran may also be linked with -lxsim, or started with 'xsim run'"
    )
}

/// At the process's exit the run ends, if it has not ended before.
fn at_exit() {
    type Handler = unsafe extern "C" fn(c_int, *mut c_void);
    unsafe extern "C" fn handler(status: c_int, _: *mut c_void) {
        // A child made by fork has one thread, whatever the others of its parent were in.
        if !is_open() {
            return;
        }
        threads::enter_at_exit();
        let failed = end(status);
        if status == 0 && failed != 0 {
            // SAFETY: flushing all streams and leaving are allowed here; the status cannot be changed in
            // another way.
            unsafe {
                libc::fflush(std::ptr::null_mut());
                libc::_exit(failed);
            }
        }
    }
    // The symbol that everybody sees: the C library's own, or the one that hands over to it.
    // SAFETY: looking up a symbol; glibc's `on_exit` has this type, and this library is never unloaded.
    unsafe {
        let found = libc::dlsym(libc::RTLD_DEFAULT, c"on_exit".as_ptr());
        if !found.is_null() {
            std::mem::transmute::<*mut c_void, extern "C" fn(Handler, *mut c_void) -> c_int>(found)(
                handler,
                std::ptr::null_mut(),
            );
        }
    }
}

fn take() -> Option<RunState> {
    // A lock that a panic left is as good as any: nothing is half done under it.
    let mut open = OPEN.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    if open.as_ref().is_none_or(|open| open.process != std::process::id()) {
        return None;
    }
    open.take()
}

/// Returns `true` if there is a run that ends with this process.
fn is_open() -> bool {
    let open = OPEN.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    open.as_ref().is_some_and(|open| open.process == std::process::id())
}

/// Returns `true` if the run has ended, in `MPI_Finalize`.
pub fn is_over() -> bool {
    OPEN.lock().unwrap_or_else(|poisoned| poisoned.into_inner()).is_none()
}

/// The rank has ended: waits for all others, and says on process 0 how it went. Answers the exit status that
/// the run has.
pub fn end(status: i32) -> i32 {
    let (Some(open), Some(mpi)) = (take(), state::installed()) else { return 0 };
    let began = {
        let world = mpi.world();
        world.messages.ranks()[world.messages.me()].phase != Phase::Before
    };
    let ending =
        EndOfTime::catch(|| mpi.end_alone(status)).unwrap_or_else(|EndOfTime(why)| Ending::failed(why));
    close(mpi, open, &ending, began)
}

fn close(mpi: &Mpi, open: RunState, ending: &Ending, began: bool) -> i32 {
    let RunState { mut options, name, machine, meter, .. } = open;
    options.quiet |= !began;
    options.report = options.report.filter(|_| began);
    match run::close(mpi, ending, &options, (name, machine), &meter, 0) {
        Ok(()) => ending.status,
        Err(why) => run::refuse(&why),
    }
}

/// Ends this process with its rank, whose status this is.
pub fn stop(status: i32) -> ! {
    let failed = end(status);
    std::process::exit(if status == 0 { failed } else { status })
}

/// Closes the call in which the rank waits, and ends the process: the run is over.
fn over(ending: Ending) -> ! {
    if let (Some(open), Some(mpi)) = (take(), state::installed()) {
        close(mpi, open, &ending, true);
    }
    std::process::exit(ending.status)
}
