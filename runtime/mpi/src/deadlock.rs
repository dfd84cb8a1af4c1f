//! Explains a deadlock: who waits for whom, alike ranks grouped.

use crate::node::{Node, State, flag};
use crate::request::Body;
use crate::undecided::Question;
use crate::world::{Phase, World};
use std::collections::BTreeMap;
use std::fmt::Write;

/// How many groups are written out.
const GROUPS: usize = 12;

/// What one rank waits for.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Wait {
    function: &'static str,
    /// World rank of the source where it is named.
    source: Option<u32>,
    rest: String,
}

/// The explanation.
pub(crate) fn report(world: &World) -> String {
    let mut waits: Vec<(u32, Wait)> = Vec::new();
    let (mut ended, mut first_ended) = (0, None);
    for rank in 0..world.size {
        if world.phase(rank) == Phase::Ended {
            ended += 1;
            first_ended.get_or_insert(rank);
        } else {
            waits.push((rank, wait_of(world, rank)));
        }
    }
    let groups = |relative: bool| {
        let mut groups: BTreeMap<(&'static str, String), Vec<u32>> = BTreeMap::new();
        for (rank, wait) in &waits {
            groups.entry((wait.function, text(*rank, wait, relative))).or_default().push(*rank);
        }
        groups
    };
    let (absolute, relative) = (groups(false), groups(true));
    let chosen = if relative.len() < absolute.len() { relative } else { absolute };
    let mut sorted: Vec<_> = chosen.into_iter().collect();
    sorted.sort_by_key(|(_, ranks)| (std::cmp::Reverse(ranks.len()), ranks[0]));
    let mut out =
        format!("deadlock at virtual time {}: {} of {} ranks wait and nothing can wake them", world.latest(), waits.len(), world.size);
    for ((_, text), ranks) in sorted.iter().take(GROUPS) {
        let _ = write!(out, "\n  {} in {text}: {}", plural(ranks.len()), list(ranks));
    }
    if sorted.len() > GROUPS {
        let _ = write!(out, "\n  and {} more kinds of waiting", sorted.len() - GROUPS);
    }
    if ended > 0 {
        let _ = write!(out, "\n  {} ended already (the first is rank {})", plural(ended), first_ended.unwrap_or(0));
    }
    out
}

fn plural(count: usize) -> String {
    if count == 1 { "1 rank".to_owned() } else { format!("{count} ranks") }
}

/// The first few ranks, as ranges.
fn list(ranks: &[u32]) -> String {
    let mut ranges: Vec<(u32, u32)> = Vec::new();
    for &rank in ranks {
        match ranges.last_mut() {
            Some((_, last)) if *last + 1 == rank => *last = rank,
            _ => ranges.push((rank, rank)),
        }
    }
    let shown: Vec<String> = ranges.iter().take(6).map(|(a, b)| if a == b { format!("{a}") } else { format!("{a}-{b}") }).collect();
    format!("rank{} {}{}", if ranks.len() == 1 { "" } else { "s" }, shown.join(", "), if ranges.len() > 6 { ", ..." } else { "" })
}

fn text(rank: u32, wait: &Wait, relative: bool) -> String {
    let source = match wait.source {
        None => String::new(),
        Some(source) if relative && source != rank => {
            let (sign, by) = if source > rank { ('+', source - rank) } else { ('-', rank - source) };
            format!("source=rank{sign}{by}, ")
        }
        Some(source) => format!("source={source}, "),
    };
    if source.is_empty() && wait.rest.is_empty() { wait.function.to_owned() } else { format!("{}({source}{})", wait.function, wait.rest) }
}

fn tag_text(node: &Node) -> String {
    if node.has(flag::ANY_TAG) { "tag=MPI_ANY_TAG".to_owned() } else { format!("tag={}", node.tag) }
}

fn wait_of(world: &World, rank: u32) -> Wait {
    let function = world.function_of(rank);
    if let Some(poll) = world.polls.get(&rank) {
        let rest = match &poll.question {
            Question::Probe(pattern) | Question::Iprobe(pattern) => match pattern.source {
                None => "source=MPI_ANY_SOURCE".to_owned(),
                Some(source) => format!("source={source} of the communicator"),
            },
            Question::WaitAny(requests)
            | Question::WaitSome(requests)
            | Question::TestAll(requests)
            | Question::TestAny(requests)
            | Question::TestSome(requests) => {
                format!("{} requests", requests.count)
            }
            Question::Cancel => String::new(),
        };
        return Wait { function, source: None, rest };
    }
    let state = &world.ranks[rank as usize];
    let waited: Vec<u32> = world.posted.iter(state.posted).filter(|&index| world.nodes[index].has(flag::WAITED)).collect();
    if let Some(&index) = waited.first() {
        let node = &world.nodes[index];
        let more = if waited.len() > 1 { format!(", and {} more receives", waited.len() - 1) } else { String::new() };
        if node.has(flag::WILD) {
            return Wait { function, source: None, rest: format!("source=MPI_ANY_SOURCE, {}{more}", tag_text(node)) };
        }
        let source = world
            .comms
            .by_context(node.context, rank)
            .map_or(node.source, |comm| comm.peer(node.source as i32, rank, "source").unwrap_or(node.source));
        return Wait { function, source: Some(source), rest: format!("{}{more}", tag_text(node)) };
    }
    for index in 0..world.requests.capacity() as u32 {
        let Some(request) = world.requests.get(index) else { continue };
        if request.owner != rank || !request.waited {
            continue;
        }
        match request.body {
            Body::Synchronous => return Wait { function, source: None, rest: "a synchronous send that nobody receives".to_owned() },
            Body::Collective { instance, .. } => return Wait { function, source: None, rest: collective_text(world, instance) },
            Body::Generalized(_) => return Wait { function, source: None, rest: "a generalized request that nobody completes".to_owned() },
            Body::Persistent { .. } => {}
        }
    }
    if let Some(instance) = world.waiting_instance(rank) {
        return Wait { function, source: None, rest: collective_text(world, instance) };
    }
    let in_flight = world.posted.iter(world.ranks[rank as usize].posted).any(|index| world.nodes[index].state == State::InFlight);
    Wait { function, source: None, rest: if in_flight { "a message under way".to_owned() } else { String::new() } }
}

fn collective_text(world: &World, instance: u32) -> String {
    let instance = world.collectives.instance(instance);
    let (_, arrived, size) = instance.describe();
    let comm = world.comms.describe(crate::comm::Comms::handle(instance.comm()));
    if arrived == size {
        return format!("{comm}, all {size} members entered");
    }
    let missing: Vec<u32> = instance.missing().take(8).collect();
    let names: Vec<String> = missing.iter().map(u32::to_string).collect();
    format!(
        "{comm}, {arrived} of {size} members entered; missing {}{}",
        names.join(", "),
        if (size - arrived) as usize > missing.len() { ", ..." } else { "" }
    )
}
