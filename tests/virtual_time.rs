//! Virtual time to the picosecond, and the same on every run.

mod common;

use common::{Run, compile, scratch};

fn clocks(case: &str) -> Run {
    Run::program("clocks.c").arg(case)
}

/// `L = sum(h_i l_i) + s / b_min` (Jones and Engelmann, equation 1), for hand-counted hops.
#[test]
fn a_message_takes_its_hops_and_its_bytes() {
    for (machine, ranks, bytes, expected) in [
        ("star:l=1us,b=1Gbps", 2, 0, 2_000_000),
        ("star:l=1us,b=1Gbps", 2, 125, 3_000_000),
        ("ring:8,dir=1,l=1us,b=8Gbps", 8, 1000, 7_000_000 + 1_000_000),
        ("ring:8,dir=2,l=1us,b=8Gbps", 8, 1000, 1_000_000 + 1_000_000),
        ("mesh:4x4,l=1us,b=8Gbps", 16, 1, 6_000_000 + 1_000),
        ("torus:4x4,l=1us,b=8Gbps", 16, 1, 2_000_000 + 1_000),
        ("none", 2, 4_000_000, 0),
    ] {
        let output = clocks("message").arg(bytes.to_string()).machine(machine).ranks(ranks).run().success();
        let expected = ["rank 0 at 0".to_owned(), format!("rank {} at {expected}", ranks - 1)];
        assert_eq!(output.lines(), expected, "{machine}: {output}");
    }
}

#[test]
fn a_token_takes_a_latency_a_hop() {
    let output = clocks("ring").machine("star:l=0.5us,b=100Gbps").ranks(5).run().success();
    let hop = 1_000_000 + 320; // two links of 0.5 us; 32 bit at 100 Gbit/s
    let mut expected: Vec<String> =
        (0..5).map(|rank| format!("rank {rank} at {}", if rank == 0 { 5 } else { rank } * hop)).collect();
    expected.sort_unstable();
    assert_eq!(output.lines(), expected);
}

#[test]
fn a_synchronous_send_returns_with_the_empty_answer() {
    let output = clocks("synchronous").machine("star:l=1us,b=32Mbps").ranks(2).run().success();
    assert_eq!(output.lines(), ["at 3000000", "at 5000000"]);
}

#[test]
fn equal_arrivals_come_in_the_order_of_their_sources() {
    let expected = (1..40).map(|r| r.to_string()).collect::<Vec<_>>().join(" ") + "\n";
    for machine in ["star:l=1us,b=1Gbps", "star:l=0us,b=1Gbps", "none"] {
        assert_eq!(clocks("ties").machine(machine).ranks(40).run().success().stdout, expected, "{machine}");
    }
}

#[test]
fn a_wildcard_takes_what_arrives_first_whoever_ran_first() {
    let expected = (1..20).rev().map(|r| r.to_string()).collect::<Vec<_>>().join(" ") + "\n";
    assert_eq!(clocks("arrivals").ranks(20).run().success().stdout, expected);
}

#[test]
fn messages_from_any_source_come_in_the_order_in_which_they_arrive() {
    for machine in ["star:l=0.5us,b=100Gbps", "star:l=1ns,b=100Mbps", "star:l=0us,b=1Gbps"] {
        for ranks in [2, 7, 64] {
            for seed in 1..4 {
                let run = |kind: &str| {
                    let run = Run::program("in_order.c")
                        .arg(seed.to_string())
                        .arg("60")
                        .arg(kind)
                        .machine(machine)
                        .ranks(ranks);
                    let output = run.run().success();
                    let mut lines: Vec<String> = output.lines().into_iter().map(str::to_owned).collect();
                    lines.sort_unstable();
                    lines
                };
                // A type of the program's own takes another way through the simulator, in the same time.
                let (plain, made) = (run("double"), run("made"));
                assert_eq!(plain.len(), ranks as usize, "{plain:?}");
                assert_eq!(plain, made, "{machine}, {ranks} ranks, seed {seed}");
            }
        }
    }
}

