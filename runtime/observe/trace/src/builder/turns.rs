//! Loops whose turns say other numbers: a loop of the program is one however its numbers change, and ranks
//! that make the same calls in the same order become one shape.
//!
//! A recorder folds what recurs with the same numbers, and so ends a loop of the program where a number
//! changes. In BT and SP each rank comes to the edge of the grid in another stage of its sweeps, and each has
//! loops of its own. Here calls are folded once more, by their templates alone. The numbers of each rank in
//! each iteration then stand in columns, as functions of the ranks' positions if there are any
//! ([`crate::column`]).

mod layout;
mod walk;

use super::shapes::Step;
use super::{Builder, Done, NOTHING};
use crate::dictionary::Dictionary;
use crate::fold::{self, Cursor, FoldKind, Grammar};
use crate::template::Template;
use crate::trace::{MAX_ITERATIONS, MAX_VALUES, MAX_VARYING_CALLS};
use indexmap::IndexSet;
use layout::{IterationSet, LoopNest, Numbers, calls_by_turn, lay_out, nested};
use rustc_hash::{FxBuildHasher, FxHashMap};
use std::cell::Cell;
use std::collections::BTreeSet;
use walk::{ClassWalk, Lane, Recorded};

/// Calls that are looked at one by one, of all classes, at most.
const MAX_VISITED_CALLS: u64 = 1 << 26;
/// By how many bits the sizes of a call may differ between turns where there are histograms. What is computed
/// goes by sizes, and they tell the calls of the file from each other alone ([`super::kinds`]).
const MAX_SIZE_BITS: u32 = 2;
/// Numbers of a call whose turns may differ.
const MAX_NUMBERS: usize = 256;
/// Calls of all classes of a group: more take too much memory to be looked at.
const MAX_LANES: u64 = 1 << 21;
/// So many values of a column are few.
const MIN_VALUES: u64 = 1 << 20;
/// So many turns that differ, without loops within them, are no loop: they stand one behind the other.
const MAX_SEPARATE: u64 = 2;
/// Turns that stand one behind the other where that is so, at most, and loops of a group.
const MAX_UNROLLED: u64 = 64;
/// Turns of a loop that stand one behind the other since they differ in other turns of an outer one, at most.
const MAX_INNER: u64 = 8;

type Classes = IndexSet<u32, FxBuildHasher>;

