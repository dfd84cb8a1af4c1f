//! Small networks of every topology, and the examples on them.

use super::{Output, Run, compile};

/// Ranks of the examples.
pub const RANKS: u32 = 16;

/// One network of every topology, with at least [`RANKS`] endpoints.
pub const NETWORKS: [&str; 10] = [
    "fattree:m=4,n=3",
    "taperedtree:down=4x4,up=2",
    "torus:4x4",
    "mesh:4x4",
    "twistedtorus:4x4,twist=2",
    "dragonfly:p=2,a=4,h=2",
    "dragonflyplus:p=2,a=3,h=2",
    "slimfly:q=5",
    "hyperx:4x4",
    "star:n=16",
];

/// Runs an example of the repository on a machine.
pub fn example(name: &str, machine: &str, args: &[&str]) -> Output {
    let run = Run::of(compile(&format!("examples/c/{name}.c"), &[])).ranks(RANKS).machine(machine);
    args.iter().fold(run, |run, arg| run.arg(*arg)).run().success()
}

/// Returns bytes and microseconds of each line of the ping-pong.
pub fn pingpong_rows(output: &Output) -> Vec<[f64; 2]> {
    let row = |line: &str| {
        let mut numbers = line.split_whitespace().map(|word| word.parse().unwrap());
        std::array::from_fn(|_| numbers.next().unwrap())
    };
    output.stdout.lines().skip(1).map(row).collect()
}

/// Returns the number that follows `before` in what was printed.
#[track_caller]
pub fn number(output: &Output, before: &str) -> f64 {
    let rest = output.stdout.split(before).nth(1).unwrap_or_else(|| panic!("no '{before}': {output}"));
    rest.split_whitespace().next().unwrap().trim_end_matches(',').parse().unwrap()
}
