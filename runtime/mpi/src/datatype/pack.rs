//! Packing and unpacking: the layout's blocks copied to and from contiguous bytes.

use super::Datatype;
use super::constructor::Constructor;
use super::kind::Element;
use super::layout::Sink;
use rank::Addr;
use rank::memory;
use std::ops::Range;

impl Datatype {
    /// Appends the packed bytes of `count` instances at `from`; `count * size` must fit memory.
    pub fn pack(&self, from: Addr, count: u64, out: &mut Vec<u8>) {
        let bytes = (self.size * count) as usize;
        if self.contiguous {
            return memory::append(from, bytes, out);
        }
        let start = out.len();
        out.resize(start + bytes, 0);
        self.layout.walk_many(count, self.extent(), &mut Pack { from, out: &mut out[start..] });
    }

    /// Fills `out` with the packed bytes from `position` on, of as many instances at `from` as
    /// that takes.
    pub fn pack_at(&self, from: Addr, position: u64, out: &mut [u8]) {
        if self.contiguous {
            return memory::read(from.offset(position as i64), out);
        }
        let range = position..position + out.len() as u64;
        self.layout.walk_many_range(self.extent(), range, &mut Pack { from, out });
    }

    /// Spreads `bytes`, the beginning of at most `count` packed instances, over the instances
    /// at `to`; returns how many bytes were used: all, or `count * size`.
    pub fn unpack(&self, to: Addr, count: u64, bytes: &[u8]) -> u64 {
        let used = self.size.saturating_mul(count).min(bytes.len() as u64);
        self.unpack_at(to, 0, &bytes[..used as usize]);
        used
    }

    /// Spreads `bytes`, which begin at packed `position`, over the instances at `to`.
    pub fn unpack_at(&self, to: Addr, position: u64, bytes: &[u8]) {
        if self.contiguous {
            return memory::write(to.offset(position as i64), bytes);
        }
        let range = position..position + bytes.len() as u64;
        let mut sink = Unpack { to, bytes };
        if position == 0 && (bytes.len() as u64).is_multiple_of(self.size) {
            return self.layout.walk_many(range.end / self.size, self.extent(), &mut sink);
        }
        self.layout.walk_many_range(self.extent(), range, &mut sink);
    }

    /// Calls `f(address, bytes)` for each contiguous block of `count` instances at `base`, in
    /// type-map order; neighbours are merged where the layout shows them.
    pub fn for_each_block(&self, base: Addr, count: u64, f: impl FnMut(Addr, u64)) {
        let mut f = f;
        if self.contiguous {
            if self.size != 0 && count != 0 {
                f(base, self.size * count);
            }
            return;
        }
        self.layout.walk_many(count, self.extent(), &mut Each { base, f });
    }

    /// Copies `count` instances from one place to another of the same layout, gaps left alone.
    pub fn copy(&self, to: Addr, from: Addr, count: u64) {
        let by = (to.0 as i64).wrapping_sub(from.0 as i64);
        self.for_each_block(from, count, |block, len| memory::copy(block.offset(by), block, len as usize));
    }

    /// How many instances `bytes` packed bytes are (`MPI_Get_count`); none for a fraction.
    pub fn count_of(&self, bytes: u64) -> Option<u64> {
        match (self.size, bytes) {
            (0, 0) => Some(0),
            (0, _) => None,
            (size, bytes) => bytes.is_multiple_of(size).then(|| bytes / size),
        }
    }

    /// How many basic elements `bytes` packed bytes are (`MPI_Get_elements`); none where they
    /// end within an element.
    pub fn elements(&self, bytes: u64) -> Option<u64> {
        match (self.size, bytes) {
            (0, 0) => Some(0),
            (0, _) => None,
            (size, bytes) => Some((bytes / size).saturating_mul(self.element_count) + self.elements_within(bytes % size)?),
        }
    }

    /// As [`elements`](Self::elements) for the beginning of one instance.
    fn elements_within(&self, bytes: u64) -> Option<u64> {
        if bytes == 0 {
            return Some(0);
        }
        match &self.constructor {
            Constructor::Struct { blocklengths, types, .. } => {
                let (mut rest, mut elements) = (bytes, 0);
                for (&length, old) in blocklengths.iter().zip(types) {
                    let field = old.size * length as u64;
                    if rest < field {
                        return Some(elements + old.elements(rest)?);
                    }
                    rest -= field;
                    elements += old.element_count * length as u64;
                }
                Some(elements)
            }
            constructor => match (constructor.datatypes().first(), self.element) {
                (Some(old), _) => old.elements(bytes),
                (None, Some(Element::Pair(value, _))) if bytes == value.size() => Some(1),
                (None, _) => (bytes == self.size).then_some(self.element_count),
            },
        }
    }

