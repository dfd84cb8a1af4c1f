//! The part of a trace that one process recorded: the calls of its ranks, folded, and what is needed to
//! understand them. Parts of several processes go to the first of them, which makes the file
//! ([`crate::builder`]).

use crate::codec::{Malformed, Put, Reader, Result};
use crate::dictionary::{Dictionary, Names};
use crate::histogram::Histogram;
use crate::steps::StepSums;
use crate::template::Template;
use crate::times;

/// Places of calls: function and site, by their places in the dictionaries, and which of the kinds of calls
/// there ([`Trace::kinds`](crate::Trace::kinds)). In a part the last number is one of [`ALL_CALLS`],
/// [`OF_BITS`] and [`IN_CONTEXT`].
pub type Place = (u32, u32, u32);

/// All calls of a place.
pub const ALL_CALLS: u32 = 0;
/// The calls of a place whose size has no bits; each bit adds 1 ([`Template::size`]).
pub const OF_BITS: u32 = 1;
/// Calls in the first context of a part; the number of another is added (`contexts.rs`).
pub const IN_CONTEXT: u32 = OF_BITS + 65;

/// A datatype of the standard.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct NamedDatatype {
    /// The name, by index.
    pub name: u32,
    /// Bytes of one element.
    pub size: u64,
    /// From one element to the next.
    pub extent: i64,
}

/// An item of a sequence, with loops by their places in [`ProcessTrace::loops`].
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Item {
    /// A call, by its place in [`ProcessTrace::calls`].
    Call(u32),
    /// A loop.
    Loop(u32),
}

/// A communicator, not the standard's own, that a rank has seen.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Seen {
    /// The rank in `MPI_COMM_WORLD`.
    pub world_rank: u32,
    /// The rank's number for it: they come in order, from 1.
    pub number: u32,
    /// Context: the communicator's number in the run, or the index of its key in
    /// [`crate::saved::Saved::keys`].
    pub context: u32,
    /// The rank in it.
    pub rank: u32,
    /// Members of the (local) group.
    pub size: u32,
    /// Ranks that messages can go to.
    pub peers: u32,
    /// World ranks of rank 0 of the (local) group and of the one that messages go to.
    pub leaders: (u32, u32),
}

/// Computation of one rank on the path between two call sites.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct PathComputation {
    /// The rank.
    pub rank: u32,
    /// Number of computations, without first times.
    pub count: u64,
    /// Sum of their lengths, in picoseconds.
    pub sum: u64,
    /// First times, which are not among those.
    pub first_count: u64,
    /// Sum of the first times.
    pub first_sum: u64,
}

/// Computation of ranks between calls of two places.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Computed {
    /// The times of all ranks, without their first ones where each rank is kept.
    pub histogram: Histogram,
    /// The first time of each rank.
    pub first: Histogram,
    /// The times by step.
    pub steps: StepSums,
    /// Each rank, if that is kept.
    pub ranks: Vec<PathComputation>,
}

impl Computed {
    /// Adds what was computed by others, or in calls of other kinds.
    pub fn merge(&mut self, other: &Computed) {
        self.histogram.merge(&other.histogram);
        self.first.merge(&other.first);
        self.steps.merge(&other.steps);
        self.ranks.extend_from_slice(&other.ranks);
        self.ranks.sort_by_key(|of| of.rank);
        self.ranks.dedup_by(|next, of| {
            let same = next.rank == of.rank;
            if same {
                of.count = of.count.saturating_add(next.count);
                of.sum = of.sum.saturating_add(next.sum);
                of.first_count = of.first_count.saturating_add(next.first_count);
                of.first_sum = of.first_sum.saturating_add(next.first_sum);
            }
            same
        });
    }

