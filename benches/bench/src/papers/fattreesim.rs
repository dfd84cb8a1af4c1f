//! FatTreeSim: latencies of small fat trees, the speed of a large one, and jobs of Hadoop.

mod claims;

pub use claims::{CITATION, CLAIMS};

use super::FigureRequest;
use super::values::figure_row;
use crate::lab::Lab;
use crate::results::ResultRow;
use serde_json::Value;

/// Links of the small trees: the paper states neither latency nor bandwidth.
const SMALL: &str = "l=5us,b=100Mbps,packet=1024,header=0,switching=saf,buf=64KiB";
/// Links of the large tree.
const LARGE: &str = "l=10ns,b=100Gbps,packet=512,router=90ns";
/// Links of HEC, which is Gigabit Ethernet, as a fat tree of 16 nodes.
const HEC: &str = "fattree:m=4,n=3,l=1us,b=1Gbps,packet=9000,buf=256KiB";
/// Patterns of figures 9 and 10.
const PATTERNS: [(&str, &str); 2] = [("9", "neighbor"), ("10", "uniform")];
/// Figures, jobs, and their inputs in MB (MiB and GiB in the paper's units).
const JOBS: [(&str, &str, [u64; 4]); 3] = [
    ("13", "terasort", [128, 1024, 4096, 16_384]),
    ("14", "wordcount", [128, 1024, 4096, 16_384]),
    ("15", "octree", [948, 4096, 16_384, 61_440]),
];
/// Nodes of the paper's Hadoop cluster that take part.
const HADOOP_NODES: u32 = 16;

/// Measures all figures.
pub fn rows(lab: &Lab, request: &FigureRequest) -> Result<Vec<ResultRow>, String> {
    let mut rows = Vec::new();
    if request.wants("3.1") {
        sizes(lab, &mut rows)?;
    }
    for (figure, pattern) in PATTERNS.into_iter().filter(|one| request.wants(one.0)) {
        means(lab, figure, pattern, &mut rows)?;
    }
    if request.wants("11") {
        distributions(lab, &mut rows)?;
    }
    if request.wants("12") {
        scaling(lab, request, &mut rows)?;
    }
    for (figure, job, inputs) in JOBS.into_iter().filter(|one| request.wants(one.0)) {
        for input in inputs {
            hadoop(lab, figure, job, input, &mut rows)?;
        }
    }
    Ok(rows)
}

/// Measures the sizes of m-port n-trees.
fn sizes(lab: &Lab, rows: &mut Vec<ResultRow>) -> Result<(), String> {
    for (ports, height) in [(4u32, 2u32), (4, 3), (8, 3), (128, 3)] {
        let spec = format!("fattree:m={ports},n={height}");
        let output = lab.once(&lab.xsim("topology").arg(spec))?.output;
        let number = |name: &str| {
            let line = output.lines().find_map(|line| line.strip_prefix(name))?;
            line.split_whitespace().next()?.parse::<f64>().ok()
        };
        let lower = f64::from(ports / 2).powi(height as i32 - 1);
        let case = format!("{ports}-port {height}-tree");
        for (name, quantity, paper) in [
            ("endpoints", "nodes", f64::from(ports) * lower),
            ("routers", "switches", f64::from(2 * height - 1) * lower),
        ] {
            let ours = number(name).ok_or_else(|| format!("`xsim topology` printed no {name}: {output}"))?;
            rows.push(figure_row("3.1", case.clone(), quantity, ours, Some(paper)));
        }
    }
    Ok(())
}

/// Runs synthetic traffic and returns its results.
fn traffic(lab: &Lab, network: &str, options: &str) -> Result<Value, String> {
    let run = lab.xsim("traffic --quiet --network").arg(network).args(options).arg("--json");
    let output = lab.once(&run)?.output;
    serde_json::from_str(&output).map_err(|why| format!("`xsim traffic` on {network}: {why}"))
}

fn number(results: &Value, pointer: &str) -> Result<f64, String> {
    let value = results.pointer(pointer).and_then(Value::as_f64);
    value.ok_or_else(|| format!("the results of `xsim traffic` have no {pointer}"))
}

/// Measures means of 10 runs and their standard deviation, by the number of messages.
fn means(lab: &Lab, figure: &'static str, pattern: &str, rows: &mut Vec<ResultRow>) -> Result<(), String> {
    for messages in [500, 1000, 2000, 4000, 8000] {
        let mut means = Vec::new();
        for seed in 1..=10 {
            let options = format!(
                "--pattern {pattern} --size 1024 --packets {messages} --interval 400us --seed {seed}"
            );
            let results = traffic(lab, &format!("fattree:m=4,n=3,{SMALL}"), &options)?;
            means.push(number(&results, "/simulated/total/latency_mean_ns")? / 1e3);
        }
        let count = means.len() as f64;
        let mean = means.iter().sum::<f64>() / count;
        let squares: f64 = means.iter().map(|value| (value - mean).powi(2)).sum();
        let deviation = 100.0 * (squares / (count - 1.0)).sqrt() / mean;
        let case = format!("{pattern}, {messages} messages");
        rows.push(figure_row(figure, case.clone(), "mean us", mean, None));
        rows.push(figure_row(figure, case, "deviation %", deviation, None));
    }
    Ok(())
}

