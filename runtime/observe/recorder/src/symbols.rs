//! Names of call sites: `file:line function`, from a program's debug information; without that the function
//! and where in it, from its symbols; else the file and the address.

use crate::events::CodeLocation;
use addr2line::Loader;
use rustc_hash::FxHashMap;
use std::path::{Path, PathBuf};

/// Suffix that the system adds to the name of a program whose file is deleted.
const DELETED: &str = " (deleted)";

/// Returns where a file can be read: a program that `xsim run` has compiled is gone from its directory by the
/// time it runs.
fn readable(file: &Path) -> &Path {
    if file.to_string_lossy().ends_with(DELETED) { Path::new("/proc/self/exe") } else { file }
}

/// Names places; a file is opened once.
#[derive(Default)]
pub struct Symbols {
    files: FxHashMap<PathBuf, Option<Loader>>,
}

impl Symbols {
    /// Returns the name of the place that a call returns to. Paths of sources are left out: a name does not
    /// depend on where a program was built.
    pub fn name(&mut self, place: &CodeLocation) -> String {
        self.names(place).swap_remove(0)
    }

    /// Returns the names of the place that a call returns to, and of those where the functions are called
    /// that the compiler has put into each other there, innermost first.
    pub fn names(&mut self, place: &CodeLocation) -> Vec<String> {
        let loader =
            self.files.entry(place.file.clone()).or_insert_with(|| Loader::new(readable(&place.file)).ok());
        let file = place.file.file_name().unwrap_or_default().to_string_lossy();
        let file = file.strip_suffix(DELETED).unwrap_or(&file);
        let Some(loader) = loader else { return vec![format!("{file}+{:#x}", place.address)] };
        // The call is before the place that it returns to.
        let at = loader.relative_address_base() + place.address.saturating_sub(1);
        let mut names = Vec::new();
        let mut unnamed = None;
        if let Ok(mut frames) = loader.find_frames(at) {
            while let Ok(Some(frame)) = frames.next() {
                let function = frame
                    .function
                    .and_then(|function| function.demangle().ok().map(std::borrow::Cow::into_owned));
                let line = frame.location.and_then(|location| {
                    let source = location.file?.rsplit('/').next()?.to_owned();
                    Some(format!("{source}:{}", location.line?))
                });
                match (line, function) {
                    (Some(line), Some(function)) => names.push(format!("{line} {function}")),
                    (line, _) => unnamed = line,
                }
            }
        }
        if names.is_empty() {
            names.push(match (unnamed, loader.find_symbol_info(at)) {
                (Some(line), Some(symbol)) => format!("{line} {}", symbol.name()),
                (Some(line), None) => line,
                (None, Some(symbol)) => format!("{file} {}+{:#x}", symbol.name(), at - symbol.address() + 1),
                (None, None) => format!("{file}+{:#x}", place.address),
            });
        }
        names
    }
}
