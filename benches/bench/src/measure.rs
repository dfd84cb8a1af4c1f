//! Processor time, time of the clock on the wall, and memory of a command.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Instant;
use wait4::Wait4;

/// A command and its variables.
#[derive(Clone)]
pub struct Invocation {
    words: Vec<OsString>,
    variables: Vec<(&'static str, String)>,
}

impl Invocation {
    /// Begins a command.
    pub fn of(program: impl AsRef<OsStr>) -> Invocation {
        Invocation { words: vec![program.as_ref().to_owned()], variables: Vec::new() }
    }

    /// Adds a word.
    #[must_use]
    pub fn arg(mut self, word: impl AsRef<OsStr>) -> Invocation {
        self.words.push(word.as_ref().to_owned());
        self
    }

    /// Adds the words of a text, which are apart by spaces.
    #[must_use]
    pub fn args(self, words: &str) -> Invocation {
        words.split_whitespace().fold(self, Invocation::arg)
    }

    /// Sets a variable.
    #[must_use]
    pub fn env(mut self, name: &'static str, value: impl Into<String>) -> Invocation {
        self.variables.push((name, value.into()));
        self
    }

    /// Runs this command by another one, as a launcher does.
    #[must_use]
    pub fn under(self, launcher: Invocation) -> Invocation {
        let words = launcher.words.into_iter().chain(self.words).collect();
        let variables = launcher.variables.into_iter().chain(self.variables).collect();
        Invocation { words, variables }
    }

    fn shown(&self) -> String {
        let words: Vec<_> = self.words.iter().map(|word| word.to_string_lossy()).collect();
        words.join(" ")
    }
}

/// Time and memory of a command, its children included.
#[derive(Clone, Debug, Default)]
pub struct CommandCost {
    /// Processor time, user and system, in seconds.
    pub cpu_s: f64,
    /// Time of the clock on the wall, in seconds.
    pub wall_s: f64,
    /// The largest resident set of one process, in bytes.
    pub peak_bytes: u64,
    /// The standard output.
    pub output: String,
}

impl CommandCost {
    /// Returns the peak of memory in gigabytes.
    pub fn gigabytes(&self) -> f64 {
        self.peak_bytes as f64 / 1e9
    }

    /// Returns the lesser of each figure, and the output of `self`.
    fn least(self, other: &CommandCost) -> CommandCost {
        CommandCost {
            cpu_s: self.cpu_s.min(other.cpu_s),
            wall_s: self.wall_s.min(other.wall_s),
            peak_bytes: self.peak_bytes.min(other.peak_bytes),
            output: self.output,
        }
    }
}

/// Runs a command once, with its streams in files of a directory.
///
/// # Errors
/// A sentence with the command and what it said, if it cannot be run or fails.
pub fn once(scratch: &Path, command: &Invocation) -> Result<CommandCost, String> {
    let file = |name: &str| File::create(scratch.join(name)).map_err(|why| format!("a scratch file: {why}"));
    let failed = |why: &dyn std::fmt::Display| format!("`{}` {why}", command.shown());
    let begun = Instant::now();
    let child = Command::new(&command.words[0])
        .args(&command.words[1..])
        .envs(command.variables.iter().map(|(name, value)| (name, value)))
        .stdin(Stdio::null())
        .stdout(file("stdout")?)
        .stderr(file("stderr")?)
        .spawn()
        .map_err(|why| failed(&format_args!("cannot be run: {why}")))?;
    let done = child.wait4().map_err(|why| failed(&why))?;
    let wall_s = begun.elapsed().as_secs_f64();
    let text = |name: &str| std::fs::read_to_string(scratch.join(name)).unwrap_or_default();
    if !done.status.success() {
        return Err(failed(&format_args!("ended with {}:\n{}", done.status, text("stderr"))));
    }
    Ok(CommandCost {
        cpu_s: (done.rusage.utime + done.rusage.stime).as_secs_f64(),
        wall_s,
        peak_bytes: done.rusage.maxrss,
        output: text("stdout"),
    })
}

/// Runs commands in turn, `runs` times each, and returns the least of each figure for each command.
///
/// In turn: the pace of a shared machine then meets all of them.
///
/// # Errors
/// That of the first that fails.
pub fn least_of<const N: usize>(
    scratch: &Path,
    runs: u32,
    commands: [&Invocation; N],
) -> Result<[CommandCost; N], String> {
    let mut least: [Option<CommandCost>; N] = [const { None }; N];
    for _ in 0..runs.max(1) {
        for (command, least) in commands.iter().zip(&mut least) {
            let cost = once(scratch, command)?;
            *least = Some(match least.take() {
                Some(before) => cost.least(&before),
                None => cost,
            });
        }
    }
    Ok(least.map(Option::unwrap_or_default))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_that_computes_takes_the_time_it_computes() {
        let scratch = tempfile::tempdir().unwrap();
        let busy =
            Invocation::of("sh").arg("-c").arg("i=0; while [ $i -lt 100000 ]; do i=$((i+1)); done; echo $i");
        let idle = Invocation::of("sleep").arg("0.2");
        let [busy, idle] = least_of(scratch.path(), 2, [&busy, &idle]).unwrap();
        assert_eq!(busy.output, "100000\n");
        assert!(busy.cpu_s > 2.0 * idle.cpu_s && idle.wall_s >= 0.2, "{busy:?} {idle:?}");
        assert!(idle.peak_bytes > 100_000, "{idle:?}");
    }

    #[test]
    fn a_command_that_fails_is_a_sentence_with_what_it_said() {
        let scratch = tempfile::tempdir().unwrap();
        let fails = Invocation::of("sh").arg("-c").arg("echo no such thing >&2; exit 3");
        let why = once(scratch.path(), &fails).unwrap_err();
        assert!(why.contains("exit status: 3") && why.contains("no such thing"), "{why}");
        assert!(
            once(scratch.path(), &Invocation::of("/no/such/program")).unwrap_err().contains("cannot be run")
        );
    }
}
