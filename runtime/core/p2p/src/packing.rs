//! Packing and unpacking: the blocks of a datatype copied between the program's memory and contiguous bytes.
//!
//! `objects` says where the blocks are and knows no memory; this is the one place where a layout meets
//! addresses.

use objects::datatype::Datatype;
use objects::datatype::layout::Sink;
use rank::Addr;
use rank::memory;

/// Operations on instances of a datatype in the program's memory.
// A trait, since the layout belongs to a crate that may not touch memory.
pub trait Packing {
    /// Appends the packed bytes of `count` instances at `from`; `count * size` must fit memory.
    fn pack(&self, from: Addr, count: u64, out: &mut Vec<u8>);

    /// Fills `out` with the packed bytes from `position` on, of as many instances at `from` as
    /// that takes.
    fn pack_at(&self, from: Addr, position: u64, out: &mut [u8]);

    /// Spreads `bytes`, the beginning of at most `count` packed instances, over the instances
    /// at `to`; returns how many bytes were used: all, or `count * size`.
    fn unpack(&self, to: Addr, count: u64, bytes: &[u8]) -> u64;

    /// Spreads `bytes`, which begin at packed `position`, over the instances at `to`.
    fn unpack_at(&self, to: Addr, position: u64, bytes: &[u8]);

    /// Calls `f(address, bytes)` for each contiguous block of `count` instances at `base`, in
    /// type-map order; neighbours are merged where the layout shows them.
    fn for_each_block(&self, base: Addr, count: u64, f: impl FnMut(Addr, u64));

    /// Copies `count` instances from one place to another of the same layout, gaps left alone.
    fn copy(&self, to: Addr, from: Addr, count: u64);
}

impl Packing for Datatype {
    fn pack(&self, from: Addr, count: u64, out: &mut Vec<u8>) {
        let bytes = (self.size * count) as usize;
        if self.contiguous {
            return memory::append(from, bytes, out);
        }
        let start = out.len();
        out.resize(start + bytes, 0);
        self.walk(count, &mut Pack { from, out: &mut out[start..] });
    }

    fn pack_at(&self, from: Addr, position: u64, out: &mut [u8]) {
        if self.contiguous {
            return memory::read(from.offset(position as i64), out);
        }
        let range = position..position + out.len() as u64;
        self.walk_range(range, &mut Pack { from, out });
    }

    fn unpack(&self, to: Addr, count: u64, bytes: &[u8]) -> u64 {
        let used = self.size.saturating_mul(count).min(bytes.len() as u64);
        self.unpack_at(to, 0, &bytes[..used as usize]);
        used
    }

    fn unpack_at(&self, to: Addr, position: u64, bytes: &[u8]) {
        if self.contiguous {
            return memory::write(to.offset(position as i64), bytes);
        }
        let range = position..position + bytes.len() as u64;
        let mut sink = Unpack { to, bytes };
        // Whole instances from the first one on: the walk needs no bounds.
        if position == 0 && (bytes.len() as u64).is_multiple_of(self.size) {
            return self.walk(range.end / self.size, &mut sink);
        }
        self.walk_range(range, &mut sink);
    }

    fn for_each_block(&self, base: Addr, count: u64, f: impl FnMut(Addr, u64)) {
        let mut f = f;
        if self.contiguous {
            if self.size != 0 && count != 0 {
                f(base, self.size * count);
            }
            return;
        }
        self.walk(count, &mut Each { base, f });
    }

    fn copy(&self, to: Addr, from: Addr, count: u64) {
        let by = (to.0 as i64).wrapping_sub(from.0 as i64);
        self.for_each_block(from, count, |block, len| memory::copy(block.offset(by), block, len as usize));
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
// One loop a size: a copy whose length the compiler does not know is a call, and a column of doubles makes
// one for each 8 bytes.
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

#[cfg(test)]
mod tests {
    use super::*;
    use objects::datatype::predefined::CHAR;
    use objects::datatype::{Constructor, Old, Types};
    use proptest::prelude::*;
    use std::rc::Rc;

    /// The displacement of every byte of data, in packed order, by the blocks alone: without the loops for
    /// regular shapes.
    struct Places(Vec<i64>);

    impl Sink for Places {
        fn block(&mut self, at: i64, len: u64) {
            self.0.extend(at..at + len as i64);
        }
    }

    /// Blocks of `length` bytes at multiples of `stride`, or at the places given.
    fn datatype(length: i64, stride: i64, places: &[i64], regular: bool) -> Rc<Datatype> {
        let old: Old = Types::new().get(CHAR).unwrap().into();
        let constructor = match regular {
            true => Constructor::Hvector {
                count: places.len() as i64,
                blocklength: length,
                stride,
                old,
                large: false,
            },
            false => Constructor::HindexedBlock {
                blocklength: length,
                displacements: places.into(),
                old,
                large: false,
            },
        };
        Datatype::new(constructor).unwrap()
    }

    proptest! {
        #[test]
        fn bytes_go_to_and_from_the_places_of_the_blocks(
            length in prop_oneof![Just(0i64), Just(1), Just(2), Just(4), Just(8), Just(16), 3i64..40],
            gap in 0i64..9,
            picks in prop::collection::vec(0i64..9, 0..7),
            regular in any::<bool>(),
            count in 0u64..4,
            cut in any::<(u16, u16)>(),
        ) {
            // Ascending without overlap, so that what was unpacked is still there.
            let places: Vec<i64> =
                picks.iter().enumerate().map(|(index, pick)| index as i64 * (length + 9) + pick).collect();
            let datatype = datatype(length, length + gap, &places, regular);
            let mut walked = Places(Vec::new());
            datatype.walk(count, &mut walked);
            let bytes: Vec<u8> = (0..walked.0.len()).map(|at| (at % 255 + 1) as u8).collect();
            let mut want = vec![0; 2048];
            for (&place, &byte) in walked.0.iter().zip(&bytes) {
                want[place as usize] = byte;
            }

            let mut memory = vec![0; 2048];
            prop_assert_eq!(
                datatype.unpack(Addr(memory.as_mut_ptr() as usize), count, &bytes),
                bytes.len() as u64
            );
            prop_assert_eq!(&memory, &want);
            let from = Addr(want.as_ptr() as usize);
            let mut packed = vec![9];
            datatype.pack(from, count, &mut packed);
            prop_assert_eq!(&packed[1..], &bytes[..]);
            let (a, b) = (usize::from(cut.0) % (bytes.len() + 1), usize::from(cut.1) % (bytes.len() + 1));
            let range = a.min(b)..a.max(b);
            let mut part = vec![0; range.len()];
            datatype.pack_at(from, range.start as u64, &mut part);
            prop_assert_eq!(&part[..], &bytes[range.clone()]);
            let mut again = vec![0; 2048];
            let to = Addr(again.as_mut_ptr() as usize);
            datatype.unpack_at(to, range.start as u64, &part);
            datatype.unpack_at(to, 0, &bytes[..range.start]);
            datatype.unpack_at(to, range.end as u64, &bytes[range.end..]);
            prop_assert_eq!(&again, &want);
            let mut copied = vec![0; 2048];
            datatype.copy(Addr(copied.as_mut_ptr() as usize), from, count);
            prop_assert_eq!(copied, want);
        }
    }
}
