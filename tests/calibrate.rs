//! `xsim calibrate`: a ping-pong that ran on a known machine gives that machine back, and what no machine
//! follows from is told.

mod common;

use common::{Output, Run, command, compile, scratch};
use std::ffi::OsStr;
use std::path::{Path, PathBuf};

fn calibrate(arguments: &[&dyn AsRef<OsStr>]) -> Output {
    let output =
        command(&["calibrate"]).args(arguments.iter().map(|argument| argument.as_ref())).output().unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    Output { stdout: text(output.stdout), stderr: text(output.stderr), status: output.status }
}

#[track_caller]
fn refused(output: &Output, status: i32, said: &str) {
    assert_eq!(output.status.code(), Some(status), "{output}");
    assert!(output.stderr.contains(said), "{said}\nis missing in\n{output}");
}

/// Returns what our own ping-pong prints on a machine, between the first rank and the last.
fn measured(directory: &Path, name: &str, machine: &str, ranks: u32) -> PathBuf {
    let run = Run::of(compile("examples/c/pingpong.c", &[]))
        .ranks(ranks)
        .machine(machine)
        .variable("XSIM_COMPUTE", "none");
    let path = directory.join(name);
    std::fs::write(&path, run.run().success().stdout).unwrap();
    path
}

fn machine(output: &Output) -> &str {
    output
        .stdout
        .lines()
        .find_map(|line| line.strip_prefix("machine: "))
        .unwrap_or_else(|| panic!("{output}"))
}

#[test]
fn a_ping_pong_on_a_machine_gives_the_machine_back() {
    let directory = scratch("calibrate-back");
    for (number, specification) in
        ["star:l=1.5us,b=10Gbps", "star:l=25us,b=1Gbps", "star:l=320ns,b=9.6Gbps"].into_iter().enumerate()
    {
        let table = measured(&directory, &format!("{number}.txt"), specification, 2);
        let output = calibrate(&[&table]).success();
        assert_eq!(machine(&output), specification, "{output}");
        assert!(output.stdout.contains("off by 0.0 % on average"), "{output}");
    }
}

#[test]
fn links_inside_and_between_nodes_are_given_back_from_two_tables() {
    let directory = scratch("calibrate-inside");
    let specification = "star:l=2us,b=10Gbps/star:4,l=200ns,b=80Gbps";
    // Of two ranks both are on the first node, of five the last is on the second.
    let (near, far) = (
        measured(&directory, "near.txt", specification, 2),
        measured(&directory, "far.txt", specification, 5),
    );
    let output = calibrate(&[&far, &"--inside", &near, &"--ranks-inside", &"4"]).success();
    assert_eq!(machine(&output), specification, "{output}");
}

/// A library that copies, then waits for its receiver, costs other times by size.
#[test]
fn a_machine_of_several_lines_takes_the_times_that_it_was_made_from() {
    let directory = scratch("calibrate-lines");
    let outer = "star:l=800ns,b=48Gbps,delay=0@0.6GB/s;129:0.5us@2GB/s;9000:5us";
    for (number, specification) in
        [outer, &format!("{outer}/star:4,l=100ns,b=100Gbps,delay=0;9000:0.4us")].into_iter().enumerate()
    {
        let table = |name: &str, machine: &str, ranks: u32| {
            measured(&directory, &format!("{name}-{number}.txt"), machine, ranks)
        };
        let (near, far) = (table("near", specification, 2), table("far", specification, 5));
        let made = match number {
            0 => calibrate(&[&near]).success(),
            _ => calibrate(&[&far, &"--inside", &near, &"--ranks-inside", &"4"]).success(),
        };
        for (ranks, table) in [(2, near), (5, far)] {
            let again = measured(&directory, "again.txt", machine(&made), ranks);
            let times = |path: &PathBuf| -> Vec<f64> {
                let text = std::fs::read_to_string(path).unwrap();
                let second = |line: &str| line.split_whitespace().nth(1)?.parse().ok();
                text.lines().filter_map(second).collect()
            };
            let (measured, machine) = (times(&table), times(&again));
            assert!(measured.len() > 10 && measured.len() == machine.len(), "{made}");
            for (at, (measured, machine)) in measured.iter().zip(machine).enumerate() {
                assert!(
                    (machine / measured - 1.0).abs() < 0.03,
                    "row {at}: {machine} for {measured}\n{made}"
                );
            }
        }
    }
}

