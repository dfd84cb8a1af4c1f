//! The MPI functions that ranks without a program call, for messages and statistics.

use crate::call::{Call, Neighborhood, Requests, Wait};
use crate::window::WindowAction;
use mpi::point_to_point::SendMode;
use mpi::rma::{AccessKind, Flush};
use mpi::schedule::Kind;
use mpi::win::Flavor;

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
    Ineighbor_alltoallv Neighbor_alltoallv_init Comm_dup Comm_split Comm_create_group
    Comm_create_from_group Cart_create Graph_create Dist_graph_create_adjacent Dist_graph_create Cart_sub
    Comm_free Win_create Win_allocate Win_create_dynamic Win_allocate_shared Win_free Put Rput Get Rget
    Accumulate Raccumulate Get_accumulate Rget_accumulate Compare_and_swap Win_fence Win_post Win_start
    Win_complete Win_wait Win_lock Win_lock_all Win_unlock Win_unlock_all Win_flush Win_flush_local
    Win_flush_all Win_flush_local_all Win_sync
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
            Call::Window(call) => window_of(&call.does),
            Call::Local | Call::Compute(_) | Call::Fail(_) => return None,
            Call::End => Function::Finalize,
        })
    }
}

fn window_of(does: &WindowAction) -> Function {
    match does {
        WindowAction::Make(Flavor::Create, ..) => Function::Win_create,
        WindowAction::Make(Flavor::Allocate, ..) => Function::Win_allocate,
        WindowAction::Make(Flavor::Dynamic, ..) => Function::Win_create_dynamic,
        WindowAction::Make(Flavor::Shared, ..) => Function::Win_allocate_shared,
        WindowAction::Free => Function::Win_free,
        WindowAction::Access(access, request) => match (access.kind, request) {
            (AccessKind::Put, None) => Function::Put,
            (AccessKind::Put, Some(_)) => Function::Rput,
            (AccessKind::Get, None) => Function::Get,
            (AccessKind::Get, Some(_)) => Function::Rget,
            (AccessKind::Accumulate, None) => Function::Accumulate,
            (AccessKind::Accumulate, Some(_)) => Function::Raccumulate,
            (AccessKind::Fetch { .. }, None) => Function::Get_accumulate,
            (AccessKind::Fetch { .. }, Some(_)) => Function::Rget_accumulate,
            (AccessKind::CompareAndSwap, _) => Function::Compare_and_swap,
        },
        WindowAction::Fence(_) => Function::Win_fence,
        WindowAction::Post(..) => Function::Win_post,
        WindowAction::Start(..) => Function::Win_start,
        WindowAction::Complete => Function::Win_complete,
        WindowAction::Wait => Function::Win_wait,
        WindowAction::Lock(..) => Function::Win_lock,
        WindowAction::LockAll(_) => Function::Win_lock_all,
        WindowAction::Unlock(_) => Function::Win_unlock,
        WindowAction::UnlockAll => Function::Win_unlock_all,
        WindowAction::Flush(Flush::Target(_), false) => Function::Win_flush,
        WindowAction::Flush(Flush::Target(_), true) => Function::Win_flush_local,
        WindowAction::Flush(Flush::All, false) => Function::Win_flush_all,
        WindowAction::Flush(Flush::All, true) => Function::Win_flush_local_all,
        WindowAction::Sync => Function::Win_sync,
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
