//! Ranks that ask again and again (`MPI_Test`, `MPI_Iprobe` and their like): tests/programs/polling.c.

mod common;

use common::Run;

/// One on which messages take a while, and one on which they take no time, so that everything is decided one
/// by one.
const MACHINES: [&str; 2] = ["star:l=0.5us,b=100Gbps", "none"];
const PACKETS: &str = "fattree:m=4,n=2,l=10ns,b=100Gbps,level=packet";

fn run(case: &str, machine: &str, stack: &str, ranks: u32) -> Run {
    Run::program("polling.c").arg(case).arg(format!("-xsim-stack-mode={stack}")).machine(machine).ranks(ranks)
}

#[track_caller]
fn holds(case: &str, ranks: &[u32]) {
    for machine in [MACHINES[0], MACHINES[1], PACKETS] {
        for stack in ["own", "shared"] {
            for &count in ranks.iter().filter(|&&count| machine != PACKETS || count <= 8) {
                run(case, machine, stack, count).run().ok(count);
            }
        }
    }
}

#[test]
fn a_rank_that_asks_several_questions_in_turn_learns_of_each_when_it_is_answered() {
    holds("any_of_several", &[7, 8]);
}

#[test]
fn a_rank_that_only_polls_asks_a_few_times_for_each_message() {
    holds("few", &[1, 2, 8, 64]);
}

#[test]
fn what_a_rank_does_between_polls_in_vain_gets_done() {
    holds("work_between", &[1, 2, 3]);
}

#[test]
fn a_rank_that_reads_the_clock_between_polls_sees_its_time_run_out() {
    holds("time_out", &[1, 2, 5]);
}

#[test]
fn each_poll_is_charged_where_computation_is() {
    for stack in ["own", "shared"] {
        run("each_is_charged", MACHINES[0], stack, 2).arg("-xsim-compute=fixed:100ns").run().ok(2);
    }
}

#[test]
fn polling_for_what_nobody_sends_is_a_deadlock() {
    // One rank has no lookahead: on several processes each instant of its ten million polls is agreed on.
    let counts: &[u32] = if std::env::var_os("PROCESSES").is_some() { &[3] } else { &[1, 3] };
    for &ranks in counts {
        run("for_ever", MACHINES[0], "shared", ranks)
            .run()
            .failure()
            .says(&["deadlock", "ranks 0-2"][..if ranks == 1 { 1 } else { 2 }]);
    }
}

#[test]
fn polls_and_their_times_are_the_same_for_any_stacks_globals_and_processes() {
    let torus = "torus:4x4,l=1us,b=1Gbps";
    // With an eager limit of 0 a sender learns of its match, whatever the receiver does meanwhile.
    for (machine, limit) in
        [(MACHINES[0], "none"), (torus, "none"), (MACHINES[1], "none"), (MACHINES[0], "0"), (torus, "0")]
    {
        for ranks in [7, 13] {
            let run = |case, machine, stack, ranks| {
                run(case, machine, stack, ranks).arg(format!("-xsim-eager-limit={limit}"))
            };
            let one = run("mixed", machine, "own", ranks).run().success();
            assert_eq!(one.lines().len(), 2 * ranks as usize, "{one}");
            let same = |what: Run| {
                let other = what.run().success();
                assert_eq!(one.lines(), other.lines(), "{machine}, {ranks} ranks: {other}");
            };
            same(run("mixed", machine, "shared", ranks));
            same(run("mixed", machine, "shared", ranks).arg("-xsim-globals=clone"));
            for count in [2, 3] {
                same(run("mixed", machine, "own", ranks).processes("mpich", count));
            }
        }
    }
}

#[test]
fn long_arrays_are_waited_for_one_by_one_alike_everywhere() {
    for (machine, ranks, seed) in [
        (MACHINES[0], 7, 1),
        (MACHINES[0], 2, 2),
        (MACHINES[1], 4, 3),
        (PACKETS, 8, 4),
        ("mesh:2d,l=2us,b=1Gbps/rank:o_recv=0.3us", 6, 5),
    ] {
        let run = || Run::program("waitany_long.c").arg(seed.to_string()).machine(machine).ranks(ranks);
        let one = run().run().success();
        assert_eq!(one.lines().len(), ranks as usize, "{one}");
        assert!(one.lines().iter().all(|line| !line.contains("wrong")), "{one}");
        for processes in [2, 4].into_iter().filter(|&processes| processes <= ranks && machine != PACKETS) {
            assert_eq!(
                one.lines(),
                run().processes("mpich", processes).run().success().lines(),
                "{machine}, {processes} processes"
            );
        }
    }
}