    /// Puts first times among the others, and in a step before theirs.
    pub fn join_first(&mut self) {
        let first = std::mem::take(&mut self.first);
        if first.count > 0 {
            let mut steps = StepSums::default();
            steps.push(first.count, first.sum().try_into().unwrap_or(u64::MAX));
            steps.append(&self.steps);
            self.steps = steps;
        }
        self.histogram.merge(&first);
        for of in &mut self.ranks {
            of.count = of.count.saturating_add(std::mem::take(&mut of.first_count));
            of.sum = of.sum.saturating_add(std::mem::take(&mut of.first_sum));
        }
    }

    /// Adds what was computed in later steps.
    pub fn follow(&mut self, later: &Computed) {
        let mut steps = std::mem::take(&mut self.steps);
        steps.append(&later.steps);
        self.merge(later);
        self.steps = steps;
    }

    /// Returns all times, in picoseconds.
    pub fn sum(&self) -> u128 {
        self.histogram.sum() + self.first.sum()
    }
}

/// Recording of one process.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct ProcessTrace {
    /// Ranks of the whole run.
    pub ranks: u32,
    /// Functions: names, each with its arguments' names behind it, with spaces between.
    pub functions: Names,
    /// Call sites.
    pub sites: Names,
    /// Names of objects, and texts.
    pub names: Names,
    /// Datatypes of the standard.
    pub types: Dictionary<NamedDatatype>,
    /// Calls that differ.
    pub calls: Vec<(Template, Vec<i64>)>,
    /// Loops: how often, and what; an inner loop before those it is in.
    pub loops: Vec<(u64, Vec<Item>)>,
    /// Distinct call sequences of ranks, folded into loops.
    pub classes: Vec<Vec<Item>>,
    /// Each rank that was recorded, in order, and which of these it did.
    pub ranks_of: Vec<(u32, u32)>,
    /// The communicators, by rank and number.
    pub comms: Vec<Seen>,
    /// Computation between calls of two places.
    pub histograms: Vec<(Path, Computed)>,
    /// By class: the contexts of its calls, by number, in the order in which they are visited.
    pub contexts: Vec<Vec<u32>>,
    /// Exact times, by rank.
    pub times: Vec<(u32, Vec<u8>)>,
}

impl NamedDatatype {
    /// The bytes that it takes at least.
    pub const MIN_BYTES: usize = 3;

    /// Appends it.
    pub fn write(&self, bytes: &mut Vec<u8>) {
        bytes.number(self.name.into());
        bytes.number(self.size);
        bytes.signed(self.extent);
    }

    /// Reads what [`NamedDatatype::write`] wrote, with so many names.
    ///
    /// # Errors
    /// If it is something else.
    pub fn read(reader: &mut Reader, names: usize) -> Result<NamedDatatype> {
        Ok(NamedDatatype {
            name: reader.index(names, "name")?,
            size: reader.number()?,
            extent: reader.signed()?,
        })
    }
}

/// Two places of calls that follow each other, the first of which is `None` for a rank's first call.
pub type Path = (Option<Place>, Place);

/// Appends a path: the function before as a number from 1, 0 at the beginning; without kinds where all calls
/// are of one.
pub fn write_path((from, to): Path, kinds: bool, bytes: &mut Vec<u8>) {
    let from = from.map_or((0, 0, 0), |(function, site, kind)| (function + 1, site, kind));
    for (function, site, kind) in [from, to] {
        bytes.number(function.into());
        bytes.number(site.into());
        if kinds {
            bytes.number(kind.into());
        }
    }
}

/// Reads what [`write_path`] wrote, with so many functions and sites, and so many kinds if there are several.
///
/// # Errors
/// If it is something else.
pub fn read_path(reader: &mut Reader, functions: usize, sites: usize, kinds: Option<usize>) -> Result<Path> {
    let mut place = |functions| {
        let kind = |reader: &mut Reader| kinds.map_or(Ok(0), |kinds| reader.index(kinds, "kind"));
        Ok((reader.index(functions, "function")?, reader.index(sites + 1, "site")?, kind(reader)?))
    };
    let (from, to) = (place(functions + 1)?, place(functions)?);
    Ok((from.0.checked_sub(1).map(|function| (function, from.1, from.2)), to))
}

