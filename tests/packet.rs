//! MPI programs on packet-level networks: every topology, contention, packets between nodes with the formula
//! inside them.

mod common;

use common::networks::{NETWORKS, RANKS, example, number, pingpong_rows};
use common::{Output, Run, compile, scratch};
use std::path::PathBuf;
use std::sync::OnceLock;

/// One network of every topology and one from a file, with at least 16 endpoints.
fn networks() -> Vec<String> {
    // Once: the tests that ask for it run at one time.
    static GRAPH: OnceLock<PathBuf> = OnceLock::new();
    let graph = GRAPH.get_or_init(|| {
        let graph = scratch("packet-graph").join("ring.txt");
        let routers = (0..8).map(|router| format!("router r{router} endpoints=2\n"));
        let links = (0..8).map(|router| format!("link r{router} r{}\n", (router + 1) % 8));
        std::fs::write(&graph, routers.chain(links).collect::<String>()).unwrap();
        graph
    });
    let mut networks: Vec<String> = NETWORKS.map(str::to_owned).into();
    networks.push(format!("graph:file={}", graph.display()));
    networks
        .into_iter()
        .map(|network| format!("{network},l=10ns,b=100Gbps,router=90ns,level=packet"))
        .collect()
}

#[test]
fn pingpong_takes_the_zero_load_time_on_every_topology() {
    for machine in networks() {
        let output = example("pingpong", &machine, &["1"]);
        let rows = pingpong_rows(&output);
        // A byte over S + 1 links and S routers: the switches passed follow from it.
        let link = 10.0 + 0.08;
        let switches = ((rows[1][1] * 1e3 - link) / (link + 90.0)).round();
        assert!((1.0..=8.0).contains(&switches), "{machine}: {output}");
        for row in rows {
            let (bytes, took) = (row[0].max(1.0), row[1]);
            // Packets of 4096 follow each other at the links' rate; the last is full, or the only one.
            let packet = bytes.min(4096.0);
            let expected =
                (bytes * 0.08 + switches * packet * 0.08 + 10.0 * (switches + 1.0) + 90.0 * switches) / 1e3;
            assert!(
                (took - expected).abs() < 0.001,
                "{machine}: {bytes} bytes take {took} us instead of {expected}"
            );
        }
    }
}

#[test]
fn an_incast_of_n_senders_takes_n_times_the_single_transfer_on_every_topology() {
    for machine in networks() {
        let output = example("incast", &machine, &[]);
        let ratio = number(&output, "ratio ") / f64::from(RANKS - 1);
        assert!((ratio - 1.0).abs() < 0.02, "{machine}: {output}");
    }
    let formula = example("incast", "star:16,l=10ns,b=100Gbps", &[]);
    assert!(number(&formula, "ratio ") < 1.1, "{formula}");
}

#[test]
fn an_alltoall_delivers_and_takes_as_long_as_its_links_need_on_every_topology() {
    for machine in networks() {
        let output = example("alltoall", &machine, &["16384", "2"]);
        assert!(output.stdout.starts_with("exchanged correctly\n"), "{machine}: {output}");
        let took = number(&output, "each pair: ");
        assert!(took > f64::from(RANKS - 1) * 16384.0 * 0.08 / 1e3, "{machine}: {output}");
    }
}

#[test]
fn an_alltoall_shares_the_rings_of_a_torus_that_the_formula_does_not() {
    let links = "l=10ns,b=100Gbps";
    let formula = number(&example("alltoall", &format!("mesh:4x4,{links}"), &["65536", "1"]), "each pair: ");
    let packets = number(
        &example("alltoall", &format!("mesh:4x4,{links},router=0ns,level=packet"), &["65536", "1"]),
        "each pair: ",
    );
    assert!(packets > 1.3 * formula, "{packets} us by packets, {formula} us by the formula");
}

