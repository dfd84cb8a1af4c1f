//! Contents of a call: a template (the function, the call site, the kind of each argument) and its numbers.
//!
//! Calls of one template differ in numbers alone. Names stand in dictionaries ([`crate::dictionary`]) and are
//! told by their places in these.

use crate::codec::{Put, Reader, Result};
use recorder::{Class, distance};

/// The most levels of lists within lists.
const DEEPEST: u32 = 8;

/// Kind of an argument. An object has a name (its index in the dictionary) or, if the program made it, a
/// number.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Field {
    /// A result that is not there.
    Unknown,
    /// A null pointer.
    Null,
    /// `MPI_IN_PLACE`.
    InPlace,
    /// Memory; which is not kept.
    Buffer,
    /// Another address: a number below 4096, which is a constant, or 4096 for any other.
    Address,
    /// A count, displacement, extent or length: one number.
    Count,
    /// Any other number.
    Integer,
    /// A truth value: 0 or 1.
    Logical,
    /// A rank of the call's communicator: one number, as [`Peer`] has it.
    Rank,
    /// A tag, or -2 (`MPI_ANY_TAG`).
    Tag,
    /// A communicator: its place in the dictionary of names, or a number.
    Comm(Option<u32>),
    /// A datatype: its place in the dictionary of datatypes, or three numbers, its slot, size and extent.
    Datatype(Option<u32>),
    /// Another object: its place in the dictionary of names, or its slot.
    Handle(Class, Option<u32>),
    /// A status: source as [`Peer`] has it, tag, bytes, cancelled.
    Status,
    /// A text, by its place in the dictionary of names.
    Text(u32),
    /// An array: runs of elements of one kind, with their lengths.
    List(Vec<(u64, Field)>),
}

/// A call without its numbers.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Template {
    /// The function, by its place in the dictionary of functions.
    pub function: u32,
    /// The call site, by its place in the dictionary of sites, from 1; 0: it is not known.
    pub site: u32,
    /// The error code that it returned.
    pub code: i32,
    /// The arguments, in the order of the standard.
    pub fields: Vec<Field>,
}

/// A rank as a number: relative to the calling rank, modulo the ranks that it may be (even, twice the
/// distance), or absolute (odd, twice the rank and one). Negative ranks have a meaning and are absolute.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Peer {
    /// So far behind the calling rank, round the communicator.
    Relative(i32),
    /// This one, or `MPI_ANY_SOURCE` (-1), `MPI_PROC_NULL` (-3), `MPI_ROOT` (-4), `MPI_UNDEFINED` (-32766).
    Absolute(i32),
}

/// Basis of relative ranks: the calling rank, and the number of ranks that its messages can go to.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Position {
    /// The calling rank.
    pub rank: u32,
    /// Ranks that its messages can go to.
    pub peers: u32,
}

impl Peer {
    /// Returns the peer that this number stands for.
    #[inline]
    pub fn of(number: i64) -> Peer {
        let value = (number >> 1) as i32;
        if number & 1 == 0 { Peer::Relative(value) } else { Peer::Absolute(value) }
    }
    /// Returns its number.
    pub fn number(self) -> i64 {
        match self {
            Peer::Relative(distance) => i64::from(distance) * 2,
            Peer::Absolute(rank) => i64::from(rank) * 2 + 1,
        }
    }
    /// Returns the rank that is meant.
    #[inline]
    pub fn rank(self, from: Position) -> i32 {
        match self {
            Peer::Relative(distance) => {
                let (sum, peers) = (i64::from(from.rank) + i64::from(distance), i64::from(from.peers.max(1)));
                // Few go round the end, and a division takes as long as all else that a replay does for a
                // call.
                if (0..peers).contains(&sum) { sum as i32 } else { sum.rem_euclid(peers) as i32 }
            }
            Peer::Absolute(rank) => rank,
        }
    }
    /// Returns a rank relative to `from`: the shorter way round, forwards if both are as long. What is no
    /// rank stays absolute.
    pub fn relative(rank: i32, from: Position) -> Peer {
        if rank < 0 || rank as u32 >= from.peers || from.rank >= from.peers {
            return Peer::Absolute(rank);
        }
        Peer::Relative(distance(from.rank, rank as u32, from.peers))
    }
    /// Returns a rank as it is told while nobody knows what other ranks say: rank 0, whom many talk to, as it
    /// is, others by their distance.
    pub fn told(rank: i32, from: Position) -> Peer {
        if rank <= 0 { Peer::Absolute(rank) } else { Peer::relative(rank, from) }
    }
}

