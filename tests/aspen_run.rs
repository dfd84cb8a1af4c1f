//! `xsim aspen run`: what ranks without a program send, and when, is what the generated program does.

mod common;

use common::{Run, command, compile, root, scratch};
use serde_json::Value;
use std::path::Path;
use std::process::Output;
use std::sync::atomic::{AtomicU32, Ordering};

fn aspen(args: &[&str]) -> Output {
    command(&["aspen"]).args(args).current_dir(root().join("examples/aspen")).output().unwrap()
}

/// The simulated part of the report of `xsim aspen run` with these arguments.
#[track_caller]
fn walked(model: &str, args: &[&str]) -> Value {
    static NUMBER: AtomicU32 = AtomicU32::new(0);
    let report =
        scratch(&format!("aspen-walked-{}", NUMBER.fetch_add(1, Ordering::Relaxed))).join("report.json");
    let output =
        aspen(&[&["run", model, "--quiet=on", "--report", report.to_str().unwrap()][..], args].concat());
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    simulated(&report)
}

fn simulated(report: &Path) -> Value {
    let report: Value = serde_json::from_str(&std::fs::read_to_string(report).unwrap()).unwrap();
    report["simulated"].clone()
}

/// The same of the program that `xsim aspen generate` writes.
#[track_caller]
fn generated(model: &str, machine: &str, ranks: u32, more: &[&str]) -> Value {
    generated_with(model, machine, ranks, more, |run| run)
}

fn profiled(model: &str, machine: &str, ranks: u32) -> Value {
    generated_with(model, machine, ranks, &[], |run| run.arg("-xsim-profile"))
}

#[track_caller]
fn generated_with(model: &str, machine: &str, ranks: u32, more: &[&str], with: impl Fn(Run) -> Run) -> Value {
    // Tests run side by side.
    static NUMBER: AtomicU32 = AtomicU32::new(0);
    let directory = scratch(&format!("aspen-generated-{}", NUMBER.fetch_add(1, Ordering::Relaxed)));
    let output = aspen(&[&["generate", model, "-o", directory.to_str().unwrap()][..], more].concat());
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let program = compile(String::from_utf8(output.stdout).unwrap().trim(), &["-std=c99"]);
    let report = directory.join("report.json");
    with(Run::of(program).ranks(ranks).machine(machine).arg(format!("-xsim-report={}", report.display())))
        .run()
        .success();
    simulated(&report)
}

const MODEL: &str = "model patterns {
  param n = 5
  kernel exchange {
    execute [2] { comm [n] of size [8] as nn3d, periodic comm [n] of size [100] as nn2d, face, pwave }
  }
  kernel main {
    iterate [3] {
      call exchange
      execute { comm [3000] as sweep comm [101] as sweep, nwave
        messages [103] as positive, x messages [104] as negative, z, periodic }
      execute { comm [1] of size [8] as allreduce, min comm [3] of size [4] as reduce, prod
        comm [5] as scan, max comm [33] as bcast }
      execute { comm [0] as barrier comm [6] as allgather comm [7] as alltoall
        comm [8] as scatter comm [9] as gather }
      execute { comm [2000] as random }
    }
  }
}";

#[test]
fn a_walk_takes_the_time_of_the_generated_program_to_the_picosecond() {
    let path = scratch("aspen-model").join("patterns.aspen");
    std::fs::write(&path, MODEL).unwrap();
    let path = path.to_str().unwrap();
    for machine in [
        "star:l=1us,b=8Gbps",
        "torus:4x4x4,l=1us,b=8Gbps/rank:o_send=300ns,o_recv=200ns,gap=50ns",
        "star:l=1us,b=8Gbps/rank:eager=0",
        "star:l=1us,b=8Gbps/rank:o_send=300ns,o_recv=200ns,eager=1kB",
        "torus:4x4x4,l=1us,b=8Gbps,level=packet",
        "torus:4x4x4,l=1us,b=8Gbps,level=flow",
    ] {
        for ranks in [12, 64] {
            let program = generated(path, machine, ranks, &[]);
            let ranks = ranks.to_string();
            let walk = walked(path, &["-n", &ranks, "-m", machine]);
            for what in ["virtual_time_ps", "messages", "bytes", "wait", "network"] {
                assert_eq!(walk[what], program[what], "{what} of {ranks} ranks on {machine}");
            }
            assert_eq!(
                walk["functions"]["MPI_Isend"], program["functions"]["MPI_Isend"],
                "{ranks} ranks on {machine}"
            );
        }
    }
}

