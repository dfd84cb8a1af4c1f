//! One-sided communication (MPI 5.0 chapter 12): accesses and epochs. The windows themselves are in
//! `window.rs`.

use crate::args::{Handle, Out};
use crate::call::{Call, Quick, Wait};
use mpi::error::Result;
use mpi::rma::{Flush, Operation, RmaArguments, Target};
use mpi::world::World;
use rank::Addr;

/// Target and window as calls name them: rank, displacement, count, datatype, window.
type To = (i32, i64, i64, Handle, Handle);
/// Address, count and datatype.
type From = (Addr, i64, Handle);

#[inline(always)]
fn asked(
    operation: Operation,
    (at, count, datatype): From,
    (rank, displacement, elements, kind, win): To,
    wants_request: bool,
) -> RmaArguments {
    let target = Target { rank, displacement, count: elements, datatype: kind.0 };
    RmaArguments { win: win.0, operation, buffer: (at, count, datatype.0), target, wants_request }
}

/// An access; `request` gets its handle, if there is one.
fn access(c: &Call, operation: Operation, from: From, to: To, request: Option<Out<Handle>>) -> Result {
    let handle = c.mpi.access(&asked(operation, from, to, request.is_some()))?;
    if let Some(request) = request {
        request.set(Handle(handle));
    }
    Ok(())
}

/// Makes an access without a request, if it is a short one.
#[inline(always)]
fn quickly(world: &mut World, operation: Operation, from: From, to: To) -> Quick {
    world.access_quickly(&asked(operation, from, to, false)).map_or(Quick::Undone, |()| Quick::Over)
}

/// `MPI_Put`.
pub fn put(
    c: &Call,
    at: Addr,
    count: i64,
    datatype: Handle,
    rank: i32,
    disp: i64,
    elements: i64,
    kind: Handle,
    win: Handle,
) -> Result {
    access(c, Operation::Put, (at, count, datatype), (rank, disp, elements, kind, win), None)
}

/// [`put`] of a few bytes.
#[inline(always)]
#[allow(clippy::too_many_arguments)]
pub fn put_quickly(
    w: &mut World,
    at: Addr,
    count: i64,
    datatype: Handle,
    rank: i32,
    disp: i64,
    n: i64,
    kind: Handle,
    win: Handle,
) -> Quick {
    quickly(w, Operation::Put, (at, count, datatype), (rank, disp, n, kind, win))
}

/// `MPI_Rput`.
pub fn rput(
    c: &Call,
    at: Addr,
    count: i64,
    datatype: Handle,
    rank: i32,
    disp: i64,
    elements: i64,
    kind: Handle,
    win: Handle,
    request: Out<Handle>,
) -> Result {
    access(c, Operation::Put, (at, count, datatype), (rank, disp, elements, kind, win), Some(request))
}

/// `MPI_Get`.
pub fn get(
    c: &Call,
    at: Addr,
    count: i64,
    datatype: Handle,
    rank: i32,
    disp: i64,
    elements: i64,
    kind: Handle,
    win: Handle,
) -> Result {
    access(c, Operation::Get, (at, count, datatype), (rank, disp, elements, kind, win), None)
}

/// [`get`] of a few bytes.
#[inline(always)]
#[allow(clippy::too_many_arguments)]
pub fn get_quickly(
    w: &mut World,
    at: Addr,
    count: i64,
    datatype: Handle,
    rank: i32,
    disp: i64,
    n: i64,
    kind: Handle,
    win: Handle,
) -> Quick {
    quickly(w, Operation::Get, (at, count, datatype), (rank, disp, n, kind, win))
}

/// `MPI_Rget`.
pub fn rget(
    c: &Call,
    at: Addr,
    count: i64,
    datatype: Handle,
    rank: i32,
    disp: i64,
    elements: i64,
    kind: Handle,
    win: Handle,
    request: Out<Handle>,
) -> Result {
    access(c, Operation::Get, (at, count, datatype), (rank, disp, elements, kind, win), Some(request))
}

