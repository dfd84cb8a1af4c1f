//! Findings: what MPI does not promise, and what ranks leave behind, is told at the end of the run, with
//! `-xsim-check` only.

mod common;
use common::Run;

#[test]
fn what_ranks_leave_behind_is_told_once_with_its_place() {
    let told = Run::program("leftovers.c").ranks(3).arg("-xsim-check").run().ok(3);
    let line = |what: &str| {
        let mut lines =
            told.stderr.lines().filter(|line| line.starts_with("xsim: finding: ") && line.contains(what));
        let line = lines.next().unwrap_or_else(|| panic!("no finding of {what}: {told}"));
        assert_eq!(lines.next(), None, "{told}");
        line.to_owned()
    };
    for (what, place, way) in [
        ("a communicator that MPI_Comm_split made", "leftovers.c:21 main", "MPI_Comm_free"),
        ("a datatype that MPI_Type_contiguous made", "leftovers.c:22 main", "MPI_Type_free"),
        ("a group that MPI_Comm_group made", "leftovers.c:24 main", "MPI_Group_free"),
        ("an info object that MPI_Info_create made", "leftovers.c:25 main", "MPI_Info_free"),
        ("a window that MPI_Win_create made", "leftovers.c:26 main", "MPI_Win_free"),
        ("a request that MPI_Recv_init made", "leftovers.c:27 main", "MPI_Request_free"),
        ("a request that MPI_Isend made", "leftovers.c:33 main", "MPI_Wait"),
    ] {
        let line = line(what);
        assert!(
            line.contains(place)
                && line.contains("(3 on 3 ranks, the first of which is rank 0)")
                && line.contains(way),
            "{line}"
        );
    }
    // Rank 1 has freed its second copy.
    assert!(line("MPI_Comm_dup").contains("(2 on 2 ranks, the first of which is rank 0)"), "{told}");
    let messages = "rank 0 never received a message of 8 bytes with tag 41 from rank 1 (2 on rank 0)";
    assert!(line("never received").contains(messages), "{told}");
    assert!(
        line("because its message is buffered").starts_with("xsim: finding: MPI_Send at leftovers.c:45 main"),
        "{told}"
    );
    // No other, of objects of the standard for instance.
    assert_eq!(told.stderr.matches("finding").count(), 10, "{told}");
}

#[test]
fn a_program_that_cleans_up_has_no_findings() {
    let told = Run::program("leftovers.c").ranks(3).arg("clean").arg("-xsim-check").run().ok(3);
    assert!(!told.stderr.contains("finding"), "{told}");
}

#[test]
fn nothing_is_told_unless_asked_for() {
    let told = Run::program("leftovers.c").ranks(3).run().ok(3);
    assert!(!told.stderr.contains("finding"), "{told}");
}

/// The findings of a case of `conflicts.c` on three ranks, without their beginning; sorted by whoever tells
/// them.
fn conflicts(case: &str) -> Vec<String> {
    of_conflicts(Run::program("conflicts.c").ranks(3).arg(case))
}

/// The findings of a run of `conflicts.c`, whose sends all need a buffer: that is looked for on one process
/// only, and left out.
fn of_conflicts(run: Run) -> Vec<String> {
    let told = run.arg("-xsim-check").run().ok(3);
    let found = told.stderr.lines().filter_map(|line| line.strip_prefix("xsim: finding: "));
    found.filter(|line| !line.contains("because its message is buffered")).map(str::to_owned).collect()
}

/// Checks that there is exactly one finding for each of these, and no other: beginning, number on ranks.
#[track_caller]
fn are(found: &[String], wanted: &[(&str, &str)]) {
    for (what, ranks) in wanted {
        assert_eq!(
            found.iter().filter(|line| line.starts_with(what) && line.contains(ranks)).count(),
            1,
            "{what} {ranks}: {found:#?}"
        );
    }
    assert_eq!(found.len(), wanted.len(), "{found:#?}");
}

const ALL: &str = "(3 on 3 ranks, the first of which is rank 0)";

