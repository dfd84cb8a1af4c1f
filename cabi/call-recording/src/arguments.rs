//! From the words that an entry point got to values with names: what each word is, the table says.

use crate::beside::BesideArgument;
use crate::constants::{MPI_IN_PLACE, MPI_MODE_APPEND, MPI_ROOT, MPI_SEEK_END};
use crate::function::Function;
use crate::host::Host;
use crate::objects::{self, Pending, TracedObjects};
use crate::parameter::{ArgumentForm, ArgumentIntent, Kind, Length, RecordedParameter};
use crate::plan::ReadPlan;
use rank::Addr;
use rank::memory::{self, load, store};
use recorder::{ArgumentValue, Class, Matched, RecordedStatus, Value};
use smallvec::SmallVec;
use std::marker::PhantomData;

/// The arguments of an entry point's call. They are read when the call begins and when it has returned.
pub struct ArgumentRegisters<H> {
    /// The places from which they are read.
    pub plan: &'static ReadPlan,
    form: ArgumentForm,
    /// Address of the entry point's arguments on the rank's stack.
    frame: usize,
    host: PhantomData<H>,
}

/// The handles that a call may replace: of each such parameter in turn.
pub type Handles = SmallVec<[usize; 4]>;

impl<H: Host> ArgumentRegisters<H> {
    /// Returns the words of an entry point.
    pub fn of(function: Function, form: ArgumentForm, given: &[u64]) -> ArgumentRegisters<H> {
        ArgumentRegisters::at(function, form, given.as_ptr() as usize)
    }

    /// Words that are there on the rank's stack.
    pub fn at(function: Function, form: ArgumentForm, frame: usize) -> ArgumentRegisters<H> {
        ArgumentRegisters { plan: ReadPlan::of(function, form.large), form, frame, host: PhantomData }
    }

    /// If the program ignores the statuses that the call fills in: which word is to name memory for them, and
    /// how many words they take.
    #[inline]
    pub fn ignored_statuses(&self) -> Option<(usize, usize)> {
        let index = self.plan.statuses?;
        let place = self.plan.words[index]?;
        self.is_ignored(index).then(|| (place, self.words_of_statuses(index)))
    }

    /// Returns where the call puts statuses, and how many words they take at most.
    pub fn statuses(&self) -> Option<(usize, usize)> {
        let index = self.plan.statuses?;
        Some((self.word(index) as usize, self.words_of_statuses(index)))
    }

    fn words_of_statuses(&self, index: usize) -> usize {
        (self.room(index) * H::STATUS).div_ceil(8)
    }

    /// Reads the words from here on: the call has returned. Nobody but this argument keeps its words where
    /// they were: between the calls that name them they are nobody's, and their place on the stack might
    /// serve something else.
    pub fn come_back(&mut self, words: &[u64]) {
        self.frame = words.as_ptr() as usize;
    }

    /// Returns the word of a parameter; 0 of one that this variant does not have.
    pub fn word(&self, index: usize) -> u64 {
        self.plan.words[index].map_or(0, |place| self.word_in(place))
    }

    /// Returns the word at a place; 0-based, the lengths of Fortran's texts are behind the parameters.
    #[inline]
    pub fn word_in(&self, place: usize) -> u64 {
        load(Addr(self.frame).offset(8 * place as i64))
    }

