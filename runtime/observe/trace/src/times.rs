//! Exact times of a rank's calls: how long it computed before each, and how long each took. Equal neighbours
//! are told once.

use crate::codec::{Malformed, Put, Reader, Result};
use engine::Span;

/// Runs of equal numbers under way.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
struct RunEncoder {
    bytes: Vec<u8>,
    value: u64,
    length: u64,
}

impl RunEncoder {
    fn add(&mut self, value: u64) {
        if self.length > 0 && value == self.value {
            self.length += 1;
            return;
        }
        self.settle();
        (self.value, self.length) = (value, 1);
    }
    fn settle(&mut self) {
        if self.length > 0 {
            self.bytes.number(self.length);
            self.bytes.number(self.value);
        }
    }
}

/// The times of a rank under way.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Times {
    computed: RunEncoder,
    took: RunEncoder,
}

impl Times {
    /// Adds the next call: what was computed before it, and how long it took.
    pub fn add(&mut self, computed: Span, took: Span) {
        self.computed.add(computed.as_ps());
        self.took.add(took.as_ps());
    }
    /// Returns the bytes of the first runs, and behind them those of the second.
    pub fn finish(mut self) -> Vec<u8> {
        self.computed.settle();
        self.took.settle();
        let mut bytes = Vec::new();
        bytes.number(self.computed.bytes.len() as u64);
        bytes.extend(self.computed.bytes);
        bytes.extend(self.took.bytes);
        bytes
    }
}

/// Gives runs of equal numbers one number at a time.
#[derive(Clone, Debug)]
struct Unwound<'a> {
    reader: Reader<'a>,
    value: u64,
    left: u64,
}

impl Unwound<'_> {
    fn next(&mut self) -> Result<Option<Span>> {
        while self.left == 0 {
            if self.reader.left() == 0 {
                return Ok(None);
            }
            self.left = self.reader.number()?;
            self.value = self.reader.number()?;
        }
        self.left -= 1;
        Ok(Some(Span::from_ps(self.value)))
    }
}

/// The times of a rank's calls in order.
#[derive(Clone, Debug)]
pub struct Reading<'a> {
    computed: Unwound<'a>,
    took: Unwound<'a>,
}

impl<'a> Reading<'a> {
    /// Begins to read the bytes that [`Times::finish`] returned.
    ///
    /// # Errors
    /// If it is something else.
    pub fn new(bytes: &'a [u8]) -> Result<Reading<'a>> {
        let mut reader = Reader::new(bytes);
        let length = reader.count(1, "bytes of times")?;
        let runs = |bytes| Unwound { reader: Reader::new(bytes), value: 0, left: 0 };
        let computed = runs(reader.slice(length)?);
        let took = runs(reader.slice(reader.left())?);
        Ok(Reading { computed, took })
    }
    /// Returns what was computed before the next call, and how long that took; `None` behind the last.
    ///
    /// # Errors
    /// If the bytes are not those of times.
    #[allow(clippy::should_implement_trait, reason = "it fails")]
    pub fn next(&mut self) -> Result<Option<(Span, Span)>> {
        Ok(self.computed.next()?.zip(self.took.next()?))
    }
}

/// Appends what [`Times::finish`] made of some ranks.
pub fn write<'a>(times: impl ExactSizeIterator<Item = (u32, &'a [u8])>, bytes: &mut Vec<u8>) {
    bytes.number(times.len() as u64);
    for (rank, of_rank) in times {
        bytes.number(rank.into());
        bytes.number(of_rank.len() as u64);
        bytes.extend_from_slice(of_rank);
    }
}

/// Reads what [`write()`] wrote, in a run of so many ranks: tells of each rank and its times.
///
/// # Errors
/// If it is something else.
pub fn read<'a>(reader: &mut Reader<'a>, ranks: u32, mut tell: impl FnMut(u32, &'a [u8])) -> Result<()> {
    for _ in 0..reader.count(2, "times")? {
        let rank = reader.index(ranks as usize, "rank")?;
        let length = reader.count(1, "bytes of times")?;
        let at = reader.at();
        let of_rank = reader.slice(length)?;
        Reading::new(of_rank).map_err(|why| Malformed { at: at + why.at, ..why })?;
        tell(rank, of_rank);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn times_read_back(
            times in prop::collection::vec((0u64..3, prop_oneof![Just(0u64), any::<u64>()]), 0..50),
        ) {
            let mut all = Times::default();
            times.iter().for_each(|&(computed, took)| all.add(Span::from_ps(computed), Span::from_ps(took)));
            let bytes = all.finish();
            let mut reading = Reading::new(&bytes).unwrap();
            for (computed, took) in times {
                prop_assert_eq!(
                    reading.next().unwrap(),
                    Some((Span::from_ps(computed), Span::from_ps(took)))
                );
            }
            prop_assert_eq!(reading.next().unwrap(), None);
        }
    }
}
