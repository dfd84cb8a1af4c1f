//! Cost of a rank before it does anything, counted byte by byte.

use mpi::wire::Wire;
use mpi::{Mpi, Setup};
use network::Machine;
use stats_alloc::{INSTRUMENTED_SYSTEM, StatsAlloc};
use std::alloc::System;

#[global_allocator]
static COUNTING: &StatsAlloc<System> = &INSTRUMENTED_SYSTEM;

fn in_use() -> usize {
    let stats = COUNTING.stats();
    stats.bytes_allocated - stats.bytes_deallocated
}

/// Returns the bytes that a world of so many ranks holds.
fn held(ranks: u32) -> usize {
    let before = in_use();
    let built = Machine::parse("star:l=0.5us,b=100Gbps").unwrap().build(ranks).unwrap();
    let mpi = Mpi::new(Setup::new(ranks, Wire::new(built, 1), &["MPI_Send"]));
    let held = in_use() - before;
    drop(mpi);
    held
}

#[test]
fn an_idle_rank_takes_at_most_88_bytes_of_the_world() {
    // With 8 bytes for the place of its stack and 4 for that of its globals: 100.
    let one = held(1);
    assert!(one < 1 << 20, "one rank takes {one} bytes");
    for ranks in [1_000, 1_000_000] {
        let each = (held(ranks) - one) as f64 / f64::from(ranks - 1);
        assert!(each <= 88.0, "a rank of {ranks} takes {each} bytes");
    }
}
