//! The module files `mpi.mod` and `mpi_f08.mod`, which only the user's own compiler can make:
//! built once for each compiler and version, then found in a cache.

use crate::failure::Failure;
use crate::output::note;
use std::ffi::OsString;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs};

/// The modules and what they include.
const SOURCES: [(&str, &str); 7] = [
    ("mpi.f90", include_str!("../fortran/mpi.f90")),
    ("mpi_f08.f90", include_str!("../fortran/mpi_f08.f90")),
    ("mpi_constants.inc", include_str!(concat!(env!("OUT_DIR"), "/mpi_constants.inc"))),
    ("mpi_interfaces.inc", include_str!(concat!(env!("OUT_DIR"), "/mpi_interfaces.inc"))),
    ("mpi_f08_constants.inc", include_str!(concat!(env!("OUT_DIR"), "/mpi_f08_constants.inc"))),
    ("mpi_f08_callbacks.inc", include_str!(concat!(env!("OUT_DIR"), "/mpi_f08_callbacks.inc"))),
    ("mpi_f08_interfaces.inc", include_str!(concat!(env!("OUT_DIR"), "/mpi_f08_interfaces.inc"))),
];

/// Returns the directory with the module files for this compiler (command and first arguments): below
/// `installed` if they are there, else in the user's cache, where they are made. Returns `None`, with a
/// sentence on stderr, if the compiler does not compile them: programs that include `mpif.h` still work then.
///
/// # Errors
/// If the compiler cannot be started, or the modules cannot be kept.
pub fn modules(installed: Option<&Path>, compiler: &[OsString]) -> Result<Option<PathBuf>, Failure> {
    let found =
        installed.map(|parent| directory(parent, compiler)).transpose()?.filter(|found| is_complete(found));
    if found.is_some() { Ok(found) } else { modules_in(&cache(), compiler) }
}

fn directory(parent: &Path, compiler: &[OsString]) -> Result<PathBuf, Failure> {
    Ok(parent.join(format!("modules-{:016x}", identity(compiler)?)))
}

fn is_complete(directory: &Path) -> bool {
    directory.join("mpi_f08.mod").is_file()
}

/// Returns the directory with the module files for this compiler below `cache`, made if it is not there.
pub fn modules_in(cache: &Path, compiler: &[OsString]) -> Result<Option<PathBuf>, Failure> {
    let directory = directory(cache, compiler)?;
    if is_complete(&directory) {
        return Ok(Some(directory));
    }
    // Built beside and renamed, so that two compilations at once do not see halves.
    let building = cache.join(format!("building-{}", std::process::id()));
    let outcome = build(&building, compiler);
    if matches!(outcome, Ok(true)) && fs::rename(&building, &directory).is_err() && !is_complete(&directory) {
        return Err(Failure::new(format!("cannot keep the Fortran module files in {}", directory.display())));
    }
    let _ = fs::remove_dir_all(&building);
    outcome.map(|compiles| compiles.then_some(directory))
}

/// Returns what lets older programs through gfortran, which is strict since version 10: buffers of any type
/// with `include 'mpif.h'`, and the hexadecimal constants of their day. Other wrappers pass the same.
pub fn leniency(compiler: &[OsString]) -> &'static [&'static str] {
    let Ok(version) = Command::new(&compiler[0]).args(&compiler[1..]).arg("--version").output() else {
        return &[];
    };
    let text = String::from_utf8_lossy(&version.stdout);
    let first = text.lines().next().unwrap_or_default();
    let major =
        first.split_whitespace().filter_map(|word| word.split('.').next()?.parse::<u32>().ok()).next_back();
    if first.starts_with("GNU Fortran") && major >= Some(10) {
        &["-fallow-argument-mismatch", "-fallow-invalid-boz"]
    } else {
        &[]
    }
}

/// Returns one number for the compiler's arguments, its version and our sources.
// Not for its path: `gfortran`, `/usr/bin/gfortran` and `f95` are one compiler, whose modules are one
// directory.
fn identity(compiler: &[OsString]) -> Result<u64, Failure> {
    let version =
        Command::new(&compiler[0]).args(&compiler[1..]).arg("--version").output().map_err(|why| {
            Failure::with(
                crate::failure::NOT_FOUND,
                format!(
                    "cannot start the compiler {}: {why}; install it, or name another in XSIM_FC",
                    compiler[0].display()
                ),
            )
        })?;
    let mut hasher = DefaultHasher::new();
    compiler[1..].hash(&mut hasher);
    version.stdout.hash(&mut hasher);
    SOURCES.hash(&mut hasher);
    Ok(hasher.finish())
}

fn build(directory: &Path, compiler: &[OsString]) -> Result<bool, Failure> {
    let cannot = |why| {
        Failure::new(format!(
            "cannot write the Fortran modules to {}: {why}; set XDG_CACHE_HOME",
            directory.display()
        ))
    };
    fs::create_dir_all(directory).map_err(cannot)?;
    for (name, text) in SOURCES {
        fs::write(directory.join(name), text).map_err(cannot)?;
    }
    let run = Command::new(&compiler[0])
        .args(&compiler[1..])
        .args(["-c", "mpi.f90", "mpi_f08.f90"])
        .current_dir(directory)
        .output()
        .map_err(|why| Failure::new(format!("cannot start the compiler {}: {why}", compiler[0].display())))?;
    if !run.status.success() {
        let said = String::from_utf8_lossy(&run.stderr);
        let first = said.lines().find(|line| line.contains("rror")).unwrap_or("it gave no reason");
        note!(
            "xsim: {} does not compile the modules mpi and mpi_f08 ({first}); programs that include mpif.h \
             can work",
            compiler[0].display()
        );
    }
    Ok(run.status.success())
}

fn cache() -> PathBuf {
    let given = |name| env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    given("XDG_CACHE_HOME")
        .or_else(|| given("HOME").map(|home| home.join(".cache")))
        .unwrap_or_else(env::temp_dir)
        .join("xsim")
}
