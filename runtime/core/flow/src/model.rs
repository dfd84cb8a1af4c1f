//! Tests of flows against a plain model that fills all links from nothing at every change.

use crate::{Capacity, FlowId, Flows};
use engine::Time;
use proptest::prelude::*;
use std::collections::BTreeMap;

/// Returns the capacity of so many bytes in a picosecond.
fn per_ps(bytes: u64) -> Capacity {
    Capacity { bytes, picoseconds: 1 }
}

/// A flow to start.
#[derive(Clone, Debug)]
struct Start {
    at: u64,
    path: Vec<u32>,
    /// Links of its acknowledgements.
    back: Vec<u32>,
    weight: u32,
    bound: Option<u64>,
    bytes: u64,
}

impl Start {
    /// Returns its links, each with the weight with which the flow crosses it.
    fn crossings(&self, forward_weight: u32) -> Vec<(usize, u64)> {
        let forward = self.path.iter().map(|&link| (link as usize, u64::from(self.weight * forward_weight)));
        forward.chain(self.back.iter().map(|&link| (link as usize, self.weight.into()))).collect()
    }
}

/// Returns the weight of paths beside ways back: 20 with cross traffic.
fn forward_weight(starts: &[Start]) -> u32 {
    if starts.iter().any(|start| !start.back.is_empty()) { 20 } else { 1 }
}

/// A flow under way in the model.
struct ModelFlow {
    /// Links, each with the weight with which the flow crosses it.
    path: Vec<(usize, u64)>,
    left: u128,
    level: u64,
}

/// Returns the level of each flow: levels rise together, and all links that are full at a level stop at once.
fn filled(capacities: &[u64], flows: &[&[(usize, u64)]]) -> Vec<u64> {
    let mut levels = vec![None; flows.len()];
    while levels.contains(&None) {
        let stop = |link: usize| {
            let weight = |path: &[(usize, u64)]| path.iter().find(|hop| hop.0 == link).map(|hop| hop.1);
            let on = || flows.iter().zip(&levels).filter_map(|(path, level)| Some((weight(path)?, *level)));
            let used: u64 = on().filter_map(|(weight, level)| level.map(|level: u64| level * weight)).sum();
            let filling: u64 = on().filter(|(_, level)| level.is_none()).map(|(weight, _)| weight).sum();
            (filling > 0).then(|| (capacities[link] - used) / filling)
        };
        let stops: Vec<Option<u64>> = (0..capacities.len()).map(stop).collect();
        let level = stops.iter().flatten().min().copied().expect("every flow crosses a link");
        for (path, own) in flows.iter().zip(&mut levels) {
            if own.is_none() && path.iter().any(|&(link, _)| stops[link] == Some(level)) {
                *own = Some(level);
            }
        }
    }
    levels.into_iter().flatten().collect()
}

/// Returns when each flow ends, in the model.
fn model_ends(capacities: &[Capacity], starts: &[Start]) -> Vec<u64> {
    let shape = Flows::new(capacities);
    let mut units: Vec<u64> = capacities.iter().map(|&capacity| shape.scale().units(capacity)).collect();
    let mut ends = vec![u64::MAX; starts.len()];
    let mut under: BTreeMap<usize, ModelFlow> = BTreeMap::new();
    let mut started = vec![false; starts.len()];
    let mut now = 0;
    loop {
        let end = |flow: &ModelFlow| {
            now + ((2 * flow.left + u128::from(flow.level)) / (2 * u128::from(flow.level))) as u64
        };
        let next_end = under.values().map(end).min();
        let next_start =
            starts.iter().zip(&started).filter(|(_, started)| !**started).map(|(start, _)| start.at).min();
        let Some(next) = next_end.into_iter().chain(next_start).min() else { return ends };
        let through: Vec<usize> =
            under.iter().filter(|(_, flow)| end(flow) == next).map(|(&index, _)| index).collect();
        for flow in under.values_mut() {
            flow.left = flow.left.saturating_sub(u128::from(flow.level) * u128::from(next - now));
        }
        for index in through {
            ends[index] = next;
            under.remove(&index);
        }
        for (index, start) in starts.iter().enumerate().filter(|(_, start)| start.at == next) {
            if std::mem::replace(&mut started[index], true) {
                continue;
            }
            let mut path = start.crossings(forward_weight(starts));
            let weight = start.weight * forward_weight(starts);
            if let Some(bound) = start.bound {
                path.push((units.len(), weight.into()));
                units.push(shape.scale().units(per_ps(bound)));
            }
            let left = shape.scale().work(start.bytes, weight);
            under.insert(index, ModelFlow { path, left, level: 0 });
        }
        now = next;
        let flows: Vec<&[(usize, u64)]> = under.values().map(|flow| &flow.path[..]).collect();
        let levels = filled(&units, &flows);
        under.values_mut().zip(levels).for_each(|(flow, level)| flow.level = level);
    }
}

