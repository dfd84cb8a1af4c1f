//! One rank a process: libraries that are loaded late, programs whose threads call MPI, alone and under
//! launchers.

mod common;

use common::{Output, Run, compile, root, scratch, xsim};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

const MPICH: &str = "mpich";
const OPENMPI: &str = "openmpi";

/// A program that does not know MPI and runs another one as a library.
fn host() -> PathBuf {
    static HOST: OnceLock<PathBuf> = OnceLock::new();
    HOST.get_or_init(|| {
        xsim();
        let host = scratch("late").join("late");
        let source = root().join("tests/programs/late.c");
        let status = Command::new("cc")
            .args(["-O1", "-Wall", "-Wextra", "-Werror", "-o"])
            .arg(&host)
            .arg(source)
            .arg("-ldl")
            .status();
        assert!(status.unwrap().success());
        host
    })
    .clone()
}

/// MPICH leaves a process's output without a buffer, and `puts`, which compilers make of `printf`, would
/// write a line in two pieces.
const WHOLE_LINES: &str = "-fno-builtin-printf";

/// A program of tests/programs as a library, run by the host.
fn late(name: &str) -> Run {
    let library = compile(&format!("tests/programs/{name}"), &["-shared", "-fPIC", WHOLE_LINES]);
    Run::of(host()).arg(library.display().to_string())
}

fn threaded(name: &str) -> Run {
    Run::of(compile(&format!("tests/programs/{name}"), &["-pthread", WHOLE_LINES]))
}

/// A program of tests/programs that is linked with libxsim, and is one rank.
fn one_rank(name: &str) -> Run {
    threaded(name).arg("-xsim-one-rank")
}

/// Returns what a run of `mixture.c` printed, and the simulated part of its report without the program's
/// name.
#[track_caller]
fn mixed(run: Run, seed: u32, report: &Path) -> (Vec<String>, String) {
    // By a formula, and over packets, whose network one of the processes has.
    let machine = if seed.is_multiple_of(2) {
        "torus:4x4,l=1us,b=1Gbps,level=packet"
    } else {
        "torus:4x4,l=1us,b=1Gbps"
    };
    let run =
        run.arg(seed.to_string()).variable("XSIM_REPORT", &report.display().to_string()).machine(machine);
    let output = run.run().success();
    let text = std::fs::read_to_string(report).unwrap();
    let simulated =
        text.split_once("\"host\"").unwrap().0.lines().filter(|line| !line.contains("\"program\"")).collect();
    (output.lines().into_iter().map(str::to_owned).collect(), simulated)
}

#[test]
fn ranks_that_are_processes_give_the_bytes_of_virtual_ranks() {
    let directory = scratch("one-rank-mixed");
    let report = directory.join("report");
    for (processes, launcher, seed) in
        [(1, MPICH, 1), (2, MPICH, 2), (4, MPICH, 3), (4, MPICH, 5), (3, OPENMPI, 4)]
    {
        let virtually = mixed(Run::program("mixture.c").ranks(processes), seed, &report);
        let loaded = mixed(late("mixture.c").ranks(processes).processes(launcher, processes), seed, &report);
        assert_eq!(virtually, loaded, "seed {seed} on {processes} processes of {launcher}, loaded late");
        let linked =
            mixed(one_rank("mixture.c").ranks(processes).processes(launcher, processes), seed, &report);
        assert_eq!(virtually, linked, "seed {seed} on {processes} processes of {launcher}, linked");
    }
    std::fs::remove_dir_all(directory).unwrap();
}

#[test]
fn a_program_loaded_late_has_all_of_mpi() {
    for processes in [1, 4] {
        for case in ["modes", "probing", "completion", "head_to_head"] {
            if processes > 1 {
                late("point_to_point.c")
                    .arg(case)
                    .ranks(processes)
                    .processes(MPICH, processes)
                    .run()
                    .ok(processes);
            }
        }
        for case in ["gather_scatter", "user_operations", "nonblocking"] {
            late("collectives.c").arg(case).ranks(processes).processes(MPICH, processes).run().ok(processes);
        }
        late("datatypes.c").ranks(processes).processes(MPICH, processes).run().ok(processes);
    }
}

#[test]
fn alone_a_process_is_one_rank_without_a_launcher() {
    late("collectives.c").arg("reductions").run().ok(1);
    let output = late("collectives.c").arg("reductions").summary().run().ok(1);
    assert!(
        output.stderr.contains("xsim: 1 rank on ") && output.stderr.contains(" of virtual time"),
        "{output}"
    );
}

#[test]
fn threads_take_turns() {
    for processes in [1, 2, 4] {
        one_rank("threads.c")
            .arg("serialized")
            .ranks(processes)
            .processes(MPICH, processes)
            .run()
            .ok(processes);
    }
    one_rank("threads.c").arg("serialized").ranks(2).processes(OPENMPI, 2).run().ok(2);
}

