//! Communicators that `MPI_Comm_idup` makes. A recorder sees such a communicator when its rank first uses it,
//! because it is there once the request is complete. So a call and its communicator are brought together
//! afterwards.

use crate::column::Column;
use crate::roles::Roles;
use crate::template::{Field, Whose};
use crate::trace::{Act, Cell, Made, Node, RankCall, RankView, Trace};
use rustc_hash::{FxHashMap, FxHashSet};
use std::borrow::Cow;
use std::path::Path;

/// The argument that is the new communicator.
const MADE: &str = "newcomm";

/// Returns the trace with the number of the new communicator in each call of `MPI_Comm_idup`. A rank's calls
/// and the communicators that no other call made go together in order, those of one group among themselves.
/// Returns the trace as it is if that is ambiguous: if a communicator is never used, or a call is in a loop
/// within a loop, or in one whose iterations are alike.
/// O(ranks, times what a rank does folded).
pub fn resolved(trace: &Trace) -> Cow<'_, Trace> {
    if !trace.functions.iter().any(|function| is_copy(&function.name)) {
        return Cow::Borrowed(trace);
    }
    let roles: Vec<Roles> = trace.templates.iter().map(|template| Roles::of(trace, template)).collect();
    match numbers(trace, &roles) {
        Some(numbers) => Cow::Owned(named(trace, &roles, &numbers)),
        None => Cow::Borrowed(trace),
    }
}

/// Opens a trace's file, as [`Trace::open`], with what [`resolved`] adds.
///
/// # Errors
/// A sentence with the file's name.
pub fn open(path: &Path) -> Result<Trace, String> {
    let trace = Trace::open(path)?;
    Ok(match resolved(&trace) {
        Cow::Owned(named) => named,
        Cow::Borrowed(_) => trace,
    })
}

/// Returns `true` if a function copies a communicator without waiting.
fn is_copy(function: &str) -> bool {
    matches!(function, "MPI_Comm_idup" | "MPI_Comm_idup_with_info")
}

/// Returns `true` if an argument of a function is a communicator that the function makes.
fn is_result(function: &str, argument: &str) -> bool {
    const OTHERS: [&str; 4] = ["MPI_Comm_spawn", "MPI_Comm_accept", "MPI_Comm_connect", "MPI_Comm_join"];
    argument.starts_with("new")
        || argument.starts_with("comm_")
        || argument == "parent"
        || argument == "intercomm" && OTHERS.iter().any(|other| function.starts_with(other))
}

/// A group: the rank in the world of its first member, its size, the rank in it, and the rank in the world of
/// the first member of the group that messages go to.
type CopiedGroup = (u32, u32, u32, u32);

/// A rank's calls that copy, and the communicators that no call made, each with the sequence number of a
/// call.
#[derive(Default)]
struct SeenComms {
    calls: u64,
    copies: Vec<(u64, Option<CopiedGroup>)>,
    made: FxHashSet<i64>,
    others: Vec<(u64, i64)>,
    is_ambiguous: bool,
}

/// Returns by rank the communicator of each of its calls that copy; `None` if one is ambiguous.
fn numbers(trace: &Trace, roles: &[Roles]) -> Option<Vec<Vec<i64>>> {
    (0..trace.ranks)
        .map(|rank| {
            let view = trace.rank(rank);
            let mut seen = SeenComms::default();
            seen.add(&view, view.acts(), false, roles);
            let shape = trace.shape_of.at(rank.into())?;
            let plain = copies_in(trace, roles, &trace.shapes[shape as usize])?;
            seen.matched(trace, rank).filter(|numbers| numbers.len() == plain)
        })
        .collect()
}

/// Returns how many copies the calls of a shape and its varying loops make; `None` if loops within these do.
fn copies_in(trace: &Trace, roles: &[Roles], nodes: &[Node]) -> Option<usize> {
    let mut sum = 0usize;
    for node in nodes {
        match node {
            Node::Call(call) => sum += usize::from(copies(trace, roles, *call)),
            Node::Loop { body, .. } => {
                let (own, turns) = (own_copies(trace, roles, body), varying(node));
                let is_nested = body.iter().any(|node| copies_within(trace, roles, node));
                match turns {
                    _ if is_nested => return None,
                    _ if own.is_empty() => {}
                    turns => sum = sum.checked_add(turns?.checked_mul(own.len())?)?,
                }
            }
        }
    }
    Some(sum)
}

