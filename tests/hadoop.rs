//! `xsim workload hadoop`: phases take what their parts add up to, bytes are those of the job, and what
//! cannot run is refused.

mod common;

use common::{command, scratch};
use serde_json::Value;

/// Disk and processing so fast that a phase takes its messages alone.
const NETWORK_ALONE: &[&str] =
    &["--launch", "0", "--disk", "1000000GB/s", "--map-rate", "1000000GB/s", "--reduce-rate", "1000000GB/s"];

#[track_caller]
fn run(args: &[&str]) -> Value {
    let output = command(&["workload", "hadoop"]).args(args).args(["--quiet", "--json"]).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).unwrap()
}

/// The times of the phases in seconds.
fn seconds(results: &Value) -> Vec<f64> {
    results["phases"].as_array().unwrap().iter().map(|phase| phase["ps"].as_f64().unwrap() / 1e12).collect()
}

#[track_caller]
fn near(found: f64, expected: f64) {
    assert!((found - expected).abs() < 1e-3 * expected, "{found} is not {expected}");
}

#[test]
fn phases_take_what_disks_tasks_and_links_add_up_to() {
    // A node alone has no messages: 10 blocks of 100 MB in waves of 4, 4 and 2 maps.
    let args = "terasort -n 1 --replication 1 --input 1GB --block 100MB --slots 4 --reducers 2 --disk \
    100MB/s \
                --map-rate 20MB/s --reduce-rate 50MB/s --launch 2s -m star:l=1us,b=1Gbps";
    let results = run(&args.split_whitespace().collect::<Vec<_>>());
    let phases = seconds(&results);
    // A map needs 5 s, longer than 4 blocks from the disk; then the output is written.
    near(phases[0], 3.0 * 2.0 + 3.0 * 5.0 + 10.0);
    near(phases[1], 10.0);
    // Two reduces of 500 MB at 50 MB/s beside the disk's 10 s, and the output.
    near(phases[2], 2.0 + 10.0 + 10.0);
    assert_eq!(results["bytes"]["shuffle"], 0);
}

#[test]
fn a_shuffle_and_replicas_take_their_bytes_on_the_links() {
    // 4 nodes with 100 MB each; a node fetches 25 MB from each of the others, at 1 Gbps.
    let args =
        "terasort -n 4 --input 400MB --block 1MB --slots 1000 --chunk 1MB -m star:l=0,b=1Gbps,level=flow";
    let results = run(&[&args.split_whitespace().collect::<Vec<_>>()[..], NETWORK_ALONE].concat());
    let phases = seconds(&results);
    near(phases[1], 75e6 * 8.0 / 1e9);
    // Each byte leaves for a second copy and from there for a third; a node sends 200 MB.
    near(phases[2], 200e6 * 8.0 / 1e9);
    assert_eq!(results["bytes"]["replicas"], 800_000_000);
    assert_eq!(results["bytes"]["shuffle"], 300_000_000);
}

#[test]
fn the_bytes_of_a_job_are_those_that_the_run_reports() {
    for job in ["terasort", "wordcount", "octree"] {
        let report = scratch(&format!("hadoop-{job}")).join("report.json");
        let results = run(&[
            job,
            "-n",
            "7",
            "--input",
            "3GB",
            "--reducers",
            "10",
            "-m",
            "star:l=1us,b=10Gbps",
            "--report",
            report.to_str().unwrap(),
        ]);
        let reported: Value = serde_json::from_str(&std::fs::read_to_string(&report).unwrap()).unwrap();
        let bytes = |name: &str| results["bytes"][name].as_u64().unwrap();
        let whole = bytes("reads") + bytes("shuffle") + bytes("replicas");
        assert_eq!(reported["simulated"]["bytes"].as_u64().unwrap(), whole, "{job}");
        let rounds = if job == "octree" { 4 } else { 1 };
        assert_eq!(results["phases"].as_array().unwrap().len(), 3 * rounds, "{job}");
        let whole: u64 =
            results["phases"].as_array().unwrap().iter().map(|p| p["ps"].as_u64().unwrap()).sum();
        assert!(whole <= reported["simulated"]["virtual_time_ps"].as_u64().unwrap(), "{job}");
    }
}

