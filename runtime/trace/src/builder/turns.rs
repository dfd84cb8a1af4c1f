//! Loops whose turns say other numbers: ranks that make the same calls in the same order, but whose numbers change in other turns, become one shape.
//!
//! A recorder folds what comes again with the same numbers, and so ends a loop of the program where a number changes: in BT and SP each rank comes to the
//! edge of the grid in another stage of its sweeps, and each has loops of its own. Here calls are folded once more, by their templates alone. What each
//! rank says in each turn then stands in columns, by the places of ranks if these tell it ([`crate::column`]).

use super::shapes::Step;
use super::{Builder, Done, NOTHING};
use crate::dictionary::Dictionary;
use crate::fold::{self, Cursor, Grammar, Kind};
use crate::template::Template;
use crate::trace::{MOST_TURNS, MOST_VALUES, MOST_VARYING};
use rustc_hash::FxHashMap;
use std::cell::Cell;

/// Calls that are looked at one by one, of all classes, at most.
const MOST_LOOKED_AT: u64 = 1 << 26;
/// By how many bits the sizes of a call may differ between turns. What is computed goes by sizes, and histograms tell those of one call in the file from those of
/// others alone ([`super::kinds`]).
const MOST_BITS: u32 = 2;

/// What ranks did, where those of several shapes that make the same calls have one; `None` if there are no such shapes.
pub fn together(builder: &Builder) -> Option<Done> {
    let done = &builder.done;
    let mut used: Vec<u32> = done.class_of.iter().copied().filter(|&class| class != NOTHING).collect();
    used.sort_unstable();
    used.dedup();
    let first = done.classes.get(*used.first()?).0;
    if used.iter().all(|&class| done.classes.get(class).0 == first) {
        return None;
    }
    let lengths = builder.templates.iter().map(|template| template.numbers().unwrap_or(0) as usize).collect();
    let mut folder = Folder { builder, lengths, grammar: Grammar::default(), stacks: FxHashMap::default(), looked_at: Cell::new(0) };
    let mut groups: Dictionary<Vec<Step>> = Dictionary::default();
    let mut members: Vec<Vec<Member>> = Vec::new();
    for &class in &used {
        let (steps, member) = folder.fold(class);
        let group = groups.place(steps) as usize;
        members.resize_with(groups.len(), Vec::new);
        members[group].push(member);
    }
    let mut all = done.clone();
    let mut instead: FxHashMap<u32, u32> = FxHashMap::default();
    for (steps, members) in groups.iter().zip(&members) {
        let shape = |member: &Member| done.classes.get(member.class).0;
        if members.iter().all(|member| shape(member) == shape(&members[0])) {
            continue;
        }
        let Some(lanes) = members.iter().map(|member| folder.lanes(steps, member)).collect::<Option<Vec<_>>>() else { continue };
        let Some(periods) = folder.periods(steps, members, &lanes) else { continue };
        let shape = all.shapes.place(varying(steps, &periods, &members[0].counts));
        for (member, lanes) in members.iter().zip(&lanes) {
            let class = all.classes.place((shape, numbers(steps, &periods, member, lanes)));
            instead.insert(member.class, class);
        }
    }
    if instead.is_empty() {
        return None;
    }
    all.class_of.iter_mut().for_each(|class| *class = instead.get(class).copied().unwrap_or(*class));
    Some(all)
}

/// A class of a group: what its ranks did by templates are the steps of the group, with these counts of loops.
struct Member {
    class: u32,
    counts: Vec<u64>,
}

/// What a call of a group says in the turns of the loop around: runs of turns with the numbers.
type Lane<'a> = Vec<(u64, &'a [i64])>;

/// The calls and loops of a class as they were recorded: where the numbers of a call begin.
enum Node {
    Call { template: u32, at: usize },
    Loop { count: u64, body: Vec<Node> },
}

struct Folder<'a> {
    builder: &'a Builder,
    /// Numbers of the calls of each template.
    lengths: Vec<usize>,
    /// Of templates.
    grammar: Grammar,
    /// Steps and counts by stack: most classes have one of few.
    stacks: FxHashMap<u32, (Vec<Step>, Vec<u64>)>,
    looked_at: Cell<u64>,
}