/// Kinds of numbers in a call.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Slot {
    /// A number like others.
    Plain,
    /// A rank, as [`Peer`] has it.
    Peer,
}

/// The communicator that a call's ranks are of.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Whose {
    /// None is named: ranks are those of `MPI_COMM_WORLD`.
    World,
    /// The communicator with the name at this index in the dictionary.
    Named(u32),
    /// A communicator of the program; its number is the one at this index in the call's numbers.
    Made(usize),
}

mod tag {
    pub const UNKNOWN: u8 = 0;
    pub const NULL: u8 = 1;
    pub const IN_PLACE: u8 = 2;
    pub const BUFFER: u8 = 3;
    pub const ADDRESS: u8 = 4;
    pub const COUNT: u8 = 5;
    pub const INTEGER: u8 = 6;
    pub const LOGICAL: u8 = 7;
    pub const RANK: u8 = 8;
    pub const TAG: u8 = 9;
    pub const STATUS: u8 = 10;
    pub const TEXT: u8 = 11;
    pub const LIST: u8 = 12;
    /// And the class; with a name 16 more.
    pub const OBJECT: u8 = 16;
}

fn object(bytes: &mut Vec<u8>, class: Class, name: Option<u32>) {
    match name {
        None => bytes.push(tag::OBJECT + class as u8),
        Some(name) => {
            bytes.push(tag::OBJECT + 16 + class as u8);
            bytes.number(name.into());
        }
    }
}

impl Field {
    /// Appends it; equal neighbours in a list once, with their number.
    pub fn write(&self, bytes: &mut Vec<u8>) {
        match self {
            Field::Unknown => bytes.push(tag::UNKNOWN),
            Field::Null => bytes.push(tag::NULL),
            Field::InPlace => bytes.push(tag::IN_PLACE),
            Field::Buffer => bytes.push(tag::BUFFER),
            Field::Address => bytes.push(tag::ADDRESS),
            Field::Count => bytes.push(tag::COUNT),
            Field::Integer => bytes.push(tag::INTEGER),
            Field::Logical => bytes.push(tag::LOGICAL),
            Field::Rank => bytes.push(tag::RANK),
            Field::Tag => bytes.push(tag::TAG),
            Field::Status => bytes.push(tag::STATUS),
            Field::Comm(name) => object(bytes, Class::Comm, *name),
            Field::Datatype(name) => object(bytes, Class::Datatype, *name),
            Field::Handle(class, name) => object(bytes, *class, *name),
            Field::Text(text) => {
                bytes.push(tag::TEXT);
                bytes.number((*text).into());
            }
            Field::List(runs) => {
                Field::begin_list(runs.len(), bytes);
                for (length, field) in runs {
                    bytes.number(*length);
                    field.write(bytes);
                }
            }
        }
    }

    /// Appends what an array begins with, that it has so many runs; each follows as its length and its field.
    pub fn begin_list(runs: usize, bytes: &mut Vec<u8>) {
        bytes.push(tag::LIST);
        bytes.number(runs as u64);
    }

    /// Reads what [`Field::write`] wrote, with so many names and datatypes.
    ///
    /// # Errors
    /// If it is something else.
    pub fn read(reader: &mut Reader, names: usize, types: usize) -> Result<Field> {
        Field::read_within(reader, (names, types), 0)
    }

