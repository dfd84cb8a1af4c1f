//! Decisions of the libraries themselves: their own decision functions were compiled by themselves and asked.

use super::*;

/// Collective, members, bytes as the function sees them, bytes of an element, whether the operation commutes,
/// algorithm, segment.
type Decision = (&'static str, u32, u64, u64, bool, &'static str, u64);

fn check(table: &str, decisions: &[Decision]) {
    let policy: Policy = table.parse().expect("a table");
    for &(collective, size, bytes, element, commutative, algorithm, segment) in decisions {
        let name = collective.trim_end_matches("_block");
        let irregular = collective == "reduce_scatter" || name.ends_with("erv") || name.ends_with("allv");
        let kind = Kind::ALL
            .into_iter()
            .find(|kind| kind.name() == name || irregular && name.strip_suffix('v') == Some(kind.name()))
            .expect("a collective");
        // A block's size here is the total there.
        let members = if collective == "reduce_scatter_block" { u64::from(size) } else { 1 };
        let bytes = bytes * members;
        let shape = Shape { irregular, element, commutative, ..shape(kind, size, bytes) };
        let pick = look_up(policy.base, &shape);
        assert_eq!(
            (pick.name, pick.parameters.segment),
            (algorithm, segment),
            "{table} {collective} of {size} members, {bytes} bytes in elements of {element}, {commutative}"
        );
    }
}

#[test]
fn open_mpi_3_1_and_4_0_decide_as_their_own_functions_do() {
    check("openmpi-3.1", EARLY);
    check("openmpi-4.0", EARLY);
}

#[test]
fn open_mpi_4_1_and_5_decide_as_their_own_functions_do() {
    check("openmpi-4.1", TABLES);
}

#[test]
fn temporary() {
    for (table, path) in [("openmpi-3.1", "o31"), ("openmpi-4.0", "o40"), ("openmpi-4.1", "o50"), ("openmpi", "o50")] {
        let text = std::fs::read_to_string(format!("/tmp/oracle/{path}.pts")).unwrap();
        let text: &'static str = Box::leak(text.into_boxed_str());
        let all: Vec<Decision> = text.lines().map(|line| {
            let f: Vec<&'static str> = line.split(' ').collect();
            (f[0], f[1].parse().unwrap(), f[2].parse().unwrap(), f[3].parse().unwrap(), f[4] == "1", f[5], f[6].parse().unwrap())
        }).collect();
        check(table, &all);
    }
}

