//! Makes the file of what processes recorded: ranks that go through the same loops and templates share a
//! shape; where they say other numbers there is a column, a number for each rank.
//!
//! What comes out is a function of what the ranks did: the same bytes for any number of processes.

mod columns;
mod kinds;
mod shapes;
mod similar;
mod turns;

use crate::codec::Put;
use crate::column;
use crate::contexts::{Context, Loops};
use crate::dictionary::{Dictionary, Names};
use crate::file::{self, TraceFileKind};
use crate::part::{ALL_CALLS, Computed, IN_CONTEXT, Item, NamedDatatype, Path, Place, ProcessTrace, Seen};
use crate::spread;
use crate::template::{Position, Template};
use crate::times;
use columns::{Calls, Columns};
use rustc_hash::FxHashMap;
use shapes::{NumberedShape, Step, flatten};
use std::collections::BTreeMap;

/// The rank was not recorded, or did nothing.
const NOTHING: u32 = u32::MAX;

/// Recorded steps and numbers of all ranks.
struct Done {
    /// Classes of equal ranks: the index of their shape, and the numbers of its steps.
    classes: Dictionary<(u32, Vec<i64>)>,
    shapes: Dictionary<Vec<Step>>,
    class_of: Vec<u32>,
    /// `true` if loops were found by templates: a call may stand for several of what ranks did.
    by_template: bool,
}

/// The contexts of calls, the same for all parts ([`crate::contexts`]).
#[derive(Default)]
struct Contexts {
    /// Template and numbers.
    calls: Dictionary<Box<[i64]>>,
    /// By [`Context::add`].
    numbers: FxHashMap<u64, u32>,
    /// By number: the last call.
    last: Vec<u32>,
    /// By class: the places of its calls as they are visited, with the numbers of their contexts.
    by_class: BTreeMap<u32, Vec<(u32, u32)>>,
}

impl Contexts {
    /// Returns the number of a call.
    fn call(&mut self, template: u32, numbers: &[i64]) -> u32 {
        self.calls.place(std::iter::once(i64::from(template)).chain(numbers.iter().copied()).collect())
    }

    /// Returns the number of a context that ends with a call.
    fn number(&mut self, state: u64, call: u32) -> u32 {
        let next = self.last.len() as u32;
        let number = *self.numbers.entry(state).or_insert(next);
        if number == next {
            self.last.push(call);
        }
        number
    }
}

/// Brings parts together.
pub struct Builder {
    ranks: u32,
    functions: Names,
    sites: Names,
    names: Names,
    types: Dictionary<NamedDatatype>,
    templates: Dictionary<Template>,
    done: Done,
    comms: Vec<Seen>,
    contexts: Contexts,
    /// By places whose last number is as in a part, with numbers of [`Contexts::numbers`].
    histograms: BTreeMap<Path, Computed>,
    times: BTreeMap<u32, Vec<u8>>,
}

impl Builder {
    /// Creates a builder for a run of `ranks` ranks, none of which is recorded yet.
    pub fn new(ranks: u32) -> Builder {
        Builder {
            ranks,
            functions: Names::default(),
            sites: Names::default(),
            names: Names::default(),
            types: Dictionary::default(),
            templates: Dictionary::default(),
            done: Done {
                classes: Dictionary::default(),
                shapes: Dictionary::default(),
                class_of: vec![NOTHING; ranks as usize],
                by_template: false,
            },
            comms: Vec::new(),
            contexts: Contexts::default(),
            histograms: BTreeMap::new(),
            times: BTreeMap::new(),
        }
    }

