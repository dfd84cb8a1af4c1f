//! Runs on several native processes, over MPICH and Open MPI, give what one process gives: results, virtual
//! times, reports.
//!
//! Needs both MPIs and libclang; tests/run.sh installs them.

mod common;

use common::same::same;
use common::{Output, Run, compile, scratch};
use std::path::PathBuf;
use std::process::Command;
use std::time::{Duration, Instant};

const MPICH: &str = "mpich";
const OPENMPI: &str = "openmpi";

#[test]
fn every_example_gives_the_same_bytes_on_any_number_of_processes() {
    for (name, ranks) in
        [("hello", 9), ("ring", 20), ("pi", 8), ("pingpong", 2), ("random", 16), ("stencil3d", 8), ("cg", 8)]
    {
        let program = compile(&format!("examples/c/{name}.c"), &[]);
        same(|| Run::of(program.clone()).ranks(ranks), MPICH, &[2, 3, 4]);
    }
}

#[test]
fn random_programs_give_the_same_bytes_on_any_number_of_processes() {
    for seed in 1..7 {
        // The second machine takes no time at all: everything is decided one by one.
        for machine in ["torus:4x4,l=1us,b=1Gbps", "none"] {
            let run = || Run::program("mixture.c").ranks(7).arg(seed.to_string()).machine(machine);
            same(run, MPICH, &[2, 3, 4]);
        }
    }
}

/// Programs with every collective, on communicators that come and go, of `random_programs`.
fn random(seed: u32, ranks: u32, machine: &str) -> Run {
    Run::program("random_program.c").ranks(ranks).arg(seed.to_string()).arg("20").machine(machine)
}

#[test]
fn random_programs_with_every_collective_give_the_same_bytes() {
    let nodes = "star:4,l=1us,b=10Gbps/star:4,l=100ns,b=100Gbps";
    for (seeds, ranks, machine) in [
        (0..4, 13, "star:l=0.5us,b=100Gbps"),
        (10..13, 16, "torus:4x4,l=1us,b=8Gbps"),
        (20..22, 7, "none"),
        (30..33, 16, nodes),
    ] {
        for seed in seeds {
            same(|| random(seed, ranks, machine), MPICH, &[2, 3, 4]);
        }
    }
}

#[test]
fn programs_with_other_collective_algorithms_give_the_same_bytes() {
    for (seed, choice) in [
        (50, "openmpi"),
        (51, "reduce=rabenseifner,allreduce=ring,reduce_scatter=recursive-halving,scan=linear"),
        (52, "reduce=chain,allreduce=rabenseifner,reduce_scatter=pairwise,exscan=linear"),
        (53, "linear"),
    ] {
        same(
            || random(seed, 13, "star:l=0.5us,b=100Gbps").arg(format!("-xsim-coll={choice}")),
            MPICH,
            &[2, 4],
        );
    }
}

#[test]
fn open_mpi_joins_processes_as_well() {
    for seed in 7..9 {
        same(|| Run::program("mixture.c").ranks(7).arg(seed.to_string()), OPENMPI, &[2, 3]);
        same(|| random(seed, 12, "star:l=0.5us,b=100Gbps"), OPENMPI, &[2, 3]);
    }
    Run::program("collectives.c").arg("gather_scatter").ranks(7).processes(OPENMPI, 2).run().ok(7);
}

#[test]
fn point_to_point_keeps_its_promises_between_processes() {
    let cases = [
        "overtaking",
        "wildcard_first",
        "named_among_others",
        "modes",
        "synchronous",
        "persistent",
        "probing",
        "completion",
        "cancelling",
        "truncation",
        "replacing",
        "counting",
        "crowd",
        "head_to_head",
        "tags_backwards",
        "buffers_reused",
    ];
    for case in cases {
        for (machine, processes) in [("star:l=0.5us,b=100Gbps", 2), ("none", 4)] {
            Run::program("point_to_point.c")
                .arg(case)
                .ranks(8)
                .machine(machine)
                .processes(MPICH, processes)
                .run()
                .ok(8);
        }
    }
}