/// Open MPI 3.1.6.
#[rustfmt::skip]
const EARLY: &[Decision] = &[
    ("allgather", 9, 2999, 1, true, "bruck", 0),
    ("allgather", 217, 32, 1, true, "bruck", 0),
    ("allgather", 64, 10001, 1, true, "neighbor-exchange", 0),
    ("allgather", 2882, 10000, 1, true, "neighbor-exchange", 0),
    ("allgather", 4, 12288, 1, true, "recursive-doubling", 0),
    ("allgather", 64, 4, 1, true, "recursive-doubling", 0),
    ("allgather", 65, 262145, 1, true, "ring", 0),
    ("allgather", 2733, 4096, 1, true, "ring", 0),
    ("allgatherv", 18, 200, 1, true, "bruck", 0),
    ("allgatherv", 2338, 12287, 1, true, "bruck", 0),
    ("allgatherv", 18, 370728, 1, true, "neighbor-exchange", 0),
    ("allgatherv", 2782, 262144, 1, true, "neighbor-exchange", 0),
    ("allgatherv", 17, 131071, 1, true, "ring", 0),
    ("allgatherv", 2049, 370727, 1, true, "ring", 0),
    ("allreduce", 12, 6000, 1, false, "recursive-doubling", 0),
    ("allreduce", 2047, 5999, 1, false, "recursive-doubling", 0),
    ("allreduce", 12, 199, 1, true, "recursive-doubling", 0),
    ("allreduce", 2016, 204, 4, true, "recursive-doubling", 0),
    ("allreduce", 12, 262144, 4, false, "reduce-bcast", 0),
    ("allreduce", 2048, 20480, 4, false, "reduce-bcast", 0),
    ("allreduce", 2766, 10000, 4, true, "reduce-bcast", 0),
    ("allreduce", 4096, 20488, 8, true, "reduce-bcast", 0),
    ("allreduce", 11, 10000, 8, true, "ring", 0),
    ("allreduce", 1398, 92160, 4, true, "ring", 0),
    ("alltoall", 129, 127, 1, true, "bruck", 0),
    ("alltoall", 3034, 65, 1, true, "bruck", 0),
    ("alltoall", 14, 2048, 1, true, "linear", 0),
    ("alltoall", 2232, 301, 1, true, "linear", 0),
    ("alltoall", 16, 3124, 1, true, "pairwise", 0),
    ("alltoall", 2321, 10001, 1, true, "pairwise", 0),
    ("alltoallv", 1085, 0, 1, true, "pairwise", 0),
    ("alltoallv", 3383, 0, 1, true, "pairwise", 0),
    ("barrier", 1047, 0, 1, true, "dissemination", 0),
    ("barrier", 3346, 0, 1, true, "dissemination", 0),
    ("barrier", 16, 0, 1, true, "recursive-doubling", 0),
    ("barrier", 1024, 0, 1, true, "recursive-doubling", 0),
    ("bcast", 18, 64, 1, true, "binomial", 0),
    ("bcast", 2216, 301, 1, true, "binomial", 0),
    ("bcast", 2, 8388609, 1, true, "pipeline", 131072),
    ("bcast", 8, 4194305, 1, true, "pipeline", 131072),
    ("bcast", 13, 4194304, 1, true, "pipeline", 16384),
    ("bcast", 15, 4194304, 1, true, "pipeline", 16384),
    ("bcast", 16, 8388608, 1, true, "pipeline", 65536),
    ("bcast", 17, 8388608, 1, true, "pipeline", 65536),
    ("bcast", 256, 370728, 1, true, "pipeline", 8192),
    ("bcast", 2799, 524287, 1, true, "pipeline", 8192),
    ("bcast", 16, 12289, 1, true, "split-binary", 1024),
    ("bcast", 2317, 20480, 1, true, "split-binary", 1024),
    ("bcast", 6, 370729, 1, true, "split-binary", 8192),
    ("bcast", 10, 1048576, 1, true, "split-binary", 8192),
    ("gather", 255, 2999, 1, true, "binomial", 0),
    ("gather", 2930, 201, 1, true, "binomial", 0),
    ("gather", 10, 20479, 1, true, "linear", 0),
    ("gather", 2049, 10000, 1, true, "linear", 0),
    ("reduce", 7, 92160, 4, true, "binary", 32768),
    ("reduce", 16, 262140, 4, true, "binary", 32768),
    ("reduce", 11, 296, 4, true, "binomial", 0),
    ("reduce", 2048, 512, 1, true, "binomial", 0),
    ("reduce", 14, 370732, 4, false, "in-order-binary", 0),
    ("reduce", 2031, 3000, 1, false, "in-order-binary", 0),
    ("reduce", 33, 6000, 1, true, "knomial", 1024),
    ("reduce", 2684, 6000, 8, true, "knomial", 1024),
    ("reduce", 3, 512, 1, false, "linear", 0),
    ("reduce", 8, 508, 4, false, "linear", 0),
    ("reduce", 3, 204, 4, true, "linear", 0),
    ("reduce", 6, 256, 1, true, "linear", 0),
    ("reduce", 17, 92160, 4, true, "pipeline", 1024),
    ("reduce", 128, 2097144, 8, true, "pipeline", 1024),
    ("reduce", 4, 524288, 4, true, "pipeline", 32768),
    ("reduce", 15, 370728, 4, true, "pipeline", 32768),
    ("reduce", 2, 370732, 4, true, "pipeline", 65536),
    ("reduce", 8, 4194304, 8, true, "pipeline", 65536),
    ("reduce_scatter", 16, 12, 4, true, "recursive-halving", 0),
    ("reduce_scatter", 2349, 200, 8, true, "recursive-halving", 0),
    ("reduce_scatter", 12, 370728, 4, false, "reduce-scatterv", 0),
    ("reduce_scatter", 1978, 6000, 8, false, "reduce-scatterv", 0),
    ("reduce_scatter", 7, 92156, 4, true, "ring", 0),
    ("reduce_scatter", 31, 20480, 4, true, "ring", 0),
    ("scatter", 128, 299, 1, true, "binomial", 0),
    ("scatter", 2956, 127, 1, true, "binomial", 0),
    ("scatter", 15, 3000, 1, true, "linear", 0),
    ("scatter", 2174, 20480, 1, true, "linear", 0),
];

