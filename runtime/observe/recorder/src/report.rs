//! The report of a run: what `-xsim-report FILE.json` writes and the summary prints.

use crate::call_profile::CallProfile;
use crate::critical_path::CriticalPath;
use crate::intervals::{InterruptedIntervals, LongIntervals};
use engine::{Span, Time};
use serde::{Deserialize, Serialize};
use serde_json::ser::{Formatter, PrettyFormatter};
use std::collections::BTreeMap;
use std::io::{self, Write};

/// A run in numbers.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct RunReport {
    /// Version of the report's form: [`RunReport::VERSION`] when it was written.
    #[serde(default)]
    pub version: u32,
    /// The simulated machine's side. With a compute model that does not measure the host, it is the
    /// same byte for byte on every run, host and number of native processes.
    pub simulated: Simulated,
    /// The host's side: different on every run.
    pub host: Host,
}

/// Results of the simulated machine. Times are picoseconds of virtual time.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Simulated {
    /// The program's file name, without its directory.
    pub program: String,
    /// The simulated machine, as its one-line specification.
    pub machine: String,
    /// Virtual ranks.
    pub ranks: u64,
    /// The latest clock of any rank at its end.
    pub virtual_time_ps: u64,
    /// Messages of the program that entered the network, those inside collectives included.
    pub messages: u64,
    /// Their payload bytes.
    pub bytes: u128,
    /// Messages of MPI's own: what members agree on when they make communicators, windows and files, or after
    /// a failure, synchronisation of windows, and what is asked of a file's home.
    #[serde(default)]
    pub internal_messages: u64,
    /// Their bytes.
    #[serde(default)]
    pub internal_bytes: u128,
    /// MPI functions that were called, by name.
    pub functions: BTreeMap<String, FunctionCost>,
    /// The reason why the run ended before its program did, if it did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub early_end: Option<EarlyEnd>,
    /// Compute time over ranks.
    pub compute: Spread,
    /// Time in MPI calls that waited, over ranks.
    pub wait: Spread,
    /// The jobs, if several had the machine at once.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub jobs: Vec<JobSummary>,
    /// Profile by call site, with `-xsim-profile`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub profile: Option<CallProfile>,
    /// The critical path of the run, with `-xsim-critical-path`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub critical_path: Option<CriticalPath>,
    /// The report of packets, messages and links, on a network that has them (docs/reference/packets.md).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub network: Option<serde_json::Value>,
}

/// The reason why a run ended before its program did.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct EarlyEnd {
    /// The kind of end.
    pub cause: EndCause,
    /// The sentences about it on standard error.
    pub sentences: Vec<String>,
}

/// A cause that ended a run before its program did.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EndCause {
    /// No rank could go on.
    Deadlock,
    /// A signal.
    Signal,
    /// An error, an abort, a failure of a rank, or an exit status other than 0.
    Failure,
}

impl EndCause {
    /// Returns what the run did, as a heading.
    pub fn verdict(self) -> &'static str {
        match self {
            EndCause::Deadlock => "This run deadlocked",
            EndCause::Signal => "This run was stopped by a signal",
            EndCause::Failure => "This run failed",
        }
    }
}

/// One of several jobs that had the machine at once.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct JobSummary {
    /// The program that the job ran.
    pub program: String,
    /// The ranks; those of all jobs are numbered one job's behind the other's.
    pub ranks: u64,
    /// The time at which it begins, if not with the run.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub begin_ps: u64,
    /// From when it begins to the latest clock of any of its ranks at its end, beside the other jobs.
    pub virtual_time_ps: u64,
    /// The virtual time with the machine to itself, on the same endpoints, if it was run so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub alone_ps: Option<u64>,
}

fn is_zero(ps: &u64) -> bool {
    *ps == 0
}

/// One MPI function over all ranks.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct FunctionCost {
    /// Number of calls.
    pub calls: u64,
    /// Virtual time from entry to return, summed over calls and ranks.
    pub time_ps: u128,
}

/// The spread of a length of time over ranks; of equal ranks the lowest is named.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Spread {
    /// The shortest.
    pub min_ps: u64,
    /// Whose it was.
    pub min_rank: u64,
    /// The mean, rounded down to a picosecond.
    pub mean_ps: u64,
    /// The longest.
    pub max_ps: u64,
    /// Whose it was.
    pub max_rank: u64,
}

/// Resources of the host that the run used.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Host {
    /// Native processes.
    pub native_processes: u32,
    /// Wall time in seconds.
    pub host_time_s: f64,
    /// Processor time, user and system, in seconds.
    pub cpu_time_s: f64,
    /// The largest resident set, in bytes.
    pub peak_rss_bytes: u64,
    /// Switches to a virtual rank.
    pub context_switches: u64,
    /// The options that were given, by name.
    pub options: BTreeMap<String, String>,
    /// The words of the program's command line, or of the command that replayed a trace.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub command: Vec<String>,
    /// The end of the run, in universal time: `2026-01-31 12:00:00 UTC`.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub date: String,
    /// The version of xsim.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub xsim: String,
    /// Measured computation that took a hundred times the median of its kind, most time first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub long_intervals: Vec<LongIntervals>,
    /// Measured computation that was charged without an interruption of the host.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub interrupted_intervals: Option<InterruptedIntervals>,
}

impl Spread {
    /// Returns the spread of `spans`, one for each rank from 0; all zero if there is none.
    pub fn of(spans: impl IntoIterator<Item = Span>) -> Spread {
        let (mut spread, mut sum, mut count) = (Spread::default(), 0u128, 0u64);
        for span in spans {
            let ps = span.as_ps();
            if count == 0 || ps < spread.min_ps {
                (spread.min_ps, spread.min_rank) = (ps, count);
            }
            if ps > spread.max_ps {
                (spread.max_ps, spread.max_rank) = (ps, count);
            }
            sum += u128::from(ps);
            count += 1;
        }
        // A mean never exceeds the maximum, which is a u64.
        spread.mean_ps = sum.checked_div(u128::from(count)).unwrap_or(0) as u64;
        spread
    }
}

