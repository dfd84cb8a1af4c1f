//! Writes traces of calls that nobody made: what is read of other formats is told to the recorder as a run
//! would tell it.

use engine::{Span, Time};
use recorder::Recorder;
use recorder::{
    ArgumentValue, Call, CallReturn, Class, CommMembership, ObjectArgument, RecordedStatus, Value,
};
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::path::Path;
use trace::{Options, Recording, Timing, Trace};

/// The functions that it may be told of: a call's number is its place here.
const FUNCTIONS: [&str; 55] = [
    "MPI_Init",
    "MPI_Finalize",
    "MPI_Send",
    "MPI_Recv",
    "MPI_Isend",
    "MPI_Irecv",
    "MPI_Sendrecv",
    "MPI_Wait",
    "MPI_Waitall",
    "MPI_Waitany",
    "MPI_Test",
    "MPI_Probe",
    "MPI_Barrier",
    "MPI_Bcast",
    "MPI_Reduce",
    "MPI_Allreduce",
    "MPI_Alltoall",
    "MPI_Alltoallv",
    "MPI_Gather",
    "MPI_Gatherv",
    "MPI_Scatter",
    "MPI_Scatterv",
    "MPI_Allgather",
    "MPI_Allgatherv",
    "MPI_Reduce_scatter",
    "MPI_Scan",
    "MPI_Exscan",
    "MPI_Ssend",
    "MPI_Bsend",
    "MPI_Rsend",
    "MPI_Issend",
    "MPI_Ibsend",
    "MPI_Irsend",
    "MPI_Testall",
    "MPI_Reduce_scatter_block",
    "MPI_Comm_dup",
    "MPI_Comm_create",
    "MPI_Comm_create_group",
    "MPI_Comm_free",
    "MPI_Ibarrier",
    "MPI_Ibcast",
    "MPI_Ireduce",
    "MPI_Iallreduce",
    "MPI_Ialltoall",
    "MPI_Ialltoallv",
    "MPI_Igather",
    "MPI_Iscatter",
    "MPI_Iallgather",
    "MPI_Ireduce_scatter_block",
    "MPI_Iscan",
    "MPI_Iexscan",
    "MPI_Igatherv",
    "MPI_Iscatterv",
    "MPI_Iallgatherv",
    "MPI_Ireduce_scatter",
];

fn options(path: &Path, ranks: u32) -> Options {
    // Nothing is saved before the end: whoever reads a file can read it again.
    Options {
        path: path.to_owned(),
        timing: Timing::Exact,
        window: Time::ZERO..Time::MAX,
        ranks,
        own: 0..ranks,
        process: 0,
        save: u64::MAX,
        clock: || 0,
        keys: Vec::new,
    }
}

/// A trace that comes to be.
pub struct Writer {
    recording: Recording,
    ranks: u32,
    /// Duration of the next call.
    takes: Span,
}

impl Writer {
    /// Begins a trace of `ranks` ranks in a file.
    ///
    /// # Errors
    /// If it cannot be made.
    pub fn create(path: &Path, ranks: u32) -> Result<Writer, String> {
        Ok(Writer { recording: Recording::create(options(path, ranks))?, ranks, takes: Span::ZERO })
    }

    /// Begins a trace of `ranks` ranks in memory.
    pub fn in_memory(ranks: u32) -> Writer {
        Writer { recording: Recording::unwritten(options(Path::new(""), ranks)), ranks, takes: Span::ZERO }
    }

    /// Records that the rank computes.
    pub fn compute(&mut self, rank: u32, span: Span) {
        self.recording.computed(rank, Time::ZERO, span);
    }

    /// Sets how long the next call takes, of which a replay makes its own time.
    pub fn takes(&mut self, span: Span) {
        self.takes = span;
    }

    /// Records a call of the rank, of one of [`FUNCTIONS`].
    pub fn call(&mut self, rank: u32, name: &'static str, arguments: &[ArgumentValue]) {
        let function =
            FUNCTIONS.iter().position(|known| *known == name).expect("a function that is listed") as u16;
        let call = Call { rank, function, name, site: 0, entered: Time::ZERO, arguments };
        let at = Time::ZERO + std::mem::take(&mut self.takes);
        self.recording.call(&call, &CallReturn { at, code: 0, name: Some("MPI_SUCCESS") });
    }

    /// Begins the rank, as a recording has it: without the arguments of `MPI_Init`.
    pub fn init(&mut self, rank: u32) {
        self.call(rank, "MPI_Init", &[]);
    }

    /// Records that the rank sends or receives a message by this function of [`FUNCTIONS`]. Returns the
    /// number of the request that the call makes, 0 if it makes none.
    pub fn message(
        &mut self,
        rank: u32,
        name: &'static str,
        message: Message,
        slots: &mut Slots<Told>,
    ) -> u32 {
        let comm = self.world(rank);
        self.message_in(comm, rank, name, message, slots)
    }

