//! Makes the file of what processes recorded: ranks that go through the same loops and templates share a shape; where they say other numbers
//! there is a column, a number for each rank.
//!
//! What comes out is a function of what the ranks did: the same bytes for any number of processes.

mod columns;
mod shapes;

use crate::codec::Put;
use crate::column;
use crate::file;
use crate::histogram::Histogram;
use crate::part::{Datatype, Item, Part, Place, Seen};
use crate::template::{Names, Position, Template};
use columns::Columns;
use rustc_hash::FxHashMap;
use shapes::{Shape, Step, flatten};
use std::collections::BTreeMap;

/// The rank was not recorded, or did nothing.
const NOTHING: u32 = u32::MAX;

/// Brings parts together.
pub struct Builder {
    ranks: u32,
    functions: Names,
    sites: Names,
    names: Names,
    types: Vec<Datatype>,
    templates: Vec<Template>,
    template_numbers: FxHashMap<Template, u32>,
    /// What ranks did that differ: steps and numbers.
    classes: Vec<(u32, Vec<i64>)>,
    class_numbers: FxHashMap<(u32, Vec<i64>), u32>,
    shapes: Vec<Vec<Step>>,
    shape_numbers: FxHashMap<Vec<Step>, u32>,
    class_of: Vec<u32>,
    comms: Vec<Seen>,
    histograms: BTreeMap<(Option<Place>, Place), Histogram>,
    times: BTreeMap<u32, Vec<u8>>,
}

impl Builder {
    /// Of a run of so many ranks.
    pub fn new(ranks: u32) -> Builder {
        Builder {
            ranks,
            functions: Names::default(),
            sites: Names::default(),
            names: Names::default(),
            types: Vec::new(),
            templates: Vec::new(),
            template_numbers: FxHashMap::default(),
            classes: Vec::new(),
            class_numbers: FxHashMap::default(),
            shapes: Vec::new(),
            shape_numbers: FxHashMap::default(),
            class_of: vec![NOTHING; ranks as usize],
            comms: Vec::new(),
            histograms: BTreeMap::new(),
            times: BTreeMap::new(),
        }
    }

    /// Adds what a process recorded; O(its size, unfolded to the loops of its classes).
    pub fn add(&mut self, part: Part) {
        let functions: Vec<u32> = part.functions.all().iter().map(|name| self.functions.place(name)).collect();
        let sites: Vec<u32> = part.sites.all().iter().map(|name| self.sites.place(name) + 1).collect();
        let site = |place: u32| place.checked_sub(1).map_or(0, |place| sites[place as usize]);
        let names: Vec<u32> = part.names.all().iter().map(|name| self.names.place(name)).collect();
        let types: Vec<u32> = part.types.iter().map(|datatype| self.datatype(datatype, &names)).collect();
        let mut calls = Vec::with_capacity(part.calls.len());
        for (template, numbers) in part.calls {
            let (mut name, mut datatype) = (|place: u32| names[place as usize], |place: u32| types[place as usize]);
            let fields = template.fields.iter().map(|field| field.renamed(&mut name, &mut datatype)).collect();
            let template = Template { function: functions[template.function as usize], site: site(template.site), fields, ..template };
            calls.push((self.template(template), numbers));
        }
        let classes: Vec<u32> = part.classes.iter().map(|items| self.class(items, &calls, &part.loops)).collect();
        for (rank, class) in part.ranks_of {
            self.class_of[rank as usize] = classes[class as usize];
        }
        let place = |(function, at): Place| (functions[function as usize], site(at));
        for ((from, to), histogram) in part.histograms {
            self.histograms.entry((from.map(place), place(to))).or_default().merge(&histogram);
        }
        self.comms.extend(part.comms);
        self.times.extend(part.times);
    }

    fn datatype(&mut self, datatype: &Datatype, names: &[u32]) -> u32 {
        let datatype = Datatype { name: names[datatype.name as usize], ..*datatype };
        let place = self.types.iter().position(|&known| known == datatype).unwrap_or_else(|| {
            self.types.push(datatype);
            self.types.len() - 1
        });
        place as u32
    }