    fn read_within(reader: &mut Reader, ends: (usize, usize), depth: u32) -> Result<Field> {
        Ok(match reader.byte()? {
            tag::UNKNOWN => Field::Unknown,
            tag::NULL => Field::Null,
            tag::IN_PLACE => Field::InPlace,
            tag::BUFFER => Field::Buffer,
            tag::ADDRESS => Field::Address,
            tag::COUNT => Field::Count,
            tag::INTEGER => Field::Integer,
            tag::LOGICAL => Field::Logical,
            tag::RANK => Field::Rank,
            tag::TAG => Field::Tag,
            tag::STATUS => Field::Status,
            tag::TEXT => Field::Text(reader.index(ends.0, "name")?),
            tag::LIST if depth == DEEPEST => return reader.wrong("lists are within lists too deep"),
            tag::LIST => {
                let count = reader.count(2, "runs of a list")?;
                let run = |_| Ok((reader.number()?, Field::read_within(reader, ends, depth + 1)?));
                Field::List((0..count).map(run).collect::<Result<_>>()?)
            }
            byte => {
                let class = Class::ALL
                    .get(usize::from(byte & 15))
                    .copied()
                    .filter(|_| (tag::OBJECT..tag::OBJECT + 32).contains(&byte));
                let Some(class) = class else {
                    return reader.wrong(format!("{byte} is no kind of argument"));
                };
                let dictionary =
                    if class == Class::Datatype { (ends.1, "datatype") } else { (ends.0, "name") };
                let name = (byte >= tag::OBJECT + 16)
                    .then(|| reader.index(dictionary.0, dictionary.1))
                    .transpose()?;
                match class {
                    Class::Comm => Field::Comm(name),
                    Class::Datatype => Field::Datatype(name),
                    class => Field::Handle(class, name),
                }
            }
        })
    }

    /// Returns how many numbers it has; `None` if they cannot be counted.
    pub fn numbers(&self) -> Option<u64> {
        match self {
            Field::Unknown | Field::Null | Field::InPlace | Field::Buffer | Field::Text(_) => Some(0),
            Field::Comm(Some(_)) | Field::Datatype(Some(_)) | Field::Handle(_, Some(_)) => Some(0),
            Field::Status => Some(4),
            Field::Datatype(None) => Some(3),
            Field::List(runs) => runs.iter().try_fold(0u64, |sum, (length, field)| {
                sum.checked_add(length.checked_mul(field.numbers()?)?)
            }),
            _ => Some(1),
        }
    }

    /// Appends the kinds of its numbers, as many as [`Field::numbers`] counts.
    pub fn slots(&self, slots: &mut Vec<Slot>) {
        match self {
            Field::Unknown | Field::Null | Field::InPlace | Field::Buffer | Field::Text(_) => {}
            Field::Comm(Some(_)) | Field::Datatype(Some(_)) | Field::Handle(_, Some(_)) => {}
            Field::Rank => slots.push(Slot::Peer),
            Field::Status => slots.extend([Slot::Peer, Slot::Plain, Slot::Plain, Slot::Plain]),
            Field::Datatype(None) => slots.extend([Slot::Plain; 3]),
            Field::List(runs) => {
                runs.iter().filter(|(_, field)| field.numbers() != Some(0)).for_each(|(length, field)| {
                    (0..*length).for_each(|_| field.slots(slots));
                })
            }
            Field::Address
            | Field::Count
            | Field::Integer
            | Field::Logical
            | Field::Tag
            | Field::Comm(None)
            | Field::Handle(_, None) => {
                slots.push(Slot::Plain);
            }
        }
    }

    /// Returns the field with the places of names and datatypes replaced.
    #[must_use]
    pub fn renamed(&self, names: &mut impl FnMut(u32) -> u32, types: &mut impl FnMut(u32) -> u32) -> Field {
        match self {
            Field::Comm(name) => Field::Comm(name.map(names)),
            Field::Handle(class, name) => Field::Handle(*class, name.map(names)),
            Field::Text(text) => Field::Text(names(*text)),
            Field::Datatype(name) => Field::Datatype(name.map(types)),
            Field::List(runs) => Field::List(
                runs.iter().map(|(length, field)| (*length, field.renamed(names, types))).collect(),
            ),
            field => field.clone(),
        }
    }
}

