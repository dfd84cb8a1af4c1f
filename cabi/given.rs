//! What was given of the run's options, for the tool interface.
//!
//! A file of its own, so that what sets a run up need not know of the calls that tell about it.

use std::collections::BTreeMap;
use std::sync::OnceLock;

static GIVEN: OnceLock<BTreeMap<&'static str, String>> = OnceLock::new();

/// The run begins with these, by name.
pub fn install(given: &BTreeMap<&'static str, String>) {
    // A process has one run.
    let _ = GIVEN.set(given.clone());
}

/// Returns what was given of an option, as text.
pub fn of(option: &str) -> Option<&'static str> {
    GIVEN.get()?.get(option).map(String::as_str)
}
