//! The volley: messages that a rank without a program sends and receives one after the other before it waits
//! for all of them.
//!
//! A program's messages are requests until it waits for them: it may do anything else between. Of a rank
//! without a program it is known ahead that it does not. So nothing is kept of a message that meets its other
//! half at once, neither a node nor a request. What is left when all are started is what the rank is blocked
//! for, and has been marked so from the beginning ([`flag::STATUS_IGNORED`]).
//!
//! Only in runs without payloads, and of messages that are plain (`plain.rs`), whose time is known when they
//! are sent. Everything here does what these calls do one by one.

use crate::batch::Operation;
use crate::departures::let_others_run;
use crate::envelope::Envelope;
use crate::messages::Messages;
use crate::moving::Payload;
use crate::node::{NIL, Node, flag};
use crate::plain::Stretch;
use crate::transit::Transit;
use engine::Time;
use rank::Addr;

/// Maximum number of messages in a batched exchange. Those of one exchange are prefetched together and stay
/// in the nearest cache.
pub const MAX_MESSAGES: usize = 64;

/// Returns `true` if the mounted rank's messages can go in volleys: nobody wants to know of them, and
/// nothing of the rank is undecided.
#[inline(always)]
pub fn is_possible(messages: &Messages) -> bool {
    let state = &messages.ranks[messages.ranks.me()];
    let anybody = messages.payloads.are_carried()
        || let_others_run(&messages.ranks, &messages.peers)
        || messages.requests.deferred().cancels()
        || state.pending.is_watched();
    messages.fabric.sends_plainly()
        && messages.requests.receives_plainly()
        && messages.requests.are_unseen()
        && !anybody
}

/// The mounted rank, for which that is so, begins one.
// What it started before comes before: messages of one sender must not overtake (MPI 5.0 section 3.5).
#[inline(always)]
pub fn begin(messages: &mut Messages) {
    messages.flush_batch();
    // One more than it waits for: it is not woken before it waits.
    messages.ranks.strand_mut().block(1);
}

/// Messages will be sent to these ranks, counted from the `first`.
#[inline(always)]
pub fn prefetch_ranks(messages: &Messages, first: u32, others: &[u32]) {
    for &other in others {
        messages.ranks.prefetch(first + other);
    }
}

/// [`prefetch_ranks`] has been asked for these: now for what they have posted.
#[inline(always)]
pub fn prefetch_receives(messages: &Messages, first: u32, others: &[u32]) {
    for &other in others {
        messages.matcher.prefetch_receives(&messages.ranks[first + other].pending);
    }
}

/// [`prefetch_receives`] has been asked for these: where nodes are seldom in the cache, now for
/// that which this message will meet; `to` is none for one that the mounted rank receives.
#[inline(always)]
pub fn prefetch_other(messages: &Messages, to: Option<u32>, envelope: &Envelope) {
    messages.ranks.prefetch_other(&messages.matcher, to.unwrap_or(NIL), envelope.key);
}

/// Receives a message of the volley, or posts the receive. `number` is that of its request.
#[inline(always)]
pub fn receive(messages: &mut Messages, envelope: &Envelope, room: u64, number: u32) {
    let me = messages.ranks.me();
    let Some(found) = messages.matcher.find_exact(&messages.ranks[me].pending, envelope) else {
        let index = blocked_receive(messages, envelope, room, number);
        let state = messages.ranks.mounted();
        state.strand.block_further(1);
        return messages.matcher.append_receive(&mut state.pending, index);
    };
    match messages.payloads.receive_at_once(
        (&mut messages.matcher, &mut messages.ranks[me].pending),
        found,
        (Addr::NULL, room),
    ) {
        Some((arrival, _)) => {
            messages.ranks.strand_mut().note_arrival(arrival);
        }
        None => receive_any(messages, envelope, room, number),
    }
}

