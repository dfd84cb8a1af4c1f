//! Makes the file of what processes recorded: ranks that go through the same loops and templates share a
//! shape; where they say other numbers there is a column, a number for each rank.
//!
//! What comes out is a function of what the ranks did: the same bytes for any number of processes.

mod columns;
mod kinds;
mod shapes;
mod turns;

use crate::codec::Put;
use crate::column;
use crate::dictionary::{Dictionary, Names};
use crate::file::{self, Kind};
use crate::part::{Computed, Datatype, Item, Part, Path, Place, Seen};
use crate::spread;
use crate::template::{Position, Template};
use crate::times;
use columns::Columns;
use rustc_hash::FxHashMap;
use shapes::{Shape, Step, flatten};
use std::collections::BTreeMap;

/// The rank was not recorded, or did nothing.
const NOTHING: u32 = u32::MAX;

/// What ranks did.
struct Done {
    /// What differs: steps and numbers.
    classes: Dictionary<(u32, Vec<i64>)>,
    shapes: Dictionary<Vec<Step>>,
    class_of: Vec<u32>,
}

/// Brings parts together.
pub struct Builder {
    ranks: u32,
    functions: Names,
    sites: Names,
    names: Names,
    types: Dictionary<Datatype>,
    templates: Dictionary<Template>,
    done: Done,
    comms: Vec<Seen>,
    histograms: BTreeMap<Path, Computed>,
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
            types: Dictionary::default(),
            templates: Dictionary::default(),
            done: Done {
                classes: Dictionary::default(),
                shapes: Dictionary::default(),
                class_of: vec![NOTHING; ranks as usize],
            },
            comms: Vec::new(),
            histograms: BTreeMap::new(),
            times: BTreeMap::new(),
        }
    }

    /// Adds what a process recorded; O(its size, unfolded to the loops of its classes).
    pub fn add(&mut self, part: Part) {
        let functions: Vec<u32> =
            part.functions.iter().map(|name| self.functions.place_of(name.as_str())).collect();
        let sites: Vec<u32> = part.sites.iter().map(|name| self.sites.place_of(name.as_str()) + 1).collect();
        let site = |place: u32| place.checked_sub(1).map_or(0, |place| sites[place as usize]);
        let names: Vec<u32> = part.names.iter().map(|name| self.names.place_of(name.as_str())).collect();
        let datatype = |datatype: &Datatype| Datatype { name: names[datatype.name as usize], ..*datatype };
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
        let place = |(function, at, kind): Place| (functions[function as usize], site(at), kind);
        for ((from, to), computed) in part.histograms {
            self.histograms.entry((from.map(place), place(to))).or_default().merge(&computed);
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

    /// The bytes of the file.
    pub fn finish(self) -> Vec<u8> {
        file::pack(Kind::Trace, &self.contents())
    }

    /// The contents of the file.
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

    /// The contents of the file if that is what ranks did, and those bytes of them that say so.
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
        let shapes: Vec<Shape> = order
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
        let mut body = Vec::new();
        body.number(self.ranks.into());
        let (columns, calls, kinds) = columns.finish();
        let mut writer = shapes::Writer::new(self);
        writer.write(&columns, &calls, &shapes, &mut body);
        body.extend(column::write_of_ranks(&of_rank, 1));
        let told = body.clone();
        self.write_comms(&mut body);
        let (histograms, kinds) = kinds.settle(&self.histograms);
        writer.write_histograms(spread::summaries(&histograms, self.ranks), &kinds, &mut body);
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

    /// For each number the ranks that have such a communicator, and for these their rank in it, its size,
    /// ranks that messages can go to, and the world rank of its first member with that one's number for it;
    /// of an intercommunicator those of the other group too.
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
