//! The data of a reduction whose members are all here, in the steps of its schedule: a member has its bytes and nothing else.
//!
//! Rounds are aligned (see [`schedule`](super::schedule)), so all members take one after the other; what they send in a round is what they
//! had when it began. The association of the operands is the schedule's, and so are the bits.

use super::batch::{Posts, members};
use super::contributions::buffers;
use super::scattered::blocks;
use super::schedule::{Buffer, Member, Schedule, Shape, Slice, Step};
use engine::Time;
use std::ops::Range;
use std::rc::Rc;

/// A buffer of each member, one behind the other.
struct Flat {
    bytes: Vec<u8>,
    /// Where each member's begins, and the last one's ends; none if all have `each` bytes.
    begins: Vec<u64>,
    each: u64,
}

impl Flat {
    fn new(size: u32, bytes: impl Fn(u32) -> u64) -> Flat {
        let each = bytes(0);
        if (1..size).all(|member| bytes(member) == each) {
            return Flat { bytes: vec![0; (each * u64::from(size)) as usize], begins: Vec::new(), each };
        }
        let mut begins = Vec::with_capacity(size as usize + 1);
        let mut end = 0;
        for member in 0..size {
            begins.push(end);
            end += bytes(member);
        }
        begins.push(end);
        Flat { bytes: vec![0; end as usize], begins, each: 0 }
    }
    /// Where part of a member's buffer lies; `None` if it has less.
    fn range(&self, member: u32, slice: Slice) -> Option<Range<usize>> {
        let member = member as usize;
        let (begin, end) = match self.begins.is_empty() {
            true => (self.each * member as u64, self.each * (member as u64 + 1)),
            false => (self.begins[member], self.begins[member + 1]),
        };
        let from = begin + slice.offset;
        (from + slice.bytes <= end).then(|| from as usize..(from + slice.bytes) as usize)
    }
}

/// `right = left op right` by a member, on packed elements.
pub(super) type Combine<'a> = dyn FnMut(u32, &[u8], &mut Vec<u8>) + 'a;

struct Lockstep<'a> {
    input: &'a [u8],
    stride: usize,
    output: Flat,
    scratch: Flat,
    combine: &'a mut Combine<'a>,
    /// Operands on their way.
    left: Vec<u8>,
    right: Vec<u8>,
}

/// The outputs of all members one behind the other, from their inputs of `stride` bytes, `begins` where blocks begin of which each keeps its own; `None` if the schedule's steps do not fit together.
pub(super) fn reduce_all<'a>(
    shape: &Shape,
    schedule: &dyn Schedule,
    combine: &'a mut Combine<'a>,
    input: &'a [u8],
    stride: usize,
    begins: Option<&Rc<[u64]>>,
) -> Option<Vec<u8>> {
    let buffers = |rank: u32| begins.map_or_else(|| buffers(shape, rank), |begins| blocks(begins, rank));
    let none: Rc<[u32]> = Rc::new([]);
    let (send, receive, _) = buffers(0);
    let mut member = Member { rank: 0, send, receive, sources: none.clone(), destinations: none };
    let scratch_of = |rank: u32, member: &Member| {
        let (send, receive, _) = buffers(rank);
        schedule.scratch(&Member { rank, send, receive, ..member.clone() })
    };
    let mut run = Lockstep {
        input,
        stride,
        output: Flat::new(shape.size, |rank| buffers(rank).2),
        scratch: Flat::new(shape.size, |rank| scratch_of(rank, &member)),
        combine,
        left: Vec::new(),
        right: Vec::new(),
    };
    let (mut posts, mut steps) = (Posts::new(shape.size as usize), Vec::new());
    for round in 0..schedule.rounds() {
        posts.clear();
        for rank in members(schedule.active(round), shape.size) {
            member.rank = rank;
            if begins.is_some() {
                (member.send, member.receive, _) = buffers(rank);
            }
            steps.clear();
            schedule.round(&member, round, &mut steps);
            for step in &steps {
                if let Step::Send { to, from } = *step {
                    posts.push(to, rank, Time::ZERO, from.bytes, Some(run.bytes(rank, from)?));
                }
            }
        }
        for rank in members(schedule.active(round), shape.size) {
            member.rank = rank;
            if begins.is_some() {
                (member.send, member.receive, _) = buffers(rank);
            }
            steps.clear();
            schedule.round(&member, round, &mut steps);
            for step in &steps {
                run.step(rank, step, &mut posts)?;
            }
        }
    }
    Some(run.output.bytes)
}

impl Lockstep<'_> {
    fn bytes(&self, member: u32, slice: Slice) -> Option<&[u8]> {
        match slice.buffer {
            Buffer::Input => {
                let from = member as usize * self.stride + slice.offset as usize;
                (slice.offset + slice.bytes <= self.stride as u64).then(|| &self.input[from..from + slice.bytes as usize])
            }
            Buffer::Output => self.output.range(member, slice).map(|range| &self.output.bytes[range]),
            Buffer::Scratch => self.scratch.range(member, slice).map(|range| &self.scratch.bytes[range]),
            Buffer::Nothing => None,
        }
    }
    fn bytes_mut(&mut self, member: u32, slice: Slice) -> Option<&mut [u8]> {
        let flat = match slice.buffer {
            Buffer::Output => &mut self.output,
            Buffer::Scratch => &mut self.scratch,
            Buffer::Input | Buffer::Nothing => return None,
        };
        flat.range(member, slice).map(|range| &mut flat.bytes[range])
    }

    fn step(&mut self, member: u32, step: &Step, posts: &mut Posts) -> Option<()> {
        match *step {
            Step::Send { .. } => {}
            Step::Receive { from, into } => {
                let payload = posts.payload(member, from)?;
                let target = self.bytes_mut(member, into)?;
                if payload.len() != target.len() {
                    return None;
                }
                target.copy_from_slice(payload);
            }
            Step::Copy { from, into } => {
                let mut left = std::mem::take(&mut self.left);
                left.clear();
                left.extend_from_slice(self.bytes(member, from)?);
                self.bytes_mut(member, into)?.copy_from_slice(&left);
                self.left = left;
            }
            Step::ReduceLeft { from, into } => self.reduce(member, from, into, false)?,
            Step::ReduceRight { from, into } => self.reduce(member, from, into, true)?,
        }
        Some(())
    }

    /// `into = from op into`, or with `is_right` `into = into op from`.
    fn reduce(&mut self, member: u32, from: Slice, into: Slice, is_right: bool) -> Option<()> {
        if into.bytes == 0 {
            return Some(());
        }
        let (mut left, mut right) = (std::mem::take(&mut self.left), std::mem::take(&mut self.right));
        let (first, second) = if is_right { (into, from) } else { (from, into) };
        left.clear();
        left.extend_from_slice(self.bytes(member, first)?);
        right.clear();
        right.extend_from_slice(self.bytes(member, second)?);
        (self.combine)(member, &left, &mut right);
        self.bytes_mut(member, into)?.copy_from_slice(&right);
        (self.left, self.right) = (left, right);
        Some(())
    }
}
