//! Explains a deadlock: who waits for whom, alike ranks grouped.

mod lying;

use crate::chapters::Chapters;
use crate::handle::{self, RequestRef};
use crate::node::{State, flag};
use crate::order::question::Question;
use crate::order::threads::{Blocked, Need};
use crate::remote::record::{Put, Take};
use crate::request::{Body, Completion, Round};
use crate::world::{Phase, World};
use engine::Time;
use lying::OpenSend;
use p2p::chapter::id::{ChapterId, Token};
use p2p::chapter::ranks_text;
use p2p::envelope::Pattern;
use rustc_hash::FxHashMap;
use std::collections::BTreeMap;
use std::fmt::Write;

/// Maximum number of groups that are written out.
// A screen: who waits like many others is said in one line, and more kinds than that are no help.
const GROUPS: usize = 12;
/// Groups of ranks in a finding, which is one line.
const GROUPS_OF_FINDING: usize = 4;

/// The rank on the other side of what a rank waits for.
#[derive(Clone, Copy)]
enum Peer {
    /// A receive's, by its world rank.
    Source(u32),
    /// A send's, by its world rank.
    Destination(u32),
}

/// The call in which one rank waits, and the event that it waits for.
#[derive(Clone)]
struct Wait {
    /// The MPI function, by its number.
    function: u16,
    /// The other side where it is named.
    peer: Option<Peer>,
    rest: String,
    /// The operation of another chapter in which other processes have a part, as all call it.
    shared: Option<(ChapterId, Vec<u8>)>,
    /// The request of a send that waits for its receive: where its message lies says the rest.
    send: Option<u32>,
    /// The place of the call in the program, if that is known.
    site: String,
}

impl Wait {
    fn new(function: u16, rest: impl Into<String>) -> Wait {
        Wait { function, peer: None, rest: rest.into(), shared: None, send: None, site: String::new() }
    }

    fn put(&self, out: &mut Vec<u8>) {
        out.u32(self.function.into());
        let (kind, peer) = match self.peer {
            None => (0, 0),
            Some(Peer::Source(rank)) => (1, rank),
            Some(Peer::Destination(rank)) => (2, rank),
        };
        out.u8(kind);
        out.u32(peer);
        out.bytes(self.rest.as_bytes());
        out.u8(u8::from(self.shared.is_some()));
        if let Some((chapter, name)) = &self.shared {
            out.u8(chapter.0);
            out.bytes(name);
        }
        out.u32(self.send.unwrap_or(u32::MAX));
        out.bytes(self.site.as_bytes());
    }

    /// Reads what [`put`](Self::put) wrote.
    fn take(from: &mut Take) -> Wait {
        let text = |from: &mut Take| String::from_utf8_lossy(from.bytes()).into_owned();
        let function = from.u32() as u16;
        let peer = match (from.u8(), from.u32()) {
            (1, rank) => Some(Peer::Source(rank)),
            (2, rank) => Some(Peer::Destination(rank)),
            _ => None,
        };
        let rest = text(from);
        let shared = (from.u8() != 0).then(|| (ChapterId(from.u8()), from.bytes().to_vec()));
        let send = Some(from.u32()).filter(|&request| request != u32::MAX);
        Wait { function, peer, rest, shared, send, site: text(from) }
    }
}

/// Waits of the ranks of one process, or of all ranks.
#[derive(Default)]
struct Waits {
    waits: Vec<(u32, Wait)>,
    ended: u32,
    first_ended: Option<u32>,
    latest: Time,
    /// Encoded open operations of each subsystem, by process.
    open: Vec<(ChapterId, Vec<Vec<u8>>)>,
    /// Notes of subsystems on the run as a whole.
    notes: Vec<String>,
    /// Messages whose senders wait for their receives.
    sends: Vec<OpenSend>,
}

impl Waits {
    fn of(world: &World, site: &mut dyn FnMut(u32) -> Option<String>) -> Waits {
        let sends = lying::open_sends(world);
        let mut all = Waits { latest: world.messages.ranks().latest(), sends, ..Waits::default() };
        let mut requests: FxHashMap<u32, Vec<u32>> = FxHashMap::default();
        for (index, request) in world.messages.requests().iter().filter(|(_, request)| request.waited) {
            requests.entry(request.owner).or_default().push(index);
        }
        for rank in world.messages.ranks().own_started() {
            if world.messages.ranks()[rank].phase == Phase::Ended {
                all.ended += 1;
                all.first_ended.get_or_insert(rank);
            } else {
                let waited = requests.get(&rank).map_or(&[][..], Vec::as_slice);
                let site = site(rank).unwrap_or_default();
                all.waits.push((rank, Wait { site, ..wait_of(world, rank, waited) }));
            }
        }
        if world.messages.peers().exist() {
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
            wait.put(&mut out);
        }
        out.u32(self.sends.len() as u32);
        self.sends.iter().for_each(|send| send.put(&mut out));
        self.open.iter().for_each(|(_, told)| out.bytes(&told[0]));
        out
    }

