//! From the records of a rank to its calls.

use super::comms::{Comm, Comms, MAKERS, NULL, SELF, WORLD};
use super::file::Record;
use super::layout::Function;
use super::types::Types;
use crate::place::{Place, nowhere};
use crate::writer::{
    BYTE, Message, Slots, Told, Type, Writer, buffer, count, counts, displacements, given, result, status,
};
use engine::Span;
use mpi::request::{ANY_SOURCE, ANY_TAG, PROC_NULL};
use recorder::{ArgumentValue, Class, ObjectArgument, Value};
use rustc_hash::FxHashMap;
use std::collections::VecDeque;

/// Numbers of requests: none, and one that is no more.
const NO_REQUEST: i64 = 1;

/// A request that the program starts again and again.
#[derive(Clone, Copy)]
struct Persistent {
    name: &'static str,
    message: Message,
    comm: i64,
}

/// One rank.
pub struct Rank<'a> {
    number: u32,
    writer: &'a mut Writer,
    all: &'a [Comm],
    /// Indexes of the communicators that its calls make, in the order of the calls; `None` where it gets
    /// none.
    made: VecDeque<Option<usize>>,
    comms: FxHashMap<i64, Place>,
    count: u32,
    types: Types<'a>,
    slots: Slots<Told>,
    requests: FxHashMap<i64, u32>,
    persistent: FxHashMap<i64, Persistent>,
    /// Since when it computes, and how long it did before that of which no call has been told.
    idle: Option<u64>,
    carried: u64,
    has_begun: bool,
    is_over: bool,
}

/// Outcome of a record: a call in the trace, or time alone.
enum Outcome {
    Told,
    /// It only waits or asks.
    Waited,
    /// The time is the rank's own.
    Local,
}

