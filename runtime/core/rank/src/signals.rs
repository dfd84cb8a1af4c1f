//! Signal handlers, of which each rank has its own.
//!
//! The kernel has one handler of ours for every signal for which a rank has set one. It looks up what the
//! running rank set, so that switches cost nothing. A rank that set nothing for a signal has what the
//! process had before: a crash report, or the default. A signal from outside the process belongs to the
//! rank that runs; while none runs, it waits for the next that has a handler.

use std::collections::{BTreeMap, HashMap};
use std::ffi::c_void;
use std::mem::zeroed;
use std::ptr::{null, null_mut};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};

use crate::caller::caller;
use crate::next::NextSymbol;
use crate::single::Single;
use crate::{crash, now};

type Sigaction = unsafe extern "C" fn(i32, *const libc::sigaction, *mut libc::sigaction) -> i32;
static REAL: NextSymbol = NextSymbol::new(c"sigaction");

/// Signals that the kernel knows, and one.
const SIGNALS: usize = 65;
/// Flags that a rank's handler is installed with as it asks.
const KEPT_FLAGS: i32 =
    libc::SA_RESTART | libc::SA_ONSTACK | libc::SA_NODEFER | libc::SA_NOCLDSTOP | libc::SA_NOCLDWAIT;

/// Signals that do nothing by default.
const IGNORED: [i32; 4] = [libc::SIGCHLD, libc::SIGCONT, libc::SIGURG, libc::SIGWINCH];

struct SignalTable {
    /// Actions by rank and signal.
    own: HashMap<u32, BTreeMap<i32, libc::sigaction>>,
    /// The number of ranks that have set an action, by signal.
    setters: [u32; SIGNALS],
    /// The process's actions for signals of which a rank has set a handler.
    base: [Option<libc::sigaction>; SIGNALS],
}

impl SignalTable {
    fn new() -> SignalTable {
        SignalTable { own: HashMap::new(), setters: [0; SIGNALS], base: [None; SIGNALS] }
    }

    fn get(&self, rank: u32, signal: i32) -> Option<&libc::sigaction> {
        self.own.get(&rank)?.get(&signal)
    }

    fn put(&mut self, rank: u32, signal: i32, action: libc::sigaction) {
        let is_new = self.own.entry(rank).or_default().insert(signal, action).is_none();
        self.setters[signal as usize] += u32::from(is_new);
    }

    /// Removes a rank's actions for these signals.
    fn remove(&mut self, rank: u32, signals: impl Iterator<Item = i32>) {
        let Some(own) = self.own.get_mut(&rank) else { return };
        for signal in signals {
            self.setters[signal as usize] -= u32::from(own.remove(&signal).is_some());
        }
        if own.is_empty() {
            self.own.remove(&rank);
        }
    }
}

static TABLE: Single<Option<SignalTable>> = Single::new(None);
/// Set while the table is being changed.
static CHANGING: AtomicBool = AtomicBool::new(false);
/// Signals that came while a rank ran that has no handler for them, or none at all; by number.
static WAITING: AtomicU64 = AtomicU64::new(0);

/// Calls the C library's `sigaction`, for the simulator's own handlers.
///
/// # Safety
/// As `sigaction`.
pub(crate) unsafe fn real_sigaction(
    signal: i32,
    new: *const libc::sigaction,
    old: *mut libc::sigaction,
) -> i32 {
    // SAFETY: the C library's function of this type; the caller's contract.
    unsafe { REAL.get::<Sigaction>()(signal, new, old) }
}

fn with<R>(f: impl FnOnce(&mut SignalTable) -> R) -> R {
    CHANGING.store(true, Relaxed);
    // SAFETY: the simulating thread; the closures look up, insert and ask the C library alone.
    let result = unsafe { TABLE.with(|table| f(table.get_or_insert_with(SignalTable::new))) };
    CHANGING.store(false, Relaxed);
    result
}

/// Reads what the process has for a signal.
fn read(signal: i32) -> libc::sigaction {
    // SAFETY: all-zero is a valid structure; only reads.
    unsafe {
        let mut action: libc::sigaction = zeroed();
        real_sigaction(signal, null(), &mut action);
        action
    }
}