#[test]
fn buffers_that_overlap_in_pending_operations_are_found_with_both_calls() {
    are(
        &conflicts("overlaps"),
        &[
            (
                "MPI_Irecv at conflicts.c:15 overlaps receives into memory that MPI_Irecv at conflicts.c:14 \
                 overlaps receives into, which was not complete",
                ALL,
            ),
            (
                "MPI_Send at conflicts.c:17 overlaps sends from memory that MPI_Irecv at conflicts.c:15 \
                 overlaps receives into",
                ALL,
            ),
            (
                "MPI_Recv at conflicts.c:24 overlaps receives into memory that MPI_Isend at conflicts.c:23 \
                 overlaps sends from",
                ALL,
            ),
            (
                "MPI_Startall at conflicts.c:29 overlaps receives into memory that MPI_Recv_init at \
                 conflicts.c:27 overlaps receives into",
                ALL,
            ),
            (
                "MPI_Allreduce at conflicts.c:40 overlaps receives into memory that another buffer of the \
                 same call overlaps",
                ALL,
            ),
            (
                "MPI_Allreduce at conflicts.c:42 overlaps receives into memory that MPI_Ibcast at \
                 conflicts.c:41 overlaps sends from",
                "(1 on rank 0)",
            ),
            (
                "MPI_Allreduce at conflicts.c:42 overlaps receives into memory that MPI_Ibcast at \
                 conflicts.c:41 overlaps receives into",
                "(2 on 2 ranks, the first of which is rank 1)",
            ),
        ],
    );
}

/// The findings of a case of `buffered.c` on four ranks, without their beginning. Virtual time is that of a
/// run without `-xsim-check`.
fn buffered(case: &str) -> Vec<String> {
    let run = || Run::program("buffered.c").ranks(4).arg(case);
    let ended = |stderr: &str| stderr.lines().find(|line| line.starts_with("ended at ")).map(str::to_owned);
    let told = run().arg("-xsim-check").run().ok(4);
    assert_eq!(ended(&told.stderr), ended(&run().run().ok(4).stderr), "{told}");
    told.stderr.lines().filter_map(|line| line.strip_prefix("xsim: finding: ")).map(str::to_owned).collect()
}

const EACH: &str = "(4 on 4 ranks, the first of which is rank 0)";

#[test]
fn sends_that_complete_only_because_they_are_buffered_are_found_with_who_would_wait_for_whom() {
    let buffered_at = |place: &str, waits: &str| {
        format!(
            "{place} completes only because its message is buffered: without buffers nothing could wake \
             {waits}"
        )
    };
    let ring = buffered_at(
        "MPI_Send at buffered.c:15 ring",
        "3 ranks in MPI_Send(destination=rank+1, tag=1) (ranks 0-2), 1 rank in MPI_Send(destination=rank-3, \
         tag=1) (rank 3)",
    );
    are(&buffered("ring"), &[(&ring, "(12 on 4 ranks, the first of which is rank 0)")]);
    let waits = buffered_at(
        "MPI_Isend at buffered.c:23 waits",
        "3 ranks in MPI_Waitall(destination=rank+1, tag=2) (ranks 0-2), 1 rank in \
         MPI_Waitall(destination=rank-3, tag=2) (rank 3)",
    );
    let more = buffered_at(
        "MPI_Isend at buffered.c:24 waits",
        "3 ranks in MPI_Waitall(destination=rank-1, tag=3) (ranks 1-3), 1 rank in \
         MPI_Waitall(destination=rank+3, tag=3) (rank 0)",
    );
    are(&buffered("waits"), &[(&waits, EACH), (&more, EACH)]);
    let barrier = buffered_at(
        "MPI_Send at buffered.c:33 barrier",
        "3 ranks in MPI_Barrier(MPI_COMM_WORLD, 3 of 4 members entered; missing 0) (ranks 1-3), 1 rank in \
         MPI_Send(destination=3, tag=4) (rank 0)",
    );
    are(&buffered("barrier"), &[(&barrier, "(1 on rank 0)")]);
    let itself = buffered_at(
        "MPI_Send at buffered.c:41 itself",
        "4 ranks in MPI_Send(destination=itself, tag=5) (ranks 0-3)",
    );
    are(&buffered("itself"), &[(&itself, EACH)]);
}

