//! The MPI functions that ranks without a program call, for messages and statistics.

use crate::call::{Call, Requests, Wait};
use mpi::charging::Course;
use mpi::p2p::SendMode;
use mpi::schedule::Kind;

macro_rules! functions {
    ($($name:ident)*) => {
        /// An MPI function.
        #[derive(Clone, Copy, PartialEq, Eq, Debug)]
        #[repr(u8)]
        #[allow(missing_docs, non_camel_case_types, reason = "they are MPI's")]
        pub enum Function { $($name),* }
        /// The names of functions by number, as a [`mpi::Setup`] takes them.
        pub static NAMES: [&str; Function::COUNT] = [$(concat!("MPI_", stringify!($name))),*];
        impl Function {
            const COUNT: usize = [$(Function::$name),*].len();
        }
    };
}

functions! {
    Init Finalize Send Ssend Bsend Rsend Isend Issend Ibsend Irsend Recv Irecv Wait Waitall Waitany Waitsome Test Testall
    Barrier Bcast Gather Scatter Allgather Alltoall Reduce Allreduce Reduce_scatter_block Scan Exscan
    Ibarrier Ibcast Igather Iscatter Iallgather Ialltoall Ireduce Iallreduce Ireduce_scatter_block Iscan Iexscan
    Comm_dup Comm_split
}

impl Function {
    /// The function of a call; `None` for computation.
    pub(crate) fn of(call: &Call) -> Option<Function> {
        let one = |requests: &Requests| matches!(requests, Requests::These(these) if these.len() == 1);
        Some(match call {
            Call::Send(SendMode::Standard, _) => Function::Send,
            Call::Send(SendMode::Synchronous, _) => Function::Ssend,
            Call::Send(SendMode::Buffered, _) => Function::Bsend,
            Call::Send(SendMode::Ready, _) => Function::Rsend,
            Call::Isend(SendMode::Standard, _) => Function::Isend,
            Call::Isend(SendMode::Synchronous, _) => Function::Issend,
            Call::Isend(SendMode::Buffered, _) => Function::Ibsend,
            Call::Isend(SendMode::Ready, _) => Function::Irsend,
            Call::Recv(_) => Function::Recv,
            Call::Irecv(_) => Function::Irecv,
            Call::Complete(Wait::All, requests) => {
                if one(requests) {
                    Function::Wait
                } else {
                    Function::Waitall
                }
            }
            Call::Complete(Wait::Any, _) => Function::Waitany,
            Call::Complete(Wait::Some, _) => Function::Waitsome,
            Call::Complete(Wait::Test, requests) => {
                if one(requests) {
                    Function::Test
                } else {
                    Function::Testall
                }
            }
            Call::Collective(collective) => collective_of(collective.kind, false),
            Call::Icollective(collective) => collective_of(collective.kind, true),
            Call::Dup(_) => Function::Comm_dup,
            Call::Split(..) => Function::Comm_split,
            Call::Compute(_) => return None,
            Call::End => Function::Finalize,
        })
    }

    /// What the call does to those that were started in a row before it.
    pub(crate) fn course(self) -> Course {
        match self {
            Function::Send | Function::Isend | Function::Rsend | Function::Irsend => Course::Starts,
            Function::Irecv => Course::Posts,
            _ => Course::Ends,
        }
    }
}

/// # Panics
/// On kinds that are no calls of their own.
fn collective_of(kind: Kind, starts: bool) -> Function {
    let (blocking, nonblocking) = match kind {
        Kind::Barrier => (Function::Barrier, Function::Ibarrier),
        Kind::Bcast => (Function::Bcast, Function::Ibcast),
        Kind::Gather => (Function::Gather, Function::Igather),
        Kind::Scatter => (Function::Scatter, Function::Iscatter),
        Kind::Allgather => (Function::Allgather, Function::Iallgather),
        Kind::Alltoall => (Function::Alltoall, Function::Ialltoall),
        Kind::Reduce => (Function::Reduce, Function::Ireduce),
        Kind::Allreduce => (Function::Allreduce, Function::Iallreduce),
        Kind::ReduceScatter => (Function::Reduce_scatter_block, Function::Ireduce_scatter_block),
        Kind::Scan => (Function::Scan, Function::Iscan),
        Kind::Exscan => (Function::Exscan, Function::Iexscan),
        Kind::Agree | Kind::Neighbor => unreachable!("agreements and neighbourhoods are no collectives of a workload"),
    };
    if starts { nonblocking } else { blocking }
}
