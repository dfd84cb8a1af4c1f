//! Messages between pairs as one of Aspen's patterns.

use aspen::{CommunicationPattern, Grid, Neighbors, Step, StepExchange, Wave};
use rustc_hash::FxHashMap;

/// A pattern, with the items and their bytes that make the messages what they are.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Fitting {
    /// The pairs of ranks that exchange messages.
    pub pattern: CommunicationPattern,
    /// Items, for neighbours those along a side.
    pub count: u64,
    /// Bytes of an item.
    pub size: u64,
}

/// Patterns of pairs, the simplest first.
fn candidates() -> Vec<CommunicationPattern> {
    let mut all = Vec::new();
    for dimensions in 1..=3 {
        for periodic in [false, true] {
            for wave in [None, Some(Wave::Up), Some(Wave::Down)] {
                for (faces, nodal) in [(true, false), (false, false), (false, true)] {
                    // On a line all neighbours are faces.
                    if dimensions > 1 || !faces && !nodal {
                        all.push(CommunicationPattern::Neighbors(Neighbors {
                            dimensions,
                            faces,
                            nodal,
                            periodic,
                            wave,
                        }));
                    }
                }
            }
        }
    }
    for axis in 0..3 {
        for (up, periodic) in [(true, false), (true, true), (false, false), (false, true)] {
            all.push(CommunicationPattern::Shift { axis, up, periodic });
        }
    }
    all
}

/// Returns the patterns that make just these messages (source, destination, bytes) of so many ranks.
/// O(patterns * messages).
pub fn fitting(ranks: u32, messages: &[(u32, u32, u64)]) -> Vec<Fitting> {
    let mut wanted: FxHashMap<(u32, u32), Vec<u64>> = FxHashMap::default();
    messages.iter().for_each(|&(from, to, bytes)| wanted.entry((from, to)).or_default().push(bytes));
    let fits = |pattern: CommunicationPattern| fit(ranks, &wanted, messages.len(), pattern);
    candidates().into_iter().filter_map(fits).collect()
}

fn fit(
    ranks: u32,
    wanted: &FxHashMap<(u32, u32), Vec<u64>>,
    length: usize,
    pattern: CommunicationPattern,
) -> Option<Fitting> {
    let dimensions = pattern.dimensions()?;
    let grid = Grid::new(ranks.into(), dimensions)?;
    // A side of one has no neighbours: that would be a pattern of fewer dimensions, which comes before.
    if grid.sides()[..dimensions as usize].contains(&1) {
        return None;
    }
    let exchange = StepExchange::new(&Step { pattern, count: 1, size: 1, times: 1 }, ranks.into()).ok()?;
    // How many axes each direction moves along, from 1.
    let moved: Vec<usize> = match pattern {
        CommunicationPattern::Neighbors(neighbors) => {
            neighbors.directions().iter().map(|step| step.iter().filter(|&&one| one != 0).count()).collect()
        }
        _ => vec![1],
    };
    let mut bytes: [Option<u64>; 3] = [None; 3];
    let (mut taken, mut used) = (0, FxHashMap::<(u32, u32), usize>::default());
    for rank in 0..ranks {
        for (direction, moved) in moved.iter().enumerate() {
            let Some(message) = exchange.sends(rank.into(), direction) else { continue };
            let pair = (rank, message.peer as u32);
            let found = wanted.get(&pair)?;
            // Between one pair all messages must be alike, or it is not known which goes which way.
            let one = *found.first()?;
            let number = used.entry(pair).or_default();
            *number += 1;
            if *number > found.len()
                || found.iter().any(|&other| other != one)
                || *bytes[moved - 1].get_or_insert(one) != one
            {
                return None;
            }
            taken += 1;
        }
    }
    if taken != length {
        return None;
    }
    items(pattern, bytes).map(|(count, size)| Fitting { pattern, count, size })
}

/// Items and bytes of one, from the bytes of messages over faces, edges and corners (of a square: sides and
/// corners).
fn items(pattern: CommunicationPattern, bytes: [Option<u64>; 3]) -> Option<(u64, u64)> {
    let (neighbors, first) = match (pattern, bytes[0]) {
        (CommunicationPattern::Neighbors(neighbors), Some(first))
            if neighbors.dimensions > 1 && !neighbors.faces =>
        {
            (neighbors, first)
        }
        (CommunicationPattern::Neighbors(Neighbors { nodal: true, .. }), _) | (_, None) => return None,
        (_, Some(first)) => return Some((1, first)),
    };
    let corner = bytes[neighbors.dimensions as usize - 1]?;
    let side = if neighbors.dimensions == 2 { first } else { bytes[1]? };
    let each = if neighbors.nodal { 2 * corner } else { corner };
    let count = side.checked_div(each).filter(|count| *count > 0)?;
    let is = |moved: usize| {
        let step = [1, i64::from(moved > 1), i64::from(moved > 2)];
        neighbors.items(step, count).and_then(|items| items.checked_mul(corner)) == bytes[moved - 1]
    };
    (1..=neighbors.dimensions as usize).all(is).then_some((count, corner))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn messages(pattern: CommunicationPattern, count: u64, size: u64, ranks: u32) -> Vec<(u32, u32, u64)> {
        let exchange = StepExchange::new(&Step { pattern, count, size, times: 1 }, ranks.into()).unwrap();
        let of = |rank: u32| (0..exchange.len()).map(move |at| (rank, at));
        let all = (0..ranks).flat_map(of).filter_map(|(rank, at)| {
            exchange.sends(rank.into(), at).map(|one| (rank, one.peer as u32, one.bytes))
        });
        all.collect()
    }

    #[test]
    fn every_pattern_is_found_in_its_own_messages() {
        for pattern in candidates() {
            let (count, size) = match pattern {
                CommunicationPattern::Neighbors(Neighbors { dimensions: 2.., faces: false, .. }) => (7, 24),
                _ => (1, 168),
            };
            for ranks in [12, 64] {
                let messages = messages(pattern, count, size, ranks);
                let found = fitting(ranks, &messages);
                assert!(
                    found.contains(&Fitting { pattern, count, size }) || ranks == 12,
                    "{pattern} on {ranks}: {found:?}"
                );
            }
        }
    }

    #[test]
    fn other_messages_have_none() {
        assert_eq!(fitting(8, &[(0, 5, 1), (5, 0, 1)]), []);
        assert_eq!(fitting(8, &[]), []);
    }
}
