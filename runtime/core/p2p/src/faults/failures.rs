//! Failures and revocations as the ranks of this process get to know of them: alarms, and operations under
//! way that they may end.

use super::{Fault, Faults, Revoked};
use crate::envelope::Pattern;
use crate::node::{State, flag};
use crate::peers::Peers;
use crate::ranks::Ranks;
use crate::request::{Body, Requests};
use engine::Time;
use matcher::Matcher;
use objects::Objects;
use objects::error::{ErrorClass, Failure};

/// Failed ranks and revoked communicators, with the ranks that are notified of them. Nothing happens where
/// nothing can fail.
pub struct FailureNotices<'a> {
    pub(crate) faults: Option<&'a mut Faults>,
    pub(crate) ranks: &'a mut Ranks,
    pub(crate) matcher: &'a mut Matcher,
}

impl FailureNotices<'_> {
    /// Sets an alarm: a rank will have something to look at.
    pub fn alarm(&mut self, rank: u32, at: Time) {
        if let Some(faults) = &mut self.faults {
            faults.alarms.entry(rank).or_default().insert(at);
            self.mark_dirty(rank);
        }
    }

    fn mark_dirty(&mut self, rank: u32) {
        self.matcher.mark_dirty(rank, &mut self.ranks[rank].pending);
    }

    /// Stops a rank of this process at a time, unless it stops before.
    pub fn doom(&mut self, rank: u32, at: Time) {
        let Some(faults) = &mut self.faults else { return };
        let doom = faults.doomed.entry(rank).or_insert(at);
        *doom = at.min(*doom);
        let doom = *doom;
        self.alarm(rank, doom);
    }

    /// Begins a rank of this process at a time: it may have to stop, and hears of what is not known by then.
    pub fn born(&mut self, rank: u32, at: Time) {
        let Some(faults) = &mut self.faults else { return };
        let doom = faults.doomed.get_mut(&rank).map(|doom| {
            *doom = at.max(*doom);
            *doom
        });
        let known: Vec<Time> =
            faults.failed.iter().map(|failed| faults.known(failed)).filter(|known| *known > at).collect();
        doom.into_iter().chain(known).for_each(|time| self.alarm(rank, time));
    }

    /// Notifies a rank of this process at a time that a communicator is revoked.
    pub fn revoke(&mut self, rank: u32, context: u32, at: Time) {
        let Some(faults) = &mut self.faults else { return };
        let revoked = faults.revoked.entry((rank, context)).or_insert(Revoked { at, known: false });
        revoked.at = at.min(revoked.at);
        self.alarm(rank, at);
    }

    /// Returns the error of an operation of the mounted rank that has failed.
    pub fn tell_failure(&mut self, fault: Fault) -> Box<Failure> {
        if let Some(faults) = &mut self.faults {
            faults.falls_behind(self.ranks.me());
        }
        fault.failure()
    }

    /// Lists a receive of a rank that is under way since `posted`, or a message that it has taken out of the
    /// queues.
    pub(crate) fn list_receive(&mut self, rank: u32, receive: u32, posted: Time) {
        let Some(faults) = &mut self.faults else { return };
        faults.under_way.list_receive(rank, receive, posted);
        let node = &mut self.matcher[receive];
        if node.state != State::Extracted {
            node.flags |= flag::LISTED | flag::MOUNTED_ONLY;
        }
    }

    /// Lists a message that has been taken out of the queues of the mounted rank, which may fail before it
    /// receives it.
    #[cold]
    pub fn list_extracted(&mut self, message: u32) {
        self.list_receive(self.ranks.me(), message, self.ranks.clock(self.ranks.me()));
    }

    /// Takes a receive of the mounted rank off the list that is over, or a message that had been taken out of
    /// the queues and is received.
    pub(crate) fn unlist_receive(&mut self, receive: u32) {
        if let Some(faults) = &mut self.faults {
            faults.under_way.unlist_receive(self.ranks.me(), receive);
        }
    }

    /// Lists a send of the mounted rank with this request, which waits for its match. Returns what its
    /// message carries.
    pub(crate) fn list_send(
        &mut self,
        (requests, peers): (&mut Requests, &Peers),
        request: u32,
        context: u32,
        to: u32,
    ) -> u32 {
        let (rank, begun) = (self.ranks.me(), self.ranks.clock(self.ranks.me()));
        let Some(faults) = &mut self.faults else { return request };
        let ticket = faults.under_way.list_send(request, rank, context, begun);
        // It is told already, and has not looked since.
        if faults.is_revoked(rank, context) {
            self.alarm(rank, begun);
        }
        if self.ranks.is_local(to) {
            requests.make(rank, Body::Away { process: peers.own_number(), request: ticket, sequence: 0 })
        } else {
            request
        }
    }

    /// Lists what is under way when failures and revocations are reckoned with from now on.
    // In the middle of a run, of one process alone.
    pub(crate) fn list_all(&mut self, (requests, peers): (&mut Requests, &Peers)) {
        for rank in self.ranks.own_started() {
            let posted: Vec<u32> = self.matcher.receives(&self.ranks[rank].pending).collect();
            for receive in posted {
                // One that is completed unseen is no more when its rank goes on.
                let node = &self.matcher[receive];
                if !node.has(flag::STATUS_IGNORED) {
                    self.list_receive(rank, receive, node.arrival);
                }
            }
            let lying: Vec<u32> = self.matcher.messages(&self.ranks[rank].pending).collect();
            for message in lying {
                let node = self.matcher[message];
                if node.has(flag::SYNCHRONOUS | flag::RENDEZVOUS) {
                    let request = node.data[1] as u32;
                    let before = self.ranks.me();
                    self.ranks.mount(requests[request].owner);
                    let carried = self.list_send((requests, peers), request, node.context, rank);
                    self.matcher[message].data[1] = carried.into();
                    self.ranks.mount(before);
                }
            }
        }
    }

    /// Looks at a receive that the mounted rank has posted and for which nothing may come: it ends when that
    /// is decided.
    #[cold]
    pub(crate) fn look_at_posted(&mut self, objects: &Objects, receive: u32) {
        let (me, node) = (self.ranks.me(), &self.matcher[receive]);
        let Some(faults) = &self.faults else { return };
        let Some(fault) = faults.fault_of(objects, me, &Pattern::of(node)) else { return };
        if node.state == State::Posted || fault.class == ErrorClass::REVOKED {
            self.alarm(me, fault.known.max(self.ranks.clock(me)));
        }
    }

    /// Looks behind a receive of `rank` for any source that was decided or cancelled at `time`: it may have
    /// taken what was the last message for one behind it.
    pub fn look_behind(&mut self, rank: u32, time: Time) {
        if self.faults.as_ref().is_some_and(|faults| !faults.failed.is_empty())
            && self.matcher.has_named_receives(&self.ranks[rank].pending)
        {
            self.alarm(rank, time);
        }
    }

    /// Returns why a posted receive of `rank` gets nothing any more, as is known at `now`.
    // One that was posted later is looked at when it was. A message may be there that a receive before it may
    // take.
    pub(super) fn ends_now(
        &mut self,
        objects: &Objects,
        rank: u32,
        receive: u32,
        now: Time,
    ) -> Option<Fault> {
        let node = &self.matcher[receive];
        let (pattern, posted) = (Pattern::of(node), node.arrival);
        let fault = self.faults.as_ref()?.fault_of(objects, rank, &pattern)?;
        if fault.known > now {
            return None;
        }
        if posted > now {
            self.alarm(rank, posted);
            return None;
        }
        let gets_nothing = || self.matcher.find(&self.ranks[rank].pending, &pattern).is_none();
        (fault.class != ErrorClass::PROC_FAILED || gets_nothing()).then_some(fault)
    }

    /// Ends a posted receive with an error. Returns when it completes: when that is known or when it was
    /// posted, whichever is later.
    pub(super) fn end_posted(&mut self, rank: u32, receive: u32, fault: Fault) -> Option<Time> {
        self.matcher.remove_receive(&mut self.ranks[rank].pending, receive);
        let node = &mut self.matcher[receive];
        let at = fault.known.max(node.arrival);
        // A request that the program has freed waits until its rank acknowledges the failure: no rank asks
        // for its error.
        let waits_unasked = node.has(flag::ORPHAN) && fault.class == ErrorClass::PROC_FAILED_PENDING;
        // Marked as a message that was too long: off all plain paths, to where its error is made.
        node.flags |= flag::TRUNCATED;
        if node.has(flag::WILD) {
            self.matcher.close_wildcard(rank, &mut self.ranks[rank].pending, receive);
        }
        if let Some(faults) = &mut self.faults {
            faults.end_receive(receive, rank, fault);
        }
        self.mark_dirty(rank);
        if waits_unasked {
            let node = &mut self.matcher[receive];
            (node.state, node.arrival) = (State::Matched, at);
            return None;
        }
        Some(at)
    }

    /// Returns why a receive of `rank` that was posted at `posted` and has its message loses it, if its
    /// communicator is revoked and the message arrives after `now`.
    pub(super) fn loses_now(&mut self, rank: u32, receive: u32, posted: Time, now: Time) -> Option<Fault> {
        let node = &self.matcher[receive];
        let fault = self.faults.as_ref()?.revocation(rank, node.context)?;
        if node.state != State::Matched || node.has(flag::ORPHAN) || node.arrival <= now.max(posted) {
            return None;
        }
        if posted > now {
            self.alarm(rank, posted);
            return None;
        }
        Some(Fault { known: now, ..fault })
    }

    /// Ends a receive of `rank` that has lost its message with an error.
    pub(super) fn end_matched(&mut self, rank: u32, receive: u32, fault: Fault) {
        let node = &mut self.matcher[receive];
        node.flags = node.flags & !(flag::INLINE | flag::POOLED) | flag::TRUNCATED;
        node.arrival = fault.known;
        if let Some(faults) = &mut self.faults {
            faults.end_receive(receive, rank, fault);
        }
        self.mark_dirty(rank);
    }

    /// Readies a receive of the mounted rank for any source that had ended to be posted again.
    pub(crate) fn resume(&mut self, receive: u32) {
        let (me, clock) = (self.ranks.me(), self.ranks.clock(self.ranks.me()));
        let node = &mut self.matcher[receive];
        node.flags &= !(flag::TRUNCATED | flag::WAITED | flag::STATUS_IGNORED);
        (node.state, node.arrival) = (State::Posted, clock);
        self.list_receive(me, receive, clock);
        self.alarm(me, clock);
    }

    /// Takes the mounted rank's receives for any source that had ended in a communicator, whose failures the
    /// rank has acknowledged.
    // In the order in which they have ended, which is that of posting where a failure has ended several.
    // Nodes are numbered as the host pleases.
    pub(super) fn take_pending_of(&mut self, context: u32) -> Vec<u32> {
        let (me, matcher) = (self.ranks.me(), &self.matcher);
        let Some(faults) = &mut self.faults else { return Vec::new() };
        faults.take_pending_of(me, |receive| matcher[receive].context == context)
    }

    /// Takes all that `rank`, which has failed, has posted out of the queues.
    pub(super) fn forget_posted(&mut self, rank: u32) {
        let posted: Vec<u32> = self.matcher.receives(&self.ranks[rank].pending).collect();
        for receive in posted {
            self.matcher.remove_receive(&mut self.ranks[rank].pending, receive);
            if self.matcher[receive].has(flag::WILD) {
                self.matcher.close_wildcard(rank, &mut self.ranks[rank].pending, receive);
            }
            self.matcher.free(receive);
        }
        if let Some(faults) = &mut self.faults {
            faults.receives.retain(|_, failed| failed.owner != rank);
        }
    }
}
