//! The collective calls (MPI 5.0 chapter 6 and section 8.6), as begin and end: what blocks. What a call means
//! and how its members come together is the crate `collective`.

pub(crate) mod moving;
pub(crate) mod reducing;

use crate::world::Mpi;
use collective::Lengths;
use collective::agreement::{Contribution, Resolve};
use collective::area::BufferArgument;
use collective::entrance::{EnteredCall, Entrance};
use collective::mode::{ENDED, Mode};
use collective::ticket::Ticket;
use objects::error::Result;
use objects::group::Group;
use rank::Addr;
use std::rc::Rc;

impl Mpi {
    /// Returns what a collective call enters through, while nothing else has the world.
    #[inline(always)]
    pub(crate) fn enter<T>(&self, call: impl FnOnce(&mut Entrance) -> T) -> T {
        let world = &mut *self.world();
        let (objects, messages, collectives) =
            (&mut world.objects, &mut world.messages, &mut world.chapters.collectives);
        call(&mut Entrance { objects, messages, collectives })
    }

    /// Records that the mounted rank's collective call on this communicator has failed before the rank
    /// entered it.
    #[cold]
    pub fn refuse_collective(&self, comm: usize) {
        self.enter(|entrance| entrance.refuse(comm));
    }

    /// Waits until the mounted rank is through, unless its call made a request: answers that.
    // What blocks is inlined into the entry points, and everything around it is not: frames of a blocked rank
    // are memory.
    #[inline(always)]
    fn leave(&self, part: Result<EnteredCall>) -> Result<Option<usize>> {
        match &part {
            Ok(part) if part.request.is_none() => self.await_result(part).map(|_| None),
            _ => part.map(|part| part.request),
        }
    }

    /// Blocks until the rank is through, takes its result and leaves; the handle of a new communicator, if
    /// one was made.
    #[inline(always)]
    fn await_result(&self, part: &EnteredCall) -> Result<usize> {
        if !part.through {
            self.block();
        }
        self.take_result(part)
    }

    #[inline(never)]
    fn take_result(&self, part: &EnteredCall) -> Result<usize> {
        self.enter(|entrance| entrance.take_result(part))
    }

    /// Returns what the rank, which has entered, waits for: [`Ticket::THROUGH`] if it is through, with its
    /// result.
    ///
    /// Who gets a result in memory that is not side by side, or of a size of its own, waits here.
    // Rare, and its frame is large: out of line, or every blocked rank would hold it.
    #[inline(never)]
    fn settle(&self, part: &EnteredCall) -> Result<Ticket> {
        if let Some(ticket) = self.enter(|entrance| entrance.ticket(part)) {
            return Ok(ticket);
        }
        self.await_result(part)?;
        Ok(Ticket::THROUGH)
    }

    /// A call whose second half knows all from where the result goes ([`Mpi::end_collective`]).
    // A blocking call in two halves keeps one word, as the arguments of its second half say where the result
    // goes.
    #[inline(always)]
    fn whole(&self, mode: Mode, join: impl FnOnce(Mode) -> Result<EnteredCall>) -> Result<Option<usize>> {
        match mode {
            Mode::Entering => Ok(Some(self.settle(&join(Mode::Blocking)?)?.word())),
            mode => self.leave(join(mode)),
        }
    }

    /// Makes a call as its mode says: whole, or one of its halves. `blocks` answers where its result goes, as
    /// so many blocks.
    #[inline(always)]
    fn in_mode<'a>(
        &self,
        mode: Mode,
        join: impl FnOnce() -> Result<EnteredCall>,
        blocks: impl FnOnce() -> Result<(BufferArgument<'a>, usize)>,
    ) -> Result<Option<usize>> {
        match mode {
            Mode::Entering => {
                let part = join()?;
                let (receive, blocks) = blocks()?;
                self.pause(&part, &receive, blocks)
            }
            Mode::Leaving(word) => {
                let (receive, blocks) = blocks()?;
                self.end_lists(Ticket::of(word), &receive, blocks).map(|()| None)
            }
            Mode::Blocking | Mode::Nonblocking => self.leave(join()),
        }
    }

    /// Ends the first half of a call: a word for the second, unless the rank is through; then its result goes
    /// into the blocks of `receive`.
    fn pause(&self, part: &EnteredCall, receive: &BufferArgument, blocks: usize) -> Result<Option<usize>> {
        if part.through {
            self.end_lists(part.waiting(), receive, blocks)?;
            return Ok(Some(ENDED));
        }
        Ok(Some(part.waiting().word()))
    }

