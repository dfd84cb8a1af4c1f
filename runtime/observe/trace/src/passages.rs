//! Counts of how often ranks go from one place of the program to another: histograms say how long they
//! computed on the way, and leave out those that computed nothing.

use crate::trace::{Cell, Node, Trace};
use rustc_hash::FxHashMap;

/// Passages of all ranks, by the place before, from 1 (0 at the beginning), and that of the call behind it,
/// from 0. `places` has the place of each of [`Trace::calls`]. O(the trace's size), times its values where
/// ranks go through a loop different numbers of times.
pub fn count(trace: &Trace, places: &[u32]) -> FxHashMap<(u32, u32), u64> {
    let mut passages = Passages { trace, places, count: FxHashMap::default() };
    for (nodes, &ranks) in trace.shapes.iter().zip(&trace.sizes) {
        if let Some((first, _)) = passages.within(nodes, ranks, ranks) {
            passages.add(0, first, ranks);
        }
    }
    passages.count
}

struct Passages<'a> {
    trace: &'a Trace,
    places: &'a [u32],
    count: FxHashMap<(u32, u32), u64>,
}

impl Passages<'_> {
    fn add(&mut self, from: u32, to: u32, times: u64) {
        let count = self.count.entry((from, to)).or_default();
        *count = count.saturating_add(times);
    }

    /// Returns the first and last place of nodes that are gone through so many times, by ranks that go
    /// through what is around once each.
    fn within(&mut self, nodes: &[Node], times: u64, ranks: u64) -> Option<(u32, u32)> {
        let mut ends: Option<(u32, u32)> = None;
        for node in nodes {
            let (first, last) = match node {
                Node::Call(call) => {
                    let place = self.places[*call as usize];
                    (place, place)
                }
                Node::Loop { count, body, .. } => {
                    // Of each time that the loop is come upon.
                    let turns = match count {
                        Cell::Same(count) => u128::from(times) * u128::from(count.unsigned_abs()),
                        Cell::Column(column) => {
                            let mut sum = 0u128;
                            self.trace.columns[*column as usize].tally(&mut |count, often| {
                                sum += u128::from(count.unsigned_abs()) * u128::from(often)
                            });
                            sum * u128::from(times) / u128::from(ranks.max(1))
                        }
                    };
                    let turns = u64::try_from(turns).unwrap_or(u64::MAX);
                    let Some((first, last)) = self.within(body, turns, ranks) else { continue };
                    self.add(last + 1, first, turns.saturating_sub(times));
                    (first, last)
                }
            };
            match &mut ends {
                None => ends = Some((first, last)),
                Some((_, end)) => {
                    let from = std::mem::replace(end, last) + 1;
                    self.add(from, first, times);
                }
            }
        }
        ends
    }
}
