//! Stages of one collective on segments of its message, each segment one iteration behind the one before.

use std::rc::Rc;

use super::staged::Staged;
use crate::{Active, Buffer, Member, Schedule, Slice, Step};

/// One stage. Stages hand a segment to each other at its own offset in `Output`, or in the first bytes of
/// `Scratch`.
pub(super) struct SegmentStage {
    /// The iteration in which it has the first segment.
    pub(super) lag: u32,
    /// Parts that it runs on the first segment.
    pub(super) first: Staged,
    /// Parts that it runs on the others but the last.
    pub(super) middle: Staged,
    /// Parts that it runs on the last of several, which may be shorter.
    pub(super) last: Staged,
}

/// The stages of an iteration run side by side: a round is all their sends, all their receives and all their
/// local steps. That is how a library runs them that starts nonblocking collectives and waits for all.
pub(super) struct Pipelined {
    name: &'static str,
    size: u32,
    /// Bytes of the message, for which stages reserve that much scratch memory.
    bytes: u64,
    segment: u64,
    segments: u32,
    stages: Vec<SegmentStage>,
    /// Rounds of an iteration.
    rounds: u32,
}

impl Pipelined {
    /// Returns a schedule of these stages, in the order in which an iteration starts them, for `size` members
    /// and a message of `bytes` bytes.
    pub(super) fn schedule(
        name: &'static str,
        size: u32,
        bytes: u64,
        segment: u64,
        stages: Vec<SegmentStage>,
    ) -> Rc<dyn Schedule> {
        let segments = bytes.div_ceil(segment) as u32;
        let most = |stage: &SegmentStage| {
            let others = if segments > 1 { stage.middle.rounds().max(stage.last.rounds()) } else { 0 };
            stage.first.rounds().max(others)
        };
        let rounds = stages.iter().map(most).max().unwrap_or(0);
        Rc::new(Pipelined { name, size, bytes, segment, segments, stages, rounds })
    }

    fn iterations(&self) -> u32 {
        self.segments + self.stages.iter().map(|stage| stage.lag).max().unwrap_or(0)
    }

    /// Returns the segment that a stage has in an iteration, and what it runs on it.
    fn at<'a>(&self, stage: &'a SegmentStage, iteration: u32) -> Option<(u32, &'a Staged)> {
        let segment = iteration.checked_sub(stage.lag).filter(|&segment| segment < self.segments)?;
        let staged = match segment {
            0 => &stage.first,
            _ if segment + 1 == self.segments => &stage.last,
            _ => &stage.middle,
        };
        Some((segment, staged))
    }

    /// Returns the scratch memory of a stage's own.
    fn own(&self, stage: &SegmentStage, member: &Member) -> u64 {
        let variants = [&stage.first, &stage.middle, &stage.last];
        variants.map(|staged| staged.scratch(member) - self.bytes).into_iter().max().unwrap_or(0)
    }
}

impl Schedule for Pipelined {
    fn name(&self) -> &'static str {
        self.name
    }
    fn rounds(&self) -> u32 {
        self.iterations() * self.rounds
    }
    fn round(&self, member: &Member, round: u32, steps: &mut Vec<Step>) {
        let (iteration, inner) = (round / self.rounds, round % self.rounds);
        let begin = steps.len();
        let mut own = 0;
        for stage in &self.stages {
            if let Some((segment, staged)) = self.at(stage, iteration)
                && inner < staged.rounds()
            {
                let first = steps.len();
                staged.round(member, inner, steps);
                let offset = u64::from(segment) * self.segment;
                steps[first..].iter_mut().for_each(|step| self.shift(step, offset, own));
            }
            own += self.own(stage, member);
        }
        steps[begin..].sort_by_key(|step| match step {
            Step::Send { .. } => 0,
            Step::Receive { .. } => 1,
            _ => 2,
        });
    }
    fn scratch(&self, member: &Member) -> u64 {
        self.bytes + self.stages.iter().map(|stage| self.own(stage, member)).sum::<u64>()
    }
    fn active(&self, round: u32) -> Option<Active> {
        let (iteration, inner) = (round / self.rounds, round % self.rounds);
        let at = |stage| self.at(stage, iteration).filter(|(_, staged)| inner < staged.rounds());
        let mut columns = self.stages.iter().filter_map(at).map(|(_, staged)| staged.column());
        let (first, stride) = columns.next()??;
        columns.all(|column| column == Some((first, stride))).then(|| Active {
            first,
            stride,
            count: (self.size - first).div_ceil(stride),
        })
    }
    fn next(&self, rank: u32, round: u32) -> u32 {
        let (mut iteration, mut inner) = (round / self.rounds, round % self.rounds);
        while iteration < self.iterations() {
            let next = |stage| {
                let (_, staged) = self.at(stage, iteration)?;
                Some(staged.next(rank, inner)).filter(|&next| next < staged.rounds())
            };
            if let Some(next) = self.stages.iter().filter_map(next).min() {
                return iteration * self.rounds + next;
            }
            (iteration, inner) = (iteration + 1, 0);
        }
        self.rounds()
    }
}

impl Pipelined {
    /// Moves a step on the first segment to the segment at `offset`; `own` is where its stage's scratch
    /// memory begins behind what stages reserve.
    fn shift(&self, step: &mut Step, offset: u64, own: u64) {
        let shift = |slice: &mut Slice| match slice.buffer {
            Buffer::Scratch if slice.offset >= self.bytes => slice.offset += own,
            Buffer::Nothing => {}
            _ => slice.offset += offset,
        };
        match step {
            Step::Send { from: slice, .. } | Step::Receive { into: slice, .. } => shift(slice),
            Step::ReduceLeft { from, into }
            | Step::ReduceRight { from, into }
            | Step::Copy { from, into } => {
                shift(from);
                shift(into);
            }
        }
    }
}
