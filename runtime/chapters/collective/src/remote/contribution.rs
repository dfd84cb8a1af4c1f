//! Contributions to new communicators as bytes. Members that bring the same share one copy of it.

use crate::agreement::{Contribution, Contributions};
use engine::record::{Put, Take};
use objects::topology::{Cart, DistGraph, Graph, Topology};
use p2p::remote::group::{put_group, put_list, take_group, take_list};
use rustc_hash::FxHashMap;
use std::rc::Rc;

fn put_topology(topology: &Topology, out: &mut Vec<u8>) {
    match topology {
        Topology::Cart(cart) => {
            out.u8(1);
            put_list(&cart.dims, out);
            cart.periods.iter().for_each(|&period| out.u8(u8::from(period)));
        }
        Topology::Graph(graph) => {
            out.u8(2);
            put_list(&graph.index, out);
            put_list(&graph.edges, out);
        }
        Topology::DistGraph(_) => {
            unreachable!("a distributed graph is made of edges that its ranks contribute")
        }
    }
}

fn take_topology(kind: u8, from: &mut Take) -> Topology {
    if kind == 1 {
        let dims = take_list(from);
        let periods = dims.iter().map(|_| from.u8() != 0).collect();
        Topology::Cart(Cart { dims, periods })
    } else {
        Topology::Graph(Graph { index: take_list(from), edges: take_list(from) })
    }
}

fn put(contribution: &Contribution, out: &mut Vec<u8>) {
    match contribution {
        Contribution::Nothing => out.u8(0),
        Contribution::Split(..) => unreachable!("splits are told in runs"),
        Contribution::Group(group, topology) => {
            out.u8(2);
            put_group(group, out);
            match topology {
                None => out.u8(0),
                Some(topology) => put_topology(topology, out),
            }
        }
        Contribution::High(high) => {
            out.u8(3);
            out.u8(u8::from(*high));
        }
        Contribution::Bridge(group, (one, other, tag, peer), context) => {
            out.u8(4);
            put_group(group, out);
            out.u32(*one);
            out.u32(*other);
            out.i32(*tag);
            out.u32(*peer);
            out.u32(*context);
        }
        Contribution::Edges(edges, weighted) => {
            out.u8(5);
            out.u8(u8::from(*weighted));
            out.u32(edges.len() as u32);
            for &(source, destination, weight) in edges {
                out.u32(source);
                out.u32(destination);
                out.i32(weight);
            }
        }
        Contribution::Adjacent(graph) => {
            out.u8(6);
            put_list(&graph.sources, out);
            put_list(&graph.destinations, out);
            out.u8(u8::from(graph.weights.is_some()));
            for &weight in graph.weights.iter().flatten().flatten() {
                out.i32(weight);
            }
        }
        Contribution::Refused => out.u8(7),
        Contribution::Window(base, size, unit) => {
            out.u8(8);
            [*base, *size, *unit as u64].into_iter().for_each(|word| out.u64(word));
        }
        Contribution::File(amode, name) => {
            out.u8(9);
            out.i32(*amode);
            let (class, text, bytes) = match &**name {
                Ok((name, bytes)) => (0, name, *bytes),
                Err((class, why)) => (*class, why, 0),
            };
            out.i32(class);
            out.u64(bytes);
            out.bytes(text.as_bytes());
        }
        Contribution::Met(met) => {
            out.u8(10);
            match &**met {
                Ok((group, context)) => {
                    out.i32(0);
                    put_group(group, out);
                    out.u32(*context);
                }
                Err((class, why)) => {
                    out.i32(*class);
                    out.bytes(why.as_bytes());
                }
            }
        }
    }
}

