//! The clocks of members, moved by whole rounds at a time.

use engine::{Span, Time};

/// Returns a clock `span` later, unless time ends before: one number for all members is worth a look, the
/// loops over each add without.
#[inline]
pub(super) fn later(clock: u64, span: u64) -> u64 {
    (Time::from_ps(clock) + Span::from_ps(span)).as_ps()
}

/// Clocks of a row of members in picoseconds: one number while they are equal, so that a round of members
/// that are in step is O(1).
// equal --(a round that reaches members differently)--> each --(exchanges)--> lined up --(any other round)-->
// each
//   ^--------------------- rounds that move all by the same -----+
// Never back from `each` to `equal`: to find out would cost what it saves.
pub struct Clocks {
    equal: Option<u64>,
    each: Vec<u64>,
    /// The next round's clocks are made here.
    spare: Vec<u64>,
    /// Between exchanges: the clocks of those that take part, by position, and how many pairs are folded.
    exchanging: Option<(Vec<u64>, usize)>,
    size: usize,
}

// Programs without noise enter together: the vector is made at the first clock that differs.
impl FromIterator<u64> for Clocks {
    fn from_iter<I: IntoIterator<Item = u64>>(clocks: I) -> Clocks {
        let mut all = Clocks { equal: None, each: Vec::new(), spare: Vec::new(), exchanging: None, size: 0 };
        for clock in clocks {
            match all.equal {
                Some(equal) if equal == clock => {}
                None if all.size == 0 => all.equal = Some(clock),
                _ => {
                    all.spread();
                    all.each.push(clock);
                }
            }
            all.size += 1;
        }
        all
    }
}

impl Clocks {
    /// Makes one clock for `size` members. O(1).
    pub fn same(clock: u64, size: usize) -> Clocks {
        Clocks { equal: Some(clock), each: Vec::new(), spare: Vec::new(), exchanging: None, size }
    }
    /// Returns the clock of all, while it is one.
    #[inline]
    pub fn equal(&self) -> Option<u64> {
        self.equal
    }
    /// Returns a member's clock by its index, after the last round or between rounds of steps.
    #[inline]
    pub fn get(&self, place: usize) -> u64 {
        debug_assert!(self.exchanging.is_none(), "exchanges are over");
        self.equal.unwrap_or_else(|| self.each[place])
    }
    /// Returns the latest clock; zero of nobody.
    pub(super) fn latest(&self) -> u64 {
        self.equal.or_else(|| self.each.iter().copied().max()).unwrap_or(0)
    }
    #[inline]
    pub(super) fn len(&self) -> usize {
        self.size
    }
    /// Advances all to this clock.
    #[inline]
    pub(super) fn advance(&mut self, clock: u64) {
        self.equal = Some(clock);
    }
    /// Replaces the clocks after a round.
    pub(super) fn replace(&mut self, clocks: Vec<u64>) {
        debug_assert!(self.exchanging.is_none() && clocks.len() == self.size, "a clock for each member");
        (self.equal, self.each) = (None, clocks);
    }
    /// Returns one clock for each member, to write.
    pub(super) fn spread(&mut self) -> &mut [u64] {
        if let Some(clock) = self.equal.take() {
            self.each = vec![clock; self.size];
        }
        &mut self.each
    }

    /// Every member receives from the one `distance` before it: a message takes `span`.
    // Two loops over slices, before and behind the end: no division, no index to check, and vector code.
    pub(super) fn shift(&mut self, distance: usize, span: u64) {
        if let Some(clock) = &mut self.equal {
            *clock = later(*clock, span);
            return;
        }
        let size = self.size;
        self.spare.resize(size, 0);
        let (before, after) = (&self.each, &mut self.spare);
        let arrive = |after: &mut [u64], own: &[u64], sent: &[u64]| {
            for ((after, &own), &sent) in after.iter_mut().zip(own).zip(sent) {
                *after = own.max(sent + span);
            }
        };
        arrive(&mut after[distance..], &before[distance..], &before[..size - distance]);
        arrive(&mut after[..distance], &before[..distance], &before[size - distance..]);
        std::mem::swap(&mut self.each, &mut self.spare);
    }