/// Implements `sigaction` of a rank, or outside ranks of the process. Returns its result.
///
/// # Safety
/// As `sigaction`.
pub unsafe fn set_action(signal: i32, new: *const libc::sigaction, old: *mut libc::sigaction) -> i32 {
    let is_settable =
        (1..SIGNALS as i32).contains(&signal) && signal != libc::SIGKILL && signal != libc::SIGSTOP;
    let Some(rank) = caller().filter(|_| is_settable) else {
        // SAFETY: the caller's contract.
        return unsafe { real_sigaction(signal, new, old) };
    };
    // SAFETY: the caller's contract: null, or a structure to read.
    let new = unsafe { new.as_ref() }.copied();
    let (last, install) = with(|table| {
        let base = *table.base[signal as usize].get_or_insert_with(|| read(signal));
        let last = table.get(rank, signal).copied().unwrap_or_else(|| as_program_sees(base));
        let Some(new) = new else { return (last, None) };
        let is_first = table.setters[signal as usize] == 0;
        table.put(rank, signal, new);
        // Where no rank has a handler, what the process has stands for the default.
        let is_plain =
            new.sa_sigaction == libc::SIG_DFL || new.sa_sigaction == libc::SIG_IGN && signal == libc::SIGCHLD;
        (last, (!is_plain || !is_first).then_some((new, base)))
    });
    if let Some((new, base)) = install {
        // SAFETY: a handler of the type that SA_SIGINFO asks for.
        unsafe {
            let mut action: libc::sigaction = zeroed();
            action.sa_sigaction = dispatch as *const () as usize;
            action.sa_mask = new.sa_mask;
            action.sa_flags = new.sa_flags & KEPT_FLAGS | base.sa_flags & libc::SA_ONSTACK | libc::SA_SIGINFO;
            real_sigaction(signal, &action, null_mut());
        }
    }
    // SAFETY: the caller's contract: null, or room for a structure.
    unsafe {
        if let Some(old) = old.as_mut() {
            *old = last;
        }
    }
    0
}

/// Returns an action as the program sees it: the default, where a crash report stands.
fn as_program_sees(base: libc::sigaction) -> libc::sigaction {
    if crash::is_report(base.sa_sigaction) {
        // SAFETY: all-zero is a valid structure: the default.
        return unsafe { zeroed() };
    }
    base
}

/// Sets a plain handler with these flags, as `signal` and its relatives do; returns the last handler, or
/// `SIG_ERR`.
///
/// # Safety
/// As `signal`.
pub unsafe fn set_handler(signal: i32, handler: usize, flags: i32) -> usize {
    // SAFETY: all-zero structures are valid before their fields are set; the caller's contract for the
    // handler.
    unsafe {
        let (mut new, mut old): (libc::sigaction, libc::sigaction) = (zeroed(), zeroed());
        new.sa_sigaction = handler;
        new.sa_flags = flags;
        if flags & libc::SA_NODEFER == 0 {
            libc::sigaddset(&mut new.sa_mask, signal);
        }
        if set_action(signal, &new, &mut old) == 0 { old.sa_sigaction } else { libc::SIG_ERR }
    }
}

/// The effect of a signal on a rank that gets it now.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Effect {
    /// A handler runs.
    Handled,
    /// Nothing, or nothing yet: the rank ignores or blocks it.
    None,
    /// The rank has no handler, and the default ends it.
    Kills,
}

/// Returns what a signal would do to the running rank.
pub(crate) fn effect(rank: u32, signal: i32) -> Effect {
    let own = with(|table| table.get(rank, signal).copied().or(table.base[signal as usize]));
    let blocked = change_mask(libc::SIG_BLOCK, None);
    // SAFETY: a set that the kernel has filled.
    if unsafe { libc::sigismember(&blocked, signal) } != 0 {
        return Effect::None;
    }
    match own.unwrap_or_else(|| read(signal)).sa_sigaction {
        libc::SIG_IGN => Effect::None,
        libc::SIG_DFL if IGNORED.contains(&signal) => Effect::None,
        libc::SIG_DFL => Effect::Kills,
        _ => Effect::Handled,
    }
}

/// Forgets what the running rank has set for these signals, so that it has what the process has.
pub(crate) fn forget(signals: impl Iterator<Item = i32>) {
    let Some(rank) = caller() else { return };
    // SAFETY: as in `with`.
    if unsafe { TABLE.with(|table| table.is_some()) } {
        with(|table| table.remove(rank, signals));
    }
}

/// Drops what is kept for a rank that has ended.
pub(crate) fn end(rank: u32) {
    // SAFETY: as in `with`.
    if unsafe { TABLE.with(|table| table.is_some()) } {
        with(|table| table.remove(rank, 1..SIGNALS as i32));
    }
}

/// Raises signals that wait and for which the rank, which is running, has set an action.
pub(crate) fn deliver(rank: u32) {
    let waiting = WAITING.load(Relaxed);
    for signal in (1..SIGNALS as i32).filter(|signal| waiting >> (signal - 1) & 1 != 0) {
        if with(|table| table.get(rank, signal).is_some()) {
            WAITING.fetch_and(!(1 << (signal - 1)), Relaxed);
            raise(signal);
        }
    }
}

/// Bytes of the kernel's set of signals.
const KERNEL_BYTES: usize = 8;

/// Changes which signals this thread blocks, or with no set only asks; returns which it blocked.
pub(crate) fn change_mask(how: i32, set: Option<&libc::sigset_t>) -> libc::sigset_t {
    // SAFETY: an all-zero set is valid; the system call of `sigprocmask`. By number, since that is
    // interposed.
    unsafe {
        let mut last: libc::sigset_t = zeroed();
        let set = set.map_or(null(), std::ptr::from_ref);
        libc::syscall(libc::SYS_rt_sigprocmask, how, set, &raw mut last, KERNEL_BYTES);
        last
    }
}

