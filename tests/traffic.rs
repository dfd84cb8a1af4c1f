//! `xsim traffic` as its user meets it: results as text, JSON, CSV and pictures, jobs, sweeps, and what it
//! refuses.

mod common;

use common::{command, scratch};

const NETWORK: &str = "torus:4x4,l=10ns,b=100Gbps,router=30ns";

#[track_caller]
fn traffic(args: &[&str]) -> String {
    let output = command(&["traffic", "--quiet"]).args(args).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

#[track_caller]
fn refused(args: &[&str], status: i32, parts: &[&str]) {
    let output = command(&["traffic", "--quiet"]).args(args).output().unwrap();
    let error = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(status), "{error}");
    for part in parts {
        assert!(error.contains(part), "'{part}' is missing: {error}");
    }
}

fn json(text: &str) -> serde_json::Value {
    serde_json::from_str(text).unwrap_or_else(|e| panic!("{e}: {text}"))
}

#[test]
fn results_are_text_or_json() {
    let args = ["--network", NETWORK, "--rate", "0.2", "--packets", "50"];
    let text = traffic(&args);
    assert!(text.contains("latency") && text.contains("800 "), "{text}");
    let report = json(&traffic(&[&args[..], &["--json"]].concat()));
    assert_eq!(report["simulated"]["total"]["packets"], 800);
    assert!(report["simulated"]["total"]["latency_mean_ns"].as_f64().unwrap() > 0.0, "{report}");
}

#[test]
fn threads_do_not_change_the_results() {
    let simulated = |threads: &str| {
        let text = traffic(&[
            "--network",
            NETWORK,
            "--interval",
            "200ns",
            "--packets",
            "80",
            "--json",
            "--threads",
            threads,
        ]);
        json(&text)["simulated"].to_string()
    };
    assert_eq!(simulated("1"), simulated("2"));
}

#[test]
fn each_link_is_a_line_and_a_mark_in_the_heat_map() {
    let directory = scratch("traffic-files");
    let (csv, svg) = (directory.join("links.csv"), directory.join("links.svg"));
    let files = ["--csv", csv.to_str().unwrap(), "--svg", svg.to_str().unwrap()];
    traffic(&[&["--network", NETWORK, "--rate", "0.3", "--packets", "40"], &files[..]].concat());
    let lines = std::fs::read_to_string(csv).unwrap();
    // 16 routers with 4 links and one to their endpoint, 16 endpoints with one, and the header.
    assert_eq!(lines.lines().count(), 16 * 5 + 16 + 1, "{lines}");
    let bytes = lines.lines().next().unwrap().split(',').position(|name| name == "bytes").unwrap();
    let sent: u64 = lines
        .lines()
        .filter(|line| line.starts_with("endpoint"))
        .map(|line| -> u64 { line.split(',').nth(bytes).unwrap().parse().unwrap() })
        .sum();
    assert_eq!(sent, 16 * 40 * 512, "{lines}");
    let picture = std::fs::read_to_string(svg).unwrap();
    assert!(picture.starts_with("<svg") && picture.trim_end().ends_with("</svg>"), "{picture}");
}

#[test]
fn latencies_of_packets_and_of_whole_messages_are_text_json_and_csv() {
    let csv = scratch("traffic-histograms").join("histograms.csv");
    let args = [
        "--network",
        NETWORK,
        "--size",
        "20KiB",
        "--interval",
        "10us",
        "--packets",
        "5",
        "--histograms",
        csv.to_str().unwrap(),
    ];
    let text = traffic(&args);
    assert!(
        text.contains("total: 400 packets") && text.contains("total: 80 messages of 5 packets"),
        "{text}"
    );
    let total = &json(&traffic(&[&args[..], &["--json"]].concat()))["simulated"]["total"];
    assert_eq!((&total["messages"]["count"], &total["packets"]), (&80.into(), &400.into()));
    assert!(total["messages"]["latency_mean_ns"].as_f64() > total["latency_mean_ns"].as_f64(), "{total}");
    let lines = std::fs::read_to_string(csv).unwrap();
    let count = |of: &str| -> u64 {
        let of = lines.lines().map(|line| line.split(',').collect::<Vec<_>>()).filter(|line| line[1] == of);
        of.map(|line| line[3].parse::<u64>().unwrap()).sum()
    };
    let counts = ["packet_latency_ns", "message_latency_ns", "routers_passed"].map(count);
    assert_eq!(counts, [400, 80, 400], "{lines}");
}

