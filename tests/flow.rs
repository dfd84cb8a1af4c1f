//! MPI programs on networks of flows: times that follow from max-min sharing, on every topology and by
//! every way to run.

mod common;

use common::networks::{NETWORKS, RANKS, example, number, pingpong_rows};
use common::{Run, command, compile, scratch};

fn networks() -> impl Iterator<Item = String> {
    NETWORKS.iter().map(|network| format!("{network},l=10ns,b=100Gbps,router=90ns,level=flow"))
}

#[test]
fn pingpong_takes_latency_and_bytes_over_bandwidth_on_every_topology() {
    for machine in networks() {
        let output = example("pingpong", &machine, &["1"]);
        let rows = pingpong_rows(&output);
        let latency = rows[0][1] * 1e3 - rows[0][0] * 0.08;
        let routers = ((latency - 10.0) / 100.0).round();
        assert!((latency - 10.0 - 100.0 * routers).abs() < 1.0 && routers >= 1.0, "{machine}: {output}");
        for row in rows {
            let expected = (row[0] * 0.08 + 10.0 + 100.0 * routers) / 1e3;
            assert!(
                (row[1] - expected).abs() < 0.001,
                "{machine}: {} bytes take {} us instead of {expected}",
                row[0],
                row[1]
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
}

#[test]
fn collectives_and_stencils_give_right_results_on_every_topology() {
    for machine in networks() {
        let output = example("alltoall", &machine, &["16384", "2"]);
        assert!(output.stdout.starts_with("exchanged correctly\n"), "{machine}: {output}");
        assert!(
            number(&output, "each pair: ") > f64::from(RANKS - 1) * 16384.0 * 0.08 / 1e3,
            "{machine}: {output}"
        );
        let output = example("stencil3d", &machine, &["12", "3"]);
        assert!(output.stdout.starts_with("heat 1000.000000 "), "{machine}: {output}");
    }
}

#[test]
fn exchanges_on_a_star_take_what_max_min_sharing_gives_to_the_picosecond() {
    let machine = format!("star:n={RANKS},l=100ns,b=80Gbps,router=50ns,level=flow");
    let took = |case: &str, bytes: u64| {
        let run =
            Run::program("flow_patterns.c").ranks(RANKS).machine(&machine).arg(case).arg(bytes.to_string());
        let output = run
            .arg("-xsim-coll=allreduce=recursive-doubling")
            .variable("XSIM_COMPUTE", "none")
            .run()
            .success();
        assert!(!output.stdout.contains("wrong"), "{output}");
        number(&output, "took ") as u64
    };
    // A byte takes 100 ps; two links and a router 250 ns.
    let (n, bytes) = (u64::from(RANKS), 100_000);
    assert_eq!(took("alltoall", bytes), 100 * (n - 1) * bytes + 250_000);
    assert_eq!(took("incast", bytes), 100 * (n - 1) * bytes + 250_000);
    assert_eq!(took("halo", bytes), 100 * 2 * bytes + 250_000);
    assert_eq!(took("allreduce", bytes), 4 * (100 * bytes + 250_000));
}

#[test]
fn an_alltoall_across_a_taper_takes_what_the_narrow_links_allow() {
    // Two switches of eight, four links between them: each carries 2 x 8 flows of the 64 in each direction.
    let machine = "taperedtree:down=8x2,up=4,routing=dmodk,l=0ns,b=80Gbps,router=0ns,level=flow";
    let run = Run::program("flow_patterns.c").ranks(RANKS).machine(machine).arg("alltoall").arg("100000");
    let output = run.variable("XSIM_COMPUTE", "none").run().success();
    assert_eq!(number(&output, "took ") as u64, 16 * 100 * 100_000);
}

#[test]
fn ranks_of_a_node_share_its_interface_and_memory() {
    let machine = "star:l=0,b=80Gbps,nic=80Gbps/star:8,l=0,b=inf,mem=40GB/s";
    let run = Run::program("flow_patterns.c").ranks(RANKS).machine(machine).arg("alltoall").arg("100000");
    let output = run.variable("XSIM_COMPUTE", "none").run().success();
    assert!(!output.stdout.contains("wrong"), "{output}");
    // Of each node 8 x 8 messages of 100 ps a byte; inside it 8 x 7 of 50 ps, which end before.
    assert_eq!(number(&output, "took ") as u64, 64 * 100 * 100_000);
    let output = example("alltoall", machine, &["16384", "2"]);
    assert!(output.stdout.starts_with("exchanged correctly\n"), "{output}");
}

#[test]
fn interfaces_and_memories_of_nodes_are_reported() {
    let json = scratch("node-report").join("net.json");
    let machine = "star:l=1us,b=80Gbps,nic=80Gbps/star:8,l=0,b=inf,mem=40GB/s";
    let run = Run::program("flow_patterns.c").ranks(RANKS).machine(machine).arg("alltoall").arg("100000");
    run.arg(format!("-xsim-network-report={}", json.display())).run().success();
    let report: serde_json::Value = serde_json::from_str(&std::fs::read_to_string(json).unwrap()).unwrap();
    let names: Vec<&str> =
        report["links"].as_array().unwrap().iter().map(|kind| kind["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["out of nodes", "into nodes", "memory of star"], "{report}");
    assert_eq!(report["map"]["busiest"].as_array().unwrap().len(), 6, "{report}");
    assert!(report["links"][0]["use_mean"].as_f64().unwrap() > 0.5, "{report}");
}

#[test]
fn what_flows_and_links_did_is_reported() {
    let directory = scratch("flow-report");
    let [json, csv, svg] = ["net.json", "links.csv", "heat.svg"].map(|name| directory.join(name));
    let machine = "mesh:2x1,l=10ns,b=100Gbps,router=90ns,level=flow";
    let files = format!("-xsim-network-report={},{},{}", json.display(), csv.display(), svg.display());
    Run::of(compile("examples/c/pingpong.c", &[]))
        .ranks(2)
        .machine(machine)
        .arg("1")
        .arg(files)
        .run()
        .success();
    let read = |path: &std::path::Path| std::fs::read_to_string(path).unwrap();
    let report: serde_json::Value = serde_json::from_str(&read(&json)).unwrap();
    assert_eq!(report["total"]["routers_passed"], 2.0, "{report}");
    assert_eq!(report["total"]["packets"], report["total"]["messages"]["count"], "{report}");
    let busiest = report["map"]["busiest"].as_array().unwrap();
    assert_eq!(busiest.len(), 6, "an interface, the cable and the ejection of each direction: {report}");
    assert!(
        busiest.iter().all(|link| link["use"].as_f64().unwrap() > 0.3 && link["blocked_ns"] == 0.0),
        "{report}"
    );
    assert!(read(&csv).lines().count() == 7 && read(&svg).starts_with("<svg"));
}

#[test]
fn a_network_is_described_as_one_of_flows() {
    let output = command(&["topology", "fattree:m=4,n=3,l=10ns,level=flow/star:4,l=1us"]).output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(text.contains("flows      4-port 3-tree") && !text.contains("virtual channel"), "{text}");
    // Five routers and six links, and 4096 bytes of 80 ps.
    assert!(text.contains("510ns") && text.contains("837.68ns"), "{text}");
}

#[test]
fn synthetic_traffic_runs_as_flows() {
    let traffic = |pattern: &str| {
        let network = "fattree:m=4,n=3,l=10ns,level=flow";
        let args = [
            "traffic",
            "--network",
            network,
            "--pattern",
            pattern,
            "--size",
            "64KiB",
            "--rate",
            "0.3",
            "--packets",
            "20",
        ];
        let output = command(&args).arg("--json").arg("--quiet").output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let report: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
        report["simulated"].clone()
    };
    let report = traffic("uniform");
    assert_eq!(
        (&report["total"]["packets"], &report["level"]),
        (&(16 * 20).into(), &"flow".into()),
        "{report}"
    );
    assert_eq!(report, traffic("uniform"));
    // Alone on its links a flow takes at least 64 KiB of 80 ps.
    assert!(traffic("neighbor")["total"]["latency_min_ns"].as_f64().unwrap() > 5242.8);
}
