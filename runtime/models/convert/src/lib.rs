//! Traces in the formats of other simulators: GOAL, LogGOPSim's text and binary files (T. Hoefler, C. Siebert
//! and A. Lumsdaine, "Group Operation Assembly Language", ICPP 2009), the time-independent traces of SimGrid,
//! archives of OTF2, and SST's DUMPI (docs/reference/trace-conversion.md).
//!
//! What is read is told to the recorder of traces line by line, so that no more of a file is in memory than
//! the trace keeps of it. What is written comes from a replay that no network runs: the calls of each rank,
//! in order, with what it computes between them.

mod dumpi;
mod format;
mod goal;
mod lines;
mod otf2;
mod place;
mod script;
mod ti;
mod walk;
mod writer;

pub use ::goal::LogGops;
pub use format::Format;
pub use goal::{graph, graph_of};
pub use walk::walked;

use engine::Span;
use mpi::schedule::choose::Policy;
use std::path::Path;
use trace::Trace;

/// Options of a conversion.
#[derive(Clone, Debug)]
pub struct Options {
    /// Operations a second of a processor, by which computation that is told in operations becomes time, and
    /// back.
    pub flops: f64,
    /// Policy by which collectives choose their algorithms, where they become messages.
    pub policy: Policy,
    /// The model that orders the operations of GOAL's ranks.
    pub loggops: LogGops,
    /// Functions whose calls are left out of what is exported.
    pub without: Vec<String>,
}

impl Options {
    /// The time that so many operations take; `None` if that is no time.
    fn time(&self, operations: f64) -> Option<Span> {
        let ps = (operations / self.flops * 1e12).round();
        (0.0..9.2e18).contains(&ps).then(|| Span::from_ps(ps as u64))
    }

    /// The operations that are done in a time.
    fn operations(&self, span: Span) -> f64 {
        span.as_ps() as f64 * 1e-12 * self.flops
    }
}

/// Reads a file of this format and writes a trace of it. Returns a note about what the trace fixes of it.
///
/// # Errors
/// A sentence with the file, the line and the reason.
pub fn import(format: Format, from: &Path, to: &Path, options: &Options) -> Result<Option<String>, String> {
    let imported = match format {
        Format::Goal | Format::GoalBinary => goal::import(from, to, &options.loggops),
        Format::Ti => ti::import(from, to, options).map(|()| None),
        Format::Otf2 => otf2::import(from, to).map(|()| None),
        Format::Dumpi => dumpi::import(from, to).map(|()| None),
    };
    if imported.is_err() {
        // What was begun is no trace.
        let _ = std::fs::remove_file(to);
    }
    imported
}

/// Writes a trace in this format.
///
/// # Errors
/// A sentence: a call that the format has no words for, with its rank and place, or why a file cannot be
/// written.
pub fn export(trace: &Trace, format: Format, to: &Path, options: &Options) -> Result<(), String> {
    check_length(trace)?;
    match format {
        Format::Goal => goal::export(trace, to, options, false),
        Format::GoalBinary => goal::export(trace, to, options, true),
        Format::Ti => ti::export(trace, to, options),
        Format::Otf2 => otf2::export(trace, to, &options.without),
        Format::Dumpi => Err("DUMPI's files are read and not written".to_owned()),
    }
}

/// The most calls that are written: a file of another simulator has a line, or as many bytes, for each.
const MAX_CALLS: u64 = 1 << 36;

/// Refuses a trace whose loops stand for more calls than any file holds.
fn check_length(trace: &Trace) -> Result<(), String> {
    match trace.length() {
        Some(calls) if calls <= MAX_CALLS => Ok(()),
        calls => {
            let calls = calls.map_or("more than 2^64".to_owned(), |calls| calls.to_string());
            Err(format!(
                "its loops stand for {calls} calls, and each is written: at most 2^36 are; cut the trace \
                 first (xsim trace cut)"
            ))
        }
    }
}

/// Reads what a file of this format says, and keeps nothing of it but a trace in memory (fuzz targets).
///
/// # Errors
/// A sentence with the line and the reason.
pub fn read(format: Format, text: &[u8], options: &Options) -> Result<Trace, String> {
    match format {
        Format::Goal | Format::GoalBinary => goal::read(text, &options.loggops),
        Format::Ti => ti::read(text, options),
        Format::Otf2 => otf2::read(text),
        Format::Dumpi => dumpi::read(text),
    }
}
