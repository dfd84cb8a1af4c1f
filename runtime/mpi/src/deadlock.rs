//! Explains a deadlock: who waits for whom, alike ranks grouped.

use crate::chapters::Chapters;
use crate::handle::{self, RequestRef};
use crate::node::{Node, State, flag};
use crate::order::question::Question;
use crate::order::threads::{Blocked, Need};
use crate::remote::record::{Put, Take};
use crate::request::{Body, Completion, Round};
use crate::world::{Phase, World};
use engine::Time;
use message::chapter::id::{ChapterId, Token};
use message::chapter::ranks_text;
use std::collections::BTreeMap;
use std::fmt::Write;

/// How many groups are written out.
// A screen: who waits like many others is said in one line, and more kinds than that are no help.
const GROUPS: usize = 12;

/// What one rank waits for.
#[derive(Clone)]
struct Wait {
    /// The MPI function, by its number.
    function: u16,
    /// World rank of the source where it is named.
    source: Option<u32>,
    rest: String,
    /// The operation of another chapter in which other processes have a part, as all call it.
    shared: Option<(ChapterId, Vec<u8>)>,
}

/// What the ranks of one process wait for, or of all.
#[derive(Default)]
struct Waits {
    waits: Vec<(u32, Wait)>,
    ended: u32,
    first_ended: Option<u32>,
    latest: Time,
    /// What each chapter tells, by process.
    open: Vec<(ChapterId, Vec<Vec<u8>>)>,
    /// What chapters say of the whole.
    notes: Vec<String>,
}

impl Waits {
    fn of(world: &World) -> Waits {
        let mut all = Waits { latest: world.messages.latest(), ..Waits::default() };
        for rank in world.messages.first..world.messages.first + world.messages.local_started() {
            if world.messages.phase(rank) == Phase::Ended {
                all.ended += 1;
                all.first_ended.get_or_insert(rank);
            } else {
                all.waits.push((rank, wait_of(world, rank)));
            }
        }
        if world.messages.remote.is_some() {
            let told = |id| (id, vec![world.chapters.get(id).open(&world.messages, &world.objects)]);
            all.open = world.chapters.ids().map(told).into();
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
            out.u8(u8::from(wait.shared.is_some()));
            if let Some((chapter, name)) = &wait.shared {
                out.u8(chapter.0);
                out.bytes(name);
            }
        }
        self.open.iter().for_each(|(_, told)| out.bytes(&told[0]));
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
            let shared = (from.u8() != 0).then(|| (ChapterId(from.u8()), from.bytes().to_vec()));
            self.waits.push((rank, Wait { function, source, rest, shared }));
        }
        self.open.iter_mut().for_each(|(_, told)| told.push(from.bytes().to_vec()));
    }

    /// Says of operations in which several processes have a part what these know together.
    // Only all processes together know who is missing: each told what it had, and the text of the whole takes
    // the place of the part's.
    fn settle(&mut self, chapters: &Chapters) {
        for (id, told) in std::mem::take(&mut self.open) {
            let mut known = chapters.get(id).explain(&told);
            for (_, wait) in &mut self.waits {
                if let Some((chapter, name)) = &wait.shared
                    && *chapter == id
                    && let Some(text) = known.waits.get(name)
                {
                    wait.rest.clone_from(text);
                }
            }
            self.notes.append(&mut known.notes);
        }
    }
}

