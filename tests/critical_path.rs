//! `-xsim-critical-path`: the path of programs whose times are known in advance, and who delays whom; as long
//! as the run to the picosecond, and the same on any number of processes.

mod common;

use common::{Run, command, compile, scratch};
use recorder::critical_path::{CriticalPath, Delay, LostTime, PathBreakdown};
use recorder::{RunReport, WaitState};
use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};

const US: u64 = 1_000_000;

fn written(run: Run) -> PathBuf {
    static NUMBER: AtomicUsize = AtomicUsize::new(0);
    let directory = scratch(&format!("critical-{}", NUMBER.fetch_add(1, Ordering::Relaxed)));
    let path = directory.join("run.json");
    run.variable("XSIM_COMPUTE", "none")
        .arg("-xsim-critical-path")
        .arg(format!("-xsim-report={}", path.display()))
        .run()
        .success();
    let files: Vec<_> =
        std::fs::read_dir(&directory).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(files, ["run.json"], "nothing else is left");
    path
}

fn reported(run: Run) -> RunReport {
    serde_json::from_str(&std::fs::read_to_string(written(run)).unwrap()).unwrap()
}

/// The path of a run; its parts are as long as the run.
#[track_caller]
fn path(run: Run) -> CriticalPath {
    let run = reported(run).simulated;
    let path = run.critical_path.expect("it was asked for");
    assert_eq!(path.whole.sum(), run.virtual_time_ps);
    assert_eq!(path.sites.iter().map(|site| site.of.sum()).sum::<u64>(), run.virtual_time_ps);
    if path.ranks as usize == path.by_rank.len() {
        assert_eq!(path.by_rank.iter().map(|rank| rank.of.sum()).sum::<u64>(), run.virtual_time_ps);
    }
    path
}

fn case(name: &str, ranks: u32) -> Run {
    Run::program("waiting.c").ranks(ranks).machine("star:l=1us").arg(name)
}

/// Microseconds of computation, in MPI, of messages under way and of other waiting.
fn us(of: &PathBreakdown) -> [u64; 4] {
    [of.compute_ps, of.mpi_ps, of.transfer_ps, of.wait_ps].map(|ps| ps / US)
}

fn by_function(path: &CriticalPath) -> Vec<(&str, [u64; 4])> {
    path.sites.iter().map(|site| (site.function.as_str(), us(&site.of))).collect()
}

fn by_rank(path: &CriticalPath) -> Vec<(u32, [u64; 4])> {
    path.by_rank.iter().map(|rank| (rank.rank, us(&rank.of))).collect()
}

fn told(delay: &Delay) -> (WaitState, &str, &str, u64, u128, u128) {
    let us = u128::from(US);
    (
        delay.state,
        delay.function.as_str(),
        delay.by_function.as_str(),
        delay.calls,
        delay.lost_ps / us,
        delay.compute_ps / us,
    )
}

#[test]
fn a_chain_goes_through_all_ranks() {
    // Each of four computes for 10 us when it has the message of the one before, which takes 2 us.
    let path = path(case("chain", 4));
    assert_eq!(us(&path.whole), [40, 0, 6, 0]);
    assert_eq!((path.hops, path.ranks), (3, 4));
    // The last one's computation leads to no send but to the end.
    assert_eq!(
        by_function(&path),
        [("MPI_Send", [30, 0, 0, 0]), ("MPI_Finalize", [10, 0, 0, 0]), ("MPI_Recv", [0, 0, 6, 0])]
    );
    assert_eq!(
        by_rank(&path),
        [(1, [10, 0, 2, 0]), (2, [10, 0, 2, 0]), (3, [10, 0, 2, 0]), (0, [10, 0, 0, 0])]
    );
    // Rank r waits for what r - 1 sends at 10 r + 2 (r - 1): all of it is lost to computing there or to
    // waiting further up.
    let [delay] = path.delays.as_slice() else { panic!("{:?}", path.delays) };
    assert_eq!(told(delay), (WaitState::LateSender, "MPI_Recv", "MPI_Send", 3, 10 + 22 + 34, 30));
    assert!(delay.site.contains(" chain") && delay.by_site.contains(" chain"));
}

