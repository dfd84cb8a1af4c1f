//! Contexts of calls: the calls that a rank made last. A place in the loops of a trace is known by its
//! context while a rank is recorded, before its loops are known, so that the computation there goes to a
//! histogram of its own.
//!
//! In the iterations of a loop contexts are the same once all their calls are those of the loop. So
//! [`visit`] goes through few iterations of each loop and meets every context that the rank had.

use crate::part::Item;

/// Calls of a context.
// An exchange with all neighbours of a cube has fewer calls, and is made for several purposes in a row.
const CALLS: usize = 64;
/// The most calls that are visited: loops within loops may have any number.
pub const MAX_VISITS: usize = 1 << 20;
/// An odd factor of which powers are spread over all bits.
const FACTOR: u64 = 0x9e37_79b9_7f4a_7c15;
/// The power of a class to [`CALLS`].
const LAST_FACTOR: u64 = {
    let (mut power, mut at) = (1u64, 0);
    while at < CALLS {
        power = power.wrapping_mul(FACTOR);
        at += 1;
    }
    power
};

/// The last calls of a rank.
#[derive(Clone)]
pub struct Context {
    /// Calls by sequence number modulo [`CALLS`], from 1; 0 before the first.
    calls: Box<[u32; CALLS]>,
    next: u8,
    state: u64,
}

impl Default for Context {
    fn default() -> Context {
        Context { calls: Box::new([0; CALLS]), next: 0, state: 0 }
    }
}

impl Context {
    /// Adds a call and returns a number for the context that ends with it. Equal contexts have equal numbers,
    /// others have others with a chance of one in 2^60 or so. O(1).
    #[inline]
    pub fn add(&mut self, call: u32) -> u64 {
        let first = std::mem::replace(&mut self.calls[usize::from(self.next)], call + 1);
        self.next = (self.next + 1) % CALLS as u8;
        self.state = self
            .state
            .wrapping_mul(FACTOR)
            .wrapping_add(mixed(call + 1))
            .wrapping_sub(mixed(first).wrapping_mul(LAST_FACTOR));
        self.state
    }
}

/// Returns a number whose bits hang on all bits of a call; 0 of 0.
fn mixed(call: u32) -> u64 {
    let x = u64::from(call).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    (x ^ (x >> 29)).wrapping_mul(0x94d0_49bb_1331_11eb)
}

/// The loops of a part, measured.
pub struct Loops<'p> {
    loops: &'p [(u64, Vec<Item>)],
    /// By loop: calls of one iteration, [`CALLS`] at most, and places of calls in its body.
    sizes: Vec<(u64, u32)>,
}

impl<'p> Loops<'p> {
    /// Measures loops; an inner one comes before those that it is in.
    pub fn new(loops: &'p [(u64, Vec<Item>)]) -> Loops<'p> {
        let mut measured = Loops { loops, sizes: Vec::with_capacity(loops.len()) };
        for (_, body) in loops {
            let size = body.iter().fold((0u64, 0u32), |(calls, places), item| match *item {
                Item::Call(_) => (calls + 1, places.saturating_add(1)),
                Item::Loop(number) => {
                    let (inner, inside) = measured.sizes[number as usize];
                    let repeated = inner.saturating_mul(measured.loops[number as usize].0);
                    (calls.saturating_add(repeated), places.saturating_add(inside))
                }
            });
            measured.sizes.push((size.0.min(CALLS as u64), size.1));
        }
        measured
    }

    /// Goes through items as a rank does, but for iterations whose contexts are those of the one before.
    /// `visit` gets the place of each call, from 0 in the order in which they stand, and its number. Ends
    /// after `most` calls.
    pub fn visit(&self, items: &[Item], most: usize, visit: &mut impl FnMut(u32, u32)) {
        let mut left = most;
        self.visit_from(0, items, &mut |place, call| {
            if left > 0 {
                visit(place, call);
                left -= 1;
            }
            left > 0
        });
    }

    /// Returns the place behind the items; `None` if `visit` returned `false`.
    fn visit_from(
        &self,
        mut place: u32,
        items: &[Item],
        visit: &mut impl FnMut(u32, u32) -> bool,
    ) -> Option<u32> {
        for item in items {
            match *item {
                Item::Call(call) => {
                    if !visit(place, call) {
                        return None;
                    }
                    place = place.saturating_add(1);
                }
                Item::Loop(number) => {
                    let (count, body) = &self.loops[number as usize];
                    let (calls, places) = self.sizes[number as usize];
                    let iterations = if calls == 0 { 0 } else { (CALLS as u64).div_ceil(calls) + 1 };
                    for _ in 0..iterations.min(*count) {
                        self.visit_from(place, body, visit)?;
                    }
                    place = place.saturating_add(places);
                }
            }
        }
        Some(place)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    /// Loops within loops, by number of calls and iterations.
    fn programs() -> impl Strategy<Value = (Vec<(u64, Vec<Item>)>, Vec<Item>)> {
        let bodies =
            prop::collection::vec((1u64..200, prop::collection::vec(0u32..4, 1..6), any::<bool>()), 1..4);
        bodies.prop_map(|bodies| {
            let mut loops: Vec<(u64, Vec<Item>)> = Vec::new();
            for (at, (count, calls, nests)) in (0u32..).zip(bodies) {
                let mut body: Vec<Item> = calls.into_iter().map(Item::Call).collect();
                if nests && at > 0 {
                    body.insert(1, Item::Loop(at - 1));
                }
                loops.push((if nests { count % 7 + 1 } else { count }, body));
            }
            let items = (0..loops.len() as u32).flat_map(|at| [Item::Call(9), Item::Loop(at)]).collect();
            (loops, items)
        })
    }

    fn all(loops: &[(u64, Vec<Item>)], items: &[Item], visit: &mut impl FnMut(u32)) {
        for item in items {
            match *item {
                Item::Call(call) => visit(call),
                Item::Loop(number) => {
                    let (count, body) = &loops[number as usize];
                    (0..*count).for_each(|_| all(loops, body, visit));
                }
            }
        }
    }

    proptest! {
        #[test]
        fn every_context_of_a_rank_is_visited((loops, items) in programs()) {
            let (mut context, mut had) = (Context::default(), BTreeSet::new());
            all(&loops, &items, &mut |call| {
                had.insert(context.add(call));
            });
            let (mut context, mut visited) = (Context::default(), BTreeSet::new());
            Loops::new(&loops).visit(&items, MAX_VISITS, &mut |_, call| {
                visited.insert(context.add(call));
            });
            prop_assert_eq!(visited, had);
        }
    }
}
