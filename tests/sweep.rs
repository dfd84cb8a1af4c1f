//! `xsim sweep`: runs of programs whose times are known in advance, what they say together, and what goes
//! wrong.

mod common;

use common::{Output, Run, command, compile, scratch};
use std::ffi::OsStr;
use std::path::{Path, PathBuf};

fn program() -> PathBuf {
    compile("tests/programs/swept.c", &[])
}

/// A sweep into a directory, with options before `--` and words behind it.
fn sweep(directory: &Path, options: &[&str], words: &[&dyn AsRef<OsStr>]) -> Output {
    let mut command = command(&["sweep", "-o"]);
    command.arg(directory).args(options).arg("--").args(words.iter().map(|word| word.as_ref()));
    let output = command.output().unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    Output { stdout: text(output.stdout), stderr: text(output.stderr), status: output.status }
}

fn csv(directory: &Path) -> Vec<String> {
    std::fs::read_to_string(directory.join("sweep.csv")).unwrap().lines().map(str::to_owned).collect()
}

#[track_caller]
fn refused(output: &Output, status: i32, said: &str) {
    assert_eq!(output.status.code(), Some(status), "{output}");
    assert!(output.stderr.contains(said), "{said}\nis missing in\n{output}");
}

/// A message of s bytes takes 2 l + 8 s ns: 4 of 1,000 bytes take 8 l + 32 us, one of 100,000 takes 2 l + 800
/// us, so few are better from l = 128 us on.
#[test]
fn a_machine_parameter_is_varied_and_the_crossover_told() {
    let directory = scratch("sweep-crossover");
    let (svg, png) = (directory.join("times.svg"), directory.join("times.png"));
    let varied = ["--vary", "way=4x1000,1x100000", "--vary", "l=1us..1ms*10", "--plot"];
    let words: [&dyn AsRef<OsStr>; 8] =
        [&"-n", &"2", &"--compute=none", &"-m", &"star:l={l},b=1Gbps", &program(), &"messages", &"{way}"];
    let output = sweep(&directory, &[&varied[..], &[svg.to_str().unwrap()]].concat(), &words).success();
    let text = output.stdout;
    assert!(text.contains("way: 4x1000 is fastest up to l=100us, 1x100000 from 1000us on"), "{text}");
    assert!(text.contains("least: way=4x1000 l=1us takes 40us"), "{text}");
    let times: Vec<String> =
        csv(&directory).iter().skip(1).map(|line| line.split(',').nth(2).unwrap().to_owned()).collect();
    let expected = [40u64, 112, 832, 8032, 802, 820, 1000, 2800].map(|us| (us * 1_000_000).to_string());
    assert_eq!(times, expected);
    let drawn = std::fs::read_to_string(&svg).unwrap();
    for said in ["<svg", "way=4x1000", "way=1x100000", "l [s]", "virtual time [s]"] {
        assert!(drawn.contains(said), "{said}");
    }
    sweep(&directory, &[&varied[..], &[png.to_str().unwrap()]].concat(), &words).success();
    assert!(std::fs::read(&png).unwrap().starts_with(b"\x89PNG"));
}

#[test]
fn strong_and_weak_scaling_have_efficiencies() {
    let directory = scratch("sweep-scaling");
    let words: [&dyn AsRef<OsStr>; 4] = [&"--compute=none", &program(), &"{kind}", &"80"];
    let options = ["--vary", "kind=strong,weak", "--vary", "np=1,2,4"];
    let output = sweep(&directory, &[&options[..], &["--scaling", "strong"]].concat(), &words).success();
    let efficiencies = |directory: &Path| -> Vec<String> {
        let lines = csv(directory);
        let column = lines[0].split(',').position(|name| name == "efficiency").unwrap();
        lines[1..].iter().map(|line| line.split(',').nth(column).unwrap().to_owned()).collect()
    };
    // A problem that does not shrink is done with half and a quarter of the efficiency.
    assert_eq!(
        efficiencies(&directory),
        ["1.0000", "1.0000", "1.0000", "1.0000", "0.5000", "0.2500"],
        "{}",
        output.stdout
    );
    sweep(&directory, &[&options[..], &["--scaling", "weak"]].concat(), &words).success();
    // One that shrinks is done in a part of the time.
    assert_eq!(efficiencies(&directory), ["1.0000", "2.0000", "4.0000", "1.0000", "1.0000", "1.0000"]);
    refused(
        &sweep(&scratch("sweep-none"), &["--vary", "kind=weak", "--scaling", "weak"], &words),
        2,
        "--vary np=64..4096*2",
    );
}

#[test]
fn a_failed_run_stops_no_other_and_the_table_says_why() {
    let directory = scratch("sweep-failure");
    let words: [&dyn AsRef<OsStr>; 4] = [&"--compute=none", &program(), &"fails", &"2"];
    let output = sweep(&directory, &["--vary", "np=1,2,4", "--jobs", "1"], &words);
    refused(&output, 1, "1 of 3 runs failed");
    assert!(output.stderr.contains(directory.to_str().unwrap()), "{output}");
    let lines = csv(&directory);
    assert!(lines[1].ends_with(',') && lines[3].ends_with(','), "{lines:?}");
    assert!(lines[2].starts_with("2,,") && !lines[2].ends_with(','), "{lines:?}");
    assert!(output.stdout.contains("failed: "), "{output}");
    let log = std::fs::read_to_string(directory.join("np=2.log")).unwrap();
    assert!(log.contains("swept: not on 2 ranks"), "{log}");
}

