//! Point-to-point messages to and from ranks of other processes.

use crate::matching::{Envelope, Extent, Transit};
use crate::messages::Messages;
use crate::node::{NIL, flag};
use crate::remote::record::{Put, Take};
use crate::remote::stream::Kind;
use crate::request::Body;
use crate::world::{Abort, World};
use engine::Time;
use rank::Addr;

/// Bytes of a message's record without its payload.
const HEAD: usize = 4 * 7 + 8;

impl Messages {
    /// A message of the mounted rank leaves for a rank of another process.
    #[cold]
    pub(crate) fn send_away(&mut self, to: u32, message: Envelope, payload: &Extent, transit: Transit) {
        let me = self.current;
        let remote = self.others();
        let process = remote.blocks.process(to);
        let out = remote.streams.begin(process, Kind::Message, HEAD + payload.bytes as usize);
        out.u32(to);
        out.u32(me);
        out.u32(message.context);
        out.u32(message.source);
        out.i32(message.tag);
        out.u32(transit.flags.into());
        out.u32(transit.request);
        out.u64(transit.arrival.as_ps());
        payload.append_to(out);
        remote.streams.end();
        self.crowded = self.others().streams.crowded();
    }

    pub(crate) fn message_arrived(&mut self, process: u32, mut record: Take) {
        let (to, sender) = (record.u32(), record.u32());
        let message = Envelope::new(record.u32(), record.u32(), record.i32());
        let flags = record.u32() as u16;
        let request = record.u32();
        let arrival = Time::from_ps(record.u64());
        let waits = flags & (flag::SYNCHRONOUS | flag::RENDEZVOUS) != 0;
        let request = if waits { self.make_request(sender, Body::Away { process, request }) } else { NIL };
        let payload = Extent { buffer: Addr(record.0.as_ptr() as usize), layout: None, bytes: record.0.len() as u64 };
        self.deliver(to, message, &payload, Transit { arrival, flags, request, flight: NIL });
        self.note_arrival(to, payload.bytes);
    }

    /// A send of another process's rank is complete at `at`: tells it.
    #[cold]
    pub(crate) fn tell_matched(&mut self, process: u32, request: u32, at: Time) {
        let streams = &mut self.others().streams;
        let out = streams.begin(process, Kind::Matched, 12);
        out.u32(request);
        out.u64(at.as_ps());
        streams.end();
    }

    pub(crate) fn matched_arrived(&mut self, mut record: Take) {
        let (request, at) = (record.u32(), Time::from_ps(record.u64()));
        self.finish_request(request, at);
    }
}

impl World {
    /// A rank of this process aborted the run: tells the others.
    pub(crate) fn tell_abort(&mut self) {
        let (Some(abort), Some(remote)) = (&self.run.abort, &mut self.messages.remote) else { return };
        let mut body = Vec::new();
        body.u64(abort.at.as_ps());
        body.u32(abort.rank);
        body.i32(abort.status);
        for process in (0..remote.streams.processes()).filter(|&process| process != remote.me) {
            remote.streams.put(process, Kind::Abort, &body);
        }
    }

    pub(crate) fn abort_arrived(&mut self, mut record: Take) {
        let abort = Abort { at: Time::from_ps(record.u64()), rank: record.u32(), status: record.i32() };
        if self.run.abort.as_ref().is_none_or(|known| (abort.at, abort.rank) < (known.at, known.rank)) {
            self.run.abort = Some(abort);
        }
    }
}
