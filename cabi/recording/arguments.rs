//! From the words that an entry point got to values with names: what each word is, the table says.

use super::objects::{self, Objects, Pending};
use super::{Direction, Form, Kind, Length, PARAMETERS, Parameter};
use crate::args::{StatusPointer, Text};
use crate::constants::{MPI_IN_PLACE, MPI_ROOT};
use crate::fortran;
use crate::function::Function;
use crate::state;
use mpi::handle::REQUEST_SENT;
use observe::recorder::{Argument, Class, Matched, Status, Value};
use rank::Addr;
use rank::memory::{self, load, store};
use smallvec::SmallVec;

/// Bytes of a status.
const STATUS: i64 = 32;

/// What an entry point was called with.
pub struct Words {
    parameters: &'static [Parameter],
    form: Form,
    /// By parameter; 0 for one that this variant does not have.
    words: SmallVec<[u64; 12]>,
    /// The lengths of Fortran's texts, by parameter; none of another form.
    lengths: Vec<usize>,
    /// Statuses that the program ignores. On the heap, where everybody can write them.
    statuses: Vec<u64>,
    /// Where the entry point's arguments are on the rank's stack.
    frame: usize,
}

/// The handles that a call may replace, by parameter.
pub type Handles = Vec<(usize, Vec<usize>)>;

impl Words {
    /// The words of an entry point. What it is to be called with in place of an ignored status is put among them.
    pub fn new(function: Function, form: Form, given: &mut [u64]) -> Words {
        let parameters = PARAMETERS[function as usize];
        let mut left = given.iter().copied();
        let mut word = |p: &Parameter| if form.large || !p.large_only { left.next().unwrap_or(0) } else { 0 };
        let all: SmallVec<[u64; 12]> = parameters.iter().map(&mut word).collect();
        let mut words = Words { parameters, form, words: all, lengths: Vec::new(), statuses: Vec::new(), frame: given.as_ptr() as usize };
        if form.fortran {
            let texts = (0..parameters.len()).filter(|&index| words.is_there(index) && parameters[index].kind == Kind::Text);
            let texts: Vec<usize> = texts.collect();
            words.lengths = vec![0; parameters.len()];
            for (index, length) in texts.into_iter().zip(left) {
                words.lengths[index] = length as usize;
            }
        }
        let mut place = 0;
        for (index, p) in parameters.iter().enumerate() {
            if p.kind == Kind::Status && p.direction == Direction::Out && words.is_there(index) {
                given[place] = words.heed(index);
            }
            place += usize::from(words.is_there(index));
        }
        words
    }

    /// Whether this variant has the parameter.
    fn is_there(&self, index: usize) -> bool {
        self.form.large || !self.parameters[index].large_only
    }

    /// Where a status goes: memory of ours if the program ignores it.
    fn heed(&mut self, index: usize) -> u64 {
        let given = Addr(self.words[index] as usize);
        let ignored = if self.form.fortran { fortran::status(given).is_null() } else { given.is_null() };
        if ignored {
            let room = match self.parameters[index].length {
                Length::One => 1,
                _ => self.find(|p| p.kind == Kind::Handle(Class::Request)).and_then(|requests| self.count(requests).ok()).unwrap_or(0),
            };
            self.statuses = vec![0; room * STATUS as usize / 8];
            self.words[index] = self.statuses.as_ptr() as u64;
        }
        self.words[index]
    }

    /// Where the words are on the rank's stack.
    pub fn frame(&self) -> usize {
        self.frame
    }

    fn find(&self, wanted: impl Fn(&Parameter) -> bool) -> Option<usize> {
        self.parameters.iter().position(wanted)
    }

    fn named(&self, name: &str) -> Option<usize> {
        self.find(|p| p.name == name)
    }

    /// Parameters that are told, in the order of the arguments.
    fn told(&self) -> impl Iterator<Item = usize> + use<> {
        let (parameters, large) = (self.parameters, self.form.large);
        (0..parameters.len()).filter(move |&index| parameters[index].kind != Kind::Main && (large || !parameters[index].large_only))
    }

    /// Whether the word is the value itself.
    fn is_value(&self, index: usize) -> bool {
        let p = &self.parameters[index];
        !self.form.fortran && p.direction == Direction::In && p.length == Length::One && p.kind != Kind::Status
    }

    /// Element `k` of a parameter with numbers.
    fn number(&self, index: usize, k: usize) -> i64 {
        if self.is_value(index) {
            return self.words[index] as i64;
        }
        let at = Addr(self.words[index] as usize);
        if at.is_null() {
            0
        } else if self.parameters[index].wide[usize::from(self.form.large)] {
            load(at.offset(8 * k as i64))
        } else {
            load::<i32>(at.offset(4 * k as i64)).into()
        }
    }

    /// Element `k` of a parameter with handles.
    fn handle(&self, index: usize, k: usize) -> usize {
        if self.is_value(index) {
            return self.words[index] as usize;
        }
        let at = Addr(self.words[index] as usize);
        if at.is_null() {
            0
        } else if self.form.fortran {
            load::<i32>(at.offset(4 * k as i64)) as usize
        } else {
            load(at.offset(8 * k as i64))
        }
    }

