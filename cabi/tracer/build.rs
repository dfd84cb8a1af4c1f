//! Generates from the function table (`cabi/table`) what recorders are told of each function, and the C file with a wrapper for each, which
//! `build.sh` compiles against the machine's own `mpi.h`.

#![allow(dead_code, reason = "libxsim.so needs the rest of these files")]

#[path = "../../build/entries.rs"]
mod entries;
#[path = "../../build/exports.rs"]
mod exports;
#[path = "../../build/fortran.rs"]
mod fortran;
#[path = "../../build/kinds.rs"]
mod kinds;
#[path = "../../build/recording.rs"]
mod recording;
#[path = "../../build/table.rs"]
mod table;
#[path = "../../build/wrappers.rs"]
mod wrappers;

use std::path::{Path, PathBuf};
use std::{env, fs};

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    println!("cargo:rerun-if-changed=../../build");
    println!("cargo:rerun-if-changed=../table");
    let root = PathBuf::from(env::var_os("CARGO_MANIFEST_DIR").expect("set by cargo"));
    let out = PathBuf::from(env::var_os("OUT_DIR").expect("set by cargo"));
    let table = table::read(&root.join("../table"));
    write(&out, "functions.rs", &exports::functions(&table));
    write(&out, "recording.rs", &recording::tables(&table));
    write(&out, "constants.rs", &wrappers::constants(&table));
    // Beside libxsimtrace.a, where build.sh finds it: OUT_DIR is build/xsim-tracer-.../out below the directory of the profile.
    let directory = out.ancestors().nth(3).expect("below the directory of the profile");
    write(directory, "xsimtrace_wrappers.h", &wrappers::write(&table));
    write(directory, "xsimtrace_entries.h", &entries::write(&table));
}

fn write(directory: &Path, name: &str, text: &str) {
    let path = directory.join(name);
    fs::write(&path, text).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
}
