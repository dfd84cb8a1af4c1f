//! Threads of a process that is one rank: one at a time is inside MPI.
//!
//! With `MPI_THREAD_MULTIPLE` any may call at any time, and waits for its turn; one that is blocked lets
//! others in meanwhile ([`mpi::alone::Door`]). With less, two at once are a mistake of the program, and the
//! run ends. A thread that waits is served in the order in which it came.

use crate::constants::{MPI_THREAD_MULTIPLE, MPI_THREAD_SERIALIZED};
use crate::function::{Function, Property};
use engine::Time;
use mpi::Mpi;
use mpi::alone::Door;
use std::cell::Cell;
use std::collections::VecDeque;
use std::os::unix::fs::MetadataExt;
use std::sync::atomic::{AtomicBool, AtomicI32, AtomicU32, AtomicU64, AtomicUsize, Ordering::Relaxed};
use std::sync::{Condvar, Mutex, MutexGuard};
use std::time::{Duration, Instant};

/// The thread that is inside MPI, and the threads that wait.
struct EntryMonitor {
    /// The thread whose turn it is (0: nobody's).
    owner: usize,
    /// Number of calls that the owner is in: callbacks may call MPI.
    depth: u32,
    /// `true` if its call is one that any thread may make at any time.
    briefly: bool,
    /// Threads that are at the door, the first to come in front, and whether their calls are brief.
    queue: VecDeque<(usize, bool)>,
    /// The blocked thread that does the rank's work (0: none).
    driver: usize,
    /// Number of times that a thread was let in for a call that may change something.
    entries: u64,
    /// Number of times that a thread was let in since the driver last gave its turn away.
    since: u32,
    /// Threads that look at all this when it changes.
    waiting: u32,
}

static INSIDE: Mutex<EntryMonitor> = Mutex::new(EntryMonitor {
    owner: 0,
    depth: 0,
    briefly: false,
    queue: VecDeque::new(),
    driver: 0,
    entries: 0,
    since: 0,
    waiting: 0,
});
/// Something of it has changed that others wait for.
static CHANGED: Condvar = Condvar::new();
/// As many threads as are at the door.
// Beside the lock: the driver asks each time round, and seldom is anybody there.
static KNOCKING: AtomicUsize = AtomicUsize::new(0);
/// Number of threads that have ever been inside MPI.
static SEEN: AtomicUsize = AtomicUsize::new(0);
/// `true` if recorders are told of the calls.
static RECORDED: AtomicBool = AtomicBool::new(false);
/// The highest level that the program was granted.
static GRANTED: AtomicI32 = AtomicI32::new(0);
/// Threads of the process that are not the program's: the transport's.
static HELPERS: AtomicUsize = AtomicUsize::new(0);
/// The thread that made the first call.
static FIRST: AtomicUsize = AtomicUsize::new(0);
/// The rank's clock when a thread last asked for it, in picoseconds.
static CLOCK: AtomicU64 = AtomicU64::new(0);

/// Calls of others after which the driver comes first.
// It alone looks at other processes: a thread that polls all the time must not keep it from that.
const PATIENCE: u32 = 32;

/// Longest time that a process that ends waits for a thread that is inside MPI.
const LAST: Duration = Duration::from_secs(1);

/// Returns a number for the calling thread, never 0.
fn thread() -> usize {
    thread_local!(static HERE: Cell<u64> = const { Cell::new(0) });
    HERE.with(|here| std::ptr::from_ref(here) as usize)
}

/// Returns the number of the calling thread, from 0 in the order in which threads first ask.
pub fn number() -> u32 {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    thread_local!(static NUMBER: Cell<Option<u32>> = const { Cell::new(None) });
    NUMBER.with(|number| {
        let known = number.get().unwrap_or_else(|| NEXT.fetch_add(1, Relaxed));
        number.set(Some(known));
        known
    })
}

fn inside() -> MutexGuard<'static, EntryMonitor> {
    // What a panic left is whole: nothing under this lock can panic half done.
    INSIDE.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
}

impl EntryMonitor {
    /// Returns `true` if a thread that comes now may go in.
    fn is_free(&self) -> bool {
        self.owner == 0 && self.queue.is_empty() && !self.driver_comes_first()
    }

    fn driver_comes_first(&self) -> bool {
        self.driver != 0 && self.since >= PATIENCE
    }

    fn let_in(&mut self, (thread, briefly): (usize, bool)) {
        (self.owner, self.depth, self.briefly) = (thread, 1, briefly);
        // What any thread may call at any time changes nothing.
        self.entries += u64::from(!briefly);
        self.since += 1;
    }

    /// The turn of whoever had it is over.
    // The next one is let in here and not once it wakes: who comes before it does sees whose turn it is.
    fn release(&mut self) {
        (self.owner, self.depth) = (0, 0);
        if !self.driver_comes_first()
            && let Some(next) = self.queue.pop_front()
        {
            self.let_in(next);
        }
        KNOCKING.store(self.queue.len(), Relaxed);
        self.tell();
    }

