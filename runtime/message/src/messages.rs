//! Ranks and what passes between them: the state that sends, receives and waits work on.

use crate::batch::Batch;
use crate::charging::{Compute, Effort};
use crate::datatype::Datatype;
use crate::envelope::Envelope;
use crate::faults::Faults;
use crate::flight::{Flight, Record};
use crate::held::HeldMatches;
use crate::node::Nodes;
use crate::payload::Pool;
use crate::queue::{self, Queue, Queues};
use crate::ready::Ready;
use crate::remote::Remote;
use crate::remote::block::Block;
use crate::request::{Request, Status};
use crate::slab::Slab;
use crate::types::Types;
use crate::waits::Waits;
use crate::wild::Wilds;
use crate::wire::Wire;
use engine::{EndOfTime, EventQueue, Span, Time};
use network::Message;
use observe::Profile;
use rustc_hash::FxHashMap;
use std::cell::RefCell;
use std::collections::BTreeSet;
use std::rc::Rc;

/// In [`RankState::function`] once that call was a poll in vain.
// In a word that each call writes anyway, so that a call which is no poll clears it at no cost.
pub const FAILED_POLL: u16 = 1 << 15;

/// Polls in vain that cost no time, after which a rank that only polls is parked; the others are charged at each so many, so that those
/// between are asked at the same instant.
pub const FREE_POLLS: u32 = 64;

/// What so many polls `together` cost a rank that has made `failed_polls` in a row.
#[inline]
pub fn failed_poll_cost(failed_polls: u32, together: u32) -> Span {
    Span::from_ps(u64::from(together) * 1_000.max(u64::from(failed_polls) * 1_000 / 128))
}

/// Up to so many ranks, what a switch touches is in the cache anyway, and so are the nodes of what a rank waited for.
pub const CACHED_RANKS: u32 = 4096;

/// Where a rank is in its life with MPI.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[repr(u8)]
pub enum Phase {
    /// Before `MPI_Init`.
    #[default]
    Before,
    /// Before `MPI_Init`, but it has opened a session: no stranger to MPI.
    Opened,
    /// Between `MPI_Init` and `MPI_Finalize`.
    Active,
    /// After `MPI_Finalize`.
    Finalized,
    /// Its `main` has ended.
    Ended,
}

/// Messages that one rank may send in a row before long queues at its receivers make it step back.
// A sender that never blocks could otherwise fill memory with messages whose receivers have not run yet; most
// that send so many at once have receivers that keep up, and are forgiven.
pub const BURST: u16 = 512;

/// What every rank needs always: one cache line.
// All that a sender has to see of its receiver is in this line: both queues, whether anybody decides there,
// what it is blocked for. What only the rank itself needs, or what few ranks have, is kept beside the ranks
// (`wilds`, `unsettled`, `buffers`, polls).
#[derive(Clone, Default)]
#[repr(C, align(64))]
pub struct RankState {
    /// Its virtual time.
    pub clock: Time,
    /// When its NIC is free again (gap).
    pub nic_free: Time,
    /// The latest arrival of what it was blocked for and what was completed without its status being asked for (`flag::STATUS_IGNORED`).
    pub arrived: Time,
    /// Receives without a message.
    pub posted: Queue,
    /// Messages without a receive.
    pub unexpected: Queue,
    /// Completions it is blocked for.
    // A number and not a list: nobody asks which completions are missing, and each counts one down wherever it
    // comes from.
    pub waiting: u32,
    /// Undecided receives for any source in `posted`.
    pub wilds: u32,
    /// Polls and clock readings in a row without its clock moving.
    pub failed_polls: u32,
    /// Messages since it last stepped back, or as many as can be counted.
    pub burst: u16,
    /// The MPI function it is in, or was last in; with `FAILED_POLL` after a poll that found nothing.
    pub function: u16,
    /// Where it is in its life.
    pub phase: Phase,
    /// Whether it is blocked in a poll (`Messages::polls`).
    pub polling: bool,
    /// Whether it is in `Messages::dirty`.
    pub dirty: bool,
}

const _: () = assert!(size_of::<RankState>() == 64, "a rank's state is one cache line, or a million ranks take twice the memory");

impl RankState {
    /// [`Messages::advance`] of its clock alone: how long it waited, if it did.
    #[inline(always)]
    pub fn advance(&mut self, time: Time) -> Option<Span> {
        (time > self.clock).then(|| {
            self.failed_polls = 0;
            time.since(std::mem::replace(&mut self.clock, time))
        })
    }
    /// Counts so many messages that it sends: whether it has sent many in a row.
    #[inline(always)]
    pub fn counts_burst(&mut self, messages: u16) -> bool {
        self.burst = self.burst.saturating_add(messages);
        self.burst > BURST
    }
    /// Whether a message in its queues may have to be decided.
    #[inline]
    pub fn watches(&self) -> bool {
        self.wilds != 0 || self.polling
    }
}

