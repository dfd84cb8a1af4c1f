//! Effects of accesses on bytes: an operation of the standard's table, or compare and swap.

use crate::place::TargetMemory;
use objects::datatype::{Element, Kind};
use objects::op::{Kernel, Predefined, kernel};
use rank::{Addr, memory};
use smallvec::SmallVec;

/// Bytes of a payload: those of one element are kept without an allocation.
// Most atomics are of one element, and such a payload is as large as its address and length would be.
pub(crate) type Bytes = SmallVec<[u8; INLINE_BYTES]>;

/// Payload bytes that have a place of their own in an access.
pub(crate) const INLINE_BYTES: usize = 16;

/// A predefined operation on elements of a kind.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Combine {
    pub(crate) op: Predefined,
    pub(crate) element: Element,
}

impl Combine {
    fn kernel(self) -> Kernel {
        kernel(self.op, self.element).expect("it was looked for when the call was made")
    }

    /// Returns three bytes, for other processes.
    // Numbers of our own enumerations: both ends are the same program.
    pub(crate) fn code(self) -> [u8; 3] {
        match self.element {
            Element::One(kind) => [self.op as u8, kind as u8, u8::MAX],
            Element::Pair(value, index) => [self.op as u8, value as u8, index as u8],
        }
    }

    /// Returns what [`Combine::code`] made.
    pub(crate) fn of([op, value, index]: [u8; 3]) -> Combine {
        let op = Predefined::ALL
            .iter()
            .copied()
            .find(|known| *known as u8 == op)
            .expect("the operation of another process");
        let value = Kind::ALL[usize::from(value)];
        let element = if index == u8::MAX {
            Element::One(value)
        } else {
            Element::Pair(value, Kind::ALL[usize::from(index)])
        };
        Combine { op, element }
    }

    /// Combines `data` into the memory at `place`; what was there before.
    pub(crate) fn fetch(self, place: &TargetMemory, base: usize, data: &[u8]) -> Bytes {
        let before = fetch(place, base);
        match self.op {
            Predefined::NoOp => {}
            Predefined::Replace => place.write(base, data),
            _ => {
                let mut after = before.clone();
                self.kernel()(data, &mut after);
                place.write(base, &after);
            }
        }
        before
    }

    /// Combines `data` into the memory at `base` and `offset`, through `piece`, which has room for it.
    fn combine(self, base: usize, offset: i64, data: &[u8], piece: &mut [u8]) {
        let (at, piece) = (Addr(base).offset(offset), &mut piece[..data.len()]);
        memory::read(at, piece);
        self.kernel()(data, piece);
        memory::write(at, piece);
    }

    /// Returns what so many bytes are when `data` is combined into them.
    pub(crate) fn short(self, data: [u64; 2], before: [u64; 2], bytes: usize) -> [u64; 2] {
        match self.op {
            Predefined::NoOp => before,
            Predefined::Replace => data,
            _ => {
                let mut after = spread(before);
                self.kernel()(&spread(data)[..bytes], &mut after[..bytes]);
                gathered(after)
            }
        }
    }

    /// Combines `data` into the memory at `place`.
    // Nothing is answered, so that what was there need not be kept: a large accumulate goes through a page at
    // a time.
    pub(crate) fn apply(self, place: &TargetMemory, base: usize, data: &[u8]) {
        match self.op {
            Predefined::NoOp => {}
            Predefined::Replace => place.write(base, data),
            // An element may be cut by the edge of two blocks: all are put side by side first.
            _ if place.blocks.is_some() => {
                let mut after = fetch(place, base);
                self.kernel()(data, &mut after);
                place.write(base, &after);
            }
            // Piece by piece, so that what was read is still in the cache when it is written.
            _ => {
                if data.len() <= MAX_STACK_BYTES {
                    return self.combine(base, place.at, data, &mut [0; MAX_STACK_BYTES]);
                }
                let whole = PIECE - PIECE % self.element.size() as usize;
                let mut piece = [0; PIECE];
                for (index, data) in data.chunks(whole).enumerate() {
                    self.combine(base, place.at + (index * whole) as i64, data, &mut piece);
                }
            }
        }
    }
}

/// Bytes for which no page is cleared first.
const MAX_STACK_BYTES: usize = 64;
/// Bytes that are combined at a time.
// An eighth of the nearest cache: memory, operand and the piece stay in it together.
const PIECE: usize = 4096;