    /// Behaves as [`Writer::message`], in a communicator that the rank is in.
    pub fn message_in(
        &mut self,
        comm: ArgumentValue,
        rank: u32,
        name: &'static str,
        message: Message,
        slots: &mut Slots<Told>,
    ) -> u32 {
        let Message { peer, tag, count: elements, datatype } = message;
        let (receives, starts) = (matches!(name, "MPI_Recv" | "MPI_Irecv"), name.starts_with("MPI_I"));
        let mut arguments = vec![buffer("buf"), count("count", elements), datatype.of("datatype")];
        let peer_name = if receives { "source" } else { "dest" };
        arguments.extend([given(peer_name, Value::Rank(peer)), given("tag", Value::Tag(tag)), comm]);
        let told = if receives { (peer, tag, elements.saturating_mul(datatype.size)) } else { UNTOLD };
        let slot = if starts { slots.open(told) } else { 0 };
        if starts {
            arguments.push(result("request", request(slot)));
        } else if receives {
            arguments.push(result("status", status(told)));
        }
        self.call(rank, name, &arguments);
        slot
    }

    /// Records that the rank sends one message and receives another in one call.
    pub fn exchange_in(&mut self, comm: ArgumentValue, rank: u32, to: Message, from: Message) {
        let told = (from.peer, from.tag, from.count.saturating_mul(from.datatype.size));
        let arguments = [
            buffer("sendbuf"),
            count("sendcount", to.count),
            to.datatype.of("sendtype"),
            given("dest", Value::Rank(to.peer)),
            given("sendtag", Value::Tag(to.tag)),
            buffer("recvbuf"),
            count("recvcount", from.count),
            from.datatype.of("recvtype"),
            given("source", Value::Rank(from.peer)),
            given("recvtag", Value::Tag(from.tag)),
            comm,
            result("status", status(told)),
        ];
        self.call(rank, "MPI_Sendrecv", &arguments);
    }

    /// Records that the rank waits for these requests, or a test finds them complete.
    pub fn complete(&mut self, rank: u32, open: &[u32], tests: bool, slots: &mut Slots<Told>) {
        let mut told: Vec<Value> =
            open.iter().map(|&slot| status(slots.close(slot).unwrap_or(UNTOLD))).collect();
        let flag = tests.then(|| result("flag", Value::Logical(true)));
        match *open {
            [] => {}
            [slot] => {
                let mut arguments = vec![given("request", request(slot))];
                arguments.extend(flag);
                arguments.push(result("status", told.pop().expect("one status")));
                self.call(rank, if tests { "MPI_Test" } else { "MPI_Wait" }, &arguments);
            }
            _ => {
                let requests = Value::List(open.iter().map(|&slot| request(slot)).collect());
                let mut arguments =
                    vec![count("count", open.len() as u64), given("array_of_requests", requests)];
                arguments.extend(flag);
                arguments.push(result("array_of_statuses", Value::List(told)));
                self.call(rank, if tests { "MPI_Testall" } else { "MPI_Waitall" }, &arguments);
            }
        }
    }

    /// Records that the rank tests a request that is not complete.
    pub fn test_in_vain(&mut self, rank: u32, slot: u32) {
        let flag = result("flag", Value::Logical(false));
        self.call(
            rank,
            "MPI_Test",
            &[given("request", request(slot)), flag, result("status", Value::Unknown)],
        );
    }

    /// Records that the rank waits for all requests that it has open, if there are any.
    pub fn wait_all(&mut self, rank: u32, slots: &mut Slots<Told>) {
        let open: Vec<(u32, Told)> = slots.iter().map(|(slot, told)| (slot, *told)).collect();
        if open.is_empty() {
            return;
        }
        for &(slot, _) in &open {
            slots.close(slot);
        }
        let arguments = [
            count("count", open.len() as u64),
            given("array_of_requests", Value::List(open.iter().map(|&(slot, _)| request(slot)).collect())),
            result("array_of_statuses", Value::List(open.iter().map(|&(_, told)| status(told)).collect())),
        ];
        self.call(rank, "MPI_Waitall", &arguments);
    }

    /// Writes the file.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn finish(mut self) -> Result<(), String> {
        let part = self.recording.part();
        self.recording.merge(vec![part])
    }

    /// Returns the trace, of which no file is written.
    ///
    /// # Errors
    /// If what was told is no trace.
    pub fn into_trace(mut self) -> Result<Trace, String> {
        Trace::read(&self.recording.file())
    }

    /// Returns `MPI_COMM_WORLD` as an argument of a rank's call.
    pub fn world(&self, rank: u32) -> ArgumentValue {
        let member = Some(CommMembership { rank, peers: self.ranks, leaders: (0, 0) });
        let value = Value::Comm {
            object: ObjectArgument::Named("MPI_COMM_WORLD"),
            context: Some(0),
            size: self.ranks,
            member,
        };
        given("comm", value)
    }
}

