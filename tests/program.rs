//! Properties that a program may take for granted: its own globals, arguments, output, clocks and end, for
//! each rank.

mod common;

use std::process::Command;

use common::{Run, clean, command, compile, root, scratch};

fn behaviour(case: &str) -> Run {
    Run::program("behaviour.c").arg(case)
}

#[test]
fn globals_are_private_to_a_rank() {
    for ranks in [1, 2, 50] {
        behaviour("globals").ranks(ranks).run().ok(ranks);
    }
}

#[test]
fn globals_are_private_in_a_program_at_a_fixed_address() {
    let program = compile("tests/programs/behaviour.c", &["-no-pie", "-fno-pic"]);
    Run::of(program).arg("globals").ranks(20).run().ok(20);
}

#[test]
fn each_rank_reads_its_own_arguments() {
    let run = behaviour("-a").arg("-b").arg("-xsim-np=9").arg("-x").arg("value").arg("rest");
    run.run().ok(9);
}

#[test]
fn fresh_memory_of_a_rank_reads_as_zeros() {
    for ranks in [1, 2, 9] {
        behaviour("heap").ranks(ranks).run().ok(ranks);
    }
}

#[test]
fn a_rank_among_few_has_as_much_stack_as_the_system_gives() {
    for mode in ["auto", "own", "shared"] {
        behaviour("deep").ranks(20).arg(format!("-xsim-stack-mode={mode}")).run().ok(20);
    }
}

/// A run of frames.c without probes in its frames.
fn frames(case: &str) -> Run {
    Run::of(compile("tests/programs/frames.c", &["-fno-stack-clash-protection"])).arg(case)
}

#[test]
fn a_frame_larger_than_the_stack_is_a_stack_overflow_of_its_rank() {
    // Little more than a stack, several stacks, and a gigabyte.
    for (mode, ranks, frames_kib) in [
        ("own", 3, &["8188", "8196", "100000", "1048576"][..]),
        ("shared", 3, &["8196", "1048576"]),
        ("own", 1000, &["8196", "16384"]),
        ("own", 2000, &["2050", "4000"]),
        ("own", 4100, &["260"]),
    ] {
        for kib in frames_kib {
            let run = frames(kib).arg(format!("-xsim-stack-mode={mode}")).ranks(ranks).run().failure();
            assert!(!run.stdout.contains("overwritten"), "{run}");
            run.says(&["rank 1 needs more stack", "-xsim-stack SIZE", "touch+0x"]);
        }
    }
}

#[test]
fn a_call_on_the_stack_of_another_rank_is_a_stack_overflow() {
    for ranks in [3, 2000] {
        let run = frames("neighbour").arg("-xsim-stack-mode=own").ranks(ranks).run().failure();
        assert!(!run.stderr.contains("panicked"), "{run}");
        run.says(&["needs more stack", "in MPI_Barrier", "-xsim-stack SIZE"]);
    }
}

#[test]
fn a_raised_limit_of_the_system_raises_the_stacks_of_ranks() {
    for mode in ["own", "shared"] {
        let run = |kib: &str| {
            let program = compile("tests/programs/frames.c", &[]);
            let mut command = Command::new("sh");
            // What is allocated in the frame is more than the usual stack, and less than the limit and the
            // largest shared stack.
            command.args(["-c", "ulimit -S -s 131072 && exec \"$@\"", "sh"]).arg(program).arg(kib);
            command.args(["-xsim-np=3", "-xsim-compute=none", &format!("-xsim-stack-mode={mode}")]);
            clean(&mut command).output().unwrap()
        };
        let output = run("30000");
        assert!(output.status.success() && output.stdout == b"done\n", "{mode}: {output:?}");
        let text = String::from_utf8_lossy(&run("140000").stderr).into_owned();
        assert!(text.contains("rank 1 needs more stack"), "{mode}: {text}");
    }
}

