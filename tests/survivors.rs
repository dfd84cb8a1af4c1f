//! Survivors (-xsim-ft) where more than messages and collectives has members that have failed: files
//! (tests/programs/survivors_files.c), ports and intercommunicators (survivors_groups.c).

mod common;

use common::survivors::{fresh, is_the_same, said, tolerant};
use common::{Output, Run};

/// A case among four ranks of which `rank` fails at 100 us, which is known at 110 us; a message takes 2 us.
#[track_caller]
fn program_on(program: &str, machine: &str, case: &str, rank: u32) -> Output {
    tolerant(case, || {
        let run =
            Run::program(program).arg(case).arg(fresh(case)).arg(rank.to_string()).ranks(4).machine(machine);
        run.arg("-xsim-ft").arg("-xsim-ft-delay=10us").arg(format!("-xsim-fail={rank}@100us"))
    })
}

#[track_caller]
fn files_on(machine: &str, case: &str, rank: u32) -> Output {
    program_on("survivors_files.c", machine, case, rank)
}

/// All that ranks say of groups, on a network and without one.
#[track_caller]
fn groups(case: &str, rank: u32, expected: &[&str]) {
    said(program_on("survivors_groups.c", "star:l=1us,b=inf", case, rank), expected);
    program_on("survivors_groups.c", "none", case, rank).success();
}

/// Each of the three that are left says this.
#[track_caller]
fn all_say(output: Output, failed: u32, lines: impl Fn(u32) -> Vec<String>) {
    let left = (0..4).filter(|rank| *rank != failed);
    let expected: Vec<String> =
        left.flat_map(|rank| lines(rank).into_iter().map(move |line| format!("{rank} {line}"))).collect();
    said(output, &expected.iter().map(String::as_str).collect::<Vec<_>>());
}

fn fails(what: &str, us: u32) -> String {
    format!("{what} MPIX_ERR_PROC_FAILED at {us}000 ns")
}

// The first access has all members: it takes a message there and one back from 90 us on. Rank 0 is the file's
// home, to which its own rank's messages are as long as others, with no way back.
#[test]
fn what_members_of_a_file_do_together_fails_when_it_is_known_that_one_has_and_what_each_does_alone_goes_on() {
    let refused = [
        "set_view",
        "set_size",
        "preallocate",
        "set_atomicity",
        "sync",
        "seek_shared",
        "read_all",
        "iread_all",
        "read_ordered_begin",
    ];
    let lines = |rank: u32| {
        let succeeds = |what: &str, us: u32| format!("{what} MPI_SUCCESS at {us}000 ns");
        let back = if rank == 0 { 0 } else { 2 };
        let mut lines = vec![succeeds("early", 92 + back)];
        lines.extend(["write_ordered", "late"].map(|what| fails(what, 110)));
        lines.extend(["write_all_end"].into_iter().chain(refused).map(|what| fails(what, 120)));
        lines.push(succeeds("read_at", 120));
        lines.extend([succeeds("write_shared", 122 + back), succeeds("get_position_shared", 124 + 2 * back)]);
        lines.extend(["close", "close"].map(|what| fails(what, 124 + 2 * back)));
        lines
    };
    for failed in [0, 3] {
        all_say(files_on("star:l=1us,b=inf", "together", failed), failed, lines);
    }
}

#[test]
fn a_file_with_a_failed_member_is_given_back_with_an_error_that_its_own_handler_hears() {
    for machine in ["star:l=1us,b=inf", "star:l=1us,b=inf/storage:servers=2,stripe=4B,b=1MB/s,l=1us"] {
        for failed in [0, 2] {
            let lines = |_| ["close", "later", "split", "open"].map(|what| fails(what, 110)).to_vec();
            all_say(files_on(machine, "closing", failed), failed, lines);
        }
    }
}

#[test]
fn nobody_opens_a_file_with_a_failed_member() {
    all_say(files_on("star:l=1us,b=inf", "opening", 1), 1, |_| {
        ["open", "open"].map(|what| fails(what, 110)).to_vec()
    });
}

