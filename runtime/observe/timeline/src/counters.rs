//! Numbers of ranks that wait and of messages that are under way, as time goes on.

use crate::format::{Counter, Output, TimelineEvent};
use std::io;

/// With more changes than these a counter is sampled.
pub const EXACT: u64 = 100_000;
/// At so many equal distances.
const SAMPLES: u64 = 10_000;

/// The counters of a timeline. Changes come in the order of time; a value is told once all changes of its
/// instant are known.
pub struct Counters {
    values: [i64; Counter::ALL.len()],
    told: [Option<i64>; Counter::ALL.len()],
    /// The time of the latest changes; sampled: of the next sample.
    at: u64,
    /// From one sample to the next.
    step: Option<u64>,
}

impl Counters {
    /// Makes the counters of a run that ends at `end`, with so many changes: exact if they are few, else
    /// sampled, because every message and every wait would be four values more.
    pub fn new(end: u64, changes: u64) -> Counters {
        let step = (changes > EXACT).then(|| (end / SAMPLES).max(1));
        Counters { values: [0; Counter::ALL.len()], told: [None; Counter::ALL.len()], at: 0, step }
    }

    /// Advances to `at`, before which nothing is changed any more.
    #[inline]
    pub fn advance(&mut self, at: u64, out: &mut dyn Output) -> io::Result<()> {
        if at <= self.at {
            return Ok(());
        }
        self.tell(out)?;
        self.at = match self.step {
            None => at,
            Some(step) => at.div_ceil(step).saturating_mul(step),
        };
        Ok(())
    }

    fn tell(&mut self, out: &mut dyn Output) -> io::Result<()> {
        for counter in Counter::ALL {
            let value = self.values[counter as usize];
            if self.told[counter as usize] != Some(value) {
                self.told[counter as usize] = Some(value);
                out.event(&TimelineEvent::Counted { counter, at: self.at, value })?;
            }
        }
        Ok(())
    }

    /// Changes a counter at the instant that was reported last.
    #[inline]
    pub fn change(&mut self, counter: Counter, by: i64) {
        self.values[counter as usize] += by;
    }

    /// Writes what is left up to `end`, since all changes are known.
    pub fn finish(&mut self, end: u64, out: &mut dyn Output) -> io::Result<()> {
        self.at = self.at.min(end);
        self.tell(out)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Default)]
    struct WaitingSamples(Vec<(u64, i64)>);

    impl Output for WaitingSamples {
        fn event(&mut self, event: &TimelineEvent) -> io::Result<()> {
            if let TimelineEvent::Counted { counter: Counter::Waiting, at, value } = event {
                self.0.push((*at, *value));
            }
            Ok(())
        }
        fn end(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    fn told(changes: u64) -> Vec<(u64, i64)> {
        let (mut counters, mut out) = (Counters::new(1_000_000, changes), WaitingSamples::default());
        for (at, by) in [(150, 1), (150, 1), (180, -1), (230, 1), (1_000_000, -2)] {
            counters.advance(at, &mut out).unwrap();
            counters.change(Counter::Waiting, by);
        }
        counters.finish(1_000_000, &mut out).unwrap();
        out.0
    }

    #[test]
    fn few_changes_are_told_when_they_are_and_many_are_sampled() {
        assert_eq!(told(5), [(0, 0), (150, 2), (180, 1), (230, 2), (1_000_000, 0)]);
        // Each hundred picoseconds: of what was between nothing is told.
        assert_eq!(told(EXACT + 1), [(0, 0), (200, 1), (300, 2), (1_000_000, 0)]);
    }
}
