//! Crash reports: which rank, what happened, in which MPI call, and how it got there.
//!
//! The handler runs on a stack of its own (the rank's may be what overflowed) and allocates
//! nothing: the crash may have happened inside `malloc`.

use std::ffi::c_void;
use std::fmt::Write as _;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed};

use crate::reserve::reserve;
use crate::text::FixedText;
use crate::{now, output, signals, stack, stdio, symbols};

const SIGNALS: [(i32, &str, &str); 5] = [
    (libc::SIGSEGV, "SIGSEGV", "used memory that it does not have"),
    (libc::SIGBUS, "SIGBUS", "used memory that does not exist"),
    (libc::SIGFPE, "SIGFPE", "made an arithmetic error (such as an integer division by zero)"),
    (libc::SIGILL, "SIGILL", "ran an illegal instruction"),
    (libc::SIGABRT, "SIGABRT", "called abort"),
];
/// The handler's stack: unwinding needs about 8 KiB.
const STACK: usize = 128 << 10;
const FRAMES: usize = 40;

static FIRST: AtomicUsize = AtomicUsize::new(0);
static REPORTING: AtomicBool = AtomicBool::new(false);
/// The function that gets the exit status before the process ends, a `fn(i32)`; 0 for none.
static LAST_WORDS: AtomicUsize = AtomicUsize::new(0);

/// Sets the function that is called with the exit status when the process ends by a crash. It does only what
/// a signal handler may do.
pub fn set_last_words(say: fn(i32)) {
    LAST_WORDS.store(say as usize, Relaxed);
}

/// Installs the handlers. `first` is the global number of local rank 0.
pub(crate) fn begin(first: u32) {
    FIRST.store(first as usize, Relaxed);
    let Some(memory) = reserve(STACK) else { return };
    let stack = libc::stack_t { ss_sp: memory as *mut c_void, ss_flags: 0, ss_size: STACK };
    // SAFETY: a mapping of our own, given to the kernel as this thread's signal stack for good.
    unsafe { libc::sigaltstack(&stack, std::ptr::null_mut()) };
    take_signals();
}

/// Installs the handlers that report crashes here.
pub fn take_signals() {
    for (signal, ..) in SIGNALS {
        // SAFETY: the handler has the signature that SA_SIGINFO asks for.
        unsafe {
            let mut action: libc::sigaction = std::mem::zeroed();
            action.sa_sigaction = report as *const () as usize;
            action.sa_flags = libc::SA_SIGINFO | libc::SA_ONSTACK | libc::SA_NODEFER;
            signals::real_sigaction(signal, &action, std::ptr::null_mut());
        }
    }
    signals::forget(SIGNALS.iter().map(|&(signal, ..)| signal));
}

/// Returns `true` if a crash with this signal is reported here.
pub(crate) fn reports(signal: i32) -> bool {
    SIGNALS.iter().any(|&(known, ..)| known == signal)
}

/// Returns `true` for the handler that reports crashes.
pub(crate) fn is_report(handler: usize) -> bool {
    handler == report as *const () as usize
}

/// Returns the number by which the user knows a rank of this process.
pub(crate) fn global(rank: u32) -> usize {
    FIRST.load(Relaxed) + rank as usize
}

fn end(signal: i32) -> ! {
    let words = LAST_WORDS.swap(0, Relaxed);
    if words != 0 {
        // SAFETY: a function of this type, by `set_last_words`.
        unsafe { std::mem::transmute::<usize, fn(i32)>(words)(128 + signal) };
    }
    // SAFETY: ends the process; past any interposed `_exit`.
    unsafe { libc::syscall(libc::SYS_exit_group, 128 + signal) };
    unreachable!("exit_group returned")
}

/// Reports a crash and ends the process.
///
/// # Safety
/// As a handler with SA_SIGINFO.
pub(crate) unsafe extern "C" fn report(signal: i32, info: *mut libc::siginfo_t, context: *mut c_void) {
    if REPORTING.swap(true, Relaxed) {
        output::write_fully(2, b"xsim: and crashed again while reporting it\n");
        end(signal);
    }
    let rank = now::current();
    let served = now::served().filter(|_| rank.is_none());
    if let Some(rank) = rank.or(served) {
        stdio::pour(rank);
    }
    output::pour_all();
    // SAFETY: the kernel passes both to a handler with SA_SIGINFO.
    let (address, pointer) = unsafe { ((*info).si_addr() as usize, stack_pointer(context)) };
    let (_, name, what) =
        SIGNALS.iter().find(|s| s.0 == signal).copied().unwrap_or((signal, "a signal", "was stopped"));
    let mut text = FixedText::new();
    let _ = match rank.or(served) {
        Some(rank) => write!(text, "xsim: rank {} ", global(rank)),
        None => write!(text, "xsim: the simulator itself, between ranks, "),
    };
    let memory = signal == libc::SIGSEGV || signal == libc::SIGBUS;
    let overflow = memory && rank.is_some() && stack::overflowed(address, pointer);
    let jumped = memory && address == instruction(context);
    let _ = if overflow {
        let size = stack::bytes() >> 10;
        write!(text, "needs more stack than its {size} KiB (stack overflow, {name} at {address:#x})")
    } else if jumped {
        write!(text, "called a function at address {address:#x}, where there is no code ({name})")
    } else if memory {
        write!(text, "{what} ({name} at address {address:#x})")
    } else {
        write!(text, "{what} ({name})")
    };
    if let (Some(_), Some(call)) = (rank, now::last_call()) {
        let _ = write!(text, ", in or after {call}");
    }
    if served.is_some() {
        let _ = write!(text, ", in an operation that it made with MPI_Op_create and that a reduction calls");
    }
    let _ = writeln!(text);
    text.say();
    if overflow {
        say_how_to_raise(&mut text);
    }
    if jumped {
        let _ = writeln!(text, "xsim: it was called from");
        text.say();
        // SAFETY: a call has put the address behind it on the stack before it got nowhere; nothing returns to
        // this context.
        unsafe { step_back(context) };
    }
    backtrace(context);
    if rank.or(served).is_some() {
        let _ = writeln!(text, "xsim: the run ends here; all ranks of this process stop");
        text.say();
    }
    end(signal)
}

