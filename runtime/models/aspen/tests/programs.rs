//! The text of generated programs; tests/aspen_programs.rs runs them.

mod common;

use aspen::{EvaluationRequest, Traversal};
use common::{application, with_main};

fn program(body: &str, traversal: Traversal) -> Result<String, String> {
    let request = EvaluationRequest { traversal, ..EvaluationRequest::default() };
    application(&with_main(body)).program(&request).map_err(|error| error.to_string())
}

#[test]
fn loops_stay_loops_or_are_written_out() {
    let body = "iterate [10] { execute { comm [2] of size [4] as allreduce, min } }";
    let implicit = program(body, Traversal::Implicit).unwrap();
    assert_eq!(
        implicit.matches("MPI_Allreduce(give, take, 1, MPI_DOUBLE, MPI_MIN, MPI_COMM_WORLD);").count(),
        1
    );
    assert!(implicit.contains("for (long i0 = 0; i0 < 10; i0++) {"), "{implicit}");
    let explicit = program(body, Traversal::Explicit).unwrap();
    assert_eq!(explicit.matches("MPI_Allreduce").count(), 10);
    assert!(!explicit.contains("for (long"), "{explicit}");
}

#[test]
fn reductions_take_the_largest_type_that_fits() {
    for (bytes, call) in [(16, "2, MPI_DOUBLE"), (12, "3, MPI_FLOAT"), (7, "7, MPI_UNSIGNED_CHAR")] {
        let text =
            program(&format!("execute {{ comm [{bytes}] as scan, prod }}"), Traversal::Implicit).unwrap();
        assert!(text.contains(&format!("MPI_Scan(give, take, {call}, MPI_PROD, MPI_COMM_WORLD);")), "{text}");
    }
}

#[test]
fn a_program_has_only_what_it_uses() {
    let text = program("execute { flops [8] comm [0] as barrier }", Traversal::Implicit).unwrap();
    assert!(
        text.contains("/* 8 flops */")
            && text.contains("MPI_Barrier(MPI_COMM_WORLD);")
            && !text.contains("static char"),
        "{text}"
    );
    let text = program("execute { comm [5] as random }", Traversal::Implicit).unwrap();
    assert!(text.contains("random_message(5);") && !text.contains("sides"), "{text}");
}

#[test]
fn what_a_program_cannot_do_is_refused() {
    let refused = |body: &str, traversal| program(body, traversal).unwrap_err();
    let chance = "probability { [0.5] { execute { comm [1] as barrier } } }";
    assert!(refused(chance, Traversal::Implicit).contains("--explicit draws them"));
    assert!(program(chance, Traversal::Explicit).is_ok());
    assert!(
        refused("execute { comm [3e9] as bcast }", Traversal::Implicit)
            .contains("3000000000 bytes are more than the count")
    );
    assert!(
        refused("execute { comm [50000] of size [8] as nn3d }", Traversal::Implicit)
            .contains("more than the count")
    );
    assert!(
        refused("iterate [1e6] { execute { comm [1] as barrier } }", Traversal::Explicit)
            .contains("more than 100000 lines")
    );
}

#[test]
fn labels_do_not_end_comments() {
    let text = program("execute \"a */ b\" { flops [1] }", Traversal::Implicit).unwrap();
    assert!(text.contains("/* a * / b: 1 flops */"), "{text}");
}
