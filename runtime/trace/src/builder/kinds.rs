//! Kinds of calls: between the same two call sites a program may do work of other sizes, as a multigrid does
//! from its finest to its coarsest grid. Calls of one place with sizes ([`Template::size`]) of other bits are
//! of other kinds, unless all ranks' one call is of several, or it makes no difference.

use crate::dictionary::Dictionary;
use crate::part::{Computed, Path, Place};
use crate::template::Template;
use rustc_hash::FxHashMap;
use std::collections::{BTreeMap, BTreeSet};

/// Which part of all that is computed kinds of a place have to tell apart. The rest is in the deviations.
const LEAST: f64 = 0.003;
/// Sizes differ by their bits, of which there are 0 to 64.
const SIZES: usize = 65;

/// Function and site, and the kinds that recorders told apart.
type Sizes = FxHashMap<(u32, u32), [u8; SIZES]>;

/// The sizes of calls: those that one call of a shape has, by whichever rank makes it, are one.
#[derive(Default)]
pub struct Kinds {
    /// The least of those that are one.
    one: Sizes,
    /// A size of each call of the file.
    of_calls: Vec<(Place, u8)>,
}

fn each() -> [u8; SIZES] {
    std::array::from_fn(|size| size as u8)
}

impl Kinds {
    /// A call of the file of this number, which is a new one if it is the next: ranks that make it say these
    /// numbers.
    pub fn call<'a>(&mut self, call: u32, template: &Template, numbers: impl Iterator<Item = &'a [i64]>) {
        let place = (template.function, template.site);
        let one = self.one.entry(place).or_insert_with(each);
        let mut first = None;
        for size in numbers.map(|numbers| template.size(numbers) as u8) {
            let with = one[usize::from(*first.get_or_insert(size))];
            let other = one[usize::from(size)];
            let least = with.min(other);
            one.iter_mut().filter(|known| [with, other].contains(known)).for_each(|known| *known = least);
        }
        if call as usize == self.of_calls.len() {
            self.of_calls.push(((place.0, place.1, 0), first.unwrap_or(0)));
        }
    }

    /// The histograms of the kinds that are left, and the kind of each call, from 0 at each place; none if
    /// all are of one.
    pub fn settle(self, computed: &BTreeMap<Path, Computed>) -> (BTreeMap<Path, Computed>, Vec<u32>) {
        let one = |(function, site, size): Place| {
            (
                function,
                site,
                self.one.get(&(function, site)).map_or(0, |one| u32::from(one[size as usize % SIZES])),
            )
        };
        let by_size = renamed(computed, one);
        let all: f64 = by_size.values().map(|computed| computed.histogram.sum() as f64).sum();
        let mut sizes: BTreeMap<(u32, u32), BTreeSet<u32>> = BTreeMap::new();
        for (function, site, size) in by_size.keys().flat_map(|path| path.0.into_iter().chain([path.1])) {
            sizes.entry((function, site)).or_default().insert(size);
        }
        sizes.retain(|place, sizes| sizes.len() > 1 && told_apart(&by_size, *place) > LEAST * all);
        let numbers: BTreeMap<(u32, u32), Dictionary<u32>> =
            sizes.into_iter().map(|(place, sizes)| (place, sizes.into_iter().collect())).collect();
        // A call that nothing is computed before or behind may be of any kind.
        let kind = |(function, site, size): Place| {
            let number = numbers.get(&(function, site)).and_then(|numbers| numbers.find(&size));
            (function, site, number.unwrap_or(0))
        };
        let kind_of = |&((function, site, _), size): &(Place, u8)| kind(one((function, site, size.into()))).2;
        let mut of_calls: Vec<u32> = self.of_calls.iter().map(kind_of).collect();
        if of_calls.iter().all(|&kind| kind == 0) {
            of_calls.clear();
        }
        (renamed(&by_size, kind), of_calls)
    }
}

/// Returns what was computed with other places, where some may be one.
fn renamed(computed: &BTreeMap<Path, Computed>, place: impl Fn(Place) -> Place) -> BTreeMap<Path, Computed> {
    let mut all: BTreeMap<Path, Computed> = BTreeMap::new();
    for ((from, to), computed) in computed {
        all.entry((from.map(&place), place(*to))).or_default().merge(computed);
    }
    all
}

/// By how much times are closer to their means if the kinds of a place are told apart, in picoseconds of all
/// ranks.
fn told_apart(computed: &BTreeMap<Path, Computed>, place: (u32, u32)) -> f64 {
    let without = |of: Place| if (of.0, of.1) == place { (of.0, of.1, 0) } else { of };
    let here = computed
        .iter()
        .filter(|(path, _)| path.0.into_iter().chain([path.1]).any(|of| (of.0, of.1) == place));
    let mut together: BTreeMap<Path, Vec<(f64, f64)>> = BTreeMap::new();
    for ((from, to), computed) in here {
        let (count, sum) = (computed.histogram.count as f64, computed.histogram.sum() as f64);
        together.entry((from.map(without), without(*to))).or_default().push((count, sum));
    }
    let gain = |kinds: &Vec<(f64, f64)>| {
        let (count, sum) = kinds.iter().fold((0.0, 0.0), |all, kind| (all.0 + kind.0, all.1 + kind.1));
        kinds.iter().map(|(times, of_kind)| (of_kind - times * sum / count).abs()).sum::<f64>()
    };
    together.values().map(gain).sum()
}
