//! Costs by message size: a span and a bandwidth from each of some sizes on.

use crate::bandwidth::{Bandwidth, Serialization};
use engine::Span;
use std::fmt;
use std::str::FromStr;

/// Segments at most.
const MAX_SEGMENTS: usize = 64;

/// A cost that is piecewise linear in the size of a message: `a + s/b`, with its own a and b for each
/// range of sizes.
///
/// Reads and prints segments joined by `;`. A segment is `FROM:SPAN@BANDWIDTH` for messages of at least
/// FROM bytes, where `FROM:` of the first (0) and `@BANDWIDTH` (no time for bytes) may be left out:
/// `0.2us;1KiB:0.5us@20GB/s;64KiB:3us`.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct BySize {
    segments: Vec<CostSegment>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct CostSegment {
    from: u64,
    span: Span,
    bandwidth: Bandwidth,
    line: Serialization,
}

impl CostSegment {
    fn new(from: u64, span: Span, bandwidth: Bandwidth) -> CostSegment {
        CostSegment { from, span, bandwidth, line: Serialization::new(bandwidth) }
    }
}

impl BySize {
    /// Returns a cost from segments `(from, span, bandwidth)` in ascending order of `from`, the first from 0.
    #[cfg(test)]
    fn of(segments: impl IntoIterator<Item = (u64, Span, Bandwidth)>) -> BySize {
        let segments = segments.into_iter().map(|(from, span, line)| CostSegment::new(from, span, line));
        BySize { segments: segments.collect() }
    }

    /// Returns `true` if no message costs anything.
    #[inline]
    pub(crate) fn is_zero(&self) -> bool {
        self.segments.iter().all(|segment| segment.span == Span::ZERO && segment.bandwidth.is_infinite())
    }

    /// Returns the cost of a message. O(segments).
    ///
    /// Unwinds with [`engine::EndOfTime`] beyond 2^64 ps (213 days), as clocks do.
    #[inline]
    pub(crate) fn time(&self, bytes: u64) -> Span {
        match self.segments.iter().rev().find(|segment| segment.from <= bytes) {
            Some(segment) => segment.span + segment.line.time(bytes),
            None => Span::ZERO,
        }
    }

    /// Returns the cost of a message; `None` beyond 2^64 ps.
    pub(crate) fn checked_time(&self, bytes: u64) -> Option<Span> {
        match self.segments.iter().rev().find(|segment| segment.from <= bytes) {
            Some(segment) => segment.span.checked_add(segment.line.checked_time(bytes)?),
            None => Some(Span::ZERO),
        }
    }

    /// Returns the least cost of any message.
    pub(crate) fn least(&self) -> Span {
        self.segments
            .iter()
            .map(|segment| segment.span + segment.line.time(segment.from))
            .min()
            .unwrap_or(Span::ZERO)
    }
}

impl FromStr for BySize {
    type Err = String;

    fn from_str(text: &str) -> Result<BySize, String> {
        let read = |cost: &str| {
            let (span, bandwidth) = match cost.split_once('@') {
                Some((span, bandwidth)) => (span.trim(), bandwidth.trim().parse().map_err(text_of)?),
                None => (cost.trim(), Bandwidth::INFINITE),
            };
            Ok((span.parse().map_err(text_of)?, bandwidth))
        };
        let segments = pieces(text, ("segment", "3us"), (Span::ZERO, Bandwidth::INFINITE), read)?;
        let segment = |(from, (span, bandwidth))| CostSegment::new(from, span, bandwidth);
        Ok(BySize { segments: segments.into_iter().map(segment).collect() })
    }
}

