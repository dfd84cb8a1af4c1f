//! What ranks leave behind is told at the end of the run, with `-xsim-check` only.

mod common;
use common::Run;

#[test]
fn what_ranks_leave_behind_is_told_once_with_its_place() {
    let told = Run::program("leftovers.c").ranks(3).arg("-xsim-check").run().ok(3);
    let line = |what: &str| {
        let mut lines = told.stderr.lines().filter(|line| line.starts_with("xsim: finding: ") && line.contains(what));
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
        assert!(line.contains(place) && line.contains("(3 on 3 ranks, the first of which is rank 0)") && line.contains(way), "{line}");
    }
    // Rank 1 has freed its second copy.
    assert!(line("MPI_Comm_dup").contains("(2 on 2 ranks, the first of which is rank 0)"), "{told}");
    let messages = "rank 0 never received a message of 8 bytes with tag 41 from rank 1 (2 on rank 0)";
    assert!(line("never received").contains(messages), "{told}");
    // No other, of objects of the standard for instance.
    assert_eq!(told.stderr.matches("finding").count(), 9, "{told}");
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