/// Returns the rows of a table of two columns.
fn times(path: &Path) -> Vec<(u64, f64)> {
    let text = std::fs::read_to_string(path).unwrap();
    let row = |line: &str| {
        let mut words = line.split_whitespace();
        Some((words.next()?.parse().ok()?, words.next()?.parse().ok()?))
    };
    text.lines().filter_map(row).collect()
}

/// Eager messages are copied at 5 GB/s; beyond 8 KiB request and answer take two more latencies, and the
/// library 0.6 us.
#[test]
fn a_run_above_the_eager_limit_takes_what_was_measured() {
    let directory = scratch("calibrate-rendezvous");
    let path = directory.join("proto.txt");
    let time = |bytes: u64| match bytes < 16384 {
        true => 1.8 + bytes as f64 / 5e3,
        false => 6.0 + bytes as f64 / 12e3,
    };
    let sizes = std::iter::once(0).chain((0..23).map(|power| 1u64 << power));
    let rows: String = sizes.map(|bytes| format!("{bytes} {:.2}\n", time(bytes))).collect();
    std::fs::write(&path, format!("# Size Latency (us)\n{rows}")).unwrap();
    let file = directory.join("proto.toml");
    let output = calibrate(&[&path, &"-o", &file]).success();
    assert!(machine(&output).ends_with("/rank:eager=8192"), "{output}");
    let again = times(&measured(&directory, "again.txt", file.to_str().unwrap(), 2));
    assert!(again.iter().any(|row| row.0 > 8192), "{again:?}");
    for (bytes, found) in again {
        assert!((found / time(bytes) - 1.0).abs() < 0.01, "{bytes} bytes: {found} us\n{output}");
    }
}

/// The steps of an InfiniBand cluster's ping-pong: where sends are inline no more, at 128 bytes, is no limit
/// of eager messages.
#[test]
fn a_clusters_ping_pong_is_within_a_few_percent_and_has_no_eager_limit_of_inline_sends() {
    let directory = scratch("calibrate-cluster");
    let path = directory.join("osu.txt");
    let times = [
        1.61, 1.61, 1.62, 1.62, 1.63, 1.67, 1.74, 1.86, 2.34, 2.51, 2.81, 3.55, 4.63, 6.33, 8.97, 12.58,
        18.25, 29.6, 51.8, 96.7, 186.2, 365.1, 722.0,
    ];
    let rows = times.iter().enumerate().map(|(power, time)| format!("{} {time:.2}\n", 1u64 << power));
    std::fs::write(&path, format!("# Size Latency (us)\n{}", rows.collect::<String>())).unwrap();
    let output = calibrate(&[&path]).success();
    assert!(!machine(&output).contains("eager"), "{output}");
    let said = output.stdout.lines().find(|line| line.contains("its times are off by")).unwrap();
    let numbers: Vec<f64> = said.split_whitespace().filter_map(|word| word.parse().ok()).collect();
    assert!(numbers[0] < 3.0 && numbers[1].abs() < 10.0, "{said}");
}

/// The file that is written is a machine on which the ping-pong prints what it was made from.
#[test]
fn the_machine_file_runs() {
    let directory = scratch("calibrate-file");
    let table = measured(&directory, "table.txt", "star:l=1.5us,b=10Gbps", 2);
    let (file, svg) = (directory.join("machine.toml"), directory.join("fit.svg"));
    calibrate(&[&table, &"-o", &file, &"--name", &"cluster", &"--plot", &svg]).success();
    let again = measured(&directory, "again.txt", file.to_str().unwrap(), 2);
    assert_eq!(std::fs::read_to_string(&again).unwrap(), std::fs::read_to_string(&table).unwrap());
    let drawn = std::fs::read_to_string(&svg).unwrap();
    for said in ["measured", "line 1", "star:l=1.5us,b=10Gbps", "size [B]"] {
        assert!(drawn.contains(said), "{said}");
    }
    refused(
        &calibrate(&[&table, &"-o", &"/nonexistent/machine.toml"]),
        1,
        "cannot write the machine /nonexistent/machine.toml",
    );
}

/// 2 us and 1 ns a byte.
const OSU: &str = "# OSU MPI Latency Test v5.9\n# Size          Latency (us)\n0 2.00\n100 2.10\n1000 \
    3.00\n10000 12.00\n100000 102.00\n";

