//! Threads of a process that is one rank: what each that is blocked waits for.
//!
//! A rank counts what it is blocked for once (`Process::waiting`, one entry of `Order::polls`), which is all
//! that a rank with one thread needs. While several threads are blocked, the wait of each is set aside here
//! in a form that can be checked again. The rank is then blocked in [`Poll::Threads`](super::question::Poll):
//! it goes on as soon as one of them can.

use super::question::Asked;
use crate::remote::pause::Waiting;
use engine::Time;
use std::time::Duration;

/// The time that a process that nothing can wake but a thread of its own waits before it asks again whether
/// there is one.
pub(crate) const LOOK: Duration = Duration::from_millis(100);

/// The door through which the threads of a process come into MPI, one at a time: what the main loop asks of
/// it while threads are blocked.
// Here and not in the loop, because what a thread is, and how one waits for another, is the host's and
// nothing of MPI's.
pub trait Door {
    /// Returns the calling thread.
    fn me(&self) -> usize;
    /// Returns `true` if a thread waits to be let in. Asked at each look at other processes: O(1), without a
    /// lock.
    fn knocks(&self) -> bool;
    /// Returns `true` if more than one thread has been in.
    fn several(&self) -> bool;
    /// Returns `true` if a thread may still call, when so many are blocked inside.
    fn outside(&self, blocked: usize) -> bool;
    /// Lets others in, until it is this thread's turn and so much time has passed or somebody was in: whether
    /// anybody was whose call may have changed something.
    fn let_in(&self, at_most: Duration) -> bool;
    /// Lets this blocked thread in, which goes on; answers when it is the calling thread's turn again.
    fn pass(&self, to: usize);
    /// Returns `true` if the calling thread, which is blocked, is the one that does the rank's work. If not,
    /// it has waited for its turn.
    fn drives(&self) -> bool;
    /// Notes that the calling thread, which was blocked, goes on: another one does the rank's work.
    fn goes_on(&self);
    /// Returns where the program makes the call that the calling thread is in, if that is known.
    fn call_site(&self) -> Option<String> {
        None
    }
}

/// Condition for which a blocked thread waits.
pub(crate) enum Need {
    /// Completion of all of these requests. Receives of `MPI_Recv` are among them by their nodes.
    Requests(Vec<usize>),
    /// The answer to a question.
    Answer(Asked),
    /// A member of a collective call is through: instance and member.
    Member(u32, u32),
    /// Anything wakes the rank: it steps back, or rests for ever. `true` if something has.
    Wake(bool),
    /// Nothing any more.
    Nothing,
}

/// A blocked thread.
pub(crate) struct Blocked {
    pub(crate) thread: usize,
    /// The MPI function that it is in.
    pub(crate) function: u16,
    pub(crate) need: Need,
    /// Up to when it is decided that its question can be answered.
    // Kept, as others may come in between the decision and the thread's turn.
    pub(crate) decided: Option<Time>,
}

/// The threads of a process that is one rank.
#[derive(Default)]
pub(crate) struct Threads {
    /// Nobody comes in while a thread is blocked unless there is one.
    pub(crate) door: Option<&'static dyn Door>,
    pub(crate) blocked: Vec<Blocked>,
    /// The wait for other processes that was left to let threads in.
    pub(crate) waiting: Option<Waiting>,
    /// `true` if anybody came whose call may have changed something.
    pub(crate) changed: bool,
    /// `true` if the last report said that a thread may still call.
    pub(crate) reported_outside: bool,
}

impl Threads {
    /// Returns `true` if a thread waits to be let in.
    pub(crate) fn knocks(&self) -> bool {
        self.door.is_some_and(|door| door.knocks())
    }
    /// Returns `true` if several threads take part.
    pub(crate) fn several(&self) -> bool {
        self.door.is_some_and(|door| door.several())
    }
    /// Returns `true` if a thread may still call: what seems to wait for ever may not.
    pub(crate) fn outside(&self) -> bool {
        self.door.is_some_and(|door| door.outside(self.blocked.len().max(1)))
    }
}
