//! Groups without a common communicator meet: tests/programs/ports.c on several machines and rank counts, and
//! wrong calls.

mod common;

use common::Run;

#[track_caller]
fn holds(case: &str) {
    for ranks in [1, 2, 7] {
        let overheads = "star:l=1us,b=1Gbps/rank:o_send=1us,o_recv=2us,gap=3us";
        for machine in ["star:l=1us,b=1Gbps", "none", overheads, "star:l=1us,b=1Gbps,level=packet"] {
            Run::program("ports.c").arg(case).ranks(ranks).machine(machine).run().ok(ranks);
        }
    }
}

#[test]
fn two_parts_of_the_world_meet_at_a_port_that_one_of_them_published() {
    holds("halves");
}

#[test]
fn who_connects_first_is_accepted_first() {
    holds("queue");
}

#[test]
fn each_rank_accepts_and_connects() {
    holds("around");
}

#[test]
fn the_ends_of_a_socket_meet_and_leave_it_as_it_was() {
    holds("join");
}

fn times(run: Run) -> Vec<String> {
    let output = run.arg("times").ranks(3).machine("star:l=1us,b=8Gbps").run().success();
    let mut lines: Vec<_> =
        output.lines().into_iter().filter(|line| *line != "ok").map(str::to_owned).collect();
    lines.sort();
    lines
}

// Two links of 1 us each, 1 ns a byte. Rank 2 asks at 5 us with 8 bytes: at 7.008 us it meets rank 0, which
// is told 8 ns later, for 8 bytes without a link, and the answer of 8 bytes is back 2.008 us later.
// Publishing is 5 bytes of the service's name and 13 of the port's, and an empty answer.
#[test]
fn connecting_is_a_message_there_and_one_back() {
    assert_eq!(
        times(Run::program("ports.c")),
        ["accepted 7016000", "connected 9016000", "published 4018000"]
    );
}

/// The case ends the run by default, saying these things; asked to return errors, it gets this class.
#[track_caller]
fn error(case: &str, class: &str, parts: &[&str]) {
    let run = || Run::program("ports_wrong.c").arg(case).ranks(2);
    run().run().failure().says(parts);
    for run in [run(), run().processes("mpich", 2)] {
        let returned = run.arg("return").run().success();
        assert_eq!(returned.stdout, format!("{class}\n").repeat(2), "{case}: {returned}");
    }
}

#[test]
fn a_port_is_open_and_named_as_it_was_given() {
    error("no_port", "MPI_ERR_PORT", &["rank ", "MPI_Comm_connect", "'somewhere'", "MPI_Open_port"]);
    error("null_port", "MPI_ERR_PORT", &["MPI_Comm_connect", "''"]);
    error("never_opened", "MPI_ERR_PORT", &["MPI_Comm_connect", "'xsim-port:1.7' is not open", "rank 1"]);
    error("accept_never_opened", "MPI_ERR_PORT", &["MPI_Comm_accept", "'xsim-port:0.7' is not open"]);
    error("closed", "MPI_ERR_PORT", &["MPI_Comm_connect", "'xsim-port:0.0' is not open"]);
    error("closed_meanwhile", "MPI_ERR_PORT", &["rank 1 ", "MPI_Comm_connect", "is not open"]);
    error("close_twice", "MPI_ERR_PORT", &["MPI_Close_port", "is not open"]);
    error("close_another", "MPI_ERR_PORT", &["MPI_Close_port"]);
    error("close_nothing", "MPI_ERR_PORT", &["MPI_Close_port"]);
}

#[test]
fn a_service_is_published_once_and_looked_for_meanwhile() {
    error("look_for_nothing", "MPI_ERR_NAME", &["MPI_Lookup_name", "'nothing'"]);
    error("look_for_unpublished", "MPI_ERR_NAME", &["MPI_Lookup_name", "'service'"]);
    error("unpublish_nothing", "MPI_ERR_SERVICE", &["MPI_Unpublish_name", "'nothing'"]);
    error("unpublish_another", "MPI_ERR_SERVICE", &["MPI_Unpublish_name", "'service'", "'another'"]);
    error("publish_twice", "MPI_ERR_SERVICE", &["MPI_Publish_name", "published already"]);
}

#[test]
fn what_meets_is_a_group_with_a_root() {
    error("bad_root", "MPI_ERR_ROOT", &["MPI_Comm_connect", "root 2"]);
    error("bad_info", "MPI_ERR_INFO", &["MPI_Comm_accept"]);
    error("bad_comm", "MPI_ERR_COMM", &["MPI_Comm_accept", "MPI_COMM_NULL"]);
    error("two_groups", "MPI_ERR_COMM", &["MPI_Comm_accept", "intracommunicator"]);
    error("bad_socket", "MPI_ERR_ARG", &["MPI_Comm_join", "999"]);
    error("no_socket", "MPI_ERR_ARG", &["MPI_Comm_join", "not a connected socket"]);
}

#[test]
fn a_deadlock_says_who_is_missing_at_which_port() {
    let stuck = |case: &str, parts: &[&str]| {
        for run in [Run::program("ports_wrong.c"), Run::program("ports_wrong.c").processes("mpich", 2)] {
            run.arg(case).ranks(2).run().failure().says(&["deadlock"]).says(parts);
        }
    };
    stuck("nobody_connects", &["MPI_Comm_accept(somebody who connects to port 'xsim-port:0.0')"]);
    stuck(
        "nobody_accepts",
        &["MPI_Comm_connect(somebody who accepts at port 'xsim-port:0.0' (rank 0 opened it))"],
    );
}

/// The same bytes on 1, 2 and 4 processes.
#[test]
fn several_processes_do_what_one_does() {
    let one = times(Run::program("ports.c"));
    for processes in [2, 4] {
        assert_eq!(times(Run::program("ports.c").processes("mpich", processes)), one);
        for case in ["halves", "queue", "around", "join"] {
            for machine in ["star:l=1us,b=8Gbps", "none"] {
                Run::program("ports.c")
                    .arg(case)
                    .processes("mpich", processes)
                    .ranks(7)
                    .machine(machine)
                    .run()
                    .ok(7);
            }
        }
    }
}
