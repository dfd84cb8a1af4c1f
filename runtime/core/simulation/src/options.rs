//! The options of a run: one table, three ways to give each.
//!
//! `-xsim-np 1000` among the program's arguments (taken out before the program sees them),
//! `XSIM_NP=1000` in the environment, `xsim run --np 1000` on the command line. An argument wins
//! over the environment, the environment over the default; of one option given twice the last wins.

mod document;
mod table;
mod value;

pub use document::{help_text, markdown};
pub use table::{OTHER_VARIABLES, Row, TABLE, Topic, find};
pub use value::{ComputeOption, GlobalsOption, NativeMpi, ProgressMode, StackOption};

use engine::{Span, Time};
use mpi::schedule::choose::Policy;
use recorder::RankList;
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fmt;
use std::path::PathBuf;

/// All options of a run, checked one by one; what needs the machine or the program is checked later.
#[derive(Clone, PartialEq, Debug)]
pub struct Options {
    /// Virtual ranks, 1 to 2^31 - 1.
    pub np: u32,
    /// The most ranks that there will be, those that are spawned included; `None`: nothing is spawned.
    pub universe: Option<u32>,
    /// From when ranks are spawned until they run.
    pub spawn_time: Span,
    /// The simulated machine: a specification, a preset's name or a TOML file.
    pub machine: String,
    /// Placement of ranks on endpoints: `block`, `round-robin`, `socket` or `file:PATH`.
    pub placement: String,
    /// File of hosts with slots, which are nodes; empty if there is none.
    pub hostfile: String,
    /// The charge for computation between MPI calls.
    pub compute: ComputeOption,
    /// Simulated processors are this many times slower than the host's.
    pub proc: f64,
    /// Floating-point operations that a rank's processor does in a second; `None`: the machine may say.
    pub flops: Option<f64>,
    /// The ranks that fail, and the times of their failures or the law that draws them.
    pub fail: mpi::failure::Specification,
    /// `true` if the others go on when a rank fails.
    pub ft: bool,
    /// From a failure until they know.
    pub ft_delay: Span,
    /// A standard-mode message longer than this waits for its receiver; `None`: no message does.
    pub eager_limit: Option<u64>,
    /// Choice of collective algorithms.
    pub coll: Policy,
    /// Run all collectives event by event, never in one loop over clocks.
    pub events: bool,
    /// The method that gives each rank private globals.
    pub globals: GlobalsOption,
    /// Shared libraries whose globals are private too, by file name.
    pub globals_libs: Vec<String>,
    /// Global symbols that all ranks share.
    pub globals_fold: Vec<String>,
    /// Bytes of a rank's stack, if given.
    pub stack: Option<u64>,
    /// The mode of stacks: a stack for each rank, or one for all.
    pub stack_mode: StackOption,
    /// The MPI that joins several native processes.
    pub native: NativeMpi,
    /// The file with the ranks of each native process; `None`: ranks are distributed evenly.
    pub map: Option<PathBuf>,
    /// Each process is one rank: the program's `main` is not taken over.
    pub one_rank: bool,
    /// The JSON file of the report.
    pub report: Option<PathBuf>,
    /// The file of the log of calls.
    pub log: Option<PathBuf>,
    /// The ranks whose calls are logged; `None`: all.
    pub log_ranks: Option<RankList>,
    /// `true` if it is told where the time goes by call site.
    pub profile: bool,
    /// `true` if it is found out what the run's time depends on.
    pub critical_path: bool,
    /// The greatest number of callers by which the calls of a site are distinguished.
    pub profile_callers: u32,
    /// The file of the trace.
    pub trace: Option<PathBuf>,
    /// The form in which the trace has the time between calls.
    pub trace_times: trace::Timing,
    /// The virtual time from which on it is recorded.
    pub trace_from: Time,
    /// The virtual time before which it is; `None`: to the end.
    pub trace_until: Option<Time>,
    /// The interval at which the trace recorded so far is saved, in the host's time.
    pub trace_save: Span,
    /// The file of the timeline.
    pub timeline: Option<PathBuf>,
    /// In which format; `None`: the file's name says it.
    pub timeline_format: Option<timeline::TimelineFormat>,
    /// The ranks of the timeline; `None`: as many as can be viewed.
    pub timeline_ranks: Option<RankList>,
    /// The functions whose calls the timeline has.
    pub timeline_functions: timeline::FunctionSelection,
    /// The virtual time from which on it is written.
    pub timeline_from: Time,
    /// The virtual time before which it is; `None`: to the end.
    pub timeline_until: Option<Time>,
    /// The files of the report on the packet network.
    pub network_report: Vec<PathBuf>,
    /// Say what was chosen, and why.
    pub verbose: bool,
    /// Say what works here and MPI does not promise.
    pub check: bool,
    /// No summary and no progress line.
    pub quiet: bool,
    /// The progress line.
    pub progress: ProgressMode,
    /// Seconds of host time that a rank may compute without an MPI call before it is named; 0: for ever.
    pub watchdog: f64,
    /// `true` if allocated memory comes to a rank as another left it.
    pub heap_as_is: bool,
    /// List the options and end.
    pub help: bool,
    /// Print the version and end.
    pub version: bool,
    /// The options that were given, by name, as text: for the report.
    pub given: BTreeMap<&'static str, String>,
}

