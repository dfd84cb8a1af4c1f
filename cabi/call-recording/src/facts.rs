//! Fingerprints of calls: a few words which tell calls apart without a value or a name. Most calls of a
//! program recur. A listener that has got a call's arguments once need not get them again
//! (`Recorder::recognize`).
//!
//! Only functions whose arguments are numbers, handles, buffers, requests and statuses are told so; the words
//! follow the parameters, first what is known on entry, then the results. Equal words may stand for what
//! differs in buffers and addresses alone, and in ranks that are as far from the caller; calls that differ in
//! words may still be equal.

use crate::arguments::{ArgumentRegisters, Handles};
use crate::constants::MPI_IN_PLACE;
use crate::host::Host;
use crate::objects::{self, RelativeBase, TracedObjects};
use crate::parameter::{ArgumentIntent, Kind, Length, RecordedParameter};
use engine::Time;
use rank::Addr;
use recorder::{CallKey, Class, ObjectArgument, distance};

/// The encoding of an argument on entry.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Fact {
    /// The kind of a buffer: null, `MPI_IN_PLACE` or another.
    Buffer,
    /// The number itself: roots too, which all members name alike.
    Number,
    /// A rank that messages come from or go to.
    Peer,
    /// A communicator or another object but a datatype.
    Object(Class),
    /// A datatype, with its size and extent if the program made it.
    Datatype,
    /// Requests that the call may replace.
    Requests,
    /// It is a result.
    Result,
}

/// The steps that encode a function's calls in words.
pub struct EncodingSteps {
    /// On entry.
    entry: Box<[EncodingStep]>,
    /// When they have returned.
    results: Box<[ResultStep]>,
    /// The step of requests that the call may replace.
    requests: Option<usize>,
    /// `true` if there are datatypes.
    has_datatypes: bool,
}

/// A step that encodes an argument on entry.
struct EncodingStep {
    fact: Fact,
    /// By parameter.
    index: usize,
    /// Its place among the words.
    place: usize,
}

/// A step that encodes a result.
struct ResultStep {
    kind: Kind,
    index: usize,
    place: usize,
}

impl EncodingSteps {
    /// Returns the steps of a function with these parameters, of which these are told and have these words;
    /// `None` if it cannot be told in words.
    pub fn of(
        parameters: &[RecordedParameter],
        told: &[usize],
        words: &[Option<usize>],
    ) -> Option<EncodingSteps> {
        let facts: Box<[Fact]> = parameters.iter().map(Fact::of).collect::<Option<_>>()?;
        let there = || told.iter().filter_map(|&index| Some((index, words[index]?)));
        let entry = there()
            .map(|(index, place)| EncodingStep { fact: facts[index], index, place })
            .filter(|step| step.fact != Fact::Result);
        let is_result = |index: usize| {
            parameters[index].direction == ArgumentIntent::Out && parameters[index].kind != Kind::Buffer
        };
        let results = there().filter(|&(index, _)| is_result(index));
        let results = results.map(|(index, place)| ResultStep { kind: parameters[index].kind, index, place });
        let (entry, results): (Box<[EncodingStep]>, Box<[ResultStep]>) = (entry.collect(), results.collect());
        let requests = entry.iter().position(|step| step.fact == Fact::Requests);
        let has_datatypes = entry.iter().any(|step| step.fact == Fact::Datatype);
        Some(EncodingSteps { entry, results, requests, has_datatypes })
    }
}

impl Fact {
    fn of(p: &RecordedParameter) -> Option<Fact> {
        Some(match (p.kind, p.direction, p.length) {
            (Kind::Main, ..) => return None,
            (Kind::Buffer, _, Length::One) => Fact::Buffer,
            (Kind::Datatype, ArgumentIntent::In, Length::One) => Fact::Datatype,
            (Kind::Comm, ArgumentIntent::In, Length::One) => Fact::Object(Class::Comm),
            (Kind::Handle(class), ArgumentIntent::In, Length::One) => Fact::Object(class),
            (Kind::Handle(Class::Request), ArgumentIntent::InOut, Length::One | Length::Of(_)) => {
                Fact::Requests
            }
            // Other objects that are made have to be told of.
            (Kind::Handle(Class::Request), ArgumentIntent::Out, Length::One) => Fact::Result,
            (Kind::Status, ArgumentIntent::Out, Length::One | Length::Of(_)) => Fact::Result,
            (Kind::Rank, ArgumentIntent::In, Length::One) if p.name != "root" => Fact::Peer,
            (
                Kind::Count | Kind::Integer | Kind::Logical | Kind::Rank | Kind::Tag,
                ArgumentIntent::In,
                Length::One,
            ) => Fact::Number,
            // A count that is answered may be an address, which differs from run to run.
            (Kind::Integer | Kind::Logical | Kind::Rank | Kind::Tag, ArgumentIntent::Out, Length::One) => {
                Fact::Result
            }
            _ => return None,
        })
    }
}

