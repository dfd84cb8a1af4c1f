//! Ranks fail (docs/reference/failures.md): tests/programs/failures.c, on one process and on several, in
//! every mode; tests/programs/ulfm.c, where the others go on.

mod common;

use common::survivors::{is_the_same, said, tolerant as tolerant_of};
use common::{Output, Run};

/// Exit status of a run that a failure ends.
const STATUS: i32 = 75;

fn program(case: &str, ranks: u32) -> Run {
    Run::program("failures.c").arg(case).ranks(ranks).machine("star:l=1us,b=inf")
}

/// The same lines on one process and on several, and in other modes; what one process says.
#[track_caller]
fn everywhere(run: impl Fn() -> Run) -> Output {
    let one = run().run();
    for way in [
        &["-xsim-coll-events"][..],
        &["-xsim-stack-mode=shared", "-xsim-globals=clone"],
        &["-xsim-stack-mode=own"],
    ] {
        let other = way.iter().fold(run(), |run, option| run.arg(*option)).run();
        assert_eq!(
            (one.lines(), other.status.code()),
            (other.lines(), one.status.code()),
            "{way:?} changes something: {other}"
        );
    }
    for processes in [2, 4] {
        let several = run().processes("mpich", processes).run();
        assert_eq!(one.lines(), several.lines(), "{processes} processes change something: {several}");
        assert_eq!(several.status.code(), one.status.code(), "{several}");
        assert_eq!(sentence(&one), sentence(&several));
    }
    one
}

/// Returns what a run says of the failure that has ended it.
fn sentence(output: &Output) -> Vec<&str> {
    output.stderr.lines().filter(|line| line.contains(" failed at ")).collect()
}

#[track_caller]
fn ends(output: &Output, rank: u32, at: &str) {
    assert_eq!(output.status.code(), Some(STATUS), "{output}");
    assert_eq!(
        sentence(output),
        [format!("xsim: rank {rank} failed at {at}: the run ends there, as a job does that loses a process")]
    );
}

// A step takes 10 us and two links of 1 us: the steps of all ranks end at 12 us, 24 us, ...; rank 3 fails in
// the fifth, on its way.
#[test]
fn the_run_ends_with_rank_and_time_and_nobody_goes_beyond() {
    let output = everywhere(|| program("ring", 6).arg("-xsim-fail=3@59us,2@70us"));
    ends(&output, 3, "59us");
    let mut expected: Vec<String> = (0..6)
        .flat_map(|rank| (0..4).map(move |step| format!("{rank} step {step} at {} ns", 12_000 * (step + 1))))
        .collect();
    expected.sort_unstable();
    assert_eq!(output.lines(), expected);
}

// A failure at the end of a call is one within it, as one at its beginning is.
#[test]
fn a_rank_stops_in_the_call_in_which_its_time_comes() {
    for (at, steps) in [("60us", 4), ("58us", 4), ("59999ns", 4), ("60001ps", 0), ("60000001ps", 5)] {
        let output = program("ring", 4).arg(format!("-xsim-fail=1@{at}")).run();
        assert_eq!((output.status.code(), output.lines().len()), (Some(STATUS), 4 * steps), "{at}: {output}");
    }
}

// Rank r ends a step each r + 1 us: before 10 us has ended 9, 4 and 3 of them.
#[test]
fn ranks_that_have_run_ahead_have_not_gone_beyond_the_failure() {
    let output = everywhere(|| program("apart", 3).arg("-xsim-fail=0-1@10us"));
    ends(&output, 0, "10us");
    assert_eq!(
        [0, 1, 2].map(|rank| output
            .lines()
            .iter()
            .filter(|line| line.starts_with(&rank.to_string()))
            .count()),
        [9, 4, 3]
    );
}

#[test]
fn a_failure_after_the_end_does_not_happen() {
    let output = everywhere(|| program("ring", 3).arg("-xsim-fail=1@1s"));
    assert_eq!((output.status.code(), output.lines().len()), (Some(0), 63), "{output}");
}

