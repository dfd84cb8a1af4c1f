//! Every kind of global state is each rank's own, under every strategy, with ranks that interleave at every MPI call.

mod common;

use std::path::{Path, PathBuf};

use common::{Output, Run, compile};

/// Rank counts: alone, few, and enough that a rank's first and last lines of large data are pages apart.
const RANKS: [u32; 3] = [1, 3, 13];

/// A program of tests/programs/globals with a library of its own.
fn with_library(program: &str, library: &str, flags: &[&str]) -> PathBuf {
    let library = compile(&format!("tests/programs/globals/{library}"), &["-shared", "-fPIC"]);
    let mut args = vec![library.to_str().unwrap()];
    args.extend(flags);
    compile(&format!("tests/programs/globals/{program}"), &args)
}

fn run(program: &Path, globals: &str, stack: &str, ranks: u32) -> Output {
    Run::of(program.to_path_buf()).ranks(ranks).arg(format!("-xsim-globals={globals}")).arg(format!("-xsim-stack-mode={stack}")).run()
}

/// Runs it in every way that keeps globals private; it checks itself and prints a line a rank.
fn private(program: &Path, line: &str, strategies: &[&str]) {
    for globals in strategies {
        for stack in ["own", "shared"] {
            for ranks in RANKS {
                let output = run(program, globals, stack, ranks);
                assert!(
                    output.status.success() && output.stderr.is_empty() && output.stdout == line.repeat(ranks as usize),
                    "{globals} {stack} {ranks} ranks: {output}"
                );
            }
        }
    }
}

#[test]
fn c_state_and_that_of_libraries_is_private() {
    private(&with_library("state.c", "library.c", &["-fPIC"]), "ok\n", &["copy", "clone", "auto"]);
}

#[test]
fn state_of_programs_at_a_fixed_address_is_private() {
    private(&with_library("state.c", "library.c", &["-no-pie", "-fno-pie"]), "ok\n", &["copy", "auto"]);
}

#[test]
fn cpp_state_and_exceptions_are_private() {
    private(&with_library("state.cc", "library.cc", &["-fPIC"]), "3 constructed and destroyed\n", &["copy", "clone", "auto"]);
}

#[test]
fn state_and_stacks_that_grow_as_a_rank_goes_on_find_room() {
    private(&compile("tests/programs/globals/growing.c", &["-O1"]), "grown\n", &["copy", "clone"]);
}

#[test]
fn fortran_state_is_private() {
    private(&fortran(&[]), "ok\n", &["copy", "clone", "auto"]);
    private(&fortran(&["-no-pie", "-fno-pie"]), "ok\n", &["copy"]);
}

fn fortran(flags: &[&str]) -> PathBuf {
    static NUMBER: std::sync::atomic::AtomicUsize = std::sync::atomic::AtomicUsize::new(0);
    let number = NUMBER.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
    let directory = common::scratch(&format!("fortran-state-{number}"));
    let program = directory.join("state");
    let source = common::root().join("tests/programs/globals/state.f90");
    let made = common::command(&["fc", "-O1", "-g", "-Wall"])
        .env("XDG_CACHE_HOME", &directory)
        .current_dir(&directory)
        .args(flags)
        .arg(source)
        .arg("-o")
        .arg(&program)
        .output()
        .unwrap();
    assert!(made.status.success() && made.stderr.is_empty(), "{}", String::from_utf8_lossy(&made.stderr));
    program
}

/// The programs can fail: with globals in common each finds another rank's values, and says so.
#[test]
fn programs_notice_globals_that_are_shared() {
    let c = with_library("state.c", "library.c", &["-fPIC"]);
    let cpp = with_library("state.cc", "library.cc", &["-fPIC"]);
    for program in [c, cpp, fortran(&[])] {
        run(&program, "none", "own", 3).failure().says(&["is shared"]);
        run(&program, "none", "own", 1).success();
    }
}
