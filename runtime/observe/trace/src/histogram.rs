//! Histograms of how long ranks computed before a call: minimum, maximum, mean, deviation, and how many times
//! fell between which powers of two. What two recorded is added exactly, in whatever order.

use crate::codec::{Malformed, Put, Reader, Result};
use crate::spread::RankImbalance;
use engine::Span;
use smallvec::SmallVec;

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
    /// Sum of the squares of the spans, in nanoseconds squared. Each span is rounded down to nanoseconds.
    squares: u128,
    /// By the number of bits of the span in picoseconds, from `first_bits` on.
    bins: SmallVec<[u64; 4]>,
    first_bits: u8,
}

/// The most bits of a span, and one more.
const MAX_BINS: usize = 65;

/// A histogram as files store it.
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
    /// The standard deviation, in picoseconds, rounded down to a nanosecond or so; where it is told in which
    /// ranks differ, of each from what is told of its own.
    pub deviation: u64,
    /// Number of spans by their length in bits, from `first_bits` on.
    pub bins: Vec<u64>,
    /// The bits of the least.
    pub first_bits: u32,
    /// Percent by which the times of each rank exceed the mean of all ranks.
    pub spread: RankImbalance,
    /// Percent of the variance, beside that between the means of ranks, that all ranks share in a step.
    pub shared: u8,
    /// The first times of each rank, where they differ from the later ones.
    pub first: Option<Box<FirstTimes>>,
}

/// The first times of each rank on a path, which are not among the others.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct FirstTimes {
    /// Times of each rank, at least 1.
    pub per_rank: u32,
    /// Summary over all ranks, without first times of its own.
    pub summary: Summary,
}

impl Default for Histogram {
    fn default() -> Histogram {
        Histogram {
            count: 0,
            least: u64::MAX,
            most: 0,
            sum: 0,
            squares: 0,
            bins: SmallVec::new(),
            first_bits: 0,
        }
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
        self.count_bits((u64::BITS - ps.leading_zeros()) as u8, 1);
    }

    /// Counts spans of so many bits.
    #[inline]
    fn count_bits(&mut self, bits: u8, spans: u64) {
        if self.bins.is_empty() {
            self.first_bits = bits;
        }
        if bits < self.first_bits {
            self.bins.insert_many(0, std::iter::repeat_n(0, usize::from(self.first_bits - bits)));
            self.first_bits = bits;
        }
        let at = usize::from(bits - self.first_bits);
        if at >= self.bins.len() {
            self.bins.resize(at + 1, 0);
        }
        self.bins[at] += spans;
    }

    /// Adds another's spans.
    pub fn merge(&mut self, other: &Histogram) {
        self.count += other.count;
        self.least = self.least.min(other.least);
        self.most = self.most.max(other.most);
        self.sum += other.sum;
        self.squares = self.squares.saturating_add(other.squares);
        for (bits, &more) in (other.first_bits..).zip(&other.bins) {
            if more > 0 {
                self.count_bits(bits, more);
            }
        }
    }

    /// Returns the sum of all spans, in picoseconds.
    pub fn sum(&self) -> u128 {
        self.sum
    }

    /// Returns the mean square of the distances from the mean, in picoseconds squared, as exact as squares of
    /// nanoseconds are.
    pub fn variance(&self) -> f64 {
        let count = self.count.max(1) as f64;
        let mean = self.sum as f64 / 1000.0 / count;
        (self.squares as f64 / count - mean * mean).max(0.0) * 1e6
    }

    /// Appends all of it, for [`Histogram::read`].
    pub fn write(&self, bytes: &mut Vec<u8>) {
        [self.count, self.least, self.most].into_iter().for_each(|value| bytes.number(value));
        bytes.wide(self.sum);
        bytes.wide(self.squares);
        bytes.push(self.first_bits);
        bytes.push(self.bins.len() as u8);
        self.bins.iter().for_each(|&bin| bytes.number(bin));
    }

