//! Algorithms that the collective calls of a process have taken, kept for a recorder.

use objects::group::Group;
use recorder::collective::{CollectiveKind, CollectiveUse, Example};
use rustc_hash::FxHashMap;
use schedule::choose::{Policy, choose};
use schedule::{Kind, Shape};
use std::rc::Rc;

/// Kinds of calls, numbered from 1 in the order in which they were met.
#[derive(Default)]
pub(crate) struct Taken {
    numbers: FxHashMap<CallKind, u32>,
    met: Vec<(CallKind, u64, CollectiveExample)>,
    /// The last call and its number: most are one more of the same.
    latest: Option<(CollectiveExample, u32)>,
}

/// Key that distinguishes kinds of collective calls ([`CollectiveKind`]).
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
struct CallKind {
    kind: Kind,
    algorithm: &'static str,
    members: u32,
    irregular: bool,
    commutative: bool,
    size_bits: u32,
}

/// A call and its members.
#[derive(Clone)]
struct CollectiveExample {
    shape: Shape,
    group: Rc<Group>,
}

impl CollectiveExample {
    /// Returns `true` if both are one kind and one example.
    fn is_like(&self, other: &CollectiveExample) -> bool {
        Rc::ptr_eq(&self.group, &other.group) && self.shape == other.shape
    }

    fn seen(&self, least_bytes: u64) -> CollectiveUse {
        let Shape { bytes, root, element, predefined, .. } = self.shape;
        CollectiveUse {
            least_bytes,
            example: Example { bytes, ranks: runs(&self.group), root, element, predefined },
        }
    }
}

/// Returns the members of a group in runs at equal distances.
fn runs(group: &Group) -> Vec<(u32, i64, u32)> {
    if let Some((first, stride)) = group.as_range() {
        return vec![(first, stride, group.size())];
    }
    let mut runs: Vec<(u32, i64, u32)> = Vec::new();
    for rank in group.iter() {
        match runs.last_mut() {
            Some((first, stride, count @ 1)) => (*stride, *count) = (i64::from(rank) - i64::from(*first), 2),
            Some((first, stride, count))
                if i64::from(*first) + *stride * i64::from(*count) == i64::from(rank) =>
            {
                *count += 1
            }
            _ => runs.push((rank, 1, 1)),
        }
    }
    runs
}

impl Taken {
    /// Returns the number of the kind of a call of `group`, and the algorithm chosen by `policy`.
    pub(crate) fn number(&mut self, shape: &Shape, group: Rc<Group>, policy: &Policy) -> u32 {
        let call = CollectiveExample { shape: shape.clone(), group };
        if let Some((_, number)) = self.latest.as_ref().filter(|(latest, _)| latest.is_like(&call)) {
            return *number;
        }
        let key = CallKind {
            kind: shape.kind,
            algorithm: choose(shape, policy).name(),
            members: shape.size,
            irregular: shape.irregular,
            commutative: shape.commutative,
            size_bits: u64::BITS - shape.bytes.leading_zeros(),
        };
        let Taken { numbers, met, latest } = self;
        let number = *numbers.entry(key).or_insert_with(|| {
            met.push((key, shape.bytes, call.clone()));
            met.len() as u32
        });
        let (_, least, example) = &mut met[number as usize - 1];
        *least = shape.bytes.min(*least);
        if !example.is_like(&call) {
            let (mut both, new) = (example.seen(0), call.seen(0));
            both.add(&new);
            if both == new {
                *example = call.clone();
            }
        }
        *latest = Some((call, number));
        number
    }

    /// Returns the kinds, from number 1 on, each with what is known of its calls.
    pub(crate) fn kinds(&self) -> Vec<(CollectiveKind, CollectiveUse)> {
        let kind = |(key, least, call): &(CallKind, u64, CollectiveExample)| {
            let kind = CollectiveKind {
                collective: key.kind.name().to_owned(),
                algorithm: key.algorithm.to_owned(),
                members: key.members,
                irregular: key.irregular,
                commutative: key.commutative,
                size_bits: key.size_bits,
            };
            (kind, call.seen(*least))
        };
        self.met.iter().map(kind).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_group_is_told_in_runs_and_comes_back() {
        for ranks in [vec![0, 1, 2, 3], vec![9, 6, 3, 0], vec![0, 4, 8, 9, 10, 3], vec![5], vec![7, 2]] {
            let told = runs(&Group::from_ranks(ranks.clone()));
            let example = Example { ranks: told.clone(), bytes: 0, root: 0, element: 1, predefined: true };
            assert_eq!(example.members().collect::<Vec<_>>(), ranks, "{told:?}");
        }
        assert_eq!(runs(&Group::from_ranks(vec![0, 4, 8, 9, 10, 3])), [(0, 4, 3), (9, 1, 2), (3, 1, 1)]);
    }

    #[test]
    fn calls_of_about_one_size_are_one_kind_and_the_largest_stands_for_them() {
        let (mut taken, policy) = (Taken::default(), "allreduce=ring".parse::<Policy>().unwrap());
        let (low, high) = (Group::range(0, 1, 8), Group::range(8, 1, 8));
        let mut number = |bytes, group: &Rc<Group>| {
            taken.number(&Shape::regular(Kind::Allreduce, 8, bytes, 8), group.clone(), &policy)
        };
        assert_eq!(
            [number(64, &high), number(120, &high), number(120, &low), number(128, &low)],
            [1, 1, 1, 2]
        );
        let kinds = taken.kinds();
        assert_eq!(
            (kinds[0].0.algorithm.as_str(), kinds[0].0.size_bits, kinds[0].1.least_bytes),
            ("ring", 7, 64)
        );
        assert_eq!((kinds[0].1.example.bytes, &kinds[0].1.example.ranks[..]), (120, &[(0, 1, 8)][..]));
    }
}
