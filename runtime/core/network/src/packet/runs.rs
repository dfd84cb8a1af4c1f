//! Ascending numbers with few gaps, by their place.

/// A list of numbers that consists of a few runs. Adding up costs less than a table that other data drive out
/// of the cache.
#[derive(Clone, Default, Debug)]
pub(crate) struct RunLengths {
    /// Number added to every index of the list, modulo 2^32.
    offset: u32,
    /// `true` if there is more than one run.
    has_steps: bool,
    /// The place where each of the next runs begins, and what is to be added from there on besides: enough
    /// for the levels of a tree, at hand without a loop.
    first_steps: [(u32, u32); FIRST_STEPS],
    /// The rest.
    more_steps: Vec<(u32, u32)>,
}

const FIRST_STEPS: usize = 2;

impl RunLengths {
    pub(crate) fn new(numbers: &[u32]) -> RunLengths {
        let first = numbers.first().copied().unwrap_or(0);
        let step = |(place, pair): (usize, &[u32])| {
            (place as u32 + 1, pair[1].wrapping_sub(pair[0]).wrapping_sub(1))
        };
        let mut steps = numbers.windows(2).enumerate().map(step).filter(|&(_, step)| step != 0).peekable();
        let has_steps = steps.peek().is_some();
        let first_steps = std::array::from_fn(|_| steps.next().unwrap_or_default());
        RunLengths { offset: first, has_steps, first_steps, more_steps: steps.collect() }
    }

    /// Returns the number at a place of the list.
    #[inline]
    pub(crate) fn at(&self, place: u32) -> u32 {
        let number = place.wrapping_add(self.offset);
        if !self.has_steps {
            return number;
        }
        // Without branches, which would be guessed wrong.
        let add = |number: u32, &(start, step): &(u32, u32)| {
            number.wrapping_add(step & u32::from(place >= start).wrapping_neg())
        };
        let number = self.first_steps.iter().fold(number, add);
        if self.more_steps.is_empty() { number } else { self.more_steps.iter().fold(number, add) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn runs_are_the_list(numbers in prop::collection::vec(prop_oneof![0u32..20, any::<u32>()], 1..50)) {
            let runs = RunLengths::new(&numbers);
            for (place, &number) in numbers.iter().enumerate() {
                prop_assert_eq!(runs.at(place as u32), number);
            }
        }
    }
}