    /// Reads it.
    ///
    /// # Errors
    /// If it is something else.
    pub fn read(reader: &mut Reader) -> Result<Histogram> {
        let (count, least, most) = (reader.number()?, reader.number()?, reader.number()?);
        let (sum, squares) = (reader.wide()?, reader.wide()?);
        let (first_bits, length) = (reader.byte()?, usize::from(reader.byte()?));
        if usize::from(first_bits) + length > MAX_BINS {
            return reader.wrong("a histogram with times of more than 64 bits");
        }
        let bins = (0..length).map(|_| reader.number()).collect::<Result<SmallVec<[u64; 4]>>>()?;
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
        Ok(Histogram { count, least, most, sum, squares, bins, first_bits })
    }

    /// Returns one that has this summary, with first times. What the summary has rounded away is lost.
    pub fn of(summary: &Summary) -> Histogram {
        let count = u128::from(summary.count);
        let (mean, deviation) = (u128::from(summary.mean / 1000), u128::from(summary.deviation / 1000));
        let squares = count * (mean * mean + deviation * deviation);
        let least = if summary.count == 0 { u64::MAX } else { summary.least };
        let mut all = Histogram {
            count: summary.count,
            least,
            most: summary.most,
            sum: count * u128::from(summary.mean),
            squares,
            bins: SmallVec::from_slice(&summary.bins),
            first_bits: summary.first_bits as u8,
        };
        if let Some(first) = &summary.first {
            all.merge(&Histogram::of(&first.summary));
        }
        all
    }

    /// Returns what a file has of it.
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
            first_bits: u32::from(self.first_bits) + first as u32,
            spread: RankImbalance::default(),
            shared: 0,
            first: None,
        }
    }
}

impl Summary {
    /// Returns how many of the ranks' passages come behind their first times.
    pub fn later(&self, passages: u64) -> u64 {
        let first = self.first.as_ref().map_or(0, |first| first.summary.count);
        passages.saturating_sub(first).max(self.count)
    }

