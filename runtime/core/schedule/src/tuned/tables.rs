//! The thresholds of Open MPI's tuned component from 4.1 on, as of its main branch (6.1.0a1, commit 8efebee7,
//! ompi/mca/coll/tuned/coll_tuned_decision_fixed.c, the `*_intra_dec_fixed` functions), written as data.

/// Rows by the number of members: the first row whose first number is above it applies. Within it, by bytes
/// likewise.
// Rows and not conditions, so that each can be held against its source, and a new release of Open MPI changes
// numbers alone.
pub(super) type Table = &'static [(u32, &'static [(u64, &'static str)])];

/// No limit.
const ALL: u32 = u32::MAX;
/// No limit.
const REST: u64 = u64::MAX;

const BINARY: &str = "binary";
const BINOMIAL: &str = "binomial";
const BRUCK: &str = "bruck";
const BUTTERFLY: &str = "butterfly";
const CHAIN: &str = "chain";
const DISSEMINATION: &str = "dissemination";
const DOUBLING: &str = "recursive-doubling";
const HALVING: &str = "recursive-halving";
const IN_ORDER_BINARY: &str = "in-order-binary";
const KNOMIAL: &str = "knomial";
const LINEAR: &str = "linear";
const NEIGHBOR: &str = "neighbor-exchange";
const PAIRWISE: &str = "pairwise";
const PIPELINE: &str = "pipeline";
const RABENSEIFNER: &str = "rabenseifner";
const REDUCE_BCAST: &str = "reduce-bcast";
const REDUCE_SCATTERV: &str = "reduce-scatterv";
const RING: &str = "ring";
const SCATTER_DOUBLING: &str = "scatter-recursive-doubling-allgather";
const SPLIT_BINARY: &str = "split-binary";
const TREE: &str = "tree";

/// MPI_Allreduce, operations that do not commute.
#[rustfmt::skip]
pub(super) const ALLREDUCE_ORDERED: Table = &[
    (4, &[(131_072, DOUBLING), (REST, LINEAR)]),
    (8, &[(REST, DOUBLING)]),
    (16, &[(1_048_576, DOUBLING), (REST, REDUCE_BCAST)]),
    (128, &[(REST, DOUBLING)]),
    (256, &[(131_072, REDUCE_BCAST), (524_288, DOUBLING), (REST, REDUCE_BCAST)]),
    (512, &[(4096, REDUCE_BCAST), (524_288, DOUBLING), (REST, REDUCE_BCAST)]),
    (ALL, &[(2048, REDUCE_BCAST), (REST, DOUBLING)]),
];

/// MPI_Allreduce.
#[rustfmt::skip]
pub(super) const ALLREDUCE: Table = &[
    (4, &[(8, RING), (4096, DOUBLING), (8192, RING), (16_384, DOUBLING), (262_144, RING),
        (REST, RABENSEIFNER)]),
    (8, &[(16, RING), (8192, DOUBLING), (REST, RABENSEIFNER)]),
    (16, &[(8192, DOUBLING), (REST, RABENSEIFNER)]),
    (32, &[(64, RING), (4096, DOUBLING), (REST, RABENSEIFNER)]),
    (64, &[(128, RING), (REST, RABENSEIFNER)]),
    (128, &[(262_144, DOUBLING), (REST, RABENSEIFNER)]),
    (256, &[(131_072, REDUCE_BCAST), (262_144, DOUBLING), (REST, RABENSEIFNER)]),
    (512, &[(4096, REDUCE_BCAST), (REST, RABENSEIFNER)]),
    (2048, &[(2048, REDUCE_BCAST), (16_384, DOUBLING), (REST, RABENSEIFNER)]),
    (4096, &[(2048, REDUCE_BCAST), (4096, RING), (16_384, DOUBLING), (REST, RABENSEIFNER)]),
    (ALL, &[(2048, REDUCE_BCAST), (16_384, RING), (32_768, DOUBLING), (REST, RABENSEIFNER)]),
];

/// MPI_Alltoall, by the bytes of a block.
#[rustfmt::skip]
pub(super) const ALLTOALL: Table = &[
    (3, &[(32_768, PAIRWISE), (262_144, LINEAR), (REST, PAIRWISE)]),
    (8, &[(524_288, LINEAR), (1_048_576, PAIRWISE), (REST, LINEAR)]),
    (16, &[(REST, LINEAR)]),
    (32, &[(4, LINEAR), (512, BRUCK), (REST, LINEAR)]),
    (64, &[(512, BRUCK), (REST, LINEAR)]),
    (256, &[(1024, BRUCK), (262_144, LINEAR), (REST, PAIRWISE)]),
    (512, &[(1024, BRUCK), (32_768, LINEAR), (REST, PAIRWISE)]),
    (1024, &[(512, BRUCK), (262_144, LINEAR), (REST, PAIRWISE)]),
    (2048, &[(512, BRUCK), (REST, LINEAR)]),
    (4096, &[(1024, BRUCK), (REST, LINEAR)]),
    (ALL, &[(2048, BRUCK), (REST, LINEAR)]),
];

/// MPI_Alltoallv.
#[rustfmt::skip]
pub(super) const ALLTOALLV: Table = &[
    (4, &[(REST, PAIRWISE)]),
    (64, &[(REST, LINEAR)]),
    (128, &[(REST, PAIRWISE)]),
    (256, &[(REST, LINEAR)]),
    (1024, &[(REST, PAIRWISE)]),
    (ALL, &[(REST, LINEAR)]),
];

/// MPI_Barrier.
#[rustfmt::skip]
pub(super) const BARRIER: Table = &[
    (4, &[(REST, DOUBLING)]),
    (8, &[(REST, LINEAR)]),
    (64, &[(REST, DOUBLING)]),
    (256, &[(REST, DISSEMINATION)]),
    (512, &[(REST, TREE)]),
    (1024, &[(REST, DISSEMINATION)]),
    (4096, &[(REST, TREE)]),
    (ALL, &[(REST, DISSEMINATION)]),
];

/// MPI_Bcast.
#[rustfmt::skip]
pub(super) const BCAST: Table = &[
    (4, &[(32, PIPELINE), (256, BINARY), (512, PIPELINE), (1024, KNOMIAL), (32_768, LINEAR),
        (131_072, BINARY), (262_144, CHAIN), (524_288, LINEAR), (1_048_576, BINOMIAL), (REST, BINARY)]),
    (8, &[(64, BINARY), (128, BINOMIAL), (2048, BINARY), (8192, BINOMIAL), (1_048_576, LINEAR),
        (REST, CHAIN)]),
    (16, &[(8, KNOMIAL), (64, BINARY), (4096, KNOMIAL), (16_384, BINARY), (32_768, BINOMIAL),
        (REST, LINEAR)]),
    (32, &[(4096, KNOMIAL), (1_048_576, BINOMIAL), (REST, SCATTER_DOUBLING)]),
    (64, &[(2048, BINOMIAL), (REST, KNOMIAL)]),
    (128, &[(REST, KNOMIAL)]),
    (256, &[(2, BINOMIAL), (16_384, BINARY), (32_768, LINEAR), (65_536, BINARY), (REST, KNOMIAL)]),
    (1024, &[(16_384, KNOMIAL), (32_768, SPLIT_BINARY), (REST, KNOMIAL)]),
    (2048, &[(524_288, KNOMIAL), (REST, SCATTER_DOUBLING)]),
    (4096, &[(262_144, KNOMIAL), (REST, SCATTER_DOUBLING)]),
    (ALL, &[(8192, KNOMIAL), (16_384, BINARY), (262_144, KNOMIAL), (REST, SCATTER_DOUBLING)]),
];

/// MPI_Reduce, operations that do not commute.
#[rustfmt::skip]
pub(super) const REDUCE_ORDERED: Table = &[
    (4, &[(8, IN_ORDER_BINARY), (REST, LINEAR)]),
    (8, &[(REST, LINEAR)]),
    (16, &[(1024, IN_ORDER_BINARY), (8192, LINEAR), (16_384, IN_ORDER_BINARY), (262_144, LINEAR),
        (REST, IN_ORDER_BINARY)]),
    (128, &[(REST, IN_ORDER_BINARY)]),
    (256, &[(512, IN_ORDER_BINARY), (1024, LINEAR), (REST, IN_ORDER_BINARY)]),
    (ALL, &[(REST, IN_ORDER_BINARY)]),
];

/// MPI_Reduce.
#[rustfmt::skip]
pub(super) const REDUCE: Table = &[
    (4, &[(8, RABENSEIFNER), (16, BINARY), (32, PIPELINE), (262_144, LINEAR), (524_288, PIPELINE),
        (1_048_576, CHAIN), (REST, PIPELINE)]),
    (8, &[(4096, BINARY), (65_536, CHAIN), (262_144, BINOMIAL), (524_288, LINEAR), (1_048_576, BINOMIAL),
        (REST, LINEAR)]),
    (16, &[(8192, BINARY), (REST, BINOMIAL)]),
    (32, &[(4096, BINARY), (REST, BINOMIAL)]),
    (256, &[(REST, BINOMIAL)]),
    (512, &[(8192, BINOMIAL), (16_384, IN_ORDER_BINARY), (REST, BINOMIAL)]),
    (2048, &[(REST, BINOMIAL)]),
    (4096, &[(512, BINOMIAL), (1024, IN_ORDER_BINARY), (8192, BINOMIAL), (16_384, IN_ORDER_BINARY),
        (REST, BINOMIAL)]),
    (ALL, &[(16, BINOMIAL), (32, IN_ORDER_BINARY), (1024, BINOMIAL), (2048, IN_ORDER_BINARY),
        (8192, BINOMIAL), (16_384, IN_ORDER_BINARY), (REST, BINOMIAL)]),
];

/// MPI_Reduce_scatter, by the total.
#[rustfmt::skip]
pub(super) const REDUCE_SCATTER: Table = &[
    (4, &[(65_536, RING), (131_072, BUTTERFLY), (REST, RING)]),
    (8, &[(8, REDUCE_SCATTERV), (262_144, HALVING), (REST, RING)]),
    (32, &[(262_144, HALVING), (REST, RING)]),
    (64, &[(64, REDUCE_SCATTERV), (2048, HALVING), (524_288, BUTTERFLY), (REST, RING)]),
    (128, &[(256, REDUCE_SCATTERV), (512, HALVING), (2048, BUTTERFLY), (4096, HALVING), (REST, BUTTERFLY)]),
    (256, &[(256, REDUCE_SCATTERV), (512, HALVING), (REST, BUTTERFLY)]),
    (512, &[(256, REDUCE_SCATTERV), (1024, HALVING), (REST, BUTTERFLY)]),
    (1024, &[(512, REDUCE_SCATTERV), (2048, HALVING), (8192, BUTTERFLY), (16_384, HALVING),
        (REST, BUTTERFLY)]),
    (2048, &[(512, REDUCE_SCATTERV), (4096, HALVING), (16_384, BUTTERFLY), (32_768, HALVING),
        (REST, BUTTERFLY)]),
    (4096, &[(512, REDUCE_SCATTERV), (4096, HALVING), (REST, BUTTERFLY)]),
    (ALL, &[(1024, REDUCE_SCATTERV), (8192, HALVING), (REST, BUTTERFLY)]),
];

/// MPI_Reduce_scatter_block, by the bytes of a block.
#[rustfmt::skip]
pub(super) const REDUCE_SCATTER_BLOCK: Table = &[
    (4, &[(4, DOUBLING), (8, BUTTERFLY), (16, HALVING), (128, BUTTERFLY), (256, HALVING), (4096, BUTTERFLY),
        (8192, HALVING), (131_072, BUTTERFLY), (REST, REDUCE_SCATTERV)]),
    (8, &[(8, HALVING), (32, DOUBLING), (256, BUTTERFLY), (8192, HALVING), (16_384, BUTTERFLY),
        (1_048_576, HALVING), (REST, REDUCE_SCATTERV)]),
    (16, &[(4, REDUCE_SCATTERV), (32, HALVING), (128, BUTTERFLY), (524_288, HALVING),
        (4_194_304, REDUCE_SCATTERV), (REST, BUTTERFLY)]),
    (32, &[(32, REDUCE_SCATTERV), (524_288, HALVING), (2_097_152, REDUCE_SCATTERV), (4_194_304, HALVING),
        (REST, BUTTERFLY)]),
    (ALL, &[(4, HALVING), (16, REDUCE_SCATTERV), (65_536, BUTTERFLY), (262_144, REDUCE_SCATTERV),
        (REST, BUTTERFLY)]),
];

/// MPI_Allgather, by the bytes of a block.
#[rustfmt::skip]
pub(super) const ALLGATHER: Table = &[
    (32, &[(REST, DOUBLING)]),
    (64, &[(1024, DOUBLING), (65_536, NEIGHBOR), (REST, RING)]),
    (128, &[(512, DOUBLING), (65_536, NEIGHBOR), (REST, RING)]),
    (256, &[(512, DOUBLING), (131_072, NEIGHBOR), (524_288, RING), (1_048_576, NEIGHBOR), (REST, RING)]),
    (512, &[(32, DOUBLING), (128, BRUCK), (1024, DOUBLING), (131_072, NEIGHBOR), (524_288, RING),
        (1_048_576, NEIGHBOR), (REST, RING)]),
    (1024, &[(64, DOUBLING), (256, BRUCK), (2048, DOUBLING), (REST, NEIGHBOR)]),
    (2048, &[(4, DOUBLING), (8, BRUCK), (16, DOUBLING), (32, BRUCK), (256, DOUBLING), (512, BRUCK),
        (4096, DOUBLING), (REST, NEIGHBOR)]),
    (4096, &[(32, BRUCK), (128, DOUBLING), (512, BRUCK), (4096, DOUBLING), (REST, NEIGHBOR)]),
    (ALL, &[(2, DOUBLING), (8, BRUCK), (16, DOUBLING), (512, BRUCK), (4096, DOUBLING), (REST, NEIGHBOR)]),
];

/// MPI_Allgatherv, by the average block.
#[rustfmt::skip]
pub(super) const ALLGATHERV: Table = &[
    (3, &[(REST, RING)]),
    (8, &[(256, LINEAR), (4096, NEIGHBOR), (8192, RING), (16_384, NEIGHBOR), (262_144, BRUCK),
        (REST, NEIGHBOR)]),
    (16, &[(1024, LINEAR), (REST, BRUCK)]),
    (32, &[(128, LINEAR), (262_144, BRUCK), (REST, RING)]),
    (64, &[(256, LINEAR), (8192, BRUCK), (REST, RING)]),
    (128, &[(256, LINEAR), (4096, BRUCK), (REST, RING)]),
    (256, &[(1024, BRUCK), (65_536, NEIGHBOR), (REST, RING)]),
    (512, &[(1024, BRUCK), (REST, RING)]),
    (1024, &[(512, BRUCK), (1024, LINEAR), (4096, BRUCK), (1_048_576, NEIGHBOR), (REST, RING)]),
    (ALL, &[(4096, BRUCK), (REST, NEIGHBOR)]),
];

/// MPI_Gather, by the bytes of a block.
#[rustfmt::skip]
pub(super) const GATHER: Table = &[
    (4, &[(4, LINEAR), (32_768, BINOMIAL), (65_536, LINEAR), (131_072, BINOMIAL), (REST, LINEAR)]),
    (8, &[(1024, BINOMIAL), (8192, LINEAR), (32_768, BINOMIAL), (REST, LINEAR)]),
    (256, &[(REST, BINOMIAL)]),
    (512, &[(2048, BINOMIAL), (8192, LINEAR), (REST, BINOMIAL)]),
    (ALL, &[(REST, BINOMIAL)]),
];

/// MPI_Scatter, by the bytes of a block.
#[rustfmt::skip]
pub(super) const SCATTER: Table = &[
    (4, &[(REST, LINEAR)]),
    (8, &[(2048, BINOMIAL), (4096, LINEAR), (8192, BINOMIAL), (REST, LINEAR)]),
    (32, &[(16_384, BINOMIAL), (REST, LINEAR)]),
    (64, &[(512, BINOMIAL), (8192, LINEAR), (16_384, BINOMIAL), (REST, LINEAR)]),
    (ALL, &[(512, BINOMIAL), (REST, LINEAR)]),
];