    fn tell(&self) {
        if self.waiting > 0 {
            CHANGED.notify_all();
        }
    }
}

/// Waits until something has changed, or until then.
fn changed(
    mut inside: MutexGuard<'static, EntryMonitor>,
    until: Option<Instant>,
) -> MutexGuard<'static, EntryMonitor> {
    inside.waiting += 1;
    let mut inside = match until {
        None => CHANGED.wait(inside).unwrap_or_else(|poisoned| poisoned.into_inner()),
        Some(until) => {
            let left = until.saturating_duration_since(Instant::now());
            CHANGED.wait_timeout(inside, left).unwrap_or_else(|poisoned| poisoned.into_inner()).0
        }
    };
    inside.waiting -= 1;
    inside
}

/// Waits until a blocked thread, which has left `depth` calls, may go on. Another thread lets it in. If no
/// other thread does the rank's work, it also goes on once no thread is inside and one has entered since
/// `entries`, or at `until`.
fn regain(mut inside: MutexGuard<'static, EntryMonitor>, depth: u32, entries: u64, until: Option<Instant>) {
    let me = thread();
    loop {
        let drives = inside.driver == 0 || inside.driver == me;
        let due = inside.entries != entries || until.is_some_and(|until| until <= Instant::now());
        if inside.owner == 0 && drives && due && (inside.queue.is_empty() || inside.driver_comes_first()) {
            (inside.owner, inside.driver, inside.since) = (me, me, 0);
        }
        if inside.owner == me {
            (inside.depth, inside.briefly) = (depth, false);
            return;
        }
        let until = until.filter(|_| drives && !due);
        inside = changed(inside, until);
    }
}

/// Counts the calling thread, if this is its first call.
fn count() {
    thread_local!(static SEEN_BEFORE: Cell<bool> = const { Cell::new(false) });
    if !SEEN_BEFORE.replace(true) {
        SEEN.fetch_add(1, Relaxed);
    }
}

/// A thread calls where threads are told apart: where each process is one rank, it enters once it is its
/// turn; of a rank among others only the thread that runs it may go on.
#[cold]
pub fn pass(mpi: &Mpi, function: Function) {
    if mpi.is_alone() {
        enter(function);
    } else if rank::threads::owner().is_some() {
        refuse(function.name());
    }
}

/// The call of a thread that [`pass`] let go on is over.
#[cold]
pub fn depart(mpi: &Mpi) {
    if mpi.is_alone() {
        leave();
    }
}

/// Ends the process: a thread that a rank started has made this call.
#[cold]
pub fn refuse(call: &str) -> ! {
    rank::threads::end_process(&format!(
        "{call} was called by a thread that the rank started: {}",
        rank::FUNNELED
    ))
}

/// The calling thread enters MPI, once it is its turn.
#[cold]
pub fn enter(function: Function) {
    come_in(Some(function).filter(|function| !function.is(Property::Threads)));
}

/// The calling thread comes in, with a call that two threads may be in at once only where that was granted,
/// or briefly with none of these.
fn come_in(function: Option<Function>) {
    let (me, briefly) = (thread(), function.is_none());
    let mut inside = inside();
    if inside.owner == me {
        inside.depth += 1;
        return;
    }
    count();
    if inside.is_free() {
        return inside.let_in((me, briefly));
    }
    if let Some(function) = function
        && !inside.briefly
        && inside.owner != 0
        && GRANTED.load(Relaxed) < MPI_THREAD_MULTIPLE
    {
        crossed(function);
    }
    inside.queue.push_back((me, briefly));
    KNOCKING.store(inside.queue.len(), Relaxed);
    inside.tell();
    while inside.owner != me {
        inside = changed(inside, None);
    }
}

/// The process ends in the calling thread, which comes in if it can: one that is inside may never leave, and
/// the end does not wait for it.
pub fn enter_at_exit() {
    let me = thread();
    let until = Instant::now() + LAST;
    let mut inside = inside();
    if inside.owner == me {
        inside.depth += 1;
        return;
    }
    inside.queue.push_back((me, false));
    KNOCKING.store(inside.queue.len(), Relaxed);
    if inside.owner == 0 {
        inside.release();
    }
    while inside.owner != me && Instant::now() < until {
        inside = changed(inside, Some(until));
    }
    if inside.owner != me {
        inside.let_in((me, false));
    }
}

/// The calling thread's turn at what is no call of MPI, until it is dropped.
pub struct Turn(());

impl Turn {
    /// Waits for it, whatever the program was granted: what a call does with it is brief.
    pub fn take() -> Turn {
        come_in(None);
        Turn(())
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        leave();
    }
}

/// The calling thread leaves the call that it entered last.
pub fn leave() {
    let mut inside = inside();
    inside.depth -= 1;
    if inside.depth == 0 {
        inside.release();
    }
}

