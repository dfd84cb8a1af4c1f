//! All state of a process's ranks, and the door to it.

use crate::agenda::Agenda;
use crate::attribute::Attributes;
use crate::charging::{Compute, Effort};
use crate::collective::instance::Collectives;
use crate::comm::Comms;
use crate::datatype::{Datatype, Types};
use crate::errhandler::Errhandlers;
use crate::error::ErrorCodes;
use crate::flight::Flight;
use crate::group::Groups;
use crate::held::Held;
use crate::info::Infos;
use crate::node::Nodes;
use crate::op::Ops;
use crate::payload::Pool;
use crate::progress::CACHED_RANKS;
use crate::queue::{self, Queue, Queues};
use crate::ready::Ready;
use crate::remote::Remote;
use crate::remote::block::Block;
use crate::request::{Request, Status};
use crate::slab::Slab;
use crate::undecided::{Fruitless, Poll, Row, VAIN};
use crate::wire::Wire;
use engine::{EventQueue, Time};
use network::{Message, Order};
use observe::Profile;
use rustc_hash::FxHashMap;
use std::cell::{Cell, RefCell, RefMut};
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
    /// Whether its items must be made anew (`agenda.rs`).
    pub attended: bool,
}

const _: () = assert!(size_of::<RankState>() == 64, "a rank's state is one cache line, or a million ranks take twice the memory");

impl RankState {
    /// Whether a message in its queues may have to be decided.
    #[inline]
    pub(crate) fn watches(&self) -> bool {
        self.wilds != 0 || self.polling
    }
}

/// Calls that leave what the same rank started just before as it is.
const STARTERS: [&str; 3] = ["MPI_Send", "MPI_Isend", "MPI_Irecv"];
/// The one of them that sends nothing.
pub(crate) const POSTER: usize = 2;

/// What a run needs to begin.
pub struct Setup {
    /// World size.
    pub ranks: u32,
    /// The network.
    pub wire: Wire,
    /// The processor model.
    pub compute: Compute,
    /// Floating-point operations that a rank's processor does in a second, if that is known.
    pub flop_rate: Option<f64>,
    /// How collectives choose their algorithms.
    pub policy: crate::collective::choose::Policy,
    /// Function names by id, for messages and the profile.
    pub names: &'static [&'static str],
    /// Whether collectives whose members are all here may run in one loop over clocks.
    pub batch: bool,
    /// The contents of `MPI_INFO_ENV`.
    pub environment: crate::info::Info,
    /// The other native processes, if there are any.
    pub remote: Option<Remote>,
}

impl Setup {
    /// So many ranks in one process, whose computation costs nothing; all else as by default.
    pub fn new(ranks: u32, wire: Wire, names: &'static [&'static str]) -> Setup {
        Setup {
            ranks,
            wire,
            compute: Compute::None,
            flop_rate: None,
            policy: crate::collective::choose::Policy::default(),
            names,
            batch: true,
            environment: crate::info::Info::default(),
            remote: None,
        }
    }
}

/// One side of an `MPI_Intercomm_create`: the other side's new handle once it is made, and the group.
type Bridge = (Option<usize>, Rc<crate::group::Group>);

/// Why a run ends before its ranks do.
#[derive(Clone, Debug)]
pub struct Abort {
    /// From when ranks stop at their next call.
    pub at: Time,
    /// Who aborted (world rank).
    pub rank: u32,
    /// The exit status.
    pub status: i32,
}

/// The state.
pub struct World {
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
    /// Functions that may go on with a row.
    pub(crate) starters: [u16; 3],
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
    pub(crate) order: Order,
    pub(crate) flights: Slab<Flight>,
    pub(crate) outbox: EventQueue<Message>,
    pub(crate) launched: u64,
    pub(crate) polls: FxHashMap<u32, Poll>,
    /// What ranks asked in vain that do nothing but ask.
    pub(crate) rows: FxHashMap<u32, Row>,
    pub(crate) agenda: Agenda,
    pub(crate) compute: Compute,
    /// Floating-point operations that a rank's processor does in a second, if that is known.
    pub flop_rate: Option<f64>,
    pub(crate) collectives: Collectives,
    pub(crate) batch: bool,
    pub(crate) policy: crate::collective::choose::Policy,
    pub(crate) buffers: FxHashMap<(u32, usize), crate::buffered::Attached>,
    pub(crate) clock_host: rank::host::HostClock,
    pub(crate) effort: Effort,
    pub(crate) ended: u32,
    pub(crate) abort: Option<Abort>,
    pub(crate) fruitless: Fruitless,
    /// Whether a sender has waited for its match.
    pub(crate) handshakes: bool,
    pub(crate) left: u32,
    /// Meetings of leaders in `MPI_Intercomm_create`: the other side's new handle, the group.
    pub(crate) bridges: FxHashMap<(u32, u32, i32), Bridge>,
    pub(crate) left_first: u32,
    pub(crate) names: &'static [&'static str],
    /// Communicators.
    pub comms: Comms,
    /// Datatypes.
    pub types: Types,
    /// Operations.
    pub ops: Ops,
    /// Groups.
    pub groups: Groups,
    /// Info objects.
    pub infos: Infos,
    /// Attribute keys and values.
    pub attributes: Attributes,
    /// Error handlers.
    pub errhandlers: Errhandlers,
    /// Error classes and codes that the program added.
    pub codes: ErrorCodes,
    /// What is counted for the report.
    pub profile: Profile,
}