/// Writes what helps against a stack overflow.
fn say_how_to_raise(text: &mut FixedText) {
    let _ = writeln!(
        text,
        "xsim: raise it with -xsim-stack SIZE, or look for recursion without end or large local arrays"
    );
    text.say();
}

/// Ends the process as a crash of `rank` whose stack pointer has left its stack without a fault.
///
/// A frame larger than the stack and the gap below it has memory of another rank.
pub(crate) fn stack_overflow(rank: u32) -> ! {
    REPORTING.store(true, Relaxed);
    stdio::pour(rank);
    output::pour_all();
    let mut text = FixedText::new();
    let _ = write!(
        text,
        "xsim: rank {} needs more stack than its {} KiB (stack overflow)",
        global(rank),
        stack::bytes() >> 10
    );
    if let Some(call) = now::last_call() {
        let _ = write!(text, ", in {call}");
    }
    let _ = writeln!(text);
    text.say();
    say_how_to_raise(&mut text);
    let _ = writeln!(text, "xsim: the run ends here; all ranks of this process stop");
    text.say();
    end(libc::SIGSEGV)
}

#[cfg(target_arch = "x86_64")]
unsafe fn stack_pointer(context: *mut c_void) -> usize {
    // SAFETY: the caller passes the context that the kernel gave to a handler.
    unsafe { (*context.cast::<libc::ucontext_t>()).uc_mcontext.gregs[libc::REG_RSP as usize] as usize }
}
#[cfg(not(target_arch = "x86_64"))]
unsafe fn stack_pointer(_: *mut c_void) -> usize {
    0
}

/// Makes the context of a call that led to no code that of the caller. The unwinder reads the code at the
/// place where it begins.
#[cfg(target_arch = "x86_64")]
unsafe fn step_back(context: *mut c_void) {
    // SAFETY: the caller passes the context that the kernel gave to a handler, of a call that has just been
    // made.
    unsafe {
        let registers = &mut (*context.cast::<libc::ucontext_t>()).uc_mcontext.gregs;
        let stack = registers[libc::REG_RSP as usize];
        registers[libc::REG_RIP as usize] = (stack as *const i64).read();
        registers[libc::REG_RSP as usize] = stack + 8;
    }
}
#[cfg(not(target_arch = "x86_64"))]
unsafe fn step_back(_: *mut c_void) {}

/// Returns where a thread was interrupted: its instruction, and its stack pointer.
///
/// # Safety
/// `context` is what the kernel gave to a signal handler.
pub(crate) unsafe fn place(context: *mut c_void) -> (usize, usize) {
    // SAFETY: as above.
    unsafe { (instruction(context), stack_pointer(context)) }
}

#[cfg(target_arch = "x86_64")]
fn instruction(context: *mut c_void) -> usize {
    // SAFETY: the context that the kernel gave to the handler.
    unsafe { (*context.cast::<libc::ucontext_t>()).uc_mcontext.gregs[libc::REG_RIP as usize] as usize }
}
#[cfg(not(target_arch = "x86_64"))]
fn instruction(_: *mut c_void) -> usize {
    0
}

// The unwinder that C++ and Rust already use (Itanium C++ ABI: Exception handling, level I).
unsafe extern "C" {
    fn _Unwind_Backtrace(
        each: unsafe extern "C" fn(*mut c_void, *mut c_void) -> i32,
        argument: *mut c_void,
    ) -> i32;
    fn _Unwind_GetIP(context: *mut c_void) -> usize;
}

struct Backtrace {
    addresses: [usize; FRAMES + 16],
    count: usize,
}

unsafe extern "C" fn collect(context: *mut c_void, frames: *mut c_void) -> i32 {
    // SAFETY: called by the unwinder with its context and the pointer given to it below.
    unsafe {
        let frames = &mut *frames.cast::<Backtrace>();
        if frames.count == frames.addresses.len() {
            return 5;
        }
        frames.addresses[frames.count] = _Unwind_GetIP(context);
        frames.count += 1;
    }
    0
}

/// Prints the frames from where the signal struck.
fn backtrace(context: *mut c_void) {
    let mut frames = Backtrace { addresses: [0; FRAMES + 16], count: 0 };
    // SAFETY: `collect` matches the unwinder's callback type and stays inside `frames`.
    unsafe { _Unwind_Backtrace(collect, (&raw mut frames).cast()) };
    let at = instruction(context);
    let found = &frames.addresses[..frames.count];
    let from = found.iter().position(|&address| address == at);
    let mut text = FixedText::new();
    let mut number = 0;
    let mut line = |address: usize, exact: bool| {
        let _ = write!(text, "  #{number:<2} ");
        let is_main = symbols::describe(address, exact, &mut text);
        let _ = writeln!(text);
        text.say();
        number += 1;
        is_main
    };
    if line(at, true) {
        return;
    }
    let Some(from) = from else { return };
    let mut last = 0;
    for &address in found[from + 1..].iter().take(FRAMES) {
        if address == std::mem::replace(&mut last, address) {
            // Recursion: one line says it.
            continue;
        }
        // What is below `main` is the simulator's.
        if address == 0 || line(address, false) {
            break;
        }
    }
}
