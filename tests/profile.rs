//! `-xsim-profile`: what calls waited for is what the definitions say of programs whose times are known in
//! advance, the same on any number of processes, and nothing of it changes the run.

mod common;

use common::{Run, command, root, scratch};
use recorder::call_profile::{ChainCost, Lost, SiteCost};
use recorder::collective::Unknown;
use recorder::{CallProfile, RunReport, WaitState};
use std::sync::atomic::{AtomicUsize, Ordering};

const US: u128 = 1_000_000;

/// Runs it with a report: that, without what is the host's.
fn reported(run: Run) -> RunReport {
    static NUMBER: AtomicUsize = AtomicUsize::new(0);
    let path = scratch(&format!("profile-{}", NUMBER.fetch_add(1, Ordering::Relaxed))).join("run.json");
    let output = run.variable("XSIM_COMPUTE", "none").arg(format!("-xsim-report={}", path.display())).run();
    output.success();
    let text = std::fs::read_to_string(&path).unwrap();
    serde_json::from_str(&text).unwrap_or_else(|why| panic!("{why}: {text}"))
}

fn case(name: &str, ranks: u32) -> Run {
    Run::program("waiting.c").ranks(ranks).machine("star:l=1us").arg(name)
}

fn profiled(run: Run) -> CallProfile {
    reported(run.arg("-xsim-profile")).simulated.profile.expect("it was asked for")
}

/// The site of a function whose calls lost anything.
fn where_lost<'a>(profile: &'a CallProfile, function: &str) -> &'a SiteCost {
    let mut sites = profile.sites.iter().filter(|site| site.function == function && !site.states.is_empty());
    let site = sites.next().unwrap_or_else(|| panic!("no call of {function} lost anything"));
    assert!(sites.next().is_none(), "{function} lost something at several places");
    site
}

fn of<'a>(profile: &'a CallProfile, function: &str) -> &'a SiteCost {
    let mut sites = profile.sites.iter().filter(|site| site.function == function);
    let site = sites.next().unwrap_or_else(|| panic!("no call of {function}"));
    assert!(sites.next().is_none(), "{function} is called from several places");
    site
}

/// All that was lost, of one kind: calls, microseconds together and at most, whose call and whose fault.
fn lost(profile: &CallProfile, function: &str) -> Vec<(WaitState, u64, u128, u128, u32, u32)> {
    let told = |(&state, lost): (&WaitState, &Lost)| {
        (state, lost.calls, lost.sum_ps / US, u128::from(lost.max_ps) / US, lost.max_rank, lost.max_by)
    };
    where_lost(profile, function).states.iter().map(told).collect()
}

#[test]
fn a_receiver_waits_for_a_late_sender() {
    let profile = profiled(case("late_sender", 2));
    assert_eq!(lost(&profile, "MPI_Recv"), [(WaitState::LateSender, 1, 50, 50, 1, 0)]);
    let site = of(&profile, "MPI_Recv");
    assert_eq!(
        (site.time.count, site.time.sum_ps, site.wait.sum_ps),
        (1, 52 * US, 52 * US),
        "2 us of it are under way"
    );
    assert!(site.site.starts_with("waiting.c:") && site.site.ends_with(" late_sender"), "{}", site.site);
    assert!(of(&profile, "MPI_Send").states.is_empty());
    assert_eq!(profile.traffic.cells, [(0, 1, 1, 0)]);
}

#[test]
fn of_several_messages_the_last_one_counts() {
    let profile = profiled(case("late_senders", 4));
    assert_eq!(lost(&profile, "MPI_Waitall"), [(WaitState::LateSender, 1, 25, 25, 0, 2)]);
    assert_eq!(of(&profile, "MPI_Waitall").wait.sum_ps, 27 * US);
}

#[test]
fn a_message_under_way_is_nobodys_fault() {
    let profile = profiled(case("under_way", 2));
    let site = of(&profile, "MPI_Recv");
    assert_eq!((site.wait.sum_ps, site.states.len()), (1_500_000, 0));
}

