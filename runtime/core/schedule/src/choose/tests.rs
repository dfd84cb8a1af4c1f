mod published;

use proptest::prelude::*;

use super::*;
use crate::model::{Case, reduces, run, shape};

fn chosen(shape: &Shape, policy: &str) -> &'static str {
    choose(shape, &policy.parse().expect("a policy")).name()
}

#[test]
fn mpich_thresholds_are_where_its_tuning_file_has_them() {
    let bcast = |size, bytes| chosen(&shape(Kind::Bcast, size, bytes), "mpich");
    assert_eq!(bcast(7, 1 << 30), "binomial");
    assert_eq!(bcast(8, 12_288), "binomial");
    assert_eq!(bcast(8, 12_289), "scatter-recursive-doubling-allgather");
    assert_eq!(bcast(9, 12_289), "scatter-ring-allgather");
    assert_eq!(bcast(8, 524_289), "scatter-ring-allgather");
    let allreduce =
        |size, bytes, element| chosen(&Shape { element, ..shape(Kind::Allreduce, size, bytes) }, "mpich");
    assert_eq!(allreduce(1000, 8, 8), "recursive-doubling");
    assert_eq!(allreduce(1000, 4088, 8), "recursive-doubling");
    assert_eq!(allreduce(1000, 4096, 8), "rabenseifner");
    let alltoall = |size, bytes| chosen(&shape(Kind::Alltoall, size, bytes), "mpich");
    assert_eq!([alltoall(8, 256), alltoall(7, 256), alltoall(8, 257)], ["bruck", "scattered", "scattered"]);
    assert_eq!(alltoall(8, 32_769), "pairwise");
    let allgather = |size, bytes| chosen(&shape(Kind::Allgather, size, bytes), "mpich");
    assert_eq!([allgather(8, 65_535), allgather(8, 65_536)], ["recursive-doubling", "ring"]);
    assert_eq!([allgather(10, 8_191), allgather(10, 8_192)], ["bruck", "ring"]);
}

#[test]
fn user_operations_are_not_halved_by_mpich() {
    let long = Shape { element: 8, ..shape(Kind::Reduce, 16, 1 << 20) };
    assert_eq!(chosen(&long, "mpich"), "rabenseifner");
    assert_eq!(chosen(&Shape { predefined: false, ..long }, "mpich"), "binomial");
}

/// Returns the choice of a table for members on nodes of `node`, by an operation that commutes or not.
fn on_nodes(
    table: &str,
    kind: Kind,
    (size, node): (u32, u32),
    bytes: u64,
    commutative: bool,
) -> &'static str {
    let element = if reduces(kind) { 8 } else { 1 };
    chosen(&Shape { node, commutative, element, ..shape(kind, size, bytes) }, table)
}

