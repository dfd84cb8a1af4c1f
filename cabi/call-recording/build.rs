//! Generates from the function table (`cabi/table`) the functions, and what recorders get of each.

use abi_table::{Output, exports, recording};
use std::env;
use std::path::PathBuf;

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    println!("cargo:rerun-if-changed=../table");
    let root = PathBuf::from(env::var_os("CARGO_MANIFEST_DIR").expect("set by cargo"));
    let out = PathBuf::from(env::var_os("OUT_DIR").expect("set by cargo"));
    let table = abi_table::read(&root.join("../table"));
    let output = Output::new(&out);
    output.rust("functions.rs", &exports::functions(&table));
    output.rust("recording.rs", &recording::tables(&table));
}