/// [`receive`] of what lies there, whatever that is.
#[cold]
#[inline(never)]
fn receive_any(messages: &mut Messages, envelope: &Envelope, room: u64, number: u32) {
    let me = messages.ranks.me();
    let index = blocked_receive(messages, envelope, room, number);
    messages.ranks.strand_mut().block_further(1);
    messages.post(me, index, false);
}

/// Sends a message of the volley, which leaves at `at`, to a rank of this process.
#[inline(always)]
pub fn send(messages: &mut Messages, to: u32, envelope: &Envelope, bytes: u64, at: Time) {
    let arrival = at + messages.fabric.latency(messages.ranks.me(), to, bytes);
    messages.ranks.profile_mut().message(bytes);
    match messages.matcher.take_posted(&mut messages.ranks[to].pending, envelope) {
        Some(receive) => {
            let node = &mut messages.matcher[receive];
            (node.source, node.tag) = (envelope.source, envelope.tag);
            node.flags &= !flag::ANY_TAG;
            node.tell_length(bytes);
            messages.completing().complete(to, receive, arrival);
        }
        None => messages.deliver_to(to, envelope, Payload::None, bytes, &Transit::at(arrival), false),
    }
}

/// The volley is over, with so many sends: whether the mounted rank is blocked now, and whether it has
/// sent many in a row. If it is not blocked, its clock is to be moved as when it is resumed.
#[inline(always)]
pub fn end(messages: &mut Messages, sent: u16) -> (bool, bool) {
    let strand = messages.ranks.strand_mut();
    (strand.count_down(), strand.counts_burst(sent))
}

/// Receives of the mounted rank's volley that it has to see all the same, and their numbers, by these:
/// messages that were too long.
#[cold]
pub fn unsettled(messages: &mut Messages) -> Vec<(u32, u32)> {
    let me = messages.ranks.me();
    let own = messages.requests.take_all_unsettled(me);
    let mut nodes: Vec<(u32, u32)> =
        own.into_iter().map(|node| (messages.matcher[node].layout, node)).collect();
    nodes.sort_unstable();
    nodes
}

/// Ends a long burst of the mounted rank, the last messages of which went to these.
pub fn end_burst(messages: &mut Messages, last: &[u32]) {
    messages.ranks.end_burst(&messages.matcher, last);
}

/// Starts a plain receive in a run without payloads, where the caller has seen that receives are plain: what
/// it accepts is known, and it joins the batch. Returns its node.
#[inline(always)]
pub fn batch_receive(messages: &mut Messages, envelope: Envelope, bytes: u64) -> u32 {
    let posted = messages.ranks.mounted().clock;
    let stretch = Stretch { buffer: Addr::NULL, bytes };
    let index = messages.matcher.alloc(messages.payloads.plain_receive(&envelope, stretch, 0, posted));
    messages.add_to_batch(Operation::receive(index));
    index
}

/// Sends a plain message in a run without payloads, where the caller has seen that sends are plain and `to`
/// is in this process: it joins the batch.
#[inline(always)]
pub fn batch_send(messages: &mut Messages, to: u32, envelope: &Envelope, bytes: u64) {
    let me = messages.ranks.me();
    let arrival = messages.ranks[me].clock + messages.fabric.latency(me, to, bytes);
    messages.ranks.profile_mut().message(bytes);
    messages.batch_send::<false>(to, *envelope, (Addr::NULL, bytes), Transit::at(arrival), false);
}

/// Makes the node of a receive that its rank is, or will be, blocked for among others: `number` is its own
/// among these. Returns its index.
#[inline(always)]
fn blocked_receive(messages: &mut Messages, envelope: &Envelope, bytes: u64, number: u32) -> u32 {
    let posted = messages.ranks.mounted().clock;
    let (stretch, flags) = (Stretch { buffer: Addr::NULL, bytes }, flag::WAITED | flag::STATUS_IGNORED);
    let node = messages.payloads.plain_receive(envelope, stretch, flags, posted);
    messages.matcher.alloc(Node { layout: number, ..node })
}
