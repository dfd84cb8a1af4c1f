//! State that the C library keeps for the process but a program takes for its own: `getopt`'s
//! variables and `strtok`'s position. Kept by the rank while it is suspended.

use std::ffi::{CStr, c_char};
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicUsize, Ordering::Relaxed};

use crate::globals::clone;
use crate::image::Image;
use crate::{helpers, now};

static PARSING: AtomicBool = AtomicBool::new(false);
static TOKEN: AtomicUsize = AtomicUsize::new(0);
static INDEX: AtomicPtr<i32> = AtomicPtr::new(std::ptr::null_mut());
static ARGUMENT: AtomicPtr<usize> = AtomicPtr::new(std::ptr::null_mut());
static ERROR: AtomicPtr<i32> = AtomicPtr::new(std::ptr::null_mut());
static OPTION: AtomicPtr<i32> = AtomicPtr::new(std::ptr::null_mut());

/// The addresses of the copies of `getopt`'s variables that the program of the rank in place has, if it was
/// loaded late; else 0.
static COPIES: [AtomicUsize; 4] = [const { AtomicUsize::new(0) }; 4];

/// Uses these copies, which the program of the mounted rank has.
pub(crate) fn use_copies(copies: &[usize; 4]) {
    COPIES.iter().zip(copies).for_each(|(place, &at)| place.store(at, Relaxed));
}

/// `getopt`'s variables, in the order of [`fresh_copies`].
const VARIABLES: [&CStr; 4] = [c"optind", c"optarg", c"opterr", c"optopt"];

/// Returns where a program that was loaded late has copies of `getopt`'s variables, which get the values of a
/// fresh process.
pub(crate) fn fresh_copies(image: &Image) -> [usize; 4] {
    let [index, argument, error, option] = image.copies(VARIABLES);
    set(&AtomicPtr::new(index as *mut i32), FRESH.index);
    set(&AtomicPtr::new(argument as *mut usize), FRESH.argument);
    set(&AtomicPtr::new(error as *mut i32), FRESH.error);
    set(&AtomicPtr::new(option as *mut i32), FRESH.option);
    [index, argument, error, option]
}

/// Finds `getopt`'s variables, in the C library or in the program's copies of them.
pub(crate) fn find() {
    fn variable<T>(name: &CStr, place: &AtomicPtr<T>) {
        // SAFETY: looks up a symbol by a valid name.
        place.store(unsafe { libc::dlsym(libc::RTLD_DEFAULT, name.as_ptr()).cast() }, Relaxed);
    }
    let [index, argument, error, option] = VARIABLES;
    variable(index, &INDEX);
    variable(argument, &ARGUMENT);
    variable(error, &ERROR);
    variable(option, &OPTION);
}

/// One rank's state, if it used any of it.
#[derive(Clone, Copy)]
pub(crate) struct RankLibcState(Option<Used>);

#[derive(Clone, Copy)]
struct Used {
    parsing: bool,
    token: usize,
    index: i32,
    error: i32,
    option: i32,
    argument: usize,
}

const FRESH: Used = Used { parsing: false, token: 0, index: 1, error: 1, option: '?' as i32, argument: 0 };

#[inline]
fn get<T: Copy>(place: &AtomicPtr<T>, otherwise: T) -> T {
    let at = place.load(Relaxed);
    // SAFETY: null, or a variable of the C library, found in `find`.
    if at.is_null() { otherwise } else { unsafe { *at } }
}

#[inline]
fn set<T>(place: &AtomicPtr<T>, value: T) {
    let at = place.load(Relaxed);
    if !at.is_null() {
        // SAFETY: a variable of the C library, found in `find`.
        unsafe { *at = value };
    }
}

/// Returns `true` if the state in place differs from a fresh process's.
#[inline]
fn is_used() -> bool {
    now::uses_libc_state()
}

impl RankLibcState {
    /// Returns `true` if the rank used some of it.
    pub(crate) fn is_used(&self) -> bool {
        self.0.is_some()
    }

    /// Returns what a rank has that used none of it.
    pub(crate) fn fresh() -> RankLibcState {
        RankLibcState(None)
    }

    /// Saves the state of the mounted rank and returns it.
    pub(crate) fn save() -> RankLibcState {
        RankLibcState(if is_used() { Some(Used::save()) } else { None })
    }

    /// Puts the state in place.
    pub(crate) fn restore(&self) {
        if self.0.is_some() || is_used() {
            self.0.unwrap_or(FRESH).put(self.0.is_some());
        }
    }
}

impl Used {
    fn save() -> Used {
        Used {
            parsing: PARSING.load(Relaxed),
            token: TOKEN.load(Relaxed),
            index: get(&INDEX, 1),
            error: get(&ERROR, 1),
            option: get(&OPTION, 0),
            argument: get(&ARGUMENT, 0),
        }
    }

    fn put(&self, used: bool) {
        now::use_libc_state(used);
        PARSING.store(self.parsing, Relaxed);
        TOKEN.store(self.token, Relaxed);
        set(&INDEX, self.index);
        set(&ERROR, self.error);
        set(&OPTION, self.option);
        set(&ARGUMENT, self.argument);
    }
}

/// Resets the state for a new rank.
pub(crate) fn reset() {
    FRESH.put(false);
}

/// Brings a library's variable and its clone together: a clone of the program that holds the variable reads
/// its own, and so does a program that was loaded late.
fn exchange(to_clone: bool) {
    fn one<T: Copy>(place: &AtomicPtr<T>, copy: usize, to_clone: bool) {
        let library = place.load(Relaxed);
        let program = clone::in_place(if copy == 0 { library as usize } else { copy }) as *mut T;
        if !library.is_null() && program != library {
            // SAFETY: the library's variable and the one that the running rank's program, or its clone, has
            // for it.
            unsafe { if to_clone { *program = *library } else { *library = *program } }
        }
    }
    let [index, argument, error, option] = COPIES.each_ref().map(|place| place.load(Relaxed));
    one(&INDEX, index, to_clone);
    one(&ARGUMENT, argument, to_clone);
    one(&ERROR, error, to_clone);
    one(&OPTION, option, to_clone);
}

/// Carries the results to the clone. To be called after each `getopt` of a rank.
pub fn after_getopt() {
    if helpers::caller().is_some() {
        exchange(true);
    }
}

/// Prepares `getopt`: makes the C library begin anew for the first one. To be called before each `getopt` of
/// a rank.
pub fn before_getopt() {
    if helpers::caller().is_none() {
        return;
    }
    exchange(false);
    if PARSING.swap(true, Relaxed) {
        return;
    }
    now::use_libc_state(true);
    if get(&INDEX, 0) == 1 {
        // glibc takes 0 as "begin again, also inside a cluster of options", then counts from 1.
        set(&INDEX, 0);
    }
}

/// Returns where the running rank's `strtok` goes on; `None` outside ranks.
pub fn token() -> Option<*mut *mut c_char> {
    helpers::caller()?;
    now::use_libc_state(true);
    Some(TOKEN.as_ptr().cast())
}
