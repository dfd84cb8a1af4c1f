//! The collective calls of MPI 5.0 chapter 6: from a program's buffers to blocks, and back.

use crate::collective::executor::{Entry, Place, pack};
use crate::collective::schedule::{Blocks, Kind, Member, NOBODY, Shape};
use crate::collective::together::Brief;
use crate::collective::{Contribution, Delivery, Reduction, Resolve, Signature};
use crate::error::{ErrorClass, Failure, Result};
use crate::group::Group;
use crate::handle;
use crate::matching::Extent;
use crate::op::Op;
use crate::p2p::Buffer;
use crate::request::{PROC_NULL, ROOT};
use crate::world::{Mpi, World};
use rank::Addr;
use std::rc::Rc;

/// `MPI_IN_PLACE` of the standard ABI.
pub const IN_PLACE: Addr = Addr(1);

/// Blocks of the `v` forms: one datatype, displacements in its extents.
#[derive(Clone, Copy)]
pub struct Vector<'a> {
    /// Base.
    pub at: Addr,
    /// Elements of each block.
    pub counts: &'a [i64],
    /// Where each block begins, in extents of the datatype.
    pub displacements: &'a [i64],
    /// Handle.
    pub datatype: usize,
}

/// Blocks of the `w` forms: a datatype each, displacements in bytes.
#[derive(Clone, Copy)]
pub struct Typed<'a> {
    /// Base.
    pub at: Addr,
    /// Elements of each block.
    pub counts: &'a [i64],
    /// Where each block begins, in bytes.
    pub displacements: &'a [i64],
    /// Handles.
    pub datatypes: &'a [usize],
}

/// How many elements of a reduction stay with each member.
#[derive(Clone, Copy)]
pub enum Parts<'a> {
    /// So many with everyone.
    Same(i64),
    /// So many with each.
    Each(&'a [i64]),
}

/// The memory of one side of a collective.
#[derive(Clone, Copy)]
pub enum Side<'a> {
    /// No memory (a rank that does not take part on this side).
    Nothing,
    /// `MPI_IN_PLACE`.
    InPlace,
    /// One buffer; of a block, or of a block a member.
    One(Buffer),
    /// The `v` forms.
    Each(Vector<'a>),
    /// The `w` forms.
    Typed(Typed<'a>),
}

impl Side<'_> {
    /// A buffer that may be `MPI_IN_PLACE`.
    pub fn of(buffer: Buffer) -> Side<'static> {
        if buffer.0 == IN_PLACE { Side::InPlace } else { Side::One(buffer) }
    }
    fn is_irregular(&self) -> bool {
        matches!(self, Side::Each(_) | Side::Typed(_))
    }
    fn is_in_place(&self) -> bool {
        matches!(self, Side::InPlace)
            || matches!(self, Side::One((at, ..)) | Side::Each(Vector { at, .. }) | Side::Typed(Typed { at, .. }) if *at == IN_PLACE)
    }
}

/// Whether a call waits for its result.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Mode {
    /// Yes.
    Blocking,
    /// No: it makes a request.
    Nonblocking,
}

/// Blocks in memory.
struct Area {
    extents: Vec<Extent>,
    blocks: Blocks,
    bytes: u64,
}

impl Area {
    fn none() -> Area {
        Area { extents: Vec::new(), blocks: Blocks::Uniform(0), bytes: 0 }
    }
    fn is_irregular(&self) -> bool {
        matches!(self.blocks, Blocks::Each(_))
    }
    /// The memory of one block alone.
    fn block(&self, world: &World, side: &Side, index: u32) -> Result<Vec<Extent>> {
        match side {
            Side::One((at, count, datatype)) => {
                let step = world.types.get(*datatype)?.extent() * *count;
                Ok(vec![world.extent((at.offset(step * i64::from(index)), *count, *datatype))?])
            }
            _ => Ok(self.extents.get(index as usize).cloned().into_iter().collect()),
        }
    }
}

/// Everything of a call but the data.
struct Call {
    kind: Kind,
    comm: usize,
    root: Option<i32>,
    irregular: bool,
    bytes: u64,
    reduction: Option<Rc<Reduction>>,
    mode: Mode,
}