#[test]
fn memory_of_any_allocator_goes_back_to_it() {
    let library = scratch("allocator").join("liballocator.so");
    let source = root().join("tests/programs/allocator.c");
    let cc = |args: &[&str]| {
        let status = Command::new("cc")
            .args(["-O1", "-fPIC", "-fno-builtin"])
            .args(args)
            .arg(&source)
            .status()
            .unwrap();
        assert!(status.success());
    };
    cc(&["-shared", "-o", library.to_str().unwrap()]);
    let object = library.with_extension("o");
    cc(&["-c", "-o", object.to_str().unwrap()]);
    let directory = library.parent().unwrap().display().to_string();
    let linked = compile(
        "tests/programs/allocates.c",
        &[&format!("-L{directory}"), &format!("-Wl,-rpath,{directory}"), "-lallocator"],
    );
    let inside = compile("tests/programs/allocates.c", &[object.to_str().unwrap()]);
    for globals in ["copy", "clone"] {
        let globals = format!("-xsim-globals={globals}");
        let preload = Run::program("allocates.c").variable("LD_PRELOAD", library.to_str().unwrap());
        for run in [preload, Run::of(linked.clone()), Run::of(inside.clone())] {
            run.arg(&globals).ranks(3).run().ok(3);
        }
    }
}

#[test]
fn address_sanitizer_finds_the_errors_of_a_rank_and_no_others() {
    let program = compile("tests/programs/allocates.c", &["-fsanitize=address", "-fno-omit-frame-pointer"]);
    for arguments in [&[][..], &["-xsim-globals=copy"], &["-xsim-globals=clone"]] {
        let run =
            || arguments.iter().fold(Run::of(program.clone()).ranks(3), |run, argument| run.arg(*argument));
        run().run().ok(3);
        run().arg("wrong").run().failure().says(&["AddressSanitizer: heap-buffer-overflow"]);
    }
}

#[test]
fn a_rank_that_prints_without_a_pause_keeps_its_lines_in_order_and_takes_no_memory() {
    let (ranks, lines) = (2, 150_000);
    let output = Run::program("prints.c").arg(lines.to_string()).ranks(ranks).run().success();
    let mut next = [0; 2];
    for line in output.stdout.lines() {
        let (rank, rest) = line.split_once(' ').unwrap();
        let rank: usize = rank.parse().unwrap();
        assert_eq!(rest.trim_end(), next[rank].to_string(), "of rank {rank}");
        next[rank] += 1;
    }
    assert_eq!(next, [lines; 2]);
    // Each prints 15 MB.
    let gained: Vec<u32> = output.stderr.lines().map(|line| line.parse().unwrap()).collect();
    assert!(gained.len() == 2 && gained.iter().all(|&kib| kib < 4096), "{gained:?} KiB");
}

#[test]
fn rank_0_has_the_standard_input() {
    let path = scratch("input").join("lines");
    std::fs::write(&path, "0\n1\n2\n").unwrap();
    behaviour("input").ranks(4).input(path).run().ok(4);
}

#[test]
fn lines_of_ranks_do_not_mix() {
    let output = behaviour("output").ranks(20).run().success();
    let mut expected: Vec<String> =
        (0..20).flat_map(|r| (0..3).map(move |i| format!("rank {r} line {i}"))).collect();
    expected.extend((0..20).map(|r| format!("rank {r} has no newline")));
    expected.sort_unstable();
    assert_eq!(output.lines(), expected, "{output}");
}

#[test]
fn exit_handlers_run_for_each_rank() {
    let output = behaviour("goodbye").ranks(5).run().success();
    let expected: Vec<String> = (0..5).map(|r| format!("rank {r} says goodbye")).collect();
    assert_eq!(output.lines(), expected);
}

#[test]
fn a_rank_that_returns_a_status_gives_it_to_the_run() {
    assert_eq!(behaviour("status").ranks(4).run().status.code(), Some(3));
}

#[test]
fn clocks_and_sleeps_are_virtual() {
    let start = std::time::Instant::now();
    behaviour("times").ranks(3).run().ok(3);
    assert!(start.elapsed().as_secs_f64() < 3.5, "four virtual seconds took {:?}", start.elapsed());
}

/// Putting rank 0 away for the first time takes a quarter of a millisecond, which is not rank 1's.
#[test]
fn what_the_simulator_does_before_a_rank_begins_is_not_its_computation() {
    let run = || behaviour("beginning").ranks(4).variable("XSIM_COMPUTE", "measured").run().success();
    let least = (0..8).map(|_| run().stdout.trim().parse::<u64>().unwrap()).min().unwrap();
    assert!(least < 100_000, "rank 1 began after {least} ns");
}

