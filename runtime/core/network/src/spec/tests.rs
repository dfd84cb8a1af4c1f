//! The grammar: what it reads, how it prints, and where its errors point.

use super::*;
use crate::analytic::tests::any_level;
use crate::machine::Machine;
use proptest::prelude::*;

#[test]
fn sizes_come_from_the_ranks_where_they_are_open() {
    for (specification, ranks, built) in [
        ("star:l=1us,b=1Gbps", 10, "star:10,l=1us,b=1Gbps"),
        ("star:16,l=1us,b=1Gbps", 10, "star:16,l=1us,b=1Gbps"),
        ("tree", 10, "tree:10,l=500ns,b=100Gbps"),
        ("mesh", 100, "mesh:10x10,l=500ns,b=100Gbps"),
        ("torus", 1000, "torus:10x10x10,l=500ns,b=100Gbps"),
        ("mesh:1d,l=0", 5, "mesh:5,l=0s,b=100Gbps"),
        ("mesh:32xn", 100, "mesh:32x4,l=500ns,b=100Gbps"),
        (
            "torus:8x8x*,wrap=110/star:2",
            1000,
            "torus:8x8x8,wrap=110,l=500ns,b=100Gbps/star:2,l=500ns,b=100Gbps",
        ),
        ("mesh:4x4/star", 33, "mesh:4x4,l=500ns,b=100Gbps/star:3,l=500ns,b=100Gbps"),
        ("none", 7, "none:7"),
        (
            " star : 4 , l = 1us , b = 1GB/s / star : 2 , b = 2GB/s ",
            8,
            "star:4,l=1us,b=8Gbps/star:2,l=500ns,b=16Gbps",
        ),
    ] {
        let machine = Machine::parse(specification).unwrap_or_else(|e| panic!("{e}"));
        assert_eq!(machine.build(ranks).unwrap().specification, built);
    }
}

#[test]
fn ranks_per_node_are_those_below_a_place_of_the_outermost_level() {
    for (specification, expected) in [
        ("star:l=1us", 1),
        ("star:l=1us/star:2", 2),
        ("star/mesh:2x2/star:3", 12),
        ("star/mesh:2x2/star:3/rank:place=round-robin", 1),
        ("star:n=8,level=packet/star:4", 4),
    ] {
        let built = Machine::parse(specification).unwrap().build(12).unwrap();
        assert_eq!(built.ranks_per_node, expected, "{specification}");
    }
}

#[test]
fn round_robin_deals_over_the_outermost_level() {
    let built = Machine::parse("star:3/mesh:2x1/star:2/rank:place=round-robin").unwrap().build(7).unwrap();
    assert_eq!([0, 1, 2, 3, 4, 5, 6].map(|rank| built.placement.endpoint(rank).0), [0, 4, 8, 1, 5, 9, 2]);
}

#[test]
fn the_rank_level_carries_overheads_placement_and_processor() {
    let machine = Machine::parse(
        "star:l=1us,b=1GB/s/rank:o_send=1us,o_recv=2us,gap=3ns,eager=64KiB,place=round-robin,proc=0.5,\
         flops=5Gflop/s",
    )
    .unwrap();
    assert_eq!(machine.network.to_string(), "star:l=1us,b=8Gbps");
    let overheads = machine.overheads;
    assert_eq!(
        (overheads.send, overheads.receive, overheads.gap),
        (Span::from_ns(1000), Span::from_ns(2000), Span::from_ns(3))
    );
    assert_eq!(overheads.eager_limit, Some(65536));
    assert_eq!((machine.placement, machine.processor_factor), (crate::PlacementRule::RoundRobin, 0.5));
    assert_eq!(machine.flop_rate, Some(5e9));
}

