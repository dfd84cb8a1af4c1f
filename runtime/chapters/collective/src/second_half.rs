//! Second halves of blocking calls. What a rank waited for is one word, its ticket; where the result goes is
//! among the arguments of its call.

use crate::area::BufferArgument;
use crate::blocks::block_list;
use crate::entrance::{EnteredCall, Entrance};
use crate::ticket::Ticket;
use objects::error::Result;
use p2p::view::BufferView;
use rank::Addr;
use schedule::Members;

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
    /// The error that the member's part in it failed with.
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
    /// The error that the members' agreement failed with.
    pub fn end_agreement(&mut self, ticket: Ticket) -> Result<usize> {
        let (index, member) = ticket.parts();
        self.collectives.finish_part(self.messages, self.objects, index, member, &BufferView::none())
    }

    /// Copies the result of the rank, which is through, into its blocks and leaves.
    ///
    /// # Errors
    /// The error that the member's part in it failed with; `MPI_ERR_TYPE` and the like for the blocks.
    pub fn end_lists(&mut self, ticket: Ticket, receive: &BufferArgument, blocks: usize) -> Result {
        let (index, member) = ticket.parts();
        let list = block_list(self.messages, self.objects, receive, blocks)?;
        self.collectives.finish_lists(self.messages, self.objects, index, member, list.as_ref()).map(|_| ())
    }

    /// Takes the result of the rank, which is through and leaves; returns the handle of a new communicator,
    /// if one was made.
    ///
    /// # Errors
    /// The error that the member's part in it failed with.
    pub fn take_result(&mut self, part: &EnteredCall) -> Result<usize> {
        self.collectives.finish_part(self.messages, self.objects, part.instance, part.member, &part.target)
    }
}