    /// Returns a summary like this, of so many times with this mean in picoseconds, each time longer or
    /// shorter by the same factor. Within a bin times are taken to be in its middle, so that some may be
    /// counted in the bin beside that of their own.
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
            spread: self.spread.clone(),
            shared: self.shared,
            first: self.first.as_ref().map(|first| {
                let summary = &first.summary;
                let summary = summary.scaled(summary.mean as f64 * factor, summary.count);
                Box::new(FirstTimes { summary, ..**first })
            }),
        }
    }

    /// Returns the summary of so many times of one length, in picoseconds.
    pub fn constant(ps: u64, count: u64) -> Summary {
        Summary {
            count,
            least: ps,
            most: ps,
            mean: ps,
            deviation: 0,
            bins: vec![count],
            first_bits: u64::BITS - ps.leading_zeros(),
            spread: RankImbalance::default(),
            shared: 0,
            first: None,
        }
    }

    /// Rounds it to as few digits as a file has of it: four of the mean and three of the others. With all of
    /// them the least is no more and the most no less than it was. Exact if all times are one.
    #[must_use]
    pub fn rounded(mut self) -> Summary {
        if let Some(first) = self.first.take() {
            let FirstTimes { per_rank, summary } = *first;
            self.first = Some(Box::new(FirstTimes { per_rank, summary: summary.rounded() }));
        }
        if self.least == self.most {
            return self;
        }
        let step = |ps: u64, digits: u32| {
            10u64.pow(ps.checked_ilog10().map_or(0, |last| (last + 1).saturating_sub(digits)))
        };
        let down = |ps: u64, digits: u32| ps / step(ps, digits) * step(ps, digits);
        let up = |ps: u64, digits: u32| {
            down(ps, digits).saturating_add(if down(ps, digits) == ps { 0 } else { step(ps, digits) })
        };
        // To the nearer of two, which is between the others since these have fewer digits.
        let mean = down(self.mean.saturating_add(step(self.mean, 4) / 2), 4);
        Summary {
            least: down(self.least, 3),
            mean,
            most: up(self.most, 3),
            deviation: down(self.deviation, 3),
            ..self
        }
    }

    /// Appends it, as [`Summary::read`] reads it.
    pub fn write(&self, bytes: &mut Vec<u8>) {
        [self.least, self.mean, self.most, self.deviation]
            .into_iter()
            .for_each(|ps| write_decimal(ps, bytes));
        bytes.push(self.first_bits as u8);
        bytes.push(self.bins.len() as u8);
        self.bins.iter().for_each(|&bin| bytes.number(bin));
        self.spread.write(bytes);
        bytes.push(self.shared);
        bytes.number(self.first.as_ref().map_or(0, |first| first.per_rank.into()));
        if let Some(first) = &self.first {
            first.summary.write(bytes);
        }
    }

    /// Reads one of a run of so many ranks, as a file of this version has it.
    ///
    /// # Errors
    /// If it is something else.
    pub fn read(reader: &mut Reader, ranks: u32, version: u8) -> Result<Summary> {
        let [least, mean, most, deviation] =
            if version < 2 { in_full(reader)? } else { in_decimals(reader)? };
        if !(least..=most).contains(&mean) {
            return reader.wrong("a mean that is not between the least and the most");
        }
        let (first_bits, length) = (u32::from(reader.byte()?), usize::from(reader.byte()?));
        if first_bits as usize + length > 65 {
            return reader.wrong("a histogram with times of more than 64 bits");
        }
        let bins = (0..length).map(|_| reader.number()).collect::<Result<Vec<_>>>()?;
        let Some(count) = bins.iter().try_fold(0u64, |sum, &bin| sum.checked_add(bin)) else {
            return reader.wrong("a histogram of more than 2^64 times");
        };
        let spread = if version < 2 { RankImbalance::default() } else { RankImbalance::read(reader, ranks)? };
        let mut summary =
            Summary { count, least, most, mean, deviation, bins, first_bits, spread, shared: 0, first: None };
        if version > 3 {
            summary.shared = reader.byte()?;
            if summary.shared > 100 {
                return reader.wrong(format!("{} % of a variance are shared", summary.shared));
            }
            summary.first = Summary::read_first(reader, ranks, version)?;
        }
        Ok(summary)
    }

    fn read_first(reader: &mut Reader, ranks: u32, version: u8) -> Result<Option<Box<FirstTimes>>> {
        let per_rank = reader.number()?;
        if per_rank == 0 {
            return Ok(None);
        }
        let Ok(per_rank) = u32::try_from(per_rank) else {
            return reader.wrong(format!("{per_rank} first times of each rank"));
        };
        // Only the outer one may have first times, so that none lie within others without end.
        let at = reader.at();
        let summary = Summary::read(reader, ranks, version.min(3))?;
        if version > 3 && (reader.byte()?, reader.number()?) != (0, 0) {
            return Err(Malformed { at, why: "first times that have first times".into() });
        }
        Ok(Some(Box::new(FirstTimes { per_rank, summary })))
    }
}

/// Appends a number: sixteen times its digits without the zeros behind them, up to 15, and how many these
/// are.
fn write_decimal(number: u64, bytes: &mut Vec<u8>) {
    let (mut digits, mut zeros) = (number, 0);
    while digits > 0 && digits % 10 == 0 && zeros < 15 {
        (digits, zeros) = (digits / 10, zeros + 1);
    }
    bytes.wide(u128::from(digits) << 4 | zeros);
}

fn in_decimals(reader: &mut Reader) -> Result<[u64; 4]> {
    let mut numbers = [0; 4];
    for number in &mut numbers {
        let head = reader.wide()?;
        let value =
            u64::try_from(head >> 4).ok().and_then(|digits| digits.checked_mul(10u64.pow(head as u32 & 15)));
        let Some(value) = value else { return reader.wrong("a time of more than 2^64 ps") };
        *number = value;
    }
    Ok(numbers)
}

