//! What recorders are told of the calls that programs make.
//!
//! Each generated entry point begins with one branch ([`intervenes`]). Without a listener it is never taken,
//! and nothing else is different. Else the entry point calls the function around it, which hands over its
//! arguments as words ([`open`]). That one calls the entry point again, lets this one call of the thread
//! through, and reports how it ended ([`Around::returned`]).
//!
//! So whichever way a program calls MPI (C, Fortran, `PMPI_`, from a library or a callback) each call is told
//! once, and a call in two halves is one call. Calls of one rank lie within each other where callbacks call
//! MPI; `nesting.rs` keeps which of them are open.
//!
//! A status that the program ignores goes into memory of ours, and a send that was complete at once gets a
//! request of its own. So the message that a wildcard received is known, and which request is which. Virtual
//! times do not depend on either.

mod calls;
mod chains;
mod findings;
mod host;
mod located;
mod nesting;
mod parked;
mod short;
mod sites;
mod statuses;
mod touched;
mod watch;

use crate::alone;
use crate::call;
use crate::constants::MPI_SUCCESS;
use crate::function::{Function, NAMES};
use crate::interpose::heap::watch_freed;
use crate::threads;
use call_recording::facts::Facts;
use call_recording::level::NestingLevel;
use call_recording::module;
use call_recording::objects::ObjectSets;
pub use call_recording::parameter::ArgumentForm;
use calls::{RecordedRank, SavedStatuses};
use chains::Chains;
use engine::Time;
use findings::Waits;
pub use findings::{begin_quickly, end_quickly};
use host::SimulatedMpi;
pub use located::{Located, current_call};
use mpi::Mpi;
use mpi::world::{Phase, World};
use nesting::{LEFT, LeftCodes, Nesting};
pub use nesting::{enter_callback, leave_callback};
use parked::WordSequences;
use recorder::{ArgumentValue, CallReturn, Finding, RegionEvent};
use recorder::{CallProfile, CriticalPath, LongIntervals, Recorder, Symbols};
use short::{CallOrigin, CallVolume, ProcessCalls};
pub use sites::Frame;
use sites::{Sites, calling_site};
use statuses::Statuses;
use std::cell::{Cell, UnsafeCell};
use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicI32, AtomicU8, Ordering::Relaxed};
use touched::{Memory, SingleBuffer, Watched};
use watch::CallWatch;

/// The arguments of a call of a program in the simulated world.
type ArgumentRegisters = call_recording::arguments::ArgumentRegisters<SimulatedMpi>;
/// A call of a simulated rank that has not returned.
type OpenCall = call_recording::open::OpenCall<SimulatedMpi>;
/// The objects that a simulated rank has seen and not freed.
type TracedObjects = call_recording::objects::TracedObjects<SimulatedMpi>;

/// Nobody listens.
const OFF: u8 = 0;
/// Somebody does.
const ON: u8 = 1;
/// Nobody has said: the run has not begun.
const UNDECIDED: u8 = 2;

static MODE: AtomicU8 = AtomicU8::new(UNDECIDED);

thread_local! {
    /// `true` if the call that the thread makes next is one that recorders have been told of, or are not to
    /// be.
    // Of the thread: between a call's being told and its entry point another thread may make one.
    static PASSES: Cell<bool> = const { Cell::new(false) };
}

/// Returns `true` if an entry point is to go around by the recorders.
#[inline(always)]
pub fn intervenes() -> bool {
    MODE.load(Relaxed) != OFF && !passes()
}

/// Returns `true` if the thread's call is to pass; the next is not.
#[inline(never)]
fn passes() -> bool {
    PASSES.replace(false)
}

/// Makes one call of an entry point that is not the program's, so that nobody is told of it.
pub fn unheard<T>(call: impl FnOnce() -> T) -> T {
    PASSES.set(MODE.load(Relaxed) == ON);
    call()
}