impl<'a> Folder<'a> {
    fn template(&self, template: u32) -> &'a Template {
        self.builder.templates.get(template)
    }

    /// What was recorded of a class.
    fn nodes(&self, class: u32) -> Vec<Node> {
        let (shape, numbers) = self.builder.done.classes.get(class);
        let (mut open, mut nodes, mut at) = (Vec::new(), Vec::new(), 0);
        for step in self.builder.done.shapes.get(*shape) {
            match *step {
                Step::Call(template) => {
                    nodes.push(Node::Call { template, at });
                    at += self.lengths[template as usize];
                }
                Step::Begin | Step::Varying => {
                    open.push((numbers[at] as u64, std::mem::take(&mut nodes)));
                    at += 1;
                }
                Step::End => {
                    let (count, outer) = open.pop().expect("a loop that ends has begun");
                    let body = std::mem::replace(&mut nodes, outer);
                    nodes.push(Node::Loop { count, body });
                }
            }
        }
        nodes
    }

    /// What a class does by templates.
    fn fold(&mut self, class: u32) -> (Vec<Step>, Member) {
        let nodes = self.nodes(class);
        let mut cursor = Cursor::default();
        feed(&mut self.grammar, &mut cursor, &nodes);
        let stack = self.grammar.close(&mut cursor);
        let grammar = &self.grammar;
        let (steps, counts) = self.stacks.entry(stack).or_insert_with(|| {
            let (mut steps, mut counts) = (Vec::new(), Vec::new());
            flatten(grammar, &grammar.items(stack), &mut steps, &mut counts);
            (steps, counts)
        });
        (steps.clone(), Member { class, counts: counts.clone() })
    }

    /// What each call of a group says by turn, as this class has it; `None` where that goes by the turns of outer loops, or is too much to look at.
    fn lanes(&self, steps: &[Step], member: &Member) -> Option<Vec<Lane<'a>>> {
        let numbers = self.builder.done.classes.get(member.class).1.as_slice();
        let mut walk = Walk::new(self, steps, &member.counts, numbers);
        walk.nodes(&self.nodes(member.class))?;
        Some(walk.lanes)
    }

    /// After how many turns each loop of a group says the same again: 1 where turns do not differ. `None` if those of one do that must not.
    fn periods(&self, steps: &[Step], members: &[Member], lanes: &[Vec<Lane>]) -> Option<Vec<u64>> {
        // The loops around.
        let (mut open, mut periods, mut call) = (Vec::new(), Vec::new(), 0);
        let mut looked_at = 0;
        for step in steps {
            match *step {
                Step::Begin | Step::Varying => {
                    open.push(periods.len());
                    periods.push(1);
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
                    let template = self.template(template);
                    let is_persistent =
                        self.builder.functions.get(template.function).split(' ').next().is_some_and(|name| name.ends_with("_init"));
                    let bits = |lane: &Lane| {
                        let sizes = || lane.iter().map(|(_, numbers)| template.size(numbers));
                        sizes().max().unwrap_or(0) - sizes().min().unwrap_or(0)
                    };
                    looked_at += turns;
                    let too_much =
                        turns > MOST_TURNS || looked_at > MOST_VARYING / 4 || turns * u64::from(self.builder.ranks) > MOST_VALUES;
                    if too_much
                        || is_persistent
                        || members.iter().any(|member| member.counts[number] != turns)
                        || lanes().any(|lane| bits(lane) > MOST_BITS)
                    {
                        return None;
                    }
                    periods[number] = lanes().fold(periods[number], |all, lane| together_after(all, period(lane), turns));
                }
            }
        }
        Some(periods)
    }
}

/// After how many of so many turns two things come again that do so after `a` and `b`, which divide the turns.
fn together_after(a: u64, b: u64, turns: u64) -> u64 {
    let common = (1..=a.min(b)).rev().find(|&all| a.is_multiple_of(all) && b.is_multiple_of(all)).unwrap_or(1);
    (a / common * b).min(turns)
}

