//! One-sided communication: tests/programs/rma.c on several machines and rank counts, and to the picosecond
//! in rma_times.c.

mod common;

use common::Run;

#[track_caller]
fn holds(case: &str, ranks: &[u32]) {
    for &count in ranks {
        let overheads = "star:l=1us,b=1Gbps/rank:o_send=1us,o_recv=2us,gap=3us";
        for machine in [
            "star:l=1us,b=1Gbps",
            "none",
            overheads,
            "star:l=1us,b=1Gbps,level=packet",
            "star:l=1us,b=1Gbps,flowmin=0,level=flow",
        ] {
            Run::program("rma.c").arg(case).ranks(count).machine(machine).run().ok(count);
        }
    }
}

/// Checks the lines of all ranks, each `what at` without the rank's number, in sorted order.
#[track_caller]
fn times(case: &str, ranks: u32, expected: &[&str]) {
    let output =
        Run::program("rma_times.c").arg(case).ranks(ranks).machine("star:l=1us,b=8Gbps").run().success();
    let lines: Vec<&str> = output.lines().into_iter().filter(|line| *line != "ok").collect();
    assert_eq!(lines, expected, "{output}");
}

#[test]
fn a_fence_ends_what_was_accessed_before_wherever_the_memory_lies() {
    holds("fences", &[1, 2, 7]);
}

#[test]
fn data_goes_from_any_datatype_to_any() {
    holds("datatypes", &[1, 2, 7]);
}

#[test]
fn who_posts_is_accessed_by_those_who_start() {
    holds("groups", &[1, 2, 7]);
}

#[test]
fn an_exclusive_lock_is_held_by_one_rank() {
    holds("exclusive", &[1, 2, 7]);
}

#[test]
fn atomic_accesses_lose_nothing() {
    holds("atomics", &[1, 2, 7]);
}

#[test]
fn requests_of_accesses_complete_as_others_do() {
    holds("requests", &[1, 2, 7]);
}

#[test]
fn attached_memory_is_accessed_by_its_address() {
    holds("dynamic", &[1, 2, 7]);
}

#[test]
fn ranks_of_a_node_share_memory() {
    holds("shared", &[1, 2, 7]);
    // On 2 and 4 processes too these do not cut a node.
    Run::program("rma.c")
        .arg("shared")
        .ranks(16)
        .machine("star:l=1us,b=1Gbps/star:4,l=0.1us,b=10Gbps")
        .run()
        .ok(16);
}

#[test]
fn a_window_tells_what_it_was_made_of() {
    holds("objects", &[1, 2, 7]);
}

#[test]
fn a_rank_sees_in_its_memory_what_was_put_there_while_it_looks() {
    holds("flags", &[1, 2, 7]);
}

// Two links of 1 us each way; 1000 bytes take 1 us, 8 bytes 8 ns.
#[test]
fn a_lock_is_a_message_there_and_back_and_a_flush_waits_for_the_answer() {
    let expected = ["flushed 9000000", "got 14000000", "locked 4000000", "put 4000000", "unlocked 14000000"];
    times("passive", 2, &expected.map(|line| format!("rank 0 {line}")).each_ref().map(String::as_str));
}

#[test]
fn a_lock_is_granted_in_the_order_of_requests() {
    // Each gives it back at once: 2 us to the target and 2 us on to the next.
    times("queue", 4, &["rank 1 locked 4000000", "rank 2 locked 8000000", "rank 3 locked 12000000"]);
}

#[test]
fn an_epoch_of_all_asks_nobody_before_it_accesses() {
    let expected = ["closed 8024000", "fetched 8024000", "flushed 4008000", "opened 0"];
    times("all", 2, &expected.map(|line| format!("rank 0 {line}")).each_ref().map(String::as_str));
}

#[test]
fn a_start_waits_for_the_post_and_a_wait_for_the_completion() {
    let expected =
        ["rank 0 completed 2000000", "rank 0 started 2000000", "rank 1 posted 0", "rank 1 waited 5000000"];
    times("groups", 2, &expected);
}

#[test]
fn a_fence_is_a_barrier_that_waits_for_data() {
    // The barrier of two ranks takes 2 us, a put of 1000 bytes 3, a get 2 there and 3 back. Rank 1 begins the
    // third 1 us before rank 0.
    let expected = [
        "rank 0 first 2000000",
        "rank 0 second 2000000",
        "rank 0 third 5000000",
        "rank 1 first 2000000",
        "rank 1 second 3000000",
        "rank 1 third 3000000",
    ];
    times("fence", 2, &expected);
}

#[test]
fn what_comes_first_is_found_first_whoever_ran_first() {
    let expected: Vec<String> = (0..8).map(|rank| format!("rank {rank} found {}", 7 - rank)).collect();
    times("order", 8, &expected.iter().map(String::as_str).collect::<Vec<_>>());
}

#[test]
fn an_epoch_ends_behind_all_that_was_accessed_in_it() {
    holds("in_order", &[2, 6]);
    // Within a node, over packets, and both.
    for nodes in [2, 8] {
        let machine = format!("fattree:m=4,n=2,level=packet/star:{nodes},l=1us,b=1Gbps");
        Run::program("rma.c").arg("in_order").ranks(6).machine(&machine).run().ok(6);
    }
}

