//! Partitioned communication: tests/programs/partitioned.c on several machines and rank counts, and wrong
//! calls.

mod common;

use common::Run;

#[track_caller]
fn holds(case: &str) {
    for ranks in [1, 2, 7] {
        let overheads = "star:l=1us,b=1Gbps/rank:o_send=1us,o_recv=2us,gap=3us";
        for machine in ["star:l=1us,b=1Gbps", "none", overheads, "star:l=1us,b=1Gbps,level=packet"] {
            Run::program("partitioned.c").arg(case).ranks(ranks).machine(machine).run().ok(ranks);
        }
    }
}

#[test]
fn both_sides_have_partitions_of_their_own() {
    holds("partitions");
}

#[test]
fn partitions_are_made_ready_in_any_order() {
    holds("ranges_and_lists");
}

#[test]
fn partitions_cut_elements_of_any_datatype() {
    holds("datatypes");
}

#[test]
fn a_send_belongs_to_the_receive_that_was_initialized_as_it_was() {
    holds("order");
}

#[test]
fn a_sender_may_be_operations_ahead() {
    holds("ahead");
}

#[test]
fn nobody_oneself_and_another_group_are_partners() {
    holds("partners");
}

/// Returns what two ranks say of the times of their partitions.
fn times(run: Run, machine: &str) -> String {
    run.arg("times")
        .ranks(2)
        .machine(machine)
        .run()
        .success()
        .lines()
        .into_iter()
        .filter(|line| *line != "ok")
        .collect::<Vec<_>>()
        .join(", ")
}

// Two links of 1 us each; 1000 bytes take 1 us more. The last partition leaves at 5 us; the first half of the
// buffer needs the first two.
#[test]
fn a_partition_leaves_when_it_is_ready_and_a_part_is_there_when_its_last_byte_is() {
    let expected = "arrived 0 3000000, arrived 1 8000000, received 8000000, sent 5000000";
    assert_eq!(times(Run::program("partitioned.c"), "star:l=1us,b=8Gbps"), expected);
}

// Each send costs 1 us of the sender's, so that the last leaves at 8 us; each message 2 us of the receiver's,
// which it pays when it looks: of the first half, both that came by 5 us, one after the other: until 9 us.
#[test]
fn each_partition_costs_its_overheads_once() {
    let expected = "arrived 0 9000000, arrived 1 13000000, received 13000000, sent 8000000";
    assert_eq!(
        times(Run::program("partitioned.c"), "star:l=1us,b=8Gbps/rank:o_send=1us,o_recv=2us"),
        expected
    );
}

/// The case ends the run by default, saying these things; asked to return errors, it gets this class.
#[track_caller]
fn error(case: &str, class: &str, parts: &[&str]) {
    let run = || Run::program("partitioned_wrong.c").arg(case).ranks(2);
    run().run().failure().says(parts);
    let returned = run().arg("return").run().success();
    assert_eq!(returned.stdout, format!("{class}\n").repeat(2), "{case}: {returned}");
}

#[test]
fn a_partition_is_made_ready_once_while_its_send_is_active() {
    error("not_started", "MPI_ERR_REQUEST", &["rank ", "MPI_Pready", "MPI_Start"]);
    error("twice", "MPI_ERR_ARG", &["MPI_Pready", "partition 1 is ready already"]);
    error("twice_in_a_list", "MPI_ERR_ARG", &["MPI_Pready_list", "partition 0 is ready already"]);
    error("started_twice", "MPI_ERR_REQUEST", &["MPI_Start", "active already"]);
    error("free_active", "MPI_ERR_REQUEST", &["MPI_Request_free", "complete it"]);
}

#[test]
fn a_partition_is_one_of_the_request() {
    error("beyond", "MPI_ERR_ARG", &["MPI_Pready", "partition 4", "has 4 (0 to 3)"]);
    error("below", "MPI_ERR_ARG", &["MPI_Pready", "partition -1"]);
    error("range_beyond", "MPI_ERR_ARG", &["MPI_Pready_range", "partition 4"]);
    error("range_backwards", "MPI_ERR_ARG", &["MPI_Pready_range", "partition_low", "from 2 to 1"]);
    error("list_beyond", "MPI_ERR_ARG", &["MPI_Pready_list", "partition 9"]);
    error("arrived_beyond", "MPI_ERR_ARG", &["MPI_Parrived", "partition 4"]);
}

#[test]
fn a_request_is_of_the_right_kind() {
    error("of_a_receive", "MPI_ERR_REQUEST", &["MPI_Pready", "partitioned receive"]);
    error("of_another", "MPI_ERR_REQUEST", &["MPI_Pready", "MPI_Psend_init"]);
    error("of_null", "MPI_ERR_REQUEST", &["MPI_Pready", "MPI_Psend_init"]);
    error("arrived_of_a_send", "MPI_ERR_REQUEST", &["MPI_Parrived", "MPI_Precv_init"]);
}

#[test]
fn a_partitioned_operation_names_partner_buffer_and_partitions() {
    error("any_source", "MPI_ERR_RANK", &["MPI_Precv_init", "MPI_ANY_SOURCE"]);
    error("any_tag", "MPI_ERR_TAG", &["MPI_Precv_init", "MPI_ANY_TAG"]);
    error("bad_rank", "MPI_ERR_RANK", &["MPI_Psend_init", "destination 2"]);
    error("bad_tag", "MPI_ERR_TAG", &["MPI_Psend_init", "-5"]);
    error("bad_count", "MPI_ERR_COUNT", &["MPI_Psend_init", "-1"]);
    error("bad_partitions", "MPI_ERR_ARG", &["MPI_Psend_init", "-1"]);
    error("too_many", "MPI_ERR_COUNT", &["MPI_Psend_init", "more than can be counted"]);
    error("bad_type", "MPI_ERR_TYPE", &["MPI_Psend_init"]);
    error("bad_comm", "MPI_ERR_COMM", &["MPI_Precv_init", "MPI_COMM_NULL"]);
    error("no_buffer", "MPI_ERR_BUFFER", &["MPI_Psend_init", "null pointer"]);
    error("truncated", "MPI_ERR_TRUNCATE", &["MPI_Wait", "16 bytes", "12"]);
}

#[test]
fn a_deadlock_says_which_partitions_are_missing() {
    let stuck = |case: &str, parts: &[&str]| {
        Run::program("partitioned_wrong.c")
            .arg(case)
            .ranks(2)
            .run()
            .failure()
            .says(&["deadlock"])
            .says(parts);
    };
    stuck(
        "waits_for_itself",
        &["MPI_Wait(3 of the 4 partitions of its send were not made ready with MPI_Pready)"],
    );
    stuck("waits_for_nothing", &["MPI_Wait(the partitions of rank 1 of the communicator with tag 0)"]);
    stuck(
        "waits_for_the_rest",
        &["MPI_Wait(3 of the 4 partitions of rank 1 of the communicator with tag 0)"],
    );
}

/// The same bytes on 1, 2 and 4 processes.
#[test]
fn several_processes_do_what_one_does() {
    let machine = "star:l=1us,b=8Gbps";
    let one = times(Run::program("partitioned.c"), machine);
    assert_eq!(times(Run::program("partitioned.c").processes("mpich", 2), machine), one);
    for processes in [2, 4] {
        for case in ["partitions", "ranges_and_lists", "datatypes", "order", "ahead", "partners"] {
            Run::program("partitioned.c")
                .arg(case)
                .processes("mpich", processes)
                .ranks(7)
                .machine(machine)
                .run()
                .ok(7);
        }
    }
}
