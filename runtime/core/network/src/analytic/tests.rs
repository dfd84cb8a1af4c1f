//! Latency to the picosecond, and lookahead against every source.

use super::*;
use crate::machine::Machine;
use crate::spec::NetworkSpec;
use proptest::prelude::*;

/// Returns the formula itself, whose hops can be asked.
pub(crate) fn network(specification: &str, ranks: u32) -> Analytic {
    match Machine::parse(specification).map(|machine| machine.network) {
        Ok(NetworkSpec::Levels(levels)) => {
            crate::spec::build(&levels, Some(ranks)).unwrap_or_else(|error| panic!("{error}")).network
        }
        Ok(NetworkSpec::Packet { .. }) => panic!("{specification} is analytic"),
        Err(error) => panic!("{error}"),
    }
}

impl Analytic {
    /// Returns the number of links on the way of a message.
    pub(crate) fn hops(&self, source: Endpoint, destination: Endpoint) -> u64 {
        let mut hops = 0;
        self.cross_levels(source.0, destination.0, |_, more| hops += u64::from(more));
        hops
    }
}

fn ps(network: &Analytic, source: u32, destination: u32, bytes: u64) -> u64 {
    network.latency(Endpoint(source), Endpoint(destination), bytes).as_ps()
}

#[test]
fn one_level_is_hops_times_latency_plus_bytes_over_bandwidth() {
    const US: u64 = 1_000_000;
    for (specification, ranks, source, destination, bytes, expected) in [
        ("star:l=1us,b=1Gbps", 16, 3, 9, 4, 2 * US + 32_000),
        ("star:l=25us,b=1Gbps", 2, 0, 1, 0, 50 * US),
        ("ring:dir=2,l=1us,b=1Gbps", 10, 0, 9, 4, US + 32_000),
        ("ring:dir=1,l=1us,b=1Gbps", 10, 9, 8, 4, 9 * US + 32_000),
        ("mesh:8x16,l=1us,b=0.1bps", 128, 0, 127, 4, 22 * US + 320_000_000_000_000),
        ("torus:8x8x8,l=7us,b=8.8Gbps", 512, 0, 511, 11, 21 * US + 10_000),
        ("torus:3x3,wrap=01,l=1us,b=1Gbps", 9, 0, 8, 0, 3 * US),
        ("tree:degree=2,l=1us,b=1Gbps", 1024, 0, 1023, 4, 20 * US + 32_000),
        ("fattree:m=4,n=3,level=formula,l=1us,b=1Gbps", 16, 0, 15, 4, 6 * US + 32_000),
        ("dragonfly:p=2,a=4,h=2,level=formula,l=1us,b=1Gbps", 72, 0, 1, 4, 2 * US + 32_000),
        ("twistedtorus:8x4,twist=2,level=formula,l=1us,b=1Gbps", 32, 0, 30, 4, US + 32_000),
        ("none", 1000, 1, 2, 1 << 40, 0),
    ] {
        assert_eq!(
            ps(&network(specification, ranks), source, destination, bytes),
            expected,
            "{specification}"
        );
    }
}

#[test]
fn a_message_to_its_own_endpoint_takes_no_hop() {
    assert_eq!(ps(&network("star:l=1us,b=1Gbps", 4), 2, 2, 4), 32_000);
    assert_eq!(ps(&network("torus:8x8x8,l=7us,b=8.8Gbps/star:2,l=0.32us,b=9.6Gbps", 1024), 5, 5, 6), 5_000);
    assert_eq!(ps(&network("ring:l=1us,b=1Gbps", 4), 2, 2, 0), 0);
}

#[test]
fn a_message_between_processors_leaves_and_enters_through_hubs() {
    let xt5 = network("torus:8x8x8,l=7us,b=8.8Gbps/star:2,l=0.32us,b=9.6Gbps", 1024);
    assert_eq!(ps(&xt5, 0, 1, 6), 640_000 + 5_000, "on a processor: two hops, 9.6 Gbps");
    assert_eq!(
        ps(&xt5, 0, 1023, 11),
        2 * 320_000 + 3 * 7_000_000 + 10_000,
        "between: a hub at each end, 8.8 Gbps"
    );
}

#[test]
fn gateways_are_hub_root_and_endpoint_zero() {
    let latency = |inner: &str, source, destination| {
        ps(&network(&format!("star:l=1us,b=1Gbps/{inner},l=1ns,b=10Gbps"), 8), source, destination, 0)
            - 2_000_000
    };
    assert_eq!(latency("star:4", 1, 6), 2_000, "hubs");
    assert_eq!(latency("tree:4", 1, 6), 4_000, "roots, two levels up and down");
    assert_eq!(
        latency("mesh:2x2", 3, 4),
        2_000,
        "out from (1,1) to endpoint 0, which is the destination's own place"
    );
    assert_eq!(latency("ring:4,dir=1", 1, 7), 6_000, "three on to endpoint 0, then three on again");
    assert_eq!(ps(&network("star:l=1us,b=1Gbps/none:4", 8), 1, 6, 0), 2_000_000);
}

#[test]
fn levels_without_a_hop_do_not_narrow_the_way() {
    let network = network("star:l=1us,b=10Gbps/mesh:4,l=1ns,b=1Gbps", 8);
    assert_eq!(
        ps(&network, 0, 4, 10),
        2_000_000 + 8_000,
        "between gateways only the outer level's links are used"
    );
    assert_eq!(ps(&network, 1, 4, 10), 2_001_000 + 80_000);
}