#[test]
fn work_of_any_thread_is_charged_and_sleep_is_not() {
    one_rank("threads.c").arg("charged").variable("XSIM_COMPUTE", "measured").run().ok(1);
}

#[test]
fn two_threads_in_mpi_at_once_are_named_where_the_program_did_not_ask_for_them() {
    let crossed = |level: &str| {
        one_rank("threads.c").arg("crossed").arg(level).ranks(2).processes(MPICH, 2).run().failure()
    };
    let named = "MPI_Barrier was called while another thread is in an MPI call";
    crossed("serialized").says(&[
        named,
        "MPI_THREAD_SERIALIZED",
        "ask MPI_Init_thread for MPI_THREAD_MULTIPLE",
    ]);
    crossed("funneled").says(&[named, "call MPI_Init_thread and ask for MPI_THREAD_MULTIPLE"]);
}

/// A case of `threads_at_once.c` on 1, 2 and 4 processes of MPICH and 2 of Open MPI.
fn at_once(case: &str) {
    for (processes, launcher) in [(1, MPICH), (2, MPICH), (4, MPICH), (2, OPENMPI)] {
        one_rank("threads_at_once.c")
            .arg(case)
            .ranks(processes)
            .processes(launcher, processes)
            .run()
            .ok(processes);
    }
}

#[test]
fn threads_send_and_receive_both_ways_at_once() {
    at_once("both_ways");
}

#[test]
fn threads_are_in_collectives_at_once_each_on_a_communicator() {
    at_once("collectives");
}

#[test]
fn a_thread_that_waits_lets_one_that_computes_send() {
    at_once("computes_and_sends");
}

#[test]
fn threads_that_probe_at_once_get_each_message_once() {
    at_once("probes");
}

#[test]
fn threads_complete_requests_at_once() {
    at_once("waits");
}

#[test]
fn threads_make_communicators_at_once() {
    at_once("making");
}

#[test]
fn a_thread_gets_what_another_of_its_rank_sends() {
    at_once("to_itself");
}

#[test]
fn threads_access_windows_at_once() {
    at_once("one_sided");
}

#[test]
fn a_rank_does_not_wait_for_ever_while_another_thread_may_send() {
    at_once("late");
}

#[test]
fn threads_that_all_wait_for_ever_are_named() {
    let run = one_rank("threads_at_once.c").arg("deadlock").ranks(2).processes(MPICH, 2).run().failure();
    run.says(&[
        "deadlock at virtual time",
        "MPI_Recv(source=",
        "tag=70",
        "tag=71",
        "tag=99",
        "; another thread in MPI_Recv",
    ]);
}

#[test]
fn ranks_that_share_a_process_say_where_threads_can_call() {
    let run = threaded("threads_at_once.c").arg("late").ranks(2).run().failure();
    run.says(&[
        "has MPI_THREAD_FUNNELED, because ranks share a process",
        "'mpirun -np N PROGRAM -xsim-one-rank'",
    ]);
}

#[test]
fn more_ranks_than_processes_are_refused_with_the_way_out() {
    late("mixture.c").ranks(3).run().failure().says(&[
        "3 ranks were asked for",
        "loaded late",
        "this is the only one",
        "mpirun -np 3",
    ]);
    late("mixture.c").ranks(3).processes(MPICH, 2).run().failure().says(&[
        "3 ranks were asked for",
        "there are 2",
        "mpirun -np 3",
    ]);
    one_rank("mixture.c")
        .ranks(3)
        .run()
        .failure()
        .says(&["3 ranks were asked for with one rank a process", "-xsim-one-rank out"]);
}

fn faulty(run: Run, case: &str) -> Output {
    run.arg(case).ranks(3).processes(MPICH, 3).run()
}

#[test]
fn faults_end_all_processes() {
    for run in [|| late("faults.c"), || one_rank("faults.c")] {
        faulty(run(), "deadlock").failure().says(&["deadlock at virtual time", "ranks wait"]);
        assert_eq!(faulty(run(), "abort").says(&["rank 2 called MPI_Abort(7)"]).status.code(), Some(7));
        faulty(run(), "exit")
            .failure()
            .says(&["rank 2 ended with exit status 5", "1 rank ended without calling MPI_Finalize"]);
        faulty(run(), "crash").failure();
    }
}

#[test]
fn the_program_does_not_see_the_options() {
    let run = threaded("threads.c").arg("--xsim-compute=none").arg("serialized");
    // The program wants one argument.
    run.arg("-xsim-one-rank").arg("-xsim-np").arg("1").run().ok(1);
}