#[test]
fn collectives_keep_their_promises_between_processes() {
    let cases = [
        "barrier",
        "broadcast",
        "gather_scatter",
        "varying",
        "allgather",
        "alltoall",
        "reductions",
        "user_operations",
        "scans",
        "reduce_scatter",
        "nonblocking",
        "root_leaves_early",
        "contributor_leaves_early",
        "with_datatypes",
        "on_parts",
        "persistent_arrays",
        "persistent_orders",
    ];
    for case in cases {
        for (machine, table, processes) in [("ring:l=1us,b=1Gbps", "openmpi", 2), ("none", "linear", 4)] {
            let run = Run::program("collectives.c")
                .arg(case)
                .ranks(7)
                .machine(machine)
                .arg(format!("-xsim-coll={table}"));
            run.processes(MPICH, processes).run().ok(7);
        }
    }
}

#[test]
fn objects_are_the_same_on_all_processes() {
    for (name, ranks) in
        [("datatypes.c", 4), ("operations.c", 5), ("objects.c", 5), ("requests.c", 5), ("topologies.c", 12)]
    {
        Run::program(name).ranks(ranks).processes(MPICH, 3).run().ok(ranks);
    }
    for ranks in [2, 7] {
        Run::program("algorithms.c").arg("between_groups").ranks(ranks).processes(MPICH, 2).run().ok(ranks);
    }
}

#[test]
fn a_map_gives_processes_their_ranks() {
    let directory = scratch("map");
    let map = directory.join("map");
    std::fs::write(&map, "0-8 # most of them\n-\n9\n10-12\n").unwrap();
    let run = || random(40, 13, "star:l=0.5us,b=100Gbps");
    let lines = |output: Output| output.success().lines().into_iter().map(str::to_owned).collect::<Vec<_>>();
    let mapped = || run().arg(format!("-xsim-map={}", map.display())).processes(MPICH, 4);
    assert_eq!(lines(run().run()), lines(mapped().run()));
    std::fs::write(&map, "0-8\n10-12\n").unwrap();
    mapped().run().failure().says(&["line 2 is '10-12', but the next process begins with rank 9"]);
    std::fs::remove_dir_all(directory).unwrap();
}

#[test]
fn a_flood_waits_at_its_sender() {
    let directory = scratch("flood");
    let report = directory.join("report.json");
    let run =
        Run::program("flood.c").arg("300000").ranks(4).arg(format!("-xsim-report={}", report.display()));
    run.processes(MPICH, 2).run().ok(4);
    let text = std::fs::read_to_string(&report).unwrap();
    let (_, memory) = text.split_once("\"peak_rss_bytes\": ").unwrap();
    let bytes: u64 = memory.split(|c: char| !c.is_ascii_digit()).next().unwrap().parse().unwrap();
    // 300 MB are sent; two processes need some 80 MB for themselves.
    assert!(bytes < 180_000_000, "{bytes} bytes for both processes");
    std::fs::remove_dir_all(directory).unwrap();
}

#[test]
fn there_may_be_more_processes_than_ranks() {
    Run::program("collectives.c").arg("barrier").ranks(2).processes(MPICH, 4).run().ok(2);
}

fn faulty(case: &str) -> Run {
    Run::program("faults.c").arg(case).ranks(8)
}

#[test]
fn a_deadlock_is_explained_as_on_one_process() {
    let waits = |output: Output| {
        output
            .stderr
            .split_once("\n  ")
            .map(|(_, waits)| waits.lines().take(2).collect::<Vec<_>>().join("\n"))
    };
    let one = waits(
        faulty("deadlock").run().failure().says(&["6 of 8 members entered; missing 2, 7", "ranks 0-1, 3-6"]),
    );
    assert_eq!(one, waits(faulty("deadlock").processes(MPICH, 3).run().failure()));
}