    /// The packed bytes of the first `elements` basic elements (`MPI_Status_set_elements`);
    /// none beyond 64 bits.
    pub fn bytes_of_elements(&self, elements: u64) -> Option<u64> {
        if self.element_count == 0 {
            return (elements == 0).then_some(0);
        }
        let (whole, mut rest) = (elements / self.element_count, elements % self.element_count);
        let mut bytes = self.size.checked_mul(whole)?;
        if rest != 0 {
            match &self.constructor {
                Constructor::Struct { blocklengths, types, .. } => {
                    for (&length, old) in blocklengths.iter().zip(types) {
                        let field = rest.min(old.element_count * length as u64);
                        bytes = bytes.checked_add(old.bytes_of_elements(field)?)?;
                        rest -= field;
                    }
                }
                constructor => {
                    let part = match (constructor.datatypes().first(), self.element) {
                        (Some(old), _) => old.bytes_of_elements(rest)?,
                        (None, Some(Element::Pair(value, _))) => value.size(),
                        (None, _) => self.size,
                    };
                    bytes = bytes.checked_add(part)?;
                }
            }
        }
        Some(bytes)
    }

    /// Which packed range holds the instances `range`.
    pub fn packed_range(&self, range: Range<u64>) -> Range<u64> {
        range.start * self.size..range.end * self.size
    }
}

struct Pack<'a> {
    from: Addr,
    out: &'a mut [u8],
}

impl<'a> Pack<'a> {
    fn take(&mut self, len: u64) -> &'a mut [u8] {
        let (head, rest) = std::mem::take(&mut self.out).split_at_mut(len as usize);
        self.out = rest;
        head
    }
}

impl Sink for Pack<'_> {
    #[inline]
    fn block(&mut self, at: i64, len: u64) {
        let from = self.from.offset(at);
        memory::read(from, self.take(len));
    }

    fn strided(&mut self, at: i64, len: u64, stride: i64, count: u64) {
        let from = self.from.offset(at);
        let sources = (0..).map(|index: i64| from.offset(index.wrapping_mul(stride)));
        gather(sources, len as usize, self.take(len * count));
    }

    fn equal(&mut self, origin: i64, len: u64, offsets: &[i64]) {
        let from = self.from.offset(origin);
        let sources = offsets.iter().map(|&offset| from.offset(offset));
        gather(sources, len as usize, self.take(len * offsets.len() as u64));
    }
}

/// Copies a block of `len` bytes from each source; small powers of two by one move each.
#[inline]
fn gather(sources: impl Iterator<Item = Addr>, len: usize, out: &mut [u8]) {
    macro_rules! moves {
        ($type:ty) => {
            for (chunk, source) in out.chunks_exact_mut(size_of::<$type>()).zip(sources) {
                chunk.copy_from_slice(&memory::load::<$type>(source).to_ne_bytes());
            }
        };
    }
    match len {
        0 => {}
        1 => moves!(u8),
        2 => moves!(u16),
        4 => moves!(u32),
        8 => moves!(u64),
        16 => {
            for (chunk, source) in out.chunks_exact_mut(16).zip(sources) {
                chunk[..8].copy_from_slice(&memory::load::<u64>(source).to_ne_bytes());
                chunk[8..].copy_from_slice(&memory::load::<u64>(source.offset(8)).to_ne_bytes());
            }
        }
        _ => {
            for (chunk, source) in out.chunks_exact_mut(len).zip(sources) {
                memory::read(source, chunk);
            }
        }
    }
}

struct Unpack<'a> {
    to: Addr,
    bytes: &'a [u8],
}

impl<'a> Unpack<'a> {
    fn take(&mut self, len: u64) -> &'a [u8] {
        let (head, rest) = self.bytes.split_at(len as usize);
        self.bytes = rest;
        head
    }
}

impl Sink for Unpack<'_> {
    #[inline]
    fn block(&mut self, at: i64, len: u64) {
        let bytes = self.take(len);
        memory::write(self.to.offset(at), bytes);
    }

    fn strided(&mut self, at: i64, len: u64, stride: i64, count: u64) {
        let to = self.to.offset(at);
        let targets = (0..).map(|index: i64| to.offset(index.wrapping_mul(stride)));
        scatter(self.take(len * count), len as usize, targets);
    }

    fn equal(&mut self, origin: i64, len: u64, offsets: &[i64]) {
        let to = self.to.offset(origin);
        let targets = offsets.iter().map(|&offset| to.offset(offset));
        scatter(self.take(len * offsets.len() as u64), len as usize, targets);
    }
}

/// The reverse of [`gather`].
#[inline]
fn scatter(bytes: &[u8], len: usize, targets: impl Iterator<Item = Addr>) {
    macro_rules! moves {
        ($type:ty) => {
            for (chunk, target) in bytes.chunks_exact(size_of::<$type>()).zip(targets) {
                memory::store(target, <$type>::from_ne_bytes(chunk.try_into().expect("exact chunk")));
            }
        };
    }
    match len {
        0 => {}
        1 => moves!(u8),
        2 => moves!(u16),
        4 => moves!(u32),
        8 => moves!(u64),
        _ => {
            for (chunk, target) in bytes.chunks_exact(len).zip(targets) {
                memory::write(target, chunk);
            }
        }
    }
}

struct Each<F> {
    base: Addr,
    f: F,
}
impl<F: FnMut(Addr, u64)> Sink for Each<F> {
    fn block(&mut self, at: i64, len: u64) {
        (self.f)(self.base.offset(at), len);
    }
}