#[test]
fn a_rank_that_polls_gets_on() {
    for ranks in [1, 2, 8] {
        behaviour("waiting_for_the_clock").ranks(ranks).run().ok(ranks);
    }
}

#[test]
fn statics_and_exceptions_of_classes_are_private_to_a_rank() {
    for ranks in [1, 2, 20] {
        let output = Run::program("classes.cc").ranks(ranks).run().success();
        let mut expected: Vec<String> =
            (0..ranks).map(|r| format!("destroyed {} of rank {r}", 1 + 5 * r)).collect();
        expected.extend((0..ranks).map(|_| "ok".to_owned()));
        expected.sort_unstable();
        assert_eq!(output.lines(), expected, "{output}");
    }
}

#[test]
fn an_exception_that_nobody_catches_ends_the_run_with_its_message_and_place() {
    for stack in ["own", "shared"] {
        let output = Run::program("uncaught.cc").arg(format!("-xsim-stack-mode={stack}")).ranks(3).run();
        assert!(!output.status.success(), "{output}");
        output.says(&[
            "nobody expects this",
            "xsim: rank 1 called abort (SIGABRT), in or after MPI_Barrier",
            "main+0x",
        ]);
    }
}

#[test]
fn an_exception_of_a_function_that_mpi_calls_reaches_the_caller_of_mpi() {
    for case in ["error_handlers", "operations", "attributes", "generalized"] {
        for (ranks, mode) in [
            (1, "-xsim-stack-mode=own"),
            (2, "-xsim-stack-mode=shared"),
            (3, "-xsim-globals=clone"),
            (7, "-xsim-coll-events"),
        ] {
            Run::program("exceptions.cc").arg(case).arg(mode).ranks(ranks).run().ok(ranks);
        }
    }
    let output = Run::program("exceptions.cc").arg("uncaught").ranks(3).run();
    assert!(!output.status.success(), "{output}");
    output.says(&["class 1", "xsim: rank 1 called abort (SIGABRT)", "main+0x"]);
}

#[test]
fn exceptions_work_with_the_cxx_library_inside_the_program() {
    let program = compile("tests/programs/exceptions.cc", &["-static-libstdc++", "-static-libgcc"]);
    for globals in ["copy", "clone"] {
        // The wrapper leaves -static-libgcc out: there must be one unwinder.
        Run::of(program.clone())
            .arg("operations")
            .arg(format!("-xsim-globals={globals}"))
            .ranks(3)
            .run()
            .ok(3);
    }
}

#[test]
fn a_profiler_sees_each_ranks_calls() {
    let output = Run::program("profiler.c").ranks(6).run().success();
    let expected: Vec<String> = (0..6).map(|r| format!("rank {r} sent {r}")).collect();
    assert_eq!(output.lines(), expected, "{output}");
}

#[test]
fn a_program_that_reaches_the_library_through_another_runs_with_the_command() {
    let directory = scratch("through");
    let library = directory.join("libmiddle.so");
    let middle = directory.join("middle.c");
    std::fs::write(
        &middle,
        "#include <mpi.h>\n\
         int start(void) \
         { int size; MPI_Init(0, 0); MPI_Comm_size(MPI_COMM_WORLD, &size); MPI_Finalize(); return size; }\n",
    )
    .unwrap();
    let main = directory.join("main.c");
    std::fs::write(
        &main,
        "#include <stdio.h>\n\
         #include <stdlib.h>\n\
         int start(void);\n\
         int main(void) { int size = start(); printf(\"%d %s\\n\", size, getenv(\"LD_PRELOAD\") ? \
         \"preloaded\" : \"clean\"); return 0; }\n",
    )
    .unwrap();
    let built = common::command(&["cc", "-shared", "-o"]).arg(&library).arg(&middle).status().unwrap();
    assert!(built.success());
    let program = directory.join("main");
    let mut compiler = std::process::Command::new("cc");
    compiler
        .arg("-o")
        .arg(&program)
        .arg(&main)
        .arg(&library)
        .arg(format!("-Wl,-rpath,{}", directory.display()));
    assert!(compiler.status().unwrap().success());

    // Alone, the library comes too late to take main over, and says so.
    Run::of(program.clone()).ranks(3).run().failure().says(&["xsim run"]);
    let output = common::command(&["run", "-n", "3", "-q"]).arg(&program).output().unwrap();
    let text =
        String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr);
    assert_eq!(text, "3 clean\n3 clean\n3 clean\n");
}

