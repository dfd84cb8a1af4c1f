//! Collective communication (MPI 5.0 chapters 6 and 8.6): blocking, nonblocking and persistent forms.

use crate::args::{Counts, Handle, Handles, Out};
use crate::call::{Call, Wait};
use mpi::Mpi;
use mpi::collective::area::{BufferArgument, IN_PLACE, MemberElements, Typed, Vector};
use mpi::collective::mode::{ENDED, Mode};
use mpi::error::{ErrorClass, Failure, Result};
use mpi::request::ROOT;
use rank::Addr;

/// Counts and displacements of a v form, copied.
struct CopiedCounts {
    counts: Vec<i64>,
    displacements: Vec<i64>,
}

impl CopiedCounts {
    fn read(blocks: usize, counts: Counts, displacements: Counts) -> Result<CopiedCounts> {
        if blocks > 0 && (counts.is_null() || displacements.is_null()) {
            return Err(Failure::new(
                ErrorClass::ARG,
                format!("the arrays of counts and displacements are null, but {blocks} blocks are asked for"),
            ));
        }
        let lists =
            CopiedCounts { counts: counts.to_vec(blocks), displacements: displacements.to_vec(blocks) };
        check(&lists.counts)?;
        Ok(lists)
    }
    fn vector(&self, at: Addr, datatype: Handle) -> BufferArgument<'_> {
        BufferArgument::Each(Vector {
            at,
            counts: &self.counts,
            displacements: &self.displacements,
            datatype: datatype.0,
        })
    }
    fn typed<'a>(&'a self, at: Addr, datatypes: &'a [usize]) -> BufferArgument<'a> {
        BufferArgument::Typed(Typed {
            at,
            counts: &self.counts,
            displacements: &self.displacements,
            datatypes,
        })
    }
}

fn check(counts: &[i64]) -> Result {
    match counts.iter().position(|&count| count < 0) {
        Some(index) => Err(Failure::new(
            ErrorClass::COUNT,
            format!("count {index} is {}, and a count must not be negative", counts[index]),
        )),
        None => Ok(()),
    }
}

fn peers(mpi: &Mpi, comm: Handle) -> Result<usize> {
    Ok(mpi.world().objects.comms.get(comm.0)?.peers() as usize)
}

fn is_root(mpi: &Mpi, root: i32, comm: Handle) -> Result<bool> {
    let world = mpi.world();
    let communicator = world.objects.comms.get(comm.0)?;
    Ok(if communicator.is_inter() {
        root == ROOT
    } else {
        root >= 0 && communicator.rank(world.messages.me()) == root as u32
    })
}

/// The counts of a reduce_scatter, copied.
fn reduced(mpi: &Mpi, counts: Counts, comm: Handle) -> Result<Vec<i64>> {
    let counts = counts.to_vec(mpi.world().objects.comms.get(comm.0)?.size() as usize);
    check(&counts)?;
    Ok(counts)
}

fn handles(list: Handles, count: usize) -> Vec<usize> {
    (0..count).map(|index| list.get(index).0).collect()
}

/// Returns `true` if a call reads what it says of the blocks that it sends.
fn gives(buffer: Addr, mode: Mode) -> bool {
    buffer != IN_PLACE && !matches!(mode, Mode::Leaving(_))
}

fn side(at: Addr, count: i64, datatype: Handle) -> BufferArgument<'static> {
    BufferArgument::of((at, count, datatype.0))
}

/// A word of the first half for the second, unless all is done.
fn waits(word: Option<usize>) -> Option<Wait> {
    word.filter(|&word| word != ENDED).map(|word| Wait(word as u64))
}