#[test]
fn times_that_it_was_not_made_from_are_compared_with_signs() {
    let directory = scratch("calibrate-predict");
    let file = |name: &str, text: &str| {
        let path = directory.join(name);
        std::fs::write(&path, text).unwrap();
        path
    };
    let (table, unseen) = (file("osu.txt", OSU), file("unseen.txt", "bytes us\n500 2.0\n5000 10.0\n"));
    let bandwidth = file(
        "bw.txt",
        "# OSU MPI Bandwidth Test v5.9\n# Size      Bandwidth (MB/s)\n100 250.00\n1000 769.23\n10000 \
        970.87\n100000 997.01\n",
    );
    let output = calibrate(&[&table, &bandwidth, &"--predict", &unseen]).success();
    // A message of 100 bytes each 0.4 us, of 1,000 each 1.3 us: 0.3 us and 1 ns a byte.
    assert_eq!(machine(&output), "star:l=1us,b=8Gbps/rank:gap=300ns", "{output}");
    // 2.5 us for 2.0, and 7 us for 10.
    for said in ["+25.0%", "-30.0%", "off by 27.5 % on average"] {
        assert!(output.stdout.contains(said), "{said}\nis missing in\n{output}");
    }
    refused(&calibrate(&[&bandwidth]), 2, "give one table of latencies");
    refused(&calibrate(&[&table, &"--predict", &bandwidth]), 1, "give times of single messages");
}

#[test]
fn what_no_machine_follows_from_is_told() {
    let directory = scratch("calibrate-refused");
    let refuses = |text: &str, arguments: &[&dyn AsRef<OsStr>], said: &str| {
        let path = directory.join("table.txt");
        std::fs::write(&path, text).unwrap();
        let first: [&dyn AsRef<OsStr>; 1] = [&path];
        refused(
            &calibrate(&[&first[..], arguments].concat()),
            if said.starts_with("--") { 2 } else { 1 },
            said,
        );
    };
    refuses("no table at all", &[], "there is no table of sizes and times");
    refuses("bytes latency\n1 2\n", &[], "line 1: the column 'latency' has no unit that is known");
    refuses(
        "bytes latency\n1 2\n",
        &[&"--unit", &"fortnight"],
        "--unit fortnight: the unit is one of s, ms, us, ns",
    );
    refuses("bytes us\n1 2\n2 3\n", &[], "2 sizes: a line needs at least 3");
    refuses("bytes us\n1 1\n2 90\n4 1\n8 70\n16 1\n32 80\n64 2\n", &[], "no line fits these times");
    refuses("bytes us\n1 1\n2 1e15\n", &[], "line 3: '2 1e15' is a message of 1.000e9 s, longer than");
    refused(&calibrate(&[&"/nonexistent"]), 1, "cannot read the table /nonexistent");
}

#[test]
fn a_message_about_rows_of_several_tables_names_the_file_of_each() {
    let directory = scratch("calibrate-files");
    let file = |name: &str, spike: u64| {
        let path = directory.join(name);
        let time = |bytes: u64| (2.0 + bytes as f64 / 1e3) * if bytes == spike { 20.0 } else { 1.0 };
        let rows: String = (0..16).map(|power| format!("{} {:.3}\n", 1 << power, time(1 << power))).collect();
        std::fs::write(&path, format!("bytes us\n{rows}")).unwrap();
        path
    };
    let (first, second) = (file("first.txt", 0), file("second.txt", 1024));
    let output = calibrate(&[&first, &second]).success();
    let both = format!("{}, {}: 32 times", first.display(), second.display());
    let left_out = format!("left out: line 12 of {}, 1024 bytes", second.display());
    for said in [both, left_out] {
        assert!(output.stdout.contains(&said), "{said}\nis missing in\n{output}");
    }
}