#[test]
fn what_is_there_is_taken_until_the_program_is_another() {
    let directory = scratch("sweep-resumed");
    let copy = directory.join("program");
    std::fs::copy(program(), &copy).unwrap();
    let words: [&dyn AsRef<OsStr>; 4] = [&"--compute=none", &copy, &"weak", &"80"];
    let results = directory.join("results");
    let first = sweep(&results, &["--vary", "np=1,2"], &words).success();
    assert_eq!(first.stderr.matches(" of 2: ").count(), 2, "{first}");
    let second = sweep(&results, &["--vary", "np=1,2,4"], &words).success();
    assert_eq!(second.stderr.matches(" of 3: ").count(), 1, "{second}");
    let file = std::fs::File::options().write(true).open(&copy).unwrap();
    file.set_modified(std::time::SystemTime::now() + std::time::Duration::from_secs(5)).unwrap();
    drop(file);
    let third = sweep(&results, &["--vary", "np=1"], &words).success();
    assert_eq!(third.stderr.matches(" of 1: ").count(), 1, "{third}");
    let other: [&dyn AsRef<OsStr>; 4] = [&"--compute=none", &copy, &"weak", &"90"];
    refused(&sweep(&results, &["--vary", "np=1"], &other), 2, "has the results of another command");
}

/// Sweeps over one run's trace, which takes 8 l + 32 us on a machine with links of l.
#[test]
fn a_trace_is_replayed_on_each_machine() {
    let directory = scratch("sweep-trace");
    let trace = directory.join("run.trace");
    let run = Run::of(program())
        .ranks(2)
        .arg("messages")
        .arg("4x1000")
        .arg(format!("-xsim-trace={}", trace.display()));
    run.variable("XSIM_COMPUTE", "none").run().success();
    let words: [&dyn AsRef<OsStr>; 3] = [&"-m", &"star:l={l},b=1Gbps", &trace];
    let results = directory.join("results");
    let output = sweep(&results, &["--vary", "l=1us,10us"], &words).success();
    let times: Vec<String> =
        csv(&results).iter().skip(1).map(|line| line.split(',').nth(1).unwrap().to_owned()).collect();
    assert_eq!(times, ["40000000", "112000000"], "{output}");
    refused(&sweep(&results, &["--vary", "np=2,4"], &[&trace]), 2, "all ranks of a trace are replayed");
    refused(
        &sweep(&results, &["--vary", "globals=copy,clone"], &[&trace]),
        2,
        "no option of a run that can be varied",
    );
}

#[test]
fn what_cannot_be_varied_is_told_before_anything_runs() {
    let directory = scratch("sweep-refused");
    let words: [&dyn AsRef<OsStr>; 4] = [&"--np=2", &program(), &"weak", &"80"];
    for (vary, said) in [
        ("speed=1,2", "nothing behind -- says {speed}, as in -m star:l={speed}"),
        ("np=1,2", "--np stands behind -- as well"),
        ("report=a,b", "no option of a run that can be varied"),
        ("coll=", "a value of coll is empty"),
        ("coll", "write a name and values"),
    ] {
        refused(&sweep(&directory.join("results"), &["--vary", vary], &words), 2, said);
    }
    assert!(!directory.join("results").exists());
    let words: [&dyn AsRef<OsStr>; 4] = [&"--compute=none", &program(), &"weak", &"80"];
    let output = sweep(
        &directory.join("results"),
        &["--vary", "coll.barrier=dissemination,nothing", "--vary", "np=2"],
        &words,
    );
    refused(&output, 2, "'nothing' is not an algorithm for barrier");
    assert!(!directory.join("results").exists());
}

#[test]
fn a_run_that_takes_too_long_is_ended_and_the_others_go_on() {
    let directory = scratch("sweep-limit");
    let source = directory.join("hangs.c");
    std::fs::write(
        &source,
        "#include <mpi.h>\n\
         int main(int c, char **v) \
         { MPI_Init(&c, &v); for (volatile int go = v[1][0] == 'h'; go;) ; MPI_Finalize(); return 0; }\n",
    )
    .unwrap();
    let output = sweep(
        &directory.join("results"),
        &["--vary", "how=h,e", "--limit", "3s"],
        &[&"--compute=none", &source, &"{how}"],
    );
    refused(&output, 1, "1 of 2 runs failed");
    let lines = csv(&directory.join("results"));
    assert!(
        lines[1].ends_with("it took longer than 3s of the host's time (--limit)")
            && lines[2].starts_with("e,0,"),
        "{lines:?}"
    );
    refused(
        &sweep(&directory.join("other"), &["--vary", "how=e", "--limit", "soon"], &[&source, &"{how}"]),
        2,
        "write how long a run may take",
    );
}

#[test]
fn two_variables_are_drawn_as_a_map() {
    let directory = scratch("sweep-map");
    let map = directory.join("map.svg");
    let words: [&dyn AsRef<OsStr>; 8] =
        [&"-n", &"2", &"--compute=none", &"-m", &"star:l={l},b=1Gbps", &program(), &"messages", &"{way}"];
    let varied = ["--vary", "way=4x1000,1x100000", "--vary", "l=1us..1ms*10", "--map", map.to_str().unwrap()];
    sweep(&directory, &varied, &words).success();
    let drawn = std::fs::read_to_string(&map).unwrap();
    for said in ["<svg", "8.032ms", "802us", "1x100000", "virtual time"] {
        assert!(drawn.contains(said), "{said}");
    }
    refused(
        &sweep(
            &directory,
            &[&varied[..2], &["--vary", "l=1us", "--map", map.to_str().unwrap()]].concat(),
            &words,
        ),
        1,
        "here are 1",
    );
}