/// The forms of each: blocking in two halves, nonblocking, persistent. What is kept of the arguments' arrays
/// is copied by the call itself, so that a persistent request does not refer to arrays that its program has
/// given back. The second half is told where the result goes (`to`); that of calls with lists of blocks (`in
/// halves`) reads all arguments again, so that nothing is kept while a rank waits.
macro_rules! collectives {
    ($($name:ident $end:ident $iname:ident $init:ident $mpi_name:literal ($($arg:ident: $type:ty),*)
        $(to $to:ident)? $(in halves $half:ident)?
        |$mpi:ident, $mode:ident, $comm:ident| $(keep $kept:ident = $value:expr;)* $body:block)*) => { $(
        collectives! {
            @blocking ($(to $to)? $(in halves $half)?) $name $end $mpi_name ($($arg: $type),*) |$mpi, $mode| {
            $(let $kept = $value;)*
            let done: Result<Option<usize>> = $body;
            done
        } }
        #[doc = concat!("The nonblocking form of `MPI_", $mpi_name, "`.")]
        #[allow(clippy::too_many_arguments)]
        pub fn $iname(c: &Call, $($arg: $type,)* request: Out<Handle>) -> Result {
            let ($mpi, $mode) = (c.mpi, Mode::Nonblocking);
            $(let $kept = $value;)*
            let made: Result<Option<usize>> = $body;
            request.set(Handle(made?.expect("a nonblocking call makes a request")));
            Ok(())
        }
        #[doc = concat!("The persistent form of `MPI_", $mpi_name, "`.")]
        #[allow(clippy::too_many_arguments)]
        pub fn $init(c: &Call, $($arg: $type,)* _info: Handle, request: Out<Handle>) -> Result {
            #[allow(unused_variables, reason = "what is kept may need it")]
            let $mpi = c.mpi;
            let $mode = Mode::Nonblocking;
            $(let $kept = $value;)*
            let start = move |$mpi: &Mpi| -> Result<usize> {
                let made: Result<Option<usize>> = $body;
                Ok(made?.expect("a nonblocking call makes a request"))
            };
            request.set(Handle(c.mpi.persistent_collective($comm.0, start)?));
            Ok(())
        }
    )* };
    (
        @blocking ($(to $to:ident)?) $name:ident $end:ident $mpi_name:literal ($($arg:ident: $type:ty),*)
        |$mpi:ident, $mode:ident| $body:block
    ) => {
        #[doc = concat!("`MPI_", $mpi_name, "` up to its wait.")]
        #[allow(clippy::too_many_arguments)]
        #[inline(always)]
        pub fn $name(c: &Call, $($arg: $type),*) -> Result<Option<Wait>> {
            let ($mpi, $mode) = (c.mpi, Mode::Entering);
            $body.map(waits)
        }
        #[doc = concat!("`MPI_", $mpi_name, "` after its wait.")]
        #[inline(always)]
        pub fn $end(c: &Call, Wait(word): Wait $(, $to: Addr)?) -> Result {
            #[allow(unused_variables, reason = "most have one")]
            let to = Addr::NULL;
            $(let to = $to;)?
            c.mpi.end_collective(word as usize, to)
        }
    };
    (
        @blocking (in halves $half:ident) $name:ident $end:ident $mpi_name:literal ($($arg:ident: $type:ty),*)
        |$mpi:ident, $mode:ident| $body:block
    ) => {
        #[allow(clippy::too_many_arguments)]
        #[inline(never)]
        fn $half($mpi: &Mpi, $mode: Mode, $($arg: $type),*) -> Result<Option<usize>> {
            $body
        }
        #[doc = concat!("`MPI_", $mpi_name, "` up to its wait.")]
        #[allow(clippy::too_many_arguments)]
        #[inline(always)]
        pub fn $name(c: &Call, $($arg: $type),*) -> Result<Option<Wait>> {
            $half(c.mpi, Mode::Entering, $($arg),*).map(waits)
        }
        #[doc = concat!("`MPI_", $mpi_name, "` after its wait.")]
        #[allow(clippy::too_many_arguments)]
        #[inline(always)]
        pub fn $end(c: &Call, Wait(word): Wait, $($arg: $type),*) -> Result {
            $half(c.mpi, Mode::Leaving(word as usize), $($arg),*).map(|_| ())
        }
    };
}