#[test]
fn mpich_composes_on_nodes_of_several_ranks_by_release() {
    let expect = |kind, nodes, bytes, names: [&str; 3]| {
        let tables = ["mpich-3.2", "mpich-3.3", "mpich-4"];
        assert_eq!(tables.map(|table| on_nodes(table, kind, nodes, bytes, true)), names, "{kind:?} {bytes}");
    };
    expect(Kind::Barrier, (64, 32), 0, ["two-level"; 3]);
    expect(Kind::Scan, (64, 32), 8, ["two-level"; 3]);
    for bytes in [8, 1 << 10, 1 << 20] {
        expect(Kind::Allreduce, (64, 32), bytes, ["smp", "smp-recursive-doubling", "smp"]);
    }
    expect(Kind::Reduce, (64, 32), 2048, ["smp"; 3]);
    expect(Kind::Reduce, (64, 32), 2056, ["smp", "smp", "smp-via-first"]);
    expect(Kind::Bcast, (6, 2), 1 << 30, ["smp"; 3]);
    expect(Kind::Bcast, (60, 20), 12_287, ["smp"; 3]);
    expect(Kind::Bcast, (60, 20), 12_289, ["scatter-ring-allgather"; 3]);
    expect(Kind::Bcast, (64, 32), 12_288, ["smp-pieces", "smp-node-first", "smp-node-first"]);
    expect(Kind::Bcast, (64, 32), 524_287, ["smp-pieces", "smp-node-first", "smp-node-first"]);
    expect(
        Kind::Bcast,
        (64, 32),
        524_288,
        ["scatter-ring-allgather", "scatter-ring-allgather", "scatter-recursive-doubling-allgather"],
    );
    // One node has one level, and so has a node of one.
    for nodes in [(32, 32), (64, 1)] {
        expect(Kind::Allreduce, nodes, 1 << 20, ["rabenseifner", "recursive-doubling", "rabenseifner"]);
        expect(Kind::Bcast, nodes, 1024, ["binomial"; 3]);
        expect(Kind::Reduce, nodes, 1024, ["binomial"; 3]);
    }
    assert_eq!(on_nodes("mpich-4", Kind::Allreduce, (64, 32), 1024, false), "rabenseifner");
    assert_eq!(on_nodes("mpich-4", Kind::Reduce, (64, 32), 1024, false), "binomial");
    assert_eq!(on_nodes("mpich", Kind::Allreduce, (64, 32), 1024, true), "rabenseifner");
}

#[test]
fn open_mpi_5_takes_han_on_several_nodes_and_else_the_tables_of_4_1() {
    let chosen = |kind, nodes, commutative| on_nodes("openmpi-5", kind, nodes, 1024, commutative);
    for kind in [Kind::Barrier, Kind::Bcast, Kind::Reduce, Kind::Allreduce, Kind::Allgather] {
        assert_eq!(chosen(kind, (64, 32), true), "han");
        for nodes in [(32, 32), (64, 1)] {
            assert_eq!(chosen(kind, nodes, true), on_nodes("openmpi-4.1", kind, nodes, 1024, true));
        }
    }
    // Nodes with different numbers of ranks.
    assert_eq!([Kind::Allreduce, Kind::Barrier].map(|kind| chosen(kind, (63, 32), true)), ["han"; 2]);
    assert_eq!(chosen(Kind::Reduce, (63, 32), true), "binomial");
    assert_eq!(chosen(Kind::Allreduce, (64, 32), false), "recursive-doubling");
}

#[test]
fn open_mpi_thresholds_are_where_its_decision_file_has_them() {
    let bcast = |size, bytes| chosen(&shape(Kind::Bcast, size, bytes), "openmpi");
    assert_eq!(
        [bcast(2, 31), bcast(2, 32), bcast(100, 5), bcast(600, 16_384)],
        ["pipeline", "binary", "knomial", "split-binary"]
    );
    let barrier = |size| chosen(&shape(Kind::Barrier, size, 0), "openmpi");
    assert_eq!(
        [barrier(3), barrier(4), barrier(8), barrier(64)],
        ["recursive-doubling", "linear", "recursive-doubling", "dissemination"]
    );
    assert_eq!([barrier(256), barrier(5000)], ["tree", "dissemination"]);
    // A ring where members have no element of their own is recursive doubling.
    let allreduce =
        |size, bytes| chosen(&Shape { element: 4, ..shape(Kind::Allreduce, size, bytes) }, "openmpi");
    assert_eq!([allreduce(3, 4), allreduce(3, 4096)], ["recursive-doubling", "ring"]);
}

#[test]
fn linear_takes_two_messages_a_member_for_an_allreduce() {
    for size in [2, 5, 64] {
        let shape = Shape { element: 16, ..shape(Kind::Allreduce, size, 16) };
        let cost = run(&*choose(&shape, &Base::Linear.into()), &Case::new(shape.clone(), |_, _| 0));
        assert_eq!(cost.messages, 2 * (u64::from(size) - 1));
    }
}

