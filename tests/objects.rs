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
