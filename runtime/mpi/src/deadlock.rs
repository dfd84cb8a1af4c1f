//! Explains a deadlock: who waits for whom, alike ranks grouped.

use crate::collective::instance::member_rank;
use crate::collective::remote::spread::{Ident, is_spread};
use crate::node::{Node, State, flag};
use crate::remote::record::{Put, Take};
use crate::request::Body;
use crate::undecided::Question;
use crate::world::{Phase, World};
use engine::Time;
use rustc_hash::FxHashMap;
use std::collections::BTreeMap;
use std::fmt::Write;

/// How many groups are written out.
const GROUPS: usize = 12;
/// How many missing members of a collective are named.
const MISSING: usize = 8;

/// What one rank waits for.
#[derive(Clone)]
struct Wait {
    /// The MPI function, by its number.
    function: u16,
    /// World rank of the source where it is named.
    source: Option<u32>,
    rest: String,
    /// The collective whose members are on several processes.
    spread: Option<Ident>,
}

/// A collective with members on several processes that not all have entered.
#[derive(Default)]
struct Spread {
    comm: String,
    size: u32,
    arrived: u32,
    missing: Vec<u32>,
    /// Some members on each other process, who are missing if it knows nothing of the collective.
    elsewhere: Vec<(u32, u32)>,
    /// Processes that know of it.
    known: Vec<u32>,
}

/// What the ranks of one process wait for, or of all.
#[derive(Default)]
struct Waits {
    waits: Vec<(u32, Wait)>,
    ended: u32,
    first_ended: Option<u32>,
    latest: Time,
    spread: FxHashMap<Ident, Spread>,
    /// Communicators, and ranks that were refused a collective on them which no other member on their process has called.
    refused: Vec<(String, Vec<u32>)>,
}

impl Waits {
    fn of(world: &World) -> Waits {
        let mut all = Waits { latest: world.messages.latest(), ..Waits::default() };
        for rank in world.messages.first..world.messages.first + world.messages.local {
            if world.messages.phase(rank) == Phase::Ended {
                all.ended += 1;
                all.first_ended.get_or_insert(rank);
            } else {
                all.waits.push((rank, wait_of(world, rank)));
            }
        }
        for instance in world.collectives.instances() {
            let Some(ident) = instance.ident else { continue };
            let (_, arrived, size) = instance.describe();
            let missing = instance
                .missing()
                .filter(|&member| world.messages.is_local(member_rank(&world.objects, &instance.place, member, u32::MAX)));
            let missing = missing.take(MISSING + 1).collect();
            let comm = world.objects.comms.describe(crate::comm::Comms::handle(instance.comm()));
            let remote = world.messages.remote.as_ref().expect("it has members on other processes");
            let mut named = vec![0; remote.blocks.processes() as usize];
            let mut elsewhere = Vec::new();
            for member in 0..size {
                let process = remote.blocks.process(member_rank(&world.objects, &instance.place, member, u32::MAX));
                named[process as usize] += 1;
                if process != remote.me && named[process as usize] <= MISSING + 1 {
                    elsewhere.push((process, member));
                }
            }
            all.spread.insert(ident, Spread { comm, size, arrived, missing, elsewhere, known: vec![remote.me] });
        }
        for (comm, calls) in world.collectives.calls.refused() {
            let ranks: Vec<u32> = calls.refused_ranks().into_iter().collect();
            let spread = world.objects.comms.alive(comm).is_some_and(|comm| is_spread(&world.messages, comm));
            if spread && !ranks.is_empty() {
                all.refused.push((world.objects.comms.describe(crate::comm::Comms::handle(comm)), ranks));
            }
        }
        all
    }

    fn put(&self) -> Vec<u8> {
        let mut out = Vec::new();
        out.u64(self.latest.as_ps());
        out.u32(self.ended);
        out.u32(self.first_ended.unwrap_or(u32::MAX));
        out.u32(self.waits.len() as u32);
        for (rank, wait) in &self.waits {
            out.u32(*rank);
            out.u32(wait.function.into());
            out.u32(wait.source.unwrap_or(u32::MAX));
            out.bytes(wait.rest.as_bytes());
            out.u8(u8::from(wait.spread.is_some()));
            if let Some(ident) = wait.spread {
                ident.put(&mut out);
            }
        }
        out.u32(self.spread.len() as u32);
        for (ident, spread) in &self.spread {
            ident.put(&mut out);
            out.bytes(spread.comm.as_bytes());
            out.u32(spread.size);
            out.u32(spread.arrived);
            out.u32(spread.missing.len() as u32);
            spread.missing.iter().for_each(|&member| out.u32(member));
            out.u32(spread.elsewhere.len() as u32);
            for &(process, member) in &spread.elsewhere {
                out.u32(process);
                out.u32(member);
            }
            out.u32(spread.known[0]);
        }
        out.u32(self.refused.len() as u32);
        for (comm, ranks) in &self.refused {
            out.bytes(comm.as_bytes());
            out.u32(ranks.len() as u32);
            ranks.iter().for_each(|&rank| out.u32(rank));
        }
        out
    }

