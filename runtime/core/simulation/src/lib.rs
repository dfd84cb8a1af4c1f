//! Puts a run together: the one table of options, the simulated machine, the progress line,
//! the report and its summary. Knows nothing of how any of them works.

pub mod host;
pub mod machine;
pub mod map;
pub mod memory;
pub mod options;
pub mod outcome;
pub mod processes;
pub mod progress;
pub mod recorders;
mod setup;
pub mod summary;

pub use host::HostMeter;
pub use options::{OptionError, Options};
pub use progress::Progress;
pub use setup::{check_network_report, setup, setup_on};

/// Returns what can be known to fail before a run starts. One is more ranks than memory, of which this
/// process has `ranks`, and shares the host's memory with `sharing - 1` others. The other is a report that
/// cannot be written, where this process writes it.
///
/// # Errors
/// A sentence with what to change.
pub fn preflight(options: &Options, ranks: u32, sharing: u32, writes: bool) -> Result<(), String> {
    memory::check(ranks.into(), memory::MIN_BYTES_PER_RANK, memory::available(), sharing)
        .map_err(|why| format!("-xsim-np {}: {why}", options.np))?;
    for path in options.report.iter().chain(&options.network_report).filter(|_| writes) {
        // Opened without truncation: a run that fails must not destroy the report of one that did not, nor
        // leave an empty one.
        let is_there = path.symlink_metadata().is_ok();
        if let Err(why) = std::fs::OpenOptions::new().append(true).create(true).open(path) {
            return Err(format!("cannot write the report to {}: {why}", path.display()));
        }
        if !is_there {
            // Whoever has taken it away meanwhile did the same.
            let _ = std::fs::remove_file(path);
        }
    }
    Ok(())
}

/// Writes what a packet network did to each of the files, by their names' endings.
///
/// # Errors
/// A sentence with the name of a file that cannot be written.
pub fn write_network(report: &network::NetworkReport, files: &[std::path::PathBuf]) -> Result<(), String> {
    for path in files {
        let text = match path.extension().and_then(|ending| ending.to_str()) {
            Some("csv") => report.links_to_csv(),
            Some("svg") => report.heat_map(),
            _ => report.to_json() + "\n",
        };
        std::fs::write(path, text)
            .map_err(|why| format!("cannot write the report to {}: {why}", path.display()))?;
    }
    Ok(())
}
