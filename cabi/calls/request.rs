//! Completion of requests (MPI 5.0 sections 3.7, 3.8 and 3.9).

use crate::args::{Handle, Handles, InOut, Ints, Out, OutStatuses, StatusPointer};
use crate::call::{Call, Wait};
use crate::calls::p2p::status;
use crate::constants::{MPI_ERR_REQUEST, MPI_UNDEFINED};
use mpi::error::{ErrorClass, Result};
use mpi::handle::REQUEST_NULL;
use mpi::request::{Completion, RequestArray, Status};

fn array(count: i32, requests: Handles) -> RequestArray {
    RequestArray { at: requests.at, count: count as u32, wide: requests.wide }
}

fn one(request: InOut<Handle>) -> RequestArray {
    RequestArray { at: request.at(), count: 1, wide: true }
}

/// `MPI_Wait` up to its wait.
#[inline(always)]
pub fn wait(c: &Call, request: InOut<Handle>, out: StatusPointer) -> Result<Option<Wait>> {
    if c.mpi.begin_wait(request.get().0)? {
        return Ok(Some(Wait(0)));
    }
    wait_end(c, Wait(0), request, out).map(|()| None)
}

/// `MPI_Wait` after its wait.
#[inline(always)]
pub fn wait_end(c: &Call, _: Wait, request: InOut<Handle>, out: StatusPointer) -> Result {
    match c.mpi.end_wait(request.get().0) {
        Ok((found, next)) => {
            request.set(Handle(next));
            out.set(&status(&found));
            Ok(())
        }
        Err(failure) => {
            if c.mpi.world().completion(request.get().0).is_err() {
                request.set(Handle(REQUEST_NULL));
            }
            Err(failure)
        }
    }
}

/// `MPI_Waitall` up to its wait.
#[inline(always)]
pub fn waitall(c: &Call, count: i32, requests: Handles, statuses: OutStatuses) -> Result<Option<Wait>> {
    let awaited = c.mpi.begin_wait_all(array(count, requests), !statuses.is_ignored())?;
    let ignored = Wait(awaited.all_ignored.into());
    if awaited.waits {
        return Ok(Some(ignored));
    }
    waitall_end(c, ignored, count, requests, statuses).map(|()| None)
}

/// `MPI_Waitall` after its wait.
#[inline(always)]
pub fn waitall_end(
    c: &Call,
    Wait(ignored): Wait,
    count: i32,
    requests: Handles,
    statuses: OutStatuses,
) -> Result {
    if ignored != 0 && c.mpi.finish_ignored(array(count, requests)) {
        return Ok(());
    }
    c.mpi.finish_all(array(count, requests), |index, found| {
        statuses.get(index as usize).set_all(&status(found))
    })
}

/// `MPI_Waitany` up to its wait.
pub fn waitany(
    c: &Call,
    count: i32,
    requests: Handles,
    index: Out<i32>,
    out: StatusPointer,
) -> Result<Option<Wait>> {
    if c.mpi.begin_wait_any(array(count, requests)) {
        return Ok(Some(Wait(0)));
    }
    waitany_end(c, Wait(0), count, requests, index, out).map(|()| None)
}

/// `MPI_Waitany` after its wait.
pub fn waitany_end(
    c: &Call,
    _: Wait,
    count: i32,
    requests: Handles,
    index: Out<i32>,
    out: StatusPointer,
) -> Result {
    let mut which = MPI_UNDEFINED;
    let found = c.mpi.end_wait_any_at(array(count, requests), &mut which);
    // Which request has failed is for the program to know.
    index.set(which);
    out.set(&status(&found?));
    Ok(())
}

/// `MPI_Waitsome` up to its wait.
pub fn waitsome(
    c: &Call,
    incount: i32,
    requests: Handles,
    outcount: Out<i32>,
    indices: Ints,
    statuses: OutStatuses,
) -> Result<Option<Wait>> {
    if c.mpi.begin_wait_some(array(incount, requests)) {
        return Ok(Some(Wait(0)));
    }
    waitsome_end(c, Wait(0), incount, requests, outcount, indices, statuses).map(|()| None)
}

/// `MPI_Waitsome` after its wait.
pub fn waitsome_end(
    c: &Call,
    _: Wait,
    incount: i32,
    requests: Handles,
    outcount: Out<i32>,
    indices: Ints,
    statuses: OutStatuses,
) -> Result {
    let mut found = 0;
    let result = c.mpi.end_wait_some(array(incount, requests), &mut put_some(indices, statuses, &mut found));
    // With MPI_ERR_IN_STATUS the results are there as well.
    outcount
        .set(result.as_ref().map_or(found as i32, |count| count.map_or(MPI_UNDEFINED, |count| count as i32)));
    result.map(|_| ())
}

/// `MPI_Testsome`.
pub fn testsome(
    c: &Call,
    incount: i32,
    requests: Handles,
    outcount: Out<i32>,
    indices: Ints,
    statuses: OutStatuses,
) -> Result {
    let mut found = 0;
    let result = c.mpi.test_some(array(incount, requests), &mut put_some(indices, statuses, &mut found));
    // With MPI_ERR_IN_STATUS the results are there as well.
    outcount
        .set(result.as_ref().map_or(found as i32, |count| count.map_or(MPI_UNDEFINED, |count| count as i32)));
    result.map(|_| ())
}

fn put_some(indices: Ints, statuses: OutStatuses, found: &mut u32) -> impl FnMut(u32, u32, &Status) {
    move |position, index, value| {
        *found += 1;
        indices.set(position as usize, index as i32);
        statuses.get(position as usize).set_all(&status(value));
    }
}

