//! A network that messages share, of many processes.
//!
//! Process 0 has the network and the queue before it. What leaves from a rank of another process is told to it, with the process that has the [`Flight`] and the flight's
//! number there; that one is told when the network has delivered it. A message between ranks is a record to its receiver's process when it is sent, as on any network, since what lies there
//! decides what may be received: the receiver's process has its flight. Of what has no such order, a step of a collective for one, the record waits at its sender until the arrival is known.

use crate::flight::{Flight, Record};
use crate::messages::Messages;
use crate::remote::stream::Kind;
use engine::record::{Put, Take};
use engine::{EventKey, Time};
use network::{Endpoint, Message};

/// How a message goes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Way {
    /// By a formula: it is there then.
    Arrives(Time),
    /// Over a shared network: it leaves then, with so many bytes.
    Leaves(Time, u64),
}

impl Messages {
    /// Writes a record to another process, because of which nobody acts before `effect`. Senders are told at once that much waits.
    // Who only sends never receives anything that would make it look.
    pub fn send_record(&mut self, process: u32, kind: Kind, effect: Time, body: &[u8]) {
        let streams = &mut self.others().streams;
        streams.put_for(process, kind, effect, body);
        self.crowded = streams.crowded();
    }

    /// How a message of `bytes` from one rank to another goes that leaves at `leaves`.
    pub fn way(&self, from: u32, to: u32, bytes: u64, leaves: Time) -> Way {
        match self.by_time() {
            true => Way::Leaves(leaves, bytes),
            false => Way::Arrives(leaves + self.wire.latency(from, to, bytes)),
        }
    }

    /// A chapter's message leaves for a rank of another process. `body` begins with room for its arrival; of one that a shared network carries the record is written when that is
    /// known.
    pub fn send_on_way(&mut self, from: u32, to: u32, kind: Kind, way: Way, body: Vec<u8>) {
        let record = Record { process: self.others().blocks.process(to), kind, body };
        match way {
            Way::Arrives(at) => self.tell_arrived(record, at),
            Way::Leaves(at, bytes) => {
                let record = self.records.insert(record);
                self.launch(from, to, bytes, at, Flight::Record { record });
            }
        }
    }

    /// A record's message has arrived.
    pub fn record_landed(&mut self, record: u32, at: Time) {
        if let Some(record) = self.records.remove(record) {
            self.tell_arrived(record, at);
        }
    }

    fn tell_arrived(&mut self, mut record: Record, at: Time) {
        record.fill_in(at);
        self.send_record(record.process, record.kind, at, &record.body);
    }

    /// Tells process 0 that a message leaves.
    // Nobody acts because of it before it leaves.
    #[cold]
    pub(crate) fn launch_elsewhere(&mut self, key: EventKey, message: Message) {
        let mut body = Vec::with_capacity(40);
        body.u64(key.time.as_ps());
        body.u32(key.source);
        body.u64(key.sequence);
        body.u32(message.source.0);
        body.u32(message.destination.0);
        body.u64(message.bytes);
        body.u32(message.id as u32);
        self.send_record(0, Kind::Launched, key.time, &body);
    }

    /// A message of a rank of `process` leaves for the shared network, which is here.
    pub fn launched_arrived(&mut self, process: u32, mut record: Take) {
        let key = EventKey { time: Time::from_ps(record.u64()), source: record.u32(), sequence: record.u64() };
        let (source, destination) = (Endpoint(record.u32()), Endpoint(record.u32()));
        let bytes = record.u64();
        let id = self.flights.insert(Flight::Elsewhere { process, flight: record.u32() });
        self.outbox.push(key, Message { source, destination, bytes, id: u64::from(id), class: 0 });
    }

    /// The network has delivered a message: its process is told.
    #[cold]
    pub fn landed_elsewhere(&mut self, process: u32, flight: u32, at: Time) {
        let mut body = Vec::with_capacity(12);
        body.u32(flight);
        body.u64(at.as_ps());
        self.send_record(process, Kind::Landed, at, &body);
    }

    /// The next message that leaves for the shared network, at `until` or before, as that is to know it: by the how-many-th it is, and its flight.
    // What is delivered at one instant comes in the order of these numbers. Flights have theirs by chance: whatever was free, in the order in which ranks ran.
    #[inline]
    pub fn next_leaving(&mut self, until: Time) -> Option<(Time, Message)> {
        self.outbox.peek().filter(|key| key.time <= until)?;
        let (key, message) = self.outbox.pop()?;
        self.injected = self.injected.wrapping_add(1);
        Some((key.time, Message { id: u64::from(self.injected) << 32 | message.id, ..message }))
    }

    /// The next thing that happens in the shared network, if it is here: a message leaves for it, or it has an event of its own. The end of time if nothing does.
    pub fn network_acts(&mut self) -> Time {
        let (leaving, event) = self.network_times();
        leaving.min(event)
    }

    /// When the first message leaves for the shared network, and when that has its next event; the end of time if there is none.
    pub fn network_times(&mut self) -> (Time, Time) {
        let leaving = self.outbox.peek().map_or(Time::MAX, |key| key.time);
        (leaving, self.wire.next_event().unwrap_or(Time::MAX))
    }
}
