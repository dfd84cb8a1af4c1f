//! The environment: `setenv` and its relatives give a rank an array of its own.
//!
//! `getenv`, `system`, `execvp` and what else reads the environment go through the C library's pointer
//! `environ`. It points to the rank's array while the rank runs, so they need no care. glibc's own
//! `setenv` reallocates the array that it last made, whoever uses it, and is never called for a rank.

use std::ffi::{CStr, CString, c_char};
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use crate::caller::caller;
use crate::per_rank::PerRank;

/// A rank's environment.
pub(super) struct Environment {
    /// Pointers to `name=value`, then a null pointer.
    array: Vec<usize>,
    /// Copies that `setenv` made. Kept until the rank ends, since the program may hold what `getenv`
    /// returned.
    copies: Vec<CString>,
    /// The value of `environ` while the rank runs.
    pointer: usize,
}

static OWN: PerRank<Environment> = PerRank::new();

/// The value of `environ` outside ranks.
static BASE: AtomicUsize = AtomicUsize::new(0);
/// The address of `environ`.
static VARIABLE: AtomicUsize = AtomicUsize::new(0);

fn variable() -> *mut usize {
    if VARIABLE.load(Relaxed) == 0 {
        // SAFETY: looks up a symbol by a valid name.
        let found = unsafe { libc::dlsym(libc::RTLD_DEFAULT, c"__environ".as_ptr()) } as usize;
        assert!(found != 0, "the C library has no environ");
        VARIABLE.store(found, Relaxed);
        // SAFETY: the C library's variable.
        BASE.store(unsafe { *(found as *const usize) }, Relaxed);
    }
    VARIABLE.load(Relaxed) as *mut usize
}

/// Keeps the rank's environment and puts the process's in place.
pub(super) fn leave(rank: u32) {
    OWN.with(rank, |environment| {
        let variable = variable();
        // SAFETY: the C library's variable, on the simulating thread.
        unsafe {
            environment.pointer = *variable;
            *variable = BASE.load(Relaxed);
        }
    });
}

/// Puts the rank's environment in place.
pub(super) fn enter(rank: u32) {
    // SAFETY: as in `leave`.
    OWN.with(rank, |environment| unsafe { *variable() = environment.pointer });
}

/// Forgets a rank that has ended.
pub(super) fn end(rank: u32) {
    OWN.remove(rank);
}

impl Environment {
    /// Copies the pointers of the array in place.
    fn of_place() -> Environment {
        let mut array = Vec::new();
        // SAFETY: `environ` is null, or an array of C strings with a null pointer behind them.
        unsafe {
            let mut at = *variable() as *const usize;
            while !at.is_null() && *at != 0 {
                array.push(*at);
                at = at.add(1);
            }
        }
        array.push(0);
        Environment { array, copies: Vec::new(), pointer: 0 }
    }

    fn position(&self, name: &[u8]) -> Option<usize> {
        self.array.iter().position(|&entry| {
            // SAFETY: a C string of the environment, or the null pointer at its end.
            entry != 0
                && unsafe { CStr::from_ptr(entry as *const c_char) }
                    .to_bytes()
                    .strip_prefix(name)
                    .is_some_and(|rest| rest.first() == Some(&b'='))
        })
    }

    fn put(&mut self, name: &[u8], entry: usize) {
        match self.position(name) {
            Some(at) => self.array[at] = entry,
            None => self.array.insert(self.array.len() - 1, entry),
        }
    }
}

/// Changes the calling rank's environment; returns `None` outside ranks.
fn change<R>(f: impl FnOnce(&mut Environment) -> R) -> Option<R> {
    let rank = caller()?;
    variable();
    // A program may have assigned `environ` itself: what is in place counts.
    let mut environment = Environment::of_place();
    environment.copies = OWN.with(rank, |old| std::mem::take(&mut old.copies)).unwrap_or_default();
    let result = f(&mut environment);
    environment.pointer = environment.array.as_ptr() as usize;
    OWN.put_exchanged(rank, environment);
    enter(rank);
    Some(result)
}

fn is_name(name: &[u8]) -> bool {
    !name.is_empty() && !name.contains(&b'=')
}

/// Sets a variable of the calling rank as `setenv` does. Returns `None` outside ranks, `Some(false)` if the
/// name is none.
pub fn set_variable(name: &CStr, value: &CStr, overwrite: bool) -> Option<bool> {
    let name = name.to_bytes();
    if !is_name(name) {
        return caller().map(|_| false);
    }
    change(|environment| {
        if overwrite || environment.position(name).is_none() {
            let text = CString::new([name, b"=", value.to_bytes()].concat())
                .expect("parts of C strings have no null byte");
            environment.put(name, text.as_ptr() as usize);
            environment.copies.push(text);
        }
        true
    })
}

/// Puts `text`, which stays the program's, into the calling rank's environment as `putenv` does. Returns
/// `None` outside ranks.
///
/// # Safety
/// `text` is a C string that stays where it is.
pub unsafe fn put_variable(text: *mut c_char) -> Option<()> {
    // SAFETY: the caller's contract.
    let bytes = unsafe { CStr::from_ptr(text) }.to_bytes();
    match bytes.iter().position(|&byte| byte == b'=') {
        Some(end) => change(|environment| environment.put(&bytes[..end], text as usize)),
        None => unset_variable(bytes).map(|_| ()),
    }
}

/// Removes a variable of the calling rank. Returns `None` outside ranks, `Some(false)` if the name is none.
pub fn unset_variable(name: &[u8]) -> Option<bool> {
    if !is_name(name) {
        return caller().map(|_| false);
    }
    change(|environment| {
        while let Some(at) = environment.position(name) {
            environment.array.remove(at);
        }
        true
    })
}

/// Removes all variables of the calling rank. Returns `None` outside ranks.
pub fn clear_environment() -> Option<()> {
    change(|environment| environment.array = vec![0])
}
