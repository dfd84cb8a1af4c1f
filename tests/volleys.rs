//! Messages that a rank of a replay starts and then waits for are made as one: what comes of it is what comes
//! of its calls.

mod common;

use common::{Run, command, scratch};
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::Output;
use std::sync::atomic::{AtomicUsize, Ordering};

fn directory() -> PathBuf {
    static NUMBER: AtomicUsize = AtomicUsize::new(0);
    scratch(&format!("volleys-{}", NUMBER.fetch_add(1, Ordering::Relaxed)))
}

fn recorded(program: &str, ranks: u32, (compute, times): (&str, &str), at: &Path) -> PathBuf {
    let trace = at.join("run.trace");
    let arguments = [format!("-xsim-trace={}", trace.display()), format!("-xsim-trace-times={times}")];
    let run = arguments.into_iter().fold(Run::program(program).ranks(ranks), Run::arg);
    run.machine("star:l=1us,b=1Gbps").variable("XSIM_COMPUTE", compute).run().success();
    trace
}

fn replay(trace: &Path, args: &[&str]) -> Output {
    command(&["replay", trace.to_str().unwrap(), "--quiet=on"]).args(args).output().unwrap()
}

fn text(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// The simulated part of a replay's report, without what only those have to whom each call is told.
#[track_caller]
fn report(trace: &Path, args: &[&str]) -> Value {
    let report = trace.with_extension("json");
    let output = replay(trace, &[&["--report", report.to_str().unwrap()], args].concat());
    assert!(output.status.success(), "{}", text(&output));
    let report: Value = serde_json::from_str(&std::fs::read_to_string(report).unwrap()).unwrap();
    let mut simulated = report["simulated"].clone();
    simulated.as_object_mut().unwrap().remove("profile");
    simulated
}

/// A profile is told of each call, so that they are made one by one.
#[test]
fn a_volley_is_what_its_calls_are() {
    let at = directory();
    for (program, ranks) in [("volleys.c", 8), ("volleys.c", 1), ("volleys.c", 5), ("series.c", 6)] {
        for given in
            [("none", "none"), ("fixed:30ns", "exact"), ("fixed:30ns", "histogram"), ("measured", "exact")]
        {
            let trace = recorded(program, ranks, given, &at);
            for machine in ["star:l=1us,b=1Gbps", "torus:4x2,l=20ns,b=100Gbps", "none"] {
                for wildcards in ["recorded", "open"] {
                    let args = ["-m", machine, "--wildcards", wildcards];
                    let (together, one_by_one) =
                        (report(&trace, &args), report(&trace, &[&args[..], &["--profile"]].concat()));
                    assert_eq!(
                        together, one_by_one,
                        "{program} on {ranks} ranks of {machine}, {given:?}, {wildcards}"
                    );
                }
            }
        }
    }
}

/// Replays actions that fail: with batched messages and one by one, the output is the same and contains
/// `with`.
#[track_caller]
fn fails(actions: &str, with: &str) {
    let at = directory();
    let (source, trace) = (at.join("actions.ti"), at.join("actions.trace"));
    std::fs::write(&source, actions).unwrap();
    let converted = command(&["trace", "convert", source.to_str().unwrap(), "-o", trace.to_str().unwrap()])
        .output()
        .unwrap();
    assert!(converted.status.success(), "{}", text(&converted));
    let [together, one_by_one] =
        [&[][..], &["--profile"]].map(|more| replay(&trace, &[&["-m", "star:l=1us"], more].concat()));
    assert!(text(&together).contains(with), "{}", text(&together));
    assert_eq!((text(&together), together.status.code()), (text(&one_by_one), one_by_one.status.code()));
}

#[test]
fn a_message_that_is_too_long_ends_the_run_with_the_words_of_its_call() {
    let begin = "0 init\n1 init\n";
    let waits =
        "0 irecv 1 7 60 6\n0 irecv 1 0 10 6\n0 irecv 1 1 40 6\n0 isend 1 2 5 6\n0 waitall 4\n0 finalize\n";
    let sends =
        "1 irecv 0 2 5 6\n1 isend 0 0 100 6\n1 isend 0 1 50 6\n1 isend 0 7 50 6\n1 waitall 4\n1 finalize\n";
    let told =
        "MPI_Waitall failed: the message from rank 1 with tag 0 has 100 bytes, the receive buffer only 10";
    fails(&[begin, waits, sends].concat(), told);
    // The messages are there when they are received: ranks run in their order.
    let sends =
        "0 irecv 1 2 5 6\n0 isend 1 0 100 6\n0 isend 1 1 50 6\n0 isend 1 7 50 6\n0 waitall 4\n0 finalize\n";
    let waits =
        "1 irecv 0 7 60 6\n1 irecv 0 0 10 6\n1 irecv 0 1 40 6\n1 isend 0 2 5 6\n1 waitall 4\n1 finalize\n";
    fails(&[begin, sends, waits].concat(), &told.replace("rank 1", "rank 0"));
    let receives =
        "0 send 1 2 5 6\n0 recv 1 0 10 6\n0 finalize\n1 send 0 0 100 6\n1 recv 0 2 5 6\n1 finalize\n";
    fails(&[begin, receives].concat(), "MPI_Recv failed: the message from rank 1 with tag 0 has 100 bytes");
    let receives =
        "0 send 1 0 100 6\n0 recv 1 2 5 6\n0 finalize\n1 send 0 2 5 6\n1 recv 0 0 10 6\n1 finalize\n";
    fails(&[begin, receives].concat(), "MPI_Recv failed: the message from rank 0 with tag 0 has 100 bytes");
}

#[test]
fn who_waits_in_a_volley_stands_in_the_report_of_a_deadlock() {
    fails(
        "0 init\n\
         1 init\n\
         0 irecv 1 0 10 6\n\
         0 isend 1 2 5 6\n\
         0 waitall 2\n\
         0 finalize\n\
         1 recv 0 2 5 6\n\
         1 recv 0 3 5 6\n\
         1 finalize\n",
        "deadlock",
    );
}