/// The reason why the options of a run cannot be used: one sentence with the way out.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct OptionError(pub String);

impl fmt::Display for OptionError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}
impl std::error::Error for OptionError {}

impl Default for Options {
    fn default() -> Self {
        let mut options = Options {
            np: 1,
            universe: None,
            spawn_time: Span::ZERO,
            machine: String::new(),
            placement: String::new(),
            hostfile: String::new(),
            compute: ComputeOption::Fixed(Span::ZERO),
            proc: 1.0,
            flops: None,
            fail: mpi::failure::Specification::Nothing,
            ft: false,
            ft_delay: Span::ZERO,
            eager_limit: None,
            coll: Policy::default(),
            events: false,
            globals: GlobalsOption::Auto,
            globals_libs: Vec::new(),
            globals_fold: Vec::new(),
            stack: None,
            stack_mode: StackOption::Auto,
            native: NativeMpi::Auto,
            map: None,
            one_rank: false,
            report: None,
            log: None,
            log_ranks: None,
            profile: false,
            profile_callers: 0,
            critical_path: false,
            trace: None,
            trace_times: trace::Timing::Histogram,
            trace_from: Time::ZERO,
            trace_until: None,
            trace_save: Span::from_ps(60_000_000_000_000),
            timeline: None,
            timeline_format: None,
            timeline_ranks: None,
            timeline_functions: timeline::FunctionSelection::default(),
            timeline_from: Time::ZERO,
            timeline_until: None,
            network_report: Vec::new(),
            verbose: false,
            check: false,
            quiet: false,
            progress: ProgressMode::Auto,
            watchdog: 0.0,
            heap_as_is: false,
            help: false,
            version: false,
            given: BTreeMap::new(),
        };
        for row in TABLE.iter().filter(|row| !row.default.is_empty()) {
            row.apply(&mut options, row.default).expect("the table's defaults are valid, as its test checks");
        }
        options
    }
}

impl Options {
    /// Returns the number of ranks that there are numbers for: those of the start, and those that can be
    /// spawned.
    pub fn places(&self) -> u32 {
        self.universe.unwrap_or(self.np).max(self.np)
    }

    /// Reads the environment, then `args`, and takes the simulator's options out of `args`.
    ///
    /// `args[0]` is the program's name. `environment` is every variable of the process; those that
    /// do not start with `XSIM_` are passed over, as are empty ones.
    ///
    /// # Errors
    /// An option or variable that does not exist, a value that is missing or invalid; `args` is then
    /// unspecified.
    pub fn from_args(
        args: &mut Vec<OsString>,
        environment: impl IntoIterator<Item = (OsString, OsString)>,
    ) -> Result<Options, OptionError> {
        let mut options = Options::default();
        // The order in which an environment lists its variables must not choose the error.
        let sorted: BTreeMap<_, _> = environment
            .into_iter()
            .filter(|(name, _)| name.as_encoded_bytes().starts_with(b"XSIM_"))
            .collect();
        for (name, value) in &sorted {
            options.take_variable(&name.to_string_lossy(), &value.to_string_lossy())?;
        }
        let mut kept = Vec::with_capacity(args.len());
        let mut rest = std::mem::take(args).into_iter();
        kept.extend(rest.next());
        while let Some(arg) = rest.next() {
            match arg.to_str().and_then(strip_prefix) {
                None => kept.push(arg),
                Some(body) => options.take_argument(body, &mut rest)?,
            }
        }
        *args = kept;
        Ok(options)
    }

