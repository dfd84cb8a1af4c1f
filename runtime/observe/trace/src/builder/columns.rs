//! The numbers of shapes: where ranks say different ones, a column. Ranks that are told of are made relative
//! or absolute, whichever all ranks of the shape agree in, else whichever folds to fewer bytes.

use super::kinds::Kinds;
use super::shapes::{NumberedShape, Step};
use super::{Builder, Done, NOTHING};
use crate::column;
use crate::dictionary::Dictionary;
use crate::template::{Peer, Position, Slot, Template, Whose};
use crate::trace::Cell;
use rustc_hash::FxHashMap;

/// Calls that differ: template, numbers, and what else tells them apart.
pub type Calls = Dictionary<(u32, Vec<Cell>, u32)>;

/// The turns and the bytes of a column.
pub type Told = (usize, Vec<u8>);

/// Makes columns.
pub struct Columns<'a> {
    builder: &'a Builder,
    done: &'a Done,
    positions: &'a FxHashMap<(u32, u32), Position>,
    /// With how many turns they have numbers of: a column is one of ranks or one of ranks and turns, and not
    /// both.
    columns: Dictionary<Told>,
    calls: Calls,
    kinds: Kinds<'a>,
    /// Cells of the current shape, by the values of its classes: most vectors occur several times.
    known: FxHashMap<(Option<OfPeers>, usize, Vec<i64>), Cell>,
}

/// A relative column of so few bytes is taken without a look at the absolute one.
const MAX_UNCOMPARED_BYTES: usize = 32;

/// Some ranks that go through the same steps.
struct RankColumns<'a> {
    ranks: &'a [u32],
    /// The numbers of each, or of each in each turn.
    numbers: Vec<&'a [i64]>,
    /// Numbers of each class of equal ranks, or of each class in each iteration.
    differing: Vec<&'a [i64]>,
    turns: usize,
}

impl<'a> RankColumns<'a> {
    /// Returns what they say in a call with so many numbers from `at` on in each turn of a loop that varies.
    fn by_turn(&self, at: usize, length: usize, turns: usize) -> RankColumns<'a> {
        let each = |all: &[&'a [i64]]| -> Vec<&'a [i64]> {
            all.iter()
                .flat_map(|numbers| (0..turns).map(move |turn| &numbers[at + turn * length..][..length]))
                .collect()
        };
        RankColumns {
            ranks: self.ranks,
            numbers: each(&self.numbers),
            differing: each(&self.differing),
            turns,
        }
    }

    /// Returns the ranks whose numbers these are.
    fn ranks(&self) -> impl Iterator<Item = u32> + Clone {
        self.ranks.iter().flat_map(|&rank| std::iter::repeat_n(rank, self.turns))
    }
}

/// The places of ranks among the numbers, and what they are relative to: `whose`, or what the communicator
/// `comm` is.
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
    /// The number at this index of the rank's numbers.
    At(usize),
}