#[test]
fn a_rank_reaches_its_own_memory_before_what_others_sent_later() {
    let mut expected: Vec<String> = (0..6).map(|found| format!("rank 1 found {found}")).collect();
    expected.insert(0, "rank 0 found 6".to_owned());
    times("own", 2, &expected.iter().map(String::as_str).collect::<Vec<_>>());
}

// The lock 4 us; a get 2 there and 3 back, a put of 4000 bytes 6 there and 2 back.
#[test]
fn a_local_flush_waits_for_data_wherever_the_memory_lies() {
    let expected =
        ["rank 0 data 9000000", "rank 0 data 9000000", "rank 0 flushed 12000000", "rank 0 flushed 12000000"];
    times("local", 2, &expected);
}

// Posts take 2 us, the accumulate to the other rank 3.
#[test]
fn win_test_answers_by_when_the_epoch_was_completed() {
    times(
        "test",
        2,
        &["rank 0 asked 3 times in vain until 5000000", "rank 1 asked 3 times in vain until 5000000"],
    );
}

/// The case ends the run by default, saying these things; asked to return errors, it gets this class.
#[track_caller]
fn error(case: &str, class: &str, parts: &[&str]) {
    let run = || Run::program("rma_wrong.c").arg(case).ranks(2);
    run().run().failure().says(parts);
    let returned = run().arg("return").run().success();
    assert_eq!(returned.stdout, format!("{class}\n").repeat(2), "{case}: {returned}");
}

#[test]
fn an_access_outside_epoch_or_window_names_what_would_help() {
    error("no_epoch", "MPI_ERR_RMA_SYNC", &["rank ", "MPI_Put", "MPI_Win_fence"]);
    error("another_target", "MPI_ERR_RMA_SYNC", &["MPI_Put", "not locked", "MPI_Win_lock_all"]);
    error("request_in_fence", "MPI_ERR_RMA_SYNC", &["MPI_Rput", "without a request"]);
    error(
        "beyond",
        "MPI_ERR_RMA_RANGE",
        &["MPI_Put", "bytes 120 to 135", "which has 128", "displacement 15"],
    );
    error("before", "MPI_ERR_DISP", &["MPI_Put", "target_disp -1"]);
    error("bad_count", "MPI_ERR_COUNT", &["MPI_Put", "-1"]);
    error("bad_rank", "MPI_ERR_RANK", &["MPI_Put", "target_rank 2"]);
    error("other_size", "MPI_ERR_TYPE", &["MPI_Put", "16 bytes", "8"]);
}

#[test]
fn an_operation_must_be_one_of_the_table() {
    error("user_op", "MPI_ERR_OP", &["MPI_Accumulate", "predefined"]);
    error("op_for_type", "MPI_ERR_OP", &["MPI_Accumulate", "MPI_BAND", "MPI_DOUBLE"]);
    error("op_for_nothing", "MPI_ERR_OP", &["MPI_Accumulate", "MPI_NO_OP"]);
    error("swap_of_floats", "MPI_ERR_TYPE", &["MPI_Compare_and_swap", "integers"]);
}

#[test]
fn an_epoch_ends_by_the_call_that_belongs_to_it() {
    error("bad_lock", "MPI_ERR_LOCKTYPE", &["MPI_Win_lock", "lock_type 77"]);
    error("bad_assert", "MPI_ERR_ASSERT", &["MPI_Win_lock", "MPI_MODE_NOCHECK"]);
    error("bad_fence", "MPI_ERR_ASSERT", &["MPI_Win_fence", "MPI_MODE_NOSUCCEED"]);
    error("not_locked", "MPI_ERR_RMA_SYNC", &["MPI_Win_unlock", "MPI_Win_lock first"]);
    error("not_all", "MPI_ERR_RMA_SYNC", &["MPI_Win_unlock_all", "MPI_Win_lock_all first"]);
    error("not_started", "MPI_ERR_RMA_SYNC", &["MPI_Win_complete", "MPI_Win_start first"]);
    error("not_posted", "MPI_ERR_RMA_SYNC", &["MPI_Win_wait", "MPI_Win_post first"]);
    error("not_flushed", "MPI_ERR_RMA_SYNC", &["MPI_Win_flush", "not locked"]);
    error("twice", "MPI_ERR_RMA_SYNC", &["MPI_Win_lock", "MPI_Win_unlock"]);
    error("nested", "MPI_ERR_RMA_SYNC", &["MPI_Win_fence", "MPI_Win_unlock_all"]);
    error("free_locked", "MPI_ERR_RMA_SYNC", &["MPI_Win_free", "MPI_Win_unlock_all"]);
}

