//! Sets of calls of one place before and behind which ranks compute alike.
//!
//! All calls of a place are one set at first. Sets are divided by what is computed on the paths to their
//! calls, then by the paths from them as well, from and to the sets of other calls, until nothing changes.

use std::collections::BTreeMap;

/// A path from a call to the next.
#[derive(Clone, Copy, Debug)]
pub struct CallTransition {
    /// The call before, from 1; 0 at the beginning.
    pub from: u32,
    /// The call.
    pub to: u32,
    /// Passages of all ranks.
    pub passages: f64,
    /// Computation of all passages, in picoseconds.
    pub sum: f64,
    /// The squares of these times.
    pub squares: f64,
}

/// The part of all computation that one division of a set has to tell apart.
const MIN_GAIN: f64 = 0.001;
/// Means that differ by fewer standard errors are the same.
const ERRORS: f64 = 3.0;
/// The most times that sets are divided again.
const MAX_ROUNDS: usize = 8;
/// A place with more calls keeps one set: all its calls may differ.
const MAX_CALLS: usize = 2048;

/// Passages, and the sum and squares of their times.
type Times = (f64, f64, f64);

/// A set in the making: calls, and their times by path. A path is `true` and the set that it leads to, or
/// `false` and the set that it comes from.
#[derive(Clone, Default)]
struct Set {
    calls: Vec<u32>,
    paths: BTreeMap<(bool, u32), Times>,
}

impl Set {
    fn add(&mut self, path: (bool, u32), times: Times) {
        let known = self.paths.entry(path).or_default();
        *known = (known.0 + times.0, known.1 + times.1, known.2 + times.2);
    }

    fn join(&mut self, other: Set) {
        self.calls.extend(other.calls);
        other.paths.into_iter().for_each(|(path, times)| self.add(path, times));
    }

    /// Returns how far times on the paths of both are from their common means more than from their own.
    fn loss(&self, other: &Set) -> f64 {
        self.paths.iter().filter_map(|(path, times)| Some(loss(*times, *other.paths.get(path)?))).sum()
    }

    /// Returns the mean time before its calls, and behind them.
    fn means(&self) -> (f64, f64) {
        let mean = |behind: bool| {
            let paths = self.paths.iter().filter(|(path, _)| path.0 == behind);
            let sum = paths.fold((0.0, 0.0), |sum, (_, times)| (sum.0 + times.0, sum.1 + times.1));
            if sum.0 > 0.0 { sum.1 / sum.0 } else { 0.0 }
        };
        (mean(false), mean(true))
    }
}

/// Returns how much is lost if both have one mean; nothing if chance explains that these differ.
fn loss(one: Times, other: Times) -> f64 {
    if one.0 <= 0.0 || other.0 <= 0.0 {
        return 0.0;
    }
    let (first, second) = (one.1 / one.0, other.1 / other.0);
    let variance = |times: Times, mean: f64| (times.2 / times.0 - mean * mean).max(0.0) / times.0;
    let error = (variance(one, first) + variance(other, second)).sqrt();
    if (first - second).abs() <= ERRORS * error {
        return 0.0;
    }
    let mean = (one.1 + other.1) / (one.0 + other.0);
    one.0 * (first - mean).abs() + other.0 * (second - mean).abs()
}

/// Returns a number for the set of each call that a path leads to or from. Calls of one set are of one
/// `site`. O(calls of a place squared, times their paths), for each of a few rounds.
pub fn classes<S: Ord>(links: &[CallTransition], site: impl Fn(u32) -> S) -> BTreeMap<u32, u32> {
    let min_loss = MIN_GAIN * links.iter().map(|link| link.sum).sum::<f64>();
    let mut sites: BTreeMap<S, u32> = BTreeMap::new();
    let mut classes: BTreeMap<u32, u32> = BTreeMap::new();
    for link in links {
        for call in link.from.checked_sub(1).into_iter().chain([link.to]) {
            // The least call of a set is its number.
            let known = sites.entry(site(call)).or_insert(call);
            *known = call.min(*known);
        }
    }
    for link in links {
        for call in link.from.checked_sub(1).into_iter().chain([link.to]) {
            classes.insert(call, sites[&site(call)]);
        }
    }
    for round in 0..MAX_ROUNDS {
        let next = divided(links, &classes, round > 0, min_loss);
        if next == classes && round > 0 {
            break;
        }
        classes = next;
    }
    classes
}

