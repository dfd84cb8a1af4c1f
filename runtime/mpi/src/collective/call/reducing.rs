//! Collectives that reduce (MPI 5.0 sections 6.9 to 6.11).

use super::{Call, Mode, Part};
use crate::collective::agent::pack;
use crate::collective::area::area;
use crate::collective::area::{Area, IN_PLACE, Parts, Side};
use crate::collective::gathering::{Brief, Bring};
use crate::collective::schedule::{Blocks, Kind, begins};
use crate::collective::ticket::Ticket;
use crate::collective::{Delivery, Reduction};
use crate::error::{ErrorClass, Failure, Result};
use crate::messages::Messages;
use crate::op::Op;
use crate::p2p::FIRST_MEMORY;
use crate::p2p::view;
use crate::request::PROC_NULL;
use crate::view::Extent;
use crate::world::Mpi;
use objects::Objects;
use rank::Addr;
use std::rc::Rc;

pub(crate) fn reduction(messages: &Messages, objects: &Objects, op: usize, datatype: usize) -> Result<Rc<Reduction>> {
    let operation = objects.ops.get(messages.current, op)?;
    let kind = objects.types.usable(messages.current, datatype)?;
    let kernel = match &**operation {
        Op::Predefined(predefined) => {
            let name = objects.types.describe(messages.current, datatype);
            let (element, kernel) = predefined.on(kind, &name)?;
            if predefined.is_lenient_on(element) {
                messages.note_finding(|| {
                    format!(
                        "{} of {name}, which MPI does not define (MPI 5.0 section 6.9.2); use MPI_SIGNED_CHAR or MPI_UNSIGNED_CHAR",
                        predefined.name()
                    )
                });
            }
            Some(kernel)
        }
        Op::User(_) => None,
    };
    Ok(Rc::new(Reduction { op: operation.clone(), datatype: kind.clone(), handle: datatype, kernel }))
}