/// Packets and hops between routers of a report.
#[test]
fn a_walk_has_the_profile_of_the_generated_program() {
    let path = scratch("aspen-profile").join("patterns.aspen");
    std::fs::write(&path, MODEL).unwrap();
    let (path, machine) = (path.to_str().unwrap(), "torus:4x4x4,l=1us,b=8Gbps");
    let (walk, program) =
        (walked(path, &["-n", "64", "-m", machine, "--profile"]), profiled(path, machine, 64));
    // What is at one place in the model may be at several in the program.
    let of_function = |report: &Value, name: &str| {
        let sites =
            report["profile"]["sites"].as_array().unwrap().iter().filter(|site| site["function"] == name);
        let numbers = |site: &Value| {
            ["/time/count", "/bytes", "/time/sum_ps", "/wait/sum_ps"]
                .map(|what| site.pointer(what).unwrap().as_u64().unwrap())
        };
        sites.map(numbers).fold([0; 4], |sum, one| std::array::from_fn(|at| sum[at] + one[at]))
    };
    for name in [
        "MPI_Isend",
        "MPI_Irecv",
        "MPI_Waitall",
        "MPI_Recv",
        "MPI_Allreduce",
        "MPI_Reduce",
        "MPI_Scan",
        "MPI_Bcast",
        "MPI_Barrier",
        "MPI_Alltoall",
        "MPI_Gather",
    ] {
        assert_eq!(of_function(&walk, name), of_function(&program, name), "{name}");
        assert!(of_function(&walk, name)[0] > 0);
    }
    assert_eq!(walk["profile"]["traffic"], program["profile"]["traffic"]);
}

#[test]
fn the_trace_of_a_walk_is_replayed_as_the_walk_went() {
    let directory = scratch("aspen-trace");
    let (path, trace, report) =
        (directory.join("patterns.aspen"), directory.join("walk.trace"), directory.join("replayed.json"));
    std::fs::write(
        &path,
        MODEL.replace("execute { comm [2000] as random }", "execute { flops [2e6] as dp, simd }"),
    )
    .unwrap();
    let (path, trace) = (path.to_str().unwrap(), trace.to_str().unwrap());
    let computes = ["--machine-model", "cluster.aspen"];
    for (machine, ranks) in [
        ("star:l=1us,b=8Gbps/rank:o_send=300ns,o_recv=200ns,eager=1kB", "12"),
        ("torus:4x4x4,l=1us,b=8Gbps,level=packet", "64"),
        ("torus:4x4x4,l=1us,b=8Gbps,level=flow", "64"),
    ] {
        let walk = walked(path, &[&["-n", ranks, "-m", machine, "--trace", trace][..], &computes].concat());
        let replay =
            command(&["replay", trace, "-m", machine, "--quiet", "--report", report.to_str().unwrap()])
                .output()
                .unwrap();
        assert!(replay.status.success(), "{}", String::from_utf8_lossy(&replay.stderr));
        let replay = simulated(&report);
        for what in ["virtual_time_ps", "messages", "bytes", "compute", "wait", "network"] {
            assert_eq!(walk[what], replay[what], "{what} of {ranks} ranks on {machine}");
        }
    }
}

fn packets_and_hops(report: &Value) -> (u64, u64) {
    let total = &report["network"]["total"];
    let passed = total["routers_histogram"].as_array().unwrap();
    let hops = passed
        .iter()
        .enumerate()
        .skip(1)
        .map(|(routers, packets)| (routers as u64 - 1) * packets.as_u64().unwrap())
        .sum();
    (total["packets"].as_u64().unwrap(), hops)
}

#[test]
fn the_phases_of_lulesh_move_the_bytes_packets_and_hops_of_the_paper() {
    let machine = "torus:4x4x4,l=1us,b=8Gbps,packet=512,header=0,level=packet";
    for (kernel, bytes, packets, hops) in [
        ("phase2", 139_968_000, 273_600, 273_600),
        ("phase4", 151_079_040, 303_120, 320_400),
        ("phase8", 151_079_040, 298_440, 311_400),
    ] {
        // The paper counts ten steps, of which each does the same.
        let report = walked("lulesh.aspen", &["--kernel", kernel, "-n", "64", "-m", machine]);
        assert_eq!(10 * report["bytes"].as_u64().unwrap(), bytes, "{kernel}");
        let (found, passed) = packets_and_hops(&report);
        assert_eq!((10 * found, 10 * passed), (packets, hops), "{kernel}");
    }
}

