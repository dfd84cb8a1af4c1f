//! A stream of records from each process to each other one, cut into chunks that the transport carries.
//!
//! A message's arrival is known when it is sent, so that receives from a named source need no agreement. When
//! 8 MB wait, ranks that send step back; no chunks are taken while a rank that has 16 MB to receive could be
//! served first. The MPI of the machine is called on the scheduler's stack only.

use crate::chapter::id::ChapterId;
use engine::Time;
use engine::record::{Put, Take};
use std::collections::VecDeque;
use std::time::Duration;
use transport::{Lane, Transport};

pub use transport::Start as Process;

/// A chunk is sent when it has this many bytes, or when its process has nothing else to do.
// From 64 KiB on MPI's own cost of a message is small beside its bytes; much more would let receivers wait.
const CHUNK: usize = 64 << 10;
/// Chunks of one destination that the transport may hold at a time.
// Enough to keep a link busy, few enough that what waits is counted here, where senders see it, and not in
// MPI.
const FLIGHTS: usize = 8;
/// The longest message given to the transport: MPI counts in 32 bits.
const LONGEST: usize = 1 << 30;
/// Bytes that may wait for sending before the ranks that send step back.
const CROWDED: usize = 8 << 20;

/// Kind of a record.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// A point-to-point message.
    Message,
    /// A synchronous or rendezvous send is complete.
    Matched,
    /// A rank aborted the run.
    Abort,
    /// When members of a collective call entered it.
    Entries,
    /// The number of times that all processes have started together what they deferred
    /// ([`Streams::started`]).
    Started,
    /// A rank has failed, and the others go on.
    Failed,
    /// A rank is told at a time that a communicator is revoked.
    Revoked,
    /// A synchronous or rendezvous send will never be matched, as its receiver has failed.
    Vain,
    /// A message leaves for the shared network, which process 0 has.
    Launched,
    /// The shared network has delivered a message.
    Landed,
    /// A record of another chapter, and its kind there, of which each has at most 16.
    Chapter(ChapterId, u8),
}

/// Kinds of records that a chapter may have.
const KINDS: u8 = 16;

impl Kind {
    fn byte(self) -> u8 {
        match self {
            Kind::Message => 0,
            Kind::Matched => 1,
            Kind::Abort => 2,
            Kind::Entries => 3,
            Kind::Started => 4,
            Kind::Failed => 5,
            Kind::Revoked => 6,
            Kind::Vain => 7,
            Kind::Launched => 8,
            Kind::Landed => 9,
            Kind::Chapter(chapter, kind) => {
                debug_assert!(chapter.0 < ChapterId::COUNT && kind < KINDS);
                (chapter.0 + 1) * KINDS + kind
            }
        }
    }
    fn of(byte: u8) -> Kind {
        match byte {
            0 => Kind::Message,
            1 => Kind::Matched,
            2 => Kind::Abort,
            3 => Kind::Entries,
            4 => Kind::Started,
            5 => Kind::Failed,
            6 => Kind::Revoked,
            7 => Kind::Vain,
            8 => Kind::Launched,
            9 => Kind::Landed,
            _ => Kind::Chapter(ChapterId(byte / KINDS - 1), byte % KINDS),
        }
    }
}

/// Bytes before a record: its kind and its length.
const HEAD: usize = 9;

struct Outgoing {
    open: Vec<u8>,
    waiting: VecDeque<Vec<u8>>,
    /// Chunks given to the transport so far.
    sent: u64,
    /// The count of [`Streams::started`] that was last sent to this process.
    told: u64,
}

#[derive(Default)]
struct Incoming {
    /// The beginning of a record whose rest has not arrived.
    rest: Vec<u8>,
    /// Chunks taken so far.
    taken: u64,
}

/// The streams of one process.
pub struct Streams {
    transport: Box<dyn Transport>,
    outgoing: Vec<Outgoing>,
    incoming: Vec<Incoming>,
    /// Bytes that wait for sending.
    waiting: usize,
    /// Destination of the record that is being written, and the offset at which the record ends.
    writing: Option<(u32, usize)>,
    /// `true` if each record leaves at once.
    at_once: bool,
    /// The least time at which a rank of another process acts because of a record since this was last asked
    /// for.
    soonest: Time,
    /// Number of times that this process has started, with all others, what they deferred.
    started: u64,
    /// By process, as far as this one knows.
    there: Vec<There>,
    /// Processes that were started here, and not yet asked for.
    newcomers: Vec<u32>,
}

