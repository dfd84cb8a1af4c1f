//! Memory that ranks share and blocks that are sampled: xsim.h, and SMPI's macros for them.

mod common;

use common::{Run, command, scratch};

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
fn ranks_share_parts_of_a_block() {
    for (ranks, globals) in [(1, "copy"), (5, "copy"), (100, "clone")] {
        case("partial").arg(format!("-xsim-globals={globals}")).ranks(ranks).run().ok(ranks);
    }
    let output = case("wrong_parts").ranks(2).run().failure();
    output.says(&["rank 0", "folding.c", "part 1 goes from byte 4096 to 12288 of 16384", "ascending order"]);
}

#[test]
fn stated_computation_takes_the_processors_time() {
    for [first, second] in
        [["-xsim-flops=2Gflops", "-xsim-proc=3"], ["-xsim-mn=star/rank:flops=7G", "-xsim-flops=2e9"]]
    {
        case("flops").arg(first).arg(second).ranks(2).run().ok(2);
    }
    case("flops").arg("-xsim-mn=star/rank:flops=2Gflop/s").ranks(2).run().ok(2);
    let output = case("no_flops").ranks(2).run().failure();
    output.says(&["rank 0", "1000000 floating-point operations", "-xsim-flops 5Gflops"]);
    case("wrong_delay").ranks(2).run().failure().says(&["smpi_execute cannot compute for -1 s"]);
}

#[test]
fn smpis_functions_have_their_meaning() {
    for globals in ["copy", "clone"] {
        case("names").arg(format!("-xsim-globals={globals}")).ranks(5).run().ok(5);
    }
}

#[test]
fn the_bench_can_be_stopped() {
    case("unmeasured").arg("-xsim-compute=measured").run().ok(1);
}

#[test]
fn what_smpi_has_beyond_does_not_compile() {
    for (call, why) in [
        ("smpi_replay_run(\"a\", 0, 0.0, \"b\")", "not replayed"),
        ("smpi_get_host_pstate()", "no energy model"),
    ] {
        let source = scratch("beyond").join("beyond.c");
        std::fs::write(&source, format!("#include <smpi/mpi.h>\nint main(void) {{ return {call}; }}\n"))
            .unwrap();
        let output =
            command(&["cc"]).arg(&source).arg("-o").arg(source.with_extension("out")).output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(
            !output.status.success() && said.contains("xsim has no smpi_") && said.contains(why),
            "{said}"
        );
    }
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
