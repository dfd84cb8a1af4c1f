//! The installation in the form of other MPIs, in a directory of its own: `bin/mpicc`, `bin/mpiexec`,
//! `include`, `lib` and the files of pkg-config. A build system whose `MPI_HOME` it is builds with xsim.

use super::{cannot, link, parent};
use crate::compile::{self, Language};
use crate::failure::{Failure, NOT_FOUND};
use crate::fortran;
use crate::layout::{HOME, InstallLayout, LIBRARY};
use crate::names;
use crate::output::note;
use std::fs;
use std::path::Path;

/// The names of each language for pkg-config: MPI's, and Open MPI's, which Meson asks for first.
const PACKAGES: [(Language, [&str; 2]); 3] = [
    (Language::C, ["mpi-c", "ompi-c"]),
    (Language::Cxx, ["mpi-cxx", "ompi-cxx"]),
    (Language::Fortran, ["mpi-fort", "ompi-fort"]),
];

/// Writes the directory below an installation's prefix, and `xsim.pc` beside the library.
///
/// Without a Fortran compiler there are no module files and no `mpi-fort.pc`, which a sentence says.
///
/// # Errors
/// If a file cannot be written.
pub fn install(prefix: &Path) -> Result<(), Failure> {
    let home = prefix.join(HOME);
    for (name, _) in names::OF_MPI {
        link("../../../bin/xsim", home.join("bin").join(name)).map_err(cannot)?;
    }
    link("../../include/xsim", home.join("include")).map_err(cannot)?;
    for name in [LIBRARY, "libmpi.so"] {
        link(&format!("../../{LIBRARY}"), home.join("lib").join(name)).map_err(cannot)?;
    }
    let layout = InstallLayout::installed(prefix);
    write(&package(prefix, "xsim", Language::C, &layout)?, &prefix.join("lib/pkgconfig/xsim.pc"))?;
    let has_fortran = make_modules(&home.join("modules"))?;
    for (language, [name, of_open_mpi]) in PACKAGES {
        if language == Language::Fortran && !has_fortran {
            continue;
        }
        let path = home.join(format!("lib/pkgconfig/{name}.pc"));
        write(&package(prefix, name, language, &layout)?, &path)?;
        link(&format!("{name}.pc"), path.with_file_name(format!("{of_open_mpi}.pc"))).map_err(cannot)?;
    }
    Ok(())
}

/// Makes the module files of the Fortran compiler. Returns `false`, with a sentence on stderr, if it makes
/// none.
fn make_modules(directory: &Path) -> Result<bool, Failure> {
    match fortran::modules_in(directory, &compile::compiler(Language::Fortran)) {
        Ok(modules) => Ok(modules.is_some()),
        Err(failure) if failure.status == NOT_FOUND => {
            note!("xsim: without Fortran modules and mpi-fort.pc: {failure}, then run `xsim install` again");
            Ok(false)
        }
        Err(failure) => Err(failure),
    }
}

/// Returns a file of pkg-config with the flags that the wrapper of the language passes.
fn package(prefix: &Path, name: &str, language: Language, layout: &InstallLayout) -> Result<String, Failure> {
    let whole = prefix.display().to_string();
    let relative = |words: &[std::ffi::OsString]| compile::shell_line(words).replace(&whole, "${prefix}");
    let compile = relative(&compile::compile_flags(language, &compile::compiler(language), layout)?);
    let link = relative(&compile::link_flags(layout));
    let (description, version) = (env!("CARGO_PKG_DESCRIPTION"), env!("CARGO_PKG_VERSION"));
    Ok(format!(
        "prefix={whole}\n\nName: {name}\nDescription: {description}\nVersion: {version}\n\
         Cflags: {compile}\nLibs: {link}\n"
    ))
}

fn write(text: &str, path: &Path) -> Result<(), Failure> {
    parent(path).map_err(cannot)?;
    fs::write(path, text).map_err(|why| cannot((path.to_owned(), why)))
}