/// Takes the numbers of an argument; returns the largest of the counts among them, and of the bytes of
/// statuses.
fn largest(field: &Field, numbers: &mut &[i64]) -> i64 {
    let mut take = |count: u64| {
        let (taken, rest) = numbers.split_at(usize::try_from(count).unwrap_or(usize::MAX).min(numbers.len()));
        *numbers = rest;
        taken
    };
    match field {
        Field::Count => take(1).first().copied().unwrap_or(0),
        Field::Status => take(4).get(2).copied().unwrap_or(0),
        Field::List(runs) => {
            let some = runs.iter().filter(|(_, field)| field.numbers() != Some(0));
            some.flat_map(|(length, field)| (0..*length).map(move |_| field))
                .map(|field| largest(field, numbers))
                .max()
                .unwrap_or(0)
        }
        field => {
            take(field.numbers().unwrap_or(0));
            0
        }
    }
}

impl Template {
    /// Returns how many bits the size of a call with these numbers has, which is the largest of its counts
    /// and of the bytes of its statuses.
    pub fn size(&self, mut numbers: &[i64]) -> u32 {
        let size = self.fields.iter().map(|field| largest(field, &mut numbers)).max().unwrap_or(0);
        u64::BITS - size.max(0).leading_zeros()
    }

    /// Returns what the numbers of its calls are, in order.
    pub fn slots(&self) -> Vec<Slot> {
        let mut slots = Vec::new();
        self.fields.iter().for_each(|field| field.slots(&mut slots));
        slots
    }

    /// Returns how many numbers its calls have; `None` if they cannot be counted.
    pub fn numbers(&self) -> Option<u64> {
        self.fields.iter().try_fold(0u64, |sum, field| sum.checked_add(field.numbers()?))
    }

    /// Returns the communicator that its ranks are of: the first that it names.
    pub fn whose(&self) -> Whose {
        let mut before = 0u64;
        for field in &self.fields {
            match field {
                Field::Comm(Some(name)) => return Whose::Named(*name),
                Field::Comm(None) => return Whose::Made(before as usize),
                field => before = before.saturating_add(field.numbers().unwrap_or(u64::MAX)),
            }
        }
        Whose::World
    }

    /// Reads what [`Template::write`] wrote, with dictionaries of these lengths: functions, sites, names,
    /// datatypes.
    ///
    /// # Errors
    /// If it is something else.
    pub fn read(reader: &mut Reader, [functions, sites, names, types]: [usize; 4]) -> Result<Template> {
        let function = reader.index(functions, "function")?;
        let site = reader.index(sites + 1, "site")?;
        let code = reader.signed()?;
        let Ok(code) = i32::try_from(code) else { return reader.wrong(format!("{code} is no error code")) };
        let count = reader.count(1, "arguments")?;
        let fields = (0..count).map(|_| Field::read(reader, names, types)).collect::<Result<_>>()?;
        Ok(Template { function, site, code, fields })
    }

    /// Appends it.
    pub fn write(&self, bytes: &mut Vec<u8>) {
        bytes.number(self.function.into());
        bytes.number(self.site.into());
        bytes.signed(self.code.into());
        bytes.number(self.fields.len() as u64);
        self.fields.iter().for_each(|field| field.write(bytes));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn a_rank_is_the_same_however_it_is_told(
            peers in 1u32..2000,
            rank in 0u32..2000,
            peer in -4i32..2000,
        ) {
            let from = Position { rank: rank % peers, peers };
            let relative = Peer::relative(peer, from);
            prop_assert_eq!(relative.rank(from), peer);
            prop_assert_eq!(Peer::of(relative.number()), relative);
        }
    }

    #[test]
    fn fields_read_back() {
        let list = Field::List(vec![
            (2, Field::Count),
            (1 << 60, Field::Handle(Class::Request, None)),
            (1, Field::Status),
        ]);
        for field in [
            Field::Unknown,
            Field::Comm(Some(2)),
            Field::Datatype(Some(1)),
            Field::Handle(Class::Tool, None),
            Field::Text(3),
            list,
        ] {
            let mut bytes = Vec::new();
            field.write(&mut bytes);
            assert_eq!(Field::read(&mut Reader::new(&bytes), 4, 2).unwrap(), field);
            assert!(Field::read(&mut Reader::new(&bytes[..bytes.len() - 1]), 4, 2).is_err());
        }
    }
}
