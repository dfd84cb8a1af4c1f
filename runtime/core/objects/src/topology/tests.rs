//! Grids and graphs against their definitions.

use super::*;
use crate::error::ErrorClass;
use proptest::prelude::*;

fn grid() -> impl Strategy<Value = Cart> {
    prop::collection::vec((1u32..5, any::<bool>()), 0..4).prop_map(|dims| Cart {
        dims: dims.iter().map(|d| d.0).collect(),
        periods: dims.iter().map(|d| d.1).collect(),
    })
}

fn is_prime(n: u32) -> bool {
    n > 1 && (2..n).take_while(|d| d * d <= n).all(|d| !n.is_multiple_of(d))
}

/// All non-increasing factorings of `nodes` in `parts`.
fn factorings(nodes: u32, parts: usize, most: u32) -> Vec<Vec<u32>> {
    if parts == 0 {
        return if nodes == 1 { vec![vec![]] } else { vec![] };
    }
    let firsts = (1..=most.min(nodes)).filter(|d| nodes.is_multiple_of(*d));
    firsts
        .flat_map(|d| {
            factorings(nodes / d, parts - 1, d).into_iter().map(move |rest| [vec![d], rest].concat())
        })
        .collect()
}

proptest! {
    #[test]
    fn the_balanced_grid_is_the_best_of_all_factorings(nodes in 1u32..3000, parts in 1usize..5) {
        let got = balanced(nodes, parts);
        // A prime above the root of the rest stands apart, wherever two factors or more remain.
        let mut apart = 0;
        let mut rest = nodes;
        while apart + 1 < parts
            && u64::from(got[apart]) * u64::from(got[apart]) > u64::from(rest)
            && rest != got[apart]
            && is_prime(got[apart])
        {
            rest /= got[apart];
            apart += 1;
        }
        let range = |f: &Vec<u32>| f[0] - f[f.len() - 1];
        let all = factorings(rest, parts - apart, rest);
        let least = all.iter().map(range).min().unwrap();
        let best = all
            .into_iter()
            .filter(|f| range(f) == least)
            .max_by_key(|f| f.iter().rev().copied().collect::<Vec<_>>())
            .unwrap();
        prop_assert_eq!(&got[apart..], &best[..]);
    }

    #[test]
    fn coordinates_and_ranks_are_inverse_in_row_major_order(cart in grid()) {
        let mut last = None;
        for rank in 0..cart.size() {
            let coords = cart.coords(rank);
            prop_assert!(last < Some(coords.clone()));
            let signed: Vec<i32> = coords.iter().map(|&c| c as i32).collect();
            prop_assert_eq!(cart.rank(&signed).unwrap(), rank);
            last = Some(coords);
        }
    }

    #[test]
    fn a_shift_is_a_change_of_one_coordinate(cart in grid(), by in -6i32..7) {
        for rank in 0..cart.size() {
            for dim in 0..cart.ndims() {
                let to = |by: i32| {
                    let mut coords: Vec<i32> = cart.coords(rank).iter().map(|&c| c as i32).collect();
                    coords[dim] += by;
                    cart.rank(&coords).unwrap_or(NOBODY)
                };
                prop_assert_eq!(cart.shift(rank, dim as i32, by).unwrap(), (to(-by), to(by)));
                prop_assert_eq!(&cart.neighbors(rank)[2 * dim..2 * dim + 2], &[to(-1), to(1)]);
            }
        }
    }

    #[test]
    fn subgrids_partition_the_grid(cart in grid(), remain in prop::collection::vec(any::<bool>(), 3)) {
        let remain = &remain[..cart.ndims()];
        let mut seen = std::collections::HashSet::new();
        for rank in 0..cart.size() {
            let (sub, color, key) = cart.sub(rank, remain);
            prop_assert!(key < sub.size());
            prop_assert!(seen.insert((color, key)));
            let kept: Vec<u32> =
                cart.coords(rank).into_iter().zip(remain).filter(|c| *c.1).map(|c| c.0).collect();
            prop_assert_eq!(sub.coords(key), kept);
        }
    }
}

