//! From the events of a rank to its calls.
//!
//! A call is what lies between the outermost region of MPI's and its end; its events say what it was. Between
//! calls a rank computes, and in functions of MPI's that have no events too, unless they wait.

use super::collective;
use super::comms::{Comms, Own};
use super::requests::{Item, Outcome, Queue, What};
use crate::place::nowhere;
use crate::writer::{BYTE, Message as Sending, Slots, Told, UNTOLD, Writer, given, request, result};
use ::otf2::{Collective, Definitions, Event, Message, operation};
use engine::Span;
use mpi::request::PROC_NULL;
use recorder::{ArgumentValue, Class, ObjectArgument, Value};
use rustc_hash::FxHashMap;

/// MPI function of a region, by the conversion of its calls.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Function {
    Plain(&'static str),
    /// A send with the names that its message has without and with a request.
    Sends(&'static str, &'static str),
    Exchanges,
    /// It waits for requests.
    Waits,
    /// It asks for them.
    Tests,
    /// It waits or asks, and the events do not say for what.
    Probes,
    /// `MPI_Comm_dup`: the one call that makes a communicator of the same members.
    Duplicates,
    Frees,
    Other,
}

impl Function {
    fn named(name: &str) -> Option<Function> {
        Some(match name.strip_prefix("MPI_")? {
            "Init" | "Init_thread" => Function::Plain("MPI_Init"),
            "Finalize" => Function::Plain("MPI_Finalize"),
            "Ssend" | "Issend" | "Ssend_init" => Function::Sends("MPI_Ssend", "MPI_Issend"),
            "Bsend" | "Ibsend" | "Bsend_init" => Function::Sends("MPI_Bsend", "MPI_Ibsend"),
            "Rsend" | "Irsend" | "Rsend_init" => Function::Sends("MPI_Rsend", "MPI_Irsend"),
            "Sendrecv" | "Sendrecv_replace" => Function::Exchanges,
            "Wait" | "Waitall" | "Waitany" | "Waitsome" => Function::Waits,
            "Test" | "Testall" | "Testany" | "Testsome" => Function::Tests,
            "Probe" | "Iprobe" | "Mprobe" | "Improbe" => Function::Probes,
            "Comm_dup" | "Comm_dup_with_info" => Function::Duplicates,
            "Comm_free" | "Comm_disconnect" => Function::Frees,
            _ => Function::Other,
        })
    }
}

/// The functions of an archive, by their regions.
pub struct Functions(FxHashMap<u32, Function>);

impl Functions {
    /// Maps the regions of MPI in `definitions` to functions.
    pub fn of(definitions: &Definitions) -> Functions {
        Functions(
            definitions
                .regions()
                .filter_map(|(region, name)| Some((region, Function::named(name)?)))
                .collect(),
        )
    }
}

/// A call under way.
struct Under {
    function: Function,
    entered: u64,
    at: u64,
}

/// One rank.
pub struct Rank<'a> {
    number: u32,
    writer: &'a mut Writer,
    functions: &'a Functions,
    all: &'a Comms,
    comms: Own<'a>,
    /// Ticks in a second, and the first of the rank's: ranks did not begin at once, and what they did before
    /// nobody knows.
    ticks: u64,
    start: Option<u64>,
    /// The outermost call, and how many of MPI's regions the rank is in.
    under: Option<Under>,
    depth: u32,
    events: Vec<Event>,
    /// Since when it computes, and how long it did before that of which no call has been told.
    idle: u64,
    carried: u64,
    queue: Queue,
    slots: Slots<Told>,
    requests: FxHashMap<u64, u32>,
    has_begun: bool,
    is_over: bool,
}

