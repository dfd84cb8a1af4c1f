//! The plan of what ranks do at any rank count: the places of the program in order, how often each is passed,
//! and the rules of its numbers.
//!
//! A plan holds for some ranks of all runs. Where these do not go through the same places, or not equally
//! often, they are parted by their kind ([`crate::family::Partition`]), the coarsest partition first whose
//! kinds each are alike in all traces. What no partition parts is a place that ranks pass so often as a rule
//! says, which may be never.

use crate::align::align;
use crate::common::Dictionaries;
use crate::family::Family;
use crate::linear::{Index, SamplePoint};
use crate::quantity::{self, NumberMeaning, Quantity, Row, split};
use crate::sequence::{ElementIterations, Said, SequenceElement};
use fit::exact::Unfit;
use std::collections::BTreeMap;
use trace::template::{Field, Peer, Position, Slot, Template};

/// Places in order.
#[derive(Debug)]
pub enum SequencePlan {
    /// All ranks have these.
    Sequence(Vec<PlannedSite>),
    /// By class of the partition in this place.
    Split(usize, BTreeMap<i64, SequencePlan>),
}

/// A call site of the program and how it is passed.
#[derive(Debug)]
pub struct PlannedSite {
    /// [`Dictionaries::key`].
    pub key: u32,
    /// The passage of ranks through it.
    pub passed: Passed,
}

/// The passages of a place: their number and what each does.
#[derive(Debug)]
pub enum Passed {
    /// Not at all.
    Never,
    /// Equally many turns that differ: each so often.
    Each(Vec<(Quantity, Content)>),
    /// So often, with numbers that follow from the turn.
    Counted(Quantity, Box<Content>),
    /// By class of the partition in this place.
    Split(usize, BTreeMap<i64, Passed>),
}

/// The contents of a place.
#[derive(Debug)]
pub enum Content {
    /// A call, with the numbers of its fields.
    Call(Vec<FieldValues>),
    /// Places.
    Group(SequencePlan),
}

/// The numbers of a field.
#[derive(Debug)]
pub enum FieldValues {
    /// Numbers of one value.
    Fixed(Vec<Quantity>),
    /// Numbers of an array: of each of its runs of elements of one kind.
    Runs(Vec<Elements>),
}

/// The numbers of elements of one kind.
#[derive(Debug)]
pub enum Elements {
    /// Always as many: for each its numbers.
    Each(Vec<Vec<Quantity>>),
    /// So many, with numbers that follow from the place in the array.
    Counted(Quantity, Vec<Quantity>),
    /// By class of the partition in this place.
    Split(usize, BTreeMap<i64, Elements>),
}

/// The elements of a rank on a run.
#[derive(Clone, Debug)]
pub struct RankElements<'a> {
    /// On which run.
    pub run: usize,
    /// The rank.
    pub rank: u32,
    /// Turns of the loops around.
    pub index: Index,
    /// The elements.
    pub elements: &'a [SequenceElement],
}

/// An element of a rank that may have none.
#[derive(Clone)]
struct Has<'a> {
    run: usize,
    rank: u32,
    index: Index,
    element: Option<&'a SequenceElement>,
}

/// A call of a rank.
#[derive(Clone)]
struct Calling<'a> {
    run: usize,
    rank: u32,
    index: Index,
    said: &'a Said,
}

/// Turns that are told one by one; of more only those that differ from their neighbours, and their ends.
const TOLD: u64 = 4096;

/// Finds plans.
pub struct Planner<'a> {
    /// The rank counts.
    pub family: &'a Family,
    /// The dictionaries.
    pub common: &'a Dictionaries,
    /// The templates of each run, in the common dictionaries.
    pub templates: Vec<&'a [(Template, u32)]>,
    /// Position of a rank in one of its communicators, by run, rank and the communicator's number.
    pub member: &'a dyn Fn(usize, u32, u32) -> Option<Position>,
}

