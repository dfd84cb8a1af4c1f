//! Everything a user can do wrong ends with a sentence, a status that is not success, and no hang.

mod common;

use common::{Output, Run};

fn misuse(case: &str) -> Run {
    Run::program("misuse.c").arg(case).ranks(3)
}

/// The case ends the run by default, saying these things; asked to return errors, it gets this class.
#[track_caller]
fn error(case: &str, class: &str, parts: &[&str]) {
    misuse(case).run().failure().says(parts);
    let returned = misuse(case).arg("return").run().success();
    assert_eq!(returned.stdout, format!("{class}\n").repeat(3), "{case}: {returned}");
}

#[test]
fn an_invalid_argument_names_rank_function_and_argument() {
    error("bad_count", "MPI_ERR_COUNT", &["MPI_Send", "count", "-1"]);
    error("bad_tag", "MPI_ERR_TAG", &["MPI_Send", "tag", "-5"]);
    error("any_tag_sent", "MPI_ERR_TAG", &["MPI_Send", "tag"]);
    error("bad_rank", "MPI_ERR_RANK", &["MPI_Send", "destination 3"]);
    error("negative_rank", "MPI_ERR_RANK", &["MPI_Recv", "-77"]);
    error("bad_root", "MPI_ERR_ROOT", &["MPI_Bcast", "root"]);
}

#[test]
fn an_invalid_handle_names_its_kind() {
    error("bad_datatype", "MPI_ERR_TYPE", &["MPI_Send", "null handle"]);
    error("bad_comm", "MPI_ERR_COMM", &["MPI_Send", "MPI_COMM_NULL"]);
    error("bad_op", "MPI_ERR_OP", &["MPI_Allreduce", "null handle"]);
    error("op_for_type", "MPI_ERR_OP", &["MPI_Allreduce", "MPI_BAND", "MPI_DOUBLE"]);
    error("uncommitted", "MPI_ERR_TYPE", &["MPI_Send", "MPI_Type_commit"]);
}

#[test]
fn a_buffer_that_is_no_memory_is_an_error_where_memory_is_needed() {
    error("null_send", "MPI_ERR_BUFFER", &["MPI_Send", "null pointer", "3 elements"]);
    error("null_receive", "MPI_ERR_BUFFER", &["MPI_Recv", "null pointer"]);
    error("in_place_send", "MPI_ERR_BUFFER", &["MPI_Send", "MPI_IN_PLACE"]);
    error("in_place_bcast", "MPI_ERR_BUFFER", &["MPI_Bcast", "MPI_IN_PLACE"]);
    error("in_place_result", "MPI_ERR_BUFFER", &["MPI_Allreduce", "MPI_IN_PLACE"]);
    error("null_result", "MPI_ERR_BUFFER", &["MPI_Allreduce", "null pointer"]);
    error("null_blocks", "MPI_ERR_BUFFER", &["MPI_Allgatherv", "null pointer"]);
    error("null_text", "MPI_ERR_ARG", &["MPI_Info_get_string", "argument value", "null pointer"]);
    misuse("null_scatter").run().failure().says(&["MPI_Scatter", "null pointer"]);
    misuse("no_memory_is_needed").run().success();
}

#[test]
fn a_scan_of_an_intercommunicator_is_an_error() {
    error("scan_between", "MPI_ERR_COMM", &["MPI_Scan", "intercommunicator"]);
}

#[test]
fn only_the_root_of_a_reduction_in_one_group_reduces_in_place() {
    misuse("in_place_elsewhere").run().failure().says(&[
        "xsim: rank 2",
        "MPI_Reduce",
        "MPI_IN_PLACE",
        "only the root may reduce in place",
    ]);
    misuse("in_place_between").run().failure().says(&["MPI_Allreduce", "MPI_IN_PLACE", "intercommunicator"]);
}

