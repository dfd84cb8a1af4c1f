//! From traces of a program at several rank counts to a trace at another, after X. Wu and F. Mueller,
//! "ScalaExtrap: trace-based communication extrapolation for SPMD programs" (PPoPP 2011).
//!
//! What ranks do is brought into a form in which ranks and rank counts can be compared (`sequence.rs`):
//! places of the program with their turns. Places that all have, or all of a kind (`family`), are one
//! (`align`, `plan`).
//!
//! The number of passes and the arguments of their calls are numbers for which a rule is sought that gives
//! all of them exactly (`quantity`, `linear`). A rule is in the rank, its position in a grid and the
//! iteration, with factors that are formulas in the rank count (the crate `fit`). Before a result is given
//! the plan has to make each of the traces again (`emit`).
//!
//! What follows no rule is refused by name: a trace that is nearly right is of no use, because one message
//! without a receiver stops a replay.

mod align;
mod common;
mod comms;
mod compute;
mod emit;
mod family;
mod linear;
mod plan;
mod quantity;
mod sequence;

use common::{Dictionaries, Renamed, Site};
use comms::Comms;
use emit::EmitContext;
use family::{Family, Grids};
use plan::{Planner, RankElements};
use rustc_hash::FxHashSet;
use sequence::SequenceElement;
use trace::Trace;
use trace::builder::Builder;
use trace::part::ProcessTrace;
use trace::template::{Position, Template};

/// The fewest rank counts: a formula of two numbers goes through any two.
pub const FEWEST: usize = 3;

/// A trace that was extrapolated.
#[derive(Clone, Debug)]
pub struct Extrapolated {
    /// The bytes of its file.
    pub file: Vec<u8>,
    /// Sentences about the trace that its user should read.
    pub notes: Vec<String>,
}

/// Returns the trace of `ranks` ranks that traces of a program at other rank counts are of one family with.
/// O(ranks of all, times what a rank does folded).
///
/// # Errors
/// A sentence: there are too few traces, they are not of one program, or a call (with its place) does what
/// follows no rule.
pub fn extrapolate(traces: &[Trace], ranks: u32) -> Result<Extrapolated, String> {
    let mut traces: Vec<&Trace> = traces.iter().collect();
    traces.sort_by_key(|trace| trace.ranks);
    check(&traces)?;
    let counts: Vec<u32> = traces.iter().map(|trace| trace.ranks).collect();
    let mut common = Dictionaries::default();
    let renamed: Vec<Renamed> = traces.iter().map(|trace| common.add(trace)).collect();
    agree(&common, &traces, &renamed)?;
    let mut elements = Vec::with_capacity(traces.len());
    for (trace, renamed) in traces.iter().zip(&renamed) {
        let of_rank = |rank| sequence::elements(&mut common, renamed, &trace.rank(rank));
        elements.push((0..trace.ranks).map(of_rank).collect::<Vec<_>>());
    }
    let mut groups = FxHashSet::default();
    elements.iter().flatten().for_each(|elements| sequence::bodies(elements, &mut groups));
    elements.iter_mut().flatten().for_each(|elements| sequence::regroup(&mut common, &groups, elements));
    let recorded =
        ComparableTraces { traces: &traces, common: &common, renamed: &renamed, elements: &elements };
    let by = |grids: Grids| recorded.part(&Family::new(&counts, ranks, grids));
    let mut part =
        match by(Grids::Regular) {
            Ok(part) => part,
            Err(why) => match (by(Grids::Balanced(3)), by(Grids::Balanced(2))) {
                (Ok(solid), Ok(flat)) if file(solid.clone()) != file(flat.clone()) => {
                    return Err(
                    "grids of two and of three dimensions explain all traces, and differ on the ranks that \
                     are wanted".to_owned());
                }
                (Ok(part), _) | (_, Ok(part)) => part,
                // What is wrong with the simplest rules says most.
                _ => return Err(why),
            },
        };
    let mut histograms = Vec::with_capacity(traces.len());
    for (trace, renamed) in traces.iter().zip(&renamed) {
        histograms.push(
            compute::of_trace(trace, renamed)
                .map_err(|why| format!("the trace of {} ranks: {why}", trace.ranks))?,
        );
    }
    let notes;
    (part.histograms, notes) = compute::extrapolate(&common, &counts, &histograms, ranks);
    Ok(Extrapolated { file: file(part), notes })
}

