//! Shapes: what ranks did, without numbers, and its encoding.

use super::Builder;
use super::columns::{Calls, Told};
use crate::codec::Put;
use crate::dictionary::{Dictionary, Names};
use crate::histogram::Summary;
use crate::part::{Item, NamedDatatype, Path, Place, write_path};
use crate::template::Template;
use crate::trace::{Cell, step, write_kinds};
use std::collections::BTreeMap;

/// A step of a shape.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Step {
    /// A call of this template.
    Call(u32),
    /// A loop begins, whose count is a number of its own.
    Begin,
    /// So does one that varies: its calls have numbers for each turn, turn by turn.
    Varying,
    /// It ends.
    End,
}

/// A shape with its numbers.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct NumberedShape {
    /// Calls by number, and loops.
    pub steps: Vec<Step>,
    /// The counts of its loops, in the order in which they begin.
    pub counts: Vec<Cell>,
}

/// Flattens items into steps and numbers.
pub fn flatten(
    items: &[Item],
    calls: &[(u32, Vec<i64>)],
    loops: &[(u64, Vec<Item>)],
    steps: &mut Vec<Step>,
    numbers: &mut Vec<i64>,
) {
    for item in items {
        match *item {
            Item::Call(call) => {
                let (template, of_call) = &calls[call as usize];
                steps.push(Step::Call(*template));
                numbers.extend_from_slice(of_call);
            }
            Item::Loop(number) => {
                let (count, body) = &loops[number as usize];
                steps.push(Step::Begin);
                numbers.push(*count as i64);
                flatten(body, calls, loops, steps, numbers);
                steps.push(Step::End);
            }
        }
    }
}

/// Writes shapes, and finds the order of the dictionaries meanwhile: that in which they are used.
pub struct ShapeWriter<'a> {
    builder: &'a Builder,
    functions: Names,
    sites: Names,
    names: Names,
    types: Dictionary<u32>,
}

impl<'a> ShapeWriter<'a> {
    /// Begins with nothing in the dictionaries.
    pub fn new(builder: &'a Builder) -> ShapeWriter<'a> {
        let (functions, sites, names) = (Names::default(), Names::default(), Names::default());
        ShapeWriter { builder, functions, sites, names, types: Dictionary::default() }
    }

    fn place(&mut self, (function, site, kind): Place) -> Place {
        let function = self.functions.place_of(self.builder.functions.get(function).as_str());
        let site = site
            .checked_sub(1)
            .map_or(0, |site| self.sites.place_of(self.builder.sites.get(site).as_str()) + 1);
        (function, site, kind)
    }

    fn template(&mut self, template: &Template) -> Template {
        let (function, site, _) = self.place((template.function, template.site, 0));
        let (builder, names, types) = (self.builder, &mut self.names, &mut self.types);
        let mut name = |place: u32| names.place_of(builder.names.get(place).as_str());
        let mut datatype = |place: u32| types.place(place);
        let fields = template.fields.iter().map(|field| field.renamed(&mut name, &mut datatype)).collect();
        Template { function, site, fields, code: template.code }
    }

    /// Writes columns, templates, calls and shapes.
    pub fn write(
        &mut self,
        columns: &Dictionary<Told>,
        calls: &Calls,
        shapes: &[NumberedShape],
        bytes: &mut Vec<u8>,
    ) {
        bytes.number(columns.len() as u64);
        columns.iter().for_each(|(_, column)| bytes.extend_from_slice(column));
        let mut order: Dictionary<u32> = Dictionary::default();
        let mut cells = Vec::new();
        for (template, of_call, _) in calls.iter() {
            cells.number(order.place(*template).into());
            of_call.iter().for_each(|&cell| cell.write(&mut cells));
        }
        bytes.number(order.len() as u64);
        order.iter().for_each(|&template| self.template(self.builder.templates.get(template)).write(bytes));
        bytes.number(calls.len() as u64);
        bytes.extend(cells);
        bytes.number(shapes.len() as u64);
        for shape in shapes {
            let mut counts = shape.counts.iter();
            bytes.number(shape.steps.len() as u64);
            for of_shape in &shape.steps {
                match *of_shape {
                    Step::End => bytes.number(step::END),
                    Step::Begin | Step::Varying => {
                        bytes.number(if *of_shape == Step::Varying { step::VARYING } else { step::BEGIN });
                        counts.next().expect("a count for each loop").write(bytes);
                    }
                    Step::Call(call) => bytes.number(u64::from(call) + step::STEPS),
                }
            }
        }
    }

    /// Writes the histograms of places, ordered by these, and the kinds of calls.
    pub fn write_histograms(
        &mut self,
        histograms: BTreeMap<Path, Summary>,
        kinds: &[u32],
        bytes: &mut Vec<u8>,
    ) {
        // Calls that are not there are in no histogram, so that all places are known by now.
        let placed = histograms
            .into_iter()
            .map(|((from, to), summary)| ((from.map(|from| self.place(from)), self.place(to)), summary));
        let placed: BTreeMap<_, _> = placed.collect();
        bytes.number(placed.len() as u64);
        if !placed.is_empty() {
            write_kinds(kinds, bytes);
        }
        for (path, summary) in placed {
            write_path(path, !kinds.is_empty(), bytes);
            summary.rounded().write(bytes);
        }
    }

    /// Encodes the dictionaries of what was written.
    pub fn dictionaries(&mut self) -> Vec<u8> {
        let mut types = Vec::new();
        for &place in self.types.iter() {
            let datatype = *self.builder.types.get(place);
            let name = self.names.place_of(self.builder.names.get(datatype.name).as_str());
            NamedDatatype { name, ..datatype }.write(&mut types);
        }
        let mut bytes = Vec::new();
        [&self.functions, &self.sites, &self.names].into_iter().for_each(|names| names.write(&mut bytes));
        bytes.number(self.types.len() as u64);
        bytes.extend(types);
        bytes
    }
}