impl World {
    fn area(&self, side: &Side, blocks: u32) -> Result<Area> {
        match side {
            Side::Nothing | Side::InPlace => Ok(Area::none()),
            Side::One((at, count, datatype)) => {
                let one = self.extent((*at, *count, *datatype))?.bytes;
                let Some(total) = count.checked_mul(i64::from(blocks)) else {
                    return Err(Failure::new(
                        ErrorClass::COUNT,
                        format!("count {count} for each of {blocks} members is beyond 2^63 elements"),
                    ));
                };
                let all = self.extent((*at, total, *datatype))?;
                Ok(Area { bytes: all.bytes, extents: vec![all], blocks: Blocks::Uniform(one) })
            }
            Side::Each(vector) => {
                let extent = self.types.get(vector.datatype)?.extent();
                self.gathered(blocks, |i| {
                    self.extent((vector.at.offset(vector.displacements[i] * extent), vector.counts[i], vector.datatype))
                })
            }
            Side::Typed(typed) => {
                self.gathered(blocks, |i| self.extent((typed.at.offset(typed.displacements[i]), typed.counts[i], typed.datatypes[i])))
            }
        }
    }

    fn gathered(&self, blocks: u32, extent: impl Fn(usize) -> Result<Extent>) -> Result<Area> {
        let mut extents = Vec::with_capacity(blocks as usize);
        let mut offsets = Vec::with_capacity(blocks as usize + 1);
        let mut bytes = 0;
        offsets.push(0);
        for index in 0..blocks as usize {
            let extent = extent(index)?;
            bytes += extent.bytes;
            offsets.push(bytes);
            extents.push(extent);
        }
        Ok(Area { extents, blocks: Blocks::Each(offsets.into()), bytes })
    }

    /// `(members in all, this rank's number, members of the first side)` of a communicator's collectives.
    fn membership(&self, comm: u32) -> (u32, u32, Option<u32>) {
        let me = self.current;
        let communicator = self.comms.at(comm);
        if communicator.remote.is_none() {
            return (communicator.size(), communicator.rank(me), None);
        }
        let (first, second) = self.sides(comm);
        let member = first.rank_of(me).unwrap_or_else(|| first.size() + second.rank_of(me).unwrap_or(0));
        (first.size() + second.size(), member, Some(first.size()))
    }

    /// The root as a member number; `None` for `MPI_PROC_NULL`.
    pub(crate) fn root_member(&self, comm: u32, root: i32) -> Result<Option<u32>> {
        let communicator = self.comms.at(comm);
        let (_, me, sides) = self.membership(comm);
        let bad = || {
            Failure::new(
                ErrorClass::ROOT,
                format!(
                    "root {root} is not a rank of the communicator, which has {} (0 to {})",
                    communicator.peers(),
                    i64::from(communicator.peers()) - 1
                ),
            )
        };
        match sides {
            None if root >= 0 && (root as u32) < communicator.size() => Ok(Some(root as u32)),
            Some(_) if root == ROOT => Ok(Some(me)),
            Some(_) if root == PROC_NULL => Ok(None),
            Some(first) if root >= 0 && (root as u32) < communicator.peers() => {
                Ok(Some(if me < first { first + root as u32 } else { root as u32 }))
            }
            _ => Err(bad()),
        }
    }

    pub(crate) fn reduction(&self, op: usize, datatype: usize) -> Result<Rc<Reduction>> {
        let operation = self.ops.get(self.current, op)?;
        let kind = self.types.usable(self.current, datatype)?;
        let kernel = match &**operation {
            Op::Predefined(predefined) => Some(predefined.on(kind, &self.types.describe(self.current, datatype))?.1),
            Op::User(_) => None,
        };
        Ok(Rc::new(Reduction { op: operation.clone(), datatype: kind.clone(), handle: datatype, kernel }))
    }
}

fn agreement(world: &World, place: Place, (size, rank): (u32, u32), bytes: u64, agreement: (Contribution, Resolve), mode: Mode) -> Entry {
    let none: Rc<[u32]> = Rc::new([]);
    let function = world.ranks[world.current as usize].function;
    Entry {
        place,
        signature: Signature { function, blocking: mode == Mode::Blocking, irregular: false, kind: Kind::Agree, root: None },
        shape: Shape {
            kind: Kind::Agree,
            size,
            root: 0,
            irregular: false,
            bytes,
            element: 1,
            commutative: true,
            sides: None,
            predefined: true,
            cartesian: false,
            node: world.wire.node,
        },
        root_known: true,
        member: Member { rank, send: Blocks::Uniform(bytes), receive: Blocks::Uniform(bytes), sources: none.clone(), destinations: none },
        output_bytes: 0,
        input: Vec::new(),
        reduction: None,
        delivery: Delivery::None,
        agreement: Some(agreement),
        blocking: mode == Mode::Blocking,
    }
}

/// A call that the mounted rank has entered: what it waits for, and where its result goes.
pub(crate) struct Part {
    /// Of a call that does not wait.
    pub(crate) request: Option<usize>,
    pub(crate) instance: u32,
    pub(crate) member: u32,
    pub(crate) through: bool,
    /// The memory for a result that no agent delivers.
    pub(crate) target: Extent,
}

