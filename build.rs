//! Generates the C boundary from the function table (`cabi/table`).

use abi_table::{Output, bodies, exports, fortran, header, interface_calls, modules};
use std::env;
use std::path::{Path, PathBuf};

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    println!("cargo:rerun-if-changed=cabi/table");
    let root = PathBuf::from(env::var_os("CARGO_MANIFEST_DIR").expect("set by cargo"));
    let out = PathBuf::from(env::var_os("OUT_DIR").expect("set by cargo"));
    let table = abi_table::read(&root.join("cabi/table"));
    let output = Output::new(&out);
    output.rust("bodies.rs", &bodies::shared(&table));
    output.rust("exports.rs", &exports::write(&table));
    output.rust("fortran.rs", &fortran::write(&table));
    output.rust("fortran_by_hand.rs", &fortran::spellings_by_hand(&table));
    output.rust("fortran_module.rs", &fortran::spellings_of_module());
    output.rust("fortran_removed.rs", &fortran::spellings_of_removed());
    output.text("mpif.h", &modules::mpif(&table));
    for (name, text) in modules::parts(&table).into_iter().chain(interface_calls::programs(&table)) {
        output.text(name, &text);
    }
    output.text("mpi.h", &header::write(&table));
    output.text("checks.c", &header::checks(&table));
    // The aliases MPI_X are assembler symbols, which rustc's own export list does not know.
    output.text(
        "exports.map",
        "{ global: MPI_*; PMPI_*; mpi_*; pmpi_*; MPIX_*; PMPIX_*; mpix_*; pmpix_*; xsim_*; XSIM_*; };\n",
    );
    standard_name(&out);
    println!("cargo:rustc-cdylib-link-arg=-Wl,--version-script={}", out.join("exports.map").display());
    println!("cargo:rustc-cdylib-link-arg=-Wl,-soname,libxsim.so");
    println!("cargo:rustc-cdylib-link-arg=-Wl,-z,now");
    // A handler for the process's exit may point into it.
    println!("cargo:rustc-cdylib-link-arg=-Wl,-z,nodelete");
}

/// Beside libxsim.so, its name as a library of the standard ABI (MPI 5.0 section 20.2): programs built with
/// another implementation of that ask for it.
fn standard_name(out: &Path) {
    // OUT_DIR is build/xsim-.../out below the directory of the profile.
    let Some(directory) = out.ancestors().nth(3) else { return };
    let link = directory.join("libmpi_abi.so.1");
    if link.symlink_metadata().is_err() {
        std::os::unix::fs::symlink("libxsim.so", link).expect("the target directory can be written to");
    }
}
