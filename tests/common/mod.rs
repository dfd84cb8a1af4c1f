//! Compiles C programs with `xsim cc` and runs them on virtual ranks.
//!
//! Programs are in tests/programs. Each test binary compiles a program once.

#![allow(dead_code, reason = "every test binary uses a part of this")]

pub mod networks;
pub mod same;
pub mod survivors;

use std::collections::HashMap;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};
use std::sync::{Mutex, OnceLock};
use std::time::{Duration, Instant};

/// A run that takes longer than this hangs.
const PATIENCE: Duration = Duration::from_secs(60);

/// The repository.
pub fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// The xsim command; makes sure that the library beside it is current, which Cargo does not for tests.
pub fn xsim() -> &'static Path {
    static BUILT: OnceLock<()> = OnceLock::new();
    let command = Path::new(env!("CARGO_BIN_EXE_xsim"));
    BUILT.get_or_init(|| {
        let directory = command.parent().unwrap();
        let profile: &[&str] = if directory.ends_with("release") { &["--release"] } else { &[] };
        let mut cargo = Command::new(env!("CARGO"));
        cargo.current_dir(root()).args(["build", "--quiet", "--lib"]).args(profile);
        cargo.env("CARGO_TARGET_DIR", directory.parent().unwrap());
        assert!(cargo.status().unwrap().success(), "libxsim does not build");
    });
    command
}

/// Makes sure that the library for an installed MPI is beside libxsim.so.
///
/// # Panics
/// If that MPI is not installed.
pub fn native(mpi: &'static str) {
    static BUILT: OnceLock<Mutex<Vec<&'static str>>> = OnceLock::new();
    let mut built = BUILT.get_or_init(Mutex::default).lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    if !built.contains(&mpi) {
        let directory = xsim().parent().unwrap();
        let mut build = Command::new("sh");
        build.arg(root().join("runtime/core/transport/native/build.sh")).args([mpi]).arg(directory);
        build.env("CARGO_TARGET_DIR", directory.parent().unwrap());
        let packages = if mpi == "mpich" {
            "mpich libmpich-dev libclang-dev"
        } else {
            "openmpi-bin libopenmpi-dev libclang-dev"
        };
        assert!(
            build.status().unwrap().success(),
            "the library for {mpi} does not build: install {packages}"
        );
        built.push(mpi);
    }
}

/// A program on several native processes of an MPI, whose launcher has a directory for itself.
pub fn launched(mpi: &str, count: u32, directory: &Path, program: &Path) -> Command {
    let mut command = Command::new(format!("mpirun.{mpi}"));
    if mpi == "openmpi" {
        command
            .arg("--oversubscribe")
            .envs([("OMPI_ALLOW_RUN_AS_ROOT", "1"), ("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1")]);
        // Launchers at the same time take the one directory of their user from each other when they end.
        command.env("OMPI_MCA_orte_tmpdir_base", directory);
    }
    command.arg("-np").arg(count.to_string()).arg(program);
    command
}

/// A command of xsim's, in an environment without options.
pub fn command(args: &[&str]) -> Command {
    let mut command = Command::new(xsim());
    clean(&mut command).args(args);
    command
}

/// Takes out of a command's environment what would steer xsim or the loader.
pub fn clean(command: &mut Command) -> &mut Command {
    for (name, _) in std::env::vars_os().filter(|(name, _)| name.to_string_lossy().starts_with("XSIM_")) {
        command.env_remove(name);
    }
    // Cargo points it at the build tree, which would hide a missing rpath.
    command.env_remove("LD_LIBRARY_PATH")
}

/// A directory for a test's files, made afresh.
pub fn scratch(name: &str) -> PathBuf {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("{name}-{}", std::process::id()));
    let _ = std::fs::remove_dir_all(&path);
    std::fs::create_dir_all(&path).unwrap();
    path
}

