//! The runs of a sweep: which command each is, what is there already, and several at a time.

use crate::output::note;
use ::sweep::{Point, Points, RunResults, Variable};
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Options that the sweep itself gives.
pub fn is_ours(option: &str) -> bool {
    matches!(option, "report" | "quiet" | "progress" | "verbose" | "help" | "version")
}

/// The input of a run: a program or a trace.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum RunKind {
    /// A program.
    Program,
    /// A trace is replayed.
    Trace,
}

/// Settings that all runs share.
pub struct RunSettings {
    /// The kind of what is run.
    pub kind: RunKind,
    /// Options, program and arguments, with `{NAME}` where a value goes.
    pub words: Vec<String>,
    /// Longest time that a run may take on the host.
    pub limit: Option<Duration>,
    /// The directory of the results.
    pub directory: PathBuf,
}

impl RunSettings {
    /// Returns `true` if a word asks for the variable's values.
    pub fn has_place(&self, name: &str) -> bool {
        let place = format!("{{{name}}}");
        self.words.iter().any(|word| word.contains(&place))
    }

    /// Makes the directory, or makes sure that what is there is of the same command: results of another would
    /// be taken for this one's.
    ///
    /// # Errors
    /// A sentence, if it is not.
    pub fn open(&self) -> Result<(), String> {
        let cannot =
            |why: std::io::Error| format!("cannot keep results in {}: {why}", self.directory.display());
        fs::create_dir_all(&self.directory).map_err(cannot)?;
        let (path, command) = (self.directory.join("command"), self.words.join("\n") + "\n");
        match fs::read_to_string(&path) {
            Ok(there) if there != command => Err(format!(
                "{} has the results of another command ({}): choose another directory",
                self.directory.display(),
                there.trim().replace('\n', " ")
            )),
            Ok(_) => Ok(()),
            Err(_) => fs::write(path, command).map_err(cannot),
        }
    }

    /// Makes the runs of all points, up to `jobs` at a time, and returns their results in the order of the
    /// points.
    pub fn all(
        &self,
        variables: &[Variable],
        points: &[Point],
        jobs: usize,
    ) -> Vec<Result<RunResults, String>> {
        let results: Vec<Mutex<Result<RunResults, String>>> =
            points.iter().map(|_| Mutex::new(Err("it was not started".to_owned()))).collect();
        let (next, done) = (AtomicUsize::new(0), AtomicUsize::new(0));
        // Whoever is through takes the next: runs of one sweep may differ in length a thousandfold.
        let work = || {
            loop {
                let place = next.fetch_add(1, Ordering::Relaxed);
                let Some(point) = points.get(place) else { return };
                let (result, was_there) = self.result(variables, point);
                let done = done.fetch_add(1, Ordering::Relaxed) + 1;
                if !was_there {
                    let span = |outcome: &RunResults| engine::Span::from_ps(outcome.time_ps).to_string();
                    let told = result.as_ref().map_or_else(|why| format!("failed: {why}"), span);
                    note!("xsim: {done} of {}: {}: {told}", points.len(), Points(variables).name(point));
                }
                *results[place].lock().unwrap_or_else(PoisonError::into_inner) = result;
            }
        };
        std::thread::scope(|scope| (0..jobs.min(points.len())).for_each(|_| drop(scope.spawn(work))));
        results
            .into_iter()
            .map(|result| result.into_inner().unwrap_or_else(PoisonError::into_inner))
            .collect()
    }

    /// Returns the result of a point, which is run if it has none yet, and whether it had one.
    fn result(&self, variables: &[Variable], point: &Point) -> (Result<RunResults, String>, bool) {
        let path = self.directory.join(file_name(&Points(variables).name(point)) + ".json");
        if !self.is_older(&path, variables, point)
            && let Ok(report) = ::report::read(&path)
        {
            return (Ok(outcome(&report)), true);
        }
        (self.run(variables, point, &path), false)
    }

    /// Returns `true` if a result is older than a file that its command names: the program, the trace or the
    /// machine may be another one since.
    fn is_older(&self, path: &Path, variables: &[Variable], point: &Point) -> bool {
        let changed = |path: &Path| {
            fs::metadata(path).ok().filter(fs::Metadata::is_file).and_then(|file| file.modified().ok())
        };
        let values = variables.iter().zip(point).map(|(variable, &value)| variable.values[value].clone());
        let newest =
            values.chain(self.filled(variables, point)).filter_map(|word| changed(Path::new(&word))).max();
        changed(path).is_some_and(|then| newest.is_some_and(|newest| newest > then))
    }