// Steps of random_failures.c: with a file each alone, also with a file system that takes time, which
// aggregators ask for all.
#[test]
fn random_programs_with_files_whose_ranks_fail_are_the_same_everywhere() {
    const FILES: u32 = 128;
    let machines = [
        "star:l=1us,b=inf",
        "star:l=1us,b=1Gbps/storage:servers=2,stripe=8B,b=10MB/s,l=3us",
        "mesh:2d,l=2us,b=1Gbps/rank:eager=0",
        "none",
    ];
    for seed in 0..12u32 {
        let (ranks, delay) = (3 + seed % 7, ["10us", "0ns", "3us"][seed as usize % 3]);
        is_the_same(FILES, seed, ranks, machines[seed as usize % 4], delay, &[2 + seed % 3]);
    }
}

// Steps in which halves meet by leaders or at a port, agree as an intercommunicator and shrink it, and then
// all kinds of steps.
#[test]
fn random_programs_with_groups_whose_ranks_fail_are_the_same_everywhere() {
    const GROUPS: u32 = 256;
    const ALL: u32 = 511;
    let machines = [
        "star:l=1us,b=inf",
        "mesh:2d,l=2us,b=1Gbps/rank:eager=0",
        "star:l=1us,b=1Gbps/rank:o_send=0.4us,o_recv=0.3us",
        "none",
    ];
    for seed in 0..14u32 {
        let (ranks, delay) = (3 + seed % 7, ["10us", "0ns", "3us"][seed as usize % 3]);
        is_the_same(
            if seed < 8 { GROUPS } else { ALL },
            seed,
            ranks,
            machines[seed as usize % 4],
            delay,
            &[2 + seed % 3],
        );
    }
}

// Rank 1 of two that accept fails, which rank 0 knows while it waits at its port; by itself it then waits for
// who connects at 130 us, who do not meet those of before.
#[test]
fn who_waits_at_a_port_is_told_when_it_is_known_that_a_member_has_failed() {
    let lines = [
        "accept MPIX_ERR_PROC_FAILED at 110000 ns",
        "again MPIX_ERR_PROC_FAILED at 110000 ns",
        "shrunk MPI_SUCCESS at 132000 ns",
    ];
    let mut expected = lines.map(|line| format!("0 {line}")).to_vec();
    expected
        .extend([(2, 134), (3, 136)].map(|(rank, us)| format!("{rank} connect MPI_SUCCESS at {us}000 ns")));
    groups("waits", 1, &expected.iter().map(String::as_str).collect::<Vec<_>>());
}

// The member has called: the root tells those that have, too, down a tree.
#[test]
fn a_root_that_waits_at_a_port_tells_those_that_wait_for_it() {
    let expected = [(0, 110), (2, 112), (3, 114)]
        .map(|(rank, us)| format!("{rank} accept MPIX_ERR_PROC_FAILED at {us}000 ns"));
    groups("entered", 1, &expected.iter().map(String::as_str).collect::<Vec<_>>());
}

#[test]
fn nobody_meets_at_a_port_whose_owner_has_failed() {
    let calls = [
        (1, "accept", 110),
        (2, "connect", 110),
        (3, "connect", 112),
        (3, "accept", 112),
        (2, "accept", 114),
    ];
    let expected = calls.map(|(rank, what, us)| format!("{rank} {what} MPIX_ERR_PROC_FAILED at {us}000 ns"));
    groups("owner", 0, &expected.iter().map(String::as_str).collect::<Vec<_>>());
}

#[test]
fn who_has_failed_at_a_port_is_passed_over() {
    groups("passed", 2, &["0 accept MPI_SUCCESS at 122000 ns", "3 connect MPI_SUCCESS at 124000 ns"]);
}

#[test]
fn who_waits_at_a_port_is_told_that_its_communicator_is_revoked() {
    groups(
        "revoked",
        3,
        &[
            "0 accept MPIX_ERR_REVOKED at 52000 ns",
            "1 accept MPIX_ERR_REVOKED at 50000 ns",
            "1 revoke MPI_SUCCESS at 50000 ns",
        ],
    );
}

