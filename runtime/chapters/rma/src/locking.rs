//! Locks, which targets give in the order of arrivals.

use crate::access::{Held, PendingAccess, TargetAction, Turn};
use crate::came::Came;
use crate::lock::Lock;
use crate::state::Rma;
use engine::Time;
use objects::Objects;
use p2p::Messages;

impl Rma {
    /// Takes a request for a target's lock, which is there.
    pub(crate) fn request_lock(
        &mut self,
        messages: &mut Messages,
        mut access: Held,
        exclusive: bool,
        at: Time,
    ) {
        let lock = self.locks.entry((access.win, access.target)).or_default();
        if lock.queue.is_empty() && lock.take(access.origin, exclusive) {
            self.answer(messages, &mut access, at);
        } else {
            lock.queue.push_back(access);
        }
    }

    /// An access goes on, or waits with what came before it from its origin for the lock.
    // With `MPI_Win_lock_all` no origin waits for its locks before it accesses: what it sent ahead waits here
    // in its place, in order.
    pub(crate) fn after_lock(&mut self, access: Held) -> Option<Held> {
        if access.turn == Turn::AtOnce || matches!(access.turn, Turn::Fence(_)) {
            return Some(access);
        }
        let place = (access.win, access.target);
        if access.turn == Turn::Acquires {
            let lock = self.locks.entry(place).or_default();
            if lock.queue.is_empty() && lock.take(access.origin, false) {
                return Some(access);
            }
            lock.queue.push_back(access);
            return None;
        }
        match self.locks.get_mut(&place) {
            Some(lock) if lock.queue.iter().any(|waiting| waiting.origin == access.origin) => {
                lock.queue.push_back(access);
                None
            }
            _ => Some(access),
        }
    }

    /// Takes a lock back: who waits first gets it.
    pub(crate) fn release_lock(
        &mut self,
        messages: &mut Messages,
        objects: &Objects,
        mut access: Held,
        exclusive: bool,
        at: Time,
    ) {
        let place = (access.win, access.target);
        let lock = self.locks.entry(place).or_default();
        if lock.queue.iter().any(|waiting| waiting.origin == access.origin) {
            lock.queue.push_back(access);
            return;
        }
        self.unlock_held(messages, &mut access, exclusive, at);
        // Several that share it are granted at once, until the first that cannot.
        while self.grant_next(messages, objects, place, Came { at, after: access.after }) {}
        if self.locks.get(&place).is_some_and(Lock::is_free) {
            self.locks.remove(&place);
        }
    }

    fn unlock_held(
        &mut self,
        messages: &mut Messages,
        access: &mut PendingAccess,
        exclusive: bool,
        at: Time,
    ) {
        let lock = self.locks.entry((access.win, access.target)).or_default();
        if exclusive {
            lock.exclusive = None;
        } else {
            lock.shared -= 1;
        }
        if access.back.is_asked() {
            self.answer(messages, access, at);
        }
    }

    /// Grants the lock to who waits first, if it is free for that, and lets what its origin sent since go on;
    /// false if not. It was given back then, and by whom.
    // All that waited in a row behind one giving back follows from that one: what was sent ahead takes no
    // time of its own.
    fn grant_next(
        &mut self,
        messages: &mut Messages,
        objects: &Objects,
        place: (u32, u32),
        Came { at, after }: Came,
    ) -> bool {
        let Some(lock) = self.locks.get_mut(&place) else { return false };
        let Some(first) = lock.queue.front() else { return false };
        let exclusive = first.action == TargetAction::Lock { exclusive: true };
        let origin = first.origin;
        if !lock.take(origin, exclusive) {
            return false;
        }
        let mut first = lock.queue.pop_front().expect("looked at above");
        first.after = after;
        match first.action {
            TargetAction::Lock { .. } => self.answer(messages, &mut first, at),
            _ => self.touch(messages, objects, first, at),
        }
        while let Some(mut next) = self.next_of(place, origin) {
            next.after = after;
            match next.action {
                TargetAction::Unlock { exclusive } => {
                    self.unlock_held(messages, &mut next, exclusive, at);
                    break;
                }
                _ => self.touch(messages, objects, next, at),
            }
        }
        true
    }

    /// Returns what an origin that has just got the lock sent while it waited for it.
    // What lies behind a new request of the same origin belongs to that one's epoch.
    fn next_of(&mut self, place: (u32, u32), origin: u32) -> Option<Held> {
        let queue = &mut self.locks.get_mut(&place)?.queue;
        let next =
            queue.iter().position(|waiting| waiting.origin == origin && waiting.turn == Turn::Ordered)?;
        let asks_anew = queue.iter().take(next).any(|waiting| waiting.origin == origin);
        if asks_anew || matches!(queue[next].action, TargetAction::Lock { .. }) {
            None
        } else {
            queue.remove(next)
        }
    }
}