#[test]
fn rules_override_within_their_limits_and_where_supported() {
    let policy = Policy::from_toml(
        "base = 'openmpi'\n\
         [[rule]]\n\
         collective = 'allreduce'\n\
         algorithm = 'ring'\n\
         min-bytes = 100\n\
         max-ranks = 9\n",
    )
    .expect("a policy");
    let name = |size, bytes, commutative| {
        choose(&Shape { commutative, ..shape(Kind::Allreduce, size, bytes) }, &policy).name()
    };
    assert_eq!(name(9, 112, true), "ring");
    assert_eq!(name(9, 96, true), "recursive-doubling");
    assert_eq!(name(10, 112, true), "recursive-doubling");
    assert_eq!(name(9, 112, false), "recursive-doubling");
    assert_eq!(
        chosen(&shape(Kind::Bcast, 9, 5), "linear,bcast=knomial:fanout=3,bcast=binary:segment=1KiB"),
        "binary"
    );
}

#[test]
fn bad_policies_are_refused_with_what_there_is() {
    let refused = |text: &str| text.parse::<Policy>().expect_err("refused").to_string();
    assert!(refused("").contains("mpich, openmpi, linear"));
    assert!(refused("lam").contains("cannot be read as a file"));
    assert!(refused("mpich,ring").contains("neither a decision table"));
    for name in ["intelmpi", "Intel-2019", "impi,bcast=binomial", "mvapich2", "cray-mpich"] {
        assert!(refused(name).contains("has no decision table here: "), "{name}");
    }
    assert!(refused("openmpi-2.1").contains("no decision table 'openmpi-2.1'; take the nearest of mpich"));
    assert!(refused("allreduc=ring").contains("'allreduc' is not a collective; there are barrier, bcast"));
    assert!(
        refused("allreduce=rign")
            .contains("'rign' is not an algorithm for allreduce; there are recursive-doubling")
    );
    assert!(refused("bcast=chain:segment=big").contains("segment=BYTES"));
    let file = |text: &str| Policy::from_toml(text).expect_err("refused").to_string();
    assert!(file("base = 'lam'").contains("there are mpich, openmpi, linear"));
    assert!(file("[[rule]]\ncollective = 'bcast'").contains("algorithm"));
    assert!(file("bass = 'mpich'").contains("bass"));
}

proptest! {
    #[test]
    fn no_text_makes_the_parsers_panic(text in "[a-z_=:,. 0-9KiBM-]{0,60}") {
        let _ = text.parse::<Policy>();
        let _ = Policy::from_toml(&text);
    }

    /// Whatever the tables choose is right for the shape.
    #[test]
    fn every_choice_gives_the_right_result(
        kind in 0..Kind::ALL.len(),
        size in 1u32..40,
        root in 0u32..40,
        count in prop_oneof![0u64..20, 500u64..800],
        irregular: bool,
        commutative: bool,
        predefined: bool,
        node in 1u32..6,
        base in 0..Base::NAMES.len(),
    ) {
        let kind = Kind::ALL[kind];
        prop_assume!(kind != Kind::Neighbor);
        let rooted = matches!(kind, Kind::Bcast | Kind::Gather | Kind::Scatter | Kind::Reduce);
        let splits = matches!(
            kind,
            Kind::Gather | Kind::Scatter | Kind::Allgather | Kind::Alltoall | Kind::ReduceScatter
        );
        let per = if kind == Kind::ReduceScatter { u64::from(size) } else { 1 };
        let bytes = match kind {
            Kind::Barrier => 0,
            _ if reduces(kind) => count * 16 * per,
            _ => count,
        };
        let shape = Shape {
            root: if rooted { root % size } else { 0 },
            irregular: irregular && splits,
            commutative: commutative || !reduces(kind),
            predefined,
            node,
            ..shape(kind, size, bytes)
        };
        let case = Case::new(shape, |from, to| (u64::from(from) * 7 + u64::from(to) * 3) % (count + 1));
        run(&*choose(&case.shape, &Base::NAMES[base].1.into()), &case);
    }
}
