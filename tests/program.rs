//! What a program may take for granted: its own globals, arguments, output, clocks and end, for each rank.

mod common;

use common::{Run, compile, scratch};

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

#[test]
fn rank_0_has_the_standard_input() {
    let path = scratch("input").join("lines");
    std::fs::write(&path, "0\n1\n2\n").unwrap();
    behaviour("input").ranks(4).input(path).run().ok(4);
}

#[test]
fn lines_of_ranks_do_not_mix() {
    let output = behaviour("output").ranks(20).run().success();
    let mut expected: Vec<String> = (0..20).flat_map(|r| (0..3).map(move |i| format!("rank {r} line {i}"))).collect();
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
        let mut expected: Vec<String> = (0..ranks).map(|r| format!("destroyed {} of rank {r}", 1 + 5 * r)).collect();
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
        output.says(&["nobody expects this", "xsim: rank 1 called abort (SIGABRT), in or after MPI_Barrier", "main+0x"]);
    }
}

#[test]
fn an_exception_of_a_function_that_mpi_calls_reaches_the_caller_of_mpi() {
    for case in ["error_handlers", "operations", "attributes", "generalized"] {
        for (ranks, mode) in
            [(1, "-xsim-stack-mode=own"), (2, "-xsim-stack-mode=shared"), (3, "-xsim-globals=clone"), (7, "-xsim-coll-events")]
        {
            Run::program("exceptions.cc").arg(case).arg(mode).ranks(ranks).run().ok(ranks);
        }
    }
    let output = Run::program("exceptions.cc").arg("uncaught").ranks(3).run();
    assert!(!output.status.success(), "{output}");
    output.says(&["class 1", "xsim: rank 1 called abort (SIGABRT)", "main+0x"]);
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
    std::fs::write(&middle, "#include <mpi.h>\nint start(void) { int size; MPI_Init(0, 0); MPI_Comm_size(MPI_COMM_WORLD, &size); MPI_Finalize(); return size; }\n").unwrap();
    let main = directory.join("main.c");
    std::fs::write(&main, "#include <stdio.h>\n#include <stdlib.h>\nint start(void);\nint main(void) { int size = start(); printf(\"%d %s\\n\", size, getenv(\"LD_PRELOAD\") ? \"preloaded\" : \"clean\"); return 0; }\n").unwrap();
    let built = common::command(&["cc", "-shared", "-o"]).arg(&library).arg(&middle).status().unwrap();
    assert!(built.success());
    let program = directory.join("main");
    let mut compiler = std::process::Command::new("cc");
    compiler.arg("-o").arg(&program).arg(&main).arg(&library).arg(format!("-Wl,-rpath,{}", directory.display()));
    assert!(compiler.status().unwrap().success());

    // Alone, the library comes too late to take main over, and says so.
    Run::of(program.clone()).ranks(3).run().failure().says(&["xsim run"]);
    let output = common::command(&["run", "-n", "3", "-q"]).arg(&program).output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr);
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
