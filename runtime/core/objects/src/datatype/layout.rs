//! Type maps compiled to loops over contiguous blocks.
//!
//! A layout lists the blocks of one instance in type-map order. Construction merges blocks
//! that touch and turns regular lists into strides, so that a matrix column is one
//! `BlockPattern::Strided` and packing it is a tight loop (the idea of dataloops: R. Ross,
//! N. Miller, W. Gropp, "Implementing Fast and Reusable Datatype Processing",
//! EuroPVM/MPI 2003). Offsets are modulo 2^64: only the sums that reach data need to fit.

use std::ops::Range;
use std::rc::Rc;

/// The blocks of one instance.
#[derive(Clone, Debug)]
pub struct Layout {
    /// Bytes from the instance's address to the origin of `shape`.
    offset: i64,
    /// Bytes of data.
    pub(super) size: u64,
    shape: BlockPattern,
}

// Each shape exists because packing it is a loop of its own. Others would compile to these.
#[derive(Clone, Debug)]
enum BlockPattern {
    /// `size` bytes.
    Block,
    /// `count` blocks of `len` bytes, `stride` apart.
    Strided { len: u64, stride: i64, count: u64 },
    /// Blocks of `len` bytes at the offsets.
    Equal { len: u64, offsets: Rc<[i64]> },
    /// Blocks (offset, length), with the sum of lengths up to and including each.
    // For positions within packed bytes: found by bisection, O(log blocks), where a message is packed piece
    // by piece.
    Blocks { blocks: Rc<[(i64, u64)]>, ends: Rc<[u64]> },
    /// `count` times the body, `stride` apart.
    Loop { count: u64, stride: i64, body: Rc<Layout> },
    /// One after the other, with the sum of sizes up to and including each.
    Sequence { parts: Rc<[Layout]>, ends: Rc<[u64]> },
}

/// Operation on the blocks of a layout; the regular shapes have loops of their own.
pub trait Sink {
    /// Takes the `len` bytes at displacement `at`; never none.
    fn block(&mut self, at: i64, len: u64);

    /// Takes `count` blocks of `len` bytes, `stride` bytes apart, the first at displacement `at`.
    fn strided(&mut self, at: i64, len: u64, stride: i64, count: u64) {
        let mut at = at;
        for _ in 0..count {
            self.block(at, len);
            at = at.wrapping_add(stride);
        }
    }

    /// Blocks of `len` bytes at the offsets from displacement `origin`.
    fn equal(&mut self, origin: i64, len: u64, offsets: &[i64]) {
        for &offset in offsets {
            self.block(origin.wrapping_add(offset), len);
        }
    }
}

impl Layout {
    /// No data.
    pub(super) const EMPTY: Layout = Layout { offset: 0, size: 0, shape: BlockPattern::Block };

    /// Returns one block.
    pub(super) fn block(offset: i64, len: u64) -> Layout {
        if len == 0 { Layout::EMPTY } else { Layout { offset, size: len, shape: BlockPattern::Block } }
    }

    /// This layout moved by `by` bytes.
    // The offset stands outside of the shape, so that moving shares it: n equal blocks of one struct are one
    // body.
    pub(super) fn shift(mut self, by: i64) -> Layout {
        self.offset = self.offset.wrapping_add(by);
        self
    }

    /// Returns the layout of `count` copies, `stride` bytes apart; the caller has checked that the size fits.
    pub(super) fn repeat(&self, count: u64, stride: i64) -> Layout {
        if count == 0 || self.size == 0 {
            return Layout::EMPTY;
        }
        if count == 1 {
            return self.clone();
        }
        let size = self.size * count;
        let shape = match self.shape {
            // Merged here, once, so that no packing has to look for it.
            BlockPattern::Block if stride == self.size as i64 => BlockPattern::Block,
            BlockPattern::Block => BlockPattern::Strided { len: self.size, stride, count },
            BlockPattern::Strided { len, stride: inner, count: inner_count }
                if stride == inner.wrapping_mul(inner_count as i64) =>
            {
                BlockPattern::Strided { len, stride: inner, count: inner_count * count }
            }
            _ => BlockPattern::Loop { count, stride, body: Rc::new(Layout { offset: 0, ..self.clone() }) },
        };
        Layout { offset: self.offset, size, shape }
    }