#[test]
fn a_synchronous_sender_waits_for_a_late_receiver() {
    let profile = profiled(case("late_receiver", 2));
    assert_eq!(lost(&profile, "MPI_Ssend"), [(WaitState::LateReceiver, 1, 40, 40, 0, 1)]);
    assert_eq!(of(&profile, "MPI_Ssend").wait.sum_ps, 42 * US);
    assert!(of(&profile, "MPI_Recv").states.is_empty());
    // Above the eager limit a standard send does the same.
    let rendezvous = profiled(case("rendezvous", 2).arg("-xsim-eager-limit=1000"));
    assert_eq!(lost(&rendezvous, "MPI_Send"), [(WaitState::LateReceiver, 1, 40, 40, 0, 1)]);
    assert!(of(&rendezvous, "MPI_Recv").states.is_empty(), "it waits 4 us for what is under way");
    assert_eq!(of(&rendezvous, "MPI_Send").bytes, 4000);
}

#[test]
fn members_wait_for_the_last_one_for_the_root_or_for_the_first() {
    // Four ranks enter after 0, 10, 20 and 30 us.
    let profile = profiled(case("barrier", 4));
    assert_eq!(lost(&profile, "MPI_Barrier"), [(WaitState::WaitAtBarrier, 3, 60, 30, 0, 3)]);
    let profile = profiled(case("allreduce", 4));
    assert_eq!(lost(&profile, "MPI_Allreduce"), [(WaitState::WaitAtNxn, 3, 60, 30, 0, 3)]);
    assert_eq!(of(&profile, "MPI_Allreduce").bytes, 16);
    let profile = profiled(case("reduce", 4));
    assert_eq!(lost(&profile, "MPI_Reduce"), [(WaitState::EarlyReduce, 1, 10, 10, 0, 1)]);
    let profile = profiled(case("bcast", 4));
    assert_eq!(lost(&profile, "MPI_Bcast"), [(WaitState::LateBroadcast, 3, 75, 25, 0, 1)]);
}

#[test]
fn a_wait_for_what_is_sent_after_a_message_that_is_received_later_is_one_in_wrong_order() {
    let profile = profiled(case("wrong_order", 4));
    // Until 30 us it could have had the message of rank 1; when it waits from 32 to 50 us for rank 3 there is
    // no other.
    assert_eq!(
        lost(&profile, "MPI_Recv"),
        [(WaitState::LateSender, 1, 18, 18, 0, 3), (WaitState::WrongOrder, 1, 30, 30, 0, 2)]
    );
    assert_eq!(
        lost(&profiled(case("wrong_tags", 2)), "MPI_Recv"),
        [(WaitState::WrongOrder, 1, 20, 20, 0, 1)]
    );
}

#[test]
fn one_sided_calls_wait_for_posts_completions_fences_and_locks() {
    let post = profiled(case("late_post", 4));
    assert_eq!(lost(&post, "MPI_Win_start"), [(WaitState::LatePost, 1, 35, 35, 0, 2)]);
    assert_eq!(where_lost(&post, "MPI_Win_start").wait.sum_ps, 37 * US);
    // Rank 0 completes when both are known to have posted, at 37 us; they wait since 10 and 35 us.
    assert_eq!(lost(&post, "MPI_Win_wait"), [(WaitState::EarlyWait, 2, 27 + 2, 27, 1, 0)]);
    let wait = profiled(case("early_wait", 4));
    assert_eq!(lost(&wait, "MPI_Win_wait"), [(WaitState::EarlyWait, 2, 84, 42, 1, 0)]);
    assert!(of(&wait, "MPI_Win_start").states.is_empty(), "the posts are under way");
    let fence = profiled(case("fence", 4));
    assert_eq!(lost(&fence, "MPI_Win_fence"), [(WaitState::WaitAtFence, 3, 60, 30, 0, 3)]);
    // Rank 1 gives the lock back at 34 us, for which rank 2 waits since 1 us; it has it at 38 us.
    let lock = profiled(case("lock", 4));
    assert_eq!(lost(&lock, "MPI_Win_lock"), [(WaitState::LockContention, 1, 33, 33, 2, 1)]);
    assert_eq!(of(&lock, "MPI_Win_lock").wait.sum_ps, (4 + 37) * US);
    let lock_all = profiled(case("lock_all", 4));
    assert_eq!(lost(&lock_all, "MPI_Win_unlock_all"), [(WaitState::LockContention, 1, 33, 33, 2, 1)]);
}