/// What communication and computation cost on the simulated machine.
pub struct Costs {
    /// The network.
    pub wire: Wire,
    /// What computation costs.
    pub compute: Compute,
    /// Floating-point operations that a rank's processor does in a second, if that is known.
    pub flop_rate: Option<f64>,
}

/// Ranks, their queues and requests, messages under way.
pub struct Messages {
    /// Ranks that there are numbers for: those that have started, and those that can be spawned.
    pub size: u32,
    /// Ranks that have started, as far as this process knows: those below this number. All of its own that have are among them.
    // Ranks are spawned in the order of their numbers, so that one number is enough.
    pub started: u32,
    /// The mounted rank (world number).
    pub current: u32,
    /// This process's ranks, by world number.
    pub ranks: Block<RankState>,
    /// This process's ranks: the first of them, and how many.
    // Again beside `remote`, since each message asks whether its receiver is here.
    pub first: u32,
    /// How many ranks this process has.
    pub local: u32,
    /// The other native processes, if there are any.
    pub remote: Option<Box<Remote>>,
    /// Whether there are so many ranks that what a switch or a message touches has left the cache since it was touched last.
    pub sweeps: bool,
    /// Whether so much waits for other processes that senders should step back.
    pub crowded: bool,
    /// Whether a rank has sent so many messages in a row that its next send is to ask whether it steps back.
    // Asked of every send, where the rank's own count would have to be looked up again.
    pub far_ahead: bool,
    /// What the mounted rank started in a row.
    pub batch: Batch,
    /// The status of the receive that has just ended.
    // Kept here, because a status is more than a call can answer in registers, and most programs ignore it.
    pub latest: Status,
    /// Whether the mounted rank's call before this one was of the same function.
    pub again: bool,
    /// Whether the mounted rank polls, and its call before was a poll in vain.
    pub polls_again: bool,
    /// Messages and receives.
    pub nodes: Nodes,
    /// Receives that wait for their message, a queue for each rank.
    pub posted: Queues<queue::Entry>,
    /// Messages that wait for their receive, a queue for each rank.
    pub unexpected: Queues<queue::Timed>,
    /// Of which kinds the open receives for any source are.
    pub wilds: Wilds,
    /// Payloads that were copied out of their sender.
    pub pool: Pool,
    /// Layouts of receives whose elements do not lie side by side, by `Node::layout`.
    pub layouts: Slab<(Rc<Datatype>, u64)>,
    /// Requests that are more than a node.
    pub requests: Slab<Request>,
    /// Receives that were freed while active and have their message now: rank and node. Their payload goes into memory that only their rank reaches.
    pub orphans: Vec<(u32, u32)>,
    /// Receives with `flag::STATUS_IGNORED` that their ranks have to see all the same, and whose they are.
    // Nearly always empty, so that ending a wait asks once whether it is: longer messages than their receives,
    // and payloads that only the rank itself can move.
    pub unsettled: FxHashMap<u32, u32>,
    /// Who can run.
    pub ready: Ready,
    /// The simulated network.
    pub wire: Wire,
    /// Whether message times depend on other messages.
    pub by_time: bool,
    /// Whether messages carry bytes. Without, they have a length and no memory at either end, and buffers have no address: nothing is ever written to
    /// one, so that a receive takes its message as one does whose buffer anybody can reach.
    pub payloads: bool,
    /// What a shared network carries, by the number that it was given.
    pub flights: Slab<Flight>,
    /// What will be told to other processes when a shared network has delivered it.
    pub records: Slab<Record>,
    /// Messages that leave for a shared network, by time of sending; of several processes the first has them all.
    pub outbox: EventQueue<Message>,
    /// Messages that were given to a shared network so far: those that leave at one time go in this order.
    pub launched: u64,
    /// Messages that a shared network was given here; it wraps round.
    pub injected: u32,
    /// How computation is charged.
    pub compute: Compute,
    /// Floating-point operations that a rank's processor does in a second, if that is known.
    pub flop_rate: Option<f64>,
    /// Buffers that ranks attached, by rank and communicator (`MPI_COMM_NULL` for all).
    pub buffers: FxHashMap<(u32, crate::buffered::Use), crate::buffered::Attached>,
    /// What ranks have sent since that is counted ([`Messages::count_sends`]).
    pub sent: Option<Box<FxHashMap<u32, crate::waits::Sent>>>,
    /// What the host has computed for the mounted rank.
    pub clock_host: rank::host::HostClock,
    /// What the host does for the call that is being served.
    pub effort: Effort,
    /// Names of the MPI functions.
    pub names: &'static [&'static str],
    /// What was found in the program that works here and that MPI does not promise, if that is asked for (`-xsim-check`).
    // To be noted where the world is only looked at; a set, so that a loop says it once.
    pub findings: Option<RefCell<BTreeSet<String>>>,
    /// Handles of their own that complete sends have been given ([`crate::handle::of_sent`]).
    pub distinct: u32,
    /// What messages were sent as, if a recorder wants to know.
    pub types: Option<Box<Types>>,
    /// Whether receives may take the plain path: nobody wants to know their types, and no rank can fail.
    // One question for both, so that neither costs a plain receive anything.
    pub plain_receives: bool,
    /// Whether a recorder wants to know of each message when it left or what it was sent as.
    pub noted: bool,
    /// Whether receives that a rank is blocked for may be completed without it looking at them again ([`Messages::await_all`]).
    pub unseen: bool,
    /// Who has failed, and what is revoked; none while nothing can be.
    pub faults: Option<Box<Faults>>,
    /// From a failure until all know.
    pub detection: Span,
    /// Whether a sender has waited for its match.
    pub handshakes: bool,
    /// Matches of which their senders are not told yet.
    pub held: HeldMatches,
    /// Ranks with open decisions to which something happened since these were looked at.
    pub dirty: Vec<u32>,
    /// No message earlier than this will come any more.
    // Written by who decides and read by who matches: that is all that matching knows of decisions.
    pub safe: Time,
    /// What is counted for the report.
    pub profile: Profile,
    /// Who keeps whom waiting, if a recorder wants to know.
    pub waits: Option<Box<Waits>>,
}

