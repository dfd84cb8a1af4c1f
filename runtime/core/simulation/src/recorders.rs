//! Recorders that listen to the calls of a run, as its options say. A new recorder is a file in
//! `runtime/observe/recorder` and a line here.

use crate::options::Options;
use engine::Time;
use profile::{Critical, Profiler};
use recorder::{Check, Log, RankList, Recorder};
use std::ops::Range;
use std::path::{Path, PathBuf};
use timeline::{Timeline, TimelineFormat};
use trace::Recording;

/// Returns what is wrong with the options of recorders; `functions` are all of MPI.
///
/// # Errors
/// A sentence.
pub fn check(options: &Options, functions: &[&str]) -> Result<(), String> {
    check_files(options)?;
    check_log(options)?;
    if options.profile_callers > 0 && !options.profile {
        return Err("-xsim-profile-callers says what a profile tells apart: ask for one with -xsim-profile"
            .to_owned());
    }
    if options.critical_path && options.report.is_none() {
        return Err(
            "-xsim-critical-path keeps its files beside the report, and puts what it finds there: ask for \
             one, such as -xsim-report run.json"
                .to_owned(),
        );
    }
    check_trace(options)?;
    check_timeline(options, functions)
}

/// Refuses two outputs to one file, of which one would overwrite the other. Devices take both.
fn check_files(options: &Options) -> Result<(), String> {
    let one = [
        ("report", &options.report),
        ("log", &options.log),
        ("trace", &options.trace),
        ("timeline", &options.timeline),
    ];
    let one = one.into_iter().filter_map(|(name, path)| path.as_deref().map(|path| (name, path)));
    let outputs: Vec<(&str, &Path)> =
        one.chain(options.network_report.iter().map(|path| ("network-report", path.as_path()))).collect();
    let is_page = |path: &&PathBuf| path.extension().is_some_and(|end| end == "html" || end == "htm");
    if let Some(path) = options.report.as_ref().filter(is_page) {
        return Err(format!(
            "-xsim-report {0} would be JSON in a page's name: write {1}, and make the page by xsim report \
             {1} -o {0}",
            path.display(),
            path.with_extension("json").display()
        ));
    }
    for (index, &(name, path)) in outputs.iter().enumerate() {
        let is_same = |other: &Path| identity(path).is_some_and(|file| identity(other) == Some(file));
        if let Some((other, _)) = outputs[..index].iter().find(|(_, other)| is_same(other)) {
            return Err(format!(
                "-xsim-{other} and -xsim-{name} would both write {}: give each a file of its own",
                path.display()
            ));
        }
    }
    Ok(())
}

/// Returns the place of a file, links followed as far as they lead to something; `None` for a device or a
/// pipe.
fn identity(path: &Path) -> Option<PathBuf> {
    if let Ok(there) = path.canonicalize() {
        return there.metadata().is_ok_and(|there| there.is_file()).then_some(there);
    }
    let directory =
        path.parent().filter(|directory| !directory.as_os_str().is_empty()).unwrap_or(Path::new("."));
    Some(directory.canonicalize().unwrap_or_else(|_| directory.to_owned()).join(path.file_name()?))
}

fn check_log(options: &Options) -> Result<(), String> {
    let Some(ranks) = &options.log_ranks else { return Ok(()) };
    if options.log.is_none() {
        return Err(
            "-xsim-log-ranks chooses ranks for a log: say where it goes, such as -xsim-log calls.log"
                .to_owned(),
        );
    }
    check_ranks("log-ranks", ranks, options.places())
}

fn check_ranks(option: &str, ranks: &RankList, np: u32) -> Result<(), String> {
    if ranks.last() >= np {
        return Err(format!(
            "-xsim-{option} names rank {}, but there are ranks 0 to {} only",
            ranks.last(),
            np - 1
        ));
    }
    Ok(())
}