#[test]
fn a_stencil_conserves_heat_and_waits_for_shared_links_on_every_topology() {
    let wide: Vec<f64> = networks()
        .iter()
        .map(|machine| {
            let output = example("stencil3d", machine, &["12", "3"]);
            assert!(output.stdout.starts_with("heat 1000.000000 "), "{machine}: {output}");
            number(&output, "time of a step ")
        })
        .collect();
    // Six faces of 12 x 12 doubles leave one interface; a face of a direction with one rank stays home, but
    // passes the interface.
    let least = 6.0 * 144.0 * 8.0 * 0.08 / 1e3;
    assert!(wide.iter().all(|&took| took > least), "{wide:?} against {least}");
}

#[test]
fn a_short_message_does_not_wait_for_the_long_ones_of_other_ranks_of_its_node() {
    let took = |senders: u32, queue: &str| {
        let machine =
            format!("star:n=4,l=1us,b=10Gbps,router=0ns,{queue}level=packet/star:4,l=0.1us,b=100Gbps");
        number(
            &Run::program("shared_interface.c")
                .ranks(16)
                .machine(&machine)
                .arg(senders.to_string())
                .run()
                .success(),
            "round trip ",
        )
    };
    let (alone, packet) = (took(0, ""), 4096.0 * 8.0 / 10e3);
    for senders in 1..4 {
        let waited = took(senders, "") - alone;
        assert!(
            waited > 0.0 && waited <= f64::from(senders + 2) * packet + 0.001,
            "{waited} us behind {senders} senders"
        );
    }
    assert!(took(3, "nicq=fifo,") > alone + 3.0 * 250.0 * packet);
}

#[test]
fn what_packets_and_links_did_is_reported() {
    let directory = scratch("packet-network-report");
    let [json, csv, svg, whole] =
        ["net.json", "links.csv", "heat.svg", "report.json"].map(|name| directory.join(name));
    let machine = "mesh:2x1,l=10ns,b=100Gbps,router=90ns,packet=1KiB,level=packet";
    let files = format!("-xsim-network-report={},{},{}", json.display(), csv.display(), svg.display());
    let run = Run::of(compile("examples/c/pingpong.c", &[])).ranks(2).machine(machine).arg("1").arg(files);
    let output = run.arg(format!("-xsim-report={}", whole.display())).run().success();
    let read = |path: &std::path::Path| std::fs::read_to_string(path).unwrap();
    let report: serde_json::Value = serde_json::from_str(&read(&json)).unwrap();
    let all: serde_json::Value = serde_json::from_str(&read(&whole)).unwrap();
    assert_eq!(all["simulated"]["network"], report);
    // As many messages as the run counts; every packet passes both routers, and the longest message is cut.
    let total = &report["total"];
    assert_eq!(total["messages"]["count"], all["simulated"]["messages"], "{report}");
    assert!(total["packets"].as_u64() > total["messages"]["count"].as_u64(), "{report}");
    assert_eq!(total["routers_passed"], 2.0, "{report}");
    // Links used: an interface, the cable and the ejection of each direction, all with the same bytes.
    let lines = read(&csv);
    let column = lines.lines().next().unwrap().split(',').position(|name| name == "bytes").unwrap();
    let bytes: Vec<u64> =
        lines.lines().skip(1).map(|line| line.split(',').nth(column).unwrap().parse().unwrap()).collect();
    assert_eq!(bytes.iter().sum::<u64>(), 3 * total["bytes"].as_u64().unwrap(), "{lines}");
    assert!(bytes.iter().all(|&sent| sent == 0 || 2 * sent == total["bytes"].as_u64().unwrap()), "{lines}");
    assert!(read(&svg).starts_with("<svg"));
    // The first byte's way, from the network's own clock: one link of 0.08 ns a byte, two routers, three
    // links of 10 ns.
    assert!(
        total["messages"]["latency_min_ns"].as_f64().unwrap() >= 2.0 * 90.0 + 3.0 * 10.0,
        "{report} {output}"
    );
}

