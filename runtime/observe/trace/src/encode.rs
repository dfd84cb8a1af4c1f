//! Calls as bytes: a template ([`crate::template`]) and behind it the numbers. Calls that are equal but for
//! payloads, addresses and times have equal bytes.

use crate::codec::Put;
use crate::dictionary::{Dictionary, Names};
use crate::part::{NamedDatatype, ProcessTrace};
use crate::template::{Field, Peer, Position};
use recorder::{ArgumentValue, Call, ObjectArgument, Value};
use rustc_hash::FxHashMap;

/// Numbers from here on in displacements are addresses.
const ADDRESSES: u64 = 1 << 40;
/// Arguments that are displacements or addresses.
const DISPLACEMENTS: [&str; 5] = ["target_disp", "base", "disp", "addr1", "addr2"];
/// Instead of an address that is no constant.
const ADDRESS: u64 = 4096;

/// Encodes the calls of a process.
#[derive(Default)]
pub struct Encoder {
    functions: Names,
    /// By number in the table and number of arguments.
    known: FxHashMap<(u16, usize), u32>,
    sites: Names,
    /// By the number that the seam gave, the place from 1.
    numbered: Vec<u32>,
    names: Names,
    /// By address: names are constants of the program.
    of_addresses: FxHashMap<usize, u32>,
    types: Dictionary<NamedDatatype>,
    template: Vec<u8>,
    numbers: Vec<u8>,
}

/// A call as bytes.
pub struct Encoded<'a> {
    /// The template, then the numbers.
    pub key: &'a [u8],
    /// Bytes of the template.
    pub template: usize,
}

impl Encoder {
    /// Notes the name of the seam's site `number`.
    pub fn site(&mut self, number: u32, name: &str) {
        let number = number as usize;
        if self.numbered.len() <= number {
            self.numbered.resize(number + 1, 0);
        }
        self.numbered[number] = self.sites.place_of(name) + 1;
    }

