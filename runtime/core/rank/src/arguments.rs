//! A rank's own `argv`, laid out at the top of its stack as a kernel would.

use std::ffi::{CString, c_char};

/// Arguments as strings, and laid out once: each rank gets a copy.
pub(crate) struct ArgumentVector {
    strings: Vec<CString>,
    /// The strings one behind the other, and where each begins from `argv` on.
    text: Vec<u8>,
    places: Vec<usize>,
}

impl ArgumentVector {
    pub(crate) fn new(strings: Vec<CString>) -> ArgumentVector {
        let (mut text, mut places) = (Vec::new(), Vec::with_capacity(strings.len()));
        let pointers = (strings.len() + 1) * size_of::<usize>();
        for string in &strings {
            places.push(pointers + text.len());
            text.extend_from_slice(string.as_bytes_with_nul());
        }
        ArgumentVector { strings, text, places }
    }

    pub(crate) fn strings(&self) -> &[CString] {
        &self.strings
    }

    /// Returns the number of arguments, as `main` gets it.
    pub(crate) fn count(&self) -> i32 {
        self.strings.len() as i32
    }

    /// Returns the bytes that [`ArgumentVector::write`] needs, a multiple of 16.
    pub(crate) fn bytes(&self) -> usize {
        ((self.places.len() + 1) * size_of::<usize>() + self.text.len()).next_multiple_of(16)
    }

    /// Writes the pointers (null-terminated) and the strings to `at`; returns `argv`, which is `at`.
    ///
    /// # Safety
    /// `at` is aligned to 8 and has `bytes()` writable bytes.
    pub(crate) unsafe fn write(&self, at: usize) -> *mut *mut c_char {
        let pointers = at as *mut *mut c_char;
        for (k, place) in self.places.iter().enumerate() {
            // SAFETY: the first of the `bytes()` bytes at `at` are for so many pointers and one more.
            unsafe { pointers.add(k).write((at + place) as *mut c_char) };
        }
        // SAFETY: as above, and behind the pointers there is room for the text.
        unsafe {
            pointers.add(self.places.len()).write(std::ptr::null_mut());
            std::ptr::copy_nonoverlapping(
                self.text.as_ptr(),
                pointers.add(self.places.len() + 1).cast(),
                self.text.len(),
            );
        }
        pointers
    }
}