    /// Adds what a process recorded; O(its size, unfolded to the loops of its classes).
    pub fn add(&mut self, part: ProcessTrace) {
        let functions: Vec<u32> =
            part.functions.iter().map(|name| self.functions.place_of(name.as_str())).collect();
        let sites: Vec<u32> = part.sites.iter().map(|name| self.sites.place_of(name.as_str()) + 1).collect();
        let site = |place: u32| place.checked_sub(1).map_or(0, |place| sites[place as usize]);
        let names: Vec<u32> = part.names.iter().map(|name| self.names.place_of(name.as_str())).collect();
        let datatype =
            |datatype: &NamedDatatype| NamedDatatype { name: names[datatype.name as usize], ..*datatype };
        let types: Vec<u32> = part.types.iter().map(|known| self.types.place(datatype(known))).collect();
        let mut calls = Vec::with_capacity(part.calls.len());
        for (template, numbers) in part.calls {
            let (mut name, mut datatype) =
                (|place: u32| names[place as usize], |place: u32| types[place as usize]);
            let fields =
                template.fields.iter().map(|field| field.renamed(&mut name, &mut datatype)).collect();
            let template = Template {
                function: functions[template.function as usize],
                site: site(template.site),
                fields,
                ..template
            };
            calls.push((self.templates.place(template), numbers));
        }
        let classes: Vec<u32> =
            part.classes.iter().map(|items| self.class(items, &calls, &part.loops)).collect();
        for (rank, class) in part.ranks_of {
            self.done.class_of[rank as usize] = classes[class as usize];
        }
        let loops = Loops::new(&part.loops);
        let calls: Vec<u32> = if part.contexts.is_empty() {
            Vec::new()
        } else {
            calls.iter().map(|(template, numbers)| self.contexts.call(*template, numbers)).collect()
        };
        // By number in the part: the number here, which is not there if the part does not fit together.
        let mut contexts: FxHashMap<u32, u32> = FxHashMap::default();
        for ((items, class), numbers) in part.classes.iter().zip(&classes).zip(&part.contexts) {
            let (mut context, mut number) = (Context::default(), numbers.iter());
            let is_new = !self.contexts.by_class.contains_key(class);
            let mut visited = Vec::new();
            loops.visit(items, numbers.len(), &mut |place, call| {
                let call = calls[call as usize];
                let here = self.contexts.number(context.add(call), call);
                contexts.extend(number.next().map(|&number| (number, here)));
                visited.push((place, here));
            });
            if is_new {
                self.contexts.by_class.insert(*class, visited);
            }
        }
        for ((from, to), computed) in part.histograms {
            let place = |(function, at, kind): Place| {
                let in_context = |number: u32| contexts.get(&number).map_or(ALL_CALLS, |n| IN_CONTEXT + n);
                let kind = kind.checked_sub(IN_CONTEXT).map_or(kind, in_context);
                (functions[function as usize], site(at), kind)
            };
            let path = (from.map(place), place(to));
            self.histograms.entry(path).or_default().merge(&computed);
        }
        self.comms.extend(part.comms);
        self.times.extend(part.times);
    }

    fn class(&mut self, items: &[Item], calls: &[(u32, Vec<i64>)], loops: &[(u64, Vec<Item>)]) -> u32 {
        let (mut steps, mut numbers) = (Vec::new(), Vec::new());
        flatten(items, calls, loops, &mut steps, &mut numbers);
        let shape = self.done.shapes.place(steps);
        self.done.classes.place((shape, numbers))
    }

    /// Returns the bytes of the file.
    pub fn finish(self) -> Vec<u8> {
        file::pack(TraceFileKind::Trace, &self.contents())
    }

    /// Returns the contents of the file.
    pub fn contents(mut self) -> Vec<u8> {
        self.comms.sort_unstable();
        let (plain, told) = self.contents_of(&self.done);
        let together = turns::together(&self).map(|done| self.contents_of(&done));
        // Loops that vary are less easy to read.
        match together {
            Some((contents, fewer)) if file::packed(&fewer) * 4 <= file::packed(&told) * 3 => contents,
            _ => plain,
        }
    }