/// `MPI_Accumulate`.
pub fn accumulate(
    c: &Call,
    at: Addr,
    count: i64,
    datatype: Handle,
    rank: i32,
    disp: i64,
    elements: i64,
    kind: Handle,
    op: Handle,
    win: Handle,
) -> Result {
    access(c, Operation::Accumulate(op.0), (at, count, datatype), (rank, disp, elements, kind, win), None)
}

/// [`accumulate`] of a few bytes.
#[inline(always)]
#[allow(clippy::too_many_arguments)]
pub fn accumulate_quickly(
    world: &mut World,
    at: Addr,
    count: i64,
    datatype: Handle,
    rank: i32,
    disp: i64,
    elements: i64,
    kind: Handle,
    op: Handle,
    win: Handle,
) -> Quick {
    quickly(world, Operation::Accumulate(op.0), (at, count, datatype), (rank, disp, elements, kind, win))
}

/// `MPI_Raccumulate`.
pub fn raccumulate(
    c: &Call,
    at: Addr,
    count: i64,
    datatype: Handle,
    rank: i32,
    disp: i64,
    elements: i64,
    kind: Handle,
    op: Handle,
    win: Handle,
    request: Out<Handle>,
) -> Result {
    access(
        c,
        Operation::Accumulate(op.0),
        (at, count, datatype),
        (rank, disp, elements, kind, win),
        Some(request),
    )
}

/// `MPI_Get_accumulate`.
pub fn get_accumulate(
    c: &Call,
    at: Addr,
    count: i64,
    datatype: Handle,
    result: Addr,
    results: i64,
    result_kind: Handle,
    rank: i32,
    disp: i64,
    elements: i64,
    kind: Handle,
    op: Handle,
    win: Handle,
) -> Result {
    let operation = Operation::GetAccumulate(op.0, (result, results, result_kind.0));
    access(c, operation, (at, count, datatype), (rank, disp, elements, kind, win), None)
}

/// `MPI_Rget_accumulate`.
pub fn rget_accumulate(
    c: &Call,
    at: Addr,
    count: i64,
    datatype: Handle,
    result: Addr,
    results: i64,
    result_kind: Handle,
    rank: i32,
    disp: i64,
    elements: i64,
    kind: Handle,
    op: Handle,
    win: Handle,
    request: Out<Handle>,
) -> Result {
    let operation = Operation::GetAccumulate(op.0, (result, results, result_kind.0));
    access(c, operation, (at, count, datatype), (rank, disp, elements, kind, win), Some(request))
}

/// `MPI_Fetch_and_op`: an `MPI_Get_accumulate` of one element.
pub fn fetch_and_op(
    c: &Call,
    at: Addr,
    result: Addr,
    datatype: Handle,
    rank: i32,
    disp: i64,
    op: Handle,
    win: Handle,
) -> Result {
    let operation = Operation::GetAccumulate(op.0, (result, 1, datatype.0));
    access(c, operation, (at, 1, datatype), (rank, disp, 1, datatype, win), None)
}

/// `MPI_Compare_and_swap`.
pub fn compare_and_swap(
    c: &Call,
    at: Addr,
    compare: Addr,
    result: Addr,
    datatype: Handle,
    rank: i32,
    disp: i64,
    win: Handle,
) -> Result {
    access(
        c,
        Operation::CompareAndSwap(compare, result),
        (at, 1, datatype),
        (rank, disp, 1, datatype, win),
        None,
    )
}

/// Returns what the second half of a call is told of the request that it waits for.
fn waits(request: Option<usize>) -> Option<Wait> {
    request.map(|request| Wait(request as u64))
}

/// The second half of a call that waits for a request.
pub fn end(c: &Call, Wait(request): Wait) -> Result {
    c.mpi.end_wait(request as usize).map(|_| ())
}

/// `MPI_Win_fence` up to its wait.
pub fn fence(c: &Call, assert: i32, win: Handle) -> Result<Option<Wait>> {
    Ok(waits(c.mpi.begin_fence(win.0, assert)?))
}

/// `MPI_Win_fence` after its wait.
pub fn fence_end(c: &Call, Wait(word): Wait, win: Handle) -> Result {
    c.mpi.end_fence(word as usize, win.0)
}