#[test]
fn the_overtaken_message_still_comes_first() {
    let output = clocks("overtaken").machine("star:l=1us,b=8Mbps").ranks(2).run().success();
    // 1 MB at 1 B/us and two hops of 1 us; the second is there when the first is taken.
    assert_eq!(output.stdout, "tag 1 at 1000002000000\ntag 2 at 1000002000000\n");
}

#[test]
fn two_runs_report_the_same_bytes() {
    for (source, ranks, args) in [
        ("examples/c/random.c", 64, &["20"][..]),
        ("examples/c/stencil3d.c", 27, &["4", "5"]),
        ("examples/c/cg.c", 8, &["32"]),
        ("tests/programs/collectives.c", 13, &["nonblocking"]),
        ("tests/programs/point_to_point.c", 13, &["crowd"]),
    ] {
        let program = compile(source, &[]);
        let simulated = || {
            let path = scratch("report").join("report.json");
            let mut run = Run::of(program.clone()).ranks(ranks).machine("torus:4x4x4,l=1us,b=10Gbps");
            for arg in args {
                run = run.arg(*arg);
            }
            let output = run.arg(format!("-xsim-report={}", path.display())).run().success();
            let report = std::fs::read_to_string(path).unwrap();
            let (simulated, host) = report.split_once("\"host\"").unwrap();
            assert!(host.contains("\"np\""), "{host}");
            (simulated.to_owned(), output.stdout)
        };
        let first = simulated();
        assert!(
            first.0.contains("\"MPI_Init\"") && first.0.contains(&format!("\"ranks\": {ranks}")),
            "{}",
            first.0
        );
        assert_eq!(first, simulated(), "{source}");
    }
}

#[test]
fn a_fixed_compute_model_charges_each_interval() {
    let output =
        clocks("message").arg("0").arg("-xsim-compute=fixed:3us").machine("none").ranks(2).run().success();
    // Rank 0: before MPI_Init, MPI_Comm_rank, MPI_Comm_size, MPI_Send and the clock: whole intervals of 3 us.
    for line in output.lines() {
        let at: u64 = line.rsplit(' ').next().unwrap().parse().unwrap();
        assert!(at > 0 && at.is_multiple_of(3_000_000), "{output}");
    }
}

#[test]
fn measured_compute_time_scales_with_the_processor_factor() {
    let program = compile("examples/c/pi.c", &[]);
    let time = |factor: &str| {
        let path = scratch("proc").join("report.json");
        let run = Run::of(program.clone()).ranks(2).arg("3000000").variable("XSIM_COMPUTE", "measured");
        run.arg(format!("-xsim-proc={factor}"))
            .arg(format!("-xsim-report={}", path.display()))
            .run()
            .success();
        let report = std::fs::read_to_string(path).unwrap();
        let number = report.split("\"virtual_time_ps\": ").nth(1).unwrap().split(',').next().unwrap();
        number.parse::<f64>().unwrap()
    };
    let ratio = time("100") / time("1");
    assert!((30.0..300.0).contains(&ratio), "{ratio}");
}

/// Two ranks: neither waits for the other's time to pass.
#[test]
fn a_wait_with_a_time_limit_takes_virtual_time() {
    let output =
        Run::program("timed_waits.c").ranks(2).machine("none").variable("XSIM_COMPUTE", "none").run();
    assert!(output.status.success() && output.stdout.is_empty(), "{output}");
}

#[test]
fn a_timer_sends_its_rank_signals_at_virtual_times() {
    for ranks in [2, 3] {
        Run::program("timers.c")
            .ranks(ranks)
            .machine("none")
            .variable("XSIM_COMPUTE", "none")
            .run()
            .ok(ranks);
    }
    let run = Run::program("timers.c").arg("unhandled").ranks(2).machine("none");
    let output = run.variable("XSIM_COMPUTE", "none").run().says(&["rank 1 at 2s", "SIGALRM"]);
    assert_eq!(output.status.code(), Some(128 + libc::SIGALRM), "{output}");
}

/// On one process: others of the host that wait without sleeping slow the calls between intervals, whose cost
/// is measured when the run begins.
#[test]
fn computation_between_calls_costs_what_it_costs_alone() {
    for ranks in [1, 4] {
        Run::program("intervals.c")
            .one_process()
            .arg("once")
            .machine("none")
            .ranks(ranks)
            .variable("XSIM_COMPUTE", "measured")
            .run()
            .ok(ranks);
    }
}