/// Returns `true` if a loop has a call that copies, at any depth.
fn copies_within(trace: &Trace, roles: &[Roles], node: &Node) -> bool {
    let Node::Loop { body, .. } = node else { return false };
    !own_copies(trace, roles, body).is_empty() || body.iter().any(|node| copies_within(trace, roles, node))
}

/// Returns the calls among nodes that copy, by index.
fn own_copies(trace: &Trace, roles: &[Roles], nodes: &[Node]) -> Vec<usize> {
    let is_copy = |node: &Node| matches!(node, Node::Call(call) if copies(trace, roles, *call));
    (0..nodes.len()).filter(|&at| is_copy(&nodes[at])).collect()
}

/// Returns the iterations of a varying loop.
fn varying(node: &Node) -> Option<usize> {
    match node {
        Node::Loop { count: Cell::Same(count), varies: true, .. } => usize::try_from(*count).ok(),
        _ => None,
    }
}

impl SeenComms {
    fn add(&mut self, view: &RankView, acts: &[Act], is_repeated: bool, roles: &[Roles]) {
        for act in acts {
            match act {
                Act::Loop { body, .. } => self.add(view, body, true, roles),
                Act::Call(made) => self.call(view, *made, is_repeated, roles),
            }
        }
    }

    fn call(&mut self, view: &RankView, made: Made, is_repeated: bool, all: &[Roles]) {
        let (trace, event) = (view.trace, view.event(made));
        let function = &trace.functions[event.template.function as usize];
        let roles = &all[trace.calls[made.call as usize].0 as usize];
        self.calls += 1;
        for argument in &function.arguments {
            let Some(comm) = roles.find(&event, argument) else { continue };
            let (Field::Comm(None), Some(number)) = (comm.field, comm.number()) else { continue };
            if is_result(&function.name, argument) {
                self.made.insert(number);
            } else if self.made.insert(number) {
                self.others.push((self.calls, number));
            }
        }
        if copies(trace, all, made.call) {
            self.is_ambiguous |= is_repeated;
            self.copies.push((self.calls, group(view, &event)));
        }
    }

    /// Returns the communicator of each copy.
    fn matched(mut self, trace: &Trace, rank: u32) -> Option<Vec<i64>> {
        if self.is_ambiguous || self.copies.len() != self.others.len() {
            return None;
        }
        let instance = |number: i64| trace.comms.instance(rank, u32::try_from(number).ok()?);
        let key = |number: i64| instance(number).map(|(own, ..)| own);
        self.others.sort_by_key(|&(_, number)| key(number));
        let mut by_group: FxHashMap<CopiedGroup, Vec<(u64, i64)>> = FxHashMap::default();
        for &(first_use, number) in self.others.iter().rev() {
            let (own, other, size) = instance(number)?;
            let member = trace.comms.member(rank, u32::try_from(number).ok()?)?;
            by_group
                .entry((own.leader, size, member.rank, other.leader))
                .or_default()
                .push((first_use, number));
        }
        let mut matched = Vec::with_capacity(self.copies.len());
        for (call, group) in self.copies {
            let (first_use, number) = by_group.get_mut(&group?)?.pop()?;
            if first_use < call {
                return None;
            }
            matched.push(number);
        }
        Some(matched)
    }
}

/// Returns `true` if a call copies a communicator and does not name the new one.
fn copies(trace: &Trace, roles: &[Roles], call: u32) -> bool {
    let template = trace.calls[call as usize].0 as usize;
    let described = &trace.templates[template];
    is_copy(&trace.functions[described.function as usize].name)
        && roles[template].place(described, MADE).is_some_and(|(field, _)| *field != Field::Comm(None))
}

