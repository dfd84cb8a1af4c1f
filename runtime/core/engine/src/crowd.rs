//! Sorting crowds of events: by digits, where that takes fewer steps than comparing.

use crate::Timed;

/// Below, a comparing sort is through before the digits are counted.
const CROWD: usize = 256;
/// Bits of a digit: as many places to write to as a first-level cache has room for.
const BITS: u32 = 8;

/// Sorts events, the greatest first. `scratch` is as long and may hold anything before and after.
// A halo exchange makes hundreds of thousands of events at one instant, which differ in a few bits of their
// rank alone. Sorting by those, from the lowest digit on, goes through memory in a row two or three times;
// comparing takes a step for each of log2 n levels, and guesses half of them wrong.
pub(crate) fn sort<E: Timed>(events: &mut [E], scratch: &mut [E]) {
    let Some(&first) = events.first().filter(|_| events.len() > CROWD) else { return compare(events) };
    let (mut times, mut ranks) = (0, 0);
    for event in events.iter() {
        times |= event.time() ^ first.time();
        ranks |= u64::from(event.rank() ^ first.rank());
    }
    let passes = digits(times).chain(digits(ranks)).count();
    // A pass takes what three levels of comparing do.
    if passes as u32 > events.len().ilog2() / 3 {
        return compare(events);
    }
    {
        let (mut from, mut to) = (&mut *events, &mut *scratch);
        for shift in digits(ranks) {
            pass(from, to, |event| u64::from(event.rank()) >> shift);
            std::mem::swap(&mut from, &mut to);
        }
        for shift in digits(times) {
            pass(from, to, |event| event.time() >> shift);
            std::mem::swap(&mut from, &mut to);
        }
    }
    if passes % 2 == 1 {
        events.copy_from_slice(scratch);
    }
    let alike = |a: &E, b: &E| a.time() == b.time() && a.rank() == b.rank();
    events.chunk_by_mut(alike).filter(|run| run.len() > 1).for_each(compare);
}

/// Sorts a few events, the greatest first.
#[inline]
pub(crate) fn compare<E: Ord>(events: &mut [E]) {
    events.sort_unstable_by(|a, b| b.cmp(a));
}

/// Returns where the digits begin that cover these bits, the lowest first.
fn digits(mut bits: u64) -> impl Iterator<Item = u32> {
    std::iter::from_fn(move || {
        let shift = (bits != 0).then(|| bits.trailing_zeros())?;
        bits = bits >> shift >> BITS << BITS << shift;
        Some(shift)
    })
}

/// Copies events in the order of the lowest digit of a number, the greatest first; those with the same one
/// stay in order.
fn pass<E: Copy>(from: &[E], to: &mut [E], number: impl Fn(&E) -> u64) {
    const COUNT: usize = 1 << BITS;
    let digit = |event: &E| COUNT - 1 - number(event) as usize % COUNT;
    let mut places = [0usize; COUNT];
    from.iter().for_each(|event| places[digit(event)] += 1);
    let mut sum = 0;
    for place in &mut places {
        sum += std::mem::replace(place, sum);
    }
    for event in from {
        let place = &mut places[digit(event)];
        to[*place] = *event;
        *place += 1;
    }
}
