//! The clocks of a replay beside those of the recording.

use engine::record::{Put, Take};
use engine::{Span, Time};
use mpi::Mpi;

/// The comparison of a replay's clocks with those of the recording, if the replay was to compare them.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Comparison {
    /// Calls that ended at another time, and all.
    pub differ: u64,
    /// Calls.
    pub calls: u64,
    /// The first of them in the recording (of several at an instant that of the least rank): when it ended,
    /// its rank, and a sentence.
    pub first: Option<(Time, u32, String)>,
    /// The greatest difference between the clocks of a rank at the end of a call.
    pub most: Span,
}

impl Comparison {
    /// Compares the time `clock` at which a rank's call ended with `expected`, that of the recording; `told`
    /// names the call.
    pub(super) fn note(&mut self, rank: u32, clock: Time, expected: Time, told: impl FnOnce() -> String) {
        self.calls += 1;
        if clock == expected {
            return;
        }
        self.differ += 1;
        self.most = self.most.max(clock.max(expected).since(clock.min(expected)));
        if self.first.as_ref().is_none_or(|first| (expected, rank) < (first.0, first.1)) {
            let sentence =
                format!("rank {rank}, {}: it ended at {clock}, and at {expected} in the recording", told());
            self.first = Some((expected, rank, sentence));
        }
    }

    /// Returns what all processes found, as one, on process 0.
    pub(super) fn together(&self, mpi: &Mpi) -> Option<Comparison> {
        let mut own = Vec::new();
        self.put(&mut own);
        let parts = mpi.gather_bytes(own)?;
        let mut all = Comparison::default();
        parts.iter().for_each(|part| all.add(Comparison::take(&mut Take(part))));
        Some(all)
    }

    fn add(&mut self, other: Comparison) {
        self.differ += other.differ;
        self.calls += other.calls;
        self.most = self.most.max(other.most);
        // Ranks differ between processes, so that no two are at one place of the order.
        let firsts = [self.first.take(), other.first];
        self.first = firsts.into_iter().flatten().min_by_key(|&(time, rank, _)| (time, rank));
    }

    fn put(&self, out: &mut Vec<u8>) {
        out.u64(self.differ);
        out.u64(self.calls);
        out.u64(self.most.as_ps());
        out.u8(u8::from(self.first.is_some()));
        if let Some((time, rank, sentence)) = &self.first {
            out.u64(time.as_ps());
            out.u32(*rank);
            out.bytes(sentence.as_bytes());
        }
    }

    fn take(from: &mut Take) -> Comparison {
        let (differ, calls, most) = (from.u64(), from.u64(), Span::from_ps(from.u64()));
        let first = (from.u8() != 0).then(|| {
            (Time::from_ps(from.u64()), from.u32(), String::from_utf8_lossy(from.bytes()).into_owned())
        });
        Comparison { differ, calls, first, most }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_processes_found_is_what_one_would_have_found() {
        // Rank, when its call ended, and when in the recording: the first that differs is the earliest there,
        // at a tie of the least rank.
        let calls = [(0, 5, 5), (1, 9, 7), (2, 4, 6), (3, 6, 6), (4, 1, 6)];
        let noted = |some: &[(u32, u64, u64)]| {
            let mut found = Comparison::default();
            for &(rank, clock, expected) in some {
                found.note(rank, Time::from_ps(clock), Time::from_ps(expected), || "call 0".to_owned());
            }
            found
        };
        let one = noted(&calls);
        assert_eq!((one.calls, one.differ, one.most), (5, 3, Span::from_ps(5)));
        assert_eq!(one.first.as_ref().map(|first| first.1), Some(2));
        for at in 0..=calls.len() {
            let mut all = Comparison::default();
            for part in [&calls[..at], &calls[at..]] {
                let mut bytes = Vec::new();
                noted(part).put(&mut bytes);
                all.add(Comparison::take(&mut Take(&bytes)));
            }
            assert_eq!(all, one, "cut at {at}");
        }
    }
}
