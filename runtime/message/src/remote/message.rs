//! Point-to-point messages to and from ranks of other processes.

use crate::envelope::{Envelope, Transit};
use crate::flight::Flight;
use crate::messages::Messages;
use crate::node::{NIL, flag};
use crate::remote::record::{Put, Take};
use crate::remote::stream::Kind;
use crate::request::Body;
use crate::view::BufferView;
use crate::waits::Met;
use engine::{EventKey, Time};
use rank::Addr;

/// Bytes of a message's record without its payload.
const HEAD: usize = 4 * 7 + 8;

impl Messages {
    /// A message of the mounted rank leaves for a rank of another process.
    // The arrival travels along, or when it leaves for a shared network. The receiver's process does not compute it again, so that it need not know the
    // sender's clock, and the order of records of one process to another is the order of sending.
    #[cold]
    pub fn send_away(&mut self, to: u32, message: Envelope, payload: &BufferView, transit: Transit) {
        let (me, payloads) = (self.current, self.payloads);
        let told = self.type_to_tell();
        // Its place among what leaves for a shared network is known here; when it arrives, nobody knows.
        let under_way = (transit.flags & flag::UNDER_WAY != 0).then(|| self.launch_key(me, transit.arrival));
        let head = HEAD + self.told_type() + if under_way.is_some() { size_of::<u64>() } else { 0 };
        let (effect, request) = self.ticket(transit.request, transit.arrival);
        let remote = self.others();
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
        self.crowded = self.others().streams.crowded();
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
        let under_way = (flags & flag::UNDER_WAY != 0).then(|| EventKey { time: arrival, source: sender, sequence: record.u64() });
        self.type_arrived(sender, &mut record);
        let waits = flags & (flag::SYNCHRONOUS | flag::RENDEZVOUS) != 0;
        let request = if waits { self.make_request(sender, Body::Away { process, request }) } else { NIL };
        let payload = match self.payloads {
            true => BufferView { buffer: Addr(record.0.as_ptr() as usize), layout: None, bytes: record.0.len() as u64 },
            false => BufferView::length(record.u64()),
        };
        let sent = if flags & flag::RENDEZVOUS != 0 { 0 } else { payload.bytes };
        self.note_sent_away(sender, to, sent, arrival, under_way.is_some());
        if self.is_lost(to, request) {
            return self.forget_sent_type();
        }
        let (bytes, payload) = (payload.bytes, self.load(&payload, flags));
        let mut flight = NIL;
        if let Some(key) = under_way {
            (flight, arrival) = (self.launch_as(key, to, bytes, Flight::Leaving), Time::MAX);
        }
        self.deliver(to, &message, payload, bytes, &Transit { arrival, flags, request, flight });
        self.forget_sent_type();
        // A length takes no more memory than its node.
        self.note_arrival(to, if self.payloads { bytes } else { 0 });
    }

    /// A send of another process's rank is complete at `at`: tells it, and when its receive was posted and by whom.
    #[cold]
    pub fn tell_matched(&mut self, process: u32, request: u32, at: Time, met: Met) {
        let streams = &mut self.others().streams;
        let out = streams.begin(process, Kind::Matched, at, 36);
        out.u32(request);
        out.u64(at.as_ps());
        met.put(out);
        streams.end();
    }

    /// A synchronous or rendezvous send of this process was matched elsewhere.
    pub fn matched_arrived(&mut self, mut record: Take) {
        let (request, at) = (record.u32(), Time::from_ps(record.u64()));
        self.is_matched(request, at, Met::take(&mut record));
    }

    /// A send of this process is complete at `at`: whose request that is, or its ticket where ranks can fail.
    pub(crate) fn is_matched(&mut self, request: u32, at: Time, met: Met) {
        let Some(request) = self.redeem(request) else { return };
        self.note_met(request, met);
        self.finish_request(request, at);
    }
}