/// The mounted rank enters as an agent.
fn enter(mut world: std::cell::RefMut<'_, World>, entry: Entry) -> Result<Part> {
    let (instance, member, request) = world.enter_collective(entry)?;
    Ok(world.entered(instance, member, request.map(handle::of_cold), Extent::none()))
}

impl World {
    /// After entering: agents that can go on do, and a rank that must wait is marked so.
    pub(crate) fn entered(&mut self, instance: u32, member: u32, request: Option<usize>, target: Extent) -> Part {
        self.run_agents();
        let through = request.is_some() || self.is_through(instance, member);
        if !through {
            let me = self.current;
            self.ranks[me as usize].waiting = 1;
        }
        Part { request, instance, member, through, target }
    }
}

impl Mpi {
    #[allow(clippy::too_many_arguments)]
    fn run(
        &self,
        call: Call,
        send: Area,
        input: Vec<u8>,
        receive: Area,
        delivery: Delivery,
        neighbors: (Rc<[u32]>, Rc<[u32]>),
        cartesian: bool,
    ) -> Result<Part> {
        let world = self.world();
        let comm = world.comms.index(call.comm)?;
        let (size, rank, sides) = world.membership(comm);
        let root = call.root.map(|root| world.root_member(comm, root)).transpose()?;
        let shape = Shape {
            kind: call.kind,
            size,
            root: root.flatten().unwrap_or(0),
            irregular: call.irregular,
            bytes: call.bytes,
            element: call.reduction.as_ref().map_or(1, |reduction| reduction.datatype.size.max(1)),
            commutative: call.reduction.as_ref().is_none_or(|reduction| reduction.op.commutative()),
            sides,
            predefined: call.reduction.as_ref().is_none_or(|reduction| reduction.kernel.is_some()),
            cartesian,
            node: world.wire.node,
        };
        let function = world.ranks[world.current as usize].function;
        let entry = Entry {
            signature: Signature {
                function,
                blocking: call.mode == Mode::Blocking,
                irregular: call.irregular,
                kind: call.kind,
                root: root.flatten(),
            },
            place: Place::Comm(comm),
            root_known: root != Some(None),
            shape,
            member: Member { rank, send: send.blocks, receive: receive.blocks, sources: neighbors.0, destinations: neighbors.1 },
            output_bytes: receive.bytes,
            input,
            reduction: call.reduction,
            delivery,
            agreement: None,
            blocking: call.mode == Mode::Blocking,
        };
        enter(world, entry)
    }

    /// Waits until the mounted rank is through, unless its call made a request: answers that.
    // What blocks is inlined into the entry points, and everything around it is not: frames of a blocked rank are memory.
    #[inline(always)]
    fn leave(&self, part: Result<Part>) -> Result<Option<usize>> {
        match &part {
            Ok(part) if part.request.is_none() => self.await_result(part).map(|_| None),
            _ => part.map(|part| part.request),
        }
    }

    /// Blocks until the rank is through, takes its result and leaves; the handle of a new communicator, if one was made.
    #[inline(always)]
    fn await_result(&self, part: &Part) -> Result<usize> {
        if !part.through {
            self.block();
        }
        self.take_result(part)
    }

    #[inline(never)]
    fn take_result(&self, part: &Part) -> Result<usize> {
        self.world().finish_part(part.instance, part.member, &part.target)
    }

    /// Agrees with the members of `comm` on a new communicator: its handle. `bytes` of each member's contribution cost time.
    pub(crate) fn agree(
        &self,
        comm: usize,
        bytes: u64,
        contribution: Contribution,
        resolve: Resolve,
        mode: Mode,
    ) -> Result<(Option<usize>, usize)> {
        let part = self.join_agreement(comm, bytes, (contribution, resolve), mode)?;
        let handle = if part.request.is_none() { self.await_result(&part)? } else { 0 };
        Ok((part.request, handle))
    }

    #[inline(never)]
    fn join_agreement(&self, comm: usize, bytes: u64, contribution: (Contribution, Resolve), mode: Mode) -> Result<Part> {
        let mut contribution = Some(contribution);
        if self.may_hold(mode) {
            let brief = Brief { kind: Kind::Agree, comm, root: None, bytes, reduction: None };
            if let Some(part) = self.together(&brief, &Extent::none(), Extent::none(), &mut contribution)? {
                return Ok(part);
            }
        }
        let contribution = contribution.expect("only an agreement that was entered takes it");
        let world = self.world();
        let index = world.comms.index(comm)?;
        let (size, rank, _) = world.membership(index);
        let entry = agreement(&world, Place::Comm(index), (size, rank), bytes, contribution, mode);
        enter(world, entry)
    }