/// The explanation; of several processes, process 0 has it.
pub(crate) fn report(world: &mut World) -> Option<String> {
    let mut all = Waits::of(world);
    if world.messages.remote.is_some() {
        let blobs = world.gather_there(all.put())?;
        all = Waits { open: world.chapters.ids().map(|id| (id, Vec::new())).into(), ..Waits::default() };
        blobs.iter().for_each(|blob| all.add(&mut Take(blob)));
        all.settle(&world.chapters);
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
    // A ring waits for its left neighbour, a gather for rank 0: whichever way of saying it makes fewer groups
    // is the pattern.
    let chosen = if relative.len() < absolute.len() { relative } else { absolute };
    let mut sorted: Vec<_> = chosen.into_iter().collect();
    sorted.sort_by_key(|(_, ranks)| (std::cmp::Reverse(ranks.len()), ranks[0]));
    let mut out =
        format!("deadlock at virtual time {}: {} of {} ranks wait and nothing can wake them", latest, waits.len(), world.messages.started);
    for ((_, text), ranks) in sorted.iter().take(GROUPS) {
        let _ = write!(out, "\n  {} in {text}: {}", plural(ranks.len()), ranks_text(ranks));
    }
    if sorted.len() > GROUPS {
        let _ = write!(out, "\n  and {} more kinds of waiting", sorted.len() - GROUPS);
    }
    for note in &all.notes {
        let _ = write!(out, "\n  {note}");
    }
    if *ended > 0 {
        let _ = write!(out, "\n  {} ended already (the first is rank {})", plural(*ended as usize), first_ended.unwrap_or(0));
    }
    out
}

fn plural(count: usize) -> String {
    if count == 1 { "1 rank".to_owned() } else { format!("{count} ranks") }
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

// From the question that the rank asks to what it merely cannot get: O(posted + requests of all), for ranks
// that will never run again.
fn wait_of(world: &World, rank: u32) -> Wait {
    let function = world.messages.ranks[rank as usize].function;
    if let Some(poll) = world.order.polls.get(&rank) {
        return match poll.question() {
            Some(Question::WaitAll(requests)) => requests_wait(world, function, rank, &requests.iter().collect::<Vec<usize>>()),
            Some(question) => answer_wait(function, question),
            None => threads_wait(world, rank),
        };
    }
    let state = &world.messages.ranks[rank as usize];
    let waited: Vec<u32> =
        world.messages.posted.iter(state.posted).filter(|&index| world.messages.nodes[index].has(flag::WAITED)).collect();
    if let Some(&index) = waited.first() {
        return receive_wait(world, function, rank, index, waited.len());
    }
    let waited = world.messages.requests.iter().filter(|(_, request)| request.owner == rank && request.waited);
    if let Some(wait) = waited.filter_map(|(_, request)| request_wait(world, function, rank, &request.body)).next() {
        return wait;
    }
    let of_chapter = world.chapters.ids().into_iter().find_map(|chapter| chapter_wait(world, function, rank, chapter, None));
    if let Some(wait) = of_chapter {
        return wait;
    }
    let in_flight = world
        .messages
        .posted
        .iter(world.messages.ranks[rank as usize].posted)
        .any(|index| world.messages.nodes[index].state == State::InFlight);
    Wait { function, source: None, rest: if in_flight { "a message under way".to_owned() } else { String::new() }, shared: None }
}

/// The answer to a question.
fn answer_wait(function: u16, question: &Question) -> Wait {
    let rest = match question {
        Question::Probe(pattern) | Question::Iprobe(pattern) => match pattern.source {
            None => "source=MPI_ANY_SOURCE".to_owned(),
            Some(source) => format!("source={source} of the communicator"),
        },
        Question::WaitAny(Round { requests, .. })
        | Question::WaitSome(requests)
        | Question::WaitAll(requests)
        | Question::TestAll(requests)
        | Question::TestAny(Round { requests, .. })
        | Question::TestSome(requests) => {
            format!("{} requests", requests.active().count())
        }
        Question::Instant | Question::Now | Question::Cancel(_) => String::new(),
    };
    Wait { function, source: None, rest, shared: None }
}

/// The first of these requests that is not complete.
fn requests_wait(world: &World, function: u16, rank: u32, handles: &[usize]) -> Wait {
    let is_open = |handle: &usize| world.messages.completion(*handle) == Ok(Completion::Unknown);
    let open: Vec<usize> = handles.iter().copied().filter(is_open).map(|handle| world.messages.active_part(handle)).collect();
    let wait = open.first().and_then(|&handle| match handle::request(handle) {
        RequestRef::Node(index) => Some(receive_wait(world, function, rank, index, open.len())),
        RequestRef::Cold(index) => request_wait(world, function, rank, &world.messages.requests[index].body),
        _ => None,
    });
    wait.unwrap_or_else(|| nothing(function))
}

/// The message for a receive, the first of so many.
fn receive_wait(world: &World, function: u16, rank: u32, receive: u32, receives: usize) -> Wait {
    let node = &world.messages.nodes[receive];
    let more = if receives > 1 { format!(", and {} more receives", receives - 1) } else { String::new() };
    if node.has(flag::WILD) {
        return Wait { function, source: None, rest: format!("source=MPI_ANY_SOURCE, {}{more}", tag_text(node)), shared: None };
    }
    let source = world
        .objects
        .comms
        .by_context(node.context, rank)
        .map_or(node.source, |comm| comm.peer(node.source as i32, rank, "source").unwrap_or(node.source));
    Wait { function, source: Some(source), rest: format!("{}{more}", tag_text(node)), shared: None }
}

/// A request of the table.
fn request_wait(world: &World, function: u16, rank: u32, body: &Body) -> Option<Wait> {
    let of = |rest: &str| Some(Wait { function, source: None, rest: rest.to_owned(), shared: None });
    match body {
        Body::Synchronous => of("a synchronous send that nobody receives"),
        &Body::Chapter { chapter, token } => {
            Some(chapter_wait(world, function, rank, chapter, Some(token)).unwrap_or_else(|| nothing(function)))
        }
        Body::Generalized(_) => of("a generalized request that nobody completes"),
        Body::Persistent { .. } | Body::Away { .. } => None,
    }
}

/// What the threads of a rank wait for: the first, and the others behind it.
// One wait for the rank, as all others have: the report groups ranks.
fn threads_wait(world: &World, rank: u32) -> Wait {
    let mut waits: Vec<Wait> = world.order.threads.blocked.iter().map(|blocked| thread_wait(world, rank, blocked)).collect();
    // What all processes say of an operation takes the place of what this one says of it.
    waits.sort_by_key(|wait| wait.shared.is_some());
    let mut waits = waits.into_iter();
    let mut first = waits.next().unwrap_or_else(|| nothing(world.messages.ranks[rank as usize].function));
    for other in waits {
        let _ = write!(first.rest, "; another thread in {}", text(rank, &other, world.messages.function_name(other.function), false));
    }
    first
}

fn thread_wait(world: &World, rank: u32, blocked: &Blocked) -> Wait {
    let function = blocked.function;
    match &blocked.need {
        Need::Answer(asked) => answer_wait(function, &asked.question),
        &Need::Member(instance, _) => {
            let token = [instance, 0];
            chapter_wait(world, function, rank, collective::CHAPTER, Some(token)).unwrap_or_else(|| nothing(function))
        }
        Need::Requests(handles) => requests_wait(world, function, rank, handles),
        Need::Wake(_) | Need::Nothing => nothing(function),
    }
}

fn nothing(function: u16) -> Wait {
    Wait { function, source: None, rest: String::new(), shared: None }
}

/// What a rank waits for that is something of this chapter: with `token`, the operation of that request.
fn chapter_wait(world: &World, function: u16, rank: u32, chapter: ChapterId, token: Option<Token>) -> Option<Wait> {
    let wait = world.chapters.get(chapter).wait_of(&world.messages, &world.objects, rank, token)?;
    Some(Wait { function, source: None, rest: wait.text, shared: wait.name.map(|name| (chapter, name)) })
}
