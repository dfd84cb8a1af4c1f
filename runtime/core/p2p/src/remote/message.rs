//! Point-to-point messages to and from ranks of other processes.

use crate::envelope::Envelope;
use crate::flight::Flight;
use crate::messages::Messages;
use crate::node::{NIL, flag};
use crate::remote::record::Take;
use crate::request::Body;
use crate::transit::Transit;
use crate::view::BufferView;
use engine::{EventKey, Span, Time};
use rank::Addr;

/// Delivers a message of a rank of `process` to one of this process.
// A sender that waits for the match has a stand-in request here, which is completed as any other and then
// tells.
pub fn message_arrived(messages: &mut Messages, process: u32, mut record: Take) {
    let (to, sender) = (record.u32(), record.u32());
    let message = Envelope::new(record.u32(), record.u32(), record.i32());
    let flags = record.u32() as u16;
    let request = record.u32();
    let mut arrival = Time::from_ps(record.u64());
    let under_way = (flags & flag::UNDER_WAY != 0).then(|| EventKey {
        time: arrival,
        source: sender,
        sequence: record.u64(),
    });
    messages.watch.type_arrived(sender, &mut record);
    let waits = flags & (flag::SYNCHRONOUS | flag::RENDEZVOUS) != 0;
    let mut stand_in = NIL;
    if waits {
        messages.fabric.expect_handshakes();
        let sequence = under_way.map_or(0, |key| key.sequence);
        stand_in = messages.requests.make(sender, Body::Away { process, request, sequence });
    }
    let request = stand_in;
    let payload = match messages.payloads.are_carried() {
        true => BufferView {
            buffer: Addr(record.0.as_ptr() as usize),
            layout: None,
            bytes: record.0.len() as u64,
        },
        false => BufferView::length(record.u64()),
    };
    let sent = if flags & flag::RENDEZVOUS != 0 { 0 } else { payload.bytes };
    let left = if under_way.is_some() { Span::ZERO } else { messages.fabric.latency(sender, to, sent) };
    messages.watch.note_sent_away(sender, || Time::from_ps(arrival.as_ps() - left.as_ps()));
    if let Some(fault) = messages.faults.as_ref().and_then(|faults| faults.fault_of_rank(to)) {
        if request != NIL {
            messages.fail_send(request, fault);
        }
        return messages.watch.forget_sent_type();
    }
    let (bytes, payload) = (payload.bytes, messages.payloads.load(&payload, flags));
    let mut flight = NIL;
    if let Some(key) = under_way {
        (flight, arrival) = (messages.departures().launch_as(key, to, sent, Flight::Leaving), Time::MAX);
    }
    messages.deliver(to, message, payload, bytes, Transit { arrival, flags, request, flight });
    messages.watch.forget_sent_type();
    // A length takes no more memory than its node.
    let kept = if messages.payloads.are_carried() { bytes } else { 0 };
    messages.peers.note_arrival(to, messages.matcher.message_count(&messages.ranks[to].pending), kept);
}
