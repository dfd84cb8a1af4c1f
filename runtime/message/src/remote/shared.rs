//! A network that messages share, of many processes.
//!
//! Process 0 has the network and the queue before it. What leaves from a rank of another process is told to
//! it, with the process that has the [`Flight`] and the flight's number there; that one is told when the
//! network has delivered it. A message between ranks is a record to its receiver's process when it is sent,
//! as on any network, since what lies there decides what may be received: the receiver's process has its
//! flight. Of what has no such order, a step of a collective for one, the record waits at its sender until
//! the arrival is known.

use crate::fabric::Departure;
use crate::flight::Flight;
use crate::messages::Messages;
use crate::peers::Record;
use crate::remote::stream::Kind;
use engine::record::Take;
use engine::{EventKey, Time};
use network::Endpoint;

/// The delivery of a message: at a known time, or by a shared network.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Way {
    /// By a formula: it is there then.
    Arrives(Time),
    /// Over a shared network: it leaves then, with so many bytes.
    Leaves(Time, u64),
}

impl Messages {
    /// Returns how a message of `bytes` that leaves at `leaves` travels.
    pub fn way(&self, from: u32, to: u32, bytes: u64, leaves: Time) -> Way {
        match self.fabric.is_shared() {
            true => Way::Leaves(leaves, bytes),
            false => Way::Arrives(leaves + self.fabric.latency(from, to, bytes)),
        }
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

    /// Takes a message that leaves for the shared network from another process.
    pub fn launched_arrived(&mut self, process: u32, mut record: Take) {
        let key =
            EventKey { time: Time::from_ps(record.u64()), source: record.u32(), sequence: record.u64() };
        let ends = (Endpoint(record.u32()), Endpoint(record.u32()));
        let bytes = record.u64();
        self.fabric.queue_of_process(key, ends, bytes, Flight::Elsewhere { process, flight: record.u32() });
    }
}
