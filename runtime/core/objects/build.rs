//! Generates the constants of the standard ABI from the table that also gives `mpi.h` and the Fortran modules
//! theirs.

use std::path::Path;
use std::{env, fs};

fn main() {
    let root = env::var_os("CARGO_MANIFEST_DIR").expect("set by cargo");
    let table = Path::new(&root).join("../../../cabi/table/constants.txt");
    println!("cargo:rerun-if-changed=build.rs");
    println!("cargo:rerun-if-changed={}", table.display());
    let text = fs::read_to_string(&table).unwrap_or_else(|e| panic!("{}: {e}", table.display()));
    let out = env::var_os("OUT_DIR").expect("set by cargo");
    let rows = text
        .lines()
        .enumerate()
        .map(|(index, line)| constant(line).unwrap_or_else(|| panic!("{}:{}", table.display(), index + 1)));
    let names: String = text.lines().filter_map(datatype).collect();
    let names = format!(
        "/// The names of the predefined datatypes, aliases too, with their handles.\n\
         pub static DATATYPE_NAMES: &[(&str, usize)] = &[{names}];\n"
    );
    fs::write(Path::new(&out).join("abi.rs"), rows.collect::<String>() + &names)
        .expect("OUT_DIR can be written");
}

/// A line of the table that names a datatype, as a name with its handle. All aliases are of datatypes.
fn datatype(line: &str) -> Option<String> {
    let words: Vec<&str> = line.split('#').next()?.split_whitespace().collect();
    match words[..] {
        [name, "datatype" | "alias", _] => Some(format!("(\"{name}\", {name}), ")),
        _ => None,
    }
}

/// A line of the table: name, kind, value, comment. Handles and addresses are `usize`, the rest `i32` or
/// `i64`.
fn constant(line: &str) -> Option<String> {
    let content = line.split('#').next().unwrap_or("");
    let words: Vec<&str> = content.split_whitespace().collect();
    let (name, kind, value) = match words[..] {
        [] => return Some(String::new()),
        [name, kind, value] => (name, kind, value),
        _ => return None,
    };
    let rust_type = match kind {
        "int" => "i32",
        "offset" => "i64",
        _ => "usize",
    };
    Some(format!("#[doc = \"`{name}`\"]\npub const {name}: {rust_type} = {value};\n"))
}