/// `MPI_Win_post`.
pub fn post(c: &Call, group: Handle, assert: i32, win: Handle) -> Result {
    let group = super::group::get(c, group)?;
    c.mpi.post(win.0, &group, assert)
}

/// `MPI_Win_start` up to its wait.
pub fn start(c: &Call, group: Handle, assert: i32, win: Handle) -> Result<Option<Wait>> {
    let group = super::group::get(c, group)?;
    Ok(waits(
        c.mpi.begin_epoch(win.0, |rma, messages, objects| {
            rma.start(messages, objects, win.0, &group, assert)
        })?,
    ))
}

/// `MPI_Win_complete` up to its wait.
pub fn complete(c: &Call, win: Handle) -> Result<Option<Wait>> {
    Ok(waits(c.mpi.begin_epoch(win.0, |rma, messages, objects| rma.complete(messages, objects, win.0))?))
}

/// `MPI_Win_wait` up to its wait.
pub fn wait(c: &Call, win: Handle) -> Result<Option<Wait>> {
    Ok(waits(
        c.mpi
            .begin_epoch(win.0, |rma, messages, objects| rma.exposure(messages, objects, win.0).map(Some))?,
    ))
}

/// `MPI_Win_test`.
pub fn test(c: &Call, win: Handle, flag: Out<bool>) -> Result {
    flag.set(c.mpi.test_exposure(win.0)?);
    Ok(())
}

/// `MPI_Win_lock` up to its wait.
pub fn lock(c: &Call, kind: i32, rank: i32, assert: i32, win: Handle) -> Result<Option<Wait>> {
    Ok(waits(c.mpi.begin_epoch(win.0, |rma, messages, objects| {
        rma.lock(messages, objects, win.0, (kind, rank, assert))
    })?))
}

/// `MPI_Win_lock_all`.
pub fn lock_all(c: &Call, assert: i32, win: Handle) -> Result {
    c.mpi.rma(|rma, messages, objects| rma.lock_all(messages, objects, win.0, assert))
}

/// `MPI_Win_unlock` up to its wait.
pub fn unlock(c: &Call, rank: i32, win: Handle) -> Result<Option<Wait>> {
    Ok(waits(c.mpi.begin_epoch(win.0, |rma, messages, objects| rma.unlock(messages, objects, win.0, rank))?))
}

/// `MPI_Win_unlock_all` up to its wait.
pub fn unlock_all(c: &Call, win: Handle) -> Result<Option<Wait>> {
    Ok(waits(c.mpi.begin_epoch(win.0, |rma, messages, objects| rma.unlock_all(messages, objects, win.0))?))
}

/// Begins flushes: all of them up to their wait.
fn begin_flush(c: &Call, win: Handle, which: Flush, local: bool) -> Result<Option<Wait>> {
    Ok(waits(
        c.mpi
            .begin_epoch(win.0, |rma, messages, objects| rma.flush(messages, objects, win.0, which, local))?,
    ))
}

/// `MPI_Win_flush` up to its wait.
pub fn flush(c: &Call, rank: i32, win: Handle) -> Result<Option<Wait>> {
    begin_flush(c, win, Flush::Target(rank), false)
}

/// `MPI_Win_flush_all` up to its wait.
pub fn flush_all(c: &Call, win: Handle) -> Result<Option<Wait>> {
    begin_flush(c, win, Flush::All, false)
}

/// `MPI_Win_flush_local` up to its wait.
pub fn flush_local(c: &Call, rank: i32, win: Handle) -> Result<Option<Wait>> {
    begin_flush(c, win, Flush::Target(rank), true)
}

/// `MPI_Win_flush_local_all` up to its wait.
pub fn flush_local_all(c: &Call, win: Handle) -> Result<Option<Wait>> {
    begin_flush(c, win, Flush::All, true)
}

pub use end as complete_end;
pub use end as flush_all_end;
pub use end as flush_end;
pub use end as flush_local_all_end;
pub use end as flush_local_end;
pub use end as lock_end;
pub use end as start_end;
pub use end as unlock_all_end;
pub use end as unlock_end;
pub use end as wait_end;

/// `MPI_Win_sync`.
pub fn sync(c: &Call, win: Handle) -> Result {
    c.mpi.sync(win.0)
}
