//! The calls of one-sided communication (MPI 5.0 chapter 12), as begin and end: what blocks. What a call
//! means is the crate `rma`.

mod make;

use crate::world::{Mpi, World};
use collective::agreement::{Contribution, Resolve};
use collective::mode::{ENDED, Mode};
use objects::Objects;
use objects::error::{ErrorClass, Failure, Result};
use objects::group::Group;
use objects::win::Flavor;
use p2p::Messages;
use rank::Addr;
use rma::{Rma, RmaArguments};

/// Bytes that each member contributes to the agreement on a window: address, size and displacement unit.
const WINDOW_BYTES: u64 = 24;

impl Mpi {
    /// Returns what an access or an epoch goes through, while nothing else has the world.
    #[inline(always)]
    pub fn rma<T>(&self, call: impl FnOnce(&mut Rma, &mut Messages, &Objects) -> T) -> T {
        let World { objects, messages, chapters, .. } = &mut *self.world();
        call(&mut chapters.rma, messages, objects)
    }

    /// Makes an access of the mounted rank; returns the handle of its request, if one is wanted.
    ///
    /// # Errors
    /// As [`Rma::issue`].
    pub fn access(&self, asked: &RmaArguments) -> Result<usize> {
        self.rma(|rma, messages, objects| rma.issue(messages, objects, asked))
    }

    /// The first half of a call that may have to wait: the handle of the request to wait for.
    ///
    /// # Errors
    /// What `begin` fails with.
    // All waiting of one-sided calls is for a request: one convention, and a blocked rank's report can name
    // it.
    pub fn begin_epoch(
        &self,
        win: usize,
        begin: impl FnOnce(&mut Rma, &mut Messages, &Objects) -> Result<Option<usize>>,
    ) -> Result<Option<usize>> {
        self.may_synchronize(win)?;
        if let Some(request) = self.rma(begin)? {
            if self.begin_wait(request)? {
                return Ok(Some(request));
            }
            self.end_wait(request)?;
        }
        self.reach_own_memory();
        Ok(None)
    }

    /// Completes the mounted rank's accesses to its own globals and stack.
    // They are done before a rank runs, and the end of their epoch need not have blocked it.
    fn reach_own_memory(&self) {
        if self.rma(|rma, messages, _| rma.holds_back(messages.me())) {
            self.step_back();
        }
    }

    /// Checks that the mounted rank may wait on a window: no member is known to have failed.
    ///
    /// # Errors
    /// `MPIX_ERR_PROC_FAILED`.
    fn may_synchronize(&self, win: usize) -> Result {
        self.may_meet(|objects| Some(objects.wins.get(&objects.comms, win).ok()?.comm))
    }

    /// Implements `MPI_Win_create`, `MPI_Win_allocate` with the memory that the rank gives,
    /// `MPI_Win_create_dynamic`, and `MPI_Win_allocate_shared`, whose memory is made here. Returns the
    /// handle.
    ///
    /// # Errors
    /// `MPI_ERR_COMM`, `MPI_ERR_SIZE`, `MPI_ERR_DISP`, `MPI_ERR_BASE`, `MPI_ERR_RMA_SHARED`,
    /// `MPI_ERR_NO_MEM`.
    pub fn make_window(
        &self,
        flavor: Flavor,
        base: Addr,
        size: i64,
        unit: i64,
        comm: usize,
    ) -> Result<usize> {
        if self.world().objects.comms.get(comm)?.is_inter() {
            return Err(Failure::new(
                ErrorClass::COMM,
                "a window needs an intracommunicator, and this is an intercommunicator",
            ));
        }
        let Ok(bytes) = u64::try_from(size) else {
            return Err(Failure::new(
                ErrorClass::SIZE,
                format!("size {size} is negative: use 0 or more bytes"),
            ));
        };
        if unit <= 0 {
            return Err(Failure::new(
                ErrorClass::DISP,
                format!("disp_unit {unit} is no unit: use 1 or more bytes"),
            ));
        }
        if base.is_null() && bytes != 0 && flavor == Flavor::Create {
            return Err(Failure::new(
                ErrorClass::BASE,
                format!("base is a null pointer, but the window has {bytes} bytes; pass memory for them"),
            ));
        }
        let resolve: Resolve = match flavor {
            Flavor::Create => make::create,
            Flavor::Allocate => make::allocate,
            Flavor::Dynamic => make::dynamic,
            Flavor::Shared => make::shared,
        };
        // What is done to a rank's memory is told to others without its doing.
        // From then on a rank may be acted upon at the time of an acknowledgement, which is the shorter
        // lookahead.
        self.world().messages.fabric_mut().expect_handshakes();
        let contribution = Contribution::Window(base.0 as u64, bytes, unit);
        let (_, handle) = self.agree(comm, WINDOW_BYTES, contribution, resolve, Mode::Blocking)?;
        self.rma(|rma, messages, objects| rma.made(messages, objects, handle)).map(|()| handle)
    }

