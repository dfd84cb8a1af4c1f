//! Cost of computing how long a message takes: `cargo bench -p xsim-network`.

use network::{Endpoint, Machine};
use std::hint::black_box;
use std::time::Instant;

const NETWORKS: [(&str, u32); 14] = [
    ("none", 1 << 20),
    ("default", 1 << 20),
    ("star:l=25us,b=1.1Gbps", 1 << 20),
    ("ring:l=1us,b=1Gbps", 1 << 20),
    ("mesh:1024x1024,l=1us,b=1Gbps", 1 << 20),
    ("torus:128x128x64,l=1us,b=1Gbps", 1 << 20),
    ("tree:degree=2,l=1us,b=1Gbps", 1 << 20),
    ("tree:degree=3,l=1us,b=1Gbps", 1 << 20),
    ("torus-dualcore", 1 << 20),
    ("star:l=1us/mesh:2x2,l=100ns/mesh:8x8,l=1ns", 1 << 20),
    ("twisted:16x16x16,l=1us", 4096),
    ("twisted:64x64x64,l=1us", 1 << 18),
    ("twisted:8x8x512,l=1us", 1 << 15),
    ("twisted:64x64x64,search=bounded,l=1us", 1 << 18),
];

/// Nanoseconds that this thread has run: other programs on the host do not count.
fn cpu_time() -> u64 {
    let fields = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    fields
        .split(' ')
        .next()
        .and_then(|field| field.parse().ok())
        .expect("Linux says how long a thread has run")
}

/// Nanoseconds of processor time a call.
fn measure(specification: &str, ranks: u32, near: bool) -> f64 {
    let built = Machine::parse(specification)
        .and_then(|machine| machine.build(ranks))
        .expect("the networks above are right");
    let network = built.network.formula().expect("the networks above are formulas");
    let mut state = 1u64;
    let mut pairs = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let source = (state >> 33) as u32 % ranks;
        let other =
            if near { (source + 1 + (state >> 20) as u32 % 8) % ranks } else { (state >> 13) as u32 % ranks };
        (Endpoint(source), Endpoint(other), state & 0xffff)
    };
    let pairs: Vec<_> = (0..1 << 14).map(|_| pairs()).collect();
    // Networks that remember pairs are asked once before.
    let first = Instant::now();
    for &(source, destination, bytes) in pairs.iter().take_while(|_| first.elapsed().as_secs() < 5) {
        black_box(network.latency(source, destination, bytes));
    }
    let (start, begin, mut calls) = (Instant::now(), cpu_time(), 0u64);
    'time: loop {
        for some in pairs.chunks(256) {
            for &(source, destination, bytes) in some {
                black_box(network.latency(black_box(source), destination, bytes));
            }
            calls += some.len() as u64;
            if start.elapsed().as_millis() >= 200 {
                break 'time;
            }
        }
    }
    (cpu_time() - begin) as f64 / calls as f64
}

fn main() {
    println!("{:<50} {:>10} {:>12} {:>12}", "network", "ranks", "near, ns", "random, ns");
    for (specification, ranks) in NETWORKS {
        let [near, random] = [true, false].map(|near| measure(specification, ranks, near));
        println!("{specification:<50} {ranks:>10} {near:>12.1} {random:>12.1}");
    }
}
