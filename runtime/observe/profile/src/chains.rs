//! Calls by the callers of the site that they are made from. Each chain has its calls and their time, so that
//! memory grows with the chains that there are and not with calls or ranks.

use recorder::CodeLocation;
use recorder::Symbols;
use recorder::call_profile::ChainCost;
use recorder::waiting::Returned;
use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};
use std::cmp::Reverse;
use std::collections::BTreeMap;

/// Calls, time and waiting time of one chain.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct ChainSum {
    calls: u64,
    time_ps: u128,
    wait_ps: u128,
}

/// Costs of a process's call chains, by their numbers.
#[derive(Default)]
pub struct ChainCosts {
    names: FxHashMap<u32, Vec<String>>,
    costs: Vec<ChainSum>,
    /// The tally that each chain belongs to. A chain has one function and one call site, and so one tally.
    tallies: Vec<u32>,
}

/// The chains of one site and function, by the names of their callers: that is how those of several processes
/// meet, and clones and copies of code.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct SiteChains(Vec<(Vec<String>, ChainSum)>);

impl ChainCosts {
    /// Notes the names of the places of the chain that has this number.
    pub fn explain(&mut self, number: u32, places: &[CodeLocation], symbols: &mut Symbols) {
        self.names.insert(number, places.iter().flat_map(|place| symbols.names(place)).collect());
    }

    /// Adds one more call, which belongs to this tally; O(1).
    #[inline]
    pub fn add(&mut self, tally: u32, call: &Returned) {
        let at = call.chain as usize;
        if self.costs.len() <= at {
            self.costs.resize(at + 1, ChainSum::default());
            self.tallies.resize(at + 1, 0);
        }
        self.tallies[at] = tally;
        let cost = &mut self.costs[at];
        cost.calls += 1;
        cost.time_ps += u128::from(call.left.since(call.entered).as_ps());
        cost.wait_ps += u128::from(call.wait.as_ps());
    }

    /// Returns the chains of which there were calls, by their tallies, of which there are so many.
    pub fn by_tally(&self, tallies: usize) -> Vec<Vec<u32>> {
        let mut all = vec![Vec::new(); tallies];
        for ((number, &tally), _) in
            (0..).zip(&self.tallies).zip(&self.costs).filter(|(_, cost)| cost.calls > 0)
        {
            all[tally as usize].push(number);
        }
        all
    }

    /// Returns these chains of one tally; `site` is the name of its place, with those of the functions that
    /// the compiler has put around it. Nothing behind `main` is the program's: where a process is one rank
    /// the system's start would follow.
    pub fn part(&self, numbers: &[u32], site: &[String]) -> SiteChains {
        let chains = numbers.iter().map(|number| {
            let all: Vec<&String> = site.iter().chain(self.names.get(number).into_iter().flatten()).collect();
            let main = all.iter().position(|name| is_main(name)).unwrap_or(all.len());
            (
                all.into_iter().take(main.saturating_add(1)).skip(1).cloned().collect(),
                self.costs[*number as usize],
            )
        });
        SiteChains(chains.collect())
    }
}

impl SiteChains {
    /// Adds up the chains of a site, those of other processes and of its copies; as a report has them.
    pub fn report(parts: &[SiteChains]) -> Vec<ChainCost> {
        let mut all: BTreeMap<&[String], ChainSum> = BTreeMap::new();
        for (names, cost) in parts.iter().flat_map(|part| &part.0) {
            let sum = all.entry(names).or_default();
            sum.calls += cost.calls;
            sum.time_ps += cost.time_ps;
            sum.wait_ps += cost.wait_ps;
        }
        let cost = |(names, cost): (&[String], ChainSum)| ChainCost {
            chain: names.to_vec(),
            calls: cost.calls,
            time_ps: cost.time_ps,
            wait_ps: cost.wait_ps,
        };
        let mut all: Vec<ChainCost> = all.into_iter().map(cost).collect();
        // `main` has no callers to tell apart.
        all.retain(|cost| !cost.chain.is_empty());
        // Stable: of equal ones the order of their names.
        all.sort_by_key(|cost| Reverse((cost.time_ps, cost.calls)));
        all
    }
}

/// Returns `true` if a name is that of `main`, with debug information or without.
fn is_main(name: &str) -> bool {
    name.rsplit(' ').next().is_some_and(|function| function == "main" || function.starts_with("main+0x"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn main_is_told_by_its_name() {
        assert!(is_main("app.c:12 main") && is_main("app main+0x40"));
        assert!(
            !is_main("main.c:12 remain") && !is_main("app.c:3 main_loop") && !is_main("app.f90:3 MAIN__")
        );
    }

    #[test]
    fn chains_of_one_name_are_one() {
        let part = |name: &str, calls, time_ps| {
            SiteChains(vec![(vec![name.to_owned()], ChainSum { calls, time_ps, wait_ps: 0 })])
        };
        let all = SiteChains::report(&[part("a", 1, 5), part("b", 1, 7), part("a", 2, 6)]);
        let told: Vec<_> =
            all.iter().map(|cost| (cost.chain[0].as_str(), cost.calls, cost.time_ps)).collect();
        assert_eq!(told, [("a", 3, 11), ("b", 1, 7)]);
    }
}
