//! All state of a process's ranks, and the door to it.

use crate::chapters::Chapters;
use crate::messages::{Costs, Messages};
use crate::order::Order;
use crate::ranks::Processor;
use crate::ranks::effort::Compute;
use crate::remote::Remote;
use crate::run::Run;
use crate::wire::Wire;
use objects::Objects;
use objects::comm::Comms;
use std::cell::{Cell, RefCell, RefMut};

pub use crate::ranks::{Phase, Process};
pub use crate::run::Abort;

/// Settings with which a run begins.
pub struct Setup {
    /// Ranks that there are numbers for.
    pub ranks: u32,
    /// The first of these, which the run begins with; the others can be spawned.
    pub initial: u32,
    /// Ranks of each `MPI_COMM_WORLD`, in order, if the run begins with several that do not know of each
    /// other; else none.
    pub worlds: Vec<u32>,
    /// From when ranks are spawned until they run.
    pub start_up: engine::Span,
    /// The network.
    pub wire: Wire,
    /// The processor model.
    pub compute: Compute,
    /// Floating-point operations that a rank's processor does in a second, if that is known.
    pub flop_rate: Option<f64>,
    /// Choice of the algorithms of collectives.
    pub policy: schedule::choose::Policy,
    /// Function names by id, for messages and the profile.
    pub names: &'static [&'static str],
    /// `true` if collectives whose members are all here may run in one loop over clocks.
    pub batch: bool,
    /// The contents of `MPI_INFO_ENV`.
    pub environment: crate::info::Info,
    /// `true` if what works here and MPI does not promise is told (`-xsim-check`).
    pub check: bool,
    /// The other native processes, if there are any.
    pub remote: Option<Remote>,
    /// Planned failures: ranks and times.
    pub failures: failure::FailurePlan,
    /// Delay after which a failure is reported to the other ranks, which go on; `None` if a failure ends the
    /// run.
    pub tolerance: Option<engine::Span>,
    /// `true` if messages carry bytes ([`Messages::payloads`]): alike in all processes.
    pub payloads: bool,
    /// `true` if ranks may cancel receives ([`p2p::deferred`]).
    pub cancels: bool,
}

impl Setup {
    /// Makes a setup of so many ranks in one process, whose computation costs nothing; all else as by
    /// default.
    pub fn new(ranks: u32, wire: Wire, names: &'static [&'static str]) -> Setup {
        Setup {
            ranks,
            initial: ranks,
            worlds: Vec::new(),
            start_up: engine::Span::ZERO,
            wire,
            compute: Compute::None,
            flop_rate: None,
            policy: schedule::choose::Policy::default(),
            names,
            batch: true,
            environment: crate::info::Info::default(),
            check: false,
            remote: None,
            failures: failure::FailurePlan::default(),
            tolerance: None,
            payloads: true,
            cancels: false,
        }
    }
}

/// All state of a process's ranks, in parts that know only those before them: objects, messages, other
/// chapters of MPI, order.
// Without methods that change more than one part, but for what decides, completes and drives: a part that
// cannot see another cannot depend on it by accident.
pub struct World {
    /// MPI's opaque objects.
    pub objects: Objects,
    /// Ranks and what passes between them.
    pub messages: Messages,
    /// MPI's subsystems beside messages, such as collective calls under way.
    pub chapters: Chapters,
    /// Decisions that must wait for safe time, and the order in which they are made.
    pub(crate) order: Order,
    /// State of the run as a whole: aborts, planned failures, its end.
    pub(crate) run: Run,
}

/// MPI for all ranks of this process.
///
/// Every operation borrows the world for a short while and never across a switch of ranks, so
/// that callbacks of the program and other ranks may come in at each of those points.
// One cell around all and not one a part: a call borrows once, and what it does to one part is never seen
// half done by another.
pub struct Mpi {
    /// With one rank a process: what is done when the run is over while that rank waits.
    pub(crate) alone: Cell<Option<crate::run::Over>>,
    /// `true` if a thread that calls may be another than the ranks' own.
    guarded: Cell<bool>,
    world: RefCell<World>,
}