// A barrier of two rounds, dissemination, with 2 us to a message: the ranks enter the first at 4, 3, 2 and 1
// us and leave at 7, 6, 6 and 8 us, the second at 11, 9, 8 and 9 us, which rank 3 leaves at 15 us.
#[test]
fn a_program_can_have_its_rank_fail() {
    let output = everywhere(|| program("by_itself", 4));
    ends(&output, 3, "16us");
    assert_eq!(output.lines().len(), 8);
}

#[test]
fn what_was_sent_before_the_failure_is_delivered() {
    let output = everywhere(|| program("sent_before", 2).arg("-xsim-fail=1@4us"));
    ends(&output, 1, "4us");
    assert_eq!(output.lines(), ["0 got 42 at 3000 ns", "ok"]);
}

#[test]
fn the_summary_ends_with_the_failure() {
    let path = common::scratch("failed").join("report.json");
    program("apart", 3).arg("-xsim-fail=2@10us").arg(format!("-xsim-report={}", path.display())).run();
    let report: serde_json::Value = serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap();
    assert_eq!(report["simulated"]["virtual_time_ps"], 10_000_000);
}

#[test]
fn a_law_fails_the_same_rank_at_the_same_time_on_any_number_of_processes() {
    for law in ["exponential:mtbf=500us,seed=3", "weibull:mtbf=500us,shape=0.7,per=node,seed=5"] {
        let output = everywhere(|| program("ring", 8).arg(format!("-xsim-fail={law}")));
        assert_eq!((output.status.code(), sentence(&output).len()), (Some(STATUS), 1), "{output}");
        let other = program("ring", 8).arg(format!("-xsim-fail={}", law.replace("seed=", "seed=1"))).run();
        assert_ne!(sentence(&output), sentence(&other));
    }
}

#[test]
fn a_file_lists_failures() {
    let path = common::scratch("failures").join("list");
    std::fs::write(&path, "# node 1\n2-3 59us\n").unwrap();
    let option = format!("-xsim-fail=file:{}", path.display());
    ends(&program("ring", 6).arg(&option).run(), 2, "59us");
    std::fs::write(&path, "2 59us\n9 1us\n").unwrap();
    program("ring", 6).arg(&option).run().failure().says(&["there is no rank 9 to fail", "0 to 5"]);
    std::fs::remove_file(&path).unwrap();
    program("ring", 6).arg(&option).run().failure().says(&["cannot read", "the list of failures"]);
}

#[test]
fn what_is_no_failure_is_refused_with_what_may_be_written() {
    for (text, part) in [
        ("3", "RANK@TIME"),
        ("9@1us", "there is no rank 9 to fail: the run has the ranks 0 to 3"),
        ("1@1", "the unit is missing"),
        ("exponential:mtbf=1h,per=rack", "per=rank or per=node"),
        ("weibull:mtbf=1h", "needs a shape"),
    ] {
        program("ring", 4).arg(format!("-xsim-fail={text}")).run().failure().says(&["-xsim-fail", part]);
    }
}

/// The others go on: what they say, however collectives run, whoever listens, and on any number of processes;
/// also where all messages wait for their receives.
#[track_caller]
fn tolerant(case: &str, ranks: u32, failures: &str) -> Output {
    tolerant_on("star:l=1us,b=inf/rank:eager=0", case, ranks, failures);
    tolerant_on("star:l=1us,b=inf", case, ranks, failures)
}

#[track_caller]
fn tolerant_on(machine: &str, case: &str, ranks: u32, failures: &str) -> Output {
    tolerant_of(&format!("ulfm-{case}"), || {
        let run = Run::program("ulfm.c")
            .arg(case)
            .ranks(ranks)
            .machine(machine)
            .arg("-xsim-ft")
            .arg("-xsim-ft-delay=10us");
        if failures.is_empty() { run } else { run.arg(format!("-xsim-fail={failures}")) }
    })
}

