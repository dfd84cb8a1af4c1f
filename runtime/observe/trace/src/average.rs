//! Irregular all-to-all calls as regular ones: each call gets the mean count of all blocks of all ranks. What
//! differed in these counts alone is the same then, and is folded again.

use crate::assembly::Assembly;
use crate::builder::Builder;
use crate::histogram::Histogram;
use crate::part::{ALL_CALLS, Computed, Item, Path, Place};
use crate::roles::{Argument, Roles};
use crate::template::{Field, Template, Whose};
use crate::trace::{Function, Instance, RankCall, Trace};
use rustc_hash::FxHashMap;

/// The functions, and what becomes of them.
const FUNCTIONS: [(&str, &str); 2] = [("MPI_Alltoallv", "MPI_Alltoall"), ("MPI_Ialltoallv", "MPI_Ialltoall")];
/// The arguments that stay, in the order of the new call. Counts become numbers.
const ARGUMENTS: [(&str, &str); 8] = [
    ("sendbuf", "sendbuf"),
    ("sendcounts", "sendcount"),
    ("sendtype", "sendtype"),
    ("recvbuf", "recvbuf"),
    ("recvcounts", "recvcount"),
    ("recvtype", "recvtype"),
    ("comm", "comm"),
    ("request", "request"),
];

/// A call of all members of a communicator: which, and its sequence number among those there.
type Occurrence = (Option<Instance>, u64);

/// Blocks, and the sum of their counts.
#[derive(Clone, Copy, Default)]
struct Blocks {
    blocks: u128,
    elements: u128,
}

impl Blocks {
    fn add(&mut self, counts: &Argument) {
        let Field::List(_) = counts.field else { return };
        self.blocks += counts.numbers.len() as u128;
        self.elements += counts.numbers.iter().map(|&count| count.max(0) as u128).sum::<u128>();
    }

    /// Returns the mean, rounded to the nearest.
    fn mean(self) -> i64 {
        let blocks = self.blocks.max(1);
        i64::try_from((self.elements + blocks / 2) / blocks).unwrap_or(i64::MAX)
    }
}

/// Returns the trace with `MPI_Alltoall` for each `MPI_Alltoallv`, and `MPI_Ialltoall` likewise. Members of a
/// communicator make such calls in the same order, so that the means are those of one call of all. O(calls of
/// all ranks).
///
/// # Errors
/// A sentence, if the trace that this makes cannot be.
pub fn averaged(trace: &Trace) -> Result<Trace, String> {
    let mut averaging = Averaging::new(trace);
    if averaging.regular.is_empty() {
        return Ok(trace.clone());
    }
    for rank in 0..trace.ranks {
        averaging.count(rank);
    }
    for rank in 0..trace.ranks {
        averaging.rewrite(rank);
    }
    averaging.finish()
}

struct Averaging<'t> {
    trace: &'t Trace,
    roles: Vec<Roles>,
    /// By function: the regular one.
    regular: FxHashMap<u32, u32>,
    blocks: FxHashMap<Occurrence, Blocks>,
    templates: Vec<Template>,
    assembly: Assembly,
}

impl<'t> Averaging<'t> {
    fn new(trace: &'t Trace) -> Averaging<'t> {
        let mut assembly = Assembly::of(trace);
        let mut regular = FxHashMap::default();
        for (number, function) in (0..).zip(&trace.functions) {
            let Some((_, name)) = FUNCTIONS.iter().find(|(name, _)| *name == function.name) else { continue };
            let there = |(old, _): &&(&str, &str)| function.arguments.iter().any(|argument| argument == old);
            let arguments = ARGUMENTS.iter().filter(there).map(|(_, new)| (*new).to_owned()).collect();
            regular.insert(number, assembly.function(&Function { name: (*name).to_owned(), arguments }));
        }
        Averaging {
            trace,
            roles: trace.templates.iter().map(|template| Roles::of(trace, template)).collect(),
            regular,
            blocks: FxHashMap::default(),
            templates: trace.templates.clone(),
            assembly,
        }
    }

    /// Returns the communicator of an event; `None` is `MPI_COMM_WORLD`.
    fn comm(&self, rank: u32, event: &RankCall) -> Option<Instance> {
        let Whose::Made(place) = event.template.whose() else { return None };
        let number = u32::try_from(event.numbers[place]).unwrap_or(0);
        self.trace.comms.instance(rank, number).map(|(own, ..)| own)
    }

    /// Returns the number of a call's template.
    fn template(&self, event: &RankCall) -> u32 {
        self.trace.calls[event.call() as usize].0
    }

    /// Adds the counts of a rank's calls.
    fn count(&mut self, rank: u32) {
        let trace = self.trace;
        let view = trace.rank(rank);
        let mut calls: FxHashMap<Option<Instance>, u64> = FxHashMap::default();
        for event in view.calls().filter(|event| self.regular.contains_key(&event.template.function)) {
            let template = self.template(&event) as usize;
            let comm = self.comm(rank, &event);
            let number = calls.entry(comm).or_default();
            let blocks = self.blocks.entry((comm, *number)).or_default();
            *number += 1;
            let roles = &self.roles[template];
            for name in ["sendcounts", "recvcounts"] {
                if let Some(counts) = roles.find(&event, name) {
                    blocks.add(&counts);
                }
            }
        }
    }

    /// Puts a rank's calls into the new trace.
    fn rewrite(&mut self, rank: u32) {
        let trace = self.trace;
        let view = trace.rank(rank);
        let mut calls: FxHashMap<Option<Instance>, u64> = FxHashMap::default();
        let mut items = Vec::new();
        for event in view.calls() {
            let template = self.template(&event);
            let Some(&function) = self.regular.get(&event.template.function) else {
                items.push(self.assembly.call(template, event.numbers.to_vec()));
                continue;
            };
            let comm = self.comm(rank, &event);
            let number = calls.entry(comm).or_default();
            let mean = self.blocks[&(comm, *number)].mean();
            *number += 1;
            items.push(self.regular_call(&event, template, function, mean));
        }
        let items = self.assembly.folded(&items);
        self.assembly.keep(rank, items, self.trace.times.get(&rank).cloned());
    }

    fn regular_call(&mut self, event: &RankCall, template: u32, function: u32, mean: i64) -> Item {
        let roles = &self.roles[template as usize];
        let (mut fields, mut numbers) = (Vec::new(), Vec::new());
        for (name, _) in ARGUMENTS {
            let Some(argument) = roles.find(event, name) else { continue };
            if name.ends_with("counts") {
                fields.push(Field::Count);
                numbers.push(mean);
            } else {
                fields.push(argument.field.clone());
                numbers.extend_from_slice(argument.numbers);
            }
        }
        let regular = Template { function, fields, ..event.template.clone() };
        let number = self.templates.iter().position(|known| *known == regular).unwrap_or_else(|| {
            self.templates.push(regular);
            self.templates.len() - 1
        });
        self.assembly.call(number as u32, numbers)
    }

    fn finish(mut self) -> Result<Trace, String> {
        let place = |(function, site, _): Place| {
            (self.regular.get(&function).copied().unwrap_or(function), site, ALL_CALLS)
        };
        let mut histograms: Vec<(Path, Computed)> = Vec::new();
        for ((from, to), summary) in &self.trace.histograms {
            let computed = Computed { histogram: Histogram::of(summary), ..Computed::default() };
            histograms.push(((from.map(&place), place(*to)), computed));
        }
        self.assembly.add_computed(histograms);
        let mut builder = Builder::new(self.trace.ranks);
        builder.add(self.assembly.finish(&self.templates));
        Trace::read(&builder.finish())
    }
}
