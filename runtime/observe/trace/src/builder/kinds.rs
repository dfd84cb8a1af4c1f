//! Kinds of calls: a program may do other work before calls that one line makes, as through a wrapper, or as
//! a multigrid does from its finest to its coarsest grid. The computation before a call belongs to the call
//! in its place in the loops, and to the one before it. Calls of one call site are of one kind where that
//! makes no difference.

use super::Contexts;
use super::columns::Calls;
use super::shapes::{NumberedShape, Step};
use super::similar::{self, CallTransition};
use crate::dictionary::Dictionary;
use crate::file;
use crate::part::{ALL_CALLS, Computed, IN_CONTEXT, OF_BITS, Path, Place};
use crate::passages;
use crate::template::Template;
use crate::trace::Trace;
use rustc_hash::{FxHashMap, FxHashSet};
use std::collections::{BTreeMap, BTreeSet};

/// A function and a call site.
type Site = (u32, u32);

/// A call that the file stores.
#[derive(Clone, Copy)]
struct StoredCall {
    site: Site,
    /// A bit for each number of bits that its size has, by whichever rank makes it.
    bits: u128,
}

/// The calls of the file, each place in the loops by itself, and which of them share their histograms.
pub struct Kinds<'a> {
    contexts: &'a Contexts,
    by_template: bool,
    calls: Vec<StoredCall>,
    /// By call: another one of the same set, itself in one call of each set.
    parents: Vec<u32>,
    /// By number of the contexts: a call of the file that is made in it.
    of_context: FxHashMap<u32, u32>,
    /// If loops were found by templates: a call of the file for each call that a context ends with.
    of_last: FxHashMap<u32, u32>,
    key: Vec<i64>,
}

impl<'a> Kinds<'a> {
    /// Returns none yet. `by_template`: a call of the file may stand for several of what ranks did.
    pub fn new(contexts: &'a Contexts, by_template: bool) -> Kinds<'a> {
        Kinds {
            contexts,
            by_template,
            calls: Vec::new(),
            parents: Vec::new(),
            of_context: FxHashMap::default(),
            of_last: FxHashMap::default(),
            key: Vec::new(),
        }
    }

    /// Adds the next call of the file, which ranks make with these numbers.
    pub fn call<'n>(
        &mut self,
        call: u32,
        (template, described): (u32, &Template),
        numbers: impl Iterator<Item = &'n [i64]>,
    ) {
        let mut made = StoredCall { site: (described.function, described.site), bits: 0 };
        self.parents.push(call);
        for numbers in numbers {
            made.bits |= 1 << described.size(numbers);
            if !self.by_template {
                continue;
            }
            self.key.clear();
            self.key.push(template.into());
            self.key.extend_from_slice(numbers);
            let Some(last) = self.contexts.calls.find(self.key.as_slice()) else { continue };
            let known = *self.of_last.entry(last).or_insert(call);
            self.unite(known, call);
        }
        self.calls.push(made);
    }

    /// Adds the places of a class, as they are visited: those of calls in these steps.
    pub fn place(&mut self, visited: &[(u32, u32)], steps: &[Step]) {
        let calls: Vec<u32> = steps
            .iter()
            .filter_map(|step| if let Step::Call(call) = step { Some(*call) } else { None })
            .collect();
        for &(place, context) in visited {
            let Some(&call) = calls.get(place as usize) else { continue };
            let known = *self.of_context.entry(context).or_insert(call);
            self.unite(known, call);
        }
    }

    /// Returns the call that stands for the set of a call.
    fn root(&mut self, mut call: u32) -> u32 {
        while self.parents[call as usize] != call {
            let above = self.parents[self.parents[call as usize] as usize];
            self.parents[call as usize] = above;
            call = above;
        }
        call
    }

    fn unite(&mut self, one: u32, other: u32) {
        let (one, other) = (self.root(one), self.root(other));
        self.parents[one.max(other) as usize] = one.min(other);
    }

    /// Returns the calls of a place as a part names it. A context that no rank is known to have had stands
    /// for all calls there.
    fn calls_at(&self, by_site: &FxHashMap<Site, Vec<u32>>, (function, site, kind): Place) -> Vec<u32> {
        let context = kind.checked_sub(IN_CONTEXT);
        if let Some(&call) = context.and_then(|context| self.of_context.get(&context)) {
            return vec![call];
        }
        let is_meant = |call: &u32| {
            kind == ALL_CALLS
                || context.is_some()
                || self.calls[*call as usize].bits >> (kind - OF_BITS) & 1 == 1
        };
        by_site.get(&(function, site)).into_iter().flatten().copied().filter(is_meant).collect()
    }

    /// Returns the contexts in which ranks come to a place for the first time.
    fn first_contexts(&self) -> FxHashSet<u32> {
        let mut all = FxHashSet::default();
        for visited in self.contexts.by_class.values() {
            let mut places = FxHashSet::default();
            all.extend(
                visited.iter().filter(|(place, _)| places.insert(*place)).map(|&(_, context)| context),
            );
        }
        all
    }