impl Simulated {
    /// Returns `virtual_time_ps` as an instant.
    pub fn virtual_time(&self) -> Time {
        Time::from_ps(self.virtual_time_ps)
    }
}

impl RunReport {
    /// The form that this library writes and reads. It changes when a field gets another meaning or is no
    /// more.
    pub const VERSION: u32 = 1;

    /// Returns the report as indented JSON with a final newline; keys always come in the same order.
    pub fn to_json(&self) -> String {
        let mut text = Vec::new();
        let mut writer = serde_json::Serializer::with_formatter(&mut text, LineFormatter::default());
        self.serialize(&mut writer).expect("a report is plain data, which always has a JSON form");
        text.push(b'\n');
        String::from_utf8(text).expect("JSON is UTF-8")
    }

    /// Writes the report to a file.
    ///
    /// # Errors
    /// A sentence with the file's name if it cannot be written.
    pub fn write(&self, path: &std::path::Path) -> Result<(), String> {
        std::fs::write(path, self.to_json())
            .map_err(|why| format!("cannot write the report to {}: {why}", path.display()))
    }
}

/// Indented JSON with a line for each field, and arrays of plain values on the line of theirs: they may be
/// long.
#[derive(Default)]
struct LineFormatter(PrettyFormatter<'static>);

impl Formatter for LineFormatter {
    fn begin_object<W: ?Sized + Write>(&mut self, writer: &mut W) -> io::Result<()> {
        self.0.begin_object(writer)
    }
    fn end_object<W: ?Sized + Write>(&mut self, writer: &mut W) -> io::Result<()> {
        self.0.end_object(writer)
    }
    fn begin_object_key<W: ?Sized + Write>(&mut self, writer: &mut W, first: bool) -> io::Result<()> {
        self.0.begin_object_key(writer, first)
    }
    fn begin_object_value<W: ?Sized + Write>(&mut self, writer: &mut W) -> io::Result<()> {
        self.0.begin_object_value(writer)
    }
    fn end_object_value<W: ?Sized + Write>(&mut self, writer: &mut W) -> io::Result<()> {
        self.0.end_object_value(writer)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn report() -> RunReport {
        let functions = [("MPI_Send".to_owned(), FunctionCost { calls: 2, time_ps: u128::MAX })].into();
        let spread = Spread::of([5, 3, 3, 9, 9].map(Span::from_ps));
        let simulated = Simulated {
            network: None,
            jobs: Vec::new(),
            profile: None,
            critical_path: None,
            early_end: Some(EarlyEnd {
                cause: EndCause::Deadlock,
                sentences: vec!["nothing can wake them".into()],
            }),
            program: "ring".into(),
            machine: "star:l=0.5us,b=100Gbps".into(),
            ranks: 5,
            virtual_time_ps: u64::MAX,
            messages: 5,
            bytes: u128::from(u64::MAX) + 1,
            internal_messages: 3,
            internal_bytes: u128::MAX,
            functions,
            compute: spread,
            wait: Spread::default(),
        };
        let host = Host {
            native_processes: 1,
            host_time_s: 0.25,
            cpu_time_s: 0.5,
            peak_rss_bytes: 4096,
            context_switches: 3,
            options: [("np".to_owned(), "5".to_owned())].into(),
            command: vec!["./ring".to_owned(), "3".to_owned()],
            date: "2026-01-31 12:00:00 UTC".to_owned(),
            xsim: "0.1.0".to_owned(),
            long_intervals: vec![LongIntervals { max_rank: 4, ..LongIntervals::default() }],
            interrupted_intervals: Some(InterruptedIntervals {
                intervals: 3,
                ..InterruptedIntervals::default()
            }),
        };
        RunReport { version: RunReport::VERSION, simulated, host }
    }

    #[test]
    fn json_reads_back_exactly() {
        let report = report();
        assert_eq!(serde_json::from_str::<RunReport>(&report.to_json()).unwrap(), report);
    }

    #[test]
    fn arrays_stand_on_one_line() {
        let mut report = report();
        report.simulated.network = Some(serde_json::json!({"cells": [[1, 2], [3, 4]], "total": 5}));
        let json = report.to_json();
        assert!(json.contains("\n      \"cells\": [[1,2],[3,4]],\n      \"total\": 5\n    }"), "{json}");
        assert_eq!(serde_json::from_str::<RunReport>(&json).unwrap(), report);
    }

    #[test]
    fn the_simulated_part_comes_first_and_holds_nothing_of_the_host() {
        let json = report().to_json();
        let (simulated, host) = json.split_once("\"host\"").unwrap();
        assert!(simulated.contains("virtual_time_ps") && !simulated.contains("host_time_s"));
        assert!(host.contains("peak_rss_bytes"));
    }

    #[test]
    fn of_equal_ranks_the_lowest_is_named() {
        let spread = report().simulated.compute;
        assert_eq!(spread, Spread { min_ps: 3, min_rank: 1, mean_ps: 5, max_ps: 9, max_rank: 3 });
    }

    #[test]
    fn the_mean_of_the_longest_spans_does_not_overflow() {
        assert_eq!(Spread::of([Span::MAX; 3]).mean_ps, u64::MAX);
    }

    #[test]
    fn an_unwritable_file_is_named() {
        let error = report().write("/nonexistent/report.json".as_ref()).unwrap_err();
        assert!(error.contains("/nonexistent/report.json"), "{error}");
    }
}
