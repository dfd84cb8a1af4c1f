//! Ranks that start while the program runs: tests/programs/spawn.c on several machines and rank counts, and
//! wrong calls.

mod common;

use common::Run;

/// Returns how many ranks a case has in the end, of so many at the start.
fn all(case: &str, ranks: u32) -> u32 {
    match case {
        "workers" => ranks + 8,
        "each" => 2 * ranks,
        "generations" | "strangers" => ranks + 4,
        "multiple" | "soft" => ranks + 3,
        _ => unreachable!("no such case"),
    }
}

fn run(case: &str, ranks: u32) -> Run {
    let room = if case == "soft" { ranks + 5 } else { all(case, ranks) };
    Run::program("spawn.c").arg(case).ranks(ranks).variable("XSIM_UNIVERSE", &room.to_string())
}

#[track_caller]
fn holds(case: &str) {
    for ranks in [1, 2, 5] {
        let overheads = "star:l=1us,b=1Gbps/rank:o_send=1us,o_recv=2us,gap=3us";
        for machine in ["star:l=1us,b=1Gbps", "none", overheads, "star:l=1us,b=1Gbps,level=packet"] {
            run(case, ranks).machine(machine).run().ok(all(case, ranks));
        }
    }
    for (name, value) in [
        ("XSIM_GLOBALS", "copy"),
        ("XSIM_GLOBALS", "clone"),
        ("XSIM_STACK_MODE", "shared"),
        ("XSIM_SPAWN_TIME", "0s"),
        ("XSIM_COLL_EVENTS", "on"),
    ] {
        run(case, 3).variable(name, value).run().ok(all(case, 3));
    }
    for processes in [2, 4] {
        for machine in ["star:l=1us,b=1Gbps", "none"] {
            run(case, 4).machine(machine).processes("mpich", processes).run().ok(all(case, 4));
        }
    }
}

#[test]
fn children_have_a_world_globals_and_arguments_of_their_own() {
    holds("workers");
}

#[test]
fn each_rank_may_spawn_for_itself() {
    holds("each");
}

#[test]
fn children_may_spawn() {
    holds("generations");
}

#[test]
fn several_commands_are_one_world() {
    holds("multiple");
}

#[test]
fn fewer_may_do() {
    holds("soft");
}

#[test]
fn children_of_several_calls_meet_at_a_port() {
    holds("strangers");
}

fn times(run: Run) -> Vec<String> {
    let run = run.arg("times").ranks(2).machine("star:l=1us,b=8Gbps").variable("XSIM_UNIVERSE", "4");
    let output = run.variable("XSIM_SPAWN_TIME", "3us").run().success();
    let mut lines: Vec<_> =
        output.lines().into_iter().filter(|line| *line != "ok").map(str::to_owned).collect();
    lines.sort();
    lines
}

// Rank 1 asks rank 0 with the program's name and one argument of 5 bytes, over two links of 1 us; the
// children begin 3 us after that is there, and an answer of 8 bytes leaves then.
#[test]
fn children_begin_when_they_were_spawned_and_started() {
    let one = times(Run::program("spawn.c"));
    let child: u64 = one[0].strip_prefix("child ").unwrap().parse().unwrap();
    assert!(child > 5_000_000 && child < 6_000_000, "{one:?}");
    assert_eq!(
        one,
        [format!("child {child}"), format!("child {child}"), format!("parent {}", child + 2_008_000)]
    );
    for processes in [2, 4] {
        assert_eq!(times(Run::program("spawn.c").processes("mpich", processes)), one);
    }
}

#[test]
fn a_deadlock_says_which_children_wait() {
    for run in [Run::program("spawn.c"), Run::program("spawn.c").processes("mpich", 2)] {
        let run = run.arg("stuck").ranks(2).variable("XSIM_UNIVERSE", "9");
        run.run().failure().says(&["deadlock", "2 of 4 ranks wait", "MPI_Recv", "ranks 2-3"]);
    }
}

#[test]
fn a_child_may_end_the_run() {
    for run in [Run::program("spawn.c"), Run::program("spawn.c").processes("mpich", 2)] {
        assert_eq!(
            run.arg("aborted").ranks(2).variable("XSIM_UNIVERSE", "4").run().failure().status.code(),
            Some(17)
        );
    }
}

#[test]
fn the_summary_counts_who_has_run() {
    let run = Run::program("spawn.c").arg("soft").ranks(1).variable("XSIM_UNIVERSE", "50").summary();
    run.run().success().says(&["4 ranks on"]);
}

/// The case ends the run by default, saying these things; asked to return errors, it gets this class.
#[track_caller]
fn error(case: &str, class: &str, parts: &[&str]) {
    let run = || Run::program("spawn_wrong.c").arg(case).ranks(2).variable("XSIM_UNIVERSE", "5");
    run().run().failure().says(parts);
    returns(run(), class);
    returns(run().processes("mpich", 2), class);
}

#[track_caller]
fn returns(run: Run, class: &str) {
    let returned = run.arg("return").run().success();
    assert_eq!(returned.stdout, format!("{class}\n").repeat(2), "{returned}");
}

#[test]
fn what_is_spawned_is_a_program_of_mpi() {
    error("missing", "MPI_ERR_SPAWN", &["rank ", "MPI_Comm_spawn", "no program './no-such-program'"]);
    error("missing_in_path", "MPI_ERR_SPAWN", &["MPI_Comm_spawn", "no program 'no-such-program-anywhere'"]);
    error("elsewhere", "MPI_ERR_SPAWN", &["MPI_Comm_spawn", "wdir", "/no/such/directory"]);
    error("another", "MPI_ERR_SPAWN", &["MPI_Comm_spawn", "not linked with libxsim"]);
    error("by_path", "MPI_ERR_SPAWN", &["MPI_Comm_spawn", "not linked with libxsim"]);
}

#[test]
fn there_are_as_many_ranks_as_the_universe_has() {
    error("too_many", "MPI_ERR_SPAWN", &["MPI_Comm_spawn", "5 processes", "3 can be", "-xsim-universe"]);
    error("too_many_together", "MPI_ERR_SPAWN", &["MPI_Comm_spawn_multiple", "4 processes", "3 can be"]);
    error("none_of_them", "MPI_ERR_SPAWN", &["MPI_Comm_spawn"]);
    let without = Run::program("spawn_wrong.c").arg("too_many").ranks(2).run();
    without.failure().says(&["MPI_Comm_spawn", "0 can be", "-xsim-universe"]);
    returns(
        Run::program("spawn_wrong.c").arg("again").ranks(2).variable("XSIM_UNIVERSE", "5"),
        "MPI_SUCCESS",
    );
    let small = Run::program("spawn_wrong.c").ranks(2).variable("XSIM_UNIVERSE", "1").run();
    small.failure().says(&["-xsim-universe 1", "2 ranks"]);
}

#[test]
fn numbers_keys_roots_and_communicators_are_right() {
    error("negative", "MPI_ERR_ARG", &["MPI_Comm_spawn", "maxprocs", "-1"]);
    error("no_list", "MPI_ERR_INFO_VALUE", &["MPI_Comm_spawn", "soft", "'two'"]);
    error("bad_info", "MPI_ERR_INFO", &["MPI_Comm_spawn"]);
    error("bad_root", "MPI_ERR_ROOT", &["MPI_Comm_spawn", "root 2"]);
    error("bad_comm", "MPI_ERR_COMM", &["MPI_Comm_spawn", "MPI_COMM_NULL"]);
    error("two_groups", "MPI_ERR_COMM", &["MPI_Comm_spawn", "intracommunicator"]);
}
