//! Operations that end with an error when their rank gets to know of a failure or a revocation.

use super::Fault;
use crate::Messages;
use crate::node::{Node, State, flag};
use engine::Time;
use objects::Objects;
use objects::error::ErrorClass;

/// Returns the request of the sender that waits for a message's match.
fn waiting_sender(message: &Node) -> Option<u32> {
    message.has(flag::SYNCHRONOUS | flag::RENDEZVOUS).then_some(message.data[1] as u32)
}

/// Ends the receives of `rank` with an error that get nothing any more, as is known at `now`. Returns `true`
/// if one of them was for any source: then others may have a message that it kept from them.
// O(receives), each with a search: once a failure and rank. What a rank that has run ahead has posted later
// ends then: by that time it may have been told of more.
pub fn fail_receives(messages: &mut Messages, objects: &Objects, rank: u32, now: Time) -> bool {
    let posted: Vec<u32> = messages.matcher().receives(&messages.ranks()[rank].pending).collect();
    let mut wild = false;
    for receive in posted {
        let Some(fault) = messages.failures().ends_now(objects, rank, receive, now) else { continue };
        wild |= messages.matcher()[receive].has(flag::WILD);
        let fault = Fault { known: now, ..fault };
        if let Some(at) = messages.failures().end_posted(rank, receive, fault) {
            messages.completing().complete(rank, receive, at);
        }
    }
    wild
}

/// Takes their messages from the receives of `rank` that are of a revoked communicator, where these arrive
/// after `now`.
pub fn take_from_receives(messages: &mut Messages, rank: u32, now: Time) {
    let listed = messages.faults().map(|faults| faults.under_way.receives_of(rank)).unwrap_or_default();
    for (receive, posted) in listed {
        let Some(fault) = messages.failures().loses_now(rank, receive, posted, now) else { continue };
        let node = messages.matcher()[receive];
        if node.has(flag::POOLED) {
            messages.payloads_mut().discard(node.data[0] as u32);
        }
        if let Some(deferred) = messages.requests_mut().deferred_mut().drop_of(rank, receive) {
            // Its sender is notified of the revocation by itself.
            messages.requests_mut().remove(deferred.transit.request);
        }
        messages.failures().end_matched(rank, receive, fault);
    }
}

/// Ends the sends of `rank` with an error that are not over by `now`, where it has been told that their
/// communicator is revoked. Their messages may still be received until the receivers are told, too.
// O(sends under way).
pub fn fail_sends(messages: &mut Messages, rank: u32, now: Time) {
    let sends = messages.faults().map(|faults| faults.under_way.sends_of(rank)).unwrap_or_default();
    for (request, context, begun) in sends {
        let Some(fault) = messages.faults().and_then(|faults| faults.revocation(rank, context)) else {
            continue;
        };
        let is_open = |done: Option<Time>| done.is_none_or(|done| done > now);
        let Some(state) =
            messages.requests_mut().get_mut(request).filter(|state| !state.orphan && is_open(state.done))
        else {
            continue;
        };
        if begun > now {
            messages.failures().alarm(rank, begun);
            continue;
        }
        // That its match will be told, or the failure of its receiver, is known already, and later.
        state.done = None;
        messages.fail_send(request, Fault { known: now, ..fault });
    }
}

/// Ends a subsystem's request at `now` that is not over by then, as the subsystem has to report. Returns
/// `true` if that is so.
pub fn break_request(messages: &mut Messages, request: u32, now: Time) -> bool {
    let state = messages.requests_mut().get_mut(request);
    let state = state.filter(|state| state.done.is_none_or(|done| done > now));
    let is_open = state.is_some();
    if let Some(state) = state {
        // That it is over is known already, and later.
        state.done = None;
        messages.finish_request(request, now);
    }
    is_open
}

/// Posts the mounted rank's receives for any source again that had ended in a communicator, whose failures
/// the rank has acknowledged.
pub fn resume_pending(messages: &mut Messages, context: u32) {
    for receive in messages.failures().take_pending_of(context) {
        messages.failures().resume(receive);
        messages.post(messages.me(), receive, false);
    }
}

/// Removes a rank that has failed at a time. Nothing that it has posted gets a message any more, and no rank
/// wakes it. A sender that waits for it to take a message is notified.
pub fn bury(messages: &mut Messages, rank: u32, at: Time) {
    messages.failures().forget_posted(rank);
    let known = messages.faults().map_or(at, |faults| at + faults.delay);
    let fault = Fault { class: ErrorClass::PROC_FAILED, known, rank };
    let lying: Vec<u32> = messages.matcher().messages(&messages.ranks()[rank].pending).collect();
    for message in lying {
        if let Some(request) = waiting_sender(&messages.matcher()[message]) {
            let (matcher, pending) = messages.matching(rank);
            matcher.remove_message(pending, message);
            matcher.drop_message(message);
            messages.fail_send(request, fault);
        }
    }
    let deferred = messages.requests_mut().deferred_mut();
    let deferred: Vec<_> = std::iter::from_fn(|| deferred.drop_first(rank)).collect();
    deferred.into_iter().for_each(|deferred| messages.fail_send(deferred.transit.request, fault));
    let extracted = messages.faults_mut().map(|faults| faults.under_way.bury(rank)).unwrap_or_default();
    for (message, _) in extracted {
        let node = &messages.matcher()[message];
        if node.state == State::Extracted
            && let Some(request) = waiting_sender(node)
        {
            messages.fail_send(request, fault);
        }
    }
    messages.requests_mut().abandon(rank);
    let state = &mut messages.ranks_mut()[rank];
    // A rank that waits in a collective keeps the clock at which it has entered that: others may still need
    // it.
    state.clock = at.min(state.clock);
    state.strand.unblock();
    state.pending.set_polling(false);
}