    /// Ends a blocking call of which the first half returned `word`; the result, if the member gets one, goes
    /// to `to`.
    #[inline(never)]
    pub fn end_collective(&self, word: usize, to: Addr) -> Result {
        self.enter(|entrance| entrance.end(Ticket::of(word), to))
    }

    /// Copies the result of the rank, which is through, into its blocks and leaves.
    #[inline(never)]
    fn end_lists(&self, ticket: Ticket, receive: &BufferArgument, blocks: usize) -> Result {
        self.enter(|entrance| entrance.end_lists(ticket, receive, blocks))
    }

    /// Agrees with the members of `comm` on a new communicator: its handle. `bytes` of each member's
    /// contribution cost time.
    pub(crate) fn agree(
        &self,
        comm: usize,
        bytes: u64,
        contribution: Contribution,
        resolve: Resolve,
        mode: Mode,
    ) -> Result<(Option<usize>, usize)> {
        let part =
            self.enter(|entrance| entrance.join_agreement(comm, bytes, (contribution, resolve), mode))?;
        // A root may have waited for another one since it has looked who has failed.
        if self.world().messages.faults().is_some() {
            self.look_around();
        }
        let handle = if part.request.is_none() { self.await_result(&part)? } else { 0 };
        Ok((part.request, handle))
    }

    /// Begins [`Mpi::agree`] of a blocking call, up to its wait. Returns a word for the second half, and
    /// whether the rank has to wait.
    pub(crate) fn begin_agreement(
        &self,
        comm: usize,
        bytes: u64,
        contribution: Contribution,
        resolve: Resolve,
    ) -> Result<(usize, bool)> {
        let part = self.enter(|entrance| {
            entrance.join_agreement(comm, bytes, (contribution, resolve), Mode::Blocking)
        })?;
        Ok((part.waiting().word(), !part.through))
    }

    /// Ends [`Mpi::begin_agreement`], once the rank goes on; returns the handle of the communicator that it
    /// asked for.
    pub(crate) fn end_agreement(&self, word: usize) -> Result<usize> {
        self.enter(|entrance| entrance.end_agreement(Ticket::of(word)))
    }

    /// Begins a blocking collective in a run without payloads; returns a word for [`Mpi::end_collective`], or
    /// [`ENDED`] if the rank is through.
    ///
    /// # Errors
    /// As for the call with buffers.
    pub fn begin_lengths(&self, call: &Lengths) -> Result<usize> {
        Ok(self.settle(&self.enter(|entrance| entrance.join_lengths(call, Mode::Blocking))?)?.word())
    }

    /// Starts a nonblocking collective in a run without payloads; returns the request's handle.
    ///
    /// # Errors
    /// As for the call with buffers.
    pub fn start_lengths(&self, call: &Lengths) -> Result<usize> {
        Ok(self
            .enter(|entrance| entrance.join_lengths(call, Mode::Nonblocking))?
            .request
            .expect("a nonblocking call makes a request"))
    }

    /// Behaves as [`Mpi::agree`], among the members of a group, who find each other by `key`.
    pub(crate) fn agree_in_group(
        &self,
        group: Rc<Group>,
        key: (u32, i32, u32),
        bytes: u64,
        contribution: Contribution,
        resolve: Resolve,
    ) -> Result<usize> {
        let part = self.enter(|entrance| entrance.join_group(group, key, bytes, (contribution, resolve)))?;
        if self.world().messages.faults().is_some() {
            self.look_around();
        }
        self.await_result(&part)
    }

    /// Begins [`Mpi::agree_in_group`] up to its wait, as [`Mpi::begin_agreement`] does.
    pub(crate) fn begin_agreement_in_group(
        &self,
        group: Rc<Group>,
        key: (u32, i32, u32),
        bytes: u64,
        contribution: Contribution,
        resolve: Resolve,
    ) -> Result<(usize, bool)> {
        let part = self.enter(|entrance| entrance.join_group(group, key, bytes, (contribution, resolve)))?;
        Ok((part.waiting().word(), !part.through))
    }

    /// Makes a persistent collective of the mounted rank on a communicator; returns the handle of its
    /// request.
    pub fn persistent_collective(
        &self,
        comm: usize,
        start: impl Fn(&Mpi) -> Result<usize> + 'static,
    ) -> Result<usize> {
        let number = self.enter(|entrance| entrance.initialize(comm))?;
        Ok(self.persistent_of(comm, collective::CHAPTER, number, start))
    }
}