struct CallRecording {
    recorders: Vec<Box<dyn Recorder>>,
    /// By rank, from `first` on; of a rank that nobody has listened to yet there is nothing.
    callers: Vec<Option<Box<RecordedRank>>>,
    first: u32,
    /// The call that was opened last, and its rank: most return before another is opened, and go nowhere.
    last: Option<(u32, OpenCall)>,
    /// Room for arguments that no call needs.
    spare: Vec<Vec<ArgumentValue>>,
    /// The words of the last call.
    words: Vec<u64>,
    /// The rank and the communicator of the last call that was told in words, and what follows from them.
    position: Option<(u32, Option<usize>, Facts)>,
    /// Callbacks under way.
    nesting: Nesting,
    /// Words of blocked calls on entry, each sequence stored once.
    told: WordSequences,
    /// Objects that ranks have seen.
    known: ObjectSets,
    /// Room for statuses that programs ignore.
    statuses: Statuses,
    /// The statuses of calls within which others are made.
    covered: Vec<SavedStatuses>,
    /// If a recorder wants them.
    sites: Option<Sites>,
    /// If a recorder wants to know through which functions calls come.
    chains: Option<Chains>,
    /// `true` if a recorder wants to know what receives have learned.
    matches: bool,
    /// `true` if all recorders that want calls know them again by their words.
    recognized: bool,
    /// `true` if a recorder wants calls with their arguments.
    calls: bool,
    /// Calls under way and their waits, if a recorder records waits.
    short: Option<ProcessCalls>,
    /// Material of findings, if a recorder collects findings.
    watch: Option<CallWatch>,
    /// The watched part of each function's calls, if recorders collect nothing of calls but findings.
    only_watched: Option<&'static [Watched]>,
    /// Findings that recorders have not been told of.
    found: Vec<Finding>,
}

/// Returns the measured intervals of this process that stand out.
pub fn long_intervals(mpi: &Mpi) -> Vec<LongIntervals> {
    let mut symbols = Symbols::default();
    mpi.world()
        .messages
        .ranks_mut()
        .profile_mut()
        .intervals
        .long(&NAMES, |address| symbols.name(&module::place(rank::original(address))))
}

struct RecordingCell(UnsafeCell<Option<CallRecording>>);

// SAFETY: like `state::MPI`: MPI calls of a process are made by one thread at a time, which with one rank a
// process `alone` sees to; the functions that any thread may call are not recorded.
unsafe impl Sync for RecordingCell {}

static RECORDING: RecordingCell = RecordingCell(UnsafeCell::new(None));

/// Returns what is recorded, for a short while: nothing that is called meanwhile calls MPI or switches ranks.
fn with<T>(what: impl FnOnce(&mut CallRecording) -> T) -> Option<T> {
    INSIDE.store(true, Relaxed);
    // SAFETY: see `RecordingCell`; `what` runs to its end before anybody else can come here.
    let done = unsafe { &mut *RECORDING.0.get() }.as_mut().map(what);
    INSIDE.store(false, Relaxed);
    done
}

/// `true` if [`with`] runs: the C library may free memory meanwhile.
static INSIDE: AtomicBool = AtomicBool::new(false);

/// The program frees a block of memory that begins there.
#[cold]
fn freed(block: usize) {
    let Some(own) = rank::caller() else { return };
    if INSIDE.load(Relaxed) || alone::mpi().is_alone() {
        return;
    }
    with(|recording| {
        if let Some(watch) = &mut recording.watch {
            watch.freed(recording.first + own, block, &mut recording.found);
        }
        recording.tell_found();
    });
}

