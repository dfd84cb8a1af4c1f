//! Ascending numbers with few gaps, by their place.

/// What is at each place of a list of numbers that consists of a few runs. Adding up costs less than a table that other data drive
/// out of the cache.
#[derive(Clone, Default, Debug)]
pub(crate) struct Runs {
    /// What is to be added to a place, modulo 2^32.
    offset: u32,
    /// The place where each run but the first begins, and what is to be added from there on besides.
    steps: Vec<(u32, u32)>,
}

impl Runs {
    pub(crate) fn new(numbers: &[u32]) -> Runs {
        let first = numbers.first().copied().unwrap_or(0);
        let step = |(place, pair): (usize, &[u32])| (place as u32 + 1, pair[1].wrapping_sub(pair[0]).wrapping_sub(1));
        Runs { offset: first, steps: numbers.windows(2).enumerate().map(step).filter(|&(_, step)| step != 0).collect() }
    }

    /// The number at a place of the list.
    #[inline]
    pub(crate) fn at(&self, place: u32) -> u32 {
        // Without branches, which would be guessed wrong.
        self.steps
            .iter()
            .fold(place.wrapping_add(self.offset), |number, &(start, step)| number.wrapping_add(if place >= start { step } else { 0 }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn runs_are_the_list(numbers in prop::collection::vec(prop_oneof![0u32..20, any::<u32>()], 1..50)) {
            let runs = Runs::new(&numbers);
            for (place, &number) in numbers.iter().enumerate() {
                prop_assert_eq!(runs.at(place as u32), number);
            }
        }
    }
}
