//! A histogram of lengths of time with a bounded relative error.

/// Counts in buckets of 1/32 of an octave: percentiles are within 3.1 %, mean, least and greatest are exact.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct OctaveHistogram {
    counts: Vec<u64>,
    count: u64,
    sum: u128,
    least: u64,
    greatest: u64,
}

const SUB: u32 = 5;

fn bucket(value: u64) -> usize {
    if value < 1 << SUB {
        return value as usize;
    }
    let octave = 63 - value.leading_zeros();
    (((octave - SUB + 1) as usize) << SUB) + ((value >> (octave - SUB)) as usize & ((1 << SUB) - 1))
}

/// Returns the least value of a bucket.
fn floor(bucket: usize) -> u64 {
    if bucket < 1 << SUB {
        return bucket as u64;
    }
    let octave = (bucket >> SUB) as u32 + SUB - 1;
    (1u64 << octave) + (((bucket & ((1 << SUB) - 1)) as u64) << (octave - SUB))
}

impl Default for OctaveHistogram {
    fn default() -> Self {
        OctaveHistogram {
            counts: vec![0; bucket(u64::MAX) + 1],
            count: 0,
            sum: 0,
            least: u64::MAX,
            greatest: 0,
        }
    }
}

impl OctaveHistogram {
    /// Counts a value.
    #[inline]
    pub fn add(&mut self, value: u64) {
        self.counts[bucket(value)] += 1;
        self.count += 1;
        self.sum += u128::from(value);
        self.least = self.least.min(value);
        self.greatest = self.greatest.max(value);
    }
    /// Counts all that `other` counted.
    pub fn merge(&mut self, other: &OctaveHistogram) {
        for (count, more) in self.counts.iter_mut().zip(&other.counts) {
            *count += more;
        }
        self.count += other.count;
        self.sum += other.sum;
        self.least = self.least.min(other.least);
        self.greatest = self.greatest.max(other.greatest);
    }
    /// Returns how many values.
    pub fn count(&self) -> u64 {
        self.count
    }
    /// Returns the sum of the values.
    pub fn sum(&self) -> u128 {
        self.sum
    }
    /// Returns the mean, rounded to the nearest; 0 without values.
    pub fn mean(&self) -> f64 {
        if self.count == 0 { 0.0 } else { self.sum as f64 / self.count as f64 }
    }
    /// Returns the least value; 0 without values.
    pub fn least(&self) -> u64 {
        if self.count == 0 { 0 } else { self.least }
    }
    /// Returns the greatest value.
    pub fn greatest(&self) -> u64 {
        self.greatest
    }
    /// Returns the middle of the bucket of the value that `share` of all do not exceed, within the least and
    /// the greatest value.
    pub fn percentile(&self, share: f64) -> u64 {
        let rank = ((self.count as f64 * share).ceil() as u64).max(1);
        let mut seen = 0;
        for (index, &count) in self.counts.iter().enumerate() {
            seen += count;
            if seen >= rank {
                let middle =
                    floor(index) + (floor((index + 1).min(self.counts.len() - 1)) - floor(index)) / 2;
                return middle.clamp(self.least(), self.greatest);
            }
        }
        self.greatest
    }
    /// Returns the buckets that counted something: least value and count.
    pub fn buckets(&self) -> impl Iterator<Item = (u64, u64)> + '_ {
        self.counts
            .iter()
            .enumerate()
            .filter(|(_, count)| **count > 0)
            .map(|(index, &count)| (floor(index), count))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn a_bucket_holds_its_values(value: u64) {
            let b = bucket(value);
            prop_assert!(floor(b) <= value);
            prop_assert!(b == bucket(u64::MAX) || value < floor(b + 1));
        }

        #[test]
        fn percentiles_are_near_the_sorted_values(
            mut values in prop::collection::vec(1u64..1 << 40, 1..300),
            share in 0.01f64..1.0,
        ) {
            let mut histogram = OctaveHistogram::default();
            values.iter().for_each(|&v| histogram.add(v));
            values.sort_unstable();
            let exact = values[((values.len() as f64 * share).ceil() as usize).max(1) - 1] as f64;
            let found = histogram.percentile(share) as f64;
            prop_assert!((found - exact).abs() <= exact * 0.032 + 1.0, "{found} instead of {exact}");
        }
    }
}