/// Divides each set once, by the paths to its calls and, if `both`, by the paths from them.
fn divided(
    links: &[CallTransition],
    classes: &BTreeMap<u32, u32>,
    both: bool,
    min_loss: f64,
) -> BTreeMap<u32, u32> {
    let mut of_call: BTreeMap<u32, Set> = BTreeMap::new();
    for link in links {
        let times = (link.passages, link.sum, link.squares);
        let from = link.from.checked_sub(1);
        let set = of_call.entry(link.to).or_default();
        set.add((false, from.map_or(u32::MAX, |from| classes[&from])), times);
        if let Some(from) = from {
            let set = of_call.entry(from).or_default();
            if both {
                set.add((true, classes[&link.to]), times);
            }
        }
    }
    let mut members: BTreeMap<u32, Vec<Set>> = BTreeMap::new();
    for (call, mut set) in of_call {
        set.calls.push(call);
        members.entry(classes[&call]).or_default().push(set);
    }
    let mut next = BTreeMap::new();
    for sets in members.into_values() {
        for set in if sets.len() > MAX_CALLS { together(sets) } else { joined(sets, min_loss) } {
            let number = *set.calls.iter().min().expect("a set has a call");
            next.extend(set.calls.iter().map(|&call| (call, number)));
        }
    }
    next
}

/// Returns one set of all.
fn together(sets: Vec<Set>) -> Vec<Set> {
    let mut all = Set::default();
    sets.into_iter().for_each(|set| all.join(set));
    vec![all]
}

/// Joins neighbours, in the order of their means, as long as less is lost than `min_loss`: those first that
/// lose least.
fn joined(mut sets: Vec<Set>, min_loss: f64) -> Vec<Set> {
    let order = |one: &Set, other: &Set| {
        let (a, b) = (one.means(), other.means());
        a.0.total_cmp(&b.0).then(a.1.total_cmp(&b.1)).then(one.calls.cmp(&other.calls))
    };
    sets.sort_by(order);
    let mut losses: Vec<f64> = sets.windows(2).map(|two| two[0].loss(&two[1])).collect();
    while let Some((at, &least)) = losses.iter().enumerate().min_by(|a, b| a.1.total_cmp(b.1))
        && least < min_loss
    {
        let other = sets.remove(at + 1);
        sets[at].join(other);
        losses.remove(at);
        if at > 0 {
            losses[at - 1] = sets[at - 1].loss(&sets[at]);
        }
        if at < losses.len() {
            losses[at] = sets[at].loss(&sets[at + 1]);
        }
    }
    sets
}

#[cfg(test)]
mod tests {
    use super::*;

    fn link(from: u32, to: u32, passages: f64, mean: f64) -> CallTransition {
        CallTransition { from, to, passages, sum: passages * mean, squares: passages * mean * mean }
    }

    fn sets(links: &[CallTransition]) -> usize {
        let mut numbers: Vec<u32> = classes(links, |_| 0).into_values().collect();
        numbers.sort_unstable();
        numbers.dedup();
        numbers.len()
    }

    #[test]
    fn calls_of_one_line_that_follow_other_work_are_told_apart() {
        // Three calls in a loop of 50 iterations, with 200 us of work before the first.
        let links =
            [link(0, 0, 1.0, 2e8), link(1, 1, 50.0, 0.0), link(2, 2, 50.0, 0.0), link(3, 0, 49.0, 2e8)];
        let found = classes(&links, |_| 0);
        assert_eq!(found[&1], found[&2]);
        assert_ne!(found[&0], found[&1]);
    }

    #[test]
    fn calls_that_follow_the_same_work_are_of_one_set() {
        assert_eq!(sets(&[link(0, 0, 1.0, 1e8), link(1, 1, 50.0, 1e8), link(2, 0, 49.0, 1e8)]), 1);
        let noisy =
            |from, to, mean| CallTransition { squares: 50.0 * 4.0 * 1e16, ..link(from, to, 50.0, mean) };
        assert_eq!(sets(&[noisy(1, 1, 1e8), noisy(2, 0, 1.1e8)]), 1, "within chance");
    }

    #[test]
    fn calls_before_other_work_are_told_apart_where_the_next_call_is_the_same() {
        // Calls 0 and 1 of one site lead to call 2 of another, which follows other work.
        let links = [
            link(0, 0, 1.0, 1e6),
            link(1, 2, 50.0, 1e8),
            link(3, 1, 50.0, 1e6),
            link(2, 2, 50.0, 9e8),
            link(3, 0, 49.0, 1e6),
        ];
        let found = classes(&links, |call| u32::from(call == 2));
        assert_ne!(found[&0], found[&1]);
    }
}