impl Mpi {
    /// Begins a blocking reduction, and ends it unless the rank must wait for a result that lies side by side.
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
            && let Some(ticket) = self.joins_again_as(kind, comm, Some((count, datatype, op)), from)
        {
            return Ok(ticket);
        }
        self.settle(&self.join_reduction(kind, send, receive, (count, datatype), op, root, comm, Mode::Blocking)?)
    }

    /// A reduction of any mode.
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
            return Ok(Some(self.begin_reduction(kind, send, receive, count, datatype, op, root, comm)?.word()));
        }
        let root = (kind == Kind::Reduce).then_some(root);
        self.leave(self.join_reduction(kind, send, receive, (count, datatype), op, root, comm, mode))
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
        let all_receive = matches!(kind, Kind::Allreduce | Kind::Scan);
        let (is_root, inter) = match root {
            Some(root) => {
                let (is_root, _, _, inter) = self.rooted(comm, root)?;
                (is_root, inter)
            }
            None => {
                if matches!(kind, Kind::Scan | Kind::Exscan) && self.world().objects.comms.get(comm)?.is_inter() {
                    let why = "the communicator is an intercommunicator, where this reduction is not defined; pass an intracommunicator";
                    return Err(Failure::new(ErrorClass::COMM, why));
                }
                (true, false)
            }
        };
        if !inter && self.may_gather() {
            let source = view(&self.world().objects, (from, count, datatype))?;
            let first = kind == Kind::Exscan && self.members(comm)?.1 == 0;
            let target = if is_root && !first { view(&self.world().objects, (receive, count, datatype))? } else { Extent::none() };
            let brief = Brief { kind, mode, comm, root, irregular: false, bytes: source.bytes, reduction: Some((op, datatype)) };
            if let Some(part) = self.held(&brief, &source, &target)? {
                if all_receive && mode == Mode::Blocking && source.layout.is_none() && source.bytes != 0 {
                    self.note_elements((count, datatype, op));
                }
                return Ok(part);
            }
        }
        let world = self.world();
        let reduction = match reduction(&world.messages, &world.objects, op, datatype) {
            // Operation and datatype of one that takes no part have no meaning.
            Err(_) if inter && root == Some(PROC_NULL) => None,
            reduction => Some(reduction?),
        };
        let silent = inter && (is_root || root == Some(PROC_NULL));
        let source = if silent { Area::none() } else { area(&world.objects, &Side::One((from, count, datatype)), 1)? };
        let gets = is_root && root != Some(PROC_NULL);
        let target = if gets { area(&world.objects, &Side::One((receive, count, datatype)), 1)? } else { Area::none() };
        let first = kind == Kind::Exscan && world.objects.comms.get(comm)?.rank(world.messages.current) == 0;
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
        self.reduction_of(Kind::Reduce, send, receive, elements, op, root, comm, mode)
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
        self.reduction_of(Kind::Allreduce, send, receive, elements, op, 0, comm, mode)
    }
    /// `MPI_Scan`.
    #[inline(always)]
    pub fn scan(&self, send: Addr, receive: Addr, elements: (i64, usize), op: usize, comm: usize, mode: Mode) -> Result<Option<usize>> {
        self.reduction_of(Kind::Scan, send, receive, elements, op, 0, comm, mode)
    }
    /// `MPI_Exscan`.
    #[inline(always)]
    pub fn exscan(&self, send: Addr, receive: Addr, elements: (i64, usize), op: usize, comm: usize, mode: Mode) -> Result<Option<usize>> {
        self.whole(mode, |mode| self.join_reduction(Kind::Exscan, send, receive, elements, op, None, comm, mode))
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
        let own = || -> Result<(Side, usize)> {
            let world = self.world();
            let communicator = world.objects.comms.get(comm)?;
            let count = match counts {
                Parts::Same(count) => count,
                Parts::Each(counts) => counts[communicator.rank(world.messages.current) as usize],
            };
            Ok((Side::One((receive, count, datatype)), 1))
        };
        if let Parts::Same(_) = counts {
            return self.whole(mode, |mode| self.join_reduce_scatter(send, receive, counts, datatype, op, comm, mode));
        }
        self.in_mode(mode, || self.join_reduce_scatter(send, receive, counts, datatype, op, comm, mode), own)
    }

    /// Enters a reduction of which each keeps a block of its own size, if it may gather: its first half.
    fn gather_reduce_scatter(&self, source: &Extent, counts: &[i64], (op, datatype): (usize, usize), comm: usize) -> Result<Option<Part>> {
        let size = self.world().objects.types.get(datatype)?.size;
        let begins: Vec<u64> = begins(counts.iter().map(|&count| count as u64 * size)).collect();
        let brief = Brief {
            kind: Kind::ReduceScatter,
            mode: Mode::Blocking,
            comm,
            root: None,
            irregular: true,
            bytes: source.bytes,
            reduction: Some((op, datatype)),
        };
        self.try_gathering(&brief, source, Extent::none(), &mut Bring::Begins(&begins))
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
        let (members, me, holds) = self.members(comm)?;
        let (total, own) = match counts {
            Parts::Same(count) => (count.checked_mul(i64::from(members)), count),
            Parts::Each(counts) => (counts.iter().try_fold(0i64, |sum, &count| sum.checked_add(count)), counts[me as usize]),
        };
        let Some(total) = total else {
            return Err(Failure::new(ErrorClass::COUNT, format!("the counts of {members} members are beyond 2^63 elements together")));
        };
        if holds
            && mode == Mode::Entering
            && let Parts::Each(counts) = counts
        {
            let from = if send == IN_PLACE { receive } else { send };
            let source = view(&self.world().objects, (from, total, datatype))?;
            if let Some(part) = self.gather_reduce_scatter(&source, counts, (op, datatype), comm)? {
                return Ok(part);
            }
        }
        if holds && let Parts::Same(count) = counts {
            let from = if send == IN_PLACE { receive } else { send };
            let source = view(&self.world().objects, (from, total, datatype))?;
            let target = view(&self.world().objects, (receive, count, datatype))?;
            let brief = Brief {
                kind: Kind::ReduceScatter,
                mode,
                comm,
                root: None,
                irregular: false,
                bytes: source.bytes,
                reduction: Some((op, datatype)),
            };
            if let Some(part) = self.held(&brief, &source, &target)? {
                return Ok(part);
            }
        }
        let world = self.world();
        let reduction = reduction(&world.messages, &world.objects, op, datatype)?;
        let from = if send == IN_PLACE { receive } else { send };
        let mut source = area(&world.objects, &Side::One((from, total, datatype)), 1)?;
        let size = world.objects.types.get(datatype)?.size;
        let mut at = 0;
        let mut end = |&count: &i64| {
            at += count as u64 * size;
            at
        };
        source.blocks = match counts {
            Parts::Same(count) => Blocks::Uniform(end(&count)),
            Parts::Each(counts) => Blocks::Each(std::iter::once(0).chain(counts.iter().map(end)).collect()),
        };
        let target = area(&world.objects, &Side::One((receive, own, datatype)), 1)?;
        drop(world);
        let input = pack(&source.extents);
        let call = Call {
            kind: Kind::ReduceScatter,
            comm,
            root: None,
            irregular: matches!(counts, Parts::Each(_)),
            bytes: source.bytes,
            reduction: Some(reduction),
            mode: mode.whole(),
        };
        let delivery = mode.delivery(&target);
        self.simple(call, source, input, target, delivery)
    }
}
