//! All state of a process's ranks, and the door to it.

use crate::charging::Compute;
use crate::collective::instance::Collectives;
use crate::comm::Comms;
use crate::messages::{Costs, Messages};
use crate::order::Order;
use crate::remote::Remote;
use crate::run::Run;
use crate::undecided::VAIN;
use crate::wire::Wire;
use engine::Time;
use objects::Objects;
use std::cell::{Cell, RefCell, RefMut};

pub use crate::messages::{Phase, RankState};
pub use crate::run::Abort;

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
    /// Whether what works here and MPI does not promise is told (`-xsim-check`).
    pub check: bool,
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
            check: false,
            remote: None,
        }
    }
}

/// All state of a process's ranks, in parts that know only those before them: objects, messages, collectives, order.
pub struct World {
    /// MPI's opaque objects.
    pub objects: Objects,
    /// Ranks and what passes between them.
    pub messages: Messages,
    /// Collective calls under way.
    pub collectives: Collectives,
    /// What must wait for safe time, and in which order it is decided.
    pub(crate) order: Order,
    /// How the run goes as a whole.
    pub(crate) run: Run,
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
        let (first, local) = setup.remote.as_ref().map_or((0, setup.ranks), Remote::own);
        let stride = setup.remote.as_ref().map_or((0, 1), |remote| (remote.me, remote.blocks.processes()));
        let comms = Comms::new(setup.ranks, (first, local), stride);
        let world = World {
            objects: Objects::new(comms, setup.environment),
            collectives: Collectives::new(setup.batch, setup.policy),
            order: Order::new(stride.1),
            run: Run::new(setup.names, setup.check),
            messages: Messages::new(
                Costs { wire: setup.wire, compute: setup.compute, flop_rate: setup.flop_rate },
                setup.ranks,
                setup.remote,
                setup.names,
            ),
        };
        Mpi { alone: Cell::new(None), world: RefCell::new(world) }
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
        debug_assert!(self.world().messages.held.is_empty(), "a rank has finished what it started before it blocks");
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
        self.messages.current
    }
    /// The node of the simulated machine that a rank is on.
    pub fn node_of(&self, rank: u32) -> u32 {
        rank / self.messages.wire.node
    }
    /// Whether somebody aborted the run.
    #[inline]
    pub fn is_aborting(&self) -> bool {
        self.run.abort.is_some()
    }
    /// What is known of a request handle, if it is valid.
    pub fn is_request(&self, handle: usize) -> Option<crate::request::Completion> {
        self.completion(handle).ok()
    }
    /// World size.
    pub fn size(&self) -> u32 {
        self.messages.size
    }
    /// A rank's clock.
    #[inline]
    pub fn clock(&self, rank: u32) -> Time {
        self.messages.ranks[rank as usize].clock
    }
    /// The mounted rank does something that works here and that MPI does not promise: says so once, if that is asked for.
    pub fn note_finding(&self, what: impl FnOnce() -> String) {
        let Some(findings) = &self.run.findings else { return };
        let me = self.me();
        let what = format!("{}: {}", self.function_of(me), what());
        if findings.borrow_mut().insert(what.clone()) {
            eprintln!("xsim: finding: rank {me} at {}: {what}", self.clock(me));
        }
    }
    /// The rank of this process whose clock is the greatest (of several the first), and that clock.
    pub fn furthest(&self) -> (u32, Time) {
        let clocks = (self.messages.first..).zip(self.messages.ranks.iter().map(|rank| rank.clock));
        clocks.reduce(|a, b| if b.1 > a.1 { b } else { a }).unwrap_or_default()
    }
    /// The greatest clock of all ranks.
    pub fn latest(&self) -> Time {
        self.messages.ranks.iter().map(|rank| rank.clock).max().unwrap_or_default()
    }
    /// Where a rank is in its life.
    pub fn phase(&self, rank: u32) -> Phase {
        self.messages.ranks[rank as usize].phase
    }
    /// Moves a rank on in its life.
    pub fn set_phase(&mut self, rank: u32, phase: Phase) {
        self.messages.ranks[rank as usize].phase = phase;
    }
    /// Messages sent and their bytes.
    pub fn traffic(&self) -> (u64, u128) {
        (self.messages.profile.messages(), self.messages.profile.bytes())
    }
    /// What packets and links did until the latest clock, on a network that has packets. O(links).
    pub fn network_report(&self) -> Option<network::NetworkReport> {
        self.messages.wire.report(self.latest())
    }
    /// How many ranks have ended.
    pub fn ended(&self) -> u32 {
        self.run.ended
    }
    /// The name of an MPI function.
    pub fn function_name(&self, function: u16) -> &'static str {
        self.run.names.get(usize::from(function)).copied().unwrap_or("no MPI function yet")
    }
    /// The MPI function a rank is in, or was last in.
    pub fn function_of(&self, rank: u32) -> &'static str {
        self.function_name(self.messages.ranks[rank as usize].function & !VAIN)
    }
    /// Moves a rank's clock to `time` if that is later; the difference counts as waiting.
    #[inline(always)]
    pub(crate) fn advance(&mut self, rank: u32, time: Time) {
        let state = &mut self.messages.ranks[rank as usize];
        if time > state.clock {
            self.messages.profile.wait(rank, time.since(state.clock));
            state.clock = time;
            state.spins = 0;
        }
    }
}
