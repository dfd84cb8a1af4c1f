//! What recorders are told of the calls that programs make.
//!
//! Each generated entry point begins with one branch ([`intervenes`]). While nobody listens it is never taken, and nothing else is
//! different. Else the entry point calls the function around it, which hands over its arguments as words ([`open`]), calls the entry
//! point again, which lets this one call through, and tells how it ended ([`close`]). So whichever way a program calls MPI (C, Fortran,
//! `PMPI_`, from a library or a callback) each call is told once, and a call in two halves is one call.
//!
//! A status that the program ignores goes into memory of ours, and a send that was complete at once gets a request of its own: so it is
//! known what a wildcard received, and which request is which. Virtual times do not depend on either.

mod arguments;
mod calls;
mod chains;
mod facts;
mod findings;
mod host;
mod module;
mod objects;
mod open;
mod parameter;
mod parked;
mod plan;
mod sent;
mod short;
mod sites;
mod statuses;
mod touched;
mod watch;

use crate::alone;
use crate::call;
use crate::constants::MPI_SUCCESS;
use crate::function::Function;
use crate::threads;
use calls::{Caller, Covered};
use chains::Chains;
use engine::Time;
use facts::Facts;
use findings::Waits;
pub use findings::{begin_quickly, end_quickly};
use mpi::Mpi;
use mpi::world::{Phase, World};
use objects::Known;
use observe::recorder::{Argument, Finding, Left, Region};
use observe::{CallProfile, CriticalPath, Recorder};
use open::Open;
pub use parameter::Form;
use parked::Told;
use short::{Origin, Short};
pub use sites::Frame;
use sites::Sites;
use statuses::Statuses;
use std::cell::UnsafeCell;
use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicU8, Ordering::Relaxed};
use touched::{Memory, Single, Watched};
use watch::Watch;

/// Nobody listens.
const OFF: u8 = 0;
/// Somebody does.
const ON: u8 = 1;
/// Somebody does, and has been told of the call that comes next.
const PASS: u8 = 2;

/// Nobody has said: the run has not begun.
const UNDECIDED: u8 = 3;

static MODE: AtomicU8 = AtomicU8::new(UNDECIDED);

/// Whether an entry point is to go around by the recorders.
#[inline(always)]
pub fn intervenes() -> bool {
    let mode = MODE.load(Relaxed);
    if mode == OFF {
        return false;
    }
    if mode == PASS {
        MODE.store(ON, Relaxed);
    }
    mode != PASS
}

/// Makes one call of an entry point that is not the program's, so that nobody is told of it.
pub fn unheard<T>(call: impl FnOnce() -> T) -> T {
    if MODE.load(Relaxed) == ON {
        MODE.store(PASS, Relaxed);
    }
    call()
}

struct Recording {
    recorders: Vec<Box<dyn Recorder>>,
    /// By rank, from `first` on; of a rank that nobody has listened to yet there is nothing.
    callers: Vec<Option<Box<Caller>>>,
    first: u32,
    /// The call that was opened last, and its rank: most return before another is opened, and go nowhere.
    last: Option<(u32, Open)>,
    /// Room for arguments that no call needs.
    spare: Vec<Vec<Argument>>,
    /// The words of the last call.
    words: Vec<u64>,
    /// The rank and the communicator of the last call that was told in words, and what follows from them.
    position: Option<(u32, Option<usize>, Facts)>,
    /// What blocked calls said on entry.
    told: Told,
    /// Objects that ranks have seen.
    known: Known,
    /// Room for statuses that programs ignore.
    statuses: Statuses,
    /// The statuses of calls within which others are made.
    covered: Vec<Covered>,
    /// If a recorder wants them.
    sites: Option<Sites>,
    /// If a recorder wants to know through which functions calls come.
    chains: Option<Chains>,
    /// Whether a recorder wants to know what receives have learned.
    matches: bool,
    /// Whether all recorders that want calls know them again by their words.
    recognized: bool,
    /// Whether a recorder wants calls with their arguments.
    calls: bool,
    /// What calls wait for, if a recorder wants to know.
    short: Option<Short>,
    /// What findings are made of, if a recorder wants them.
    watch: Option<Watch>,
    /// What is watched of each function, if nobody wants to know more of calls than findings.
    only_watched: Option<&'static [Watched]>,
    /// Findings that recorders have not been told of.
    found: Vec<Finding>,
}

struct Place(UnsafeCell<Option<Recording>>);

