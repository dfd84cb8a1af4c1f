//! Ranks that are spawned where each is a process: they are started as processes, and everything is as it is
//! where all ranks are in one.

mod common;

use common::{Run, compile, scratch};
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;

/// MPICH leaves a process's output without a buffer, and `puts`, which compilers make of `printf`, would
/// write a line in two pieces.
const WHOLE_LINES: &str = "-fno-builtin-printf";

fn program(name: &str) -> PathBuf {
    compile(&format!("tests/programs/{name}"), &[WHOLE_LINES])
}

/// On so many processes at the start, of which one needs no launcher.
fn one_rank(name: &str, (mpi, processes): (&'static str, u32), universe: u32) -> Run {
    let run = Run::of(program(name))
        .ranks(processes)
        .arg("-xsim-one-rank")
        .variable("XSIM_UNIVERSE", &universe.to_string());
    if processes == 1 { run.one_process() } else { run.processes(mpi, processes) }
}

/// Returns how many say so in the end, of so many at the start.
fn all(case: &str, ranks: u32) -> u32 {
    match case {
        "workers" => ranks + 8,
        "each" => 2 * ranks,
        "generations" | "strangers" => ranks + 4,
        _ => ranks + 3,
    }
}

#[test]
fn all_that_spawned_ranks_do_they_do_as_processes() {
    for start in [("mpich", 1), ("mpich", 3), ("openmpi", 2)] {
        for case in ["workers", "each", "generations", "multiple", "soft", "strangers"] {
            let count = all(case, start.1);
            one_rank("spawn.c", start, count + 2).arg(case).machine("star:l=1us,b=1Gbps").run().ok(count);
        }
    }
}

#[test]
fn spawned_processes_have_the_times_of_virtual_ranks() {
    let with = |run: Run| {
        let output = run
            .arg("times")
            .machine("star:l=1us,b=8Gbps")
            .variable("XSIM_SPAWN_TIME", "3us")
            .summary()
            .run()
            .success();
        let time = output.stderr.lines().find(|line| line.contains("of virtual time")).unwrap().to_owned();
        (output.lines().into_iter().map(str::to_owned).collect::<Vec<_>>(), time)
    };
    let virtually = with(Run::program("spawn.c").ranks(2).variable("XSIM_UNIVERSE", "4").one_process());
    assert!(virtually.0.iter().any(|line| line.starts_with("parent ")), "{virtually:?}");
    for mpi in ["mpich", "openmpi"] {
        assert_eq!(with(one_rank("spawn.c", (mpi, 2), 4)), virtually);
    }
}

#[test]
fn what_is_spawned_may_be_any_program_or_a_script_that_becomes_one() {
    let another = program("another.c");
    let script = scratch("spawn-one-rank").join("script");
    std::fs::write(&script, format!("#!/bin/sh\nexec {} \"$@\"\n", another.display())).unwrap();
    std::fs::set_permissions(&script, std::fs::Permissions::from_mode(0o700)).unwrap();
    let run = one_rank("spawn_another.c", ("mpich", 2), 6).arg("several");
    let run = run.arg(another.display().to_string()).arg(script.display().to_string());
    let lines =
        ["another 0 of 4: 6", "another 1 of 4: 7", "another 2 of 4: 7", "another 3 of 4: 7", "ok", "ok"];
    assert_eq!(run.run().success().lines(), lines);
}

#[test]
fn deadlocks_and_aborts_count_spawned_processes() {
    let stuck = one_rank("spawn.c", ("mpich", 2), 9).arg("stuck").run();
    stuck.failure().says(&["deadlock", "2 of 4 ranks wait", "MPI_Recv", "ranks 2-3"]);
    let aborted = one_rank("spawn.c", ("mpich", 2), 4).arg("aborted").run();
    assert_eq!(aborted.failure().status.code(), Some(17));
}

#[test]
fn a_process_that_ends_before_its_rank_ends_the_run() {
    let run = one_rank("spawn_wrong.c", ("mpich", 2), 5).arg("another").run().failure();
    run.says(&["process ", "which was spawned, has ended (exit status: 0) before its rank did"]);
}

#[test]
fn what_cannot_be_spawned_is_refused() {
    for case in ["missing", "missing_in_path", "elsewhere", "none_of_them"] {
        let returned = one_rank("spawn_wrong.c", ("mpich", 2), 5).arg(case).arg("return").run().success();
        assert_eq!(returned.lines(), ["MPI_ERR_SPAWN"; 2], "{returned}");
    }
    let again = one_rank("spawn_wrong.c", ("mpich", 2), 5).arg("again").arg("return").run().success();
    assert_eq!(again.lines(), ["MPI_SUCCESS"; 2]);
    let without = Run::of(program("spawn_wrong.c"))
        .ranks(2)
        .arg("-xsim-one-rank")
        .processes("mpich", 2)
        .arg("too_many")
        .run();
    without.failure().says(&["MPI_Comm_spawn", "0 can be", "-xsim-universe"]);
}