fn take(from: &mut Take) -> Contribution {
    match from.u8() {
        0 => Contribution::Nothing,
        2 => {
            let group = take_group(from);
            let kind = from.u8();
            Contribution::Group(group, (kind != 0).then(|| Rc::new(take_topology(kind, from))))
        }
        3 => Contribution::High(from.u8() != 0),
        7 => Contribution::Refused,
        8 => Contribution::Window(from.u64(), from.u64(), from.u64() as i64),
        9 => {
            let (amode, class, bytes) = (from.i32(), from.i32(), from.u64());
            let text: Box<str> = String::from_utf8_lossy(from.bytes()).into();
            Contribution::File(
                amode,
                Rc::new(if class == 0 { Ok((text, bytes)) } else { Err((class, text)) }),
            )
        }
        10 => {
            let class = from.i32();
            Contribution::Met(Rc::new(match class {
                0 => Ok((take_group(from), from.u32())),
                _ => Err((class, String::from_utf8_lossy(from.bytes()).into())),
            }))
        }
        4 => {
            let group = take_group(from);
            Contribution::Bridge(group, (from.u32(), from.u32(), from.i32(), from.u32()), from.u32())
        }
        5 => {
            let weighted = from.u8() != 0;
            let count = from.u32();
            Contribution::Edges((0..count).map(|_| (from.u32(), from.u32(), from.i32())).collect(), weighted)
        }
        _ => {
            let (sources, destinations) = (take_list(from), take_list(from));
            let weighted = from.u8() != 0;
            let mut weights = |count: usize| (0..count).map(|_| from.i32()).collect::<Box<[i32]>>();
            let weights = weighted.then(|| [weights(sources.len()), weights(destinations.len())]);
            Contribution::Adjacent(Rc::new(DistGraph { sources, destinations, weights }))
        }
    }
}

/// Members in a row that bring the same, or splits of one color whose keys are evenly spaced.
// A split of a million ranks by color is a few runs; told one by one it would be 16 MB to each process.
struct RegularMembers {
    member: u32,
    rank: u32,
    count: u32,
    /// From one member to the next: of world ranks, and of keys.
    rank_step: u32,
    key_step: u32,
}

impl RegularMembers {
    fn rank(&self, index: u32) -> u32 {
        self.rank.wrapping_add(self.rank_step.wrapping_mul(index))
    }
    fn key(&self, first: i32, index: u32) -> i32 {
        (first as u32).wrapping_add(self.key_step.wrapping_mul(index)) as i32
    }
    /// Returns the run that the first of these begin.
    fn of(list: &[(u32, u32, Contribution)]) -> RegularMembers {
        let (member, rank, first) = (list[0].0, list[0].1, &list[0].2);
        let mut run = RegularMembers { member, rank, count: 1, rank_step: 0, key_step: 0 };
        if let Some((_, next, contribution)) = list.get(1) {
            run.rank_step = next.wrapping_sub(rank);
            if let (Contribution::Split(_, one), Contribution::Split(_, other)) = (first, contribution) {
                run.key_step = (*other as u32).wrapping_sub(*one as u32);
            }
        }
        let goes_on = |index: u32, (other, rank, contribution): &(u32, u32, Contribution)| {
            let alike = match (first, contribution) {
                (Contribution::Nothing, Contribution::Nothing) => true,
                (Contribution::High(one), Contribution::High(other)) => one == other,
                (Contribution::Split(color, key), Contribution::Split(other, next)) => {
                    color == other && run.key(*key, index) == *next
                }
                (Contribution::Group(one, None), Contribution::Group(other, None)) => Rc::ptr_eq(one, other),
                _ => false,
            };
            alike && *other == member + index && *rank == run.rank(index)
        };
        let more = (1..).zip(&list[1..]).take_while(|(index, entry)| goes_on(*index, entry)).count();
        run.count += more as u32;
        run
    }
}

/// Appends all contributions: the different ones but for splits, then runs.
pub(crate) fn encode(contributions: &Contributions, out: &mut Vec<u8>) {
    // By their bytes: groups and topologies that are equal become one object again where they are read, which
    // is what lets members share it.
    let mut known: FxHashMap<Vec<u8>, u32> = FxHashMap::default();
    let (mut different, mut runs): (Vec<u8>, Vec<u8>) = (Vec::new(), Vec::new());
    let (mut at, mut count) = (0, 0);
    while at < contributions.len() {
        let run = RegularMembers::of(&contributions[at..]);
        runs.u32(run.member);
        runs.u32(run.rank);
        runs.u32(run.count);
        runs.u32(run.rank_step);
        if let Contribution::Split(color, key) = &contributions[at].2 {
            runs.u32(u32::MAX);
            runs.i32(color.unwrap_or(-1));
            runs.i32(*key);
            runs.u32(run.key_step);
        } else {
            let mut bytes = Vec::new();
            put(&contributions[at].2, &mut bytes);
            let next = known.len() as u32;
            let number = *known.entry(bytes).or_insert_with_key(|bytes| {
                different.extend_from_slice(bytes);
                next
            });
            runs.u32(number);
        }
        at += run.count as usize;
        count += 1;
    }
    out.u32(known.len() as u32);
    out.extend_from_slice(&different);
    out.u32(contributions.len() as u32);
    out.u32(count);
    out.extend_from_slice(&runs);
}

