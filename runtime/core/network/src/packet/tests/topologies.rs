//! The cabling of every topology.

use super::{SMALL, distances};
use crate::packet::{PacketFabric, parse};
use crate::topology::{Cabling, Neighbor};
use crate::{Endpoint, Formula};

fn fabric(spec: &str) -> PacketFabric {
    parse(spec).unwrap().fabric(None).unwrap()
}

/// Ports that lead to routers, for each router.
fn degrees(topology: &dyn Cabling) -> Vec<usize> {
    let degree = |router| {
        (0..topology.radix())
            .filter(|&p| matches!(topology.neighbor(router, p), Neighbor::Router { .. }))
            .count()
    };
    (0..topology.routers()).map(degree).collect()
}

fn diameter(topology: &dyn Cabling) -> u32 {
    let homes: Vec<u32> = (0..topology.endpoints()).map(|e| topology.attachment(e).0).collect();
    homes
        .iter()
        .map(|&home| homes.iter().map(|&other| distances(topology, home)[other as usize]).max().unwrap())
        .max()
        .unwrap()
}

/// Cables between the first and the second half of the routers that have endpoints on the same side.
fn cut(topology: &dyn Cabling, first: impl Fn(u32) -> bool) -> usize {
    let crosses = |router: u32, port| {
        matches!(
            topology.neighbor(router, port),
            Neighbor::Router { router: other, .. } if first(router) && !first(other)
        )
    };
    (0..topology.routers())
        .flat_map(|router| (0..topology.radix()).map(move |port| (router, port)))
        .filter(|&(r, p)| crosses(r, p))
        .count()
}

#[test]
fn every_cable_has_two_ends_and_every_endpoint_a_port() {
    for spec in SMALL {
        let fabric = fabric(spec);
        let topology = &*fabric.topology;
        for router in 0..topology.routers() {
            for port in 0..topology.radix() {
                match topology.neighbor(router, port) {
                    Neighbor::Router { router: other, port: back } => {
                        assert_eq!(
                            topology.neighbor(other, back),
                            Neighbor::Router { router, port },
                            "{spec} router {router} port {port}"
                        );
                        assert_ne!(other, router, "{spec}");
                        assert_eq!(topology.link(router, port), topology.link(other, back), "{spec}");
                    }
                    Neighbor::Endpoint(endpoint) => {
                        assert_eq!(topology.attachment(endpoint), (router, port), "{spec}")
                    }
                    Neighbor::Nothing => {}
                }
            }
        }
        for endpoint in 0..topology.endpoints() {
            let (router, port) = topology.attachment(endpoint);
            assert_eq!(topology.neighbor(router, port), Neighbor::Endpoint(endpoint), "{spec}");
        }
        assert!(distances(topology, 0).iter().all(|&d| d != u32::MAX), "{spec} is connected");
        for parts in [2, 3] {
            assert!((0..topology.routers()).all(|router| topology.part(router, parts) < parts), "{spec}");
        }
    }
}

#[test]
fn m_port_n_trees_have_the_sizes_of_the_paper() {
    for (m, n) in [(4, 2), (4, 3), (8, 3), (6, 3), (4, 5)] {
        let fabric = fabric(&format!("fattree:m={m},n={n}"));
        let half = u32::pow(m / 2, n - 1);
        assert_eq!(fabric.topology.endpoints(), m * half);
        assert_eq!(fabric.topology.routers(), (2 * n - 1) * half);
        assert_eq!(diameter(&*fabric.topology), 2 * (n - 1));
        // Non-blocking: as many links up at every level as endpoints below.
        assert!(degrees(&*fabric.topology).iter().all(|&d| d == m as usize || d == m as usize / 2));
    }
}

#[test]
fn grids_have_the_degree_diameter_and_bisection_of_theory() {
    let torus = fabric("torus:8x8");
    assert!(degrees(&*torus.topology).iter().all(|&d| d == 4));
    assert_eq!(diameter(&*torus.topology), 8);
    assert_eq!(cut(&*torus.topology, |r| r < 32), 16);
    let mesh = fabric("mesh:8x8");
    assert_eq!(degrees(&*mesh.topology).iter().sum::<usize>(), 2 * 2 * 7 * 8);
    assert_eq!(diameter(&*mesh.topology), 14);
    assert_eq!(cut(&*mesh.topology, |r| r < 32), 8);
    let hyperx = fabric("hyperx:4x4,p=1");
    assert!(degrees(&*hyperx.topology).iter().all(|&d| d == 6));
    assert_eq!(diameter(&*hyperx.topology), 2);
    assert_eq!(cut(&*hyperx.topology, |r| r < 8), 16);
}