/// Presence of a process in the run.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum There {
    NotYet,
    Is,
    /// It has left, and whatever is sent to it is lost.
    Gone,
}

/// Data that have arrived from a process (its number).
pub enum Arrived {
    /// Whole records, one behind the other.
    Records(u32, Vec<u8>),
    /// A message of the control lane.
    Control(u32, Vec<u8>),
}

impl Streams {
    /// Nothing has been sent over `transport`.
    pub fn new(transport: Box<dyn Transport>) -> Streams {
        let size = transport.size();
        Streams {
            there: (0..size)
                .map(|process| if process < transport.at_start() { There::Is } else { There::NotYet })
                .collect(),
            newcomers: Vec::new(),
            outgoing: (0..size)
                .map(|_| Outgoing { open: Vec::new(), waiting: VecDeque::new(), sent: 0, told: 0 })
                .collect(),
            incoming: (0..size).map(|_| Incoming::default()).collect(),
            transport,
            waiting: 0,
            writing: None,
            at_once: false,
            soonest: Time::MAX,
            started: 0,
        }
    }
    /// New streams over the transport of these, on which nothing is under way.
    pub fn afresh(self) -> Streams {
        debug_assert!(
            self.waiting == 0 && self.incoming.iter().all(|incoming| incoming.rest.is_empty()),
            "the run is over"
        );
        Streams::new(self.transport)
    }
    /// Lets each record leave at once from now on.
    pub fn send_at_once(&mut self) {
        self.at_once = true;
    }
    /// Returns how many processes there are, this one included.
    pub fn processes(&self) -> u32 {
        self.outgoing.len() as u32
    }
    /// Returns `true` if processes may be started while the run goes on.
    pub fn grows(&self) -> bool {
        self.at_start() < self.processes()
    }
    /// Returns how many processes there are at the start: the first.
    pub fn at_start(&self) -> u32 {
        self.transport.at_start()
    }
    /// Returns all other processes that are there.
    pub fn others(&self) -> Vec<u32> {
        self.with(&[There::Is])
    }
    /// Returns all other processes that are there or have been.
    pub fn all_others(&self) -> Vec<u32> {
        self.with(&[There::Is, There::Gone])
    }
    fn with(&self, wanted: &[There]) -> Vec<u32> {
        let me = self.transport.rank();
        (0..self.processes())
            .filter(|&process| process != me && wanted.contains(&self.there[process as usize]))
            .collect()
    }
    /// Returns `true` if this process came while the run went on.
    pub fn is_late(&self) -> bool {
        self.transport.rank() >= self.at_start()
    }
    /// Records that a process has left.
    pub fn has_gone(&mut self, process: u32) {
        self.there[process as usize] = There::Gone;
    }
    /// Records that a process is there from now on.
    pub fn has_come(&mut self, process: u32) {
        self.there[process as usize] = There::Is;
    }
    /// Starts a process.
    ///
    /// # Errors
    /// A sentence that says why it cannot be started.
    pub fn start(&mut self, process: u32, what: &Process) -> Result<(), String> {
        self.transport.start(process, what)?;
        self.has_come(process);
        self.newcomers.push(process);
        Ok(())
    }
    /// Takes the processes that were started here since this was last asked.
    pub fn take_newcomers(&mut self) -> Vec<u32> {
        std::mem::take(&mut self.newcomers)
    }
    /// Begins a record of `length` bytes to process `to`, which must be appended to the answer;
    /// [`end`](Self::end) follows. No rank acts because of it before `effect`.
    // Written in place: a record has no copy of its own. Its length is told ahead, so that its head need not
    // be mended.
    pub fn begin(&mut self, to: u32, kind: Kind, effect: Time, length: usize) -> &mut Vec<u8> {
        self.soonest = self.soonest.min(effect);
        let Outgoing { open, told, .. } = &mut self.outgoing[to as usize];
        if *told != self.started {
            *told = self.started;
            open.u8(Kind::Started.byte());
            open.u64(size_of::<u64>() as u64);
            open.u64(self.started);
        }
        open.reserve(HEAD + length);
        open.u8(kind.byte());
        open.u64(length as u64);
        self.writing = Some((to, open.len() + length));
        open
    }
    /// This process has once more started what all held back, as all do: whoever gets a record of what
    /// followed from that gets to know of it first.
    // The decision comes to each on another way, so that what another process did because of it may be here
    // before it.
    pub fn started(&mut self, times: u64) {
        self.started = times;
    }
    /// Ends the record that was begun.
    pub fn end(&mut self) {
        let (to, end) = self.writing.take().expect("a record was begun");
        let out = &mut self.outgoing[to as usize];
        assert_eq!(out.open.len(), end, "a record has the length that was announced");
        if end >= CHUNK {
            self.close(to);
        }
        if self.at_once {
            // A failure shows again, and is told, at the next exchange.
            let _ = self.flush(true);
        }
    }
    /// A whole record, because of which a rank may act at any time.
    pub fn put(&mut self, to: u32, kind: Kind, body: &[u8]) {
        self.put_for(to, kind, Time::ZERO, body);
    }
    /// A whole record, because of which no rank acts before `effect`.
    pub fn put_for(&mut self, to: u32, kind: Kind, effect: Time, body: &[u8]) {
        self.begin(to, kind, effect, body.len()).extend_from_slice(body);
        self.end();
    }
    // Open chunks grow beyond a chunk by one record; a buffer with an eighth more seldom has to grow for
    // that.
    fn close(&mut self, to: u32) {
        let mut next = self.transport.buffer();
        next.reserve(CHUNK + CHUNK / 8);
        let out = &mut self.outgoing[to as usize];
        let chunk = std::mem::replace(&mut out.open, next);
        self.waiting += chunk.len();
        if chunk.len() <= LONGEST {
            out.waiting.push_back(chunk);
        } else {
            out.waiting.extend(chunk.chunks(LONGEST).map(<[u8]>::to_vec));
        }
    }
    /// Returns `true` if so much waits for sending that senders should step back.
    #[inline]
    pub fn crowded(&self) -> bool {
        self.waiting > CROWDED
    }
    /// Gives the transport what it can take; with `all`, open chunks too. Answers whether everything went.
    pub fn flush(&mut self, all: bool) -> Result<bool, String> {
        let mut empty = true;
        for to in 0..self.outgoing.len() {
            if self.there[to] == There::Gone {
                let out = &mut self.outgoing[to];
                out.open.clear();
                self.waiting -= out.waiting.drain(..).map(|chunk| chunk.len()).sum::<usize>();
            }
            if all && !self.outgoing[to].open.is_empty() {
                self.close(to as u32);
            }
            // In the order of the stream, so that records of one process to another never overtake each
            // other.
            while !self.outgoing[to].waiting.is_empty() && self.transport.under_way(to as u32)? < FLIGHTS {
                let chunk = self.outgoing[to].waiting.pop_front().expect("not empty");
                self.waiting -= chunk.len();
                self.outgoing[to].sent += 1;
                self.transport.send(to as u32, Lane::Data, chunk)?;
            }
            empty &= self.outgoing[to].waiting.is_empty();
        }
        Ok(empty)
    }
    /// Returns what has arrived next.
    // A chunk may end within a record; what is left of it waits for the next. Answered one chunk at a time,
    // so that ranks may run between them.
    pub fn receive(&mut self) -> Result<Option<Arrived>, String> {
        loop {
            let Some((from, lane, data)) = self.transport.receive()? else { return Ok(None) };
            if lane == Lane::Control {
                return Ok(Some(Arrived::Control(from, data)));
            }
            let incoming = &mut self.incoming[from as usize];
            incoming.taken += 1;
            let mut data = if incoming.rest.is_empty() {
                data
            } else {
                incoming.rest.extend_from_slice(&data);
                std::mem::take(&mut incoming.rest)
            };
            let whole = whole_records(&data);
            incoming.rest = data.split_off(whole);
            if whole > 0 {
                return Ok(Some(Arrived::Records(from, data)));
            }
        }
    }
    /// Sends a message of the control lane.
    pub fn control(&mut self, to: u32, data: Vec<u8>) -> Result<(), String> {
        // What was sent before must not pile up in the transport.
        self.transport.under_way(to)?;
        self.transport.send(to, Lane::Control, data)
    }
    /// Returns how others wake this process: [`Transport::bell`].
    pub fn bell(&self) -> u64 {
        self.transport.bell()
    }
    /// Gives the transport the bells of the other processes, to wake them: [`Transport::learn_bells`].
    pub fn learn_bells(&mut self, bells: &[u64]) {
        self.transport.learn_bells(bells);
    }
    /// Sleeps, as [`Transport::wait`].
    pub fn wait(&mut self, unwoken: Duration, woken: Duration) {
        self.transport.wait(unwoken, woken);
    }
    /// Chunks sent to and taken from each process so far.
    pub fn counts(&self) -> (Vec<u64>, Vec<u64>) {
        (
            self.outgoing.iter().map(|out| out.sent).collect(),
            self.incoming.iter().map(|incoming| incoming.taken).collect(),
        )
    }
    /// The least time at which a rank of another process acts because of what was written, sent or not, since
    /// [`Streams::forget_effects`].
    // What lets a process go on deciding without asking the others: none of them can act before, unless by
    // itself.
    pub fn soonest(&self) -> Time {
        self.soonest
    }
    /// All processes know of what was written.
    pub fn forget_effects(&mut self) {
        self.soonest = Time::MAX;
    }
    /// Ends all processes with this exit status.
    pub fn abort(&mut self, status: i32) {
        self.transport.abort(status);
    }
    /// Closes the transport, once all processes are through.
    ///
    /// # Errors
    /// What the transport says.
    pub fn close_down(&mut self) -> Result<(), String> {
        self.transport.close()
    }
}