    /// Returns the parameter with an index in the table.
    pub fn parameter(&self, index: usize) -> &'static RecordedParameter {
        &self.plan.parameters[index]
    }

    /// Returns `true` if the program wants no such status.
    fn is_ignored(&self, index: usize) -> bool {
        let given = Addr(self.word(index) as usize);
        if self.form.fortran { H::fortran_status(given).is_null() } else { given.is_null() }
    }

    /// Returns how many statuses there may be.
    #[inline]
    fn room(&self, index: usize) -> usize {
        match self.parameter(index).length {
            Length::One => 1,
            _ => self.plan.requests.and_then(|requests| self.count(requests).ok()).unwrap_or(0),
        }
    }

    /// Returns `true` if the call can be recorded in words alone.
    pub fn has_facts(&self) -> bool {
        self.plan.facts.is_some()
    }

    /// Returns where the words are on the rank's stack.
    pub fn frame(&self) -> usize {
        self.frame
    }

    /// Returns `true` if the arguments are passed by reference.
    #[inline]
    pub fn is_fortran(&self) -> bool {
        self.form.fortran
    }

    /// Returns how the arguments are passed.
    pub fn form(&self) -> ArgumentForm {
        self.form
    }

    /// Returns `true` if the word is the value itself.
    fn is_value(&self, index: usize) -> bool {
        !self.form.fortran && self.parameter(index).is_value()
    }

    /// Element `k` of a parameter with numbers.
    pub fn number(&self, index: usize, k: usize) -> i64 {
        if self.is_value(index) {
            return self.word(index) as i64;
        }
        let at = Addr(self.word(index) as usize);
        if at.is_null() {
            0
        } else if self.parameter(index).wide[usize::from(self.form.large)] {
            load(at.offset(8 * k as i64))
        } else {
            H::number(self.parameter(index), load::<i32>(at.offset(4 * k as i64))).into()
        }
    }

    /// Returns a number that the call is given.
    pub fn scalar(&self, index: usize) -> i64 {
        if self.form.fortran { self.number(index, 0) } else { self.word(index) as i64 }
    }

    /// Returns a handle that the call is given.
    pub fn object_handle(&self, index: usize) -> usize {
        if self.form.fortran { self.handle(index, 0) } else { self.word(index) as usize }
    }

    /// Element `k` of a parameter with handles.
    pub fn handle(&self, index: usize, k: usize) -> usize {
        if self.is_value(index) {
            return self.word(index) as usize;
        }
        let at = Addr(self.word(index) as usize);
        if at.is_null() {
            0
        } else if self.form.fortran {
            load::<i32>(at.offset(4 * k as i64)) as usize
        } else {
            H::handle(self.parameter(index).class(), at, k)
        }
    }

    /// The elements of a parameter with handles.
    // What a handle is and where is asked once and not for each: requests are waited for by the dozen.
    pub fn list(&self, index: usize) -> impl Iterator<Item = usize> {
        let count = self.handles(index);
        let (at, class) = (Addr(self.word(index) as usize), self.parameter(index).class());
        let (is_value, fortran) = (self.is_value(index), self.form.fortran);
        (0..count).map(move |k| match (is_value, fortran) {
            (true, _) => at.0,
            (false, true) => load::<i32>(at.offset(4 * k as i64)) as usize,
            (false, false) => H::handle(class, at, k),
        })
    }

    fn set_handle(&self, index: usize, handle: usize) {
        let at = Addr(self.word(index) as usize);
        if self.form.fortran { store(at, handle as i32) } else { store(at, handle) }
    }

    /// Returns the communicator, if the function has one.
    pub fn comm(&self) -> Option<usize> {
        self.plan.comm.map(|comm| {
            if self.parameter(comm).direction == ArgumentIntent::In {
                self.object_handle(comm)
            } else {
                self.handle(comm, 0)
            }
        })
    }

    /// Returns how many elements there are; else the value that stands for them.
    pub fn count(&self, index: usize) -> Result<usize, Value> {
        let comm = self.comm().unwrap_or_default();
        let peers = || H::membership(comm).map(|comm| comm.peers as usize).ok_or(Value::Unknown);
        let members = || H::membership(comm).map(|comm| comm.size as usize).ok_or(Value::Unknown);
        let neighbors = || H::neighbors(comm).ok_or(Value::Unknown);
        let given = |length: usize| usize::try_from(self.number(length, 0)).unwrap_or(0);
        if !self.is_said(index) {
            return Err(Value::Unknown);
        }
        match self.parameter(index).length {
            Length::One => Ok(1),
            Length::Of(length) => Ok(given(length)),
            Length::Members => members(),
            Length::SourcesWithin(most) => neighbors().map(|(sources, _)| sources.min(given(most))),
            Length::DestinationsWithin(most) => {
                neighbors().map(|(_, destinations)| destinations.min(given(most)))
            }
            Length::Peers => peers(),
            Length::PeersAtRoot if self.is_root(comm) => peers(),
            Length::PeersAtRoot => Err(Value::Unknown),
            Length::Sources => neighbors().map(|(sources, _)| sources),
            Length::Destinations => neighbors().map(|(_, destinations)| destinations),
            Length::Dimensions => H::dimensions(comm).ok_or(Value::Unknown),
            Length::Last(list) => Ok(self.numbers(list)?.last().unwrap_or(0)),
            Length::Sum(list) => Ok(self.numbers(list)?.sum()),
            Length::Unknown => Err(Value::Address(self.word(index))),
        }
    }

    /// Returns the elements of an array that has the lengths of another.
    fn numbers(&self, list: usize) -> Result<impl Iterator<Item = usize>, Value> {
        let count = if self.word(list) == 0 { 0 } else { self.count(list)? };
        Ok((0..count).map(move |k| usize::try_from(self.number(list, k)).unwrap_or(0)))
    }

    /// Returns `false` of a parameter that MPI reads at the root alone, where the caller is not the root.
    fn is_said(&self, index: usize) -> bool {
        !self.parameter(index).at_root || self.is_root(self.comm().unwrap_or_default())
    }

    /// Returns `true` if the caller is the root that the call names in this communicator.
    pub fn is_root(&self, comm: usize) -> bool {
        let root = self.plan.root.map_or(-1, |root| self.number(root, 0));
        H::membership(comm)
            .is_some_and(|comm| root == if comm.is_inter { i64::from(MPI_ROOT) } else { comm.rank.into() })
    }

    /// Returns the address of a buffer, in C's terms: `MPI_IN_PLACE` and `MPI_BOTTOM` are those of C.
    pub fn buffer_at(&self, index: usize) -> usize {
        let given = Addr(self.word(index) as usize);
        let at = match (self.form.fortran, self.form.descriptors) {
            (false, _) => given,
            (true, false) => H::fortran_buffer(given),
            (true, true) => H::fortran_base(given),
        };
        at.0
    }

    fn buffer(&self, index: usize) -> Value {
        match self.buffer_at(index) {
            0 => Value::Null,
            MPI_IN_PLACE => Value::InPlace,
            at => Value::Buffer(at as u64),
        }
    }

    /// Returns `true` if the buffer that the parameter describes is `MPI_IN_PLACE`, so that it says nothing.
    fn is_in_place(&self, index: usize) -> bool {
        self.plan.described[index].is_some_and(|buffer| self.buffer(buffer) == Value::InPlace)
    }

    /// Returns the length of a text, which Fortran hands over behind all arguments.
    fn text_length(&self, index: usize) -> usize {
        let text = self.plan.texts.iter().position(|&text| text == index).unwrap_or(0);
        self.word_in(self.plan.length + text) as usize
    }

    fn text(&self, index: usize) -> Value {
        let given = Addr(self.word(index) as usize);
        let (at, length) = match (self.form.fortran, self.form.descriptors) {
            (false, _) => (given, None),
            (true, false) => (given, Some(self.text_length(index))),
            (true, true) => {
                let (at, length) = H::fortran_text(given);
                (at, Some(length))
            }
        };
        if at.is_null() {
            return Value::Null;
        }
        let mut bytes = Vec::new();
        match length {
            None => bytes = H::text(at),
            Some(length) => memory::append(at, length, &mut bytes),
        }
        let text = String::from_utf8_lossy(&bytes);
        Value::Text(if length.is_some() { text.trim_end_matches(' ') } else { &text }.to_owned())
    }

    /// Element `k` of a parameter with statuses.
    pub fn status(&self, index: usize, k: usize) -> RecordedStatus {
        H::status(Addr(self.word(index) as usize), k)
    }

    fn value(&self, index: usize, objects: &mut TracedObjects<H>) -> Value {
        let p = &self.parameter(index);
        match p.kind {
            _ if !self.is_said(index) => return Value::Unknown,
            Kind::Buffer => return self.buffer(index),
            Kind::Text => return self.text(index),
            _ if self.is_in_place(index) => return Value::Unknown,
            _ => {}
        }
        let mut word = self.word(index);
        // Fortran's constants are variables, whose contents are no weights.
        if self.form.fortran && p.name.ends_with("weights") {
            word = H::fortran_weights(Addr(word as usize)).0 as u64;
        }
        if p.length == Length::One {
            return if !self.is_value(index) && word == 0 {
                Value::Null
            } else {
                self.element(index, 0, objects)
            };
        }
        match self.count(index) {
            _ if word == 0 => Value::Null,
            // A constant that stands for an array.
            _ if word < 4096 => Value::Address(word),
            Err(value) => value,
            Ok(count) if p.kind == Kind::Ranges => {
                Value::List((0..3 * count).map(|k| self.element(index, k, objects)).collect())
            }
            Ok(count) => Value::List((0..count).map(|k| self.element(index, k, objects)).collect()),
        }
    }

    /// Returns `true` for a displacement in a dynamic window, which is an address.
    fn is_address(&self, index: usize) -> bool {
        self.plan.displacement == Some(index)
            && self.plan.window.is_some_and(|window| H::is_dynamic(self.object_handle(window)))
    }

    fn element(&self, index: usize, k: usize, objects: &mut TracedObjects<H>) -> Value {
        match self.parameter(index).kind {
            Kind::Count if self.is_address(index) => Value::Address(self.number(index, k) as u64),
            Kind::Count => Value::Count(self.number(index, k)),
            Kind::Logical => Value::Logical(self.number(index, k) != 0),
            Kind::Rank => Value::Rank(self.number(index, k) as i32),
            Kind::Tag => Value::Tag(self.number(index, k) as i32),
            Kind::Comm => objects.of_class(Class::Comm, self.handle(index, k)),
            Kind::Datatype => objects.of_class(Class::Datatype, self.handle(index, k)),
            Kind::Handle(class) => objects.of_class(class, self.handle(index, k)),
            Kind::Status => Value::Status(self.status(index, k)),
            Kind::Address if self.word(index) == 0 => Value::Null,
            Kind::Address => Value::Address(self.word(index)),
            Kind::Integer | Kind::Ranges | Kind::Main | Kind::Buffer | Kind::Text => {
                Value::Integer(self.told_number(index, k))
            }
        }
    }

    /// Adds the arguments as they were on entry; handles that the call may have replaced since are those of
    /// `before`.
    pub fn arguments(
        &self,
        before: &Handles,
        objects: &mut TracedObjects<H>,
        arguments: &mut Vec<ArgumentValue>,
    ) {
        let mut before = before.iter();
        for &index in &self.plan.told {
            let p = self.parameter(index);
            let is_result = p.direction == ArgumentIntent::Out;
            let value = match p.class() {
                _ if is_result && p.kind != Kind::Buffer => Value::Unknown,
                Some(class) if p.direction == ArgumentIntent::InOut => {
                    self.replaced(index, class, &mut before, objects)
                }
                _ => self.value(index, objects),
            };
            arguments.push(ArgumentValue { name: p.name, value, result: is_result });
        }
        self.beside(arguments);
    }

    /// Adds arguments of which nothing is known any more.
    pub fn unknown_arguments(&self, arguments: &mut Vec<ArgumentValue>) {
        arguments.extend(self.plan.told.iter().map(|&index| {
            let p = self.parameter(index);
            ArgumentValue { name: p.name, value: Value::Unknown, result: p.direction == ArgumentIntent::Out }
        }));
        self.unknown_beside(arguments);
    }

    /// Returns the value of a parameter whose handles the call may replace: those before that are its own.
    fn replaced<'a>(
        &self,
        index: usize,
        class: Class,
        before: &mut impl Iterator<Item = &'a usize>,
        objects: &mut TracedObjects<H>,
    ) -> Value {
        let count = self.handles(index);
        let mut handles = before.take(count).map(|&handle| objects.of_class(class, handle));
        match self.parameter(index).length {
            Length::One => handles.next().unwrap_or(Value::Null),
            _ if (0..4096).contains(&self.word(index)) => self.value(index, objects),
            _ => Value::List(handles.collect()),
        }
    }

    /// Returns how many handles there are.
    pub fn handles(&self, index: usize) -> usize {
        if self.word(index) == 0 { 0 } else { self.count(index).unwrap_or(0) }
    }

    /// Returns the requests that a call may replace which can be recorded in words: it replaces nothing else.
    #[inline]
    pub fn requests(&self) -> impl Iterator<Item = usize> {
        self.plan.replaced.iter().flat_map(|&(index, _)| self.list(index))
    }

    /// Returns the handles that the call may replace.
    pub fn handles_before(&self) -> Handles {
        let mut handles = Handles::new();
        self.put_handles(&mut handles);
        handles
    }

    /// Puts the handles that the call may replace there, behind others.
    pub fn put_handles(&self, handles: &mut Handles) {
        for &(index, _) in &self.plan.replaced {
            handles.extend(self.list(index));
        }
    }

    /// Returns `true` if the call has found what it was to look for, if it says that.
    pub fn has_found(&self) -> bool {
        self.plan.flag.is_none_or(|flag| self.number(flag, 0) != 0)
    }

    /// Handles that the call has replaced are those of no object any more.
    pub fn forget_replaced(&self, before: &Handles, objects: &mut TracedObjects<H>) {
        let mut before = before.iter();
        for &(index, class) in &self.plan.replaced {
            for (k, &handle) in (0..self.handles(index)).zip(before.by_ref()) {
                if self.handle(index, k) != handle {
                    objects.forget(class, handle);
                }
            }
        }
    }

    /// Puts the results of a call that has `found` something among the arguments.
    pub fn results(
        &self,
        arguments: &mut [ArgumentValue],
        found: bool,
        before: &Handles,
        objects: &mut TracedObjects<H>,
    ) {
        self.forget_replaced(before, objects);
        for &(place, index) in &self.plan.results {
            if self.word(index) != 0 && (found || self.plan.flag == Some(index)) {
                self.distinguish(index, objects);
                arguments[place].value = self.value(index, objects);
            }
        }
        self.beside_results(arguments);
    }

    /// A new request, or a message, becomes one of its own, whose handle this is; what it is for is kept if
    /// that is wanted.
    pub fn distinguish(&self, index: usize, objects: &mut TracedObjects<H>) -> Option<usize> {
        let Kind::Handle(class @ (Class::Request | Class::Message)) = self.parameter(index).kind else {
            return None;
        };
        let handle = self.distinct(index);
        if objects.keeps_pending()
            && let Some(comm) = self.comm().filter(|_| objects::name(handle).is_none())
        {
            let receives = self.plan.source.is_some() || class == Class::Message;
            objects.keep(class, handle, Pending { number: 0, receives, comm, context: H::context(comm) });
        }
        Some(handle)
    }

    /// The handle of a new request or message, which is one of its own from now on.
    pub fn distinct(&self, index: usize) -> usize {
        let handle = self.handle(index, 0);
        match H::distinct(handle) {
            Some(distinct) => {
                self.set_handle(index, distinct);
                distinct
            }
            None => handle,
        }
    }

    /// Tells what the receives that the call completes have learned, by its statuses. To be asked before
    /// [`ArgumentRegisters::results`], which forgets their requests.
    pub fn received(&self, before: &Handles, objects: &TracedObjects<H>) -> Vec<Matched> {
        let Some(status) = self.plan.statuses else { return Vec::new() };
        let completes = self.plan.replaced.first().is_some_and(|&(_, class)| class == Class::Request);
        let matched = |k: usize| {
            let status = self.status(status, k);
            let (request, pending) = if completes {
                let pending = objects.pending(Class::Request, *before.get(self.completed(k))?)?;
                (Some(pending.number), pending)
            } else {
                (None, self.received_here(before, objects)?)
            };
            let real = pending.receives && status.source >= 0 && !status.cancelled;
            real.then(|| Matched {
                request,
                source: H::source(pending.comm, status.source),
                context: pending.context,
                status,
            })
        };
        (0..self.handles(status)).filter_map(matched).collect()
    }

    /// Returns which of its requests the `k`th status is of.
    pub fn completed(&self, k: usize) -> usize {
        self.plan.indices.map_or(k, |indices| self.told_number(indices, k) as usize)
    }

    /// Element `k` of a parameter with numbers, as recorders are told it: the index of a request counts from
    /// 0 as in C, which in Fortran is from 1.
    pub fn told_number(&self, index: usize, k: usize) -> i64 {
        let number = self.number(index, k);
        let is_index = self.form.fortran && self.plan.requests.is_some() && self.plan.indices == Some(index);
        if is_index && number > 0 { number - 1 } else { number }
    }

    /// Returns the receive that a call itself is.
    fn received_here(&self, before: &Handles, objects: &TracedObjects<H>) -> Option<Pending> {
        if !self.plan.receives {
            return None;
        }
        if self.plan.replaced.first().is_some_and(|&(_, class)| class == Class::Message) {
            return objects.pending(Class::Message, *before.first()?);
        }
        self.plan.source?;
        let comm = self.comm()?;
        Some(Pending { number: 0, receives: true, comm, context: H::context(comm) })
    }
}

