//! Faults of a program are reported with its rank, and end the run.

mod support;

use support::{Link, Run, compile, run};

fn crash(way: &str, link: Link, stack: &str) -> Run {
    let program = compile("crash.c", link, &[]);
    let result = run(&program, &[("STACK", stack), ("RANKS", "4")], &[way], "");
    assert!(
        result.out.starts_with("hello from 0\nhello from 1\nhello from 2\nhello from 3\n"),
        "{}",
        result.out
    );
    for rank in 0..4 {
        assert!(result.out.contains(&format!("unfinished {rank}\n")), "{}", result.out);
    }
    assert!(result.error.starts_with("xsim: rank 2 "), "{}", result.error);
    assert!(result.error.contains("in or after yield_"), "{}", result.error);
    result
}

#[test]
fn a_bad_pointer_names_rank_call_and_function() {
    for link in [Link::Pie, Link::NoPie] {
        for stack in ["own", "shared"] {
            let result = crash("memory", link, stack);
            assert_eq!(result.status, Some(128 + 11));
            assert!(result.error.contains("SIGSEGV at address 0x0"), "{}", result.error);
            assert!(
                result.error.contains("#0  touch+") && result.error.contains("#1  main+"),
                "{}",
                result.error
            );
        }
    }
}

#[test]
fn a_stack_overflow_says_so_and_what_to_do() {
    for stack in ["own", "own:65536", "shared"] {
        let result = crash("stack", Link::Pie, stack);
        assert_eq!(result.status, Some(128 + 11));
        assert!(
            result.error.contains("stack overflow") && result.error.contains("-xsim-stack SIZE"),
            "{}",
            result.error
        );
        assert!(result.error.contains("deeper+"), "{}", result.error);
        let size = if stack == "own:65536" {
            "64 KiB"
        } else if stack == "own" {
            "256 KiB"
        } else {
            "8192 KiB"
        };
        assert!(result.error.contains(&format!("its {size}")), "{}", result.error);
    }
}

#[test]
fn arithmetic_errors_and_abort_are_reported() {
    let result = crash("division", Link::Pie, "own");
    assert_eq!(result.status, Some(128 + 8));
    assert!(result.error.contains("division by zero"), "{}", result.error);
    let result = crash("abort", Link::NoPie, "own");
    assert_eq!(result.status, Some(128 + 6));
    assert!(result.error.contains("called abort"), "{}", result.error);
}

#[test]
fn a_failed_assertion_is_shown_before_the_report() {
    let program = compile("crash.c", Link::Pie, &[]);
    let result = run(&program, &[("RANKS", "4")], &["assert"], "");
    assert_eq!(result.status, Some(128 + 6));
    let (before, report) = result.error.split_once('\n').expect("two lines");
    assert!(before.ends_with("Assertion `nothing' failed."), "{}", result.error);
    assert!(
        report.starts_with("xsim: rank 2 called abort (SIGABRT), in or after yield_"),
        "{}",
        result.error
    );
}

#[test]
fn a_rank_that_computes_without_end_is_named() {
    let program = compile("crash.c", Link::Pie, &[]);
    let result = run(&program, &[("WATCHDOG_MS", "200"), ("RANKS", "4")], &["busy"], "");
    assert_eq!(result.status, Some(0));
    assert!(result.error.contains("rank 2 has run for"), "{}", result.error);
    assert_eq!(result.error.lines().count(), 1, "named once: {}", result.error);
}
