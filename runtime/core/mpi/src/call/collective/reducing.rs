//! Collectives that reduce (MPI 5.0 sections 6.9 to 6.11).

use crate::world::Mpi;
use collective::area::{BufferArgument, IN_PLACE, MemberElements};
use collective::mode::Mode;
use collective::ticket::Ticket;
use objects::error::Result;
use p2p::point_to_point::FIRST_MEMORY;
use rank::Addr;
use schedule::Kind;

impl Mpi {
    /// Begins a blocking reduction, and ends it unless the rank must wait for a result that lies side by
    /// side.
    // The arguments one by one: what is passed by reference takes room on the stack of a blocked rank.
    #[allow(clippy::too_many_arguments)]
    #[inline(never)]
    fn begin_reduction(
        &self,
        kind: Kind,
        send: Addr,
        receive: Addr,
        count: i64,
        datatype: usize,
        op: usize,
        root: i32,
        comm: usize,
    ) -> Result<Ticket> {
        let root = (kind == Kind::Reduce).then_some(root);
        let from = if send == IN_PLACE { receive } else { send };
        if matches!(kind, Kind::Allreduce | Kind::Scan)
            && from.0.min(receive.0) >= FIRST_MEMORY
            && let Some(ticket) =
                self.enter(|entrance| entrance.joins_again_as(kind, comm, Some((count, datatype, op)), from))
        {
            return Ok(ticket);
        }
        self.settle(&self.enter(|entrance| {
            entrance.join_reduction(kind, send, receive, (count, datatype), op, root, comm, Mode::Blocking)
        })?)
    }

    /// Makes a call of a reduction, in any mode.
    #[allow(clippy::too_many_arguments)]
    #[inline(always)]
    fn reduction_of(
        &self,
        kind: Kind,
        send: Addr,
        receive: Addr,
        (count, datatype): (i64, usize),
        op: usize,
        root: i32,
        comm: usize,
        mode: Mode,
    ) -> Result<Option<usize>> {
        if mode == Mode::Entering {
            return Ok(Some(
                self.begin_reduction(kind, send, receive, count, datatype, op, root, comm)?.word(),
            ));
        }
        let root = (kind == Kind::Reduce).then_some(root);
        self.leave(self.enter(|entrance| {
            entrance.join_reduction(kind, send, receive, (count, datatype), op, root, comm, mode)
        }))
    }

    /// Implements `MPI_Reduce`.
    #[allow(clippy::too_many_arguments)]
    #[inline(always)]
    pub fn reduce(
        &self,
        send: Addr,
        receive: Addr,
        elements: (i64, usize),
        op: usize,
        root: i32,
        comm: usize,
        mode: Mode,
    ) -> Result<Option<usize>> {
        self.reduction_of(Kind::Reduce, send, receive, elements, op, root, comm, mode)
    }

    /// Implements `MPI_Allreduce`.
    #[inline(always)]
    pub fn allreduce(
        &self,
        send: Addr,
        receive: Addr,
        elements: (i64, usize),
        op: usize,
        comm: usize,
        mode: Mode,
    ) -> Result<Option<usize>> {
        self.reduction_of(Kind::Allreduce, send, receive, elements, op, 0, comm, mode)
    }

    /// Implements `MPI_Scan`.
    #[inline(always)]
    pub fn scan(
        &self,
        send: Addr,
        receive: Addr,
        elements: (i64, usize),
        op: usize,
        comm: usize,
        mode: Mode,
    ) -> Result<Option<usize>> {
        self.reduction_of(Kind::Scan, send, receive, elements, op, 0, comm, mode)
    }

    /// Implements `MPI_Exscan`.
    #[inline(always)]
    pub fn exscan(
        &self,
        send: Addr,
        receive: Addr,
        elements: (i64, usize),
        op: usize,
        comm: usize,
        mode: Mode,
    ) -> Result<Option<usize>> {
        self.whole(mode, |mode| {
            self.enter(|entrance| {
                entrance.join_reduction(Kind::Exscan, send, receive, elements, op, None, comm, mode)
            })
        })
    }

    /// Implements `MPI_Reduce_scatter` and `MPI_Reduce_scatter_block`.
    #[allow(clippy::too_many_arguments)]
    #[inline(always)]
    pub fn reduce_scatter(
        &self,
        send: Addr,
        receive: Addr,
        counts: MemberElements,
        datatype: usize,
        op: usize,
        comm: usize,
        mode: Mode,
    ) -> Result<Option<usize>> {
        let own = || -> Result<(BufferArgument, usize)> {
            let world = self.world();
            let communicator = world.objects.comms.get(comm)?;
            let count = match counts {
                MemberElements::Same(count) => count,
                MemberElements::Each(counts) => counts[communicator.rank(world.messages.me()) as usize],
            };
            Ok((BufferArgument::One((receive, count, datatype)), 1))
        };
        if let MemberElements::Same(_) = counts {
            return self.whole(mode, |mode| {
                self.enter(|entrance| {
                    entrance.join_reduce_scatter(send, receive, counts, datatype, op, comm, mode)
                })
            });
        }
        self.in_mode(
            mode,
            || {
                self.enter(|entrance| {
                    entrance.join_reduce_scatter(send, receive, counts, datatype, op, comm, mode)
                })
            },
            own,
        )
    }
}