impl<H: Host> ArgumentRegisters<H> {
    /// Adds what is recorded beside the arguments.
    fn beside(&self, arguments: &mut Vec<ArgumentValue>) {
        if let Some(beside) = self.plan.beside {
            let value = if beside.is_result() { Value::Unknown } else { self.value_beside(beside) };
            arguments.push(ArgumentValue { name: beside.name(), value, result: false });
        }
    }

    /// Puts among the arguments what is recorded beside them once the call has returned.
    fn beside_results(&self, arguments: &mut [ArgumentValue]) {
        if let Some(beside) = self.plan.beside.filter(|beside| beside.is_result())
            && let Some(last) = arguments.last_mut()
        {
            last.value = self.value_beside(beside);
        }
    }

    /// Adds that nothing is known of it.
    fn unknown_beside(&self, arguments: &mut Vec<ArgumentValue>) {
        if let Some(beside) = self.plan.beside {
            arguments.push(ArgumentValue { name: beside.name(), value: Value::Unknown, result: false });
        }
    }

    fn value_beside(&self, beside: BesideArgument) -> Value {
        match beside {
            BesideArgument::Members(group) => match H::members(self.object_handle(group)) {
                Some(ranks) => Value::List(ranks.into_iter().map(Value::Rank).collect()),
                None => Value::Unknown,
            },
            BesideArgument::Size(file, whence) if self.number(whence, 0) == i64::from(MPI_SEEK_END) => {
                H::file_size(self.object_handle(file)).map_or(Value::Unknown, Value::Count)
            }
            BesideArgument::Opened(file, amode)
                if self.number(amode, 0) & i64::from(MPI_MODE_APPEND) != 0 =>
            {
                H::opened_size(self.handle(file, 0)).map_or(Value::Unknown, Value::Count)
            }
            BesideArgument::Size(..) | BesideArgument::Opened(..) => Value::Unknown,
        }
    }
}
