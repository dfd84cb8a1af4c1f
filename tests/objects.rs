//! The chapters of MPI about objects, as C programs use them on virtual ranks.

mod common;

use common::Run;

#[test]
fn datatypes_make_messages_of_any_layout() {
    for ranks in [1, 2, 7] {
        Run::program("datatypes.c").ranks(ranks).run().ok(ranks);
    }
}

#[test]
fn operations_reduce_predefined_and_other_types() {
    for ranks in [1, 2, 12] {
        Run::program("operations.c").ranks(ranks).run().ok(ranks);
    }
}

#[test]
fn characters_are_reduced_as_elsewhere_and_told_of_when_asked() {
    let char_sum = || Run::program("operations.c").ranks(3).arg("characters");
    let quiet = char_sum().run().ok(3);
    assert!(!quiet.stderr.contains("finding"), "{quiet}");
    let told = char_sum().arg("-xsim-check").run().ok(3).says(&[
        "xsim: finding: rank ",
        "MPI_Allreduce: MPI_SUM of MPI_CHAR",
        "MPI_SIGNED_CHAR",
    ]);
    // Each native process tells once.
    let processes =
        std::env::var("PROCESSES").ok().and_then(|given| given.split(':').nth(1)?.parse().ok()).unwrap_or(1);
    let count = told.stderr.matches("MPI_Allreduce: MPI_SUM of MPI_CHAR").count();
    assert!((1..=processes).contains(&count), "{told}");
}

#[test]
fn bounds_of_mpi_1_are_there_when_asked_for_and_the_compiler_says_how() {
    let program = common::compile("tests/programs/old_bounds.c", &["-include", "mpi_removed.h"]);
    Run::of(program).ranks(3).run().ok(3);
    let source = common::root().join("tests/programs/old_bounds.c");
    let refused = common::command(&["cc", "-fsyntax-only"]).arg(source).output().unwrap();
    let said = String::from_utf8_lossy(&refused.stderr);
    assert!(
        !refused.status.success()
            && said.contains("MPI_Type_create_resized")
            && said.contains("-include mpi_removed.h"),
        "{said}"
    );
}

#[test]
fn groups_infos_attributes_and_error_handlers_do_what_mpi_says() {
    for ranks in [1, 5] {
        Run::program("objects.c").ranks(ranks).run().ok(ranks);
    }
}

#[test]
fn topologies_name_neighbours() {
    Run::program("topologies.c").ranks(12).run().ok(12);
}

#[test]
fn requests_keep_what_they_need_and_say_what_failed() {
    for ranks in [1, 3] {
        Run::program("requests.c").ranks(ranks).run().ok(ranks);
    }
}