/// Compiles `source`, relative to the repository, with `xsim cc` or `xsim cxx` and further arguments.
pub fn compile(source: &str, args: &[&str]) -> PathBuf {
    static DONE: OnceLock<Mutex<HashMap<String, PathBuf>>> = OnceLock::new();
    let mut done = DONE.get_or_init(Mutex::default).lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    let key = format!("{source} {}", args.join(" "));
    let number = done.len();
    done.entry(key)
        .or_insert_with(|| {
            let path = Path::new(source);
            let compiler = if path.extension().unwrap() == "c" { "cc" } else { "cxx" };
            let output = scratch("programs").with_file_name(format!(
                "{}-{}-{number}",
                path.file_stem().unwrap().display(),
                std::process::id()
            ));
            let mut command = command(&[compiler, "-O1", "-g", "-Wall", "-Wextra", "-Werror", "-o"]);
            let status =
                command.arg(&output).arg(root().join(source)).args(args).arg("-lm").status().unwrap();
            assert!(status.success(), "{source} does not compile");
            output
        })
        .clone()
}

/// The MPI and the number of processes that the runs of this test binary are made on, from the environment:
/// `PROCESSES=mpich:2`.
fn everywhere() -> Option<(&'static str, u32)> {
    static GIVEN: OnceLock<Option<(&'static str, u32)>> = OnceLock::new();
    *GIVEN.get_or_init(|| {
        let given = std::env::var("PROCESSES").ok()?;
        let (mpi, count) = given.split_once(':').unwrap_or((&given, "2"));
        let mpi = if mpi == "openmpi" { "openmpi" } else { "mpich" };
        native(mpi);
        Some((mpi, count.parse().expect("PROCESSES=mpich:NUMBER or openmpi:NUMBER")))
    })
}

/// One run of a program.
#[derive(Clone)]
pub struct Run {
    program: PathBuf,
    ranks: u32,
    args: Vec<String>,
    variables: Vec<(String, String)>,
    input: Option<PathBuf>,
    summary: bool,
    /// The MPI whose launcher starts it, and how many processes.
    launcher: Option<(&'static str, u32)>,
    /// `true` if it must be one process, wherever others run.
    is_one: bool,
}

/// The output and the exit status of a run.
#[derive(Debug)]
pub struct Output {
    /// Standard output, which ranks print to.
    pub stdout: String,
    /// Standard error, with lines of the ranks and of the simulator.
    pub stderr: String,
    /// The exit status.
    pub status: ExitStatus,
}

impl Run {
    /// Prepares a run of a program in tests/programs, by its file name: `ring.c`.
    pub fn program(name: &str) -> Run {
        Run::of(compile(&format!("tests/programs/{name}"), &[]))
    }

    /// Prepares a run of an executable, on one rank.
    pub fn of(program: PathBuf) -> Run {
        xsim();
        Run {
            program,
            ranks: 1,
            args: Vec::new(),
            variables: Vec::new(),
            input: None,
            summary: false,
            launcher: None,
            is_one: false,
        }
    }

    /// On this many virtual ranks.
    pub fn ranks(mut self, ranks: u32) -> Run {
        self.ranks = ranks;
        self
    }

    /// With an argument, for the program or for the simulator.
    pub fn arg(mut self, arg: impl Into<String>) -> Run {
        self.args.push(arg.into());
        self
    }

    /// On a simulated machine.
    pub fn machine(self, specification: &str) -> Run {
        self.arg(format!("-xsim-mn={specification}"))
    }

    /// With a variable in the environment.
    pub fn variable(mut self, name: &str, value: &str) -> Run {
        self.variables.push((name.to_owned(), value.to_owned()));
        self
    }

    /// With a file as standard input.
    pub fn input(mut self, path: PathBuf) -> Run {
        self.input = Some(path);
        self
    }

    /// With the summary on stderr, which is otherwise left out.
    pub fn summary(mut self) -> Run {
        self.summary = true;
        self
    }

    /// On several native processes: of `mpich` or `openmpi`.
    pub fn processes(mut self, mpi: &'static str, count: u32) -> Run {
        native(mpi);
        self.launcher = Some((mpi, count));
        self
    }

    /// On one process, also where `PROCESSES` says otherwise: it asks for what several cannot do.
    pub fn one_process(mut self) -> Run {
        self.is_one = true;
        self
    }

    /// Runs it.
    ///
    /// # Panics
    /// If it takes over a minute.
    pub fn run(self) -> Output {
        let what = format!("{} {:?} on {} ranks hangs", self.program.display(), self.args, self.ranks);
        let (output, ended) = self.run_within(PATIENCE);
        assert!(ended, "{what}: {output}");
        output
    }

    /// Runs it for at most this many seconds, for programs that do not end by themselves.
    pub fn run_for(self, seconds: u64) -> Output {
        self.run_within(Duration::from_secs(seconds)).0
    }

    /// The output, and whether the program ended by itself.
    fn run_within(self, patience: Duration) -> (Output, bool) {
        static NUMBER: std::sync::atomic::AtomicUsize = std::sync::atomic::AtomicUsize::new(0);
        let number = NUMBER.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        let directory = scratch(&format!("run-{number}"));
        let (out, err) = (directory.join("stdout"), directory.join("stderr"));
        let mut command = match self.launcher.or_else(|| everywhere().filter(|_| !self.is_one)) {
            None => Command::new(&self.program),
            Some((mpi, count)) => launched(mpi, count, &directory, &self.program),
        };
        clean(&mut command).env("XSIM_NP", self.ranks.to_string()).env("XSIM_COMPUTE", "none");
        if !self.summary {
            command.env("XSIM_QUIET", "1");
        }
        command.envs(self.variables).args(&self.args);
        command.stdin(self.input.map_or(Stdio::null(), |path| File::open(path).unwrap().into()));
        command.stdout(File::create(&out).unwrap()).stderr(File::create(&err).unwrap());
        let mut child = command.spawn().unwrap();
        let start = Instant::now();
        let (status, ended) = loop {
            if let Some(status) = child.try_wait().unwrap() {
                break (status, true);
            }
            if start.elapsed() > patience {
                child.kill().unwrap();
                break (child.wait().unwrap(), false);
            }
            std::thread::sleep(Duration::from_millis(2));
        };
        let text = |path: &Path| String::from_utf8_lossy(&std::fs::read(path).unwrap()).into_owned();
        let output = Output { stdout: text(&out), stderr: text(&err), status };
        std::fs::remove_dir_all(directory).unwrap();
        (output, ended)
    }
}

impl Output {
    /// This run, if it ended well.
    #[track_caller]
    pub fn success(self) -> Output {
        assert!(self.status.success(), "{self}");
        self
    }

    /// This run, if it ended with any status but success, by itself and not by a signal.
    #[track_caller]
    pub fn failure(self) -> Output {
        assert!(self.status.code().is_some_and(|code| code != 0), "{self}");
        self
    }

    /// This run, if it said all of this on stderr.
    #[track_caller]
    pub fn says(self, parts: &[&str]) -> Output {
        for part in parts {
            assert!(self.stderr.contains(part), "'{part}' is missing: {self}");
        }
        self
    }

    /// The lines that ranks printed, sorted: ranks come in no order.
    pub fn lines(&self) -> Vec<&str> {
        let mut lines: Vec<_> = self.stdout.lines().collect();
        lines.sort_unstable();
        lines
    }

    /// This run, if exactly the line `ok` was printed once by each of `ranks` ranks.
    #[track_caller]
    pub fn ok(self, ranks: u32) -> Output {
        assert!(self.status.success() && self.stdout == "ok\n".repeat(ranks as usize), "{self}");
        self
    }
}

impl std::fmt::Display for Output {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}\n--- stdout\n{}\n--- stderr\n{}", self.status, self.stdout, self.stderr)
    }
}