/// Waits for any of many receives from any source, each with its own tag: a wait looks at what has come and
/// not at all pairs of receives.
#[test]
fn waiting_for_any_of_many_receives_that_accept_different_messages_is_quick() {
    let source = common::scratch("waitany-tags").join("tags.c");
    std::fs::write(&source, TAGS).unwrap();
    let program = common::compile(source.to_str().unwrap(), &[]);
    // With the cube of these it takes minutes.
    let output = Run::of(program)
        .ranks(9)
        .machine("star:l=1us")
        .variable("XSIM_COMPUTE", "none")
        .arg("4000")
        .run_for(30);
    output.success();
}

/// Waits for any or some of many receives, named or for any source, persistent or not, which complete one
/// after the other: each looks at what has changed since the last, and finds what a short array would give.
#[test]
fn waiting_for_any_of_many_requests_costs_what_completes() {
    let source = common::scratch("waitany-many").join("many.c");
    std::fs::write(&source, MANY).unwrap();
    let program = common::compile(source.to_str().unwrap(), &[]);
    for kind in ["named", "any", "persistent", "some"] {
        // With the square of these each takes minutes.
        let output = Run::of(program.clone())
            .ranks(5)
            .machine("star:l=1us")
            .variable("XSIM_COMPUTE", "none")
            .arg("60000")
            .arg(kind)
            .run_for(60);
        assert_eq!(output.success().lines(), ["60000 in their order"], "{kind}");
    }
}

const MANY: &str = r#"
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
int main(int argc, char **argv) {
    int rank, size, count = atoi(argv[1]), right = 0, got = 0;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Request *requests = malloc(count * sizeof *requests);
    int *numbers = malloc(count * sizeof *numbers), *indices = malloc(count * sizeof *indices);
    int any = strcmp(argv[2], "any") == 0, some = strcmp(argv[2], "some") == 0;
    for (int i = 0; rank == 0 && i < count; i++) {
        int from = any ? MPI_ANY_SOURCE : 1 + i % (size - 1);
        if (strcmp(argv[2], "persistent") == 0) {
            MPI_Recv_init(numbers + i, 1, MPI_INT, from, 0, MPI_COMM_WORLD, requests + i);
            MPI_Start(requests + i);
        } else {
            MPI_Irecv(numbers + i, 1, MPI_INT, from, 0, MPI_COMM_WORLD, requests + i);
        }
    }
    /* Each message is asked for when the one before has come. */
    while (rank == 0 && got < count) {
        int found = 1;
        MPI_Send(NULL, 0, MPI_INT, 1 + got % (size - 1), 1, MPI_COMM_WORLD);
        if (some)
            MPI_Waitsome(count, requests, &found, indices, MPI_STATUSES_IGNORE);
        else
            MPI_Waitany(count, requests, indices, MPI_STATUS_IGNORE);
        for (int k = 0; k < found; k++, got++)
            right += indices[k] == got && numbers[got] == got;
    }
    for (int i = rank - 1; rank > 0 && i < count; i += size - 1) {
        MPI_Recv(NULL, 0, MPI_INT, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Send(&i, 1, MPI_INT, 0, 0, MPI_COMM_WORLD);
    }
    if (rank == 0)
        printf("%d in their order\n", right);
    MPI_Finalize();
    return 0;
}
"#;

const TAGS: &str = r#"
#include <mpi.h>
#include <stdlib.h>
int main(int argc, char **argv) {
    int rank, size, count = atoi(argv[1]);
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Request *requests = malloc(count * sizeof *requests);
    int *numbers = malloc(count * sizeof *numbers);
    for (int i = 0; rank == 0 && i < count; i++)
        MPI_Irecv(numbers + i, 1, MPI_INT, MPI_ANY_SOURCE, i, MPI_COMM_WORLD, requests + i);
    for (int i = 0; rank == 0 && i < count; i++) {
        int index;
        MPI_Status status;
        MPI_Waitany(count, requests, &index, &status);
        if (status.MPI_TAG != index || numbers[index] != index)
            MPI_Abort(MPI_COMM_WORLD, 1);
    }
    for (int i = rank - 1; rank > 0 && i < count; i += size - 1)
        MPI_Send(&i, 1, MPI_INT, 0, i, MPI_COMM_WORLD);
    free(requests);
    free(numbers);
    MPI_Finalize();
    return 0;
}
"#;