    /// The parts one after the other.
    // O(parts). Merging only neighbours keeps the order of the type map, which packed bytes must have (MPI
    // 5.0 section 5.2).
    pub(super) fn sequence(parts: Vec<Layout>) -> Layout {
        let mut merged: Vec<Layout> = Vec::with_capacity(parts.len());
        for part in parts {
            if part.size == 0 {
                continue;
            }
            if let (BlockPattern::Block, Some(last)) = (&part.shape, merged.last_mut())
                && matches!(last.shape, BlockPattern::Block)
                && last.offset.wrapping_add(last.size as i64) == part.offset
            {
                last.size += part.size;
                continue;
            }
            merged.push(part);
        }
        match merged.len() {
            0 => Layout::EMPTY,
            1 => merged.swap_remove(0),
            _ if merged.iter().all(|part| matches!(part.shape, BlockPattern::Block)) => {
                Layout::blocks(&merged)
            }
            _ => {
                let ends = ends(merged.iter().map(|part| part.size));
                let size = *ends.last().expect("not empty");
                Layout { offset: 0, size, shape: BlockPattern::Sequence { parts: merged.into(), ends } }
            }
        }
    }

    fn blocks(blocks: &[Layout]) -> Layout {
        let (origin, len) = (blocks[0].offset, blocks[0].size);
        let size = blocks.iter().map(|block| block.size).sum();
        let relative = |block: &Layout| block.offset.wrapping_sub(origin);
        let shape = if blocks.iter().any(|block| block.size != len) {
            BlockPattern::Blocks {
                blocks: blocks.iter().map(|block| (relative(block), block.size)).collect(),
                ends: ends(blocks.iter().map(|block| block.size)),
            }
        } else {
            let stride = relative(&blocks[1]);
            if blocks.windows(2).all(|pair| pair[1].offset.wrapping_sub(pair[0].offset) == stride) {
                BlockPattern::Strided { len, stride, count: blocks.len() as u64 }
            } else {
                BlockPattern::Equal { len, offsets: blocks.iter().map(relative).collect() }
            }
        };
        Layout { offset: origin, size, shape }
    }

    /// Returns the one block that this is, if so.
    pub(super) fn as_block(&self) -> Option<(i64, u64)> {
        matches!(self.shape, BlockPattern::Block).then_some((self.offset, self.size))
    }

    /// Gives every block of `count` instances, `extent` apart, to `sink`, in order.
    // Instances that continue each other's stride become one loop: a buffer of a million strided elements is
    // one call of the sink.
    pub(super) fn walk_many(&self, count: u64, extent: i64, sink: &mut impl Sink) {
        match self.shape {
            // A sink never sees a block of no bytes: it could lie anywhere, outside the program's buffer too.
            _ if self.size == 0 => {}
            BlockPattern::Block => sink.strided(self.offset, self.size, extent, count),
            BlockPattern::Strided { len, stride, count: inner }
                if extent == stride.wrapping_mul(inner as i64) =>
            {
                sink.strided(self.offset, len, stride, inner * count);
            }
            _ => {
                let mut at = 0i64;
                for _ in 0..count {
                    self.walk(at, sink);
                    at = at.wrapping_add(extent);
                }
            }
        }
    }

    /// Gives every block of one instance at `at` to `sink`, in order.
    fn walk(&self, at: i64, sink: &mut impl Sink) {
        let origin = at.wrapping_add(self.offset);
        match &self.shape {
            BlockPattern::Block => {
                if self.size != 0 {
                    sink.block(origin, self.size);
                }
            }
            BlockPattern::Strided { len, stride, count } => sink.strided(origin, *len, *stride, *count),
            BlockPattern::Equal { len, offsets } => sink.equal(origin, *len, offsets),
            BlockPattern::Blocks { blocks, .. } => {
                for &(offset, len) in &**blocks {
                    sink.block(origin.wrapping_add(offset), len);
                }
            }
            BlockPattern::Loop { count, stride, body } => {
                let mut at = origin;
                for _ in 0..*count {
                    body.walk(at, sink);
                    at = at.wrapping_add(*stride);
                }
            }
            BlockPattern::Sequence { parts, .. } => {
                for part in &**parts {
                    part.walk(origin, sink);
                }
            }
        }
    }

    /// Gives the blocks that hold the packed bytes `range` of many instances, `extent` apart.
    pub(super) fn walk_many_range(&self, extent: i64, range: Range<u64>, sink: &mut impl Sink) {
        if range.is_empty() {
            return;
        }
        let mut instances = LayoutPieces::new(self.size, range);
        let mut at = |index: u64, part: Option<Range<u64>>, until: u64| {
            let origin = extent.wrapping_mul(index as i64);
            match part {
                Some(part) => self.walk_range(origin, part, sink),
                None => {
                    let mut moved = Moved { sink: &mut *sink, by: origin };
                    self.walk_many(until - index, extent, &mut moved);
                }
            }
        };
        instances.each(&mut at);
    }