    /// Shifts as [`Clocks::shift`] does, where each message takes a time of its own: from which index to
    /// which.
    pub(super) fn shift_by(&mut self, distance: usize, latency: impl Fn(usize, usize) -> u64) {
        self.spread();
        let size = self.size;
        let after = |to: usize| {
            let from = (to + size - distance) % size;
            self.each[to].max(self.each[from] + latency(from, to))
        };
        self.spare = (0..size).map(after).collect();
        std::mem::swap(&mut self.each, &mut self.spare);
    }

    /// Brings the clocks of those that exchange side by side, in order of their positions: positions that
    /// exchange are then at even distances, and the loop over them is one that the compiler vectorizes.
    // Gathered once for all exchanges of an algorithm, of which there are log n in a row.
    fn line_up(&mut self, among: usize, folded: usize) -> &mut [u64] {
        if self.exchanging.as_ref().is_some_and(|(clocks, pairs)| (clocks.len(), *pairs) != (among, folded)) {
            self.end_exchanges();
        }
        if self.exchanging.is_none() {
            let each = self.spread();
            let mut clocks = Vec::with_capacity(among);
            clocks.extend(each[..2 * folded].chunks_exact(2).map(|pair| pair[1]));
            clocks.extend_from_slice(&each[2 * folded..folded + among]);
            self.exchanging = Some((clocks, folded));
        }
        &mut self.exchanging.as_mut().expect("made above").0
    }
    /// Takes them back.
    pub(super) fn end_exchanges(&mut self) {
        let Some((clocks, folded)) = self.exchanging.take() else { return };
        for (pair, &clock) in self.each[..2 * folded].chunks_exact_mut(2).zip(&clocks) {
            pair[1] = clock;
        }
        self.each[2 * folded..folded + clocks.len()].copy_from_slice(&clocks[folded..]);
    }

    /// Pairs exchange; see [`RoundPattern::Exchange`](crate::RoundPattern::Exchange). `span` is the time of
    /// a message between two places, `constant` if it is always the same.
    pub(super) fn exchange(
        &mut self,
        mask: usize,
        among: usize,
        folded: usize,
        span: impl Fn(usize, usize) -> u64,
        constant: bool,
    ) {
        if let Some(clock) = &mut self.equal
            && constant
            && folded == 0
            && among == self.size
        {
            *clock = later(*clock, span(0, mask));
            return;
        }
        let clocks = self.line_up(among, folded);
        // The lower one of each pair has the mask's highest bit clear. A mask of one bit is the rule; others
        // (pairwise exchange) pair as well, only not at an even distance.
        let high = 1usize << mask.ilog2();
        if constant && mask == high {
            return exchange_halves(clocks, high, span(0, mask));
        }
        let member = |position: usize| if position < folded { 2 * position + 1 } else { position + folded };
        for base in (0..among).step_by(2 * high) {
            for one in base..base + high {
                let other = one ^ mask;
                let (a, b) = (clocks[one], clocks[other]);
                clocks[one] = a.max(b + span(member(other), member(one)));
                clocks[other] = b.max(a + span(member(one), member(other)));
            }
        }
    }

    /// Sends from one of each pair of neighbours to the other; see
    /// [`RoundPattern::Pairs`](crate::RoundPattern::Pairs).
    pub(super) fn pairs(&mut self, pairs: usize, up: bool, span: impl Fn(usize, usize) -> u64) {
        let clocks = self.spread();
        for pair in 0..pairs {
            let (from, to) = if up { (2 * pair, 2 * pair + 1) } else { (2 * pair + 1, 2 * pair) };
            clocks[to] = clocks[to].max(clocks[from] + span(from, to));
        }
    }
}

/// Exchanges, in each stretch of `2 * half` clocks, those of the first half with those of the second.
fn exchange_halves(clocks: &mut [u64], half: usize, span: u64) {
    let exchange = |one: &mut u64, other: &mut u64| {
        (*one, *other) = ((*one).max(*other + span), (*other).max(*one + span))
    };
    if half == 1 {
        // Too short a loop to be one.
        for pair in clocks.chunks_exact_mut(2) {
            let (one, other) = pair.split_at_mut(1);
            exchange(&mut one[0], &mut other[0]);
        }
        return;
    }
    for stretch in clocks.chunks_exact_mut(2 * half) {
        let (first, second) = stretch.split_at_mut(half);
        for (one, other) in first.iter_mut().zip(second) {
            exchange(one, other);
        }
    }
}
