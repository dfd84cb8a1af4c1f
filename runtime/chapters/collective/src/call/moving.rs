//! Collectives that move data, or nothing at all (MPI 5.0 sections 6.3 to 6.8).

use crate::area::BufferArgument;
use crate::arguments::{CallArguments, CallMemory};
use crate::entrance::{EnteredCall, Entrance};
use crate::membership::CallMembership;
use crate::mode::Mode;
use objects::error::{ErrorClass, Failure, Result};
use p2p::point_to_point::Buffer;
use p2p::point_to_point::view;
use schedule::Kind;

impl Entrance<'_> {
    /// Returns the mounted rank's part in a call with a root.
    fn rooted(&self, comm: usize, root: i32) -> Result<CallMembership> {
        CallMembership::of(self.objects, comm)?.with_root(root)
    }

    /// Returns `blocks` blocks of what a call names.
    fn memory<'a>(&self, argument: &BufferArgument<'a>, blocks: u32) -> Result<CallMemory<'a>> {
        CallMemory::of(self.messages, self.objects, argument, blocks)
    }

    /// Returns the block that the mounted rank gives; in place, where it receives.
    fn own<'a>(
        &self,
        send: (&BufferArgument<'a>, bool),
        receive: (&BufferArgument, &CallMemory),
        place: &CallMembership,
    ) -> Result<CallMemory<'a>> {
        CallMemory::own(self.messages, self.objects, send, receive, place.rank)
    }

    /// Returns the failure of a rank that gives or gets its block in place where it may not: it is not the
    /// root, or in an intercommunicator (MPI 5.0 sections 6.2.3, 6.5 and 6.6).
    #[cold]
    fn misplaced(place: &CallMembership, root: i32, buffer: &str) -> Box<Failure> {
        let (rank, verb) = (place.rank, if buffer == "send" { "gather" } else { "scatter" });
        let why = match place.is_inter() {
            true => format!("in an intercommunicator, where no rank can {verb} in place"),
            false => {
                format!("at rank {rank}, and the root is rank {root}: only the root may {verb} in place")
            }
        };
        let text = format!("the {buffer} buffer is MPI_IN_PLACE {why}; pass a {buffer} buffer elsewhere");
        Failure::new(ErrorClass::BUFFER, text)
    }

    /// Enters the mounted rank into `MPI_Barrier`.
    ///
    /// # Errors
    /// What is wrong with the arguments (MPI 5.0 section 6.2), or that members call something else.
    #[inline(never)]
    pub fn join_barrier(&mut self, comm: usize, mode: Mode) -> Result<EnteredCall> {
        let place = CallMembership::of(self.objects, comm)?;
        let none = (CallMemory::none(), CallMemory::none());
        self.make(&mut CallArguments::of(Kind::Barrier, mode, place, none))
    }

    /// `MPI_Bcast`: the mounted rank enters.
    ///
    /// # Errors
    /// What is wrong with the arguments (MPI 5.0 section 6.2), or that members call something else.
    // The root gives and all others get: nobody is told the size by the root, each says what it expects, and
    // they are compared.
    #[inline(never)]
    pub fn join_bcast(&mut self, buffer: Buffer, root: i32, comm: usize, mode: Mode) -> Result<EnteredCall> {
        let place = self.rooted(comm, root)?;
        // Of an intercommunicator the root's own group takes no part (MPI 5.0 section 6.2.3), and has no
        // buffer to name.
        let memory = match place.is_outside {
            true => CallMemory::none(),
            false => CallMemory::block(view(self.objects, buffer)?),
        };
        let (bytes, opposite) = (memory.bytes(), CallMemory::opposite(&memory));
        let sides = if place.is_root { (memory, opposite) } else { (opposite, memory) };
        let mut call = CallArguments::of(Kind::Bcast, mode, place, sides);
        call.brief.bytes = bytes;
        call.brief.root = Some(root);
        self.make(&mut call)
    }

    /// `MPI_Gather` and `MPI_Gatherv`: the mounted rank enters.
    ///
    /// # Errors
    /// What is wrong with the arguments (MPI 5.0 section 6.2), or that members call something else.
    // The receiving side means something at the root alone (MPI 5.0 section 6.5): others may pass anything
    // there, so it is not looked at.
    #[inline(never)]
    pub fn join_gather(
        &mut self,
        send: BufferArgument,
        receive: BufferArgument,
        root: i32,
        comm: usize,
        mode: Mode,
    ) -> Result<EnteredCall> {
        let place = self.rooted(comm, root)?;
        let gets = place.is_root;
        if send.is_in_place() && !gets && !place.is_outside {
            return Err(Entrance::misplaced(&place, root, "send"));
        }
        let target = if gets { self.memory(&receive, place.peers)? } else { CallMemory::none() };
        let source = if gets && place.is_inter() || place.is_outside {
            CallMemory::none()
        } else {
            self.own((&send, gets && send.is_in_place()), (&receive, &target), &place)?
        };
        let irregular = receive.is_irregular();
        self.make(&mut CallArguments::between_sides(
            Kind::Gather,
            (mode, root),
            irregular,
            place,
            source,
            target,
        ))
    }

    /// Enters the mounted rank into `MPI_Scatter` or `MPI_Scatterv`.
    ///
    /// # Errors
    /// What is wrong with the arguments (MPI 5.0 section 6.2), or that members call something else.
    #[inline(never)]
    pub fn join_scatter(
        &mut self,
        send: BufferArgument,
        receive: BufferArgument,
        root: i32,
        comm: usize,
        mode: Mode,
    ) -> Result<EnteredCall> {
        let place = self.rooted(comm, root)?;
        let gives = place.is_root;
        if receive.is_in_place() && !gives && !place.is_outside {
            return Err(Entrance::misplaced(&place, root, "receive"));
        }
        let source = if gives { self.memory(&send, place.peers)? } else { CallMemory::none() };
        let target = if gives && place.is_inter() || place.is_outside {
            CallMemory::none()
        } else if gives && receive.is_in_place() {
            CallMemory::unseen(source.blocks().bytes(place.rank))
        } else {
            self.memory(&receive, 1)?
        };
        let irregular = send.is_irregular();
        self.make(&mut CallArguments::between_sides(
            Kind::Scatter,
            (mode, root),
            irregular,
            place,
            target,
            source,
        ))
    }

    /// Enters the mounted rank into `MPI_Allgather` or `MPI_Allgatherv`.
    ///
    /// # Errors
    /// What is wrong with the arguments (MPI 5.0 section 6.2), or that members call something else.
    #[inline(never)]
    pub fn join_allgather(
        &mut self,
        send: BufferArgument,
        receive: BufferArgument,
        comm: usize,
        mode: Mode,
    ) -> Result<EnteredCall> {
        let place = CallMembership::of(self.objects, comm)?;
        let (irregular, in_place) = (receive.is_irregular(), send.is_in_place());
        let (source, target) = if irregular {
            let list = self.memory(&receive, place.peers)?;
            (self.own((&send, in_place), (&receive, &list), &place)?, list)
        } else {
            let source = self.own((&send, in_place), (&receive, &CallMemory::none()), &place)?;
            (source, self.memory(&receive, place.peers)?)
        };
        let gathers = match irregular {
            // Both halves of the call read its lists, so that nothing of them is kept while the rank is
            // blocked.
            true => mode == Mode::Entering && source.is_one() && target.as_list().is_some(),
            false => source.is_one() && target.is_one() && target.block_bytes() == source.bytes(),
        };
        let bytes = if irregular { target.bytes() } else { target.block_bytes() };
        let mut call = CallArguments::of(Kind::Allgather, mode, place, (source, target));
        (call.brief.irregular, call.brief.bytes, call.gathers) = (irregular, bytes, gathers);
        self.make(&mut call)
    }

    /// `MPI_Alltoall`, `MPI_Alltoallv` and `MPI_Alltoallw`: the mounted rank enters.
    ///
    /// # Errors
    /// What is wrong with the arguments (MPI 5.0 section 6.2), or that members call something else.
    // In place, what is given lies where it will be received (MPI 5.0 section 6.8): one side says both.
    #[inline(never)]
    pub fn join_alltoall(
        &mut self,
        send: BufferArgument,
        receive: BufferArgument,
        comm: usize,
        mode: Mode,
    ) -> Result<EnteredCall> {
        let place = CallMembership::of(self.objects, comm)?;
        let from = if send.is_in_place() { receive } else { send };
        let source = self.memory(&from, place.peers)?;
        let target = self.memory(&receive, place.peers)?;
        let irregular = receive.is_irregular();
        let gathers = match irregular {
            true => mode == Mode::Entering && source.as_list().is_some() && target.as_list().is_some(),
            false => source.is_one() && target.is_one() && target.bytes() == source.bytes(),
        };
        let bytes = if irregular { 0 } else { target.block_bytes() };
        let mut call = CallArguments::of(Kind::Alltoall, mode, place, (source, target));
        (call.brief.irregular, call.brief.bytes, call.gathers) = (irregular, bytes, gathers);
        self.make(&mut call)
    }
}

