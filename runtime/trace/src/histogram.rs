//! How long ranks computed before a call: minimum, maximum, mean, deviation, and how many times fell between which powers of two.
//! What two recorded is added exactly, in whatever order.

use crate::codec::{Put, Reader, Result};
use engine::Span;

/// A histogram of spans of time. Spans of zero are not counted.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Histogram {
    /// Spans.
    pub count: u64,
    /// The least, in picoseconds.
    pub least: u64,
    /// The greatest.
    pub most: u64,
    sum: u128,
    /// Of squares, in nanoseconds squared, rounded down each.
    squares: u128,
    /// By the number of bits of the span in picoseconds.
    bins: [u64; 65],
}

/// What a file has of a histogram.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Summary {
    /// Spans.
    pub count: u64,
    /// The least, in picoseconds.
    pub least: u64,
    /// The greatest.
    pub most: u64,
    /// The mean, rounded down.
    pub mean: u64,
    /// The standard deviation, in picoseconds, rounded down to a nanosecond or so.
    pub deviation: u64,
    /// How many spans have so many bits, from `first_bits` on.
    pub bins: Vec<u64>,
    /// The bits of the least.
    pub first_bits: u32,
}

impl Default for Histogram {
    fn default() -> Histogram {
        Histogram { count: 0, least: u64::MAX, most: 0, sum: 0, squares: 0, bins: [0; 65] }
    }
}

impl Histogram {
    /// Adds a span; O(1).
    #[inline]
    pub fn add(&mut self, span: Span) {
        let ps = span.as_ps();
        let ns = u128::from(ps / 1000);
        self.count += 1;
        self.least = self.least.min(ps);
        self.most = self.most.max(ps);
        self.sum += u128::from(ps);
        self.squares = self.squares.saturating_add(ns * ns);
        self.bins[(u64::BITS - ps.leading_zeros()) as usize] += 1;
    }

    /// Adds another's spans.
    pub fn merge(&mut self, other: &Histogram) {
        self.count += other.count;
        self.least = self.least.min(other.least);
        self.most = self.most.max(other.most);
        self.sum += other.sum;
        self.squares = self.squares.saturating_add(other.squares);
        for (bin, more) in self.bins.iter_mut().zip(other.bins) {
            *bin += more;
        }
    }

    /// Appends all of it, for [`Histogram::read`].
    pub fn write(&self, bytes: &mut Vec<u8>) {
        [self.count, self.least, self.most].into_iter().for_each(|value| bytes.number(value));
        bytes.wide(self.sum);
        bytes.wide(self.squares);
        self.bins.iter().for_each(|&bin| bytes.number(bin));
    }

    /// Reads it.
    ///
    /// # Errors
    /// If it is something else.
    pub fn read(reader: &mut Reader) -> Result<Histogram> {
        let (count, least, most) = (reader.number()?, reader.number()?, reader.number()?);
        let (sum, squares) = (reader.wide()?, reader.wide()?);
        let mut bins = [0; 65];
        for bin in &mut bins {
            *bin = reader.number()?;
        }
        let spans = u128::from(count);
        let counted: u128 = bins.iter().map(|&bin| u128::from(bin)).sum();
        // As many as there may be calls, so that histograms of many processes can be added.
        if count == 0
            || count > 1 << 48
            || counted != spans
            || least > most
            || !(spans * u128::from(least)..=spans * u128::from(most)).contains(&sum)
        {
            return reader.wrong("a histogram that cannot be");
        }
        Ok(Histogram { count, least, most, sum, squares, bins })
    }

    /// One that has this summary; what that has rounded away is lost.
    pub fn of(summary: &Summary) -> Histogram {
        let count = u128::from(summary.count);
        let (mean, deviation) = (u128::from(summary.mean / 1000), u128::from(summary.deviation / 1000));
        let mut bins = [0; 65];
        bins[summary.first_bits as usize..][..summary.bins.len()].copy_from_slice(&summary.bins);
        let squares = count * (mean * mean + deviation * deviation);
        let least = if summary.count == 0 { u64::MAX } else { summary.least };
        Histogram { count: summary.count, least, most: summary.most, sum: count * u128::from(summary.mean), squares, bins }
    }

    /// What a file has of it.
    pub fn summary(&self) -> Summary {
        let count = u128::from(self.count.max(1));
        let mean = (self.sum / count) as u64;
        let mean_ns = u128::from(mean / 1000);
        let variance = (self.squares / count).saturating_sub(mean_ns * mean_ns);
        let first = self.bins.iter().position(|&bin| bin > 0).unwrap_or(0);
        let last = self.bins.iter().rposition(|&bin| bin > 0).map_or(first, |last| last + 1);
        Summary {
            count: self.count,
            least: if self.count == 0 { 0 } else { self.least },
            most: self.most,
            mean,
            deviation: (variance.isqrt() as u64).saturating_mul(1000),
            bins: self.bins[first..last].to_vec(),
            first_bits: first as u32,
        }
    }
}