/// A call in words, whose words are elsewhere: in room that all calls use one after the other, until another
/// one comes.
// Of a million ranks all may be blocked: each keeps what it has, and no room to grow. Most calls return
// before another one comes.
pub struct Facts {
    /// Words on entry, of a call that has given up the buffer that all calls share.
    kept: Box<[u64]>,
    /// The base of relative ranks.
    position: RelativeBase,
    /// The rank's number for the communicator, or 0.
    comm: u32,
}

impl Facts {
    /// Puts what is known on entry into `words`, behind `head`.
    #[inline]
    pub fn tell<H: Host>(
        &self,
        head: u64,
        call: &ArgumentRegisters<H>,
        objects: &mut TracedObjects<H>,
        words: &mut Vec<u64>,
    ) {
        words.clear();
        words.push(head);
        call.facts_on_entry(call.requests(), self, objects, words);
    }

    /// Returns what is known of a call beside its words.
    pub fn of<H: Host>(call: &ArgumentRegisters<H>, objects: &mut TracedObjects<H>) -> Facts {
        let comm = call.comm();
        let position = comm.and_then(H::position).unwrap_or_else(H::world);
        let comm = comm
            .filter(|&comm| comm >= objects::PREDEFINED)
            .map_or(0, |comm| object(Class::Comm, comm, objects) as u32);
        Facts { kept: Box::default(), position, comm }
    }

    /// Returns what is known of another call of the same rank with the same communicator.
    #[inline]
    pub fn again(&self) -> Facts {
        Facts { kept: Box::default(), ..*self }
    }

    /// Another call comes: what this one has in `words` is kept.
    pub fn keep(&mut self, words: &[u64]) {
        self.kept = words.into();
    }

    /// Puts back into `words` what was kept.
    pub fn put_back(&self, words: &mut Vec<u64>) {
        words.clear();
        words.extend_from_slice(&self.kept);
    }

    /// As recorders have it, with the results of a call that was successful, behind what is in `words`.
    pub fn brief<'w, H: Host>(
        &self,
        (rank, entered): (u32, Time),
        call: &ArgumentRegisters<H>,
        objects: &mut TracedObjects<H>,
        words: &'w mut Vec<u64>,
    ) -> CallKey<'w> {
        call.facts_of_results(self.position, objects, words);
        CallKey { rank, comm: self.comm, entered, words }
    }
}

/// Returns a rank as a word: by its distance where it has one.
fn relative(rank: i32, from: RelativeBase) -> u64 {
    const ABSOLUTE: u64 = 1 << 32;
    if rank <= 0 || rank as u32 >= from.peers || from.rank >= from.peers {
        return u64::from(rank as u32) | ABSOLUTE;
    }
    u64::from(distance(from.rank, rank as u32, from.peers) as u32)
}

/// The bit that marks an object made by the program.
const MADE: u64 = 1 << 63;

/// Returns an object as a word: one of the standard by its handle, another by what a trace calls it.
#[inline]
fn object<H: Host>(class: Class, handle: usize, objects: &mut TracedObjects<H>) -> u64 {
    if handle < objects::PREDEFINED {
        return handle as u64;
    }
    match objects.object(class, handle) {
        ObjectArgument::Made { number, .. } if class == Class::Comm => u64::from(number) | MADE,
        ObjectArgument::Made { slot, .. } => u64::from(slot) | MADE,
        ObjectArgument::Named(_) => handle as u64,
    }
}

