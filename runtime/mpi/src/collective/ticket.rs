//! A rank that is blocked in a collective, in a small frame: one word says which member of which call it is, and where the result goes is
//! among the arguments of its call.

use crate::collective::area::Side;
use crate::collective::call::Part;
use crate::error::Result;
use crate::matching::Extent;
use crate::world::Mpi;
use ::schedule::Members;
use rank::Addr;

/// A member that is blocked in a call, in one word: instance and member.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct Ticket(usize);

impl Ticket {
    /// There is nothing to wait for.
    pub(crate) const THROUGH: Ticket = Ticket(usize::MAX);
    pub(super) fn new(instance: u32, member: u32) -> Ticket {
        Ticket((instance as usize) << 32 | member as usize)
    }
    pub(super) const fn word(self) -> usize {
        self.0
    }
    pub(super) fn of(word: usize) -> Ticket {
        Ticket(word)
    }
    fn parts(self) -> (u32, u32) {
        ((self.0 >> 32) as u32, self.0 as u32)
    }
}

impl Mpi {
    /// Goes on with a blocking call that has been entered until its result is known to lie side by side, and where is known to the caller.
    #[inline(never)]
    pub(crate) fn settle(&self, part: &Part) -> Result<Ticket> {
        if !part.through && part.target.layout.is_none() && self.world().collectives.instance(part.instance).is_held() {
            return Ok(Ticket::new(part.instance, part.member));
        }
        self.await_result(part)?;
        Ok(Ticket::THROUGH)
    }

    /// Waits for the end of a blocking call; its result, if the member gets one, goes to `to`.
    // What blocks is inlined into the entry points, and everything around it is not: frames of a blocked rank are memory.
    #[inline(always)]
    pub(crate) fn await_ticket(&self, ticket: Ticket, to: Addr) -> Result<Option<usize>> {
        if ticket == Ticket::THROUGH {
            return Ok(None);
        }
        self.block();
        self.end_held(ticket, to)?;
        Ok(None)
    }

    /// The rank, which is through, takes its result into its blocks and leaves.
    #[inline(never)]
    pub(super) fn end_lists(&self, ticket: Ticket, receive: &Side, blocks: usize) -> Result {
        let (index, member) = ticket.parts();
        let mut world = self.world();
        let list = world.block_list(receive, blocks)?;
        world.finish_lists(index, member, list.as_ref()).map(|_| ())
    }

    #[inline(never)]
    fn end_held(&self, ticket: Ticket, to: Addr) -> Result {
        let (index, member) = ticket.parts();
        let mut world = self.world();
        let bytes = world.collectives.instance(index).shape.output(member);
        world.finish_part(index, member, &Extent { buffer: to, layout: None, bytes }).map(|_| ())
    }
}