#[test]
fn a_path_goes_to_whoever_acted_last() {
    let sender = path(case("late_sender", 2));
    assert_eq!(
        (by_function(&sender), sender.hops),
        (vec![("MPI_Send", [50, 0, 0, 0]), ("MPI_Recv", [0, 0, 2, 0])], 1)
    );
    // The acknowledgement of a receive at 40 us takes 2 us; rank 1 is through before.
    let receiver = path(case("late_receiver", 2));
    assert_eq!(
        (by_function(&receiver), receiver.hops),
        (vec![("MPI_Recv", [40, 0, 0, 0]), ("MPI_Ssend", [0, 0, 2, 0])], 1)
    );
    assert_eq!(told(&receiver.delays[0]), (WaitState::LateReceiver, "MPI_Ssend", "MPI_Recv", 1, 40, 40));
    // Above the eager limit the payload leaves because the receive was posted, by the rank that waits for it:
    // 2 us to ask for it and 2 and a bit for it.
    let rendezvous = path(case("rendezvous", 2).arg("-xsim-eager-limit=1000"));
    assert_eq!((by_function(&rendezvous), rendezvous.hops), (vec![("MPI_Recv", [40, 0, 4, 0])], 0));
    // A message that was sent long before needs no more than its time, and the rest is what it followed.
    let under_way = path(case("under_way", 2));
    assert_eq!(
        (by_function(&under_way), us(&under_way.whole)),
        (vec![("MPI_Recv", [0, 0, 2, 0])], [0, 0, 2, 0])
    );
    // Of several messages the last: sent at 30 us by rank 2.
    let several = path(case("late_senders", 4));
    assert_eq!(
        (by_function(&several), by_rank(&several)),
        (
            vec![("MPI_Send", [30, 0, 0, 0]), ("MPI_Waitall", [0, 0, 2, 0])],
            vec![(2, [30, 0, 0, 0]), (0, [0, 0, 2, 0])]
        )
    );
    assert_eq!(told(&several.delays[0]), (WaitState::LateSender, "MPI_Waitall", "MPI_Send", 1, 25, 25));
}

/// Runs two ranks, of which the second computes 100 us longer in each of 10 steps. Both start their receives
/// and then their sends at one instant.
#[test]
fn who_is_late_is_the_call_that_sends_and_not_another_at_its_instant() {
    let run = Run::of(compile("examples/c/slow.c", &[])).ranks(2).machine("star:l=1us").arg("sides");
    let delays = path(run).delays;
    // The rank that waited is late in its turn at the reduction, by the message's 2 us, and so leaves it that
    // much before the other: in all steps but the first it waits for 2 us more.
    let waited = 100 + 9 * 102;
    assert_eq!(told(&delays[0]), (WaitState::LateSender, "MPI_Waitall", "MPI_Isend", 10, waited, waited));
}

