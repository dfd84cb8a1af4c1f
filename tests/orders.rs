//! Orders and clocks of programs whose ranks depend on each other as much as MPI lets them
//! (tests/programs/random_orders.c): however collectives run, whatever keeps stacks and globals apart, on any
//! number of processes.

mod common;

use common::Run;

const RENDEZVOUS: &str = "none/rank:eager=0";
const OVERHEADS: &str = "rank:o_send=1us,o_recv=2us,gap=3us,eager=1000";

/// The seed, the kinds of events, ranks, machine and computation of a program.
type Drawn<'a> = (u32, u32, u32, &'a str, &'a str);

#[track_caller]
fn same((seed, kinds, ranks, machine, compute): Drawn, processes: &[u32]) {
    let run = || {
        let run = Run::program("random_orders.c")
            .ranks(ranks)
            .machine(machine)
            .arg(format!("-xsim-compute={compute}"));
        run.arg(seed.to_string()).arg("4").arg(kinds.to_string())
    };
    let one = run().run().success();
    assert_eq!(one.lines().len(), ranks as usize, "{one}");
    for way in [&["-xsim-coll-events"][..], &["-xsim-stack-mode=shared", "-xsim-globals=clone"]] {
        let other = way.iter().fold(run(), |run, option| run.arg(*option)).run().success();
        assert_eq!(one.lines(), other.lines(), "seed {seed} on {machine}: {way:?} changes something");
    }
    for &count in processes {
        let several = run().processes("mpich", count).run().success();
        assert_eq!(
            one.lines(),
            several.lines(),
            "seed {seed} on {machine}: {count} processes change something"
        );
    }
}

#[test]
fn acknowledgements_lie_behind_the_decisions_that_they_follow_from() {
    for seed in [13, 113, 213] {
        same((seed, 2, 10, &format!("star:l=1ps,b=inf/{OVERHEADS}"), "fixed:20ns"), &[2, 3]);
        same((seed, 3, 10, "tree:degree=3,l=100ns,b=1Gbps/rank:eager=0", "fixed:20ns"), &[2, 4]);
    }
}

#[test]
fn cancelling_does_not_see_what_arrives_later() {
    for seed in [4, 28, 31] {
        same((seed, 63, 3, "none", "none"), &[2, 3]);
        same((seed, 9, 7, RENDEZVOUS, "fixed:7ns"), &[3]);
    }
}

// A receive that is cancelled before its message arrives has met it already where the sender ran ahead: the
// sender must not know.
#[test]
fn who_waits_for_a_match_does_not_learn_of_one_that_is_cancelled() {
    for seed in [1, 2, 3, 4, 5] {
        same((seed, 73, 7, "mesh:2d,l=2us,b=1Gbps/rank:eager=0", "fixed:7ns"), &[3]);
        same((seed, 127, 5, "tree:degree=3,l=100ns,b=1Gbps/rank:eager=0", "fixed:20ns"), &[2]);
        same((seed, 127, 9, &format!("star:l=1ps,b=inf/{OVERHEADS}"), "none"), &[4]);
        // Where nothing takes time the news of a match comes in the instant in which its sender asks for it.
        same((seed, 73, 8, "none/rank:eager=0", "none"), &[2, 4]);
        same((seed, 127, 6, "ring:l=0,b=1Gbps/rank:eager=0", "none"), &[3]);
    }
}

// The rank has sent itself a message that arrives after the cancelling.
#[test]
fn a_send_that_waits_for_its_receive_while_findings_are_made_lets_nothing_later_happen_first() {
    let machine = "mesh:2d,l=2us,b=1Gbps/rank:eager=1000";
    for (seed, kinds) in [("10345996", "127"), ("10345996", "95")] {
        let run = Run::program("random_orders.c").ranks(3).machine(machine).arg("-xsim-compute=none");
        let run = || run.clone().arg("-xsim-coll=linear").arg(seed).arg("4").arg(kinds);
        let (plain, checked) = (run().run().success(), run().arg("-xsim-check").run().success());
        assert_eq!(plain.lines(), checked.lines());
    }
}