fn write_items(bytes: &mut Vec<u8>, items: &[Item]) {
    bytes.number(items.len() as u64);
    for item in items {
        match *item {
            Item::Call(call) => bytes.number(u64::from(call) * 2),
            Item::Loop(number) => bytes.number(u64::from(number) * 2 + 1),
        }
    }
}

fn read_items(reader: &mut Reader, calls: usize, loops: usize) -> Result<Vec<Item>> {
    let item = |reader: &mut Reader| {
        let head = reader.number()?;
        let (place, end) = (head >> 1, if head & 1 == 0 { calls } else { loops });
        if place >= end as u64 {
            return reader.wrong(format!("an item {place}, but there are {end}"));
        }
        Ok(if head & 1 == 0 { Item::Call(place as u32) } else { Item::Loop(place as u32) })
    };
    let count = reader.count(1, "items")?;
    (0..count).map(|_| item(reader)).collect()
}

fn word(reader: &mut Reader) -> Result<u32> {
    let number = reader.number()?;
    u32::try_from(number).map_err(|_| Malformed { at: reader.at(), why: format!("{number} is too large") })
}

impl ProcessTrace {
    /// Appends it.
    pub fn write(&self, bytes: &mut Vec<u8>) {
        bytes.number(self.ranks.into());
        [&self.functions, &self.sites, &self.names].into_iter().for_each(|names| names.write(bytes));
        bytes.number(self.types.len() as u64);
        self.types.iter().for_each(|datatype| datatype.write(bytes));
        bytes.number(self.calls.len() as u64);
        for (template, numbers) in &self.calls {
            template.write(bytes);
            bytes.number(numbers.len() as u64);
            numbers.iter().for_each(|&number| bytes.signed(number));
        }
        bytes.number(self.loops.len() as u64);
        for (count, items) in &self.loops {
            bytes.number(*count);
            write_items(bytes, items);
        }
        bytes.number(self.classes.len() as u64);
        self.classes.iter().for_each(|items| write_items(bytes, items));
        bytes.number(self.ranks_of.len() as u64);
        for &(rank, class) in &self.ranks_of {
            bytes.number(rank.into());
            bytes.number(class.into());
        }
        bytes.number(self.comms.len() as u64);
        for seen in &self.comms {
            let Seen { world_rank, number, context, rank, size, peers, leaders } = *seen;
            [world_rank, number, context, rank, size, peers, leaders.0, leaders.1]
                .iter()
                .for_each(|&word| bytes.number(word.into()));
        }
        bytes.number(self.contexts.len() as u64);
        for contexts in &self.contexts {
            bytes.number(contexts.len() as u64);
            contexts.iter().for_each(|&context| bytes.number(context.into()));
        }
        bytes.number(self.histograms.len() as u64);
        for (path, Computed { histogram, first, steps, ranks }) in &self.histograms {
            write_path(*path, true, bytes);
            bytes.push(u8::from(histogram.count > 0) | u8::from(first.count > 0) << 1);
            [histogram, first].into_iter().filter(|some| some.count > 0).for_each(|some| some.write(bytes));
            steps.write(bytes);
            bytes.number(ranks.len() as u64);
            ranks.iter().for_each(|of| {
                [u64::from(of.rank), of.count, of.sum, of.first_count, of.first_sum]
                    .into_iter()
                    .for_each(|number| bytes.number(number))
            });
        }
        times::write(self.times.iter().map(|(rank, times)| (*rank, times.as_slice())), bytes);
    }