#[test]
fn only_the_root_gathers_or_scatters_in_place() {
    for (case, function, verb) in [
        ("gather_in_place_elsewhere", "MPI_Gather failed", "gather"),
        ("gatherv_in_place_elsewhere", "MPI_Gatherv failed", "gather"),
        ("scatter_in_place_elsewhere", "MPI_Scatter failed", "scatter"),
    ] {
        let only = format!("only the root may {verb} in place");
        misuse(case).run().failure().says(&["xsim: rank 2", function, "MPI_IN_PLACE", &only]);
    }
}

#[test]
fn members_that_make_communicators_in_different_ways_are_told_so() {
    let parts = [
        "mismatched collectives",
        "MPI_Comm_dup",
        "MPI_Comm_split",
        "all members must call the same collectives",
    ];
    misuse("dup_and_split").run().failure().says(&parts);
}

#[test]
fn an_operation_without_code_names_the_rank() {
    for option in ["-xsim-stack-mode=own", "-xsim-coll-events"] {
        let output = misuse("no_function").arg(option).run().failure().says(&[
            "xsim: rank ",
            "at address 0x10",
            "MPI_Op_create",
        ]);
        assert!(!output.stderr.contains("crashed again"), "{output}");
    }
}

#[test]
fn the_end_of_virtual_time_names_rank_and_call_wherever_it_comes() {
    let ends = |case: &str, option: &str, says: &[&str]| {
        let output = misuse(case).arg(option).run().failure().says(&["xsim: rank ", "days"]).says(says);
        assert!(!output.stderr.contains("panicked") && !output.stderr.contains("internal error"), "{output}");
    };
    ends("sleeps_long", "-xsim-compute=none", &["sleeping"]);
    ends("many_calls", "-xsim-compute=fixed:9000000s", &["MPI_Comm_"]);
    for events in ["", "-xsim-coll-events"] {
        let machine = "-xsim-mn=star:l=15000min,b=1Gbps";
        let run = |case: &str| {
            misuse(case)
                .arg(machine)
                .arg(if events.is_empty() { "-xsim-quiet" } else { events })
                .run()
                .failure()
        };
        run("many_messages").says(&["xsim: rank ", "MPI_Sendrecv", "213 days"]);
        run("many_barriers").says(&["xsim: rank ", "MPI_Barrier", "days"]);
    }
    let measured = misuse("many_calls").arg("-xsim-compute=measured").arg("-xsim-proc=1e308").run().failure();
    measured.says(&["xsim: rank ", "MPI_", "213 days"]);
}

#[test]
fn a_freed_or_invented_handle_is_found() {
    error("freed_datatype", "MPI_ERR_TYPE", &["MPI_Send"]);
    error("freed_comm", "MPI_ERR_COMM", &["MPI_Barrier"]);
    error("garbage_comm", "MPI_ERR_COMM", &["MPI_Barrier"]);
    error("garbage_datatype", "MPI_ERR_TYPE", &["MPI_Send"]);
}

#[test]
fn truncation_tells_both_lengths() {
    error("truncated", "MPI_ERR_TRUNCATE", &["MPI_Recv", "32", "8"]);
}

#[test]
fn a_request_cannot_be_used_twice() {
    error("request_twice", "MPI_ERR_REQUEST", &["MPI_Wait"]);
    error("start_active", "MPI_ERR_REQUEST", &["MPI_Start"]);
}

#[test]
fn mismatched_collectives_tell_who_called_what() {
    misuse("mismatched_collectives").run().failure().says(&["MPI_Barrier", "MPI_Bcast", "rank 0"]);
    misuse("mismatched_roots").run().failure().says(&["MPI_Bcast", "root"]);
}

#[test]
fn mismatched_counts_tell_who_gave_which() {
    for events in ["on", "off"] {
        let says = |case: &str, words: &[&str]| {
            misuse(case).ranks(5).arg(format!("-xsim-coll-events={events}")).run().failure().says(words);
        };
        says("mismatched_counts", &["MPI_Allreduce with 8000 bytes", "8008 bytes", "rank"]);
        says("mismatched_operations", &["MPI_Reduce", "elements of 8", "elements of 4"]);
        says("mismatched_blocks", &["MPI_Alltoall", "64 bytes for each member", "72 bytes"]);
        says("mismatched_own_count", &["MPI_Allgatherv", "72 bytes", "80"]);
    }
}