    /// The same among the members of a group, who find each other by `key`.
    pub(crate) fn agree_in_group(
        &self,
        group: Rc<Group>,
        key: (u32, i32, u32),
        bytes: u64,
        contribution: Contribution,
        resolve: Resolve,
    ) -> Result<usize> {
        let part = self.join_group(group, key, bytes, (contribution, resolve))?;
        self.await_result(&part)
    }

    #[inline(never)]
    fn join_group(&self, group: Rc<Group>, key: (u32, i32, u32), bytes: u64, contribution: (Contribution, Resolve)) -> Result<Part> {
        let world = self.world();
        let size = group.size();
        let rank = group.rank_of(world.current).unwrap_or(0);
        let entry = agreement(&world, Place::Group(key, group), (size, rank), bytes, contribution, Mode::Blocking);
        enter(world, entry)
    }

    fn simple(&self, call: Call, send: Area, input: Vec<u8>, receive: Area, delivery: Delivery) -> Result<Part> {
        let none: Rc<[u32]> = Rc::new([]);
        self.run(call, send, input, receive, delivery, (none.clone(), none), false)
    }

    /// `(is this rank the root, blocks of the far side, own rank in the group, whether an intercommunicator)`.
    fn rooted(&self, comm: usize, root: i32) -> Result<(bool, u32, u32, bool)> {
        let world = self.world();
        let index = world.comms.index(comm)?;
        let (_, member, sides) = world.membership(index);
        let is_root = world.root_member(index, root)? == Some(member) && (sides.is_none() || root == ROOT);
        let communicator = world.comms.at(index);
        Ok((is_root, communicator.peers(), communicator.rank(world.current), sides.is_some()))
    }

    /// Enters a blocking collective that may be held together; `None` if it is to be made in the general way.
    fn held(&self, brief: &Brief, source: &Extent, target: &Extent) -> Result<Option<Part>> {
        self.together(brief, source, target.clone(), &mut None)
    }

    /// Memory of `blocks` blocks of one datatype; `None` for other sides, and for too many elements.
    fn blocks(&self, side: &Side, blocks: u32) -> Result<Option<Extent>> {
        let Side::One((at, count, datatype)) = *side else { return Ok(None) };
        let Some(total) = count.checked_mul(i64::from(blocks)).filter(|_| at != IN_PLACE) else { return Ok(None) };
        self.world().extent((at, total, datatype)).map(Some)
    }

    /// The same of an intracommunicator's rank, one block in place at the receiving side counted.
    fn own_block(&self, send: &Side, receive: &Side, me: u32) -> Result<Option<Extent>> {
        match (send.is_in_place(), receive) {
            (true, Side::One((at, count, datatype))) => {
                let world = self.world();
                let step = world.types.get(*datatype)?.extent() * *count;
                world.extent((at.offset(step * i64::from(me)), *count, *datatype)).map(Some)
            }
            _ => self.blocks(send, 1),
        }
    }

    /// `(size, own rank, whether it may be held)` of a call on `comm`.
    fn members(&self, comm: usize, mode: Mode) -> Result<(u32, u32, bool)> {
        let holds = self.may_hold(mode);
        let world = self.world();
        let communicator = world.comms.get(comm)?;
        Ok((communicator.size(), communicator.rank(world.current), holds && !communicator.is_inter()))
    }

    /// `MPI_Barrier`.
    #[inline(always)]
    pub fn barrier(&self, comm: usize, mode: Mode) -> Result<Option<usize>> {
        self.leave(self.join_barrier(comm, mode))
    }

    #[inline(never)]
    fn join_barrier(&self, comm: usize, mode: Mode) -> Result<Part> {
        if mode == Mode::Blocking
            && let Some(part) = self.together_again(Kind::Barrier, comm, None, Addr::NULL, Addr::NULL)
        {
            return Ok(part);
        }
        if self.may_hold(mode) {
            let brief = Brief { kind: Kind::Barrier, comm, root: None, bytes: 0, reduction: None };
            if let Some(part) = self.held(&brief, &Extent::none(), &Extent::none())? {
                return Ok(part);
            }
        }
        let call = Call { kind: Kind::Barrier, comm, root: None, irregular: false, bytes: 0, reduction: None, mode };
        self.simple(call, Area::none(), Vec::new(), Area::none(), Delivery::None)
    }

