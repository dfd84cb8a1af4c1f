//! Deadlocks: what a run says of ranks that wait for what never comes, on standard error and in its report.

mod common;

use common::{Run, command, scratch};

const EAGER: &str = "star:l=1us,b=10Gbps";

fn run(how: &str, ranks: u32) -> Run {
    Run::program("deadlocks.c").ranks(ranks).machine(EAGER).arg("-xsim-eager-limit=64KiB").arg(how)
}

/// Sentences of each kind of wait, with the file and line of the call.
const REPORTS: [(&str, u32, &[&str]); 5] = [
    (
        "receives",
        4,
        &[
            "4 of 4 ranks wait and nothing can wake them",
            "3 ranks in MPI_Recv(source=rank+1, tag=5): ranks 0-2, at deadlocks.c:10 ring_of_receives",
            "1 rank in MPI_Recv(source=rank-3, tag=5): rank 3, at deadlocks.c:10 ring_of_receives",
        ],
    ),
    (
        "sends",
        4,
        &["3 ranks in MPI_Send(destination=rank+1, tag=3; a standard send above the eager limit that no \
             rank receives): ranks 0-2, at deadlocks.c:14 ring_of_sends"],
    ),
    (
        "synchronous",
        3,
        &[
            "MPI_Ssend(destination=1, tag=4; a synchronous send that no rank receives): rank 0, at \
             deadlocks.c:19 synchronous",
            "MPI_Wait(destination=0, tag=6; a synchronous send that no rank receives): rank 1, at \
             deadlocks.c:22 synchronous",
        ],
    ),
    (
        "tags",
        5,
        &[
            "MPI_Recv(source=0, tag=20; a message of that source with tag 7 lies there unmatched): rank 1, \
             at deadlocks.c:34",
            "MPI_Recv(source=MPI_ANY_SOURCE, tag=20; messages of rank 0 with tags 7, 8 lie there unmatched): \
             rank 2",
            "MPI_Probe(source=0, tag=20; messages of that source with tags 7, 8, 9 lie there unmatched): \
             rank 3, at deadlocks.c:33",
            "MPI_Recv(source=0, tag=20; messages of that source with tags 7, 8, 9 and 1 more lie there \
             unmatched): rank 4",
        ],
    ),
    (
        "sources",
        4,
        &[
            "MPI_Recv(source=3, tag=9; a message with that tag of rank 0 lies there unmatched): rank 1",
            "MPI_Recv(source=0, tag=9; a message that fits lies there unmatched, in another communicator): \
             rank 2",
        ],
    ),
];

#[test]
fn a_deadlock_names_calls_with_file_and_line_and_what_lies_there_instead() {
    for (how, ranks, sentences) in REPORTS {
        run(how, ranks).run().failure().says(sentences);
    }
}

#[test]
fn call_sites_are_found_however_ranks_are_kept_in_memory() {
    for mode in ["own", "shared"] {
        for globals in ["copy", "clone"] {
            let run = run("receives", 4)
                .arg(format!("-xsim-stack-mode={mode}"))
                .arg(format!("-xsim-globals={globals}"));
            run.run().failure().says(REPORTS[0].2);
        }
    }
    run("receives", 1).arg("-xsim-one-rank").run().failure().says(&["at deadlocks.c:10 ring_of_receives"]);
}

#[test]
fn several_processes_report_what_one_reports() {
    for (how, ranks, _) in REPORTS {
        let deadlock = |output: common::Output| {
            let lines = output
                .stderr
                .lines()
                .filter(|line| line.starts_with("xsim: deadlock") || line.starts_with("  "));
            lines.map(str::to_owned).collect::<Vec<_>>()
        };
        let one = deadlock(run(how, ranks).one_process().run());
        assert!(one.len() > 1, "{one:?}");
        assert_eq!(deadlock(run(how, ranks).processes("mpich", 2).run()), one, "{how}");
    }
}

#[test]
fn an_error_that_ends_the_run_names_file_and_line() {
    let output = run("destination", 3).run().failure();
    output.says(&[
        "rank 1 at",
        "MPI_Send failed: destination 99",
        "[MPI_ERR_RANK], at deadlocks.c:49 wrong_destination",
    ]);
}

#[test]
fn a_report_says_how_its_run_ended() {
    let directory = scratch("early-end");
    let path = directory.join("run.json");
    let shown = |format: &[&str]| {
        let output = command(&["report"]).arg(&path).args(format).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    };
    for (how, verdict, word, sentence) in [
        ("sends", "This run deadlocked", "deadlocked", "a standard send above the eager limit"),
        ("destination", "This run failed", "failed", "exit status"),
        ("exit", "This run failed", "failed", "ended with exit status 3"),
    ] {
        run(how, 4).arg(format!("-xsim-report={}", path.display())).run().failure();
        let text = shown(&[]);
        let unbroken = text.split_whitespace().collect::<Vec<_>>().join(" ");
        let said = [format!(", {word} {verdict} "), sentence.to_owned()];
        assert!(said.iter().all(|said| unbroken.contains(said)), "{text}");
        let page = directory.join("run.html");
        shown(&["-o", page.to_str().unwrap()]);
        let page = std::fs::read_to_string(page).unwrap();
        let title = page.split("<title>").nth(1).unwrap().split("</title>").next().unwrap();
        assert!(
            title.ends_with(&format!(", {word}")) && page.contains(&format!("<h2>{verdict}</h2>")),
            "{title}"
        );
        assert!(page.contains(sentence), "{how}");
    }
    run("nothing", 4).arg(format!("-xsim-report={}", path.display())).run().success();
    let text = shown(&[]);
    assert!(!text.contains("This run failed") && !text.contains("This run deadlocked"), "{text}");
}