#[test]
fn a_deadlock_tells_who_waits_for_whom_in_groups() {
    let output = misuse("deadlock").ranks(1000).run().failure();
    let output = output.says(&["deadlock", "999 ranks in MPI_Recv(source=rank-1, tag=0)"]);
    assert!(output.stderr.lines().count() < 20, "{output}");
    misuse("deadlock_mixed").ranks(100).run().failure().says(&[
        "deadlock",
        "MPI_Barrier",
        "MPI_Recv",
        "tag=42",
    ]);
    misuse("missing_partner").ranks(2).run().failure().says(&["MPI_Recv", "tag=3", "rank 0"]);
}

#[test]
fn a_program_without_mpi_says_that_it_never_called_mpi_init() {
    Run::program("misuse.c").ranks(3).run().success().says(&["MPI_Init"]);
}

#[test]
fn what_a_build_system_tries_out_without_mpi_is_an_ordinary_program() {
    let directory = common::scratch("ordinary");
    let (source, program) = (directory.join("ordinary.c"), directory.join("ordinary"));
    std::fs::write(
        &source,
        "#include <stdio.h>\n\
         int main(int argc, char **argv) { (void)argv; printf(\"%d\\n\", argc); return argc - 1; }\n",
    )
    .unwrap();
    assert!(common::command(&["cc", "-o"]).arg(&program).arg(&source).status().unwrap().success());
    for arguments in 0..3 {
        let output = common::clean(&mut std::process::Command::new(&program))
            .args(vec!["a"; arguments])
            .output()
            .unwrap();
        assert_eq!(output.status.code(), Some(arguments as i32), "{output:?}");
        assert_eq!(
            (String::from_utf8_lossy(&output.stdout).as_ref(), output.stderr.len()),
            (format!("{}\n", arguments + 1).as_str(), 0),
            "{output:?}"
        );
    }
    // Whoever asks for ranks wants a simulation.
    Run::of(program).ranks(2).run().success().says(&["MPI_Init"]);
}

#[test]
fn initialising_twice_is_an_error() {
    misuse("init_twice").run().failure().says(&["MPI_Init", "second time"]);
}

#[test]
fn calls_after_finalize_are_errors() {
    misuse("after_finalize").run().failure().says(&["MPI_Barrier", "MPI_Finalize"]);
    misuse("finalize_twice").run().failure().says(&["MPI_Finalize"]);
}

/// The line that every rank printed before it went wrong is there.
#[track_caller]
fn all_were_here(output: &Output, ranks: u32) {
    let expected: Vec<String> = (0..ranks).map(|rank| format!("rank {rank} was here")).collect();
    assert_eq!(output.lines(), expected, "{output}");
}

#[test]
fn a_rank_that_ends_without_finalize_is_named() {
    let output = misuse("no_finalize").run().failure().says(&["MPI_Finalize", "rank"]);
    all_were_here(&output, 3);
    let mut output = misuse("exits_early").run().failure().says(&["rank 1", "MPI_Finalize"]);
    output.stdout = output.stdout.replace("MPI_SUCCESS\n", "");
    all_were_here(&output, 3);
}

#[test]
fn an_abort_ends_the_run_with_its_code_and_keeps_the_output() {
    let output = misuse("aborts").run().says(&["rank 1", "MPI_Abort", "7"]);
    assert_eq!(output.status.code(), Some(7), "{output}");
    all_were_here(&output, 3);
}

#[test]
fn an_abort_ends_ranks_that_compute() {
    let output =
        misuse("aborts_alone").arg("-xsim-compute=none").run_for(30).says(&["rank 1 called MPI_Abort(7)"]);
    assert_eq!(output.status.code(), Some(7), "{output}");
}

#[test]
fn a_crash_names_rank_signal_and_call() {
    let output = misuse("crashes").run().failure().says(&["rank 1", "SIGSEGV", "MPI_Barrier"]);
    all_were_here(&output, 3);
    misuse("calls_abort").run().failure().says(&["rank 1", "SIGABRT"]);
}

