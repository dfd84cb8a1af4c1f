//! The other native processes: what this one sends to them.

use crate::faults::Fault;
use crate::remote::Remote;
use crate::remote::stream::Kind;
use crate::waits::Met;
use engine::record::{Put, Take};
use engine::{EventKey, Time};
use network::Message;
use objects::error::ErrorClass;
use objects::slab::Slab;

/// A record that lacks nothing but its arrival.
pub struct Record {
    /// The process it goes to.
    pub process: u32,
    /// The record's kind.
    pub kind: Kind,
    /// The record's content, behind room for its arrival.
    pub body: Vec<u8>,
}

impl Record {
    /// Writes the arrival to the first eight bytes, in picoseconds.
    fn fill_in(&mut self, at: Time) {
        self.body[..size_of::<u64>()].copy_from_slice(&at.as_ps().to_le_bytes());
    }
}

/// The other native processes, if there are any.
#[derive(Default)]
pub struct Peers {
    remote: Option<Box<Remote>>,
    /// `true` if so much waits for other processes that senders should step back.
    crowded: bool,
    /// Records that wait until a shared network has delivered them.
    records: Slab<Record>,
}

impl Peers {
    /// Returns the processes, with nothing under way.
    pub fn new(remote: Option<Remote>) -> Peers {
        Peers { remote: remote.map(Box::new), ..Peers::default() }
    }
    /// Returns `true` if there are other processes.
    #[inline]
    pub fn exist(&self) -> bool {
        self.remote.is_some()
    }
    /// Returns the other processes, if there are any.
    #[inline]
    pub fn remote(&self) -> Option<&Remote> {
        self.remote.as_deref()
    }
    /// Returns the other processes, if there are any, to change.
    #[inline]
    pub fn remote_mut(&mut self) -> Option<&mut Remote> {
        self.remote.as_deref_mut()
    }
    /// Takes the other processes out: from now on there are none.
    pub fn take(&mut self) -> Option<Remote> {
        self.remote.take().map(|remote| *remote)
    }
    /// Returns the other processes. There are some where a rank is not local.
    pub fn others(&mut self) -> &mut Remote {
        self.remote.as_mut().expect("several processes")
    }
    /// Returns the number of this process.
    pub fn own_number(&self) -> u32 {
        self.remote.as_ref().map_or(0, |remote| remote.me)
    }

    /// Returns `true` if so much waits for other processes that senders should step back.
    #[inline(always)]
    pub fn are_crowded(&self) -> bool {
        self.crowded
    }
    /// Looks again whether so much waits for other processes that senders should step back.
    pub fn update_crowded(&mut self) {
        self.crowded = self.others().streams.crowded();
    }

    /// Sends a control message.
    pub fn send_control(&mut self, process: u32, data: Vec<u8>) {
        if let Err(why) = self.others().streams.control(process, data) {
            self.fail(&why);
        }
    }
    /// Sends a record, because of which its process acts no earlier than at `effect`.
    // Who only sends never receives anything that would make it look.
    pub fn send_record(&mut self, process: u32, kind: Kind, effect: Time, body: &[u8]) {
        self.others().streams.put_for(process, kind, effect, body);
        self.update_crowded();
    }
    /// Keeps a record until a shared network has delivered it. Returns its number.
    pub fn keep_record(&mut self, record: Record) -> u32 {
        self.records.insert(record)
    }
    /// Sends a record that a shared network has delivered.
    pub fn send_landed(&mut self, number: u32, at: Time) {
        if let Some(record) = self.records.remove(number) {
            self.send_arrived(record, at);
        }
    }
    /// Sends a record with its arrival.
    pub fn send_arrived(&mut self, mut record: Record, at: Time) {
        record.fill_in(at);
        self.send_record(record.process, record.kind, at, &record.body);
    }

    /// Ends the run: the machine's MPI failed, or another process is not as it should be.
    pub fn fail(&mut self, why: &str) -> ! {
        engine::stderr::line(format_args!("xsim: {why}; the run ends"));
        transport::watch::over();
        if let Some(remote) = &mut self.remote {
            remote.streams.abort(1);
        }
        std::process::exit(1)
    }

    /// Sends a message that leaves for the shared network to process 0.
    // No rank acts because of it before it leaves.
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

    /// Notifies the process that has a flight of its delivery.
    #[cold]
    pub fn landed_elsewhere(&mut self, process: u32, flight: u32, at: Time) {
        let mut body = Vec::with_capacity(12);
        body.u32(flight);
        body.u64(at.as_ps());
        self.send_record(process, Kind::Landed, at, &body);
    }

    /// Notifies another process's sender of its match.
    #[cold]
    pub(crate) fn send_matched(&mut self, process: u32, request: u32, at: Time, met: Met) {
        let streams = &mut self.others().streams;
        let out = streams.begin(process, Kind::Matched, at, 36);
        out.u32(request);
        out.u64(at.as_ps());
        met.put(out);
        streams.end();
    }

    /// Returns what `send_matched` has sent: the request, the time and the receive.
    pub fn take_matched(record: &mut Take) -> (u32, Time, Met) {
        (record.u32(), Time::from_ps(record.u64()), Met::take(record))
    }

    /// Notifies another process that a send of its rank, by its ticket, will not be matched.
    pub(crate) fn send_vain(&mut self, process: u32, ticket: u32, fault: Fault) {
        let streams = &mut self.others().streams;
        let out = streams.begin(process, Kind::Vain, fault.known, 16);
        out.u32(ticket);
        out.u32(fault.rank);
        out.u64(fault.known.as_ps());
        streams.end();
    }

    /// Returns what `send_vain` has sent: the ticket and why its send will not be matched.
    pub fn take_vain(record: &mut Take) -> (u32, Fault) {
        let (ticket, rank, known) = (record.u32(), record.u32(), Time::from_ps(record.u64()));
        (ticket, Fault { class: ErrorClass::PROC_FAILED, known, rank })
    }

    /// Notifies a rank of another process at a time that a communicator is revoked.
    pub fn send_revoked(&mut self, rank: u32, context: u32, at: Time) {
        let remote = self.others();
        let process = remote.blocks.process(rank);
        let out = remote.streams.begin(process, Kind::Revoked, at, 16);
        out.u32(rank);
        out.u32(context);
        out.u64(at.as_ps());
        remote.streams.end();
    }

    /// Returns what [`Peers::send_revoked`] has sent: the rank, the context and the time.
    pub fn take_revoked(record: &mut Take) -> (u32, u32, Time) {
        (record.u32(), record.u32(), Time::from_ps(record.u64()))
    }
}
