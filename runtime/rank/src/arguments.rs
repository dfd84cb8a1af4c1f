//! A rank's own `argv`, laid out at the top of its stack as a kernel would.

use std::ffi::{CString, c_char};

/// Arguments as strings, and how to lay them out.
pub(crate) struct Arguments {
    strings: Vec<CString>,
}

impl Arguments {
    pub(crate) fn new(strings: Vec<CString>) -> Arguments {
        Arguments { strings }
    }

    pub(crate) fn strings(&self) -> &[CString] {
        &self.strings
    }

    /// Number of arguments, as `main` gets it.
    pub(crate) fn count(&self) -> i32 {
        self.strings.len() as i32
    }

    /// Bytes that [`Arguments::write`] needs, a multiple of 16.
    pub(crate) fn bytes(&self) -> usize {
        let strings: usize = self.strings.iter().map(|s| s.as_bytes_with_nul().len()).sum();
        (strings + (self.strings.len() + 1) * size_of::<usize>()).next_multiple_of(16)
    }

    /// Writes the pointers (null-terminated) and the strings to `at`; returns `argv`, which is `at`.
    ///
    /// # Safety
    /// `at` is aligned to 8 and has `bytes()` writable bytes.
    pub(crate) unsafe fn write(&self, at: usize) -> *mut *mut c_char {
        let pointers = at as *mut *mut c_char;
        let mut text = at + (self.strings.len() + 1) * size_of::<usize>();
        for (k, string) in self.strings.iter().enumerate() {
            let bytes = string.as_bytes_with_nul();
            // SAFETY: inside the `bytes()` bytes at `at`, counted the same way.
            unsafe {
                std::ptr::copy_nonoverlapping(bytes.as_ptr(), text as *mut u8, bytes.len());
                pointers.add(k).write(text as *mut c_char);
            }
            text += bytes.len();
        }
        // SAFETY: as above; the pointer array has one entry more than there are strings.
        unsafe { pointers.add(self.strings.len()).write(std::ptr::null_mut()) };
        pointers
    }
}
