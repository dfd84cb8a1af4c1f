//! `xsim install --prefix DIR`: copies what a user needs out of the build tree.

mod home;

use crate::failure::Failure;
use crate::layout::{HOME, InstallLayout, LIBRARY, MPIS, NativeUse, STANDARD, executable};
use crate::names;
use crate::output::say;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// Directories of the source that are installed under share/xsim.
const SHARED: [&str; 4] = ["docs", "examples", "fortran", "python/xsim"];
const SHARED_FILES: [&str; 4] = ["README.md", "CHANGELOG.md", "LICENSE-MIT", "LICENSE-APACHE"];

/// Installs under `prefix`, replacing an earlier installation's files.
pub fn main(prefix: &Path) -> Result<ExitCode, Failure> {
    let layout = InstallLayout::find()?;
    let executable = executable()?;
    let prefix =
        std::path::absolute(prefix).map_err(|why| Failure::new(format!("{}: {why}", prefix.display())))?;
    install(&layout, &executable, &prefix).map_err(cannot)?;
    home::install(&prefix)?;
    crate::manual::install(&prefix.join("share")).map_err(cannot)?;
    say!("installed xsim under {}", prefix.display());
    say!("as an MPI for build systems: MPI_HOME={}", prefix.join(HOME).display());
    Ok(ExitCode::SUCCESS)
}

type Outcome = Result<(), (PathBuf, io::Error)>;

fn cannot((path, why): (PathBuf, io::Error)) -> Failure {
    Failure::new(format!("cannot install {}: {why}; choose a --prefix that you may write to", path.display()))
}

fn install(layout: &InstallLayout, executable: &Path, prefix: &Path) -> Outcome {
    copy(executable, &prefix.join("bin/xsim"))?;
    for (name, _) in names::OWN {
        link("xsim", prefix.join("bin").join(name))?;
    }
    copy(&layout.library.join(LIBRARY), &prefix.join("lib").join(LIBRARY))?;
    link(LIBRARY, prefix.join("lib").join(STANDARD))?;
    // Those that were built: libxsim.so and `xsim record` look for them beside it.
    let native = NativeUse::ALL.iter().flat_map(|native| MPIS.map(|mpi| native.library(mpi)));
    for name in native.filter(|name| layout.library.join(name).is_file()) {
        copy(&layout.library.join(&name), &prefix.join("lib").join(&name))?;
    }
    // In a directory of their own: another MPI's mpi.h may be in include.
    copy_tree(&layout.include, &prefix.join("include/xsim"))?;
    for name in SHARED.iter().filter(|name| layout.share.join(name).is_dir()) {
        copy_tree(&layout.share.join(name), &prefix.join("share/xsim").join(name))?;
    }
    for name in SHARED_FILES.iter().filter(|name| layout.share.join(name).is_file()) {
        copy(&layout.share.join(name), &prefix.join("share/xsim").join(name))?;
    }
    Ok(())
}

/// Makes a name at `path` for `to`, which is relative to the directory of `path`.
fn link(to: &str, path: PathBuf) -> Outcome {
    parent(&path)?;
    if path.symlink_metadata().is_ok() {
        fs::remove_file(&path).map_err(|why| (path.clone(), why))?;
    }
    std::os::unix::fs::symlink(to, &path).map_err(|why| (path, why))
}

fn parent(path: &Path) -> Outcome {
    let directory = path.parent().unwrap_or(path);
    fs::create_dir_all(directory).map_err(|why| (directory.to_owned(), why))
}

fn copy(from: &Path, to: &Path) -> Outcome {
    parent(to)?;
    let same = from.canonicalize().ok().is_some_and(|from| to.canonicalize().ok() == Some(from));
    if same {
        return Ok(());
    }
    // Written beside and renamed: a file that a running program has mapped must not change under it.
    let name = format!(".{}.new", to.file_name().unwrap_or_default().display());
    let new = to.with_file_name(name);
    fs::copy(from, &new).and_then(|_| fs::rename(&new, to)).map_err(|why| (to.to_owned(), why))
}

fn copy_tree(from: &Path, to: &Path) -> Outcome {
    let entries = fs::read_dir(from).map_err(|why| (from.to_owned(), why))?;
    for entry in entries {
        let path = entry.map_err(|why| (from.to_owned(), why))?.path();
        let name = path.file_name().unwrap_or_default();
        // Python leaves it beside the modules that it has imported.
        if name == "__pycache__" {
            continue;
        }
        let target = to.join(name);
        if path.is_dir() { copy_tree(&path, &target)? } else { copy(&path, &target)? }
    }
    Ok(())
}