    fn set_handle(&self, index: usize, handle: usize) {
        let at = Addr(self.words[index] as usize);
        if self.form.fortran { store(at, handle as i32) } else { store(at, handle) }
    }

    fn comm(&self) -> Option<usize> {
        self.find(|p| p.kind == Kind::Comm).map(|comm| self.handle(comm, 0))
    }

    /// How many elements there are; else the value that stands for them.
    fn count(&self, index: usize) -> Result<usize, Value> {
        let comm = self.comm().unwrap_or_default();
        let peers = || state::mpi().world().objects.comms.get(comm).map(|comm| comm.peers() as usize).map_err(|_| Value::Unknown);
        let neighbors = || state::mpi().neighbor_counts(comm).map_err(|_| Value::Unknown);
        match self.parameters[index].length {
            Length::One => Ok(1),
            Length::Of(length) => Ok(usize::try_from(self.number(length, 0)).unwrap_or(0)),
            Length::Peers => peers(),
            Length::PeersAtRoot if self.is_root(comm) => peers(),
            Length::PeersAtRoot => Err(Value::Unknown),
            Length::Sources => neighbors().map(|(sources, _)| sources),
            Length::Destinations => neighbors().map(|(_, destinations)| destinations),
            Length::Unknown => Err(Value::Address(self.words[index])),
        }
    }

    fn is_root(&self, comm: usize) -> bool {
        let root = self.named("root").map_or(-1, |root| self.number(root, 0));
        let world = state::mpi().world();
        world.objects.comms.get(comm).is_ok_and(|comm| {
            let own = if comm.is_inter() { i64::from(MPI_ROOT) } else { comm.rank(world.messages.me()).into() };
            root == own
        })
    }

    fn buffer(&self, index: usize) -> Value {
        let given = Addr(self.words[index] as usize);
        let at = match (self.form.fortran, self.form.descriptors) {
            (false, _) => given,
            (true, false) => fortran::buffer(given),
            (true, true) => fortran::descriptor::base(given),
        };
        match at.0 {
            0 => Value::Null,
            MPI_IN_PLACE => Value::InPlace,
            at => Value::Buffer(at as u64),
        }
    }

    /// Whether the buffer that the parameter describes is `MPI_IN_PLACE`, so that it says nothing.
    fn is_in_place(&self, index: usize) -> bool {
        let describes = matches!(self.parameters[index].kind, Kind::Count | Kind::Datatype);
        let buffer = self.parameters[..index].iter().rposition(|p| p.kind == Kind::Buffer);
        describes && buffer.is_some_and(|buffer| self.buffer(buffer) == Value::InPlace)
    }

    fn text(&self, index: usize) -> Value {
        let given = Addr(self.words[index] as usize);
        let (at, length) = match (self.form.fortran, self.form.descriptors) {
            (false, _) => (given, None),
            (true, false) => (given, Some(self.lengths[index])),
            (true, true) => {
                let (at, length) = fortran::descriptor::text(given);
                (at, Some(length))
            }
        };
        if at.is_null() {
            return Value::Null;
        }
        let mut bytes = Vec::new();
        match length {
            None => bytes = Text(at).bytes(),
            Some(length) => memory::append(at, length, &mut bytes),
        }
        let text = String::from_utf8_lossy(&bytes);
        Value::Text(if length.is_some() { text.trim_end_matches(' ') } else { &text }.to_owned())
    }

    fn status(&self, index: usize, k: usize) -> Status {
        let status = StatusPointer(Addr(self.words[index] as usize).offset(STATUS * k as i64)).get();
        Status { source: status.source, tag: status.tag, bytes: status.bytes, cancelled: status.cancelled }
    }

    fn value(&self, index: usize, objects: &mut Objects) -> Value {
        let p = &self.parameters[index];
        match p.kind {
            Kind::Buffer => return self.buffer(index),
            Kind::Text => return self.text(index),
            _ if self.is_in_place(index) => return Value::Unknown,
            _ => {}
        }
        let word = self.words[index];
        if p.length == Length::One {
            return if !self.is_value(index) && word == 0 { Value::Null } else { self.element(index, 0, objects) };
        }
        match self.count(index) {
            _ if word == 0 => Value::Null,
            // A constant that stands for an array.
            _ if word < 4096 => Value::Address(word),
            Err(value) => value,
            Ok(count) => Value::List((0..count).map(|k| self.element(index, k, objects)).collect()),
        }
    }

    fn element(&self, index: usize, k: usize, objects: &mut Objects) -> Value {
        match self.parameters[index].kind {
            Kind::Count => Value::Count(self.number(index, k)),
            Kind::Logical => Value::Logical(self.number(index, k) != 0),
            Kind::Rank => Value::Rank(self.number(index, k) as i32),
            Kind::Tag => Value::Tag(self.number(index, k) as i32),
            Kind::Comm => objects.comm(self.handle(index, k)),
            Kind::Datatype => objects.datatype(self.handle(index, k)),
            Kind::Handle(class) => Value::Handle(class, objects.object(class, self.handle(index, k))),
            Kind::Status => Value::Status(self.status(index, k)),
            Kind::Address if self.words[index] == 0 => Value::Null,
            Kind::Address => Value::Address(self.words[index]),
            Kind::Integer | Kind::Main | Kind::Buffer | Kind::Text => Value::Integer(self.number(index, k)),
        }
    }

