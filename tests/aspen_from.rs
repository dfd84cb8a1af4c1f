//! `xsim aspen from`: a model from traces, held against runs that it has not seen.

mod common;

use common::{Run, command, compile, root, scratch};
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::Output;

fn aspen(args: &[&str]) -> Output {
    command(&["aspen"]).args(args).current_dir(root().join("examples/aspen")).output().unwrap()
}

#[track_caller]
fn accepted(args: &[&str]) -> String {
    let output = aspen(args);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

/// Runs a program and returns its trace and the simulated part of its report.
fn recorded(program: &Path, ranks: u32, directory: &Path) -> (String, Value) {
    let (trace, report) = (directory.join(format!("{ranks}.trace")), directory.join(format!("{ranks}.json")));
    let args = [
        format!("-xsim-trace={}", trace.display()),
        format!("-xsim-report={}", report.display()),
        "-xsim-trace-times=exact".to_owned(),
    ];
    args.into_iter().fold(Run::of(program.to_path_buf()).ranks(ranks), Run::arg).run().success();
    (trace.to_str().unwrap().to_owned(), simulated(&report))
}

fn simulated(report: &Path) -> Value {
    let report: Value = serde_json::from_str(&std::fs::read_to_string(report).unwrap()).unwrap();
    report["simulated"].clone()
}

/// Returns what the model does on so many ranks.
fn walked(directory: &Path, ranks: u32) -> Value {
    let report = directory.join("walked.json");
    let file = |name: &str| directory.join(name).to_str().unwrap().to_owned();
    let (number, parameter) = (ranks.to_string(), format!("ranks={ranks}"));
    let (model, machine) = (file("recorded.aspen"), file("recorded-machine.aspen"));
    accepted(&[
        "run",
        &model,
        "-n",
        &number,
        "--param",
        &parameter,
        "--machine-model",
        &machine,
        "--quiet=on",
        "--report",
        report.to_str().unwrap(),
    ]);
    simulated(&report)
}

#[test]
fn a_model_of_lulesh_is_found_in_its_traces_and_holds_on_more_ranks() {
    let directory = scratch("aspen-from-lulesh");
    let place = directory.to_str().unwrap();
    let program =
        accepted(&["generate", "lulesh.aspen", "-o", place, "--param", "steps=4", "--param", "elements=6"]);
    let program: PathBuf = compile(program.trim(), &["-std=c99"]);
    let traces: Vec<String> = [8, 27, 64].map(|ranks| recorded(&program, ranks, &directory).0).into();
    let mut args = vec!["from", "-o", place];
    args.extend(traces.iter().map(String::as_str));
    let shown = accepted(&args);
    assert!(shown.contains("the model sends what the traces have"), "{shown}");
    let model = std::fs::read_to_string(directory.join("recorded.aspen")).unwrap();
    for part in [
        "iterate [4]",
        "comm [7] of size [24] as nn3d }",
        "comm [7] of size [48] as nn3d, nwave",
        "as nn3d, face",
        "as allreduce, min",
    ] {
        assert!(model.contains(part), "'{part}' is missing: {model}");
    }
    let (_, unseen) = recorded(&program, 125, &directory);
    let walk = walked(&directory, 125);
    for what in ["messages", "bytes", "virtual_time_ps"] {
        assert_eq!(walk[what], unseen[what], "{what} of 125 ranks");
    }
}

const STRONG: &str = "
#include <mpi.h>
#include <stdlib.h>
int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    int rank, size, side = 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    while (side * side < size) side++;
    int n = 240 / side;
    double *all = calloc(2 * n, sizeof(double));
    for (int step = 0; step < 3 * side; step++) {
        MPI_Request requests[8];
        int open = 0, x = rank % side, y = rank / side;
        int to[4] = {x > 0 ? rank - 1 : -1, x < side - 1 ? rank + 1 : -1,
                     y > 0 ? rank - side : -1, y < side - 1 ? rank + side : -1};
        for (int at = 0; at < 4; at++) {
            if (to[at] < 0) continue;
            MPI_Irecv(all, n, MPI_DOUBLE, to[at], 0, MPI_COMM_WORLD, &requests[open++]);
            MPI_Isend(all + n, n, MPI_DOUBLE, to[at], 0, MPI_COMM_WORLD, &requests[open++]);
        }
        MPI_Waitall(open, requests, MPI_STATUSES_IGNORE);
        MPI_Allreduce(all, all + n, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    }
    MPI_Finalize();
}
";

#[test]
fn what_shrinks_and_grows_with_the_ranks_becomes_formulas() {
    let directory = scratch("aspen-from-strong");
    let source = directory.join("strong.c");
    std::fs::write(&source, STRONG).unwrap();
    let program = compile(source.to_str().unwrap(), &["-std=c99"]);
    let traces: Vec<String> = [4, 16, 36].map(|ranks| recorded(&program, ranks, &directory).0).into();
    let mut args = vec!["from", "-o", directory.to_str().unwrap()];
    args.extend(traces.iter().map(String::as_str));
    let shown = accepted(&args);
    assert!(shown.contains("the model sends what the traces have"), "{shown}");
    let model = std::fs::read_to_string(directory.join("recorded.aspen")).unwrap();
    // 3 sqrt(p) steps; a side's 240 / sqrt(p) numbers of 8 bytes.
    for part in [
        "times1 = floor(3 * sqrt(ranks) + 0.5)",
        "bytes1 = floor(1920 / sqrt(ranks) + 0.5)",
        "as nn2d, face",
        "comm [8] as allreduce, max",
    ] {
        assert!(model.contains(part), "'{part}' is missing: {model}");
    }
    let (_, unseen) = recorded(&program, 64, &directory);
    let walk = walked(&directory, 64);
    for what in ["messages", "bytes"] {
        assert_eq!(walk[what], unseen[what], "{what} of 64 ranks");
    }
    let same = aspen(&["from", &traces[0], &traces[0], "-o", directory.to_str().unwrap()]);
    assert!(
        !same.status.success()
            && String::from_utf8_lossy(&same.stderr).contains("two traces have 4 ranks each")
    );
}