    /// Adds what [`put`](Self::put) wrote; processes come in order.
    fn add(&mut self, from: &mut Take) {
        let some = |value: u32| (value != u32::MAX).then_some(value);
        self.latest = self.latest.max(Time::from_ps(from.u64()));
        self.ended += from.u32();
        let first_ended = some(from.u32());
        self.first_ended = self.first_ended.or(first_ended);
        for _ in 0..from.u32() {
            let rank = from.u32();
            self.waits.push((rank, Wait::take(from)));
        }
        for _ in 0..from.u32() {
            self.sends.push(OpenSend::take(from));
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

impl Waits {
    /// Says of each send that waits for its receive where its message lies.
    fn settle_sends(&mut self) {
        let lying: FxHashMap<(u32, u32), &OpenSend> =
            self.sends.iter().map(|send| (send.key(), send)).collect();
        for (rank, wait) in &mut self.waits {
            if let Some(send) = wait.send.and_then(|request| lying.get(&(*rank, request))) {
                wait.peer = Some(Peer::Destination(send.to));
                wait.rest = send.text();
            }
        }
    }
}

/// Returns the explanation; of several processes, process 0 has it. `site` returns where the program makes
/// the call that a rank of this process is in.
pub(crate) fn report(world: &mut World, site: &mut dyn FnMut(u32) -> Option<String>) -> Option<String> {
    let mut all = Waits::of(world, site);
    if world.messages.peers().exist() {
        let blobs = world.gather_there(all.put())?;
        all = Waits { open: world.chapters.ids().map(|id| (id, Vec::new())).into(), ..Waits::default() };
        blobs.iter().for_each(|blob| all.add(&mut Take(blob)));
        all.settle(&world.chapters);
    }
    all.settle_sends();
    Some(explain(world, &all))
}

/// A function, what its call waits for, and the ranks that wait so.
type Group<'w> = ((&'static str, String, &'w str), Vec<u32>);

/// Returns alike ranks together, the largest group first.
fn grouped<'w>(world: &World, waits: &'w [(u32, Wait)]) -> Vec<Group<'w>> {
    let groups = |relative: bool| {
        let mut groups: BTreeMap<(&'static str, String, &str), Vec<u32>> = BTreeMap::new();
        for (rank, wait) in waits {
            let function = world.messages.ranks().function_name(wait.function);
            let text = text(*rank, wait, function, relative);
            groups.entry((function, text, wait.site.as_str())).or_default().push(*rank);
        }
        groups
    };
    let (absolute, relative) = (groups(false), groups(true));
    // A ring waits for its left neighbour, a gather for rank 0: whichever way of saying it makes fewer groups
    // is the pattern.
    let chosen = if relative.len() < absolute.len() { relative } else { absolute };
    let mut sorted: Vec<_> = chosen.into_iter().collect();
    sorted.sort_by_key(|(_, ranks)| (std::cmp::Reverse(ranks.len()), ranks[0]));
    sorted
}

/// Returns what the ranks of this process wait for, in one line.
pub(crate) fn waits(world: &World) -> String {
    let waits = Waits::of(world, &mut |_| None).waits;
    let sorted = grouped(world, &waits);
    let mut lines: Vec<String> = sorted
        .iter()
        .take(GROUPS_OF_FINDING)
        .map(|((_, text, _), ranks)| format!("{} in {text} ({})", plural(ranks.len()), ranks_text(ranks)))
        .collect();
    if sorted.len() > GROUPS_OF_FINDING {
        lines.push(format!("{} more kinds of waiting", sorted.len() - GROUPS_OF_FINDING));
    }
    lines.join(", ")
}

fn explain(world: &World, all: &Waits) -> String {
    let Waits { waits, ended, first_ended, latest, .. } = all;
    let sorted = grouped(world, waits);
    let mut out = format!(
        "deadlock at virtual time {latest}: {}",
        engine::deadlock::waiting(waits.len(), world.messages.ranks().started())
    );
    for ((_, text, site), ranks) in sorted.iter().take(GROUPS) {
        let _ = write!(out, "\n  {} in {text}: {}", plural(ranks.len()), ranks_text(ranks));
        if !site.is_empty() {
            let _ = write!(out, ", at {site}");
        }
    }
    if sorted.len() > GROUPS {
        let _ = write!(out, "\n  and {} more kinds of waiting", sorted.len() - GROUPS);
    }
    for note in &all.notes {
        let _ = write!(out, "\n  {note}");
    }
    if *ended > 0 {
        let _ = write!(
            out,
            "\n  {} ended already (the first is rank {})",
            plural(*ended as usize),
            first_ended.unwrap_or(0)
        );
    }
    out
}

fn plural(count: usize) -> String {
    if count == 1 { "1 rank".to_owned() } else { format!("{count} ranks") }
}

fn text(rank: u32, wait: &Wait, function: &str, relative: bool) -> String {
    let named = |what: &str, peer: u32| {
        if !relative {
            return format!("{what}={peer}");
        }
        if peer == rank {
            return format!("{what}=itself");
        }
        let (sign, by) = if peer > rank { ('+', peer - rank) } else { ('-', rank - peer) };
        format!("{what}=rank{sign}{by}")
    };
    let peer = match wait.peer {
        None => String::new(),
        Some(Peer::Source(peer)) => named("source", peer),
        Some(Peer::Destination(peer)) => named("destination", peer),
    };
    match (peer.is_empty(), wait.rest.is_empty()) {
        (true, true) => function.to_owned(),
        (false, false) => format!("{function}({peer}, {})", wait.rest),
        _ => format!("{function}({peer}{})", wait.rest),
    }
}

fn tag_text(pattern: &Pattern) -> String {
    pattern.tag.map_or_else(|| "tag=MPI_ANY_TAG".to_owned(), |tag| format!("tag={tag}"))
}

/// Returns what a rank waits for; `waited` are the requests of the table for which it is blocked.
// From the question that the rank asks to what it merely cannot get: O(posted), for ranks that will never run
// again.
fn wait_of(world: &World, rank: u32, waited: &[u32]) -> Wait {
    let function = world.messages.ranks()[rank].strand.function();
    if let Some(poll) = world.order.polls.get(&rank) {
        return match poll.question() {
            Some(Question::WaitAll(requests)) => {
                requests_wait(world, function, rank, &requests.iter().collect::<Vec<usize>>())
            }
            Some(question) => answer_wait(world, function, rank, question),
            None => threads_wait(world, rank),
        };
    }
    if let Some((to, tag)) = world.unmatched_send(rank) {
        return Wait { peer: Some(Peer::Destination(to)), ..Wait::new(function, format!("tag={tag}")) };
    }
    let state = &world.messages.ranks()[rank];
    let posted: Vec<u32> = world
        .messages
        .matcher()
        .receives(&state.pending)
        .filter(|&index| world.messages.matcher()[index].has(flag::WAITED))
        .collect();
    if let Some(&index) = posted.first() {
        return receive_wait(world, function, rank, index, posted.len());
    }
    if let Some(wait) = waited.iter().find_map(|&index| request_wait(world, function, rank, index)) {
        return wait;
    }
    let of_chapter = world
        .chapters
        .ids()
        .into_iter()
        .find_map(|chapter| chapter_wait(world, function, rank, chapter, None));
    if let Some(wait) = of_chapter {
        return wait;
    }
    let in_flight = world
        .messages
        .matcher()
        .receives(&world.messages.ranks()[rank].pending)
        .any(|index| world.messages.matcher()[index].state == State::InFlight);
    Wait::new(function, if in_flight { "a message under way" } else { "" })
}

/// Returns what a rank waits for that has asked a question.
fn answer_wait(world: &World, function: u16, rank: u32, question: &Question) -> Wait {
    match question {
        Question::Probe(pattern) | Question::Iprobe(pattern) => {
            message_wait(world, function, rank, pattern, "")
        }
        Question::WaitAny(Round { requests, .. })
        | Question::WaitSome(requests)
        | Question::WaitAll(requests)
        | Question::TestAll(requests)
        | Question::TestAny(Round { requests, .. })
        | Question::TestSome(requests) => {
            Wait::new(function, format!("{} requests", requests.active().count()))
        }
        Question::Instant | Question::Now | Question::Cancel(_) => nothing(function),
    }
}

/// Returns the wait for the first of these requests that is not complete.
fn requests_wait(world: &World, function: u16, rank: u32, handles: &[usize]) -> Wait {
    let is_open = |handle: &usize| world.completion(*handle) == Ok(Completion::Unknown);
    let open: Vec<usize> = handles
        .iter()
        .copied()
        .filter(is_open)
        .map(|handle| world.messages.requests().active_part(handle))
        .collect();
    let wait = open.first().and_then(|&handle| match handle::request(handle) {
        RequestRef::Node(index) => Some(receive_wait(world, function, rank, index, open.len())),
        RequestRef::Cold(index) => request_wait(world, function, rank, index),
        _ => None,
    });
    wait.unwrap_or_else(|| nothing(function))
}

/// Returns the wait for the message of a receive, the first of so many.
fn receive_wait(world: &World, function: u16, rank: u32, receive: u32, receives: usize) -> Wait {
    let more = if receives > 1 { format!(", and {} more receives", receives - 1) } else { String::new() };
    message_wait(world, function, rank, &Pattern::of(&world.messages.matcher()[receive]), &more)
}

/// Returns the wait for a message that fits a pattern, with what lies there instead.
fn message_wait(world: &World, function: u16, rank: u32, pattern: &Pattern, more: &str) -> Wait {
    let instead = lying::instead(world, rank, pattern).map_or_else(String::new, |text| format!("; {text}"));
    let tag = tag_text(pattern);
    match pattern.source {
        None => Wait::new(function, format!("source=MPI_ANY_SOURCE, {tag}{more}{instead}")),
        Some(source) => {
            let peer = Some(Peer::Source(lying::world_rank(world, rank, pattern.context, source)));
            Wait { peer, ..Wait::new(function, format!("{tag}{more}{instead}")) }
        }
    }
}

/// Returns the wait for a request of the table.
fn request_wait(world: &World, function: u16, rank: u32, index: u32) -> Option<Wait> {
    match &world.messages.requests()[index].body {
        Body::Synchronous { .. } => {
            Some(Wait { send: Some(index), ..Wait::new(function, "a send that no rank receives") })
        }
        &Body::Chapter { chapter, token } => Some(
            chapter_wait(world, function, rank, chapter, Some(token)).unwrap_or_else(|| nothing(function)),
        ),
        Body::Generalized(_) => Some(Wait::new(function, "a generalized request that nobody completes")),
        Body::Persistent { .. } | Body::Away { .. } => None,
    }
}

/// Returns what the threads of a rank wait for: the first, and the others behind it.
// One wait for the rank, as all others have: the report groups ranks.
fn threads_wait(world: &World, rank: u32) -> Wait {
    let mut waits: Vec<Wait> =
        world.order.threads.blocked.iter().map(|blocked| thread_wait(world, rank, blocked)).collect();
    // What all processes say of an operation takes the place of what this one says of it.
    waits.sort_by_key(|wait| wait.shared.is_some());
    let mut waits = waits.into_iter();
    let mut first = waits.next().unwrap_or_else(|| nothing(world.messages.ranks()[rank].strand.function()));
    for other in waits {
        let _ = write!(
            first.rest,
            "; another thread in {}",
            text(rank, &other, world.messages.ranks().function_name(other.function), false)
        );
    }
    first
}

fn thread_wait(world: &World, rank: u32, blocked: &Blocked) -> Wait {
    let function = blocked.function;
    match &blocked.need {
        Need::Answer(asked) => answer_wait(world, function, rank, &asked.question),
        &Need::Member(instance, _) => {
            let token = [instance, 0];
            chapter_wait(world, function, rank, collective::CHAPTER, Some(token))
                .unwrap_or_else(|| nothing(function))
        }
        Need::Requests(handles) => requests_wait(world, function, rank, handles),
        Need::Wake(_) | Need::Nothing => nothing(function),
    }
}

fn nothing(function: u16) -> Wait {
    Wait::new(function, "")
}

/// Returns what a rank waits for that is something of this chapter: with `token`, the operation of that
/// request.
fn chapter_wait(
    world: &World,
    function: u16,
    rank: u32,
    chapter: ChapterId,
    token: Option<Token>,
) -> Option<Wait> {
    let wait = world.chapters.get(chapter).wait_of(&world.messages, &world.objects, rank, token)?;
    Some(Wait { shared: wait.name.map(|name| (chapter, name)), ..Wait::new(function, wait.text) })
}