/// Returns what is in the program's memory from there on, [`INLINE_BYTES`] bytes at most.
#[inline]
pub(crate) fn few(from: Addr, bytes: usize) -> Bytes {
    Bytes::from_buf_and_len(spread(memory::load_short(from, bytes)), bytes)
}

/// Returns the bytes of what [`memory::load_short`] read.
#[inline]
fn spread(words: [u64; 2]) -> [u8; INLINE_BYTES] {
    let mut bytes = [0; INLINE_BYTES];
    for (bytes, word) in bytes.chunks_exact_mut(8).zip(words) {
        bytes.copy_from_slice(&word.to_le_bytes());
    }
    bytes
}

/// Returns what [`spread`] made bytes of.
#[inline]
fn gathered(bytes: [u8; INLINE_BYTES]) -> [u64; 2] {
    let word = |at: usize| u64::from_le_bytes(std::array::from_fn(|byte| bytes[at + byte]));
    [word(0), word(8)]
}

/// Returns what is in the memory at `place`.
pub(crate) fn fetch(place: &TargetMemory, base: usize) -> Bytes {
    if place.blocks.is_none() && place.bytes <= INLINE_BYTES as u64 {
        return few(Addr(base).offset(place.at), place.bytes as usize);
    }
    let mut bytes = Bytes::from_elem(0, place.bytes as usize);
    place.read(base, &mut bytes);
    bytes
}

/// Writes the second half of `data` if the memory at `place` is equal to the first; what was there before.
pub(crate) fn compare_and_swap(place: &TargetMemory, base: usize, data: &[u8]) -> Bytes {
    let before = fetch(place, base);
    let (compare, new) = data.split_at(data.len() / 2);
    if before[..] == *compare {
        place.write(base, new);
    }
    before
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(memory: &mut i64) -> (TargetMemory, usize) {
        (TargetMemory { at: 0, bytes: 8, blocks: None }, std::ptr::from_mut(memory) as usize)
    }

    #[test]
    fn an_operation_answers_what_was_there_before() {
        let mut memory = 5i64;
        let (place, base) = at(&mut memory);
        let sum = Combine { op: Predefined::Sum, element: Element::One(Kind::I64) };
        assert_eq!(sum.fetch(&place, base, &7i64.to_ne_bytes())[..], 5i64.to_ne_bytes());
        let look = Combine { op: Predefined::NoOp, ..sum };
        assert_eq!(look.fetch(&place, base, &[])[..], 12i64.to_ne_bytes());
        let set = Combine { op: Predefined::Replace, ..sum };
        set.apply(&place, base, &3i64.to_ne_bytes());
        let swap = |one: i64, other: i64| {
            compare_and_swap(&place, base, &[one.to_ne_bytes(), other.to_ne_bytes()].concat())
        };
        assert_eq!(swap(4, 9)[..], 3i64.to_ne_bytes());
        assert_eq!(swap(3, 9)[..], 3i64.to_ne_bytes());
        assert_eq!(memory, 9);
    }

    #[test]
    fn long_memory_is_combined_as_short_one() {
        let max = Combine { op: Predefined::Max, element: Element::Pair(Kind::F64, Kind::I32) };
        let max = Combine { op: Predefined::Maxloc, ..max };
        let pairs = |value: f64| {
            (0..1000i32).flat_map(move |index| {
                [&(value * f64::from(index % 3)).to_ne_bytes()[..], &index.to_ne_bytes()].concat()
            })
        };
        let (mut memory, data): (Vec<u8>, Vec<u8>) = (pairs(1.0).collect(), pairs(-1.0).collect());
        let (place, base) =
            (TargetMemory { at: 0, bytes: memory.len() as u64, blocks: None }, memory.as_mut_ptr() as usize);
        let mut expected = memory.clone();
        max.kernel()(&data, &mut expected);
        max.apply(&place, base, &data);
        assert_eq!(memory, expected);
    }

    #[test]
    fn an_operation_survives_its_way_to_another_process() {
        for element in Kind::ALL.into_iter().map(Element::One).chain([Element::Pair(Kind::F64, Kind::I32)]) {
            let combine = Combine { op: Predefined::Maxloc, element };
            assert_eq!(Combine::of(combine.code()), combine);
        }
    }
}