impl<H: Host> ArgumentRegisters<H> {
    // A word for each step; then the requests, and behind them what datatypes of the program are.
    fn facts_on_entry(
        &self,
        before: impl Iterator<Item = usize>,
        of: &Facts,
        objects: &mut TracedObjects<H>,
        facts: &mut Vec<u64>,
    ) {
        let Some(steps) = &self.plan.facts else { return };
        facts.extend(steps.entry.iter().map(|step| {
            let word = self.given(step);
            match step.fact {
                Fact::Buffer => kind_of_buffer(word as usize),
                Fact::Number => word,
                Fact::Peer => relative(word as i32, of.position),
                // Its number is known.
                Fact::Object(Class::Comm) if self.plan.comm == Some(step.index) && of.comm != 0 => {
                    u64::from(of.comm) | MADE
                }
                Fact::Object(class) => object(class, word as usize, objects),
                Fact::Datatype => object(Class::Datatype, word as usize, objects),
                Fact::Requests | Fact::Result => 0,
            }
        }));
        if let Some(step) = steps.requests {
            let begin = facts.len();
            let mut last = 0;
            facts.extend(before.map(|handle| match handle < objects::PREDEFINED {
                true => handle as u64,
                false => {
                    last = objects.request_slot(handle, last);
                    u64::from(last) | MADE
                }
            }));
            facts[1 + step] = (facts.len() - begin) as u64;
        }
        if steps.has_datatypes {
            for step in steps.entry.iter().filter(|step| step.fact == Fact::Datatype) {
                let handle = self.given(step) as usize;
                if handle >= objects::PREDEFINED {
                    facts.extend(objects::size_and_extent::<H>(handle));
                }
            }
        }
    }

    /// Returns what the call is given: a number, a handle or where a buffer is; nothing of requests.
    #[inline(always)]
    fn given(&self, step: &EncodingStep) -> u64 {
        if self.is_fortran() { self.given_by_reference(step) } else { self.word_in(step.place) }
    }

    fn given_by_reference(&self, step: &EncodingStep) -> u64 {
        match step.fact {
            Fact::Buffer => self.buffer_at(step.index) as u64,
            Fact::Number | Fact::Peer => self.scalar(step.index) as u64,
            Fact::Object(_) | Fact::Datatype => self.object_handle(step.index) as u64,
            Fact::Requests | Fact::Result => 0,
        }
    }

    /// Returns the requests that were told on entry, among what was.
    #[inline]
    fn requests_told<'f>(&self, facts: &'f [u64]) -> &'f [u64] {
        let Some(steps) = &self.plan.facts else { return &[] };
        let Some(step) = steps.requests else { return &[] };
        &facts[1 + steps.entry.len()..][..facts[1 + step] as usize]
    }

    /// The requests that were told on entry and that the call has replaced since are none any more, where
    /// they have a slot and nothing else.
    pub fn forget_told(&self, facts: &[u64], objects: &mut TracedObjects<H>) {
        let told = self.requests_told(facts);
        if told.is_empty() {
            return;
        }
        for (handle, &told) in self.requests().zip(told) {
            if told & MADE != 0 {
                objects.free_unless((told ^ MADE) as u32, handle);
            }
        }
    }

    /// The requests that were told on entry, whose handles the call may have replaced since.
    pub fn requests_on_entry(&self, facts: &[u64], objects: &TracedObjects<H>) -> Handles {
        let handle = |&told: &u64| match told & MADE {
            0 => told as usize,
            _ => objects.request((told ^ MADE) as u32).unwrap_or_default(),
        };
        self.requests_told(facts).iter().map(handle).collect()
    }

    fn facts_of_results(&self, position: RelativeBase, objects: &mut TracedObjects<H>, facts: &mut Vec<u64>) {
        let Some(steps) = &self.plan.facts else { return };
        let found = self.has_found();
        facts.push(u64::from(found));
        for &ResultStep { kind, index, place } in &steps.results {
            let word = self.word_in(place);
            if word == 0 || !(found || self.plan.flag == Some(index)) {
                continue;
            }
            match kind {
                Kind::Status => {
                    for k in 0..self.handles(index) {
                        let status = H::status(Addr(word as usize), k);
                        let rest = u64::from(status.tag as u32) | u64::from(status.cancelled) << 32;
                        facts.extend([relative(status.source, position), rest, status.bytes as u64]);
                    }
                }
                Kind::Handle(class) => {
                    let handle = self.distinguish(index, objects).unwrap_or_else(|| self.handle(index, 0));
                    facts.push(match class {
                        Class::Request if handle >= objects::PREDEFINED => {
                            u64::from(objects.request_slot(handle, 0)) | MADE
                        }
                        class => object(class, handle, objects),
                    });
                }
                Kind::Rank => facts.push(relative(self.number(index, 0) as i32, position)),
                _ => facts.push(self.told_number(index, 0) as u64),
            }
        }
    }
}

/// Returns a word for the kind of a buffer: 0 for null, 1 for `MPI_IN_PLACE`, 2 for another.
pub fn kind_of_buffer(at: usize) -> u64 {
    match at {
        0 => 0,
        MPI_IN_PLACE => 1,
        _ => 2,
    }
}
