//! The dictionaries of several traces as one, so that what is the same in two has one number.

use trace::Trace;
use trace::dictionary::{Dictionary, Names};
use trace::part::{NamedDatatype, ProcessTrace};
use trace::template::{Field, Position, Template, Whose};

/// The key of elements of a sequence: those with one key are of one place of the program.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum ElementKey {
    /// A call of this kind, or several behind each other.
    Call(u32),
    /// These keys, once or several times.
    Group(Vec<u32>),
}

/// A function and a call site, by their places in dictionaries.
pub type Site = (u32, u32);

/// The dictionaries that all traces share.
#[derive(Default)]
pub struct Dictionaries {
    functions: Names,
    sites: Names,
    names: Names,
    types: Dictionary<NamedDatatype>,
    /// Templates without the lengths of their arrays.
    kinds: Dictionary<Template>,
    keys: Dictionary<ElementKey>,
}

/// The places of one trace's values in these dictionaries.
pub struct Renamed {
    functions: Vec<u32>,
    sites: Vec<u32>,
    /// By template: with the lengths of its arrays, and its kind.
    pub templates: Vec<(Template, u32)>,
}

impl Renamed {
    /// Returns a place of the trace, which it names by its own numbers.
    pub fn place(&self, (function, site): Site) -> Site {
        (self.functions[function as usize], site.checked_sub(1).map_or(0, |site| self.sites[site as usize]))
    }
}

impl Dictionaries {
    /// Adds what a trace has.
    pub fn add(&mut self, trace: &Trace) -> Renamed {
        let functions: Vec<u32> =
            trace.functions.iter().map(|function| self.functions.place(function.text())).collect();
        let sites: Vec<u32> = trace.sites.iter().map(|name| self.sites.place_of(name.as_str()) + 1).collect();
        let names: Vec<u32> = trace.names.iter().map(|name| self.names.place_of(name.as_str())).collect();
        let datatype =
            |datatype: &NamedDatatype| NamedDatatype { name: names[datatype.name as usize], ..*datatype };
        let types: Vec<u32> = trace.types.iter().map(|known| self.types.place(datatype(known))).collect();
        let mut renamed = Renamed { functions, sites, templates: Vec::new() };
        for template in &trace.templates {
            let (mut name, mut datatype) =
                (|place: u32| names[place as usize], |place: u32| types[place as usize]);
            let fields: Vec<Field> =
                template.fields.iter().map(|field| field.renamed(&mut name, &mut datatype)).collect();
            let (function, site) = renamed.place((template.function, template.site));
            let template = Template { function, site, fields, code: template.code };
            let kind = self.kinds.place(Template {
                fields: template.fields.iter().map(without_lengths).collect(),
                ..template.clone()
            });
            renamed.templates.push((template, kind));
        }
        renamed
    }

    /// Returns the number of a key.
    pub fn key(&mut self, key: ElementKey) -> u32 {
        self.keys.place(key)
    }

    /// Returns the keys of what a group repeats; `None` of a call.
    pub fn group(&self, key: u32) -> Option<&[u32]> {
        match self.keys.get(key) {
            ElementKey::Group(keys) => Some(keys),
            ElementKey::Call(_) => None,
        }
    }

    /// Returns the kind of the calls of a key; of a group that of its first.
    pub fn kind_of_key(&self, key: u32) -> u32 {
        match self.keys.get(key) {
            ElementKey::Call(kind) => *kind,
            ElementKey::Group(keys) => self.kind_of_key(keys[0]),
        }
    }

    /// Returns a call without the lengths of its arrays.
    pub fn kind(&self, kind: u32) -> &Template {
        self.kinds.get(kind)
    }

    /// Returns the names of the arguments of calls of this kind.
    pub fn arguments(&self, kind: u32) -> impl Iterator<Item = &str> {
        self.functions.get(self.kind(kind).function).split(' ').skip(1)
    }

    /// Returns how people find a place: `MPI_Send at ring.c:28 main`.
    pub fn place(&self, (function, site): Site) -> String {
        let name = self.functions.get(function).split(' ').next().unwrap_or_default();
        let site = site.checked_sub(1).map_or("?", |site| self.sites.get(site).as_str());
        format!("{name} at {site}")
    }

    /// Returns how people find the first call of a key.
    pub fn shown(&self, key: u32) -> String {
        let kind = self.kind(self.kind_of_key(key));
        self.place((kind.function, kind.site))
    }

    /// Returns what ranks in a call are relative to: a rank of `MPI_COMM_WORLD`, which `member` says what it
    /// is in its communicators of a number.
    pub fn position(
        &self,
        template: &Template,
        numbers: &[i64],
        world: Position,
        member: impl FnOnce(u32) -> Option<Position>,
    ) -> Position {
        match template.whose() {
            Whose::Named(name) if self.names.get(name) == "MPI_COMM_SELF" => Position { rank: 0, peers: 1 },
            Whose::World | Whose::Named(_) => world,
            Whose::Made(place) => u32::try_from(numbers[place]).ok().and_then(member).unwrap_or(world),
        }
    }

    /// Returns a part with these dictionaries and nothing else.
    pub fn part(&self, ranks: u32) -> ProcessTrace {
        let (functions, sites, names) = (self.functions.clone(), self.sites.clone(), self.names.clone());
        ProcessTrace { ranks, functions, sites, names, types: self.types.clone(), ..ProcessTrace::default() }
    }
}

/// Arrays within arrays keep their lengths: those have meanings of their own, such as a status.
fn without_lengths(field: &Field) -> Field {
    match field {
        Field::List(runs) => Field::List(runs.iter().map(|(_, field)| (0, field.clone())).collect()),
        field => field.clone(),
    }
}