/// Calls of these ranks are told to these recorders from now on.
pub fn install(mpi: &Mpi, recorders: Vec<Box<dyn Recorder>>, own: Range<u32>) {
    mpi.world().messages.ranks_mut().profile_mut().intervals.site = Some(calling_site);
    if recorders.is_empty() {
        return MODE.store(OFF, Relaxed);
    }
    let sites = recorders.iter().any(|recorder| recorder.wants_sites()).then(Sites::default);
    let depth = recorders.iter().map(|recorder| recorder.wants_chains()).max().unwrap_or(0);
    let chains = (depth > 0).then(|| Chains::new(depth));
    let matches = recorders.iter().any(|recorder| recorder.wants_matches());
    let recognized = recorders.iter().all(|recorder| recorder.recognizes() || !recorder.wants_calls());
    let calls = recorders.iter().any(|recorder| recorder.wants_calls());
    let short =
        recorders.iter().any(|recorder| recorder.wants_waits()).then(|| ProcessCalls::of(own.clone()));
    if short.is_some() {
        mpi.world().messages.watching().follow_waits();
        if recorders.iter().any(|recorder| recorder.wants_messages()) {
            let wants =
                |rank| recorders.iter().any(|recorder| recorder.wants_messages() && recorder.wants(rank));
            mpi.world().messages.watch_mut().follow_messages(wants);
        }
    }
    let watch =
        recorders.iter().any(|recorder| recorder.wants_findings()).then(|| CallWatch::of(own.clone()));
    if watch.is_some() {
        mpi.world().messages.watching().compare_types();
        watch_freed(Some(freed));
    }
    let only_watched = (watch.is_some() && short.is_none() && chains.is_none() && !calls).then(Watched::all);
    let callers = own.clone().map(|_| None).collect();
    let recording = CallRecording {
        recorders,
        callers,
        first: own.start,
        last: None,
        spare: Vec::new(),
        words: Vec::new(),
        position: None,
        nesting: Nesting::default(),
        told: WordSequences::default(),
        known: ObjectSets::default(),
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

/// Callbacks that run on entry to and exit from an MPI function. `entered` gets the address of the arguments,
/// `left` the return code.
#[derive(Clone, Copy)]
pub struct Raise {
    /// The function and the address.
    pub entered: fn(Function, usize),
    /// The code.
    pub left: fn(i32),
}

/// `true` if somebody is told of events of the tool interface, and what raises them.
// Handed in: the tool interface is above what it listens to.
static RAISES: AtomicBool = AtomicBool::new(false);
static RAISE: OnceLock<Raise> = OnceLock::new();

#[inline]
fn raises() -> bool {
    RAISES.load(Relaxed)
}

fn raise() -> Option<&'static Raise> {
    if raises() { RAISE.get() } else { None }
}

/// Calls are to raise events, or no more.
pub fn raise_events(on: bool, with_these: Raise) {
    RAISE.get_or_init(|| with_these);
    RAISES.store(on, Relaxed);
    let listened = with(|_| ()).is_some();
    match MODE.load(Relaxed) {
        OFF if on => MODE.store(ON, Relaxed),
        ON if !on && !listened => MODE.store(OFF, Relaxed),
        _ => {}
    }
}

/// Passed from `open` to `close`.
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
    single: &'static SingleBuffer,
    function: Function,
    site: u32,
    memory: Memory,
}

impl Opened {
    /// Nobody listens.
    const UNHEARD: Opened = Opened { entered: false, told: false, watched: false, makes: None, waits: None };
}

/// A call begins, whose arguments these are: a status among them may be replaced. `frame` is of the function
/// that calls this one.
#[inline(never)]
pub fn open(function: Function, form: ArgumentForm, words: &mut [u64], frame: &Frame) -> Opened {
    // With one rank a process the run may begin here.
    let mpi = alone::mpi();
    if MODE.load(Relaxed) == OFF {
        return Opened::UNHEARD;
    }
    if mpi.is_guarded() {
        threads::pass(mpi, function);
    }
    // In place, and not handed from one to the other, which would take as long as to find out.
    let mut opened = Opened { entered: mpi.is_alone(), ..Opened::UNHEARD };
    // A panic is a defect of ours, and the program's frames are not ours to unwind: the call goes on
    // unrecorded.
    let _ = catch_unwind(AssertUnwindSafe(|| {
        with(|recording| recording.open((function, form), words, frame, &mut opened))
    }));
    if let Some(raise) = raise() {
        (raise.entered)(function, words.as_ptr() as usize);
    }
    PASSES.set(true);
    opened
}

/// The value that the call of this thread would have returned which an exception leaves; [`LEFT`] where
/// nothing is known of it.
static THROWN_AT: AtomicI32 = AtomicI32::new(LEFT);

/// Records that the mounted rank's call is left by an exception instead of returning this code.
pub fn throws_instead_of(code: i32) {
    THROWN_AT.store(code, Relaxed);
}

/// A call of an entry point that recorders were told of: however it ends, they are told of that, too.
// An exception of the program runs through the function around the entry point; a jump does not, and is seen
// at the rank's next call.
pub struct Around<'a> {
    opened: &'a Opened,
    words: &'a [u64],
}

