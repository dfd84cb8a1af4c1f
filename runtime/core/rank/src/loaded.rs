//! Programs that are loaded beside the first, by number, and the loader's names for them.

use std::ffi::{CStr, CString};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU8, Ordering::Relaxed};

use crate::single::Single;

/// A program that is loaded.
struct LoadedFile {
    path: PathBuf,
    /// Name by which the loader finds it.
    loaded: String,
    /// Name of its file.
    name: String,
}

/// By number less one.
static KNOWN: Single<Vec<LoadedFile>> = Single::new(Vec::new());
static COUNT: AtomicU8 = AtomicU8::new(0);

fn known<R>(f: impl FnOnce(&mut Vec<LoadedFile>) -> R) -> R {
    // SAFETY: the simulating thread; no closure here does more than look and push.
    unsafe { KNOWN.with(f) }
}

/// Returns how many there are.
#[inline]
pub fn count() -> u8 {
    COUNT.load(Relaxed)
}

/// Returns the number of the program in this file, if it is loaded.
pub(crate) fn number(path: &Path) -> Option<u8> {
    known(|known| known.iter().position(|known| known.path == path)).map(|index| index as u8 + 1)
}

/// Adds one more that is loaded. Returns its number.
pub(crate) fn add(path: PathBuf, loaded: String) -> u8 {
    let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    known(|known| known.push(LoadedFile { path, loaded, name }));
    COUNT.fetch_add(1, Relaxed) + 1
}

/// Writes the name of the file from which the loader has what it calls so; false if it is none of these.
// Asked by a crash report, which may not allocate.
pub(crate) fn name_of(loaded: &str, write: impl FnOnce(&str)) -> bool {
    known(|known| known.iter().find(|known| known.loaded == loaded).map(|known| write(&known.name))).is_some()
}

/// Returns where one of them has a symbol of its own, or of a library that it needs; 0 if there is none.
pub fn symbol(number: u8, name: &CStr) -> usize {
    let loaded =
        known(|known| CString::new(known[usize::from(number) - 1].loaded.as_str()).unwrap_or_default());
    // SAFETY: asks for a program that is loaded, and looks up a symbol in it.
    unsafe {
        let handle = libc::dlopen(loaded.as_ptr(), libc::RTLD_NOLOAD | libc::RTLD_LAZY);
        if handle.is_null() { 0 } else { libc::dlsym(handle, name.as_ptr()) as usize }
    }
}