/// Returns what ranks did, with loops whose turns differ, and one shape for all that make the same calls;
/// `None` if nothing is to be told so.
pub fn together(builder: &Builder) -> Option<Done> {
    let done = &builder.done;
    // In the order of ranks, which is the same on any number of processes.
    let used: Classes = done.class_of.iter().copied().filter(|&class| class != NOTHING).collect();
    let lengths = builder.templates.iter().map(|template| template.numbers().unwrap_or(0) as usize).collect();
    let mut folder = Folder { builder, lengths, grammar: Grammar::default(), looked_at: Cell::new(0) };
    // Ranks that go through the same loops as often do the same by templates.
    let mut recorded: Dictionary<(u32, Vec<u64>)> = Dictionary::default();
    let recorded_of: Vec<u32> =
        used.iter().map(|&class| recorded.place((done.classes.get(class).0, folder.counts(class)))).collect();
    let mut groups: Dictionary<Vec<Step>> = Dictionary::default();
    let mut folded: Vec<(u32, Vec<u64>)> = Vec::new();
    for (shape, counts) in recorded.iter() {
        let (steps, counts) = folder.fold(*shape, counts);
        folded.push((groups.place(steps), counts));
    }
    let mut shapes_of: Vec<BTreeSet<u32>> = vec![BTreeSet::new(); groups.len()];
    for ((shape, _), (group, _)) in recorded.iter().zip(&folded) {
        shapes_of[*group as usize].insert(*shape);
    }
    let mut classes_of = vec![0u64; groups.len()];
    recorded_of.iter().for_each(|&recorded| classes_of[folded[recorded as usize].0 as usize] += 1);
    let mut all = Done {
        classes: Dictionary::default(),
        shapes: Dictionary::default(),
        class_of: done.class_of.clone(),
        by_template: true,
    };
    let (mut instead, mut varying): (FxHashMap<u32, u32>, u64) = (FxHashMap::default(), 0);
    for (group, steps) in (0..).zip(groups.into_values()) {
        let first = *shapes_of[group as usize].first().expect("a group has shapes");
        let is_one = shapes_of[group as usize].len() == 1;
        let calls = steps.iter().filter(|step| matches!(step, Step::Call(_))).count() as u64;
        if is_one && done.shapes.get(first).len() <= steps.len()
            || calls * classes_of[group as usize] > MAX_LANES
        {
            continue;
        }
        let of_group =
            used.iter().zip(&recorded_of).filter(|&(_, recorded)| folded[*recorded as usize].0 == group);
        let members = of_group
            .map(|(&class, &recorded)| ClassCounts { class, counts: folded[recorded as usize].1.clone() })
            .collect();
        let Some((steps, members, lanes)) = folder.looked_through(steps, members) else { continue };
        let Some(ways) = folder.ways(&steps, &members, &lanes) else { continue };
        let nodes = nested(&steps);
        let mut laid_out = Vec::new();
        lay_out(&nodes, &ways, &members[0].counts, &mut laid_out);
        if is_one && laid_out.len() >= done.shapes.get(first).len() {
            continue;
        }
        let numbers_of = |member: &ClassCounts, lanes: &[Lane]| {
            let mut numbers = Vec::new();
            Numbers { ways: &ways, counts: &member.counts, lanes }.add(
                &nodes,
                IterationSet::Of(0, 1),
                &mut numbers,
            );
            numbers
        };
        varying += calls_by_turn(&laid_out, &numbers_of(&members[0], &lanes[0]), &folder.lengths);
        if varying > MAX_VARYING_CALLS {
            break;
        }
        let shape = all.shapes.place(laid_out);
        for (member, lanes) in members.iter().zip(&lanes) {
            instead.insert(member.class, all.classes.place((shape, numbers_of(member, lanes))));
        }
    }
    if instead.is_empty() {
        return None;
    }
    for class in used {
        instead.entry(class).or_insert_with(|| {
            let (shape, numbers) = done.classes.get(class);
            let shape = all.shapes.place(done.shapes.get(*shape).clone());
            all.classes.place((shape, numbers.clone()))
        });
    }
    all.class_of.iter_mut().for_each(|class| *class = instead.get(class).copied().unwrap_or(*class));
    Some(all)
}

/// The steps of a group, its classes, and what each call says in each.
type LookedThrough<'a> = (Vec<Step>, Vec<ClassCounts>, Vec<Vec<Lane<'a>>>);

/// A class of a group: what its ranks did by templates are the steps of the group, with these counts of
/// loops.
struct ClassCounts {
    class: u32,
    counts: Vec<u64>,
}

struct Folder<'a> {
    builder: &'a Builder,
    /// Numbers of the calls of each template.
    lengths: Vec<usize>,
    /// Grammar whose symbols are templates.
    grammar: Grammar,
    looked_at: Cell<u64>,
}

