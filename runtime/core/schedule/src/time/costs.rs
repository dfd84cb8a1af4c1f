//! Costs of messages, and what a process has to report of its rounds.

use crate::mailbox::Mailbox;

/// Times of messages, reductions and copies, in picoseconds.
// Two questions, because most networks that are fast to ask are uniform: the loops then need no pair of
// members.
pub trait Costs {
    /// Returns the time of a message of so many bytes, if it is the same between any two members.
    fn uniform(&self, bytes: u64) -> Option<u64>;
    /// Returns the time of a message from one member to another.
    fn latency(&self, from: u32, to: u32, bytes: u64) -> u64;
    /// Returns the time of combining of so many bytes of an operand. Where it is not 0, members carry a
    /// [`Burden`].
    fn reduction(&self, _bytes: u64) -> u64 {
        0
    }
    /// Returns the time of one copy of so many bytes. Where it is not 0, members carry a [`Burden`].
    fn copying(&self, _bytes: u64) -> u64 {
        0
    }
}

/// Time that a message costs the ranks at its ends, in picoseconds (LogGP's o and g; Alexandrov et al.,
/// 1995).
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct MessageOverheads {
    /// The sender, before the message leaves.
    pub send: u64,
    /// The receiver, once it has arrived.
    pub receive: u64,
    /// From the departure of a message to the earliest moment at which the sender can begin with the next
    /// one.
    pub gap: u64,
}

/// The time that members carry into the rounds and out of them where messages cost their ranks time; by
/// place. Carried in, because a gap after a message that a rank sent before the collective still holds;
/// carried out, because the collective's last message delays what the rank sends next.
// Apart from the clocks, as most machines have none: rounds without it keep eight bytes a member.
pub struct Burden {
    overheads: MessageOverheads,
    /// The time at which each can begin to send; empty without a gap.
    free: Vec<u64>,
    /// For how long each has waited for messages so far: overheads are work.
    waited: Vec<u64>,
    /// Arrivals at own members in the round that is under way.
    pub(super) arrivals: Mailbox<u64>,
}

impl Burden {
    /// Creates the burden of `members` members. `free` yields the times at which each can begin to send, and
    /// is read only if there is a gap.
    pub fn new(overheads: MessageOverheads, members: usize, free: impl Iterator<Item = u64>) -> Burden {
        let free = if overheads.gap == 0 { Vec::new() } else { free.collect() };
        Burden { overheads, free, waited: vec![0; members], arrivals: Mailbox::new(members) }
    }
    /// Returns when a message leaves that the member in this place begins to send at `clock`.
    pub(super) fn leave(&mut self, place: usize, clock: u64) -> u64 {
        match self.free.get_mut(place) {
            // Without a gap the interface is never busy, and nothing is remembered of it.
            None => clock + self.overheads.send,
            Some(free) => {
                let left = clock.max(*free) + self.overheads.send;
                *free = left + self.overheads.gap;
                left
            }
        }
    }
    /// Takes a message for a member at `clock`; returns its clock once it has taken a message that arrives at
    /// `arrival`.
    pub(super) fn take(&mut self, place: usize, clock: u64, arrival: u64) -> u64 {
        self.waited[place] += arrival.saturating_sub(clock);
        clock.max(arrival) + self.overheads.receive
    }
    /// Returns when the member in this place can begin to send again, if there is a gap.
    pub fn free(&self, place: usize) -> Option<u64> {
        self.free.get(place).copied()
    }
    /// Returns for how long the member in this place has waited for messages.
    pub fn waited(&self, place: usize) -> u64 {
        self.waited[place]
    }
}

/// The result of some rounds for one process: records for other processes, and counts of the messages sent.
#[derive(Default)]
pub struct RoundResult {
    /// Process, round, record.
    pub records: Vec<(u32, u32, Vec<u8>)>,
    /// Messages of the schedule that its members sent.
    pub messages: u64,
    /// Their bytes.
    pub bytes: u128,
}
