//! Algorithms that collectives took, and how long others would have taken.

use crate::profile::whole;
use crate::table::{Align, CellNumber, Table, TableCell};
use crate::units::{bytes, grouped, percent, short};
use recorder::collective::{CollectiveCost, Unknown};
use recorder::{CallProfile, Simulated};
use std::cmp::Reverse;

/// The least speed-up by another algorithm that a finding reports.
const WORTH_TELLING: f64 = 1.1;
/// Findings about algorithms.
const MAX_FINDINGS: usize = 3;
/// Algorithms by which a member has messages from many at once, which networks without congestion let it take
/// as one: no finding recommends them.
const CROWDED: [&str; 2] = ["linear", "scattered"];

/// Returns so many collectives by place and kind, those that took most first; those that took no time are
/// left out.
pub fn collectives(run: &Simulated, profile: &CallProfile, most: usize) -> Table {
    use Align::{Left, Right};
    let mut table = Table::new(&[
        ("call site", Left),
        ("function", Left),
        ("members", Right),
        ("bytes", Right),
        ("algorithm", Left),
        ("calls", Right),
        ("time", Right),
        ("waits", Right),
        ("one takes", Right),
        ("by others", Left),
    ]);
    for cost in profile.collectives.iter().filter(|cost| cost.time_ps > 0).take(most) {
        let own =
            cost.takes_ps.get(&cost.kind.algorithm).map_or_else(|| "-".into(), |&ps| TableCell::time(ps));
        table.rows.push(vec![
            cost.site.as_str().into(),
            cost.function.as_str().into(),
            TableCell::count(cost.kind.members),
            sizes(cost),
            cost.kind.algorithm.as_str().into(),
            TableCell::count(cost.calls),
            TableCell::percent(cost.time_ps, whole(run)),
            TableCell::percent(cost.wait_ps, whole(run)),
            own,
            others(cost).into(),
        ]);
    }
    table
}

/// The explanation of the columns of [`collectives`].
pub const MEANING: &str = "How long one takes, and would take by others, is of calls whose members enter at \
    one time, alone on the network; networks of formulas have no congestion, so that linear and scattered \
    look better than they are. Bytes are those that algorithms are chosen by: the message, or one block of \
    those that have several.";

/// Returns the least and the greatest size; as data both.
fn sizes(cost: &CollectiveCost) -> TableCell {
    let mut cell = TableCell::number(size(cost), "bytes", cost.least_bytes);
    cell.numbers.push(CellNumber { suffix: "most", unit: "bytes", digits: cost.most_bytes.to_string() });
    cell
}

fn size(cost: &CollectiveCost) -> String {
    let (least, most) = (bytes(cost.least_bytes.into()), bytes(cost.most_bytes.into()));
    if least == most { least } else { format!("{least} to {most}") }
}

/// Returns the other algorithms, the fastest first, or why they are not known.
fn others(cost: &CollectiveCost) -> String {
    let mut others: Vec<_> = cost.takes_ps.iter().filter(|(name, _)| **name != cost.kind.algorithm).collect();
    others.sort_by_key(|(name, ps)| (**ps, *name));
    let mut said: Vec<String> =
        others.into_iter().map(|(name, &ps)| format!("{name} {}", short(ps))).collect();
    match cost.unknown {
        Some(Unknown::Shared) => {
            said.push("depends on what else is under way: xsim sweep --vary coll.NAME".to_owned())
        }
        Some(Unknown::Blocks) => said.push("blocks may differ: xsim sweep --vary coll.NAME".to_owned()),
        Some(Unknown::Messages) => said.push("others would take too long to find out".to_owned()),
        None => {}
    }
    said.join(", ")
}

/// Returns the fastest algorithm and how many times as long the chosen one takes, if that is longer.
fn fastest(cost: &CollectiveCost) -> Option<(&str, f64)> {
    let own = *cost.takes_ps.get(&cost.kind.algorithm)?;
    let others = cost.takes_ps.iter().filter(|(name, _)| !CROWDED.contains(&name.as_str()));
    // Of several the first by name.
    let (name, &least) = others.min_by_key(|(_, ps)| **ps)?;
    (least < own && least > 0).then(|| (name.as_str(), own as f64 / least as f64))
}

/// Appends findings about faster algorithms to `found`, those with the most time first: the time of all ranks
/// in such calls, and a sentence.
// What the calls took and not what they would save: ranks that wait for a late one wait by any algorithm.
pub fn faster(run: &Simulated, found: &mut Vec<(u128, String)>) {
    let Some(profile) = &run.profile else { return };
    let mut told = Vec::new();
    for cost in &profile.collectives {
        let Some((name, times)) = fastest(cost).filter(|(_, times)| *times >= WORTH_TELLING) else {
            continue;
        };
        let (own, other) = (cost.takes_ps[&cost.kind.algorithm], cost.takes_ps[name]);
        let text = format!(
            "{} of all ranks' time is in {} at {}, {} among {} ranks, by {}: of members that enter at one \
             time {name} takes {} and not {}, {times:.1} times as fast. Try -xsim-coll {}={name}.",
            percent(cost.time_ps, whole(run)),
            cost.function,
            cost.site,
            size(cost),
            grouped(cost.kind.members.into()),
            cost.kind.algorithm,
            short(other),
            short(own),
            cost.kind.collective,
        );
        told.push((cost.time_ps, text));
    }
    told.sort_by_key(|(ps, _)| Reverse(*ps));
    found.extend(told.into_iter().take(MAX_FINDINGS));
}

#[cfg(test)]
mod tests {
    use super::*;
    use recorder::collective::CollectiveKind;

    fn cost(takes: &[(&str, u64)], unknown: Option<Unknown>) -> CollectiveCost {
        let kind = CollectiveKind {
            collective: "allreduce".into(),
            algorithm: "ring".into(),
            members: 8,
            irregular: false,
            commutative: true,
            size_bits: 4,
        };
        CollectiveCost {
            site: "a.c:1 main".into(),
            function: "MPI_Allreduce".into(),
            kind,
            least_bytes: 8,
            most_bytes: 12,
            calls: 16,
            time_ps: 1000,
            wait_ps: 900,
            takes_ps: takes.iter().map(|&(name, ps)| (name.to_owned(), ps)).collect(),
            unknown,
            example: None,
        }
    }

    #[test]
    fn others_come_in_the_order_of_their_times_with_what_is_not_known() {
        let known = cost(
            &[("ring", 14_000_000), ("linear", 2_000_000), ("recursive-doubling", 3_500_000)],
            Some(Unknown::Messages),
        );
        assert_eq!(
            (size(&known), fastest(&known)),
            ("8 B to 12 B".to_owned(), Some(("recursive-doubling", 4.0)))
        );
        assert_eq!(
            others(&known),
            "linear 2 us, recursive-doubling 3.5 us, others would take too long to find out"
        );
        assert!(
            fastest(&cost(&[("ring", 5), ("binomial", 5), ("linear", 4)], None)).is_none(),
            "as fast is not faster"
        );
        assert_eq!(
            others(&cost(&[], Some(Unknown::Shared))),
            "depends on what else is under way: xsim sweep --vary coll.NAME"
        );
    }
}