// SAFETY: like `state::MPI`: MPI calls of a process are made by one thread at a time, which with one rank a process `alone` sees to;
// the functions that any thread may call are not recorded.
unsafe impl Sync for Place {}

static RECORDING: Place = Place(UnsafeCell::new(None));

/// What is recorded, for a short while: nothing that is called meanwhile calls MPI or switches ranks.
fn with<T>(what: impl FnOnce(&mut Recording) -> T) -> Option<T> {
    // SAFETY: see `Place`; `what` runs to its end before anybody else can come here.
    unsafe { &mut *RECORDING.0.get() }.as_mut().map(what)
}

/// Calls of these ranks are told to these recorders from now on.
pub fn install(mpi: &Mpi, recorders: Vec<Box<dyn Recorder>>, own: Range<u32>) {
    if recorders.is_empty() {
        return MODE.store(OFF, Relaxed);
    }
    let sites = recorders.iter().any(|recorder| recorder.wants_sites()).then(Sites::default);
    let depth = recorders.iter().map(|recorder| recorder.wants_chains()).max().unwrap_or(0);
    let chains = (depth > 0).then(|| Chains::new(depth));
    let matches = recorders.iter().any(|recorder| recorder.wants_matches());
    let recognized = recorders.iter().all(|recorder| recorder.recognizes() || !recorder.wants_calls());
    let calls = recorders.iter().any(|recorder| recorder.wants_calls());
    let short = recorders.iter().any(|recorder| recorder.wants_waits()).then(|| Short::of(own.clone()));
    if short.is_some() {
        mpi.world().messages.find_out_waits();
        if recorders.iter().any(|recorder| recorder.wants_messages()) {
            let wants = |rank| recorders.iter().any(|recorder| recorder.wants_messages() && recorder.wants(rank));
            mpi.world().messages.find_out_messages(wants);
        }
    }
    let watch = recorders.iter().any(|recorder| recorder.wants_findings()).then(|| Watch::of(own.clone()));
    if watch.is_some() {
        mpi.world().messages.compare_types();
    }
    let only_watched = (watch.is_some() && short.is_none() && chains.is_none() && !calls).then(Watched::all);
    let callers = own.clone().map(|_| None).collect();
    let recording = Recording {
        recorders,
        callers,
        first: own.start,
        last: None,
        spare: Vec::new(),
        words: Vec::new(),
        position: None,
        told: Told::default(),
        known: Known::default(),
        statuses: Statuses::default(),
        covered: Vec::new(),
        sites,
        chains,
        matches,
        recognized,
        calls,
        short,
        watch,
        only_watched,
        found: Vec::new(),
    };
    // SAFETY: as in `with`; the run has not begun.
    unsafe { *RECORDING.0.get() = Some(recording) };
    MODE.store(ON, Relaxed);
    threads::recorded();
}

/// What is done where the mounted rank enters a function, whose words are at an address, and where it leaves one, with a code.
#[derive(Clone, Copy)]
pub struct Around {
    /// The function and the address.
    pub entered: fn(Function, usize),
    /// The code.
    pub left: fn(i32),
}

/// Whether somebody is told of events of the tool interface, and what raises them.
// Handed in: the tool interface is above what it listens to.
static RAISES: AtomicBool = AtomicBool::new(false);
static AROUND: OnceLock<Around> = OnceLock::new();

#[inline]
fn raises() -> bool {
    RAISES.load(Relaxed)
}

fn around() -> Option<&'static Around> {
    if raises() { AROUND.get() } else { None }
}

/// Calls are to raise events, or no more.
pub fn raise_events(on: bool, with_these: Around) {
    AROUND.get_or_init(|| with_these);
    RAISES.store(on, Relaxed);
    let listened = with(|_| ()).is_some();
    match MODE.load(Relaxed) {
        OFF if on => MODE.store(ON, Relaxed),
        ON | PASS if !on && !listened => MODE.store(OFF, Relaxed),
        _ => {}
    }
}

/// What [`open`] says to [`close`].
#[derive(Clone, Copy)]
pub struct Opened {
    /// The calling thread has entered MPI.
    entered: bool,
    /// Recorders have been told.
    told: bool,
    /// The call is one that findings are made of.
    watched: bool,
    /// It makes a request, and there is nothing else to be said of it.
    makes: Option<Makes>,
    /// It waits for requests, and there is nothing else to be said of it.
    waits: Option<Waits>,
}

/// A call of one buffer that makes a request.
#[derive(Clone, Copy)]
struct Makes {
    single: &'static Single,
    function: Function,
    site: u32,
    memory: Memory,
}