impl Summary {
    /// One like this, of so many times with this mean in picoseconds, each time longer or shorter by the same factor. Within a bin times are
    /// taken to be in its middle, so that some may be counted in the bin beside that of their own.
    #[must_use]
    pub fn scaled(&self, mean: f64, count: u64) -> Summary {
        let factor = if self.mean == 0 { 1.0 } else { mean.max(1.0) / self.mean as f64 };
        let by = |ps: u64| ((ps as f64 * factor).round() as u64).max(1);
        let (least, most) = (by(self.least), by(self.most));
        let bits = |ps: u64| u64::BITS - ps.leading_zeros();
        let mut bins = vec![0u64; (bits(most) - bits(least) + 1) as usize];
        // How many times up to the end of each bin, so that what is rounded adds up.
        let (mut up_to, mut told) = (0u64, 0u64);
        for (bin, &times) in (self.first_bits..).zip(&self.bins) {
            up_to += times;
            let all = (u128::from(up_to) * u128::from(count) / u128::from(self.count.max(1))) as u64;
            let middle = 0.75 * 2f64.powi(bin as i32) * factor;
            let place = bits((middle as u64).clamp(least, most)) - bits(least);
            bins[place as usize] += all - told;
            told = all;
        }
        Summary {
            count,
            least,
            most,
            mean: by(self.mean).clamp(least, most),
            deviation: (self.deviation as f64 * factor) as u64,
            bins,
            first_bits: bits(least),
        }
    }

    /// So many times of one length, in picoseconds.
    pub fn constant(ps: u64, count: u64) -> Summary {
        Summary { count, least: ps, most: ps, mean: ps, deviation: 0, bins: vec![count], first_bits: u64::BITS - ps.leading_zeros() }
    }

    /// Appends it: the minimum, then what the others are beyond it; nanoseconds of the deviation.
    pub fn write(&self, bytes: &mut Vec<u8>) {
        bytes.number(self.least);
        bytes.number(self.mean - self.least);
        bytes.number(self.most - self.mean);
        bytes.number(self.deviation / 1000);
        bytes.push(self.first_bits as u8);
        bytes.push(self.bins.len() as u8);
        self.bins.iter().for_each(|&bin| bytes.number(bin));
    }

    /// Reads it.
    ///
    /// # Errors
    /// If it is something else.
    pub fn read(reader: &mut Reader) -> Result<Summary> {
        let least = reader.number()?;
        let (above, beyond, deviation) = (reader.number()?, reader.number()?, reader.number()?);
        let (first_bits, length) = (u32::from(reader.byte()?), usize::from(reader.byte()?));
        let mean = least.checked_add(above);
        let (Some(mean), Some(most)) = (mean, mean.and_then(|mean| mean.checked_add(beyond))) else {
            return reader.wrong("a time of more than 2^64 ps");
        };
        if first_bits as usize + length > 65 {
            return reader.wrong("a histogram with times of more than 64 bits");
        }
        let bins = (0..length).map(|_| reader.number()).collect::<Result<Vec<_>>>()?;
        let Some(count) = bins.iter().try_fold(0u64, |sum, &bin| sum.checked_add(bin)) else {
            return reader.wrong("a histogram of more than 2^64 times");
        };
        Ok(Summary { count, least, most, mean, deviation: deviation.saturating_mul(1000), bins, first_bits })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn a_scaled_histogram_is_one(spans in prop::collection::vec(1u64..1 << 40, 1..40), mean in 1.0f64..1e12, count in 1u64..1 << 30) {
            let mut histogram = Histogram::default();
            spans.iter().for_each(|&span| histogram.add(Span::from_ps(span)));
            let scaled = histogram.summary().scaled(mean, count);
            prop_assert_eq!(scaled.bins.iter().sum::<u64>(), count);
            prop_assert!(scaled.least <= scaled.mean && scaled.mean <= scaled.most);
            prop_assert!((scaled.mean as f64 - mean).abs() <= 1.0 + mean * 1e-6);
            let written = Histogram::of(&scaled).summary();
            prop_assert_eq!((written.mean, written.least, written.most, written.count), (scaled.mean, scaled.least, scaled.most, count));
        }
    }

    #[test]
    fn it_says_the_same_in_whatever_order_spans_came() {
        let spans = [5_000, 7_000, 1_000_000, 3, 9_000_000_000].map(Span::from_ps);
        let (mut one, mut first, mut second) = (Histogram::default(), Histogram::default(), Histogram::default());
        spans.iter().for_each(|&span| one.add(span));
        spans[..2].iter().rev().for_each(|&span| first.add(span));
        spans[2..].iter().for_each(|&span| second.add(span));
        second.merge(&first);
        assert_eq!(one, second);
        let summary = one.summary();
        assert_eq!((summary.count, summary.least, summary.most, summary.mean), (5, 3, 9_000_000_000, 1_800_202_400));
        assert_eq!(summary.bins.iter().sum::<u64>(), 5);
        let (mut bytes, mut all) = (Vec::new(), Vec::new());
        summary.write(&mut bytes);
        one.write(&mut all);
        assert_eq!(Summary::read(&mut Reader::new(&bytes)).unwrap(), summary);
        assert_eq!(Histogram::read(&mut Reader::new(&all)).unwrap(), one);
    }

    #[test]
    fn the_deviation_is_that_of_the_spans() {
        let mut histogram = Histogram::default();
        [2, 4, 4, 4, 5, 5, 7, 9].iter().for_each(|&us| histogram.add(Span::from_ps(us * 1_000_000)));
        assert_eq!(histogram.summary().deviation, 2_000_000);
    }
}
