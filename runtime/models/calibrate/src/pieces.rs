//! Costs by size: what measured lines are above those of a machine with one latency and one bandwidth.

use crate::fit::Segment;
use crate::machine::span;
use engine::Span;
use std::fmt::Write as _;

/// A cost from a size on: `latency + bytes * per_byte`, in seconds, neither of them negative.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct SizeCost {
    /// The smallest size.
    pub from: u64,
    /// The cost at no bytes.
    pub latency: f64,
    /// The cost of a byte.
    pub per_byte: f64,
}

/// Segments of a piecewise cost; a machine takes at most 64.
pub const MAX_PIECES: usize = 48;
/// The least step from a short piece to the next: an eighth of an octave.
const MIN_STEP: f64 = 1.0905;
/// The part of a time that short pieces may be off by where a line falls or begins below nothing, which no
/// machine has. The first that gives few enough pieces.
const TOLERANCES: [f64; 7] = [0.01, 0.02, 0.04, 0.08, 0.16, 0.32, f64::INFINITY];
/// A difference below this part of the measured time is none.
const MIN_PART: f64 = 0.002;

/// Returns what the segments take more than `base`, which is a line of the machine. Pieces begin at ascending
/// sizes, and there are no more of them than a machine takes.
pub fn above(segments: &[Segment], base: impl Fn(u64) -> f64) -> Vec<SizeCost> {
    let mut found = Vec::new();
    for tolerance in TOLERANCES {
        found = pieces_above(segments, &base, tolerance);
        if found.len() <= MAX_PIECES {
            break;
        }
    }
    found
}

/// Returns the pieces, with short ones that are off by no more than a part of the time at their ends.
fn pieces_above(segments: &[Segment], base: impl Fn(u64) -> f64, tolerance: f64) -> Vec<SizeCost> {
    let mut pieces: Vec<SizeCost> = Vec::new();
    let mut from = 0;
    for segment in segments {
        let cost = |bytes: u64| {
            let (measured, machine) = (segment.at(bytes), base(bytes));
            if (measured - machine).abs() < MIN_PART * measured { 0.0 } else { measured - machine }
        };
        let (first, last) = (cost(segment.from), cost(segment.until));
        let mut per_byte = (last - first) / (segment.until - segment.from).max(1) as f64;
        if (last - first).abs() < MIN_PART * segment.at(segment.until) {
            per_byte = 0.0;
        }
        let mut latency = first - per_byte * segment.from as f64;
        if latency.abs() < MIN_PART * segment.at(segment.from) {
            latency = 0.0;
        }
        if per_byte >= 0.0 && latency >= 0.0 {
            pieces.push(SizeCost { from, latency, per_byte });
        } else {
            pieces.extend(short(from, segment, cost, per_byte, tolerance));
        }
        from = segment.until.saturating_add(1);
    }
    pieces.dedup_by(|next, before| next.latency == before.latency && next.per_byte == before.per_byte);
    pieces
}

/// Returns short pieces, each right in its middle and level if the line falls.
fn short(
    from: u64,
    segment: &Segment,
    above: impl Fn(u64) -> f64,
    per_byte: f64,
    tolerance: f64,
) -> Vec<SizeCost> {
    let cost = |bytes: u64| above(bytes).max(0.0);
    // A size at least: octaves of a few bytes have fewer sizes than steps.
    let step = |at: u64| ((at as f64 * MIN_STEP) as u64).max(at.saturating_add(1)).min(segment.until);
    let piece = |at: u64, next: u64| {
        let middle = (at.max(1) as f64 * next.max(1) as f64).sqrt();
        let value = cost(middle as u64);
        match per_byte < 0.0 {
            true => SizeCost { from: at, latency: value, per_byte: 0.0 },
            false => SizeCost { from: at, latency: 0.0, per_byte: value / middle },
        }
    };
    let is_near = |piece: SizeCost, bytes: u64| {
        let off = piece.latency + piece.per_byte * bytes as f64 - cost(bytes);
        off.abs() <= tolerance * segment.at(bytes)
    };
    let (mut pieces, mut at) = (Vec::new(), segment.from);
    while at < segment.until || pieces.is_empty() {
        let mut next = step(at);
        while next < segment.until {
            let longer = piece(at, step(next));
            if !is_near(longer, at) || !is_near(longer, step(next)) {
                break;
            }
            next = step(next);
        }
        // Sizes between two segments are those of the second.
        let begin = if pieces.is_empty() { from } else { at };
        pieces.push(SizeCost { from: begin, ..piece(at, next) });
        at = next;
    }
    pieces
}

/// Returns pieces as a machine has them: `0;129:500ns@10GB/s`.
pub fn text(pieces: &[SizeCost]) -> String {
    let mut text = String::new();
    for &SizeCost { from, latency, per_byte } in pieces {
        if !text.is_empty() {
            text.push(';');
        }
        if from > 0 {
            let _ = write!(text, "{from}:");
        }
        let span = span(significant(latency));
        text += &if span == Span::ZERO { "0".to_owned() } else { span.to_string() };
        if per_byte > 0.0 {
            let _ = write!(text, "@{}GB/s", significant(1e-9 / per_byte));
        }
    }
    text
}

/// Rounds to four digits.
fn significant(value: f64) -> f64 {
    format!("{value:.3e}").parse().unwrap_or(value)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fit::Estimate;

    fn segment(from: u64, until: u64, latency: f64, per_byte: f64) -> Segment {
        let sure = |value| Estimate { value, within: 0.0 };
        Segment { from, until, latency: sure(latency), per_byte: sure(per_byte) }
    }

    fn at(pieces: &[SizeCost], bytes: u64) -> f64 {
        let piece = pieces.iter().rev().find(|piece| piece.from <= bytes).unwrap();
        piece.latency + piece.per_byte * bytes as f64
    }

    #[test]
    fn lines_above_the_machines_are_pieces() {
        let base = |bytes: u64| 1e-6 + bytes as f64 * 1e-10;
        let segments = [
            segment(0, 128, 1e-6, 1e-10),
            segment(256, 8192, 1.5e-6, 2e-10),
            segment(16384, 1 << 20, 4e-6, 1e-10),
        ];
        assert_eq!(text(&above(&segments, base)), "0;129:500ns@10GB/s;8193:3us");
    }

    #[test]
    fn a_line_that_falls_or_begins_below_nothing_is_come_near_to() {
        let base = |bytes: u64| 1e-6 + bytes as f64 * 1e-10;
        let segments = [
            segment(0, 1024, 1e-6, 1e-10),
            segment(2048, 65536, 3e-6, 0.8e-10),
            segment(131_072, 1 << 22, -20e-6, 4e-10),
        ];
        let pieces = above(&segments, base);
        assert!(pieces.iter().all(|piece| piece.latency >= 0.0 && piece.per_byte >= 0.0), "{pieces:?}");
        for segment in segments {
            for bytes in [segment.from, 3 * segment.from / 2, segment.until] {
                let (machine, measured) = (base(bytes) + at(&pieces, bytes), segment.at(bytes));
                assert!((machine / measured - 1.0).abs() < 0.05, "{bytes}: {machine} for {measured}");
            }
        }
    }
}
