//! The MPI functions that ranks without a program call, for messages and statistics.

use crate::call::{Call, Neighborhood, Requests, Wait};
use mpi::point_to_point::SendMode;
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
    Init Finalize Send Ssend Bsend Rsend Isend Issend Ibsend Irsend Recv Irecv Sendrecv Isendrecv
    Probe Mprobe Mrecv Imrecv Request_free Wait Waitall Waitany Waitsome Test Testall Start Startall
    Barrier Bcast Gather Scatter Allgather Alltoall Reduce Allreduce Reduce_scatter_block Scan Exscan
    Ibarrier Ibcast Igather Iscatter Iallgather Ialltoall Ireduce Iallreduce Ireduce_scatter_block
    Iscan Iexscan Barrier_init Bcast_init Gather_init Scatter_init Allgather_init Alltoall_init
    Reduce_init Allreduce_init Reduce_scatter_block_init Scan_init Exscan_init Neighbor_alltoallv
    Ineighbor_alltoallv Neighbor_alltoallv_init Comm_dup Comm_idup Comm_split Comm_create_group
    Comm_create_from_group Cart_create Graph_create Dist_graph_create_adjacent Dist_graph_create Cart_sub
    Comm_free
}

impl Function {
    /// Returns the function of a call; `None` of what is none.
    pub(crate) fn of(call: &Call) -> Option<Function> {
        let one = |requests: &Requests| matches!(requests, Requests::These(these) if these.len() == 1);
        Some(match call {
            Call::Send(SendMode::Standard, _) => Function::Send,
            Call::Send(SendMode::Synchronous, _) => Function::Ssend,
            Call::Send(SendMode::Buffered, _) => Function::Bsend,
            Call::Send(SendMode::Ready, _) => Function::Rsend,
            Call::Isend(SendMode::Standard, ..) => Function::Isend,
            Call::Isend(SendMode::Synchronous, ..) => Function::Issend,
            Call::Isend(SendMode::Buffered, ..) => Function::Ibsend,
            Call::Isend(SendMode::Ready, ..) => Function::Irsend,
            Call::Recv(_) => Function::Recv,
            Call::Irecv(..) => Function::Irecv,
            Call::SendReceive(_) => Function::Sendrecv,
            Call::IsendReceive(..) => Function::Isendrecv,
            Call::Probe(_) => Function::Probe,
            Call::Mprobe(..) => Function::Mprobe,
            Call::Mrecv(..) => Function::Mrecv,
            Call::Imrecv(..) => Function::Imrecv,
            Call::Several(_) => Function::Startall,
            Call::FreeRequest(_) => Function::Request_free,
            Call::Complete(Wait::All, requests) => {
                if one(requests) {
                    Function::Wait
                } else {
                    Function::Waitall
                }
            }
            Call::Complete(Wait::Any, _) => Function::Waitany,
            Call::Complete(Wait::Some, _) => Function::Waitsome,
            Call::Complete(Wait::Test | Wait::Tested, requests) => {
                if one(requests) {
                    Function::Test
                } else {
                    Function::Testall
                }
            }
            Call::Collective(collective) => collective_of(collective.kind, false),
            Call::Icollective(collective, _) => collective_of(collective.kind, true),
            Call::PersistentCollective(collective, _) => initialization_of(collective.kind),
            Call::Start(_) => Function::Start,
            Call::Dup(_) => Function::Comm_dup,
            Call::Idup(..) => Function::Comm_idup,
            Call::Split(..) => Function::Comm_split,
            Call::Group(Some(_), ..) => Function::Comm_create_group,
            Call::Group(None, ..) => Function::Comm_create_from_group,
            Call::Neighborhood(_, neighborhood) => match **neighborhood {
                Neighborhood::Cart(..) => Function::Cart_create,
                Neighborhood::Graph(..) => Function::Graph_create,
                Neighborhood::Adjacent(..) => Function::Dist_graph_create_adjacent,
                Neighborhood::Edges(_) => Function::Dist_graph_create,
                Neighborhood::Part(_) => Function::Cart_sub,
            },
            Call::FreeComm(_) => Function::Comm_free,
            Call::Bridge(_)
            | Call::Port(_)
            | Call::Window(_)
            | Call::File(_)
            | Call::Type(_)
            | Call::Partitioned(_)
            | Call::Failing(_)
            | Call::Refused(_) => unreachable!("a workload that has these names its functions"),
            Call::Local | Call::Compute(_) | Call::Fail(_) => return None,
            Call::End => Function::Finalize,
        })
    }
}

/// Returns the function of a collective, blocking or not.
///
/// # Panics
/// On kinds that are no calls of their own.
fn collective_of(kind: Kind, starts: bool) -> Function {
    let [blocking, nonblocking, _] = forms_of(kind);
    if starts { nonblocking } else { blocking }
}

/// Returns the function that makes a persistent collective.
///
/// # Panics
/// As [`collective_of`].
fn initialization_of(kind: Kind) -> Function {
    forms_of(kind)[2]
}

fn forms_of(kind: Kind) -> [Function; 3] {
    use Function::*;
    match kind {
        Kind::Barrier => [Barrier, Ibarrier, Barrier_init],
        Kind::Bcast => [Bcast, Ibcast, Bcast_init],
        Kind::Gather => [Gather, Igather, Gather_init],
        Kind::Scatter => [Scatter, Iscatter, Scatter_init],
        Kind::Allgather => [Allgather, Iallgather, Allgather_init],
        Kind::Alltoall => [Alltoall, Ialltoall, Alltoall_init],
        Kind::Reduce => [Reduce, Ireduce, Reduce_init],
        Kind::Allreduce => [Allreduce, Iallreduce, Allreduce_init],
        Kind::ReduceScatter => [Reduce_scatter_block, Ireduce_scatter_block, Reduce_scatter_block_init],
        Kind::Scan => [Scan, Iscan, Scan_init],
        Kind::Exscan => [Exscan, Iexscan, Exscan_init],
        // All forms of it are the same to who has no program: so many bytes for and from each neighbour.
        Kind::Neighbor => [Neighbor_alltoallv, Ineighbor_alltoallv, Neighbor_alltoallv_init],
        Kind::Agree => unreachable!("agreements are no collectives of a workload"),
    }
}
