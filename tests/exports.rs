//! The library's dynamic symbols: all functions twice, and a profiler's own definition wins.

use std::path::{Path, PathBuf};
use std::process::Command;

/// The directory with the libxsim.so that this test run built.
fn library() -> PathBuf {
    let beside = Path::new(env!("CARGO_BIN_EXE_xsim")).parent().unwrap().to_path_buf();
    let deps = beside.join("deps");
    if deps.join("libxsim.so").exists() { deps } else { beside }
}

fn build(name: &str, source: &str) -> PathBuf {
    let file = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name).with_extension("c");
    std::fs::write(&file, source).unwrap();
    let program = file.with_extension("out");
    let run = Command::new("cc")
        .args(["-Wall", "-Werror", "-I"])
        .arg(Path::new(env!("CARGO_MANIFEST_DIR")).join("include"))
        .arg(&file)
        .arg("-o")
        .arg(&program)
        .arg(format!("-L{}", library().display()))
        .arg(format!("-Wl,-rpath,{}", library().display()))
        .arg("-lxsim")
        .output()
        .expect("a C compiler");
    assert!(run.status.success(), "{}", String::from_utf8_lossy(&run.stderr));
    program
}

/// A shared library, so that no start-up is needed to look at symbols: every function of the
/// header is found under both names, and both are the same code until a profiler defines one.
#[test]
fn every_function_is_exported_twice_and_a_profilers_definition_wins() {
    let header =
        std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("include/mpi.h")).unwrap();
    let names: Vec<&str> = header
        .lines()
        .filter_map(|l| l.split_once('(')?.0.rsplit_once(" PMPI_").map(|(_, name)| name))
        .collect();
    // The conversions between languages are not among those of the standard ABI.
    let (conversions, standard): (Vec<&str>, Vec<&str>) = names
        .iter()
        .copied()
        .partition(|name| name.contains("_c2f") || name.contains("_f2") || name.contains("_f082"));
    assert_eq!((standard.len(), conversions.len()), (664, 28));
    let mut source = String::from(
        "#include <mpi.h>\n#include <stdio.h>\n\
         int MPI_Get_version(int *a, int *b) { PMPI_Get_version(a, b); *b = 77; return MPI_SUCCESS; }\n\
         int main(void) {\n  int a = 0, b = 0;\n  MPI_Get_version(&a, &b);\n\
         if (a != 5 || b != 77) { puts(\"profiler\"); return 1; }\n",
    );
    for name in names.iter().filter(|n| **n != "Get_version") {
        source += &format!("  if ((void *)MPI_{name} != (void *)PMPI_{name}) puts(\"{name}\");\n");
    }
    source += "  puts(\"done\");\n  return 0;\n}\n";
    let run = Command::new(build("exports", &source)).output().unwrap();
    assert_eq!(String::from_utf8_lossy(&run.stdout), "done\n", "{}", String::from_utf8_lossy(&run.stderr));
}