    /// `MPI_Bcast`.
    #[inline(always)]
    pub fn bcast(&self, buffer: Buffer, root: i32, comm: usize, mode: Mode) -> Result<Option<usize>> {
        self.leave(self.join_bcast(buffer, root, comm, mode))
    }

    #[inline(never)]
    fn join_bcast(&self, buffer: Buffer, root: i32, comm: usize, mode: Mode) -> Result<Part> {
        let (is_root, _, _, inter) = self.rooted(comm, root)?;
        if !inter && self.may_hold(mode) {
            let extent = self.world().extent(buffer)?;
            let brief = Brief { kind: Kind::Bcast, comm, root: Some(root), bytes: extent.bytes, reduction: None };
            let (source, target) = if is_root { (extent, Extent::none()) } else { (Extent::none(), extent) };
            if let Some(part) = self.held(&brief, &source, &target)? {
                return Ok(part);
            }
        }
        let area = if inter && root == PROC_NULL { Area::none() } else { self.world().area(&Side::One(buffer), 1)? };
        let call = Call { kind: Kind::Bcast, comm, root: Some(root), irregular: false, bytes: area.bytes, reduction: None, mode };
        let blocks = area.blocks.clone();
        if is_root {
            let input = pack(&area.extents);
            self.simple(call, area, input, Area { blocks, ..Area::none() }, Delivery::None)
        } else {
            let extents = area.extents.clone();
            self.simple(call, Area { blocks, ..Area::none() }, Vec::new(), area, Delivery::To(extents))
        }
    }

    /// `MPI_Gather` and `MPI_Gatherv`.
    #[inline(always)]
    pub fn gather(&self, send: Side, receive: Side, root: i32, comm: usize, mode: Mode) -> Result<Option<usize>> {
        self.leave(self.join_gather(send, receive, root, comm, mode))
    }

    #[inline(never)]
    fn join_gather(&self, send: Side, receive: Side, root: i32, comm: usize, mode: Mode) -> Result<Part> {
        let (is_root, peers, me, inter) = self.rooted(comm, root)?;
        if !inter && !receive.is_irregular() && self.may_hold(mode) {
            let target = if is_root { self.blocks(&receive, peers)? } else { Some(Extent::none()) };
            let source = if is_root { self.own_block(&send, &receive, me)? } else { self.blocks(&send, 1)? };
            if let (Some(source), Some(target)) = (source, target)
                && (!is_root || target.bytes == source.bytes * u64::from(peers))
            {
                let brief = Brief { kind: Kind::Gather, comm, root: Some(root), bytes: source.bytes, reduction: None };
                if let Some(part) = self.held(&brief, &source, &target)? {
                    return Ok(part);
                }
            }
        }
        let world = self.world();
        let irregular = matches!(receive, Side::Each(_));
        let target = if is_root { world.area(&receive, peers)? } else { Area::none() };
        let (source, input) = if is_root && inter || root == PROC_NULL {
            (Area::none(), Vec::new())
        } else if is_root && send.is_in_place() {
            let extents = target.block(&world, &receive, me)?;
            let input = pack(&extents);
            (Area { blocks: Blocks::Uniform(input.len() as u64), ..Area::none() }, input)
        } else {
            let area = world.area(&send, 1)?;
            let input = pack(&area.extents);
            (area, input)
        };
        drop(world);
        let bytes = if irregular {
            0
        } else if is_root {
            target.blocks.bytes(0)
        } else {
            source.blocks.bytes(0)
        };
        let call = Call { kind: Kind::Gather, comm, root: Some(root), irregular, bytes, reduction: None, mode };
        let delivery = Delivery::To(target.extents.clone());
        let target = if is_root { target } else { Area { blocks: source.blocks.clone(), ..Area::none() } };
        self.simple(call, source, input, target, delivery)
    }

    /// `MPI_Scatter` and `MPI_Scatterv`.
    #[inline(always)]
    pub fn scatter(&self, send: Side, receive: Side, root: i32, comm: usize, mode: Mode) -> Result<Option<usize>> {
        self.leave(self.join_scatter(send, receive, root, comm, mode))
    }