#[test]
fn ranks_with_a_failed_one_among_them_spawn_nobody() {
    groups(
        "spawns",
        0,
        &[1, 2, 3]
            .map(|rank| format!("{rank} spawn MPIX_ERR_PROC_FAILED at 110000 ns"))
            .each_ref()
            .map(String::as_str),
    );
}

// Four agree at 50 us: rank 0, the first of the first side, is the root, whom rank 3 reaches through rank 2,
// and tells the others in the same way. Then a rank fails, of either side.
#[test]
fn sides_of_an_intercommunicator_agree_and_go_on_as_those_that_are_left() {
    let lines = |rank: u32, last: u32, hops: u32| {
        let calls = [
            ("agree", "MPIX_ERR_PROC_FAILED", 110),
            ("acknowledged", "MPI_SUCCESS", 114),
            ("shrink", "MPI_SUCCESS", 118),
        ];
        let mut lines = vec![format!("{rank} before MPI_SUCCESS at {last}000 ns")];
        lines.extend(calls.map(|(what, class, us)| format!("{rank} {what} {class} at {}000 ns", us + hops)));
        lines
    };
    for failed in [1, 3] {
        let before = [54, 56, 56, 58];
        let mut expected: Vec<String> = Vec::new();
        for (rank, us) in (0..).zip(before) {
            let lines = lines(rank, us, if rank == 0 { 0 } else { 2 });
            expected.extend(if rank == failed { lines[..1].to_vec() } else { lines });
        }
        groups("agrees", failed, &expected.iter().map(String::as_str).collect::<Vec<_>>());
    }
}

#[test]
fn of_an_intercommunicator_without_a_side_nothing_is_left() {
    let left = [(0, 110, 114), (1, 112, 116), (2, 112, 116)];
    let lines = left.map(|(rank, agreed, shrunk)| {
        [
            format!("{rank} agree MPIX_ERR_PROC_FAILED at {agreed}000 ns"),
            format!("{rank} shrink MPI_SUCCESS at {shrunk}000 ns"),
        ]
    });
    groups("gone", 3, &lines.as_flattened().iter().map(String::as_str).collect::<Vec<_>>());
}

// Up a tree from 50 us on: rank 3 is through at once and revokes half a microsecond later, which rank 0 is
// told 2 us after that. It would be through at 54 us.
#[test]
fn who_is_told_that_a_communicator_is_revoked_is_not_through_though_all_are_in() {
    let through =
        [(1, 50), (2, 52), (3, 50)].map(|(rank, us)| format!("{rank} reduce MPI_SUCCESS at {us}000 ns"));
    let told = ["0 reduce MPIX_ERR_REVOKED at 52500 ns", "3 revoke MPI_SUCCESS at 50500 ns"];
    groups("through", 3, &told.into_iter().chain(through.iter().map(String::as_str)).collect::<Vec<_>>());
}

// Ranks 4 and 5 begin after a millisecond; rank 5 fails at once, since its time has passed, or later.
#[test]
fn a_rank_that_is_spawned_fails_as_well() {
    for (time, at) in [("1us", 1_012), ("1500us", 1_510)] {
        let output = tolerant("children", || {
            let run = Run::program("survivors_groups.c")
                .arg("children")
                .ranks(4)
                .machine("star:l=1us,b=inf")
                .arg("-xsim-universe=6");
            run.arg("-xsim-ft").arg("-xsim-ft-delay=10us").arg(format!("-xsim-fail=5@{time}"))
        });
        let fails =
            |rank: u32, what: &str, us: u32| format!("{rank} {what} MPIX_ERR_PROC_FAILED at {us}000 ns");
        let mut expected: Vec<String> = (0..4).map(|rank| fails(rank, "parent", at)).collect();
        expected.push(fails(0, "child", at));
        let hops = [(0, 4), (1, 6), (2, 6), (3, 8)];
        expected.extend(hops.map(|(rank, us)| fails(rank, "parent agrees", at + us)));
        expected.push(fails(0, "child agrees", at + 6));
        said(output, &expected.iter().map(String::as_str).collect::<Vec<_>>());
    }
}