/// Traces in a form in which they can be compared.
struct ComparableTraces<'a> {
    traces: &'a [&'a Trace],
    common: &'a Dictionaries,
    renamed: &'a [Renamed],
    /// By trace, by rank.
    elements: &'a [Vec<Vec<SequenceElement>>],
}

impl ComparableTraces<'_> {
    /// Returns what ranks do at the count that is wanted, times aside, by rules that make all traces again.
    fn part(&self, family: &Family) -> Result<ProcessTrace, String> {
        let hint = |why: String| {
            family.stranger().map_or_else(|| why.clone(), |stranger| format!("{why}; {stranger}"))
        };
        let member = |run: usize, rank: u32, number: u32| {
            let member = self.traces[run].comms.member(rank, number)?;
            Some(Position { rank: member.rank, peers: member.peers })
        };
        let templates: Vec<&[(Template, u32)]> =
            self.renamed.iter().map(|renamed| renamed.templates.as_slice()).collect();
        let planner = Planner { family, common: self.common, templates, member: &member };
        let mut doing = Vec::new();
        for (run, ranks) in self.elements.iter().enumerate() {
            doing.extend((0..).zip(ranks).map(|(rank, elements)| RankElements {
                run,
                rank,
                index: linear::Index::new(),
                elements,
            }));
        }
        let plan = planner.plan(&doing).map_err(hint)?;
        let comms = Comms::plan(family, self.traces).map_err(hint)?;
        let whole = EmitContext { family, common: self.common, plan: &plan, comms: &comms };
        for (run, trace) in self.traces.iter().enumerate() {
            reproduced(trace, emit::part(&whole, run).map_err(hint)?)?;
        }
        emit::part(&whole, family.wanted()).map_err(hint)
    }
}

fn file(part: ProcessTrace) -> Vec<u8> {
    let mut builder = Builder::new(part.ranks);
    builder.add(part);
    builder.finish()
}

/// Checks that there are enough traces, of different rank counts, and that all or none of them have
/// computation times.
fn check(traces: &[&Trace]) -> Result<(), String> {
    if let Some(pair) = traces.windows(2).find(|pair| pair[0].ranks == pair[1].ranks) {
        return Err(format!(
            "two traces have {} ranks each: each is to have another rank count",
            pair[0].ranks
        ));
    }
    if traces.len() < FEWEST {
        let (there, them) = (traces.len(), if traces.len() == 1 { "trace is" } else { "traces are" });
        return Err(format!(
            "{there} {them} too few: formulas in the rank count need {FEWEST} of different counts, two to be \
             found and one to be tested"
        ));
    }
    let timed = |trace: &&&Trace| !trace.histograms.is_empty() || !trace.times.is_empty();
    match (traces.iter().find(timed), traces.iter().find(|trace| !timed(trace))) {
        (Some(with), Some(without)) => Err(format!(
            "the trace of {} ranks says what was computed and that of {} ranks does not: record all with the \
             same -xsim-trace-times and -xsim-compute",
            with.ranks, without.ranks
        )),
        _ => Ok(()),
    }
}

/// Checks that all traces call the same functions at the same call sites.
fn agree(common: &Dictionaries, traces: &[&Trace], renamed: &[Renamed]) -> Result<(), String> {
    let places = |renamed: &Renamed| {
        renamed
            .templates
            .iter()
            .map(|(template, _)| (template.function, template.site))
            .collect::<FxHashSet<Site>>()
    };
    let all: Vec<FxHashSet<Site>> = renamed.iter().map(places).collect();
    for (trace, these) in traces.iter().zip(&all) {
        for (other, those) in traces.iter().zip(&all) {
            if let Some(&place) = these.difference(those).min() {
                return Err(format!(
                    "{}: it is called on {} ranks and not on {}: the traces are not of one program and \
                     input, or one of them has too few ranks to do all that others do",
                    common.place(place),
                    trace.ranks,
                    other.ranks
                ));
            }
        }
    }
    Ok(())
}

/// Checks that a trace equals the part that the plan makes for its rank count.
fn reproduced(trace: &Trace, part: ProcessTrace) -> Result<(), String> {
    let again = Trace::read(&file(part))?;
    let mut different = Vec::new();
    let is_same = trace::diff::diff(trace, &again, &mut different).map_err(|why| why.to_string())?;
    if is_same {
        return Ok(());
    }
    Err(format!(
        "the rules that were found do not make the trace of {} ranks again: {}",
        trace.ranks,
        String::from_utf8_lossy(&different)
    ))
}
