//! Calls in a few words, which tell them apart without a value or a name: most calls of a program come again and again, and who has
//! been told of one once need not be told of its arguments again (`Recorder::recognize`).
//!
//! Only functions whose arguments are numbers, handles, buffers, requests and statuses are told so; the words follow the parameters, first what is
//! known on entry, then the results. Equal words may stand for what differs in buffers and addresses alone, and in ranks that are as far from
//! the caller; calls that differ in words may still be equal.

use super::arguments::{Handles, Words};
use super::objects::{self, Objects, Position};
use super::parameter::{Direction, Kind, Length, Parameter};
use engine::Time;
use observe::recorder::{Brief, Class, Object, distance};

/// How an argument is told on entry.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Fact {
    /// Whether there is a buffer.
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

/// How a function's calls are told in words; `None` if they cannot be.
pub fn of_function(parameters: &[Parameter]) -> Option<Box<[Fact]>> {
    parameters.iter().map(Fact::of).collect()
}

impl Fact {
    fn of(p: &Parameter) -> Option<Fact> {
        Some(match (p.kind, p.direction, p.length) {
            (Kind::Main, ..) => return None,
            (Kind::Buffer, _, Length::One) => Fact::Buffer,
            (Kind::Datatype, Direction::In, Length::One) => Fact::Datatype,
            (Kind::Comm, Direction::In, Length::One) => Fact::Object(Class::Comm),
            (Kind::Handle(class), Direction::In, Length::One) => Fact::Object(class),
            (Kind::Handle(Class::Request), Direction::InOut, Length::One | Length::Of(_)) => Fact::Requests,
            // Other objects that are made have to be told of.
            (Kind::Handle(Class::Request), Direction::Out, Length::One) => Fact::Result,
            (Kind::Status, Direction::Out, Length::One | Length::Of(_)) => Fact::Result,
            (Kind::Rank, Direction::In, Length::One) if p.name != "root" => Fact::Peer,
            (Kind::Count | Kind::Integer | Kind::Logical | Kind::Rank | Kind::Tag, Direction::In, Length::One) => Fact::Number,
            // A count that is answered may be an address, which differs from run to run.
            (Kind::Integer | Kind::Logical | Kind::Rank | Kind::Tag, Direction::Out, Length::One) => Fact::Result,
            _ => return None,
        })
    }
}

/// A call in words, whose words are elsewhere: in room that all calls use one after the other, until another one comes.
// Of a million ranks all may be blocked: each keeps what it has, and no room to grow. Most calls return before another one comes.
pub struct Facts {
    /// What is known on entry, of a call that gave the room up.
    kept: Box<[u64]>,
    /// What ranks are relative to.
    position: Position,
    /// The rank's number for the communicator, or 0.
    comm: u32,
}

impl Facts {
    /// What is known on entry, after `head`, in `words`. Handles that the call may replace are those of `before`.
    pub fn on_entry(head: u64, call: &Words, before: &Handles, objects: &mut Objects, words: &mut Vec<u64>) -> Facts {
        let comm = call.comm();
        let position = objects::position(comm);
        let comm = comm.filter(|&comm| comm >= objects::PREDEFINED).map_or(0, |comm| object(Class::Comm, comm, objects) as u32);
        words.clear();
        words.push(head);
        call.facts_on_entry(before, position, objects, words);
        Facts { kept: Box::default(), position, comm }
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
    pub fn brief<'w>(&self, (rank, entered): (u32, Time), call: &Words, objects: &mut Objects, words: &'w mut Vec<u64>) -> Brief<'w> {
        call.facts_of_results(self.position, objects, words);
        Brief { rank, comm: self.comm, entered, words }
    }
}

/// A rank, by its distance where it has one.
fn relative(rank: i32, from: Position) -> u64 {
    const ABSOLUTE: u64 = 1 << 32;
    if rank <= 0 || rank as u32 >= from.peers || from.rank >= from.peers {
        return u64::from(rank as u32) | ABSOLUTE;
    }
    u64::from(distance(from.rank, rank as u32, from.peers) as u32)
}

/// An object of the standard by its handle, another by what a trace calls it.
fn object(class: Class, handle: usize, objects: &mut Objects) -> u64 {
    const MADE: u64 = 1 << 63;
    if handle < objects::PREDEFINED {
        return handle as u64;
    }
    match objects.object(class, handle) {
        Object::Made { number, .. } if class == Class::Comm => u64::from(number) | MADE,
        Object::Made { slot, .. } => u64::from(slot) | MADE,
        Object::Named(_) => handle as u64,
    }
}

impl Words {
    fn facts_on_entry(&self, before: &Handles, position: Position, objects: &mut Objects, facts: &mut Vec<u64>) {
        let Some(of_function) = &self.plan.facts else { return };
        for &index in &self.plan.told {
            match of_function[index] {
                Fact::Buffer => facts.push(self.kind_of_buffer(index)),
                Fact::Number => facts.push(self.scalar(index) as u64),
                Fact::Peer => facts.push(relative(self.scalar(index) as i32, position)),
                Fact::Object(class) => facts.push(object(class, self.object_handle(index), objects)),
                Fact::Datatype => {
                    let handle = self.object_handle(index);
                    facts.push(object(Class::Datatype, handle, objects));
                    if handle >= objects::PREDEFINED {
                        facts.extend(objects::size_and_extent(handle));
                    }
                }
                Fact::Requests => {
                    facts.push(before.len() as u64);
                    facts.extend(before.iter().map(|&handle| object(Class::Request, handle, objects)));
                }
                Fact::Result => {}
            }
        }
    }

    fn facts_of_results(&self, position: Position, objects: &mut Objects, facts: &mut Vec<u64>) {
        let found = self.has_found();
        facts.push(u64::from(found));
        for &(_, index) in &self.plan.results {
            if self.word(index) == 0 || !(found || self.plan.flag == Some(index)) {
                continue;
            }
            match self.parameter(index).kind {
                Kind::Status => {
                    for k in 0..self.handles(index) {
                        let status = self.status(index, k);
                        let rest = u64::from(status.tag as u32) | u64::from(status.cancelled) << 32;
                        facts.extend([relative(status.source, position), rest, status.bytes as u64]);
                    }
                }
                Kind::Handle(class) => {
                    self.distinguish(index, objects);
                    facts.push(object(class, self.handle(index, 0), objects));
                }
                Kind::Rank => facts.push(relative(self.number(index, 0) as i32, position)),
                _ => facts.push(self.number(index, 0) as u64),
            }
        }
    }
}
