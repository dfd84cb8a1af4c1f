//! Departures: what a message needs to leave its rank, for the simulated network or another process.

use crate::envelope::Envelope;
use crate::fabric::{Departure, Fabric};
use crate::flight::Flight;
use crate::node::{NIL, flag};
use crate::peers::{Peers, Record};
use crate::ranks::Ranks;
use crate::remote::record::Put;
use crate::remote::shared::Way;
use crate::remote::stream::Kind;
use crate::transit::Transit;
use crate::view::BufferView;
use crate::watch::Watch;
use engine::{EventKey, Time};

/// Bytes of a message's record without its payload.
const HEAD: usize = 4 * 7 + 8;

/// The ranks of a process with the networks that their messages leave for.
pub struct Departures<'a> {
    pub(crate) ranks: &'a mut Ranks,
    pub(crate) fabric: &'a mut Fabric,
    pub(crate) peers: &'a mut Peers,
}

impl Departures<'_> {
    /// Charges the sender's overhead and gap for a message of a rank. Returns when it leaves.
    pub fn inject(&mut self, rank: u32) -> Time {
        self.ranks.inject(self.fabric.wire(), rank)
    }

    /// Queues a message of a rank of this process before the shared network. Returns its number; `flight` is
    /// what happens here when it has been delivered.
    pub fn launch(
        &mut self,
        departure: Departure,
        from: u32,
        to: u32,
        (bytes, at): (u64, Time),
        flight: Flight,
    ) -> u32 {
        let key = self.fabric.next_key(from, to, at, departure);
        self.launch_as(key, to, bytes, flight)
    }

    /// [`Departures::launch`] of a message whose position among the others is known.
    pub(crate) fn launch_as(&mut self, key: EventKey, to: u32, bytes: u64, flight: Flight) -> u32 {
        let message = self.fabric.number(key, to, bytes, flight);
        match self.fabric.wire().is_elsewhere() {
            true => self.peers.launch_elsewhere(key, message),
            false => self.fabric.queue(key, message),
        }
        message.id as u32
    }

    /// Sends a record to the process of `to` with its arrival: at once, or when a shared network has
    /// delivered it.
    pub fn send_on_way(
        &mut self,
        departure: Departure,
        (from, to): (u32, u32),
        kind: Kind,
        way: Way,
        body: Vec<u8>,
    ) {
        let record = Record { process: self.peers.others().blocks.process(to), kind, body };
        match way {
            Way::Arrives(at) => self.peers.send_arrived(record, at),
            Way::Leaves(at, bytes) => {
                let record = self.peers.keep_record(record);
                self.launch(departure, from, to, (bytes, at), Flight::Record { record });
            }
        }
    }

    /// Sends a message of the mounted rank to a rank of another process. With a `ticket`, its sender waits
    /// for the match and may fail before; without a `payload`, the run has none and it is a length.
    // The arrival travels along, or when it leaves for a shared network. The receiver's process does not
    // compute it again, so that it need not know the sender's clock, and the order of records of one process
    // to another is the order of sending.
    #[cold]
    pub(crate) fn send_away(
        &mut self,
        watch: &Watch,
        (to, message): (u32, Envelope),
        (payload, carried): (&BufferView, bool),
        transit: Transit,
        ticket: Option<u32>,
    ) {
        let me = self.ranks.me();
        let type_sent = watch.type_to_tell();
        // Its position among what leaves for a shared network is known here; when it arrives is not.
        let under_way = (transit.flags & flag::UNDER_WAY != 0)
            .then(|| self.fabric.next_key(me, to, transit.arrival, Departure::Own));
        let head = HEAD + watch.told_type() + if under_way.is_some() { size_of::<u64>() } else { 0 };
        let (effect, request) = match ticket {
            Some(ticket) if transit.request != NIL => (Time::ZERO, ticket),
            _ => (transit.arrival, transit.request),
        };
        let remote = self.peers.others();
        let process = remote.blocks.process(to);
        let content = if carried { payload.bytes as usize } else { size_of::<u64>() };
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
        if let Some(type_sent) = type_sent {
            type_sent.put(out);
        }
        // All processes of a run have payloads, or none has: the record need not encode which it is.
        match carried {
            true => payload.append_to(out),
            false => out.u64(payload.bytes),
        }
        remote.streams.end();
        self.peers.update_crowded();
    }
}

/// Returns `true` if the mounted rank's sends may have to let others run: too much waits for other processes,
/// or it has sent many in a row.
#[inline(always)]
pub fn let_others_run(ranks: &Ranks, peers: &Peers) -> bool {
    peers.are_crowded() || ranks.is_far_ahead()
}