    /// Checks that the mounted rank may free a window: in whatever epoch, if it is known that a member has
    /// failed.
    ///
    /// # Errors
    /// As [`Rma::may_free`].
    pub fn may_free_window(&self, win: usize) -> Result {
        if self.may_synchronize(win).is_err() {
            return Ok(());
        }
        self.rma(|rma, messages, objects| rma.may_free(messages, objects, win).map(|_| ()))
    }

    /// Implements `MPI_Win_free`, which waits for all members unless it is known that one has failed. Returns
    /// memory that is to be given back to the heap, if there is any.
    ///
    /// # Errors
    /// `MPI_ERR_WIN`; `MPI_ERR_RMA_SYNC` in an epoch of locks, of `MPI_Win_start` or of `MPI_Win_post`.
    pub fn free_window(&self, win: usize) -> Result<Option<Addr>> {
        if self.may_synchronize(win).is_err() {
            return self.abandon_window(win);
        }
        let comm = self.rma(|rma, messages, objects| rma.may_free(messages, objects, win))?;
        // `MPI_Win_free` is a barrier for all (MPI 5.0 section 12.2.5): after it nobody's access can still be
        // under way.
        match self.barrier(comm, Mode::Blocking) {
            Err(failure) if failure.class == ErrorClass::PROC_FAILED => return self.abandon_window(win),
            met => met?,
        };
        let world = &mut *self.world();
        let World { objects, messages, chapters, .. } = world;
        let me = messages.me();
        let index = objects.wins.index(&objects.comms, win)?;
        let (flavor, context, rank) = {
            let communicator = objects.comms.get(comm)?;
            (objects.wins.at(index).flavor, communicator.context, communicator.rank(me))
        };
        let own = objects.wins.at(index).exposed[rank as usize].base;
        let first = objects.wins.at(index).exposed[0].base;
        chapters.rma.give_back(messages, index);
        objects.wins.forget(me, win);
        let last = objects.comms.release(comm)?;
        if last {
            objects.wins.remove(index, context);
            chapters.rma.forget(index);
            world.forget_freed();
        }
        Ok(match flavor {
            Flavor::Allocate => Some(Addr(own)),
            Flavor::Shared if last => Some(Addr(first)),
            _ => None,
        })
    }

    /// Gives a window back for the mounted rank after a member has failed. Returns `None`: its memory is not
    /// given back to the heap, because others may not know yet.
    fn abandon_window(&self, win: usize) -> Result<Option<Addr>> {
        let World { objects, messages, chapters, .. } = &mut *self.world();
        let index = objects.wins.index(&objects.comms, win)?;
        let comm = objects.wins.at(index).comm;
        chapters.rma.abandon(messages, objects, index);
        objects.wins.forget(messages.me(), win);
        objects.comms.release(comm).map(|_| None)
    }

    /// Begins `MPI_Win_fence`; returns a word for the second half, unless all is done.
    ///
    /// # Errors
    /// As [`Rma::enter_fence`].
    pub fn begin_fence(&self, win: usize, assert: i32) -> Result<Option<usize>> {
        self.may_synchronize(win)?;
        let comm = self.rma(|rma, messages, objects| {
            rma.enter_fence(messages, objects, win, assert)?;
            objects.wins.get(&objects.comms, win).map(|win| win.comm)
        })?;
        match self.barrier(comm, Mode::Entering)? {
            Some(word) if word != ENDED => Ok(Some(word)),
            _ => self.leave_fence(win).map(|()| None),
        }
    }

    /// Ends an `MPI_Win_fence`, as its second half.
    ///
    /// # Errors
    /// What the barrier failed with.
    pub fn end_fence(&self, word: usize, win: usize) -> Result {
        self.end_collective(word, Addr::NULL)?;
        self.leave_fence(win)
    }

    /// Returns what was accessed in the epoch is to be there before the rank goes on.
    fn leave_fence(&self, win: usize) -> Result {
        if let Some(request) = self.rma(|rma, messages, objects| rma.leave_fence(messages, objects, win))? {
            self.wait(request)?;
        }
        self.reach_own_memory();
        Ok(())
    }

    /// Implements `MPI_Win_post`.
    ///
    /// # Errors
    /// As [`Rma::post`].
    pub fn post(&self, win: usize, group: &Group, assert: i32) -> Result {
        self.rma(|rma, messages, objects| rma.post(messages, objects, win, group, assert))
    }

    /// Implements `MPI_Win_test`. Returns `true` if the exposure epoch is over.
    ///
    /// # Errors
    /// As [`Rma::exposure`].
    pub fn test_exposure(&self, win: usize) -> Result<bool> {
        self.may_synchronize(win)?;
        let request = self.rma(|rma, messages, objects| rma.exposure(messages, objects, win))?;
        let is_over = self.ask_for(request)?;
        self.reach_own_memory();
        Ok(is_over)
    }

    /// Implements `MPI_Win_sync`: what has arrived at the rank's memory by its clock is there.
    ///
    /// # Errors
    /// `MPI_ERR_WIN`.
    pub fn sync(&self, win: usize) -> Result {
        let request = self.rma(|rma, messages, objects| rma.sync(messages, objects, win))?;
        self.ask_for(request)?;
        self.reach_own_memory();
        Ok(())
    }
}