/// Starts flows at their times and calls `look` after each solution. Returns when each ends.
fn run(
    capacities: &[Capacity],
    starts: &[Start],
    mut look: impl FnMut(&Flows, &BTreeMap<FlowId, usize>),
) -> Vec<u64> {
    let mut flows = Flows::new(capacities);
    if forward_weight(starts) > 1 {
        flows = flows.with_cross_traffic();
    }
    let mut ends = vec![u64::MAX; starts.len()];
    let mut names = BTreeMap::new();
    let mut order: Vec<usize> = (0..starts.len()).collect();
    order.sort_by_key(|&index| starts[index].at);
    let mut order = order.into_iter().peekable();
    loop {
        let next_start = order.peek().map(|&index| Time::from_ps(starts[index].at));
        let Some(next) = flows.next_end().into_iter().chain(next_start).min() else { break };
        let mut ended = Vec::new();
        flows.advance(next, &mut ended);
        for flow in ended {
            ends[names.remove(&flow).unwrap()] = next.as_ps();
        }
        while let Some(index) = order.next_if(|&index| Time::from_ps(starts[index].at) == next) {
            let start = &starts[index];
            let bound = start.bound.map(per_ps);
            let flow = flows.start(&start.path, &start.back, start.weight, bound, start.bytes);
            assert_eq!(names.insert(flow, index), None, "names of flows under way differ");
        }
        flows.solve();
        assert_eq!(flows.len(), names.len());
        look(&flows, &names);
    }
    ends
}

/// Returns starts of weight 1 at time 0.
fn at_once(paths: &[&[u32]], bytes: u64) -> Vec<Start> {
    let start =
        |path: &&[u32]| Start { at: 0, path: path.to_vec(), back: Vec::new(), weight: 1, bound: None, bytes };
    paths.iter().map(start).collect()
}

/// Asserts the rates of flows that start together, as fractions of bytes in a picosecond.
fn assert_rates(capacities: &[Capacity], starts: &[Start], expected: &[(u64, u64)]) {
    let mut is_first = true;
    run(capacities, starts, |flows, names| {
        if std::mem::take(&mut is_first) {
            for (&flow, &index) in names {
                let (bytes, picoseconds) = expected[index];
                let weight = starts[index].weight * forward_weight(starts);
                let rate = u128::from(flows.level(flow)) * u128::from(weight);
                assert_eq!(
                    rate * u128::from(picoseconds),
                    flows.scale().units_per_byte() * u128::from(bytes),
                    "flow {index}"
                );
            }
        }
    });
}

// The third test of SimGrid's solver (lmm_usage).
#[test]
fn ten_links_give_exact_thirds() {
    let links: [&[u32]; 10] = [
        &[1, 7],
        &[1, 7, 8],
        &[1, 8],
        &[8],
        &[0, 3, 9],
        &[0, 3, 4, 9],
        &[0, 4, 9, 10],
        &[2, 4, 6, 9, 10],
        &[2, 8, 10],
        &[5, 6, 9],
    ];
    let path = |flow: u32| (0..10).filter(|&link| links[link as usize].contains(&flow)).collect::<Vec<u32>>();
    let paths: Vec<Vec<u32>> = (0..11).map(path).collect();
    let paths: Vec<&[u32]> = paths.iter().map(|path| &path[..]).collect();
    let rates = [(3, 1), (10, 3), (2, 1), (3, 1), (2, 1), (6, 1), (2, 1), (10, 3), (10, 3), (2, 1), (2, 1)];
    assert_rates(&[per_ps(10); 10], &at_once(&paths, 1000), &rates);
}

#[test]
fn a_long_flow_among_short_ones_gets_half() {
    assert_rates(&[per_ps(1); 3], &at_once(&[&[0, 1, 2], &[0], &[1], &[2]], 1000), &[(1, 2); 4]);
}