fn check_trace(options: &Options) -> Result<(), String> {
    let given = ["trace-times", "trace-from", "trace-until", "trace-save"]
        .into_iter()
        .find(|&name| options.given.contains_key(name));
    if let Some(name) = given.filter(|_| options.trace.is_none()) {
        return Err(format!(
            "-xsim-{name} says how a trace is recorded: say where it goes, such as -xsim-trace app.trace"
        ));
    }
    if options.trace.is_some() && options.places() > options.np {
        return Err(
            "a trace has the ranks of the start alone, and -xsim-universe lets others be spawned: leave one \
             of both out"
                .to_owned(),
        );
    }
    if options.trace_until.is_some_and(|until| until <= options.trace_from) {
        return Err(
            "-xsim-trace-until is not later than -xsim-trace-from: there is nothing to record between them"
                .to_owned(),
        );
    }
    Ok(())
}

fn check_timeline(options: &Options, functions: &[&str]) -> Result<(), String> {
    let Some(path) = &options.timeline else {
        let names =
            ["timeline-format", "timeline-ranks", "timeline-functions", "timeline-from", "timeline-until"];
        return match names.into_iter().find(|&name| options.given.contains_key(name)) {
            Some(name) => Err(format!(
                "-xsim-{name} says what a timeline shows: say where it goes, such as -xsim-timeline \
                 run.pftrace"
            )),
            None => Ok(()),
        };
    };
    options.timeline_format.map_or_else(|| TimelineFormat::of(path), Ok)?;
    if let Some(ranks) = &options.timeline_ranks {
        check_ranks("timeline-ranks", ranks, options.places())?;
    }
    if let Some(name) = options.timeline_functions.unknown(functions) {
        return Err(format!("-xsim-timeline-functions: no function of MPI is called {name}"));
    }
    if options.timeline_until.is_some_and(|until| until <= options.timeline_from) {
        return Err(
            "-xsim-timeline-until is not later than -xsim-timeline-from: there is nothing to show between \
             them"
                .to_owned(),
        );
    }
    Ok(())
}

/// Makes the recorders of process number `process`, which has the ranks `own`.
///
/// # Errors
/// A sentence, if one cannot begin.
pub fn recorders(options: &Options, process: u32, own: Range<u32>) -> Result<Vec<Box<dyn Recorder>>, String> {
    let mut recorders: Vec<Box<dyn Recorder>> = Vec::new();
    if let Some(path) = &options.log {
        recorders.push(Box::new(Log::create(
            path,
            options.log_ranks.clone().unwrap_or_else(RankList::all),
            process,
        )?));
    }
    if let Some(path) = &options.trace {
        let window = options.trace_from..options.trace_until.unwrap_or(Time::MAX);
        let (path, timing, ranks, own) = (path.clone(), options.trace_times, options.np, own.clone());
        let (save, clock) = (options.trace_save.as_ps() / 1000, rank::host::now_ns as fn() -> u64);
        recorders.push(Box::new(Recording::create(trace::Options {
            path,
            timing,
            window,
            ranks,
            own,
            process,
            save,
            clock,
            keys: Vec::new,
        })?));
    }
    if options.check {
        recorders.push(Box::new(Check::default()));
    }
    if options.profile {
        recorders.push(Box::new(Profiler::new(options.places(), own.clone(), options.profile_callers)));
    }
    if let Some(report) = options.report.as_ref().filter(|_| options.critical_path) {
        recorders.push(Box::new(Critical::create(report, process, own.clone())?));
    }
    if let Some(path) = &options.timeline {
        recorders.push(Box::new(Timeline::create(timeline_options(path, options, process, own)?)?));
    }
    Ok(recorders)
}

fn timeline_options(
    path: &Path,
    options: &Options,
    process: u32,
    own: Range<u32>,
) -> Result<timeline::Options, String> {
    Ok(timeline::Options {
        path: path.to_owned(),
        format: options.timeline_format.map_or_else(|| TimelineFormat::of(path), Ok)?,
        selected: options.timeline_ranks.clone().unwrap_or_else(|| timeline::default_ranks(options.places())),
        functions: options.timeline_functions.clone(),
        window: options.timeline_from..options.timeline_until.unwrap_or(Time::MAX),
        ranks: options.places(),
        own,
        process,
    })
}
