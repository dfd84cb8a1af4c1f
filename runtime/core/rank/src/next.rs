//! The libc functions behind the ones that the library interposes.

use std::ffi::CStr;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

/// The next definition of a symbol after the library's own; looked up once.
pub struct NextSymbol {
    name: &'static CStr,
    found: AtomicUsize,
}

impl NextSymbol {
    /// Returns a symbol by its name.
    pub const fn new(name: &'static CStr) -> NextSymbol {
        NextSymbol { name, found: AtomicUsize::new(0) }
    }

    /// Returns `true` if a library behind this one defines the symbol.
    pub fn exists(&self) -> bool {
        // SAFETY: a valid C string; looking up a symbol has no other precondition.
        unsafe { !libc::dlsym(libc::RTLD_NEXT, self.name.as_ptr()).is_null() }
    }

    /// Returns the function's address, as [`NextSymbol::get`] does.
    ///
    /// # Panics
    /// If no library behind this one defines it.
    #[inline]
    pub fn address(&self) -> usize {
        match self.found.load(Relaxed) {
            0 => self.look_up(),
            found => found,
        }
    }

    /// Returns the function as a pointer of type `F`.
    ///
    /// # Safety
    /// `F` is the function pointer type of the symbol.
    ///
    /// # Panics
    /// If no library behind this one defines it.
    #[inline]
    pub unsafe fn get<F: Copy>(&self) -> F {
        const { assert!(size_of::<F>() == size_of::<usize>()) };
        let mut found = self.found.load(Relaxed);
        if found == 0 {
            found = self.look_up();
        }
        // SAFETY: a non-null function address, and `F` is its type (the caller's contract).
        unsafe { std::mem::transmute_copy(&found) }
    }

    #[cold]
    fn look_up(&self) -> usize {
        // SAFETY: a valid C string; looking up a symbol has no other precondition.
        let found = unsafe { libc::dlsym(libc::RTLD_NEXT, self.name.as_ptr()) } as usize;
        assert!(found != 0, "the C library has no {}", self.name.to_string_lossy());
        self.found.store(found, Relaxed);
        found
    }
}