#[test]
fn rates_are_in_proportion_to_weights() {
    let mut starts = at_once(&[&[0], &[0]], 1000);
    starts[0].weight = 2;
    assert_rates(&[per_ps(3)], &starts, &[(2, 1), (1, 1)]);
}

#[test]
fn a_bound_leaves_the_rest_to_others() {
    let mut starts = at_once(&[&[0], &[0]], 1000);
    starts[0].bound = Some(1);
    assert_rates(&[per_ps(5)], &starts, &[(1, 1), (4, 1)]);
    assert_eq!(run(&[per_ps(5)], &starts, |_, _| ()), [1000, 250]);
}

// SimGrid's documented effect of `network/crosstraffic`: two opposite flows get 1/1.05 of a link each.
#[test]
fn opposite_flows_share_links_with_acknowledgements() {
    let mut starts = at_once(&[&[0], &[1]], 1000);
    (starts[0].back, starts[1].back) = (vec![1], vec![0]);
    assert_rates(&[per_ps(21); 2], &starts, &[(20, 1); 2]);
    starts[1].at = 100_000;
    assert_rates(&[per_ps(21); 2], &starts[..1], &[(21, 1)]);
}

#[test]
fn sizes_of_10_20_30_end_at_30_50_60() {
    let mut starts = at_once(&[&[0], &[0], &[0]], 0);
    starts.iter_mut().zip([10, 20, 30]).for_each(|(start, bytes)| start.bytes = bytes);
    assert_eq!(run(&[per_ps(1)], &starts, |_, _| ()), [30, 50, 60]);
}

#[test]
fn a_flow_without_bytes_or_links_ends_at_once() {
    let mut starts = at_once(&[&[0], &[]], 7);
    starts[0].bytes = 0;
    (starts[0].at, starts[1].at) = (5, 6);
    assert_eq!(run(&[per_ps(1)], &starts, |_, _| ()), [5, 6]);
}

#[test]
fn an_incast_of_n_takes_n_times_one() {
    let n = 5000;
    let capacities = vec![Capacity { bytes: 1, picoseconds: 80 }; n + 1];
    let paths: Vec<[u32; 2]> = (0..n as u32).map(|sender| [sender, n as u32]).collect();
    let paths: Vec<&[u32]> = paths.iter().map(|path| &path[..]).collect();
    let ends = run(&capacities, &at_once(&paths, 65_536), |_, _| ());
    assert!(ends.iter().all(|&end| end == 65_536 * 80 * n as u64), "{:?}", ends[0]);
}

#[test]
fn flows_longer_than_virtual_time_do_not_end() {
    let slow = Capacity { bytes: 1, picoseconds: u64::MAX };
    assert_eq!(run(&[slow], &at_once(&[&[0], &[0]], u64::MAX), |_, _| ()), [u64::MAX; 2]);
}

/// Draws links and flows over them; many flows start together and many tie.
fn cases(
    links: std::ops::Range<usize>,
    flows: std::ops::Range<usize>,
) -> impl Strategy<Value = (Vec<Capacity>, Vec<Start>)> {
    let capacity = prop_oneof![Just((10, 1)), Just((20, 1)), (1u64..1000, 1u64..1000)];
    prop::collection::vec(capacity, links).prop_flat_map(move |capacities| {
        let capacities: Vec<Capacity> =
            capacities.into_iter().map(|(bytes, picoseconds)| Capacity { bytes, picoseconds }).collect();
        let count = capacities.len();
        let path = prop::collection::vec(0..count as u32, 1..6).prop_map(|mut path| {
            path.sort_unstable();
            path.dedup();
            path
        });
        let path = prop_oneof![3 => path, 1 => Just(vec![0]), 1 => Just(vec![0, count as u32 - 1])];
        let path = path.prop_map(|mut path| {
            path.dedup();
            path
        });
        let weight = prop_oneof![4 => Just(1u32), 1 => 1u32..10];
        let bound = prop_oneof![8 => Just(None), 1 => (1u64..30).prop_map(Some)];
        let at = prop_oneof![2 => Just(0u64), 1 => (0u64..20).prop_map(|step| 100 * step), 1 => 0u64..3000];
        let bytes = prop_oneof![Just(1000u64), 1u64..10_000];
        let start = (at, path, weight, bound, bytes);
        let start = start.prop_map(|(at, path, weight, bound, bytes)| {
            let back = Vec::new();
            Start { at, path, back, weight, bound, bytes }
        });
        (Just(capacities), prop::collection::vec(start, flows.clone()))
    })
}