    /// Adds what [`put`](Self::put) wrote; processes come in order.
    fn add(&mut self, from: &mut Take) {
        let text = |from: &mut Take| String::from_utf8_lossy(from.bytes()).into_owned();
        let some = |value: u32| (value != u32::MAX).then_some(value);
        self.latest = self.latest.max(Time::from_ps(from.u64()));
        self.ended += from.u32();
        let first_ended = some(from.u32());
        self.first_ended = self.first_ended.or(first_ended);
        for _ in 0..from.u32() {
            let (rank, function, source, rest) = (from.u32(), from.u32() as u16, some(from.u32()), text(from));
            let spread = (from.u8() != 0).then(|| Ident::take(from));
            self.waits.push((rank, Wait { function, source, rest, spread }));
        }
        for _ in 0..from.u32() {
            let ident = Ident::take(from);
            let (comm, size, arrived) = (text(from), from.u32(), from.u32());
            let missing: Vec<u32> = (0..from.u32()).map(|_| from.u32()).collect();
            let spread = self.spread.entry(ident).or_insert_with(|| Spread { comm, size, ..Spread::default() });
            spread.arrived += arrived;
            spread.missing.extend(missing);
            spread.elsewhere = (0..from.u32()).map(|_| (from.u32(), from.u32())).collect();
            spread.known.push(from.u32());
        }
        for _ in 0..from.u32() {
            let (comm, count) = (text(from), from.u32());
            self.refused.push((comm, (0..count).map(|_| from.u32()).collect()));
        }
    }

    /// Says of collectives on several processes how many members have entered in all.
    fn settle(&mut self) {
        for spread in self.spread.values_mut() {
            let absent = spread.elsewhere.iter().filter(|(process, _)| !spread.known.contains(process));
            spread.missing.extend(absent.map(|(_, member)| member));
            spread.missing.sort_unstable();
        }
        for (_, wait) in &mut self.waits {
            let Some(spread) = wait.spread.and_then(|ident| self.spread.get(&ident)) else { continue };
            wait.rest = entered(&spread.comm, spread.arrived, spread.size, &spread.missing);
        }
    }
}

/// The explanation; of several processes, process 0 has it.
pub(crate) fn report(world: &mut World) -> Option<String> {
    let mut all = Waits::of(world);
    if world.messages.remote.is_some() {
        let blobs = world.gather(all.put())?;
        all = Waits::default();
        blobs.iter().for_each(|blob| all.add(&mut Take(blob)));
        all.settle();
    }
    Some(explain(world, &all))
}