#[test]
fn a_stack_overflow_is_told_from_a_crash() {
    for mode in ["own", "shared"] {
        misuse("overflows").arg(format!("-xsim-stack-mode={mode}")).run().failure().says(&[
            "rank 1",
            "stack",
            "-xsim-stack",
        ]);
    }
}

#[test]
fn the_watchdog_names_a_rank_that_never_calls_mpi_again() {
    misuse("spins").arg("-xsim-watchdog=1").run_for(4).says(&["rank 1", "without an MPI call"]);
}

/// The first to run spins: rank 0, whose place is before that of the rank that aborts.
#[test]
fn a_rank_that_computes_for_ever_does_not_keep_another_from_aborting() {
    for mode in ["own", "shared"] {
        let output = misuse("spins_before_abort")
            .arg("-xsim-watchdog=2")
            .arg(format!("-xsim-stack-mode={mode}"))
            .run()
            .failure()
            .says(&["rank 1 called MPI_Abort(3)"]);
        assert_eq!(output.status.code(), Some(3), "{output}");
    }
}

#[test]
fn bad_options_end_a_program_before_it_starts() {
    for (option, parts) in [
        ("-xsim-np=0", &["-xsim-np 0", "at least 1"][..]),
        ("-xsim-np=abc", &["whole number"]),
        ("-xsim-reprot=x", &["-xsim-report"]),
        ("-xsim-mn=star:l=1us,b=1Gbsp", &["^", "b=1Gbsp"]),
        ("-xsim-mn=ring:2,l=1us,b=1Gbps", &["2", "3"]),
        ("-xsim-compute=perhaps", &["measured, none or fixed:SPAN"]),
        ("-xsim-report=/no/such/directory/report.json", &["/no/such/directory"]),
        ("-xsim-coll=allreduce=magic", &["magic", "allreduce"]),
    ] {
        let output = misuse("aborts").arg(option).run().failure().says(parts);
        assert_eq!(output.stdout, "", "{option}: {output}");
    }
    misuse("aborts").variable("XSIM_MAHCINE", "x").run().failure().says(&["XSIM_MACHINE"]);
}

#[test]
fn more_ranks_than_memory_says_how_much_they_need() {
    let output = Run::program("misuse.c").arg("aborts").ranks(2_000_000_000).run().failure();
    output.says(&["2000000000 ranks", "GB"]);
}

#[test]
fn ranks_that_take_too_much_memory_are_stopped_before_it_is_gone() {
    // 1 MiB of each rank is written: 1 TB in all.
    misuse("takes_much").ranks(1_000_000).run().failure().says(&[
        "of 1000000 ranks took",
        "GB",
        "xsim_shared_malloc",
    ]);
}

#[test]
fn the_help_and_the_version_end_the_program_well() {
    let help = misuse("aborts").arg("-xsim-help").run().success();
    assert!(help.stdout.contains("-xsim-np N"), "{help}");
    let version = misuse("aborts").arg("-xsim-version").run().success();
    assert!(version.stdout.contains(env!("CARGO_PKG_VERSION")), "{version}");
}

#[test]
fn files_that_never_end_are_not_read_for_ever() {
    let link = common::scratch("endless").join("machine.toml");
    let _ = std::fs::remove_file(&link);
    std::os::unix::fs::symlink("/dev/zero", &link).unwrap();
    for option in [
        "-xsim-mn=graph:file=/dev/zero,level=packet",
        "-xsim-mn=star:n=4,failures=/dev/zero,level=packet",
        &format!("-xsim-mn={}", link.display()),
        "-xsim-placement=file:/dev/zero",
        "-xsim-coll=/dev/zero",
        "-xsim-map=/dev/zero",
    ] {
        misuse("deadlock")
            .arg(option)
            .run()
            .failure()
            .says(&["/dev/zero", "it is not a text"][usize::from(option.contains(".toml"))..]);
    }
}