    /// Encodes a call of a rank with this place in `MPI_COMM_WORLD`. Its error code is `code`.
    pub fn encode(&mut self, call: &Call, code: i32, world: Position) -> Encoded<'_> {
        self.template.clear();
        self.numbers.clear();
        let function = self.function(call);
        let site = self.numbered.get(call.site as usize).copied().unwrap_or(0);
        self.template.number(function.into());
        self.template.number(site.into());
        self.template.signed(code.into());
        self.template.number(call.arguments.len() as u64);
        let comm = call.arguments.iter().find_map(|argument| match argument.value {
            Value::Comm { object: ObjectArgument::Made { .. }, member, .. } => {
                Some(member.map(|m| Position { rank: m.rank, peers: m.peers }))
            }
            Value::Comm { object: ObjectArgument::Named("MPI_COMM_SELF"), .. } => {
                Some(Some(Position { rank: 0, peers: 1 }))
            }
            Value::Comm { .. } => Some(None),
            _ => None,
        });
        let position = comm.flatten().unwrap_or(world);
        for argument in call.arguments {
            self.argument(argument, position);
        }
        let template = self.template.len();
        self.template.extend_from_slice(&self.numbers);
        Encoded { key: &self.template, template }
    }

    fn function(&mut self, call: &Call) -> u32 {
        let key = (call.function, call.arguments.len());
        if let Some(&place) = self.known.get(&key) {
            return place;
        }
        let names: Vec<&str> =
            std::iter::once(call.name).chain(call.arguments.iter().map(|argument| argument.name)).collect();
        let place = self.functions.place(names.join(" "));
        self.known.insert(key, place);
        place
    }

    fn name(&mut self, name: &'static str) -> u32 {
        let names = &mut self.names;
        *self.of_addresses.entry(name.as_ptr() as usize).or_insert_with(|| names.place_of(name))
    }

    fn argument(&mut self, argument: &ArgumentValue, position: Position) {
        // What differs from rank to rank or from run to run, and follows from the rest or is nothing of the
        // trace's.
        let dropped = argument.result
            && (matches!(argument.value, Value::Text(_)) || matches!(argument.name, "coords" | "address"));
        match &argument.value {
            _ if dropped => Field::Unknown.write(&mut self.template),
            Value::Rank(root) if argument.name == "root" => self.peer(Peer::Absolute(*root)),
            Value::List(values) if argument.name.contains("displacements") => {
                let first = values.iter().find_map(|value| match value {
                    Value::Count(at) if at.unsigned_abs() >= ADDRESSES => Some(*at),
                    _ => None,
                });
                let from = |value: &Value| match (value, first) {
                    (Value::Count(at), Some(first)) => Value::Count(at.wrapping_sub(first)),
                    (value, _) => value.clone(),
                };
                let values: Vec<Value> = values.iter().map(from).collect();
                self.list(&values, position);
            }
            // Of a dynamic window, or of a type that is made of addresses.
            Value::Count(at) if DISPLACEMENTS.contains(&argument.name) && at.unsigned_abs() >= ADDRESSES => {
                self.plain(&Field::Address, ADDRESS as i64);
            }
            value => self.value(value, position),
        }
    }

    fn peer(&mut self, peer: Peer) {
        Field::Rank.write(&mut self.template);
        self.numbers.signed(peer.number());
    }

    fn plain(&mut self, field: &Field, number: i64) {
        field.write(&mut self.template);
        self.numbers.signed(number);
    }

    fn value(&mut self, value: &Value, position: Position) {
        match value {
            Value::Unknown => Field::Unknown.write(&mut self.template),
            Value::Null => Field::Null.write(&mut self.template),
            Value::InPlace => Field::InPlace.write(&mut self.template),
            Value::Buffer(_) => Field::Buffer.write(&mut self.template),
            Value::Address(at) => self.plain(&Field::Address, (*at).min(ADDRESS) as i64),
            Value::Count(number) => self.plain(&Field::Count, *number),
            Value::Integer(number) => self.plain(&Field::Integer, *number),
            Value::Logical(truth) => self.plain(&Field::Logical, i64::from(*truth)),
            Value::Rank(rank) => self.peer(Peer::told(*rank, position)),
            Value::Tag(tag) => self.plain(&Field::Tag, i64::from(*tag)),
            Value::Comm { object: ObjectArgument::Named(name), .. } => {
                let name = self.name(name);
                Field::Comm(Some(name)).write(&mut self.template);
            }
            Value::Comm { object: ObjectArgument::Made { number, .. }, .. } => {
                self.plain(&Field::Comm(None), i64::from(*number))
            }
            Value::Datatype { object, size, extent } => self.datatype(*object, *size, *extent),
            Value::Handle(class, ObjectArgument::Named(name)) => {
                let name = self.name(name);
                Field::Handle(*class, Some(name)).write(&mut self.template);
            }
            Value::Handle(class, ObjectArgument::Made { slot, .. }) => {
                self.plain(&Field::Handle(*class, None), i64::from(*slot))
            }
            Value::Status(status) => {
                Field::Status.write(&mut self.template);
                let numbers = [
                    Peer::told(status.source, position).number(),
                    status.tag.into(),
                    status.bytes,
                    status.cancelled.into(),
                ];
                numbers.iter().for_each(|&number| self.numbers.signed(number));
            }
            Value::Text(text) => {
                let text = self.names.place_of(text.as_str());
                Field::Text(text).write(&mut self.template);
            }
            Value::List(values) => self.list(values, position),
        }
    }

    fn datatype(&mut self, object: ObjectArgument, size: u64, extent: i64) {
        match object {
            ObjectArgument::Named(name) => {
                let datatype = NamedDatatype { name: self.name(name), size, extent };
                let place = self.types.place(datatype);
                Field::Datatype(Some(place)).write(&mut self.template);
            }
            ObjectArgument::Made { slot, .. } => {
                Field::Datatype(None).write(&mut self.template);
                [i64::from(slot), size as i64, extent].iter().for_each(|&number| self.numbers.signed(number));
            }
        }
    }

    /// Encodes an array: the fields in runs, which are found by comparing their bytes.
    fn list(&mut self, values: &[Value], position: Position) {
        let outer = std::mem::take(&mut self.template);
        let (mut runs, mut bytes): (Vec<(u64, Vec<u8>)>, Vec<u8>) = (Vec::new(), outer);
        for value in values {
            self.value(value, position);
            match runs.last_mut() {
                Some((length, field)) if *field == self.template => *length += 1,
                _ => runs.push((1, self.template.clone())),
            }
            self.template.clear();
        }
        Field::begin_list(runs.len(), &mut bytes);
        for (length, field) in runs {
            bytes.number(length);
            bytes.extend(field);
        }
        self.template = bytes;
    }

    /// Puts the dictionaries where they belong.
    pub fn dictionaries(&self, part: &mut ProcessTrace) {
        part.functions = self.functions.clone();
        part.sites = self.sites.clone();
        part.names = self.names.clone();
        part.types = self.types.clone();
    }
}