#[test]
fn a_specification_places_endpoints_where_the_formula_does() {
    for grid in
        ["torus:2x3x5", "mesh:4x3x2", "torus:6x2", "mesh:1x5x3", "torus:3x1x4x2", "torus:4x5x3,wrap=010"]
    {
        let packets = fabric(grid);
        let formula = crate::analytic::tests::network(grid, 1);
        let n = packets.topology.endpoints();
        assert_eq!(u64::from(n), formula.endpoints(), "{grid}");
        for from in 0..n {
            let (router, _) = packets.topology.attachment(from);
            let links = distances(&*packets.topology, router);
            for to in 0..n {
                let (other, _) = packets.topology.attachment(to);
                assert_eq!(
                    u64::from(links[other as usize]),
                    formula.hops(Endpoint(from), Endpoint(to)),
                    "{grid}: {from} to {to}"
                );
            }
        }
    }
}

#[test]
fn sizes_are_read_as_by_formula() {
    for (specification, ranks, endpoints) in [
        ("torus:4xn", 10, 12),
        ("torus:2d,p=2", 32, 32),
        ("mesh", 9, 9),
        ("hyperx:3xn,p=2", 13, 18),
        ("star:16", 3, 16),
        ("star:n=16", 3, 16),
        ("star", 5, 5),
    ] {
        let fabric = parse(specification).unwrap().fabric(Some(ranks)).unwrap();
        assert_eq!(fabric.topology.endpoints(), endpoints, "{specification} for {ranks}");
    }
}

#[test]
fn all_grids_are_numbered_with_the_last_side_fastest() {
    // Neighbours along the last side have numbers that differ by one, along the first by the product of the
    // others.
    for (grid, product) in
        [("torus:3x4x5", 20), ("mesh:3x4x5", 20), ("hyperx:3x4x5", 20), ("twistedtorus:3x4,twist=1", 4)]
    {
        let topology = fabric(grid).topology;
        for step in [1, product] {
            assert_eq!(distances(&*topology, 0)[step as usize], 1, "{grid}: 0 to {step}");
        }
        assert!(
            topology.describe().contains(grid.split([':', ',']).nth(1).unwrap()),
            "{}",
            topology.describe()
        );
    }
}

#[test]
fn a_balanced_dragonfly_has_one_link_between_any_two_groups_and_diameter_three() {
    let fabric = fabric("dragonfly:p=2,a=4,h=2,g=9");
    let topology = &*fabric.topology;
    assert_eq!((topology.routers(), topology.endpoints(), diameter(topology)), (36, 72, 3));
    assert!(degrees(topology).iter().all(|&d| d == 3 + 2));
    for group in 0..9 {
        assert_eq!(cut(topology, |r| r / 4 == group), 8);
    }
}

#[test]
fn a_dragonfly_with_few_groups_joins_them_several_times() {
    let fabric = fabric("dragonfly:p=1,a=4,h=2,g=3");
    assert_eq!(cut(&*fabric.topology, |r| r / 4 == 0), 8);
}

#[test]
fn dragonfly_plus_leaves_reach_each_other_in_three_links() {
    let fabric = fabric("dragonflyplus:p=2,a=3,h=2");
    assert_eq!(
        (fabric.topology.routers(), fabric.topology.endpoints(), diameter(&*fabric.topology)),
        (42, 42, 3)
    );
}

#[test]
fn slim_flies_have_diameter_two_and_the_degree_of_the_paper() {
    for (q, degree) in
        [(4, 6), (5, 7), (7, 11), (8, 12), (9, 13), (11, 17), (13, 19), (16, 24), (25, 37), (27, 41)]
    {
        let fabric = fabric(&format!("slimfly:q={q}"));
        assert_eq!(fabric.topology.routers(), 2 * q * q);
        assert!(degrees(&*fabric.topology).iter().all(|&d| d == degree), "q={q}");
        assert_eq!(distances(&*fabric.topology, 0).iter().max(), Some(&2), "q={q}");
        assert_eq!(distances(&*fabric.topology, q * q + 1).iter().max(), Some(&2), "q={q}");
    }
}
