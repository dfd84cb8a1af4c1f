//! A rank that is blocked in a collective, in a small frame: one word says which member of which call it is, and where the result goes is
//! among the arguments of its call.

use crate::collective::area::Side;
use crate::collective::blocks::block_list;
use crate::collective::call::Part;
use crate::error::Result;
use crate::view::Extent;
use crate::world::Mpi;
use ::schedule::Members;
use rank::Addr;

/// In a member's number, of which there are fewer than 2^31.
const NO_RESULT: usize = 1 << 31;

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
    /// The same of a member that gets no result from those it waits for.
    fn without_result(self) -> Ticket {
        Ticket(self.0 | NO_RESULT)
    }
    fn has_result(self) -> bool {
        self.0 & NO_RESULT == 0
    }
    fn parts(self) -> (u32, u32) {
        ((self.0 >> 32) as u32, (self.0 & !NO_RESULT) as u32)
    }
}

impl Mpi {
    /// What the rank, which has entered, waits for: [`Ticket::THROUGH`] if it is through, with its result.
    ///
    /// Who gets a result in memory that is not side by side, or of a size of its own, waits here.
    #[inline(never)]
    pub(crate) fn settle(&self, part: &Part) -> Result<Ticket> {
        if !part.through {
            let ticket = Ticket::new(part.instance, part.member);
            if part.target.bytes == 0 {
                return Ok(ticket.without_result());
            }
            if part.target.layout.is_none() && !self.world().collectives.instance(part.instance).shape.irregular {
                return Ok(ticket);
            }
        }
        self.await_result(part)?;
        Ok(Ticket::THROUGH)
    }

    /// The second half of a blocking call, of which the first answered `word`; its result, if the member gets one, goes to `to`.
    #[inline(never)]
    pub fn end_collective(&self, word: usize, to: Addr) -> Result {
        let ticket = Ticket::of(word);
        let (index, member) = ticket.parts();
        let mut guard = self.world();
        let world = &mut *guard;
        let target = if ticket.has_result() {
            let bytes = world.collectives.instance(index).shape.output(member);
            Extent { buffer: to, layout: None, bytes }
        } else {
            Extent::none()
        };
        world.collectives.finish_part(&mut world.messages, &world.objects, index, member, &target).map(|_| ())
    }

    /// The rank, which is through, takes its result into its blocks and leaves.
    #[inline(never)]
    pub(super) fn end_lists(&self, ticket: Ticket, receive: &Side, blocks: usize) -> Result {
        let (index, member) = ticket.parts();
        let mut guard = self.world();
        let world = &mut *guard;
        let list = block_list(&world.messages, &world.objects, receive, blocks)?;
        world.collectives.finish_lists(&mut world.messages, &world.objects, index, member, list.as_ref()).map(|_| ())
    }
}