    #[inline(never)]
    fn join_scatter(&self, send: Side, receive: Side, root: i32, comm: usize, mode: Mode) -> Result<Part> {
        let (is_root, peers, me, inter) = self.rooted(comm, root)?;
        if !inter && !send.is_irregular() && self.may_hold(mode) {
            let source = if is_root { self.blocks(&send, peers)? } else { Some(Extent::none()) };
            let in_place = is_root && receive.is_in_place();
            let target = if in_place { Some(Extent::none()) } else { self.blocks(&receive, 1)? };
            if let (Some(source), Some(target)) = (source, target)
                && (!is_root || in_place || source.bytes == target.bytes * u64::from(peers))
            {
                let bytes = if is_root { source.bytes / u64::from(peers) } else { target.bytes };
                let brief = Brief { kind: Kind::Scatter, comm, root: Some(root), bytes, reduction: None };
                if let Some(part) = self.held(&brief, &source, &target)? {
                    return Ok(part);
                }
            }
        }
        let world = self.world();
        let irregular = matches!(send, Side::Each(_));
        let source = if is_root { world.area(&send, peers)? } else { Area::none() };
        let input = pack(&source.extents);
        let target = if is_root && inter || root == PROC_NULL {
            Area::none()
        } else if is_root && receive.is_in_place() {
            let bytes = source.blocks.bytes(me);
            Area { blocks: Blocks::Uniform(bytes), bytes, extents: Vec::new() }
        } else {
            world.area(&receive, 1)?
        };
        drop(world);
        let bytes = if irregular {
            0
        } else if is_root {
            source.blocks.bytes(0)
        } else {
            target.blocks.bytes(0)
        };
        let call = Call { kind: Kind::Scatter, comm, root: Some(root), irregular, bytes, reduction: None, mode };
        let delivery = Delivery::To(target.extents.clone());
        let source = if is_root { source } else { Area { blocks: target.blocks.clone(), ..Area::none() } };
        self.simple(call, source, input, target, delivery)
    }

    /// `MPI_Allgather` and `MPI_Allgatherv`.
    #[inline(always)]
    pub fn allgather(&self, send: Side, receive: Side, comm: usize, mode: Mode) -> Result<Option<usize>> {
        self.leave(self.join_allgather(send, receive, comm, mode))
    }

    #[inline(never)]
    fn join_allgather(&self, send: Side, receive: Side, comm: usize, mode: Mode) -> Result<Part> {
        if let (size, me, true) = self.members(comm, mode)?
            && let (Some(source), Some(target)) = (self.own_block(&send, &receive, me)?, self.blocks(&receive, size)?)
            && target.bytes == source.bytes * u64::from(size)
        {
            let brief = Brief { kind: Kind::Allgather, comm, root: None, bytes: source.bytes, reduction: None };
            if let Some(part) = self.held(&brief, &source, &target)? {
                return Ok(part);
            }
        }
        let world = self.world();
        let index = world.comms.index(comm)?;
        let communicator = world.comms.at(index);
        let (peers, me) = (communicator.peers(), communicator.rank(world.current));
        let target = world.area(&receive, peers)?;
        let (source, input) = if send.is_in_place() {
            let input = pack(&target.block(&world, &receive, me)?);
            (Area { blocks: Blocks::Uniform(input.len() as u64), ..Area::none() }, input)
        } else {
            let area = world.area(&send, 1)?;
            let input = pack(&area.extents);
            (area, input)
        };
        drop(world);
        let irregular = matches!(receive, Side::Each(_));
        let bytes = if irregular { target.bytes } else { target.blocks.bytes(0) };
        let call = Call { kind: Kind::Allgather, comm, root: None, irregular, bytes, reduction: None, mode };
        let delivery = Delivery::To(target.extents.clone());
        self.simple(call, source, input, target, delivery)
    }

    /// `MPI_Alltoall`, `MPI_Alltoallv` and `MPI_Alltoallw`.
    #[inline(always)]
    pub fn alltoall(&self, send: Side, receive: Side, comm: usize, mode: Mode) -> Result<Option<usize>> {
        self.leave(self.join_alltoall(send, receive, comm, mode))
    }

    #[inline(never)]
    fn join_alltoall(&self, send: Side, receive: Side, comm: usize, mode: Mode) -> Result<Part> {
        let from = if send.is_in_place() { receive } else { send };
        if let (size, _, true) = self.members(comm, mode)?
            && let (Some(source), Some(target)) = (self.blocks(&from, size)?, self.blocks(&receive, size)?)
            && target.bytes == source.bytes
        {
            let brief = Brief { kind: Kind::Alltoall, comm, root: None, bytes: source.bytes / u64::from(size), reduction: None };
            if let Some(part) = self.held(&brief, &source, &target)? {
                return Ok(part);
            }
        }
        let world = self.world();
        let peers = world.comms.get(comm)?.peers();
        let target = world.area(&receive, peers)?;
        let source = if send.is_in_place() { world.area(&receive, peers)? } else { world.area(&send, peers)? };
        drop(world);
        let input = pack(&source.extents);
        let irregular = target.is_irregular();
        let bytes = if irregular { 0 } else { target.blocks.bytes(0) };
        let call = Call { kind: Kind::Alltoall, comm, root: None, irregular, bytes, reduction: None, mode };
        let delivery = Delivery::To(target.extents.clone());
        self.simple(call, source, input, target, delivery)
    }

