//! A rank that is blocked in a collective, in a small frame: one word says which member of which call it is.

use crate::mode::ENDED;

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
    pub(crate) fn new(instance: u32, member: u32) -> Ticket {
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
    pub(super) fn without_result(self) -> Ticket {
        Ticket(self.0 | NO_RESULT)
    }
    pub(super) fn has_result(self) -> bool {
        self.0 & NO_RESULT == 0
    }
    pub(super) fn parts(self) -> (u32, u32) {
        ((self.0 >> 32) as u32, (self.0 & !NO_RESULT) as u32)
    }
}