// Two ranks of a node send at one instant, one of them because of a decision.
#[test]
fn what_leaves_for_a_shared_network_waits_for_decisions_before_it() {
    let machine = format!("fattree:m=4,n=2,l=10ns,level=packet/star:4,l=1us,b=1Gbps/{OVERHEADS}");
    for seed in ["34674", "34683", "34706"] {
        let run = Run::program("random_orders.c").ranks(16).machine(&machine).arg("-xsim-compute=none");
        let run = || run.clone().arg("-xsim-coll=linear").arg(seed).arg("4").arg("1");
        let (one, several) = (run().run().success(), run().processes("mpich", 3).run().success());
        assert_eq!(one.lines(), several.lines(), "seed {seed}");
    }
}

// An access of rank 1 and its answer to another leave at one instant.
#[test]
fn what_a_rank_sends_leaves_before_what_is_answered_for_it() {
    let nodes = "star:4,l=100ns,b=40Gbps,mem=4GB/s";
    let machine =
        format!("star:l=1us,b=10Gbps,nic=10Gbps,rate=1M,flowmin=64,o=0.3us;64:1us@1GB/s,delay=0.1us/{nodes}");
    let run = Run::program("random_windows.c").ranks(9).machine(&machine).arg("-xsim-compute=none");
    let run = || run.clone().arg("174504").arg("4").arg("127");
    let one = run().run().success();
    for processes in [3, 4] {
        assert_eq!(one.lines(), run().processes("mpich", processes).run().success().lines());
    }
}

// Others' accesses to memory that only its rank reaches wait for a switch, and the rank for its own.
#[test]
fn a_rank_reaches_its_own_window_in_its_turn_wherever_the_window_lies() {
    for seed in ["575368", "575394", "575402", "575403", "575415"] {
        for kinds in ["12", "15"] {
            let run = Run::program("random_windows.c").ranks(8).machine("star:l=0.5us,b=100Gbps");
            let run = || run.clone().arg("-xsim-compute=none").arg(seed).arg("4").arg(kinds);
            let one = run().run().success();
            for way in [&["-xsim-stack-mode=shared", "-xsim-globals=clone"][..], &["-xsim-globals=copy"]] {
                let other = way.iter().fold(run(), |run, option| run.arg(*option)).run().success();
                assert_eq!(one.lines(), other.lines(), "seed {seed}: {way:?} changes something");
            }
        }
    }
}

// A rank puts to its own stack, and neither MPI_Win_complete nor MPI_Win_test blocks it.
#[test]
fn what_a_rank_puts_to_its_own_stack_is_there_at_the_end_of_the_epoch() {
    for seed in ["190133", "190134"] {
        let run = Run::program("random_windows.c")
            .ranks(2)
            .machine("star:l=1ps,b=inf/rank:o_send=0.4us,o_recv=0.3us");
        let run = || run.clone().arg("-xsim-compute=fixed:20ns").arg(seed).arg("4").arg("2");
        let way = ["-xsim-stack-mode=shared", "-xsim-globals=clone"];
        let other = way.iter().fold(run(), |run, option| run.arg(*option)).run().success();
        assert_eq!(run().run().success().lines(), other.lines(), "seed {seed}");
    }
}

// Its origin has left the fence, its target has not: a long accumulate on another NIC is still under way.
#[test]
fn an_access_under_a_lock_finds_what_its_origin_accumulated_before_a_fence() {
    let machine = "fattree:m=4,n=2,l=10ns,level=packet/star:4,l=1us,b=1Gbps";
    for seed in ["975209", "975210"] {
        let run = Run::program("random_windows.c").ranks(7).machine(machine).arg("-xsim-compute=fixed:20ns");
        let run = || run.clone().arg(seed).arg("1").arg("127");
        let (one, several) = (run().run().success(), run().processes("mpich", 3).run().success());
        assert_eq!(one.lines(), several.lines(), "seed {seed}");
    }
}

