//! Links of a round in a regular pattern: which members' clocks it moves to which others, in rows.

use crate::RoundPattern;
use crate::segments::Segments;
use std::ops::Range;

/// Member `near + i * near_stride` and member `far + i * far_stride` have a message between them, for `i` in
/// `0..count`.
// Rows with a stride: a round between two processes is a few of these, whatever the number of its messages.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct LinkRow {
    pub near: u32,
    pub near_stride: u32,
    pub far: u32,
    pub far_stride: u32,
    pub count: u32,
}

impl LinkRow {
    pub(super) fn near(&self, index: u32) -> u32 {
        self.near + index * self.near_stride
    }
    pub(super) fn far(&self, index: u32) -> u32 {
        self.far + index * self.far_stride
    }
    fn part(&self, range: Range<u32>) -> LinkRow {
        LinkRow {
            near: self.near(range.start),
            far: self.far(range.start),
            count: range.end - range.start,
            ..*self
        }
    }
    /// Divides it into parts whose far ends are on one process each.
    pub(super) fn by_process(self, segments: &Segments, mut take: impl FnMut(u32, LinkRow)) {
        let mut at = 0;
        while at < self.count {
            let process = segments.process(self.far(at));
            let end = segments.of_process(process).end;
            // The first index whose member is on a later process.
            // O(processes) and not O(members): the end of a process's part is computed.
            let next = ((end - self.far - 1) / self.far_stride + 1).min(self.count);
            take(process, self.part(at..next));
            at = next;
        }
    }
}

/// Returns the pattern the other way round: who sends receives.
pub(super) fn reversed(pattern: RoundPattern, size: u32) -> RoundPattern {
    match pattern {
        RoundPattern::Shift { distance, bytes } => {
            RoundPattern::Shift { distance: size - distance % size, bytes }
        }
        RoundPattern::Exchange { .. } => pattern,
        RoundPattern::Pairs { pairs, up, bytes } => RoundPattern::Pairs { pairs, up: !up, bytes },
    }
}

/// Positions of an exchange in a row of which each position's partner is in the row as well.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(super) struct Inner(pub Range<u32>);

/// Returns the messages that members `own` send in a round of this pattern, but for those of exchanges
/// between positions of the answer's second part, which are all of these members.
pub(super) fn links(pattern: RoundPattern, size: u32, own: &Range<u32>) -> (Vec<LinkRow>, Inner) {
    let mut links = Vec::new();
    if own.is_empty() {
        return (links, Inner::default());
    }
    match pattern {
        RoundPattern::Shift { distance, .. } => {
            let distance = distance % size;
            // Those before `wrap` do not go round.
            let wrap = (size - distance).clamp(own.start, own.end);
            for range in [own.start..wrap, wrap..own.end].into_iter().filter(|range| !range.is_empty()) {
                let far = ((u64::from(range.start) + u64::from(distance)) % u64::from(size)) as u32;
                links.push(LinkRow {
                    near: range.start,
                    near_stride: 1,
                    far,
                    far_stride: 1,
                    count: range.end - range.start,
                });
            }
            (links, Inner::default())
        }
        RoundPattern::Pairs { pairs, up, .. } => {
            // Pairs whose sender is one of ours: member `2 i` or `2 i + 1`.
            let odd = u32::from(!up);
            let first = (own.start.max(odd) - odd).div_ceil(2);
            let end = (own.end.max(odd) - odd).div_ceil(2).min(pairs);
            if first < end {
                let (near, far) = (2 * first + odd, 2 * first + 1 - odd);
                links.push(LinkRow { near, near_stride: 2, far, far_stride: 2, count: end - first });
            }
            (links, Inner::default())
        }
        RoundPattern::Exchange { mask, among, folded, .. } => {
            let positions = position(own.start, folded).min(among)..position(own.end, folded).min(among);
            // A whole stretch has both ends of each of its pairs: those need nobody's word.
            let whole = 2u64 << mask.ilog2();
            let inner = (
                u64::from(positions.start).next_multiple_of(whole),
                u64::from(positions.end) / whole * whole,
            );
            let inner =
                if inner.0 < inner.1 { inner.0 as u32..inner.1 as u32 } else { positions.end..positions.end };
            for edge in [positions.start..inner.start, inner.end..positions.end] {
                exchange_links(edge, mask, folded, &mut links);
            }
            (links, Inner(inner))
        }
    }
}

/// Returns the first position of an exchange whose member is not below `member`.
fn position(member: u32, folded: u32) -> u32 {
    if member < 2 * folded { member / 2 } else { member - folded }
}

