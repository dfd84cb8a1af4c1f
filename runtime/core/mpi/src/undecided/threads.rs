//! Several blocked threads of a rank, and what they wait for.

use crate::order::question::Open;
use crate::order::threads::{Blocked, Need};
use crate::request::Completion;
use crate::world::World;

impl World {
    /// Returns when a thread can go on, as far as is known.
    pub(crate) fn open_need(&self, rank: u32, blocked: &Blocked) -> Open {
        let open = match &blocked.need {
            Need::Requests(handles) => {
                let complete =
                    handles.iter().all(|&handle| self.completion(handle) != Ok(Completion::Unknown));
                if complete { Open::Final } else { Open::Never }
            }
            // A poll that was decided is answered as of now: asked anew at each instant to which others move
            // the clock, it might never be.
            Need::Answer(asked) if asked.question.is_poll() && blocked.decided.is_some() => Open::Final,
            Need::Answer(asked) => self.open_once(rank, &asked.question),
            &Need::Member(instance, member)
                if self.chapters.collectives.is_member_through(instance, member) =>
            {
                Open::Final
            }
            Need::Nothing | Need::Wake(true) => Open::Final,
            Need::Member(..) | Need::Wake(false) => Open::Never,
        };
        match open {
            Open::At(time) if blocked.decided.is_some_and(|decided| time <= decided) => Open::Final,
            open => open,
        }
    }

    /// Returns when the first of the blocked threads can go on.
    pub(crate) fn open_threads(&self, rank: u32) -> Open {
        let mut first = Open::Never;
        for blocked in &self.order.threads.blocked {
            first = match (self.open_need(rank, blocked), first) {
                (Open::Final, _) => return Open::Final,
                (Open::At(time), Open::At(least)) => Open::At(time.min(least)),
                (Open::At(time), _) => Open::At(time),
                (_, first) => first,
            };
        }
        first
    }

    /// Lets the threads go on that can first: the rank's poll is answered.
    pub(crate) fn answer_threads(&mut self, rank: u32) {
        let Open::At(first) = self.open_threads(rank) else { return };
        let opens: Vec<bool> = self
            .order
            .threads
            .blocked
            .iter()
            .map(|blocked| self.open_need(rank, blocked) == Open::At(first))
            .collect();
        for (blocked, opens) in self.order.threads.blocked.iter_mut().zip(opens) {
            if opens {
                blocked.decided = Some(first);
            }
        }
    }
}