// Between its sender's request and its payload a receive has its message, and its sender knows of that.
#[test]
fn a_receive_is_not_cancelled_once_its_sender_is_told() {
    for machine in [
        "star:l=2us,b=1Gbps",
        "star:l=2us,b=1Gbps/rank:eager=0",
        "mesh:2d,l=1us,b=1Gbps/rank:o_send=1us,o_recv=2us,gap=3us,eager=0",
    ] {
        let run =
            || Run::program("cancelled_in_between.c").ranks(3).machine(machine).arg("-xsim-compute=none");
        let one = run().run().success();
        for count in [2, 3] {
            assert_eq!(
                one.lines(),
                run().processes("mpich", count).run().success().lines(),
                "{count} processes change something on {machine}"
            );
        }
    }
}

// Rank 4 has a process to itself and waits there for the root of a reduction, while a message that it has
// sent to itself is about to arrive.
#[test]
fn a_rank_that_waits_in_a_collective_goes_on_before_what_arrives_after_its_clock() {
    let machine = "torus:4x4xn,l=7us,b=8.8Gbps/star:2,l=0.32us,b=9.6Gbps";
    same((163_339_132, 63, 5, machine, "none"), &[3, 4]);
}

// The answer of an `MPI_Test` at the instant of an acknowledgement that the rank's own message brings back: a
// rank that a message wakes between its process's report and the decision may cause it before the others'
// next decision.
#[test]
fn a_decision_stays_before_what_was_sent_since_the_report_can_cause() {
    let run = || {
        let run = Run::program("random_orders.c").ranks(15).machine("star:l=0.5us,b=100Gbps/rank:eager=0");
        run.arg("-xsim-compute=fixed:20ns").arg("-xsim-coll=linear").arg("84781410").arg("4").arg("63")
    };
    let one = run().run().success();
    for count in [3, 2, 3, 4, 3] {
        assert_eq!(
            one.lines(),
            run().processes("mpich", count).run().success().lines(),
            "{count} processes change something"
        );
    }
}

#[test]
fn a_gap_does_not_depend_on_who_runs_first() {
    for seed in [1, 21, 29] {
        same((seed, 7, 10, &format!("star:l=1ps,b=inf/{OVERHEADS}"), "fixed:1us"), &[2, 4]);
        same((seed, 63, 10, &format!("none/{OVERHEADS}"), "none"), &[3]);
    }
}

// Without latency: what rank 0 sends, to arrive later, says that nothing better can come for a rank that
// waits; on another process it may not be known yet.
#[test]
fn a_wait_for_any_is_answered_in_its_turn_whatever_is_known_to_come_later() {
    let run = || Run::program("foreknown.c").ranks(4).machine("none").arg("-xsim-compute=none");
    let one = run().run().success();
    assert_eq!(one.lines(), ["rank 1 finds 0", "rank 3 gets 1 at 0 ps"]);
    for count in [2, 3, 4] {
        let several = run().processes("mpich", count).run().success();
        assert_eq!(one.lines(), several.lines(), "{count} processes change something");
    }
}

// A process that goes on may let a rank of another one enter a collective which the first has started by
// then, before that other one is told to start what it holds: it took all to be in. Who comes first is the
// host's to say.
#[test]
fn what_was_held_back_starts_everywhere_before_anything_that_follows_from_it() {
    let run = || {
        let run = Run::program("random_orders.c").ranks(4).machine(&format!("star:l=1ps,b=inf/{OVERHEADS}"));
        run.arg("-xsim-compute=fixed:1us").arg("62198597").arg("4").arg("127")
    };
    let one = run().run().success();
    for _ in 0..8 {
        assert_eq!(
            one.lines(),
            run().processes("mpich", 4).run().success().lines(),
            "4 processes change something"
        );
    }
}