impl Messages {
    /// Of `size` ranks, those of this process; the first `initial` of all can run. `names` are those of the MPI functions.
    pub fn new(
        costs: Costs,
        (size, initial): (u32, u32),
        remote: Option<Remote>,
        (names, check): (&'static [&'static str], bool),
    ) -> Messages {
        let Costs { wire, compute, flop_rate } = costs;
        let (first, local) = remote.as_ref().map_or((0, size), Remote::own);
        let (sweeps, unseen) = (local > CACHED_RANKS, !wire.has_overheads);
        let ready = Ready::all(first, initial.saturating_sub(first).min(local));
        Messages {
            size,
            started: initial,
            current: 0,
            ranks: Block::new(first, local),
            first,
            local,
            sweeps,
            remote: remote.map(Box::new),
            crowded: false,
            far_ahead: false,
            latest: Status::EMPTY,
            batch: Batch::default(),
            again: false,
            polls_again: false,
            nodes: Nodes::new(),
            posted: Queues::default(),
            unexpected: Queues::default(),
            wilds: Wilds::default(),
            pool: Pool::default(),
            layouts: Slab::default(),
            requests: Slab::default(),
            orphans: Vec::new(),
            unsettled: FxHashMap::default(),
            ready: if sweeps { ready.looking_ahead() } else { ready },
            by_time: wire.is_shared(),
            payloads: true,
            wire,
            flights: Slab::default(),
            records: Slab::default(),
            outbox: EventQueue::new(),
            launched: 0,
            injected: 0,
            clock_host: rank::host::HostClock::new().scaled(compute.factor()),
            compute,
            flop_rate,
            buffers: FxHashMap::default(),
            sent: None,
            effort: Effort::Unknown,
            names,
            findings: check.then(RefCell::default),
            distinct: 0,
            types: None,
            plain_receives: true,
            noted: false,
            unseen,
            faults: None,
            detection: Span::ZERO,
            handshakes: false,
            held: HeldMatches::default(),
            dirty: Vec::new(),
            safe: Time::ZERO,
            profile: Profile::new(names.len(), first, local as usize),
            waits: None,
        }
    }

    /// Something happened to a rank with open decisions: they are looked at again before the next one is made.
    // A rank that gets a thousand messages is once in the list. Its order has no meaning: it goes into a queue
    // by time and rank.
    #[inline]
    pub fn mark_dirty(&mut self, rank: u32) {
        let state = &mut self.ranks[rank as usize];
        if !state.dirty {
            state.dirty = true;
            self.dirty.push(rank);
        }
    }
}