// A message takes 2 us, and a failure at 5 us is known at 15 us.
#[test]
fn messages_of_a_failed_rank_come_and_nothing_else() {
    said(
        tolerant("messages", 3, "1@5us"),
        &[
            "0 first MPI_SUCCESS at 2000 ns",
            "0 lost MPI_SUCCESS at 2000 ns",
            "0 second MPIX_ERR_PROC_FAILED at 15000 ns",
            "0 third MPIX_ERR_PROC_FAILED at 15000 ns",
            "0 send MPIX_ERR_PROC_FAILED at 15000 ns",
            "0 isend MPI_SUCCESS at 15000 ns",
            "0 wait MPIX_ERR_PROC_FAILED at 15000 ns",
            "0 sendrecv MPIX_ERR_PROC_FAILED at 15000 ns",
            "2 ssend MPIX_ERR_PROC_FAILED at 15000 ns",
            "2 alive MPI_SUCCESS at 17000 ns",
            "2 probe MPIX_ERR_PROC_FAILED at 17000 ns",
        ],
    );
}

// The others' messages leave at 20 us and 40 us.
#[test]
fn of_several_requests_those_fail_that_name_the_failed_rank() {
    said(
        tolerant("several", 4, "1@5us"),
        &[
            "0 waitall MPI_ERR_IN_STATUS at 22000 ns",
            "0 status MPIX_ERR_PROC_FAILED at 22000 ns",
            "0 status MPI_SUCCESS at 22000 ns",
            "0 status MPI_SUCCESS at 22000 ns",
            "0 waitany MPIX_ERR_PROC_FAILED at 22000 ns",
            "0 wait MPI_SUCCESS at 42000 ns",
        ],
    );
}

// There and back from the acknowledgement at 15 us on.
#[test]
fn a_receive_for_any_source_goes_on_once_the_failure_is_acknowledged() {
    said(
        tolerant("wildcard", 3, "1@5us"),
        &[
            "0 recv MPIX_ERR_PROC_FAILED at 15000 ns",
            "0 pending MPIX_ERR_PROC_FAILED_PENDING at 15000 ns",
            "0 iprobe MPIX_ERR_PROC_FAILED at 15000 ns",
            "0 resumed MPI_SUCCESS at 19000 ns",
        ],
    );
}

// A failure at 5 us is known at 15 us. Rank 3 sends at 60 us; 2 us later its messages are there.
#[test]
fn a_receive_for_any_source_that_a_failure_has_ended_is_its_ranks_own() {
    let output = tolerant("wildcards", 4, "1@5us");
    let mut expected: Vec<String> =
        [0, 2, 3].map(|rank| format!("{rank} wait MPIX_ERR_PROC_FAILED_PENDING at 15000 ns")).to_vec();
    expected.extend(
        ["0 resumed MPI_SUCCESS at 62000 ns", "2 cancelled MPI_SUCCESS at 40000 ns"].map(str::to_owned),
    );
    said(output, &expected.iter().map(String::as_str).collect::<Vec<_>>());
}

// Known at 15 us, to all in the call; known at 11 us, at 12 us to who enters then.
#[test]
fn a_collective_fails_at_all_members_that_are_in_it_when_the_failure_is_known_and_at_those_that_come_later() {
    for (failure, times) in [("1@5us", [15, 15, 15]), ("1@1us", [11, 11, 12])] {
        let expected: Vec<String> = ["barrier", "again", "dup", "ibarrier"]
            .iter()
            .flat_map(|what| {
                [0, 2, 3]
                    .iter()
                    .zip(times)
                    .map(move |(rank, us)| format!("{rank} {what} MPIX_ERR_PROC_FAILED at {us}000 ns"))
            })
            .collect();
        said(tolerant("collectives", 4, failure), &expected.iter().map(String::as_str).collect::<Vec<_>>());
    }
}

#[test]
fn a_nonblocking_collective_fails_when_it_is_completed_and_others_end_as_ever() {
    let expected = [0, 2, 3].map(|rank| format!("{rank} wait MPIX_ERR_PROC_FAILED at 110000 ns"));
    said(tolerant("nonblocking", 4, "1@100us"), &expected.each_ref().map(String::as_str));
}