#[test]
fn three_levels_add_up() {
    let paper = network("star:l=1us,b=1Gbps/mesh:2x2,l=100ns,b=10Gbps/mesh:8x8,l=1ns,b=100Gbps", 1024);
    assert_eq!(paper.endpoints(), 1024);
    let core = |node: u32, processor: u32, core: u32| (node * 4 + processor) * 64 + core;
    let expected = 2_000_000 + (2 + 1) * 100_000 + (14 + 3) * 1_000 + 8_000;
    assert_eq!(ps(&paper, core(0, 3, 63), core(2, 1, 3), 1), expected);
    assert_eq!(ps(&paper, core(1, 3, 63), core(1, 0, 9), 1), 200_000 + (14 + 2) * 1_000 + 800);
    assert_eq!(ps(&paper, core(1, 3, 63), core(1, 3, 0), 1), 14_000 + 80);
}

#[test]
fn uniform_networks_say_so() {
    let star = network("star:l=1us,b=1Gbps", 5);
    let uniform = star.uniform().unwrap();
    assert_eq!(uniform.latency, Span::from_ps(2_000_000));
    assert_eq!(uniform.latency(false, 9), star.latency(Endpoint(1), Endpoint(2), 9));
    assert_eq!(network("none", 5).uniform().unwrap().latency(false, 9), Span::ZERO);
    assert!(network("ring:l=1us", 5).uniform().is_none());
    assert!(network("star:l=1us/star:2", 5).uniform().is_none());
}

#[test]
fn latency_beyond_the_range_is_an_error() {
    let error = Machine::parse("ring:l=200h").unwrap_err().to_string();
    assert!(error.contains("not one of"), "{error}");
    let error = Machine::parse("ring:l=10000min").unwrap().build(1000).unwrap_err().to_string();
    assert!(error.contains("2^62 picoseconds"), "{error}");
}

#[test]
fn a_latency_beyond_the_range_unwinds_with_a_sentence() {
    let star = network("star:l=1us,b=1bps", 2);
    let unwound = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        star.latency(Endpoint(0), Endpoint(1), 1 << 62)
    }))
    .unwrap_err();
    assert!(unwound.downcast::<engine::EndOfTime>().unwrap().0.contains("213 days"));
}

pub(crate) fn any_level() -> impl Strategy<Value = String> {
    let topology = prop_oneof![
        (1u32..5).prop_map(|n| format!("star:{n}")),
        (1u32..3).prop_map(|n| format!("none:{n}")),
        (1u32..6, 1..3).prop_map(|(n, dir)| format!("ring:{n},dir={dir}")),
        (1u32..4, 1u32..4).prop_map(|(a, b)| format!("mesh:{a}x{b}")),
        (1u32..4, 1u32..4, 0..2, 0..2).prop_map(|(a, b, v, w)| format!("torus:{a}x{b},wrap={v}{w}")),
        (1u32..4, 1u32..4, 0u32..3, 0u32..2, 0..2).prop_map(|(a, b, i, j, w)| format!(
            "twisted:{a}x{b},wrap=1{w},jump={i}x{j},search={}",
            if w == 0 { "exact" } else { "bounded" }
        )),
        (1u32..8, 2u32..4).prop_map(|(n, degree)| format!("tree:{n},degree={degree}")),
        (1u32..3, 1u32..3).prop_map(|(m, n)| format!("fattree:m={},n={n},level=formula", 2 * m)),
        (1u32..3, 1u32..3).prop_map(|(p, a)| format!("dragonfly:p={p},a={a},h=1,level=formula")),
        (1u32..4, 1u32..3).prop_map(|(side, p)| format!("hyperx:{side}x2,p={p},level=formula")),
    ];
    (topology, 0u32..50, prop_oneof![Just("1Gbps"), Just("8.8Gbps"), Just("12GB/s"), Just("inf")]).prop_map(
        |(topology, l, b)| {
            if topology.starts_with("none") { topology } else { format!("{topology},l={l}ns,b={b}") }
        },
    )
}

proptest! {
    #[test]
    fn lookahead_is_the_exact_lower_bound(levels in prop::collection::vec(any_level(), 1..4)) {
        let specification = levels.join("/");
        let network = network(&specification, 1);
        let n = network.endpoints() as u32;
        let own = Endpoint(0);
        for to in (0..n).map(Endpoint).take(40) {
            let least = (0..n)
                .map(Endpoint)
                .filter(|&from| from != to)
                .map(|from| network.latency(from, to, 0))
                .min();
            prop_assert!(
                network.lookahead(to) >= network.lookahead(own),
                "{}: endpoint 0 is not the nearest to others",
                specification
            );
            prop_assert_eq!(network.lookahead(to), least.unwrap_or(Span::ZERO), "{}", specification);
        }
        prop_assert_eq!(network.latency(own, own, 0), Span::ZERO);
    }

    #[test]
    fn latency_grows_with_bytes(
        levels in prop::collection::vec(any_level(), 1..4),
        bytes in 0u64..1 << 40,
        pick: (u32, u32),
    ) {
        let network = network(&levels.join("/"), 1);
        let n = network.endpoints() as u32;
        let (a, b) = (Endpoint(pick.0 % n), Endpoint(pick.1 % n));
        let (less, more) = (network.latency(a, b, bytes), network.latency(a, b, bytes + 1));
        prop_assert!(less <= more);
    }
}