impl<'a> Columns<'a> {
    /// Makes the collection without columns yet.
    pub fn new(
        builder: &'a Builder,
        done: &'a Done,
        positions: &'a FxHashMap<(u32, u32), Position>,
    ) -> Columns<'a> {
        Columns {
            builder,
            done,
            positions,
            columns: Dictionary::default(),
            calls: Calls::default(),
            kinds: Kinds::new(&builder.contexts, done.by_template),
            known: FxHashMap::default(),
        }
    }

    /// Returns the columns, the calls of all shapes, and of which kinds these are.
    pub fn finish(self) -> (Dictionary<Told>, Calls, Kinds<'a>) {
        (self.columns, self.calls, self.kinds)
    }

    /// Returns the shape of some ranks, whose steps these are.
    pub fn shape(&mut self, steps: &[Step], ranks: &[u32]) -> NumberedShape {
        let of_rank = |&rank: &u32| match self.done.class_of[rank as usize] {
            NOTHING => &[] as &[i64],
            class => self.done.classes.get(class).1.as_slice(),
        };
        let numbers: Vec<&[i64]> = ranks.iter().map(of_rank).collect();
        let mut differing = numbers.clone();
        differing.sort_unstable_by_key(|numbers| numbers.as_ptr());
        differing.dedup_by_key(|numbers| numbers.as_ptr());
        let group = RankColumns { ranks, numbers, differing, turns: 1 };
        let mut shape = NumberedShape::default();
        self.known.clear();
        let (mut at, mut turns) = (0, vec![1]);
        for &step in steps {
            shape.steps.push(match step {
                Step::Call(template) => {
                    Step::Call(self.call(template, &group, &mut at, *turns.last().expect("never empty")))
                }
                Step::Begin | Step::Varying => {
                    let count = self.plain(&group, at);
                    turns.push(if let (Step::Varying, Cell::Same(count)) = (step, count) {
                        count as usize
                    } else {
                        1
                    });
                    shape.counts.push(count);
                    at += 1;
                    step
                }
                Step::End => {
                    turns.pop();
                    step
                }
            });
        }
        shape
    }

    fn call(&mut self, template: u32, group: &RankColumns, at: &mut usize, turns: usize) -> u32 {
        let described: &Template = self.builder.templates.get(template);
        let (slots, begin) = (described.slots(), *at);
        *at += slots.len() * turns;
        let by_turn = (turns > 1).then(|| group.by_turn(begin, slots.len(), turns));
        let (group, begin) = by_turn.as_ref().map_or((group, begin), |group| (group, 0));
        let world = Position { rank: 0, peers: self.builder.ranks };
        let (whose, comm) = match described.whose() {
            Whose::Named(name) if self.builder.names.get(name) == "MPI_COMM_SELF" => {
                (Position { rank: 0, peers: 1 }, Number::None)
            }
            Whose::Named(_) | Whose::World => (world, Number::None),
            Whose::Made(place) => {
                let number = same(group.differing.iter().map(|numbers| numbers[begin + place]));
                (world, number.map_or(Number::At(begin + place), Number::Same))
            }
        };
        let cells: Vec<Cell> = (begin..)
            .zip(&slots)
            .map(|(here, slot)| match slot {
                Slot::Plain => self.plain(group, here),
                Slot::Peer => self.peers(group, here, OfPeers { whose, comm }),
            })
            .collect();
        let has_histograms = !self.builder.histograms.is_empty();
        // What is computed may tell calls apart that are the same.
        let unique = if has_histograms { self.calls.len() as u32 } else { 0 };
        let call = self.calls.place((template, cells, unique));
        if has_histograms {
            let of_ranks = group.differing.iter().map(|numbers| &numbers[begin..begin + slots.len()]);
            self.kinds.call(call, (template, described), of_ranks);
        }
        call
    }

    /// Returns the bytes of a column of these values of a group.
    fn folded(&self, group: &RankColumns, values: impl Iterator<Item = i64> + Clone) -> Vec<u8> {
        if group.ranks.len() == self.builder.ranks as usize {
            column::write_of_ranks(&values.collect::<Vec<i64>>(), group.turns)
        } else {
            column::write(values)
        }
    }

    fn plain(&mut self, group: &RankColumns, at: usize) -> Cell {
        self.cell(group, at, None, |this| {
            let column = this.folded(group, group.numbers.iter().map(|numbers| numbers[at]));
            this.column(group, column)
        })
    }

    /// Returns the cell of a number, made if it is not known yet.
    fn cell(
        &mut self,
        group: &RankColumns,
        at: usize,
        of: Option<OfPeers>,
        make: impl FnOnce(&mut Columns<'a>) -> Cell,
    ) -> Cell {
        let values: Vec<i64> = group.differing.iter().map(|numbers| numbers[at]).collect();
        if let Some(value) = same(values.iter().copied()) {
            return Cell::Same(value);
        }
        let key = (of, group.turns, values);
        if let Some(&cell) = self.known.get(&key) {
            return cell;
        }
        let cell = make(self);
        self.known.insert(key, cell);
        cell
    }

    fn peers(&mut self, group: &RankColumns, at: usize, of: OfPeers) -> Cell {
        self.cell(group, at, Some(of), |this| this.column_of_peers(group, at, of))
    }

    fn column_of_peers(&mut self, group: &RankColumns, at: usize, of: OfPeers) -> Cell {
        let positions = self.positions;
        let world = self.builder.ranks;
        let told = group.ranks().zip(&group.numbers).map(move |(rank, numbers)| {
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
        let relative = self.folded(group, relative);
        if relative.len() <= MAX_UNCOMPARED_BYTES {
            return self.column(group, relative);
        }
        let absolute = self.folded(group, absolute);
        self.column(group, if absolute.len() < relative.len() { absolute } else { relative })
    }

    fn column(&mut self, group: &RankColumns, column: Vec<u8>) -> Cell {
        Cell::Column(self.columns.place((group.turns, column)))
    }
}

/// Returns the value that all are; `None` if they differ or there is none.
fn same(mut values: impl Iterator<Item = i64>) -> Option<i64> {
    let first = values.next()?;
    values.all(|value| value == first).then_some(first)
}