#[test]
fn a_flop_rate_has_a_prefix_and_a_unit_if_wanted() {
    for text in [
        "2500000000",
        "2.5e9",
        "2.5G",
        "2.5Gf",
        "2.5 Gflops",
        "2.5Gflop/s",
        "2.5GFlops",
        "0.0025T",
        "2500000k",
    ] {
        assert_eq!(crate::flop_rate(text), Ok(2.5e9), "{text}");
    }
    for text in ["", "G", "0", "-1G", "1Q", "1g", "inf", "nan", "1e400", "5GB/s", "flops", "1 2", "Gflops"] {
        let why = crate::flop_rate(text).unwrap_err();
        assert!(why.contains("such as 5e9 or 5Gflops"), "{why}");
    }
    let why = Machine::parse("star/rank:flops=fast").unwrap_err().to_string();
    assert!(why.contains("'fast' is not a number of floating-point operations"), "{why}");
}

#[test]
fn a_misspelt_preset_hears_of_presets_and_files() {
    let error = Machine::parse("ethernt").unwrap_err().to_string();
    assert!(
        error.starts_with("expected a topology, a preset or a machine file, but found 'ethernt'; "),
        "{error}"
    );
    assert!(error.contains("did you mean 'ethernet'?"), "{error}");
    let error = Machine::parse("infiniband").unwrap_err().to_string();
    assert!(error.contains("one of none, star, ") && error.contains("slimfly"), "{error}");
    assert!(error.contains("`xsim presets` lists them") && error.contains(".toml, but found"), "{error}");
    let error = Machine::parse("fattree").unwrap_err().to_string();
    assert!(error.contains("needs m=") && !error.contains("preset"), "{error}");
}

#[test]
fn errors_point_at_the_character() {
    for (specification, caret, why) in [
        ("", 0, "expected a topology, one of none, "),
        ("strar:l=1us", 0, "found 'strar'"),
        ("star:l=1us,b=1Gbps/sta:2", 19, "found 'sta'"),
        ("star:l=1us/", 11, "found nothing"),
        ("star:l=1", 7, "unit is missing"),
        ("star:l=1us,b=fast", 13, "not a bandwidth"),
        ("star:l=1us,x=2", 11, "'x' is not an option of 'star'"),
        ("mesh:4x4,vcs=2", 9, "add level=packet"),
        ("star:16,,l=1us", 8, "found nothing"),
        ("star:l=1us,16", 11, "a size comes first"),
        ("star:l=1us,l=2us", 11, "given twice"),
        ("star:4x4", 7, "'star' has no dimensions"),
        ("star:-4", 5, "expected a size"),
        ("mesh:0x4", 5, "cannot be 0"),
        ("mesh:4x,l=1us", 7, "expected a size, but found ''"),
        ("mesh:4xnxn", 9, "only one side"),
        ("mesh:99d", 5, "only 1 to 32"),
        ("mesh:99999999999", 5, "expected a size"),
        ("torus:8x8x8,wrap=10", 17, "each of the 3 dimensions"),
        ("torus:8x8x8,wrap=102", 17, "digits 0 and 1 only"),
        ("ring:dir=3", 9, "a number from 1 to 2"),
        ("tree:degree=1", 12, "a number of at least 2"),
        ("star/ring", 5, "only one level"),
        ("none:l=1us", 5, "its options are: none"),
        ("rank:gap=1us", 0, "expected a topology before"),
        ("rank/star", 0, "comes last"),
        ("star/rank:eager=lots", 16, "number of bytes"),
        ("star/rank:place=file", 16, "block, round-robin or socket"),
        ("star/rank:proc=-1", 15, "not a factor"),
        ("star/rank:o=1us", 10, "'o' is not an option of 'rank'"),
        ("star/storage:servers=0", 21, "from 1 to 65536"),
        ("star/storage:stripe=none", 20, "number of bytes above 0"),
        ("star/storage:disks=2", 13, "'disks' is not an option of 'storage'"),
        ("star/storage:l=soon", 15, "'soon' is not a length of time"),
        ("star/storage:l=1us,l=1us", 19, "given twice"),
        ("storage/star", 0, "'storage' describes the file system and comes last"),
        ("étoile", 0, "found 'étoile'"),
        ("moebius:4,level=packet", 0, "'moebius' is not a packet network"),
        ("fattree:m=4,n=3,vcs=0,level=packet", 20, "vcs=0 is not between 1 and 128"),
        ("fattree:m=4,speed=8,level=packet", 12, "'speed' is not an option of 'fattree'"),
        ("fattree:m=4,l=1ns,n=3,l=2ns,level=packet", 22, "given twice"),
        ("torus:4x0,level=packet", 8, "a size cannot be 0; the size of 'torus' looks like 8x8x8"),
        ("torus:sides=4x0,level=packet", 14, "a size cannot be 0"),
        ("torus:4x4,sides=4x4,level=packet", 10, "'sides' is given twice"),
        ("fattree:16,m=4,n=3", 8, "'fattree' has no sides; its size is in m=, n="),
        (
            "dragonfly:p=2,a=4,h=two,level=packet",
            20,
            "expected a number of at least 1, but found 'two' (h: global links of a router)",
        ),
        ("torus:4x4,rings=bubbles,level=packet", 16, "expected one of bubble, dateline, but found 'bubbles'"),
        ("torus:4x4,rings=bubble,level=flow", 16, "rings=... is for packets; level=flow has neither"),
        ("torus:4x4,p=2", 10, "add level=packet or level=flow"),
        ("torus:4x4,level=formulas", 10, "did you mean 'level=formula'?"),
        ("ring:4,level=packet", 0, "'ring' is not a packet network"),
        ("star:4/fattree:m=4,n=2", 7, "can be a packet network; add level=formula"),
        ("fattree:m=4,n=2,vcs=1,level=formula", 16, "'vcs' is not an option of 'fattree'"),
        ("torus:4x4,l=soon,level=packet", 12, "'soon' is not a length of time"),
        ("torus:4x4,classes=2,weights=1:2,level=packet", 18, "exclude each other"),
        ("star:n=4,level=packet/star:2,l=soon", 31, "'soon' is not a length of time"),
        ("star:n=4,level=packet/mesh:4x,l=1us", 29, "expected a size"),
    ] {
        let error = Machine::parse(specification).unwrap_err();
        assert!(error.sentence().contains(why), "{specification}: {error}");
        assert_eq!(error.position(), Some(caret), "{specification}: {error}");
    }
}