/// After how many turns a lane says the same again: what divides its turns.
fn period(lane: &Lane) -> u64 {
    let said: Vec<&[i64]> = lane.iter().flat_map(|&(count, numbers)| std::iter::repeat_n(numbers, count as usize)).collect();
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

/// The steps of a group with its loops as they are: one whose turns differ varies, within another where they come again.
fn varying(steps: &[Step], periods: &[u64], counts: &[u64]) -> Vec<Step> {
    let (mut all, mut ends, mut loops) = (Vec::with_capacity(steps.len()), Vec::new(), periods.iter().zip(counts));
    for step in steps {
        match step {
            Step::Begin | Step::Varying => {
                let begins: &[Step] = match loops.next().expect("a period for each loop") {
                    (1, _) => &[Step::Begin],
                    (period, count) if period == count => &[Step::Varying],
                    _ => &[Step::Begin, Step::Varying],
                };
                all.extend_from_slice(begins);
                ends.push(begins.len());
            }
            Step::End => all.extend(std::iter::repeat_n(Step::End, ends.pop().expect("a loop that ends has begun"))),
            Step::Call(_) => all.push(*step),
        }
    }
    all
}

fn feed(grammar: &mut Grammar, cursor: &mut Cursor, nodes: &[Node]) {
    for node in nodes {
        match node {
            Node::Call { template, .. } => grammar.add(cursor, *template),
            Node::Loop { count, body } => grammar.repeat(cursor, *count, |grammar, cursor| feed(grammar, cursor, body)),
        }
    }
}

fn flatten(grammar: &Grammar, items: &[fold::Item], steps: &mut Vec<Step>, counts: &mut Vec<u64>) {
    for &item in items {
        match grammar.kind(item) {
            Kind::Symbol(template) => steps.push(Step::Call(template)),
            Kind::Loop { body, count } => {
                steps.push(Step::Begin);
                counts.push(count);
                flatten(grammar, grammar.body(body), steps, counts);
                steps.push(Step::End);
            }
        }
    }
}

/// The numbers of a class as [`varying`] steps have them.
fn numbers(steps: &[Step], periods: &[u64], member: &Member, lanes: &[Lane]) -> Vec<i64> {
    let (mut numbers, mut turns, mut loops, mut lanes) = (Vec::new(), vec![1], periods.iter().zip(&member.counts), lanes.iter());
    for step in steps {
        match step {
            Step::Begin | Step::Varying => {
                let (&period, &count) = loops.next().expect("a period for each loop");
                match period {
                    1 => numbers.push(count as i64),
                    period if period == count => numbers.push(count as i64),
                    period => numbers.extend([count / period, period].map(|turns| turns as i64)),
                }
                turns.push(period);
            }
            Step::End => drop(turns.pop()),
            Step::Call(_) => {
                let said = lanes
                    .next()
                    .expect("a lane for each call")
                    .iter()
                    .flat_map(|&(count, numbers)| std::iter::repeat_n(numbers, count as usize));
                said.take(*turns.last().expect("never empty") as usize).for_each(|of_turn| numbers.extend_from_slice(of_turn));
            }
        }
    }
    numbers
}

/// The steps of a group as loops in loops.
enum Folded {
    Call(usize),
    Loop { count: u64, body: Vec<Folded> },
}

/// A way through what a class did, beside the steps of its group.
struct Walk<'f, 'a> {
    folder: &'f Folder<'a>,
    numbers: &'a [i64],
    steps: Vec<Folded>,
    /// Where the walk is: in each loop around, the innermost last, the place in it and the turn. The first is no loop.
    levels: Vec<(usize, u64)>,
    lanes: Vec<Lane<'a>>,
}

impl<'f, 'a> Walk<'f, 'a> {
    fn new(folder: &'f Folder<'a>, steps: &[Step], counts: &[u64], numbers: &'a [i64]) -> Walk<'f, 'a> {
        let (mut open, mut nodes, mut counts, mut calls) = (Vec::new(), Vec::new(), counts.iter(), 0);
        for step in steps {
            match step {
                Step::Call(_) => {
                    nodes.push(Folded::Call(calls));
                    calls += 1;
                }
                Step::Begin | Step::Varying => open.push((*counts.next().expect("a count for each loop"), std::mem::take(&mut nodes))),
                Step::End => {
                    let (count, outer) = open.pop().expect("a loop that ends has begun");
                    let body = std::mem::replace(&mut nodes, outer);
                    nodes.push(Folded::Loop { count, body });
                }
            }
        }
        let mut walk = Walk { folder, numbers, steps: nodes, levels: vec![(0, 0)], lanes: vec![Vec::new(); calls] };
        walk.settle();
        walk
    }

    /// The steps of the innermost loop around, and how often they are gone through.
    fn innermost(&self) -> (&[Folded], u64) {
        let (mut steps, mut turns) = (self.steps.as_slice(), 1);
        for &(place, _) in &self.levels[..self.levels.len() - 1] {
            let Folded::Loop { count, body } = &steps[place] else { unreachable!("a level is in a loop") };
            (steps, turns) = (body, *count);
        }
        (steps, turns)
    }

    /// Goes on to the next call.
    fn settle(&mut self) {
        loop {
            let (place, turn) = *self.levels.last().expect("never empty");
            let (steps, turns) = self.innermost();
            match steps.get(place) {
                Some(Folded::Call(_)) => return,
                Some(Folded::Loop { .. }) => self.levels.push((0, 0)),
                None if turn + 1 < turns => *self.levels.last_mut().expect("never empty") = (0, turn + 1),
                None if self.levels.len() == 1 => return,
                None => {
                    self.levels.pop();
                    self.levels.last_mut().expect("an outer one").0 += 1;
                }
            }
        }
    }

    fn nodes(&mut self, nodes: &[Node]) -> Option<()> {
        for node in nodes {
            match node {
                Node::Call { template, at } => {
                    let numbers = &self.numbers[*at..*at + self.folder.lengths[*template as usize]];
                    self.call(numbers)?;
                }
                Node::Loop { count, body } => {
                    let mut left = *count;
                    while left > 0 {
                        let before = self.levels.clone();
                        self.nodes(body)?;
                        left -= 1;
                        left -= self.repeat(&before, left)?;
                    }
                }
            }
        }
        Some(())
    }

    /// The next call says these numbers.
    fn call(&mut self, numbers: &'a [i64]) -> Option<()> {
        let looked_at = self.folder.looked_at.replace(self.folder.looked_at.get() + 1);
        if looked_at > MOST_LOOKED_AT {
            return None;
        }
        let (place, turn) = *self.levels.last().expect("never empty");
        let Folded::Call(call) = self.innermost().0[place] else { unreachable!("it is settled before a call") };
        self.say(call, turn, 1, numbers)?;
        self.levels.last_mut().expect("never empty").0 += 1;
        self.settle();
        Some(())
    }

    /// A call says these numbers in so many turns of the loop around: for the first time, or again as the loops around that one go on.
    fn say(&mut self, call: usize, turn: u64, turns: u64, numbers: &'a [i64]) -> Option<()> {
        let is_first = self.levels[..self.levels.len() - 1].iter().all(|&(_, turn)| turn == 0);
        let lane = &mut self.lanes[call];
        if is_first {
            match lane.last_mut() {
                Some((count, said)) if *said == numbers => *count += turns,
                _ => lane.push((turns, numbers)),
            }
            return (lane.len() == 1 || turn + turns <= MOST_TURNS).then_some(());
        }
        let mut end = 0;
        let said = lane.iter().find(|(count, _)| {
            end += count;
            turn < end
        });
        said.filter(|(_, said)| *said == numbers && turn + turns <= end).map(|_| ())
    }

    /// Where a turn of a recorded loop was one of the innermost loop here, its further turns are, too, up to the end of this one: how many.
    fn repeat(&mut self, before: &[(usize, u64)], left: u64) -> Option<u64> {
        let (&(place, turn), outer) = self.levels.split_last()?;
        let is_turn = before.split_last().is_some_and(|(last, around)| around == outer && *last == (place, turn - 1.min(turn)) && turn > 0);
        if !is_turn {
            return Some(0);
        }
        let (steps, turns) = self.innermost();
        let possible = left.min(turns - 1 - turn);
        // Calls behind this place have said nothing in this turn yet.
        let calls: Vec<(usize, u64)> = steps
            .iter()
            .enumerate()
            .filter_map(
                |(at, step)| if let Folded::Call(call) = step { Some((*call, if at < place { turn + 1 } else { turn })) } else { None },
            )
            .collect();
        for (call, from) in calls {
            let numbers = self.said(call, from - 1)?;
            self.say(call, from, possible, numbers)?;
        }
        self.levels.last_mut()?.1 += possible;
        Some(possible)
    }

    /// What a call said in a turn.
    fn said(&self, call: usize, turn: u64) -> Option<&'a [i64]> {
        let mut end = 0;
        let lane = self.lanes[call].iter().find(|(count, _)| {
            end += count;
            turn < end
        });
        lane.map(|(_, numbers)| *numbers)
    }
}
