//! Programs that `xsim aspen generate` writes move what `xsim aspen comm` says, as messages of MPI.

mod common;

use common::{Run, clean, command, compile, root, scratch};
use serde_json::Value;
use std::path::Path;
use std::process::Command;

/// Returns what a command of `xsim aspen` prints.
#[track_caller]
fn aspen(args: &[&str]) -> String {
    let output = command(&["aspen"]).args(args).current_dir(root().join("examples/aspen")).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

/// Messages and bytes of a run of a generated program.
fn moved(model: &str, args: &[&str], ranks: u32) -> (u64, u64) {
    let name = format!(
        "aspen-{}-{}",
        Path::new(model).file_stem().unwrap().display(),
        args.join("-").replace(['/', '='], "-")
    );
    let directory = scratch(&name);
    let program = aspen(&[&["generate", model, "-o", directory.to_str().unwrap()][..], args].concat());
    let program = compile(program.trim(), &["-std=c99", "-Wall", "-Wextra", "-Werror"]);
    let report = directory.join("report.json");
    Run::of(program).ranks(ranks).arg(format!("-xsim-report={}", report.display())).run().success();
    let report: Value = serde_json::from_str(&std::fs::read_to_string(&report).unwrap()).unwrap();
    let number = |name: &str| report["simulated"][name].as_u64().unwrap();
    (number("messages"), number("bytes"))
}

/// Messages and bytes that a model's steps have in all.
fn said(model: &str, args: &[&str], ranks: u32) -> (u64, u64) {
    let ranks = ranks.to_string();
    let list: Value =
        serde_json::from_str(&aspen(&[&["comm", model, "-n", &ranks, "--json"][..], args].concat())).unwrap();
    let sum = |name: &str| {
        let steps = list["steps"].as_array().unwrap().iter();
        steps.map(|step| step[name].as_u64().unwrap() * step["times"].as_f64().unwrap() as u64).sum()
    };
    (sum("messages"), sum("bytes"))
}

#[test]
fn the_phases_of_lulesh_move_their_bytes() {
    for (phase, bytes) in [("phase2", 13_996_800), ("phase4", 15_107_904), ("phase8", 15_107_904)] {
        let args = ["--kernel", phase];
        let (messages, found) = moved("lulesh.aspen", &args, 64);
        assert_eq!(found, bytes, "{phase}");
        assert_eq!((messages, found), said("lulesh.aspen", &args, 64), "{phase}");
    }
}

#[test]
fn loops_and_lists_of_steps_move_alike() {
    let args = ["--param", "steps=3", "--param", "elements=5"];
    let implicit = moved("lulesh.aspen", &args, 27);
    assert_eq!(implicit, moved("lulesh.aspen", &[&args[..], &["--explicit"][..]].concat(), 27));
    let (messages, bytes) = said("lulesh.aspen", &args, 27);
    assert!(implicit.0 > messages && implicit.1 > bytes, "the messages of the reduction come on top");
}

#[test]
fn all_patterns_between_pairs_move_what_is_said() {
    let directory = scratch("aspen-patterns");
    let path = directory.join("patterns.aspen");
    let uses = "comm [5] of size [8] as nn1d, periodic comm [6] of size [8] as nn2d comm [7] of size [4] as \
        nn2d, face, pwave comm [4] of size [3] as nn3d, nodal, nwave comm [3] of size [8] as nn3d, periodic \
        comm [100] as sweep comm [101] as sweep, nwave messages [103] as positive, x messages [104] as \
        negative, z, periodic";
    std::fs::write(
        &path,
        format!("model patterns {{ kernel main {{ iterate [3] {{ execute [2] {{ {uses} }} }} }} }}"),
    )
    .unwrap();
    let path = path.to_str().unwrap();
    for ranks in [12, 64] {
        assert_eq!(moved(path, &[], ranks), said(path, &[], ranks), "{ranks} ranks");
    }
}

#[test]
fn under_mpich_the_program_sends_what_the_walk_does() {
    let directory = scratch("aspen-mpich");
    let path = directory.join("patterns.aspen");
    let uses = "comm [5] of size [8] as nn1d, periodic comm [6] of size [8] as nn3d, face comm [4] of size \
        [300] as nn3d, nodal comm [1] of size [8] as allreduce, min comm [0] as barrier";
    std::fs::write(
        &path,
        format!("model patterns {{ kernel main {{ iterate [3] {{ execute {{ {uses} }} }} }} }}"),
    )
    .unwrap();
    let (path, report) = (path.to_str().unwrap(), directory.join("report.json"));
    aspen(&["run", path, "-n", "8", "--quiet=on", "--report", report.to_str().unwrap()]);
    let walk: Value = serde_json::from_str(&std::fs::read_to_string(&report).unwrap()).unwrap();
    let calls = |name: &str| walk["simulated"]["functions"][name]["calls"].as_u64().unwrap();
    let (messages, bytes) = said(path, &[], 8);
    assert_eq!(calls("MPI_Isend"), messages);
    let expected = format!(
        "messages {messages} bytes {bytes} allreduces {} barriers {}\n",
        calls("MPI_Allreduce"),
        calls("MPI_Barrier")
    );

    let source = aspen(&["generate", path, "-o", directory.to_str().unwrap()]);
    let program = directory.join("counted");
    let mut compiler = Command::new("mpicc.mpich");
    compiler
        .args(["-std=c99", "-O1", source.trim()])
        .arg(root().join("tests/programs/count_messages.c"))
        .arg("-o")
        .arg(&program);
    let compiled = compiler.output().unwrap();
    assert!(compiled.status.success(), "{}", String::from_utf8_lossy(&compiled.stderr));
    let output = clean(Command::new("mpirun.mpich").args(["-n", "8"])).arg(&program).output().unwrap();
    assert_eq!(
        String::from_utf8_lossy(&output.stdout),
        expected,
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
}

#[test]
fn random_messages_and_collective_operations_end() {
    let directory = scratch("aspen-collective");
    let path = directory.join("collective.aspen");
    let uses = "comm [102] as random comm [1] of size [8] as allreduce, min comm [3] of size [4] as reduce, \
        prod comm [5] as scan, max comm [33] as bcast comm [0] as barrier comm [6] as allgather comm [7] as \
        alltoall comm [8] as scatter comm [9] as gather messages [5]";
    std::fs::write(
        &path,
        format!("model collective {{ kernel main {{ iterate [3] {{ execute {{ {uses} }} }} }} }}"),
    )
    .unwrap();
    let (messages, _) = moved(path.to_str().unwrap(), &[], 13);
    assert!(messages > 3 * 13, "{messages}");
}
