//! Nesting of a rank's calls that have not returned: which were left, and which a call is made within.
//!
//! A rank has a stack of open calls for each of its threads. Functions of the program that MPI calls lie
//! between: each is noted on entry and exit ([`enter_callback`]), so that a call is at a level, the number of
//! callbacks around it.
//!
//! A thread that makes a call at a level has left its calls at this level and deeper, by an exception or a
//! jump. Where frames lie decides nothing about calls: the scheduler calls reductions on its own stack.

use super::{MODE, OFF, with};
use crate::alone;
use crate::constants::MPI_ERR_OTHER;
use crate::threads;
use call_recording::level::NestingLevel;
use smallvec::SmallVec;
use std::sync::atomic::Ordering::Relaxed;

/// A function of the program that MPI calls for a rank.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Callback {
    rank: u32,
    thread: u32,
    /// An address in the frame that calls it.
    frame: usize,
    /// The code that the call around it returns if the function never does.
    code: i32,
}

/// The callbacks under way, the innermost of a rank last.
#[derive(Default)]
pub struct Nesting(Vec<Callback>);

/// A callback under way, for [`leave_callback`].
#[must_use]
pub struct Entered(Option<(u32, u32, usize)>);

/// A function of the program is called for the mounted rank, from a frame with this address; `code` is what
/// the call around it returns if the function never does.
pub fn enter_callback(code: i32, frame: usize) -> Entered {
    if MODE.load(Relaxed) == OFF {
        return Entered(None);
    }
    let (rank, thread) = (alone::mpi().world().messages.me(), thread());
    let entered = with(|recording| {
        // The scheduler calls functions of ranks on its own stack, where none can jump away.
        if recording.calls && (rank::current().is_some() || alone::mpi().is_alone()) {
            recording.read_before_callback(rank);
        }
        recording.nesting.0.push(Callback { rank, thread, frame, code });
    });
    Entered(entered.map(|()| (rank, thread, frame)))
}

/// Leaves a callback: its function has returned or thrown.
pub fn leave_callback(entered: &Entered) {
    let Some((rank, thread, frame)) = entered.0 else { return };
    with(|recording| {
        let callbacks = &mut recording.nesting.0;
        let is_it =
            |callback: &Callback| (callback.rank, callback.thread, callback.frame) == (rank, thread, frame);
        let Some(at) = callbacks.iter().rposition(is_it) else { return };
        // Those within it that were left by a jump go with it.
        let mut index = 0;
        callbacks.retain(|callback| {
            index += 1;
            index <= at || (callback.rank, callback.thread) != (rank, thread)
        });
    });
}

/// Returns the number of the calling thread; 0 of the first, and where ranks have one.
fn thread() -> u32 {
    if alone::mpi().is_alone() { threads::number() } else { 0 }
}

impl Nesting {
    /// Returns the level of a call of `rank` whose arguments are at an address of its stack. Callbacks that a
    /// jump has left are removed; `left` gets the level of the call around each, and what that call returns.
    // A callback is left if a call of its rank has a frame above its own on the same stack.
    #[inline]
    pub fn level(
        &mut self,
        rank: u32,
        arguments: usize,
        mut left: impl FnMut(NestingLevel, i32),
    ) -> NestingLevel {
        let thread = thread();
        if self.0.is_empty() {
            return NestingLevel { thread, depth: 0 };
        }
        let is_mine = |callback: &Callback| (callback.rank, callback.thread) == (rank, thread);
        let mut depth = self.0.iter().filter(|callback| is_mine(callback)).count() as u32;
        while let Some(at) = self.0.iter().rposition(is_mine) {
            let Callback { frame, code, .. } = self.0[at];
            if arguments <= frame || !are_on_one_stack(arguments, frame) {
                break;
            }
            self.0.remove(at);
            depth -= 1;
            left(NestingLevel { thread, depth }, code);
        }
        NestingLevel { thread, depth }
    }
}

/// Returns `true` if two addresses lie on the stack of the mounted rank. A rank that is the process has one
/// stack for each thread.
fn are_on_one_stack(one: usize, other: usize) -> bool {
    let (limit, base) = rank::stack_bounds();
    let stack = limit..=base;
    alone::mpi().is_alone() || stack.contains(&one) && stack.contains(&other)
}

/// The levels of calls whose callbacks a jump has left, and what these calls return.
pub type LeftCodes = SmallVec<[(NestingLevel, i32); 1]>;

/// The return code of a call that was left by an exception or a jump, if no other is known.
pub const LEFT: i32 = MPI_ERR_OTHER;