/// 500 ranks lie on the heap's large pages, 2,000 reach beyond them. The host may disturb a run, though not
/// five in a row.
#[test]
fn memory_that_ranks_share_pages_of_is_charged_to_none_of_them() {
    for ranks in [500, 2000] {
        let is_even = || {
            let output = Run::program("first_touch.c")
                .ranks(ranks)
                .variable("XSIM_COMPUTE", "measured")
                .run()
                .success();
            let ns: Vec<u64> =
                output.stdout.split_whitespace().map(|number| number.parse().unwrap()).collect();
            let [median, most, _] = ns[..] else { panic!("{output}") };
            most < 3 * median + 20_000
        };
        assert!((0..5).any(|_| is_even()), "{ranks} ranks: one pays for others in each of five runs");
    }
}

/// The first ranks' blocks lie before the first large page, wherever the kernel puts the heap: hence several
/// runs. The kernel may move a page under a rank, though not often.
#[test]
fn ranks_have_no_page_faults_in_small_blocks() {
    for ranks in [30, 500, 2000] {
        for _ in 0..4 {
            let run = Run::program("first_touch.c").one_process().ranks(ranks);
            let output = run.variable("XSIM_COMPUTE", "measured").run().success();
            let faulting = output.stdout.split_whitespace().last().map(|ranks| ranks.parse::<u64>().unwrap());
            assert!(faulting.is_some_and(|faulting| faulting <= 2), "{ranks} ranks: {output}");
        }
    }
}

/// The last of 2,000 ranks frees what lies at the end of a heap of 270 MB.
#[test]
fn a_rank_that_frees_is_not_charged_for_the_memory_of_others() {
    let path = scratch("freed-memory").join("report.json");
    let is_cheap = || {
        let run = Run::program("first_touch.c").one_process().ranks(2000).machine("none");
        let run = run.variable("XSIM_COMPUTE", "measured").arg(format!("-xsim-report={}", path.display()));
        run.run().success();
        let text = std::fs::read_to_string(&path).unwrap();
        let report: serde_json::Value = serde_json::from_str(&text).unwrap();
        let most = report["simulated"]["compute"]["max_ps"].as_u64().unwrap();
        most < 3_000_000_000
    };
    assert!((0..5).any(|_| is_cheap()), "the last rank pays for others in each of five runs");
}

#[test]
fn an_interval_of_a_hundred_medians_is_named_as_the_hosts() {
    let path = scratch("long-interval").join("report.json");
    let run = |compute: &str| {
        let run = Run::program("long_interval.c")
            .ranks(8)
            .machine("none")
            .variable("XSIM_COMPUTE", compute)
            .summary();
        run.arg(format!("-xsim-report={}", path.display())).run().success();
        serde_json::from_str::<serde_json::Value>(&std::fs::read_to_string(&path).unwrap()).unwrap()
    };
    let output = Run::program("long_interval.c")
        .ranks(8)
        .machine("none")
        .variable("XSIM_COMPUTE", "measured")
        .summary()
        .run()
        .success();
    output.says(&[
        "xsim: rank 3 is charged",
        "between MPI_Barrier and MPI_Barrier at ",
        "likely the host's doing",
        "-xsim-compute none",
    ]);
    let long = &run("measured")["host"]["long_intervals"][0];
    assert_eq!((&long["max_rank"], &long["to"]), (&3.into(), &"MPI_Barrier".into()), "{long}");
    assert!(long["max_ps"].as_u64() > long["median_ps"].as_u64().map(|ps| 100 * ps), "{long}");
    assert!(run("fixed:1us")["host"].get("long_intervals").is_none());
}

#[test]
fn the_summary_tells_ranks_machine_and_time() {
    let output = clocks("ring").ranks(100).summary().run().success();
    // A hop takes 1.00032 us.
    output.says(&[
        "xsim: 100 ranks on default (star:100,l=500ns,b=100Gbps): 100 us of virtual time",
        "xsim: 100 messages, 400 B of payload",
    ]);
}