impl Messages {
    /// The mounted rank (world number).
    #[inline]
    pub fn me(&self) -> u32 {
        self.current
    }
    /// The node of the simulated machine that a rank is on.
    pub fn node_of(&self, rank: u32) -> u32 {
        rank / self.wire.node
    }
    /// What is known of a request handle, if it is valid.
    pub fn is_request(&self, handle: usize) -> Option<crate::request::Completion> {
        self.completion(handle).ok()
    }
    /// Ranks that there are numbers for.
    pub fn size(&self) -> u32 {
        self.size
    }
    /// Ranks of this process that have started.
    pub fn local_started(&self) -> u32 {
        self.started.saturating_sub(self.first).min(self.local)
    }
    /// A rank's clock.
    #[inline]
    pub fn clock(&self, rank: u32) -> Time {
        self.ranks[rank as usize].clock
    }
    /// The mounted rank does something that works here and that MPI does not promise: says so once, if that is asked for.
    // The text is made by who has something to say only if somebody listens: calls that note findings are on
    // hot paths.
    pub fn note_finding(&self, what: impl FnOnce() -> String) {
        let Some(findings) = &self.findings else { return };
        let me = self.me();
        let what = format!("{}: {}", self.function_of(me), what());
        if findings.borrow_mut().insert(what.clone()) {
            eprintln!("xsim: finding: rank {me} at {}: {what}", self.clock(me));
        }
    }
    /// Messages that lie at a rank of this process and that it has not received, with their bytes.
    pub fn never_received(&self, rank: u32) -> impl Iterator<Item = (Envelope, u64)> + '_ {
        let lying = self.unexpected.iter(self.ranks[rank as usize].unexpected).map(|message| &self.nodes[message]);
        lying.map(|node| (Envelope::of(node), node.bytes))
    }
    /// Why the run cannot go on beyond the end of virtual time: names the rank of this process whose clock is the greatest, of several the first.
    pub fn explain(&self, EndOfTime(why): &EndOfTime) -> String {
        let clocks = (self.first..).zip(self.ranks.iter().map(|rank| rank.clock));
        let (rank, at) = clocks.reduce(|a, b| if b.1 > a.1 { b } else { a }).unwrap_or_default();
        format!("rank {rank} at {at}: {}: {why}", self.function_of(rank))
    }
    /// The greatest clock of all ranks.
    pub fn latest(&self) -> Time {
        self.ranks.iter().map(|rank| rank.clock).max().unwrap_or_default()
    }
    /// Where a rank is in its life.
    pub fn phase(&self, rank: u32) -> Phase {
        self.ranks[rank as usize].phase
    }
    /// Moves a rank on in its life.
    pub fn set_phase(&mut self, rank: u32, phase: Phase) {
        self.ranks[rank as usize].phase = phase;
    }
    /// Messages sent and their bytes.
    pub fn traffic(&self) -> (u64, u128) {
        (self.profile.messages(), self.profile.bytes())
    }
    /// The name of an MPI function.
    pub fn function_name(&self, function: u16) -> &'static str {
        self.names.get(usize::from(function)).copied().unwrap_or("no MPI function yet")
    }
    /// The MPI function a rank is in, or was last in.
    pub fn function_of(&self, rank: u32) -> &'static str {
        self.function_name(self.ranks[rank as usize].function & !FAILED_POLL)
    }
    /// Moves a rank's clock to `time` if that is later; the difference counts as waiting.
    // Only forward: what completed before the rank asked costs it nothing, and just the rest counts as waiting.
    // A clock that moves ends a row of polls, which are all of one instant.
    #[inline(always)]
    pub fn advance(&mut self, rank: u32, time: Time) {
        if let Some(waited) = self.ranks[rank as usize].advance(time) {
            self.profile.wait(rank, waited);
        }
    }
}

impl Messages {
    /// The mounted rank's poll found nothing.
    // The flag first: charging for the row of polls is rare, and who parks polls asks for the flag alone.
    #[inline]
    pub fn failed_poll(&mut self) {
        let me = self.current;
        self.ranks[me as usize].function |= FAILED_POLL;
        self.count_failed_poll(me, FREE_POLLS);
    }

    /// Counts a poll that found nothing, or a reading of a clock: after many in a row each costs time, which is charged once for so
    /// many as `together` says.
    #[inline]
    pub fn count_failed_poll(&mut self, rank: u32, together: u32) {
        let failed_polls = self.ranks[rank as usize].failed_polls + 1;
        if failed_polls > FREE_POLLS && failed_polls.is_multiple_of(together) {
            // A poll costs the more the longer the row is, so that virtual time goes with the square of it: a
            // program that polls until a second has passed is there after half a million polls, and one that
            // polls a few hundred times has lost nanoseconds.
            self.ranks[rank as usize].clock += failed_poll_cost(failed_polls, together);
        }
        self.ranks[rank as usize].failed_polls = failed_polls;
    }
}