/// On a network that takes no time what unlocks the first window is still to be served when the second is
/// there.
#[test]
fn a_window_has_locks_of_its_own() {
    for processes in [1, 4] {
        let run = Run::program("waiting.c").ranks(8).machine("none").arg("locks");
        let profile = profiled(if processes == 1 { run } else { run.processes("mpich", processes) });
        assert_eq!(
            lost(&profile, "MPI_Win_unlock_all"),
            [(WaitState::LockContention, 1, 29, 29, 2, 1)],
            "{processes} processes"
        );
    }
}

#[test]
fn bytes_are_under_way_from_sending_to_arrival() {
    // Each of two ranks sends 3,000,000 B at once, at 1 Gbit/s: 24 ms and 2 us.
    let series =
        profiled(Run::program("waiting.c").ranks(2).machine("star:l=1us,b=1Gbps").arg("exchange")).series;
    let (whole, bin) = (24_002_000_000u128, u128::from(series.bin_ps));
    let full = (whole / bin) as usize;
    assert!(
        series.under_way_bytes[..full].iter().all(|&bytes| bytes == 6_000_000),
        "{:?}",
        &series.under_way_bytes[..full]
    );
    assert_eq!(series.under_way_bytes[full], 6_000_000 * (whole % bin) / bin);
    assert_eq!(series.under_way_bytes.len(), series.wait_ps.len());
}

#[test]
fn what_a_collective_would_take_by_another_algorithm_is_what_it_takes_by_that() {
    for machine in ["star:l=1us,b=1Gbps", "torus:2x3,l=1us,b=1Gbps/rank:o_send=0.4us,o_recv=0.3us,gap=50ns"] {
        for (name, kind) in [
            ("allreduce", "allreduce"),
            ("bcast", "bcast"),
            ("alltoall", "alltoall"),
            ("reduce_scatter", "reduce_scatter"),
            ("barrier", "barrier"),
        ] {
            let run = || Run::program("waiting.c").ranks(6).machine(machine).arg(format!("{name}_at_once"));
            let chosen = profiled(run());
            let [cost] = &chosen.collectives[..] else { panic!("{:?}", chosen.collectives) };
            assert_eq!(
                (cost.kind.collective.as_str(), cost.kind.members, cost.calls, cost.unknown),
                (kind, 6, 6, None)
            );
            assert!(cost.takes_ps.len() >= 4, "{cost:?}");
            for (algorithm, &ps) in &cost.takes_ps {
                let profile = profiled(run().arg(format!("-xsim-coll={kind}={algorithm}")));
                let [own] = &profile.collectives[..] else { panic!("{:?}", profile.collectives) };
                assert_eq!((&own.kind.algorithm, &own.takes_ps), (algorithm, &cost.takes_ps), "{machine}");
                let longest =
                    profile.sites.iter().find(|site| site.function == own.function).unwrap().time.max_ps;
                assert_eq!(longest, ps, "{kind} by {algorithm} on {machine}");
            }
        }
    }
}