    /// Returns the histograms of the kinds that make a difference, and the kind of each call, from 0 at each
    /// place; none if all are of one. `without` are the contents of the file without histograms.
    pub fn settle(
        &mut self,
        computed: &BTreeMap<Path, Computed>,
        without: &[u8],
    ) -> (BTreeMap<Path, Computed>, Vec<u32>) {
        // A part that lies makes a file that is not read.
        let Ok(trace) = Trace::read_contents(without, file::VERSION) else { return Default::default() };
        let mut by_site: FxHashMap<Site, Vec<u32>> = FxHashMap::default();
        for (call, made) in (0..).zip(&self.calls) {
            by_site.entry(made.site).or_default().push(call);
        }
        for (number, last) in (0..).zip(&self.contexts.last) {
            if let Some(&call) = self.of_last.get(last) {
                self.of_context.entry(number).or_insert(call);
            }
        }
        let places: BTreeSet<Place> =
            computed.keys().flat_map(|path| path.0.into_iter().chain([path.1])).collect();
        let mut first: FxHashMap<Place, u32> = FxHashMap::default();
        for &place in &places {
            let meant = self.calls_at(&by_site, place);
            meant.windows(2).for_each(|two| self.unite(two[0], two[1]));
            first.extend(meant.first().map(|&call| (place, call)));
        }
        let roots: Vec<u32> = (0..self.calls.len() as u32).map(|call| self.root(call)).collect();
        // A part that lies may name calls that no rank makes.
        let root = |place: Place| first.get(&place).map(|&call| roots[call as usize]);
        let mut by_root: BTreeMap<(u32, u32), Computed> = BTreeMap::new();
        let first_contexts = self.first_contexts();
        for ((from, to), computed) in computed {
            let is_first = to.2.checked_sub(IN_CONTEXT).is_some_and(|to| first_contexts.contains(&to));
            let from = from.map_or(Some(0), |from| root(from).map(|from| from + 1));
            if let (Some(from), Some(to)) = (from, root(*to)) {
                let mut computed = computed.clone();
                if !is_first {
                    computed.join_first();
                }
                // Contexts have numbers in the order in which ranks come to them.
                by_root.entry((from, to)).or_default().follow(&computed);
            }
        }
        let classes = similar::classes(&links(&by_root, &passages::count(&trace, &roots)), |call| {
            self.calls[call as usize].site
        });
        self.numbered(by_root, &roots, &classes)
    }

    /// Returns histograms by place and kind, and the kind of each call. `classes` has those calls of `roots`
    /// that a path leads to or from: calls with the same class are of one kind.
    fn numbered(
        &self,
        by_root: BTreeMap<(u32, u32), Computed>,
        roots: &[u32],
        classes: &BTreeMap<u32, u32>,
    ) -> (BTreeMap<Path, Computed>, Vec<u32>) {
        let mut kinds: FxHashMap<Site, Dictionary<u32>> = FxHashMap::default();
        let mut place = |call: u32| -> Place {
            let site = self.calls[call as usize].site;
            let number =
                classes.get(&roots[call as usize]).map(|&class| kinds.entry(site).or_default().place(class));
            (site.0, site.1, number.unwrap_or(0))
        };
        let mut of_calls: Vec<u32> = (0..roots.len() as u32).map(|call| place(call).2).collect();
        if of_calls.iter().all(|&kind| kind == 0) {
            of_calls.clear();
        }
        let mut all: BTreeMap<Path, Computed> = BTreeMap::new();
        for ((from, to), computed) in by_root {
            let path = (from.checked_sub(1).map(&mut place), place(to));
            all.entry(path).or_default().merge(&computed);
        }
        (all, of_calls)
    }
}

/// Joins calls that are the same and of one kind. Returns them with their kinds, and renames those of shapes.
pub fn joined(calls: &Calls, kinds: &[u32], shapes: &mut [NumberedShape]) -> (Calls, Vec<u32>) {
    let (mut all, mut of_calls, mut numbers) = (Calls::default(), Vec::new(), Vec::new());
    for (call, (template, cells, _)) in calls.iter().enumerate() {
        let kind = kinds.get(call).copied().unwrap_or(0);
        let number = all.place((*template, cells.clone(), kind));
        if number as usize == of_calls.len() {
            of_calls.push(kind);
        }
        numbers.push(number);
    }
    for step in shapes.iter_mut().flat_map(|shape| &mut shape.steps) {
        if let Step::Call(call) = step {
            *call = numbers[*call as usize];
        }
    }
    if kinds.is_empty() {
        of_calls.clear();
    }
    (all, of_calls)
}

/// Returns paths with how often ranks go there, which is more often than they compute.
fn links(
    by_root: &BTreeMap<(u32, u32), Computed>,
    passages: &FxHashMap<(u32, u32), u64>,
) -> Vec<CallTransition> {
    let mut links: BTreeMap<(u32, u32), CallTransition> = BTreeMap::new();
    for (&(from, to), &passages) in passages {
        links.insert(
            (from, to),
            CallTransition { from, to, passages: passages as f64, sum: 0.0, squares: 0.0 },
        );
    }
    for (&(from, to), Computed { histogram, first, .. }) in by_root {
        // First times are mostly longer, and hide what the others differ in.
        let (times, left_out) = if histogram.count > 0 { (histogram, first.count) } else { (first, 0) };
        let link = links.entry((from, to)).or_insert(CallTransition {
            from,
            to,
            passages: 0.0,
            sum: 0.0,
            squares: 0.0,
        });
        link.passages = (link.passages - left_out as f64).max(times.count as f64);
        link.sum = times.sum() as f64;
        let mean = link.sum / times.count.max(1) as f64;
        link.squares = times.count as f64 * (times.variance() + mean * mean);
    }
    links.into_values().collect()
}
