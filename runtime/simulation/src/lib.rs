//! Puts a run together: the one table of options, the simulated machine, the progress line,
//! the report and its summary. Knows nothing of how any of them works.

pub mod host;
pub mod machine;
pub mod map;
pub mod memory;
pub mod options;
pub mod progress;
pub mod summary;

pub use host::HostMeter;
pub use options::{OptionError, Options};
pub use progress::Progress;

/// What can be known to fail before a run starts: more ranks than memory (of which this process has `ranks`), a report that
/// cannot be written.
///
/// # Errors
/// A sentence with what to change.
pub fn preflight(options: &Options, ranks: u32) -> Result<(), String> {
    memory::check(ranks.into(), memory::LEAST_BYTES_PER_RANK, memory::available())
        .map_err(|why| format!("-xsim-np {}: {why}", options.np))?;
    match &options.report {
        // Opened without truncation: a run that fails must not destroy the report of one that did not.
        Some(path) => match std::fs::OpenOptions::new().append(true).create(true).open(path) {
            Ok(_) => Ok(()),
            Err(why) => Err(format!("cannot write the report to {}: {why}", path.display())),
        },
        None => Ok(()),
    }
}