#[test]
fn collectives_are_told_by_place_members_size_and_algorithm() {
    let profile = profiled(Run::program("waiting.c").ranks(8).machine("star:l=1us,b=8Gbps").arg("kinds"));
    let told = |function: &str| {
        let of = profile.collectives.iter().filter(|cost| cost.function == function);
        let mut all: Vec<_> =
            of.map(|cost| (cost.kind.members, cost.least_bytes, cost.most_bytes, cost.calls)).collect();
        all.sort_unstable();
        all
    };
    // 4 and 7 ints are 16 and 28 bytes, which have five bits both.
    assert_eq!(told("MPI_Allreduce"), [(4, 28, 28, 8), (8, 16, 28, 40)]);
    assert_eq!(told("MPI_Iallreduce"), [(4, 400, 400, 8)]);
    assert_eq!(told("MPI_Alltoallv"), [(8, 0, 0, 8)]);
    let of = |function: &str| {
        profile.collectives.iter().find(|cost| cost.function == function && cost.kind.members == 8).unwrap()
    };
    assert_eq!((of("MPI_Alltoallv").unknown, of("MPI_Alltoallv").takes_ps.len()), (Some(Unknown::Blocks), 0));
    // Messages of 28 B take 2 us and 28 ns: three rounds of recursive doubling, six of trees up and down.
    let takes = &of("MPI_Allreduce").takes_ps;
    assert_eq!(
        (of("MPI_Allreduce").kind.algorithm.as_str(), takes["recursive-doubling"]),
        ("recursive-doubling", 3 * 2_028_000)
    );
    assert_eq!(takes["reduce-bcast"], 6 * 2_028_000);
}

#[test]
fn on_a_network_of_packets_algorithms_are_told_without_times_and_links_over_time() {
    // Rank 0 sends at 0 s, and the packet is on each of two links for 1.2 us (1,500 B at 10 Gbit/s); the run
    // has 50 us.
    let machine = "star:l=1us,b=10Gbps,level=packet";
    let profile = profiled(Run::program("waiting.c").ranks(2).machine(machine).arg("long_before"));
    let links = profile.series.links.expect("packets were sent");
    assert_eq!(
        (links.mean.len(), links.most.len()),
        (links.most.len(), 50_000_000_u64.div_ceil(links.bin_ps) as usize)
    );
    // Each of the two cables has two directions.
    let busy =
        |of: &[u16]| of.iter().map(|&part| f64::from(part) / 1e4).sum::<f64>() * links.bin_ps as f64 / 1e6;
    assert!((busy(&links.mean) - 2.0 * 1.2 / 4.0).abs() < 0.01, "{links:?}");
    assert!((busy(&links.most) - 2.4).abs() < 0.05 && links.most[0] == 10_000, "{links:?}");
    let kinds = profiled(Run::program("waiting.c").ranks(4).machine(machine).arg("allreduce_at_once"));
    assert_eq!(
        (kinds.collectives[0].unknown, kinds.collectives[0].takes_ps.len()),
        (Some(Unknown::Shared), 0)
    );
    assert!(kinds.series.links.is_some());
    assert!(profiled(case("allreduce_at_once", 4)).series.links.is_none(), "a formula has no links");
}

#[test]
fn a_network_of_packets_has_the_same_one_sided_wait_states() {
    // Links of one hop take 1 us and no time a byte: 2 us from endpoint to endpoint, as on the star above.
    let packets = |name: &str| {
        profiled(Run::program("waiting.c").ranks(4).machine("star:l=1us,b=1Tbps,level=packet").arg(name))
    };
    let state = |name, function| {
        let all = lost(&packets(name), function);
        all.iter().map(|&(state, calls, _, _, rank, by)| (state, calls, rank, by)).collect::<Vec<_>>()
    };
    assert_eq!(state("late_post", "MPI_Win_start"), [(WaitState::LatePost, 1, 0, 2)]);
    assert_eq!(state("early_wait", "MPI_Win_wait"), [(WaitState::EarlyWait, 2, 1, 0)]);
    assert_eq!(state("lock", "MPI_Win_lock"), [(WaitState::LockContention, 1, 2, 1)]);
}