impl Opened {
    /// Nobody listens.
    const UNHEARD: Opened = Opened { entered: false, told: false, watched: false, makes: None, waits: None };
}

/// A call begins, whose arguments these are: a status among them may be replaced. `frame` is of the function that calls this one.
#[inline(never)]
pub fn open(function: Function, form: Form, words: &mut [u64], frame: &Frame) -> Opened {
    // With one rank a process the run may begin here.
    let mpi = alone::mpi();
    if MODE.load(Relaxed) == OFF {
        return Opened::UNHEARD;
    }
    if mpi.is_alone() {
        threads::enter(function);
    }
    // In place, and not handed from one to the other, which would take as long as to find out.
    let mut opened = Opened { entered: mpi.is_alone(), ..Opened::UNHEARD };
    // A panic is a defect of ours, and the program's frames are not ours to unwind: the call goes on unrecorded.
    let _ = catch_unwind(AssertUnwindSafe(|| with(|recording| recording.open((function, form), words, frame, &mut opened))));
    if let Some(around) = around() {
        (around.entered)(function, words.as_ptr() as usize);
    }
    MODE.store(PASS, Relaxed);
    opened
}

/// The call that was opened last, with these words, has returned.
#[inline(never)]
pub fn close(opened: &Opened, words: &[u64], code: i32) {
    if opened.told {
        // As in `open`.
        let _ = catch_unwind(AssertUnwindSafe(|| with(|recording| recording.close(opened, words, code))));
    }
    if let Some(around) = around() {
        (around.left)(code);
    }
    if opened.entered {
        threads::leave();
    }
}

/// The program wants its rank to be recorded from now on, or not any more.
pub fn listen(rank: u32, on: bool) {
    with(|recording| recording.recorders.iter_mut().for_each(|recorder| recorder.listen(rank, on)));
}

/// A rank goes into a region of the program or leaves one; whether that fits what it said before, as far as anybody listens.
pub fn region(rank: u32, at: Time, region: Region) -> bool {
    let told = |recording: &mut Recording| {
        // All are told, whatever the first says.
        let fits = recording.recorders.iter_mut().map(|recorder| recorder.region(rank, at, region));
        fits.filter(|fits| !fits).count() == 0
    };
    with(told).unwrap_or(true)
}

/// The run is over: calls that have not returned are told of, and nothing after that.
///
/// # Errors
/// A sentence, if something could not be written.
pub fn end() -> Result<(), String> {
    MODE.store(OFF, Relaxed);
    with(Recording::end).unwrap_or(Ok(()))
}

/// What the first process is to know of each recorder of this one, after [`end`].
pub fn parts() -> Vec<Vec<u8>> {
    with(|recording| recording.recorders.iter_mut().map(|recorder| recorder.part()).collect()).unwrap_or_default()
}

/// Brings the parts of all processes together: for each recorder those that [`parts`] gave, by process.
///
/// # Errors
/// A sentence, if something could not be read or written.
pub fn merge(parts: Vec<Vec<Vec<u8>>>) -> Result<(), String> {
    with(|recording| recording.recorders.iter_mut().zip(parts).try_for_each(|(recorder, parts)| recorder.merge(parts))).unwrap_or(Ok(()))
}

/// Where the time went by call site, if a recorder has found out, on the first process, after [`merge`].
pub fn profile() -> Option<CallProfile> {
    with(|recording| recording.recorders.iter_mut().find_map(|recorder| recorder.profile())).flatten()
}

/// What the run's time depended on, if a recorder has found out, on the first process, after [`merge`].
pub fn critical_path() -> Option<CriticalPath> {
    with(|recording| recording.recorders.iter_mut().find_map(|recorder| recorder.critical_path())).flatten()
}

/// The rank computed between two calls.
fn tell_computed(recorders: &mut [Box<dyn Recorder>], rank: u32, left: Time, entered: Time) {
    if entered > left {
        let span = entered.since(left);
        recorders.iter_mut().for_each(|recorder| recorder.computed(rank, left, span));
    }
}

/// Members of collectives have all entered.
fn tell_gathered(recorders: &mut [Box<dyn Recorder>], world: &mut World) {
    if !world.messages.has_gathered() {
        return;
    }
    for (id, entries) in world.messages.gathered() {
        recorders.iter_mut().for_each(|recorder| recorder.gathered(id, &entries));
    }
}

