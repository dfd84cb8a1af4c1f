//! Threads that call MPI at once, where a process is one rank (`MPI_THREAD_MULTIPLE`; MPI 5.0 section 11.6).
//!
//! One thread at a time is inside. All share the rank's clock. A blocked thread sets aside what it waits for.
//! One of the blocked threads does the rank's work, as a process with one thread does within its wait: it
//! lets others in when they knock, and instead of sleeping.
//!
//! The host decides in which order threads find what, as on any machine; a process in which one thread calls
//! goes none of these ways.

use crate::order::question::{Open, Poll};
use crate::order::threads::{Blocked, Door, Need};
use crate::progress::Left;
use crate::run::{Ending, Over};
use crate::world::{Mpi, World};

/// The blocked thread that goes on.
enum Turn {
    /// The one that asks.
    Mine,
    /// Another one.
    Of(usize),
    /// Nobody can.
    Nobody,
}

impl Mpi {
    /// Blocks the calling thread until what it waits for has happened, while others may be in MPI. Nothing
    /// has woken the rank since the thread's call has begun its wait.
    #[cold]
    pub(crate) fn wait_beside(&self, over: Over, door: &'static dyn Door) {
        let thread = door.me();
        self.world().set_aside(thread);
        let mut ending = Ending::default();
        loop {
            let turn = self.world().turn(thread);
            match turn {
                Turn::Mine => break,
                Turn::Of(other) => {
                    door.pass(other);
                    continue;
                }
                Turn::Nobody if !door.drives() => continue,
                Turn::Nobody => {}
            }
            match self.serve_threads(&mut ending) {
                Left::Outside => {}
                Left::Aside(at_most) => {
                    let changed = door.let_in(at_most);
                    self.world().order.threads.changed |= changed;
                }
                Left::Over => self.run_is_over(over, ending),
            }
        }
        self.world().messages.ranks_mut().mark_varying();
        door.goes_on();
    }

    /// Serves the run until a blocked thread may be able to go on.
    fn serve_threads(&self, ending: &mut Ending) -> Left {
        self.world().block_for_threads();
        let left = self.serve(ending);
        if left != Left::Over {
            self.world().unblock_for_threads(left == Left::Outside);
        }
        left
    }
}

impl World {
    /// Sets aside what the mounted rank is blocked for as what the thread waits for: afterwards the rank is
    /// blocked for nothing.
    fn set_aside(&mut self, thread: usize) {
        let me = self.messages.me();
        let need = self.take_need(me);
        let function = self.messages.ranks().strand().function();
        self.order.threads.blocked.push(Blocked { thread, function, need, decided: None });
    }

    fn take_need(&mut self, me: u32) -> Need {
        let state = &mut self.messages.ranks_mut()[me];
        if state.pending.is_polling() {
            state.pending.set_polling(false);
            self.mark_dirty(me);
            return match self.order.polls.remove(&me) {
                Some(Poll::Once(asked)) => Need::Answer(asked),
                // Its thread polls, and "no" is an answer: it may do something else then, and so may others.
                _ => {
                    self.messages.ranks_mut().strand_mut().set_failed_polls(0);
                    Need::Nothing
                }
            };
        }
        if !state.strand.unblock() {
            return Need::Wake(false);
        }
        let requests = self.messages.completing().take_awaited(me);
        if !requests.is_empty() {
            return Need::Requests(requests);
        }
        let known: Vec<(u32, u32)> = self.order.threads.blocked.iter().filter_map(Blocked::member).collect();
        match self.chapters.collectives.blocked_member(&self.objects, me, &known) {
            Some((instance, member)) => Need::Member(instance, member),
            None => Need::Wake(false),
        }
    }

    /// Returns who of the blocked threads goes on: the one that asks, if it can. It is blocked no more then.
    fn turn(&mut self, thread: usize) -> Turn {
        let me = self.messages.me();
        let is_over = |blocked: &&Blocked| self.open_need(me, blocked) == Open::Final;
        let mut can =
            self.order.threads.blocked.iter().filter(is_over).map(|blocked| blocked.thread).peekable();
        let Some(&first) = can.peek() else { return Turn::Nobody };
        if !can.any(|can| can == thread) {
            return Turn::Of(first);
        }
        let blocked = &mut self.order.threads.blocked;
        let Some(place) = blocked.iter().position(|blocked| blocked.thread == thread) else {
            return Turn::Nobody;
        };
        self.messages.ranks_mut().strand_mut().set_function(blocked.remove(place).function);
        Turn::Mine
    }

    /// The mounted rank is blocked until one of its threads can go on.
    // Members of collectives are woken as a rank with one thread is, by a number that is not 0; whom it was
    // for is looked up.
    fn block_for_threads(&mut self) {
        let me = self.messages.me();
        self.messages.flush_batch();
        self.order.polls.insert(me, Poll::Threads);
        let state = &mut self.messages.ranks_mut()[me];
        state.pending.set_polling(true);
        let members = self.order.threads.blocked.iter().any(|blocked| blocked.member().is_some());
        state.strand.block(members.into());
        self.mark_dirty(me);
    }

    /// Unblocks the rank, `woken` or because a thread is to be let in.
    fn unblock_for_threads(&mut self, woken: bool) {
        let me = self.messages.me();
        self.order.polls.remove(&me);
        let state = &mut self.messages.ranks_mut()[me];
        state.pending.set_polling(false);
        state.strand.unblock();
        // Woken for a member and for an answer, it is woken twice; nobody else is here.
        while self.messages.ready_mut().next_strand().is_some() {}
        self.mark_dirty(me);
        if woken {
            for blocked in &mut self.order.threads.blocked {
                if let Need::Wake(wakes) = &mut blocked.need {
                    *wakes = true;
                }
            }
        }
    }
}

impl Blocked {
    /// Returns the member of a collective call that it waits for.
    fn member(&self) -> Option<(u32, u32)> {
        match self.need {
            Need::Member(instance, member) => Some((instance, member)),
            _ => None,
        }
    }
}