/// Returns the group of the communicator of a call.
fn group(view: &RankView, event: &RankCall) -> Option<CopiedGroup> {
    let trace = view.trace;
    match event.template.whose() {
        Whose::Made(place) => {
            let number = u32::try_from(*event.numbers.get(place)?).ok()?;
            let (own, other, size) = trace.comms.instance(view.rank, number)?;
            Some((own.leader, size, trace.comms.member(view.rank, number)?.rank, other.leader))
        }
        _ => {
            let position = view.position(event);
            let leader = if position.peers == trace.ranks { 0 } else { view.rank };
            Some((leader, position.peers, position.rank, leader))
        }
    }
}

/// Returns the trace with these numbers, by rank and call.
fn named(trace: &Trace, roles: &[Roles], numbers: &[Vec<i64>]) -> Trace {
    let mut named = trace.clone();
    let mut ranks_of: Vec<Vec<usize>> = vec![Vec::new(); trace.shapes.len()];
    for rank in 0..trace.ranks {
        let shape = trace.shape_of.at(rank.into()).expect("a rank of the trace");
        ranks_of[shape as usize].push(rank as usize);
    }
    for (shape, ranks) in ranks_of.iter().enumerate() {
        if ranks.is_empty() {
            continue;
        }
        let mut copy = 0;
        for at in 0..named.shapes[shape].len() {
            let node = &named.shapes[shape][at];
            let (turns, own) = match node {
                Node::Call(call) if copies(trace, roles, *call) => (1, vec![0]),
                Node::Loop { body, .. } => (varying(node).unwrap_or(0), own_copies(trace, roles, body)),
                Node::Call(_) => continue,
            };
            for (index, &place) in own.iter().enumerate() {
                let (first, step) = (copy + index, own.len());
                let of_rank = |&rank: &usize| (0..turns).map(move |turn| numbers[rank][first + turn * step]);
                let values: Vec<i64> = ranks.iter().flat_map(of_rank).collect();
                let number = cell(&mut named, &values, turns);
                if let Some(call) = call_at(&named.shapes[shape][at], place) {
                    let added = add_call(&mut named, roles, call, number);
                    set_call(&mut named.shapes[shape][at], place, added);
                }
            }
            copy += turns * own.len();
        }
    }
    named
}

/// Returns the call that a node is, or the one at an index of its body.
fn call_at(node: &Node, place: usize) -> Option<u32> {
    match node {
        Node::Call(call) => Some(*call),
        Node::Loop { body, .. } => match body.get(place)? {
            Node::Call(call) => Some(*call),
            Node::Loop { .. } => None,
        },
    }
}

fn set_call(node: &mut Node, place: usize, call: u32) {
    match node {
        Node::Call(_) => *node = Node::Call(call),
        Node::Loop { body, .. } => body[place] = Node::Call(call),
    }
}

/// Adds a call like another, with the number of the new communicator. Returns its number.
fn add_call(trace: &mut Trace, roles: &[Roles], call: u32, number: Cell) -> u32 {
    let (template, mut cells) = trace.calls[call as usize].clone();
    let mut described = trace.templates[template as usize].clone();
    if let Some((_, place)) = roles[template as usize].place(&described, MADE) {
        cells.insert(place, number);
    }
    let names = &trace.functions[described.function as usize].arguments;
    if let Some(argument) = names.iter().position(|name| name == MADE) {
        described.fields[argument] = Field::Comm(None);
    }
    let template = trace.templates.iter().position(|known| *known == described).unwrap_or_else(|| {
        trace.templates.push(described);
        trace.templates.len() - 1
    });
    trace.calls.push((template as u32, cells));
    if let Some(&kind) = trace.kinds.get(call as usize) {
        trace.kinds.push(kind);
    }
    trace.calls.len() as u32 - 1
}

/// Returns the numbers of a shape's ranks, so many for each, as a trace has them.
fn cell(trace: &mut Trace, numbers: &[i64], turns: usize) -> Cell {
    match numbers.first() {
        Some(&first) if numbers.iter().all(|&number| number == first) => Cell::Same(first),
        None => Cell::Same(0),
        _ => {
            trace.columns.push(Column::of_ranks(numbers, turns));
            Cell::Column(trace.columns.len() as u32 - 1)
        }
    }
}