impl<'a> Around<'a> {
    /// Returns the call that [`open`] was told of.
    pub fn call(opened: &'a Opened, words: &'a [u64]) -> Around<'a> {
        Around { opened, words }
    }

    /// It has returned.
    #[inline(always)]
    pub fn returned(self, code: i32) {
        close(self.opened, self.words, code);
        std::mem::forget(self);
    }
}

impl Drop for Around<'_> {
    #[cold]
    fn drop(&mut self) {
        close(self.opened, self.words, THROWN_AT.swap(LEFT, Relaxed));
    }
}

/// The call that was opened with these words is over.
#[inline(never)]
fn close(opened: &Opened, words: &[u64], code: i32) {
    if opened.told {
        // As in `open`.
        let _ = catch_unwind(AssertUnwindSafe(|| with(|recording| recording.close(opened, words, code))));
    }
    if let Some(raise) = raise() {
        (raise.left)(code);
    }
    if opened.entered {
        threads::leave();
    }
}

/// The program wants its rank to be recorded from now on, or not any more.
pub fn listen(rank: u32, on: bool) {
    with(|recording| recording.recorders.iter_mut().for_each(|recorder| recorder.listen(rank, on)));
}

/// A rank goes into a region of the program or leaves one; whether that fits what it said before, as far as
/// anybody listens.
pub fn region(rank: u32, at: Time, region: RegionEvent) -> bool {
    let told = |recording: &mut CallRecording| {
        // All are told, whatever the first says.
        let fits = recording.recorders.iter_mut().map(|recorder| recorder.region(rank, at, region));
        fits.filter(|fits| !fits).count() == 0
    };
    with(told).unwrap_or(true)
}

/// Ends the recording with the run: reports calls that have not returned, and nothing after that.
///
/// # Errors
/// A sentence, if something could not be written.
pub fn end() -> Result<(), String> {
    MODE.store(OFF, Relaxed);
    watch_freed(None);
    with(CallRecording::end).unwrap_or(Ok(()))
}

/// Returns what the first process is to know of each recorder of this one, after [`end`].
pub fn parts() -> Vec<Vec<u8>> {
    with(|recording| recording.recorders.iter_mut().map(|recorder| recorder.part()).collect())
        .unwrap_or_default()
}

/// Brings the parts of all processes together: for each recorder those that [`parts`] gave, by process.
///
/// # Errors
/// A sentence, if something could not be read or written.
pub fn merge(parts: Vec<Vec<Vec<u8>>>) -> Result<(), String> {
    with(|recording| {
        recording.recorders.iter_mut().zip(parts).try_for_each(|(recorder, parts)| recorder.merge(parts))
    })
    .unwrap_or(Ok(()))
}

/// Returns where the time went by call site, if a recorder has found out, on the first process, after
/// [`merge`].
pub fn profile() -> Option<CallProfile> {
    with(|recording| recording.recorders.iter_mut().find_map(|recorder| recorder.profile())).flatten()
}

/// Returns what the run's time depended on, if a recorder has found out, on the first process, after
/// [`merge`].
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
    if !world.messages.watch().has_gathered() {
        return;
    }
    for (id, entries) in world.messages.watch_mut().gathered() {
        recorders.iter_mut().for_each(|recorder| recorder.gathered(id, &entries));
    }
}

impl CallRecording {
    #[inline(always)]
    fn open(
        &mut self,
        (function, form): (Function, ArgumentForm),
        words: &mut [u64],
        frame: &Frame,
        opened: &mut Opened,
    ) {
        match self.only_watched {
            Some(all) => self.open_watched(&all[function as usize], (function, form), words, frame, opened),
            None => self.open_any((function, form), words, frame, opened),
        }
    }