#[test]
fn the_standards_examples_of_dims_create() {
    let create = |nodes, mut dims: Vec<i32>| dims_create(nodes, &mut dims).map(|()| dims);
    assert_eq!(create(6, vec![0, 0]).unwrap(), [3, 2]);
    assert_eq!(create(7, vec![0, 0]).unwrap(), [7, 1]);
    assert_eq!(create(6, vec![0, 3, 0]).unwrap(), [2, 3, 1]);
    assert_eq!(create(7, vec![0, 3, 0]).unwrap_err().class, ErrorClass::DIMS);
    assert_eq!(create(1_000_000, vec![0, 0, 0]).unwrap(), [100, 100, 100]);
    assert_eq!(create(5040, vec![0, 0, 0]).unwrap(), [21, 16, 15]);
    assert_eq!(create(i32::MAX, vec![0; 2]).unwrap(), [i32::MAX, 1]);
    assert_eq!(create(6, vec![2, 3]).unwrap(), [2, 3]);
    assert!(create(6, vec![2, 2]).is_err());
    assert!(create(6, vec![-1, 0]).is_err());
    assert!(create(0, vec![0]).is_err());
    assert_eq!(create(1, vec![]).unwrap(), [0; 0]);
}

#[test]
fn wrong_grids_are_refused() {
    assert_eq!(Cart::new(&[2, 0], &[false; 2], 8).unwrap_err().class, ErrorClass::DIMS);
    assert!(Cart::new(&[3, 3], &[false; 2], 8).unwrap_err().text.contains("9 places"));
    let cart = Cart::new(&[2, 3], &[false, true], 8).unwrap();
    assert!(cart.rank(&[2, 0]).unwrap_err().text.contains("coords[0] is 2"));
    assert_eq!(cart.rank(&[1, -1]).unwrap(), 5);
    assert!(cart.shift(0, 2, 1).is_err());
    assert!(Cart::new(&[], &[], 1).unwrap().shift(0, 0, 1).is_err());
}

#[test]
fn a_graph_lists_the_neighbours_of_each_node() {
    // The example of MPI 5.0 section 8.5.3.
    let graph = Graph::new(&[2, 3, 4, 6], &[1, 3, 0, 3, 0, 2], 4).unwrap();
    assert_eq!(
        (graph.neighbors(0), graph.neighbors(1), graph.neighbors(3)),
        (&[1, 3][..], &[0][..], &[0, 2][..])
    );
    assert!(Graph::new(&[2, 1], &[0, 1], 4).is_err());
    assert!(Graph::new(&[1], &[1], 4).unwrap_err().text.contains("edges[0] is 1"));
    assert!(Graph::new(&[0, 0], &[], 1).is_err());
}

#[test]
fn a_distributed_graph_is_the_same_however_its_edges_are_given() {
    let edges = |list: &[(u32, u32, i32)]| GraphContribution::Edges(list.to_vec(), true);
    let any = Topology::distributed(
        3,
        [
            (0, edges(&[(0, 1, 5), (1, 2, 6), (2, 1, 7)])),
            (1, GraphContribution::Nothing),
            (2, edges(&[(0, 2, 8)])),
        ]
        .into_iter(),
    );
    let own = |sources: &[u32], destinations: &[u32], ins: &[i32], outs: &[i32]| {
        GraphContribution::Adjacent(Rc::new(DistGraph {
            sources: sources.into(),
            destinations: destinations.into(),
            weights: Some([ins.into(), outs.into()]),
        }))
    };
    let adjacent = Topology::distributed(
        3,
        [
            (0, own(&[], &[1, 2], &[], &[5, 8])),
            (1, own(&[0, 2], &[2], &[5, 7], &[6])),
            (2, own(&[1, 0], &[1], &[6, 8], &[7])),
        ]
        .into_iter(),
    );
    let (Topology::DistGraph(any), Topology::DistGraph(adjacent)) = (any.unwrap(), adjacent.unwrap()) else {
        panic!("distributed graphs")
    };
    assert_eq!(any, adjacent);
    assert_eq!(
        (any.sources(1), any.source_weights(1), any.destinations(0)),
        (&[0, 2][..], &[5, 7][..], &[1, 2][..])
    );
    let silent =
        [(0, GraphContribution::Edges(vec![], true)), (1, GraphContribution::Edges(vec![(1, 0, 0)], false))];
    let Topology::DistGraph(silent) = Topology::distributed(3, silent.into_iter()).unwrap() else {
        panic!("a distributed graph")
    };
    assert!(!silent.weighted && silent.source_weights(0).is_empty());
    let mixed = [
        (0, GraphContribution::Edges(vec![(0, 1, 3)], true)),
        (1, GraphContribution::Edges(vec![(1, 0, 0)], false)),
    ];
    assert!(
        Topology::distributed(3, mixed.into_iter()).unwrap_err().text.contains("rank 0 gave edge weights")
    );
    assert_eq!(
        Topology::distributed(3, [(0, edges(&[(0, 3, 1)]))].into_iter()).unwrap_err().class,
        ErrorClass::RANK
    );
}
