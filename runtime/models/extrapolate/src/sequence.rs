//! The sequence of what a rank does, told so that it can be compared between ranks and rank counts: which
//! calls of the program follow each other, whatever their numbers, and how often.
//!
//! A recorder makes a loop of what recurs with the same numbers. A loop of the program over the bits of a
//! rank, or over other ranks, has another number in each iteration. It stands in the trace as it ran: as so
//! many calls of one call site behind each other. Here both are one thing, a call site of the program with
//! its iterations.

use crate::common::{Dictionaries, ElementKey, Renamed};
use rustc_hash::{FxHashMap, FxHashSet};
use std::rc::Rc;
use trace::trace::{Act, Made, RankView};

/// The longest body that is looked for where its turns differ, in elements.
const LONGEST: usize = 64;

/// A call's numbers, with the template that says what they are.
pub type Said = Rc<(u32, Box<[i64]>)>;

/// Calls of a place, or several places, once or more often.
#[derive(Clone, Debug)]
pub struct SequenceElement {
    /// [`Dictionaries::key`].
    pub key: u32,
    /// Iterations of the element, and how often each is repeated in a row.
    pub turns: ElementIterations,
}

/// The iterations of an element.
#[derive(Clone, Debug)]
pub enum ElementIterations {
    /// Calls of one kind.
    Calls(Vec<(u64, Said)>),
    /// Elements with equal keys.
    Groups(Vec<(u64, Vec<SequenceElement>)>),
}

impl ElementIterations {
    /// Returns how many turns differ from the ones before.
    pub fn entries(&self) -> usize {
        match self {
            ElementIterations::Calls(turns) => turns.len(),
            ElementIterations::Groups(turns) => turns.len(),
        }
    }

    /// Returns how often each entry comes.
    pub fn times(&self, entry: usize) -> u64 {
        match self {
            ElementIterations::Calls(turns) => turns[entry].0,
            ElementIterations::Groups(turns) => turns[entry].0,
        }
    }

    /// Turns in all.
    pub fn total(&self) -> u64 {
        (0..self.entries()).fold(0, |sum, entry| sum.saturating_add(self.times(entry)))
    }
}

/// Returns what a rank does. O(its folded calls, times [`LONGEST`]).
pub fn elements(common: &mut Dictionaries, renamed: &Renamed, view: &RankView) -> Vec<SequenceElement> {
    SequenceReader { common, renamed, view, said: FxHashMap::default() }.elements(view.acts())
}

struct SequenceReader<'a, 'v> {
    common: &'a mut Dictionaries,
    renamed: &'a Renamed,
    view: &'a RankView<'v>,
    said: FxHashMap<Made, Said>,
}

impl SequenceReader<'_, '_> {
    fn elements(&mut self, acts: &[Act]) -> Vec<SequenceElement> {
        let mut elements: Vec<SequenceElement> = Vec::new();
        for act in acts {
            match act {
                Act::Call(made) => {
                    let element = self.call(*made);
                    add(&mut elements, element);
                }
                Act::Loop { turns, body } => {
                    let turns = *turns;
                    let mut body = self.elements(body);
                    match (&mut body[..], turns) {
                        (_, 0) => {}
                        ([SequenceElement { turns: ElementIterations::Calls(calls), .. }], _)
                            if calls.len() == 1 =>
                        {
                            calls[0].0 = calls[0].0.saturating_mul(turns);
                            body.into_iter().for_each(|element| add(&mut elements, element));
                        }
                        _ => {
                            let key = self
                                .common
                                .key(ElementKey::Group(body.iter().map(|element| element.key).collect()));
                            elements.push(SequenceElement {
                                key,
                                turns: ElementIterations::Groups(vec![(turns, body)]),
                            });
                        }
                    }
                }
            }
        }
        self.grouped(elements)
    }

    fn call(&mut self, made: Made) -> SequenceElement {
        let event = self.view.event(made);
        let template = self.view.trace.calls[made.call as usize].0;
        let said = self.said.entry(made).or_insert_with(|| Rc::new((template, event.numbers.into())));
        let key = self.common.key(ElementKey::Call(self.renamed.templates[template as usize].1));
        SequenceElement { key, turns: ElementIterations::Calls(vec![(1, Rc::clone(said))]) }
    }

    /// Makes groups of elements whose keys come again behind each other, the shortest first.
    fn grouped(&mut self, mut elements: Vec<SequenceElement>) -> Vec<SequenceElement> {
        let mut length = 1;
        while length <= LONGEST.min(elements.len()) {
            match self.group(&elements, length) {
                Some(grouped) => {
                    elements = grouped;
                    // What is shorter now may repeat.
                    length = 1;
                }
                None => length += 1,
            }
        }
        elements
    }

