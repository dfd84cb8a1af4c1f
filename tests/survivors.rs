//! What survivors do (-xsim-ft) where more than messages and collectives has members that have failed: files (tests/programs/survivors_files.c).

mod common;

use common::survivors::{fresh, is_the_same, said, tolerant};
use common::{Output, Run};

/// A case among four ranks of which `rank` fails at 100 us, which is known at 110 us; a message takes 2 us.
#[track_caller]
fn files_on(machine: &str, case: &str, rank: u32) -> Output {
    tolerant(case, || {
        let run = Run::program("survivors_files.c").arg(case).arg(fresh(case)).arg(rank.to_string()).ranks(4).machine(machine);
        run.arg("-xsim-ft").arg("-xsim-ft-delay=10us").arg(format!("-xsim-fail={rank}@100us"))
    })
}

/// Each of the three that are left says this.
#[track_caller]
fn all_say(output: Output, failed: u32, lines: impl Fn(u32) -> Vec<String>) {
    let left = (0..4).filter(|rank| *rank != failed);
    let expected: Vec<String> = left.flat_map(|rank| lines(rank).into_iter().map(move |line| format!("{rank} {line}"))).collect();
    said(output, &expected.iter().map(String::as_str).collect::<Vec<_>>());
}

fn fails(what: &str, us: u32) -> String {
    format!("{what} MPIX_ERR_PROC_FAILED at {us}000 ns")
}

// The first access has all members: it takes a message there and one back from 90 us on. Rank 0 is the file's home, to which its own rank's messages are as long as others, with no way back.
#[test]
fn what_members_of_a_file_do_together_fails_when_it_is_known_that_one_has_and_what_each_does_alone_goes_on() {
    let refused =
        ["set_view", "set_size", "preallocate", "set_atomicity", "sync", "seek_shared", "read_all", "iread_all", "read_ordered_begin"];
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
    all_say(files_on("star:l=1us,b=inf", "opening", 1), 1, |_| ["open", "open"].map(|what| fails(what, 110)).to_vec());
}

// Steps of random_failures.c: with a file each alone, and with all that it knows; also with a file system that takes time, which aggregators ask for all.
#[test]
fn random_programs_with_files_whose_ranks_fail_are_the_same_everywhere() {
    const FILES: u32 = 128;
    const ALL: u32 = 255;
    let machines =
        ["star:l=1us,b=inf", "star:l=1us,b=1Gbps/storage:servers=2,stripe=8B,b=10MB/s,l=3us", "mesh:2d,l=2us,b=1Gbps/rank:eager=0", "none"];
    for seed in 0..16u32 {
        let (ranks, delay) = (3 + seed % 7, ["10us", "0ns", "3us"][seed as usize % 3]);
        is_the_same(if seed < 12 { FILES } else { ALL }, seed, ranks, machines[seed as usize % 4], delay, &[2 + seed % 3]);
    }
}
