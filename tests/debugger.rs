//! `xsim run --debug`: gdb stops in one rank, and shows the others.

mod common;

use common::{command, root, scratch};
use std::io::Write;
use std::process::Stdio;

const PROGRAM: &str = "tests/programs/debugged.c";

/// The number of the line that has `mark`, as gdb names it.
fn line(mark: &str) -> String {
    let text = std::fs::read_to_string(root().join(PROGRAM)).unwrap();
    let at = text.lines().position(|line| line.contains(mark)).expect("the program has the mark");
    format!("debugged.c:{}", at + 1)
}

/// Returns what gdb says to these commands when it has stopped in `rank` of five, to each separately: `echo`
/// prints a line between them.
#[track_caller]
fn session(rank: &str, commands: &[&str]) -> Vec<String> {
    let mut run = command(&["run", "-n", "5", "--quiet", "--debug", rank, PROGRAM]);
    run.env("GDBHISTFILE", scratch("debugger").join("history"))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let mut gdb = run.spawn().expect("xsim runs");
    let mut script = String::from("set confirm off\nset style enabled off\nset width 0\necho ==\\n\n");
    for command in commands {
        script += &format!("{command}\necho ==\\n\n");
    }
    gdb.stdin.take().unwrap().write_all(script.as_bytes()).unwrap();
    let output = gdb.wait_with_output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout) + String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{text}");
    let parts: Vec<String> = String::from_utf8_lossy(&output.stdout)
        .replace("(gdb) ", "")
        .split("==\n")
        .map(str::to_owned)
        .collect();
    assert_eq!(parts.len(), commands.len() + 2, "{text}");
    let last = parts.len() - 1;
    parts[1..last].iter().cloned().chain([String::from_utf8_lossy(&output.stderr).into_owned()]).collect()
}

/// The words of each line.
fn table(text: &str) -> Vec<Vec<&str>> {
    text.lines().map(|line| line.split_whitespace().collect()).collect()
}

#[test]
fn gdb_stops_in_the_main_of_one_rank_and_shows_where_the_others_are() {
    let said = session("3", &["print $_rank()", "info ranks", "rank"]);
    assert!(said[0].ends_with("= 3\n"), "{}", said[0]);
    let (takes, begins) = (line("/* takes */"), line("/* begins */"));
    let expected = vec![
        vec!["ranks", "state", "in", "at"],
        vec!["0-2", "blocked", "MPI_Recv", &takes, "take"],
        vec!["3", "runs", &begins, "main"],
        vec!["4", "not", "begun"],
    ];
    assert_eq!(table(&said[1]), expected);
    assert_eq!(said[2], "rank 3 runs\n");
}

#[test]
fn a_command_looks_at_a_blocked_rank_and_leaves_the_running_one_as_it_was() {
    let look = [
        "rank 1",
        "rank 1 frame apply all -q info locals",
        "break give if $_rank() == 2",
        "continue",
        "rank 4 bt",
        "bt",
        "print laps",
    ];
    let said = session("3", &look);
    assert!(said[0].contains("in take (from=0)") && said[0].contains("in main ("), "{}", said[0]);
    assert!(said[1].contains("mark = 100\n"), "{}", said[1]);
    assert!(said[4].contains("in take (from=3)"), "{}", said[4]);
    assert!(said[5].starts_with("#0  give (to=3, token=7)"), "{}", said[5]);
    assert!(said[6].ends_with("= 3\n"), "the running rank's global: {}", said[6]);
}

#[test]
fn the_program_goes_on_to_its_end() {
    let said = session("0", &["rank 2", "continue", "info ranks"]);
    let errors = said.last().unwrap();
    assert!(errors.contains("rank 2 has not begun"), "{errors}");
    assert!(said[1].contains("exited normally"), "{}", said[1]);
    assert!(errors.contains("there are no ranks yet"), "{errors}");
}

#[test]
fn a_debugger_that_is_not_there_is_named_with_the_way_out() {
    let output =
        command(&["run", "-n", "2", "--debug", "0", PROGRAM]).env("GDB", "/no/such/gdb").output().unwrap();
    let error = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(127), "{error}");
    assert!(error.contains("/no/such/gdb") && error.contains("install gdb"), "{error}");
}