/// MPI for all ranks of this process.
///
/// Every operation borrows the world for a short while and never across a switch of ranks, so
/// that callbacks of the program and other ranks may come in at each of those points.
pub struct Mpi {
    /// With one rank a process: what is done when the run is over while that rank waits.
    pub(crate) alone: Cell<Option<crate::alone::Over>>,
    world: RefCell<World>,
}

impl Mpi {
    /// A world of ranks that have not started.
    pub fn new(setup: Setup) -> Mpi {
        let order = setup.wire.order();
        let (first, local) = setup.remote.as_ref().map_or((0, setup.ranks), Remote::own);
        let sweeps = local > CACHED_RANKS;
        let stride = setup.remote.as_ref().map_or((0, 1), |remote| (remote.me, remote.blocks.processes()));
        Mpi {
            alone: Cell::new(None),
            world: RefCell::new(World {
                size: setup.ranks,
                current: 0,
                ranks: Block::new(first, local),
                first,
                local,
                sweeps,
                remote: setup.remote.map(Box::new),
                crowded: false,
                latest: Status::EMPTY,
                held: Held::default(),
                starters: STARTERS.map(|name| setup.names.iter().position(|&known| known == name).map_or(u16::MAX, |at| at as u16)),
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
                order,
                wire: setup.wire,
                flights: Slab::default(),
                outbox: EventQueue::new(),
                launched: 0,
                polls: FxHashMap::default(),
                rows: FxHashMap::default(),
                agenda: Agenda::default(),
                compute: setup.compute,
                flop_rate: setup.flop_rate,
                collectives: Collectives::default(),
                batch: setup.batch,
                policy: setup.policy,
                buffers: FxHashMap::default(),
                clock_host: rank::host::HostClock::new().scaled(setup.compute.factor()),
                effort: Effort::Unknown,
                ended: 0,
                abort: None,
                fruitless: Fruitless::default(),
                handshakes: false,
                left: 0,
                bridges: FxHashMap::default(),
                left_first: 0,
                names: setup.names,
                comms: Comms::new(setup.ranks, (first, local), stride),
                types: Types::new(),
                ops: Ops::new(),
                groups: Groups::new(),
                infos: Infos::new(setup.environment),
                attributes: Attributes::default(),
                errhandlers: Errhandlers::default(),
                codes: ErrorCodes::default(),
                profile: Profile::new(setup.names.len(), first, local as usize),
            }),
        }
    }

    /// The state, until the guard is dropped.
    #[inline]
    pub fn world(&self) -> RefMut<'_, World> {
        self.world.borrow_mut()
    }

    /// The state, unless it is in use (in crash reports).
    pub fn try_world(&self) -> Option<RefMut<'_, World>> {
        self.world.try_borrow_mut().ok()
    }

    /// Lets other ranks run until somebody wakes the mounted one. The world must not be borrowed.
    // Always: a return behind a switch is one that the processor predicts wrongly (about 12 ns).
    #[inline(always)]
    pub fn block(&self) {
        debug_assert!(self.world().held.is_empty(), "a rank has finished what it started before it blocks");
        match self.alone.get() {
            Some(over) => self.wait_alone(over),
            None => rank::suspend(),
        }
    }
}

impl World {
    /// The mounted rank (world number).
    #[inline]
    pub fn me(&self) -> u32 {
        self.current
    }
    /// The node of the simulated machine that a rank is on.
    pub fn node_of(&self, rank: u32) -> u32 {
        rank / self.wire.node
    }
    /// Whether somebody aborted the run.
    #[inline]
    pub fn is_aborting(&self) -> bool {
        self.abort.is_some()
    }
    /// What is known of a request handle, if it is valid.
    pub fn is_request(&self, handle: usize) -> Option<crate::request::Completion> {
        self.completion(handle).ok()
    }
    /// World size.
    pub fn size(&self) -> u32 {
        self.size
    }
    /// A rank's clock.
    #[inline]
    pub fn clock(&self, rank: u32) -> Time {
        self.ranks[rank as usize].clock
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
    /// How many ranks have ended.
    pub fn ended(&self) -> u32 {
        self.ended
    }
    /// The name of an MPI function.
    pub fn function_name(&self, function: u16) -> &'static str {
        self.names.get(usize::from(function)).copied().unwrap_or("no MPI function yet")
    }
    /// The MPI function a rank is in, or was last in.
    pub fn function_of(&self, rank: u32) -> &'static str {
        self.function_name(self.ranks[rank as usize].function & !VAIN)
    }
    /// Moves a rank's clock to `time` if that is later; the difference counts as waiting.
    #[inline(always)]
    pub(crate) fn advance(&mut self, rank: u32, time: Time) {
        let state = &mut self.ranks[rank as usize];
        if time > state.clock {
            self.profile.wait(rank, time.since(state.clock));
            state.clock = time;
            state.spins = 0;
        }
    }
}