impl Recording {
    #[inline(always)]
    fn open(&mut self, (function, form): (Function, Form), words: &mut [u64], frame: &Frame, opened: &mut Opened) {
        match self.only_watched {
            Some(all) => self.open_watched(&all[function as usize], (function, form), words, frame, opened),
            None => self.open_any((function, form), words, frame, opened),
        }
    }

    #[inline(never)]
    fn open_any(&mut self, (function, form): (Function, Form), words: &mut [u64], frame: &Frame, opened: &mut Opened) {
        let mut world = alone::mpi().world();
        let me = world.messages.me();
        if world.is_at_limit() && world.must_stop().is_some() || !self.recorders.iter().any(|recorder| recorder.wants(me)) {
            return;
        }
        let watched = self.watch.is_some() && Watched::of(function).any;
        if !watched && !self.calls && self.short.is_none() {
            return;
        }
        let entered = world.messages.upcoming_entry();
        let site = self.site(frame, words);
        let chain = self.chains.as_mut().map_or(0, |chains| {
            let told = |number, places: &[_]| self.recorders.iter_mut().for_each(|recorder| recorder.chain(number, places));
            chains.of(function as u16, site, told)
        });
        let origin = Origin { site, chain, entered };
        let before = self.short.as_mut().and_then(|short| short.open(&mut world, function, form, words, origin));
        world.messages.call_from(site);
        if watched {
            self.begin_watching(world, Watched::of(function), (function, site), form, words, opened);
        } else {
            drop(world);
        }
        opened.told = true;
        if !self.calls {
            if let Some(left) = before {
                tell_computed(&mut self.recorders, me, left, entered);
            }
            return alone::mpi().world().messages.go_on_measuring();
        }
        self.open_call((me, function, site, entered), form, words);
        alone::mpi().world().messages.enter_as_told();
    }

    /// The number of the site of a call with these words, if a recorder wants it.
    #[inline]
    fn site(&mut self, frame: &Frame, words: &[u64]) -> u32 {
        self.sites.as_mut().map_or(0, |sites| {
            sites.of(frame, words, |number, place| self.recorders.iter_mut().for_each(|recorder| recorder.site(number, place)))
        })
    }

    /// Tells what the call that returns waited for.
    fn close_short(&mut self) {
        let Some(short) = &mut self.short else { return };
        let mut world = alone::mpi().world();
        short.close(&mut world, &mut self.recorders);
        tell_gathered(&mut self.recorders, &mut world);
    }

    #[inline(always)]
    fn close(&mut self, opened: &Opened, words: &[u64], code: i32) {
        match self.only_watched {
            Some(_) => self.end_watching(opened, words, code),
            None => self.close_any(opened, words, code),
        }
    }

    #[inline(never)]
    fn close_any(&mut self, opened: &Opened, words: &[u64], code: i32) {
        let mpi = alone::mpi();
        self.close_short();
        if opened.watched {
            self.end_watching(opened, words, code);
        }
        if !self.calls {
            return mpi.world().messages.go_on_measuring();
        }
        let (me, at) = {
            let world = mpi.world();
            (world.messages.me(), world.messages.clock(world.messages.me()))
        };
        self.close_call((me, at), words, code);
        mpi.world().messages.go_on_measuring();
    }

    fn end(&mut self) -> Result<(), String> {
        let mut world = alone::mpi().world();
        self.put_away(world.messages.me());
        if let Some(short) = &mut self.short {
            short.end(&mut world, &mut self.recorders);
        }
        tell_gathered(&mut self.recorders, &mut world);
        let kinds = world.chapters.collectives.kinds();
        self.recorders.iter_mut().for_each(|recorder| recorder.collectives(&kinds));
        if let Some(waits) = &world.messages.waits {
            self.recorders.iter_mut().for_each(|recorder| recorder.traffic(&waits.traffic));
        }
        self.tell_left_over(&mut world);
        for (rank, caller) in (self.first..).zip(std::mem::take(&mut self.callers)) {
            // With one rank a process the run ends within this call, which has done its work.
            let Some(caller) = caller else { continue };
            for open in caller.under_way.calls() {
                let call = open.call(rank);
                if open.function == Function::Finalize && world.messages.phase(rank) != Phase::Active {
                    let left = Left { at: world.messages.clock(rank), code: MPI_SUCCESS, name: call::code_name(MPI_SUCCESS) };
                    self.recorders.iter_mut().for_each(|recorder| recorder.call(&call, &left));
                } else {
                    self.recorders.iter_mut().for_each(|recorder| recorder.unfinished(&call));
                }
            }
        }
        self.recorders.iter_mut().try_for_each(|recorder| recorder.end())
    }
}