#[test]
fn a_window_needs_memory_and_a_valid_handle() {
    error("null_window", "MPI_ERR_WIN", &["MPI_Win_fence", "MPI_WIN_NULL"]);
    error("invented_window", "MPI_ERR_WIN", &["MPI_Win_unlock", "not valid"]);
    error("attached_elsewhere", "MPI_ERR_RMA_FLAVOR", &["MPI_Win_attach", "MPI_Win_create_dynamic"]);
    error("negative_size", "MPI_ERR_SIZE", &["MPI_Win_create", "size -1"]);
    error("no_unit", "MPI_ERR_DISP", &["MPI_Win_create", "disp_unit 0"]);
    error("no_memory", "MPI_ERR_BASE", &["MPI_Win_create", "null pointer"]);
    let returned = |case: &str, class: &str| {
        let output = Run::program("rma_wrong.c").arg(case).arg("return").ranks(2).run().success();
        assert_eq!(output.stdout, format!("{class}\n").repeat(2), "{output}");
    };
    returned("overlap", "MPI_ERR_RMA_ATTACH");
    returned("strange_group", "MPI_ERR_GROUP");
}

#[test]
fn a_deadlock_says_what_is_waited_for() {
    let stuck = |case: &str, parts: &[&str]| {
        Run::program("rma_wrong.c").arg(case).ranks(2).run().failure().says(&["deadlock"]).says(parts);
    };
    stuck("waits_for_a_lock", &["MPI_Win_lock(the lock of rank 1's memory", "locked by rank 0"]);
    stuck("waits_for_a_post", &["MPI_Win_start(MPI_Win_post of rank 1)", "MPI_Win_post of rank 0"]);
    stuck(
        "waits_for_a_completion",
        &["MPI_Win_wait(2 of 2 ranks of the group have not called MPI_Win_complete)"],
    );
}

/// Each program checks itself against a model of all windows; run in several ways it reads the same and takes
/// the same time.
#[test]
fn random_accesses_leave_what_a_plain_model_has() {
    for seed in 1..=6 {
        let run = |machine: &str, more: &str| {
            let run = Run::program("rma_random.c")
                .arg(seed.to_string())
                .arg("times")
                .ranks(2 + seed % 5)
                .machine(machine);
            run.arg(more).run().success().lines().join("\n")
        };
        for machine in [
            "star:l=1us,b=1Gbps",
            "none",
            "ring:l=1us,b=1Gbps",
            "star:l=1us,b=1Gbps/rank:o_send=1us,o_recv=2us,gap=3us",
        ] {
            let first = run(machine, "-xsim-quiet");
            assert_eq!(run(machine, "-xsim-coll-events"), first, "{machine}, seed {seed}");
            assert_eq!(run(machine, "-xsim-stack-mode=own"), first, "{machine}, seed {seed}");
        }
        let digests = |text: &str| {
            text.lines().map(|line| line.split(" at").next().unwrap().to_owned()).collect::<Vec<_>>()
        };
        let packets = run("star:l=1us,b=1Gbps,level=packet", "-xsim-quiet");
        assert_eq!(digests(&packets), digests(&run("none", "-xsim-quiet")), "seed {seed}");
    }
}

/// The same bytes on 1, 2 and 4 processes.
#[test]
fn several_processes_read_and_take_what_one_does() {
    for (case, ranks) in [
        ("passive", 4),
        ("queue", 8),
        ("all", 4),
        ("groups", 4),
        ("fence", 8),
        ("order", 8),
        ("own", 4),
        ("local", 4),
        ("test", 4),
    ] {
        let run = |run: Run| run.arg(case).ranks(ranks).machine("star:l=1us,b=8Gbps").run().success();
        let one = run(Run::program("rma_times.c"));
        for processes in [2, 4] {
            let several = run(Run::program("rma_times.c").processes("mpich", processes));
            assert_eq!(several.lines(), one.lines(), "{case} on {processes} processes");
        }
    }
    for seed in 1..=3 {
        let run = |run: Run| {
            run.arg(seed.to_string()).arg("times").ranks(6).machine("star:l=1us,b=8Gbps").run().success()
        };
        let one = run(Run::program("rma_random.c"));
        for processes in [2, 4] {
            assert_eq!(
                run(Run::program("rma_random.c").processes("mpich", processes)).lines(),
                one.lines(),
                "seed {seed} on {processes}"
            );
        }
    }
}

/// Programs that check what they find; the order of their atomic accesses and their times are those of one
/// process.
#[test]
fn random_epochs_find_and_take_the_same_however_they_run() {
    let machines =
        ["star:l=1us,b=1Gbps", "ring:l=0,b=1Gbps", "fattree:m=4,n=2,level=packet/star:2,l=1us,b=1Gbps"];
    for (seed, machine) in (1..).zip(machines) {
        let run = |run: Run, more: &str| {
            run.arg(seed.to_string()).ranks(5).machine(machine).arg(more).run().success()
        };
        let first = run(Run::program("random_windows.c"), "-xsim-quiet");
        let shared = run(Run::program("random_windows.c"), "-xsim-stack-mode=shared");
        assert_eq!(shared.lines(), first.lines(), "seed {seed} on {machine}");
        let two = run(Run::program("random_windows.c").processes("mpich", 2), "-xsim-quiet");
        assert_eq!(two.lines(), first.lines(), "seed {seed} on {machine}, two processes");
    }
}
