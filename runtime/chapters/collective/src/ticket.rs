//! A rank that is blocked in a collective, in a small frame: one word says which member of which call it is,
//! and where the result goes is among the arguments of its call.

use crate::area::BufferArgument;
use crate::blocks::block_list;
use crate::entrance::{EnteredCall, Entrance};
use crate::mode::ENDED;
use objects::error::Result;
use p2p::view::BufferView;
use rank::Addr;
use schedule::Members;

/// In a member's number, of which there are fewer than 2^31.
const NO_RESULT: usize = 1 << 31;

/// A member that is blocked in a call, in one word: instance and member.
// One word, because it stands on the stack of every rank that is blocked: what a rank costs in memory is what
// its frames hold.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Ticket(usize);

impl Ticket {
    /// There is nothing to wait for.
    pub const THROUGH: Ticket = Ticket(ENDED);
    pub(super) fn new(instance: u32, member: u32) -> Ticket {
        Ticket((instance as usize) << 32 | member as usize)
    }
    /// Returns it as a word for the second half.
    #[inline]
    pub const fn word(self) -> usize {
        self.0
    }
    /// Returns what the first half answered.
    #[inline]
    pub fn of(word: usize) -> Ticket {
        Ticket(word)
    }
    /// Returns the ticket of this member, which gets no result from those it waits for.
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

impl EnteredCall {
    /// Returns what it waits for.
    pub fn waiting(&self) -> Ticket {
        Ticket::new(self.instance, self.member)
    }
}

impl Entrance<'_> {
    /// Returns what a rank that has entered waits for, if its result goes where the second half of its call
    /// knows: side by side, of the size that all get, or nowhere.
    // What a second half cannot know from its own arguments (a layout, a size that only this member has)
    // would have to be kept meanwhile.
    pub fn ticket(&self, part: &EnteredCall) -> Option<Ticket> {
        if part.through {
            return None;
        }
        let ticket = part.waiting();
        if part.target.bytes == 0 {
            return Some(ticket.without_result());
        }
        (part.target.layout.is_none() && !self.collectives.instance(part.instance).shape.irregular)
            .then_some(ticket)
    }

    /// Ends a blocking call, as its second half; the result, if the member gets one, goes to `to`.
    ///
    /// # Errors
    /// What the member's part in it failed with.
    pub fn end(&mut self, ticket: Ticket, to: Addr) -> Result {
        let (index, member) = ticket.parts();
        let target = if ticket.has_result() {
            let bytes = self.collectives.instance(index).shape.output(member);
            BufferView { buffer: to, layout: None, bytes }
        } else {
            BufferView::none()
        };
        self.collectives.finish_part(self.messages, self.objects, index, member, &target).map(|_| ())
    }

    /// Ends a call that makes a communicator; returns its handle.
    ///
    /// # Errors
    /// What the members' agreement failed with.
    pub fn end_agreement(&mut self, ticket: Ticket) -> Result<usize> {
        let (index, member) = ticket.parts();
        self.collectives.finish_part(self.messages, self.objects, index, member, &BufferView::none())
    }

    /// Copies the result of the rank, which is through, into its blocks and leaves.
    ///
    /// # Errors
    /// What the member's part in it failed with; `MPI_ERR_TYPE` and the like for the blocks.
    pub fn end_lists(&mut self, ticket: Ticket, receive: &BufferArgument, blocks: usize) -> Result {
        let (index, member) = ticket.parts();
        let list = block_list(self.messages, self.objects, receive, blocks)?;
        self.collectives.finish_lists(self.messages, self.objects, index, member, list.as_ref()).map(|_| ())
    }

    /// Takes the result of the rank, which is through and leaves; returns the handle of a new communicator,
    /// if one was made.
    ///
    /// # Errors
    /// What the member's part in it failed with.
    pub fn take_result(&mut self, part: &EnteredCall) -> Result<usize> {
        self.collectives.finish_part(self.messages, self.objects, part.instance, part.member, &part.target)
    }
}
