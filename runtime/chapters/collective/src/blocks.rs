//! The program's memory as blocks of its members or neighbours, without a description of each: what a call
//! says of it is enough to find them again when the call ends.

use crate::area::BufferArgument;
use objects::Objects;
use objects::datatype::Datatype;
use objects::error::{ErrorClass, Failure, Result};
use p2p::Messages;
use p2p::packing::Packing;
use p2p::point_to_point::FIRST_MEMORY;
use p2p::view::BufferView;
use rank::{Addr, memory};
use schedule::{Blocks, NOBODY, begins};
use std::rc::Rc;

/// Blocks in the memory of the mounted rank.
// Borrows the program's own arrays: a list of views for a thousand neighbours would be made and dropped twice
// a call, once in each half.
pub(crate) struct BlockList<'a> {
    at: Addr,
    places: BlockDisplacements<'a>,
    /// Number of blocks.
    pub(crate) len: usize,
    /// Packed bytes of all.
    pub(crate) bytes: u64,
}

// Told apart once a call and not once a block: most lists are even, and then all follows from one number.
enum BlockDisplacements<'a> {
    /// So many elements each, side by side.
    Even(i64, Rc<Datatype>),
    /// Counts and displacements in extents.
    Uneven(&'a [i64], &'a [i64], Rc<Datatype>),
    /// Counts, displacements in bytes, types.
    Typed(&'a [i64], &'a [i64], Vec<Rc<Datatype>>),
}

/// Returns the `len` blocks of one side of a collective; `None` where it has no memory of its own.
///
/// # Errors
/// `MPI_ERR_TYPE`; `MPI_ERR_COUNT` for blocks that are too large together; `MPI_ERR_BUFFER` for a block that
/// would begin at no memory.
pub(crate) fn block_list<'a>(
    messages: &Messages,
    objects: &Objects,
    side: &BufferArgument<'a>,
    len: usize,
) -> Result<Option<BlockList<'a>>> {
    let usable = |handle: usize| objects.types.usable(messages.me(), handle).cloned();
    let (at, places) = match *side {
        BufferArgument::Nothing | BufferArgument::InPlace => return Ok(None),
        BufferArgument::One((at, count, datatype)) => {
            (at, BlockDisplacements::Even(count, usable(datatype)?))
        }
        BufferArgument::Each(vector) => (
            vector.at,
            BlockDisplacements::Uneven(vector.counts, vector.displacements, usable(vector.datatype)?),
        ),
        BufferArgument::Typed(typed) => {
            let types = (0..typed.datatypes.len())
                .map(|block| usable(typed.datatype(block)))
                .collect::<Result<_>>()?;
            (typed.at, BlockDisplacements::Typed(typed.counts, typed.displacements, types))
        }
    };
    let mut list = BlockList { at, places, len, bytes: 0 };
    list.bytes = match list.packed_bytes() {
        Some(bytes) => bytes,
        None => return Err(list.too_many_bytes()),
    };
    if at.0 < FIRST_MEMORY || list.reaches_below() {
        // Only where a block may begin below all memory: then each is looked at, O(len), else none.
        list.check_memory()?;
    }
    Ok(Some(list))
}