impl<'a> Planner<'a> {
    /// Returns what these ranks do. They are ordered by run. O(their numbers), times the rules that are
    /// tried.
    ///
    /// # Errors
    /// A sentence with the call that has no rule.
    pub fn plan(&self, doing: &[RankElements<'a>]) -> Result<SequencePlan, String> {
        let keys =
            |doing: &RankElements| doing.elements.iter().map(|element| element.key).collect::<Vec<u32>>();
        let mut different: Vec<Vec<u32>> = doing.iter().map(keys).collect();
        let of_rank = different.clone();
        different.sort_unstable();
        different.dedup();
        if let [keys] = &different[..] {
            let places = (0..keys.len()).map(|at| {
                let has = |doing: &RankElements<'a>| has(doing, Some(&doing.elements[at]));
                self.place(keys[at], &doing.iter().map(has).collect::<Vec<_>>())
            });
            return Ok(SequencePlan::Sequence(places.collect::<Result<_, _>>()?));
        }
        let all: Vec<usize> = (0..doing.len()).collect();
        let alike = |rows: &[usize]| rows.iter().all(|&row| of_rank[row] == of_rank[rows[0]]);
        if let Some((partition, classes)) = self.parted(&all, |row| (doing[row].run, doing[row].rank), alike)
        {
            let plan = |rows: Vec<usize>| {
                self.plan(&rows.into_iter().map(|row| doing[row].clone()).collect::<Vec<_>>())
            };
            let plans = classes.into_iter().map(|(class, rows)| Ok((class, plan(rows)?)));
            return Ok(SequencePlan::Split(partition, plans.collect::<Result<_, String>>()?));
        }
        let Some(aligned) = align(&different) else {
            return Err("ranks do what is too long and too different to be compared".to_owned());
        };
        let of_rank: Vec<&Vec<usize>> =
            of_rank.iter().map(|keys| &aligned.places[different.binary_search(keys).unwrap_or(0)]).collect();
        let places = (0..aligned.keys.len()).map(|at| {
            let one = |(doing, places): (&RankElements<'a>, &&Vec<usize>)| {
                has(doing, places.binary_search(&at).ok().map(|place| &doing.elements[place]))
            };
            self.place(aligned.keys[at], &doing.iter().zip(&of_rank).map(one).collect::<Vec<_>>())
        });
        Ok(SequencePlan::Sequence(places.collect::<Result<_, _>>()?))
    }

    /// Returns the first partition whose classes are all `good`.
    fn parted<R: Copy>(
        &self,
        rows: &[R],
        place: impl Fn(R) -> (usize, u32) + Copy,
        good: impl Fn(&[R]) -> bool,
    ) -> Option<(usize, BTreeMap<i64, Vec<R>>)> {
        (0..self.family.partitions.len()).find_map(|partition| {
            let classes = split(self.family, partition, rows, place)?;
            classes.values().all(|rows| good(rows)).then_some((partition, classes))
        })
    }

    fn place(&self, key: u32, has: &[Has<'a>]) -> Result<PlannedSite, String> {
        Ok(PlannedSite { key, passed: self.passed(key, &has.iter().collect::<Vec<_>>())? })
    }

    fn passed(&self, key: u32, has: &[&Has<'a>]) -> Result<Passed, String> {
        let entries = |has: &Has| has.element.map_or(0, |element| element.turns.entries());
        let alike = |rows: &[&Has<'a>]| rows.iter().all(|row| entries(row) == entries(rows[0]));
        if alike(has) {
            return self.each(key, has, entries(has[0]));
        }
        let place = |row: &Has<'a>| (row.run, row.rank);
        if let Some((partition, classes)) = self.parted(has, place, alike) {
            return self.split_passed(key, partition, classes);
        }
        let counted =
            |rows: &[&Has<'a>]| quantity::fit(self.family, &self.totals(rows), NumberMeaning::Plain);
        let why = match counted(has) {
            Ok(count) => return Ok(Passed::Counted(count, Box::new(self.turns(key, has)?))),
            Err(why) => why,
        };
        match self.parted(has, place, |rows| alike(rows) || counted(rows).is_ok()) {
            Some((partition, classes)) => self.split_passed(key, partition, classes),
            None => Err(self.refusal(key, "how often it is called there", &why, &self.totals(has))),
        }
    }

    fn split_passed(
        &self,
        key: u32,
        partition: usize,
        classes: BTreeMap<i64, Vec<&Has<'a>>>,
    ) -> Result<Passed, String> {
        let passed = classes.into_iter().map(|(class, rows)| Ok((class, self.passed(key, &rows)?)));
        Ok(Passed::Split(partition, passed.collect::<Result<_, String>>()?))
    }

    /// Returns how often ranks pass a place.
    fn totals(&self, has: &[&Has]) -> Vec<Row> {
        let total = |row: &&Has| {
            self.row(
                row.run,
                row.rank,
                &row.index,
                row.element.map_or(0, |element| element.turns.total() as i64),
            )
        };
        has.iter().map(total).collect()
    }

    fn row(&self, run: usize, rank: u32, index: &Index, value: i64) -> Row {
        let position = Position { rank, peers: self.family.counts[run] };
        Row { at: SamplePoint { run, rank, index: index.clone(), position }, value }
    }

    /// Returns the rules of an element with so many `entries` of turns that differ for all: how often each
    /// comes, and what is in it.
    fn each(&self, key: u32, has: &[&Has<'a>], entries: usize) -> Result<Passed, String> {
        if entries == 0 {
            return Ok(Passed::Never);
        }
        let elements: Vec<(&Has<'a>, &'a SequenceElement)> =
            has.iter().filter_map(|row| Some((*row, row.element?))).collect();
        let one = |entry: usize| {
            let rows: Vec<Row> = elements
                .iter()
                .map(|(row, element)| {
                    self.row(row.run, row.rank, &row.index, element.turns.times(entry) as i64)
                })
                .collect();
            let times = quantity::fit(self.family, &rows, NumberMeaning::Plain)
                .map_err(|why| self.refusal(key, "how often it is called there", &why, &rows))?;
            let at = |&(row, element): &(&Has<'a>, &'a SequenceElement)| {
                (row.run, row.rank, row.index.clone(), element, entry)
            };
            Ok((times, self.content(key, elements.iter().map(at))?))
        };
        Ok(Passed::Each((0..entries).map(one).collect::<Result<_, String>>()?))
    }

    /// Returns what is at a place in all turns, which are the last index.
    fn turns(&self, key: u32, has: &[&Has<'a>]) -> Result<Content, String> {
        let turns = has.iter().filter_map(|row| Some((row, row.element?))).flat_map(|(row, element)| {
            let mut turns = Vec::new();
            let mut turn = 0;
            for entry in 0..element.turns.entries() {
                let times = element.turns.times(entry);
                let ends = [turn, turn + times.saturating_sub(1)];
                let told = if times > TOLD { ends.to_vec() } else { (turn..turn + times).collect() };
                turns.extend(told.into_iter().map(|turn| {
                    let mut index = row.index.clone();
                    index.push(turn as i64);
                    (row.run, row.rank, index, element, entry)
                }));
                turn += times;
            }
            turns
        });
        self.content(key, turns)
    }

    fn content(
        &self,
        key: u32,
        turns: impl Iterator<Item = (usize, u32, Index, &'a SequenceElement, usize)>,
    ) -> Result<Content, String> {
        let (mut calls, mut groups) = (Vec::new(), Vec::new());
        for (run, rank, index, element, entry) in turns {
            match &element.turns {
                ElementIterations::Calls(turns) => {
                    calls.push(Calling { run, rank, index, said: &turns[entry].1 })
                }
                ElementIterations::Groups(turns) => {
                    groups.push(RankElements { run, rank, index, elements: &turns[entry].1 })
                }
            }
        }
        if calls.is_empty() {
            Ok(Content::Group(self.plan(&groups)?))
        } else {
            Ok(Content::Call(self.call(key, &calls)?))
        }
    }

    fn call(&self, key: u32, calls: &[Calling<'a>]) -> Result<Vec<FieldValues>, String> {
        let (_, kind) = &self.templates[calls[0].run][calls[0].said.0 as usize];
        let kind = self.common.kind(*kind);
        // Where in each call's numbers the next field begins.
        let mut at = vec![0usize; calls.len()];
        let mut all = Vec::with_capacity(kind.fields.len());
        for ((number, field), name) in
            kind.fields.iter().enumerate().zip(self.common.arguments(self.kind_of(&calls[0])))
        {
            let slots = |field: &Field| {
                let mut slots = Vec::new();
                field.slots(&mut slots);
                slots
            };
            let Field::List(runs) = field else {
                let found = slots(field).into_iter().map(|slot| {
                    let rows: Vec<Row> =
                        calls.iter().zip(&mut at).map(|(call, at)| self.number(call, slot, at)).collect();
                    self.quantity(key, &format!("its argument {name}"), &rows, slot)
                });
                all.push(FieldValues::Fixed(found.collect::<Result<_, _>>()?));
                continue;
            };
            let mut of_runs = Vec::with_capacity(runs.len());
            for (run, (_, element)) in runs.iter().enumerate() {
                let slots = slots(element);
                let lengths: Vec<u64> = calls.iter().map(|call| self.length(call, number, run)).collect();
                let all: Vec<(usize, usize)> = (0..calls.len()).map(|call| (call, at[call])).collect();
                let array = Array { key, name, slots: &slots, calls, lengths: &lengths };
                of_runs.push(self.elements(&array, &all)?);
                at.iter_mut().zip(&lengths).for_each(|(at, &length)| *at += length as usize * slots.len());
            }
            all.push(FieldValues::Runs(of_runs));
        }
        Ok(all)
    }

    fn kind_of(&self, call: &Calling) -> u32 {
        self.templates[call.run][call.said.0 as usize].1
    }

    /// Elements of a run of an argument.
    fn length(&self, call: &Calling, field: usize, run: usize) -> u64 {
        match &self.templates[call.run][call.said.0 as usize].0.fields[field] {
            Field::List(runs) => runs[run].0,
            _ => 0,
        }
    }

    /// Returns the next number of a call.
    fn number(&self, call: &Calling, slot: Slot, at: &mut usize) -> Row {
        *at += 1;
        self.value(call, slot, *at - 1, None)
    }

    fn value(&self, call: &Calling, slot: Slot, at: usize, place: Option<i64>) -> Row {
        let mut row = self.row(call.run, call.rank, &call.index, call.said.1[at]);
        row.at.index.extend(place);
        if slot == Slot::Peer {
            let template = &self.templates[call.run][call.said.0 as usize].0;
            let member = |number: u32| (self.member)(call.run, call.rank, number);
            row.at.position = self.common.position(template, &call.said.1, row.at.position, member);
            row.value = Peer::of(row.value).rank(row.at.position).into();
        }
        row
    }

    fn elements(&self, array: &Array<'a, '_>, rows: &[(usize, usize)]) -> Result<Elements, String> {
        let length = |row: &(usize, usize)| array.lengths[row.0];
        let alike = |rows: &[(usize, usize)]| rows.iter().all(|row| length(row) == length(&rows[0]));
        let named = |place: u64| format!("element {place} of its argument {}", array.name);
        let of = |slot: usize, place: u64, row: &(usize, usize), index: Option<i64>| {
            self.value(
                &array.calls[row.0],
                array.slots[slot],
                row.1 + place as usize * array.slots.len() + slot,
                index,
            )
        };
        if alike(rows) {
            let element = |place: u64| {
                let slot = |slot: usize| {
                    let rows: Vec<Row> = rows.iter().map(|row| of(slot, place, row, None)).collect();
                    self.quantity(array.key, &named(place), &rows, array.slots[slot])
                };
                (0..array.slots.len()).map(slot).collect::<Result<Vec<_>, _>>()
            };
            // Of what has no numbers only how many there are matters.
            return Ok(Elements::Each((0..length(&rows[0])).map(element).collect::<Result<_, _>>()?));
        }
        if let Some((partition, classes)) =
            self.parted(rows, |row| (array.calls[row.0].run, array.calls[row.0].rank), alike)
        {
            let classes = classes.into_iter().map(|(class, rows)| Ok((class, self.elements(array, &rows)?)));
            return Ok(Elements::Split(partition, classes.collect::<Result<_, String>>()?));
        }
        let lengths = rows.iter().map(|row| {
            let call = &array.calls[row.0];
            self.row(call.run, call.rank, &call.index, length(row) as i64)
        });
        let count = self.quantity(
            array.key,
            &format!("the length of its argument {}", array.name),
            &lengths.collect::<Vec<_>>(),
            Slot::Plain,
        )?;
        let slot = |slot: usize| {
            let places = rows.iter().flat_map(|row| (0..length(row)).map(move |place| (row, place)));
            let rows: Vec<Row> =
                places.map(|(row, place)| of(slot, place, row, Some(place as i64))).collect();
            self.quantity(
                array.key,
                &format!("the elements of its argument {}", array.name),
                &rows,
                array.slots[slot],
            )
        };
        Ok(Elements::Counted(count, (0..array.slots.len()).map(slot).collect::<Result<_, _>>()?))
    }

    fn quantity(&self, key: u32, name: &str, rows: &[Row], slot: Slot) -> Result<Quantity, String> {
        let what = if slot == Slot::Peer { NumberMeaning::Peer } else { NumberMeaning::Plain };
        quantity::fit(self.family, rows, what).map_err(|why| self.refusal(key, name, &why, rows))
    }

    /// Returns the sentence that a number of a call site has no rule.
    fn refusal(&self, key: u32, name: &str, why: &Unfit, rows: &[Row]) -> String {
        let why = match why {
            Unfit::NoFormula => {
                "no formula in the rank, its place in a grid and the rank count gives it".to_owned()
            }
            Unfit::NoValue(term) => {
                format!(
                    "it goes by {term}, which is no whole number on {} ranks",
                    self.family.counts[self.family.wanted()]
                )
            }
            Unfit::Ambiguous(one, other) => {
                format!(
                    "it goes by {one} or by {other}, and these differ on {} ranks",
                    self.family.counts[self.family.wanted()]
                )
            }
        };
        let shown = |run: usize| {
            let rows: Vec<&Row> = rows.iter().filter(|row| row.at.run == run).collect();
            let row = rows.get(rows.len() / 2)?;
            Some(format!("{} for rank {} of {}", row.value, row.at.rank, self.family.counts[run]))
        };
        let shown: Vec<String> = (0..self.family.wanted()).filter_map(shown).collect();
        format!("{}: {name}: {why} ({})", self.common.shown(key), shown.join(", "))
    }
}

/// Elements of one kind in an array that is an argument of calls.
struct Array<'a, 'b> {
    key: u32,
    name: &'b str,
    slots: &'b [Slot],
    calls: &'b [Calling<'a>],
    lengths: &'b [u64],
}

fn has<'a>(doing: &RankElements<'a>, element: Option<&'a SequenceElement>) -> Has<'a> {
    Has { run: doing.run, rank: doing.rank, index: doing.index.clone(), element }
}
