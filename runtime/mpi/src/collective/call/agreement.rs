//! Agreements of the members on a new communicator.

use super::{Mode, Part, enter};
use crate::collective::call::membership;
use crate::collective::entry::Entry;
use crate::collective::gathering::{Brief, Bring};
use crate::collective::instance::Place;
use crate::collective::schedule::{Blocks, Kind, Member, Shape};
use crate::collective::{Contribution, Delivery, Resolve, Signature};
use crate::error::Result;
use crate::group::Group;
use crate::view::Extent;
use crate::world::{Mpi, World};
use std::rc::Rc;

fn agreement(world: &World, place: Place, (size, rank): (u32, u32), bytes: u64, agreement: (Contribution, Resolve), mode: Mode) -> Entry {
    let none: Rc<[u32]> = Rc::new([]);
    let function = world.messages.ranks[world.messages.current as usize].function;
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
            node: world.messages.wire.node,
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

impl Mpi {
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
        let mut bring = Bring::Agreement(contribution.0, contribution.1);
        if mode == Mode::Blocking && self.may_gather() {
            let brief = Brief { kind: Kind::Agree, mode, comm, root: None, irregular: false, bytes, reduction: None };
            if let Some(part) = self.try_gathering(&brief, &Extent::none(), Extent::none(), &mut bring)? {
                return Ok(part);
            }
        }
        let Bring::Agreement(contribution, resolve) = bring else { unreachable!("only an agreement that was entered takes it") };
        let world = self.world();
        let index = world.objects.comms.index(comm)?;
        let (size, rank, _) = membership(&world.objects, index);
        let entry = agreement(&world, Place::Comm(index), (size, rank), bytes, (contribution, resolve), mode);
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
        let rank = group.rank_of(world.messages.current).unwrap_or(0);
        let entry = agreement(&world, Place::Group(key, group), (size, rank), bytes, contribution, Mode::Blocking);
        enter(world, entry)
    }
}
