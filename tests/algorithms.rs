//! Every registered collective algorithm under a real program: tests/programs/algorithms.c.

mod common;

use common::Run;
use schedule::{Kind, algorithm};

/// Four ranks on a node, so that two levels exist.
const NODES: &str = "star:4,l=1us,b=10Gbps/star:4,l=100ns,b=100Gbps";

fn holds(case: &str, ranks: u32, choice: &str) {
    Run::program("algorithms.c")
        .arg(case)
        .ranks(ranks)
        .machine(NODES)
        .arg(format!("-xsim-coll={choice}"))
        .run()
        .ok(ranks);
}

#[test]
fn every_algorithm_gives_a_program_its_results() {
    for row in algorithm::ALL.iter().filter(|row| !matches!(row.kind, Kind::Neighbor | Kind::Agree)) {
        let choice = format!("{}={}", row.kind.name(), row.name);
        for ranks in [7, 16] {
            holds(row.kind.name(), ranks, &choice);
        }
        if [Kind::Gather, Kind::Scatter, Kind::Allgather].contains(&row.kind) {
            holds("varying", 7, &choice);
        }
        if row.kind == Kind::Alltoall {
            holds("varying_alltoall", 7, &choice);
        }
    }
}

#[test]
fn tables_give_a_program_its_results_at_any_size() {
    for choice in ["mpich", "openmpi", "linear", "bcast=pipeline:segment=1KiB", "reduce=binary:segment=1000"]
    {
        for ranks in [1, 3, 8, 13] {
            for case in [
                "bcast",
                "allgather",
                "alltoall",
                "reduce",
                "scan",
                "reduce_scatter",
                "varying",
                "varying_alltoall",
            ] {
                holds(case, ranks, choice);
            }
        }
    }
}

#[test]
fn groups_of_an_intercommunicator_exchange() {
    for ranks in [2, 3, 6, 7, 13] {
        holds("between_groups", ranks, "mpich");
    }
}
