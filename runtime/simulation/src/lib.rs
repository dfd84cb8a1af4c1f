//! Puts a run together: the one table of options, the simulated machine, the progress line,
//! the report and its summary. Knows nothing of how any of them works.

pub mod host;
pub mod machine;
pub mod map;
pub mod memory;
pub mod options;
pub mod progress;
pub mod recorders;
pub mod summary;

pub use host::HostMeter;
pub use options::{OptionError, Options};
pub use progress::Progress;

/// What can be known to fail before a run starts: more ranks than memory (of which this process has `ranks`, and shares the host's
/// memory with `sharing - 1` others), a report that cannot be written, where this process writes it.
///
/// # Errors
/// A sentence with what to change.
pub fn preflight(options: &Options, ranks: u32, sharing: u32, writes: bool) -> Result<(), String> {
    memory::check(ranks.into(), memory::LEAST_BYTES_PER_RANK, memory::available(), sharing)
        .map_err(|why| format!("-xsim-np {}: {why}", options.np))?;
    match options.report.as_ref().filter(|_| writes) {
        // Opened without truncation: a run that fails must not destroy the report of one that did not.
        Some(path) => match std::fs::OpenOptions::new().append(true).create(true).open(path) {
            Ok(_) => Ok(()),
            Err(why) => Err(format!("cannot write the report to {}: {why}", path.display())),
        },
        None => Ok(()),
    }
}