/// `MPI_Test`.
pub fn test(c: &Call, request: InOut<Handle>, flag: Out<bool>, out: StatusPointer) -> Result {
    let found = c.mpi.test(one(request))?;
    flag.set(found.is_some());
    if let Some(found) = found {
        out.set(&status(&found));
    }
    Ok(())
}

/// `MPI_Testall`.
pub fn testall(c: &Call, count: i32, requests: Handles, flag: Out<bool>, statuses: OutStatuses) -> Result {
    let all = c.mpi.test_all(array(count, requests), &mut |index, found| {
        statuses.get(index as usize).set_all(&status(found))
    });
    // With MPI_ERR_IN_STATUS all are complete as well.
    flag.set(all.as_ref().map_or_else(|failure| failure.class == ErrorClass::IN_STATUS, |&all| all));
    all.map(|_| ())
}

/// `MPI_Testany`.
pub fn testany(
    c: &Call,
    count: i32,
    requests: Handles,
    index: Out<i32>,
    flag: Out<bool>,
    out: StatusPointer,
) -> Result {
    let mut which = MPI_UNDEFINED;
    let found = c.mpi.test_any(array(count, requests), &mut which);
    // Which request has failed is for the program to know.
    index.set(which);
    flag.set(found.as_ref().map_or(which != MPI_UNDEFINED, |found| found.0));
    if let (true, found) = found? {
        out.set(&status(&found));
    }
    Ok(())
}

/// `MPI_Request_get_status`.
pub fn get_status(c: &Call, request: Handle, flag: Out<bool>, out: StatusPointer) -> Result {
    let held = request.0;
    let found = c.mpi.request_status(RequestArray {
        at: rank::Addr(&raw const held as usize),
        count: 1,
        wide: true,
    })?;
    flag.set(found.is_some());
    if let Some(found) = found {
        out.set(&status(&found));
    }
    Ok(())
}

/// Returns the status of one request of an array, if it is complete; the request stays.
fn peek(c: &Call, request: Handle) -> Result<Option<Status>> {
    let held = request.0;
    c.mpi.request_status(RequestArray { at: rank::Addr(&raw const held as usize), count: 1, wide: true })
}

/// Returns `true` if there is anything to complete: neither null nor an inactive persistent request.
fn is_active(c: &Call, request: Handle) -> Result<bool> {
    match c.mpi.world().completion(request.0).ok() {
        Some(completion) => Ok(!matches!(completion, Completion::Null)),
        None => Err(c.wrong(1, MPI_ERR_REQUEST, format_args!("{:#x} is not a valid request", request.0))),
    }
}

/// `MPI_Request_get_status_all`.
pub fn get_status_all(
    c: &Call,
    count: i32,
    requests: Handles,
    flag: Out<bool>,
    statuses: StatusPointer,
) -> Result {
    let statuses = OutStatuses(statuses.0);
    let complete = c.mpi.all_complete(array(count, requests))?;
    flag.set(complete);
    for index in 0..if complete { count as usize } else { 0 } {
        if let Some(found) = peek(c, requests.get(index))? {
            statuses.get(index).set_all(&status(&found));
        }
    }
    Ok(())
}

/// `MPI_Request_get_status_any`.
pub fn get_status_any(
    c: &Call,
    count: i32,
    requests: Handles,
    index: Out<i32>,
    flag: Out<bool>,
    out: StatusPointer,
) -> Result {
    let mut any = false;
    for which in 0..count as usize {
        if !is_active(c, requests.get(which))? {
            continue;
        }
        any = true;
        if let Some(found) = peek(c, requests.get(which))? {
            index.set(which as i32);
            flag.set(true);
            out.set(&status(&found));
            return Ok(());
        }
    }
    index.set(MPI_UNDEFINED);
    flag.set(!any);
    if !any {
        out.set(&status(&Status::EMPTY));
    }
    Ok(())
}

/// `MPI_Request_get_status_some`.
pub fn get_status_some(
    c: &Call,
    incount: i32,
    requests: Handles,
    outcount: Out<i32>,
    indices: Ints,
    statuses: StatusPointer,
) -> Result {
    let statuses = OutStatuses(statuses.0);
    let (mut any, mut count) = (false, 0);
    for which in 0..incount as usize {
        if !is_active(c, requests.get(which))? {
            continue;
        }
        any = true;
        if let Some(found) = peek(c, requests.get(which))? {
            indices.set(count, which as i32);
            statuses.get(count).set_all(&status(&found));
            count += 1;
        }
    }
    outcount.set(if any { count as i32 } else { MPI_UNDEFINED });
    Ok(())
}

/// `MPI_Start`.
pub fn start(c: &Call, request: InOut<Handle>) -> Result {
    c.mpi.start(request.get().0)
}

/// `MPI_Startall`.
pub fn startall(c: &Call, count: i32, requests: Handles) -> Result {
    (0..count as usize).try_for_each(|index| c.mpi.start(requests.get(index).0))
}

/// `MPI_Request_free`.
pub fn free(c: &Call, request: InOut<Handle>) -> Result {
    c.mpi.free_request(request.get().0)?;
    request.set(Handle(REQUEST_NULL));
    Ok(())
}

/// `MPI_Cancel`.
pub fn cancel(c: &Call, request: InOut<Handle>) -> Result {
    c.mpi.cancel(request.get().0)
}