    /// Returns the contents of the file if that is what ranks did, and those bytes of them that say so.
    fn contents_of(&self, done: &Done) -> (Vec<u8>, Vec<u8>) {
        // Shapes by the first rank that has them; behind them all the one of nothing.
        let mut order: Dictionary<u32> = Dictionary::default();
        let mut ranks_of: Vec<Vec<u32>> = Vec::new();
        for (rank, &class) in (0..).zip(&done.class_of) {
            let shape = if class == NOTHING { NOTHING } else { done.classes.get(class).0 };
            let number = order.place(shape) as usize;
            ranks_of.resize(order.len(), Vec::new());
            ranks_of[number].push(rank);
        }
        let positions = self.positions();
        let mut columns = Columns::new(self, done, &positions);
        let nothing = Vec::new();
        let shapes: Vec<NumberedShape> = order
            .iter()
            .zip(&ranks_of)
            .map(|(&shape, ranks)| {
                columns.shape(if shape == NOTHING { &nothing } else { done.shapes.get(shape) }, ranks)
            })
            .collect();
        let mut of_rank = vec![0i64; self.ranks as usize];
        for (number, ranks) in (0..).zip(&ranks_of) {
            ranks.iter().for_each(|&rank| of_rank[rank as usize] = number);
        }
        let (columns, calls, mut kinds) = columns.finish();
        let mut comms = column::write_of_ranks(&of_rank, 1);
        let of_ranks = comms.len();
        self.write_comms(&mut comms);
        let body_of = |writer: &mut shapes::ShapeWriter, calls: &Calls, shapes: &[NumberedShape]| {
            let mut body = Vec::new();
            body.number(self.ranks.into());
            writer.write(&columns, calls, shapes, &mut body);
            body
        };
        let (mut calls, mut shapes) = (calls, shapes);
        let (mut histograms, mut of_calls) = (BTreeMap::new(), Vec::new());
        if !self.histograms.is_empty() {
            if !done.by_template {
                for (&class, visited) in &self.contexts.by_class {
                    let shape = order.find(&done.classes.get(class).0);
                    kinds.place(
                        visited,
                        shape.map_or(&[][..], |shape| shapes[shape as usize].steps.as_slice()),
                    );
                }
            }
            let mut writer = shapes::ShapeWriter::new(self);
            let body = body_of(&mut writer, &calls, &shapes);
            // Neither histograms nor times.
            let without = [writer.dictionaries(), body, comms.clone(), vec![0, 0]].concat();
            (histograms, of_calls) = kinds.settle(&self.histograms, &without);
            (calls, of_calls) = kinds::joined(&calls, &of_calls, &mut shapes);
        }
        let mut writer = shapes::ShapeWriter::new(self);
        let mut body = body_of(&mut writer, &calls, &shapes);
        let told = [body.as_slice(), &comms[..of_ranks]].concat();
        body.extend(comms);
        writer.write_histograms(spread::summaries(histograms, self.ranks), &of_calls, &mut body);
        times::write(self.times.iter().map(|(rank, times)| (*rank, times.as_slice())), &mut body);
        // Names were met while the rest was written, but a reader needs them first.
        ([writer.dictionaries(), body].concat(), told)
    }

    /// Returns what each rank is in its communicators, by rank and number.
    fn positions(&self) -> FxHashMap<(u32, u32), Position> {
        self.comms
            .iter()
            .map(|seen| ((seen.world_rank, seen.number), Position { rank: seen.rank, peers: seen.peers }))
            .collect()
    }

    /// Writes for each number the ranks that have such a communicator. For these it writes their rank in it,
    /// its size, the ranks that messages can go to, and the world rank of its first member with that one's
    /// number for it. For an intercommunicator it writes those of the other group too.
    fn write_comms(&self, body: &mut Vec<u8>) {
        let numbers: FxHashMap<(u32, u32), u32> = self
            .comms
            .iter()
            .filter(|seen| seen.world_rank == seen.leaders.0)
            .map(|seen| ((seen.context, seen.world_rank), seen.number))
            .collect();
        let number_of =
            |seen: &Seen, leader: u32| i64::from(numbers.get(&(seen.context, leader)).copied().unwrap_or(0));
        let last = self.comms.iter().map(|seen| seen.number).max().unwrap_or(0);
        let mut of_number: Vec<Vec<&Seen>> = vec![Vec::new(); last as usize];
        self.comms.iter().for_each(|seen| of_number[seen.number as usize - 1].push(seen));
        body.number(of_number.len() as u64);
        for all in of_number {
            body.number(all.len() as u64);
            let columns: [&dyn Fn(&Seen) -> i64; 8] = [
                &|seen| seen.world_rank.into(),
                &|seen| seen.rank.into(),
                &|seen| seen.size.into(),
                &|seen| seen.peers.into(),
                &|seen| seen.leaders.0.into(),
                &|seen| number_of(seen, seen.leaders.0),
                &|seen| seen.leaders.1.into(),
                &|seen| number_of(seen, seen.leaders.1),
            ];
            for value in columns {
                body.extend(if all.len() == self.ranks as usize {
                    column::write_of_ranks(&all.iter().map(|seen| value(seen)).collect::<Vec<i64>>(), 1)
                } else {
                    column::write(all.iter().map(|seen| value(seen)))
                });
            }
        }
    }
}
