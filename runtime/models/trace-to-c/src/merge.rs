//! One sequence of what all ranks do: the shapes of a trace side by side, so that what several have is
//! written once.
//!
//! Two shapes are aligned as by `diff`: a longest common subsequence of calls with equal templates and of
//! loops that have such calls in common. So each rank's own calls stay in their order, whatever stands
//! between them for others.

use trace::Trace;
use trace::trace::{Cell, Node};

/// Pairs of items that are compared at most; longer sequences are put one behind the other, but for what they
/// begin and end with.
const MAX_PAIRS: usize = 20_000_000;

/// A call or a loop, of ranks of several shapes.
#[derive(Clone, Debug)]
pub enum Item {
    /// By shape: the call's place in [`Trace::calls`]. All have one template.
    Call(Vec<(u32, u32)>),
    /// A loop.
    Loop {
        /// Number of iterations, by shape.
        counts: Vec<(u32, Cell)>,
        body: Vec<Item>,
    },
}

impl Item {
    /// Returns the shapes whose ranks take part, ascending.
    pub fn shapes(&self) -> Vec<u32> {
        match self {
            Item::Call(calls) => calls.iter().map(|&(shape, _)| shape).collect(),
            Item::Loop { counts, .. } => counts.iter().map(|&(shape, _)| shape).collect(),
        }
    }

    /// Calls within.
    fn weight(&self) -> usize {
        match self {
            Item::Call(_) => 1,
            Item::Loop { body, .. } => body.iter().map(Item::weight).sum(),
        }
    }
}

/// Returns the calls that `keeps` answers for, of all shapes that some rank has.
pub fn merge(trace: &Trace, keeps: &impl Fn(u32) -> bool) -> Vec<Item> {
    let mut all: Vec<(usize, Vec<Item>)> = Vec::new();
    for (shape, nodes) in (0..).zip(&trace.shapes) {
        if trace.sizes[shape as usize] > 0 {
            let items = items(nodes, shape, keeps);
            all.push((items.iter().map(Item::weight).sum(), items));
        }
    }
    // The longest first: what others do is mostly a part of it.
    all.sort_by_key(|(weight, _)| std::cmp::Reverse(*weight));
    all.into_iter()
        .map(|(_, items)| items)
        .reduce(|merged, items| zip(trace, merged, items))
        .unwrap_or_default()
}

fn items(nodes: &[Node], shape: u32, keeps: &impl Fn(u32) -> bool) -> Vec<Item> {
    let item = |node: &Node| match node {
        Node::Call(call) => keeps(*call).then(|| Item::Call(vec![(shape, *call)])),
        Node::Loop { count, body, .. } => {
            let body = items(body, shape, keeps);
            (!body.is_empty()).then(|| Item::Loop { counts: vec![(shape, *count)], body })
        }
    };
    nodes.iter().filter_map(item).collect()
}

fn template(trace: &Trace, calls: &[(u32, u32)]) -> u32 {
    trace.calls[calls[0].1 as usize].0
}

/// Returns how many calls two items have in common; 0: they are not to be one.
fn common(trace: &Trace, a: &Item, b: &Item) -> usize {
    match (a, b) {
        (Item::Call(a), Item::Call(b)) => usize::from(template(trace, a) == template(trace, b)),
        (Item::Loop { body: x, .. }, Item::Loop { body: y, .. }) => {
            if x.len().saturating_mul(y.len()) > MAX_PAIRS {
                return 0;
            }
            let shared = SuffixTable::new(trace, x, y).best(0, 0);
            // Loops that have little in common would be read as one thing that they are not.
            if 2 * shared >= a.weight().min(b.weight()) { shared } else { 0 }
        }
        _ => 0,
    }
}

/// The most calls that the ends of two sequences have in common, from each pair of places on.
struct SuffixTable {
    width: usize,
    best: Vec<u32>,
    pairs: Vec<u32>,
}

impl SuffixTable {
    fn new(trace: &Trace, a: &[Item], b: &[Item]) -> SuffixTable {
        let width = b.len() + 1;
        let mut table = SuffixTable {
            width,
            best: vec![0; width * (a.len() + 1)],
            pairs: vec![0; width * (a.len() + 1)],
        };
        for i in (0..a.len()).rev() {
            for j in (0..b.len()).rev() {
                let pair = common(trace, &a[i], &b[j]) as u32;
                let together = if pair > 0 { pair + table.best[(i + 1) * width + j + 1] } else { 0 };
                table.pairs[i * width + j] = pair;
                table.best[i * width + j] =
                    together.max(table.best[(i + 1) * width + j]).max(table.best[i * width + j + 1]);
            }
        }
        table
    }

    fn best(&self, i: usize, j: usize) -> usize {
        self.best[i * self.width + j] as usize
    }

    /// Returns `true` if the items in these places are one.
    fn takes(&self, i: usize, j: usize) -> bool {
        let pair = self.pairs[i * self.width + j] as usize;
        pair > 0 && self.best(i, j) == pair + self.best(i + 1, j + 1)
    }
}

fn zip(trace: &Trace, mut a: Vec<Item>, mut b: Vec<Item>) -> Vec<Item> {
    let same = |(a, b): &(&Item, &Item)| common(trace, a, b) > 0;
    let begin = a.iter().zip(&b).take_while(same).count();
    let end = a[begin..].iter().rev().zip(b[begin..].iter().rev()).take_while(same).count();
    let (last_a, last_b) = (a.split_off(a.len() - end), b.split_off(b.len() - end));
    let (rest_a, rest_b) = (a.split_off(begin), b.split_off(begin));
    let mut merged: Vec<Item> = a.into_iter().zip(b).map(|(a, b)| together(trace, a, b)).collect();
    if rest_a.len().saturating_mul(rest_b.len()) > MAX_PAIRS {
        merged.extend(rest_a.into_iter().chain(rest_b));
    } else {
        between(trace, rest_a, rest_b, &mut merged);
    }
    merged.extend(last_a.into_iter().zip(last_b).map(|(a, b)| together(trace, a, b)));
    merged
}

fn between(trace: &Trace, a: Vec<Item>, b: Vec<Item>, merged: &mut Vec<Item>) {
    let table = SuffixTable::new(trace, &a, &b);
    let (mut i, mut j) = (0, 0);
    let (ends, mut a, mut b) = ((a.len(), b.len()), a.into_iter(), b.into_iter());
    while i < ends.0 || j < ends.1 {
        if i < ends.0 && j < ends.1 && table.takes(i, j) {
            merged.extend(a.next().zip(b.next()).map(|(a, b)| together(trace, a, b)));
            (i, j) = (i + 1, j + 1);
        } else if j == ends.1 || i < ends.0 && table.best(i + 1, j) >= table.best(i, j + 1) {
            merged.extend(a.next());
            i += 1;
        } else {
            merged.extend(b.next());
            j += 1;
        }
    }
}

fn together(trace: &Trace, a: Item, b: Item) -> Item {
    match (a, b) {
        (Item::Call(mut calls), Item::Call(more)) => {
            calls.extend(more);
            calls.sort_unstable();
            Item::Call(calls)
        }
        (Item::Loop { mut counts, body }, Item::Loop { counts: more, body: other }) => {
            counts.extend(more);
            counts.sort_unstable_by_key(|&(shape, _)| shape);
            Item::Loop { counts, body: zip(trace, body, other) }
        }
        (a, _) => a,
    }
}