    /// Visits as [`walk`](Self::walk) does the packed bytes `range` (not empty, within the size) alone.
    fn walk_range(&self, at: i64, range: Range<u64>, sink: &mut impl Sink) {
        if range == (0..self.size) {
            return self.walk(at, sink);
        }
        let origin = at.wrapping_add(self.offset);
        match &self.shape {
            BlockPattern::Block => {
                sink.block(origin.wrapping_add(range.start as i64), range.end - range.start)
            }
            BlockPattern::Strided { len, stride, .. } => {
                LayoutPieces::new(*len, range).each(&mut |index, part, until| {
                    let at = origin.wrapping_add(stride.wrapping_mul(index as i64));
                    match part {
                        Some(part) => sink.block(at.wrapping_add(part.start as i64), part.end - part.start),
                        None => sink.strided(at, *len, *stride, until - index),
                    }
                })
            }
            BlockPattern::Equal { len, offsets } => {
                LayoutPieces::new(*len, range).each(&mut |index, part, until| match part {
                    Some(part) => {
                        let at = origin.wrapping_add(offsets[index as usize]).wrapping_add(part.start as i64);
                        sink.block(at, part.end - part.start);
                    }
                    None => sink.equal(origin, *len, &offsets[index as usize..until as usize]),
                })
            }
            BlockPattern::Loop { stride, body, .. } => {
                LayoutPieces::new(body.size, range).each(&mut |index, part, until| {
                    let mut at = origin.wrapping_add(stride.wrapping_mul(index as i64));
                    match part {
                        Some(part) => body.walk_range(at, part, sink),
                        None => {
                            for _ in index..until {
                                body.walk(at, sink);
                                at = at.wrapping_add(*stride);
                            }
                        }
                    }
                })
            }
            BlockPattern::Blocks { blocks, ends } => irregular(ends, range, |index, part| {
                let at = origin.wrapping_add(blocks[index].0).wrapping_add(part.start as i64);
                sink.block(at, part.end - part.start);
            }),
            BlockPattern::Sequence { parts, ends } => {
                irregular(ends, range, |index, part| parts[index].walk_range(origin, part, sink))
            }
        }
    }
}

fn ends(sizes: impl Iterator<Item = u64>) -> Rc<[u64]> {
    sizes
        .scan(0, |sum, size| {
            *sum += size;
            Some(*sum)
        })
        .collect()
}

/// Adds a displacement to every block.
struct Moved<'a, S> {
    sink: &'a mut S,
    by: i64,
}
impl<S: Sink> Sink for Moved<'_, S> {
    fn block(&mut self, at: i64, len: u64) {
        self.sink.block(at.wrapping_add(self.by), len);
    }
    fn strided(&mut self, at: i64, len: u64, stride: i64, count: u64) {
        self.sink.strided(at.wrapping_add(self.by), len, stride, count);
    }
    fn equal(&mut self, origin: i64, len: u64, offsets: &[i64]) {
        self.sink.equal(origin.wrapping_add(self.by), len, offsets);
    }
}

/// A byte range over equal pieces: a cut piece, whole pieces, a cut piece.
// At most two pieces are cut; the whole ones between go by the fast loop.
struct LayoutPieces {
    len: u64,
    range: Range<u64>,
}

impl LayoutPieces {
    fn new(len: u64, range: Range<u64>) -> LayoutPieces {
        LayoutPieces { len, range }
    }

    /// Calls `f(index, Some(part), _)` for a cut piece, `f(first, None, until)` for whole ones.
    fn each(&mut self, f: &mut impl FnMut(u64, Option<Range<u64>>, u64)) {
        let Range { start, end } = self.range.clone();
        let (mut first, last) = (start / self.len, end / self.len);
        let (head, tail) = (start % self.len, end % self.len);
        if head != 0 {
            let until = if first == last { tail } else { self.len };
            f(first, Some(head..until), first + 1);
            first += 1;
        }
        if first < last {
            f(first, None, last);
            first = last;
        }
        if first == last && tail != 0 {
            f(last, Some(0..tail), last + 1);
        }
    }
}

/// Divides a byte range over unequal pieces, given where each ends.
fn irregular(ends: &[u64], range: Range<u64>, mut f: impl FnMut(usize, Range<u64>)) {
    let mut index = ends.partition_point(|&end| end <= range.start);
    let mut begin = if index == 0 { 0 } else { ends[index - 1] };
    while begin < range.end {
        let end = ends[index];
        f(index, range.start.max(begin) - begin..range.end.min(end) - begin);
        begin = end;
        index += 1;
    }
}
