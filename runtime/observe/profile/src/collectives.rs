//! Algorithms that the collectives took, by the site that they are called from.

use engine::Span;
use recorder::collective::{CollectiveCost, CollectiveKind, CollectiveUse};
use recorder::waiting::Returned;
use serde::{Deserialize, Serialize};
use std::cmp::Reverse;
use std::collections::BTreeMap;

/// Calls of one kind from one place.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct CollectiveSum {
    calls: u64,
    time_ps: u128,
    wait_ps: u128,
}

impl CollectiveSum {
    fn add(&mut self, calls: u64, time_ps: u128, wait_ps: u128) {
        self.calls += calls;
        self.time_ps += time_ps;
        self.wait_ps += wait_ps;
    }
}

/// Collective calls by call site and kind.
#[derive(Default)]
pub struct CollectiveProfile {
    /// By place; most places have one kind.
    costs: Vec<Vec<(u32, CollectiveSum)>>,
    kinds: Vec<(CollectiveKind, CollectiveUse)>,
}

/// Kinds and costs of the collective calls of one place, which a process sends to the first process.
pub type Part = Vec<(CollectiveKind, CollectiveUse, CollectiveSum)>;

impl CollectiveProfile {
    /// Adds one more call from this site; O(kinds there).
    pub fn add(&mut self, place: u32, call: &Returned) {
        let place = place as usize;
        if self.costs.len() <= place {
            self.costs.resize(place + 1, Vec::new());
        }
        let kinds = &mut self.costs[place];
        let at = kinds.iter().position(|(kind, _)| *kind == call.collective).unwrap_or_else(|| {
            kinds.push((call.collective, CollectiveSum::default()));
            kinds.len() - 1
        });
        let ps = |span: Span| u128::from(span.as_ps());
        kinds[at].1.add(1, ps(call.left.since(call.entered)), ps(call.wait));
    }

    /// Sets the kinds of collectives that calls name by number, from 1 on.
    pub fn explain(&mut self, kinds: &[(CollectiveKind, CollectiveUse)]) {
        self.kinds = kinds.to_vec();
    }

    /// Returns, for the first process, what is known of a site.
    pub fn part(&self, place: usize) -> Part {
        let of = |&(number, cost): &(u32, CollectiveSum)| {
            let (kind, seen) = self.kinds.get(number as usize - 1)?;
            Some((kind.clone(), seen.clone(), cost))
        };
        self.costs.get(place).into_iter().flatten().filter_map(of).collect()
    }
}

/// Collective calls of all processes, by call site, function and kind.
#[derive(Default)]
pub struct CollectiveTotals(BTreeMap<(String, String, CollectiveKind), (CollectiveUse, CollectiveSum)>);

impl CollectiveTotals {
    /// Adds what a process knows of a site: its name, and the function that is called there.
    pub fn add(&mut self, (site, function): (&str, &str), part: Part) {
        for (kind, seen, cost) in part {
            let key = (site.to_owned(), function.to_owned(), kind);
            let (all, sum) = self.0.entry(key).or_insert_with(|| (seen.clone(), CollectiveSum::default()));
            all.add(&seen);
            sum.add(cost.calls, cost.time_ps, cost.wait_ps);
        }
    }

    /// Returns the costs as a report has them, those that took most first.
    // A process knows of a kind what it has seen of it anywhere. So what all know of it is put together
    // before it is said of each place, whichever processes have called from there.
    pub fn report(self) -> Vec<CollectiveCost> {
        let mut kinds: BTreeMap<CollectiveKind, CollectiveUse> = BTreeMap::new();
        for ((.., kind), (seen, _)) in &self.0 {
            kinds.entry(kind.clone()).and_modify(|all| all.add(seen)).or_insert_with(|| seen.clone());
        }
        let cost = |((site, function, kind), (_, cost)): (
            (String, String, CollectiveKind),
            (CollectiveUse, CollectiveSum),
        )| {
            let CollectiveUse { least_bytes, example } = kinds[&kind].clone();
            CollectiveCost {
                site,
                function,
                kind,
                least_bytes,
                most_bytes: example.bytes,
                calls: cost.calls,
                time_ps: cost.time_ps,
                wait_ps: cost.wait_ps,
                takes_ps: BTreeMap::new(),
                unknown: None,
                example: Some(example),
            }
        };
        let mut costs: Vec<_> = self.0.into_iter().map(cost).collect();
        costs.sort_by_key(|cost| Reverse((cost.time_ps, cost.calls)));
        costs
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use recorder::collective::Example;

    #[test]
    fn the_call_that_stands_for_a_kind_does_not_depend_on_which_process_has_seen_it() {
        let kind = CollectiveKind {
            collective: "barrier".to_owned(),
            algorithm: "dissemination".to_owned(),
            members: 4,
            irregular: false,
            commutative: true,
            size_bits: 0,
        };
        let seen = |first| CollectiveUse {
            least_bytes: 0,
            example: Example { bytes: 0, ranks: vec![(first, 1, 4)], root: 0, element: 1, predefined: true },
        };
        let part =
            |first| vec![(kind.clone(), seen(first), CollectiveSum { calls: 1, time_ps: 5, wait_ps: 0 })];
        let told = |places: &[(&str, u32)]| {
            let mut all = CollectiveTotals::default();
            places.iter().for_each(|&(site, first)| all.add((site, "MPI_Barrier"), part(first)));
            all.report().into_iter().map(|cost| (cost.site, cost.example)).collect::<BTreeMap<_, _>>()
        };
        // One process tells of all of a kind what it has seen anywhere; of two, each knows its own place.
        assert_eq!(told(&[("here", 0), ("there", 0)]), told(&[("here", 0), ("there", 4)]));
    }
}
