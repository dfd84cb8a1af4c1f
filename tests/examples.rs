//! The examples give what their headers promise.

mod common;

use common::{Run, compile};

fn example(name: &str) -> Run {
    Run::of(compile(&format!("examples/c/{name}.c"), &[]))
}

#[test]
fn hello_says_hello_from_everybody() {
    for ranks in [1, 7] {
        let mut expected: Vec<String> =
            (0..ranks).map(|rank| format!("hello from rank {rank} of {ranks}")).collect();
        expected.sort_unstable();
        assert_eq!(example("hello").ranks(ranks).run().success().lines(), expected);
    }
}

#[test]
fn ring_counts_its_hops_and_takes_the_stated_time() {
    for ranks in [2, 5, 1000] {
        let output = example("ring").ranks(ranks).run().success();
        assert_eq!(
            output.stdout,
            format!("counter {} after 3 laps of {ranks} ranks\nmean hop 1.000320 us\n", 3 * ranks)
        );
    }
    example("ring").ranks(1).run().success();
}

#[test]
fn random_measures_the_mean_latency() {
    let output = example("random").machine("star:l=1us,b=1Gbps").ranks(32).run().success();
    assert_eq!(output.stdout, "messages 1024 between 32 ranks\nmean latency 2.032000 us\n");
    let output = example("random").machine("mesh:8x16,l=1us,b=1Gbps").ranks(128).run().success();
    let latency: f64 = output.stdout.split_whitespace().rev().nth(1).unwrap().parse().unwrap();
    // 16,384 samples with a deviation below 4 hops: four standard errors are 0.13.
    assert!((latency - 8.032).abs() < 0.13, "{output}");
    example("random").ranks(1).run().failure().says(&["at least 2 ranks"]);
}

#[test]
fn pingpong_follows_the_formula() {
    let output = example("pingpong").machine("star:l=25us,b=1Gbps").ranks(2).run().success();
    let rows: Vec<Vec<&str>> = output.stdout.lines().map(|line| line.split_whitespace().collect()).collect();
    assert_eq!(rows[1], ["0", "50.000", "0.00"]);
    assert_eq!(rows.last().unwrap()[..2], ["4194304", "33604.432"]);
}

#[test]
fn the_stencil_conserves_heat() {
    for ranks in [1, 2, 12, 27] {
        let output = example("stencil3d").arg("6").arg("4").ranks(ranks).run().success();
        assert!(output.stdout.starts_with("heat 1000.000000 maximum 92.200000\n"), "{output}");
    }
}

#[test]
fn pi_is_about_pi() {
    let output = example("pi").ranks(7).run().success();
    assert_eq!(output.stdout, "pi is about 3.140743, off by 0.000850\n");
}

#[test]
fn the_conjugate_gradient_converges() {
    for ranks in [1, 2, 7] {
        let output = example("cg").arg("64").ranks(ranks).run().success();
        assert!(output.stdout.starts_with("converged after 119 iterations, maximum 0.073628\n"), "{output}");
    }
}

#[test]
fn folded_ranks_share_their_field() {
    let output = example("folded").ranks(1000).run().success();
    assert_eq!(output.stdout, "1000 ranks swept 62.5 GiB 100 times\n");
}
