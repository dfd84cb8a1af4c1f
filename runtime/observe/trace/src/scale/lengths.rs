//! The numbers of a call that are sizes: counts of elements, with what says how large an element is, and
//! bytes in statuses.

use crate::roles::Roles;
use crate::template::{Field, Template};
use crate::trace::Trace;
use recorder::Class;
use rustc_hash::{FxHashMap, FxHashSet};

/// The source of a length: a constant, or a number of the call.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum LengthSource {
    /// This one.
    Always(i64),
    /// The one at this place.
    At(usize),
}

/// A number of a call that counts elements.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ElementCount {
    /// The index among the call's numbers.
    pub count: usize,
    /// Bytes of an element.
    pub element: LengthSource,
    /// Bytes from one element to the next.
    pub extent: LengthSource,
}

/// Lengths and displacements of the blocks of a call.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Blocks {
    /// Their lengths.
    pub lengths: Vec<ElementCount>,
    /// The places of their displacements.
    pub displacements: Vec<usize>,
    /// `true` if these are bytes and not extents.
    pub in_bytes: bool,
}

/// The sizes of a template's calls.
#[derive(Clone, Default, Debug)]
pub struct CallSizes {
    /// The places of counts, with how many bytes an element has.
    pub counts: FxHashMap<usize, LengthSource>,
    /// The places of bytes, in statuses.
    pub bytes: FxHashSet<usize>,
    /// Counts that have displacements.
    pub blocks: Vec<Blocks>,
}

/// Counts and their datatypes by name, with the names of displacements: an array's, if the counts are one.
const NAMES: [(&str, &str, &[&str]); 7] = [
    ("count", "datatype", &[]),
    ("sendcount", "sendtype", &[]),
    ("recvcount", "recvtype", &[]),
    ("recvcount", "datatype", &[]),
    ("sendcounts", "sendtype", &["sdispls", "displs"]),
    ("recvcounts", "recvtype", &["rdispls", "displs"]),
    ("recvcounts", "datatype", &[]),
];

impl CallSizes {
    /// Reads the lengths of a template that has calls: its numbers are no more than the file has. Packing,
    /// making datatypes and files are left alone: only what goes to other ranks has other sizes.
    ///
    /// # Errors
    /// Why these have sizes that cannot be changed.
    pub fn of(trace: &Trace, template: &Template) -> Result<CallSizes, String> {
        let roles = Roles::of(trace, template);
        let has = |class: Class| {
            template.fields.iter().any(|field| matches!(field, Field::Handle(of, _) if *of == class))
        };
        let named = |name: &str| roles.place(template, name);
        if has(Class::File) {
            return Ok(CallSizes::default());
        }
        if has(Class::Win) && named("target_rank").is_some() {
            return Err("what is sent to a window has its place and room there".to_owned());
        }
        if named("partitions").is_some() {
            return Err(
                "its message is divided among partitions, of which the other side may have others".to_owned()
            );
        }
        let function = trace.functions[template.function as usize].name.as_str();
        if function.starts_with("MPI_Get_elements")
            && matches!(named("datatype"), Some((Field::Datatype(None), _)))
        {
            return Err("the trace does not say what elements its datatype is made of".to_owned());
        }
        let mut lengths = CallSizes::default();
        for (counts, datatype, displacements) in NAMES {
            // A w form has an array of datatypes and is named so.
            let types = named(datatype).or_else(|| named(&format!("{datatype}s")));
            let (Some(counts), Some(types)) = (named(counts), types) else { continue };
            let of_these = each(trace, counts, types);
            if let Some(displacements) = displacements.iter().find_map(|name| named(name))
                && let Field::List(_) = displacements.0
            {
                let displacements: Vec<usize> =
                    elements(displacements, of_these.len() + 1).into_iter().map(|(_, at)| at).collect();
                if displacements.len() == of_these.len() {
                    let in_bytes = matches!(types.0, Field::List(_));
                    lengths.blocks.push(Blocks { lengths: of_these.clone(), displacements, in_bytes });
                }
            }
            lengths.counts.extend(of_these.into_iter().map(|length| (length.count, length.element)));
        }
        lengths.add_statuses(template);
        Ok(lengths)
    }

    /// Adds the bytes of statuses.
    fn add_statuses(&mut self, template: &Template) {
        let mut at = 0;
        for field in &template.fields {
            let numbers = field.numbers().unwrap_or(0) as usize;
            let all = match field {
                Field::List(runs) if runs.iter().any(|(_, field)| *field == Field::Status) => {
                    elements((field, at), numbers)
                }
                field => vec![(field, at)],
            };
            let statuses = all.into_iter().filter(|(field, _)| **field == Field::Status);
            self.bytes.extend(statuses.map(|(_, at)| at + 2));
            at += numbers;
        }
    }
}

/// Returns the first elements of an array, each with the place of its first number: those that have none of
/// their own may be more than there is memory for.
fn elements((list, at): (&Field, usize), most: usize) -> Vec<(&Field, usize)> {
    let Field::List(runs) = list else { return Vec::new() };
    let each = runs.iter().flat_map(|(length, field)| (0..*length).map(move |_| field));
    let place = |at: &mut usize, field: &'_ Field| {
        let here = *at;
        *at += field.numbers().unwrap_or(0) as usize;
        Some(here)
    };
    let fields: Vec<&Field> = each.take(most).collect();
    let places: Vec<usize> = fields.iter().scan(at, |at, field| place(at, field)).collect();
    fields.into_iter().zip(places).collect()
}

/// Returns the size and extent of a datatype; `None` of what is none.
fn datatype(trace: &Trace, (field, at): (&Field, usize)) -> Option<(LengthSource, LengthSource)> {
    match field {
        Field::Datatype(Some(place)) => {
            let known = &trace.types[*place as usize];
            Some((
                LengthSource::Always(i64::try_from(known.size).unwrap_or(i64::MAX)),
                LengthSource::Always(known.extent),
            ))
        }
        Field::Datatype(None) => Some((LengthSource::At(at + 1), LengthSource::At(at + 2))),
        _ => None,
    }
}

/// Returns the counts of an argument, which is one or an array, of a datatype or an array of them.
fn each(trace: &Trace, counts: (&Field, usize), types: (&Field, usize)) -> Vec<ElementCount> {
    let places: Vec<usize> = match counts.0 {
        Field::Count | Field::Integer => vec![counts.1],
        list => {
            elements(counts, list.numbers().unwrap_or(0) as usize).into_iter().map(|(_, at)| at).collect()
        }
    };
    let of_types: Vec<_> = match types.0 {
        Field::List(_) => {
            elements(types, places.len()).into_iter().map(|element| datatype(trace, element)).collect()
        }
        _ => vec![datatype(trace, types); places.len()],
    };
    let length = |(count, datatype): (usize, Option<(LengthSource, LengthSource)>)| {
        datatype.map(|(element, extent)| ElementCount { count, element, extent })
    };
    places.into_iter().zip(of_types).filter_map(length).collect()
}
