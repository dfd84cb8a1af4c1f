//! Point-to-point messages to and from ranks of other processes.

use crate::envelope::Envelope;
use crate::fabric::Departure;
use crate::flight::Flight;
use crate::messages::Messages;
use crate::node::{NIL, flag};
use crate::remote::record::{Put, Take};
use crate::remote::stream::Kind;
use crate::request::Body;
use crate::transit::Transit;
use crate::view::BufferView;
use engine::{EventKey, Span, Time};
use rank::Addr;

/// Bytes of a message's record without its payload.
const HEAD: usize = 4 * 7 + 8;

impl Messages {
    /// A message of the mounted rank leaves for a rank of another process.
    // The arrival travels along, or when it leaves for a shared network. The receiver's process does not
    // compute it again, so that it need not know the sender's clock, and the order of records of one process
    // to another is the order of sending.
    #[cold]
    pub fn send_away(&mut self, to: u32, message: Envelope, payload: &BufferView, transit: Transit) {
        let (me, payloads) = (self.ranks.me(), self.payloads.are_carried());
        let told = self.watch.type_to_tell();
        // Its place among what leaves for a shared network is known here; when it arrives, nobody knows.
        let under_way = (transit.flags & flag::UNDER_WAY != 0)
            .then(|| self.fabric.next_key(me, transit.arrival, Departure::Own));
        let head = HEAD + self.watch.told_type() + if under_way.is_some() { size_of::<u64>() } else { 0 };
        let (effect, request) = match &self.faults {
            Some(faults) if transit.request != NIL => (Time::ZERO, faults.ticket(transit.request)),
            _ => (transit.arrival, transit.request),
        };
        let remote = self.peers.others();
        let process = remote.blocks.process(to);
        let content = if payloads { payload.bytes as usize } else { size_of::<u64>() };
        let out = remote.streams.begin(process, Kind::Message, effect, head + content);
        out.u32(to);
        out.u32(me);
        out.u32(message.context);
        out.u32(message.source);
        out.i32(message.tag);
        out.u32(transit.flags.into());
        out.u32(request);
        out.u64(transit.arrival.as_ps());
        if let Some(key) = under_way {
            out.u64(key.sequence);
        }
        if let Some(told) = told {
            told.put(out);
        }
        // All processes of a run have payloads, or none has: the record need not say which it is.
        match payloads {
            true => payload.append_to(out),
            false => out.u64(payload.bytes),
        }
        remote.streams.end();
        self.peers.update_crowded();
    }

    /// A message of a rank of `process` reaches one of this process.
    // A sender that waits for the match has a stand-in request here, which is completed as any other and then
    // tells.
    pub fn message_arrived(&mut self, process: u32, mut record: Take) {
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
        self.watch.type_arrived(sender, &mut record);
        let waits = flags & (flag::SYNCHRONOUS | flag::RENDEZVOUS) != 0;
        let request = if waits { self.make_request(sender, Body::Away { process, request }) } else { NIL };
        let payload = match self.payloads.are_carried() {
            true => BufferView {
                buffer: Addr(record.0.as_ptr() as usize),
                layout: None,
                bytes: record.0.len() as u64,
            },
            false => BufferView::length(record.u64()),
        };
        let sent = if flags & flag::RENDEZVOUS != 0 { 0 } else { payload.bytes };
        let left = if under_way.is_some() { Span::ZERO } else { self.fabric.latency(sender, to, sent) };
        self.watch.note_sent_away(sender, || Time::from_ps(arrival.as_ps() - left.as_ps()));
        if self.is_lost(to, request) {
            return self.watch.forget_sent_type();
        }
        let (bytes, payload) = (payload.bytes, self.payloads.load(&payload, flags));
        let mut flight = NIL;
        if let Some(key) = under_way {
            (flight, arrival) = (self.launch_as(key, to, bytes, Flight::Leaving), Time::MAX);
        }
        self.deliver(to, &message, payload, bytes, &Transit { arrival, flags, request, flight });
        self.watch.forget_sent_type();
        // A length takes no more memory than its node.
        self.note_arrival(to, if self.payloads.are_carried() { bytes } else { 0 });
    }
}