/// Runs `f` while this thread blocks these signals and no others.
pub fn while_blocking<R>(set: &libc::sigset_t, f: impl FnOnce() -> R) -> R {
    let last = change_mask(libc::SIG_SETMASK, Some(set));
    let result = f();
    change_mask(libc::SIG_SETMASK, Some(&last));
    result
}

/// Sends a signal to this thread.
pub(crate) fn raise(signal: i32) {
    // SAFETY: system calls without pointers.
    unsafe { libc::syscall(libc::SYS_tgkill, libc::getpid(), libc::syscall(libc::SYS_gettid), signal) };
}

/// Keeps a signal until a rank goes on.
fn wait(signal: i32) {
    WAITING.fetch_or(1 << (signal - 1), Relaxed);
    now::mark_private();
}

/// Returns `true` for a signal that an instruction of the thread itself raised, which cannot wait.
fn is_fault(signal: i32, info: *const libc::siginfo_t) -> bool {
    // SAFETY: the kernel passes the structure to a handler with SA_SIGINFO.
    crash::reports(signal) && unsafe { (*info).si_code } > 0
}

/// Returns `true` for a signal that another process has sent.
fn is_from_outside(info: *const libc::siginfo_t) -> bool {
    // SAFETY: the kernel passes the structure to a handler with SA_SIGINFO, with the sender of what `kill`
    // sent.
    unsafe { (*info).si_code == libc::SI_USER && (*info).si_pid() != libc::getpid() }
}

unsafe extern "C" fn dispatch(signal: i32, info: *mut libc::siginfo_t, context: *mut c_void) {
    let is_fault = is_fault(signal, info);
    // SAFETY: looks up entries, unless they are being changed below this handler; then what the kernel gave
    // is passed on.
    unsafe {
        let errno = *libc::__errno_location();
        if !is_fault && !now::is_simulating_thread() {
            // The simulating thread is the process's first, whose number is the process's.
            libc::syscall(libc::SYS_tgkill, libc::getpid(), libc::getpid(), signal);
            return;
        }
        if !is_fault && CHANGING.load(Relaxed) {
            return wait(signal);
        }
        let rank = now::current().or(now::served());
        let (own, base, is_any) = TABLE.with(|table| {
            let Some(table) = table else { return (None, None, false) };
            let own = rank.and_then(|rank| table.get(rank, signal).copied());
            let has_handler = |action: &libc::sigaction| {
                action.sa_sigaction != libc::SIG_DFL && action.sa_sigaction != libc::SIG_IGN
            };
            let is_any = own.is_none()
                && table.own.values().any(|of_rank| of_rank.get(&signal).is_some_and(has_handler));
            (own, table.base[signal as usize], is_any)
        });
        let action = match own {
            Some(own) => own,
            None if is_any && !is_fault && (rank.is_none() || is_from_outside(info)) => return wait(signal),
            None => base.unwrap_or(zeroed()),
        };
        if let Some(rank) = rank
            && own.is_some()
            && action.sa_flags & libc::SA_RESETHAND != 0
        {
            with(|table| table.put(rank, signal, zeroed()));
        }
        let last = change_mask(libc::SIG_BLOCK, Some(&action.sa_mask));
        call(action, signal, info, context, is_fault);
        change_mask(libc::SIG_SETMASK, Some(&last));
        *libc::__errno_location() = errno;
    }
}

/// Calls the handler that an action names.
///
/// # Safety
/// In a handler with SA_SIGINFO, with its arguments.
unsafe fn call(
    action: libc::sigaction,
    signal: i32,
    info: *mut libc::siginfo_t,
    context: *mut c_void,
    is_fault: bool,
) {
    // SAFETY: a handler of the type that its flags say, with the kernel's arguments.
    unsafe {
        match action.sa_sigaction {
            libc::SIG_IGN if !is_fault => {}
            libc::SIG_DFL | libc::SIG_IGN => default(signal, info, context),
            handler if action.sa_flags & libc::SA_SIGINFO != 0 => {
                std::mem::transmute::<usize, unsafe extern "C" fn(i32, *mut libc::siginfo_t, *mut c_void)>(
                    handler,
                )(signal, info, context);
            }
            handler => std::mem::transmute::<usize, unsafe extern "C" fn(i32)>(handler)(signal),
        }
    }
}

/// Acts as the system does by default: reports a crash, or ends the process with the signal.
///
/// # Safety
/// As `call`.
unsafe fn default(signal: i32, info: *mut libc::siginfo_t, context: *mut c_void) {
    if IGNORED.contains(&signal) {
        return;
    }
    // SAFETY: the kernel's arguments are passed on; then the signal is raised again, with the system's own
    // action once this returns.
    unsafe {
        if crash::reports(signal) {
            crash::report(signal, info, context);
        }
        let action: libc::sigaction = zeroed();
        real_sigaction(signal, &action, null_mut());
        raise(signal);
    }
}