impl<'a> CallArguments<'a> {
    /// Returns a gather or scatter with a member's own block, `near`, and at the root all blocks, `far`.
    // Inlined, so that the sides are put where the call has them and not moved there.
    #[inline(always)]
    fn between_sides(
        kind: Kind,
        (mode, root): (Mode, i32),
        irregular: bool,
        place: CallMembership,
        near: CallMemory<'a>,
        far: CallMemory<'a>,
    ) -> CallArguments<'a> {
        let is_root = place.is_root;
        // Of blocks that differ no member knows more than its own: the choice of an algorithm must not see a
        // size then.
        let bytes = if irregular { 0 } else { if is_root { &far } else { &near }.block_bytes() };
        // A root whose own counts contradict each other is told so as an agent.
        let gathers = near.is_known()
            && match irregular {
                true => !is_root || far.as_list().is_some(),
                false => !is_root || far.is_one() && far.block_bytes() == near.bytes(),
            };
        let far = if is_root { far } else { CallMemory::opposite(&near) };
        let sides = if kind == Kind::Gather { (near, far) } else { (far, near) };
        let mut call = CallArguments::of(kind, mode, place, sides);
        (call.brief.root, call.brief.irregular) = (Some(root), irregular);
        (call.brief.bytes, call.gathers) = (bytes, gathers);
        call
    }
}