#[test]
fn a_fault_of_one_rank_ends_all_processes() {
    assert_eq!(
        faulty("abort").processes(MPICH, 3).run().says(&["rank 7 called MPI_Abort(7)"]).status.code(),
        Some(7)
    );
    assert_eq!(
        faulty("exit").processes(MPICH, 3).run().says(&["rank 7 ended with exit status 5"]).status.code(),
        Some(5)
    );
    let crash = faulty("crash").processes(MPICH, 3).run().says(&["rank 7 used memory that it does not have"]);
    assert_eq!(crash.status.code(), Some(128 + 11), "{crash}");
}

#[test]
fn an_abort_ends_processes_whose_ranks_compute() {
    for launcher in [MPICH, OPENMPI] {
        let abort =
            faulty("abort_alone").processes(launcher, 3).run_for(30).says(&["rank 7 called MPI_Abort(7)"]);
        assert_eq!(abort.status.code(), Some(7), "{launcher}: {abort}");
    }
}

/// Kills process `victim` of three in the middle of a run: how it ended, after how long.
fn killed(launcher: &'static str, victim: u32) -> (Output, Duration) {
    let program = compile("tests/programs/faults.c", &[]);
    let name = program.clone();
    let killer = std::thread::spawn(move || {
        let running = || -> Vec<u32> {
            let entries = std::fs::read_dir("/proc").unwrap().flatten();
            let pids = entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
            let forever = |pid: &u32| {
                std::fs::read(format!("/proc/{pid}/cmdline")).is_ok_and(|line| line.ends_with(b"forever\0"))
            };
            let ours =
                |pid: &u32| std::fs::read_link(format!("/proc/{pid}/exe")).is_ok_and(|exe| exe == name);
            pids.filter(|pid| ours(pid) && forever(pid)).collect()
        };
        let is_victim = |pid: &u32| {
            let numbers = [format!("PMI_RANK={victim}"), format!("OMPI_COMM_WORLD_RANK={victim}")];
            let variables = std::fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
            variables
                .split(|&byte| byte == 0)
                .any(|variable| numbers.iter().any(|number| number.as_bytes() == variable))
        };
        while running().len() < 3 {
            std::thread::sleep(Duration::from_millis(50));
        }
        std::thread::sleep(Duration::from_secs(2));
        let start = Instant::now();
        // Beside process 0 there is one that watches, which began later.
        let pid = running().into_iter().filter(is_victim).min().unwrap();
        assert!(Command::new("kill").arg("-9").arg(pid.to_string()).status().unwrap().success());
        start
    });
    let output = Run::of(program).ranks(9).processes(launcher, 3).arg("forever").run();
    (output, killer.join().unwrap().elapsed())
}

#[test]
fn a_killed_process_ends_the_run() {
    for (launcher, victim) in [(OPENMPI, 1), (MPICH, 2), (MPICH, 0)] {
        let (output, after) = killed(launcher, victim);
        let text =
            format!("process {victim} (ranks {} to {}) has died: the run ends", 3 * victim, 3 * victim + 2);
        let output = output.failure().says(&[&text]);
        assert_eq!(output.stderr.matches("has died").count(), 1, "{output}");
        assert!(after < Duration::from_secs(10), "{after:?}");
    }
}

#[test]
fn processes_with_different_options_are_refused() {
    let directory = scratch("different");
    let script = directory.join("script.sh");
    let program = compile("examples/c/hello.c", &[]);
    std::fs::write(
        &script,
        format!("#!/bin/sh\nexport XSIM_NP=$((4 + PMI_RANK))\nexec {}\n", program.display()),
    )
    .unwrap();
    let shell = PathBuf::from("/bin/sh");
    Run::of(shell).arg(script.display().to_string()).processes(MPICH, 2).run().failure().says(&[
        "process 1 was started with other options",
        "process 1 has -xsim-np=5 where process 0 has -xsim-np=4",
    ]);
    std::fs::remove_dir_all(directory).unwrap();
}

#[test]
fn processes_of_a_host_share_its_memory() {
    let large =
        |processes| faulty("forever").ranks(2_000_000_000).processes(MPICH, processes).run().failure();
    large(2)
        .says(&["1000000000 ranks on each of the 2 processes of this host need about 200 GB", "with mpirun"]);
}