#[test]
fn only_packet_networks_have_a_network_report() {
    let run = |machine: &str, file: &str| {
        Run::of(compile("examples/c/pingpong.c", &[]))
            .ranks(2)
            .machine(machine)
            .arg("1")
            .arg(format!("-xsim-network-report={file}"))
            .run()
    };
    let path = scratch("packet-no-report").join("net.json");
    run("star:2,l=1us,b=1Gbps", path.to_str().unwrap())
        .failure()
        .says(&["-xsim-network-report", "level=packet"]);
    assert!(!path.exists(), "a run that is refused leaves nothing");
    run("star:n=2,level=packet", "net.txt").failure().says(&["net.txt", ".json"]);
    run("star:n=2,classes=2,level=packet", path.to_str().unwrap()).failure().says(&["classes=", "one class"]);
}

#[test]
fn the_same_bytes_are_reported_by_every_run_on_packets() {
    let report = || {
        let path = scratch("packet-report").join("report.json");
        let run = Run::of(compile("examples/c/stencil3d.c", &[]))
            .ranks(RANKS)
            .machine(&networks()[0])
            .arg("4")
            .arg("3");
        let output = run.arg(format!("-xsim-report={}", path.display())).run().success();
        let text = std::fs::read_to_string(path).unwrap();
        (output.stdout, text.split_once("\"host\"").unwrap().0.to_owned())
    };
    assert_eq!(report(), report());
}

#[test]
fn packets_run_between_nodes_and_the_formula_inside_them() {
    let machine = "star:n=4,l=10ns,b=100Gbps,router=90ns,level=packet/star:4,l=1us,b=100Gbps";
    // From rank 0 to rank 15: one hop to its node's hub, the packet network's switch, one hop from the other
    // hub.
    let across = example("pingpong", machine, &["1"]);
    let row = |output: &Output, row: usize| -> f64 {
        output.stdout.lines().nth(row).unwrap().split_whitespace().nth(1).unwrap().parse().unwrap()
    };
    let bytes = 2.0 * 0.08;
    assert!((row(&across, 2) * 1e3 - (2000.0 + bytes + 2.0 * 10.0 + 90.0)).abs() < 1.0, "{across}");
    // Ranks 0 and 3 are in one node: two hops, by the formula.
    let inside =
        Run::of(compile("examples/c/pingpong.c", &[])).ranks(4).machine(machine).arg("1").run().success();
    assert!((row(&inside, 2) * 1e3 - 2000.08).abs() < 1.0, "{inside}");
    // 12 ranks of other nodes share the one link into the node of rank 0; the three beside it do not come
    // that way.
    let incast = example("incast", machine, &[]);
    let all: f64 = number(&incast, "15 senders ");
    let shared = 12.0 * f64::from(1 << 20) * 0.08 / 1e3;
    assert!((all / shared - 1.0).abs() < 0.02, "{incast}");
}

#[test]
fn a_message_past_the_end_of_virtual_time_is_said_at_both_levels() {
    for (machine, words) in [
        ("star:b=1bps", "rank 0 at"),
        ("star:n=16,b=1bps,level=packet", "still under way in the network; raise its bandwidth b"),
        (
            "star:n=16,l=150000min,level=packet",
            "still under way in the network; raise its bandwidth b, lower its latency l",
        ),
        (
            "star:n=16,b=0.001bps,level=packet",
            "takes more than 2^63 picoseconds (106 days) over a link; raise b",
        ),
        ("ring:16,l=100000min", "2^62 picoseconds"),
    ] {
        let output = Run::of(compile("examples/c/pingpong.c", &[]))
            .ranks(RANKS)
            .machine(machine)
            .arg("2")
            .run()
            .failure();
        let output = output.says(&["picoseconds", words]);
        assert!(
            !output.stderr.contains("internal error") && !output.stderr.contains("panicked"),
            "{machine}: {output}"
        );
    }
}