    /// Adds the arguments on entry.
    pub fn arguments(&self, objects: &mut Objects, arguments: &mut Vec<Argument>) {
        for index in self.told() {
            let p = &self.parameters[index];
            let is_result = p.direction == Direction::Out;
            let value = if is_result && p.kind != Kind::Buffer { Value::Unknown } else { self.value(index, objects) };
            arguments.push(Argument { name: p.name, value, result: is_result });
        }
    }

    fn class(&self, index: usize) -> Option<Class> {
        match self.parameters[index].kind {
            Kind::Comm => Some(Class::Comm),
            Kind::Datatype => Some(Class::Datatype),
            Kind::Handle(class) => Some(class),
            _ => None,
        }
    }

    /// The handles that the call may replace.
    pub fn handles_before(&self) -> Handles {
        let replaced = |&index: &usize| self.class(index).is_some() && self.parameters[index].direction == Direction::InOut;
        let handles = |index: usize| {
            let count = if self.words[index] == 0 { 0 } else { self.count(index).unwrap_or(0) };
            (index, (0..count).map(|k| self.handle(index, k)).collect())
        };
        self.told().filter(replaced).map(handles).collect()
    }

    /// Puts the results among the arguments, and answers what receives have learned.
    pub fn results(&self, arguments: &mut [Argument], before: &Handles, objects: &mut Objects) -> Vec<Matched> {
        let found = self.named("flag").is_none_or(|flag| self.parameters[flag].direction == Direction::In || self.number(flag, 0) != 0);
        let received = if found { self.received(before, objects) } else { Vec::new() };
        for (index, handles) in before {
            let class = self.class(*index).unwrap_or(Class::Tool);
            let replaced = handles.iter().enumerate().filter(|&(k, &handle)| self.handle(*index, k) != handle);
            replaced.for_each(|(_, &handle)| objects.forget(class, handle));
        }
        for (place, index) in self.told().enumerate() {
            let p = &self.parameters[index];
            if p.direction == Direction::Out && p.kind != Kind::Buffer && self.words[index] != 0 && (found || p.name == "flag") {
                self.distinguish(index, objects);
                arguments[place].value = self.value(index, objects);
            }
        }
        received
    }

    /// A new request becomes one of its own, and what it is for is kept.
    fn distinguish(&self, index: usize, objects: &mut Objects) {
        let Kind::Handle(class @ (Class::Request | Class::Message)) = self.parameters[index].kind else { return };
        let mut handle = self.handle(index, 0);
        if handle == REQUEST_SENT {
            handle = state::mpi().distinct_sent();
            self.set_handle(index, handle);
        }
        let Some(comm) = self.comm().filter(|_| objects::name(handle).is_none()) else { return };
        let receives = self.named("source").is_some() || class == Class::Message;
        objects.keep(class, handle, Pending { number: 0, receives, comm, context: objects::context(comm) });
    }

    /// What the receives that the call completes have learned, by its statuses.
    fn received(&self, before: &Handles, objects: &Objects) -> Vec<Matched> {
        let Some(status) = self.find(|p| p.kind == Kind::Status && p.direction == Direction::Out) else { return Vec::new() };
        let count = if self.words[status] == 0 { 0 } else { self.count(status).unwrap_or(0) };
        let completes = before.iter().find(|(index, _)| self.class(*index) == Some(Class::Request));
        let matched = |k: usize| {
            let status = self.status(status, k);
            let (request, pending) = match completes {
                Some((_, handles)) => {
                    let pending = objects.pending(Class::Request, *handles.get(self.completed(k))?)?;
                    (Some(pending.number), pending)
                }
                None => (None, self.received_here(before, objects)?),
            };
            let real = pending.receives && status.source >= 0 && !status.cancelled;
            real.then(|| Matched { request, source: objects::source(pending.comm, status.source), context: pending.context, status })
        };
        (0..count).filter_map(matched).collect()
    }

    /// Which of its requests the `k`th status is of.
    fn completed(&self, k: usize) -> usize {
        let Some(indices) = self.named("array_of_indices").or_else(|| self.named("index")) else { return k };
        (self.number(indices, k) - i64::from(self.form.fortran)) as usize
    }

    /// The receive that a call itself is.
    fn received_here(&self, before: &Handles, objects: &Objects) -> Option<Pending> {
        self.find(|p| p.kind == Kind::Buffer && p.direction != Direction::In)?;
        if let Some((_, handles)) = before.iter().find(|(index, _)| self.class(*index) == Some(Class::Message)) {
            return objects.pending(Class::Message, *handles.first()?);
        }
        self.named("source")?;
        let comm = self.comm()?;
        Some(Pending { number: 0, receives: true, comm, context: objects::context(comm) })
    }
}
