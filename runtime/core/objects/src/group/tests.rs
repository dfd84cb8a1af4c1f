//! Groups against plain lists of world ranks.

use super::*;
use proptest::prelude::*;

/// Lists of distinct world ranks: regular, nearly regular and wild ones.
fn ranks() -> impl Strategy<Value = Vec<u32>> {
    prop_oneof![
        (0u32..20, 1u32..5, 0u32..12)
            .prop_map(|(first, stride, count)| (0..count).map(|i| first + i * stride).collect()),
        (0u32..12).prop_map(|count| (0..count).rev().collect()),
        prop::collection::hash_set(0u32..40, 0..15).prop_map(|set| set.into_iter().collect()),
        prop::collection::hash_set(0u32..1_000_000, 0..6).prop_map(|set| set.into_iter().collect()),
    ]
}

proptest! {
    #[test]
    fn members_of_a_process_are_counted(
        start in 0u32..50,
        stride in 1i64..4,
        size in 0u32..30,
        first in 0u32..60,
        count in 0u32..60,
    ) {
        let group = Group::range(start, stride, size);
        let plain = group.iter().filter(|rank| (first..first + count).contains(rank)).count() as u32;
        prop_assert_eq!(group.members_between(first, count), plain);
    }

    #[test]
    fn members_and_inverse_agree(list in ranks()) {
        let group = Group::from_ranks(list.clone());
        prop_assert_eq!(group.iter().collect::<Vec<_>>(), list.clone());
        for world in 0..50 {
            prop_assert_eq!(group.rank_of(world), list.iter().position(|&r| r == world).map(|p| p as u32));
        }
        for (rank, &world) in list.iter().enumerate() {
            prop_assert_eq!(group.rank_of(world), Some(rank as u32));
        }
    }

    #[test]
    fn set_operations_keep_the_order_of_the_first(a in ranks(), b in ranks()) {
        let (x, y) = (Group::from_ranks(a.clone()), Group::from_ranks(b.clone()));
        let list = |group: Rc<Group>| group.iter().collect::<Vec<_>>();
        let common: Vec<_> = a.iter().copied().filter(|r| b.contains(r)).collect();
        let only: Vec<_> = a.iter().copied().filter(|r| !b.contains(r)).collect();
        let all: Vec<_> = a.iter().copied().chain(b.iter().copied().filter(|r| !a.contains(r))).collect();
        prop_assert_eq!(list(x.intersection(&y)), common.clone());
        prop_assert_eq!(list(x.difference(&y)), only);
        prop_assert_eq!(list(x.union(&y)), all);
        let want = if a == b {
            GroupComparison::Ident
        } else if common.len() == a.len() && a.len() == b.len() {
            GroupComparison::Similar
        } else {
            GroupComparison::Unequal
        };
        prop_assert_eq!(x.compare(&y), want);
        for (rank, &world) in a.iter().enumerate() {
            let want = b.iter().position(|&r| r == world).map_or(UNDEFINED, |p| p as i32);
            prop_assert_eq!(x.translate(rank as i32, &y).unwrap(), want);
        }
    }

    #[test]
    fn excluded_ranks_are_out(list in ranks(), picks in prop::collection::hash_set(0usize..15, 0..6)) {
        let picks: Vec<i32> = picks.into_iter().filter(|&p| p < list.len()).map(|p| p as i32).collect();
        let got = Group::from_ranks(list.clone()).excl(&picks).unwrap();
        let want: Vec<u32> =
            (0..list.len()).filter(|&p| !picks.contains(&(p as i32))).map(|p| list[p]).collect();
        prop_assert_eq!(got.iter().collect::<Vec<_>>(), want);
    }

    #[test]
    fn ranges_name_what_they_enumerate(
        list in ranks(),
        first in 0i32..12,
        last in 0i32..12,
        stride in -4i32..5,
    ) {
        let group = Group::from_ranks(list.clone());
        let mut named = Vec::new();
        let mut at = first;
        while stride != 0 && ((stride > 0 && at <= last) || (stride < 0 && at >= last)) {
            named.push(at);
            at += stride;
        }
        let valid = stride != 0 && named.iter().all(|&rank| (rank as usize) < list.len());
        match (group.range_incl(&[[first, last, stride]]), group.range_excl(&[[first, last, stride]])) {
            (Ok(incl), Ok(excl)) => {
                prop_assert!(valid);
                prop_assert_eq!(
                    incl.iter().collect::<Vec<_>>(),
                    named.iter().map(|&rank| list[rank as usize]).collect::<Vec<_>>()
                );
                let rest: Vec<_> = (0..list.len())
                    .filter(|&rank| !named.contains(&(rank as i32)))
                    .map(|rank| list[rank])
                    .collect();
                prop_assert_eq!(excl.iter().collect::<Vec<_>>(), rest);
            }
            (Err(_), Err(_)) => prop_assert!(!valid),
            _ => prop_assert!(false, "incl and excl disagree on what is valid"),
        }
    }
}