impl<'a> Folder<'a> {
    fn template(&self, template: u32) -> &'a Template {
        self.builder.templates.get(template)
    }

    /// Returns where the numbers of each call of a recorded shape begin, and where those are that say how
    /// often its loops are gone through, in the order in which they begin.
    fn places(&self, shape: u32) -> (Vec<usize>, Vec<usize>) {
        let (mut calls, mut loops, mut at) = (Vec::new(), Vec::new(), 0);
        for step in self.builder.done.shapes.get(shape) {
            match *step {
                Step::Call(template) => {
                    calls.push(at);
                    at += self.lengths[template as usize];
                }
                Step::Begin | Step::Varying => {
                    loops.push(at);
                    at += 1;
                }
                Step::End => {}
            }
        }
        (calls, loops)
    }

    /// Returns how often a class goes through its loops.
    fn counts(&self, class: u32) -> Vec<u64> {
        let (shape, numbers) = self.builder.done.classes.get(class);
        self.places(*shape).1.into_iter().map(|at| numbers[at] as u64).collect()
    }

    /// Returns what those do by templates who go through the loops of a shape so often: steps, and the counts
    /// of their loops.
    fn fold(&mut self, shape: u32, counts: &[u64]) -> (Vec<Step>, Vec<u64>) {
        let nodes = nested(self.builder.done.shapes.get(shape));
        let mut cursor = Cursor::default();
        feed(&mut self.grammar, &mut cursor, &nodes, counts);
        let stack = self.grammar.close(&mut cursor);
        let (mut steps, mut counts) = (Vec::new(), Vec::new());
        flatten(&self.grammar, &self.grammar.items(stack), &mut steps, &mut counts);
        (steps, counts)
    }

    /// Returns a group whose calls say what goes by the turns of the loop around alone, with what they say:
    /// short loops are unrolled where it goes by those of an outer one. `None` if that is too much, or too
    /// much to look at.
    fn looked_through(
        &self,
        mut steps: Vec<Step>,
        mut members: Vec<ClassCounts>,
    ) -> Option<LookedThrough<'a>> {
        for _ in 0..MAX_UNROLLED {
            let number = match members.iter().map(|member| self.lanes(&steps, member)).collect() {
                Ok(lanes) => return Some((steps, members, lanes)),
                Err(number) => number?,
            };
            let count = members[0].counts[number];
            if count > MAX_INNER || members.iter().any(|member| member.counts[number] != count) {
                return None;
            }
            let begin = (0..steps.len())
                .filter(|&at| steps[at] != Step::End && !matches!(steps[at], Step::Call(_)))
                .nth(number)?;
            let end = end_of(&steps, begin);
            let body = steps[begin + 1..end].to_vec();
            let loops = body.iter().filter(|step| **step == Step::Begin).count();
            steps.splice(begin..=end, body.repeat(count as usize));
            for member in &mut members {
                let within = member.counts[number + 1..=number + loops].repeat(count as usize);
                member.counts.splice(number..=number + loops, within);
            }
        }
        None
    }

    /// Returns what each call of a group says by turn, as this class has it. The error is the loop around one
    /// where that goes by the turns of loops around this, too; none if it is too much to look at.
    fn lanes(&self, steps: &[Step], member: &ClassCounts) -> Result<Vec<Lane<'a>>, Option<usize>> {
        let (shape, numbers) = self.builder.done.classes.get(member.class);
        let (calls, loops) = self.places(*shape);
        let recorded =
            Recorded { calls, counts: loops.into_iter().map(|at| numbers[at] as u64).collect(), numbers };
        let mut walk = ClassWalk::new(self, steps, &member.counts, recorded);
        walk.nodes(&nested(self.builder.done.shapes.get(*shape))).map(|()| walk.lanes)
    }

    /// Returns how each loop of a group is told. `None` if one cannot be whose turns differ.
    fn ways(&self, steps: &[Step], members: &[ClassCounts], lanes: &[Vec<Lane>]) -> Option<Vec<LoopForm>> {
        // Columns of ranks and turns take no more memory than what was recorded, or little.
        let recorded: u64 =
            members.iter().map(|member| self.builder.done.classes.get(member.class).1.len() as u64).sum();
        let most = recorded.clamp(MIN_VALUES, MAX_VALUES);
        // The loops around.
        let (mut open, mut ways, mut call) = (Vec::new(), Vec::new(), 0);
        let begins = (0..steps.len()).filter(|&at| steps[at] == Step::Begin);
        let has_loops: Vec<bool> =
            begins.map(|at| steps[at + 1..end_of(steps, at)].contains(&Step::Begin)).collect();
        for step in steps {
            match *step {
                Step::Begin | Step::Varying => {
                    open.push(ways.len());
                    ways.push(LoopForm::Alike);
                }
                Step::End => drop(open.pop()),
                Step::Call(template) => {
                    let here = call;
                    call += 1;
                    let lanes = || lanes.iter().map(move |of_member| &of_member[here]);
                    if lanes().all(|lane| lane.len() < 2) {
                        continue;
                    }
                    let number = *open.last()?;
                    let turns = members[0].counts[number];
                    let too_much = turns > MAX_ITERATIONS || turns * u64::from(self.builder.ranks) > most;
                    if too_much || members.iter().any(|member| member.counts[number] != turns) {
                        return None;
                    }
                    ways[number] = match ways[number] {
                        _ if turns <= MAX_SEPARATE && !has_loops[number]
                            || self.stands_alone(template, lanes()) =>
                        {
                            LoopForm::Unrolled
                        }
                        way => lanes().fold(way, |way, lane| way.and(period(lane), turns)),
                    };
                    if ways[number] == LoopForm::Unrolled && turns > MAX_UNROLLED {
                        return None;
                    }
                }
            }
        }
        Some(ways)
    }

    /// Returns `true` if each iteration's call has to be one of its own. That is a call of a persistent
    /// request, which is started elsewhere, and one for which work of other sizes has to be kept apart. It is
    /// also one with a number or more for each of many ranks, which no iteration has in common with another.
    fn stands_alone<'l>(&self, template: u32, mut lanes: impl Iterator<Item = &'l Lane<'l>>) -> bool {
        if self.lengths[template as usize] > MAX_NUMBERS {
            return true;
        }
        let template = self.template(template);
        let sizes = |lane: &Lane| {
            let sizes = || lane.iter().map(|(_, numbers)| template.size(numbers));
            sizes().max().unwrap_or(0) - sizes().min().unwrap_or(0)
        };
        let name = self.builder.functions.get(template.function).split(' ').next().unwrap_or_default();
        name.ends_with("_init")
            || !self.builder.histograms.is_empty() && lanes.any(|lane| sizes(lane) > MAX_SIZE_BITS)
    }
}

