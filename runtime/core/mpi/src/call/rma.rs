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
        let (contribution, resolve) = self.window(flavor, base, size, unit, comm)?;
        let (_, handle) = self.agree(comm, WINDOW_BYTES, contribution, resolve, Mode::Blocking)?;
        self.made_window(handle)
    }

    /// Begins [`Mpi::make_window`], of memory that is nowhere in a run without payloads; returns a word for
    /// [`Mpi::end_window`], and whether the rank has to wait until then.
    ///
    /// # Errors
    /// As [`Mpi::make_window`].
    pub fn begin_window(&self, flavor: Flavor, size: i64, unit: i64, comm: usize) -> Result<(usize, bool)> {
        let (contribution, resolve) = self.window(flavor, Addr::NULL, size, unit, comm)?;
        self.begin_agreement(comm, WINDOW_BYTES, contribution, resolve)
    }

    /// Ends [`Mpi::begin_window`], once the rank goes on; returns the handle.
    ///
    /// # Errors
    /// What the members agreed on.
    pub fn end_window(&self, word: usize) -> Result<usize> {
        self.made_window(self.end_agreement(word)?)
    }

    fn made_window(&self, handle: usize) -> Result<usize> {
        self.rma(|rma, messages, objects| rma.made(messages, objects, handle)).map(|()| handle)
    }

    /// Returns what the mounted rank brings to the agreement on a window, and how that is made.
    fn window(
        &self,
        flavor: Flavor,
        base: Addr,
        size: i64,
        unit: i64,
        comm: usize,
    ) -> Result<(Contribution, Resolve)> {
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
        let has_memory = self.world().messages.payloads().are_carried();
        if has_memory && base.is_null() && bytes != 0 && flavor == Flavor::Create {
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
        Ok((Contribution::Window(base.0 as u64, bytes, unit), resolve))
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
        self.give_window_back(win)
    }

    /// Begins [`Mpi::free_window`]; returns a word for [`Mpi::end_free_window`].
    ///
    /// # Errors
    /// As [`Mpi::free_window`].
    pub fn begin_free_window(&self, win: usize) -> Result<usize> {
        let comm = self.rma(|rma, messages, objects| rma.may_free(messages, objects, win))?;
        Ok(self.barrier(comm, Mode::Entering)?.unwrap_or(ENDED))
    }

    /// Ends [`Mpi::begin_free_window`], once the rank goes on.
    ///
    /// # Errors
    /// What the barrier failed with.
    pub fn end_free_window(&self, word: usize, win: usize) -> Result {
        if word != ENDED {
            self.end_collective(word, Addr::NULL)?;
        }
        self.give_window_back(win).map(|_| ())
    }

    /// Gives a window back for the mounted rank after all members have met.
    fn give_window_back(&self, win: usize) -> Result<Option<Addr>> {
        let world = &mut *self.world();
        let World { objects, messages, chapters, .. } = world;
        let me = messages.me();
        let index = objects.wins.index(&objects.comms, win)?;
        let comm = objects.wins.at(index).comm;
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
        match self.enter_fence(win, assert)? {
            Some(word) => Ok(Some(word)),
            None => self.leave_fence(win).map(|()| None),
        }
    }

    /// Enters the barrier of an `MPI_Win_fence`; returns a word for [`Mpi::end_collective`], unless the rank
    /// is through.
    ///
    /// # Errors
    /// As [`Rma::enter_fence`].
    pub fn enter_fence(&self, win: usize, assert: i32) -> Result<Option<usize>> {
        self.may_synchronize(win)?;
        let comm = self.rma(|rma, messages, objects| {
            rma.enter_fence(messages, objects, win, assert)?;
            objects.wins.get(&objects.comms, win).map(|win| win.comm)
        })?;
        Ok(self.barrier(comm, Mode::Entering)?.filter(|&word| word != ENDED))
    }

    /// Ends an `MPI_Win_fence`, as its second half.
    ///
    /// # Errors
    /// What the barrier failed with.
    pub fn end_fence(&self, word: usize, win: usize) -> Result {
        self.end_collective(word, Addr::NULL)?;
        self.leave_fence(win)
    }

    /// Leaves a fence behind its barrier: what was accessed in the epoch is to be there before the rank goes
    /// on. Returns a request to wait for, unless that is so.
    ///
    /// # Errors
    /// `MPI_ERR_WIN`; `MPIX_ERR_PROC_FAILED`.
    pub fn begin_leave_fence(&self, win: usize) -> Result<Option<usize>> {
        if let Some(request) = self.rma(|rma, messages, objects| rma.leave_fence(messages, objects, win))? {
            if self.begin_wait(request)? {
                return Ok(Some(request));
            }
            self.end_wait(request)?;
        }
        Ok(None)
    }

    fn leave_fence(&self, win: usize) -> Result {
        if let Some(request) = self.begin_leave_fence(win)? {
            self.block();
            self.end_wait(request)?;
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

    /// Returns the request that an `MPI_Win_sync` tests, whatever comes of it.
    ///
    /// # Errors
    /// `MPI_ERR_WIN`.
    pub fn sync_request(&self, win: usize) -> Result<usize> {
        self.rma(|rma, messages, objects| rma.sync(messages, objects, win))
    }

    /// Implements `MPI_Win_sync`: what has arrived at the rank's memory by its clock is there.
    ///
    /// # Errors
    /// `MPI_ERR_WIN`.
    pub fn sync(&self, win: usize) -> Result {
        let request = self.sync_request(win)?;
        self.ask_for(request)?;
        self.reach_own_memory();
        Ok(())
    }
}