// The tree of five from rank 0: 1, 2 and 4 are its children, 3 is a child of 2.
#[test]
fn revoking_reaches_members_down_a_tree() {
    let output = tolerant("revoke", 5, "").success();
    let at = |rank: u32, what: &str, class: &str| -> i64 {
        let begin = format!("{rank} {what} {class} at ");
        let line = output
            .stdout
            .lines()
            .find_map(|line| line.strip_prefix(&begin))
            .unwrap_or_else(|| panic!("no {begin}: {output}"));
        line.strip_suffix(" ns").unwrap().parse().unwrap()
    };
    let begin = at(0, "revoke", "MPI_SUCCESS");
    let revoked = "MPIX_ERR_REVOKED";
    assert_eq!([at(0, "send", revoked), at(0, "after", revoked)], [begin; 2]);
    for (rank, what, us) in [(1, "recv", 2), (2, "ssend", 2), (3, "barrier", 4), (4, "barrier", 2)] {
        let told = begin + 1000 * us;
        assert_eq!(
            [at(rank, what, revoked), at(rank, "after", revoked), at(rank, "irecv", revoked)],
            [told; 3],
            "{output}"
        );
    }
}

// Rank 0 revokes at 50 us; 1 and 2 are told at 52 us, 3 at 54 us. The messages arrive at 48, 51 and 53 us,
// and their sender learns of it at 50, 53 and 55 us.
#[test]
fn an_operation_ends_as_it_would_by_the_time_at_which_its_rank_is_told() {
    let ends =
        |what: &str, ends: [(&str, u32); 3]| ends.map(|(class, us)| format!("{what} {class} at {us}000 ns"));
    let receives = ends("1 receive", [("MPI_SUCCESS", 48), ("MPI_SUCCESS", 51), ("MPIX_ERR_REVOKED", 52)]);
    let sends = ends("2 send", [("MPI_SUCCESS", 51), ("MPIX_ERR_REVOKED", 52), ("MPIX_ERR_REVOKED", 52)]);
    let late = ["receive", "send"].map(|what| format!("3 late {what} MPIX_ERR_REVOKED at 57000 ns"));
    let expected: Vec<String> = receives.into_iter().chain(sends).chain(late).collect();
    said(tolerant("in_time", 4, ""), &expected.iter().map(String::as_str).collect::<Vec<_>>());
}

// The first message arrives at 49 us, and its sender goes on at 51 us; the second would at 53 us.
#[test]
fn a_message_that_comes_after_its_receiver_has_failed_meets_nothing() {
    let expected = ["0 in time MPI_SUCCESS at 51000 ns", "0 too late MPIX_ERR_PROC_FAILED at 62000 ns"];
    said(tolerant("too_late", 2, "1@52us"), &expected);
}

// Rank 1 fails at 20 us, which is known at 30 us; rank 2 is told of the revocation at 82 us.
#[test]
fn partitions_that_a_failed_rank_has_not_made_ready_do_not_come() {
    said(
        tolerant("partitions", 4, "1@20us"),
        &[
            "0 wait MPIX_ERR_PROC_FAILED at 30000 ns",
            "2 wait MPI_SUCCESS at 30000 ns",
            "0 again MPIX_ERR_PROC_FAILED at 30000 ns",
            "2 again MPIX_ERR_PROC_FAILED at 30000 ns",
            "0 arrived MPIX_ERR_PROC_FAILED at 60000 ns",
            "2 arrived MPIX_ERR_PROC_FAILED at 60000 ns",
            "0 waitall MPI_ERR_IN_STATUS at 60000 ns",
            "2 waitall MPI_ERR_IN_STATUS at 60000 ns",
            "2 revoked MPIX_ERR_REVOKED at 82000 ns",
        ],
    );
}

