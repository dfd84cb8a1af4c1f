//! Memory that ranks share and blocks that are sampled: xsim.h, and SMPI's macros for them.

mod common;

use common::Run;

fn case(name: &str) -> Run {
    Run::program("folding.c").arg(name)
}

#[test]
fn ranks_share_a_block_for_each_place_and_size() {
    for ranks in [1, 5, 5000] {
        case("shared_memory").ranks(ranks).run().ok(ranks);
    }
    case("sizes").ranks(3).run().ok(3);
}

#[test]
fn memory_that_is_not_shared_is_not_freed() {
    case("wrong_free").ranks(1).run().says(&["rank 0: xsim_shared_free", "did not give"]).ok(1);
}

#[test]
fn sampled_blocks_cost_their_mean() {
    for ranks in [1, 4] {
        case("samples").ranks(ranks).run().ok(ranks);
    }
    case("waits").ranks(4).run().ok(4);
}

#[test]
fn measured_blocks_cost_about_what_they_took() {
    case("measured").arg("-xsim-compute=measured").run().ok(1);
}