#[test]
fn a_sweep_gives_the_latency_load_curve() {
    let directory = scratch("traffic-sweep");
    let (csv, svg) = (directory.join("curve.csv"), directory.join("curve.svg"));
    let args = [
        "--network",
        NETWORK,
        "--sweep",
        "--rates",
        "0.1:0.3:0.1",
        "--packets",
        "200",
        "--csv",
        csv.to_str().unwrap(),
        "--svg",
    ];
    let text = traffic(&[&args[..], &[svg.to_str().unwrap()]].concat());
    assert!(text.contains("saturation: "), "{text}");
    let lines = std::fs::read_to_string(&csv).unwrap();
    let rows: Vec<Vec<f64>> =
        lines.lines().skip(1).map(|line| line.split(',').map(|n| n.parse().unwrap()).collect()).collect();
    assert_eq!(rows.iter().map(|row| row[0]).collect::<Vec<_>>(), [0.1, 0.2, 0.3], "{lines}");
    assert!(
        rows.iter().all(|row| (row[1] - row[0]).abs() < 0.03),
        "accepted is not what was offered: {lines}"
    );
    assert!(rows.windows(2).all(|pair| pair[1][2] > pair[0][2]), "latency does not grow with load: {lines}");
    assert!(std::fs::read_to_string(svg).unwrap().starts_with("<svg"));
    let points = json(&traffic(&[
        "--network",
        NETWORK,
        "--sweep",
        "--rates",
        "0.1:0.2:0.1",
        "--packets",
        "200",
        "--json",
    ]));
    assert_eq!(points["points"].as_array().unwrap().len(), 2, "{points}");
}

#[test]
fn jobs_are_counted_apart() {
    let jobs = ["--job", "left=0-7:uniform", "--job", "right=8-15:incast"];
    let report = json(&traffic(
        &[&["--network", NETWORK, "--rate", "0.1", "--packets", "30", "--json"], &jobs[..]].concat(),
    ));
    let of = |name: &str| {
        let jobs = report["simulated"]["jobs"].as_array().unwrap();
        jobs.iter().find(|job| job["name"] == name).unwrap_or_else(|| panic!(
            "no job {name}: {report}"))["packets"].as_u64().unwrap()
    };
    // In an incast its first endpoint receives only.
    assert_eq!((of("left"), of("right")), (8 * 30, 7 * 30));
}

#[test]
fn impossible_traffic_is_refused_in_a_sentence() {
    let network = ["--network", NETWORK];
    let with = |args: &[&str], parts: &[&str]| refused(&[&network[..], args].concat(), 2, parts);
    with(&[], &["--interval", "--rate"]);
    with(&["--rate", "1.5"], &["1.5", "at most 1"]);
    with(&["--rate", "0.1", "--pattern", "zigzag"], &["zigzag"]);
    with(&["--rate", "0.1", "--size", "many"], &["many", "128KiB"]);
    with(&["--rate", "0.1", "--packets", "0"], &["--packets 0"]);
    with(&["--rate", "0.1", "--threads", "0"], &["--threads 0"]);
    with(&["--rate", "0.1", "--job", "a=0-16"], &["job a", "0 to 15"]);
    with(&["--rate", "0.1", "--job", "a=0-9", "--job", "b=9-12"], &["share endpoints"]);
    with(&["--rate", "0.1", "--job", "a"], &["NAME=FIRST-LAST"]);
    with(&["--rate", "0.1", "--pattern", "stencil3d", "--grid", "4x4"], &["three sides", "4x4x1"]);
    with(&["--sweep", "--rates", "0:1:0.1"], &["0:1:0.1"]);
    with(&["--sweep", "--rate", "0.1"], &["--rate has no effect with --sweep", "--rates"]);
    with(&["--sweep", "--interval", "1us"], &["--interval has no effect with --sweep"]);
    with(&["--sweep", "--warmup", "0.1"], &["--warmup has no effect with --sweep"]);
    with(
        &["--rate", "0.1", "--pattern", "tornado", "--job", "a=0-9"],
        &["--pattern has no effect with --job"],
    );
    with(&["--rate", "0.1", "--grid", "4x4"], &["--grid", "stencil3d and tornado", "uniform"]);
    with(&["--rate", "0.1", "--pattern", "transpose", "--grid", "4x4"], &["--grid", "transpose"]);
    refused(
        &["--network", "mesh:4x4,switching=wormhole", "--rate", "0.1", "--threads", "2"],
        2,
        &["runs on one thread"],
    );
    with(&["--rate", "0.1", "--pattern", "matrix=/nonexistent"], &["/nonexistent", "cannot be read"]);
    with(&["--rate", "0.1", "--pattern", "permutation=/dev/zero"], &["/dev/zero", "256 MiB"]);
    refused(&["--network", "torus:4x", "--rate", "0.1"], 2, &["4x"]);
    refused(&["--network", "fattree:m=7,n=3", "--rate", "0.1"], 2, &["m=7"]);
    refused(&["--network", "graph:file=/nonexistent", "--rate", "0.1"], 2, &["/nonexistent"]);
}
