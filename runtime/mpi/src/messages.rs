//! Ranks and what passes between them: the state that sends, receives and waits work on.

use crate::charging::{Compute, Effort};
use crate::datatype::Datatype;
use crate::flight::Flight;
use crate::held::Held;
use crate::node::Nodes;
use crate::payload::Pool;
use crate::progress::CACHED_RANKS;
use crate::queue::{self, Queue, Queues};
use crate::ready::Ready;
use crate::remote::Remote;
use crate::remote::block::Block;
use crate::request::{Request, Status};
use crate::slab::Slab;
use crate::wire::Wire;
use engine::{EventQueue, Time};
use network::Message;
use observe::Profile;
use rustc_hash::FxHashMap;
use std::cell::RefCell;
use std::collections::BTreeSet;
use std::rc::Rc;

/// Where a rank is in its life with MPI.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[repr(u8)]
pub enum Phase {
    /// Before `MPI_Init`.
    #[default]
    Before,
    /// Between `MPI_Init` and `MPI_Finalize`.
    Active,
    /// After `MPI_Finalize`.
    Finalized,
    /// Its `main` has ended.
    Ended,
}

/// What every rank needs always: one cache line.
#[derive(Clone, Default)]
#[repr(C, align(64))]
pub struct RankState {
    /// Its virtual time.
    pub clock: Time,
    /// When its NIC is free again (gap).
    pub nic_free: Time,
    /// The latest arrival of what it was blocked for and what was completed unseen (`flag::UNSEEN`).
    pub arrived: Time,
    /// Receives without a message.
    pub posted: Queue,
    /// Messages without a receive.
    pub unexpected: Queue,
    /// Completions it is blocked for.
    pub waiting: u32,
    /// Undecided receives for any source in `posted`.
    pub wilds: u32,
    /// Polls and clock readings in a row without its clock moving.
    pub spins: u32,
    /// Messages since it last stepped back, or as many as can be counted.
    pub burst: u16,
    /// The MPI function it is in, or was last in; with `VAIN` after a poll in vain.
    pub function: u16,
    /// Where it is in its life.
    pub phase: Phase,
    /// Whether it is blocked in a poll (`World::polls`).
    pub polling: bool,
    /// Whether it is in `Messages::dirty`.
    pub dirty: bool,
}

const _: () = assert!(size_of::<RankState>() == 64, "a rank's state is one cache line, or a million ranks take twice the memory");

impl RankState {
    /// Whether a message in its queues may have to be decided.
    #[inline]
    pub(crate) fn watches(&self) -> bool {
        self.wilds != 0 || self.polling
    }
}

/// What communication and computation cost on the simulated machine.
pub(crate) struct Costs {
    pub(crate) wire: Wire,
    pub(crate) compute: Compute,
    pub(crate) flop_rate: Option<f64>,
}

/// Ranks, their queues and requests, messages under way.
pub struct Messages {
    pub(crate) size: u32,
    pub(crate) current: u32,
    pub(crate) ranks: Block<RankState>,
    /// This process's ranks: the first of them, and how many.
    pub(crate) first: u32,
    pub(crate) local: u32,
    pub(crate) remote: Option<Box<Remote>>,
    /// Whether there are so many ranks that what a switch or a message touches has left the cache since it was touched last.
    pub(crate) sweeps: bool,
    /// Whether so much waits for other processes that senders should step back.
    pub(crate) crowded: bool,
    /// What the mounted rank started in a row.
    pub(crate) held: Held,
    /// The status of the receive that has just ended.
    pub(crate) latest: Status,
    /// Whether the mounted rank's call before this one was of the same function.
    pub(crate) again: bool,
    /// Whether the mounted rank polls, and its call before was a poll in vain.
    pub(crate) polls_again: bool,
    pub(crate) nodes: Nodes,
    pub(crate) posted: Queues<queue::Entry>,
    pub(crate) unexpected: Queues<queue::Timed>,
    pub(crate) pool: Pool,
    pub(crate) layouts: Slab<(Rc<Datatype>, u64)>,
    pub(crate) requests: Slab<Request>,
    pub(crate) orphans: Vec<(u32, u32)>,
    /// Receives with `flag::UNSEEN` that their ranks have to see all the same, and whose they are.
    pub(crate) seen: FxHashMap<u32, u32>,
    pub(crate) ready: Ready,
    pub(crate) wire: Wire,
    /// Whether message times depend on other messages.
    pub(crate) by_time: bool,
    pub(crate) flights: Slab<Flight>,
    pub(crate) outbox: EventQueue<Message>,
    pub(crate) launched: u64,
    pub(crate) compute: Compute,
    /// Floating-point operations that a rank's processor does in a second, if that is known.
    pub flop_rate: Option<f64>,
    pub(crate) buffers: FxHashMap<(u32, usize), crate::buffered::Attached>,
    pub(crate) clock_host: rank::host::HostClock,
    pub(crate) effort: Effort,
    /// Names of the MPI functions.
    pub(crate) names: &'static [&'static str],
    /// What was found in the program that works here and that MPI does not promise, if that is asked for (`-xsim-check`).
    pub(crate) findings: Option<RefCell<BTreeSet<String>>>,
    /// Whether a sender has waited for its match.
    pub(crate) handshakes: bool,
    /// Ranks with open decisions to which something happened since these were looked at.
    pub(crate) dirty: Vec<u32>,
    /// No message earlier than this will come any more.
    pub(crate) safe: Time,
    /// What is counted for the report.
    pub profile: Profile,
}

impl Messages {
    /// Of `size` ranks, those of this process, which have not started. `names` are those of the MPI functions.
    pub(crate) fn new(costs: Costs, size: u32, remote: Option<Remote>, (names, check): (&'static [&'static str], bool)) -> Messages {
        let Costs { wire, compute, flop_rate } = costs;
        let (first, local) = remote.as_ref().map_or((0, size), Remote::own);
        let sweeps = local > CACHED_RANKS;
        Messages {
            size,
            current: 0,
            ranks: Block::new(first, local),
            first,
            local,
            sweeps,
            remote: remote.map(Box::new),
            crowded: false,
            latest: Status::EMPTY,
            held: Held::default(),
            again: false,
            polls_again: false,
            nodes: Nodes::new(),
            posted: Queues::default(),
            unexpected: Queues::default(),
            pool: Pool::default(),
            layouts: Slab::default(),
            requests: Slab::default(),
            orphans: Vec::new(),
            seen: FxHashMap::default(),
            ready: if sweeps { Ready::all(first, local).with_deck() } else { Ready::all(first, local) },
            by_time: wire.order() == network::Order::ByTime,
            wire,
            flights: Slab::default(),
            outbox: EventQueue::new(),
            launched: 0,
            clock_host: rank::host::HostClock::new().scaled(compute.factor()),
            compute,
            flop_rate,
            buffers: FxHashMap::default(),
            effort: Effort::Unknown,
            names,
            findings: check.then(RefCell::default),
            handshakes: false,
            dirty: Vec::new(),
            safe: Time::ZERO,
            profile: Profile::new(names.len(), first, local as usize),
        }
    }

    /// Something happened to a rank with open decisions: they are looked at again before the next one is made.
    #[inline]
    pub(crate) fn mark_dirty(&mut self, rank: u32) {
        let state = &mut self.ranks[rank as usize];
        if !state.dirty {
            state.dirty = true;
            self.dirty.push(rank);
        }
    }
}
