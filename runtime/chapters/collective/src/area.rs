//! The program's buffers of a collective call, and the blocks that they are.

use objects::Objects;
use objects::abi::{MPI_BYTE, MPI_DATATYPE_NULL};
use objects::error::{ErrorClass, Failure, Result};
use p2p::point_to_point::Buffer;
use p2p::point_to_point::view;
use p2p::view::BufferView;
use rank::Addr;
use schedule::Blocks;

/// `MPI_IN_PLACE` of the standard ABI.
pub const IN_PLACE: Addr = Addr(1);

/// Blocks of the `v` forms: one datatype, displacements in its extents.
#[derive(Clone, Copy)]
pub struct Vector<'a> {
    /// Base.
    pub at: Addr,
    /// Elements of each block.
    pub counts: &'a [i64],
    /// Offset of each block, in extents of the datatype.
    pub displacements: &'a [i64],
    /// Handle.
    pub datatype: usize,
}

/// Blocks of the `w` forms: a datatype each, displacements in bytes.
#[derive(Clone, Copy)]
pub struct Typed<'a> {
    /// Base.
    pub at: Addr,
    /// Elements of each block.
    pub counts: &'a [i64],
    /// Offset of each block, in bytes.
    pub displacements: &'a [i64],
    /// Handles.
    pub datatypes: &'a [usize],
}

impl Typed<'_> {
    /// Returns the datatype of a block. Of an empty one `MPI_DATATYPE_NULL` is taken: there is nothing that
    /// it describes.
    // As MPICH does since 4.0.1: programs fill in types only where they communicate.
    pub(crate) fn datatype(&self, block: usize) -> usize {
        let given = self.datatypes[block];
        if given == MPI_DATATYPE_NULL && self.counts[block] == 0 { MPI_BYTE } else { given }
    }
}

/// Number of elements of a reduction that each member keeps.
#[derive(Clone, Copy)]
pub enum MemberElements<'a> {
    /// So many with everyone.
    Same(i64),
    /// So many with each.
    Each(&'a [i64]),
}

/// The memory of one side of a collective.
// The five ways in which MPI's functions name memory, so that a collective is written once for all its forms.
#[derive(Clone, Copy)]
pub enum BufferArgument<'a> {
    /// No memory (a rank that does not take part on this side).
    Nothing,
    /// `MPI_IN_PLACE`.
    InPlace,
    /// One buffer; of a block, or of a block a member.
    One(Buffer),
    /// The `v` forms.
    Each(Vector<'a>),
    /// The `w` forms.
    Typed(Typed<'a>),
}

impl BufferArgument<'_> {
    /// Returns a buffer that may be `MPI_IN_PLACE`.
    pub fn of(buffer: Buffer) -> BufferArgument<'static> {
        if buffer.0 == IN_PLACE { BufferArgument::InPlace } else { BufferArgument::One(buffer) }
    }
    /// Returns `true` if it has blocks that may differ.
    pub fn is_irregular(&self) -> bool {
        matches!(self, BufferArgument::Each(_) | BufferArgument::Typed(_))
    }
    // `MPI_IN_PLACE` may stand where a buffer does in each of the forms (MPI 5.0 section 6.2.1).
    pub(super) fn is_in_place(&self) -> bool {
        matches!(self, BufferArgument::InPlace)
            || matches!(
                self,
                BufferArgument::One((at, ..))
                | BufferArgument::Each(Vector { at, .. })
                | BufferArgument::Typed(Typed { at, .. })
                    if *at == IN_PLACE
            )
    }
}

/// Blocks in memory.
pub(super) struct Area {
    pub(super) views: Vec<BufferView>,
    pub(super) blocks: Blocks,
    pub(super) bytes: u64,
}

impl Area {
    pub(super) fn none() -> Area {
        Area { views: Vec::new(), blocks: Blocks::Uniform(0), bytes: 0 }
    }
    /// No memory: the blocks of the other side, of members that have it.
    // Schedules ask every member for its blocks: of who has no buffer on a side they are told the sizes that
    // the others must have.
    pub(super) fn opposite(other: &Area) -> Area {
        Area { blocks: other.blocks.clone(), ..Area::none() }
    }
    /// Returns one block in these places.
    pub(super) fn block_of(views: Vec<BufferView>) -> Area {
        let bytes = views.iter().map(|view| view.bytes).sum();
        Area { views, blocks: Blocks::Uniform(bytes), bytes }
    }
    pub(super) fn is_irregular(&self) -> bool {
        matches!(self.blocks, Blocks::Each(_))
    }
    /// Returns the memory of one block alone.
    pub(super) fn block(
        &self,
        objects: &Objects,
        side: &BufferArgument,
        index: u32,
    ) -> Result<Vec<BufferView>> {
        match side {
            BufferArgument::One((at, count, datatype)) => {
                let step = objects.types.get(*datatype)?.extent() * *count;
                Ok(vec![view(objects, (at.offset(step * i64::from(index)), *count, *datatype))?])
            }
            _ => Ok(self.views.get(index as usize).cloned().into_iter().collect()),
        }
    }
}

pub(super) fn area(objects: &Objects, side: &BufferArgument, blocks: u32) -> Result<Area> {
    match side {
        BufferArgument::Nothing | BufferArgument::InPlace => Ok(Area::none()),
        // A product of counts can pass 2^63 with each of them right: told as a wrong count, before any
        // address is computed from it.
        BufferArgument::One((at, count, datatype)) => {
            let one = view(objects, (*at, *count, *datatype))?.bytes;
            let Some(total) = count.checked_mul(i64::from(blocks)) else {
                return Err(Failure::new(
                    ErrorClass::COUNT,
                    format!("count {count} for each of {blocks} members is beyond 2^63 elements"),
                ));
            };
            let all = view(objects, (*at, total, *datatype))?;
            Ok(Area { bytes: all.bytes, views: vec![all], blocks: Blocks::Uniform(one) })
        }
        BufferArgument::Each(vector) => {
            let extent = objects.types.get(vector.datatype)?.extent();
            gathered(blocks, |i| {
                view(
                    objects,
                    (vector.at.offset(vector.displacements[i] * extent), vector.counts[i], vector.datatype),
                )
            })
        }
        BufferArgument::Typed(typed) => gathered(blocks, |i| {
            view(objects, (typed.at.offset(typed.displacements[i]), typed.counts[i], typed.datatype(i)))
        }),
    }
}

fn gathered(blocks: u32, view: impl Fn(usize) -> Result<BufferView>) -> Result<Area> {
    let mut views = Vec::with_capacity(blocks as usize);
    let mut offsets = Vec::with_capacity(blocks as usize + 1);
    let mut bytes = 0;
    offsets.push(0);
    for index in 0..blocks as usize {
        let view = view(index)?;
        bytes += view.bytes;
        offsets.push(bytes);
        views.push(view);
    }
    Ok(Area { views, blocks: Blocks::Each(offsets.into()), bytes })
}