#[test]
fn every_routing_of_a_fat_tree_carries_a_job_and_dmodk_shuffles_no_slower_than_ecmp() {
    let shuffle = |routing: &str| {
        let machine = format!("fattree:m=4,n=3,l=1us,b=1Gbps,packet=9000,buf=64KiB,routing={routing}");
        let args =
            ["terasort", "-n", "16", "--input", "64MB", "--block", "1MB", "--chunk", "1MB", "-m", &machine];
        let results = run(&[&args[..], NETWORK_ALONE].concat());
        seconds(&results)[1]
    };
    let (ecmp, dmodk, adaptive) = (shuffle("ecmp"), shuffle("dmodk"), shuffle("adaptive"));
    // Each node fetches 3.75 MB over a link of 1 Gbps: at least 30 ms.
    assert!(dmodk <= ecmp && dmodk >= 0.03 && adaptive >= 0.03, "{ecmp} {dmodk} {adaptive}");
}

#[test]
fn a_job_is_the_same_each_time_and_another_with_another_seed() {
    let of = |seed: &str| {
        run(&[
            "terasort",
            "-n",
            "16",
            "--input",
            "10GB",
            "--block",
            "64MB",
            "--seed",
            seed,
            "-m",
            "star:l=1us,b=1Gbps",
        ])
    };
    assert_eq!(of("1"), of("1"));
    assert_ne!(of("1"), of("2"));
}

#[test]
fn a_job_that_a_failure_ends_has_no_results() {
    let args = "workload hadoop terasort -n 4 --input 1TiB --block 1TiB --fail 2@1s";
    let output = command(&[]).args(args.split_whitespace()).output().unwrap();
    let printed = String::from_utf8_lossy(&output.stdout);
    assert!(!output.status.success() && printed.contains("has no results"), "{printed}");
    assert!(!printed.contains("in all"), "{printed}");
}

#[test]
fn jobs_that_cannot_run_are_refused_with_what_helps() {
    for (args, says) in [
        (
            "terasort -n 2 --replication 3",
            "3 copies of a block need as many nodes, and there are 2: lower --replication",
        ),
        ("terasort -n 4 --input 0", "the input has no bytes (--input"),
        ("terasort -n 4 --input much", "--input much: it is not a number of bytes"),
        ("terasort -n 4 --block 1", "raise --block"),
        ("terasort -n 4 --slots 0", "a node has no slots"),
        ("terasort -n 4 --slots -1", "--slots -1: it is not a whole number"),
        ("terasort -n 4 --disk 80MB", "--disk 80MB: it is not bytes a second such as 80MB/s"),
        ("terasort -n 4 --disk 1B/s", "longer than 10^6 seconds"),
        ("terasort -n 4 --map-output nan", "shares of output are numbers from 0 to 1000"),
        ("octree -n 2 --input 1 --map-output 1000 --reduce-output 1000 --rounds 9", "of round 4 could take"),
        ("terasort -n 4 --launch 10000000s", "longer than 10^6 seconds"),
        ("terasort -n 4 --reducers 100000000", "longer than 10^6 seconds"),
        ("terasort -n 4 --rounds 5000", "5000 rounds are more than 1000"),
        ("terasort -n 4 --launch soon", "--launch soon"),
        ("sort -n 4", "possible values: terasort, wordcount, octree"),
        ("terasort -n 4 --replication 0", "there is no copy of a block"),
    ] {
        let output = command(&["workload", "hadoop"]).args(args.split_whitespace()).output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.code() == Some(2) && said.contains(says), "{args}: {:?} {said}", output.status);
    }
}
