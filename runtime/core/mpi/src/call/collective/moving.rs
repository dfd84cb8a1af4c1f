//! Collectives that move data, or nothing at all (MPI 5.0 sections 6.3 to 6.8 and 8.6).

use crate::world::Mpi;
use collective::area::BufferArgument;
use collective::mode::Mode;
use collective::ticket::Ticket;
use objects::error::Result;
use p2p::point_to_point::Buffer;
use rank::Addr;
use schedule::Kind;

impl Mpi {
    /// Implements `MPI_Barrier`.
    #[inline(always)]
    pub fn barrier(&self, comm: usize, mode: Mode) -> Result<Option<usize>> {
        if mode == Mode::Entering {
            return Ok(Some(self.begin_barrier(comm)?.word()));
        }
        self.leave(self.enter(|entrance| entrance.join_barrier(comm, mode)))
    }

    #[inline(never)]
    fn begin_barrier(&self, comm: usize) -> Result<Ticket> {
        match self.enter(|entrance| entrance.joins_again_as(Kind::Barrier, comm, None, Addr::NULL)) {
            Some(ticket) => Ok(ticket),
            None => self.settle(&self.enter(|entrance| entrance.join_barrier(comm, Mode::Blocking))?),
        }
    }

    /// Implements `MPI_Bcast`.
    #[inline(always)]
    pub fn bcast(&self, buffer: Buffer, root: i32, comm: usize, mode: Mode) -> Result<Option<usize>> {
        if mode == Mode::Entering {
            return Ok(Some(self.begin_bcast(buffer.0, buffer.1, buffer.2, root, comm)?.word()));
        }
        self.leave(self.enter(|entrance| entrance.join_bcast(buffer, root, comm, mode)))
    }

    #[inline(never)]
    fn begin_bcast(
        &self,
        buffer: Addr,
        count: i64,
        datatype: usize,
        root: i32,
        comm: usize,
    ) -> Result<Ticket> {
        self.settle(
            &self.enter(|entrance| {
                entrance.join_bcast((buffer, count, datatype), root, comm, Mode::Blocking)
            })?,
        )
    }

    /// Implements `MPI_Gather` and `MPI_Gatherv`.
    #[inline(always)]
    pub fn gather(
        &self,
        send: BufferArgument,
        receive: BufferArgument,
        root: i32,
        comm: usize,
        mode: Mode,
    ) -> Result<Option<usize>> {
        self.whole(mode, |mode| self.enter(|entrance| entrance.join_gather(send, receive, root, comm, mode)))
    }

    /// Implements `MPI_Scatter` and `MPI_Scatterv`.
    #[inline(always)]
    pub fn scatter(
        &self,
        send: BufferArgument,
        receive: BufferArgument,
        root: i32,
        comm: usize,
        mode: Mode,
    ) -> Result<Option<usize>> {
        self.whole(mode, |mode| self.enter(|entrance| entrance.join_scatter(send, receive, root, comm, mode)))
    }

    /// Implements `MPI_Allgather` and `MPI_Allgatherv`.
    #[inline(always)]
    pub fn allgather(
        &self,
        send: BufferArgument,
        receive: BufferArgument,
        comm: usize,
        mode: Mode,
    ) -> Result<Option<usize>> {
        let blocks = || Ok((receive, self.world().objects.comms.get(comm)?.peers() as usize));
        if !receive.is_irregular() {
            return self.whole(mode, |mode| {
                self.enter(|entrance| entrance.join_allgather(send, receive, comm, mode))
            });
        }
        self.in_mode(
            mode,
            || self.enter(|entrance| entrance.join_allgather(send, receive, comm, mode)),
            blocks,
        )
    }

    /// Implements `MPI_Alltoall`, `MPI_Alltoallv` and `MPI_Alltoallw`.
    #[inline(always)]
    pub fn alltoall(
        &self,
        send: BufferArgument,
        receive: BufferArgument,
        comm: usize,
        mode: Mode,
    ) -> Result<Option<usize>> {
        let blocks = || Ok((receive, self.world().objects.comms.get(comm)?.peers() as usize));
        if !receive.is_irregular() {
            return self.whole(mode, |mode| {
                self.enter(|entrance| entrance.join_alltoall(send, receive, comm, mode))
            });
        }
        self.in_mode(
            mode,
            || self.enter(|entrance| entrance.join_alltoall(send, receive, comm, mode)),
            blocks,
        )
    }

    /// Makes a call of a neighbourhood collective (MPI 5.0 chapter 8.6). With `each`, every neighbour gets a
    /// block of its own (alltoall forms).
    #[inline(always)]
    pub fn neighbor(
        &self,
        send: BufferArgument,
        receive: BufferArgument,
        each: bool,
        comm: usize,
        mode: Mode,
    ) -> Result<Option<usize>> {
        let sources = || Ok((receive, self.enter(|entrance| entrance.neighbor_counts(comm))?.0));
        self.in_mode(
            mode,
            || self.enter(|entrance| entrance.join_neighbor(send, receive, each, comm, mode)),
            sources,
        )
    }

    /// Returns how many neighbours send to the mounted rank, and how many it sends to.
    ///
    /// # Errors
    /// `MPI_ERR_COMM`.
    pub fn neighbor_counts(&self, comm: usize) -> Result<(usize, usize)> {
        self.enter(|entrance| entrance.neighbor_counts(comm))
    }
}
