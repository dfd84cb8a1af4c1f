//! Generates from the function table (`cabi/table`) the C file with a wrapper for each function, which
//! `build.sh` compiles against the machine's own `mpi.h`.

use abi_table::{Output, entries, wrappers};
use std::env;
use std::path::PathBuf;

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    println!("cargo:rerun-if-changed=../table");
    let root = PathBuf::from(env::var_os("CARGO_MANIFEST_DIR").expect("set by cargo"));
    let out = PathBuf::from(env::var_os("OUT_DIR").expect("set by cargo"));
    let table = abi_table::read(&root.join("../table"));
    let output = Output::new(&out);
    output.text("constants.rs", &wrappers::constants(&table));
    // Beside libxsimtrace.a, where build.sh finds it: OUT_DIR is build/xsim-tracer-.../out below the
    // directory of the profile.
    let directory = Output::new(out.ancestors().nth(3).expect("below the directory of the profile"));
    directory.text("xsimtrace_wrappers.h", &wrappers::write(&table));
    directory.text("xsimtrace_entries.h", &entries::write(&table));
}