    #[allow(clippy::too_many_arguments)]
    #[inline(never)]
    fn join_reduction(
        &self,
        kind: Kind,
        send: Addr,
        receive: Addr,
        (count, datatype): (i64, usize),
        op: usize,
        root: Option<i32>,
        comm: usize,
        mode: Mode,
    ) -> Result<Part> {
        let from = if send == IN_PLACE { receive } else { send };
        let elements = (count, datatype, op);
        let all_receive = matches!(kind, Kind::Allreduce | Kind::Scan);
        if all_receive
            && mode == Mode::Blocking
            && let Some(part) = self.together_again(kind, comm, Some(elements), from, receive)
        {
            return Ok(part);
        }
        let (is_root, inter) = match root {
            Some(root) => {
                let (is_root, _, _, inter) = self.rooted(comm, root)?;
                (is_root, inter)
            }
            None => (true, false),
        };
        if !inter && self.may_hold(mode) {
            let source = self.world().extent((from, count, datatype))?;
            let first = kind == Kind::Exscan && self.members(comm, mode)?.1 == 0;
            let target = if is_root && !first { self.world().extent((receive, count, datatype))? } else { Extent::none() };
            let brief = Brief { kind, comm, root, bytes: source.bytes, reduction: Some((op, datatype)) };
            if let Some(part) = self.held(&brief, &source, &target)? {
                if all_receive && source.layout.is_none() && source.bytes != 0 {
                    self.note_elements(elements);
                }
                return Ok(part);
            }
        }
        let world = self.world();
        let reduction = match world.reduction(op, datatype) {
            // Operation and datatype of one that takes no part have no meaning.
            Err(_) if inter && root == Some(PROC_NULL) => None,
            reduction => Some(reduction?),
        };
        let silent = inter && (is_root || root == Some(PROC_NULL));
        let source = if silent { Area::none() } else { world.area(&Side::One((from, count, datatype)), 1)? };
        let gets = is_root && root != Some(PROC_NULL);
        let target = if gets { world.area(&Side::One((receive, count, datatype)), 1)? } else { Area::none() };
        let first = kind == Kind::Exscan && world.comms.get(comm)?.rank(world.current) == 0;
        drop(world);
        let input = pack(&source.extents);
        let bytes = source.bytes.max(target.bytes);
        let call = Call { kind, comm, root, irregular: false, bytes, reduction, mode };
        let delivery = if first { Delivery::None } else { Delivery::To(target.extents.clone()) };
        let target = if gets { target } else { Area { blocks: source.blocks.clone(), ..Area::none() } };
        self.simple(call, source, input, target, delivery)
    }