    fn run(&self, variables: &[Variable], point: &Point, path: &Path) -> Result<RunResults, String> {
        let (log, new) = (path.with_extension("log"), path.with_extension("new"));
        let output = File::create(&log).map_err(|why| format!("cannot write {}: {why}", log.display()))?;
        let own =
            std::env::current_exe().map_err(|why| format!("the command does not find itself: {why}"))?;
        let error = output.try_clone().map_err(|why| format!("cannot write {}: {why}", log.display()))?;
        let mut command = Command::new(own);
        command
            .args(self.arguments(variables, point))
            .arg("--report")
            .arg(&new)
            .args(self.filled(variables, point));
        let child = command.stdin(Stdio::null()).stdout(output).stderr(error).spawn();
        let status = self.ended(child.map_err(|why| format!("it cannot be started: {why}"))?)?;
        if !status.success() {
            return Err(reason(&log).unwrap_or_else(|| status.to_string()));
        }
        let report = ::report::read(&new)?;
        // A report that is there is one of a run that came to its end.
        fs::rename(&new, path).map_err(|why| format!("cannot write {}: {why}", path.display()))?;
        let _ = fs::remove_file(log);
        Ok(outcome(&report))
    }

    /// Returns how a run ended; one that takes too long is ended here.
    // Asked for again and again, because a wait with a limit is no part of the standard library; pauses grow
    // to a hundredth of what has passed, so that short runs are not held up and long ones cost nothing.
    fn ended(&self, mut child: Child) -> Result<ExitStatus, String> {
        let cannot = |why: std::io::Error| format!("nobody knows how it ended: {why}");
        let Some(limit) = self.limit else { return child.wait().map_err(cannot) };
        let begun = Instant::now();
        loop {
            if let Some(status) = child.try_wait().map_err(cannot)? {
                return Ok(status);
            }
            let passed = begun.elapsed();
            if passed >= limit {
                child.kill().and_then(|()| child.wait()).map_err(cannot)?;
                return Err(format!("it took longer than {limit:?} of the host's time (--limit)"));
            }
            let pause = (passed / 100).clamp(Duration::from_millis(1), Duration::from_millis(200));
            std::thread::sleep(pause.min(limit - passed));
        }
    }

    /// Returns the arguments of a run: the subcommand, and values that are options.
    fn arguments(&self, variables: &[Variable], point: &Point) -> Vec<String> {
        let mut arguments =
            vec![if self.kind == RunKind::Trace { "replay" } else { "run" }.to_owned(), "--quiet".to_owned()];
        let mut algorithms = Vec::new();
        for (variable, &value) in
            variables.iter().zip(point).filter(|(variable, _)| !self.has_place(&variable.name))
        {
            let value = &variable.values[value];
            match variable.name.strip_prefix("coll.") {
                Some(function) => algorithms.push(format!("{function}={value}")),
                None => arguments.extend([format!("--{}", variable.name), value.clone()]),
            }
        }
        if !algorithms.is_empty() {
            arguments.extend(["--coll".to_owned(), algorithms.join(",")]);
        }
        arguments
    }

    fn filled(&self, variables: &[Variable], point: &Point) -> Vec<String> {
        let fill = |word: &String| {
            variables.iter().zip(point).fold(word.clone(), |word, (variable, &value)| {
                word.replace(&format!("{{{}}}", variable.name), &variable.values[value])
            })
        };
        self.words.iter().map(fill).collect()
    }
}

fn outcome(report: &recorder::RunReport) -> RunResults {
    let simulated = &report.simulated;
    RunResults {
        time_ps: simulated.virtual_time_ps,
        compute_ps: simulated.compute.mean_ps,
        wait_ps: simulated.wait.mean_ps,
        messages: simulated.messages,
        bytes: simulated.bytes,
    }
}

/// Returns what a failed run said last about itself.
fn reason(log: &Path) -> Option<String> {
    let text = String::from_utf8_lossy(&fs::read(log).ok()?).into_owned();
    let own = text.lines().find_map(|line| line.strip_prefix("xsim: "));
    own.or_else(|| text.lines().rfind(|line| !line.trim().is_empty())).map(|line| line.trim().to_owned())
}

/// Returns a name for a file, with a sum of what it cannot show.
fn file_name(point: &str) -> String {
    const LONGEST: usize = 100;
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "=.-_".contains(c);
    let letter = |c: char| match c {
        ' ' => '+',
        c if is_plain(c) => c,
        _ => '_',
    };
    let plain: String = point.chars().map(letter).take(LONGEST).collect();
    if point.chars().count() <= LONGEST && point.chars().all(|c| c == ' ' || is_plain(c)) {
        return plain;
    }
    // FNV-1a: equal on every host and with every version, so that results are found again.
    let sum = point
        .bytes()
        .fold(0xcbf2_9ce4_8422_2325u64, |sum, byte| (sum ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3));
    format!("{plain}-{sum:016x}")
}