#[cold]
fn crossed(function: Function) -> ! {
    let why = match GRANTED.load(Relaxed) {
        MPI_THREAD_SERIALIZED if most() == MPI_THREAD_SERIALIZED => {
            "one thread at a time may be while calls are recorded (MPI_THREAD_SERIALIZED, as MPI_Init_thread \
             answered); leave the options that record calls out, or put a lock around the calls"
        }
        MPI_THREAD_SERIALIZED => {
            "one thread at a time may be (MPI_THREAD_SERIALIZED, as MPI_Init_thread answered); ask \
             MPI_Init_thread for MPI_THREAD_MULTIPLE, or put a lock around the calls"
        }
        _ => "call MPI_Init_thread and ask for MPI_THREAD_MULTIPLE where threads call MPI at once",
    };
    eprintln!("xsim: {} was called while another thread is in an MPI call: {why}", function.name());
    // SAFETY: ends the process at once: the other thread is in the middle of something.
    unsafe { libc::_exit(1) }
}

/// The highest level of threads that a program can have.
// Recorders keep which calls a rank is in as one stack.
pub fn most() -> i32 {
    if RECORDED.load(Relaxed) { MPI_THREAD_SERIALIZED } else { MPI_THREAD_MULTIPLE }
}

/// Recorders are told of the calls.
pub fn recorded() {
    RECORDED.store(true, Relaxed);
}

/// Notes that the program was answered that it has this level.
pub fn granted(level: i32) {
    GRANTED.fetch_max(level, Relaxed);
}

/// Returns the highest level that the program was answered.
pub fn level() -> i32 {
    GRANTED.load(Relaxed)
}

/// Returns how many threads the process has.
// The links of that directory are itself, its parent's entry, and one for each: one call of the system, where
// reading it would be several.
fn threads() -> usize {
    std::fs::metadata("/proc/self/task").map_or(0, |task| task.nlink() as usize).saturating_sub(2)
}

/// Connects to other processes: threads that this makes call nothing of the program's.
pub fn without<T>(connect: impl FnOnce() -> T) -> T {
    let before = threads();
    let result = connect();
    HELPERS.store(threads().saturating_sub(before), Relaxed);
    result
}

/// The calling thread makes the first call.
pub fn begin() {
    FIRST.store(thread(), Relaxed);
}

/// Returns `true` if the calling thread made the first call.
pub fn is_first() -> bool {
    FIRST.load(Relaxed) == thread()
}

/// Returns what `MPI_Wtime` tells: any thread may ask at any time.
pub fn read_clock(mpi: &Mpi) -> Time {
    let me = thread();
    {
        let mut inside = inside();
        if inside.owner == me {
            inside.depth += 1;
        } else if inside.is_free() {
            inside.let_in((me, true));
        } else {
            return Time::from_ps(CLOCK.load(Relaxed));
        }
    }
    let now = mpi.world().messages.ranks_mut().read_clock();
    CLOCK.store(now.as_ps(), Relaxed);
    leave();
    now
}

/// Returns the time of `MPI_Wtime` where threads are told apart.
#[cold]
pub fn read_any_clock(mpi: &Mpi) -> Time {
    if mpi.is_alone() {
        return read_clock(mpi);
    }
    match rank::clock::beside() {
        Some(time) => time,
        None => {
            let now = mpi.world().messages.ranks_mut().read_clock();
            rank::clock::publish(now);
            now
        }
    }
}

/// The threads of a process that is one rank, as its main loop sees them.
pub struct RankThreads;

impl Door for RankThreads {
    fn call_site(&self) -> Option<String> {
        crate::recording::current_call()
    }
    fn me(&self) -> usize {
        thread()
    }
    fn knocks(&self) -> bool {
        KNOCKING.load(Relaxed) != 0
    }
    fn several(&self) -> bool {
        SEEN.load(Relaxed) > 1 && GRANTED.load(Relaxed) >= MPI_THREAD_MULTIPLE
    }
    fn outside(&self, blocked: usize) -> bool {
        GRANTED.load(Relaxed) >= MPI_THREAD_MULTIPLE && threads() > blocked + HELPERS.load(Relaxed)
    }
    fn let_in(&self, at_most: Duration) -> bool {
        let mut inside = inside();
        let (depth, entries) = (inside.depth, inside.entries);
        (inside.driver, inside.since) = (thread(), 0);
        inside.release();
        regain(inside, depth, entries, Some(Instant::now() + at_most));
        self::inside().entries != entries
    }
    fn pass(&self, to: usize) {
        let mut inside = inside();
        let (depth, entries) = (inside.depth, inside.entries);
        inside.owner = to;
        inside.tell();
        regain(inside, depth, entries.wrapping_sub(1), None);
    }
    fn drives(&self) -> bool {
        let me = thread();
        let mut inside = inside();
        if inside.driver == 0 || inside.driver == me {
            inside.driver = me;
            return true;
        }
        let (depth, entries) = (inside.depth, inside.entries);
        inside.release();
        regain(inside, depth, entries.wrapping_sub(1), None);
        false
    }
    fn goes_on(&self) {
        let mut inside = inside();
        if inside.driver == thread() {
            inside.driver = 0;
        }
    }
}
