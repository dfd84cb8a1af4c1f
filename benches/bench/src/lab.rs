//! The build that is measured, and programs made with it.

use crate::measure::{CommandCost, Invocation, least_of, once};
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::Command;
use tempfile::TempDir;

/// Computation takes no virtual time.
pub const NO_COMPUTE: &str = "-xsim-compute none";

/// Returns the directory of the sources.
pub fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).unwrap_or(Path::new(".")).to_owned()
}

/// A build, and a directory for what is made with it.
pub struct Lab {
    release: PathBuf,
    scratch: TempDir,
}

impl Lab {
    /// Takes this tree's build, and makes it if that is asked for.
    ///
    /// # Errors
    /// A sentence if there is no build, or it fails.
    pub fn new(builds: bool) -> Result<Lab, String> {
        let target =
            std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root().join("target"), PathBuf::from);
        if builds {
            let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
            let built =
                Command::new(cargo).args(["build", "--release", "--quiet"]).current_dir(root()).status();
            if !built.is_ok_and(|status| status.success()) {
                return Err("cargo build --release failed; its messages are above".to_owned());
            }
        }
        Lab::of(&target.join("release"))
    }

    /// Takes the build in a directory.
    ///
    /// # Errors
    /// A sentence if there is none.
    pub fn of(release: &Path) -> Result<Lab, String> {
        let release = release.canonicalize().unwrap_or_else(|_| release.to_owned());
        if !release.join("xsim").is_file() {
            return Err(format!(
                "there is no xsim in '{}': run cargo build --release there",
                release.display()
            ));
        }
        let scratch =
            tempfile::tempdir().map_err(|why| format!("no scratch directory can be made: {why}"))?;
        Ok(Lab { release, scratch })
    }

    /// Returns the path of a file of the build.
    pub fn built(&self, name: &str) -> PathBuf {
        self.release.join(name)
    }

    /// Returns `true` if commands can run on several processes of MPICH.
    pub fn has_mpich(&self) -> bool {
        is_installed("mpirun.mpich") && self.built("libxsim_native_mpich.so").is_file()
    }

    /// Returns the path of a file in the scratch directory.
    pub fn scratch(&self, name: &str) -> PathBuf {
        self.scratch.path().join(name)
    }

    /// Begins an `xsim` command.
    pub fn xsim(&self, words: &str) -> Invocation {
        Invocation::of(self.built("xsim")).args(words)
    }

    /// Compiles a source of the tree by `xsim cc` and kin; `flags` may be empty.
    ///
    /// # Errors
    /// The compiler's messages.
    pub fn compile(&self, compiler: &str, source: &str, name: &str, flags: &str) -> Result<PathBuf, String> {
        let program = self.scratch(name);
        let command = self.xsim(compiler).args("-O2").args(flags).arg(root().join(source));
        self.once(&command.arg("-o").arg(&program))?;
        Ok(program)
    }

    /// Begins a run of a program on virtual ranks, without a summary.
    pub fn ranks(&self, program: &Path, arguments: &str, ranks: u32) -> Invocation {
        Invocation::of(program).args(arguments).args("-xsim-quiet -xsim-np").arg(ranks.to_string())
    }

    /// Runs a command once.
    ///
    /// # Errors
    /// A sentence with the command and what it said.
    pub fn once(&self, command: &Invocation) -> Result<CommandCost, String> {
        once(self.scratch.path(), command)
    }

    /// Runs a command some times, and returns the least of each figure.
    ///
    /// # Errors
    /// A sentence with the command and what it said.
    pub fn least(&self, runs: u32, command: &Invocation) -> Result<CommandCost, String> {
        let [cost] = self.least_of(runs, [command])?;
        Ok(cost)
    }

    /// Runs commands in turn, and returns the least of each figure for each.
    ///
    /// # Errors
    /// A sentence with the command and what it said.
    pub fn least_of<const N: usize>(
        &self,
        runs: u32,
        commands: [&Invocation; N],
    ) -> Result<[CommandCost; N], String> {
        least_of(self.scratch.path(), runs, commands)
    }

    /// Returns the processor seconds of a command beyond those of another one.
    ///
    /// # Errors
    /// A sentence with the command and what it said.
    pub fn beyond(&self, runs: u32, start: &Invocation, whole: &Invocation) -> Result<f64, String> {
        let [start, whole] = self.least_of(runs, [start, whole])?;
        Ok(whole.cpu_s - start.cpu_s)
    }

    /// Returns the report `name` in the scratch directory.
    ///
    /// # Errors
    /// A sentence if there is none.
    pub fn report(&self, name: &str) -> Result<Value, String> {
        let text = std::fs::read_to_string(self.scratch(name)).map_err(|why| format!("no report: {why}"))?;
        serde_json::from_str(&text).map_err(|why| format!("the report: {why}"))
    }

    /// Returns a number of a report, such as `/host/cpu_time_s`.
    ///
    /// # Errors
    /// A sentence if there is none.
    pub fn reported(&self, name: &str, pointer: &str) -> Result<f64, String> {
        self.report(name)?
            .pointer(pointer)
            .and_then(Value::as_f64)
            .ok_or_else(|| format!("the report has no {pointer}"))
    }
}

/// Returns `true` if a command is installed.
pub fn is_installed(command: &str) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path).any(|directory| directory.join(command).is_file())
}