#[test]
fn what_ranks_did_adds_up() {
    let report = reported(case("barrier", 4).arg("-xsim-profile"));
    let profile = report.simulated.profile.as_ref().unwrap();
    let sum = |of: &[u128]| of.iter().sum::<u128>();
    assert_eq!(sum(&profile.series.compute_ps), 60 * US, "0, 10, 20 and 30 us");
    // A dissemination: rank 0 has the message of rank 3 at 32 us, rank 1 as well, rank 2 that of rank 0 at 34
    // us, rank 3 nothing to wait for.
    assert_eq!((sum(&profile.series.wait_ps), sum(&profile.series.mpi_ps)), ((32 + 22 + 14) * US, 0));
    assert_eq!(profile.load.len(), 4);
    let compute: Vec<u64> = profile.load.iter().map(|load| load.compute.mean_ps).collect();
    assert_eq!(compute, [0, 10_000_000, 20_000_000, 30_000_000]);
}

#[test]
fn a_profile_changes_nothing_else() {
    for machine in [
        "star:l=1us",
        "star:l=0.5us,b=10Gbps/rank:o_send=0.4us,o_recv=0.3us,gap=50ns,eager=1KiB",
        "torus:3x3,level=packet,l=100ns,b=10Gbps",
    ] {
        let run = || Run::program("waiting.c").ranks(6).machine(machine).arg("all");
        let mut with = reported(run().arg("-xsim-profile")).simulated;
        assert!(with.profile.take().is_some_and(|profile| profile.sites.len() > 10));
        let without = reported(run()).simulated;
        assert_eq!(with, without, "{machine}");
    }
}

#[test]
fn a_log_and_a_profile_of_one_run_are_those_of_two() {
    let directory = scratch("profile-log");
    let both = profiled(case("all", 4).arg(format!("-xsim-log={}", directory.join("calls.log").display())));
    assert_eq!(both, profiled(case("all", 4)));
}

#[test]
fn profiles_are_the_same_on_any_number_of_processes() {
    for (program, arguments) in
        [("waiting.c", ["all"].as_slice()), ("mixture.c", &[]), ("regions.c", &["checked"])]
    {
        let run = || {
            let run = Run::program(program)
                .ranks(8)
                .machine("star:l=1us,b=1Gbps/rank:eager=4KiB")
                .arg("-xsim-profile");
            arguments.iter().fold(run, |run, &argument| run.arg(argument))
        };
        let alone = reported(run()).simulated;
        for processes in [2, 4] {
            let several = reported(run().processes("mpich", processes)).simulated;
            assert_eq!(several, alone, "{program} on {processes} processes");
        }
    }
}

#[test]
fn one_rank_a_process_has_the_same_profile() {
    let alone = profiled(case("all", 4));
    assert_eq!(profiled(case("all", 4).processes("mpich", 4).arg("-xsim-one-rank")), alone);
}

#[test]
fn places_without_lines_are_functions_or_addresses_and_it_is_said_how_to_get_lines() {
    let directory = scratch("profile-without-lines");
    let program = directory.join("program");
    let compiled =
        command(&["cc", "-g0"]).arg(root().join("examples/c/hello.c")).arg("-o").arg(&program).status();
    assert!(compiled.unwrap().success());
    let said = |program: &std::path::Path| {
        let output = std::process::Command::new(program)
            .args(["-xsim-np", "2", "-xsim-profile", "-xsim-compute", "none"])
            .output()
            .unwrap();
        assert!(output.status.success());
        String::from_utf8(output.stderr).unwrap()
    };
    let text = said(&program);
    assert!(
        text.contains(" program main+0x")
            && text.contains("call sites have no file and line: compile with -g"),
        "{text}"
    );
    let stripped = directory.join("stripped");
    assert!(
        std::process::Command::new("strip")
            .arg(&program)
            .arg("-o")
            .arg(&stripped)
            .status()
            .unwrap()
            .success()
    );
    let text = said(&stripped);
    assert!(text.contains(" stripped+0x") && text.contains("do not strip the program"), "{text}");
}