    fn template(&mut self, template: Template) -> u32 {
        let next = self.templates.len() as u32;
        let number = *self.template_numbers.entry(template.clone()).or_insert(next);
        if number == next {
            self.templates.push(template);
        }
        number
    }

    fn class(&mut self, items: &[Item], calls: &[(u32, Vec<i64>)], loops: &[(u64, Vec<Item>)]) -> u32 {
        let (mut steps, mut numbers) = (Vec::new(), Vec::new());
        flatten(items, calls, loops, &mut steps, &mut numbers);
        let next = self.shapes.len() as u32;
        let shape = *self.shape_numbers.entry(steps).or_insert_with_key(|steps| {
            self.shapes.push(steps.clone());
            next
        });
        let class = (shape, numbers);
        let next = self.classes.len() as u32;
        let number = *self.class_numbers.entry(class.clone()).or_insert(next);
        if number == next {
            self.classes.push(class);
        }
        number
    }

    /// The bytes of the file.
    pub fn finish(mut self) -> Vec<u8> {
        self.comms.sort_unstable();
        // Shapes by the first rank that has them; behind them all the one of nothing.
        let mut order: FxHashMap<u32, u32> = FxHashMap::default();
        let mut ranks_of: Vec<Vec<u32>> = Vec::new();
        for (rank, &class) in (0..).zip(&self.class_of) {
            let shape = if class == NOTHING { NOTHING } else { self.classes[class as usize].0 };
            let next = order.len() as u32;
            let number = *order.entry(shape).or_insert(next);
            if number == next {
                ranks_of.push(Vec::new());
            }
            ranks_of[number as usize].push(rank);
        }
        let mut in_order: Vec<(u32, u32)> = order.iter().map(|(&shape, &number)| (number, shape)).collect();
        in_order.sort_unstable();
        let positions = self.positions();
        let mut columns = Columns::new(&self, &positions);
        let nothing = Vec::new();
        let shapes: Vec<Shape> = in_order
            .iter()
            .map(|&(number, shape)| {
                let steps = self.shapes.get(shape as usize).unwrap_or(&nothing);
                columns.shape(steps, &ranks_of[number as usize])
            })
            .collect();
        let mut of_rank = vec![0i64; self.ranks as usize];
        for (number, ranks) in (0..).zip(&ranks_of) {
            ranks.iter().for_each(|&rank| of_rank[rank as usize] = number);
        }
        let mut body = Vec::new();
        body.number(self.ranks.into());
        let (columns, calls) = columns.finish();
        let mut writer = shapes::Writer::new(&self);
        writer.write(&columns, &calls, &shapes, &mut body);
        body.extend(column::write(of_rank.iter().copied()));
        self.write_comms(&mut body);
        writer.write_histograms(&self.histograms, &mut body);
        body.number(self.times.len() as u64);
        for (rank, times) in &self.times {
            body.number((*rank).into());
            body.number(times.len() as u64);
            body.extend_from_slice(times);
        }
        // Names were met while the rest was written, but a reader needs them first.
        file::pack(&[writer.dictionaries(), body].concat())
    }

    /// What each rank is in its communicators, by rank and number.
    fn positions(&self) -> FxHashMap<(u32, u32), Position> {
        self.comms.iter().map(|seen| ((seen.world_rank, seen.number), Position { rank: seen.rank, peers: seen.peers })).collect()
    }

    /// For each number the ranks that have such a communicator, and for these their rank in it, its size, ranks that messages can go to, and
    /// the world rank of its first member with that one's number for it; of an intercommunicator those of the other group too.
    fn write_comms(&self, body: &mut Vec<u8>) {
        let numbers: FxHashMap<(u32, u32), u32> = self
            .comms
            .iter()
            .filter(|seen| seen.world_rank == seen.leaders.0)
            .map(|seen| ((seen.context, seen.world_rank), seen.number))
            .collect();
        let number_of = |seen: &Seen, leader: u32| i64::from(numbers.get(&(seen.context, leader)).copied().unwrap_or(0));
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
                body.extend(column::write(all.iter().map(|seen| value(seen))));
            }
        }
    }
}
