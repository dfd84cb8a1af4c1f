//! The numbers of shapes: where ranks say different ones, a column. Ranks that are told of are made relative or absolute, whichever all
//! ranks of the shape agree in, else whichever folds to fewer bytes.

use super::kinds::Kinds;
use super::shapes::{Shape, Step};
use super::{Builder, NOTHING};
use crate::column;
use crate::dictionary::Dictionary;
use crate::template::{Peer, Position, Slot, Template, Whose};
use crate::trace::Cell;
use rustc_hash::FxHashMap;

/// Calls that differ: template and numbers.
pub type Calls = Dictionary<(u32, Vec<Cell>)>;

/// Makes columns.
pub struct Columns<'a> {
    builder: &'a Builder,
    positions: &'a FxHashMap<(u32, u32), Position>,
    columns: Dictionary<Vec<u8>>,
    calls: Calls,
    kinds: Kinds,
    /// Of the shape under way, by what those that differ say: most numbers come several times.
    known: FxHashMap<(Option<OfPeers>, Vec<i64>), Cell>,
}

/// A relative column of so few bytes is taken without a look at the absolute one.
const FEW: usize = 32;

/// Some ranks that go through the same steps.
struct Group<'a> {
    ranks: &'a [u32],
    /// The numbers of each.
    numbers: Vec<&'a [i64]>,
    /// Of each that differs.
    differing: Vec<&'a [i64]>,
}

/// Where ranks that are told of stand among the numbers, and what they are relative to: `whose`, or what the communicator `comm` is.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
struct OfPeers {
    whose: Position,
    comm: Number,
}

/// The number that a rank has for the communicator of a call.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum Number {
    /// It is not one that the program made.
    None,
    /// This one, for all ranks.
    Same(i64),
    /// That in this place of the rank's numbers.
    At(usize),
}

impl<'a> Columns<'a> {
    /// None yet.
    pub fn new(builder: &'a Builder, positions: &'a FxHashMap<(u32, u32), Position>) -> Columns<'a> {
        Columns {
            builder,
            positions,
            columns: Dictionary::default(),
            calls: Calls::default(),
            kinds: Kinds::default(),
            known: FxHashMap::default(),
        }
    }

    /// The columns, the calls of all shapes, and of which kinds these are.
    pub fn finish(self) -> (Dictionary<Vec<u8>>, Calls, Kinds) {
        (self.columns, self.calls, self.kinds)
    }

    /// The shape of some ranks, whose steps these are.
    pub fn shape(&mut self, steps: &[Step], ranks: &[u32]) -> Shape {
        let of_rank = |&rank: &u32| match self.builder.class_of[rank as usize] {
            NOTHING => &[] as &[i64],
            class => self.builder.classes.get(class).1.as_slice(),
        };
        let numbers: Vec<&[i64]> = ranks.iter().map(of_rank).collect();
        let mut differing = numbers.clone();
        differing.sort_unstable_by_key(|numbers| numbers.as_ptr());
        differing.dedup_by_key(|numbers| numbers.as_ptr());
        let group = Group { ranks, numbers, differing };
        let mut shape = Shape::default();
        self.known.clear();
        let mut at = 0;
        for &step in steps {
            let step = match step {
                Step::Call(template) => {
                    let call = self.call(template, &group, &mut at);
                    Step::Call(call)
                }
                Step::Begin => {
                    shape.counts.push(self.plain(&group, at));
                    at += 1;
                    step
                }
                Step::End => step,
            };
            shape.steps.push(step);
        }
        shape
    }

    fn call(&mut self, template: u32, group: &Group, at: &mut usize) -> u32 {
        let described: &Template = self.builder.templates.get(template);
        let (slots, begin) = (described.slots(), *at);
        let world = Position { rank: 0, peers: self.builder.ranks };
        let (whose, comm) = match described.whose() {
            Whose::Named(name) if self.builder.names.get(name) == "MPI_COMM_SELF" => (Position { rank: 0, peers: 1 }, Number::None),
            Whose::Named(_) | Whose::World => (world, Number::None),
            Whose::Made(place) => {
                let number = same(group.differing.iter().map(|numbers| numbers[begin + place]));
                (world, number.map_or(Number::At(begin + place), Number::Same))
            }
        };
        let cells: Vec<Cell> = slots
            .iter()
            .map(|slot| {
                let here = *at;
                *at += 1;
                match slot {
                    Slot::Plain => self.plain(group, here),
                    Slot::Peer => self.peers(group, here, OfPeers { whose, comm }),
                }
            })
            .collect();
        let end = *at;
        let call = self.calls.place((template, cells));
        if !self.builder.histograms.is_empty() {
            self.kinds.call(call, described, group.differing.iter().map(|numbers| &numbers[begin..end]));
        }
        call
    }

    fn plain(&mut self, group: &Group, at: usize) -> Cell {
        self.cell(group, at, None, |this| this.column(column::write(group.numbers.iter().map(|numbers| numbers[at]))))
    }

    /// The cell of a number, made if it is not known yet.
    fn cell(&mut self, group: &Group, at: usize, of: Option<OfPeers>, make: impl FnOnce(&mut Columns<'a>) -> Cell) -> Cell {
        let values: Vec<i64> = group.differing.iter().map(|numbers| numbers[at]).collect();
        if let Some(value) = same(values.iter().copied()) {
            return Cell::Same(value);
        }
        let key = (of, values);
        if let Some(&cell) = self.known.get(&key) {
            return cell;
        }
        let cell = make(self);
        self.known.insert(key, cell);
        cell
    }

    fn peers(&mut self, group: &Group, at: usize, of: OfPeers) -> Cell {
        self.cell(group, at, Some(of), |this| this.column_of_peers(group, at, of))
    }

    fn column_of_peers(&mut self, group: &Group, at: usize, of: OfPeers) -> Cell {
        let positions = self.positions;
        let world = self.builder.ranks;
        let told = group.ranks.iter().zip(&group.numbers).map(move |(&rank, numbers)| {
            let own = Position { rank, peers: world };
            let position = match of.comm {
                Number::None if of.whose.peers == world => own,
                Number::None => of.whose,
                Number::Same(number) => positions.get(&(rank, number as u32)).copied().unwrap_or(own),
                Number::At(place) => positions.get(&(rank, numbers[place] as u32)).copied().unwrap_or(own),
            };
            (Peer::of(numbers[at]).rank(position), position)
        });
        let relative = told.clone().map(|(rank, position)| Peer::relative(rank, position).number());
        let absolute = told.map(|(rank, _)| Peer::Absolute(rank).number());
        if let Some(value) = same(relative.clone()).or_else(|| same(absolute.clone())) {
            return Cell::Same(value);
        }
        let relative = column::write(relative);
        if relative.len() <= FEW {
            return self.column(relative);
        }
        let absolute = column::write(absolute);
        self.column(if absolute.len() < relative.len() { absolute } else { relative })
    }

    fn column(&mut self, column: Vec<u8>) -> Cell {
        Cell::Column(self.columns.place(column))
    }
}

/// The value that all are; `None` if they differ or there is none.
fn same(mut values: impl Iterator<Item = i64>) -> Option<i64> {
    let first = values.next()?;
    values.all(|value| value == first).then_some(first)
}