#[test]
fn a_program_that_the_command_compiles_has_its_lines() {
    let source = root().join("tests/programs/waiting.c");
    let output = command(&["run", "-n", "4", "--mn", "star:l=1us", "--compute", "none", "--profile"])
        .arg(source)
        .arg("barrier")
        .output();
    let said = String::from_utf8(output.unwrap().stderr).unwrap();
    let line = said
        .lines()
        .find(|line| line.starts_with("xsim:   ") && line.contains("MPI_Barrier"))
        .unwrap_or_else(|| panic!("{said}"));
    // The call is the last thing that its function does: it returns to the caller of that, in check.h.
    assert!(line.contains("check.h:") && line.contains("wait at barrier 88 %"), "{line}");
}

/// A message takes 2 us. Rank 0's part of the barrier is with rank 1 before it comes, rank 1's with rank 0 2
/// us after it has.
#[test]
fn regions_have_their_times_and_efficiencies() {
    let run = || Run::program("regions.c").ranks(2).machine("star:l=1us").arg("checked");
    let profile = profiled(run());
    let us = |ps: u64| ps / US as u64;
    let told: Vec<_> = profile
        .regions
        .iter()
        .map(|region| {
            (
                region.name.as_str(),
                region.visits,
                us(region.time.max_ps),
                us(region.compute.mean_ps),
                us(region.compute.max_ps),
                us(region.wait.max_ps),
            )
        })
        .collect();
    // Rank 0 waits for 10 us and the message's 2, rank 1 not at all: with the 5 us of what is within it they
    // are in "solve" for 27 and 25 us.
    assert_eq!(
        told,
        [("solve", 2, 27, 20, 25, 12), ("MPI_Pcontrol 3", 2, 7, 7, 7, 0), ("write", 2, 5, 5, 5, 0)]
    );
    let report = scratch("profile-regions").join("run.json");
    run()
        .variable("XSIM_COMPUTE", "none")
        .arg("-xsim-profile")
        .arg(format!("-xsim-report={}", report.display()))
        .run()
        .success();
    let output = command(&["report"]).arg(&report).env("COLUMNS", "1000").output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap().split_whitespace().collect::<Vec<_>>().join(" ");
    // Of the run's 36 us the mean of the two is 26, and 6 of waiting; 20/27, 20/25 and 25/27.
    assert!(text.contains("solve 2 27 us on 0 72 % 17 % 0.741 0.800 0.926"), "{text}");
}

/// The calls of a function by their callers: functions from inside out, calls, microseconds.
fn chains(profile: &CallProfile, function: &str) -> Vec<(Vec<String>, u64, u128)> {
    let last_word =
        |name: &String| name.rsplit(' ').next().unwrap_or(name).split('+').next().unwrap().to_owned();
    let told = |cost: &ChainCost| (cost.chain.iter().map(last_word).collect(), cost.calls, cost.time_ps / US);
    of(profile, function).callers.iter().map(told).collect()
}

#[test]
fn a_site_has_the_chains_of_its_callers() {
    let run = |depth: u32| {
        Run::program("callers.c")
            .ranks(2)
            .machine("star:l=1us")
            .arg("chains")
            .arg(format!("-xsim-profile-callers={depth}"))
    };
    let profile = profiled(run(16));
    // Rank 1 waits for 10 us and the message's 2, and then twice for 30: messages of 2 us follow each other
    // 30 us apart.
    let all = |first: &[&str]| {
        first.iter().chain(&["chains", "run_case", "main"]).map(ToString::to_string).collect::<Vec<_>>()
    };
    // The compiler has put `step` into `twice`.
    assert_eq!(
        chains(&profile, "MPI_Recv"),
        [(all(&["right", "step", "twice"]), 2, 60), (all(&["left"]), 1, 12)]
    );
    assert_eq!(of(&profile, "MPI_Recv").callers[0].wait_ps, 60 * US);
    let senders = chains(&profile, "MPI_Send");
    assert_eq!(senders.iter().map(|(_, calls, time)| (*calls, *time)).collect::<Vec<_>>(), [(2, 0), (1, 0)]);
    // Two frames, of which the second has two functions.
    let two = chains(&profiled(run(2)), "MPI_Recv");
    assert_eq!(two[0].0, ["right", "step", "twice"]);
    assert_eq!(two[1].0[..2], ["left", "chains"]);
    assert_eq!(chains(&profiled(run(0)), "MPI_Recv"), []);
    // Nothing else of the profile changes.
    let mut without = profile.clone();
    without.sites.iter_mut().for_each(|site| site.callers.clear());
    assert_eq!(without, profiled(run(0)));
}