// Rank 1 fails at 100 us, which is known at 110 us.
#[test]
fn nothing_waits_for_ever_on_a_window_with_a_failed_member() {
    let calls = [(0, "lock"), (2, "wait"), (3, "start"), (4, "rget"), (4, "flush"), (4, "unlock")];
    let fences = [0, 2, 3, 4].map(|rank| (rank, "fence"));
    let expected: Vec<String> = (calls.iter().chain(&fences))
        .map(|(rank, what)| format!("{rank} {what} MPIX_ERR_PROC_FAILED at 110000 ns"))
        .collect();
    said(tolerant("windows", 5, "1@100us"), &expected.iter().map(String::as_str).collect::<Vec<_>>());
}

// Rank 1 fails at 100 us, which is known at 110 us: rank 0 frees one window by then, the others wait in the
// fence of the other.
#[test]
fn a_window_with_a_failed_member_can_be_freed() {
    let ends = [0, 2, 3].map(|rank| {
        let free = format!("{rank} free MPI_SUCCESS at 110000 ns");
        [free.clone(), free, format!("{rank} fence MPIX_ERR_PROC_FAILED at 110000 ns")]
    });
    said(
        tolerant("fences", 4, "1@100us"),
        &ends.as_flattened().iter().map(String::as_str).collect::<Vec<_>>(),
    );
}

// Rank 0 revokes at 50 us; 1, 2 and 4 are told at 52 us, 3 and 5 at 54 us. These have entered at 53 us, and
// the first three have freed the communicator by then.
#[test]
fn members_that_have_freed_a_communicator_still_do_their_part_for_others() {
    let times = [50, 52, 52, 54, 53, 54];
    let expected: Vec<String> = (0..)
        .zip(times)
        .map(|(rank, us)| format!("{rank} ibarrier MPIX_ERR_REVOKED at {us}000 ns"))
        .collect();
    said(tolerant("freed", 6, ""), &expected.iter().map(String::as_str).collect::<Vec<_>>());
}

// Three ranks, two below the root. It knows of the failure at 15 us, and they 2 us later what is agreed on;
// the next ones take 4 us from the last who comes.
#[test]
fn survivors_agree_and_shrink_by_messages() {
    let expected: Vec<String> = [(0, [15, 15, 19, 23]), (2, [17, 17, 21, 25]), (3, [17, 17, 21, 25])]
        .iter()
        .flat_map(|(rank, us)| {
            let calls = [
                ("agree", "MPIX_ERR_PROC_FAILED"),
                ("iagree", "MPI_SUCCESS"),
                ("wait", "MPI_SUCCESS"),
                ("shrink", "MPI_SUCCESS"),
            ];
            calls
                .iter()
                .zip(us)
                .map(move |((what, class), us)| format!("{rank} {what} {class} at {us}000 ns"))
                .collect::<Vec<_>>()
        })
        .collect();
    said(tolerant("agree", 4, "1@5us"), &expected.iter().map(String::as_str).collect::<Vec<_>>());
}

#[test]
fn a_rank_that_leaves_has_failed() {
    for case in ["leaves", "by_itself"] {
        let output = tolerant(case, 4, "");
        assert!(
            output.stderr.contains("1 rank has failed, the first of them rank 3 at 3us; the others went on"),
            "{output}"
        );
        let expected = [0, 1, 2].map(|rank| format!("{rank} barrier MPIX_ERR_PROC_FAILED at 13000 ns"));
        said(output, &expected.each_ref().map(String::as_str));
    }
}

#[test]
fn without_an_error_handler_the_failure_ends_the_run() {
    tolerant("fatal", 3, "1@5us").failure().says(&[
        "at 15us",
        "MPI_Barrier failed",
        "rank 1 of MPI_COMM_WORLD has failed",
        "MPIX_ERR_PROC_FAILED",
    ]);
}

#[test]
fn a_rank_that_kills_itself_fails() {
    let output = tolerant("killed", 4, "");
    assert!(
        output.stderr.contains("1 rank has failed, the first of them rank 3 at 3us; the others went on"),
        "{output}"
    );
    let expected = [0, 1, 2].map(|rank| format!("{rank} barrier MPIX_ERR_PROC_FAILED at 13000 ns"));
    said(output, &expected.each_ref().map(String::as_str));
    let output =
        Run::program("ulfm.c").arg("killed").ranks(4).run().says(&["rank 3 at", "SIGKILL", "-xsim-ft"]);
    assert_eq!(output.status.code(), Some(128 + 9), "{output}");
}