// Within a run that the mask does not cut, partners ascend together; the fold changes the step from 2 to 1
// once.
fn exchange_links(positions: Range<u32>, mask: u32, folded: u32, links: &mut Vec<LinkRow>) {
    let member =
        |position: u32| if position < folded { (2 * position + 1, 2) } else { (position + folded, 1) };
    let run = 1u64 << mask.trailing_zeros();
    let mut at = positions.start;
    while at < positions.end {
        // Up to the end of a run partners ascend with their positions, up to `folded` members do so evenly.
        let partner = at ^ mask;
        let mut end = ((u64::from(at) / run + 1) * run).min(positions.end.into()) as u32;
        if at < folded {
            end = end.min(folded);
        }
        if partner < folded {
            end = end.min(at + (folded - partner));
        }
        let ((near, near_stride), (far, far_stride)) = (member(at), member(partner));
        links.push(LinkRow { near, near_stride, far, far_stride, count: end - at });
        at = end;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Returns all messages `(from, to)` of a round, as the pattern's documentation says it.
    fn messages(pattern: RoundPattern, size: u32) -> Vec<(u32, u32)> {
        match pattern {
            RoundPattern::Shift { distance, .. } => {
                (0..size).map(|from| (from, (from + distance) % size)).collect()
            }
            RoundPattern::Pairs { pairs, up: true, .. } => {
                (0..pairs).map(|pair| (2 * pair, 2 * pair + 1)).collect()
            }
            RoundPattern::Pairs { pairs, up: false, .. } => {
                (0..pairs).map(|pair| (2 * pair + 1, 2 * pair)).collect()
            }
            RoundPattern::Exchange { mask, among, folded, .. } => {
                let member =
                    |position: u32| if position < folded { 2 * position + 1 } else { position + folded };
                (0..among).map(|position| (member(position), member(position ^ mask))).collect()
            }
        }
    }

    fn patterns() -> impl Strategy<Value = (RoundPattern, u32)> {
        let exchange = (0u32..6, 1u32..64, 0u32..64).prop_map(|(log, mask, folded)| {
            let among = 2u32 << log;
            let folded = folded % among;
            (RoundPattern::Exchange { mask: (mask % among).max(1), among, folded, bytes: 1 }, among + folded)
        });
        let shift = (1u32..60, 0u32..60)
            .prop_map(|(size, distance)| (RoundPattern::Shift { distance: distance % size, bytes: 1 }, size));
        let pairs = (0u32..20, any::<bool>(), 0u32..20).prop_map(|(pairs, up, more)| {
            (RoundPattern::Pairs { pairs, up, bytes: 1 }, 2 * pairs + more + 1)
        });
        prop_oneof![exchange, shift, pairs]
    }

    proptest! {
        #[test]
        fn links_are_the_messages_of_the_pattern_whichever_process_looks(
            (pattern, size) in patterns(),
            cuts in proptest::collection::vec(0u32..70, 0..4),
        ) {
            let mut starts: Vec<u32> = cuts.iter().map(|cut| cut % (size + 1)).chain([0, size]).collect();
            starts.sort_unstable();
            let segments =
                Segments::lengths(&starts.windows(2).map(|pair| pair[1] - pair[0]).collect::<Vec<_>>());
            let (mut sent, mut received) = (Vec::new(), Vec::new());
            for process in 0..starts.len() as u32 - 1 {
                let own = segments.of_process(process);
                for (pattern, list, turn) in
                    [(pattern, &mut sent, false), (reversed(pattern, size), &mut received, true)]
                {
                    let (links, Inner(inner)) = links(pattern, size, &own);
                    for link in links {
                        link.by_process(&segments, |other, part| {
                            for index in 0..part.count {
                                let (near, far) = (part.near(index), part.far(index));
                                assert!(own.contains(&near) && segments.of_process(other).contains(&far));
                                list.push(if turn { (far, near) } else { (near, far) });
                            }
                        });
                    }
                    if let RoundPattern::Exchange { mask, folded, .. } = pattern {
                        let member = |position: u32| {
                            if position < folded { 2 * position + 1 } else { position + folded }
                        };
                        for position in inner {
                            assert!(
                                own.contains(&member(position)) && own.contains(&member(position ^ mask))
                            );
                            list.push((member(position), member(position ^ mask)));
                        }
                    }
                }
            }
            let mut all = messages(pattern, size);
            for list in [&mut all, &mut sent, &mut received] {
                list.sort_unstable();
            }
            prop_assert_eq!(&all, &sent);
            prop_assert_eq!(&all, &received);
        }
    }
}