#[test]
fn copies_of_completed_requests_are_found() {
    are(
        &buffered("copies"),
        &[("MPI_Waitall at buffered.c:53 copies was given a request that had been completed before", EACH)],
    );
}

#[test]
fn buffers_that_are_written_or_freed_under_operations_are_found() {
    let memory = |what: &str| format!("memory that {what} before the operation was complete");
    are(
        &buffered("changed"),
        &[(&memory("MPI_Isend at buffered.c:61 changed sends from was written"), EACH)],
    );
    are(
        &buffered("freed"),
        &[
            (&memory("MPI_Irecv at buffered.c:73 freed receives into was freed"), EACH),
            (&memory("MPI_Isend at buffered.c:74 freed sends from was freed"), EACH),
            (&memory("MPI_Isend at buffered.c:75 freed sends from was freed"), EACH),
        ],
    );
}

#[test]
fn programs_that_need_no_buffer_and_leave_their_memory_alone_have_no_findings() {
    are(&buffered("safe"), &[]);
}

#[test]
fn datatypes_with_gaps_overlap_where_their_data_does() {
    let line = "MPI_Irecv at conflicts.c:78 corner receives into memory that MPI_Irecv at conflicts.c:77 \
        corner receives into";
    are(&conflicts("corner"), &[(line, ALL)]);
    are(&conflicts("none"), &[]);
}

#[test]
fn messages_received_with_other_types_than_they_were_sent_with_are_found_with_both_places() {
    are(
        &conflicts("types"),
        &[
            (
                "MPI_Recv at conflicts.c:103 types received as MPI_FLOAT what MPI_Send at conflicts.c:102 \
                 types had sent as MPI_INT",
                ALL,
            ),
            (
                "MPI_Irecv at conflicts.c:104 types received as a datatype of MPI_Type_create_struct what \
                 MPI_Send at conflicts.c:105 types had sent as a",
                ALL,
            ),
        ],
    );
}

#[test]
fn members_of_a_collective_that_have_other_types_are_found() {
    let odd = "(1 on rank 1)";
    are(
        &conflicts("members"),
        &[
            (
                "MPI_Bcast at conflicts.c:130 members took part with 4 elements of MPI_FLOAT where the root, \
                 or rank 0, had 4 elements of MPI_INT",
                odd,
            ),
            (
                "MPI_Gather at conflicts.c:131 members took part with 4 elements of MPI_FLOAT where the \
                 root, or rank 0, had 4 elements of a datatype of MPI_Type_contiguous",
                odd,
            ),
            (
                "MPI_Ialltoall at conflicts.c:133 members took part with 4 elements of MPI_FLOAT where the \
                 root, or rank 0, had 4 elements of MPI_INT",
                odd,
            ),
        ],
    );
}

#[test]
fn members_of_a_reduction_that_give_other_operations_are_found() {
    let calls = [("Allreduce", 160), ("Reduce", 161), ("Scan", 162), ("Ireduce_scatter_block", 163)];
    let wanted = calls.map(|(call, line)| {
        format!(
            "MPI_{call} at conflicts.c:{line} operations took part with MPI_MAX where the root, or rank 0, \
             had MPI_SUM"
        )
    });
    let wanted: Vec<_> = wanted.iter().map(|what| (what.as_str(), "(1 on rank 1)")).collect();
    are(&conflicts("operations"), &wanted);
}

#[test]
fn findings_are_the_same_on_any_number_of_processes() {
    for case in ["overlaps", "types", "members", "operations"] {
        let run = || Run::program("conflicts.c").ranks(3).arg(case);
        assert_eq!(of_conflicts(run()), of_conflicts(run().processes("mpich", 2)), "{case}");
    }
}