/// Reads values by size, `VALUE;BYTES:VALUE;...`, each with the bytes from which on it holds. Messages that
/// come before the first have `none`. `noun` names a piece, and `example` is a value, in sentences.
///
/// # Errors
/// A sentence: a value that `read` refuses, a size that is none, sizes out of order, or too many.
pub(crate) fn pieces<T>(
    text: &str,
    (noun, example): (&str, &str),
    none: T,
    read: impl Fn(&str) -> Result<T, String>,
) -> Result<Vec<(u64, T)>, String> {
    let mut pieces: Vec<(u64, T)> = Vec::new();
    let mut none = Some(none);
    for part in text.split(';').map(str::trim) {
        let (from, value) = match part.split_once(':') {
            Some((from, value)) => {
                let size = bytes(from.trim()).ok_or_else(|| {
                    format!("'{}' is not a number of bytes such as 1024 or 64KiB", from.trim())
                })?;
                (size, value)
            }
            None if pieces.is_empty() => (0, part),
            None => return Err(format!("'{part}' lacks the bytes that it is from, as in 64KiB:{example}")),
        };
        let value = read(value)?;
        match pieces.last() {
            None if from > 0 => pieces.extend(none.take().map(|none| (0, none))),
            Some(&(last, _)) if last >= from => {
                return Err(format!(
                    "the {noun} from {from} bytes follows that from {last}; name sizes in ascending order"
                ));
            }
            _ => {}
        }
        pieces.push((from, value));
    }
    if pieces.len() > MAX_SEGMENTS {
        return Err(format!("{} {noun}s are more than {MAX_SEGMENTS}", pieces.len()));
    }
    Ok(pieces)
}

fn text_of(why: impl ToString) -> String {
    why.to_string()
}

impl fmt::Display for BySize {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, CostSegment { from, span, bandwidth, .. }) in self.segments.iter().enumerate() {
            if index > 0 {
                write!(f, ";{from}:")?;
            }
            write!(f, "{span}")?;
            if !bandwidth.is_infinite() {
                write!(f, "@{bandwidth}")?;
            }
        }
        Ok(())
    }
}

/// Reads a whole number of bytes: `65536`, `64KiB`, `64kB`.
pub(crate) fn bytes(text: &str) -> Option<u64> {
    const UNITS: [(&str, u64); 8] = [
        ("", 1),
        ("B", 1),
        ("kB", 1_000),
        ("MB", 1_000_000),
        ("GB", 1_000_000_000),
        ("KiB", 1 << 10),
        ("MiB", 1 << 20),
        ("GiB", 1 << 30),
    ];
    let split = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let (_, scale) = UNITS.iter().find(|(unit, _)| *unit == text[split..].trim_start())?;
    text[..split].parse::<u64>().ok()?.checked_mul(*scale)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn read(text: &str) -> BySize {
        text.parse().unwrap_or_else(|why| panic!("{text}: {why}"))
    }

    #[test]
    fn a_segment_holds_from_its_size_on() {
        let cost = read("0.2us;1KiB:0.5us@8Gbps;64KiB:3us");
        let ps = |bytes| cost.time(bytes).as_ps();
        assert_eq!([0, 1023].map(ps), [200_000; 2]);
        assert_eq!([1024, 65_535].map(ps), [500_000 + 1_024_000, 500_000 + 65_535_000]);
        assert_eq!([65_536, 1 << 40].map(ps), [3_000_000; 2]);
        assert_eq!(read("1KiB:1us").time(1023), Span::ZERO);
    }

    #[test]
    fn nothing_costs_nothing() {
        assert!(BySize::default().is_zero() && read("0").is_zero() && !read("8:1ns").is_zero());
        assert_eq!(BySize::default().time(1 << 30), Span::ZERO);
    }

    #[test]
    fn bad_costs_say_why() {
        for (text, why) in [
            ("", "length of time"),
            ("1us;2us", "lacks the bytes"),
            ("1us;x:2us", "'x' is not a number of bytes"),
            ("8:1us;8:2us", "ascending order"),
            ("1us@fast", "not a bandwidth"),
        ] {
            let error = text.parse::<BySize>().unwrap_err();
            assert!(error.contains(why), "{text}: {error}");
        }
        let many: Vec<String> = (0..100).map(|from| format!("{from}:1us")).collect();
        assert!(many.join(";").parse::<BySize>().unwrap_err().contains("more than 64"));
    }

    proptest! {
        #[test]
        fn display_reads_back(
            segments in prop::collection::btree_map(1u64..1 << 40, (0u64..1 << 40, 1u32..1000), 0..6),
        ) {
            let first = (0, Span::from_ps(7), Bandwidth::INFINITE);
            let segment = |(&from, &(ps, gbps)): (&u64, &(u64, u32))| {
                (from, Span::from_ps(ps), Bandwidth::from_gbps(gbps))
            };
            let rest = segments.iter().map(segment);
            let cost = BySize::of([first].into_iter().chain(rest));
            prop_assert_eq!(read(&cost.to_string()), cost);
        }

        #[test]
        fn reader_never_panics(text in "[0-9a-zA-Z:;@. ]{0,40}") {
            let _ = text.parse::<BySize>();
        }
    }
}