#[test]
fn chains_pass_through_libraries_and_are_the_same_everywhere() {
    let run = |name: &str| {
        Run::program("callers.c").ranks(4).machine("star:l=1us").arg(name).arg("-xsim-profile-callers=16")
    };
    let sorted = profiled(run("sorted"));
    let names = &of(&sorted, "MPI_Recv").callers[0].chain;
    assert!(
        names[0].ends_with(" compare") && names.iter().any(|name| name.starts_with("libc.so")),
        "{names:?}"
    );
    assert!(names.last().unwrap().ends_with(" main"), "{names:?}");
    let alone = profiled(run("chains"));
    for globals in ["clone", "copy"] {
        assert_eq!(profiled(run("chains").arg(format!("-xsim-globals={globals}"))), alone, "{globals}");
    }
    for stacks in ["own", "shared"] {
        assert_eq!(profiled(run("chains").arg(format!("-xsim-stack-mode={stacks}"))), alone, "{stacks}");
    }
    assert_eq!(profiled(run("chains").processes("mpich", 2)), alone);
    assert_eq!(profiled(run("chains").processes("mpich", 4).arg("-xsim-one-rank")), alone);
}

/// Duplicating, splitting and merging bring the members of both sides together, in the order of their sides
/// and not of the world.
#[test]
fn intercommunicators_whose_sides_differ_have_a_profile() {
    let source = scratch("profile-sides").join("sides.c");
    std::fs::write(&source, SIDES).unwrap();
    let program = common::compile(source.to_str().unwrap(), &[]);
    for ranks in [7, 8] {
        let profile = profiled(Run::of(program.clone()).ranks(ranks).machine("star:l=1us"));
        let cost = profile
            .collectives
            .iter()
            .find(|cost| cost.function == "MPI_Comm_dup" && cost.kind.members == ranks)
            .unwrap();
        assert!(!cost.takes_ps.is_empty() && cost.calls == u64::from(ranks), "{cost:?}");
        let of_merge = profile.collectives.iter().any(|cost| cost.function == "MPI_Intercomm_merge");
        assert!(of_merge, "{:?}", profile.collectives);
    }
}

const SIDES: &str = r#"
#include <mpi.h>
int main(int argc, char **argv) {
    int rank, size, own;
    MPI_Comm side, between, twin, part, whole;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Comm_split(MPI_COMM_WORLD, rank < 3, -rank, &side);
    MPI_Intercomm_create(side, 0, MPI_COMM_WORLD, rank < 3 ? size - 1 : 2, 1, &between);
    MPI_Comm_dup(between, &twin);
    MPI_Comm_rank(twin, &own);
    MPI_Comm_split(twin, own == 0 ? MPI_UNDEFINED : 1, -rank, &part);
    if (part != MPI_COMM_NULL) {
        MPI_Intercomm_merge(part, rank < 3, &whole);
        MPI_Barrier(whole);
        MPI_Comm_free(&whole);
        MPI_Comm_free(&part);
    }
    MPI_Comm_free(&twin);
    MPI_Comm_free(&between);
    MPI_Comm_free(&side);
    MPI_Finalize();
    return 0;
}
"#;