#[test]
fn who_is_late_with_a_window_is_the_call_that_posts_completes_or_unlocks() {
    let delays = |name: &str| {
        let path = path(case(name, 4));
        // Where the window is made and freed nobody is late.
        let one_sided = |delay: &&Delay| delay.function.starts_with("MPI_Win");
        path.delays.iter().filter(one_sided).map(|delay| format!("{:?}", told(delay))).collect::<Vec<_>>()
    };
    assert_eq!(
        delays("late_post"),
        // Before it completed rank 0 had waited for the posts.
        [
            r#"(LatePost, "MPI_Win_start", "MPI_Win_post", 1, 35, 35)"#,
            r#"(EarlyWait, "MPI_Win_wait", "MPI_Win_complete", 2, 29, 0)"#
        ]
    );
    assert_eq!(delays("early_wait"), [r#"(EarlyWait, "MPI_Win_wait", "MPI_Win_complete", 2, 84, 80)"#]);
    assert_eq!(delays("fence"), [r#"(WaitAtFence, "MPI_Win_fence", "MPI_Win_fence", 3, 60, 60)"#]);
    assert_eq!(delays("lock"), [r#"(LockContention, "MPI_Win_lock", "MPI_Win_unlock", 1, 33, 30)"#]);
    assert_eq!(
        delays("lock_all"),
        [r#"(LockContention, "MPI_Win_unlock_all", "MPI_Win_unlock", 1, 33, 30)"#]
    );
    // The path goes over to who had the lock, whose computing leads to its giving back.
    let lock = path(case("lock", 4));
    let unlock = by_function(&lock).into_iter().find(|(function, _)| *function == "MPI_Win_unlock");
    assert_eq!(unlock, Some(("MPI_Win_unlock", [30, 0, 4, 0])));
    let disordered = path(case("wrong_order", 4));
    let told: Vec<_> = disordered.delays.iter().map(told).collect();
    assert_eq!(
        told,
        [
            (WaitState::WrongOrder, "MPI_Recv", "MPI_Send", 1, 30, 30),
            (WaitState::LateSender, "MPI_Recv", "MPI_Send", 1, 18, 18)
        ]
    );
}

#[test]
fn a_collective_goes_to_its_last_member_or_its_root() {
    // Ranks enter after 0, 10, 20 and 30 us; a barrier takes 4 us then.
    let barrier = path(case("barrier", 4));
    assert_eq!(by_function(&barrier), [("MPI_Barrier", [30, 0, 4, 0])]);
    assert_eq!(by_rank(&barrier).last(), Some(&(2, [0, 0, 4, 0])));
    assert_eq!(told(&barrier.delays[0]), (WaitState::WaitAtBarrier, "MPI_Barrier", "MPI_Barrier", 3, 60, 60));
    // The root enters at 25 us.
    let bcast = path(case("bcast", 4));
    assert_eq!(by_function(&bcast), [("MPI_Bcast", [25, 0, 4, 0])]);
    assert_eq!(told(&bcast.delays[0]), (WaitState::LateBroadcast, "MPI_Bcast", "MPI_Bcast", 3, 75, 75));
    let reduce = path(case("reduce", 4));
    assert_eq!(by_function(&reduce)[0].1[0], 30, "what all wait for is the last one's computation");
}

#[test]
fn overheads_and_computation_behind_the_last_call_have_their_places() {
    let run = Run::program("waiting.c")
        .ranks(2)
        .machine("star:l=1us/rank:o_send=3us,o_recv=5us")
        .arg("late_sender");
    // 50 us of computation, 3 to send, 2 under way and 5 to receive.
    let path = path(run);
    assert_eq!(us(&path.whole), [50, 8, 2, 0]);
    assert_eq!(by_function(&path), [("MPI_Send", [50, 3, 0, 0]), ("MPI_Recv", [0, 5, 2, 0])]);
}

/// Microseconds that ranks lose by place: of who waits for it and of who waits for those, each by
/// computation, in MPI, by messages under way and by other waiting.
fn costs(path: &CriticalPath) -> Vec<(&str, [u128; 4], [u128; 4])> {
    let us =
        |of: &LostTime| [of.compute_ps, of.mpi_ps, of.transfer_ps, of.wait_ps].map(|ps| ps / u128::from(US));
    path.costs.iter().map(|cost| (cost.function.as_str(), us(&cost.short), us(&cost.long))).collect()
}

#[test]
fn a_delay_that_is_a_wait_itself_is_handed_on_to_who_caused_that() {
    // Rank 1 waits 50 us for rank 0. Rank 2 waits from 10 to 57 us for rank 1, which computes from 52 on: 2
    // us before that the message is under way to it, and up to 50 us it waits itself for rank 0.
    let handed_on = path(case("handed_on", 3));
    assert_eq!(
        costs(&handed_on),
        [
            ("MPI_Send", [50, 0, 0, 0], [40, 0, 0, 0]),
            ("MPI_Ssend", [5, 0, 0, 0], [0; 4]),
            ("MPI_Recv", [0, 0, 2, 0], [0; 4])
        ]
    );
    // Rank r of four waits for r - 1 up to 12 r - 2 us: 10, 22 and 34 us. Of each computation who waits for
    // it directly loses 10 us, and everyone behind as much.
    let chain = path(case("chain", 4));
    assert_eq!(
        costs(&chain),
        [("MPI_Send", [30, 0, 0, 0], [30, 0, 0, 0]), ("MPI_Recv", [0, 0, 4, 0], [0, 0, 2, 0])]
    );
    // All at one instant: whoever is looked at first.
    for (ranks, short, long) in [(2, 50, 0), (3, 50, 50), (5, 50, 150)] {
        let relay = path(Run::program("waiting.c").ranks(ranks).machine("none").arg("relay"));
        assert_eq!(costs(&relay), [("MPI_Send", [short, 0, 0, 0], [long, 0, 0, 0])], "{ranks} ranks");
    }
    // Rank 2 waits from 1 us on for the lock, which is under way to rank 1 until 4 us and held up to 34 us.
    // It is through at 42 us, rank 1 at 38; in the barrier rank 1 waits for it from then on, and ranks 0 and
    // 3 from the beginning, when it computes for 1 us.
    assert_eq!(
        costs(&path(case("lock", 4))),
        [
            ("MPI_Win_unlock", [30, 0, 3 * 4, 0], [2 * 30, 0, 0, 0]),
            ("MPI_Win_lock", [2, 0, 3 + 2 * 4, 0], [0, 0, 2 * 3, 0])
        ]
    );
}

#[test]
fn what_delays_cost_is_all_that_is_lost() {
    for machine in [
        "star:l=1us,b=1Gbps/rank:eager=4KiB,o_send=300ns,o_recv=200ns",
        "none",
        "star:l=100ns,b=10Gbps,level=packet",
    ] {
        let run =
            reported(Run::program("waiting.c").ranks(8).machine(machine).arg("all").arg("-xsim-profile"))
                .simulated;
        let (path, profile) = (run.critical_path.unwrap(), run.profile.unwrap());
        let lost: u128 =
            profile.sites.iter().flat_map(|site| site.states.values()).map(|lost| lost.sum_ps).sum();
        assert!(lost > 0);
        assert_eq!(
            path.costs.iter().map(recorder::critical_path::DelayCost::sum).sum::<u128>(),
            lost,
            "{machine}"
        );
        assert_eq!(path.delays.iter().map(|delay| delay.lost_ps).sum::<u128>(), lost, "{machine}");
        let handed_on: u128 = path.costs.iter().map(|cost| cost.long.sum()).sum();
        assert!(handed_on > 0, "{machine}");
    }
}

#[test]
fn paths_are_the_same_on_any_number_of_processes() {
    for (program, machine) in [
        ("waiting.c", "star:l=1us,b=1Gbps/rank:eager=4KiB"),
        ("mixture.c", "star:l=1us"),
        ("waiting.c", "none"),
    ] {
        let run = || Run::program(program).ranks(8).machine(machine).arg("all");
        let alone = path(run());
        assert!(alone.hops > 3 || machine == "none", "{alone:?}");
        for processes in [2, 4] {
            assert_eq!(
                path(run().processes("mpich", processes)),
                alone,
                "{program} on {processes} processes"
            );
        }
    }
}

#[test]
fn a_path_changes_nothing_else() {
    let run = || case("all", 6).arg("-xsim-profile");
    let mut with = reported(run()).simulated;
    assert!(with.critical_path.take().is_some());
    let path = scratch("critical-without").join("run.json");
    run().variable("XSIM_COMPUTE", "none").arg(format!("-xsim-report={}", path.display())).run().success();
    let without: RunReport = serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap();
    assert_eq!(with, without.simulated);
}

#[test]
fn it_is_told_as_text_and_on_the_page() {
    let json = written(case("chain", 4));
    let output = command(&["report"]).arg(&json).env("COLUMNS", "1000").output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap().split_whitespace().collect::<Vec<_>>().join(" ");
    for said in [
        "critical path of 46 us: 87 % computation, 13 % messages under way, 0 % overheads of MPI, 0 % other \
         waiting; on 4 ranks, 3 times from one to another",
        "MPI_Send 65 % 30 us 0 s 0 s 0 s 30 us",
        "late sender waiting.c:",
        "MPI_Send 3 66 us 36 % 45 %",
        "MPI_Send 60 us 33 % 30 us 30 us 100 % 0 %",
    ] {
        assert!(text.contains(said), "{said}\nis missing in\n{text}");
    }
    let page = json.with_extension("html");
    assert!(command(&["report", "-o"]).arg(&page).arg(&json).status().unwrap().success());
    let page = std::fs::read_to_string(page).unwrap();
    assert!(
        page.contains(">Critical path</h2>")
            && page.contains(">Delays</h2>")
            && page.contains(">Delay costs</h2>")
    );
}

#[test]
fn it_needs_a_report() {
    case("chain", 2)
        .arg("-xsim-critical-path")
        .run()
        .failure()
        .says(&["-xsim-critical-path keeps its files beside the report"]);
}