#[test]
fn all_but_one_of_a_million_is_a_range_still() {
    let world = Group::world(1_000_000);
    assert_eq!(world.excl(&[0]).unwrap().as_range(), Some((1, 1)));
    assert_eq!(world.excl(&[999_999, 0, 999_998]).unwrap().size(), 999_997);
    let without = world.excl(&[5]).unwrap();
    assert_eq!(
        (without.rank_of(4), without.rank_of(5), without.rank_of(6), without.as_range()),
        (Some(4), None, Some(5), None)
    );
    assert_eq!(Group::range(7, 3, 4).excl(&[3, 0, 1, 2]).unwrap().size(), 0);
}

#[test]
fn wrong_ranks_are_named() {
    let group = Group::world(4);
    assert!(group.incl(&[0, 4]).unwrap_err().text.contains("rank 4 is not in a group of 4"));
    assert!(group.incl(&[2, 2]).unwrap_err().text.contains("twice"));
    assert_eq!(group.incl(&[-1]).unwrap_err().class, ErrorClass::RANK);
    assert_eq!(group.range_incl(&[[0, 3, 0]]).unwrap_err().class, ErrorClass::ARG);
    assert_eq!(group.translate(PROC_NULL, &group).unwrap(), PROC_NULL);
}

#[test]
fn a_million_ranks_split_in_rows_share_what_they_can() {
    let table: Rc<[u32]> = (0..1_000_000).map(|rank| (rank % 1000) * 1000 + rank / 1000).collect();
    let columns: Vec<_> =
        (0..1000).map(|column| Group::from_table(table.clone(), column * 1000, 1000)).collect();
    assert_eq!(columns[3].as_range(), Some((3, 1000)));
    assert_eq!(columns[999].rank_of(999_999), Some(999));
    assert_eq!(Rc::strong_count(&table), 1);
}

#[test]
fn equal_groups_of_many_ranks_are_one_handle() {
    let mut groups = GroupRegistry::new();
    let handle = groups.create(0, Group::from_ranks(vec![5, 1, 9])).unwrap();
    assert_eq!(groups.create(1, Group::from_ranks(vec![5, 1, 9])).unwrap(), handle);
    assert_ne!(groups.create(0, Group::from_ranks(vec![5, 1, 9])).unwrap(), handle);
    assert_eq!(groups.create(0, Group::empty()).unwrap(), 0x109);
    groups.free(0, 0x109).unwrap();
    groups.free(0, handle).unwrap();
    assert!(groups.get(0, handle).unwrap_err().text.contains("group"));
    assert!(groups.get(1, handle).is_ok());
    assert_eq!(groups.get(1, 0x108).unwrap_err().class, ErrorClass::GROUP);
}

#[test]
fn members_that_share_a_node_are_counted_if_all_nodes_have_as_many() {
    assert_eq!(Group::world(64).on_node(8), 8);
    assert_eq!(Group::world(63).on_node(8), 8);
    assert_eq!(Group::range(3, 4, 16).on_node(8), 2);
    assert_eq!([Group::range(8, 8, 4).on_node(8), Group::range(8, 16, 4).on_node(8)], [1, 1]);
    assert_eq!(Group::range(2, 1, 16).on_node(8), 1, "six on the first node, eight on the next");
    assert_eq!(Group::range(15, -1, 16).on_node(8), 1);
    let listed = |ranks: &[u32]| Group::from_ranks(ranks.to_vec()).on_node(8);
    assert_eq!(listed(&[0, 3, 8, 9, 17, 23]), 2);
    assert_eq!(listed(&[0, 3, 8, 9, 17]), 2);
    assert_eq!(listed(&[0, 3, 8, 17, 23]), 1);
    assert_eq!(listed(&[0, 8, 3, 9, 17]), 1);
    assert_eq!(listed(&[8, 9, 0, 3, 16, 18]), 1, "nodes out of order");
}