/// Returns an argument that the program gives.
pub fn given(name: &'static str, value: Value) -> ArgumentValue {
    ArgumentValue { name, value, result: false }
}

/// Returns an argument that the call alone says.
pub fn result(name: &'static str, value: Value) -> ArgumentValue {
    ArgumentValue { name, value, result: true }
}

/// Returns how many there are of something.
pub fn count(name: &'static str, count: u64) -> ArgumentValue {
    given(name, Value::Count(count as i64))
}

/// Returns how many there are for each of several.
pub fn counts(name: &'static str, counts: &[u64]) -> ArgumentValue {
    given(name, Value::List(counts.iter().map(|&count| Value::Count(count as i64)).collect()))
}

/// Returns where blocks begin that lie one behind the other.
pub fn displacements(name: &'static str, counts: &[u64]) -> ArgumentValue {
    let mut at = 0u64;
    let begin = |&count: &u64| {
        let begin = at;
        at = at.saturating_add(count);
        Value::Count(begin as i64)
    };
    given(name, Value::List(counts.iter().map(begin).collect()))
}

/// Returns what each has for each, and gets of each, in bytes.
pub fn blocks_of(bytes: u64) -> Vec<ArgumentValue> {
    let side = |buf, of, datatype| [buffer(buf), count(of, bytes), BYTE.of(datatype)];
    [side("sendbuf", "sendcount", "sendtype"), side("recvbuf", "recvcount", "recvtype")].concat()
}

/// Returns a buffer of unknown whereabouts.
pub fn buffer(name: &'static str) -> ArgumentValue {
    given(name, Value::Buffer(1 << 20))
}

/// A datatype of the standard's.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Type {
    /// The name.
    pub name: &'static str,
    /// Bytes of an element.
    pub size: u64,
}

/// Bytes, of which everything is made where nobody says of what.
pub const BYTE: Type = Type { name: "MPI_BYTE", size: 1 };

impl Type {
    /// Returns the datatype as an argument.
    pub fn of(self, name: &'static str) -> ArgumentValue {
        given(
            name,
            Value::Datatype {
                object: ObjectArgument::Named(self.name),
                size: self.size,
                extent: self.size as i64,
            },
        )
    }
}

/// Returns the request with this number, from 1.
pub fn request(slot: u32) -> Value {
    Value::Handle(Class::Request, ObjectArgument::Made { number: slot, slot })
}

/// A message as a call has it: with any source or tag below 0.
#[derive(Clone, Copy, Debug)]
pub struct Message {
    /// The other rank.
    pub peer: i32,
    /// The tag.
    pub tag: i32,
    /// Elements.
    pub count: u64,
    /// Datatype of the elements.
    pub datatype: Type,
}

/// Status that a request gets on completion: source, tag and bytes.
pub type Told = (i32, i32, u64);
/// Nothing, of a send.
pub const UNTOLD: Told = (-1, -1, 0);

/// Returns what a receive is told, if that is known before.
pub fn status((source, tag, bytes): Told) -> Value {
    if source < 0 || tag < 0 {
        return Value::Unknown;
    }
    Value::Status(RecordedStatus {
        source,
        tag,
        bytes: i64::try_from(bytes).unwrap_or(i64::MAX),
        cancelled: false,
    })
}

/// The requests that a rank has open, by the least numbers that are free: O(log) each.
#[derive(Clone, Debug)]
pub struct Slots<T> {
    open: Vec<Option<T>>,
    free: BinaryHeap<Reverse<u32>>,
}

impl<T> Default for Slots<T> {
    fn default() -> Slots<T> {
        Slots { open: Vec::new(), free: BinaryHeap::new() }
    }
}

impl<T> Slots<T> {
    /// Opens another request; returns its number, from 1.
    pub fn open(&mut self, what: T) -> u32 {
        let slot = self.free.pop().map_or(self.open.len() as u32 + 1, |Reverse(slot)| slot);
        if slot as usize > self.open.len() {
            self.open.push(None);
        }
        self.open[slot as usize - 1] = Some(what);
        slot
    }

    /// Returns what has this number, which is free from now on.
    pub fn close(&mut self, slot: u32) -> Option<T> {
        let closed = self.open.get_mut(slot.checked_sub(1)? as usize)?.take();
        if closed.is_some() {
            self.free.push(Reverse(slot));
        }
        closed
    }

    /// Returns all requests that are open, by number.
    pub fn iter(&self) -> impl Iterator<Item = (u32, &T)> {
        (1..).zip(&self.open).filter_map(|(slot, open)| Some((slot, open.as_ref()?)))
    }
}