collectives! {
    barrier barrier_end ibarrier barrier_init "Barrier" (comm: Handle) |mpi, mode, comm| {
        mpi.barrier(comm.0, mode)
    }

    bcast bcast_end ibcast bcast_init "Bcast" (
        buffer: Addr, count: i64, datatype: Handle, root: i32, comm: Handle
    ) to buffer |mpi, mode, comm| {
        mpi.bcast((buffer, count, datatype.0), root, comm.0, mode)
    }

    gather gather_end igather gather_init "Gather" (
        sendbuf: Addr, sendcount: i64, sendtype: Handle, recvbuf: Addr, recvcount: i64, recvtype: Handle,
        root: i32, comm: Handle
    ) to recvbuf |mpi, mode, comm| {
        mpi.gather(side(sendbuf, sendcount, sendtype), side(recvbuf, recvcount, recvtype), root, comm.0, mode)
    }

    gatherv gatherv_end igatherv gatherv_init "Gatherv" (
        sendbuf: Addr, sendcount: i64, sendtype: Handle, recvbuf: Addr, recvcounts: Counts,
        displs: Counts, recvtype: Handle, root: i32, comm: Handle
    ) to recvbuf |mpi, mode, comm|
        keep lists = CopiedCounts::read(
            if is_root(mpi, root, comm)? { peers(mpi, comm)? } else { 0 }, recvcounts, displs
        )?; {
        mpi.gather(side(sendbuf, sendcount, sendtype), lists.vector(recvbuf, recvtype), root, comm.0, mode)
    }

    scatter scatter_end iscatter scatter_init "Scatter" (
        sendbuf: Addr, sendcount: i64, sendtype: Handle, recvbuf: Addr, recvcount: i64, recvtype: Handle,
        root: i32, comm: Handle
    ) to recvbuf |mpi, mode, comm| {
        mpi.scatter(
            side(sendbuf, sendcount, sendtype), side(recvbuf, recvcount, recvtype), root, comm.0, mode
        )
    }

    scatterv scatterv_end iscatterv scatterv_init "Scatterv" (
        sendbuf: Addr, sendcounts: Counts, displs: Counts, sendtype: Handle, recvbuf: Addr,
        recvcount: i64, recvtype: Handle, root: i32, comm: Handle
    ) to recvbuf |mpi, mode, comm|
        keep lists = CopiedCounts::read(
            if is_root(mpi, root, comm)? { peers(mpi, comm)? } else { 0 }, sendcounts, displs
        )?; {
        mpi.scatter(lists.vector(sendbuf, sendtype), side(recvbuf, recvcount, recvtype), root, comm.0, mode)
    }

    allgather allgather_end iallgather allgather_init "Allgather" (
        sendbuf: Addr, sendcount: i64, sendtype: Handle, recvbuf: Addr, recvcount: i64, recvtype: Handle,
        comm: Handle
    ) to recvbuf |mpi, mode, comm| {
        mpi.allgather(side(sendbuf, sendcount, sendtype), side(recvbuf, recvcount, recvtype), comm.0, mode)
    }

    allgatherv allgatherv_end iallgatherv allgatherv_init "Allgatherv" (
        sendbuf: Addr, sendcount: i64, sendtype: Handle, recvbuf: Addr, recvcounts: Counts,
        displs: Counts, recvtype: Handle, comm: Handle
    ) in halves allgatherv_half |mpi, mode, comm|
        keep lists = CopiedCounts::read(peers(mpi, comm)?, recvcounts, displs)?; {
        mpi.allgather(side(sendbuf, sendcount, sendtype), lists.vector(recvbuf, recvtype), comm.0, mode)
    }

    alltoall alltoall_end ialltoall alltoall_init "Alltoall" (
        sendbuf: Addr, sendcount: i64, sendtype: Handle, recvbuf: Addr, recvcount: i64, recvtype: Handle,
        comm: Handle
    ) to recvbuf |mpi, mode, comm| {
        mpi.alltoall(side(sendbuf, sendcount, sendtype), side(recvbuf, recvcount, recvtype), comm.0, mode)
    }

    alltoallv alltoallv_end ialltoallv alltoallv_init "Alltoallv" (
        sendbuf: Addr, sendcounts: Counts, sdispls: Counts, sendtype: Handle, recvbuf: Addr,
        recvcounts: Counts, rdispls: Counts, recvtype: Handle, comm: Handle
    ) in halves alltoallv_half |mpi, mode, comm|
        keep blocks = peers(mpi, comm)?;
        keep receive = CopiedCounts::read(blocks, recvcounts, rdispls)?;
        keep send = CopiedCounts::read(if gives(sendbuf, mode) { blocks } else { 0 }, sendcounts, sdispls)?; {
        if sendbuf == IN_PLACE {
            mpi.alltoall(BufferArgument::InPlace, receive.vector(recvbuf, recvtype), comm.0, mode)
        } else {
            mpi.alltoall(send.vector(sendbuf, sendtype), receive.vector(recvbuf, recvtype), comm.0, mode)
        }
    }

    alltoallw alltoallw_end ialltoallw alltoallw_init "Alltoallw" (
        sendbuf: Addr, sendcounts: Counts, sdispls: Counts, sendtypes: Handles, recvbuf: Addr,
        recvcounts: Counts, rdispls: Counts, recvtypes: Handles, comm: Handle
    ) in halves alltoallw_half |mpi, mode, comm|
        keep blocks = peers(mpi, comm)?;
        keep given = if gives(sendbuf, mode) { blocks } else { 0 };
        keep receive = CopiedCounts::read(blocks, recvcounts, rdispls)?;
        keep recvtypes = handles(recvtypes, blocks);
        keep send = CopiedCounts::read(given, sendcounts, sdispls)?;
        keep sendtypes = handles(sendtypes, given); {
        if sendbuf == IN_PLACE {
            mpi.alltoall(BufferArgument::InPlace, receive.typed(recvbuf, &recvtypes), comm.0, mode)
        } else {
            mpi.alltoall(send.typed(sendbuf, &sendtypes), receive.typed(recvbuf, &recvtypes), comm.0, mode)
        }
    }

    reduce reduce_end ireduce reduce_init "Reduce" (
        sendbuf: Addr, recvbuf: Addr, count: i64, datatype: Handle, op: Handle, root: i32, comm: Handle
    ) to recvbuf |mpi, mode, comm| {
        mpi.reduce(sendbuf, recvbuf, (count, datatype.0), op.0, root, comm.0, mode)
    }

    allreduce allreduce_end iallreduce allreduce_init "Allreduce" (
        sendbuf: Addr, recvbuf: Addr, count: i64, datatype: Handle, op: Handle, comm: Handle
    ) to recvbuf |mpi, mode, comm| {
        mpi.allreduce(sendbuf, recvbuf, (count, datatype.0), op.0, comm.0, mode)
    }

    scan scan_end iscan scan_init "Scan" (
        sendbuf: Addr, recvbuf: Addr, count: i64, datatype: Handle, op: Handle, comm: Handle
    ) to recvbuf |mpi, mode, comm| {
        mpi.scan(sendbuf, recvbuf, (count, datatype.0), op.0, comm.0, mode)
    }

    exscan exscan_end iexscan exscan_init "Exscan" (
        sendbuf: Addr, recvbuf: Addr, count: i64, datatype: Handle, op: Handle, comm: Handle
    ) to recvbuf |mpi, mode, comm| {
        mpi.exscan(sendbuf, recvbuf, (count, datatype.0), op.0, comm.0, mode)
    }

    reduce_scatter reduce_scatter_end ireduce_scatter reduce_scatter_init "Reduce_scatter" (
        sendbuf: Addr, recvbuf: Addr, recvcounts: Counts, datatype: Handle, op: Handle, comm: Handle
    ) in halves reduce_scatter_half |mpi, mode, comm|
        keep counts = reduced(mpi, recvcounts, comm)?; {
        mpi.reduce_scatter(sendbuf, recvbuf, MemberElements::Each(&counts), datatype.0, op.0, comm.0, mode)
    }

    reduce_scatter_block reduce_scatter_block_end ireduce_scatter_block reduce_scatter_block_init
        "Reduce_scatter_block" (
        sendbuf: Addr, recvbuf: Addr, recvcount: i64, datatype: Handle, op: Handle, comm: Handle
    ) to recvbuf |mpi, mode, comm| {
        mpi.reduce_scatter(sendbuf, recvbuf, MemberElements::Same(recvcount), datatype.0, op.0, comm.0, mode)
    }

    neighbor_allgather neighbor_allgather_end ineighbor_allgather neighbor_allgather_init
        "Neighbor_allgather" (
        sendbuf: Addr, sendcount: i64, sendtype: Handle, recvbuf: Addr, recvcount: i64, recvtype: Handle,
        comm: Handle
    ) in halves neighbor_allgather_half |mpi, mode, comm| {
        let send = BufferArgument::One((sendbuf, sendcount, sendtype.0));
        let receive = BufferArgument::One((recvbuf, recvcount, recvtype.0));
        mpi.neighbor(send, receive, false, comm.0, mode)
    }

    neighbor_allgatherv neighbor_allgatherv_end ineighbor_allgatherv neighbor_allgatherv_init
        "Neighbor_allgatherv" (
        sendbuf: Addr, sendcount: i64, sendtype: Handle, recvbuf: Addr, recvcounts: Counts,
        displs: Counts, recvtype: Handle, comm: Handle
    ) in halves neighbor_allgatherv_half |mpi, mode, comm|
        keep lists = CopiedCounts::read(mpi.neighbor_counts(comm.0)?.0, recvcounts, displs)?; {
        let send = BufferArgument::One((sendbuf, sendcount, sendtype.0));
        mpi.neighbor(send, lists.vector(recvbuf, recvtype), false, comm.0, mode)
    }

    neighbor_alltoall neighbor_alltoall_end ineighbor_alltoall neighbor_alltoall_init "Neighbor_alltoall" (
        sendbuf: Addr, sendcount: i64, sendtype: Handle, recvbuf: Addr, recvcount: i64, recvtype: Handle,
        comm: Handle
    ) in halves neighbor_alltoall_half |mpi, mode, comm| {
        let send = BufferArgument::One((sendbuf, sendcount, sendtype.0));
        let receive = BufferArgument::One((recvbuf, recvcount, recvtype.0));
        mpi.neighbor(send, receive, true, comm.0, mode)
    }

    neighbor_alltoallv neighbor_alltoallv_end ineighbor_alltoallv neighbor_alltoallv_init
        "Neighbor_alltoallv" (
        sendbuf: Addr, sendcounts: Counts, sdispls: Counts, sendtype: Handle, recvbuf: Addr,
        recvcounts: Counts, rdispls: Counts, recvtype: Handle, comm: Handle
    ) in halves neighbor_alltoallv_half |mpi, mode, comm|
        keep peers = mpi.neighbor_counts(comm.0)?;
        keep send = CopiedCounts::read(if gives(sendbuf, mode) { peers.1 } else { 0 }, sendcounts, sdispls)?;
        keep receive = CopiedCounts::read(peers.0, recvcounts, rdispls)?; {
        mpi.neighbor(send.vector(sendbuf, sendtype), receive.vector(recvbuf, recvtype), true, comm.0, mode)
    }

    neighbor_alltoallw neighbor_alltoallw_end ineighbor_alltoallw neighbor_alltoallw_init
        "Neighbor_alltoallw" (
        sendbuf: Addr, sendcounts: Counts, sdispls: Counts, sendtypes: Handles, recvbuf: Addr,
        recvcounts: Counts, rdispls: Counts, recvtypes: Handles, comm: Handle
    ) in halves neighbor_alltoallw_half |mpi, mode, comm|
        keep peers = mpi.neighbor_counts(comm.0)?;
        keep send = CopiedCounts::read(if gives(sendbuf, mode) { peers.1 } else { 0 }, sendcounts, sdispls)?;
        keep receive = CopiedCounts::read(peers.0, recvcounts, rdispls)?;
        keep sendtypes = handles(sendtypes, send.counts.len());
        keep recvtypes = handles(recvtypes, peers.0); {
        mpi.neighbor(send.typed(sendbuf, &sendtypes), receive.typed(recvbuf, &recvtypes), true, comm.0, mode)
    }
}