#[test]
fn a_source_file_runs_at_once() {
    let source = common::root().join("examples/c/hello.c");
    let output = common::command(&["run", "-n", "3", "-q"]).arg(source).output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let mut lines: Vec<_> = text.lines().collect();
    lines.sort_unstable();
    assert_eq!(lines, ["hello from rank 0 of 3", "hello from rank 1 of 3", "hello from rank 2 of 3"]);
}

fn teams(case: &str) -> Run {
    Run::of(compile("tests/programs/teams.c", &["-O2", "-fopenmp"])).arg(case)
}

fn helpers(case: &str) -> Run {
    Run::program("helpers.cc").arg(case)
}

#[test]
fn teams_of_ranks_are_apart_while_their_masters_are_in_mpi() {
    for ranks in [1, 2, 9] {
        teams("region").ranks(ranks).run().ok(ranks);
    }
    teams("nested").ranks(5).run().ok(5);
}

#[test]
fn threads_of_a_team_keep_their_numbers_and_variables_while_other_ranks_run() {
    for ranks in [2, 7] {
        teams("kept").ranks(ranks).run().ok(ranks);
    }
}

#[test]
fn threads_of_a_team_read_clocks_and_print() {
    let output = teams("services").ranks(3).run().success();
    let mut expected: Vec<String> = (0..9).map(|k| format!("rank {} thread {}", k / 3, k % 3)).collect();
    expected.extend((0..3).map(|_| "ok".to_owned()));
    expected.sort_unstable();
    assert_eq!(output.lines(), expected, "{output}");
}

#[test]
fn threads_that_a_rank_starts_work_on_its_globals_while_others_run() {
    for case in ["beside", "ways"] {
        helpers(case).ranks(4).run().ok(4);
    }
}

#[test]
fn a_rank_does_not_block_where_its_threads_would_find_another_ranks_memory() {
    let (region, thread) = ("blocks inside a parallel region", "while a thread that the rank started runs");
    for (run, option, says, remedy) in [
        (teams("region"), "-xsim-globals=copy", region, "-xsim-globals clone"),
        (teams("region"), "-xsim-stack-mode=shared", region, "-xsim-stack-mode own"),
        (helpers("beside"), "-xsim-globals=copy", thread, "-xsim-globals clone"),
    ] {
        let output = run.arg(option).ranks(3).one_process().run().failure().says(&[
            "xsim: rank ",
            says,
            remedy,
            "-xsim-one-rank",
        ]);
        assert_eq!(output.status.code(), Some(1), "{output}");
    }
}

#[test]
fn a_call_of_a_second_thread_ends_the_run_with_a_sentence() {
    for (case, call) in [
        ("call", "MPI_Barrier was called by"),
        ("query", "MPI_Comm_rank was called by"),
        ("leave", "called exit(3)"),
    ] {
        let output = helpers(case).ranks(3).one_process().run().failure().says(&[
            "xsim: rank ",
            call,
            "-xsim-one-rank",
        ]);
        assert_eq!((output.status.code(), output.stderr.contains("panicked")), (Some(1), false), "{output}");
    }
}

#[test]
fn a_call_that_blocks_on_a_stack_of_the_programs_own_ends_the_run_with_a_sentence() {
    let output = Run::program("coroutine.c")
        .ranks(2)
        .one_process()
        .run()
        .failure()
        .says(&["MPI_Barrier blocks on a stack of the program's own"]);
    assert_eq!((output.status.code(), output.stderr.contains("panicked")), (Some(1), false), "{output}");
}

#[test]
fn idle_teams_of_many_ranks_make_room_for_others_and_busy_ones_are_bounded() {
    let crowd = compile("tests/programs/crowd.c", &["-fopenmp"]);
    Run::of(crowd).arg("many").ranks(160).one_process().run().ok(160);
    let output = teams("too_many")
        .ranks(5)
        .one_process()
        .run()
        .failure()
        .says(&["starts a thread beside 1024 others", "OMP_NUM_THREADS"]);
    assert_eq!(output.status.code(), Some(1), "{output}");
}