// Rank 1 fails at 100 us.
#[test]
fn errors_of_requests_go_to_the_handler_of_their_communicator_window_or_file() {
    Run::program("request_errors.c").arg("truncated").ranks(2).run().ok(2);
    for (case, ranks) in [("failed", 3), ("beside", 4)] {
        let file = || common::survivors::fresh(case);
        let run = || {
            let run = Run::program("request_errors.c")
                .arg(case)
                .arg(file())
                .ranks(ranks)
                .machine("star:l=1us,b=inf");
            run.arg("-xsim-ft").arg("-xsim-ft-delay=10us").arg("-xsim-fail=1@100us")
        };
        run().run().success();
        run().processes("mpich", 2).run().success();
    }
}

#[test]
fn who_asks_over_and_over_gets_to_know() {
    said(tolerant("asks", 3, "1@5us"), &[]);
}

#[test]
fn a_program_that_shrinks_and_goes_on_ends_with_those_that_are_left() {
    for (failures, left) in [("2@105us,5@106us,7@333us", 5), ("0@50us", 7), ("1-6@222us", 2)] {
        let output = tolerant("recover", 8, failures).success();
        assert!(output.stdout.contains(&format!("{left} of 8 left after ")), "{failures}: {output}");
    }
}

#[test]
fn where_failures_cannot_be_tolerated_a_sentence_says_so() {
    let run = |case| Run::program("ulfm.c").arg(case).ranks(4);
    run("fatal")
        .arg("-xsim-ft")
        .machine("star:l=1us,b=1Gbps,level=packet")
        .run()
        .failure()
        .says(&["-xsim-ft is for analytic machines"]);
    // One process cannot begin to reckon with failures while others do not; one alone can.
    let refused = run("revoke").processes("mpich", 2).run();
    assert!(refused.stdout.contains("0 revoke MPI_ERR_UNSUPPORTED_OPERATION"), "{refused}");
    run("revoke").run().success();
}

/// Messages, collectives and communicators in random programs; windows and partitions as well.
const MESSAGES: u32 = 31;
const ALL: u32 = 127;

// Steps in which ranks fail by law, by themselves or by leaving, and the others revoke, agree and shrink;
// with overheads, without any time on the way, with failures that are known at once, and with messages that
// wait for their receives.
#[test]
fn random_programs_whose_ranks_fail_are_the_same_everywhere() {
    let star = "star:l=1us,b=1Gbps/rank:";
    let machines =
        ["star:l=1us,b=inf", "mesh:2d,l=2us,b=1Gbps", &format!("{star}o_send=0.4us,o_recv=0.3us"), "none"];
    let eager = [
        "star:l=1us,b=inf/rank:eager=0",
        "mesh:2d,l=2us,b=1Gbps/rank:eager=0",
        &format!("{star}o_send=0.4us,eager=0"),
        "none/rank:eager=3",
    ];
    let mut left = 0;
    for seed in 0..32u32 {
        let machine = [machines, eager][seed as usize / 4 % 2][seed as usize % 4];
        let (ranks, delay) = (2 + seed % 9, ["10us", "0ns", "3us"][seed as usize % 3]);
        left += is_the_same(MESSAGES, seed, ranks, machine, delay, &[2 + seed % 3]);
    }
    assert!((32..=140).contains(&left), "of some 190 ranks some fail, and others end: {left}");
}

#[test]
fn random_programs_with_windows_and_partitions_whose_ranks_fail_are_the_same_everywhere() {
    let machines = [
        "star:l=1us,b=inf",
        "mesh:2d,l=2us,b=1Gbps/rank:eager=0",
        "star:l=1us,b=1Gbps/rank:o_send=0.4us,o_recv=0.3us",
    ];
    for seed in 0..12u32 {
        let (ranks, delay) = (3 + seed % 7, ["10us", "0ns"][seed as usize % 2]);
        is_the_same(ALL, seed, ranks, machines[seed as usize % 3], delay, &[2 + seed % 3]);
    }
}