/// Tables of a machine whose cores spend 100 ns, whose interface spends 10 ns a message and moves 10 GB/s.
fn tables_of_pairs(directory: &Path) -> Vec<PathBuf> {
    let sizes: Vec<u64> = (0..23).map(|power| 1 << power).collect();
    let own = |bytes: u64| if bytes < 16384 { 100.0 + bytes as f64 / 10.0 } else { 500.0 };
    let latency = |bytes: u64| 2.0 * own(bytes) + 1000.0 + bytes as f64 / 10.0;
    let pairs = |pairs: f64, bytes: u64| {
        let interface = 10.0 + bytes as f64 / 10.0;
        let ends = latency(bytes) + latency(1);
        ((63.0 * own(bytes).max(interface) + ends) / 64.0 / pairs).max(interface)
    };
    let file = |name: &str, head: &str, row: &dyn Fn(u64) -> String| {
        let path = directory.join(name);
        let rows: String = sizes.iter().map(|&bytes| row(bytes)).collect();
        std::fs::write(&path, format!("{head}\n{rows}")).unwrap();
        path
    };
    let rates = |count: u32| {
        let head = format!(
            "# OSU MPI Multiple Bandwidth / Message Rate Test v5.9\n# [ pairs: {count} ] [ window size: 64 \
            ]\n# Size MB/s Messages/s"
        );
        file(&format!("pairs-{count}.txt"), &head, &|bytes| {
            let each = pairs(f64::from(count), bytes);
            format!("{bytes} {:.2} {:.2}\n", bytes as f64 / each * 1e3, 1e9 / each)
        })
    };
    let latencies = file("latency.txt", "# OSU MPI Latency Test v5.9\n# Size Latency (us)", &|bytes| {
        format!("{bytes} {:.3}\n", latency(bytes) / 1e3)
    });
    vec![latencies, rates(1), rates(16)]
}

#[test]
fn tables_of_pairs_give_the_costs_of_nodes_and_each_is_determined() {
    let directory = scratch("calibrate-pairs");
    let tables = tables_of_pairs(&directory);
    let file = directory.join("machine.toml");
    let [latency, one, many] = &tables[..] else { panic!("three tables") };
    let output = calibrate(&[latency, one, many, &"--ranks-inside", &"16", &"-o", &file]).success();
    for said in
        [",b=10GB/s,nic=10GB/s,nicgap=10ns;", ",o=", ",flowmin=", "/star:16,", "osu_multi_lat with 16 pairs"]
    {
        assert!(output.stdout.contains(said), "{said}\nis missing in\n{output}");
    }
    for key in ["nic ", "nicgap ", "o ", "l "] {
        let is_row = |line: &str| line.starts_with(&format!("  {key}")) && line.contains("within");
        assert!(output.stdout.lines().any(is_row), "{key}: {output}");
    }
    // The machine runs, and its ping-pong between nodes is the table's.
    let again = measured(&directory, "again.txt", file.to_str().unwrap(), 17);
    let output = calibrate(&[latency, &"--predict", &again]).success();
    let off = output.stdout.lines().find_map(|line| line.strip_prefix("off by ")).unwrap();
    assert!(off.split(' ').next().unwrap().parse::<f64>().unwrap() < 8.0, "{output}");
}

#[test]
fn pairs_without_a_number_or_a_node_are_refused_with_the_option() {
    let directory = scratch("calibrate-pairs-refused");
    let tables = tables_of_pairs(&directory);
    let [latency, one, many] = &tables[..] else { panic!("three tables") };
    refused(&calibrate(&[latency, one, many]), 2, "--ranks-inside 32");
    refused(&calibrate(&[one, many, &"--ranks-inside", &"16"]), 2, "give one table of latencies");
    let burst = directory.join("burst.txt");
    std::fs::write(
        &burst,
        "# OSU MPI Multi Latency Test v5.9\n# Size Latency (us)\n1 2.0\n2 2.0\n4 2.0\n8 2.0\n",
    )
    .unwrap();
    refused(&calibrate(&[latency, one, &burst]), 2, "as in --pairs 8");
    refused(
        &calibrate(&[latency, one, &"--pairs", &"many", &burst]),
        2,
        "--pairs many: give the number of pairs",
    );
    let given =
        calibrate(&[latency, one, many, &"--pairs", &"16", &burst, &"--ranks-inside", &"16"]).success();
    assert!(!given.stdout.contains("osu_multi_lat"), "{given}");
    let inside = calibrate(&[latency, one, &"--inside", many, &"--ranks-inside", &"16"]);
    refused(&inside, 2, "16 pairs are more than the 16 ranks of a node");
}

#[test]
fn the_job_script_is_one_that_a_shell_reads() {
    for (system, directive) in [("slurm", "#SBATCH"), ("pbs", "#PBS")] {
        let output = calibrate(&[&"--script", &system, &"--ranks-inside", &"8"]).success();
        assert!(output.stdout.starts_with("#!/bin/bash\n") && output.stdout.contains(directive), "{output}");
        let path = scratch("calibrate-script").join(system);
        std::fs::write(&path, &output.stdout).unwrap();
        let checked = std::process::Command::new("bash").arg("-n").arg(&path).status().unwrap();
        assert!(checked.success(), "{output}");
    }
    refused(&calibrate(&[&"--script", &"lsf"]), 2, "lsf");
}
