//! The tool information interface: tests/programs/tool.c.

mod common;

use common::Run;

#[track_caller]
fn holds(case: &str, ranks: u32) {
    let run = || Run::program("tool.c").arg(case).ranks(ranks).machine("star:l=1us,b=1Gbps");
    run().run().ok(ranks);
    for processes in [2, 4].into_iter().filter(|&processes| processes <= ranks) {
        run().processes("mpich", processes).run().ok(ranks);
    }
}

#[test]
fn options_are_read_at_any_time_and_never_set() {
    holds("options", 3);
}

#[test]
fn every_variable_has_a_name_a_text_and_a_category() {
    holds("tables", 1);
}

#[test]
fn what_a_rank_sends_and_what_waits_for_it_is_counted() {
    holds("counters", 4);
}

#[test]
fn a_ranks_clock_computing_and_waiting_are_variables() {
    holds("clocks", 2);
}

#[test]
fn codes_say_what_is_wrong_and_no_error_handler_is_called() {
    holds("wrong", 2);
}

#[test]
fn a_rank_leaves_itself_out_of_the_trace() {
    let directory = common::scratch("tool");
    let trace = directory.join("run.trace");
    Run::program("tool.c")
        .arg("tracing")
        .ranks(2)
        .arg(format!("-xsim-trace={}", trace.display()))
        .run()
        .ok(2);
    let show = common::command(&["trace", "show"]).arg(&trace).output().unwrap();
    let text = String::from_utf8_lossy(&show.stdout);
    let barriers = text.lines().filter(|line| line.contains("MPI_Barrier")).count();
    assert!(show.status.success() && barriers == 1, "{text}");
    std::fs::remove_dir_all(directory).unwrap();
}

#[test]
fn calls_tell_functions_of_the_program_what_they_do() {
    let run = || Run::program("events.c").ranks(4).machine("star:l=1us,b=16GB/s");
    run().run().ok(4);
    run().processes("mpich", 2).run().ok(4);
    // Beside who listens to calls for other reasons.
    run().arg("-xsim-check").run().ok(4);
}