/// Returns what [`encode`] appended.
pub(crate) fn decode(from: &mut Take) -> Contributions {
    let different: Vec<Contribution> = (0..from.u32()).map(|_| take(from)).collect();
    let mut contributions = Vec::with_capacity(from.u32() as usize);
    for _ in 0..from.u32() {
        let mut run = RegularMembers {
            member: from.u32(),
            rank: from.u32(),
            count: from.u32(),
            rank_step: from.u32(),
            key_step: 0,
        };
        let number = from.u32();
        let members = run.member..run.member + run.count;
        if number == u32::MAX {
            let (color, key) = (from.i32(), from.i32());
            run.key_step = from.u32();
            let color = (color >= 0).then_some(color);
            let split = |index: u32| Contribution::Split(color, run.key(key, index));
            contributions
                .extend((0..).zip(members).map(|(index, member)| (member, run.rank(index), split(index))));
        } else {
            let contribution = &different[number as usize];
            contributions.extend(
                (0..).zip(members).map(|(index, member)| (member, run.rank(index), contribution.clone())),
            );
        }
    }
    contributions
}

#[cfg(test)]
mod tests {
    use super::*;
    use objects::group::Group;

    #[test]
    fn contributions_come_back_as_they_were() {
        let graph = DistGraph {
            sources: [1, 2].into(),
            destinations: [3].into(),
            weights: Some([[7, -8].into(), [9].into()]),
        };
        let cart = Topology::Cart(Cart { dims: [2, 3].into(), periods: [true, false].into() });
        let group = Group::from_ranks(vec![5, 1, 9]);
        let all = vec![
            Contribution::Nothing,
            Contribution::Split(Some(3), -4),
            Contribution::Split(None, 0),
            Contribution::Group(Group::range(2, -1, 3), None),
            Contribution::Group(group.clone(), Some(Rc::new(cart))),
            Contribution::Group(
                group.clone(),
                Some(Rc::new(Topology::Graph(Graph { index: [1].into(), edges: [0].into() }))),
            ),
            Contribution::High(true),
            Contribution::Bridge(group.clone(), (1, 2, -3, 4), 77),
            Contribution::Met(Rc::new(Ok((group, 78)))),
            Contribution::Met(Rc::new(Err((43, "nobody".into())))),
            Contribution::Edges(vec![(1, 2, -3)], true),
            Contribution::Adjacent(Rc::new(graph)),
            Contribution::Refused,
            Contribution::File(5, Rc::new(Ok(("name".into(), 7)))),
            Contribution::File(6, Rc::new(Err((42, "why".into())))),
            Contribution::Nothing,
        ];
        let all: Contributions =
            all.into_iter().enumerate().map(|(i, one)| (i as u32, 10 + i as u32, one)).collect();
        let (mut bytes, mut again) = (Vec::new(), Vec::new());
        encode(&all, &mut bytes);
        let mut from = Take(&bytes);
        let back = decode(&mut from);
        assert!(from.is_empty());
        encode(&back, &mut again);
        assert_eq!(bytes, again);
        assert_eq!(
            back.iter().map(|(member, rank, _)| (*member, *rank)).collect::<Vec<_>>(),
            (0..16).map(|i| (i, 10 + i)).collect::<Vec<_>>()
        );
        assert!(matches!(&back[4].2, Contribution::Group(group, Some(_)) if group.iter().eq([5, 1, 9])));
    }

    #[test]
    fn members_that_bring_alike_are_a_few_words() {
        let split = |i: u32| Contribution::Split(Some((i / 1000) as i32), 3000 - 2 * i as i32);
        let all: Contributions = (0..3000)
            .map(|i| (i, 7 + 3 * i, split(i)))
            .chain((3000..5000).map(|i| (i, i, Contribution::Nothing)))
            .collect();
        let mut bytes = Vec::new();
        encode(&all, &mut bytes);
        assert!(bytes.len() < 200, "{} bytes", bytes.len());
        let back = decode(&mut Take(&bytes));
        let plain = |list: &Contributions| {
            let part = |contribution: &Contribution| match contribution {
                Contribution::Split(color, key) => (*color, *key),
                _ => (None, i32::MIN),
            };
            list.iter()
                .map(|(member, rank, contribution)| (*member, *rank, part(contribution)))
                .collect::<Vec<_>>()
        };
        assert_eq!(plain(&back), plain(&all));
    }
}
