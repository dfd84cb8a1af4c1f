//! Point-to-point communication (MPI 5.0 chapter 3): what sends and receives are given. Plain messages take a
//! way of their own (`plain.rs`).

pub mod complete;
pub mod lengths;
pub mod receive;
pub mod send;
pub mod waiting;

use crate::envelope::Pattern;
use crate::error::{ErrorClass, Failure, Result};
use crate::request::{ANY_SOURCE, ANY_TAG, PROC_NULL};
use crate::view::BufferView;
use objects::Objects;
use rank::Addr;

/// The send modes of MPI 5.0 chapter 3.4.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SendMode {
    /// `MPI_Send`: complete once the data is out of the buffer, which this simulator does at once.
    Standard,
    /// `MPI_Ssend`: complete once matched.
    Synchronous,
    /// `MPI_Bsend`: like standard, through the attached buffer.
    Buffered,
    /// `MPI_Rsend`: like standard; the program promises that the receive is posted.
    Ready,
}

/// Address, count and datatype handle, as MPI calls give them.
pub type Buffer = (Addr, i64, usize);
/// Rank, tag and communicator handle.
pub type Peer = (i32, i32, usize);

/// The greatest tag (`MPI_TAG_UB`).
pub const TAG_UB: i32 = i32::MAX;

/// The failure of a call that gives a tag out of range; `any` says whether `MPI_ANY_TAG` were allowed.
#[cold]
pub fn bad_tag(tag: i32, any: bool) -> Box<Failure> {
    let what = if any { "0 to MPI_TAG_UB, or MPI_ANY_TAG" } else { "0 to MPI_TAG_UB" };
    Failure::new(ErrorClass::TAG, format!("tag {tag} is not allowed here: use {what}"))
}

/// Addresses below are no memory: a null pointer, `MPI_IN_PLACE`, and what lies a little behind them.
// A page, which no system maps there: what is wrong with such a buffer is told with the call, not by a crash
// in a copy.
pub const FIRST_MEMORY: usize = 4096;

/// The failure of a call whose buffer is no memory.
#[cold]
pub fn bad_buffer(buffer: Addr, count: u64) -> Box<Failure> {
    let text = match buffer.0 {
        0 => format!(
            "the buffer is a null pointer, but {count} elements are asked for; pass memory for them, or a \
             count of 0"
        ),
        1 => "MPI_IN_PLACE has no meaning for this buffer; pass memory".to_owned(),
        other => format!("the buffer at address {other:#x} is no memory; pass memory for {count} elements"),
    };
    Failure::new(ErrorClass::BUFFER, text)
}

/// Buffer, count and datatype as a view of memory.
///
/// # Errors
/// `MPI_ERR_COUNT`, `MPI_ERR_TYPE`; `MPI_ERR_BUFFER` where data would begin at no memory (`MPI_BOTTOM` needs
/// datatypes of absolute addresses).
// `true_lb`: `MPI_BOTTOM` is the null pointer and right with datatypes of absolute addresses, so it is where
// data begins that counts. An empty message may come from anywhere.
#[inline(always)]
pub fn view(objects: &Objects, (buffer, count, datatype): Buffer) -> Result<BufferView> {
    let Ok(count) = u64::try_from(count) else {
        return Err(Failure::new(ErrorClass::COUNT, format!("count {count} is negative")));
    };
    let kind = objects.types.usable(objects.comms.current, datatype)?;
    let bytes = kind.bytes(count)?;
    if buffer.offset(kind.true_lb).0 < FIRST_MEMORY && bytes != 0 {
        return Err(bad_buffer(buffer, count));
    }
    if kind.contiguous {
        return Ok(BufferView { buffer, layout: None, bytes });
    }
    Ok(BufferView { buffer, layout: Some((kind.clone(), count)), bytes })
}

/// Returns what a receive or probe accepts; `None` from `MPI_PROC_NULL`.
// A communicator that is none is an error even with `MPI_PROC_NULL`; the named source is checked with the
// communicator at once.
#[inline(always)]
pub fn pattern(objects: &Objects, (source, tag, comm): Peer) -> Result<Option<Pattern>> {
    if source < 0 {
        objects.comms.get(comm)?;
    }
    if tag < 0 && tag != ANY_TAG {
        return Err(bad_tag(tag, true));
    }
    let tag = (tag != ANY_TAG).then_some(tag);
    match source {
        PROC_NULL => Ok(None),
        ANY_SOURCE => Ok(Some(Pattern { context: objects.comms.get(comm)?.context, source: None, tag })),
        _ => {
            let context = objects.comms.context_from(comm, source)?;
            Ok(Some(Pattern { context, source: Some(source as u32), tag }))
        }
    }
}