/// Measures figure 11: the distribution of latencies on a 2-tree and a 3-tree.
fn distributions(lab: &Lab, rows: &mut Vec<ResultRow>) -> Result<(), String> {
    for (height, pattern) in [(2, "neighbor"), (2, "uniform"), (3, "neighbor"), (3, "uniform")] {
        let options = format!("--pattern {pattern} --size 1024 --packets 1000 --interval 400us");
        let results = traffic(lab, &format!("fattree:m=4,n={height},{SMALL}"), &options)?;
        for (quantity, name) in
            [("least us", "min"), ("median us", "p50"), ("99 % us", "p99"), ("most us", "max")]
        {
            let us = number(&results, &format!("/simulated/total/latency_{name}_ns"))? / 1e3;
            rows.push(figure_row("11", format!("4-port {height}-tree, {pattern}"), quantity, us, None));
        }
        let buckets = results.pointer("/simulated/total/latency_histogram").and_then(Value::as_array);
        let whole: f64 = buckets.into_iter().flatten().filter_map(|bucket| bucket[1].as_f64()).sum();
        let shares = buckets.into_iter().flatten().filter_map(|bucket| Some(bucket[1].as_f64()? / whole));
        let step = shares.fold(0.0, f64::max);
        rows.push(figure_row(
            "11",
            format!("4-port {height}-tree, {pattern}"),
            "largest step %",
            100.0 * step,
            None,
        ));
    }
    Ok(())
}

/// Measures figure 12: events a second of the largest tree within `--most` times 1024 nodes, by intervals
/// and threads.
fn scaling(lab: &Lab, request: &FigureRequest, rows: &mut Vec<ResultRow>) -> Result<(), String> {
    let ports = [32u32, 64, 128].into_iter().rfind(|ports| ports * ports / 4 * ports <= request.most * 1024);
    let ports = ports.unwrap_or(16);
    let (nodes, packets) = (ports * ports / 4 * ports, 10);
    for interval in [200, 400, 800, 1600] {
        for threads in [1, 2] {
            let options =
                format!("--size 512 --packets {packets} --interval {interval}ns --threads {threads}");
            let case = format!("{nodes} nodes, {interval} ns, {threads} threads");
            let (mut events, mut run, mut cpu_s) = (0.0, f64::INFINITY, f64::INFINITY);
            for _ in 0..3 {
                let results = traffic(lab, &format!("fattree:m={ports},n=3,{LARGE}"), &options)?;
                events = number(&results, "/host/events")?;
                run = number(&results, "/host/run_s")?.min(run);
                cpu_s = number(&results, "/host/cpu_s")?.min(cpu_s);
            }
            rows.push(figure_row("12", case.clone(), "M events", events / 1e6, None));
            rows.push(figure_row("12", case.clone(), "wall s", run, None));
            rows.push(figure_row("12", case.clone(), "CPU s", cpu_s, None));
            rows.push(figure_row("12", case, "M events a CPU s", events / cpu_s / 1e6, None));
        }
    }
    Ok(())
}

/// Measures a job under each routing.
fn hadoop(
    lab: &Lab,
    figure: &'static str,
    job: &str,
    input: u64,
    rows: &mut Vec<ResultRow>,
) -> Result<(), String> {
    for (network, spec) in [
        ("ecmp", format!("{HEC},routing=ecmp")),
        ("dmodk", format!("{HEC},routing=dmodk")),
        ("adaptive", format!("{HEC},routing=adaptive")),
        ("flows", "fattree:m=4,n=3,l=1us,b=1Gbps,level=flow".to_owned()),
    ] {
        let run = lab
            .xsim("workload hadoop --quiet --json")
            .arg(job)
            .args(&format!("--input {input}MiB -n {HADOOP_NODES} -m"))
            .arg(spec);
        let output = lab.once(&run)?.output;
        let results: Value =
            serde_json::from_str(&output).map_err(|why| format!("`xsim workload hadoop` of {job}: {why}"))?;
        let case = format!("{job}, {network}, {input} MiB");
        for phase in ["map", "shuffle", "reduce"] {
            let of = |one: &&Value| one["phase"] == phase;
            let phases = results["phases"].as_array().into_iter().flatten().filter(of);
            let seconds: f64 = phases.filter_map(|one| one["ps"].as_f64()).sum::<f64>() / 1e12;
            let quantity = match phase {
                "map" => "map s",
                "shuffle" => "shuffle s",
                _ => "reduce s",
            };
            rows.push(figure_row(figure, case.clone(), quantity, seconds, None));
        }
    }
    Ok(())
}