#[test]
fn work_of_other_threads_is_reported_once_as_taking_no_time() {
    let run =
        |compute| teams("kept").ranks(3).one_process().variable("XSIM_COMPUTE", compute).run().success();
    assert_eq!(run("measured").stderr.matches("takes no virtual time").count(), 1);
    assert_eq!(run("none").stderr.matches("takes no virtual time").count(), 0);
}

#[test]
fn a_program_without_mpi_keeps_its_exit_status() {
    let program = compile("tests/programs/without_mpi.c", &[]);
    let run = |status: &str| command(&["run", "-n", "1"]).arg(&program).arg(status).output().unwrap();
    let none = run("0");
    let said = String::from_utf8_lossy(&none.stderr).into_owned();
    assert_eq!(none.status.code(), Some(0), "{said}");
    assert!(said.contains("the program ended without calling MPI_Init on any rank"), "{said}");
    assert_eq!(run("7").status.code(), Some(7));
}

/// Runs a program of which one rank computes for ever and the others wait, and sends it these signals, one
/// second apart.
fn stopped(name: &str, signals: &[&str]) -> (std::process::Output, std::path::PathBuf) {
    stopped_on(name, signals, 1)
}

/// [`stopped`] on so many processes, whose launcher gets the signals.
fn stopped_on(name: &str, signals: &[&str], processes: u32) -> (std::process::Output, std::path::PathBuf) {
    let directory = scratch(name);
    let begun = directory.join("begun");
    let program = compile("tests/programs/faults.c", &[]);
    let mut run = match processes {
        1 => {
            // A shell that starts the tests in the background has them ignore SIGINT, and so would the run.
            let mut run = std::process::Command::new("env");
            run.arg("--default-signal=INT").arg(program);
            run
        }
        _ => common::launched("mpich", processes, &directory, &program),
    };
    run.arg("computes").arg(&begun).args(["-xsim-np=3", "-xsim-compute=none"]);
    run.arg(format!("-xsim-report={}", directory.join("report").display()));
    run.arg(format!("-xsim-trace={}", directory.join("trace").display()));
    let run = clean(&mut run)
        .stderr(std::process::Stdio::piped())
        .stdout(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    while !begun.exists() {
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
    for signal in signals {
        let sent = std::process::Command::new("kill").arg(signal).arg(run.id().to_string()).status().unwrap();
        assert!(sent.success());
    }
    (run.wait_with_output().unwrap(), directory)
}

#[test]
fn a_signal_that_asks_for_the_end_gets_report_and_trace_up_to_there() {
    for (signal, name, status) in [("-INT", "SIGINT", 130), ("-TERM", "SIGTERM", 143)] {
        stopped_with_report(stopped(name, &[signal]), name, Some(status));
    }
}

#[test]
fn a_signal_to_the_launcher_of_several_processes_gets_report_and_trace_up_to_there() {
    common::native("mpich");
    // The exit status is the launcher's own.
    for (signal, name) in [("-INT", "SIGINT"), ("-TERM", "SIGTERM")] {
        stopped_with_report(stopped_on(&format!("{name}-of-two"), &[signal], 2), name, None);
    }
}

/// The run has ended with this status, if there is one to be expected, a sentence, a report and a trace.
#[track_caller]
fn stopped_with_report(
    (output, directory): (std::process::Output, std::path::PathBuf),
    name: &str,
    status: Option<i32>,
) {
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(status.is_none() || output.status.code() == status, "{}: {said}", output.status);
    assert!(said.contains(&format!("{name} stopped the run at virtual time ")), "{said}");
    let report: serde_json::Value =
        serde_json::from_str(&std::fs::read_to_string(directory.join("report")).unwrap()).unwrap();
    assert!(report["simulated"]["virtual_time_ps"].is_number(), "{report}");
    let shown = command(&["trace", "show"]).arg(directory.join("trace")).output().unwrap();
    assert!(
        shown.status.success() && String::from_utf8_lossy(&shown.stdout).contains("MPI_Comm_size"),
        "{shown:?}"
    );
}