impl BlockList<'_> {
    /// Returns the packed bytes of all; `None` beyond 2^64.
    fn packed_bytes(&self) -> Option<u64> {
        match &self.places {
            BlockDisplacements::Even(count, datatype) => {
                datatype.size.checked_mul(count.unsigned_abs())?.checked_mul(self.len as u64)
            }
            // One type: the elements are added up, and multiplied once. A sum of 2^31 counts fits.
            BlockDisplacements::Uneven(counts, _, datatype) => {
                let elements: u128 =
                    counts[..self.len].iter().map(|&count| count.unsigned_abs() as u128).sum();
                u64::try_from(elements.checked_mul(datatype.size.into())?).ok()
            }
            BlockDisplacements::Typed(..) => (0..self.len).try_fold(0u64, |sum, index| {
                let (count, datatype) = self.elements(index);
                sum.checked_add(datatype.size.checked_mul(count)?)
            }),
        }
    }
    /// Returns why the blocks are too large: the first that is by itself, or all together.
    #[cold]
    fn too_many_bytes(&self) -> Box<Failure> {
        let blocks = if matches!(self.places, BlockDisplacements::Even(..)) { 1 } else { self.len };
        let alone = (0..blocks).find_map(|index| {
            let (count, datatype) = self.elements(index);
            datatype.bytes(count).err()
        });
        alone.unwrap_or_else(|| {
            let text = format!("the counts of {} blocks are beyond 2^64 bytes together", self.len);
            Failure::new(ErrorClass::COUNT, text)
        })
    }
    /// Returns `true` if a block may begin before the base.
    fn reaches_below(&self) -> bool {
        match &self.places {
            BlockDisplacements::Even(..) => false,
            BlockDisplacements::Uneven(_, displacements, _)
            | BlockDisplacements::Typed(_, displacements, _) => {
                displacements.iter().any(|&displacement| displacement < 0)
            }
        }
    }
    /// Checks the address of each block that has bytes, where the base itself is no memory. Datatypes and
    /// displacements may lead from there to memory.
    #[cold]
    fn check_memory(&self) -> Result {
        for index in 0..self.len {
            let ((count, datatype), block) = (self.elements(index), self.view(index));
            if block.bytes != 0 && block.buffer.offset(datatype.true_lb).0 < FIRST_MEMORY {
                return Err(p2p::point_to_point::bad_buffer(block.buffer, count));
            }
        }
        Ok(())
    }
    #[inline]
    fn elements(&self, index: usize) -> (u64, &Rc<Datatype>) {
        match &self.places {
            BlockDisplacements::Even(count, datatype) => (count.unsigned_abs(), datatype),
            BlockDisplacements::Uneven(counts, _, datatype) => (counts[index].unsigned_abs(), datatype),
            BlockDisplacements::Typed(counts, _, types) => (counts[index].unsigned_abs(), &types[index]),
        }
    }
    /// Returns the packed bytes of a block.
    #[inline]
    pub(crate) fn bytes(&self, index: usize) -> u64 {
        let (count, datatype) = self.elements(index);
        count * datatype.size
    }
    /// Returns the packed bytes of each block.
    pub(crate) fn sizes(&self) -> impl Iterator<Item = u64> + Clone {
        (0..self.len).map(|index| self.bytes(index))
    }
    /// Returns the bytes of each, if they are equal because the call says so.
    pub(crate) fn even(&self) -> Option<u64> {
        matches!(self.places, BlockDisplacements::Even(..))
            .then(|| if self.len == 0 { 0 } else { self.bytes(0) })
    }
    #[inline]
    fn at(&self, index: usize) -> Addr {
        match &self.places {
            BlockDisplacements::Even(count, datatype) => {
                self.at.offset(datatype.extent() * *count * index as i64)
            }
            BlockDisplacements::Uneven(_, displacements, datatype) => {
                self.at.offset(displacements[index] * datatype.extent())
            }
            BlockDisplacements::Typed(_, displacements, _) => self.at.offset(displacements[index]),
        }
    }
    /// Returns a block as a view of memory.
    pub(crate) fn view(&self, index: usize) -> BufferView {
        let (count, datatype) = self.elements(index);
        let layout = (!datatype.contiguous).then(|| (datatype.clone(), count));
        BufferView { buffer: self.at(index), layout, bytes: count * datatype.size }
    }
    /// Returns all of its blocks as views of memory.
    pub(crate) fn views(&self) -> Vec<BufferView> {
        (0..self.len).map(|index| self.view(index)).collect()
    }
    /// Returns the sizes of its blocks.
    pub(crate) fn blocks(&self) -> Blocks {
        match &self.places {
            BlockDisplacements::Even(..) => Blocks::Uniform(self.bytes(0)),
            _ => Blocks::Each(begins(self.sizes()).collect()),
        }
    }
    /// Returns where all of it lies side by side.
    pub(crate) fn side_by_side(&self) -> Option<Addr> {
        match &self.places {
            BlockDisplacements::Even(_, datatype) if datatype.contiguous => Some(self.at),
            _ => None,
        }
    }

    /// Stretches of memory that blocks fill one behind the other: where, and how many bytes; the blocks that
    /// need their datatype alone.
    // Neighbouring blocks are one copy: a v form whose displacements follow each other, as they mostly do,
    // costs what the even form does.
    fn stretches(&self, mut run: impl FnMut(Stretch)) {
        let (mut begin, mut length) = (self.at, 0usize);
        for index in 0..self.len {
            let (count, datatype) = self.elements(index);
            let bytes = (count * datatype.size) as usize;
            if bytes == 0 {
                continue;
            }
            let at = self.at(index);
            if datatype.contiguous && length != 0 && at.0 == begin.0 + length {
                length += bytes;
                continue;
            }
            if length != 0 {
                run(Stretch::Bytes(begin, length));
                length = 0;
            }
            if datatype.contiguous {
                (begin, length) = (at, bytes);
            } else {
                run(Stretch::Typed(at, datatype, count));
            }
        }
        if length != 0 {
            run(Stretch::Bytes(begin, length));
        }
    }
    /// Packs all blocks behind what `out` has; the rank must be mounted.
    pub(crate) fn append_to(&self, out: &mut Vec<u8>) {
        self.stretches(|stretch| match stretch {
            Stretch::Bytes(at, bytes) => memory::append(at, bytes, out),
            Stretch::Typed(at, datatype, count) => datatype.pack(at, count, out),
        });
    }
    /// Unpacks all blocks; the rank must be mounted.
    pub(crate) fn fill(&self, packed: &[u8]) {
        let mut rest = packed;
        let mut next = |bytes: usize| {
            let (part, behind) = rest.split_at(bytes.min(rest.len()));
            rest = behind;
            part
        };
        self.stretches(|stretch| match stretch {
            Stretch::Bytes(at, bytes) => memory::write(at, next(bytes)),
            Stretch::Typed(at, datatype, count) => {
                datatype.unpack(at, count, next((count * datatype.size) as usize));
            }
        });
    }
    /// Unpacks one block; the rank must be mounted.
    pub(crate) fn fill_block(&self, index: usize, packed: &[u8]) {
        self.view(index).fill(packed);
    }
    /// Unpacks the packed blocks of all, but those of neighbours that do not exist; the rank must be mounted.
    pub(crate) fn fill_known(&self, packed: &[u8], sources: &[u32]) {
        if !sources.contains(&NOBODY) {
            return self.fill(packed);
        }
        let mut at = 0;
        for (index, &source) in sources.iter().enumerate() {
            let end = at + self.bytes(index) as usize;
            if source != NOBODY && end <= packed.len() {
                self.fill_block(index, &packed[at..end]);
            }
            at = end;
        }
    }
}

enum Stretch<'a> {
    Bytes(Addr, usize),
    Typed(Addr, &'a Datatype, u64),
}