    /// Reads what [`ProcessTrace::write`] wrote.
    ///
    /// # Errors
    /// If it is something else.
    pub fn read(reader: &mut Reader) -> Result<ProcessTrace> {
        let ranks = word(reader)?;
        let (functions, sites, names) = (Names::read(reader)?, Names::read(reader)?, Names::read(reader)?);
        let count = reader.count(NamedDatatype::MIN_BYTES, "datatypes")?;
        let types = (0..count)
            .map(|_| NamedDatatype::read(reader, names.len()))
            .collect::<Result<Dictionary<_>>>()?;
        let ends = [functions.len(), sites.len(), names.len(), types.len()];
        let call = |reader: &mut Reader| {
            let template = Template::read(reader, ends)?;
            let count = reader.count(1, "numbers")?;
            if template.numbers() != Some(count as u64) {
                return reader.wrong("a call with other numbers than its arguments have");
            }
            Ok((template, (0..count).map(|_| reader.signed()).collect::<Result<Vec<_>>>()?))
        };
        let calls = (0..reader.count(1, "calls")?).map(|_| call(reader)).collect::<Result<Vec<_>>>()?;
        let mut loops = Vec::new();
        for place in 0..reader.count(2, "loops")? {
            loops.push((reader.number()?, read_items(reader, calls.len(), place)?));
        }
        let classes = reader.count(1, "classes")?;
        let classes =
            (0..classes).map(|_| read_items(reader, calls.len(), loops.len())).collect::<Result<Vec<_>>>()?;
        let of = |reader: &mut Reader| {
            Ok((reader.index(ranks as usize, "rank")?, reader.index(classes.len(), "class")?))
        };
        let ranks_of = (0..reader.count(2, "ranks")?).map(|_| of(reader)).collect::<Result<_>>()?;
        let seen = |reader: &mut Reader| {
            let (world_rank, number, context, rank) =
                (word(reader)?, word(reader)?, word(reader)?, word(reader)?);
            let (size, peers, leaders) = (word(reader)?, word(reader)?, (word(reader)?, word(reader)?));
            Ok(Seen { world_rank, number, context, rank, size, peers, leaders })
        };
        let comms = (0..reader.count(8, "communicators")?).map(|_| seen(reader)).collect::<Result<_>>()?;
        let of_rank = |reader: &mut Reader| {
            Ok(PathComputation {
                rank: reader.index(ranks as usize, "rank")?,
                count: reader.number()?,
                sum: reader.number()?,
                first_count: reader.number()?,
                first_sum: reader.number()?,
            })
        };
        let (mut contexts, mut known) = (Vec::new(), 0);
        for _ in 0..reader.count(1, "contexts of classes")? {
            let mut of_class = Vec::new();
            for _ in 0..reader.count(1, "contexts")? {
                // They are numbered as they come.
                let context = reader.index(known + 1, "context")?;
                known = known.max(context as usize + 1);
                of_class.push(context);
            }
            contexts.push(of_class);
        }
        if contexts.len() > classes.len() {
            return reader.wrong("contexts of more classes than there are");
        }
        let kinds = IN_CONTEXT as usize + known;
        let histogram = |reader: &mut Reader| {
            let path = read_path(reader, functions.len(), sites.len(), Some(kinds))?;
            let there = reader.byte()?;
            let mut some = |bit: u8| {
                if there & bit > 0 { Histogram::read(reader) } else { Ok(Histogram::default()) }
            };
            let (histogram, first) = (some(1)?, some(2)?);
            if !(1..=3).contains(&there) {
                return reader.wrong("a histogram without times");
            }
            let steps = StepSums::read(reader)?;
            let ranks = (0..reader.count(5, "ranks")?).map(|_| of_rank(reader)).collect::<Result<_>>()?;
            Ok((path, Computed { histogram, first, steps, ranks }))
        };
        let histograms =
            (0..reader.count(12, "histograms")?).map(|_| histogram(reader)).collect::<Result<_>>()?;
        let mut times = Vec::new();
        times::read(reader, ranks, |rank, of_rank| times.push((rank, of_rank.to_vec())))?;
        Ok(ProcessTrace {
            ranks,
            functions,
            sites,
            names,
            types,
            calls,
            loops,
            classes,
            ranks_of,
            comms,
            histograms,
            contexts,
            times,
        })
    }
}
