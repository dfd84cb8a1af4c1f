//! Accumulators on the path of every MPI call: a few additions, no allocation, no branch on the rank.

use crate::intervals::Intervals;
use crate::part::SpreadSum;
use crate::report::FunctionCost;
use engine::Span;
use std::collections::BTreeMap;

/// Calls of one MPI function, over all ranks.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub struct FunctionTally {
    /// Number of calls.
    pub calls: u64,
    /// Virtual time from entry to return, summed over the calls, in picoseconds.
    pub time_ps: u128,
}

/// Virtual time of one rank, divided into computation and waiting.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub struct RankTally {
    /// Between MPI calls: what the processor model charged.
    pub compute: Span,
    /// Inside MPI calls that could not go on: the clock moved because something else came later.
    pub wait: Span,
}

/// Everything that is counted while ranks run.
///
/// Functions are numbered by their row in the table of MPI functions; their names are given when
/// the report is made. All memory is allocated (lazily, by the kernel) in `new`.
pub struct Profile {
    functions: Box<[FunctionTally]>,
    first: u32,
    /// Picoseconds by rank. Plain numbers, which the allocator gives zeroed without touching them, and apart
    /// from each other: a run without computation never has memory for the first.
    compute: Vec<u64>,
    wait: Vec<u64>,
    messages: u64,
    bytes: u128,
    internal: (u64, u128),
    /// Measured intervals of computation.
    pub intervals: Intervals,
}

#[inline]
fn add(to: &mut u64, span: Span) {
    *to = (Span::from_ps(*to) + span).as_ps();
}

impl Profile {
    /// Returns a profile of `functions` MPI functions and `ranks` virtual ranks from number `first` on, all
    /// zero.
    pub fn new(functions: usize, first: u32, ranks: usize) -> Profile {
        Profile {
            functions: vec![FunctionTally::default(); functions].into(),
            first,
            compute: vec![0; ranks],
            wait: vec![0; ranks],
            messages: 0,
            bytes: 0,
            internal: (0, 0),
            intervals: Intervals::default(),
        }
    }

    /// Counts one call of `function` that took `time` on its rank's clock.
    ///
    /// # Panics
    /// If `function` is not below the count given to `new`.
    #[inline]
    pub fn call(&mut self, function: u16, time: Span) {
        let tally = &mut self.functions[function as usize];
        tally.calls += 1;
        tally.time_ps += u128::from(time.as_ps());
    }

    /// Counts so many calls of `function` that took no time on their rank's clock.
    ///
    /// # Panics
    /// As [`Profile::call`].
    #[inline]
    pub fn calls_at_once(&mut self, function: u16, calls: u64) {
        self.functions[function as usize].calls += calls;
    }

    /// Counts one message with `bytes` of payload that entered the network (each message of a collective
    /// counts).
    #[inline]
    pub fn message(&mut self, bytes: u64) {
        self.messages += 1;
        self.bytes += u128::from(bytes);
    }

    /// Counts `messages` messages with `bytes` of payload in all, as a batch executor counts them.
    #[inline]
    pub fn messages_of(&mut self, messages: u64, bytes: u128) {
        self.messages += messages;
        self.bytes += bytes;
    }

    /// Notes that of the messages that are counted so many, with so many bytes in all, are MPI's own and none
    /// of the program.
    #[inline]
    pub fn internal(&mut self, messages: u64, bytes: u128) {
        self.internal.0 += messages;
        self.internal.1 += bytes;
    }

    /// Counts one message of MPI's own with so many bytes that entered the network.
    #[inline]
    pub fn internal_message(&mut self, bytes: u64) {
        self.message(bytes);
        self.internal(1, bytes.into());
    }

    /// Returns the messages of MPI's own so far, and their bytes.
    pub fn internal_traffic(&self) -> (u64, u128) {
        self.internal
    }

    /// Counts `span` that `rank` computed.
    #[inline]
    pub fn compute(&mut self, rank: u32, span: Span) {
        add(&mut self.compute[rank.wrapping_sub(self.first) as usize], span);
    }

    /// Counts `span` that `rank` waited inside an MPI call.
    #[inline]
    pub fn wait(&mut self, rank: u32, span: Span) {
        add(&mut self.wait[rank.wrapping_sub(self.first) as usize], span);
    }

    /// Returns the messages so far.
    #[inline]
    pub fn messages(&self) -> u64 {
        self.messages
    }

    /// Returns payload bytes so far.
    #[inline]
    pub fn bytes(&self) -> u128 {
        self.bytes
    }

    /// Returns one rank's account.
    pub fn rank(&self, rank: u32) -> RankTally {
        let span = |all: &[u64]| Span::from_ps(all[rank.wrapping_sub(self.first) as usize]);
        RankTally { compute: span(&self.compute), wait: span(&self.wait) }
    }

    /// Returns how long a rank of this process has waited in MPI calls so far.
    #[inline]
    pub fn waited(&self, rank: u32) -> Span {
        Span::from_ps(self.wait[rank.wrapping_sub(self.first) as usize])
    }

    /// Returns one function's account.
    pub fn function(&self, function: u16) -> FunctionTally {
        self.functions[function as usize]
    }

    /// Returns the functions that were called, by name; `names[i]` names function `i`.
    pub fn functions(&self, names: &[&str]) -> BTreeMap<String, FunctionCost> {
        let called = self.functions.iter().zip(names).filter(|(tally, _)| tally.calls > 0);
        called
            .map(|(tally, name)| {
                ((*name).to_owned(), FunctionCost { calls: tally.calls, time_ps: tally.time_ps })
            })
            .collect()
    }

    /// Returns the compute time over the first `ranks`.
    pub fn compute_sum(&self, ranks: u32) -> SpreadSum {
        SpreadSum::of(self.first, self.compute[..ranks as usize].iter().map(|&ps| Span::from_ps(ps)))
    }

    /// Returns the waiting time over the first `ranks`.
    pub fn wait_sum(&self, ranks: u32) -> SpreadSum {
        SpreadSum::of(self.first, self.wait[..ranks as usize].iter().map(|&ps| Span::from_ps(ps)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_do_not_overflow_64_bits() {
        let mut profile = Profile::new(1, 0, 1);
        for _ in 0..4 {
            profile.call(0, Span::MAX);
        }
        assert_eq!(profile.function(0), FunctionTally { calls: 4, time_ps: 4 * u128::from(u64::MAX) });
    }

    #[test]
    fn functions_never_called_are_left_out() {
        let mut profile = Profile::new(3, 0, 1);
        profile.call(2, Span::from_ps(7));
        let functions = profile.functions(&["MPI_A", "MPI_B", "MPI_C"]);
        assert_eq!(
            functions.into_iter().collect::<Vec<_>>(),
            [("MPI_C".to_owned(), FunctionCost { calls: 1, time_ps: 7 })]
        );
    }

    #[test]
    fn a_rank_has_an_account_of_its_own() {
        let mut profile = Profile::new(0, 10, 3);
        profile.compute(11, Span::from_ps(5));
        profile.wait(11, Span::from_ps(7));
        profile.wait(12, Span::from_ps(1));
        let tally = |compute, wait| RankTally { compute: Span::from_ps(compute), wait: Span::from_ps(wait) };
        assert_eq!(
            [profile.rank(10), profile.rank(11), profile.rank(12)],
            [tally(0, 0), tally(5, 7), tally(0, 1)]
        );
    }
}
