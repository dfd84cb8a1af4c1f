//! Point-to-point communication: tests/programs/point_to_point.c on several machines and rank counts.

mod common;

use common::Run;

/// The default machine, a large-latency one, and one on which every message takes no time at all.
const MACHINES: [&str; 3] = ["star:l=0.5us,b=100Gbps", "torus:4x4,l=1us,b=1Gbps", "none"];

#[track_caller]
fn holds(case: &str, ranks: &[u32]) {
    holds_in("point_to_point.c", case, ranks);
}

#[track_caller]
fn holds_in(program: &str, case: &str, ranks: &[u32]) {
    for machine in MACHINES {
        for &count in ranks {
            Run::program(program).arg(case).machine(machine).ranks(count).run().ok(count);
        }
    }
}

#[test]
fn a_large_message_is_not_overtaken_by_a_small_one() {
    holds("overtaking", &[2, 5]);
}

#[test]
fn a_wildcard_posted_before_a_named_receive_takes_the_first_message() {
    holds("wildcard_first", &[2, 9]);
}

#[test]
fn a_named_receive_waits_for_its_own_source() {
    holds("named_among_others", &[2, 16]);
}

#[test]
fn operations_started_in_a_row_are_as_if_done_one_by_one() {
    for machine in MACHINES {
        for stack in ["own", "shared"] {
            for ranks in [1, 2, 3, 16] {
                Run::program("in_a_row.c")
                    .arg(format!("-xsim-stack-mode={stack}"))
                    .machine(machine)
                    .ranks(ranks)
                    .run()
                    .ok(ranks);
            }
        }
    }
    Run::program("in_a_row.c").machine("fattree:m=4,n=2,l=10ns,b=100Gbps,level=packet").ranks(7).run().ok(7);
}

#[test]
fn receives_whose_statuses_nobody_wants_are_as_if_they_were_wanted() {
    for machine in MACHINES {
        for (case, stack, ranks) in [
            ("exchange", "own", 2),
            ("exchange", "own", 7),
            ("exchange", "shared", 1),
            ("exchange", "shared", 16),
            ("reused", "own", 3),
            ("reused", "shared", 4),
        ] {
            let times = |statuses: &str| {
                let run =
                    Run::program("unseen.c").arg(case).arg(statuses).arg(format!("-xsim-stack-mode={stack}"));
                run.machine(machine).ranks(ranks).run().success().lines().join("\n")
            };
            assert_eq!(times("wanted"), times("ignored"), "{case}, {ranks} ranks on {machine}");
        }
    }
    for case in ["truncated", "wrong"] {
        holds_in("unseen.c", case, &[1, 2, 5]);
    }
}

#[test]
fn a_rank_can_send_to_itself() {
    holds("to_oneself", &[1, 4]);
}

#[test]
fn all_send_modes_deliver() {
    holds("modes", &[2, 4, 16]);
}

#[test]
fn a_synchronous_send_waits_for_its_receive() {
    holds("synchronous", &[2, 3]);
}

#[test]
fn persistent_requests_start_again_and_again() {
    holds("persistent", &[1, 2, 16]);
}

#[test]
fn probes_see_what_a_receive_would_take() {
    holds("probing", &[2, 16]);
}

#[test]
fn all_ways_to_complete_requests_agree() {
    holds("completion", &[1, 2, 16]);
}

#[test]
fn a_cancelled_receive_takes_nothing() {
    holds("cancelling", &[1, 4]);
    holds("cancelled_in_time", &[2, 3]);
}

#[test]
fn a_receive_takes_what_no_receive_before_it_accepts() {
    holds("named_behind_any", &[2, 3]);
}

#[test]
fn the_null_process_sends_and_receives_nothing() {
    holds("nowhere", &[1, 2]);
}

#[test]
fn truncation_is_an_error_of_the_receiver() {
    holds("truncation", &[1, 2]);
}

#[test]
fn sendrecv_replace_carries_a_value_round() {
    holds("replacing", &[1, 2, 16]);
}

#[test]
fn counts_are_in_units_of_the_type() {
    holds("counting", &[1]);
}

#[test]
fn messages_are_found_by_tag_in_any_order() {
    holds("tags_backwards", &[2, 16]);
}

#[test]
fn each_source_keeps_its_order_in_a_crowd() {
    holds("crowd", &[1, 2, 13]);
}

#[test]
fn small_standard_sends_do_not_wait() {
    holds("head_to_head", &[2, 16]);
}

#[test]
fn a_send_buffer_is_free_when_the_send_returns() {
    holds("buffers_reused", &[1, 2, 16]);
}

#[test]
fn a_payload_is_what_it_was_when_it_was_sent() {
    for ranks in [1, 2, 5] {
        for stack in ["own", "shared"] {
            Run::program("referred.c").arg(format!("-xsim-stack-mode={stack}")).ranks(ranks).run().ok(ranks);
        }
    }
    let network = "-xsim-mn=fattree:m=4,n=2,l=10ns,b=100Gbps,router=90ns,vcs=1,buf=64KiB,level=packet";
    Run::program("referred.c").arg(network).ranks(5).run().ok(5);
}

#[test]
fn long_messages_that_are_sent_first_do_not_all_wait_in_memory() {
    for case in ["all", "each", "both"] {
        for arguments in [
            ["-xsim-stack-mode=own", "-xsim-globals=clone"],
            ["-xsim-stack-mode=shared", "-xsim-globals=copy"],
        ] {
            let [stack, globals] = arguments;
            Run::program("long_messages.c").arg(case).arg(stack).arg(globals).ranks(8).run().ok(8);
        }
    }
    // Nobody else is there to receive first.
    Run::program("long_messages.c").arg("again").ranks(1).run().ok(1);
}