    /// Makes groups of all that comes again after so many elements; returns nothing if nothing does.
    fn group(&mut self, elements: &[SequenceElement], length: usize) -> Option<Vec<SequenceElement>> {
        let mut grouped = Vec::new();
        let mut at = 0;
        let mut found = false;
        while at < elements.len() {
            let Some((body, end)) = self.repeated(elements, at, length) else {
                grouped.push(elements[at].clone());
                at += 1;
                continue;
            };
            found = true;
            let mut entries = Vec::new();
            while at < end {
                match &elements[at].turns {
                    ElementIterations::Groups(turns)
                        if self.common.group(elements[at].key) == Some(&body) =>
                    {
                        entries.extend(turns.iter().cloned());
                        at += 1;
                    }
                    _ => {
                        entries.push((1, elements[at..at + length].to_vec()));
                        at += length;
                    }
                }
            }
            grouped.push(SequenceElement {
                key: self.common.key(ElementKey::Group(body)),
                turns: ElementIterations::Groups(entries),
            });
        }
        found.then_some(grouped)
    }

    /// Returns the keys that come twice or more from this place on, and where that ends: as groups that a
    /// recorder found, or beside them.
    fn repeated(
        &self,
        elements: &[SequenceElement],
        begin: usize,
        length: usize,
    ) -> Option<(Vec<u32>, usize)> {
        let keys = |at: usize| {
            let run = elements.get(at..at + length)?;
            // Calls of one key are one element already.
            (length > 1).then(|| run.iter().map(|element| element.key).collect::<Vec<u32>>())
        };
        let of_group =
            self.common.group(elements[begin].key).filter(|body| body.len() == length).map(<[u32]>::to_vec);
        [of_group, keys(begin)].into_iter().flatten().find_map(|body| {
            let (mut at, mut turns) = (begin, 0);
            while at < elements.len() {
                if self.common.group(elements[at].key) == Some(&body) {
                    at += 1;
                } else if keys(at).as_ref() == Some(&body) {
                    at += length;
                } else {
                    break;
                }
                turns += 1;
            }
            (turns > 1).then_some((body, at))
        })
    }
}

/// Makes groups of one iteration of what is a group elsewhere. A loop over the bits of the rank count has one
/// iteration on the fewest ranks, and what comes once is not found as a loop. `groups` are the bodies of all
/// groups.
pub fn regroup(common: &mut Dictionaries, groups: &FxHashSet<Vec<u32>>, elements: &mut Vec<SequenceElement>) {
    for element in elements.iter_mut() {
        if let ElementIterations::Groups(turns) = &mut element.turns {
            turns.iter_mut().for_each(|(_, body)| regroup(common, groups, body));
            element.key =
                common.key(ElementKey::Group(turns[0].1.iter().map(|element| element.key).collect()));
        }
    }
    let keys: Vec<u32> = elements.iter().map(|element| element.key).collect();
    let mut at = keys.len();
    // From the end, so that places before it stay what they are.
    while at > 0 {
        let found = (2..=LONGEST.min(at))
            .rev()
            .find(|&length| length < keys.len() && groups.contains(&keys[at - length..at]));
        if let Some(length) = found {
            let body: Vec<SequenceElement> = elements.drain(at - length..at).collect();
            let key = common.key(ElementKey::Group(keys[at - length..at].to_vec()));
            elements.insert(
                at - length,
                SequenceElement { key, turns: ElementIterations::Groups(vec![(1, body)]) },
            );
            at -= length;
        } else {
            at -= 1;
        }
    }
}

/// Adds the bodies of all groups among the elements and within them.
pub fn bodies(elements: &[SequenceElement], groups: &mut FxHashSet<Vec<u32>>) {
    for element in elements {
        if let ElementIterations::Groups(turns) = &element.turns {
            groups.insert(turns[0].1.iter().map(|element| element.key).collect());
            turns.iter().for_each(|(_, body)| bodies(body, groups));
        }
    }
}

/// Puts a call behind the others, together with the last if that is of the same kind.
fn add(elements: &mut Vec<SequenceElement>, element: SequenceElement) {
    if let Some(SequenceElement { key, turns: ElementIterations::Calls(calls) }) = elements.last_mut()
        && *key == element.key
        && let ElementIterations::Calls(more) = &element.turns
    {
        for (times, said) in more {
            match calls.last_mut() {
                Some((before, last)) if last == said => *before = before.saturating_add(*times),
                _ => calls.push((*times, Rc::clone(said))),
            }
        }
        return;
    }
    elements.push(element);
}