/// Returns how many bytes of `data` are whole records.
fn whole_records(data: &[u8]) -> usize {
    let mut at = 0;
    while data.len() - at >= HEAD {
        let length =
            u64::from_le_bytes(*data[at + 1..].first_chunk().expect("nine bytes are there")) as usize;
        if data.len() - at - HEAD < length {
            break;
        }
        at += HEAD + length;
    }
    at
}

/// Takes the next record of `data`.
pub fn next_record<'a>(data: &mut Take<'a>) -> Option<(Kind, Take<'a>)> {
    if data.is_empty() {
        return None;
    }
    let kind = Kind::of(data.u8());
    Some((kind, Take(data.bytes())))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::cell::RefCell;
    use std::rc::Rc;

    type Sent = VecDeque<(u32, Lane, Vec<u8>)>;

    /// Two processes in one: what one sends the other receives.
    #[derive(Default)]
    struct Pipe(Rc<RefCell<Sent>>);

    impl Transport for Pipe {
        fn rank(&self) -> u32 {
            0
        }
        fn size(&self) -> u32 {
            2
        }
        fn send(&mut self, _: u32, lane: Lane, data: Vec<u8>) -> Result<(), String> {
            self.0.borrow_mut().push_back((1, lane, data));
            Ok(())
        }
        fn under_way(&mut self, _: u32) -> Result<usize, String> {
            Ok(0)
        }
        fn receive(&mut self) -> Result<Option<(u32, Lane, Vec<u8>)>, String> {
            Ok(self.0.borrow_mut().pop_front())
        }
        fn abort(&mut self, _: i32) {}
        fn close(&mut self) -> Result<(), String> {
            Ok(())
        }
    }

    #[test]
    fn each_kind_of_record_is_told_apart() {
        let chapters = (0..ChapterId::COUNT)
            .flat_map(|chapter| (0..KINDS).map(move |kind| Kind::Chapter(ChapterId(chapter), kind)));
        for kind in [
            Kind::Message,
            Kind::Matched,
            Kind::Abort,
            Kind::Entries,
            Kind::Started,
            Kind::Failed,
            Kind::Revoked,
            Kind::Vain,
            Kind::Launched,
            Kind::Landed,
        ]
        .into_iter()
        .chain(chapters)
        {
            assert_eq!(Kind::of(kind.byte()), kind);
        }
    }

    proptest! {
        #[test]
        fn records_arrive_whole_and_in_order_however_they_are_cut(
            sizes in proptest::collection::vec(0usize..200_000, 1..20), cut in 1usize..100_000,
        ) {
            let queue = Rc::default();
            let mut streams = Streams::new(Box::new(Pipe(Rc::clone(&queue))));
            for (number, &size) in sizes.iter().enumerate() {
                streams.put(1, Kind::Message, &vec![number as u8; size]);
            }
            prop_assert!(streams.flush(true).unwrap());
            let pieces: Vec<_> = queue.borrow_mut().drain(..).collect();
            for (from, lane, data) in pieces {
                queue.borrow_mut().extend(data.chunks(cut).map(|piece| (from, lane, piece.to_vec())));
            }
            let mut seen = Vec::new();
            while let Some(Arrived::Records(from, data)) = streams.receive().unwrap() {
                prop_assert_eq!(from, 1);
                let mut data = Take(&data);
                while let Some((kind, body)) = next_record(&mut data) {
                    prop_assert_eq!(kind, Kind::Message);
                    prop_assert!(body.0.iter().all(|&byte| byte == seen.len() as u8));
                    seen.push(body.0.len());
                }
            }
            prop_assert_eq!(seen, sizes);
        }
    }
}