    #[inline(never)]
    fn open_any(
        &mut self,
        (function, form): (Function, ArgumentForm),
        words: &mut [u64],
        frame: &Frame,
        opened: &mut Opened,
    ) {
        let mut world = alone::mpi().world();
        let me = world.messages.me();
        if world.is_at_limit() && world.must_stop().is_some()
            || !self.recorders.iter().any(|recorder| recorder.wants(me))
        {
            return;
        }
        let watched = self.watch.is_some() && Watched::of(function).any;
        if !watched && !self.calls && self.short.is_none() {
            return;
        }
        let mut codes = LeftCodes::new();
        let level = self.nesting.level(me, words.as_ptr() as usize, |level, code| codes.push((level, code)));
        if self.leaves_calls(me, level) || self.short.as_ref().is_some_and(|short| short.leaves(me, level)) {
            drop(world);
            self.leave_all(me, level, &codes);
            world = alone::mpi().world();
        }
        let entered = world.messages.ranks_mut().upcoming_entry();
        let site = self.site(frame, words);
        let chain = self.chains.as_mut().map_or(0, |chains| {
            let told = |number, places: &[_]| {
                self.recorders.iter_mut().for_each(|recorder| recorder.chain(number, places))
            };
            chains.of(function as u16, site, told)
        });
        let origin = CallOrigin { site, chain, entered, level };
        let mut before = None;
        if let Some(short) = &mut self.short {
            drop(world);
            let read = ArgumentRegisters::of(function, form, words);
            let bytes = read.sent_bytes();
            world = alone::mpi().world();
            before = short.open(&mut world, function, &read, origin, bytes);
        }
        world.messages.watch_mut().call_from(site);
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
            return alone::mpi().world().messages.ranks_mut().go_on_measuring();
        }
        self.open_call((me, function), origin, form, words);
        alone::mpi().world().messages.ranks_mut().enter_as_foretold();
    }

    /// Returns the number of the site of a call with these words, if a recorder wants it.
    #[inline]
    fn site(&mut self, frame: &Frame, words: &[u64]) -> u32 {
        self.sites.as_mut().map_or(0, |sites| {
            sites.of(frame, words, |number, place| {
                self.recorders.iter_mut().for_each(|recorder| recorder.site(number, place))
            })
        })
    }

    /// Ends the calls of the mounted rank at this level and deeper, which it has left.
    #[cold]
    fn leave_all(&mut self, me: u32, level: NestingLevel, codes: &LeftCodes) {
        let at = {
            let mut world = alone::mpi().world();
            if let Some(short) = &mut self.short {
                short.leave(&mut world, &mut self.recorders, level);
            }
            world.messages.clock(me)
        };
        if self.calls {
            self.leave_calls((me, at), level, codes);
        }
    }

    /// Tells what the call at this level, which returns, waited for.
    fn close_short(&mut self, level: NestingLevel) {
        let Some(short) = &mut self.short else { return };
        let mut world = alone::mpi().world();
        short.close(&mut world, &mut self.recorders, level);
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
        let me = mpi.world().messages.me();
        let mut codes = LeftCodes::new();
        let level = self.nesting.level(me, words.as_ptr() as usize, |level, code| codes.push((level, code)));
        let inner = level.inner();
        if self.leaves_calls(me, inner) || self.short.as_ref().is_some_and(|short| short.leaves(me, inner)) {
            self.leave_all(me, inner, &codes);
        }
        self.close_short(level);
        if opened.watched {
            self.end_watching(opened, words, code);
        }
        if !self.calls {
            return mpi.world().messages.ranks_mut().go_on_measuring();
        }
        let at = mpi.world().messages.clock(me);
        self.close_call((me, at), level, words, code);
        mpi.world().messages.ranks_mut().go_on_measuring();
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
        if let Some(traffic) = world.messages.watch().traffic() {
            self.recorders.iter_mut().for_each(|recorder| recorder.traffic(traffic));
        }
        self.tell_left_over(&mut world);
        for (rank, caller) in (self.first..).zip(std::mem::take(&mut self.callers)) {
            // With one rank a process the run ends within this call, which has done its work.
            let Some(caller) = caller else { continue };
            for open in caller.under_way.calls() {
                let call = open.call(rank);
                if open.function == Function::Finalize && world.messages.ranks()[rank].phase != Phase::Active
                {
                    let left = CallReturn {
                        at: world.messages.clock(rank),
                        code: MPI_SUCCESS,
                        name: call::code_name(MPI_SUCCESS),
                    };
                    self.recorders.iter_mut().for_each(|recorder| recorder.call(&call, &left));
                } else {
                    self.recorders.iter_mut().for_each(|recorder| recorder.unfinished(&call));
                }
            }
        }
        self.recorders.iter_mut().try_for_each(|recorder| recorder.end())
    }
}