/// Reads the first version, which had the least, by how much the mean is more and the most more than that,
/// and nanoseconds of the deviation.
fn in_full(reader: &mut Reader) -> Result<[u64; 4]> {
    let [least, above, beyond, deviation] =
        [reader.number()?, reader.number()?, reader.number()?, reader.number()?];
    let mean = least.checked_add(above);
    let (Some(mean), Some(most)) = (mean, mean.and_then(|mean| mean.checked_add(beyond))) else {
        return reader.wrong("a time of more than 2^64 ps");
    };
    Ok([least, mean, most, deviation.saturating_mul(1000)])
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn a_scaled_histogram_is_one(
            spans in prop::collection::vec(1u64..1 << 40, 1..40),
            mean in 1.0f64..1e12,
            count in 1u64..1 << 30,
        ) {
            let mut histogram = Histogram::default();
            spans.iter().for_each(|&span| histogram.add(Span::from_ps(span)));
            let scaled = histogram.summary().scaled(mean, count);
            prop_assert_eq!(scaled.bins.iter().sum::<u64>(), count);
            prop_assert!(scaled.least <= scaled.mean && scaled.mean <= scaled.most);
            prop_assert!((scaled.mean as f64 - mean).abs() <= 1.0 + mean * 1e-6);
            let written = Histogram::of(&scaled).summary();
            prop_assert_eq!(
                (written.mean, written.least, written.most, written.count),
                (scaled.mean, scaled.least, scaled.most, count)
            );
        }
    }

    #[test]
    fn it_says_the_same_in_whatever_order_spans_came() {
        let spans = [5_000, 7_000, 1_000_000, 3, 9_000_000_000].map(Span::from_ps);
        let (mut one, mut first, mut second) =
            (Histogram::default(), Histogram::default(), Histogram::default());
        spans.iter().for_each(|&span| one.add(span));
        spans[..2].iter().rev().for_each(|&span| first.add(span));
        spans[2..].iter().for_each(|&span| second.add(span));
        second.merge(&first);
        assert_eq!(one, second);
        let summary = one.summary();
        assert_eq!(
            (summary.count, summary.least, summary.most, summary.mean),
            (5, 3, 9_000_000_000, 1_800_202_400)
        );
        assert_eq!(summary.bins.iter().sum::<u64>(), 5);
        let (mut bytes, mut all) = (Vec::new(), Vec::new());
        summary.write(&mut bytes);
        one.write(&mut all);
        assert_eq!(Summary::read(&mut Reader::new(&bytes), 1, 4).unwrap(), summary);
        assert_eq!(Histogram::read(&mut Reader::new(&all)).unwrap(), one);
    }

    proptest! {
        #[test]
        fn few_digits_are_still_a_summary(
            spans in prop::collection::vec(prop_oneof![0u64..2000, any::<u64>()], 1..20),
        ) {
            let mut histogram = Histogram::default();
            spans.iter().for_each(|&span| histogram.add(Span::from_ps(span.max(1))));
            let (exact, rounded) = (histogram.summary(), histogram.summary().rounded());
            let mut bytes = Vec::new();
            rounded.write(&mut bytes);
            prop_assert_eq!(&Summary::read(&mut Reader::new(&bytes), 1, 4).unwrap(), &rounded);
            prop_assert!(rounded.least <= exact.least && exact.most <= rounded.most);
            prop_assert!((rounded.mean as f64 / exact.mean as f64 - 1.0).abs() <= 5.01e-4);
            prop_assert_eq!(&rounded.clone().rounded(), &rounded);
        }
    }

    #[test]
    fn a_histogram_of_the_first_version_is_read() {
        let mut bytes = Vec::new();
        [5_000, 2_000, 100, 3].into_iter().for_each(|number| bytes.number(number));
        bytes.extend([13, 1, 4]);
        let summary = Summary::read(&mut Reader::new(&bytes), 9, 1).unwrap();
        assert_eq!(
            (summary.least, summary.mean, summary.most, summary.deviation, summary.count),
            (5_000, 7_000, 7_100, 3_000, 4)
        );
        assert!(summary.spread.is_empty());
    }

    #[test]
    fn the_deviation_is_that_of_the_spans() {
        let mut histogram = Histogram::default();
        [2, 4, 4, 4, 5, 5, 7, 9].iter().for_each(|&us| histogram.add(Span::from_ps(us * 1_000_000)));
        assert_eq!(histogram.summary().deviation, 2_000_000);
    }
}
