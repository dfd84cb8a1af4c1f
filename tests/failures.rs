//! Ranks fail (docs/failures.md): tests/programs/failures.c, on one process and on several, in every mode.

mod common;

use common::{Output, Run};

/// What a failure ends a run with.
const STATUS: i32 = 75;

fn program(case: &str, ranks: u32) -> Run {
    Run::program("failures.c").arg(case).ranks(ranks).machine("star:l=1us,b=inf")
}

/// The same lines on one process and on several, and in other modes; what one process says.
#[track_caller]
fn everywhere(run: impl Fn() -> Run) -> Output {
    let one = run().run();
    for way in [&["-xsim-coll-events"][..], &["-xsim-stack-mode=shared", "-xsim-globals=clone"], &["-xsim-stack-mode=own"]] {
        let other = way.iter().fold(run(), |run, option| run.arg(*option)).run();
        assert_eq!((one.lines(), other.status.code()), (other.lines(), one.status.code()), "{way:?} changes something: {other}");
    }
    for processes in [2, 4] {
        let several = run().processes("mpich", processes).run();
        assert_eq!(one.lines(), several.lines(), "{processes} processes change something: {several}");
        assert_eq!(several.status.code(), one.status.code(), "{several}");
        assert_eq!(sentence(&one), sentence(&several));
    }
    one
}

/// What a run says of the failure that has ended it.
fn sentence(output: &Output) -> Vec<&str> {
    output.stderr.lines().filter(|line| line.contains(" failed at ")).collect()
}

#[track_caller]
fn ends(output: &Output, rank: u32, at: &str) {
    assert_eq!(output.status.code(), Some(STATUS), "{output}");
    assert_eq!(sentence(output), [format!("xsim: rank {rank} failed at {at}: the run ends there, as a job does that loses a process")]);
}

// A step takes 10 us and two links of 1 us: the steps of all ranks end at 12 us, 24 us, ...; rank 3 fails in the fifth, on its way.
#[test]
fn the_run_ends_with_rank_and_time_and_nobody_goes_beyond() {
    let output = everywhere(|| program("ring", 6).arg("-xsim-fail=3@59us,2@70us"));
    ends(&output, 3, "59us");
    let mut expected: Vec<String> =
        (0..6).flat_map(|rank| (0..4).map(move |step| format!("{rank} step {step} at {} ns", 12_000 * (step + 1)))).collect();
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
    assert_eq!([0, 1, 2].map(|rank| output.lines().iter().filter(|line| line.starts_with(&rank.to_string())).count()), [9, 4, 3]);
}

#[test]
fn a_failure_after_the_end_does_not_happen() {
    let output = everywhere(|| program("ring", 3).arg("-xsim-fail=1@1s"));
    assert_eq!((output.status.code(), output.lines().len()), (Some(0), 63), "{output}");
}

// A barrier of two rounds, dissemination, with 2 us to a message: the ranks enter the first at 4, 3, 2 and 1 us and leave at 7, 6, 6 and 8 us, the second at 11, 9, 8 and 9
// us, which rank 3 leaves at 15 us.
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