fn explain(world: &World, all: &Waits) -> String {
    let Waits { waits, ended, first_ended, latest, .. } = all;
    let groups = |relative: bool| {
        let mut groups: BTreeMap<(&'static str, String), Vec<u32>> = BTreeMap::new();
        for (rank, wait) in waits {
            let function = world.messages.function_name(wait.function);
            groups.entry((function, text(*rank, wait, function, relative))).or_default().push(*rank);
        }
        groups
    };
    let (absolute, relative) = (groups(false), groups(true));
    let chosen = if relative.len() < absolute.len() { relative } else { absolute };
    let mut sorted: Vec<_> = chosen.into_iter().collect();
    sorted.sort_by_key(|(_, ranks)| (std::cmp::Reverse(ranks.len()), ranks[0]));
    let mut out =
        format!("deadlock at virtual time {}: {} of {} ranks wait and nothing can wake them", latest, waits.len(), world.messages.size);
    for ((_, text), ranks) in sorted.iter().take(GROUPS) {
        let _ = write!(out, "\n  {} in {text}: {}", plural(ranks.len()), list(ranks));
    }
    if sorted.len() > GROUPS {
        let _ = write!(out, "\n  and {} more kinds of waiting", sorted.len() - GROUPS);
    }
    for (comm, ranks) in &all.refused {
        let _ = write!(out, "\n  a collective on {comm} was refused to {} before: others may wait for it", list(ranks));
    }
    if *ended > 0 {
        let _ = write!(out, "\n  {} ended already (the first is rank {})", plural(*ended as usize), first_ended.unwrap_or(0));
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

fn text(rank: u32, wait: &Wait, function: &str, relative: bool) -> String {
    let source = match wait.source {
        None => String::new(),
        Some(source) if relative && source != rank => {
            let (sign, by) = if source > rank { ('+', source - rank) } else { ('-', rank - source) };
            format!("source=rank{sign}{by}, ")
        }
        Some(source) => format!("source={source}, "),
    };
    if source.is_empty() && wait.rest.is_empty() { function.to_owned() } else { format!("{function}({source}{})", wait.rest) }
}

fn tag_text(node: &Node) -> String {
    if node.has(flag::ANY_TAG) { "tag=MPI_ANY_TAG".to_owned() } else { format!("tag={}", node.tag) }
}

fn wait_of(world: &World, rank: u32) -> Wait {
    let function = world.messages.ranks[rank as usize].function;
    if let Some(poll) = world.order.polls.get(&rank) {
        let rest = match poll.question() {
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
            Question::Cancel(_) => String::new(),
        };
        return Wait { function, source: None, rest, spread: None };
    }
    let state = &world.messages.ranks[rank as usize];
    let waited: Vec<u32> =
        world.messages.posted.iter(state.posted).filter(|&index| world.messages.nodes[index].has(flag::WAITED)).collect();
    if let Some(&index) = waited.first() {
        let node = &world.messages.nodes[index];
        let more = if waited.len() > 1 { format!(", and {} more receives", waited.len() - 1) } else { String::new() };
        if node.has(flag::WILD) {
            return Wait { function, source: None, rest: format!("source=MPI_ANY_SOURCE, {}{more}", tag_text(node)), spread: None };
        }
        let source = world
            .objects
            .comms
            .by_context(node.context, rank)
            .map_or(node.source, |comm| comm.peer(node.source as i32, rank, "source").unwrap_or(node.source));
        return Wait { function, source: Some(source), rest: format!("{}{more}", tag_text(node)), spread: None };
    }
    for index in 0..world.messages.requests.capacity() as u32 {
        let Some(request) = world.messages.requests.get(index) else { continue };
        if request.owner != rank || !request.waited {
            continue;
        }
        match request.body {
            Body::Synchronous => {
                return Wait { function, source: None, rest: "a synchronous send that nobody receives".to_owned(), spread: None };
            }
            Body::Collective { instance, .. } => return collective_wait(world, function, instance),
            Body::Generalized(_) => {
                return Wait { function, source: None, rest: "a generalized request that nobody completes".to_owned(), spread: None };
            }
            Body::Persistent { .. } | Body::Away { .. } => {}
        }
    }
    if let Some(instance) = world.collectives.waiting_instance(&world.objects, rank) {
        return collective_wait(world, function, instance);
    }
    let in_flight = world
        .messages
        .posted
        .iter(world.messages.ranks[rank as usize].posted)
        .any(|index| world.messages.nodes[index].state == State::InFlight);
    Wait { function, source: None, rest: if in_flight { "a message under way".to_owned() } else { String::new() }, spread: None }
}

fn collective_wait(world: &World, function: u16, index: u32) -> Wait {
    let instance = world.collectives.instance(index);
    let (_, arrived, size) = instance.describe();
    let comm = world.objects.comms.describe(crate::comm::Comms::handle(instance.comm()));
    let missing: Vec<u32> = instance.missing().take(MISSING + 1).collect();
    Wait { function, source: None, rest: entered(&comm, arrived, size, &missing), spread: instance.ident }
}

fn entered(comm: &str, arrived: u32, size: u32, missing: &[u32]) -> String {
    if arrived == size {
        return format!("{comm}, all {size} members entered");
    }
    let names: Vec<String> = missing.iter().take(MISSING).map(u32::to_string).collect();
    format!(
        "{comm}, {arrived} of {size} members entered; missing {}{}",
        names.join(", "),
        if (size - arrived) as usize > names.len() { ", ..." } else { "" }
    )
}