#[test]
fn the_caret_stands_below_its_character() {
    let error = Machine::parse("star:l=1µs,b=x").unwrap_err().to_string();
    let lines: Vec<&str> = error.lines().collect();
    assert_eq!(lines[1..], ["  star:l=1µs,b=x", "               ^"]);
}

#[test]
fn a_network_smaller_than_the_ranks_says_both_numbers() {
    let error = Machine::parse("mesh:4x4").unwrap().build(20).unwrap_err().to_string();
    assert!(error.contains("has 16 endpoints, too few for 20 ranks"), "{error}");
    for specification in ["star", "star:n=4,level=packet"] {
        let error = Machine::parse(specification).unwrap().build(0).unwrap_err().to_string();
        assert!(error.contains("0 ranks"), "{error}");
    }
    let error = Machine::parse("mesh:65536x65536").unwrap().build(1).unwrap_err().to_string();
    assert!(error.contains("2^32"), "{error}");
    let error =
        Machine::parse("mesh:4294967295x4294967295x4294967295").unwrap().build(1).unwrap_err().to_string();
    assert!(error.contains("2^32"), "{error}");
}

#[test]
fn the_packet_level_is_left_to_itself() {
    let machine = Machine::parse("fattree:m=4,n=3,level=packet/rank:gap=1us").unwrap();
    let network = Box::new(crate::packet::parse("fattree:m=4,n=3,level=packet").unwrap());
    assert_eq!(machine.network, NetworkSpec::Packet { network, inside: Vec::new() });
    assert_eq!(machine.overheads.gap, Span::from_ns(1000));
    assert!(machine.build(16).unwrap().network.formula().is_none());
    assert!(
        Machine::parse("graph:file=/a/mesh/b.txt,level=packet").is_ok(),
        "a path's slashes are not levels'"
    );
    assert!(Machine::parse("fattree:speed=8,level=packet").is_err());
}