/// Receives for any source and named ones, probes and cancelled requests, and sends without a receive.
const SOURCES: u32 = 512;

#[test]
fn random_programs_with_receives_for_any_source_whose_ranks_fail_are_the_same_everywhere() {
    let machines = [
        "star:l=1us,b=inf",
        "mesh:2d,l=2us,b=1Gbps/rank:eager=0",
        "star:l=1us,b=1Gbps/rank:o_send=0.4us,o_recv=0.3us",
        "none",
    ];
    for seed in 0..10u32 {
        let (ranks, delay) = (3 + seed % 6, ["10us", "0ns", "3us"][seed as usize % 3]);
        is_the_same(SOURCES, seed, ranks, machines[seed as usize % 4], delay, &[2 + seed % 2]);
    }
}

// Who agrees last, or sends to a rank that has failed, is answered at once on one process. Between two the
// answer is on its way for a while of the host's time, and meanwhile the rank must not be told of what comes
// later, its own failure for one.
#[test]
fn what_another_process_answers_at_once_comes_before_a_later_failure() {
    let star = "star:l=1us,b=1Gbps/rank:eager=0";
    for (seed, ranks, machine, delay) in [
        (144, 2, star, "10us"),
        (171, 2, star, "10us"),
        (733, 6, "mesh:2d,l=2us,b=1Gbps/rank:eager=0", "0ns"),
    ] {
        is_the_same(MESSAGES, seed, ranks, machine, delay, &[2]);
    }
}

/// A program with checkpoints, started again until it is through: useful time through elapsed time, and how
/// often it failed.
fn efficiency(interval: u32, seed: u32) -> (f64, u32) {
    const STEPS: u32 = 12_000;
    let directory = common::scratch(&format!("checkpoint-{interval}"));
    let (state, report) = (directory.join("state"), directory.join("report"));
    let program = common::compile("examples/c/checkpoint.c", &[]);
    let mut elapsed = 0.0;
    for failures in 0.. {
        let arguments = [
            state.display().to_string(),
            STEPS.to_string(),
            "60".into(),
            interval.to_string(),
            "360".into(),
            "600".into(),
        ];
        let run = arguments.into_iter().fold(Run::of(program.clone()).ranks(8), Run::arg);
        let run = run
            .arg(format!("-xsim-report={}", report.display()))
            .arg(format!("-xsim-fail=exponential:mtbf=80h,seed={}", seed + failures));
        let output = run.run();
        let report: serde_json::Value =
            serde_json::from_str(&std::fs::read_to_string(&report).unwrap()).unwrap();
        elapsed += report["simulated"]["virtual_time_ps"].as_f64().unwrap() * 1e-12;
        if output.status.code() != Some(STATUS) {
            output.success();
            return (f64::from(STEPS) * 60.0 / elapsed, failures);
        }
    }
    unreachable!("it ends")
}

// 200 h of work on a machine that fails each 10 h, with checkpoints of 6 min and restarts of 10 min. Daly
// 2006: the time for t s between checkpoints is M exp(R/M) (exp((t + d)/M) - 1) for each t, and the least at
// 81 min. Some 25 failures: what is lost to them is known to a fifth, a twentieth of all.
#[test]
fn checkpoints_cost_what_dalys_model_says() {
    let model = |minutes: f64| {
        minutes * 60.0
            / (36_000.0
                * (600.0f64 / 36_000.0).exp()
                * (((minutes * 60.0 + 360.0) / 36_000.0f64).exp() - 1.0))
    };
    let mut measured = Vec::new();
    for minutes in [10, 81, 600] {
        let (efficiency, failures) = efficiency(minutes, 1000);
        assert!(
            failures > 5 && (efficiency - model(minutes.into())).abs() < 0.1,
            "{minutes}: {efficiency} {failures} {}",
            model(minutes.into())
        );
        measured.push(efficiency);
    }
    assert!(measured[1] > measured[0] && measured[1] > measured[2], "{measured:?}");
}