/// Open MPI 5.0.8, whose decision file is that of 4.1.0 to 4.1.8.
#[rustfmt::skip]
const TABLES: &[Decision] = &[
    ("allgather", 1981, 299, 1, true, "bruck", 0),
    ("allgather", 3820, 199, 1, true, "bruck", 0),
    ("allgather", 604, 131072, 1, true, "neighbor-exchange", 0),
    ("allgather", 3255, 4194305, 1, true, "neighbor-exchange", 0),
    ("allgather", 9, 10000, 1, true, "recursive-doubling", 0),
    ("allgather", 446, 128, 1, true, "recursive-doubling", 0),
    ("allgather", 63, 262145, 1, true, "ring", 0),
    ("allgather", 257, 262143, 1, true, "ring", 0),
    ("allgatherv", 257, 299, 1, true, "bruck", 0),
    ("allgatherv", 3007, 8192, 1, true, "bruck", 0),
    ("allgatherv", 9, 4095, 1, true, "linear", 0),
    ("allgatherv", 31, 1613, 1, true, "linear", 0),
    ("allgatherv", 4, 12287, 1, true, "neighbor-exchange", 0),
    ("allgatherv", 7, 20481, 1, true, "neighbor-exchange", 0),
    ("allgatherv", 4, 32767, 1, true, "ring", 0),
    ("allgatherv", 65, 370729, 1, true, "ring", 0),
    ("allreduce", 2, 370728, 4, false, "linear", 0),
    ("allreduce", 3, 262136, 8, false, "linear", 0),
    ("allreduce", 12, 4194304, 1, true, "rabenseifner", 0),
    ("allreduce", 1286, 370728, 8, true, "rabenseifner", 0),
    ("allreduce", 10, 1023, 1, false, "recursive-doubling", 0),
    ("allreduce", 1193, 370736, 8, false, "recursive-doubling", 0),
    ("allreduce", 8, 200, 1, true, "recursive-doubling", 0),
    ("allreduce", 1024, 6000, 1, true, "recursive-doubling", 0),
    ("allreduce", 511, 2048, 1, false, "reduce-bcast", 0),
    ("allreduce", 3372, 200, 8, false, "reduce-bcast", 0),
    ("allreduce", 512, 1024, 1, true, "reduce-bcast", 0),
    ("allreduce", 3181, 252, 4, true, "reduce-bcast", 0),
    ("allreduce", 2, 65537, 1, true, "ring", 0),
    ("allreduce", 3, 131072, 8, true, "ring", 0),
    ("alltoall", 399, 301, 1, true, "bruck", 0),
    ("alltoall", 3074, 301, 1, true, "bruck", 0),
    ("alltoall", 13, 3846, 1, true, "linear", 0),
    ("alltoall", 2285, 12289, 1, true, "linear", 0),
    ("alltoall", 2, 370729, 1, true, "pairwise", 0),
    ("alltoall", 506, 92160, 1, true, "pairwise", 0),
    ("alltoallv", 1698, 0, 1, true, "linear", 0),
    ("alltoallv", 3621, 0, 1, true, "linear", 0),
    ("alltoallv", 394, 0, 1, true, "pairwise", 0),
    ("alltoallv", 780, 0, 1, true, "pairwise", 0),
    ("barrier", 616, 0, 1, true, "dissemination", 0),
    ("barrier", 4234, 0, 1, true, "dissemination", 0),
    ("barrier", 5, 0, 1, true, "linear", 0),
    ("barrier", 7, 0, 1, true, "linear", 0),
    ("barrier", 12, 0, 1, true, "recursive-doubling", 0),
    ("barrier", 32, 0, 1, true, "recursive-doubling", 0),
    ("barrier", 1669, 0, 1, true, "tree", 0),
    ("barrier", 3324, 0, 1, true, "tree", 0),
    ("bcast", 6, 512, 1, true, "binary", 0),
    ("bcast", 128, 12287, 1, true, "binary", 0),
    ("bcast", 13, 20481, 1, true, "binomial", 0),
    ("bcast", 20, 262143, 1, true, "binomial", 0),
    ("bcast", 2, 262143, 1, true, "chain", 0),
    ("bcast", 5, 1048576, 1, true, "chain", 0),
    ("bcast", 256, 32, 1, true, "knomial", 0),
    ("bcast", 2755, 18, 1, true, "knomial", 0),
    ("bcast", 4, 8192, 1, true, "linear", 0),
    ("bcast", 11, 370727, 1, true, "linear", 0),
    ("bcast", 2, 256, 1, true, "pipeline", 0),
    ("bcast", 3, 257, 1, true, "pipeline", 0),
    ("bcast", 2154, 262144, 1, true, "scatter-recursive-doubling-allgather", 0),
    ("bcast", 3800, 262144, 1, true, "scatter-recursive-doubling-allgather", 0),
    ("bcast", 512, 20479, 1, true, "split-binary", 0),
    ("bcast", 872, 20481, 1, true, "split-binary", 0),
    ("gather", 18, 6000, 1, true, "binomial", 0),
    ("gather", 2391, 200, 1, true, "binomial", 0),
    ("gather", 4, 6001, 1, true, "linear", 0),
    ("gather", 7, 92160, 1, true, "linear", 0),
    ("reduce", 8, 6244, 4, true, "binary", 0),
    ("reduce", 16, 3124, 1, true, "binary", 0),
    ("reduce", 32, 512, 1, true, "binomial", 0),
    ("reduce", 2259, 370727, 1, true, "binomial", 0),
    ("reduce", 4, 12504, 8, true, "chain", 0),
    ("reduce", 6, 20479, 1, true, "chain", 0),
    ("reduce", 31, 200, 1, false, "in-order-binary", 0),
    ("reduce", 2332, 524292, 4, false, "in-order-binary", 0),
    ("reduce", 2095, 10000, 1, true, "in-order-binary", 0),
    ("reduce", 3983, 10000, 4, true, "in-order-binary", 0),
    ("reduce", 3, 92160, 4, false, "linear", 0),
    ("reduce", 8, 92160, 8, false, "linear", 0),
    ("reduce", 2, 12280, 8, true, "linear", 0),
    ("reduce", 3, 20481, 1, true, "linear", 0),
    ("reduce", 2, 370728, 1, true, "pipeline", 0),
    ("reduce", 3, 370728, 1, true, "pipeline", 0),
    ("reduce", 3, 3, 1, true, "rabenseifner", 0),
    ("reduce_scatter", 353, 12287, 1, true, "butterfly", 0),
    ("reduce_scatter", 2930, 12288, 4, true, "butterfly", 0),
    ("reduce_scatter", 9, 516, 4, true, "recursive-halving", 0),
    ("reduce_scatter", 64, 504, 8, true, "recursive-halving", 0),
    ("reduce_scatter", 12, 92168, 8, false, "reduce-scatterv", 0),
    ("reduce_scatter", 1978, 6000, 8, false, "reduce-scatterv", 0),
    ("reduce_scatter", 918, 508, 4, true, "reduce-scatterv", 0),
    ("reduce_scatter", 3440, 300, 4, true, "reduce-scatterv", 0),
    ("reduce_scatter", 2, 2097153, 1, true, "ring", 0),
    ("reduce_scatter", 11, 262152, 8, true, "ring", 0),
    ("reduce_scatter_block", 128, 10000, 8, true, "butterfly", 0),
    ("reduce_scatter_block", 2612, 200, 8, true, "butterfly", 0),
    ("reduce_scatter_block", 4, 8, 8, true, "recursive-doubling", 0),
    ("reduce_scatter_block", 7, 20, 4, true, "recursive-doubling", 0),
    ("reduce_scatter_block", 8, 6256, 8, true, "recursive-halving", 0),
    ("reduce_scatter_block", 17, 3000, 1, true, "recursive-halving", 0),
    ("reduce_scatter_block", 14, 8, 8, false, "reduce-scatterv", 0),
    ("reduce_scatter_block", 2048, 511, 1, false, "reduce-scatterv", 0),
    ("reduce_scatter_block", 33, 92160, 4, true, "reduce-scatterv", 0),
    ("reduce_scatter_block", 3014, 8, 8, true, "reduce-scatterv", 0),
    ("scatter", 14, 3, 1, true, "binomial", 0),
    ("scatter", 1834, 511, 1, true, "binomial", 0),
    ("scatter", 33, 92160, 1, true, "linear", 0),
    ("scatter", 2582, 10000, 1, true, "linear", 0),
];
