//! Ascending numbers with few gaps, by their place.

/// What is at each place of a list of numbers that consists of a few runs. Adding up costs less than a table that other data drive
/// out of the cache.
#[derive(Clone, Default, Debug)]
pub(crate) struct Runs {
    /// The place where each run but the first begins.
    starts: Vec<u32>,
    /// What is to be added to a place, modulo 2^32, in each run.
    offsets: Vec<u32>,
}

impl Runs {
    pub(crate) fn new(numbers: &[u32]) -> Runs {
        let mut runs = Runs { starts: Vec::new(), offsets: Vec::new() };
        for (place, &number) in numbers.iter().enumerate() {
            let offset = number.wrapping_sub(place as u32);
            if runs.offsets.last() != Some(&offset) {
                if place > 0 {
                    runs.starts.push(place as u32);
                }
                runs.offsets.push(offset);
            }
        }
        runs
    }

    /// The number at a place of the list.
    #[inline]
    pub(crate) fn at(&self, place: u32) -> u32 {
        // Without branches, which would be guessed wrong.
        let run: usize = self.starts.iter().map(|&start| usize::from(place >= start)).sum();
        place.wrapping_add(self.offsets[run])
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
