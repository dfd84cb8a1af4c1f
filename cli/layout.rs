//! Locations of the parts: beside this executable in the build tree, or installed under a prefix.

use crate::failure::Failure;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// The library's file name.
pub const LIBRARY: &str = "libxsim.so";

/// The name as a library of MPI 5.0's standard ABI, for programs built with another implementation of that.
pub const STANDARD: &str = "libmpi_abi.so.1";

/// An MPI of the machine's own, as libraries that reach it are named.
pub const MPICH: &str = "mpich";
/// Another one.
pub const OPENMPI: &str = "openmpi";
/// Every one.
pub const MPIS: [&str; 2] = [MPICH, OPENMPI];

/// A use of the machine's own MPI, each with a library for each of [`MPIS`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum NativeUse {
    /// Runs on several processes.
    Processes,
    /// The record of real runs.
    Recorder,
}

impl NativeUse {
    /// Every use.
    pub const ALL: [NativeUse; 2] = [NativeUse::Processes, NativeUse::Recorder];

    /// Returns the file name of its library for an MPI.
    pub fn library(self, mpi: &str) -> String {
        match self {
            NativeUse::Processes => format!("libxsim_native_{mpi}.so"),
            NativeUse::Recorder => format!("libxsimtrace_{mpi}.so"),
        }
    }
}

/// The directory, below the prefix, of an installation in the form of other MPIs: what build systems call
/// `MPI_HOME`.
// A directory of its own: beside other MPIs' commands, `mpicc` in the prefix's bin would hide theirs.
pub const HOME: &str = "lib/xsim";

/// Returns where the installation has a file of `examples/` that the working directory lacks; else the word.
// The manual names examples by that path, and its readers stand anywhere.
pub fn or_example(word: OsString) -> OsString {
    let path = Path::new(&word);
    if !path.starts_with("examples") || path.exists() {
        return word;
    }
    let installed = InstallLayout::find().map(|layout| layout.share.join(path));
    installed.ok().filter(|file| file.is_file()).map_or(word, PathBuf::into_os_string)
}

/// The directories of one build or installation.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct InstallLayout {
    /// Holds `libxsim.so`.
    pub library: PathBuf,
    /// Holds `mpi.h`.
    pub include: PathBuf,
    /// Holds documents, examples and Fortran sources.
    pub share: PathBuf,
    /// Holds Fortran module files for the compilers that were there at the installation.
    pub modules: Option<PathBuf>,
}

/// Returns the path of this executable.
///
/// # Errors
/// A sentence, if the system does not tell.
pub fn executable() -> Result<PathBuf, Failure> {
    std::env::current_exe().map_err(|why| Failure::new(format!("cannot tell where xsim is: {why}")))
}

impl InstallLayout {
    /// Finds the layout of this executable.
    ///
    /// # Errors
    /// If the library is neither beside it nor in `../lib`.
    pub fn find() -> Result<InstallLayout, Failure> {
        let executable = executable()?;
        let directory = executable.parent().unwrap_or(Path::new("/"));
        InstallLayout::of(directory, Path::new(env!("CARGO_MANIFEST_DIR")))
    }

    /// Returns where the parts of an installation under `prefix` are.
    pub fn installed(prefix: &Path) -> InstallLayout {
        InstallLayout {
            library: prefix.join("lib"),
            include: prefix.join("include/xsim"),
            share: prefix.join("share/xsim"),
            modules: Some(prefix.join(HOME).join("modules")),
        }
    }

    /// Finds the layout of an executable in `directory`; `source` is where it was built from.
    fn of(directory: &Path, source: &Path) -> Result<InstallLayout, Failure> {
        let prefix = directory.parent().unwrap_or(directory);
        if prefix.join("lib").join(LIBRARY).is_file() {
            return Ok(InstallLayout::installed(prefix));
        }
        if !directory.join(LIBRARY).is_file() {
            return Err(Failure::new(format!(
                "{LIBRARY} is neither in {} nor in {}; build it with `cargo build --release`, or install \
                 with `xsim install --prefix DIR`",
                directory.display(),
                prefix.join("lib").display()
            )));
        }
        // A build tree that was moved keeps target/ inside; one with a target directory elsewhere does not.
        let near = directory.ancestors().skip(1).find(|root| root.join("include/mpi.h").is_file());
        let root = near.unwrap_or(source);
        Ok(InstallLayout {
            library: directory.to_owned(),
            include: root.join("include"),
            share: root.to_owned(),
            modules: None,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tree(name: &str, files: &[&str]) -> PathBuf {
        let root = std::env::temp_dir().join(format!("xsim-layout-{name}-{}", std::process::id()));
        for file in files {
            std::fs::create_dir_all(root.join(file).parent().unwrap()).unwrap();
            std::fs::write(root.join(file), "").unwrap();
        }
        root
    }

    #[test]
    fn an_installation_is_found_by_its_prefix() {
        let root = tree("installed", &["bin/xsim", "lib/libxsim.so"]);
        let layout = InstallLayout::of(&root.join("bin"), Path::new("/source")).unwrap();
        assert_eq!(layout, InstallLayout::installed(&root));
        std::fs::remove_dir_all(root).unwrap();
    }

    #[test]
    fn a_moved_build_tree_uses_its_own_headers() {
        let root = tree("moved", &["target/release/libxsim.so", "include/mpi.h"]);
        let layout = InstallLayout::of(&root.join("target/release"), Path::new("/source")).unwrap();
        assert_eq!(layout.include, root.join("include"));
        std::fs::remove_dir_all(root).unwrap();
    }

    #[test]
    fn a_target_directory_elsewhere_uses_the_source_it_was_built_from() {
        let root = tree("elsewhere", &["release/libxsim.so"]);
        let layout = InstallLayout::of(&root.join("release"), Path::new("/source")).unwrap();
        assert_eq!(layout.include, Path::new("/source/include"));
        std::fs::remove_dir_all(root).unwrap();
    }

    #[test]
    fn a_missing_library_says_how_to_build_it() {
        let failure =
            InstallLayout::of(Path::new("/nonexistent/bin"), Path::new("/source")).unwrap_err().to_string();
        assert!(failure.contains("cargo build --release"), "{failure}");
    }
}