impl<'a> Rank<'a> {
    /// Returns the state before its first record.
    pub fn new(number: u32, writer: &'a mut Writer, comms: &'a mut Comms, types: Types<'a>) -> Rank<'a> {
        let ranks = comms.made.len() as u32;
        let made = std::mem::take(&mut comms.made[number as usize]);
        let places = FxHashMap::from_iter([(WORLD, Place::world(ranks, number)), (SELF, Place::own(number))]);
        Rank {
            number,
            writer,
            all: &comms.all,
            made,
            comms: places,
            count: 0,
            types,
            slots: Slots::default(),
            requests: FxHashMap::default(),
            persistent: FxHashMap::default(),
            idle: None,
            carried: 0,
            has_begun: false,
            is_over: false,
        }
    }

    /// Converts the next record.
    ///
    /// # Errors
    /// Why it cannot be made into a call.
    pub fn record(&mut self, function: &Function, record: &Record) -> Result<(), String> {
        let (entered, left) = record.times.unwrap_or((self.idle.unwrap_or(0), self.idle.unwrap_or(0)));
        let computed = self.carried.saturating_add(entered.saturating_sub(self.idle.unwrap_or(entered)));
        if self.is_over {
            return if matches!(function.name, "Finalized" | "Initialized") {
                Ok(())
            } else {
                Err("it comes behind MPI_Finalize".to_owned())
            };
        }
        if !self.has_begun && !matches!(function.name, "Init" | "Init_thread" | "Initialized") {
            self.init();
        }
        if computed > 0 {
            self.writer.compute(self.number, Span::from_ps(computed));
        }
        self.writer.takes(Span::from_ps(left.saturating_sub(entered)));
        let outcome = self.call(function, record)?;
        self.writer.takes(Span::ZERO);
        // Computation that was told and of which no call came goes on with the next one.
        self.carried = 0;
        self.idle =
            Some(if let Outcome::Local = outcome { entered } else { left }.max(self.idle.unwrap_or(0)));
        Ok(())
    }

    fn init(&mut self) {
        self.has_begun = true;
        self.writer.init(self.number);
    }

    fn call(&mut self, function: &Function, record: &Record) -> Result<Outcome, String> {
        let number = |name: &str| record.number(function, name);
        match function.name {
            "Init" | "Init_thread" if self.has_begun => return Err("it comes a second time".to_owned()),
            "Init" | "Init_thread" => self.init(),
            "Finalize" => self.finish(),
            "Send" => self.message(function, record, "MPI_Send")?,
            "Ssend" => self.message(function, record, "MPI_Ssend")?,
            "Bsend" => self.message(function, record, "MPI_Bsend")?,
            "Rsend" => self.message(function, record, "MPI_Rsend")?,
            "Recv" => self.message(function, record, "MPI_Recv")?,
            "Isend" => self.message(function, record, "MPI_Isend")?,
            "Issend" => self.message(function, record, "MPI_Issend")?,
            "Ibsend" => self.message(function, record, "MPI_Ibsend")?,
            "Irsend" => self.message(function, record, "MPI_Irsend")?,
            "Irecv" => self.message(function, record, "MPI_Irecv")?,
            "Send_init" => self.persistent(function, record, "MPI_Isend")?,
            "Ssend_init" => self.persistent(function, record, "MPI_Issend")?,
            "Bsend_init" => self.persistent(function, record, "MPI_Ibsend")?,
            "Rsend_init" => self.persistent(function, record, "MPI_Irsend")?,
            "Recv_init" => self.persistent(function, record, "MPI_Irecv")?,
            "Start" => self.start(&[number("request")])?,
            "Startall" => self.start(record.numbers(function, "requests"))?,
            "Sendrecv" => {
                let to = (number("sendcount"), number("sendtype"), number("dest"), number("sendtag"));
                self.exchange(
                    function,
                    record,
                    to,
                    (number("recvcount"), number("recvtype"), number("source"), number("recvtag")),
                )?;
            }
            "Sendrecv_replace" => {
                let of = (number("count"), number("datatype"));
                let to = (of.0, of.1, number("dest"), number("sendtag"));
                self.exchange(function, record, to, (of.0, of.1, number("source"), number("recvtag")))?;
            }
            "Probe" => self.probe(function, record)?,
            "Iprobe" if number("flag") != 0 => self.probe(function, record)?,
            "Iprobe" => return Ok(Outcome::Waited),
            "Request_free" => drop(self.persistent.remove(&number("request"))),
            "Wait" | "Waitall" | "Waitany" | "Waitsome" | "Test" | "Testall" | "Testany" | "Testsome" => {
                self.completion(function, record);
                return Ok(Outcome::Waited);
            }
            name if MAKERS[..5].contains(&name) => self.make(function, record)?,
            name if is_refused(name) => return Err(format!("MPI_{name} is not made into a call of a trace")),
            _ if self.collective(function, record)? => {}
            _ => {
                self.types.make(function, record);
                return Ok(Outcome::Local);
            }
        }
        Ok(Outcome::Told)
    }

    fn place(&self, comm: i64) -> Result<Place, String> {
        self.comms.get(&comm).copied().ok_or_else(|| format!("nothing says who is in communicator {comm}"))
    }

    /// Returns the other rank: whoever is none of the communicator is nobody, or, of a receive, anybody.
    fn peer(place: &Place, peer: i64, receives: bool) -> Result<i32, String> {
        match i32::try_from(peer) {
            Ok(-1) if receives => Ok(ANY_SOURCE),
            Ok(peer) if peer < 0 => Ok(PROC_NULL),
            Ok(peer) if (peer as u32) < place.size => Ok(peer),
            _ => Err(format!("a message of rank {peer} in a communicator of {}", place.size)),
        }
    }

    fn envelope(
        &self,
        function: &Function,
        record: &Record,
        receives: bool,
    ) -> Result<(Message, i64), String> {
        let number = |name: &str| record.number(function, name);
        let comm = number("comm");
        let peer =
            Self::peer(&self.place(comm)?, number(if receives { "source" } else { "dest" }), receives)?;
        let (count, datatype) = self.types.elements(number("count"), number("datatype"))?;
        Ok((Message { peer, tag: tag(number("tag"), receives), count, datatype }, comm))
    }

    fn message(&mut self, function: &Function, record: &Record, name: &'static str) -> Result<(), String> {
        let (mut message, comm) =
            self.envelope(function, record, name.ends_with("recv") || name == "MPI_Recv")?;
        let place = self.place(comm)?;
        if name == "MPI_Recv" {
            // Whom a receive for any source had is in its status, where that is not what lay in memory
            // before.
            self.found(&mut message, &place, record.numbers(function, "status"));
        }
        let slot = self.writer.message_in(place.of("comm"), self.number, name, message, &mut self.slots);
        if slot > 0 {
            self.requests.insert(record.number(function, "request"), slot);
        }
        Ok(())
    }

    /// Sets source and tag of a receive for any, from a status that can be true: source, tag and length are
    /// possible, and nothing failed.
    fn found(&self, message: &mut Message, place: &Place, told: &[i64]) {
        let &[bytes, source, 0, 0, tag] = told else { return };
        let room = message.count.saturating_mul(message.datatype.size);
        let is_open = message.peer == ANY_SOURCE || message.tag == ANY_TAG;
        let fits = u64::try_from(bytes).is_ok_and(|bytes| bytes <= room)
            && (0..i64::from(place.size)).contains(&source)
            && tag >= 0;
        let agrees = (message.peer == ANY_SOURCE || i64::from(message.peer) == source)
            && (message.tag == ANY_TAG || i64::from(message.tag) == tag);
        if is_open && fits && agrees {
            (message.peer, message.tag) = (source as i32, tag as i32);
        }
    }

    fn persistent(&mut self, function: &Function, record: &Record, name: &'static str) -> Result<(), String> {
        let (message, comm) = self.envelope(function, record, name == "MPI_Irecv")?;
        self.persistent.insert(record.number(function, "request"), Persistent { name, message, comm });
        Ok(())
    }

    fn start(&mut self, requests: &[i64]) -> Result<(), String> {
        for &number in requests {
            let Some(&Persistent { name, message, comm }) = self.persistent.get(&number) else {
                return Err(format!("request {number} is started, and nothing says what it is"));
            };
            let comm = self.place(comm)?.of("comm");
            let slot = self.writer.message_in(comm, self.number, name, message, &mut self.slots);
            self.requests.insert(number, slot);
        }
        Ok(())
    }

    fn exchange(
        &mut self,
        function: &Function,
        record: &Record,
        to: (i64, i64, i64, i64),
        from: (i64, i64, i64, i64),
    ) -> Result<(), String> {
        let place = self.place(record.number(function, "comm"))?;
        let message = |(count, datatype, peer, told): (i64, i64, i64, i64), receives| {
            let (count, datatype) = self.types.elements(count, datatype)?;
            Ok::<_, String>(Message {
                peer: Self::peer(&place, peer, receives)?,
                tag: tag(told, receives),
                count,
                datatype,
            })
        };
        let (to, mut from) = (message(to, false)?, message(from, true)?);
        self.found(&mut from, &place, record.numbers(function, "status"));
        self.writer.exchange_in(place.of("comm"), self.number, to, from);
        Ok(())
    }

    fn probe(&mut self, function: &Function, record: &Record) -> Result<(), String> {
        let number = |name: &str| record.number(function, name);
        let place = self.place(number("comm"))?;
        let mut message = Message {
            peer: Self::peer(&place, number("source"), true)?,
            tag: tag(number("tag"), true),
            count: i64::MAX as u64,
            datatype: BYTE,
        };
        self.found(&mut message, &place, record.numbers(function, "status"));
        let Message { peer, tag, .. } = message;
        let arguments = [
            given("source", Value::Rank(peer)),
            given("tag", Value::Tag(tag)),
            place.of("comm"),
            result("status", status((peer, tag, 0))),
        ];
        self.writer.call(self.number, "MPI_Probe", &arguments);
        Ok(())
    }

    /// Converts a wait, or a test: of what was complete. What its statuses say is not looked at, because it
    /// may be what lay in memory before.
    fn completion(&mut self, function: &Function, record: &Record) {
        let tests = function.name.starts_with("Test");
        let all = record.numbers(function, "requests");
        let is_found = !tests || function.name == "Testsome" || record.number(function, "flag") != 0;
        let at = |index: i64| usize::try_from(index).ok().and_then(|index| all.get(index).copied());
        let complete: Vec<i64> = match function.name {
            _ if !is_found => Vec::new(),
            "Wait" | "Test" => vec![record.number(function, "request")],
            "Waitany" | "Testany" => at(record.number(function, "index")).into_iter().collect(),
            "Waitsome" | "Testsome" => {
                record.numbers(function, "indices").iter().filter_map(|&index| at(index)).collect()
            }
            _ => all.to_vec(),
        };
        let slots: Vec<u32> = complete
            .iter()
            .filter(|&&number| number > NO_REQUEST)
            .filter_map(|number| self.requests.remove(number))
            .collect();
        if !slots.is_empty() {
            self.writer.complete(self.number, &slots, tests, &mut self.slots);
        } else if tests {
            let asked = all
                .iter()
                .copied()
                .chain([record.number(function, "request")])
                .find_map(|number| self.requests.get(&number));
            if let Some(&slot) = asked {
                self.writer.test_in_vain(self.number, slot);
            }
        }
    }

    /// Converts a call that makes a communicator.
    fn make(&mut self, function: &Function, record: &Record) -> Result<(), String> {
        let number = |name: &str| record.number(function, name);
        let parent = self.place(number("oldcomm"))?;
        let made = self.made.pop_front().flatten();
        let place = made.map(|comm| {
            Place::made(self.count + 1, comm as u32, &self.all[comm].members, self.number)
                .expect("it is a member")
        });
        if let Some(place) = place {
            self.count += 1;
            self.comms.insert(number("newcomm"), place);
        } else if number("newcomm") > NULL {
            return Err(format!(
                "it makes communicator {}, and what the other ranks call does not say who is in it",
                number("newcomm")
            ));
        }
        let new = |name| {
            let ArgumentValue { name, value, .. } =
                place.map_or_else(|| nowhere(name), |place| place.of(name));
            result(name, value)
        };
        let list = |name: &'static str, field: &str| {
            given(
                name,
                Value::List(record.numbers(function, field).iter().map(|&n| Value::Integer(n)).collect()),
            )
        };
        let flags = |name: &'static str, field: &str| {
            given(
                name,
                Value::List(
                    record.numbers(function, field).iter().map(|&flag| Value::Logical(flag != 0)).collect(),
                ),
            )
        };
        match function.name {
            "Comm_dup" => self.writer.call(self.number, "MPI_Comm_dup", &[parent.of("comm"), new("newcomm")]),
            "Cart_create" => {
                let dims = record.numbers(function, "dims").len() as i64;
                let head = [
                    parent.of("comm_old"),
                    given("ndims", Value::Integer(dims)),
                    list("dims", "dims"),
                    flags("periods", "periods"),
                ];
                // Who is where was taken as the ranks are: nothing says how they were put in another order.
                let tail = [given("reorder", Value::Logical(false)), new("comm_cart")];
                self.writer.call(self.number, "MPI_Cart_create", &[head.as_slice(), &tail].concat());
            }
            "Cart_sub" => {
                let arguments = [parent.of("comm"), flags("remain_dims", "remain_dims"), new("newcomm")];
                self.writer.call(self.number, "MPI_Cart_sub", &arguments);
            }
            // Who is in it is known: who it is made by does not matter.
            _ => {
                let group =
                    given("group", Value::Handle(Class::Group, ObjectArgument::Made { number: 1, slot: 1 }));
                self.writer.call(self.number, "MPI_Comm_create", &[parent.of("comm"), group, new("newcomm")]);
            }
        }
        Ok(())
    }

    /// Writes a collective, if the function is one; returns whether it is.
    fn collective(&mut self, function: &Function, record: &Record) -> Result<bool, String> {
        let number = |name: &str| record.number(function, name);
        let name = match function.name {
            "Barrier" => "MPI_Barrier",
            "Bcast" => "MPI_Bcast",
            "Reduce" => "MPI_Reduce",
            "Allreduce" => "MPI_Allreduce",
            "Scan" => "MPI_Scan",
            "Exscan" => "MPI_Exscan",
            "Reduce_scatter" => "MPI_Reduce_scatter",
            "Gather" => "MPI_Gather",
            "Gatherv" => "MPI_Gatherv",
            "Scatter" => "MPI_Scatter",
            "Scatterv" => "MPI_Scatterv",
            "Allgather" => "MPI_Allgather",
            "Allgatherv" => "MPI_Allgatherv",
            "Alltoall" => "MPI_Alltoall",
            "Alltoallv" | "Alltoallw" => "MPI_Alltoallv",
            _ => return Ok(false),
        };
        let place = self.place(number("comm"))?;
        let root = function
            .fields
            .as_deref()
            .is_some_and(|fields| fields.iter().any(|field| field.name == "root"))
            .then(|| number("root"));
        if let Some(root) = root.filter(|root| !(0..i64::from(place.size)).contains(root)) {
            return Err(format!("rank {root} is the root in a communicator of {}", place.size));
        }
        let is_root = root == Some(place.rank.into());
        let mut arguments = self.blocks(function, record, (&place, is_root))?;
        arguments.extend(root.map(|root| given("root", Value::Rank(root as i32))));
        arguments.push(place.of("comm"));
        self.writer.call(self.number, name, &arguments);
        Ok(true)
    }

    /// Returns the buffers of a collective.
    fn blocks(
        &self,
        function: &Function,
        record: &Record,
        (place, is_root): (&Place, bool),
    ) -> Result<Vec<ArgumentValue>, String> {
        let number = |name: &str| record.number(function, name);
        let side = |buf: &'static str, names: (&'static str, &'static str)| {
            let (elements, datatype) = self.types.elements(number(names.0), number(names.1))?;
            Ok::<_, String>(vec![buffer(buf), count(names.0, elements), datatype.of(names.1)])
        };
        let sends = || side("sendbuf", ("sendcount", "sendtype"));
        let receives = || side("recvbuf", ("recvcount", "recvtype"));
        let nothing = |buf: &'static str, names: (&'static str, &'static str)| {
            vec![buffer(buf), count(names.0, 0), BYTE.of(names.1)]
        };
        let own = |to: Vec<ArgumentValue>| {
            [vec![buffer("sendbuf"), renamed(&to[1], "sendcount"), renamed(&to[2], "sendtype")], to].concat()
        };
        let varying = |buf, fields: [&'static str; 3], there: &'static str| {
            self.varying(function, record, (buf, fields, there), place.size)
        };
        let reduced = |(elements, datatype, operation): (u64, Type, &'static str)| {
            let op = given("op", Value::Handle(Class::Op, ObjectArgument::Named(operation)));
            vec![buffer("sendbuf"), buffer("recvbuf"), count("count", elements), datatype.of("datatype"), op]
        };
        Ok(match function.name {
            "Bcast" => {
                let (elements, datatype) = self.types.elements(number("count"), number("datatype"))?;
                vec![buffer("buffer"), count("count", elements), datatype.of("datatype")]
            }
            "Reduce" | "Allreduce" | "Scan" | "Exscan" => {
                reduced(self.types.reduced(number("count"), number("datatype"), number("op"))?)
            }
            "Reduce_scatter" => {
                let (elements, datatype, operation) =
                    self.types.reduced(1, number("datatype"), number("op"))?;
                let all = lengths(record.numbers(function, "recvcounts"), place.size)?;
                let all: Vec<u64> = all.into_iter().map(|count| count.saturating_mul(elements)).collect();
                let op = given("op", Value::Handle(Class::Op, ObjectArgument::Named(operation)));
                vec![
                    buffer("sendbuf"),
                    buffer("recvbuf"),
                    counts("recvcounts", &all),
                    datatype.of("datatype"),
                    op,
                ]
            }
            "Gather" if is_root => own(receives()?),
            "Gather" => [sends()?, nothing("recvbuf", ("recvcount", "recvtype"))].concat(),
            "Scatter" if is_root => [sends()?, nothing("recvbuf", ("recvcount", "recvtype"))].concat(),
            "Scatter" => [nothing("sendbuf", ("sendcount", "sendtype")), receives()?].concat(),
            // Who works in place may say anything of what it sends: it is what it receives.
            "Allgather" | "Alltoall" => own(receives()?),
            "Gatherv" => {
                let to = varying("recvbuf", ["recvcounts", "displs", "recvtype"], "recvtype")?;
                [sends().unwrap_or_else(|_| nothing("sendbuf", ("sendcount", "sendtype"))), to].concat()
            }
            "Scatterv" => {
                let from = varying("sendbuf", ["sendcounts", "displs", "sendtype"], "sendtype")?;
                [from, receives().unwrap_or_else(|_| nothing("recvbuf", ("recvcount", "recvtype")))].concat()
            }
            "Allgatherv" => {
                let to = varying("recvbuf", ["recvcounts", "displs", "recvtype"], "recvtype")?;
                let own =
                    record.numbers(function, "recvcounts").get(place.rank as usize).copied().unwrap_or(0);
                let (elements, datatype) = self.types.elements(own, number("recvtype"))?;
                [vec![buffer("sendbuf"), count("sendcount", elements), datatype.of("sendtype")], to].concat()
            }
            "Alltoallv" | "Alltoallw" => {
                let (from, to) = if function.name == "Alltoallv" {
                    ("sendtype", "recvtype")
                } else {
                    ("sendtypes", "recvtypes")
                };
                let from = varying("sendbuf", ["sendcounts", "sdispls", "sendtype"], from)?;
                [from, varying("recvbuf", ["recvcounts", "rdispls", "recvtype"], to)?].concat()
            }
            _ => Vec::new(),
        })
    }

    /// Blocks that differ, in bytes: their counts, where they lie and of what they are. Who is no root has
    /// none.
    fn varying(
        &self,
        function: &Function,
        record: &Record,
        (buf, [lengths_of, displacements_of, datatype], told): (&'static str, [&'static str; 3], &str),
        size: u32,
    ) -> Result<Vec<ArgumentValue>, String> {
        let (all, types) = (record.numbers(function, lengths_of), record.numbers(function, told));
        let mut bytes = Vec::with_capacity(size as usize);
        for (place, &count) in all.iter().enumerate() {
            let number = types.get(place).or(types.first()).copied().unwrap_or(0);
            let (elements, of) = self.types.elements(count, number)?;
            bytes.push(elements.saturating_mul(of.size));
        }
        bytes.resize(size as usize, 0);
        Ok(vec![
            buffer(buf),
            counts(lengths_of, &bytes),
            displacements(displacements_of, &bytes),
            BYTE.of(datatype),
        ])
    }

    /// Finishes behind the last record.
    pub fn finish(&mut self) {
        if !self.has_begun {
            self.init();
        }
        if !self.is_over {
            self.is_over = true;
            self.writer.call(self.number, "MPI_Finalize", &[]);
        }
    }
}

fn renamed(argument: &ArgumentValue, name: &'static str) -> ArgumentValue {
    ArgumentValue { name, ..argument.clone() }
}

/// Counts of all members.
fn lengths(told: &[i64], size: u32) -> Result<Vec<u64>, String> {
    if told.len() != size as usize {
        return Err(format!("{} counts in a communicator of {size}", told.len()));
    }
    told.iter().map(|&count| u64::try_from(count).map_err(|_| format!("a count of {count}"))).collect()
}

fn tag(tag: i64, receives: bool) -> i32 {
    match i32::try_from(tag) {
        Ok(tag) if tag >= 0 => tag,
        _ if receives => ANY_TAG,
        _ => 0,
    }
}

/// Returns `true` for functions that communicate in ways that a trace's calls of these arguments do not have.
fn is_refused(name: &str) -> bool {
    let starts = [
        "Win_",
        "Comm_spawn",
        "Comm_accept",
        "Comm_connect",
        "Comm_join",
        "Grequest_",
        "Intercomm_",
        "Graph_create",
    ];
    matches!(name, "Put" | "Get" | "Accumulate" | "Cancel" | "Abort")
        || starts.iter().any(|start| name.starts_with(start))
}
