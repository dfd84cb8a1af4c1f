//! Traces at other rank counts than those that were recorded, held against runs on so many ranks.

mod common;

use common::{Run, command, scratch};
use std::path::{Path, PathBuf};
use std::process::Output;
use std::sync::atomic::{AtomicUsize, Ordering};

fn directory() -> PathBuf {
    static NUMBER: AtomicUsize = AtomicUsize::new(0);
    scratch(&format!("extrapolate-{}", NUMBER.fetch_add(1, Ordering::Relaxed)))
}

fn recorded(directory: &Path, pattern: &str, ranks: u32, times: &str) -> PathBuf {
    let path = directory.join(format!("{pattern}-{ranks}.trace"));
    let run = Run::program("extrapolated.c")
        .ranks(ranks)
        .arg(pattern)
        .arg(format!("-xsim-trace={}", path.display()));
    run.arg(format!("-xsim-trace-times={times}")).arg("-xsim-compute=none").run().success();
    path
}

fn extrapolated(traces: &[PathBuf], ranks: u32, to: &Path) -> Output {
    command(&["trace", "extrapolate", "--np", &ranks.to_string(), "-o", to.to_str().unwrap()])
        .args(traces)
        .output()
        .unwrap()
}

/// Records at all counts, and checks that the traces of the first ones tell that of the last.
#[track_caller]
fn tells(pattern: &str, counts: [u32; 4]) {
    let directory = directory();
    let traces = counts.map(|ranks| recorded(&directory, pattern, ranks, "none"));
    let to = directory.join("extrapolated.trace");
    let output = extrapolated(&traces[..3], counts[3], &to);
    assert!(output.status.success(), "{pattern}: {}", String::from_utf8_lossy(&output.stderr));
    for command_of in [
        vec!["trace", "diff", to.to_str().unwrap(), traces[3].to_str().unwrap()],
        vec!["trace", "check", to.to_str().unwrap()],
    ] {
        let output = command(&command_of).output().unwrap();
        assert!(output.status.success(), "{pattern}: {}", String::from_utf8_lossy(&output.stdout));
    }
}

/// Returns what `xsim trace extrapolate` says of traces that it refuses.
#[track_caller]
fn refused(traces: &[PathBuf], ranks: u32) -> String {
    let to = traces[0].with_extension("refused");
    let output = extrapolated(traces, ranks, &to);
    assert!(!output.status.success() && !to.exists());
    String::from_utf8(output.stderr).unwrap()
}

#[test]
fn rings_and_collectives_of_all_ranks_are_told_for_more_of_them() {
    tells("ring", [27, 64, 125, 216]);
    tells("collectives", [27, 64, 125, 216]);
    tells("everyone", [8, 12, 20, 35]);
}

#[test]
fn stencils_are_told_by_where_ranks_are_in_the_grid() {
    tells("square", [16, 36, 64, 144]);
    tells("plate", [16, 36, 64, 144]);
    tells("torus", [27, 64, 125, 216]);
    tells("cube", [27, 64, 125, 216]);
    // Faces, edges and corners make other calls, all in one place of the program.
    tells("bordered", [64, 125, 216, 343]);
}

#[test]
fn trees_and_butterflies_have_a_turn_more_for_twice_the_ranks() {
    tells("tree", [8, 16, 64, 256]);
    tells("butterfly", [8, 16, 64, 256]);
}

#[test]
fn communicators_of_rows_and_columns_are_made_for_more_of_them() {
    tells("rows", [16, 36, 64, 100]);
}

#[test]
fn masters_and_workers_are_two_kinds() {
    tells("master", [8, 27, 64, 100]);
    tells("any", [8, 27, 64, 100]);
}

#[test]
fn what_follows_no_rule_is_named() {
    let directory = directory();
    let of = |pattern: &str, ranks: &[u32]| {
        ranks.iter().map(|&ranks| recorded(&directory, pattern, ranks, "none")).collect::<Vec<_>>()
    };
    let lengths = refused(&of("lengths", &[8, 27, 64]), 125);
    assert!(
        lengths.contains("MPI_Sendrecv at extrapolated.c:")
            && lengths.contains("lengths: its argument sendcount: no formula"),
        "{lengths}"
    );
    let cubes = refused(&of("torus", &[27, 64, 125]), 200);
    assert!(
        cubes.contains("MPI_Cart_create")
            && cubes.contains("the rank count of each trace is a cube, and 200 is not"),
        "{cubes}"
    );
    // 1,728,000 bytes cannot be shared among 1,024 ranks.
    let shared = refused(&of("collectives", &[16, 64, 25]), 1024);
    assert!(
        shared.contains("MPI_Bcast")
            && shared.contains("its argument count: its formula gives rank 0 of 1024 no whole number"),
        "{shared}"
    );
}

#[test]
fn traces_that_are_of_no_family_are_refused() {
    let directory = directory();
    let ring: Vec<PathBuf> = [8, 27, 64].map(|ranks| recorded(&directory, "ring", ranks, "none")).into();
    assert!(refused(&ring[..2], 125).contains("2 of 3 traces"));
    let twice = [ring[0].clone(), ring[1].clone(), ring[1].clone()];
    assert!(refused(&twice, 125).contains("two traces have 27 ranks each"));
    let other = [ring[0].clone(), ring[1].clone(), recorded(&directory, "master", 64, "none")];
    let other = refused(&other, 125);
    assert!(other.contains("the traces are not of one program and input"), "{other}");
    let timed = [ring[0].clone(), ring[1].clone(), recorded(&directory, "computing", 64, "histogram")];
    let timed = refused(&timed, 125);
    assert!(
        timed.contains("the trace of 64 ranks says what was computed and that of 8 ranks does not"),
        "{timed}"
    );
    assert!(refused(&ring, 0).contains("--np"));
}

#[test]
fn what_is_computed_follows_the_closest_formula() {
    let directory = directory();
    for times in ["histogram", "exact"] {
        let traces: Vec<PathBuf> =
            [8, 16, 64].map(|ranks| recorded(&directory, "computing", ranks, times)).into();
        let to = directory.join(format!("{times}.trace"));
        let output = extrapolated(&traces, 100, &to);
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let shown = command(&["trace", "show", to.to_str().unwrap()]).output().unwrap();
        let shown = String::from_utf8(shown.stdout).unwrap();
        // A second divided among 100 ranks, four times on each.
        let barriers: u64 = shown
            .lines()
            .filter(|line| line.contains("10000.000000  10000.000000  10000.000000"))
            .map(|line| line.split_whitespace().next().unwrap().parse::<u64>().unwrap())
            .sum();
        assert_eq!(barriers, 400, "{shown}");
    }
}