    fn take_variable(&mut self, name: &str, value: &str) -> Result<(), OptionError> {
        if OTHER_VARIABLES.iter().any(|(other, _)| *other == name) {
            return Ok(());
        }
        let Some(row) = TABLE.iter().find(|row| row.names().any(|n| variable(n) == name)) else {
            let known = TABLE
                .iter()
                .flat_map(Row::names)
                .map(variable)
                .chain(OTHER_VARIABLES.iter().map(|v| v.0.to_owned()));
            return Err(OptionError(format!(
                "the environment variable {name} is not an option of xsim{}; unset it, or see -xsim-help",
                did_you_mean(name, known)
            )));
        };
        if value.is_empty() {
            return Ok(());
        }
        self.set(row, value).map_err(|why| OptionError(format!("{name}={value}: {why}")))
    }

    fn take_argument(
        &mut self,
        body: &str,
        rest: &mut impl Iterator<Item = OsString>,
    ) -> Result<(), OptionError> {
        let (name, attached) = match body.split_once('=') {
            Some((name, value)) => (name, Some(value.to_owned())),
            None => (body, None),
        };
        let Some(row) = find(name) else {
            let known = TABLE.iter().flat_map(Row::names).map(str::to_owned);
            let nearest =
                nearest(name, known).map(|n| format!(" (did you mean -xsim-{n}?)")).unwrap_or_default();
            return Err(OptionError(format!(
                "-xsim-{name} is not an option of xsim{nearest}; -xsim-help lists the options"
            )));
        };
        let value = match (attached, row.is_flag()) {
            (Some(value), _) => value,
            (None, true) => "on".to_owned(),
            (None, false) => match rest.next().map(OsString::into_string) {
                Some(Ok(value)) => value,
                Some(Err(raw)) => {
                    return Err(OptionError(format!(
                        "-xsim-{name}: the value {} is not UTF-8",
                        raw.display()
                    )));
                }
                None => {
                    return Err(OptionError(format!(
                        "-xsim-{name} needs a value: write -xsim-{name} {}",
                        row.value
                    )));
                }
            },
        };
        self.set(row, &value).map_err(|why| OptionError(format!("-xsim-{name} {value}: {why}")))
    }

    /// Sets the option of `row` from text.
    ///
    /// # Errors
    /// What is wrong with the value and what it may be; the option keeps its former value.
    pub fn set(&mut self, row: &'static Row, value: &str) -> Result<(), String> {
        row.apply(self, value)?;
        self.given.insert(row.name, value.to_owned());
        Ok(())
    }
}

fn strip_prefix(arg: &str) -> Option<&str> {
    arg.strip_prefix("-xsim-").or_else(|| arg.strip_prefix("--xsim-"))
}

/// Returns the environment variable of the option `name`: `stack-mode` is `XSIM_STACK_MODE`.
pub fn variable(name: &str) -> String {
    format!("XSIM_{}", name.to_ascii_uppercase().replace('-', "_"))
}

fn did_you_mean(given: &str, known: impl Iterator<Item = String>) -> String {
    nearest(given, known).map(|n| format!("; did you mean {n}?")).unwrap_or_default()
}

/// Returns the known name nearest to `given` in edits, if it is near: at most a third of its letters apart.
pub fn nearest(given: &str, known: impl Iterator<Item = String>) -> Option<String> {
    let distances = known.map(|name| (edit_distance(given, &name), name));
    let (distance, name) = distances.min()?;
    (distance <= given.len().max(name.len()).div_ceil(3)).then_some(name)
}

/// Returns Levenshtein's distance in characters, O(len(a) len(b)).
fn edit_distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.chars().enumerate() {
        let mut diagonal = std::mem::replace(&mut row[0], i + 1);
        for (j, y) in b.iter().enumerate() {
            let substitute = diagonal + usize::from(x != *y);
            diagonal = row[j + 1];
            row[j + 1] = substitute.min(diagonal + 1).min(row[j] + 1);
        }
    }
    row[b.len()]
}

#[cfg(test)]
mod tests;
