//! Sessions: tests/programs/sessions.c and its wrong calls, on one process and on several.

mod common;

use common::Run;

#[track_caller]
fn holds(case: &str, ranks: &[u32]) {
    for &count in ranks {
        for machine in ["star:l=1us,b=1Gbps", "none"] {
            Run::program("sessions.c").arg(case).ranks(count).machine(machine).run().ok(count);
        }
    }
}

#[test]
fn a_program_needs_no_world() {
    holds("alone", &[1, 2, 7]);
}

#[test]
fn sessions_do_not_meet_each_others_messages() {
    holds("several", &[1, 2, 7]);
}

#[test]
fn sessions_begin_before_and_end_after_the_world() {
    holds("with_world", &[1, 2, 7]);
}

#[test]
fn sessions_begin_when_the_world_is_over() {
    holds("after", &[1, 2, 7]);
}

#[test]
fn process_sets_have_names_and_sizes() {
    holds("process_sets", &[1, 2, 7]);
}

#[test]
fn a_session_says_what_it_gives() {
    holds("infos", &[1, 3]);
}

#[test]
fn two_groups_make_an_intercommunicator() {
    holds("between", &[2, 7]);
}

#[test]
fn a_buffer_of_a_session_is_for_what_comes_from_it() {
    holds("buffers", &[1, 3]);
}

#[test]
fn a_session_has_an_error_handler() {
    holds("handlers", &[1, 3]);
}

/// The case ends the run by default, saying these things; asked to return errors, it gets this class.
#[track_caller]
fn error(case: &str, class: &str, parts: &[&str]) {
    let run = || Run::program("sessions_wrong.c").arg(case).ranks(2);
    run().run().failure().says(parts);
    let output = run().arg("return").run();
    assert_eq!(output.stdout, format!("{class}\n").repeat(2), "{case}: {output}");
}

#[test]
fn wrong_calls_name_what_is_wrong() {
    error("null_session", "MPI_ERR_SESSION", &["rank ", "MPI_Session_get_num_psets", "MPI_SESSION_NULL"]);
    error("invented_session", "MPI_ERR_SESSION", &["MPI_Session_get_info", "not valid"]);
    error("finalized_session", "MPI_ERR_SESSION", &["MPI_Session_finalize", "it was finalized"]);
    error("no_such_set", "MPI_ERR_ARG", &["MPI_Group_from_session_pset", "mpi://MOON", "mpi://WORLD"]);
    error("no_info_of_it", "MPI_ERR_ARG", &["MPI_Session_get_pset_info", "app://ocean"]);
    error("set_beyond", "MPI_ERR_ARG", &["MPI_Session_get_nth_pset", "process set 2", "(0 to 1)"]);
    error("set_before", "MPI_ERR_ARG", &["MPI_Session_get_nth_pset", "process set -1"]);
    error("negative_room", "MPI_ERR_ARG", &["MPI_Session_get_nth_pset", "pset_len"]);
    error("null_name", "MPI_ERR_ARG", &["MPI_Session_get_nth_pset", "pset_name", "null pointer"]);
    error("null_handler", "MPI_ERR_ERRHANDLER", &["MPI_Session_set_errhandler"]);
    error("bad_info", "MPI_ERR_INFO_VALUE", &["MPI_Session_init", "thread_level", "MPI_THREAD_FUNNELED"]);
    error("nothing_attached", "MPI_ERR_BUFFER", &["MPI_Session_detach_buffer", "no buffer"]);
    error("null_group", "MPI_ERR_GROUP", &["MPI_Comm_create_from_group"]);
    error("call_after_the_last", "MPI_ERR_OTHER", &["MPI_Comm_size", "before MPI_Init", "MPI_Session_init"]);
}

#[test]
fn what_makes_a_communicator_of_groups_tells_the_handler_that_this_would_have() {
    // All other failures would end the run.
    let output = Run::program("sessions_wrong.c").arg("given_handler").ranks(2).run().success();
    assert_eq!(output.stdout, "MPI_ERR_GROUP\n".repeat(2), "{output}");
}

#[test]
fn a_session_that_is_left_open_is_told() {
    Run::program("sessions_wrong.c")
        .arg("left_open")
        .ranks(2)
        .run()
        .failure()
        .says(&["2 ranks ended", "MPI_Session_finalize for each session"]);
}

/// The same on 2 and 4 processes.
#[test]
fn several_processes_have_sessions_too() {
    for processes in [2, 4] {
        for case in
            ["alone", "several", "with_world", "after", "process_sets", "between", "buffers", "handlers"]
        {
            Run::program("sessions.c")
                .arg(case)
                .processes("mpich", processes)
                .ranks(7)
                .machine("star:l=1us,b=8Gbps")
                .run()
                .ok(7);
        }
    }
}

/// Runs one rank a process: while a session is open, the end of the world is not that of the run.
#[test]
fn one_rank_a_process_has_sessions_too() {
    for case in ["alone", "several", "with_world", "process_sets", "between", "buffers", "handlers"] {
        let run = Run::program("sessions.c").arg(case).arg("-xsim-one-rank").processes("mpich", 2).ranks(2);
        let output = run.machine("star:l=1us,b=8Gbps").run().success();
        // The launcher may put what two processes print into one line.
        assert_eq!(output.stdout.matches("ok").count(), 2, "{case}: {output}");
    }
    let late = Run::program("sessions.c")
        .arg("after")
        .arg("-xsim-one-rank")
        .processes("mpich", 2)
        .ranks(2)
        .run()
        .failure();
    late.says(&["MPI_Session_init", "the run ends in MPI_Finalize"]);
}