/// Returns where a loop ends that begins here.
fn end_of(steps: &[Step], begin: usize) -> usize {
    let mut depth = 0;
    let ends = |step: &Step| {
        depth += match step {
            Step::Begin | Step::Varying => 1,
            Step::End => -1,
            Step::Call(_) => 0,
        };
        depth == 0
    };
    begin + steps[begin..].iter().position(ends).expect("a loop ends")
}

/// Form in which a loop is stored.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum LoopForm {
    /// All its turns say the same.
    Alike,
    /// They differ, and come again after so many of them.
    Varying(u64),
    /// They stand one behind the other.
    Unrolled,
}

impl LoopForm {
    /// Combines the form with one that recurs after so many iterations.
    fn and(self, period: u64, turns: u64) -> LoopForm {
        match self {
            LoopForm::Alike => LoopForm::Varying(period),
            LoopForm::Varying(other) => LoopForm::Varying(together_after(other, period, turns)),
            LoopForm::Unrolled => LoopForm::Unrolled,
        }
    }
}

/// Returns after how many of so many turns two things come again that do so after `a` and `b`, which divide
/// the turns.
fn together_after(a: u64, b: u64, turns: u64) -> u64 {
    let (mut common, mut rest) = (a, b);
    while rest > 0 {
        (common, rest) = (rest, common % rest);
    }
    (a / common * b).min(turns)
}

/// Returns after how many turns a lane says the same again: what divides its turns.
fn period(lane: &Lane) -> u64 {
    let said: Vec<&[i64]> =
        lane.iter().flat_map(|&(count, numbers)| std::iter::repeat_n(numbers, count as usize)).collect();
    // How much of the beginning also ends what was looked at so far (Knuth, Morris and Pratt 1977).
    let mut borders = vec![0; said.len()];
    for at in 1..said.len() {
        let mut border: usize = borders[at - 1];
        while border > 0 && said[at] != said[border] {
            border = borders[border - 1];
        }
        borders[at] = border + usize::from(said[at] == said[border]);
    }
    let period = said.len() - borders.last().copied().unwrap_or(0);
    if said.len().is_multiple_of(period) { period as u64 } else { said.len() as u64 }
}

fn feed(grammar: &mut Grammar, cursor: &mut Cursor, nodes: &[LoopNest], counts: &[u64]) {
    for node in nodes {
        match node {
            LoopNest::Call(template, _) => grammar.add(cursor, *template),
            LoopNest::Loop(number, body) => {
                grammar.repeat(cursor, counts[*number], |grammar, cursor| feed(grammar, cursor, body, counts))
            }
        }
    }
}

fn flatten(grammar: &Grammar, items: &[fold::Item], steps: &mut Vec<Step>, counts: &mut Vec<u64>) {
    for &item in items {
        match grammar.kind(item) {
            FoldKind::Symbol(template) => steps.push(Step::Call(template)),
            FoldKind::Loop { body, count } => {
                steps.push(Step::Begin);
                counts.push(count);
                flatten(grammar, grammar.body(body), steps, counts);
                steps.push(Step::End);
            }
        }
    }
}
