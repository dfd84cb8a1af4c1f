//! The locale, by its name.
//!
//! It concerns the program alone, so a rank's locale stays in place until a rank with another one goes
//! on: ranks that all choose the same pay nothing.

use std::collections::BTreeSet;
use std::ffi::{CStr, c_char};

use crate::caller::caller;
use crate::per_rank::PerRank;
use crate::single::Single;

/// A locale's name, the same pointer for the same name.
type Name = &'static CStr;

/// The C library's `setlocale`.
pub type Setlocale = unsafe extern "C" fn(i32, *const c_char) -> *mut c_char;

struct Locales {
    real: Option<Setlocale>,
    base: Option<Name>,
    in_place: Option<Name>,
    names: BTreeSet<Name>,
}

static OWN: PerRank<Name> = PerRank::new();
static LOCALES: Single<Locales> =
    Single::new(Locales { real: None, base: None, in_place: None, names: BTreeSet::new() });

impl Locales {
    fn name(&mut self, text: &CStr) -> Name {
        if let Some(known) = self.names.get(text) {
            return known;
        }
        let name: Name = Box::leak(text.to_owned().into_boxed_c_str());
        self.names.insert(name);
        name
    }

    /// Returns the name of all that is in place.
    fn current(&mut self, real: Setlocale) -> Name {
        // SAFETY: the C library's function, which returns a C string for a question about all categories.
        let text = unsafe { CStr::from_ptr(real(libc::LC_ALL, std::ptr::null())) }.to_owned();
        self.name(&text)
    }
}

/// Sets or asks for the calling rank's locale as `setlocale` does, which is `real`. The names that it returns
/// stay valid.
///
/// # Safety
/// `real` is the C library's function and `name` null or a C string.
pub unsafe fn set_locale(real: Setlocale, category: i32, name: *const c_char) -> *mut c_char {
    // SAFETY: the caller's contract.
    let call = || unsafe { real(category, name) };
    let Some(rank) = caller() else { return call() };
    // SAFETY: the simulating thread; the closure calls the C library alone.
    let (answer, now) = unsafe {
        LOCALES.with(|locales| {
            if locales.base.is_none() {
                let base = locales.current(real);
                (locales.real, locales.base, locales.in_place) = (Some(real), Some(base), Some(base));
            }
            let answer = call();
            if answer.is_null() {
                return (answer, None);
            }
            let text = CStr::from_ptr(answer).to_owned();
            let answer = locales.name(&text).as_ptr().cast_mut();
            locales.in_place = Some(locales.current(real));
            (answer, locales.in_place)
        })
    };
    if !name.is_null()
        && let Some(now) = now
    {
        OWN.put_exchanged(rank, now);
    }
    answer
}

/// Puts the rank's locale in place, or the process's if the rank has set none.
pub(super) fn enter(rank: u32) {
    let own = OWN.with(rank, |&mut name| name);
    // SAFETY: the simulating thread; the closure calls the C library alone.
    unsafe {
        LOCALES.with(|locales| {
            let (Some(real), Some(wanted)) = (locales.real, own.or(locales.base)) else { return };
            if locales.in_place.is_none_or(|name| !std::ptr::eq(name, wanted)) {
                real(libc::LC_ALL, wanted.as_ptr());
                locales.in_place = Some(wanted);
            }
        });
    }
}

/// Forgets a rank that has ended.
pub(super) fn end(rank: u32) {
    OWN.remove(rank);
}
