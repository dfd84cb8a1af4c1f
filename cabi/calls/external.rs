//! Generalized requests (MPI 5.0 section 13.2).

use crate::args::{self, Handle, Out, StatusPointer};
use crate::call::Call;
use crate::callback;
use crate::constants::MPI_ERR_ARG;
use mpi::error::Result;
use mpi::request::{Generalized, Status};
use rank::Addr;
use std::rc::Rc;

/// `MPI_Grequest_start`.
pub fn grequest_start(
    c: &Call,
    query: usize,
    free: usize,
    cancel: usize,
    extra_state: Addr,
    request: Out<Handle>,
) -> Result {
    if let Some(index) = [query, free, cancel].iter().position(|&function| function == 0) {
        return Err(c.wrong(index, MPI_ERR_ARG, "it is a null pointer; pass a function"));
    }
    let callbacks = Generalized {
        query: Rc::new(move |status| {
            // The program's function sees a status of its own kind.
            let mut memory = [0u64; 4];
            let theirs = StatusPointer(Addr(&raw mut memory as usize));
            theirs.set_all(&args::StatusFields {
                source: status.source,
                tag: status.tag,
                error: 0,
                bytes: status.bytes as i64,
                cancelled: status.cancelled,
            });
            let code = callback::query(query, extra_state, theirs.0);
            let found = theirs.get();
            *status = Status {
                source: found.source,
                tag: found.tag,
                error: found.error,
                bytes: found.bytes as u64,
                cancelled: found.cancelled,
            };
            code
        }),
        free: Rc::new(move || callback::free(free, extra_state)),
        cancel: Rc::new(move |complete| callback::cancel(cancel, extra_state, complete)),
    };
    request.set(Handle(c.mpi.generalized(callbacks)));
    Ok(())
}

/// `MPI_Grequest_complete`.
pub fn grequest_complete(c: &Call, request: Handle) -> Result {
    c.mpi.complete_generalized(request.0)
}