/// Gives flows ways back over links that are not on their paths: from a random number each.
fn with_ways_back(mut starts: Vec<Start>, links: u32, seed: &[u32]) -> Vec<Start> {
    for (start, &random) in starts.iter_mut().zip(seed) {
        let others = (0..links).filter(|link| !start.path.contains(link));
        start.back = others.filter(|link| random >> (link % 32) & 1 != 0).collect();
    }
    starts
}

/// Asserts that no link has too much, and that every flow has a saturated link on which no level is greater.
fn assert_fair(capacities: &[Capacity], starts: &[Start], flows: &Flows, names: &BTreeMap<FlowId, usize>) {
    let (mut used, mut top, mut weights) =
        (vec![0u64; capacities.len()], vec![0; capacities.len()], vec![0; capacities.len()]);
    for (&flow, &index) in names {
        for (link, weight) in starts[index].crossings(forward_weight(starts)) {
            used[link] += flows.level(flow) * weight;
            weights[link] += weight;
            top[link] = top[link].max(flows.level(flow));
        }
    }
    let room = |link: usize| {
        flows.scale().units(capacities[link]).checked_sub(used[link]).expect("no link has too much")
    };
    (0..capacities.len()).for_each(|link| _ = room(link));
    for (&flow, &index) in names {
        let level = flows.level(flow);
        let weight = u64::from(starts[index].weight * forward_weight(starts));
        let is_bounded =
            starts[index].bound.is_some_and(|bound| flows.scale().units(per_ps(bound)) / weight <= level);
        let saturates =
            |&link: &u32| room(link as usize) < weights[link as usize] && top[link as usize] == level;
        // A link that stops within a unit of another gives its flows no more: then one has less than a unit
        // beside.
        let near = |&link: &u32| {
            let link = link as usize;
            room(link) < weights[link] && top[link] - level <= weights[link]
        };
        let path: Vec<u32> = starts[index].path.iter().chain(&starts[index].back).copied().collect();
        assert!(
            is_bounded || path.iter().any(saturates) || path.iter().any(near),
            "flow {index} could get more"
        );
    }
}

proptest! {
    #[test]
    fn every_flow_has_a_saturated_link_on_which_none_has_more((capacities, starts) in cases(1..12, 1..40)) {
        run(&capacities, &starts, |flows, names| assert_fair(&capacities, &starts, flows, names));
    }

    #[test]
    fn flows_end_as_in_the_model((capacities, starts) in cases(1..12, 1..40)) {
        prop_assert_eq!(run(&capacities, &starts, |_, _| ()), model_ends(&capacities, &starts));
    }

    #[test]
    fn acknowledgements_take_a_twentieth_as_in_the_model(
        (capacities, starts) in cases(1..12, 1..100),
        seed in prop::collection::vec(any::<u32>(), 100),
    ) {
        let starts = with_ways_back(starts, capacities.len() as u32, &seed);
        let ends = run(&capacities, &starts, |flows, names| assert_fair(&capacities, &starts, flows, names));
        prop_assert_eq!(ends, model_ends(&capacities, &starts));
    }

    #[test]
    fn large_groups_end_as_in_the_model((capacities, starts) in cases(1..5, 40..120)) {
        prop_assert_eq!(run(&capacities, &starts, |_, _| ()), model_ends(&capacities, &starts));
    }

    #[test]
    fn the_order_of_starts_within_an_instant_does_not_matter(
        (capacities, starts) in cases(1..12, 1..40),
        seed in prop::collection::vec(any::<u32>(), 40),
    ) {
        let mut order: Vec<usize> = (0..starts.len()).collect();
        order.sort_by_key(|&index| seed[index]);
        let shuffled: Vec<Start> = order.iter().map(|&index| starts[index].clone()).collect();
        let ends = run(&capacities, &starts, |_, _| ());
        let expected: Vec<u64> = order.iter().map(|&index| ends[index]).collect();
        prop_assert_eq!(run(&capacities, &shuffled, |_, _| ()), expected);
    }
}