impl Mpi {
    /// Makes a world of ranks that have not started.
    pub fn new(setup: Setup) -> Mpi {
        let (first, local) = setup.remote.as_ref().map_or((0, setup.ranks), Remote::own);
        // Contexts that each process hands out by itself must differ from all others': each has a series of
        // its own, as wide as there are processes.
        let stride = setup.remote.as_ref().map_or((0, 1), |remote| (remote.me, remote.blocks.processes()));
        assert!(setup.worlds.is_empty() || setup.worlds.iter().sum::<u32>() == setup.initial);
        let mut comms =
            Comms::new(setup.worlds.first().copied().unwrap_or(setup.initial), (first, local), stride);
        comms.begin_worlds(setup.worlds.get(1..).unwrap_or_default());
        let mut world = World {
            objects: Objects::new(comms, setup.environment),
            chapters: Chapters::new(setup.batch, setup.policy, setup.start_up),
            order: Order::new(stride.1, setup.remote.as_ref().map_or(1, |remote| remote.streams.at_start())),
            run: Run::new(setup.failures, setup.tolerance.is_some()),
            messages: Messages::new(
                Costs {
                    wire: setup.wire,
                    processor: Processor { compute: setup.compute, flop_rate: setup.flop_rate },
                },
                (setup.ranks, setup.initial),
                setup.remote,
                (setup.names, setup.check),
            ),
        };
        world.messages.payloads_mut().set_carried(setup.payloads);
        world.chapters.files.set_nowhere(!setup.payloads);
        world.messages.requests_mut().deferred_mut().set_cancels(setup.cancels);
        if let Some(delay) = setup.tolerance {
            world.tolerate(delay);
        }
        Mpi { alone: Cell::new(None), guarded: Cell::new(false), world: RefCell::new(world) }
    }

    /// Returns `true` if threads are told apart: each process is one rank, or a rank has started a thread.
    #[inline]
    pub fn is_guarded(&self) -> bool {
        self.guarded.get()
    }

    /// Guards the state from now on, for several threads. Returns `true` the first time.
    pub fn guard(&self) -> bool {
        !self.guarded.replace(true)
    }

    /// Returns the state, until the guard is dropped.
    #[inline]
    pub fn world(&self) -> RefMut<'_, World> {
        self.world.borrow_mut()
    }

    /// The state, unless it is in use (in crash reports).
    // A crash may happen within a borrow, and its report must not be a second one.
    pub fn try_world(&self) -> Option<RefMut<'_, World>> {
        self.world.try_borrow_mut().ok()
    }

    /// Lets other ranks run until somebody wakes the mounted one. The world must not be borrowed.
    // Always: a return behind a switch is one that the processor predicts wrongly (about 12 ns).
    #[inline(always)]
    pub fn block(&self) {
        debug_assert!(
            self.world().messages.has_no_batch(),
            "a rank has finished what it started before it blocks"
        );
        match self.alone.get() {
            Some(over) => self.wait_alone(over),
            None => rank::suspend(),
        }
    }
}

impl World {
    /// Notes that the mounted rank starts a thread. Returns `true` if work of threads beside its own should
    /// take time, and takes none.
    pub fn note_helper(&mut self) -> bool {
        let measured = matches!(self.messages.ranks().compute(), Compute::Measured { .. });
        if measured {
            self.run.helped.get_or_insert(self.messages.me());
        }
        measured
    }
    /// Returns `true` if somebody aborted the run.
    #[inline]
    pub fn is_aborting(&self) -> bool {
        self.run.abort.is_some()
    }
    /// Returns how many ranks have ended.
    pub fn ended(&self) -> u32 {
        self.run.ended
    }
}
