//! Collective operations: tests/programs/collectives.c on several machines, rank counts and algorithm tables.

mod common;

use common::{Run, scratch};

/// A network on which all messages are flows that share links.
const FLOWS: &str = "star:l=1us,b=1Gbps,flowmin=0,level=flow";

#[track_caller]
fn holds(case: &str, ranks: &[u32]) {
    for &count in ranks {
        let run = || Run::program("collectives.c").arg(case).ranks(count);
        run().run().ok(count);
        run().machine("none").arg("-xsim-coll=linear").run().ok(count);
        run().machine("ring:l=1us,b=1Gbps").arg("-xsim-coll=openmpi").run().ok(count);
    }
}

#[test]
fn tables_by_release_give_the_same_data_on_nodes() {
    for table in
        ["mpich-3.2", "mpich-3.3", "mpich-4", "openmpi-3.1", "openmpi-4.0", "openmpi-4.1", "openmpi-5"]
    {
        for case in ["barrier", "broadcast", "gather_scatter", "allgather", "reductions", "nonblocking"] {
            for (ranks, node) in [(7, 2), (16, 4), (16, 8)] {
                let run = || Run::program("collectives.c").arg(case).ranks(ranks);
                let run =
                    run().machine(&format!("star:l=1us,b=1Gbps/star:{node}/rank:reduce=10GB/s,copy=50ns"));
                run.arg(format!("-xsim-coll={table}")).run().ok(ranks);
            }
        }
    }
}

#[test]
fn nobody_leaves_a_barrier_before_the_last_has_come() {
    holds("barrier", &[1, 2, 7, 16]);
}

#[test]
fn a_refused_collective_counts_as_called_and_fails_for_those_who_need_its_data() {
    // On several processes each must have another member, who knows the call (docs/limitations.md): 2 and 4
    // processes divide these.
    let several = std::env::var_os("PROCESSES").is_some();
    for ranks in if several { vec![8, 16] } else { vec![2, 3, 7, 16] } {
        for wrong in [0, 1, ranks - 1] {
            let run = || Run::program("refused.c").arg(wrong.to_string()).ranks(ranks);
            run().run().ok(ranks);
            run().arg("-xsim-coll-events").run().ok(ranks);
            run().machine("none").arg("-xsim-coll=linear").run().ok(ranks);
            run().machine("ring:l=1us,b=1Gbps").arg("-xsim-coll=openmpi").run().ok(ranks);
            run().machine("star:l=1us,b=1Gbps/rank:o_send=1us,o_recv=2us,gap=3us").run().ok(ranks);
        }
    }
}

#[test]
fn a_broadcast_reaches_everybody() {
    holds("broadcast", &[1, 2, 7, 16]);
}

#[test]
fn gather_and_scatter_keep_rank_order() {
    holds("gather_scatter", &[1, 2, 7, 16]);
}

#[test]
fn varying_counts_leave_gaps_alone() {
    holds("varying", &[1, 2, 7, 16]);
}

#[test]
fn a_persistent_collective_keeps_its_counts() {
    holds("persistent_arrays", &[1, 2, 7, 16]);
}

#[test]
fn persistent_collectives_start_in_any_order() {
    let file = scratch("overheads").join("machine.toml");
    std::fs::write(
        &file,
        "network = \"star:l=1us,b=1Gbps\"\n[overheads]\nsend = \"100ns\"\ngap = \"10ns\"\n",
    )
    .unwrap();
    for way in ["-xsim-coll-events=on", "-xsim-coll-events=off"] {
        for machine in
            ["star:l=1us,b=1Gbps", file.to_str().unwrap(), "star:l=1us,b=1Gbps,level=packet", FLOWS]
        {
            Run::program("collectives.c")
                .arg("persistent_orders")
                .ranks(7)
                .arg(way)
                .machine(machine)
                .run()
                .ok(7);
        }
    }
    holds("persistent_orders", &[1, 2, 7, 16]);
}

#[test]
fn allgather_gives_everybody_everything() {
    holds("allgather", &[1, 2, 7, 16]);
}

#[test]
fn alltoall_transposes() {
    holds("alltoall", &[1, 2, 7, 16]);
}

#[test]
fn predefined_operations_reduce() {
    holds("reductions", &[1, 2, 7, 16]);
}

#[test]
fn a_user_operation_that_does_not_commute_is_applied_in_rank_order() {
    holds("user_operations", &[1, 2, 7, 16]);
}

#[test]
fn scans_reduce_the_ranks_before() {
    holds("scans", &[1, 2, 7, 16]);
}

#[test]
fn reduce_scatter_gives_each_its_part() {
    holds("reduce_scatter", &[1, 2, 7, 16]);
}

#[test]
fn nonblocking_collectives_go_on_together() {
    holds("nonblocking", &[1, 2, 7, 16]);
}

#[test]
fn a_root_leaves_a_broadcast_before_the_others_come() {
    holds("root_leaves_early", &[2, 7, 16]);
}

#[test]
fn a_contributor_leaves_a_reduction_before_the_root_comes() {
    holds("contributor_leaves_early", &[2, 7, 16]);
}

#[test]
fn a_member_without_blocks_leaves_an_alltoallv_before_the_others_come() {
    // A pairwise exchange, as in Open MPI, has a message for everybody.
    for table in ["-xsim-coll=mpich", "-xsim-coll=linear"] {
        Run::program("collectives.c").arg("bystander_leaves_early").ranks(7).arg(table).run().ok(7);
    }
}

#[test]
fn who_has_no_part_in_a_rooted_collective_between_groups_leaves_at_once() {
    holds("bystanders_of_the_root_leave_early", &[3, 7, 16]);
}

#[test]
fn who_expects_less_than_is_sent_is_told_so() {
    holds("uneven_sizes_must_agree", &[3, 7, 16]);
}

#[test]
fn the_two_sides_may_use_different_types() {
    holds("with_datatypes", &[1, 2, 7]);
}

#[test]
fn parts_of_the_world_have_collectives_of_their_own() {
    holds("on_parts", &[3, 7, 16]);
}