#[test]
fn the_manual_knows_every_topology_and_option() {
    let manual = include_str!("../../../../../docs/reference/machines.md");
    use crate::topology::{DetailLevel::Formula, TOPOLOGIES};
    for row in TOPOLOGIES.iter().filter(|row| row.level == Formula) {
        assert!(
            manual.contains(&format!("| `{}` |", row.name)),
            "docs/reference/machines.md has no row for {}",
            row.name
        );
        for key in row.keys.iter().filter(|key| key.level == Formula) {
            assert!(
                manual.contains(&format!("`{}=", key.name)),
                "docs/reference/machines.md does not explain {}= of {}",
                key.name,
                row.name
            );
        }
    }
    let models = include_str!("../../../../../docs/explanation/network-models.md");
    let rows =
        manual.lines().chain(models.lines()).filter(|line| line.starts_with("| `") && line.contains(':'));
    let examples = rows.filter_map(|line| line.split('`').nth(1));
    let mut read = 0;
    for example in examples.filter(|example| example.contains(':')) {
        Machine::parse(example).unwrap_or_else(|error| panic!("the manual: {error}"));
        read += 1;
    }
    assert!(read >= 12, "only {read} examples of the manual were read");
}

#[test]
fn the_manual_of_packets_knows_every_topology_and_option() {
    let manual = include_str!("../../../../../docs/reference/packets.md");
    let cells =
        manual.lines().filter_map(|line| line.strip_prefix("| `")).filter_map(|line| line.split('|').next());
    let examples: Vec<&str> =
        cells.flat_map(|cell| cell.split('`').step_by(2)).filter(|text| text.contains(':')).collect();
    for name in routed_topologies() {
        let example = examples.iter().find(|example| example.split(':').next() == Some(name));
        let example = example.unwrap_or_else(|| panic!("docs/reference/packets.md has no row for {name}"));
        crate::packet::parse(&example.replace(['M', 'N'], "4"))
            .unwrap_or_else(|error| panic!("docs/reference/packets.md: {error}"));
    }
    let all = manual
        .split("Every key: `")
        .nth(1)
        .and_then(|rest| rest.split('`').next())
        .expect("the list of keys");
    let listed: Vec<&str> = all.split_whitespace().collect();
    for (key, _) in crate::packet::COMMON_KEYS {
        assert!(listed.contains(&key), "docs/reference/packets.md does not list {key}");
    }
    assert_eq!(
        listed.len(),
        crate::packet::COMMON_KEYS.len(),
        "docs/reference/packets.md lists a key that is none"
    );
}

#[test]
fn what_only_building_finds_is_pointed_at_too() {
    for (specification, caret, why) in [
        ("fattree:m=7,n=3,level=packet", 10, "m=7 is impossible"),
        ("fattree:m=4,n=17,level=packet", 14, "n=17 is too high a tree"),
    ] {
        let error = Machine::parse(specification).unwrap().build(1).unwrap_err();
        assert!(error.sentence().contains(why), "{specification}: {error}");
        assert_eq!(error.position(), Some(caret), "{specification}: {error}");
    }
}

