//! Collectives that move data, or nothing at all (MPI 5.0 sections 6.3 to 6.8).

use super::Beside;
use crate::area::area;
use crate::area::{Area, BufferArgument};
use crate::blocks::block_list;
use crate::brief::{Brief, Bring};
use crate::entrance::{EnteredCall, Entrance};
use crate::gatherv::RootBlocks;
use crate::mode::Mode;
use objects::Objects;
use objects::error::Result;
use p2p::point_to_point::Buffer;
use p2p::point_to_point::view;
use p2p::request::PROC_NULL;
use p2p::view::BufferView;
use schedule::{Blocks, Kind};

/// Returns what member `me` of a gathering gives: in place, its own block of the receiving side.
// In place, what a member gives is where it also receives: the same memory, so that it is packed before
// anything arrives.
fn own_area(
    objects: &Objects,
    send: &BufferArgument,
    (receive, target): (&BufferArgument, &Area),
    me: u32,
    in_place: bool,
) -> Result<Area> {
    if in_place { Ok(Area::block_of(target.block(objects, receive, me)?)) } else { area(objects, send, 1) }
}

impl Entrance<'_> {
    /// Enters the mounted rank into `MPI_Barrier`.
    ///
    /// # Errors
    /// What is wrong with the arguments (MPI 5.0 section 6.2), or that members call something else.
    #[inline(never)]
    pub fn join_barrier(&mut self, comm: usize, mode: Mode) -> Result<EnteredCall> {
        let brief = Brief::of(Kind::Barrier, mode, comm);
        if self.may_gather()
            && let Some(part) = self.join_gathering(&brief, &BufferView::none(), &BufferView::none())?
        {
            return Ok(part);
        }
        self.general(&brief, Beside::Nothing, Area::none(), Area::none())
    }

    /// `MPI_Bcast`: the mounted rank enters.
    ///
    /// # Errors
    /// What is wrong with the arguments (MPI 5.0 section 6.2), or that members call something else.
    // The root gives and all others get: nobody is told the size by the root, each says what it expects, and
    // they are compared.
    #[inline(never)]
    pub fn join_bcast(&mut self, buffer: Buffer, root: i32, comm: usize, mode: Mode) -> Result<EnteredCall> {
        let (is_root, _, _, inter) = self.rooted(comm, root)?;
        let brief = Brief { root: Some(root), ..Brief::of(Kind::Bcast, mode, comm) };
        if !inter && self.may_gather() {
            let view = view(self.objects, buffer)?;
            let brief = Brief { bytes: view.bytes, ..brief };
            let (source, target) =
                if is_root { (view, BufferView::none()) } else { (BufferView::none(), view) };
            if let Some(part) = self.join_gathering(&brief, &source, &target)? {
                return Ok(part);
            }
        }
        // Of an intercommunicator the root's own group takes no part (MPI 5.0 section 6.2.3), and has no
        // buffer to name.
        let area = if inter && root == PROC_NULL {
            Area::none()
        } else {
            area(self.objects, &BufferArgument::One(buffer), 1)?
        };
        let brief = Brief { bytes: area.bytes, ..brief };
        let opposite = Area::opposite(&area);
        let (send, receive) = if is_root { (area, opposite) } else { (opposite, area) };
        self.general(&brief, Beside::Nothing, send, receive)
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
        let (is_root, peers, me, inter) = self.rooted(comm, root)?;
        if !inter && !receive.is_irregular() && self.may_gather() {
            let target = if is_root { self.blocks(&receive, peers)? } else { Some(BufferView::none()) };
            let source = if is_root { self.own_block(&send, &receive, me)? } else { self.blocks(&send, 1)? };
            if let (Some(source), Some(target)) = (source, target)
                // A root whose own counts contradict each other goes the general way, which tells it so.
                && (!is_root || target.bytes == source.bytes * u64::from(peers))
            {
                let brief =
                    Brief { root: Some(root), bytes: source.bytes, ..Brief::of(Kind::Gather, mode, comm) };
                if let Some(part) = self.join_gathering(&brief, &source, &target)? {
                    return Ok(part);
                }
            }
        }
        if !inter && receive.is_irregular() && self.may_gather() {
            let area = if is_root { Some(area(self.objects, &receive, peers)?) } else { None };
            let in_place = is_root && send.is_in_place();
            let source = match &area {
                Some(area) if in_place => Some(area.views[me as usize].clone()),
                _ => self.blocks(&send, 1)?,
            };
            if let Some(source) = source
                && let Some(part) = self.gather_roots_blocks(
                    Kind::Gather,
                    (root, comm, mode),
                    (&source, &BufferView::none()),
                    area,
                    in_place,
                )?
            {
                return Ok(part);
            }
        }
        let irregular = matches!(receive, BufferArgument::Each(_));
        let target = if is_root { area(self.objects, &receive, peers)? } else { Area::none() };
        let source = if is_root && inter || root == PROC_NULL {
            Area::none()
        } else {
            own_area(self.objects, &send, (&receive, &target), me, is_root && send.is_in_place())?
        };
        // Of blocks that differ no member knows more than its own: the choice of an algorithm must not see a
        // size then.
        let bytes = if irregular { 0 } else { if is_root { &target } else { &source }.blocks.bytes(0) };
        let brief = Brief { root: Some(root), irregular, bytes, ..Brief::of(Kind::Gather, mode, comm) };
        let target = if is_root { target } else { Area::opposite(&source) };
        self.general(&brief, Beside::Nothing, source, target)
    }

    /// Enters a gather or scatter of blocks that differ, if it may gather; the root has all of them.
    fn gather_roots_blocks(
        &mut self,
        kind: Kind,
        (root, comm, mode): (i32, usize, Mode),
        (source, target): (&BufferView, &BufferView),
        root_area: Option<Area>,
        in_place: bool,
    ) -> Result<Option<EnteredCall>> {
        let brief = Brief { root: Some(root), irregular: true, ..Brief::of(kind, mode, comm) };
        let mut bring = match root_area {
            Some(Area { views, blocks: Blocks::Each(begins), .. }) => {
                Bring::Blocks(RootBlocks { views, begins, in_place })
            }
            _ => Bring::Nothing,
        };
        self.try_gathering(&brief, source, target.clone(), &mut bring)
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
        let (is_root, peers, me, inter) = self.rooted(comm, root)?;
        if !inter && !send.is_irregular() && self.may_gather() {
            let source = if is_root { self.blocks(&send, peers)? } else { Some(BufferView::none()) };
            let in_place = is_root && receive.is_in_place();
            let target = if in_place { Some(BufferView::none()) } else { self.blocks(&receive, 1)? };
            if let (Some(source), Some(target)) = (source, target)
                && (!is_root || in_place || source.bytes == target.bytes * u64::from(peers))
            {
                let bytes = if is_root { source.bytes / u64::from(peers) } else { target.bytes };
                let brief = Brief { root: Some(root), bytes, ..Brief::of(Kind::Scatter, mode, comm) };
                if let Some(part) = self.join_gathering(&brief, &source, &target)? {
                    return Ok(part);
                }
            }
        }
        if !inter && send.is_irregular() && self.may_gather() {
            let area = if is_root { Some(area(self.objects, &send, peers)?) } else { None };
            let in_place = is_root && receive.is_in_place();
            let target = if in_place { Some(BufferView::none()) } else { self.blocks(&receive, 1)? };
            if let Some(target) = target
                && let Some(part) = self.gather_roots_blocks(
                    Kind::Scatter,
                    (root, comm, mode),
                    (&BufferView::none(), &target),
                    area,
                    in_place,
                )?
            {
                return Ok(part);
            }
        }
        let irregular = matches!(send, BufferArgument::Each(_));
        let source = if is_root { area(self.objects, &send, peers)? } else { Area::none() };
        let target = if is_root && inter || root == PROC_NULL {
            Area::none()
        } else if is_root && receive.is_in_place() {
            let bytes = source.blocks.bytes(me);
            Area { blocks: Blocks::Uniform(bytes), bytes, views: Vec::new() }
        } else {
            area(self.objects, &receive, 1)?
        };
        let bytes = if irregular { 0 } else { if is_root { &source } else { &target }.blocks.bytes(0) };
        let brief = Brief { root: Some(root), irregular, bytes, ..Brief::of(Kind::Scatter, mode, comm) };
        let source = if is_root { source } else { Area::opposite(&target) };
        self.general(&brief, Beside::Nothing, source, target)
    }

    /// Enters an allgather of blocks that differ, if it may gather: its first half.
    // Both halves of the call ask for its lists again, so that nothing of them is kept while the rank is
    // blocked.
    fn gather_allgatherv(
        &mut self,
        send: &BufferArgument,
        receive: &BufferArgument,
        (members, me): (u32, u32),
        comm: usize,
    ) -> Result<Option<EnteredCall>> {
        let Some(receive) = block_list(self.messages, self.objects, receive, members as usize)? else {
            return Ok(None);
        };
        let own = if send.is_in_place() {
            Some(receive.one(me as usize))
        } else {
            block_list(self.messages, self.objects, send, 1)?
        };
        let Some(send) = own else { return Ok(None) };
        let brief = Brief {
            irregular: true,
            bytes: receive.bytes,
            ..Brief::of(Kind::Allgather, Mode::Blocking, comm)
        };
        self.try_gathering(
            &brief,
            &BufferView::none(),
            BufferView::none(),
            &mut Bring::Lists(&send, &receive, true),
        )
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
        if mode == Mode::Entering
            && receive.is_irregular()
            && let (size, me, true) = self.members(comm)?
            && let Some(part) = self.gather_allgatherv(&send, &receive, (size, me), comm)?
        {
            return Ok(part);
        }
        if let (size, me, true) = self.members(comm)?
            && let (Some(source), Some(target)) =
                (self.own_block(&send, &receive, me)?, self.blocks(&receive, size)?)
            && target.bytes == source.bytes * u64::from(size)
        {
            let brief = Brief { bytes: source.bytes, ..Brief::of(Kind::Allgather, mode, comm) };
            if let Some(part) = self.join_gathering(&brief, &source, &target)? {
                return Ok(part);
            }
        }
        let index = self.objects.comms.index(comm)?;
        let communicator = self.objects.comms.at(index);
        let (peers, me) = (communicator.peers(), communicator.rank(self.messages.me()));
        let target = area(self.objects, &receive, peers)?;
        let source = own_area(self.objects, &send, (&receive, &target), me, send.is_in_place())?;
        let irregular = matches!(receive, BufferArgument::Each(_));
        let bytes = if irregular { target.bytes } else { target.blocks.bytes(0) };
        let brief = Brief { irregular, bytes, ..Brief::of(Kind::Allgather, mode, comm) };
        self.general(&brief, Beside::Nothing, source, target)
    }

    /// Enters an all-to-all of blocks that differ, if it may gather: its first half.
    fn gather_alltoallv(
        &mut self,
        send: &BufferArgument,
        receive: &BufferArgument,
        members: u32,
        comm: usize,
    ) -> Result<Option<EnteredCall>> {
        let send = block_list(self.messages, self.objects, send, members as usize)?;
        let receive = block_list(self.messages, self.objects, receive, members as usize)?;
        let (Some(send), Some(receive)) = (send, receive) else { return Ok(None) };
        let brief = Brief { irregular: true, ..Brief::of(Kind::Alltoall, Mode::Blocking, comm) };
        self.try_gathering(
            &brief,
            &BufferView::none(),
            BufferView::none(),
            &mut Bring::Lists(&send, &receive, true),
        )
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
        let from = if send.is_in_place() { receive } else { send };
        if mode == Mode::Entering
            && receive.is_irregular()
            && let (size, _, true) = self.members(comm)?
            && let Some(part) = self.gather_alltoallv(&from, &receive, size, comm)?
        {
            return Ok(part);
        }
        if let (size, _, true) = self.members(comm)?
            && let (Some(source), Some(target)) = (self.blocks(&from, size)?, self.blocks(&receive, size)?)
            && target.bytes == source.bytes
        {
            let brief =
                Brief { bytes: source.bytes / u64::from(size), ..Brief::of(Kind::Alltoall, mode, comm) };
            if let Some(part) = self.join_gathering(&brief, &source, &target)? {
                return Ok(part);
            }
        }
        let peers = self.objects.comms.get(comm)?.peers();
        let target = area(self.objects, &receive, peers)?;
        let source = area(self.objects, &from, peers)?;
        let irregular = target.is_irregular();
        let bytes = if irregular { 0 } else { target.blocks.bytes(0) };
        let brief = Brief { irregular, bytes, ..Brief::of(Kind::Alltoall, mode, comm) };
        self.general(&brief, Beside::Nothing, source, target)
    }
}