    /// `MPI_Reduce`.
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
        self.leave(self.join_reduction(Kind::Reduce, send, receive, elements, op, Some(root), comm, mode))
    }
    /// `MPI_Allreduce`.
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
        self.leave(self.join_reduction(Kind::Allreduce, send, receive, elements, op, None, comm, mode))
    }
    /// `MPI_Scan`.
    #[inline(always)]
    pub fn scan(&self, send: Addr, receive: Addr, elements: (i64, usize), op: usize, comm: usize, mode: Mode) -> Result<Option<usize>> {
        self.leave(self.join_reduction(Kind::Scan, send, receive, elements, op, None, comm, mode))
    }
    /// `MPI_Exscan`.
    #[inline(always)]
    pub fn exscan(&self, send: Addr, receive: Addr, elements: (i64, usize), op: usize, comm: usize, mode: Mode) -> Result<Option<usize>> {
        self.leave(self.join_reduction(Kind::Exscan, send, receive, elements, op, None, comm, mode))
    }

    /// `MPI_Reduce_scatter` and `MPI_Reduce_scatter_block`.
    #[allow(clippy::too_many_arguments)]
    #[inline(always)]
    pub fn reduce_scatter(
        &self,
        send: Addr,
        receive: Addr,
        counts: Parts,
        datatype: usize,
        op: usize,
        comm: usize,
        mode: Mode,
    ) -> Result<Option<usize>> {
        self.leave(self.join_reduce_scatter(send, receive, counts, datatype, op, comm, mode))
    }

    #[allow(clippy::too_many_arguments)]
    #[inline(never)]
    fn join_reduce_scatter(
        &self,
        send: Addr,
        receive: Addr,
        counts: Parts,
        datatype: usize,
        op: usize,
        comm: usize,
        mode: Mode,
    ) -> Result<Part> {
        let (members, me, holds) = self.members(comm, mode)?;
        let (total, own) = match counts {
            Parts::Same(count) => (count.checked_mul(i64::from(members)), count),
            Parts::Each(counts) => (counts.iter().try_fold(0i64, |sum, &count| sum.checked_add(count)), counts[me as usize]),
        };
        let Some(total) = total else {
            return Err(Failure::new(ErrorClass::COUNT, format!("the counts of {members} members are beyond 2^63 elements together")));
        };
        if holds && let Parts::Same(count) = counts {
            let from = if send == IN_PLACE { receive } else { send };
            let source = self.world().extent((from, total, datatype))?;
            let target = self.world().extent((receive, count, datatype))?;
            let brief = Brief { kind: Kind::ReduceScatter, comm, root: None, bytes: source.bytes, reduction: Some((op, datatype)) };
            if let Some(part) = self.held(&brief, &source, &target)? {
                return Ok(part);
            }
        }
        let world = self.world();
        let reduction = world.reduction(op, datatype)?;
        let from = if send == IN_PLACE { receive } else { send };
        let mut source = world.area(&Side::One((from, total, datatype)), 1)?;
        let size = world.types.get(datatype)?.size;
        let mut at = 0;
        let mut end = |&count: &i64| {
            at += count as u64 * size;
            at
        };
        source.blocks = match counts {
            Parts::Same(count) => Blocks::Uniform(end(&count)),
            Parts::Each(counts) => Blocks::Each(std::iter::once(0).chain(counts.iter().map(end)).collect()),
        };
        let target = world.area(&Side::One((receive, own, datatype)), 1)?;
        drop(world);
        let input = pack(&source.extents);
        let call = Call {
            kind: Kind::ReduceScatter,
            comm,
            root: None,
            irregular: matches!(counts, Parts::Each(_)),
            bytes: source.bytes,
            reduction: Some(reduction),
            mode,
        };
        let delivery = Delivery::To(target.extents.clone());
        self.simple(call, source, input, target, delivery)
    }

    /// How many neighbours send to the mounted rank, and how many it sends to.
    pub fn neighbor_counts(&self, comm: usize) -> Result<(usize, usize)> {
        let world = self.world();
        let communicator = world.comms.get(comm)?;
        let me = communicator.rank(world.current);
        Ok(communicator.topology.as_ref().map_or((0, 0), |topology| {
            let (sources, destinations, _) = topology.neighbors(me);
            (sources.len(), destinations.len())
        }))
    }

    /// The neighbourhood collectives (MPI 5.0 chapter 8.6). With `each`, every neighbour gets a block of its own (alltoall forms).
    #[inline(always)]
    pub fn neighbor(&self, send: Side, receive: Side, each: bool, comm: usize, mode: Mode) -> Result<Option<usize>> {
        self.leave(self.join_neighbor(send, receive, each, comm, mode))
    }

    #[inline(never)]
    fn join_neighbor(&self, send: Side, receive: Side, each: bool, comm: usize, mode: Mode) -> Result<Part> {
        let world = self.world();
        let communicator = world.comms.get(comm)?;
        let me = communicator.rank(world.current);
        let Some(topology) = communicator.topology.clone() else {
            return Err(Failure::new(
                ErrorClass::TOPOLOGY,
                "the communicator has no process topology: make one with MPI_Cart_create, MPI_Graph_create or MPI_Dist_graph_create",
            ));
        };
        let (sources, destinations, cartesian) = topology.neighbors(me);
        let target = world.area(&receive, sources.len() as u32)?;
        let delivery = if sources.contains(&NOBODY) {
            let blocks = (0..sources.len() as u32).map(|index| target.block(&world, &receive, index)).collect::<Result<Vec<_>>>()?;
            Delivery::From(blocks.into_iter().flatten().collect(), sources.clone())
        } else {
            Delivery::To(target.extents.clone())
        };
        let mut source = world.area(&send, if each { destinations.len() as u32 } else { 1 })?;
        drop(world);
        let mut input = pack(&source.extents);
        if !each {
            // Every neighbour gets the same block: the schedule sees one block a neighbour.
            let block = std::mem::take(&mut input);
            for _ in 0..destinations.len() {
                input.extend_from_slice(&block);
            }
            source.blocks = Blocks::Uniform(block.len() as u64);
        }
        let irregular = source.is_irregular() || target.is_irregular();
        let call = Call { kind: Kind::Neighbor, comm, root: None, irregular, bytes: 0, reduction: None, mode };
        self.run(call, source, input, target, delivery, (sources, destinations), cartesian)
    }
}