impl<'a> Rank<'a> {
    /// Returns the state before its first event.
    pub fn new(
        number: u32,
        writer: &'a mut Writer,
        functions: &'a Functions,
        comms: &'a Comms,
        ticks: u64,
    ) -> Rank<'a> {
        Rank {
            number,
            writer,
            functions,
            all: comms,
            comms: Own::new(comms, number),
            ticks,
            start: None,
            under: None,
            depth: 0,
            events: Vec::new(),
            idle: 0,
            carried: 0,
            queue: Queue::default(),
            slots: Slots::default(),
            requests: FxHashMap::default(),
            has_begun: false,
            is_over: false,
        }
    }

    /// Picoseconds since the rank's first event.
    fn clock(&mut self, time: u64) -> u64 {
        let ticks = time.saturating_sub(*self.start.get_or_insert(time));
        u64::try_from(u128::from(ticks) * 1_000_000_000_000 / u128::from(self.ticks)).unwrap_or(u64::MAX)
    }

    /// Returns what happens next, at this time and byte.
    ///
    /// # Errors
    /// Why it cannot be made into a call.
    pub fn event(&mut self, time: u64, at: u64, event: Event) -> Result<(), String> {
        let now = self.clock(time);
        match event {
            Event::Enter(region) => {
                if let Some(&function) = self.functions.0.get(&region) {
                    self.depth += 1;
                    if self.depth == 1 {
                        self.under = Some(Under { function, entered: now, at });
                    }
                }
                Ok(())
            }
            Event::Leave(region) if self.functions.0.contains_key(&region) => {
                self.depth =
                    self.depth.checked_sub(1).ok_or("the rank leaves a function that it is not in")?;
                if self.depth > 0 {
                    return Ok(());
                }
                let under = self.under.take().expect("it was entered");
                self.left(&under, now)
            }
            Event::Leave(_) | Event::Other | Event::CollectiveBegin => Ok(()),
            // What a rank did meanwhile nobody knows: that time is left out.
            Event::Measurement(on) => {
                if !on {
                    self.carried = self.carried.saturating_add(now.saturating_sub(self.idle));
                }
                self.idle = now;
                Ok(())
            }
            Event::Rma => Err("one-sided communication is not made into calls of a trace".to_owned()),
            Event::Matched => {
                Err("messages of matched probes (MPI_Mprobe) are not made into calls of a trace".to_owned())
            }
            event if self.depth > 0 => {
                // No call has that many but one that lies.
                if self.events.len() >= 1 << 24 {
                    return Err("a call with more than 2^24 events".to_owned());
                }
                self.events.push(event);
                Ok(())
            }
            // Some tools write what was sent and received and no functions.
            event => {
                self.events.push(event);
                self.left(&Under { function: Function::Other, entered: now, at }, now)
            }
        }
    }

    /// Converts a call at its end.
    fn left(&mut self, under: &Under, now: u64) -> Result<(), String> {
        let events = std::mem::take(&mut self.events);
        let mut calls = Vec::new();
        let told = self.calls(under.function, &events, &mut calls);
        self.events = events;
        self.events.clear();
        told?;
        let computed = self.carried.saturating_add(under.entered.saturating_sub(self.idle));
        match under.function {
            Function::Waits | Function::Tests | Function::Probes if calls.is_empty() => {
                (self.carried, self.idle) = (computed, now);
                return Ok(());
            }
            _ if calls.is_empty() => return Ok(()),
            _ => {}
        }
        (self.carried, self.idle) = (0, now);
        let (last, took) = (calls.len() - 1, now.saturating_sub(under.entered));
        for (place, what) in calls.into_iter().enumerate() {
            let (computed, took) =
                (if place == 0 { computed } else { 0 }, if place == last { took } else { 0 });
            self.queue.push(Item { computed, took, what }, under.at)?;
        }
        self.flush()
    }

    /// Returns what the events within a call make of it.
    fn calls(&mut self, function: Function, events: &[Event], calls: &mut Vec<What>) -> Result<(), String> {
        if let Function::Plain(name) = function {
            calls.push(What::Plain(name));
        }
        if function == Function::Exchanges {
            let (mut to, mut from) = (None, None);
            for event in events {
                match *event {
                    // The library of some versions writes these with requests.
                    Event::Send(message) | Event::Isend(message, _) => to = Some(message),
                    Event::Recv(message) | Event::Irecv(message, _) => from = Some(message),
                    _ => {}
                }
            }
            if to.is_some() || from.is_some() {
                calls.push(What::Exchange(to, from));
            }
            return Ok(());
        }
        let (send, isend) = if let Function::Sends(send, isend) = function {
            (send, isend)
        } else {
            ("MPI_Send", "MPI_Isend")
        };
        let (mut complete, mut vain, mut collective, mut made) = (Vec::new(), None, None, None);
        for &event in events {
            match event {
                Event::Send(message) => calls.push(What::Send(send, message)),
                Event::Recv(message) => calls.push(What::Recv(message)),
                Event::Isend(message, request) => calls.push(What::Isend(isend, message, request)),
                Event::IrecvRequest(request) => calls.push(What::Irecv(Outcome::Open, request)),
                Event::IcollectiveRequest(request) => calls.push(What::Icollective(Outcome::Open, request)),
                Event::IsendComplete(request) => complete.push(request),
                Event::Irecv(message, request) => {
                    self.queue.received(request, Outcome::Known(message))?;
                    complete.push(request);
                }
                Event::IcollectiveComplete(collective, request) => {
                    self.queue.joined(request, collective)?;
                    complete.push(request);
                }
                Event::RequestCancelled(request) => {
                    // A send that was cancelled was sent for all that the trace knows.
                    if self.queue.has(request) {
                        self.queue.received(request, Outcome::Cancelled)?;
                    }
                    complete.push(request);
                }
                Event::RequestTest(request) => vain = vain.or(Some(request)),
                Event::CollectiveEnd(end) => collective = Some(end),
                Event::CommCreate(comm) => made = Some(comm),
                _ => {}
            }
        }
        match collective {
            Some(collective) => calls.extend(self.joint(function, collective, made)),
            None => calls.extend(made.map(|comm| {
                What::Make("MPI_Comm_create_group", self.all.parent(comm).unwrap_or(comm), Some(comm))
            })),
        }
        match (complete.is_empty(), vain) {
            (false, _) => calls.push(What::Complete(complete, function == Function::Tests)),
            (true, Some(request)) if function == Function::Tests => calls.push(What::Vain(request)),
            _ => {}
        }
        Ok(())
    }

    /// Returns a collective, which may be one that makes a communicator.
    fn joint(&self, function: Function, collective: Collective, made: Option<u32>) -> Option<What> {
        let Collective { operation, comm, .. } = collective;
        let what = match (operation, made) {
            (operation::CREATE_HANDLE, Some(new)) => {
                let name = if function == Function::Duplicates { "MPI_Comm_dup" } else { "MPI_Comm_create" };
                What::Make(name, comm, Some(new))
            }
            (operation::CREATE_HANDLE, None) if self.all.are_told() => {
                What::Make("MPI_Comm_create", comm, None)
            }
            // The communicator was made behind MPI_Init; what is left of the call is that all are there.
            (operation::CREATE_HANDLE, None) => {
                What::Collective(Collective { operation: operation::BARRIER, ..collective })
            }
            (operation::DESTROY_HANDLE.., _) => return None,
            _ if function == Function::Frees => return None,
            _ => What::Collective(collective),
        };
        Some(what)
    }

    /// Makes the calls of which all is known.
    fn flush(&mut self) -> Result<(), String> {
        while let Some(item) = self.queue.pop() {
            if self.is_over {
                return Err("a call behind MPI_Finalize".to_owned());
            }
            // What was recorded may begin in the middle of a run.
            if !self.has_begun && item.what != What::Plain("MPI_Init") {
                self.init()?;
            }
            if item.computed > 0 {
                self.writer.compute(self.number, Span::from_ps(item.computed));
            }
            self.writer.takes(Span::from_ps(item.took));
            self.call(item.what)?;
        }
        Ok(())
    }

    fn init(&mut self) -> Result<(), String> {
        self.has_begun = true;
        self.writer.init(self.number);
        for &comm in self.all.first(self.number) {
            self.make("MPI_Comm_create_group", None, Some(comm))?;
        }
        Ok(())
    }

    fn make(&mut self, name: &'static str, parent: Option<u32>, new: Option<u32>) -> Result<(), String> {
        let parent = match parent {
            Some(parent) => self.comms.place(parent)?.of("comm"),
            None => self.writer.world(self.number),
        };
        let group = given("group", Value::Handle(Class::Group, ObjectArgument::Made { number: 1, slot: 1 }));
        let tag = given("tag", Value::Tag(new.unwrap_or(0) as i32 & 0x7fff));
        let made = match new {
            Some(new) => self.comms.make(new)?.of("newcomm"),
            None => nowhere("newcomm"),
        };
        let made = result(made.name, made.value);
        match name {
            "MPI_Comm_dup" => self.writer.call(self.number, name, &[parent, made]),
            "MPI_Comm_create" => self.writer.call(self.number, name, &[parent, group, made]),
            _ => self.writer.call(self.number, name, &[parent, group, tag, made]),
        }
        Ok(())
    }

    fn call(&mut self, what: What) -> Result<(), String> {
        match what {
            What::Plain("MPI_Init") if !self.has_begun => self.init()?,
            What::Plain("MPI_Finalize") => self.finalize(),
            What::Plain(_) => return Err("MPI_Init comes a second time".to_owned()),
            What::Send(name, message) => drop(self.message(name, Some(message))?),
            What::Recv(message) => drop(self.message("MPI_Recv", Some(message))?),
            What::Isend(name, message, request) => {
                let slot = self.message(name, Some(message))?;
                self.requests.insert(request, slot);
            }
            What::Irecv(outcome, request) => {
                // Whoever cancels a receive has received nothing.
                let slot = self.message(
                    "MPI_Irecv",
                    if let Outcome::Known(message) = outcome { Some(message) } else { None },
                )?;
                self.requests.insert(request, slot);
            }
            What::Exchange(to, from) => self.exchange(to, from)?,
            What::Collective(of) => {
                let place = self.comms.place(of.comm)?;
                let ([name, _], mut arguments) = collective::call(&of, &place)?;
                arguments.push(place.of("comm"));
                self.writer.call(self.number, name, &arguments);
            }
            What::Icollective(outcome, number) => {
                let Outcome::Known(of) = outcome else {
                    return Err(format!("the collective with the request {number} is never complete"));
                };
                let place = self.comms.place(of.comm)?;
                let ([_, name], mut arguments) = collective::call(&of, &place)?;
                let slot = self.slots.open(UNTOLD);
                self.requests.insert(number, slot);
                arguments.extend([place.of("comm"), result("request", request(slot))]);
                self.writer.call(self.number, name, &arguments);
            }
            What::Complete(requests, tests) => self.complete(&requests, tests),
            What::Vain(number) => {
                if let Some(&slot) = self.requests.get(&number) {
                    self.writer.test_in_vain(self.number, slot);
                }
            }
            What::Make(name, parent, new) => {
                let parent = Some(parent).filter(|&parent| Some(parent) != new);
                self.make(name, parent, new)?;
            }
        }
        Ok(())
    }

    /// Returns the other rank, the tag and the length of a message; nobody and nothing of none.
    fn told(&mut self, message: Option<Message>) -> Result<(Sending, ArgumentValue), String> {
        let Some(Message { peer, comm, tag, bytes }) = message else {
            return Ok((
                Sending { peer: PROC_NULL, tag: 0, count: 0, datatype: BYTE },
                self.writer.world(self.number),
            ));
        };
        let place = self.comms.place(comm)?;
        let (Some(peer), Ok(tag)) =
            (i32::try_from(peer).ok().filter(|&peer| (peer as u32) < place.size), i32::try_from(tag))
        else {
            return Err(format!(
                "a message of rank {peer} with tag {tag} in a communicator of {}",
                place.size
            ));
        };
        if bytes > i64::MAX as u64 {
            return Err(format!("a message of {bytes} bytes"));
        }
        Ok((Sending { peer, tag, count: bytes, datatype: BYTE }, place.of("comm")))
    }

    fn message(&mut self, name: &'static str, message: Option<Message>) -> Result<u32, String> {
        let (message, comm) = self.told(message)?;
        Ok(self.writer.message_in(comm, self.number, name, message, &mut self.slots))
    }

    fn exchange(&mut self, to: Option<Message>, from: Option<Message>) -> Result<(), String> {
        let ((to, comm), (from, other)) = (self.told(to)?, self.told(from)?);
        let comm = if to.peer == PROC_NULL { other } else { comm };
        self.writer.exchange_in(comm, self.number, to, from);
        Ok(())
    }

    /// Requests that are complete. Of those that the trace does not have (nobody was at the other end)
    /// nothing is told.
    fn complete(&mut self, requests: &[u64], tests: bool) {
        let slots: Vec<u32> = requests.iter().filter_map(|request| self.requests.remove(request)).collect();
        self.writer.complete(self.number, &slots, tests, &mut self.slots);
    }

    fn finalize(&mut self) {
        self.is_over = true;
        self.writer.call(self.number, "MPI_Finalize", &[]);
    }

    /// Finishes behind the last event.
    ///
    /// # Errors
    /// If there is a request of which nobody says what it received.
    pub fn finish(&mut self) -> Result<(), String> {
        self.flush()?;
        if let Some((request, at)) = self.queue.oldest() {
            return Err(format!(
                "the request {request}, which was made at byte {at}, is never complete: nothing says what it \
                 received"
            ));
        }
        if !self.has_begun {
            self.init()?;
        }
        if !self.is_over {
            self.finalize();
        }
        Ok(())
    }
}