#[test]
fn computation_takes_what_the_model_of_the_machine_says() {
    let args =
        ["--machine-model", "cluster.aspen", "-n", "8", "--param", "steps=3", "--param", "elements=20"];
    let report = walked("lulesh.aspen", &args);
    let output = aspen(&[
        "eval",
        "lulesh.aspen",
        "cluster.aspen",
        "--param",
        "steps=3",
        "--param",
        "elements=20",
        "--json",
    ]);
    let evaluated: Value = serde_json::from_slice(&output.stdout).unwrap();
    let seconds = evaluated["runtimes"][0]["seconds"].as_f64().unwrap();
    assert_eq!(report["compute"]["min_ps"], report["compute"]["max_ps"], "all ranks compute alike");
    let computed = report["compute"]["min_ps"].as_u64().unwrap() as f64 * 1e-12;
    assert!((computed / seconds - 1.0).abs() < 1e-6, "{computed} s, and {seconds} s");
}

#[test]
fn each_round_computes_on_the_socket_of_its_kernel() {
    let args = |more: &[&'static str]| {
        let machine = [
            "-n",
            "16",
            "-m",
            "dragonfly:p=2,a=4,h=2,packet=512,level=packet",
            "--machine-model",
            "rig.aspen",
            "--socket",
            "cpu",
        ];
        walked("rounds.aspen", &[&machine[..], more].concat())
    };
    let computed = |report: &Value| report["compute"]["max_ps"].as_f64().unwrap() * 1e-12;
    // An element's 2 * 256 words and one more come from a memory of 16 (40 and 800 GB/s), which takes longer
    // than its 512 operations.
    let (cpu, gpu) = (4096.0 * 513.0 * 8.0 / 40e9, 4096.0 * 513.0 * 8.0 / 800e9);
    let near = |a: f64, b: f64| assert!((a / b - 1.0).abs() < 1e-6, "{a} s, and {b} s");
    near(computed(&args(&[])), 2.0 * cpu);
    let both = args(&["--socket", "accelerator=gpu"]);
    near(computed(&both), cpu + gpu);
    // Two requests to each of two neighbours in each of two rounds.
    assert_eq!(both["messages"], 16 * 2 * 2 * 2);
    assert_eq!(
        both["network"]["total"]["packets"],
        16 * 2 * 2 * 2 * 2,
        "1,024 bytes and a header in packets of 512"
    );
}

#[test]
fn what_cannot_run_is_refused() {
    let refused = |args: &[&str], part: &str| {
        let output = aspen(&[&["run"][..], args].concat());
        let error = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(!output.status.success() && error.contains(part), "'{part}' is missing: {error}");
    };
    refused(&["lulesh.aspen", "-n", "14"], "14 ranks make no grid");
    refused(&["cluster.aspen", "-n", "8"], "is a machine");
    refused(
        &["lulesh.aspen", "-n", "8", "--machine-model", "stencil.aspen"],
        "--machine-model takes a machine",
    );
    refused(
        &["lulesh.aspen", "-n", "8", "--machine-model", "cluster.aspen", "--socket", "gpu"],
        "no socket 'gpu'",
    );
    let rounds = |more: &[&'static str]| {
        [&["rounds.aspen", "-n", "8", "--machine-model", "rig.aspen"][..], more].concat()
    };
    refused(&rounds(&[]), "several kinds of sockets (cpu, gpu)");
    refused(
        &rounds(&["--socket", "cpu", "--socket", "gpu"]),
        "only a kernel can have another kind, --socket KERNEL=gpu",
    );
    refused(&rounds(&["--socket", "cpu", "--socket", "acelerator=gpu"]), "did you mean 'accelerator'?");
    refused(&rounds(&["--socket", "cpu", "--socket", "accelerator=tpu"]), "no socket 'tpu'");
    let patterns = scratch("aspen-random").join("random.aspen");
    std::fs::write(&patterns, "model random { kernel main { execute { comm [2000] as random } } }").unwrap();
    let trace = patterns.with_extension("trace");
    refused(
        &[patterns.to_str().unwrap(), "-n", "8", "--trace", trace.to_str().unwrap()],
        "record that (-xsim-trace)",
    );
    assert!(!trace.exists(), "a trace that is not whole is none");
    let file = scratch("aspen-refused").join("net.json");
    refused(&["lulesh.aspen", "-n", "8", "--network-report", file.to_str().unwrap()], "packet networks");
    refused(&["lulesh.aspen", "-n", "0"], "--np 0");
}
