//! Handlers that a rank registered to run at its end: `atexit` and its relatives, C++ destructors.

use std::collections::HashMap;
use std::ffi::c_void;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Mutex, PoisonError};

use crate::{helpers, now};

/// A function to call at the end of a rank.
#[derive(Clone, Copy)]
pub enum Handler {
    /// `__cxa_atexit` and `atexit`: takes its own argument.
    Object(unsafe extern "C" fn(*mut c_void), usize),
    /// `on_exit`: takes the exit status as well.
    WithStatus(unsafe extern "C" fn(i32, *mut c_void), usize),
}

/// The phase in which a handler runs. In this order at `exit`.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub enum HandlerPhase {
    /// Destructors of `thread_local` objects.
    ThreadEnd,
    /// `atexit`, `on_exit`, destructors of static objects.
    Exit,
    /// `at_quick_exit`.
    QuickExit,
}

/// `true` if any rank has registered one.
static ANY: AtomicBool = AtomicBool::new(false);

type Table = HashMap<(u32, HandlerPhase), Vec<Handler>>;
static HANDLERS: Mutex<Option<Table>> = Mutex::new(None);

fn with<R>(f: impl FnOnce(&mut Option<Table>) -> R) -> R {
    f(&mut HANDLERS.lock().unwrap_or_else(PoisonError::into_inner))
}

/// Registers a handler of the rank that calls, also from a thread that it started; false if no rank is
/// running.
pub(crate) fn register(at: HandlerPhase, handler: Handler) -> bool {
    let Some(rank) = helpers::owner().or_else(now::current) else { return false };
    ANY.store(true, Relaxed);
    with(|table| table.get_or_insert_default().entry((rank, at)).or_default().push(handler));
    true
}

fn pop(rank: u32, at: HandlerPhase) -> Option<Handler> {
    with(|table| {
        let table = table.as_mut()?;
        let list = table.get_mut(&(rank, at))?;
        let handler = list.pop();
        if list.is_empty() {
            table.remove(&(rank, at));
        }
        handler
    })
}

/// Runs and removes the rank's handlers of one kind, the last registered first. Handlers may
/// register more, call `exit`, or suspend the rank.
#[inline]
pub(crate) fn run(rank: u32, at: HandlerPhase, status: i32) {
    if ANY.load(Relaxed) {
        run_all(rank, at, status);
    }
}

fn run_all(rank: u32, at: HandlerPhase, status: i32) {
    while let Some(handler) = pop(rank, at) {
        match handler {
            // SAFETY: the program registered this function with this argument for this moment; its
            // rank is mounted and running.
            Handler::Object(f, argument) => unsafe { f(argument as *mut c_void) },
            // SAFETY: as above.
            Handler::WithStatus(f, argument) => unsafe { f(status, argument as *mut c_void) },
        }
    }
}