proptest! {
    #[test]
    fn a_printed_packet_network_is_the_same_machine(
        kind in prop::sample::select(vec![
            "torus:4x3",
            "mesh:2x2x2,p=2",
            "fattree:m=4,n=2",
            "dragonfly:p=1,a=2,h=1",
            "star:n=9",
            "hyperx:sides=3x2",
        ]),
        keys in prop::sample::subsequence(
            vec![
                "l=10ns",
                " b = 12.5GB/s ",
                "vcs=4",
                "buf=64KiB",
                "packet=1kB",
                "weights=3:1",
                "router=0ns",
                "credit=1us",
                "chunk=32",
                "nic=1Tbps",
                "outq=0",
            ],
            0..8,
        ),
        inside in prop::collection::vec(any_level(), 0..3),
        rank: bool,
        storage: bool,
    ) {
        let levels: Vec<String> = inside.into_iter().filter(|level| level.contains(':')).collect();
        let text: Vec<String> =
            [[&[kind], &keys[..], &["level=packet"]].concat().join(",")].into_iter().chain(levels).collect();
        let storage = if storage { "/storage:servers=3,stripe=65536,b=8Gbps,l=20us" } else { "" };
        let text = format!("{}{}{storage}", text.join("/"), if rank { "/rank:gap=1ns" } else { "" });
        let first = Machine::parse(&text).unwrap_or_else(|error| panic!("{error}"));
        let second = Machine::parse(&first.to_string()).unwrap_or_else(|error| panic!("{error}"));
        prop_assert_eq!(&second, &Machine { name: second.name.clone(), ..first });
        prop_assert_eq!(second.to_string(), second.name);
    }

    #[test]
    fn parser_never_panics(text in ".{0,60}") {
        let _ = Machine::parse(&text).map(|machine| machine.build(3));
    }

    #[test]
    fn parser_never_panics_on_near_misses(
        parts in prop::collection::vec(
            prop::sample::select(vec![
                "star",
                "ring",
                "mesh",
                "torus",
                "twisted",
                "tree",
                "none",
                "rank",
                ":",
                ",",
                "/",
                "=",
                "x",
                "n",
                "3d",
                "8",
                "0",
                "4294967295",
                "l",
                "b",
                "wrap",
                "dir",
                "degree",
                "jump",
                "search",
                "exact",
                "101",
                "1us",
                "1Gbps",
                "1GB/s",
                "inf",
                " ",
                "-",
                ".",
                "µ",
                "\n",
                "eager",
                "place",
                "level=packet",
            ]),
            0..14,
        ),
    ) {
        let _ = Machine::parse(&parts.concat())
            .map(|machine| machine.build(64))
            .map_err(|error| error.to_string());
    }

    #[test]
    fn a_whole_machine_reads_back(
        send in 0u64..9999,
        gap in 0u64..9,
        eager in prop::option::of(0u64..1 << 40),
        dealt: bool,
        factor in 0.0f64..9.0,
        rate in prop::option::of(1e-3f64..1e30),
    ) {
        let mut machine = Machine::parse("torus:4x4,l=1us/star:2").unwrap();
        machine.overheads = crate::Overheads {
            send: Span::from_ps(send),
            receive: Span::ZERO,
            gap: Span::from_ps(gap),
            eager_limit: eager,
            reduce: dealt.then(|| crate::Bandwidth::from_gbps(7)),
            copy: (!dealt).then(|| "3ns@9GB/s".parse().unwrap()),
        };
        machine.placement =
            if dealt { crate::PlacementRule::RoundRobin } else { crate::PlacementRule::Block };
        machine.processor_factor = factor;
        machine.flop_rate = rate;
        machine.name = machine.to_string();
        prop_assert_eq!(Machine::parse(&machine.name).unwrap(), machine);
    }

    #[test]
    fn printing_reads_back(levels in prop::collection::vec(any_level(), 1..4), open in any::<bool>()) {
        let specification = format!(
            "{}{}",
            if open { "torus:4x3xn,wrap=101,l=0.25us,b=0.1bps/" } else { "" },
            levels.join("/")
        );
        let first = Machine::parse(&specification).unwrap();
        let printed = first.network.to_string();
        let second = Machine::parse(&printed).unwrap();
        prop_assert_eq!(&first.network, &second.network);
        prop_assert_eq!(second.network.to_string(), printed);
        let ranks = if open { 5 } else { 1 };
        let built = first.build(ranks).unwrap();
        prop_assert_eq!(
            Machine::parse(&built.specification).unwrap().build(ranks).unwrap().specification,
            built.specification
        );
    }
}
